"""Counting, mapping and printing differences."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ombud.text.blocks import blocks
from ombud.text.diff import LineMap, line_map, stat, unified

SIDES = st.lists(st.sampled_from(["a", "b", "c", "", "}", "d"]), max_size=25)
TEXTS = st.lists(st.sampled_from(["a", "b", "\n", "\r\n", "\r", "é"]), max_size=25).map("".join)


@pytest.mark.parametrize(
    ("old", "new", "counts"),
    [
        ("", "", (0, 0)),
        ("", "a\nb\n", (2, 0)),
        ("a\nb\n", "", (0, 2)),
        ("a\nb\nc\n", "a\nB\nc\n", (1, 1)),
        ("a\nb\n", "a\nx\nb\n", (1, 0)),
        ("a", "a\n", (1, 1)),
        ("a\r\nb\r\n", "a\nb\r\n", (1, 1)),
        ("a\rb\r", "a\rb\rc", (1, 0)),
        ("a\nb\n", "b\na\n", (1, 1)),
    ],
)
def test_added_and_removed_lines_are_counted(old: str, new: str, counts: tuple[int, int]) -> None:
    assert stat(old, new) == counts


@pytest.mark.parametrize(
    ("old", "new", "mapped", "touched"),
    [
        ("a\nb\nc", "a\nb\nc", [0, 1, 2], set()),
        ("a\nb\nc", "x\na\nb\nc", [1, 2, 3], {0}),
        ("a\nb\nc", "a\nB\nc", [0, None, 2], {1}),
        ("a\nb\nc", "a\nc", [0, None, 1], set()),
        ("a\r\nb\r\n", "a\nb\n", [0, 1, 2], set()),
        ("", "a", [None], {0}),
    ],
)
def test_lines_are_mapped(old: str, new: str, mapped: list[int | None], touched: set[int]) -> None:
    result = line_map(old, new)
    assert [result.to_new(line) for line in range(result.old_count)] == mapped
    assert result.touched == touched
    assert result.to_new(result.old_count + 3) is None
    assert result.to_old(result.new_count + 3) is None


def test_a_map_of_nothing_maps_nothing() -> None:
    assert LineMap((), 0, 0).to_new(0) is None
    assert LineMap((), 0, 0).to_old(0) is None
    assert line_map("a", "b").to_new(-1) is None


@given(SIDES, SIDES)
def test_blocks_are_a_common_subsequence(old: list[str], new: list[str]) -> None:
    at_old = at_new = 0
    for i, j, size in blocks(old, new):
        assert size > 0 and i >= at_old and j >= at_new
        assert old[i : i + size] == new[j : j + size]
        at_old, at_new = i + size, j + size
    assert at_old <= len(old) and at_new <= len(new)


@given(TEXTS, TEXTS)
def test_a_map_leads_there_and_back(old: str, new: str) -> None:
    result = line_map(old, new)
    for line in range(result.old_count):
        target = result.to_new(line)
        assert target is None or (result.to_old(target) == line and target not in result.touched)
    assert len(result.touched) + sum(result.to_new(line) is not None for line in range(result.old_count)) == (
        result.new_count
    )


def test_a_line_that_occurs_once_holds_its_place_among_those_that_repeat() -> None:
    old = ["{", "one", "}", "", "{", "two", "}"]
    new = ["{", "zero", "}", "", "{", "one", "}", "", "{", "two", "}"]
    assert {
        i: j for i, j, size in blocks(old, new) for i, j in zip(range(i, i + size), range(j, j + size), strict=True)
    } == {
        **{0: 0, 1: 5, 2: 6, 3: 7},
        **{4: 8, 5: 9, 6: 10},
    }


def patched(old: str, diff: str) -> str:
    """``old`` with the hunks applied, read as git reads them."""
    before = old.split("\n")
    before = [line + "\n" for line in before[:-1]] + ([before[-1]] if before[-1] else [])
    rows = diff.replace("\n\\ No newline at end of file\n", "\0").split("\n")[2:]
    after: list[str] = []
    at = 0
    for row in "\n".join(rows).replace("\0", "\0\n").split("\n"):
        line = row[1:-1] if row.endswith("\0") else row[1:] + "\n"
        if row.startswith("@@"):
            start, _, size = row.split()[1][1:].partition(",")
            begin = int(start) - (size != "0")
            after += before[at:begin]
            at = begin
        elif row.startswith("+"):
            after.append(line)
        elif row:
            assert before[at] == line
            at += 1
            after += [line] if row.startswith(" ") else []
    return "".join(after + before[at:])


@given(TEXTS, TEXTS)
def test_a_unified_diff_turns_old_into_new(old: str, new: str) -> None:
    diff = unified(old, new, "a.py")
    assert (diff == "") == (old == new)
    if diff:
        assert patched(old, diff) == new


def test_a_unified_diff_reads_as_git_prints_it() -> None:
    old = "".join(f"{n}\n" for n in range(1, 21))
    new = old.replace("3\n", "three\n", 1).replace("19\n20\n", "19\n20")
    assert unified(old, new, "pack/a.py") == (
        "--- a/pack/a.py\n+++ b/pack/a.py\n"
        "@@ -1,6 +1,6 @@\n 1\n 2\n-3\n+three\n 4\n 5\n 6\n"
        "@@ -17,4 +17,4 @@\n 17\n 18\n 19\n-20\n+20\n\\ No newline at end of file\n"
    )
    assert unified(None, "a\n", "n.py") == "--- /dev/null\n+++ b/n.py\n@@ -0,0 +1 @@\n+a\n"
    assert unified("a\n", None, "n.py") == "--- a/n.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    assert unified("a", "b", 'x"\t.py').startswith('--- "a/x\\"\\t.py"\n')


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("a\nb\nc\n", "a\nB\nc", "plain.txt"),
        ("a\r\nb\r\n", "a\r\nB\r\n\r\n", "with space.txt"),
        (None, "new\n", "deep/new.txt"),
        ("gone\n", None, "gone.txt"),
        ("a\n" * 30, "b\n" + "a\n" * 29 + "c\n", 'quo"te.txt'),
    ],
)
def test_git_applies_a_unified_diff(tmp_path: Path, old: str | None, new: str | None, name: str) -> None:
    target = tmp_path / name
    target.parent.mkdir(exist_ok=True)
    if old is not None:
        target.write_bytes(old.encode())
    diff = unified(old, new, name).encode()
    done = subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=diff, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert (target.read_bytes() if target.exists() else None) == (None if new is None else new.encode())


def source(count: int) -> str:
    """Lines as real files have them: many of their own, many that repeat."""
    return "".join(f"def f{n}():\n    return {n}\n\n}}\n" for n in range(count // 4))


@pytest.mark.parametrize("where", [[0], [19_999], [0, 10_000, 19_999], list(range(0, 20_000, 400))])
def test_a_small_edit_in_a_large_file_is_mapped_exactly_and_at_once(where: list[int]) -> None:
    old = source(20_000).split("\n")
    new = list(old)
    for line in where:
        new[line] = f"changed {line}"
    started = time.process_time()
    result = line_map("\n".join(old), "\n".join(new))
    assert time.process_time() - started < 2.0
    assert result.touched == set(where)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["a", "b"] * 10_000, ["b", "b", "a"] * 7_000),
        ([""] * 20_000, ["x", ""] * 10_000),
        ([f"{n}" for n in range(20_000)], [f"{n}" for n in reversed(range(20_000))]),
        ([f"{n % 150}" for n in range(20_000)], [f"{n % 151}" for n in range(20_000)]),
    ],
)
def test_hostile_files_are_compared_in_bounded_time(old: list[str], new: list[str]) -> None:
    started = time.process_time()
    parts = blocks(old, new)
    assert time.process_time() - started < 5.0
    assert all(old[i : i + size] == new[j : j + size] for i, j, size in parts)
