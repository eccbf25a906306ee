"""What framing costs: time linear in the bytes however they arrive, memory bounded by the limits (rows W1, W6)."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

import pytest
from ombud.wire.framing import Framer, FramingError, Junk, frame
from ombud.wire.limits import DEFAULT, Limits

MIB = 1 << 20
WIDE = Limits(header_bytes=32 * MIB, junk_bytes=32 * MIB)


def strict(limits: Limits = DEFAULT) -> Framer:
    return Framer(limits)


def lenient(limits: Limits = DEFAULT) -> Framer:
    return Framer(limits, Junk.SKIP)


def feed(framer: Framer, stream: bytes, size: int) -> list[bytes]:
    """The bodies of ``stream``, fed in pieces of ``size`` bytes until its end or its fault."""
    bodies: list[bytes] = []
    for at in range(0, len(stream), size):
        try:
            bodies += framer.feed(stream[at : at + size])
        except FramingError:
            break
    return bodies


def seconds(work: Callable[[], object]) -> float:
    """The least processor time of three runs."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.parametrize(
    ("make", "start", "filling"),
    [
        (strict, b"X: ", b"x"),
        (strict, b"Content-Length: ", b" "),
        (strict, b"", b"X: y\r\n"),
        (lenient, b"", b"x"),
        (lenient, b"", b"\n"),
        (lenient, b"", b"Content-Length"),
        (lenient, b"", b"x Content-Length: 1\n"),
    ],
    ids=["value", "spaces", "fields", "no line end", "blank lines", "half headers", "glued headers"],
)
def test_W1_time_is_linear_byte_by_byte(make: Callable[[Limits], Framer], start: bytes, filling: bytes) -> None:
    def work(size: int) -> Callable[[], object]:
        stream = start + filling * (size // len(filling))
        return lambda: feed(make(WIDE), stream, 1)

    small, large = seconds(work(20_000)), seconds(work(160_000))
    # Eight times the bytes: 8 when linear, 64 when quadratic.
    assert large / small < 24


@pytest.mark.parametrize("make", [strict, lenient])
@pytest.mark.parametrize("size", [7, 4096, 16 * MIB])
def test_W1_ten_megabytes_of_header_junk_cost_little(make: Callable[[Limits], Framer], size: int) -> None:
    stream = b"X: " + b"x" * (10 * MIB)
    start = time.process_time()
    assert feed(make(WIDE), stream, size) == []
    assert time.process_time() - start < 20


@pytest.mark.parametrize("make", [strict, lenient])
def test_many_small_messages_in_one_chunk_cost_no_more_than_in_many(make: Callable[[], Framer]) -> None:
    def work(count: int) -> Callable[[], object]:
        stream = frame(b"{}") * count
        return lambda: make().feed(stream)

    small, large = seconds(work(5_000)), seconds(work(40_000))
    assert large / small < 24


@pytest.mark.parametrize("size", [65_536, 10_007, 65 * MIB])
def test_W6_a_body_of_64_MiB_arrives_in_any_pieces(size: int) -> None:
    body = bytes(range(256)) * (DEFAULT.body_bytes // 256)
    start = time.process_time()
    assert feed(strict(), frame(body), size) == [body]
    assert time.process_time() - start < 20


@pytest.mark.parametrize("size", [1, 2, 3, 17])
def test_W6_a_megabyte_arrives_in_the_smallest_pieces(size: int) -> None:
    body = bytes(range(256)) * (MIB // 256)
    start = time.process_time()
    assert feed(strict(), frame(body), size) == [body]
    assert time.process_time() - start < 20


@pytest.mark.parametrize("make", [strict, lenient])
@pytest.mark.parametrize(
    "stream",
    [
        b"Content-Length: 67108864\r\n\r\n" + b"x" * 1000,
        b"x" * (2 * MIB),
        b"x\n" * MIB,
        b"X: y\r\n" * (MIB // 2),
        b"\n" * (2 * MIB),
    ],
    ids=["promise", "no line end", "lines", "fields", "blank lines"],
)
@pytest.mark.parametrize("size", [65_536, 4 * MIB])
def test_W1_what_is_kept_is_bounded_by_the_limits(make: Callable[[], Framer], stream: bytes, size: int) -> None:
    chunks = [stream[at : at + size] for at in range(0, len(stream), size)]
    framer = make()
    tracemalloc.start()
    try:
        for chunk in chunks:
            try:
                framer.feed(chunk)
            except FramingError:
                break
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * DEFAULT.header_bytes + DEFAULT.junk_bytes


def test_W1_a_body_is_held_about_twice_however_small_its_pieces() -> None:
    body = b"x" * (MIB // 4)
    stream = frame(body)
    framer = strict()
    tracemalloc.start()
    try:
        for at in range(len(stream)):
            framer.feed(stream[at : at + 1])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * len(body)
