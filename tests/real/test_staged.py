"""Real servers and a staged rewrite: what it would break is told before, and is what the commit then introduces."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import OmbudFactory, Workspace
from tests.peers.staging import Stager
from tests.profiles import AGENT
from tests.real.editor import PATIENCE
from tests.toolbox import require

pytestmark = pytest.mark.real

Json = dict[str, Any]
FILES = {
    "pyproject.toml": '[project]\nname = "harbour"\nversion = "1"\n',
    "berths.py": "LIMIT: int = 12\n\n\ndef moor(ship: str) -> int:\n    return len(ship)\n",
    "plan.py": 'import berths\n\nlength: int = berths.moor("Alma")\nwrong: str = 1\n',
    "late.py": "import berths\n\n\ndef room() -> int:\n    return berths.LIMIT - 1\n",
    "apart.py": "import json\n\nprint(json.dumps(1))\n",
}
OFF = ("pyright", "ty", "pyrefly", "ruff", "jedi-language-server", "pylsp")


def told(found: list[Json]) -> list[tuple[Any, ...]]:
    return sorted((one["path"], one["line"], one["code"], one["message"]) for one in found)


async def test_what_a_rewrite_would_break_is_told_before_and_is_what_its_commit_introduces(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    require("basedpyright-langserver")
    root = workspace(FILES)
    servers = {name: {"disabled": True} for name in OFF}
    async with ombud(cwd=root) as client:
        await client.initialize(root, {"ombud": {"trusted": True, "servers": servers}}, AGENT)
        stager = Stager(client, root)
        ops = [
            {"pattern": "LIMIT: int = $N", "rewrite": "MOST: int = $N"},
            {"pattern": "berths.moor($X)", "rewrite": "str(berths.moor($X))"},
        ]
        asked = {"ops": ops, "check": True, "waitMs": int(PATIENCE * 1000)}
        made = await stager.ask("astEdit", **asked)
        assert [one["path"] for one in made["files"]] == ["berths.py", "plan.py"]
        fresh = {one["name"]: one["freshness"] for one in made["diagnostics"]["servers"]}
        assert fresh == {"basedpyright": "fresh"}
        # In the file itself, and in one that is not written and uses what was.
        errors = [one for one in made["introduced"] if one["severity"] == "error"]
        assert [(one["path"], one["line"], one["code"]) for one in errors] == [
            ("late.py", 5, "reportAttributeAccessIssue"),
            ("plan.py", 3, "reportAssignmentType"),
        ]
        assert (root / "berths.py").read_text() == FILES["berths.py"]
        params = {"editId": made["editId"], "action": "commit", "waitMs": int(PATIENCE * 1000)}
        result = await client.request("ombud/resolve", params, 2 * PATIENCE)
        assert {one["name"]: one["freshness"] for one in result["diagnostics"]["servers"]} == fresh
        assert told(result["diagnostics"]["introduced"]) == told(made["introduced"])
        assert (root / "plan.py").read_text() == FILES["plan.py"].replace(
            'berths.moor("Alma")', 'str(berths.moor("Alma"))'
        )


async def test_the_changed_lines_alone_are_formatted_on_request(ombud: OmbudFactory, workspace: Workspace) -> None:
    require("ruff")
    root = workspace({**FILES, "untidy.py": "x  =  1\ndef f( ):\n    return old( 1 )\ny  =  2\n"})
    servers = {name: {"disabled": True} for name in ("basedpyright", *OFF) if name != "ruff"}
    async with ombud(cwd=root) as client:
        await client.initialize(root, {"ombud": {"trusted": True, "servers": servers}}, AGENT)
        stager = Stager(client, root)
        made = await stager.stage("old($X)", "new(  $X,2  )", format=True)
        assert made["note"] is None
        await stager.commit(made["editId"])
        assert (root / "untidy.py").read_text() == "x  =  1\ndef f( ):\n    return new(1, 2)\ny  =  2\n"


BOATS = """\
class Boat:
    def close(self) -> None: ...


class Gate:
    def close(self) -> None: ...


def night(boat: Boat, gate: Gate, boats: list[Boat]) -> None:
    boat.close()
    gate.close()
    for one in boats:
        one.close()
"""


async def test_a_rewrite_goes_by_the_type_that_the_server_knows(ombud: OmbudFactory, workspace: Workspace) -> None:
    require("basedpyright-langserver")
    root = workspace({**FILES, "boats.py": BOATS})
    servers = {name: {"disabled": True} for name in OFF}
    async with ombud(cwd=root) as client:
        await client.initialize(root, {"ombud": {"trusted": True, "servers": servers}}, AGENT)
        stager = Stager(client, root)
        made = await stager.stage("$X.close()", "$X.moor()", where={"X": {"type": "Boat"}})
        await stager.commit(made["editId"])
        wanted = BOATS.replace("boat.close()", "boat.moor()").replace("one.close()", "one.moor()")
        assert (root / "boats.py").read_text() == wanted
