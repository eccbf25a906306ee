"""SCIP indexes as bytes: the messages and field numbers of scip.proto that a definition and its uses are made of.

Protobuf's wire format is a tag (field number and kind) before each value, so this takes no library. A value that is
the default of its field (an empty text, 0) is left out, as proto3 has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

TEXT_UTF8, POSITION_UTF16 = 1, 2
DEFINITION, IMPORT, READ, TEST = 1, 2, 8, 32
"""Bits of ``SymbolRole``."""

KINDS = {
    "module": 29,
    "namespace": 30,
    "class": 7,
    "interface": 21,
    "enum": 11,
    "struct": 49,
    "trait": 53,
    "type": 55,
    "function": 17,
    "method": 26,
    "constructor": 9,
    "property": 41,
    "field": 15,
    "enumMember": 12,
    "constant": 8,
    "variable": 61,
    "macro": 25,
}
"""``SymbolInformation.Kind``."""

_TYPES = {"class", "interface", "enum", "struct", "trait", "type"}
_METHODS = {"function", "method", "constructor"}
_SIMPLE = re.compile(r"[A-Za-z0-9_+$-]+")
_AGAIN = re.compile(r"(.*)~([0-9]+)", re.DOTALL)


def varint(number: int) -> bytes:
    """An unsigned number, seven bits a byte, the least first."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value) if value else b""


def text(field: int, value: str) -> bytes:
    return data(field, value.encode("utf-8", "replace")) if value else b""


def data(field: int, value: bytes) -> bytes:
    """A message, or packed numbers: present also where it is empty."""
    return varint(field << 3 | 2) + varint(len(value)) + value


def metadata(root: str, name: str, version: str) -> bytes:
    """``Index.metadata``. ``root``: the URI of the folder that the documents' paths start from."""
    tool = text(1, name) + text(2, version)
    return data(1, data(2, tool) + text(3, root) + number(4, TEXT_UTF8))


def document(path: str, language: str, occurrences: Iterable[bytes], symbols: Iterable[bytes]) -> bytes:
    """``Index.documents``."""
    parts = [text(1, path)]
    parts += [data(2, one) for one in occurrences]
    parts += [data(3, one) for one in symbols]
    parts += [text(4, language), number(6, POSITION_UTF16)]
    return data(2, b"".join(parts))


def occurrence(place: Sequence[int], symbol: str, roles: int, around: Sequence[int] = ()) -> bytes:
    """``Occurrence``. ``place`` and ``around``, the whole definition's: line, character, end line, end character."""
    out = data(1, _packed(place)) + text(2, symbol) + number(3, roles)
    return out + data(7, _packed(around)) if around else out


def information(symbol: str, name: str, kind: str, signature: str, language: str, above: Iterable[str]) -> bytes:
    """``SymbolInformation``. ``above``: symbols that it inherits from or implements."""
    out = [text(1, symbol)]
    out += [data(4, text(1, one) + number(3, 1)) for one in above]
    out += [number(5, KINDS.get(kind, 0)), text(6, name)]
    if signature:
        out.append(data(7, text(4, language) + text(5, signature)))
    return b"".join(out)


def _packed(place: Sequence[int]) -> bytes:
    line, character, end_line, end_character = place
    numbers = (line, character, end_character) if line == end_line else (line, character, end_line, end_character)
    return b"".join(map(varint, numbers))


def head(path: str) -> str:
    """The symbol of a file's module, before the descriptors of what is in it. It belongs to no package."""
    return f"ombud . . . {_identifier(path)}/"


def descriptor(name: str, kind: str) -> str:
    """One part of a symbol; ``name~2``, the second of its name, becomes a disambiguator where there is room for one."""
    if kind in _METHODS:
        again = _AGAIN.fullmatch(name)
        return f"{_identifier(again[1])}(+{int(again[2]) - 1})." if again else f"{_identifier(name)}()."
    if kind in _TYPES:
        return f"{_identifier(name)}#"
    if kind in ("module", "namespace"):
        return f"{_identifier(name)}/"
    return f"{_identifier(name)}!" if kind == "macro" else f"{_identifier(name)}."


def _identifier(name: str) -> str:
    if _SIMPLE.fullmatch(name):
        return name
    return "`" + (name or " ").replace("`", "``") + "`"
