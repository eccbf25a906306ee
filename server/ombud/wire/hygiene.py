"""Checks on a body before it is parsed: depth, digits, text encoding (incident W8), in C-speed passes."""

from __future__ import annotations

import re

from ombud.wire.limits import Limits

_KEPT = b'[]{}"'
_OTHERS = bytes(byte for byte in range(256) if byte not in _KEPT)
_BARE_STRING = re.compile(rb'"[^"]*"')
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def problem(body: bytes, limits: Limits) -> str | None:
    """Why ``body`` must not be parsed, or None.

    Cheap tests that most bodies pass come first: a body with at most ``limits.nesting`` opening brackets cannot be
    nested deeper. The exact ones remove the strings first, since brackets and digits in a string mean nothing.
    """
    if not body.isascii():
        try:
            body.decode("utf-8")
        except UnicodeDecodeError as error:
            return f"The message is not UTF-8 (byte {error.start})."
    if (digits := re.search(rb"[0-9]{%d}" % limits.number_digits, body)) is not None:
        outside = _STRING.sub(b"", body)
        if re.search(digits.re.pattern, outside):
            return f"A number in the message has {limits.number_digits} digits or more."
    if body.count(b"[") + body.count(b"{") > limits.nesting and _deeper(_skeleton(body), limits.nesting):
        return f"The message is nested deeper than {limits.nesting} levels."
    return None


def _skeleton(body: bytes) -> bytes:
    """Only the brackets outside of strings. Escapes go first, pair by pair, so that each quote left is a real one."""
    quotes = body.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _OTHERS)
    return _BARE_STRING.sub(b"", quotes)


def _deeper(brackets: bytes, most: int) -> bool:
    """Whether brackets nest deeper than ``most``: each pass removes the innermost pairs of all places at once."""
    for _ in range(most):
        if not brackets:
            return False
        shorter = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if len(shorter) == len(brackets):
            # Unbalanced: what is left still may not open more levels than allowed; the parser refuses the rest.
            return brackets.count(b"[") + brackets.count(b"{") > most
        brackets = shorter
    return bool(brackets)
