r"""Lone surrogates, which JSON allows as escapes (``"\ud83d"``) and which are no valid text (incident W7).

msgspec refuses them, so they take a detour: `mark` writes each as ``DEL d83d DEL``, msgspec parses that, and `restore`
puts back what was there, in strings as the surrogate and in `Raw` as the very bytes. DEL itself, which may stand in a
JSON string as it is, is marked too, so that every mark means exactly one thing.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import Raw

_HEX = rb"[0-9a-fA-F]{2}"
_ANY = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPES = re.compile(
    # A run of backslashes is taken from its beginning, pair by pair: only an odd one escapes what follows it.
    rb"\\(?<!\\\\)((?:\\\\)*+)u(?:"
    rb"([dD][89abAB]" + _HEX + rb"\\u[dD][c-fC-F]" + _HEX + rb")"
    rb"|([dD][89a-fA-F]" + _HEX + rb"|007[fF])"
    rb")"
)
_MARKS = re.compile(rb"\x7f([0-9a-fA-F]{4})?\x7f")
_TEXT_MARKS = re.compile("\x7f([0-9a-fA-F]{4})?\x7f")
_TO_MARK = re.compile("[\x7f\ud800-\udfff]")
_LONE = re.compile("[\ud800-\udfff]")


def has_lone(text: str) -> bool:
    """Whether ``text`` holds a code unit that UTF-8 cannot carry."""
    return not text.isascii() and _LONE.search(text) is not None


def mark(body: bytes) -> bytes | None:
    """JSON with its lone surrogates marked, or None where there can be none."""
    if _ANY.search(body) is None:
        return None
    return _ESCAPES.sub(_marked, body.replace(b"\x7f", b"\x7f\x7f"))


def _marked(found: re.Match[bytes]) -> bytes:
    pairs, whole, digits = found.groups()
    return found[0] if whole is not None else b"%b\x7f%b\x7f" % (pairs, digits)


def replaced(body: bytes) -> bytes:
    """JSON with a U+FFFD in the place of each lone surrogate, for what is only shown."""
    marked = mark(body)
    return body if marked is None else _MARKS.sub(lambda found: b"\x7f" if found[1] is None else b"\\ufffd", marked)


def restore_bytes(marked: bytes) -> bytes:
    """The bytes before `mark`."""
    return _MARKS.sub(lambda found: b"\\u" + found[1] if found[1] is not None else b"\x7f", marked)


def restore_text(marked: str) -> str:
    """A string parsed from marked JSON, as the unmarked JSON means it."""
    return _TEXT_MARKS.sub(lambda found: chr(int(found[1], 16)) if found[1] is not None else "\x7f", marked)


def restore(value: Any) -> Any:
    """A value parsed from marked JSON (`Raw`, structs and built-in types) without its marks. Structs are changed in
    place. Raises RecursionError for a tree deeper than Python's stack."""
    if isinstance(value, str):
        return restore_text(value) if "\x7f" in value else value
    if isinstance(value, Raw):
        return Raw(restore_bytes(bytes(value)))
    if isinstance(value, list):
        return [restore(one) for one in value]
    if isinstance(value, dict):
        return {restore(name): restore(one) for name, one in value.items()}
    if isinstance(value, tuple):
        return tuple(restore(one) for one in value)
    if isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            msgspec.structs.force_setattr(value, name, restore(getattr(value, name)))
    return value


def escape(value: Any) -> Any:
    """A tree of built-in types and `Raw` with each string that holds lone surrogates replaced by its JSON, as `Raw`."""
    if isinstance(value, str):
        return Raw(_json(value)) if has_lone(value) else value
    if isinstance(value, list | tuple):
        return [escape(one) for one in value]
    if not isinstance(value, dict):
        return value
    if not any(isinstance(name, str) and has_lone(name) for name in value):
        return {name: escape(one) for name, one in value.items()}
    members = (_json(str(name)) + b":" + msgspec.json.encode(escape(one)) for name, one in value.items())
    return Raw(b"{" + b",".join(members) + b"}")


def _json(text: str) -> bytes:
    marked = _TO_MARK.sub(lambda found: "\x7f\x7f" if found[0] == "\x7f" else f"\x7f{ord(found[0]):04x}\x7f", text)
    return restore_bytes(msgspec.json.encode(marked))
