"""Looking for what a change could break, with servers that answer too much, too late, wrongly or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ombud.diagnostics.fresh import settle
from ombud.operations.targets import pin

from tests.conftest import Workspace
from tests.hosted import PATIENCE, Change, searched, session
from tests.peers.road import entry
from tests.peers.script import PeerLog, Script

pytestmark = pytest.mark.usefixtures("_isolated")

REFERENCES = "textDocument/references"
OLD = "def sail\ndef moor\n"
SAIL = Change("a.x", [("def sail", "def sail far")])


@pytest.fixture
def _isolated(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", environment["PATH"])


def place(path: Path, line: int = 0) -> dict[str, Any]:
    return {"uri": path.as_uri(), "range": {"start": at(line), "end": at(line, 4)}}


def at(line: int, character: int = 0) -> dict[str, int]:
    return {"line": line, "character": character}


def script(log: PeerLog, **keys: Any) -> Script:
    return Script("one", features=["references", "documentSymbol", "hover"], log=log, **keys)


async def test_the_limit_is_kept_and_what_is_over_it_is_told(
    workspace: Workspace, environment: dict[str, str], tmp_path: Path
) -> None:
    """The most used first, then the nearest; nothing outside, sensitive, gone, or of no concern to the server."""
    files = {f"far/{name}.x": "sail\n" for name in "bcd"}
    root = workspace({"x.toml": "", "a.x": OLD, "near.x": "sail\n", "far/.env": "x", "e.y": "sail\n", **files})
    outside = workspace({"o.x": "sail\n"}, name="other")
    places = [
        *(place(root / "far" / f"{name}.x") for name in "bcd"),
        *(place(root / "far/d.x", line) for line in (1, 2)),
        *(place(root / name) for name in ("near.x", "a.x", "far/.env", "e.y", "gone.x")),
        place(outside / "o.x"),
    ]
    log = PeerLog(tmp_path / "one.jsonl")
    one = script(log, answers={REFERENCES: places})
    async with session(root, environment, {"one": entry(one)}) as made:
        found = await searched(made, "one", [SAIL], limit=2)
        assert [file.relative for file in found.files] == ["far/d.x", "near.x"]
        reasons = dict(found.left_out)
        assert set(reasons) == {"far/b.x", "far/c.x", "e.y"}
        assert "Over the limit of 2 files" in reasons["far/b.x"]
        assert "does not report" in reasons["e.y"]
        assert found.partial is None
        asked = [message["params"]["position"] for message in log.received(REFERENCES)]
        assert asked == [at(0, 4)], "only what was changed"
        none = await searched(made, "one", [SAIL], limit=0)
        assert none.files == ()
        assert len(none.left_out) == 5


async def test_time_ends_the_search_and_cancels_nothing(
    workspace: Workspace, environment: dict[str, str], tmp_path: Path
) -> None:
    """What was found by then stands. A cancelled search leaves basedpyright without any for good."""
    root = workspace({"x.toml": "", "a.x": OLD, "b.x": "moor\n"})
    log = PeerLog(tmp_path / "one.jsonl")
    one = script(log, hangOn=[{"method": REFERENCES, "nth": 2}], answers={REFERENCES: [place(root / "b.x")]})
    async with session(root, environment, {"one": entry(one)}) as made:
        both = Change("a.x", [("def sail", "def sail far"), ("def moor", "def moor far")])
        found = await searched(made, "one", [both], seconds=1.0)
        assert [file.relative for file in found.files] == ["b.x"]
        assert found.partial is not None
        assert "ended after 1 s" in found.partial
        server = next(iter(made.running()))
        # In order with everything before: a cancellation would have arrived by now.
        await server.ask("textDocument/hover", {"textDocument": {"uri": (root / "a.x").as_uri()}, "position": at(0)})
        assert log.received("$/cancelRequest") == []


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"errorsOn": {REFERENCES: {"code": -32603, "message": "lost my index"}}}, "lost my index"),
        ({"capabilities": {"referencesProvider": None}}, "cannot be asked for references"),
        ({"capabilities": {"documentSymbolProvider": None}}, "does not tell the symbols"),
        ({"crashOn": [{"method": REFERENCES}]}, "one"),
        ({"answers": {REFERENCES: {"nonsense": True}}}, None),
        ({"answers": {"textDocument/documentSymbol": [{"name": 1}, 5, {"name": "x", "kind": 12}]}}, None),
    ],
)
async def test_a_server_that_fails_makes_it_partial_and_raises_nothing(
    workspace: Workspace, environment: dict[str, str], tmp_path: Path, keys: dict[str, Any], words: str | None
) -> None:
    root = workspace({"x.toml": "", "a.x": OLD, "b.x": "sail\n"})
    one = script(PeerLog(tmp_path / "one.jsonl"), **keys)
    async with session(root, environment, {"one": entry(one)}) as made:
        found = await searched(made, "one", [SAIL], seconds=20.0)
        assert found.left_out == ()
        if words is None:
            assert found.partial is None
        else:
            assert found.partial is not None
            assert words in found.partial


async def test_so_many_symbols_are_asked_about_and_no_more(
    workspace: Workspace, environment: dict[str, str], tmp_path: Path
) -> None:
    from ombud.operations.writing.dependents import ASKED

    root = workspace({"x.toml": "", "a.x": "".join(f"def name{number}\n" for number in range(ASKED + 5))})
    log = PeerLog(tmp_path / "one.jsonl")
    async with session(root, environment, {"one": entry(script(log))}) as made:
        found = await searched(made, "one", [Change("a.x", gone=True)])
        assert len(log.received(REFERENCES)) == ASKED
        assert found.partial is not None
        assert f"{ASKED} of {ASKED + 5}" in found.partial


async def test_files_that_a_new_name_may_mend_come_first(
    workspace: Workspace, environment: dict[str, str], tmp_path: Path
) -> None:
    """Those of which the server says something that names it, if they are open; what it says of others is no sign."""
    files = {
        "mended.x": "ERROR(lost): anchor is not known\n",
        "other.x": "ERROR(lost): nothing is known\n",
        "user.x": "sail\n",
        "clean.x": "anchor\n",
    }
    root = workspace({"x.toml": "", "a.x": OLD, **files})
    one = script(PeerLog(tmp_path / "one.jsonl"), answers={REFERENCES: [place(root / "user.x")]})
    async with session(root, environment, {"one": entry(one)}) as made:
        server = made.servers(root / "a.x")[0]
        for name, text in files.items():
            if name != "user.x":
                document = pin(made, made.fence.resolve(name, intent="read"), text, [server])
                verdict = await settle(made.hub.store, server, document.key, document.uri, document.version, PATIENCE)
                assert verdict.freshness == "fresh"
        change = Change("a.x", [("def sail", "def anchor\ndef sail far")])
        found = await searched(made, "one", [change])
        assert [file.relative for file in found.files] == ["mended.x", "user.x"]
