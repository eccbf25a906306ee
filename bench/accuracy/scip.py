"""A reader of SCIP indexes: the few fields of scip.proto that a definition and its uses are made of.

SCIP is protobuf; the wire format is four kinds of values behind a tag, so this needs no library. Field numbers are
those of scip.proto: Index.documents = 2, Document.relative_path = 1, .occurrences = 2, Occurrence.range = 1,
.symbol = 2, .symbol_roles = 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DEFINITION = 1  # the bit of SymbolRole.Definition

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


@dataclass(frozen=True)
class Occurrence:
    """One name in a document. `line` and `character` are where it starts, zero-based, in UTF-16 units."""

    line: int
    character: int
    symbol: str
    defines: bool


@dataclass(frozen=True)
class Document:
    """One source file of the index, `path` relative to the project with forward slashes."""

    path: str
    occurrences: tuple[Occurrence, ...]


def read_index(path: Path) -> list[Document]:
    """The documents of an index file. Raises ValueError where the file is not one whole protobuf message."""
    return [_document(bytes(value)) for number, value in _fields(path.read_bytes()) if number == 2 and _held(value)]


def _document(data: bytes) -> Document:
    path = ""
    occurrences = []
    for number, value in _fields(data):
        if isinstance(value, int):
            continue
        if number == 1:
            path = value.decode()
        elif number == 2:
            occurrences.append(_occurrence(value))
    return Document(path, tuple(occurrences))


def _occurrence(data: bytes) -> Occurrence:
    place: list[int] = []
    symbol = ""
    roles = 0
    for number, value in _fields(data):
        if number == 1:
            # Packed by most writers; proto3 readers must take the unpacked form too.
            place += [value] if isinstance(value, int) else _packed(value)
        elif number == 2 and not isinstance(value, int):
            symbol = value.decode()
        elif number == 3 and isinstance(value, int):
            roles = value
    line, character = place[:2]
    return Occurrence(line, character, symbol, bool(roles & DEFINITION))


def _held(value: int | bytes) -> bool:
    return not isinstance(value, int)


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field numbers with their values, as they stand in the message: numbers as int, all else as bytes."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == VARINT:
            value, at = _varint(data, at)
            yield tag >> 3, value
            continue
        if kind == BYTES:
            size, at = _varint(data, at)
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
        else:
            raise ValueError(f"wire type {kind} at byte {at}: this is not a SCIP index")
        if at + size > len(data):
            raise ValueError(f"the index ends inside a field of {size} bytes")
        yield tag >> 3, data[at : at + size]
        at += size


def _packed(data: bytes) -> list[int]:
    values = []
    at = 0
    while at < len(data):
        value, at = _varint(data, at)
        values.append(value)
    return values


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("the index ends inside a number")
