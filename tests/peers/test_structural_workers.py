"""Search workers: files that kill them, what is told then, pages, counting on, what is seen of changes, and the end."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import psutil
import pytest
from ombud.errors import PeerError, UserError
from ombud.structural.messages import FULL, Op, Opened, Root
from ombud.structural.query import Query
from ombud.structural.search import Job, Outcome
from ombud.syntax import source as sources

from tests.conftest import Workspace
from tests.peers.searching import Searching, searching
from tests.waiting import wait_until

pytestmark = pytest.mark.usefixtures("environment")


def many(count: int) -> dict[str, str]:
    """Files of two matches each, in folders."""
    return {f"d{n % 7}/f{n:03}.py": f"first({n})\nfirst({n}, 'x')\nother({n})\n" for n in range(count)}


def places(outcome: Outcome) -> list[tuple[str, int]]:
    return [(hit.path, hit.place.line) for hit in outcome.hits]


def reasons(outcome: Outcome) -> dict[str, str]:
    return {path: reason for _, path, reason in outcome.skipped}


async def test_a_page_is_the_beginning_of_the_whole(workspace: Workspace) -> None:
    root = workspace(many(60))
    async with searching(root, 1) as alone:
        whole = places(await alone.find("first($$$)", most=1000))
    assert whole == sorted((path, line) for path in many(60) for line in (0, 1))
    for count in (1, 2, 3):
        async with searching(root, count) as made:
            for most in (1, 2, 7, 50, 119, 120, 121):
                found = await made.find("first($$$)", most=most)
                assert places(found) == whole[:most]
                assert (found.stopped == FULL) == (most < 120)


async def counted(made: Searching, pattern: str) -> int:
    """How many there are, once somebody is told. Files that were written a moment ago are not believed at once."""
    for _ in range(5000):
        total = (await made.find(pattern, most=5)).total
        if total is not None:
            return total
        await made.searcher.counted()
    raise TimeoutError("nobody was told")


async def test_who_asks_again_is_told_how_many_there_are(workspace: Workspace) -> None:
    root = workspace(many(400))
    async with searching(root) as made:
        assert (await made.find("first($X)", most=5)).stopped == FULL
        assert await counted(made, "first($X)") == 400
        # A file that changes meanwhile is counted as it is now.
        (root / "d0" / "f000.py").write_text("first(1)\nfirst(2)\nfirst(3)\n")
        assert await counted(made, "first($X)") == 402
        whole = await made.find("first($X)", most=1000)
        assert (whole.total, len(whole.hits), whole.stopped) == (402, 402, "")


@pytest.mark.parametrize(
    ("word", "reason"), [("CRASH", sources.DEADLY), ("HANG", sources.DEADLY), ("RAISE", sources.FAILED)]
)
async def test_a_file_that_no_parser_can_live_with_is_left_out_and_told(
    workspace: Workspace, word: str, reason: str
) -> None:
    files = many(20) | {"d3/bad.py": f"# {word}\nfirst(1)\n", "d5/worse.py": f"first(2)\n# {word}\n"}
    root = workspace(files)
    async with searching(root, hostile=True) as made:
        for _ in range(2):
            found = await made.find("first($X)", most=1000)
            assert {path for path, _ in places(found)} == set(many(20))
            assert reasons(found) == {"d3/bad.py": reason, "d5/worse.py": reason}
            assert not found.stopped
        (root / "d3" / "bad.py").write_text("first(1)\n")
        found = await made.find("first($X)", most=1000)
        assert ("d3/bad.py", 0) in places(found)
        assert reasons(found) == {"d5/worse.py": reason}


async def test_a_file_that_the_matcher_cannot_live_with_is_left_out_of_that_search(workspace: Workspace) -> None:
    root = workspace(many(6) | {"d3/bad.py": "# FALL\nfirst(1)\nother(1)\n"})
    async with searching(root, hostile=True) as made:
        for pattern in ("first($X)", "other($X)"):
            found = await made.find(pattern, most=1000)
            assert {path for path, _ in places(found)} == set(many(6))
            assert reasons(found) == {"d3/bad.py": sources.DEADLY}


async def test_files_without_end_that_kill_end_the_search_with_an_error(workspace: Workspace) -> None:
    root = workspace({f"f{n}.py": "first(1)\n# CRASH\n" for n in range(40)})
    async with searching(root, hostile=True) as made:
        with pytest.raises(PeerError, match="narrow it"):
            await made.find("first($X)")
        assert (await made.find("nowhere($X)")).searched > 0


async def test_a_worker_that_somebody_ends_is_replaced(workspace: Workspace) -> None:
    root = workspace(many(30))
    async with searching(root) as made:
        before = places(await made.find("first($X)", most=100))
        for pid in made.pids:
            os.kill(pid, signal.SIGKILL)
        assert places(await made.find("first($X)", most=100)) == before


async def test_workers_that_do_not_start_are_an_error(workspace: Workspace) -> None:
    async with searching(workspace(many(2))) as made:
        made.pool.command = ["/bin/sh", "-c", "echo broken >&2; exit 3"]
        with pytest.raises(PeerError) as failed:
            await made.find("first($X)")
        assert failed.value.kind == "server_failed"


async def test_who_stops_waiting_stops_the_work_and_no_worker_is_lost(workspace: Workspace, tmp_path: Path) -> None:
    marks = [tmp_path / f"mark{n}" for n in range(2)]
    # The second file is one that nobody ever comes back from.
    files = {f"{name}.py": f"first(0)\n# WAIT {mark}\n" for name, mark in zip("ab", marks, strict=True)}
    root = workspace(files)
    async with searching(root, 1, hostile=True) as made:
        task = asyncio.ensure_future(made.find("first($X)", most=1000))
        await wait_until(marks[0].exists, 30, "the worker is at the file")
        pids = made.pids
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        marks[0].with_name(marks[0].name + ".go").touch()
        found = await made.find("other($X)")
        assert (found.hits, found.searched) == ([], 2)
        assert made.pids == pids
        assert not marks[1].exists()


async def test_two_questions_take_turns(workspace: Workspace, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    root = workspace(many(10) | {"d0/wait.py": f"waiting(0)\n# WAIT {mark}\n"})
    async with searching(root, 2, hostile=True) as made:
        slow = asyncio.ensure_future(made.find("waiting($X)"))
        await wait_until(mark.exists, 30, "the worker is at the file")
        quick = asyncio.ensure_future(made.find("first($X)", most=1000))
        mark.with_name(mark.name + ".go").touch()
        assert len((await quick).hits) == 10
        assert len((await slow).hits) == 1


async def test_every_change_is_seen_at_once(workspace: Workspace) -> None:
    root = workspace({"a.py": "first(1)\n", "b.py": "other(1)\n"})
    async with searching(root) as made:
        assert places(await made.find("first($X)")) == [("a.py", 0)]
        for number in range(5):
            # The same size, and as quick as can be.
            (root / "a.py").write_text("first(1)\n" if number % 2 else "third(1)\n")
            (root / "b.py").write_text("third(1)\n" if number % 2 else "first(1)\n")
            (root / f"new{number}.py").write_text("first(1)\n")
            found = {path for path, _ in places(await made.find("first($X)"))}
            assert found == {"a.py" if number % 2 else "b.py", *(f"new{n}.py" for n in range(number + 1))}
        (root / "new0.py").unlink()
        (root / "new1.py").rename(root / "c.py")
        found = {path for path, _ in places(await made.find("first($X)"))}
        assert found == {"b.py", "c.py", "new2.py", "new3.py", "new4.py"}


async def test_what_a_client_has_open_counts_in_place_of_the_disk(workspace: Workspace) -> None:
    root = workspace({"a.py": "first(1)\n", "b.py": "other(1)\n", ".gitignore": "build/\n", "build/c.py": "other(1)\n"})
    opened = [Opened(0, path, "python", b"\nfirst(2)\n") for path in ("b.py", "new/d.py", "build/c.py")]
    async with searching(root) as made:
        assert places(await made.find("first($X)", opened=opened)) == [("a.py", 0), ("b.py", 1), ("new/d.py", 1)]
        assert places(await made.find("first($X)")) == [("a.py", 0)]


async def test_rewriting_keeps_what_is_the_files_own(workspace: Workspace) -> None:
    """Marks, line ends and encodings, and every language in which at least one of the ops can be read."""
    files: dict[str, str | bytes] = {
        "a.py": b"\xef\xbb\xbffirst(1)\r\nx = 'a'\r\n",
        "b.js": "second(2, 3);\n",
        "c.py": "s = '\xe9'; first(3)\n".encode("latin-1"),
        "d.ts": "interface A<in out T> { x: T }\nfirst(5);\n",
        "e.py": "first(6)\n",
        "f.py": "nothing()\n",
        "w.py": "first('é')\n".encode("utf-16"),
    }
    root = workspace(files)
    opened = [Opened(0, "e.py", "python", b"# typed\nfirst(7)\n")]
    ops = [Op(Query(pattern="first($X)"), "said($X)"), Op(Query(pattern="second($A, $B);"), "second($B, $A);")]
    async with searching(root) as made:
        job = Job(ops[0].query, [Root(str(root))], opened=opened)
        found, outcome = await made.searcher.rewrite(job, ops)
    assert not outcome.stopped
    assert {one.path: (one.before, one.after, one.opened) for one in found} == {
        "a.py": (files["a.py"], b"\xef\xbb\xbfsaid(1)\r\nx = 'a'\r\n", False),
        "b.js": (b"second(2, 3);\n", b"second(3, 2);\n", False),
        "c.py": (files["c.py"], "s = '\xe9'; said(3)\n".encode("latin-1"), False),
        "d.ts": (b"interface A<in out T> { x: T }\nfirst(5);\n", b"interface A<in out T> { x: T }\nsaid(5);\n", False),
        "e.py": (b"# typed\nfirst(7)\n", b"# typed\nsaid(7)\n", True),
        "w.py": (files["w.py"], "said('é')\n".encode("utf-16"), False),
    }
    assert [(one.replacements, one.refused, len(one.hits)) for one in found] == [(1, "", 1)] * 6


async def test_what_a_grammar_does_not_know_hides_nothing(workspace: Workspace) -> None:
    """tree-sitter-typescript knows no variance: the whole interface would be an error."""
    root = workspace({"a.ts": "interface A<in out T> {\n  get(key: T): first<T>;\n}\nfirst(1);\n"})
    async with searching(root) as made:
        found = await made.find("interface $N<$$$> { $$$ }", languages=["typescript"])
        assert places(found) == [("a.ts", 0)]
        assert found.flawed == []


async def test_a_pattern_that_is_no_code_is_an_error(workspace: Workspace) -> None:
    async with searching(workspace(many(3))) as made:
        with pytest.raises(UserError) as wrong:
            await made.find("def (((")
        assert wrong.value.kind == "unparseable_pattern"
        assert {"language", "as", "complaint"} <= set(wrong.value.data["rungs"][0])


async def test_nothing_is_left_when_the_searcher_closes(workspace: Workspace) -> None:
    async with searching(workspace(many(300))) as made:
        await made.find("first($X)", most=1)
        pids = made.pids
        assert len(pids) == 2
    assert not [pid for pid in pids if psutil.pid_exists(pid)]


async def test_who_waits_when_it_closes_is_told(workspace: Workspace, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    async with searching(workspace({"a.py": f"first(0)\n# WAIT {mark}\n"}), 1, hostile=True) as made:
        waiting = asyncio.ensure_future(made.find("first($X)"))
        await wait_until(mark.exists, 30, "the worker is at the file")
        await made.searcher.close()
        with pytest.raises(PeerError):
            await waiting
