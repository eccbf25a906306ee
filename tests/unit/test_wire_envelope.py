"""Bodies to messages: the envelope is understood, the payload keeps every byte, and the rest is refused in words."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET, Raw, UnsetType
from ombud.wire import envelope
from ombud.wire.envelope import BodyError, Message, decode
from ombud.wire.framing import Framer, FramingError, frame
from ombud.wire.limits import DEFAULT

from tests.jsontext import PIECES, SPACES, STRINGS, objects, texts

PARSE_ERROR, INVALID_REQUEST = -32700, -32600


def refusal(body: bytes, **options: Any) -> BodyError:
    with pytest.raises(BodyError) as caught:
        decode(body, **options)
    error = caught.value
    assert error.message == str(error)
    # A sentence for a reader: one line, with an end, of a bounded size.
    assert error.message.endswith(".")
    assert "\n" not in error.message
    assert len(error.message) < 400
    return error


def raw(member: Raw | UnsetType) -> bytes:
    assert isinstance(member, Raw)
    return bytes(member)


# -- what is a message


def test_the_kinds_of_messages() -> None:
    request = decode(b'{"jsonrpc":"2.0","id":1,"method":"a/b","params":{"x":[1]}}')
    assert (request.is_request, request.is_notification, request.is_response) == (True, False, False)
    assert (request.id, request.method, raw(request.params)) == (1, "a/b", b'{"x":[1]}')
    notification = decode(b'{"jsonrpc":"2.0","method":"a"}')
    assert (notification.is_request, notification.is_notification, notification.is_response) == (False, True, False)
    for body in (b'{"id":1,"result":null}', b'{"id":"x","error":{"code":1,"message":""}}', b'{"id":null,"error":{}}'):
        answer = decode(body)
        assert (answer.is_request, answer.is_notification, answer.is_response) == (False, False, True)


def test_null_and_absent_are_two_things() -> None:
    answer = decode(b'{"id":1,"result":null}')
    assert raw(answer.result) == b"null"
    assert answer.error is UNSET
    assert answer.params is UNSET
    assert decode(b'{"method":"a","params":null}').params is not UNSET
    assert decode(b'{"method":"a"}').params is UNSET
    assert decode(b'{"id":null,"error":{}}').id is None
    assert decode(b'{"method":"a"}').id is UNSET


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"0", 0),
        (b"-0", 0),
        (b"-1", -1),
        (b"9007199254740993", 9007199254740993),
        (b"18446744073709551616", 1 << 64),
        (b"-9223372036854775809", -(1 << 63) - 1),
        (b"1" + b"0" * 300, 10**300),
        (b'""', ""),
        (b'"1"', "1"),
        (b'"\\u00fc\\ud83d\\ude00\\n"', "ü\U0001f600\n"),
        ('"ü€\x7f"'.encode(), "ü€\x7f"),
    ],
)
@pytest.mark.parametrize("params", [b"{}", rb'{"x":"\ud83d"}'], ids=["plain", "surrogate"])
def test_ids_are_numbers_and_strings_of_any_size_and_come_back_the_same(
    text: bytes, value: int | str, params: bytes
) -> None:
    message = decode(b'{"id":%b,"method":"a","params":%b}' % (text, params))
    assert message.id == value
    assert type(message.id) is type(value)
    for body in (envelope.response(value, None), envelope.failure(value, {}), envelope.request(value, "m")):
        assert decode(body).id == value


@pytest.mark.parametrize("identity", [b"1.0", b"1e2", b"true", b"false", b"[1]", b"{}", rb'"\ud83d"'])
@pytest.mark.parametrize("params", [b"{}", rb'{"x":"\ud83d"}'], ids=["plain", "surrogate"])
def test_an_id_of_another_kind_is_refused(identity: bytes, params: bytes) -> None:
    error = refusal(b'{"id":%b,"method":"a","params":%b}' % (identity, params))
    assert (error.code, error.id, error.answers) == (INVALID_REQUEST, None, None)
    # It is not taken for a number either where it would be an answer's.
    error = refusal(b'{"id":%b,"result":%b}' % (identity, params))
    assert (error.code, error.id, error.answers) == (INVALID_REQUEST, None, None)


def test_of_a_member_that_occurs_twice_the_last_counts() -> None:
    message = decode(b'{"id":1,"method":"a","params":{"x":1,"x":2},"method":"b","id":2,"params":[3]}')
    assert (message.id, message.method, raw(message.params)) == (2, "b", b"[3]")
    assert raw(decode(b'{"method":"a","params":{"x":1,"x":2}}').params) == b'{"x":1,"x":2}'
    lone = decode(rb'{"id":1,"method":"a","params":["\ud83d"],"method":"b","id":2,"params":["\ud83e"]}')
    assert (lone.id, lone.method, raw(lone.params)) == (2, "b", rb'["\ud83e"]')


def test_names_may_be_spelled_with_escapes_and_unknown_members_are_left_out() -> None:
    message = decode(rb'{"\u0069d":7,"m\u0065thod":"a\/b","x":{"y":[1]},"params":{}}')
    assert (message.id, message.method) == (7, "a/b")


def test_a_peer_that_omits_the_version_is_understood() -> None:
    assert decode(b'{"id":1,"method":"a"}').method == "a"


def test_answers_of_the_old_school_count_by_the_member_that_is_not_null() -> None:
    good = decode(b'{"id":1,"result":[1],"error":null}')
    assert (raw(good.result), good.error) == (b"[1]", UNSET)
    nothing = decode(b'{"id":1,"result":null,"error":null}')
    assert (raw(nothing.result), nothing.error) == (b"null", UNSET)
    bad = decode(b'{"id":1,"result":null,"error":{"code":1,"message":"x"}}')
    assert (bad.result, raw(bad.error)) == (UNSET, b'{"code":1,"message":"x"}')


# -- W3, W9: what is none is answered, and the connection goes on


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"{",
        b'{"id":1,"method":"a"',
        b'{"id":1,"method":"a"}}',
        b'{"id":1,"method":"a"} {}',
        b'\xef\xbb\xbf{"id":1,"method":"a"}',
        b"{'id':1,'method':'a'}",
        b'{"id":1,"method":"a",}',
        b'{"id":1 "method":"a"}',
        b'{"id":01,"method":"a"}',
        b"\x00",
        b"nonsense",
        '{"id":1,"method":"a"}'.encode("utf-16"),
        '{"id":1,"method":"a"}'.encode("utf-32-le"),
        b'{"method":"a","params":{"x":"\t"}}',
        rb'{"method":"a","params":{"x":"\ud83d","y":"\x"}}',
        rb'{"method":"a","params":{"x":"\ud83d}}',
        rb'{"method":"a","params":{"x":\ud83d}}',
        b'{"method":"a","params":{"x":"\\ud83d","y":\x7f}}',
    ],
)
def test_W3_what_is_no_json_is_a_parse_error(body: bytes) -> None:
    assert refusal(body).code == PARSE_ERROR
    assert refusal(body, limits=None).code == PARSE_ERROR


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b'[{"id":1,"method":"a"}]',
        b"1",
        b"null",
        b'"text"',
        b"true",
        b"{}",
        b'{"jsonrpc":"2.0"}',
        b'{"id":1}',
        b'{"id":null}',
        b'{"result":1}',
        b'{"error":{}}',
        b'{"id":1,"result":1,"error":{}}',
        b'{"id":null,"method":"a"}',
        b'{"id":1,"method":null}',
        b'{"id":1,"method":5}',
        b'{"id":1,"method":"a","params":"x"}',
        b'{"id":1,"method":"a","params":5}',
        b'{"id":1,"method":"a","params":true}',
        b'{"jsonrpc":2.0,"id":1,"method":"a"}',
        rb'{"id":1,"method":"\ude00"}',
        rb'{"id":1,"method":"a","params":"\ud83d"}',
    ],
)
def test_W3_json_that_is_no_message_is_an_invalid_request(body: bytes) -> None:
    assert refusal(body).code == INVALID_REQUEST
    assert refusal(body, limits=None).code == INVALID_REQUEST


@pytest.mark.parametrize(
    ("body", "identity", "answers"),
    [
        (b'{"id":7,"method":5}', 7, None),
        (b'{"id":"x","method":"a","params":5}', "x", None),
        (rb'{"params":"\ud83d","id":7,"method":"\ud83d"}', 7, None),
        (b'{"id":7}', None, 7),
        (b'{"id":"x","result":1,"error":{}}', None, "x"),
        (b'{"jsonrpc":2,"id":7,"result":1}', None, 7),
        # No JSON, or none that may be parsed: only what stands where most peers write it can be known.
        (b'{"jsonrpc":"2.0","id":7,"method":"a","params":{"x":"\xff"}}', 7, None),
        (b'{"jsonrpc":"2.0","id":"a b","method":"a","params":{"x":', "a b", None),
        (b' {"id" : -7, "jsonrpc":"2.0",\r\n"result":{"x":NaN}}', None, -7),
        (b'{"id":7,"error":{"x":' + b"1" * 400 + b"}}", None, 7),
        (b'{"id":7,"method":"a","params":' + b"[" * 257 + b"]" * 257 + b"}", 7, None),
        (b'{"id":7,"params":{"x":NaN},"method":"a"}', None, None),
        (b'{"id":007,"method":"a","params":NaN}', None, None),
        (b'{"id":7.5,"method":"a","params":NaN}', None, None),
        (b'{"jsonrpc":"2.0","method":"a","params":NaN}', None, None),
        (b'{"id":"\xff","method":"a"}', None, None),
    ],
)
def test_W3_the_request_that_was_broken_is_named_and_never_mistaken_for_an_answer(
    body: bytes, identity: int | str | None, answers: int | str | None
) -> None:
    error = refusal(body)
    assert (error.id, error.answers) == (identity, answers)


def test_W9_a_malformed_body_does_not_touch_the_next_one() -> None:
    bodies = [b'{"method":"a"}', b"{", b'{"method":"b"}', b"", b"[]", b'{"method":"c"}', b"\xff", b'{"method":"d"}']
    seen: list[str | int] = []
    for body in Framer().feed(b"".join(map(frame, bodies))):
        try:
            message = decode(body)
            assert isinstance(message.method, str)
            seen.append(message.method)
        except BodyError as error:
            seen.append(error.code)
    assert seen == ["a", PARSE_ERROR, "b", PARSE_ERROR, INVALID_REQUEST, "c", PARSE_ERROR, "d"]


# -- W8: bombs


@pytest.mark.parametrize("constant", [b"NaN", b"Infinity", b"-Infinity", b"nan", b"1.", b".5", b"+1", b"0x10", b"--1"])
@pytest.mark.parametrize("more", [b"", rb',"\ud83d"'], ids=["plain", "surrogate"])
def test_W8_what_json_has_no_number_for_is_refused(constant: bytes, more: bytes) -> None:
    assert refusal(b'{"id":1,"method":"a","params":[%b%b]}' % (constant, more)).code == PARSE_ERROR


def test_W8_the_envelope_counts_as_a_level_of_nesting() -> None:
    def body(depth: int) -> bytes:
        return b'{"method":"a","params":' + b"[" * depth + b"]" * depth + b"}"

    assert raw(decode(body(255)).params) == b"[" * 255 + b"]" * 255
    assert "deeper than 256" in refusal(body(256)).message
    assert raw(decode(b'{"method":"a","params":["' + b"[" * 5000 + b'"]}').params)[:4] == b'["[['


@pytest.mark.parametrize("more", [b"", rb'"\ud83d",'], ids=["plain", "surrogate"])
@pytest.mark.parametrize("depth", [5_000, 100_000, 1_000_000])
def test_W8_without_our_limit_the_parser_has_its_own(depth: int, more: bytes) -> None:
    body = b'{"id":1,"result":[%b%b%b]}' % (more, b"[" * depth, b"]" * depth)
    error = refusal(body, limits=None)
    assert (error.code, error.answers) == (PARSE_ERROR, 1)
    assert "nested too deeply" in error.message


def test_W8_a_number_of_a_million_digits_is_refused_quickly() -> None:
    long = b"1" * 1_000_000
    start = time.process_time()
    assert "400 digits" in refusal(b'{"id":1,"method":"a","params":[%b]}' % long).message
    assert refusal(b'{"id":%b,"method":"a"}' % long).code == PARSE_ERROR
    assert refusal(b'{"id":%b,"method":"a"}' % long, limits=None).code == INVALID_REQUEST
    # What is only passed on is not read as a number at all.
    assert raw(decode(b'{"id":1,"result":%b}' % long, limits=None).result) == long
    assert time.process_time() - start < 5


# -- W7: the payload


@settings(max_examples=400)
@given(
    texts(),
    st.sampled_from([1, -5, "x", "\x7f", "ü"]),
    st.sampled_from(["result", "params"]),
    st.permutations(range(4)),
    st.lists(SPACES, min_size=16, max_size=16),
)
def test_W7_the_payload_keeps_every_byte(
    payload: str, identity: int | str, member: str, order: list[int], spaces: list[str]
) -> None:
    space = iter(spaces)
    if member == "params":
        payload = "[" + payload + "]"
    members = [
        ('"jsonrpc"', '"2.0"'),
        ('"id"', json.dumps(identity, ensure_ascii=False)),
        ('"method"' if member == "params" else '"unknown"', '"a"'),
        (f'"{member}"', payload),
    ]
    parts = [next(space) + n + next(space) + ":" + next(space) + v for n, v in (members[at] for at in order)]
    body = (next(space) + "{" + ",".join(parts) + next(space) + "}" + next(space)).encode()
    for message in (decode(body), decode(body, limits=None), decode(body, repair=True)):
        assert message.id == identity
        assert raw(getattr(message, member)) == payload.encode()


@pytest.mark.parametrize(
    "text",
    [
        rb'"\ud83d"',
        rb'"\uD83D"',
        rb'"\ude00\ud83d"',
        rb'"\ud83d\ud83d\ude00"',
        rb'"\\\ud83d\\ud83d"',
        rb'{"\udfff":"\ud800"}',
        b'"\\ud83d\x7f\x7fd83d\x7f\\u007f\\u007F"',
        rb'[1.50, -0,  1E400,  123456789012345678901234567890 , "\ud83d"]',
    ],
)
def test_W7_lone_surrogates_pass_byte_for_byte(text: bytes) -> None:
    params = b"[ %b ]" % text
    message = decode(b'{"id":1,"method":"a","params":%b}' % params)
    assert raw(message.params) == params
    again = decode(envelope.request(2, "a", message.params))
    assert raw(again.params) == params


def test_W7_a_lone_surrogate_may_stand_in_a_member_that_nobody_reads() -> None:
    message = decode(rb'{"\ud83d":"\ude00","id":1,"result":{"a":1}}')
    assert (message.id, raw(message.result)) == (1, b'{"a":1}')


def test_W7_what_we_say_ourselves_may_hold_lone_surrogates() -> None:
    params = {"text": "\ud83d\x7f", "raw": Raw(b'[1.50,"\\uDE00\x7f"]'), "\ud83d": [1, None]}
    expected = b'{"text":"\\ud83d\x7f","raw":[1.50,"\\uDE00\x7f"],"\\ud83d":[1,null]}'
    assert raw(decode(envelope.request(1, "a", params)).params) == expected
    assert raw(decode(envelope.notification("a", params)).params) == expected
    assert raw(decode(envelope.response(1, params)).result) == expected
    assert raw(decode(envelope.failure(1, params)).error) == expected


def test_text_that_is_not_utf8_is_refused_or_repaired_but_never_passed_on() -> None:
    body = b'{"id":1,"result":{"x":"caf\xe9 \xed\xa0\x80"}}'
    for limits in (DEFAULT, None):
        error = refusal(body, limits=limits)
        assert (error.code, error.answers) == (PARSE_ERROR, 1)
        assert "not UTF-8 (byte 26)" in error.message
        assert raw(decode(body, limits=limits, repair=True).result) == '{"x":"caf\ufffd \ufffd\ufffd\ufffd"}'.encode()


# -- encoding


def test_what_is_sent_says_its_version_and_only_what_it_has() -> None:
    assert json.loads(envelope.request(1, "a")) == {"jsonrpc": "2.0", "id": 1, "method": "a"}
    assert json.loads(envelope.notification("a", {})) == {"jsonrpc": "2.0", "method": "a", "params": {}}
    assert json.loads(envelope.response("x", None)) == {"jsonrpc": "2.0", "id": "x", "result": None}
    assert json.loads(envelope.failure(None, {"code": 1})) == {"jsonrpc": "2.0", "id": None, "error": {"code": 1}}


@pytest.mark.parametrize("identity", [0, 7, -3, 2**53, "", "a", "\u00e9\u2014\U0001d11e", 'quote " and \\'])
@pytest.mark.parametrize("payload", [b"null", b"[]", '{"a":"\u00e9"}'.encode(), b"[" + b"1," * 50_000 + b"1]"])
def test_a_forwarded_answer_is_framed_as_any_other(identity: int | str, payload: bytes) -> None:
    assert envelope.forwarded(identity, Raw(payload)) == frame(envelope.response(identity, Raw(payload)))


@given(texts())
def test_what_is_forwarded_is_the_same_payload_under_another_id(payload: str) -> None:
    answer = decode(b'{"id":1,"result":%b}' % payload.encode())
    assert raw(decode(envelope.response("client-7", answer.result)).result) == payload.encode()


# -- hostile bodies

TOKENS = st.sampled_from([*'{}[]":,\\1', '"id"', '"method"', '"result"'])
JUNK = st.one_of(
    st.binary(max_size=60),
    st.lists(st.one_of(PIECES, STRINGS, TOKENS), max_size=20).map("".join).map(str.encode),
)
MEMBERS = st.sampled_from(
    ['"id":1', '"id":"x"', '"id":1.5', '"id":null', '"method":"a"', '"method":1', '"jsonrpc":"2.0"']
)
ALMOST = st.lists(st.one_of(MEMBERS, objects(texts()).map(lambda text: '"params":' + text)), max_size=5).map(
    lambda members: ("{" + ",".join(members) + "}").encode()
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    body = bytearray(draw(ALMOST))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(body)))
        body[at : at + draw(st.integers(0, 2))] = draw(st.binary(max_size=2))
    return bytes(body)


@settings(max_examples=500)
@given(st.one_of(JUNK, ALMOST, mutated()), st.booleans(), st.booleans())
def test_W9_a_hostile_body_is_a_message_or_a_body_error(body: bytes, limited: bool, repair: bool) -> None:
    limits = DEFAULT if limited else None
    try:
        message = decode(body, limits, repair=repair)
    except BodyError as error:
        assert error.code in (PARSE_ERROR, INVALID_REQUEST)
        assert error.id is None or error.answers is None
        # The refusal can be sent.
        assert decode(envelope.failure(error.id, {"code": error.code, "message": error.message})).is_response
        return
    assert isinstance(message, Message)
    assert message.is_request + message.is_notification + message.is_response == 1
    if not repair:
        # The standard library agrees that it is one object. It is milder in some things, so only that way round.
        value = json.loads(body.decode())
        assert isinstance(value, dict)
        for name in ("params", "result", "error"):
            member = getattr(message, name)
            if isinstance(member, Raw):
                assert json.dumps(json.loads(bytes(member).decode())) == json.dumps(value[name])


@settings(max_examples=300)
@given(st.lists(st.one_of(mutated().map(frame), st.binary(max_size=30)), max_size=6).map(b"".join), st.data())
def test_W9_a_hostile_stream_raises_nothing_else(stream: bytes, data: st.DataObject) -> None:
    framer = Framer()
    at = 0
    while at < len(stream):
        size = data.draw(st.integers(1, 40))
        try:
            for body in framer.feed(stream[at : at + size]):
                try:
                    decode(body)
                except BodyError as error:
                    assert re.search(r"\w", error.message)
        except FramingError:
            return
        at += size


def test_W8_a_large_body_of_surrogates_is_read_in_time() -> None:
    payload = b"[" + b",".join([rb'"\ud83d\ude00\ud83d"'] * 100_000) + b"]"
    start = time.process_time()
    assert raw(decode(b'{"id":1,"result":%b}' % payload).result) == payload
    bad = b'{"id":1,"result":["\\ud83d' + b"\\" * 2_000_000
    assert refusal(bad).code == PARSE_ERROR
    assert time.process_time() - start < 10
