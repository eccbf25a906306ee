"""Semantic tokens in the words that the client was announced, whichever server they are from (LSP 3.17).

A client is told one legend in ``initialize``, before any server runs, and reads every token by it. Each server has a
legend of its own. So the numbers in the owner's tokens are exchanged for those of the announced legend; where the two
agree, the bytes go on as they are. What the announced legend has no word for becomes the nearest standard type, or is
left out, and the places of the tokens behind it are repaired.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import Raw

from ombud.downstream.capabilities import Capabilities
from ombud.wire.values import NULL, dump, load, null

if TYPE_CHECKING:
    from ombud.downstream.server import Server

TYPES = (
    *("namespace", "type", "class", "enum", "interface", "struct", "typeParameter", "parameter", "variable"),
    *("property", "enumMember", "event", "function", "method", "macro", "keyword", "modifier", "comment"),
    *("string", "number", "regexp", "operator", "decorator"),
)
"""``SemanticTokenTypes`` of LSP 3.17, in its order."""
MODIFIERS = (
    *("declaration", "definition", "readonly", "static", "deprecated", "abstract", "async", "modification"),
    *("documentation", "defaultLibrary"),
)
"""``SemanticTokenModifiers`` of LSP 3.17, in its order."""
MOST_MODIFIERS = 31
"""A token's modifiers are the bits of one ``uinteger``, which ends at 2³¹ - 1."""
MOST_TYPES = 400

NEAREST: Mapping[str, str] = {
    "alias": "type",
    "annotation": "decorator",
    "arithmetic": "operator",
    "attribute": "decorator",
    "bitwise": "operator",
    "boolean": "keyword",
    "character": "string",
    "closure": "function",
    "comparison": "operator",
    "component": "class",
    "concept": "interface",
    "const": "variable",
    "constant": "variable",
    "constructor": "method",
    "derive": "decorator",
    "directive": "macro",
    "field": "property",
    "generic": "typeParameter",
    "identifier": "variable",
    "lambda": "function",
    "lifetime": "typeParameter",
    "logical": "operator",
    "member": "method",
    "module": "namespace",
    "object": "class",
    "package": "namespace",
    "protocol": "interface",
    "record": "struct",
    "sequence": "string",
    "specifier": "string",
    "static": "variable",
    "trait": "interface",
    "union": "struct",
}
"""Last words of types that servers use beside the standard ones → the standard type that is coloured most alike."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


class Legend(NamedTuple):
    """``SemanticTokensLegend``. A server's may name a type twice, as clangd's does."""

    types: tuple[str, ...]
    modifiers: tuple[str, ...]

    def with_words_of(self, other: Legend) -> Legend:
        """This legend and behind it what only ``other`` has, so that every number keeps its meaning."""
        types = dict.fromkeys([*self.types, *other.types])
        modifiers = dict.fromkeys([*self.modifiers, *other.modifiers])
        return Legend(tuple(types)[:MOST_TYPES], tuple(modifiers)[:MOST_MODIFIERS])

    def options(self) -> dict[str, list[str]]:
        """The ``SemanticTokensLegend``."""
        return {"tokenTypes": list(self.types), "tokenModifiers": list(self.modifiers)}


STANDARD = Legend(TYPES, MODIFIERS)


def legend_in(options: Any) -> Legend | None:
    """The legend in ``SemanticTokensOptions``; None where there is none."""
    legend = options.get("legend") if isinstance(options, Mapping) else None
    if not isinstance(legend, Mapping):
        return None
    types, modifiers = legend.get("tokenTypes"), legend.get("tokenModifiers")
    if not isinstance(types, list) or not isinstance(modifiers, list):
        return None
    return Legend(tuple(map(str, types)), tuple(map(str, modifiers)))


def legend_of(capabilities: Capabilities) -> Legend | None:
    """The legend of a running server: the one it registered last, else the one of ``initialize``."""
    registered = capabilities.registrations("textDocument/semanticTokens")
    for options in [*reversed(registered), capabilities.announced.get("semanticTokensProvider")]:
        legend = legend_in(options)
        if legend is not None:
            return legend
    return None


def nearest(name: str, known: Sequence[str]) -> str | None:
    """The type among ``known`` for a type that is not: by its last words (``builtinType``), then by the table."""
    words = _WORD.findall(name)
    for start in range(1, len(words)):
        rest = "".join(words[start:])
        rest = rest[0].lower() + rest[1:]
        if rest in known:
            return rest
    alike = NEAREST.get(words[-1].lower()) if words else None
    return alike if alike in known else None


class _Edit(msgspec.Struct, rename="camel"):
    start: int
    delete_count: int
    data: list[int] = []


class Mapper:
    """A server's answer → the same tokens by the announced legend. Made by `mapper`.

    ``drops``: some of the server's types have no counterpart and their tokens are left out. The numbers of a delta
    count in an array that the client then never had, so its full answers go out without ``resultId``: a client has
    nothing to ask a delta against, and asks for all tokens.
    """

    __slots__ = ("_beyond", "_bits", "_sets", "_types", "drops")

    def __init__(self, types: Sequence[int | None], bits: Sequence[int], beyond: int) -> None:
        self._types = dict(enumerate(types))
        self._bits = list(enumerate(bits))
        self._beyond = beyond
        self._sets: dict[int, int] = {0: 0}
        self.drops = None in types

    def __call__(self, result: Raw) -> Raw:
        """``SemanticTokens``, ``SemanticTokensDelta`` or null. What is none of them becomes null: no colours, not
        wrong ones."""
        if null(result):
            return result
        try:
            fields = load(result, dict[str, Raw])
            if "edits" in fields:
                edits = load(fields["edits"], list[_Edit])
                # A delta against what the client was told before its tokens lost some: only all of them would be right.
                return NULL if self.drops else self._answer(fields, edits=self._edits(edits))
            data = load(fields["data"], list[int])
        except (ValueError, KeyError):
            return NULL
        if not self.drops:
            return self._answer(fields, data=self._exchanged(data, 0))
        fields.pop("resultId", None)
        return self._answer(fields, data=self._exchanged(self._without_strangers(data), 0))

    @staticmethod
    def _answer(fields: Mapping[str, Raw], **new: Any) -> Raw:
        return Raw(dump({**fields, **new}))

    def _exchanged(self, data: list[int], phase: int) -> list[int]:
        """``data`` with its types and modifiers exchanged; its first number is number ``phase`` of a token's five."""
        types, sets, beyond = self._types, self._sets, self._beyond
        first = (3 - phase) % 5
        # A number that the server's own legend lacks stays one that the announced legend lacks.
        data[first::5] = [types.get(one, beyond) or 0 for one in data[first::5]]
        first = (4 - phase) % 5
        modifiers = data[first::5]
        for one in set(modifiers) - sets.keys():
            sets[one] = sum(1 << to for bit, to in self._bits if to >= 0 and one >> bit & 1)
        data[first::5] = [sets[one] for one in modifiers]
        return data

    def _without_strangers(self, data: list[int]) -> list[int]:
        """``data`` without the tokens of types that have no counterpart; the next one counts from the one before."""
        out: list[int] = []
        types, beyond = self._types, self._beyond
        lines = columns = 0
        for place in range(0, len(data) - 4, 5):
            down, right, length, kind, modifiers = data[place : place + 5]
            lines, columns = lines + down, right if down else columns + right
            if types.get(kind, beyond) is not None:
                out += (lines, columns, length, kind, modifiers)
                lines = columns = 0
        return out

    def _edits(self, edits: list[_Edit]) -> list[dict[str, Any]]:
        """The edits with their data exchanged. ``start`` counts in the old array, a number's meaning in the new one.

        Raises `ValueError` where numbers that stay would change their meaning, a type become a modifier: an edit has
        moved them by something else than whole tokens, and they were sent with the exchange of the old one.
        """
        ordered = sorted(edits, key=lambda one: one.start)
        shift, end = 0, -1
        for edit in ordered:
            if shift % 5 and edit.start != end:
                raise ValueError("numbers move from one place of a token to another")
            edit.data = self._exchanged(edit.data, (edit.start + shift) % 5)
            shift += len(edit.data) - edit.delete_count
            end = edit.start + edit.delete_count
        if shift % 5:
            raise ValueError("tokens have five numbers")
        return [{"start": one.start, "deleteCount": one.delete_count, "data": one.data} for one in edits]


def mapper(server: Legend, announced: Legend) -> Mapper | None:
    """The exchange of one legend's numbers for another's; None where they mean the same and bytes can stay as they are.

    A modifier that is not announced is left out of its token.
    """
    places = {name: place for place, name in reversed(list(enumerate(announced.types)))}
    types: list[int | None] = []
    for name in server.types:
        there = name if name in places else nearest(name, announced.types)
        types.append(None if there is None else places[there])
    bits = [announced.modifiers.index(name) if name in announced.modifiers else -1 for name in server.modifiers]
    if types == list(range(len(types))) and bits == list(range(len(bits))):
        return None
    return Mapper(types, bits, len(announced.types))


class Tokens:
    """The semantic tokens of one client: called with a server and its answer, gives the answer for the client.

    ``legend`` is what the client was announced, and grows when more is registered at it; None before ``initialize``
    was answered, and for a client that was announced none.
    """

    def __init__(self) -> None:
        self.legend: Legend | None = None
        self._mappers: dict[tuple[Legend, Legend], Mapper | None] = {}

    def __call__(self, server: Server, result: Raw) -> Raw:
        found = self._mapper(server)
        return result if found is None else found(result)

    def agree(self, server: Server) -> bool:
        """Whether the server's answers need no change. Before it has announced its legend nobody knows."""
        return legend_of(server.capabilities) is not None and self._mapper(server) is None

    def _mapper(self, server: Server) -> Mapper | None:
        theirs = legend_of(server.capabilities)
        if theirs is None or self.legend is None:
            return None
        key = (theirs, self.legend)
        if key not in self._mappers:
            self._mappers[key] = mapper(*key)
        return self._mappers[key]
