"""The bounded memory of a stream."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ombud.process.ring import Ring


@given(
    st.lists(st.binary(max_size=60), max_size=40),
    st.integers(min_value=0, max_value=50),
    st.integers(min_value=0, max_value=50),
)
def test_beginning_and_end_are_kept_whatever_the_chunks(chunks: list[bytes], limit: int, head: int) -> None:
    ring = Ring(limit, head=head)
    for chunk in chunks:
        ring.write(chunk)
        assert len(ring._head) <= head
        assert len(ring._end) <= 2 * limit
    whole = b"".join(chunks)
    assert ring.total == len(whole)
    assert ring.dropped == max(0, len(whole) - head - limit)
    assert bytes(ring._head) == whole[:head]
    if not ring.dropped:
        assert ring.text() == whole.decode("utf-8", "replace").replace("\r\n", "\n")
    else:
        assert ring._kept() == whole[len(whole) - limit :]
        assert f"… {ring.dropped:,} bytes left out …" in ring.text()


def test_text_says_how_much_is_missing_and_cuts_at_lines() -> None:
    ring = Ring(12, head=6)
    ring.write(b"first\n" + b"x" * 100 + b"\nlast one\n")
    assert ring.text() == "first\n… 98 bytes left out …\nlast one\n"


@pytest.mark.parametrize(
    ("written", "lines", "expected"),
    [
        (b"", 5, ""),
        (b"one", 5, "one"),
        (b"one\ntwo\nthree\n", 2, "two\nthree"),
        (b"one\r\ntwo\r\n", 1, "two"),
        (b"one\ntwo\n", 0, ""),
        (b"caf\xc3\xa9 \xff\n", 1, "café \ufffd"),
    ],
)
def test_tail_of_a_short_stream(written: bytes, lines: int, expected: str) -> None:
    ring = Ring()
    ring.write(written)
    assert ring.tail(lines) == expected


def test_tail_after_a_gap_tells_the_gap_only_when_lines_are_missing() -> None:
    ring = Ring(20, head=4)
    for number in range(100):
        ring.write(b"line %02d\n" % number)
    assert ring.tail(2) == "line 98\nline 99"
    assert ring.tail(9) == "… 776 bytes left out …\nline 98\nline 99"


def test_one_endless_line_is_shown_as_far_as_it_is_kept() -> None:
    ring = Ring(8, head=4)
    ring.write(b"a" * 50)
    assert ring.tail(1) == "aaaaaaaa"


def test_many_small_writes_cost_no_more_than_their_bytes() -> None:
    ring = Ring(1000, head=0)
    cuts = 0
    before = 0
    for _ in range(100_000):
        ring.write(b"x")
        cuts += len(ring._end) <= before
        before = len(ring._end)
    assert cuts <= 100


def test_negative_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        Ring(-1)
    with pytest.raises(ValueError, match="negative"):
        Ring(head=-1)
