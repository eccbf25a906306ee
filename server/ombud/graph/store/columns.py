"""What is kept of a file's edges as one value: columns of 32-bit numbers, compressed, and names."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Collection, Iterable

import msgspec

from ombud.graph.packed import columns_of, planes_of

Place = tuple[int, int, int, int, int, int, int]
"""One edge as its file keeps it: line, character, length, n of src, file of dst, n of dst, how."""
Loose = tuple[int, str, int, int, int]
"""A call site that nothing was found for: n of src, name, line, character, length."""

_PLACE = 7
_LOOSE_SITE = 5
_LEVEL = 1


class _Loose(msgspec.Struct, array_like=True):
    names: list[str]
    sites: bytes


_ENCODER = msgspec.msgpack.Encoder()
_LOOSE = msgspec.msgpack.Decoder(_Loose)


def columns(rows: Iterable[tuple[int, ...]]) -> bytes:
    """Rows of equal length as `ombud.graph.packed.planes_of` has columns."""
    return planes_of(zip(*rows, strict=True))


def rows_of(data: bytes, width: int) -> list[tuple[int, ...]]:
    """The rows that `columns` was given, of ``width`` numbers each."""
    return list(zip(*columns_of(data, len(data) // (4 * width)), strict=True))


def pack_places(places: Iterable[Place]) -> bytes:
    data = columns(places)
    return zlib.compress(data, _LEVEL) if data else b""


def places_of(data: bytes) -> list[Place]:
    return rows_of(zlib.decompress(data), _PLACE) if data else []  # type: ignore[return-value]


def pack_loose(sites: Collection[Loose]) -> bytes:
    if not sites:
        return b""
    names: dict[str, int] = {}
    flat = columns(
        (src, names.setdefault(name, len(names)), line, character, length)
        for src, name, line, character, length in sites
    )
    return zlib.compress(_ENCODER.encode(_Loose(list(names), flat)), _LEVEL)


def loose_of(data: bytes) -> list[Loose]:
    if not data:
        return []
    packed = _LOOSE.decode(zlib.decompress(data))
    rows = rows_of(packed.sites, _LOOSE_SITE)
    return [(src, packed.names[name], line, character, length) for src, name, line, character, length in rows]


def pack_numbers(numbers: Iterable[int]) -> bytes:
    return array("I", numbers).tobytes()


def numbers_of(data: bytes) -> array[int]:
    numbers = array("I")
    numbers.frombytes(data)
    return numbers
