"""Semantic tokens by the announced legend: what a client reads is what the server said, whatever the numbers."""

from __future__ import annotations

from collections.abc import Callable
from difflib import SequenceMatcher
from types import SimpleNamespace
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw
from ombud.downstream.capabilities import Capabilities
from ombud.downstream.semantic import (
    MOST_MODIFIERS,
    STANDARD,
    Legend,
    Mapper,
    Tokens,
    legend_in,
    legend_of,
    mapper,
    nearest,
)

CLANGD = Legend(
    ("variable", "variable", "parameter", "function", "unknown", "bracket", "type"), ("deduced", "readonly")
)
ANNOUNCED = STANDARD.with_words_of(Legend(("unknown", "bracket"), ("deduced",)))


class Token(NamedTuple):
    line: int
    column: int
    length: int
    kind: str
    modifiers: frozenset[str]


def read(data: list[int], legend: Legend) -> list[Token]:
    """Tokens as a client reads them (LSP 3.17, "Integer Encoding for Tokens")."""
    out, line, column = [], 0, 0
    for place in range(0, len(data), 5):
        down, right, length, kind, bits = data[place : place + 5]
        line, column = line + down, right if down else column + right
        names = frozenset(name for bit, name in enumerate(legend.modifiers) if bits >> bit & 1)
        out.append(Token(line, column, length, legend.types[kind], names))
    return out


def tokens(legend: Legend) -> st.SearchStrategy[list[int]]:
    """The data of a document's tokens: five numbers each."""
    one = st.tuples(
        st.integers(0, 3),
        st.integers(0, 40),
        st.integers(1, 12),
        st.integers(0, len(legend.types) - 1),
        st.integers(0, 2 ** len(legend.modifiers) - 1),
    )
    return st.lists(one, max_size=30).map(lambda some: [number for token in some for number in token])


def sent(value: Any) -> Raw:
    return Raw(msgspec.json.encode(value))


def got(raw: Raw) -> Any:
    return msgspec.json.decode(raw)


def made(server: Legend, announced: Legend) -> Mapper:
    found = mapper(server, announced)
    assert found is not None
    return found


@given(tokens(CLANGD))
def test_a_client_reads_the_tokens_that_the_server_meant(data: list[int]) -> None:
    answer = got(made(CLANGD, ANNOUNCED)(sent({"resultId": "7", "data": data})))
    assert answer["resultId"] == "7"
    assert read(answer["data"], ANNOUNCED) == read(data, CLANGD)


@given(tokens(CLANGD))
def test_tokens_without_a_word_are_left_out_and_the_others_stay_where_they_are(data: list[int]) -> None:
    bare = Legend(tuple(name for name in STANDARD.types if name != "variable"), ("readonly",))
    answer = got(made(CLANGD, bare)(sent({"resultId": "7", "data": data})))
    kept = [one for one in read(data, CLANGD) if one.kind not in ("variable", "unknown", "bracket")]
    expected = [one._replace(modifiers=one.modifiers & {"readonly"}) for one in kept]
    assert read(answer["data"], bare) == expected
    # A delta against this answer would count in an array that the client does not have.
    assert "resultId" not in answer


def by_numbers(old: list[int], new: list[int]) -> list[dict[str, Any]]:
    """One edit between what both begin and end with, as vscode-languageserver's builder has it: it may cut a token."""
    head = next((place for place, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    most = min(len(old), len(new)) - head
    tail = next((n for n, (a, b) in enumerate(zip(old[::-1], new[::-1], strict=False)) if a != b or n == most), most)
    return [{"start": head, "deleteCount": len(old) - tail - head, "data": new[head : len(new) - tail]}]


def by_tokens(old: list[int], new: list[int]) -> list[dict[str, Any]]:
    """Whole tokens, in several edits, the last one first: their order does not matter."""
    a, b = ([tuple(data[place : place + 5]) for place in range(0, len(data), 5)] for data in (old, new))
    return [
        {"start": i1 * 5, "deleteCount": (i2 - i1) * 5, "data": [number for token in b[j1:j2] for number in token]}
        for tag, i1, i2, j1, j2 in reversed(SequenceMatcher(a=a, b=b, autojunk=False).get_opcodes())
        if tag != "equal"
    ]


def scattered(old: list[int], new: list[int]) -> list[dict[str, Any]]:
    """Several edits between any numbers: what stays may become another number of its token."""
    return [
        {"start": i1, "deleteCount": i2 - i1, "data": new[j1:j2]}
        for tag, i1, i2, j1, j2 in SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes()
        if tag != "equal"
    ]


def after(array: list[int], edits: list[dict[str, Any]]) -> list[int]:
    out = list(array)
    for edit in sorted(edits, key=lambda one: one["start"], reverse=True):
        out[edit["start"] : edit["start"] + edit["deleteCount"]] = edit["data"]
    return out


@pytest.mark.parametrize("difference", [by_numbers, by_tokens, scattered])
@given(old=tokens(CLANGD), new=tokens(CLANGD))
def test_the_edits_of_a_delta_lead_from_one_mapped_answer_to_the_next(
    difference: Callable[[list[int], list[int]], list[dict[str, Any]]], old: list[int], new: list[int]
) -> None:
    edits = difference(old, new)
    assert after(old, edits) == new
    there = made(CLANGD, ANNOUNCED)
    answer = got(there(sent({"resultId": "8", "edits": edits})))
    if difference is scattered and answer is None:
        return
    array = got(there(sent({"data": old})))["data"]
    assert after(array, answer["edits"]) == got(there(sent({"data": new})))["data"]


def test_edits_that_meet_count_by_the_new_array() -> None:
    old, new = [0, 0, 1, 0, 0], [0, 0, 1, 2, 1, 0, 3, 1, 3, 0]
    edits = [{"start": 3, "deleteCount": 1, "data": new[3:8]}, {"start": 4, "deleteCount": 1, "data": new[8:]}]
    assert after(old, edits) == new
    there = made(CLANGD, ANNOUNCED)
    array = after(got(there(sent({"data": old})))["data"], got(there(sent({"edits": edits})))["edits"])
    assert array == got(there(sent({"data": new})))["data"]


def test_edits_that_turn_a_type_into_a_modifier_are_no_answer() -> None:
    edits = [{"start": 3, "deleteCount": 0, "data": [1]}, {"start": 4, "deleteCount": 1, "data": []}]
    assert after([0, 0, 1, 0, 7], edits) == [0, 0, 1, 1, 0]
    assert bytes(made(CLANGD, ANNOUNCED)(sent({"edits": edits}))) == b"null"
    assert bytes(made(CLANGD, ANNOUNCED)(sent({"edits": edits[:1]}))) == b"null"


def test_an_edit_without_data_stays_one() -> None:
    answer = got(made(CLANGD, ANNOUNCED)(sent({"edits": [{"start": 5, "deleteCount": 10}]})))
    assert answer == {"edits": [{"start": 5, "deleteCount": 10, "data": []}]}


@pytest.mark.parametrize(
    "server",
    [STANDARD, Legend(STANDARD.types[:4], ()), Legend((), STANDARD.modifiers[:2]), Legend((), ())],
    ids=["all", "types", "modifiers", "nothing"],
)
def test_a_legend_that_agrees_needs_no_exchange(server: Legend) -> None:
    assert mapper(server, STANDARD) is None


@pytest.mark.parametrize(
    "server",
    [Legend(("type", "namespace"), ()), Legend((), ("static",)), Legend(("namespace", "mine"), ())],
    ids=["order", "bit", "unknown"],
)
def test_a_legend_that_differs_is_exchanged(server: Legend) -> None:
    assert mapper(server, STANDARD) is not None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("selfParameter", "parameter"),
        ("builtinType", "type"),
        ("genericTypeParameter", "typeParameter"),
        ("selfTypeKeyword", "keyword"),
        ("procMacro", "macro"),
        ("HTTPMethod", "method"),
        ("member", "method"),
        ("trait", "interface"),
        ("escapeSequence", "string"),
        ("unresolvedReference", None),
        ("punctuation", None),
        ("", None),
        ("日本", None),
    ],
)
def test_the_nearest_type(name: str, expected: str | None) -> None:
    assert nearest(name, STANDARD.types) == expected


def test_the_nearest_type_is_one_that_was_announced() -> None:
    assert nearest("member", ("class",)) is None
    assert nearest("selfParameter", ("class",)) is None


@pytest.mark.parametrize(
    "result",
    [{"data": "no"}, {"data": [1.5]}, {"edits": [{"start": "x"}]}, {}, [], 5, {"data": None}],
    ids=str,
)
def test_an_answer_of_another_shape_becomes_none_rather_than_wrong_colours(result: Any) -> None:
    assert bytes(made(CLANGD, ANNOUNCED)(sent(result))) == b"null"


def test_null_stays_null() -> None:
    raw = Raw(b"null")
    assert made(CLANGD, ANNOUNCED)(raw) is raw


def test_numbers_outside_of_the_servers_legend_stay_outside() -> None:
    data = [0, 1, 2, 99, 1 << 20, 0, 1, 2, 0, 2]
    first, second = got(made(CLANGD, ANNOUNCED)(sent({"data": data})))["data"][3:5], data[8:]
    assert first[0] >= len(ANNOUNCED.types) and first[1] == 0
    assert second == [0, 2]


def test_a_wider_legend_keeps_the_numbers_of_the_narrower_one() -> None:
    wider = STANDARD.with_words_of(CLANGD)
    assert wider.types[: len(STANDARD.types)] == STANDARD.types
    assert wider.modifiers == (*STANDARD.modifiers, "deduced")
    many = Legend((), tuple(f"m{number}" for number in range(40)))
    assert len(STANDARD.with_words_of(many).modifiers) == MOST_MODIFIERS


@pytest.mark.parametrize(
    "options",
    [None, True, {}, {"legend": []}, {"legend": {"tokenTypes": "x", "tokenModifiers": []}}, {"legend": {}}],
    ids=str,
)
def test_options_without_a_legend(options: Any) -> None:
    assert legend_in(options) is None


def _capabilities(legend: Legend | None) -> Capabilities:
    return Capabilities({"semanticTokensProvider": {"legend": legend.options(), "full": True}} if legend else {})


def test_the_legend_registered_last_counts() -> None:
    found = _capabilities(CLANGD)
    assert legend_of(found) == CLANGD
    for number in (1, 2):
        later = {"legend": {"tokenTypes": [f"t{number}"], "tokenModifiers": []}}
        found.register(str(number), "textDocument/semanticTokens", later)
    assert legend_of(found) == Legend(("t2",), ())
    assert legend_of(_capabilities(None)) is None


def test_each_server_is_read_by_its_own_legend_and_equal_ones_are_not_touched() -> None:
    ours = Tokens()
    plain, raw = SimpleNamespace(capabilities=_capabilities(STANDARD)), sent({"data": [0, 0, 1, 3, 1]})
    other = SimpleNamespace(capabilities=_capabilities(CLANGD))
    assert ours(other, raw) is raw, "nothing is announced yet"  # type: ignore[arg-type]
    ours.legend = ANNOUNCED
    assert ours(plain, raw) is raw  # type: ignore[arg-type]
    assert read(got(ours(other, raw))["data"], ANNOUNCED) == read(got(raw)["data"], CLANGD)  # type: ignore[arg-type]
    ours.legend = ANNOUNCED.with_words_of(Legend(("mine",), ()))
    mine = SimpleNamespace(capabilities=_capabilities(Legend(("mine",), ())))
    assert got(ours(mine, sent({"data": [0, 0, 1, 0, 0]})))["data"][3] == len(ANNOUNCED.types)  # type: ignore[arg-type]
