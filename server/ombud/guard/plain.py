"""Text of other programs made plain: nothing in it that a terminal obeys, or that reads otherwise than it is (C9)."""

from __future__ import annotations

import re

REDACTED = "«redacted»"
MORE = "…"

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]{0,64}+[ -/]{0,16}+[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90-\x9f\n]{0,2048}+(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, …
    r"|\x1b[ -/]{0,4}+[0-~]?"  # any other escape
)
# Besides control characters: marks that reorder or hide text (bidi overrides and isolates, zero-width space and word
# joiner, the "tag" alphabet, variation selectors of the supplement, line separators). Zero-width joiner and non-joiner
# stay: scripts and emoji need them. Lone surrogates cannot be encoded and become U+FFFD.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_BREAKS = re.compile("\r\n?|[\u2028\u2029\u0085]")
_SURROGATES = re.compile("[\ud800-\udfff]")


def clean(text: str, limit: int) -> str:
    """Text of another program, fit to be read: at most ``limit`` characters, the last one ``…`` when it was longer.

    Terminal escapes, control characters (but tab and line feed), bidi overrides and invisible marks are removed, line
    ends become line feeds, lone surrogates U+FFFD. Secrets are not looked for: pass the result to ``redact`` as well.
    """
    # Eight times the limit leaves room for what is removed and keeps the time bounded for a text of any size.
    part = text[: limit * 8 + 64]
    part = _ESCAPES.sub("", part)
    part = _BREAKS.sub("\n", part)
    part = _SURROGATES.sub("\ufffd", _INVISIBLE.sub("", part))
    if len(part) <= limit and len(text) <= limit * 8 + 64:
        return part
    return part[: max(limit - 1, 0)] + MORE[:limit]
