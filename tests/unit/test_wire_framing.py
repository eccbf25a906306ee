"""Bytes to bodies: what is a frame, what is refused, and that the pieces in which bytes arrive change nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ombud.wire.framing import Framer, FramingError, Junk, frame
from ombud.wire.limits import DEFAULT, Limits

BODY = b'{"jsonrpc":"2.0","method":"x"}'
MIB = 1 << 20


def strict(limits: Limits = DEFAULT) -> Framer:
    return Framer(limits)


def lenient(limits: Limits = DEFAULT) -> Framer:
    return Framer(limits, Junk.SKIP)


Outcome = tuple[list[bytes], str | None, int]
"""Bodies, the error's message or None, and how many bytes were fed when it was raised (all of them without one)."""


def outcome(framer: Framer, chunks: Iterable[bytes]) -> Outcome:
    bodies: list[bytes] = []
    fed = 0
    for chunk in chunks:
        fed += len(chunk)
        try:
            bodies += framer.feed(chunk)
        except FramingError as error:
            return bodies + error.bodies, error.message, fed
    return bodies, None, fed


def bytewise(framer: Framer, stream: bytes) -> Outcome:
    return outcome(framer, (stream[at : at + 1] for at in range(len(stream))))


def refused(make: Callable[[], Framer], stream: bytes) -> str:
    """The message with which ``stream`` is refused, whole as well as byte by byte."""
    with pytest.raises(FramingError) as caught:
        make().feed(stream)
    assert bytewise(make(), stream)[1] == caught.value.message
    return caught.value.message


# -- what is a frame


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: %d\r\n\r\n",
        b"content-length: %d\r\n\r\n",
        b"CONTENT-LENGTH:%d\r\n\r\n",
        b"Content-Length : %d \t\r\n\r\n",
        b"Content-Length:\t %d\n\n",
        b"Content-Length: %d\n\r\n",
        b"Content-Length: %d\r\n\n",
        b"Content-Length: %d\r\r\n\r\r\n",
        b"Content-Length: 00000000%d\r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: %d\r\n\r\n",
        b"Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc; charset=utf8\r\n\r\n",
        b"Content-Length: %d\r\nX-Empty:\r\nX-B\xc3\xbcld: \xff\r\n\r\n".replace(b"B\xc3\xbcld", b"Bild"),
    ],
)
@pytest.mark.parametrize("make", [strict, lenient])
def test_W2_header_variants_are_read(header: bytes, make: Callable[[], Framer]) -> None:
    stream = (header % len(BODY) + BODY) * 2
    assert make().feed(stream) == [BODY, BODY]
    assert bytewise(make(), stream) == ([BODY, BODY], None, len(stream))


@pytest.mark.parametrize("make", [strict, lenient])
def test_a_body_of_no_bytes_is_a_body(make: Callable[[], Framer]) -> None:
    stream = frame(b"") + frame(BODY) + frame(b"")
    assert make().feed(stream) == [b"", BODY, b""]
    assert bytewise(make(), stream)[0] == [b"", BODY, b""]


def test_a_body_may_hold_anything_headers_included() -> None:
    body = b"Content-Length: 5\r\n\r\n\x00\xff\n\n" + bytes(range(256))
    assert strict().feed(frame(body) * 3) == [body] * 3


def test_the_boundary_is_known() -> None:
    framer = strict()
    stream = frame(BODY)
    boundaries = []
    for at in range(len(stream)):
        boundaries.append(framer.at_boundary)
        framer.feed(stream[at : at + 1])
    assert boundaries == [True] + [False] * (len(stream) - 1)
    assert framer.at_boundary


def test_W6_a_line_longer_than_64_KiB_is_no_limit_for_a_body() -> None:
    body = b'{"x":"' + b"x" * (10 * MIB) + b'"}'
    stream = frame(body)
    chunks = (stream[at : at + 65_536] for at in range(0, len(stream), 65_536))
    assert outcome(strict(), chunks) == ([body], None, len(stream))


# -- what a client may not send


def test_W1_five_thousand_digits_are_refused_before_they_are_a_number() -> None:
    message = refused(strict, b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n")
    assert message == "A Content-Length has more than 10 digits; the connection is closed."
    assert "10 digits" in refused(lenient, b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n")


def test_W1_the_eleventh_digit_is_refused_at_once() -> None:
    framer = strict()
    framer.feed(b"Content-Length: 0123456789")
    with pytest.raises(FramingError, match="more than 10 digits"):
        framer.feed(b"0")


@pytest.mark.parametrize("make", [strict, lenient])
def test_W1_a_length_beyond_the_limit_is_refused_and_the_limit_itself_is_not(make: Callable[[Limits], Framer]) -> None:
    limits = Limits(body_bytes=1000)
    assert make(limits).feed(frame(b"x" * 1000)) == [b"x" * 1000]
    with pytest.raises(FramingError, match="A message of 1001 bytes is larger than the 1000 bytes allowed"):
        make(limits).feed(b"Content-Length: 1001\r\n\r\n")


def test_W1_the_header_block_may_have_64_KiB_and_no_byte_more() -> None:
    start, end = b"Content-Length: 2\r\nX: ", b"\r\n\r\n"
    block = start + b"x" * (DEFAULT.header_bytes - len(start) - len(end)) + end
    assert strict().feed(block + b"{}") == [b"{}"]
    longer = block.replace(b"X: ", b"X: x")
    assert "longer than 65536 bytes" in refused(strict, longer + b"{}")
    assert bytewise(strict(), longer)[2] == DEFAULT.header_bytes + 1


def test_W1_a_header_block_of_many_lines_is_bounded_too() -> None:
    assert "longer than 65536 bytes" in refused(strict, b"X: y\r\n" * 20_000)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (b'{"jsonrpc":"2.0"}\n', "'{'"),
        (b"GET / HTTP/1.1\r\n", "'GET /'"),
        (b"hello\r\n", "'hello\\r'"),
        (b"hello\n", "'hello'"),
        (b"\xef\xbb\xbfContent-Length: 2\r\n", r"'\\xef'"),
        (b" Content-Length: 2\r\n", "' '"),
        (b": 2\r\n", "':'"),
        (b"Content-Length\r\n", r"'Content-Length\r'"),
        (b"Content-Length:\r\n", r"'Content-Length:\r'"),
        (b"Content-Length: -2\r\n", "'Content-Length: -'"),
        (b"Content-Length: +2\r\n", "'Content-Length: +'"),
        (b"Content-Length: 0x2\r\n", "'Content-Length: 0x'"),
        (b"Content-Length: 2 2\r\n", "'Content-Length: 2 2'"),
        (b"Content-Length: 2,2\r\n", "'Content-Length: 2,'"),
        (b"Content-Length: 1_0\r\n", "'Content-Length: 1_'"),
        (b"Content-Length: \xd9\xa2\r\n", r"'Content-Length: \\xd9'"),
        (b"Content-Length: 2\r{}\n", r"'Content-Length: 2\r{'"),
        (b"X-Split: a\rContent-Length: 2\r\n", r"'X-Split: a\rC'"),
        (b"\rContent-Length: 2\r\n", r"'\rC'"),
        (b"\x00", r"'\x00'"),
        (b"n" * 300, repr("n" * 40)),
    ],
)
def test_W2_what_is_no_header_is_refused_with_what_it_began_with(line: bytes, shown: str) -> None:
    message = refused(strict, line)
    assert message == (
        f"Expected a header such as 'Content-Length: 42' but a line begins with {shown}; the connection is closed."
    )


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        (b"\r\n", "not with a blank line"),
        (b"\n", "not with a blank line"),
        (frame(b"{}") + b"\r\n", "not with a blank line"),
        (b"Content-Type: x\r\n\r\n", "has no Content-Length"),
    ],
)
def test_W2_a_block_without_a_length_is_refused(stream: bytes, reason: str) -> None:
    assert reason in refused(strict, stream)


def test_W2_a_peer_that_sends_no_line_end_is_told_at_the_byte_that_shows_it() -> None:
    assert bytewise(strict(), b"hello world, this never ends")[2] == len(b"hello w")
    assert bytewise(strict(), b"content-length:5{}")[2] == len(b"content-length:5{")
    # The variant of the incident: a lower-case name, no space, LF only.
    assert strict().feed(b"content-length:5\n\n[1,2]") == [b"[1,2]"]


@pytest.mark.parametrize("second", [b"Content-Length: 2", b"content-length:3", b"CONTENT-LENGTH : 2"])
@pytest.mark.parametrize("between", [b"", b"Content-Type: x\r\n"])
@pytest.mark.parametrize("make", [strict, lenient])
def test_W4_two_lengths_are_refused_also_when_they_agree(
    second: bytes, between: bytes, make: Callable[[], Framer]
) -> None:
    with pytest.raises(FramingError, match="two Content-Length lines"):
        make().feed(b"Content-Length: 2\r\n" + between + second + b"\r\n\r\n{}")


def test_W5_a_client_that_sends_junk_is_refused_and_nothing_is_kept_of_it() -> None:
    framer = strict()
    with pytest.raises(FramingError, match="a line begins with 'Welcome!'"):
        framer.feed(b"Welcome!\n" + frame(BODY))
    assert framer.junk == b""


def test_what_was_whole_before_the_error_is_on_it_once_and_nothing_comes_after_it() -> None:
    framer = strict()
    with pytest.raises(FramingError) as first:
        framer.feed(frame(b"1") + frame(b"2") + b"nonsense!\n" + frame(b"3"))
    assert first.value.bodies == [b"1", b"2"]
    for data in (b"", frame(b"4")):
        with pytest.raises(FramingError) as again:
            framer.feed(data)
        assert again.value.bodies == []
        assert again.value.message == first.value.message


# -- what a server may print between its messages


@pytest.mark.parametrize(
    "junk",
    [
        b"Welcome to the server\n",
        b"Welcome to the server\r\n",
        b"INFO: listening: stdio\r\n",
        b"[12:30:01] note: Content is king\n",
        b"Content-addressed store: ready\n",
        b"the Content-Length header: is none here\n",
        b"\n\r\n\n",
        b"no line end",
        b"50%\r100%\r",
        b"INFO: a line\nand one without an end: ",
        b"\x1b[0m",
        b"\xef\xbb\xbf",
        b"\xff\xfe\x00",
        b"-- ",
        b"{}",
        b"reading Content-Length: 17\n",
        b"reading Content-Length: 17\nContent-Type: none\n",
        b"reading Content-Length: 17\nmore text\n\n",
        b"reading Content-Length: 99999999999\n\n",
        b"reading Content-Length: 9999999999\n\n",
    ],
)
def test_W5_a_banner_is_skipped_and_kept(junk: bytes) -> None:
    stream = junk + frame(BODY) + junk + frame(b"2") + frame(b"3")
    framer = lenient()
    assert framer.feed(stream) == [BODY, b"2", b"3"]
    assert framer.at_boundary
    kept = bytes(framer.junk)
    # Whether a field such as Content-Type was text can only be said by what follows it, so it is not kept.
    assert kept == junk.replace(b"Content-Type: none\n", b"") * 2
    one_by_one = lenient()
    assert bytewise(one_by_one, stream) == ([BODY, b"2", b"3"], None, len(stream))
    assert bytes(one_by_one.junk) == kept


def test_W5_the_whole_banner_is_kept_for_the_status_report() -> None:
    framer = lenient()
    framer.feed(b"one: 1\r\ntwo" + frame(BODY) + b"three\n" + frame(BODY))
    assert bytes(framer.junk) == b"one: 1\r\ntwothree\n"


def test_W5_of_much_junk_the_beginning_is_kept() -> None:
    framer = lenient()
    framer.feed(b"first\n" + b"x" * 60_000 + b"\n")
    assert framer.junk.startswith(b"first\nxxx")
    assert len(framer.junk) == 4096


def test_W5_a_log_line_inside_a_header_block_does_not_break_it() -> None:
    stream = b"Content-Length: 2\r\nWARN: from another thread\nsaw Content-Length: 9\nX-Content-Length: 7\n\r\n{}"
    assert lenient().feed(stream) == [b"{}"]
    assert bytewise(lenient(), stream)[0] == [b"{}"]


def test_W5_of_two_glued_lengths_the_one_before_the_blank_line_counts() -> None:
    framer = lenient()
    assert framer.feed(b"got Content-Length: 9\nready Content-Length: 2\r\n\r\n{}") == [b"{}"]
    assert framer.junk == b"got Content-Length: 9\nready "


def test_W5_a_length_that_is_no_number_on_a_line_of_its_own_is_an_error() -> None:
    assert "Expected a header" in refused(lenient, b"Content-Length: two\r\n")


def test_W5_junk_is_bounded_between_two_frames_and_not_over_all_of_them() -> None:
    limits = Limits(junk_bytes=100, header_bytes=50)
    line = b"x" * 49 + b"\n"
    framer = lenient(limits)
    for _ in range(5):
        assert framer.feed(line * 2 + frame(b"1")) == [b"1"]
    stream = line * 2 + b"\n"
    assert bytewise(lenient(limits), stream)[2] == len(stream)
    with pytest.raises(FramingError, match="More than 100 bytes on standard output"):
        framer.feed(stream)


def test_W5_junk_without_a_line_end_is_bounded_and_told() -> None:
    limits = Limits(junk_bytes=100, header_bytes=50)
    framer = lenient(limits)
    assert framer.feed(b"x" * 150) == []
    with pytest.raises(FramingError, match="More than 100 bytes"):
        framer.feed(b"x")
    whole = lenient(limits)
    with pytest.raises(FramingError, match="More than 100 bytes"):
        whole.feed(b"x" * 300)
    assert framer.junk == whole.junk == b"x" * 151
    assert bytewise(lenient(limits), b"x" * 300)[2] == 151


def test_W5_fields_that_never_become_a_header_are_bounded() -> None:
    assert "header block is longer" in refused(lenient, b"Content-Type: text\r\n" * 5000)


# -- properties

HEADERS = st.sampled_from(
    [
        "Content-Length: {}\r\n\r\n",
        "content-length:{}\n\n",
        "Content-Type: a\r\nContent-Length : {}\r\n\r\n",
        "CONTENT-LENGTH: {} \r\nContent-Foo: b: c\r\n\r\n",
    ]
)
BODIES = st.one_of(st.binary(max_size=40), st.just(b""), st.just(b"\r\n\r\nContent-Length: 3\r\n\r\n"))
# Nothing in here ends in a header, so that the frames behind it are known.
CHATTER = st.lists(
    st.sampled_from([b"INFO: x", b"plain", b"\r\n", b"\n", b"\xff\x00", b": ", b"\r", b"Content-", b"{}"]), max_size=5
).map(b"".join)
# Whatever matters to a framer, whole and in halves, so that mutation by chance is mutation where it hurts.
SHARDS = st.sampled_from(
    [
        *(
            b"Content-Length",
            b"content-length",
            b"Content-",
            b"Length",
            b":",
            b" ",
            b"\t",
            b"\r",
            b"\n",
            b"\r\n",
            b"\r\n\r\n",
        ),
        *(b"0", b"1", b"12", b"99999999999", b"-", b"x", b"Content-Length: 2\r\n\r\n{}", b"Content-Length: 3\n\n[1]"),
        *(b"Content-Type: a\r\n", b"log Content-Length: 4", b"\x00", b"\xff", b"{", b"[]", b"nnnnnnnnnnnnnnnnnnnn"),
    ]
)
HOSTILE = st.one_of(
    st.binary(max_size=120), st.lists(st.one_of(SHARDS, st.binary(max_size=3)), max_size=25).map(b"".join)
)
SMALL = Limits(header_bytes=60, body_bytes=30, length_digits=3, junk_bytes=50)
LIMITS = st.sampled_from([SMALL, DEFAULT, Limits(header_bytes=300, junk_bytes=5)])


def framed(header: str, body: bytes) -> bytes:
    return header.format(len(body)).encode() + body


def pieces(stream: bytes, cuts: Iterable[int]) -> Iterator[bytes]:
    places = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    return (stream[start:stop] for start, stop in pairwise(places))


CUTS = st.lists(st.integers(0, 1 << 16), max_size=12)


@given(st.lists(st.tuples(HEADERS, BODIES), max_size=6), CUTS)
def test_any_cut_of_any_frames_gives_these_frames(messages: list[tuple[str, bytes]], cuts: list[int]) -> None:
    stream = b"".join(framed(*message) for message in messages)
    bodies = [body for _, body in messages]
    assert outcome(strict(), pieces(stream, cuts)) == (bodies, None, len(stream))
    assert outcome(lenient(), pieces(stream, cuts)) == (bodies, None, len(stream))


@given(st.lists(st.tuples(CHATTER, HEADERS, BODIES), max_size=6), CUTS)
def test_W5_any_chatter_between_frames_leaves_the_frames(
    messages: list[tuple[bytes, str, bytes]], cuts: list[int]
) -> None:
    stream = b"".join(chatter + framed(header, body) for chatter, header, body in messages)
    bodies = [body for _, _, body in messages]
    assert outcome(lenient(), pieces(stream, cuts)) == (bodies, None, len(stream))


@settings(max_examples=400)
@given(HOSTILE, CUTS, LIMITS, st.sampled_from(Junk))
@example(b"Content-Length: 1\r\nContent-Length: 99999999999", [25], DEFAULT, Junk.REFUSE)
@example(b"Content-Length: 99999999999\r\nno header", [20], DEFAULT, Junk.REFUSE)
@example(b"log Content-Length: 2\r\n\r\n{}", [5], SMALL, Junk.SKIP)
def test_W9_a_hostile_stream_gives_the_same_whatever_the_cuts(
    stream: bytes, cuts: list[int], limits: Limits, junk: Junk
) -> None:
    one_by_one = Framer(limits, junk)
    bodies, message, place = bytewise(one_by_one, stream)
    cut = Framer(limits, junk)
    chunks = list(pieces(stream, cuts))
    assert outcome(cut, chunks)[:2] == (bodies, message)
    assert cut.junk == one_by_one.junk
    assert all(len(body) <= limits.body_bytes for body in bodies)
    if message is not None:
        # The error comes with the chunk that holds the very byte, neither earlier nor later.
        fed = outcome(Framer(limits, junk), chunks)[2]
        assert fed >= place
        assert fed - next(len(c) for c, end in zip(chunks, _ends(chunks), strict=True) if end == fed and c) < place


def _ends(chunks: list[bytes]) -> Iterator[int]:
    end = 0
    for chunk in chunks:
        end += len(chunk)
        yield end


@given(HOSTILE, st.lists(st.tuples(HEADERS, BODIES), min_size=1, max_size=4), st.integers(0, 1 << 16))
def test_W9_what_stands_before_a_fault_is_never_lost(
    hostile: bytes, messages: list[tuple[str, bytes]], cut: int
) -> None:
    good = b"".join(framed(*message) for message in messages)
    stream = good + hostile
    bodies, _, _ = outcome(strict(), pieces(stream, [cut]))
    assert bodies[: len(messages)] == [body for _, body in messages]
