"""Checks on a body before it is parsed: text encoding, digits, depth (incident W8), in a few passes at C speed.

Each is exact for what a parser would meet: brackets and digits inside a string mean nothing, and behind the first
byte that is no JSON no parser goes on. The time is linear in the body and the memory a small multiple of it.
"""

from __future__ import annotations

import codecs
from itertools import accumulate

from ombud.wire.limits import Limits

_STEP = 1 << 16
_PIECE = 1 << 16
_BLOCK = 64
_DIGITS = bytes(b"0"[0] if chr(byte) in "0123456789" else b" "[0] for byte in range(256))
_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_OTHERS = bytes(byte for byte in range(256) if byte not in b'[]{}"')
_RISE = [1 if byte == b"["[0] else -1 for byte in range(256)]


def problem(body: bytes, limits: Limits) -> str | None:
    """Why ``body`` must not be parsed, or None.

    Cheap tests that most bodies pass come first: a body with at most ``limits.nesting`` opening brackets cannot be
    nested deeper, and one without digits at regular distances holds no long number.
    """
    if (at := not_utf8(body)) is not None:
        return f"The message is not UTF-8 (byte {at})."
    if _long_number(body, limits.number_digits):
        return f"A number in the message has {limits.number_digits} digits or more."
    if body.count(b"[") + body.count(b"{") > limits.nesting and _deeper(_brackets(body), limits.nesting):
        return f"The message is nested deeper than {limits.nesting} levels."
    return None


def not_utf8(body: bytes) -> int | None:
    """The offset of the first byte that is no UTF-8, or None. An encoded surrogate is none either."""
    if body.isascii():
        return None
    view = memoryview(body)
    at = 0
    try:
        while at < len(body):
            # By pieces, since the text of a large body would take up to four times its size.
            _, used = codecs.utf_8_decode(view[at : at + _STEP], "strict", at + _STEP >= len(body))
            at += used
    except UnicodeDecodeError as error:
        return at + error.start
    return None


def _long_number(body: bytes, most: int) -> bool:
    """Whether ``most`` digits stand side by side outside of any string."""
    if len(body) < most:
        return False
    # Whichever byte such a run begins at, samples taken at this distance meet it so many times one after the other.
    distance = max(1, most // 8)
    if b"0" * (most // distance) not in body[distance - 1 :: distance].translate(_DIGITS):
        return False
    marked = body.translate(_DIGITS)
    run = b"0" * most
    behind = quotes = 0
    while (at := marked.find(run, behind)) >= 0:
        quotes += _without_escapes(body[behind:at]).count(b'"')
        if quotes % 2 == 0:
            return True
        behind = marked.find(b" ", at)
        if behind < 0:
            return False
    return False


def _without_escapes(text: bytes) -> bytes:
    """Backslashes go first, pair by pair, then the quotes behind one, so that each quote left is a real one."""
    return text.replace(b"\\\\", b"").replace(b'\\"', b"")


def _brackets(body: bytes) -> bytes:
    """Only the brackets outside of strings, as square ones; which closes which is the parser's business."""
    kept = _without_escapes(body).translate(_ONE_KIND, _OTHERS)
    # Two quotes side by side enclose nothing, or nothing stands between two strings: either way all the rest stays
    # inside or outside as it was.
    kept = kept.replace(b'""', b"")
    if b'"' not in kept:
        return kept
    out = bytearray()
    inside = 0
    # By pieces, since as many strings as bytes can stand here, and each part of a split weighs as much as an object.
    for at in range(0, len(kept), _PIECE):
        parts = kept[at : at + _PIECE].split(b'"')
        out += b"".join(parts[inside::2])
        inside ^= (len(parts) - 1) & 1
    return bytes(out)


def _deeper(brackets: bytes, most: int) -> bool:
    """Whether brackets nest deeper than ``most``. A block is walked only if its opening ones could reach that far."""
    depth = 0
    for at in range(0, len(brackets), _BLOCK):
        block = brackets[at : at + _BLOCK]
        opened = block.count(b"[")
        if depth + opened > most and depth + max(accumulate(map(_RISE.__getitem__, block))) > most:
            return True
        depth += 2 * opened - len(block)
    return False
