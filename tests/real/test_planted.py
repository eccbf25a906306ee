"""Planted edits on real servers: each is previewed, then made, and what is said of it is exactly what the server says.

The tables and what their words mean: ``tests/real/planted.py``. All cases of one server share one ``ombud serve``, as
the writes of an afternoon do; a case that fails takes its session with it. Nobody opens a file but the cases that do.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from tests import leaks
from tests.connection import Json
from tests.profiles import AGENT
from tests.real.desk import Desk, seated
from tests.real.editor import PATIENCE, WAIT_MS
from tests.real.planted import SETTINGS, STAGES, Case, Change, Stage, Step, Wrong
from tests.real.planted_native import CLANGD, GOPLS
from tests.real.planted_python import BASEDPYRIGHT, RUFF
from tests.real.planted_web import ESLINT, TLS, TSGO
from tests.toolbox import PROJECT, TOOLS, require

pytestmark = pytest.mark.real

TABLES = (BASEDPYRIGHT, RUFF, TSGO, TLS, ESLINT, GOPLS, CLANGD)
KINDS = (
    "signature change",
    "deleted export",
    "renamed",
    "second identical error",
    "shift by ten lines",
    "fix one of two",
    "break, fix, break",
    "change of a config file",
    "new file",
    "deleted file",
    "patch over five files",
)
"""What is planted in every server; an error in a dependent only, in those that know of dependents."""


class Seat:
    """A session of ``ombud serve`` on a copy of a project, begun when first needed, and anew once it is spoiled.

    Its server runs from the beginning, and has seen a file with which the others have nothing to do.
    """

    def __init__(self, stage: Stage, folder: Path) -> None:
        self.stage = stage
        self.base: Mapping[str, str] = {}
        self._folder = folder
        self._count = 0
        self._stack: AsyncExitStack | None = None
        self._desk: Desk | None = None

    async def taken(self, case: Case) -> Desk:
        """The desk with the case's files laid over the project, before the session begins where that is the case's."""
        if apart(case):
            await self.left()
        if self._desk is None:
            self._count += 1
            root = _copied(self.stage, self._folder / str(self._count))
            self.base = texts(root)
            if apart(case):
                for path, text in case.files.items():
                    (root / path).write_text(text, encoding="utf-8")
            self._desk = await self._begun(root)
        await laid(self._desk, {**self.base, **case.files})
        return self._desk

    async def _begun(self, root: Path) -> Desk:
        options = {"servers": {name: {"disabled": True} for name in self.stage.off}}
        self._stack = AsyncExitStack()
        with leaks.shared():
            desk = await self._stack.enter_async_context(
                seated(root.parent, root, capabilities=AGENT, options=options, name=self.stage.server)
            )
            assert await desk.clean(self.stage.aside) == []
        return desk

    async def left(self) -> None:
        stack, self._stack, self._desk = self._stack, None, None
        if stack is not None:
            await stack.aclose()


def apart(case: Case) -> bool:
    """Whether the case has a session of its own: it makes, deletes or configures what servers watch by themselves.

    Some of them take seconds to see that it is undone, and nothing tells when they have.
    """
    return case.kind.startswith(("new", "deleted file", "change of a config file")) or "re-export" in case.kind


def _copied(stage: Stage, folder: Path) -> Path:
    for tool in stage.tools:
        require(tool)
    root = Path(shutil.copytree(PROJECT / "fixtures" / "planted" / stage.project, folder / "harbour"))
    if stage.server == "eslint":
        (root / "node_modules").symlink_to((TOOLS / "npm" / "node_modules").resolve(), target_is_directory=True)
    return root


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def seat(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Seat]:
    made = Seat(request.param, tmp_path_factory.mktemp("planted").resolve())
    try:
        yield made
    finally:
        await made.left()


CASES = [case for table in TABLES for case in sorted(table, key=apart)]


def test_every_kind_is_planted_in_every_server() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    for stage in STAGES:
        mine = [case.kind for case in CASES if case.server == stage.server]
        assert all(any(kind.startswith(word) for kind in mine) for word in KINDS), stage.server
    knowing = {stage.server for stage in STAGES} - {"ruff", "eslint"}
    assert {case.server for case in CASES if case.kind == "error in a dependent only"} == knowing


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("seat", "case"),
    [(next(stage for stage in STAGES if stage.server == case.server), case) for case in CASES],
    indirect=["seat"],
    ids=[case.name for case in CASES],
    scope="module",
)
async def test_a_planted_edit_is_told_exactly(seat: Seat, case: Case) -> None:
    desk = await seat.taken(case)
    try:
        for path in case.open:
            desk.client.open(path)
        for path in (*case.open, *case.known):
            await desk.clean(path)
        for step in case.steps:
            await previewed(desk, seat.stage, step)
            await made(desk, seat.stage, step)
        for path in case.open:
            desk.client.close(path)
        if apart(case):
            await seat.left()
        else:
            await laid(desk, seat.base)
    except BaseException:
        await seat.left()
        raise


# -- one write


async def previewed(desk: Desk, stage: Stage, step: Step) -> None:
    """The step as a preview: it tells the same, and leaves nothing behind, neither on the disk nor in the server."""
    before = contents(desk.root)
    old = texts(desk.root)
    result = await asked(desk, step, old, preview=True)
    assert (result["applied"], result["preview"]) == (False, True)
    assert contents(desk.root) == before
    new = step.act.change(old)
    report = result["diagnostics"]
    if step.unseen is None:
        told(stage, step, report, old, {**old, **new})
    else:
        unknown(step, result, set(new))
    written = () if step.unseen == SETTINGS else tuple(new)
    looked = [path for path in dict.fromkeys((*written, *step.checked)) if path in old]
    found = [one for path in looked for one in await desk.clean(path)]
    assert len(found) == step.still + len(step.resolved), found
    same(found, [*step.resolved], stage, some=True)
    assert not [one for one in found for wrong in step.introduced if fits(one, wrong) and wrong not in step.resolved]


async def made(desk: Desk, stage: Stage, step: Step) -> None:
    """The step for real."""
    old = texts(desk.root)
    result = await asked(desk, step, old)
    assert result["applied"] is True
    new = {path: text for path, text in {**old, **step.act.change(old)}.items() if text is not None}
    assert texts(desk.root) == new
    if step.late and result["diagnostics"]["servers"][0]["freshness"] != "fresh":
        unknown(step, result, set(step.act.change(old)))
    else:
        told(stage, step, await whole(desk, result), old, new)


async def whole(desk: Desk, result: Json) -> Json:
    """The report with what followed it: a loaded machine may be too slow for all of it to be in the answer."""
    report: Json = dict(result["diagnostics"])
    late = {one["path"] for one in report.get("leftOut", ()) if "in time" in one["reason"]}
    if late:
        more = await desk.client.wait_notification(
            "ombud/introducedDiagnostics", lambda params: params["writeId"] == result["writeId"], PATIENCE
        )
        assert late <= set(more["checkedDependents"])
        report["introduced"] = [*report["introduced"], *more["diagnostics"]]
        for key in ("resolved", "checkedDependents"):
            report[key] = [*report[key], *more[key]]
        report["stillPresent"] += more["stillPresent"]
    return report


async def asked(desk: Desk, step: Step, files: dict[str, str], *, preview: bool = False) -> Json:
    params = {**step.act.params(files), "waitMs": WAIT_MS, **({"preview": True} if preview else {})}
    result: Json = await desk.client.request(step.act.method, params, PATIENCE)
    assert next(iter(result)) == "applied"
    return result


def told(stage: Stage, step: Step, report: Json, old: Change, new: Change) -> None:
    """The report is exactly what is planted."""
    assert [(one["name"], one["freshness"]) for one in report["servers"]] == [(stage.server, "fresh")], report[
        "servers"
    ]
    same(report["introduced"], step.introduced, stage)
    same(report["resolved"], step.resolved, stage)
    for found, sources in ((report["introduced"], new), (report["resolved"], old)):
        for one in found:
            lines = (sources[one["path"]] or "").split("\n")
            assert one["line"] == one["range"]["start"]["line"] + 1 <= one["endLine"]
            assert one["text"] == lines[one["line"] - 1].strip()
    assert report["stillPresent"] == step.still
    assert set(step.checked) <= set(report["checkedDependents"]), (report["checkedDependents"], report.get("leftOut"))


def unknown(step: Step, result: Json, written: set[str]) -> None:
    """It is said that the server cannot know; of what it cannot know nothing is claimed, not even that it is clean."""
    report = result["diagnostics"]
    (row,) = report["servers"]
    reasons = {one["path"]: one["reason"] for one in report.get("leftOut", ())}
    if row["freshness"] == "fresh":
        # It knows what is written, and not what that means for others.
        assert set(step.checked) <= set(reasons), f"{step.unseen}, and it is told as if it had seen it: {report}"
        assert "not checked" in result["message"]
        expected = [one for one in step.introduced if one.path in written]
        assert [one for one in report["introduced"] if one["path"] not in written] == []
        assert len(report["introduced"]) == len(expected)
        return
    assert row["freshness"] == "unavailable" and row["reason"], row
    assert (report["introduced"], report["resolved"], report["stillPresent"]) == ([], [], 0)
    assert "Introduced" not in result["message"]


def same(found: Sequence[Json], wanted: Iterable[Wrong], stage: Stage, *, some: bool = False) -> None:
    """Each of ``wanted`` has its own diagnostic; with ``some`` there may be others besides."""
    left = list(found)
    for wrong in wanted:
        one = next((one for one in left if fits(one, wrong)), None)
        assert one is not None, f"{wrong} is not among {_short(found)}"
        assert one["source"] == stage.source
        left.remove(one)
    assert some or not left, f"not planted: {_short(left)}"


def fits(one: Json, wrong: Wrong) -> bool:
    place = (one["path"], one["line"], str(one.get("code")), one["severity"])
    return place == (wrong.path, wrong.line, wrong.code, wrong.severity) and wrong.message in one["message"]


def _short(found: Sequence[Json]) -> list[str]:
    return [f"{one['path']}:{one['line']} {one['severity']} {one.get('code')}: {one['message']}" for one in found]


# -- the disk


def contents(root: Path) -> dict[str, bytes]:
    """Every file of the project; not what it is linked to."""
    paths = [path for path in sorted(root.rglob("*")) if path.is_file() and "node_modules" not in path.parts]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


def texts(root: Path) -> dict[str, str]:
    return {path: content.decode() for path, content in contents(root).items() if not path.startswith(".cache")}


async def laid(desk: Desk, files: Mapping[str, str]) -> None:
    """Write these texts into the files of the project, which is no news to anybody."""
    there = texts(desk.root)
    for path, text in files.items():
        if there[path] != text:
            params = {"path": path, "content": text, "diagnostics": "none"}
            await desk.client.request("ombud/write", params, PATIENCE)
    assert texts(desk.root) == files
