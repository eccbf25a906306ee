"""What is kept of a file as one value: columns of 32-bit numbers, compressed, and lists of texts."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property

import msgspec

Place = tuple[int, int, int, int, int, int, int]
"""One edge as its file keeps it: line, character, length, n of src, file of dst, n of dst, how."""
Span = tuple[int, int, int, int, int, int, int]
"""Where a symbol is: line, character, end line, end character; line, character and length of its name."""
Loose = tuple[int, str, int, int, int]
"""A call site that nothing was found for: n of src, name, line, character, length."""

_PLACE = _SPAN = 7
_LOOSE_SITE = 5
_LEVEL = 1


class Texts(msgspec.Struct, array_like=True, dict=True):
    """What is told of a file's symbols, in the order of its facts; ``numbers``: their n, None where they count up."""

    numbers: list[int] | None
    qualified: list[str]
    signatures: list[str]
    spans: bytes

    def all_numbers(self) -> Sequence[int]:
        return range(len(self.qualified)) if self.numbers is None else self.numbers

    @cached_property
    def _indexes(self) -> dict[int, int]:
        return {n: at for at, n in enumerate(self.numbers or ())}

    def index(self, n: int) -> int | None:
        """Where the symbol with that number is; None if there is none."""
        if self.numbers is not None:
            return self._indexes.get(n)
        return n if n < len(self.qualified) else None


class _Loose(msgspec.Struct, array_like=True):
    names: list[str]
    sites: bytes


_ENCODER = msgspec.msgpack.Encoder()
_TEXTS = msgspec.msgpack.Decoder(Texts)
_LOOSE = msgspec.msgpack.Decoder(_Loose)


def columns(rows: Iterable[tuple[int, ...]]) -> bytes:
    """Rows of equal length, column by column, and of each number first all lowest bytes, then all second ones, …

    Neighbours are alike then: it packs to two thirds of what rows do, and faster.
    """
    flat = array("i")
    for column in zip(*rows, strict=True):
        flat.extend(column)
    data = flat.tobytes()
    return b"".join(data[at::4] for at in range(4))


def rows_of(data: bytes, width: int) -> list[tuple[int, ...]]:
    """The rows that `columns` was given, of ``width`` numbers each."""
    size = len(data) // 4
    whole = bytearray(len(data))
    for at in range(4):
        whole[at::4] = data[at * size : (at + 1) * size]
    flat = array("i")
    flat.frombytes(whole)
    count = len(flat) // width
    return list(zip(*(flat[at * count : (at + 1) * count] for at in range(width)), strict=True))


def pack_texts(texts: Texts) -> bytes:
    return zlib.compress(_ENCODER.encode(texts), _LEVEL)


def texts_of(data: bytes) -> Texts:
    return _TEXTS.decode(zlib.decompress(data))


def span_of(texts: Texts, at: int) -> Span:
    """Where one symbol is, picked from the columns: mostly few of a file are wanted."""
    data, count = texts.spans, len(texts.qualified)
    size = count * _SPAN
    cells = range(at, size, count)
    span = [
        data[cell] | data[size + cell] << 8 | data[2 * size + cell] << 16 | data[3 * size + cell] << 24
        for cell in cells
    ]
    return tuple(span)  # type: ignore[return-value]


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
