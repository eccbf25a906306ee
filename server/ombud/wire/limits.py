"""Every limit of the wire in one place (protocol.md, "Wire limits"; incidents W1, W2, W6, W8)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a peer may send before it is refused. Sizes are bytes."""

    header_bytes: int = 64 * 1024
    """A header block, from its first byte to its blank line."""
    body_bytes: int = 64 * 1024 * 1024
    length_digits: int = 10
    """Digits of a Content-Length; checked before they become a number (W1)."""
    nesting: int = 256
    """Depth of arrays and objects in a body (W8)."""
    number_digits: int = 400
    """Digits of one number in a body; a double's largest whole number has 309 (W8)."""
    junk_bytes: int = 64 * 1024
    """What a language server may print before a frame until it is given up (W5)."""


DEFAULT = Limits()
