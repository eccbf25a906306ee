"""Which symbols of a file a change touches, so that those who use them can be found.

A file's symbols are a server's answer to ``textDocument/documentSymbol`` about the old text (LSP 3.17). Local ones,
inside functions, have no users elsewhere: what touches them touches the function.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ombud.operations.writing.lexis import IMPORTS, INFERRING, STRUCTURAL, Hunk, Name, Page, declared
from ombud.text.ranges import Position, Range, index_of_unit, utf16_length

METHOD = 6
FUNCTIONS = frozenset({METHOD, 9, 12, 25})
"""``SymbolKind``: method, constructor, function, operator."""
CLASSES = frozenset({5, 10, 11, 19, 23})
"""Class, enum, interface, object (an ``impl`` of Rust), struct."""
_VALUES = frozenset({7, 8, 13, 14})
"""Property, field, variable, constant: what is declared inside may be a member, or local to a function in it."""
_LOCALS = frozenset({5, 12, 13, 14})
_MAKERS = frozenset({"__init__", "__new__", "__call__", "__post_init__", "constructor", "new"})
"""Methods that are called by their class's name."""
_HEADER_END = re.compile(r"(?:[:{;=]|=>)\s*(?:(?://|#).*)?$")
_HEADER_LINES = 30
_PREFIX = re.compile(
    r"^\s*(?:@|#\[|\[|template\b"
    r"|(?:abstract|async|declare|default|export|extern|inline|private|protected|pub|public|static|unsafe)\b[^;{}=()]*$)"
)
"""A line of its own that belongs to what stands below it: a decorator, an attribute, a modifier."""
_CLOSES = re.compile(r"^\s*[)\]}]")
_RETURNS = re.compile(r"\)\s*(?:->|:\s*[^\s{])")
"""A function's header that says what it returns."""
_REMARK = re.compile(r"(?:#|//).*|/\*.*?\*/")
_FOLLOWED = re.compile(r"\bmacro|\bconst\s+(?:unsafe\s+)?fn\b|->\s*impl\b")
"""A header in Rust of what others see the body of: it is expanded or evaluated where it is used, or is of its type."""
_BALANCE = (("{", "}"), ("(", ")"), ("[", "]"), ("/*", "*/"), ('"""', ""), ("'''", ""), ("`", ""))
"""What begins and ends something that may go over lines; the last three end as they begin."""

_GIVES = re.compile(r"\breturn\b[ \t]*[^\s;]|\byield\b|=>")
"""A function's line by which its type follows from its body; without one it gives nothing."""
_ANNOTATED = re.compile(r"\s*[!?]?\s*:(?!=)")
_MEMBERS_ONLY = re.compile(r"\b(?:TypedDict|Protocol)\b")
"""A class of Python's that is its members, whatever its name."""

_TYPED = frozenset({"go", "java", "csharp", "rust"})
"""Languages in which every function says what it takes and gives, and nobody else compiles its body."""
_REACHES_OUT = re.compile(r"\b(?:self|cls)\s*\.\s*\w+(?:\s*:|[^=!<>]*=(?!=))|^\s*(?:global|nonlocal)\b|\bsetattr\b")
"""A line in a function's body by which others get to see something new."""


@dataclass(eq=False)
class Symbol:
    """One symbol. Lines are zero-based, ``start`` and ``end`` its first and last; ``at`` is where its name stands."""

    name: str
    kind: int
    start: int
    end: int
    at: Position
    parent: Symbol | None = None
    children: list[Symbol] = field(default_factory=list)

    @property
    def local(self) -> bool:
        """Whether it lies inside a function."""
        parent = self.parent
        if parent is None:
            return False
        inside = parent.kind in FUNCTIONS or (parent.kind in _VALUES and self.kind in _LOCALS)
        return inside or parent.local

    @property
    def open(self) -> Symbol:
        """Itself, or the function that it is local to."""
        return self.parent.open if self.local and self.parent is not None else self

    @property
    def depth(self) -> int:
        return 0 if self.parent is None else self.parent.depth + 1

    @property
    def classlike(self) -> bool:
        return self.kind in CLASSES


@dataclass(frozen=True)
class Wanted:
    """A place to ask for references at. ``tier`` 0 is what was changed itself, a higher one what that may change.

    ``symbol``: None for a name on a line of no symbol. ``imported``: the name is taken in or handed on there, so that
    only those are of interest who have it from this file. ``shape``: what has changed is what others of its kind must
    agree with: a method's header, what a class has or is derived from. ``structural``: a class that is its members.
    """

    at: Position
    tier: int
    name: str
    symbol: Symbol | None = None
    exported: bool = True
    imported: bool = False
    shape: bool = False
    structural: bool = False

    @property
    def rank(self) -> tuple[int, int, bool]:
        return self.tier, self.symbol.depth if self.symbol is not None else 0, not self.exported


class _Wire(msgspec.Struct):
    name: str = ""
    kind: int = 0
    range: Range | None = None
    selectionRange: Range | None = None  # noqa: N815  (the protocol's name)
    location: Any = None
    children: list[Any] | None = None


def outline(answer: Any, lines: Sequence[str]) -> list[Symbol]:
    """The symbols of ``DocumentSymbol[]`` or ``SymbolInformation[]``, each behind those that hold it.

    What has another shape is left out.
    """
    found = list(_read(answer, None, lines))
    if any(one.parent is not None for one in found):
        return found
    return _nested(found)


def _read(answer: Any, parent: Symbol | None, lines: Sequence[str]) -> Iterator[Symbol]:
    for one in answer if isinstance(answer, list) else []:
        try:
            wire = msgspec.convert(one, _Wire)
            where = wire.range or msgspec.convert((wire.location or {}).get("range"), Range)
        except (msgspec.ValidationError, AttributeError):
            continue
        at = wire.selectionRange.start if wire.selectionRange is not None else _named(wire.name, where, lines)
        end = where.end.line - (where.end.character == 0 and where.end.line > where.start.line)
        symbol = Symbol(wire.name, wire.kind, min(where.start.line, at.line), max(end, at.line), at, parent)
        if parent is not None:
            parent.children.append(symbol)
        yield symbol
        yield from _read(wire.children, symbol, lines)


def _named(name: str, where: Range, lines: Sequence[str]) -> Position:
    """Where the name stands in a range that has no more to say."""
    last = min(where.end.line, where.start.line + _HEADER_LINES, len(lines) - 1)
    for line in range(where.start.line, last + 1):
        match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", lines[line]) if name else None
        if match is not None:
            return Position(line, utf16_length(lines[line][: match.start()]))
    return where.start


def _nested(found: list[Symbol]) -> list[Symbol]:
    """Symbols of a flat answer, put into those whose lines hold theirs."""
    found.sort(key=lambda one: (one.start, -one.end))
    around: list[Symbol] = []
    for symbol in found:
        while around and not (symbol.end <= around[-1].end and _is_larger(around[-1], symbol)):
            around.pop()
        if around:
            symbol.parent = around[-1]
            around[-1].children.append(symbol)
        around.append(symbol)
    return found


def _is_larger(one: Symbol, other: Symbol) -> bool:
    return one.end - one.start > other.end - other.start


def _balance(lines: Sequence[str]) -> list[int]:
    """For each pair how many are left open; for what ends as it begins, whether one is."""
    text = "\n".join(lines)
    return [text.count(begin) - text.count(end) if end else text.count(begin) % 2 for begin, end in _BALANCE]


class Reading:
    """One file as it was, and what a change of it touches."""

    def __init__(self, old: Page, new: Page, symbols: Sequence[Symbol]) -> None:
        self.old, self.new = old, new
        self.symbols = symbols
        self._tops = {one.name: one for one in symbols if one.parent is None}
        self._rows: dict[int, list[Symbol]] = {}
        for one in symbols:
            for line in range(one.start, min(one.end, len(old.lines)) + 1):
                self._rows.setdefault(line, []).append(one)
        self._found: dict[Position, Wanted] = {}
        self.gone = not new.lines or new.lines == [""]
        """Whether nothing is left of the file: then whoever uses it breaks, whatever else they are to it."""
        self.passed_on = False
        """Whether the change touches a line that takes in or hands out names of other files."""
        self.nameless = False
        """Whether it touches one that hands out all names of another file, whatever they are."""

    def wanted(self, hunks: Iterable[Hunk]) -> list[Wanted]:
        """Where to ask for references, the most telling first."""
        for hunk in hunks:
            self._lines(hunk)
            self._insertion(hunk)
            self._following(hunk)
        return sorted(self._found.values(), key=lambda one: one.rank)

    def at(self, line: int) -> list[Symbol]:
        """The symbols that a line speaks of: those whose name stands there, else the innermost around it."""
        here = self._rows.get(line, [])
        around = {one.parent for one in here}
        return list(dict.fromkeys(one.open for one in here if one.at.line == line or one not in around))

    def follows_from(self, line: int, symbol: Symbol, used: Wanted) -> bool:
        """Whether a symbol changes for others because ``used`` does, which stands on a line of it.

        What is derived from a class changes with it. What only takes or gives its instances does so where types are
        compared by their members. Of a function it matters what it uses in its header, or in a body that its type
        follows from.
        """
        if used.tier in (1, 2):
            return False
        last = self._header(symbol)
        if used.symbol is not None and used.symbol.classlike and not symbol.classlike:
            return (used.structural or self.old.language in STRUCTURAL) and line <= last
        if symbol.kind not in FUNCTIONS or line <= last:
            return True
        return self.old.language in INFERRING and not self._says_return(symbol, last)

    def _says_return(self, symbol: Symbol, last: int) -> bool:
        """Whether a function's header, which ends at line ``last``, says what it returns."""
        header = "\n".join(_REMARK.sub("", line).rstrip() for line in self.old.lines[symbol.at.line : last + 1])
        if self.old.language == "python":
            return "->" in header
        return _RETURNS.search(header) is not None

    def declares(self, line: int) -> bool:
        """Whether a line is no import, of a text that looks like declaring something."""
        there = line < len(self.old.lines) and not self.imported(line)
        return there and bool(declared(self.old, range(len(self.old.lines))))

    def spreads(self, place: Range, used: Wanted) -> list[Symbol]:
        """The symbols that change for others because ``used`` does, of which ``place`` is a use in this text.

        What is named behind it on its line, as another key of the same object, has nothing of it.
        """
        line = place.start.line
        if line >= len(self.old.lines) or self.imported(line):
            return []
        return [
            symbol
            for symbol in self.at(line)
            if not (symbol.at.line == line and symbol.at.character >= place.start.character)
            and (self.follows_from(line, symbol, used) or self._is_alias(symbol, place))
            and not self._is_settled(symbol, place)
        ]

    def _is_alias(self, symbol: Symbol, place: Range) -> bool:
        """``make = Ship``: whoever calls ``make`` makes a ship."""
        text = self.old.lines[place.start.line]
        before = text[: index_of_unit(text, place.start.character)].rstrip()
        behind = text[index_of_unit(text, place.end.character) :].lstrip()
        return symbol.kind in _VALUES and before.endswith("=") and behind[:1] not in ("(", ".", "[")

    def _is_settled(self, symbol: Symbol, place: Range) -> bool:
        """Whether the symbol's type is said, or nothing of what it uses gets out of it."""
        line = place.start.line
        if symbol.kind in FUNCTIONS:
            body = self.old.lines[symbol.at.line : symbol.end + 1]
            return line > self._header(symbol) and not any(map(_GIVES.search, body))
        text = self.old.lines[symbol.at.line]
        behind = text[index_of_unit(text, symbol.at.character) + len(symbol.name) :]
        if symbol.kind not in _VALUES or not _ANNOTATED.match(behind):
            return False
        return line != symbol.at.line or "=" in text[: index_of_unit(text, place.start.character)]

    # -- what lines touch

    def _lines(self, hunk: Hunk) -> None:
        loose = []
        for line in range(hunk.a, hunk.b):
            if not self.old.counts(line):
                continue
            if not self.imported(line):
                symbols = self.at(line)
                owner = None if symbols else self._owner(self.old, line, line)
                for symbol in symbols or ([owner] if owner is not None else []):
                    if not self._within(symbol, line, hunk):
                        self._touch(symbol, line)
                if symbols or owner is not None:
                    continue
            loose.append(line)
        if loose:
            self._loose(loose, hunk)

    def _within(self, symbol: Symbol, line: int, hunk: Hunk) -> bool:
        """Whether a change stays inside a function: of one whose header says what it returns, others see no body.

        Python's methods declare what their instances have, and its functions what is global; what that is can follow
        from any line of theirs.
        """
        last = self._header(symbol)
        if symbol.kind not in FUNCTIONS or self.gone or line <= last or not _HEADER_END.search(self.old.lines[last]):
            return False
        if self.old.language in INFERRING:
            if not self._says_return(symbol, last):
                return False
        elif self.old.language not in _TYPED:
            return False
        if self.old.language == "rust" and _FOLLOWED.search(" ".join(self.old.lines[symbol.at.line : last + 1])):
            return False
        before, after = self.old.lines[hunk.a : hunk.b], self.new.lines[hunk.c : hunk.d]
        if _balance(before) != _balance(after):
            return False  # It may take in what stands below the function.
        body = self.old.lines[symbol.start : symbol.end + 1] if self.old.language == "python" else before
        return not any(_REACHES_OUT.search(one) for one in (*body, *after))

    def _touch(self, symbol: Symbol, line: int | None) -> None:
        """``line`` is the one by which it was touched; None: by something new inside it."""
        header = line is not None and line <= self._header(symbol)
        self._want(symbol, 0, shape=header or (line is None and symbol.classlike))
        parent = symbol.parent
        if parent is None:
            return
        if symbol.kind not in FUNCTIONS or symbol.kind == 9 or symbol.name in (*_MAKERS, parent.name):
            self._want(parent, 1)
        elif header:
            self._want(parent, 2)

    def _want(self, symbol: Symbol, tier: int, *, shape: bool = False) -> None:
        known = self._found.get(symbol.at)
        if known is not None:
            tier, shape = min(tier, known.tier), shape or known.shape
        header = "\n".join(self.old.lines[symbol.at.line : self._header(symbol) + 1]) if symbol.classlike else ""
        self._found[symbol.at] = Wanted(
            symbol.at,
            tier,
            symbol.name,
            symbol,
            self._exported(symbol),
            shape=shape and not self.gone,
            structural=_MEMBERS_ONLY.search(header) is not None,
        )

    def _exported(self, symbol: Symbol) -> bool:
        if self.old.language.startswith(("javascript", "typescript")) and symbol.parent is None:
            return "export" in self.old.lines[symbol.start]
        return not symbol.name.startswith("_") or symbol.name.startswith("__")

    def _header(self, symbol: Symbol) -> int:
        """The last line of what declares it, before its body."""
        last = min(symbol.end, symbol.at.line + _HEADER_LINES, len(self.old.lines) - 1)
        for line in range(symbol.at.line, last + 1):
            if _HEADER_END.search(self.old.lines[line]):
                return line
        return symbol.at.line

    def _owner(self, page: Page, line: int, before: int) -> Symbol | None:
        """The symbol to whose statement a line belongs by its indentation, where ranges do not tell.

        ``line`` is of ``page``; the lines above it are those of the old text above ``before``.
        """
        indent = page.indent(line) + (1 if _CLOSES.match(page.lines[line]) else 0)
        for above in range(min(before, len(self.old.lines)) - 1, -1, -1):
            if self.old.indent(above) < indent and self.old.counts(above):
                return next((one.open for one in self.symbols if one.at.line == above), None)
        return None

    # -- what is new

    def _insertion(self, hunk: Hunk) -> None:
        """New lines: what is around them has changed."""
        fresh = [line for line in range(hunk.c, hunk.d) if self.new.counts(line)]
        gone = [line for line in range(hunk.a, hunk.b) if self.old.counts(line)]
        if not fresh:
            return
        around = self._around(hunk, fresh[0])
        if around is not None and (not gone or (around.classlike and len(fresh) > len(gone))):
            if not self._within(around, hunk.a, hunk):
                self._touch(around, hunk.a if hunk.a <= self._header(around) else None)
        elif around is None and not gone:
            for name in declared(self.new, fresh) & self._tops.keys():
                self._touch(self._tops[name], None)

    def _around(self, hunk: Hunk, first: int) -> Symbol | None:
        before, behind = hunk.a - 1, hunk.b
        found = [one for one in self.symbols if one.start <= before and one.end >= behind]
        if not found and self.old.indented:
            above = next((line for line in range(before, -1, -1) if self.old.counts(line)), -1)
            indent = self.new.indent(first)
            found = [
                one for one in self.symbols if one.start <= above <= one.end and self.old.indent(one.start) < indent
            ]
        if found:
            return found[-1].open
        return self._owner(self.new, first, hunk.a)

    def _following(self, hunk: Hunk) -> None:
        """What stands right in front of a symbol may belong to it."""
        prefixes = [self.new.lines[hunk.d - 1]] if hunk.d > hunk.c else []
        prefixes += [self.old.lines[hunk.b - 1]] if hunk.b > hunk.a else []
        if not any(_PREFIX.match(one) for one in prefixes):
            return
        line = hunk.b
        while line < len(self.old.lines) and _PREFIX.match(self.old.lines[line]):
            line += 1
        for symbol in self._rows.get(line, []):
            if line in (symbol.start, symbol.at.line) and not symbol.local:
                self._touch(symbol, line)

    # -- lines of no symbol

    def _loose(self, lines: Sequence[int], hunk: Hunk) -> None:
        """The names that no longer stand there, or all of them where they come from elsewhere now."""
        kept: dict[str, int] = {}
        for line in range(hunk.c, hunk.d):
            for name in self.new.names(line):
                kept[name.text] = kept.get(name.text, 0) + 1
        for line in lines:
            imported = self.imported(line)
            self.passed_on = self.passed_on or imported
            names = self.old.names(line)
            gone = []
            for name in names:
                kept[name.text] = kept.get(name.text, 0) - 1
                if kept[name.text] < 0:
                    gone.append(name)
            taken = [name for name in names if self._is_taken(name)] if imported else names
            chosen = [name for name in gone if name in taken] or taken
            self.nameless = self.nameless or (imported and not chosen and "*" in self.old.lines[line])
            for name in chosen:
                self._want_name(name, imported)

    def imported(self, line: int) -> bool:
        """Whether a line belongs to an import or export, which may go over several lines."""
        if IMPORTS.search(self.old.lines[line]):
            return True
        indent = self.old.indent(line) + (1 if _CLOSES.match(self.old.lines[line]) else 0)
        for above in range(line - 1, max(-1, line - 400), -1) if indent else ():
            if self.old.indent(above) < indent and self.old.counts(above):
                return IMPORTS.search(self.old.lines[above]) is not None
        return False

    def _is_taken(self, name: Name) -> bool:
        """Whether a name on an import's line is what is taken or handed on, and not where it comes from."""
        text = self.old.lines[name.line]
        if self.old.language == "python":
            at = text.find("import ")
            if text.lstrip().startswith("from "):
                return 0 <= at < name.character
            return not text.lstrip().startswith("import ") or text[: name.character].rstrip().endswith(" as")
        behind = text[index_of_unit(text, name.character) + len(name.text) :]
        return not name.quoted and not behind.lstrip().startswith("::")

    def _want_name(self, name: Name, imported: bool) -> None:
        at, symbol = Position(name.line, name.character), None
        if name.quoted:
            place = self._elsewhere(name)
            if place is None:
                return
            at = place
        symbol = next((one for one in self.symbols if one.at == at), None)
        known = self._found.get(at)
        if known is None or known.tier > 0:
            self._found[at] = Wanted(at, 0, name.text, symbol, True, imported and not name.quoted)

    def _elsewhere(self, name: Name) -> Position | None:
        """Where a name that is quoted (``__all__``) is declared or imported."""
        if name.text in self._tops:
            return self._tops[name.text].at
        for line in range(len(self.old.lines)):
            if line != name.line and name.text in self.old.lines[line] and self.imported(line):
                for other in reversed(self.old.names(line)):
                    if other.text == name.text and not other.quoted:
                        return Position(line, other.character)
        return None
