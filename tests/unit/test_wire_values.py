"""Values in and out of JSON, lone surrogates included (row W7)."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw
from ombud.wire.surrogates import mark, restore_bytes
from ombud.wire.values import dump, load, null

from tests.jsontext import PIECES, texts


class Change(msgspec.Struct, frozen=True):
    text: str
    contentChanges: Raw  # noqa: N815  (the protocol's name)
    inner: Change | None = None
    names: tuple[str, ...] = ()


@settings(max_examples=400)
@given(texts())
def test_W7_a_value_is_what_the_text_means(text: str) -> None:
    # As text, since 1 and 1.0 are equal in Python and not here.
    assert json.dumps(load(text.encode(), object)) == json.dumps(json.loads(text))


@settings(max_examples=400)
@given(texts())
def test_W7_what_is_dumped_means_the_same(text: str) -> None:
    value = load(text.encode(), object)
    assert json.loads(dump(value).decode()) == json.loads(json.dumps(value))
    assert dump(Raw(text.encode())) == text.encode()


@given(st.lists(st.text(st.characters(), max_size=5), max_size=4), st.text(st.characters(), max_size=5))
def test_W7_any_string_comes_back(texts: list[str], name: str) -> None:
    """Strings of any code units, as keys and as values."""
    value = {name: texts, "x": {name: name}}
    data = dump(value)
    data.decode()
    assert load(data, object) == json.loads(data) == json.loads(json.dumps(value))


@given(st.lists(PIECES, max_size=12).map("".join))
def test_W7_a_mark_can_always_be_taken_back(text: str) -> None:
    body = b'"' + text.encode() + b'"'
    marked = mark(body)
    if marked is None:
        assert b"\\ud8" not in body.lower()
        return
    assert restore_bytes(marked) == body
    try:
        json.loads(body)
    except ValueError:
        return
    # Marked, it is JSON without a lone surrogate: msgspec takes it.
    assert isinstance(msgspec.json.decode(marked), str)


def test_W7_a_shape_is_read_with_its_bytes_kept() -> None:
    body = rb'{"text":"\ud83d","contentChanges":[ {"text":"\uDE00", "n":1.50} ],'
    body += b'"inner":{"text":"\x7f\\u007f","contentChanges":"\x7f\\ud83d"},"names":["a","\\udfff"]}'
    change = load(body, Change)
    assert change.text == "\ud83d"
    assert bytes(change.contentChanges) == rb'[ {"text":"\uDE00", "n":1.50} ]'
    assert change.names == ("a", "\udfff")
    assert change.inner is not None
    assert change.inner.text == "\x7f\x7f"
    assert bytes(change.inner.contentChanges) == b'"\x7f\\ud83d"'


def test_W7_a_list_of_raw_keeps_each_ones_bytes() -> None:
    items = load(rb'[ "\ud83d" ,{"a": 1.0}]', list[Raw])
    assert [bytes(item) for item in items] == [rb'"\ud83d"', b'{"a": 1.0}']


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"text":1,"contentChanges":[]}', Change),
        (b'{"text":1,"contentChanges":["\\ud83d"]}', Change),
        (b'{"contentChanges":[]}', Change),
        (b"[]", dict),
        (b'"\\ud83d"', int),
        (b"", object),
        (b"{", object),
        (b'{"\\ud83d"', object),
        (b"NaN", object),
        (b'["\\ud83d",NaN]', object),
        (b'"\xff"', object),
        (b'"\\ud83d\xff"', object),
        ('["\\ud83d"]'.encode("utf-16"), object),
        (b"[" * 100_000 + b"]" * 100_000, object),
        (b'["\\ud83d",' + b"[" * 100_000 + b"]" * 100_000 + b"]", object),
        (b'["\\ud83d",' + b"[" * 600 + b"]" * 600 + b"]", object),
        (b"1" * 5000, object),
    ],
)
def test_what_does_not_fit_is_one_kind_of_error(body: bytes, kind: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        load(body, kind)


def test_what_is_dumped_keeps_raw_payloads_and_has_no_nan() -> None:
    value = {"a": "\ud83d", "n": float("nan"), "raw": Raw(b'{"x": 1.50, "y":1e999}'), "t": ("\ude00", 1), 5: None}
    assert dump(value) == b'{"a":"\\ud83d","n":null,"raw":{"x": 1.50, "y":1e999},"t":["\\ude00",1],"5":null}'
    assert dump({"\ud83d": {"\ude00": Raw(b"[ ]")}}) == rb'{"\ud83d":{"\ude00":[ ]}}'
    assert dump(Change("\ud83d", Raw(b"[1.0]"))) == rb'{"text":"\ud83d","contentChanges":[1.0],"inner":null,"names":[]}'


def test_nothing_is_absent_or_null() -> None:
    assert null(None)
    assert null(Raw(b"null"))
    assert not any(null(Raw(text)) for text in (b"0", b"[]", b"{}", b'""', b"false", b'"null"', b"[null]"))
    assert null(load(b"[ null ]", list[Raw])[0])
