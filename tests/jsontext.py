"""Hypothesis strategies for JSON as text: every spelling that a peer may choose, not only those of one encoder."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

SPACES = st.text(" \t\r\n", max_size=2)
NUMBERS = st.sampled_from(
    ["0", "-0", "1", "-17", "1.50", "0.1e-7", "12E+3", "-1.0e2", "9007199254740993", "1" * 30, "-" + "9" * 25]
)
# Every way in which a string's bytes can differ from its text, lone and whole surrogates and near misses among them.
PIECES = st.sampled_from(
    [
        *("a", "Z", " ", "0" * 20, "ü", "€", "\U0001f600", "\x7f", "\u2028", "\ufeff"),
        *("[", "]", "{", "}", ",", ":", "/"),
        *(r"\"", r"\\", r"\/", r"\n", r"\u0041", r"\u007f", r"\u007F", r"\\u007f", r"\u00fc", r"\u0000"),
        *(r"\ud83d", r"\uDE00", r"\ud83d\ude00", r"\uD83D\uDE00", r"\ud83d\ud83d\ude00", r"\\ud83d", r"\\\ud83d"),
        *("d83d", "\x7fd83d\x7f", "u", r"\\\\", r"\ude00\ud83d"),
    ]
)
STRINGS = st.lists(PIECES, max_size=6).map(lambda pieces: '"' + "".join(pieces) + '"')
SCALARS = st.one_of(NUMBERS, STRINGS, st.sampled_from(["null", "true", "false"]))


def texts(max_leaves: int = 12) -> st.SearchStrategy[str]:
    """A JSON value with spaces inside but none around it."""
    return st.recursive(SCALARS, lambda inner: st.one_of(_arrays(inner), objects(inner)), max_leaves=max_leaves)


def objects(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """A JSON object; a name may occur twice."""
    members = st.builds(lambda *parts: "".join(parts), SPACES, STRINGS, SPACES, st.just(":"), SPACES, values, SPACES)
    return st.lists(members, max_size=4).map(_within("{", "}"))


def _arrays(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    items = st.builds(lambda *parts: "".join(parts), SPACES, values, SPACES)
    return st.lists(items, max_size=4).map(_within("[", "]"))


def _within(opening: str, closing: str) -> Callable[[list[str]], str]:
    return lambda items: opening + ",".join(items) + closing
