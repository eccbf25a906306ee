"""C1 through the whole product: ``ombud serve`` is killed in the middle of a write, and the next one puts it right."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import pytest

from tests.client import Disconnected
from tests.commits import LOCKS, portrait
from tests.conftest import ClientFactory, OmbudFactory, Workspace
from tests.peers.road import meddled, peer_texts, serving
from tests.peers.script import Script
from tests.profiles import AGENT

NUMBERS = range(20)
OLD = {f"m{number % 3}/f{number}.x": f"old {number}\nkept\n" for number in NUMBERS}
NEW = {name: text.replace("old", "new") for name, text in OLD.items()}
FILES = {"x.toml": "", "apart.x": "apart\n", **OLD}
PATCH = "".join(
    "".join(difflib.unified_diff(OLD[name].splitlines(True), NEW[name].splitlines(True), f"a/{name}", f"b/{name}"))
    for name in OLD
)
SWAP = "workspace.landing.Landing.swap"


def texts(root: Path) -> dict[str, str]:
    return {name: (root / name).read_text() for name in OLD}


def journals(home: Path) -> list[Path]:
    return [path for path in home.rglob("journals/*") if path.name not in LOCKS]


async def killed(made: OmbudFactory, root: Path, operation: str, params: dict[str, Any]) -> None:
    """Write, and die of it."""
    async with made(cwd=root, strict=False) as client:
        await client.initialize(root, {"ombud": {"trusted": True}}, AGENT)
        with pytest.raises(Disconnected):
            await client.request(f"ombud/{operation}", params)
        await client.wait_exit(30)


@pytest.mark.parametrize(
    ("at", "nth", "becomes"),
    [
        ("workspace.landing.Landing.prepare", 12, "taken back"),
        (SWAP, 1, "taken back"),
        (SWAP, 2, "taken back"),
        (SWAP, 11, "taken back"),
        (SWAP, 20, "taken back"),
        ("workspace.landing.Landing.sync", 1, "finished"),
        ("workspace.journal.Journal.done", 1, "finished"),
    ],
)
async def test_C1_a_patch_of_twenty_files_whose_ombud_was_killed_is_whole_or_nothing_before_the_next_write(
    ombud: OmbudFactory,
    client_factory: ClientFactory,
    workspace: Workspace,
    home: Path,
    at: str,
    nth: int,
    becomes: str,
) -> None:
    root = workspace(FILES)
    before = portrait(root)
    made = meddled(client_factory, at=at, nth=nth, do=[["kill"]])
    await killed(made, root, "applyPatch", {"patch": PATCH, "diagnostics": "none"})
    assert journals(home), "it died in the middle"
    async with serving(ombud, root, {"one": Script("one")}, capabilities=AGENT) as client:
        # What it reads is as it was before or after, for all that it reads comes after the recovery.
        result = await client.request("ombud/write", {"path": "apart.x", "content": "written\n"})
        assert result["applied"]
        assert f"20 files ({root}/m0/f0.x, …) that a crash had cut short was {becomes}" in client.stderr
        assert journals(home) == []
        if becomes == "finished":
            assert texts(root) == NEW
        else:
            now = portrait(root)
            assert (now.pop("apart.x"), before.pop("apart.x")) and now == before
            # The very same patch fits, and servers are shown what is there.
            result = await client.request("ombud/applyPatch", {"patch": PATCH, "diagnostics": "none"})
            assert len(result["files"]) == 20 and texts(root) == NEW
        await client.request("ombud/lsp", {"action": "symbols", "path": "m0/f0.x"})
        assert (await peer_texts(client, "one")).get("f0.x", NEW["m0/f0.x"]) == NEW["m0/f0.x"]
    assert not list(root.rglob(".ombud-*"))


async def test_C1_an_edit_that_follows_a_crash_is_made_on_the_recovered_text(
    ombud: OmbudFactory, client_factory: ClientFactory, workspace: Workspace, home: Path
) -> None:
    """The first thing that the next Ombud does is to edit the very file that the crash has left half done."""
    root = workspace(FILES)
    made = meddled(client_factory, at=SWAP, nth=5, do=[["kill"]])
    await killed(made, root, "applyPatch", {"patch": PATCH, "diagnostics": "none"})
    assert texts(root)["m0/f0.x"] == NEW["m0/f0.x"] and texts(root)["m1/f19.x"] == OLD["m1/f19.x"]
    async with serving(ombud, root, {}, capabilities=AGENT) as client:
        edits = [{"oldText": "old 0", "newText": "edited"}]
        result = await client.request("ombud/edit", {"path": "m0/f0.x", "edits": edits})
        assert result["applied"]
        assert "was taken back" in client.stderr
    assert texts(root) == {**OLD, "m0/f0.x": "edited\nkept\n"}
    assert journals(home) == []


@pytest.mark.parametrize("operation", ["write", "edit"])
async def test_C1_one_file_whose_ombud_was_killed_is_old_or_new_and_leaves_no_litter(
    ombud: OmbudFactory, client_factory: ClientFactory, workspace: Workspace, home: Path, operation: str
) -> None:
    root = workspace(FILES)
    made = meddled(client_factory, at=SWAP, do=[["kill"]])
    params: dict[str, Any] = {"path": "apart.x", "diagnostics": "none"}
    params |= {"content": "new\n"} if operation == "write" else {"edits": [{"oldText": "apart", "newText": "new"}]}
    await killed(made, root, operation, params)
    assert list(root.rglob(".ombud-*")) and journals(home)
    async with serving(ombud, root, {}, capabilities=AGENT) as client:
        result = await client.request("ombud/write", {"path": "m0/f0.x", "content": "other\n"})
        assert result["applied"]
    assert (root / "apart.x").read_text() == "apart\n"
    assert not list(root.rglob(".ombud-*")) and journals(home) == []
