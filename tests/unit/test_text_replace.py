"""Exact replacements, and what a refused one shows."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ombud.errors import Refused, UserError
from ombud.text.buffer import decode, dominant_eol
from ombud.text.nearest import TEXT_LIMIT
from ombud.text.replace import Replaced, Replacement, replace


def once(text: str, old: str, new: str, *, every: bool = False) -> Replaced:
    return replace(text, dominant_eol(text), [Replacement(old, new, every)], "a.py")


def refusal(text: str, old: str, new: str = "NEW", *, every: bool = False) -> Refused:
    with pytest.raises(Refused) as caught:
        once(text, old, new, every=every)
    assert caught.value.kind == "conflict"
    return caught.value


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ("a b c", "b", "B", "a B c"),
        ("a\nb\nc\n", "a\nb", "x", "x\nc\n"),
        ("a\nb\n", "b\n", "", "a\n"),
        ("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\nc\r\n"),
        ("a\r\nb\r\n", "a\r\nb", "x\r\ny", "x\r\ny\r\n"),
        ("a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n"),
        ("a\rb\r", "a\nb", "x\ny", "x\ry\r"),
        ("a\r\nb", "\nb", "\nc", "a\r\nc"),
        ("", "", "x\ny", "x\ny"),
        ("one line", "line", "row\n", "one row\n"),
        ("😀 x 😀", "x", "é", "😀 é 😀"),
        ("a.*b", ".*", "[0]\\1", "a[0]\\1b"),
    ],
)
def test_C6_the_line_end_of_an_edit_is_the_files_own(text: str, old: str, new: str, expected: str) -> None:
    result = once(text, old, new)
    assert result.text == expected
    assert result.count == 1


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        # No line end in the region: the dominant one of the file.
        ("a\r\nb\r\nc\nd", "d", "x\ny", "a\r\nb\r\nc\nx\r\ny"),
        # One kind in the region: that one, whatever the rest of the file has.
        ("a\r\nb\r\nc\nd\n", "c\nd", "x\ny\nz", "a\r\nb\r\nx\ny\nz\n"),
        ("a\nb\nc\r\nd\r\n", "c\nd", "x\ny", "a\nb\nx\r\ny\r\n"),
        # Several kinds: lines that stay keep their bytes, new ones take the most frequent.
        ("a\r\nb\nc\rd\n", "a\nb\nc\nd\n", "a\nX\nc\nd\n", "a\r\nX\nc\rd\n"),
        ("a\r\nb\nc\r\nd", "a\nb\nc\nd", "a\nb\nX\nY\nd", "a\r\nb\nX\r\nY\r\nd"),
        # A line end is one thing: two of them are not the halves of one.
        ("a\r\nb\n\nb\r", "a\n", "c\n", "c\r\nb\n\nb\r"),
    ],
)
def test_C6_a_file_with_mixed_line_ends_matches_any(text: str, old: str, new: str, expected: str) -> None:
    assert once(text, old, new).text == expected


def test_C6_two_line_ends_never_match_one_carriage_return_line_feed() -> None:
    refused = refusal("a\r\nb\nc\r\n", "a\n\nb")
    assert refused.data["candidates"][0]["line"] == 1


def test_edits_apply_in_order_each_to_the_result_of_the_former() -> None:
    edits = [Replacement("a", "bb"), Replacement("bb", "c"), Replacement("c", "d\nd"), Replacement("d", "e", True)]
    assert replace("a\n", "\n", edits) == Replaced("e\ne\n", ((0, 3),), 5)


def test_spans_are_where_the_new_text_stands_at_the_end() -> None:
    edits = [Replacement("two", "2"), Replacement("four", "4444"), Replacement("one", "eins"), Replacement("4444 ", "")]
    result = replace("one two three four five", "\n", edits)
    assert result.text == "eins 2 three five"
    assert result.spans == ((0, 4), (5, 6), (13, 13))


def test_every_occurrence_is_replaced_when_asked() -> None:
    assert once("aXbXc", "X", "XX", every=True) == Replaced("aXXbXXc", ((1, 3), (4, 6)), 2)
    assert once("aaaa", "aa", "b", every=True).text == "bb"
    assert once("a\r\nb\na\r\n", "a\n", "c\n", every=True).text == "c\r\nb\nc\r\n"


@pytest.mark.parametrize(
    ("text", "edits", "words"),
    [
        ("a", [], "no edit"),
        ("a", [Replacement("a", "a")], "the same"),
        ("a", [Replacement("", "")], "the same"),
        ("a\r\nb", [Replacement("a\r\n", "a\n")], "the same"),
        ("a", [Replacement("", "b")], "is empty but x.py is not"),
        ("ab", [Replacement("a", "b"), Replacement("c", "c")], "edit 2 of 2"),
    ],
)
def test_an_edit_that_makes_no_sense_is_the_callers_mistake(text: str, edits: list[Replacement], words: str) -> None:
    with pytest.raises(UserError, match=words):
        replace(text, "\n", edits, "x.py")


def test_an_ambiguous_text_shows_every_place() -> None:
    refused = refusal("x = 1\ny = 2\nx = 1\n", "x = 1\n")
    assert refused.data == {
        "edit": 1,
        "occurrences": 2,
        "candidates": [
            {"line": 1, "endLine": 1, "text": "x = 1"},
            {"line": 3, "endLine": 3, "text": "x = 1"},
        ],
    }
    assert refused.message == (
        "oldText of the edit occurs 2 times in a.py (lines 1, 3), so nothing was changed. "
        "Add neighbouring lines to oldText until it is unique, or set replaceAll to change every occurrence."
    )


def test_an_ambiguous_text_shows_ten_places_and_counts_all() -> None:
    refused = refusal("pass\n" * 5000, "pass")
    assert refused.data["occurrences"] == 5000
    assert [candidate["line"] for candidate in refused.data["candidates"]] == list(range(1, 11))
    assert "…" in refused.message


def test_places_that_overlap_are_ambiguous_too() -> None:
    refused = refusal("}\n}\n}\n", "}\n}\n")
    assert [candidate["line"] for candidate in refused.data["candidates"]] == [1, 2]
    assert refused.data["occurrences"] == 2


SOURCE = '''\
def total(items):
    """The sum of all prices."""
    result = 0
    for item in items:
        result += item.price * item.count
    return result


def average(items):
    if not items:
        return None
    return total(items) / len(items)
'''


@pytest.mark.parametrize(
    ("old", "line", "end_line"),
    [
        ("def average( items ):", 9, 9),
        ('def total(items):\n\t"""The sum of all prices."""\n\tresult = 0\n', 1, 3),
        ("if not items: return None", 10, 11),
        ("for item in items:\n\n        result += item.price*item.count", 4, 5),
    ],
)
def test_a_text_that_differs_in_white_space_is_found_first(old: str, line: int, end_line: int) -> None:
    refused = refusal(SOURCE, old)
    best = refused.data["candidates"][0]
    assert (best["line"], best["endLine"], best["similarity"]) == (line, end_line, 1.0)
    assert best["text"] == "\n".join(SOURCE.split("\n")[line - 1 : end_line])
    assert "differs only in white space: copy oldText exactly from the candidates" in refused.message


@pytest.mark.parametrize(
    ("old", "line", "end_line"),
    [
        ("def averge(items):", 9, 9),
        ("    for item in items:\n        result += item.price * item.quantity\n    return result\n", 4, 6),
        ("    if items is None:\n        return None\n    return total(items) / len(items)", 10, 12),
        ("return total(item) / len(item)", 12, 12),
        ("resutl = 0", 3, 3),
        ("retrun resutl", 6, 6),
    ],
)
def test_an_absent_text_shows_the_nearest(old: str, line: int, end_line: int) -> None:
    refused = refusal(SOURCE, old)
    best = refused.data["candidates"][0]
    assert (best["line"], best["endLine"]) == (line, end_line)
    assert 0.5 <= best["similarity"] < 1
    assert refused.data["occurrences"] == 0
    assert "copy oldText exactly from the candidates" in refused.message
    assert len(refused.data["candidates"]) <= 3


def test_the_nearest_window_is_lined_up_by_the_lines_that_it_shares() -> None:
    refused = refusal(
        "one\n\nalpha beta\nprice += tax\nreturn price\nend\n", "alphabeta\nprice += tax\nreturn price!\n"
    )
    best = refused.data["candidates"][0]
    assert (best["line"], best["endLine"]) == (3, 5)


def test_an_absent_text_with_nothing_like_it_says_so() -> None:
    refused = refusal(SOURCE, "class Invoice(Base):")
    assert refused.data["candidates"] == []
    assert refused.message == (
        "oldText of the edit is not in a.py, so nothing was changed. "
        "Nothing in it is similar: read the file again before editing it."
    )
    assert refusal(SOURCE, "\t\t\t").data["candidates"] == []


def test_a_text_that_an_earlier_edit_changed_says_so() -> None:
    edits = [Replacement("result = 0", "result = 1"), Replacement("    result = 0\n", "")]
    with pytest.raises(Refused, match="An earlier edit of this call changed it") as caught:
        replace(SOURCE, "\n", edits, "a.py")
    assert caught.value.data["edit"] == 2
    assert caught.value.data["candidates"][0]["line"] == 3


def test_a_candidate_of_many_characters_is_cut() -> None:
    line = "value = [" + "1234, " * 5_000 + "]"
    shown = refusal(f"{line}\n{line}\n", line[:20]).data["candidates"][0]["text"]
    assert len(shown) == TEXT_LIMIT
    assert shown.endswith("…")


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("    self.value = compute(self.value, 17)\n" * 25_000, "    self.value = compute(self.other, 18)\n" * 30),
        ("".join(f"line_{n} = {n}\n" for n in range(60_000)), "lime_31000 = 31000\nlime_31001 = 31001"),
        ("x" * 1_000_000, "y" * 1_000),
        ("}\n" * 500_000, "};\n" * 300),
        (" \n" * 400_000, "a\nb"),
        ("word " * 200_000, "wrod " * 2_000),
    ],
)
def test_the_search_for_candidates_is_bounded(text: str, old: str) -> None:
    started = time.process_time()
    refusal(text, old)
    assert time.process_time() - started < 5.0


PIECES = st.lists(st.sampled_from(["a", "b", "\n", "\r\n", "\r", "é", "😀"]), max_size=14).map("".join)


@given(PIECES, PIECES, PIECES, PIECES, st.booleans())
def test_everything_outside_the_spans_stays_as_it_was(before: str, old: str, after: str, new: str, every: bool) -> None:
    text = before + old + after
    try:
        result = replace(text, dominant_eol(text), [Replacement(old, new, every)])
    except (Refused, UserError):
        return
    kept, done = "", 0
    for start, end in result.spans:
        kept += result.text[done:start]
        done = end
    kept += result.text[done:]
    # What is kept is the old text with the replaced regions left out, in order.
    at = 0
    for character in kept:
        at = text.index(character, at) + 1
    assert result.count == len(result.spans)
    if len(set(re.findall("\r\n|\r|\n", text))) <= 1 and "\r" not in old + new:
        eol = dominant_eol(text)
        native, fresh = old.replace("\n", eol), new.replace("\n", eol)
        assert result.text == (text.replace(native, fresh, -1 if every else 1) if native else fresh)


@given(st.data())
def test_spans_of_several_edits_hold_all_that_is_new(data: Any) -> None:
    text = data.draw(st.text(alphabet="ab", min_size=1, max_size=20))
    edits = data.draw(
        st.lists(
            st.builds(Replacement, st.text("abCD", min_size=1, max_size=2), st.text("CD", max_size=2), st.just(True)),
            min_size=1,
            max_size=4,
        )
    )
    try:
        result = replace(text, "\n", edits)
    except (Refused, UserError):
        return
    assert all(0 <= start <= end <= len(result.text) for start, end in result.spans)
    assert all(first[1] <= second[0] for first, second in zip(result.spans, result.spans[1:], strict=False))
    inside = {at for start, end in result.spans for at in range(start, end)}
    assert inside >= {at for at, character in enumerate(result.text) if character in "CD"}
    outside = "".join(character for at, character in enumerate(result.text) if at not in inside)
    at = 0
    for character in outside:
        at = text.index(character, at) + 1


def test_C6_an_edit_of_a_utf_16_file_changes_only_its_region() -> None:
    data = b"\xff\xfe" + "größe = 1\r\nname = '😀'\r\n".encode("utf-16-le")
    buffer = decode(data)
    edited = replace(buffer.text, buffer.eol, [Replacement("= 1\n", "= 2\nalter = 3\n")])
    assert buffer.encode(edited.text) == b"\xff\xfe" + "größe = 2\r\nalter = 3\r\nname = '😀'\r\n".encode("utf-16-le")
