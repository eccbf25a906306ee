"""A file's bytes as text, and back: encoding, byte order mark and line ends are the file's own (C6)."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field

from ombud.errors import Refused

# The order matters: the mark of UTF-32-LE begins with the one of UTF-16-LE.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class Buffer:
    """A file as text, with everything it takes to write it back the same.

    ``text`` is without the byte order mark and with the file's line ends as they are. ``encoding`` is one of
    ``utf-8``, ``utf-16-le``, ``utf-16-be``, ``utf-32-le``, ``utf-32-be`` (those four by their mark only) and
    ``latin-1``: the stand-in for a file that is no valid UTF-8, which maps each byte to one character and back, so
    that an edit elsewhere in the file keeps every byte; `note` says so. ``eol`` is the most frequent line end,
    ``\\n`` where there is none. ``name`` is what messages call the file.
    """

    text: str
    encoding: str = "utf-8"
    bom: bytes = b""
    eol: str = "\n"
    name: str = field(default="the file", compare=False)

    @property
    def note(self) -> str | None:
        """A sentence for the reader where the text may not be what its author saw."""
        if self.encoding != "latin-1":
            return None
        return (
            f"{_start(self.name)} is not valid UTF-8 and was read byte for byte as Latin-1: "
            "characters outside ASCII may look wrong, and are kept as they are."
        )

    def encode(self, text: str) -> bytes:
        """``text`` as this file's bytes, mark included.

        Raises `Refused` (``not_text``, with ``character``, ``line`` and ``encoding``) where the file's encoding
        cannot hold a character, and for NUL, which would make the file a binary one that no later edit could read.
        """
        nul = text.find("\0")
        if nul >= 0:
            raise self._unencodable(text, nul, "would make it a binary file")
        try:
            return self.bom + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            raise self._unencodable(text, error.start, f"cannot be written in {self.encoding}") from error

    def _unencodable(self, text: str, index: int, why: str) -> Refused:
        line = text.count("\n", 0, index) + 1
        character = text[index]
        shown = repr(character) if character.isprintable() else "the character"
        advice = (
            f"convert {self.name} to UTF-8 first, or write an escape instead"
            if self.encoding == "latin-1" and character != "\0"
            else "write an escape instead"
        )
        return Refused(
            f"{shown[0].upper()}{shown[1:]} (U+{ord(character):04X}) on line {line} {why}, so {self.name} was not "
            f"changed: {advice}.",
            kind="not_text",
            character=f"U+{ord(character):04X}",
            line=line,
            encoding=self.encoding,
        )


def decode(data: bytes, name: str = "the file") -> Buffer:
    """The text of a file's bytes; ``decode(data).encode(decode(data).text) == data`` for all that is accepted.

    A byte order mark decides; without one it is UTF-8, and Latin-1 where that fails (see `Buffer`). Raises `Refused`
    (``not_text``) for binary data: NUL without a mark of UTF-16 or UTF-32, or bytes that break what their mark says.
    """
    bom, encoding = next(((mark, known) for mark, known in _MARKS if data.startswith(mark)), (b"", "utf-8"))
    body = data[len(bom) :]
    if encoding != "utf-8":
        text = _wide(body, encoding, name)
    else:
        if b"\0" in body:
            raise Refused(
                f"{_start(name)} is not a text file: it holds NUL bytes and no byte order mark. "
                "Convert it to UTF-8 first if it is UTF-16 text.",
                kind="not_text",
            )
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError:
            encoding, text = "latin-1", body.decode("latin-1")
    return Buffer(text, encoding, bom, dominant_eol(text), name)


def dominant_eol(text: str) -> str:
    """The line end that ``text`` uses most: ``\\n``, ``\\r\\n`` or ``\\r``; ``\\n`` where it has none or in a tie."""
    if "\r" not in text:
        return "\n"
    both = text.count("\r\n")
    counts = {"\n": text.count("\n") - both, "\r\n": both, "\r": text.count("\r") - both}
    return max(counts, key=lambda eol: counts[eol])


def _wide(body: bytes, encoding: str, name: str) -> str:
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        raise Refused(
            f"{_start(name)} starts like {encoding} text and is none (byte {error.start}). "
            "Convert it to UTF-8 first, or leave it as the binary file it is.",
            kind="not_text",
        ) from error
    if "\0" in text:
        raise Refused(
            f"{_start(name)} is not a text file: it starts like {encoding} text and holds NUL characters. "
            "Nothing here edits binary files.",
            kind="not_text",
        )
    return text


def _start(name: str) -> str:
    """``name`` at the start of a sentence: only our own stand-in has a letter to raise."""
    return "The file" if name == "the file" else name
