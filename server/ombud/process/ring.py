"""A bounded memory of a stream: its beginning, its end, and how much went by between."""

from __future__ import annotations

HEAD = 4096
"""Bytes kept from the beginning: a server that cannot start says why in its first lines, then often floods."""


class Ring:
    """Keeps the first ``head`` and the last ``limit`` bytes of what is written to it.

    Memory stays below ``head`` + 2 × ``limit`` bytes whatever is written. Nothing is redacted here: the text is the
    other program's own and the caller cleans it before it leaves the process (row C9).
    """

    def __init__(self, limit: int = 65536, *, head: int = HEAD) -> None:
        """``limit`` and ``head`` in bytes; ValueError when either is negative."""
        if limit < 0 or head < 0:
            raise ValueError("a ring cannot keep a negative number of bytes")
        self._limit = limit
        self._head_limit = head
        self._head = bytearray()
        self._end = bytearray()
        self.total = 0

    def write(self, data: bytes) -> None:
        """Take in ``data``, in time proportional to its length."""
        self.total += len(data)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if len(data) >= self._limit:
            self._end = bytearray(data[len(data) - self._limit :])
            return
        self._end += data
        # Cutting only when twice the limit is held makes the copying cost one byte moved for each byte written.
        if len(self._end) > 2 * self._limit:
            del self._end[: len(self._end) - self._limit]

    @property
    def dropped(self) -> int:
        """How many bytes, in the middle, are no longer known."""
        return self.total - len(self._head) - min(len(self._end), self._limit)

    def text(self) -> str:
        """Everything that is kept, decoded as UTF-8 with replacement; a gap is one line that gives its size."""
        if not self.dropped:
            return _decode(self._head + self._kept())
        return f"{_decode(self._head).rstrip()}\n{self._gap()}\n{_decode(self._whole_lines())}"

    def tail(self, lines: int = 20) -> str:
        """The last ``lines`` lines, without a final line break.

        When fewer than that are left after the gap, the line that tells the gap's size comes first, so that a reader
        never takes a fragment for the whole.
        """
        if lines <= 0:
            return ""
        if not self.dropped:
            return _last(_decode(self._head + self._kept()), lines)
        kept = _last(_decode(self._whole_lines()), lines)
        return kept if kept.count("\n") + 1 >= lines else f"{self._gap()}\n{kept}"

    def _kept(self) -> bytes:
        return bytes(self._end[max(0, len(self._end) - self._limit) :])

    def _whole_lines(self) -> bytes:
        """The kept end without the piece of a line it begins with, unless that piece is all there is."""
        kept = self._kept()
        first, separator, rest = kept.partition(b"\n")
        return rest if separator and rest else first

    def _gap(self) -> str:
        return f"… {self.dropped:,} bytes left out …"


def _decode(data: bytes | bytearray) -> str:
    return data.decode("utf-8", errors="replace").replace("\r\n", "\n")


def _last(text: str, lines: int) -> str:
    return "\n".join(text.rstrip("\n").split("\n")[-lines:])
