"""The files that a change could break, found by the code graph: where no server tells, and beside one that does."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ombud.graph.client import Graph
from ombud.operations.graph.ground import opened
from ombud.operations.session import Session
from ombud.operations.writing.graphed import Graphed

from tests.conftest import Workspace
from tests.hosted import Change, indexed, searched, session
from tests.peers.script import PeerLog, Script
from tests.real.test_dependents import PYTHON, PYTHON_CASES, TYPESCRIPT, TYPESCRIPT_CASES

pytestmark = pytest.mark.usefixtures("_isolated")

REFERENCES = "textDocument/references"
UNKNOWN = {
    # What an alias in an import is called is no symbol of the graph's.
    ("python", "a name of __all__"): {"use_suits.py"},
    # Types that are equal by their members are a matter of types.
    ("typescript", "a renamed field"): {"src/literal.ts", "src/use_g.ts"},
}
"""What the graph does not find."""
LANGUAGES = {
    "python": ([".py"], ["python"], PYTHON, PYTHON_CASES),
    "typescript": ([".ts"], ["typescript"], TYPESCRIPT, TYPESCRIPT_CASES),
}


@pytest.fixture
def _isolated(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PATH", "HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        if name in environment:
            monkeypatch.setenv(name, environment[name])


def rows(
    log: PeerLog, extensions: Sequence[str], languages: Sequence[str], *, markers: Sequence[str] = (), **keys: Any
) -> dict[str, Any]:
    """A server that knows no use of anything, and no other."""
    from ombud.downstream.catalogue import load_catalogue

    keys = {"answers": {REFERENCES: []}, **keys}
    one = Script("one", features=["references", "documentSymbol", "hover"], log=log, **keys)
    others = {row.name: {"disabled": True} for row in load_catalogue()}
    return {**others, "one": one.entry(list(extensions), list(languages), markers)}


async def names(made: Session, change: Change, **more: Any) -> set[str]:
    return {one.relative for one in (await searched(made, "one", [change], **more)).files}


@pytest.mark.parametrize("language", LANGUAGES)
async def test_the_graph_finds_what_a_change_could_break(
    workspace: Workspace, environment: dict[str, str], tmp_path: Path, language: str
) -> None:
    """All that real servers have to find, and nothing else, with a server that knows no use of anything."""
    extensions, languages, files, cases = LANGUAGES[language]
    root = workspace(files)
    wrong = {}
    log = PeerLog(tmp_path / "one.jsonl")
    async with session(root, environment, rows(log, extensions, languages)) as made:
        await indexed(made, root)
        for case in cases:
            found = await names(made, case.change)
            breaks = case.breaks - UNKNOWN.get((language, case.what), set())
            if not breaks <= found <= case.breaks | case.also:
                wrong[case.what] = sorted(found), f"not {sorted(breaks)}"
        assert log.received(REFERENCES), "the server is asked all the same"
    assert not wrong, "\n".join(f"{what}: {told}" for what, told in wrong.items())


USED = {"a.py": "def sail(to):\n    return 1\n", "b.py": "from a import sail\n\nsail(1)\n", "c.py": "import os\n"}
SAIL = Change("a.py", [("sail(to)", "sail(to, far)")])
PYTHON_ROW = ([".py"], ["python"])


async def test_a_write_has_no_index_built(workspace: Workspace, environment: dict[str, str], tmp_path: Path) -> None:
    root = workspace(USED)
    async with session(root, environment, rows(PeerLog(tmp_path / "one.jsonl"), *PYTHON_ROW)) as made:
        assert await names(made, SAIL) == set()
        assert made.hub.graphs.known(root.resolve()) is None
        # A first index that was broken off is none that is ready.
        graph = opened(made, root.resolve()).graph
        await graph.need()
        await graph.close()
    async with session(root, environment, rows(PeerLog(tmp_path / "two.jsonl"), *PYTHON_ROW)) as made:
        assert await names(made, SAIL) == set()
        known = made.hub.graphs.known(root.resolve())
        assert known is None or not known.running


async def test_an_index_of_yesterday_is_gone_on_with(
    workspace: Workspace, environment: dict[str, str], tmp_path: Path
) -> None:
    root = workspace(USED)
    async with session(root, environment, rows(PeerLog(tmp_path / "one.jsonl"), *PYTHON_ROW)) as made:
        await indexed(made, root)
    (root / "c.py").write_text("from a import sail\n\nCOURSE = sail\n", encoding="utf-8")
    async with session(root, environment, rows(PeerLog(tmp_path / "two.jsonl"), *PYTHON_ROW)) as made:
        # A quarter of it is the graph's: its process has to start.
        assert await names(made, SAIL, seconds=80.0) == {"b.py", "c.py"}


async def test_an_index_that_another_process_keeps_is_not_built_a_second_time(
    workspace: Workspace, environment: dict[str, str], tmp_path: Path
) -> None:
    root = workspace(USED)
    async with (
        session(root, environment, rows(PeerLog(tmp_path / "one.jsonl"), *PYTHON_ROW)) as first,
        session(root, environment, rows(PeerLog(tmp_path / "two.jsonl"), *PYTHON_ROW)) as second,
    ):
        await indexed(first, root)
        assert await names(second, SAIL) == set()
        known = second.hub.graphs.known(root.resolve())
        assert known is None or not known.running
        assert await names(first, SAIL) == {"b.py"}


async def test_a_graph_that_does_not_answer_holds_nothing_up(
    workspace: Workspace, environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the server knows is found as ever."""
    root = workspace(USED)
    place = {
        "uri": (root / "c.py").as_uri(),
        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}},
    }
    one = rows(PeerLog(tmp_path / "one.jsonl"), *PYTHON_ROW, answers={REFERENCES: [place]})
    async with session(root, environment, one) as made:
        await indexed(made, root)
        assert await names(made, SAIL) == {"b.py", "c.py"}

        async def never(_graph: Graph) -> None:
            await asyncio.Event().wait()

        monkeypatch.setattr(Graph, "current", never)
        found = await searched(made, "one", [SAIL], seconds=4.0)
        assert {file.relative for file in found.files} == {"c.py"}
        assert found.partial is None


async def test_what_the_graph_found_stands_when_the_server_does_not_answer(
    workspace: Workspace, environment: dict[str, str], tmp_path: Path
) -> None:
    root = workspace(USED)
    one = rows(PeerLog(tmp_path / "one.jsonl"), *PYTHON_ROW, hangOn=[{"method": "textDocument/documentSymbol"}])
    async with session(root, environment, one) as made:
        await indexed(made, root)
        found = await searched(made, "one", [SAIL], seconds=4.0)
        assert {file.relative for file in found.files} == {"b.py"}
        assert "ended after 4 s" in (found.partial or "")


async def test_of_another_root_only_the_name_is_told(
    workspace: Workspace, environment: dict[str, str], tmp_path: Path
) -> None:
    root = workspace({**USED, "x.toml": "", "deep/x.toml": "", "deep/d.py": "from a import sail\n\nsail(2)\n"})
    one = rows(PeerLog(tmp_path / "one.jsonl"), *PYTHON_ROW, markers=["x.toml"])
    async with session(root, environment, one) as made:
        await indexed(made, root)
        found = await searched(made, "one", [SAIL])
        assert [file.relative for file in found.files] == ["b.py"]
        assert found.left_out == (("deep/d.py", "It belongs to another root, deep, whose one was not asked."),)


async def test_a_graph_of_other_lines_is_not_asked(
    workspace: Workspace, environment: dict[str, str], tmp_path: Path
) -> None:
    """Places in it mean something else in the text that is being changed."""
    root = workspace(USED)
    async with session(root, environment, rows(PeerLog(tmp_path / "one.jsonl"), *PYTHON_ROW)) as made:
        await indexed(made, root)
        graph = Graphed(made, made.servers(root / "a.py")[0], [opened(made, root.resolve())], {}, lambda *_: None)
        lines = USED["a.py"].split("\n")
        path = (root / "a.py").resolve()
        assert await graph.knows(path, lines)
        assert not await graph.knows(path, ["", *lines])
        assert not await graph.knows(path.with_name("none.py"), [])
