"""Facts as they are sent and stored: two compressed parts, so that each reader unpacks only what it needs.

*Texts* are what is told of the symbols: names, places, signatures, docstrings. The *core* is what resolvers ask beyond
that. Rows of numbers are turned into columns, and of each number all lowest bytes come first, then all second ones, …:
neighbours are alike then, which packs to two thirds of what rows do, and faster. A text that follows from others (most
qualified names do) is not kept.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterable, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Any

import msgspec
from msgspec.structs import astuple

from ombud.graph.facts import BINDING_WIDTH, SCOPE_WIDTH, SITE_WIDTH, Export, Facts, Import, Symbol

_LEVEL = 1
_HEAD = 4
_EXPR_WIDTH = 3
_TOLD_WIDTH = 10
_PLACE = (0, 0, 0, 0)
_NONE: list[Any] = []
"""Stands for each empty list of a symbol. Nobody changes facts."""
SIGNED = frozenset(("c", "cpp", "csharp", "go", "php", "typescript", "typescriptreact"))
"""Languages of which a resolver reads words of signatures: ``partial``, ``explicit``, ``declare module "x"``, …"""
_FIELDS = len(Symbol.__struct_fields__)
_LISTS = [Symbol.__struct_fields__.index(name) for name in ("bases", "returns", "decorators", "params", "generics")]

Span = tuple[int, int, int, int, int, int, int]
"""Where a symbol is: line, character, end line, end character; line, character and length of its name."""
_Columns = list[tuple[Any, ...]]
"""Field by field what symbols have, in the order of `Symbol`'s."""


class _Texts(msgspec.Struct, array_like=True, gc=False):
    """What is told of a file's symbols. Lists of texts are one text where that can be taken apart again."""

    package: str
    lines: int
    sites: int
    imports: int
    names: str | list[str]
    numbers: bytes
    qualified: dict[int, str]
    """Those that are not the name behind that of the parent."""
    signatures: str | list[str]
    docs: str | list[str]


class _Core(msgspec.Struct, array_like=True, gc=False):
    language: str
    names: str | list[str]
    scopes: bytes
    exprs: bytes
    bindings: bytes
    sites: bytes
    imports: list[Import]
    exports: list[Export]
    all: list[str] | None
    errors: int
    numbers: bytes
    lists: list[dict[int, list[Any]]]
    """For each of `_LISTS` those that are not empty."""


class Told:
    """What is told of a file's symbols, in the order of its facts: the first part of a blob.

    ``numbers`` are those that a store has given them, None where they count up from 0. For another part than `encode`
    made it raises what zlib and msgspec do.
    """

    def __init__(self, part: bytes, numbers: Sequence[int] | None = None) -> None:
        self._texts = texts = _TEXTS.decode(zlib.decompress(part))
        self.numbers = numbers
        self.package, self.lines, self.sites, self.imports = texts.package, texts.lines, texts.sites, texts.imports
        self.names = split(texts.names)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def columns(self) -> list[array[int]]:
        """Parents, kinds, flags; lines and characters of starts and of ends; lines, characters, lengths of names."""
        return columns_of(self._texts.numbers, len(self.names)) or [array("i")] * _TOLD_WIDTH

    @cached_property
    def qualified(self) -> list[str]:
        found: list[str] = []
        odd = self._texts.qualified
        for at, (name, parent) in enumerate(zip(self.names, self.columns[0], strict=True)):
            whole = odd.get(at)
            found.append(_usual(found[parent], name) if whole is None else whole)
        return found

    @cached_property
    def signatures(self) -> list[str]:
        return split(self._texts.signatures)

    @cached_property
    def docs(self) -> list[str]:
        return split(self._texts.docs)

    def all_numbers(self) -> Sequence[int]:
        return range(len(self.names)) if self.numbers is None else self.numbers

    @cached_property
    def _indexes(self) -> dict[int, int]:
        return {n: at for at, n in enumerate(self.numbers or ())}

    def index(self, n: int) -> int | None:
        """Where the symbol with that number is; None if there is none."""
        if self.numbers is not None:
            return self._indexes.get(n)
        return n if n < len(self.names) else None

    def span(self, at: int) -> Span:
        line, character, end_line, end_character, *name = [column[at] for column in self.columns[3:]]
        return (line, character, end_line, end_character, name[0], name[1], name[2])


_ENCODE = msgspec.msgpack.Encoder().encode
_TEXTS = msgspec.msgpack.Decoder(_Texts)
_CORE = msgspec.msgpack.Decoder(_Core)


# -- whole facts --------------------------------------------------------------------------------------------------


def encode(facts: Facts) -> bytes:
    """Both parts as one value (`parts`)."""
    columns: _Columns = list(zip(*map(astuple, facts.symbols), strict=True)) or [()] * _FIELDS
    texts = zlib.compress(_ENCODE(_texts(facts, columns)), _LEVEL)
    core = zlib.compress(_ENCODE(_core(facts, columns)), _LEVEL)
    return b"".join((len(texts).to_bytes(_HEAD, "big"), texts, core))


def parts(blob: bytes) -> tuple[bytes, bytes]:
    """Texts and core of what `encode` made. Raises ValueError for anything shorter."""
    size = int.from_bytes(blob[:_HEAD], "big")
    if len(blob) < _HEAD + size:
        raise ValueError("These are no facts: they are cut off.")
    return blob[_HEAD : _HEAD + size], blob[_HEAD + size :]


def decode(blob: bytes) -> Facts:
    """Raises ValueError for anything that `encode` did not make."""
    return joined(*parts(blob), whole=True)


def joined(texts: bytes, core: bytes, *, whole: bool = False) -> Facts:
    """The facts of two parts; unless ``whole`` without what no resolver asks: ranges, docstrings, most signatures.

    Raises ValueError for anything that `encode` did not make.
    """
    try:
        return _facts(Told(texts), _CORE.decode(zlib.decompress(core)), whole)
    except (zlib.error, msgspec.MsgspecError, IndexError, TypeError) as error:
        raise ValueError(f"These are no facts: {error}") from None


def _facts(told: Told, core: _Core, whole: bool) -> Facts:
    return Facts(
        core.language,
        told.package,
        split(core.names),
        unplaned(core.scopes, SCOPE_WIDTH),
        _symbols(told, core, whole),
        unplaned(core.exprs, _EXPR_WIDTH),
        unplaned(core.bindings, BINDING_WIDTH),
        core.imports,
        core.exports,
        unplaned(core.sites, SITE_WIDTH),
        core.all,
        told.lines,
        core.errors,
    )


def _core(facts: Facts, columns: _Columns) -> _Core:
    numbers = planes_of((*itemgetter(4, 5, 11, 12, 13)(columns), *zip(*columns[18], strict=True)))
    lists = [{at: some for at, some in enumerate(columns[which]) if some} for which in _LISTS]
    return _Core(
        facts.language,
        as_one(facts.names),
        planed(facts.scopes, SCOPE_WIDTH),
        planed(facts.exprs, _EXPR_WIDTH),
        planed(facts.bindings, BINDING_WIDTH),
        planed(facts.sites, SITE_WIDTH),
        facts.imports,
        facts.exports,
        facts.all,
        facts.errors,
        numbers,
        lists,
    )


def _symbols(told: Told, core: _Core, whole: bool) -> list[Symbol]:
    count = len(told)
    if not count:
        return []
    parent, kind, flags, line, character, end_line, end_character, *at = told.columns
    scope, own, type_, value, owner, least, most = columns_of(core.numbers, count)
    lists = [_filled(some, count) for some in core.lists]
    texts: Iterable[str] = [""] * count
    signatures = told.signatures if whole or core.language in SIGNED else texts
    fields: tuple[Iterable[Any], ...] = (
        told.names,
        told.qualified,
        *(kind, parent, scope, own),
        zip(line, character, end_line, end_character, strict=True) if whole else [_PLACE] * count,
        zip(*at, strict=True),
        flags,
        signatures,
        told.docs if whole else texts,
        *(type_, value, owner),
        *lists[:4],
        zip(least, most, strict=True),
        lists[4],
    )
    return list(map(Symbol, *fields))


def _filled(some: dict[int, list[Any]], count: int) -> list[list[Any]]:
    column = [_NONE] * count
    for at, value in some.items():
        column[at] = value
    return column


# -- texts --------------------------------------------------------------------------------------------------------


def _texts(facts: Facts, columns: _Columns) -> _Texts:
    names, qualified, kinds, parents = columns[:4]
    odd = {
        at: whole
        for at, (name, whole, parent) in enumerate(zip(names, qualified, parents, strict=True))
        if whole != _usual(qualified[parent], name) or parent >= at
    }
    numbers = planes_of((parents, kinds, columns[8], *zip(*columns[6], strict=True), *zip(*columns[7], strict=True)))
    told = (numbers, odd, as_one(columns[9]), as_one(columns[10]))
    sites = len(facts.sites) // (4 * SITE_WIDTH)
    return _Texts(facts.package, facts.lines, sites, len(facts.imports), as_one(names), *told)


def _usual(above: str, name: str) -> str:
    return f"{above}.{name}" if above else name


# -- columns ------------------------------------------------------------------------------------------------------


def as_one(texts: Sequence[str]) -> str | list[str]:
    """``texts`` as one text, which packs better than many; as they are where they hold what would divide them."""
    one = "\0".join(texts)
    return one if texts and one.count("\0") == len(texts) - 1 else list(texts)


def split(texts: str | list[str]) -> list[str]:
    return texts.split("\0") if isinstance(texts, str) else texts


def planed(rows: bytes, width: int) -> bytes:
    """Rows of ``width`` numbers, column by column and byte by byte."""
    step = 4 * width
    return b"".join([rows[4 * column + byte :: step] for byte in range(4) for column in range(width)])


def unplaned(data: bytes, width: int) -> bytes:
    """What `planed` was given."""
    rows = bytearray(len(data))
    step, count = 4 * width, len(data) // (4 * width)
    at = 0
    for byte in range(4):
        for column in range(width):
            rows[4 * column + byte :: step] = data[at : at + count]
            at += count
    return bytes(rows)


def planes_of(columns: Iterable[Iterable[int]]) -> bytes:
    """Columns, one after the other, byte by byte."""
    flat = array("i")
    for column in columns:
        flat.extend(column)
    data = flat.tobytes()
    return b"".join([data[byte::4] for byte in range(4)])


def columns_of(data: bytes, count: int) -> list[array[int]]:
    """The columns of ``count`` numbers each that `planes_of` was given."""
    flat = array("i")
    flat.frombytes(unplaned(data, 1))
    return [flat[at : at + count] for at in range(0, len(flat), count)] if count else []
