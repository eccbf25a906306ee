"""The words of a write's answer: what an agent that reads nothing else has to know."""

from __future__ import annotations

from typing import Any

import pytest
from ombud.operations.shapes import DiagnosticShape, FreshnessShape
from ombud.operations.writing.report import applied_words, found_words, lists
from ombud.operations.writing.result import DiagnosticsShape, FileShape, LeftOutShape
from ombud.text.ranges import Position, Range


def item(path: str, line: int, message: str) -> DiagnosticShape:
    where = Range(Position(line - 1, 0), Position(line - 1, 1))
    return DiagnosticShape(path, line, line, where, "error", "one", message, "x", "E1")


def shape(**more: object) -> DiagnosticsShape:
    made = DiagnosticsShape(introduced=[], resolved=[], still_present=0, servers=[], checked_dependents=[])
    made.servers = [FreshnessShape("one", "fresh", 5)]
    for name, value in more.items():
        setattr(made, name, value)
    return made


def test_what_is_new_what_is_gone_and_what_nobody_looked_at() -> None:
    left = [LeftOutShape("c.py", "Late."), LeftOutShape("d.py", "Late."), LeftOutShape("e.py", "It is none.")]
    found = shape(
        introduced=[item("a.py", 3, "It broke.\nFor a reason."), item("a.py", 9, "Again.")],
        resolved=[item("b.py", 1, "Mended.")],
        left_out=left,
        left_out_count=4,
    )
    assert lists(found) == (
        "\n\nNew:\na.py\n  3: error: It broke. [one E1]\n  9: error: Again. [one E1]"
        "\n\nResolved:\nb.py\n  1: error: Mended. [one E1]"
        "\n\nNot checked: 2 files. Late.\n  c.py, d.py\nNot checked: e.py. It is none.\nNot checked: 1 more file."
    )
    assert lists(shape()) == ""


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ([("a", "modified", 2, 1)], "Wrote a (+2 −1)."),
        ([("b", "renamed", 0, 0)], "Renamed old → b."),
        ([("a", "deleted", 0, 3), ("b", "deleted", 0, 1)], "Deleted 2 files: a (+0 −3), b (+0 −1)."),
        (
            [("a", "created", 1, 0), ("c", "modified", 1, 0), ("b", "renamed", 1, 1)],
            "Wrote 3 files (1 created, 1 modified, 1 renamed): a (+1 −0), old → b (+1 −1), c (+1 −0).",
        ),
    ],
)
def test_what_was_done_comes_first(files: list[tuple[str, Any, int, int]], words: str) -> None:
    shapes = [FileShape(*one, from_="old" if one[1] == "renamed" else None) for one in files]
    assert applied_words(shapes, preview=False, in_buffer=False) == words


def test_D4_a_search_that_was_cut_short_is_told_in_the_words() -> None:
    """Not only in a field: nothing introduced may be nothing found."""
    said = found_words(shape(note="Looking for what uses the change was ended after 3 s."), "wait", no_server=False)
    assert said.startswith("Introduced 0 diagnostics, ")
    assert said.endswith(" Looking for what uses the change was ended after 3 s.")
