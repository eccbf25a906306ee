"""Text for a screen of a certain width: nothing is wider than it, and nothing is lost."""

from __future__ import annotations

import io
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ombud.faces.cli.story import fold
from ombud.faces.cli.terminal import Row, Screen, columns_of, cut, prepare_streams, screen, table

WORDS = st.text(alphabet="abcäß字/-_. ", max_size=40)
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


@given(st.integers(40, 120), st.lists(st.lists(WORDS, min_size=4, max_size=4), max_size=5), st.booleans())
def test_a_table_is_never_wider_than_the_screen_and_keeps_every_letter(
    width: int, cells: list[list[str]], colour: bool
) -> None:
    rows = [Row(row, ["green", "bold"]) for row in cells]
    lines = [ESCAPE.sub("", line) for line in table(Screen(width, colour), ["ONE", "TWO", "THREE", "FOUR"], rows)]
    assert max(map(columns_of, lines)) <= width
    wanted = sorted("".join("".join(row) for row in cells).replace(" ", "").replace("", ""))
    shown = sorted("".join(lines[1:]).replace(" ", ""))
    assert shown == wanted


def test_a_table_lines_its_columns_up() -> None:
    rows = [Row(["a", "字", "x"]), Row(["long one", "b", "y"], below=["because of this"])]
    assert list(table(Screen(40), ["A", "B", "C"], rows)) == [
        "A         B   C",
        "a         字  x",
        "long one  b   y",
        "    because of this",
    ]


def test_a_reason_is_wrapped_and_never_cut() -> None:
    reason = "word " * 40
    lines = list(table(Screen(50), ["A"], [Row(["x"], below=[reason.strip()])]))
    assert " ".join(" ".join(lines[2:]).split()) == reason.strip()
    assert max(map(len, lines)) <= 50


def test_a_long_path_is_broken_behind_a_slash() -> None:
    lines = list(table(Screen(40), ["A", "PATH"], [Row(["x" * 10, "/srv/tools/python/bin/basedpyright-langserver"])]))
    assert [line.strip() for line in lines[1:]] == ["xxxxxxxxxx  /srv/tools/python/bin/", "basedpyright-langserver"]


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("字字", 4, "字字"),
        ("字字字", 4, "字…"),
        ("", 3, ""),
        ("e\u0301e", 2, "e\u0301e"),
    ],
)
def test_cut(text: str, width: int, expected: str) -> None:
    assert cut(text, width) == expected
    assert columns_of(cut(text, width)) <= width


@given(WORDS, st.integers(30, 60))
def test_folded_lines_keep_their_words(text: str, width: int) -> None:
    line = f"  {text.strip()}"
    parts = fold(line, width)
    assert "".join("".join(parts).split()) == "".join(line.split())
    assert all(columns_of(part) <= width or " " not in part.strip() for part in parts)


def test_colours_take_no_width() -> None:
    line = Screen(80, True).paint("a" * 20, "red") + " " + "b" * 9
    assert fold(line, 30) == [line]
    assert len(fold(line, 29)) == 2


@pytest.mark.parametrize(
    ("environment", "colour"),
    [
        ({}, True),
        ({"NO_COLOR": ""}, True),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": "0"}, False),
        ({"TERM": "dumb"}, False),
        ({"TERM": "xterm"}, True),
    ],
)
def test_colours_are_for_terminals_that_want_them(environment: dict[str, str], colour: bool) -> None:
    assert screen(Tty(), environment).colour is colour
    assert screen(io.StringIO(), environment).colour is False
    assert ("\x1b" in screen(Tty(), environment).paint("x", "red")) is colour


@pytest.mark.parametrize(
    ("columns", "width"), [("80", 80), ("60", 60), ("10", 40), ("4000", 120), ("x", 100), ("", 100), ("-5", 100)]
)
def test_columns_set_the_width(columns: str, width: int) -> None:
    assert screen(io.StringIO(), {"COLUMNS": columns}).width == width


def test_a_closed_stream_is_no_terminal() -> None:
    stream = io.StringIO()
    stream.close()
    assert screen(stream, {}) == Screen(100, False)


def test_streams_let_every_text_through(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    monkeypatch.setattr(sys, "stderr", None)
    prepare_streams()
    print("… \ud83d", flush=True)
    print("nobody hears", file=sys.stderr)
    assert raw.getvalue() == b"\\u2026 \\ud83d\n"
