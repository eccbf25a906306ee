"""Large patches of large files: the work grows with them, and not with their square."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.test_text_patch import hunked, patched


def calls(work: Callable[[], Any]) -> int:
    """How many functions, of the interpreter's too, are called."""
    count = 0

    def seen(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("step", [0, 7], ids=["in place", "each displaced otherwise"])
def test_work_grows_with_the_patch_and_not_with_its_square(step: int) -> None:
    def work(count: int) -> Callable[[], Any]:
        text = "".join(f"line {n}\nsame\n" for n in range(count * 2))
        hunks = [f"@@ -{n * 4 + 1 + n * step},2 +{n * 4 + 1},2 @@|-line {n * 2}|+new {n}| same" for n in range(count)]
        patch = hunked(*hunks)
        return lambda: patched(text, patch)

    assert calls(work(800)) < 5 * calls(work(200))


def test_ten_thousand_hunks_in_a_large_file() -> None:
    text = "".join(f"line {n}\nsame\n" for n in range(250_000))
    hunks = [f"@@ -{n * 40 + 1},2 +{n * 40 + 1},3 @@|-line {n * 20}|+new {n}|+more| same" for n in range(10_000)]
    moved = "above\n" + text
    after = patched(moved, hunked(*hunks)).split("\n")
    assert len(after) == 500_002 + 10_000
    assert after[1:4] == ["new 0", "more", "same"]
