"""Header blocks, read line by line: a client's are taken by the letter, a server's are looked for among its chatter.

Both readers have the same shape. ``room`` bounds the next line; ``growing`` looks at a line that has no end yet and
``ended`` at a whole one, whose return value is the body's length once the block is complete. What they decide, and at
which byte, never depends on the pieces in which a line arrived.
"""

from __future__ import annotations

import re

from ombud.wire.limits import Limits


class FramingError(Exception):
    """The stream cannot be followed any further: a malformed, oversized or contradictory header.

    ``message`` is a sentence for the peer's error reply. ``bodies`` are those that were whole before the bad header, so
    that what was sent rightly is still answered. The framer that raised it accepts no more bytes.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.bodies: list[bytes] = []


PROMPT = 256
"""A line is judged before its end within its first bytes only: a peer that sends no line ends is told at once (W2),
and looking again with every byte costs no more than this allows."""
JUNK_KEPT = 4096

_NAME = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{0,255})[ \t]*")
_RETURNS = re.compile(rb"\r*")
_LENGTH = re.compile(rb"[ \t]*([0-9]*)[ \t]*\r*")
_VALUE = re.compile(rb"[^\r]*\r*")
CONTENT_LENGTH = b"content-length"
_OWN_LINE = re.compile(rb"content-length[ \t]*:(.*)", re.IGNORECASE | re.DOTALL)
_GLUED = re.compile(rb"content-length[ \t]*:[ \t]*([0-9]+)[ \t]*$", re.IGNORECASE)
_FIELD = re.compile(rb"content-[!#$%&'*+.^_`|~0-9a-z-]*[ \t]*:", re.IGNORECASE)


class Strict:
    """A client's header block. What can no longer become one is refused at the byte that shows it."""

    skips = False

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._taken = 0
        self._length: int | None = None
        self.junk = bytearray()
        """Always empty."""

    @property
    def begun(self) -> bool:
        """Whether lines of a block have been read and its end has not."""
        return self._taken > 0

    @property
    def fresh(self) -> bool:
        """Whether nothing has been read since the last frame."""
        return self._taken == 0

    @property
    def room(self) -> int:
        """How many bytes the next line may have, its line feed included."""
        return self._limits.header_bytes - self._taken

    def growing(self, line: bytearray, known: int) -> None:
        """Look at a line without an end, of which the first ``known`` bytes were looked at before."""
        if known < PROMPT:
            self._judge(bytes(line[: min(PROMPT, self.room)]))
        if len(line) > self.room:
            raise self._too_long()

    def ended(self, line: bytes) -> int | None:
        """Take a whole line, its line feed included; the body's length if it ends the block."""
        text = line[:-1]
        if not text.rstrip(b"\r"):
            return self._close(first=not self.begun)
        self._judge(text)
        self._taken += len(line)
        name, colon, value = text.partition(b":")
        if not colon:
            raise _malformed(text)
        if name.rstrip(b" \t").lower() == CONTENT_LENGTH:
            if self._length is not None:
                raise FramingError("A header block has two Content-Length lines; the connection is closed.")
            self._length = _number(value, self._limits, text)
        return None

    def _close(self, *, first: bool) -> int:
        if first:
            raise FramingError(
                "A message must begin with a Content-Length header, not with a blank line; the connection is closed."
            )
        length, self._length, self._taken = self._length, None, 0
        if length is None:
            raise FramingError("A header block has no Content-Length; the connection is closed.")
        if length > self._limits.body_bytes:
            raise _too_large(length, self._limits)
        return length

    def _judge(self, line: bytes) -> None:
        """Refuse a line, or the beginning of one, that cannot be a header. A longer beginning is judged no milder."""
        if line[:1] == b"\r":
            self._all_of(line, _RETURNS.match(line))
            return
        name = _NAME.match(line)
        if not line or name is None:
            return
        at = name.end() if name[1] else 0
        if at == len(line):
            return
        if line[at : at + 1] != b":" or at == 0:
            raise _malformed(line[: at + 1])
        if name[1].lower() != CONTENT_LENGTH:
            self._all_of(line, _VALUE.match(line, at + 1))
            return
        value = _LENGTH.match(line, at + 1)
        if value is not None and len(value[1]) > self._limits.length_digits:
            raise _too_many_digits(self._limits)
        self._all_of(line, value)

    def _all_of(self, line: bytes, match: re.Match[bytes] | None) -> None:
        if match is None or match.end() < len(line):
            raise _malformed(line[: match.end() + 1 if match else 1])

    def _too_long(self) -> FramingError:
        return FramingError(
            f"The header block is longer than {self._limits.header_bytes} bytes; the connection is closed."
        )


class Lenient:
    """A server's header block, found behind banners and log lines (W5).

    Lines that are no header are skipped, up to ``limits.junk_bytes`` between two frames. A Content-Length at the end
    of a line that begins with something else is the header of a frame behind a print without a line end; it counts
    only if nothing but header fields and the blank line follow. On a line of its own it must be right and alone (W4).
    """

    skips = True

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._skipped = 0
        self._taken = 0
        self._length: int | None = None
        self._doubted = b""
        self.junk = bytearray()
        """The first skipped bytes, at most 4 KiB."""

    @property
    def begun(self) -> bool:
        """Whether lines of a block have been read and its end has not."""
        return self._taken > 0

    @property
    def fresh(self) -> bool:
        """Whether nothing has been read since the last frame."""
        return self._taken == 0 and self._skipped == 0

    @property
    def room(self) -> int:
        """How many bytes the next line may have, its line feed included: the junk and a header behind it."""
        return self._limits.junk_bytes - self._skipped + self._limits.header_bytes

    def growing(self, line: bytearray, known: int) -> None:  # noqa: ARG002  (the shape of both readers)
        """A line without an end may still become anything, as long as there is room for it."""
        if len(line) > self.room:
            self._keep(bytes(line))
            raise self._too_much()

    def ended(self, line: bytes) -> int | None:
        """Take a whole line, its line feed included; the body's length if it ends the block."""
        text = line[:-1].rstrip(b"\r")
        if not text and self._length is not None:
            length, self._length, self._doubted = self._length, None, b""
            self._taken = self._skipped = 0
            return length
        sure = self._length is not None and not self._doubted
        if (own := _OWN_LINE.match(text)) is not None:
            if sure:
                raise FramingError("A header block has two Content-Length lines; the connection is closed.")
            self._own_line(own[1], line)
        elif (glued := _GLUED.search(text)) is not None and not sure and self._fits(glued[1]):
            self._refute()
            self._skip(line[: glued.start()])
            self._length, self._doubted = int(glued[1]), line[glued.start() :]
            self._take(len(self._doubted))
        elif _FIELD.match(text):
            self._take(len(line))
        else:
            self._refute()
            self._skip(line)
        return None

    def _own_line(self, value: bytes, line: bytes) -> None:
        length = _number(value, self._limits, line[:-1])
        if length > self._limits.body_bytes:
            raise _too_large(length, self._limits)
        self._refute()
        self._length = length
        self._take(len(line))

    def _refute(self) -> None:
        """What stood at the end of another line was text, unless the block has a header of its own."""
        if self._doubted:
            doubted, self._doubted = self._doubted, b""
            self._length, self._taken = None, 0
            self._skip(doubted)

    def _fits(self, digits: bytes) -> bool:
        return len(digits) <= self._limits.length_digits and int(digits) <= self._limits.body_bytes

    def _take(self, count: int) -> None:
        self._taken += count
        if self._taken > self._limits.header_bytes:
            raise FramingError(f"The header block is longer than {self._limits.header_bytes} bytes.")

    def _skip(self, line: bytes) -> None:
        self._skipped += len(line)
        self._keep(line)
        if self._skipped > self._limits.junk_bytes:
            raise self._too_much()

    def _keep(self, line: bytes) -> None:
        self.junk += line[: max(0, JUNK_KEPT - len(self.junk))]

    def _too_much(self) -> FramingError:
        return FramingError(
            f"More than {self._limits.junk_bytes} bytes on standard output are no language-server messages."
        )


def _number(value: bytes, limits: Limits, line: bytes) -> int:
    """The number of a Content-Length; its digits are counted before they become one (W1)."""
    digits = value.strip(b" \t\r")
    if not digits.isdigit():
        raise _malformed(line)
    if len(digits) > limits.length_digits:
        raise _too_many_digits(limits)
    return int(digits)


def _too_many_digits(limits: Limits) -> FramingError:
    return FramingError(f"A Content-Length has more than {limits.length_digits} digits; the connection is closed.")


def _too_large(length: int, limits: Limits) -> FramingError:
    return FramingError(
        f"A message of {length} bytes is larger than the {limits.body_bytes} bytes allowed; the connection is closed."
    )


def _malformed(line: bytes) -> FramingError:
    shown = line[:40].decode("ascii", "backslashreplace")
    return FramingError(
        f"Expected a header such as 'Content-Length: 42' but a line begins with {shown!r}; the connection is closed."
    )
