"""What Java, C# and Kotlin share: declared types, members without ``this``, overloads, blocks that end a local's life.

Three things here differ from languages without declared types:

* The expression of a call site is the CALL itself, in a GIVEN with its arguments where something is known of them: the
  overload that is meant depends on them. ``new T(…)`` is a CALL of an INSTANCE, ``this(…)`` one of CLASS.
* The expression of a site in a type is an INSTANCE of what is meant: types and variables may have the same name.
* The bound of a type parameter ``T`` is bound to the name ``<T>`` in the scope that has the parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ombud.graph.extract.extraction import Extraction, Nest, first
from ombud.graph.facts import (
    ATTR,
    CALL,
    CALL_SITE,
    CLASS_SCOPE,
    FUNCTION_SCOPE,
    GIVEN,
    INDEX,
    INSTANCE,
    LITERAL,
    NAME,
    PARAMETER,
    PASSED,
    REFERENCE_SITE,
    RETURNED,
    TO_SYMBOL,
    VALUE,
)

if TYPE_CHECKING:
    from tree_sitter import Node

DEEPEST = 90
"""Expressions within one another that are read; nothing is said of deeper ones."""
ARRAY = "[]"
"""The name of an array's type, with the type of its elements as its argument."""
_COMMENTS = ("comment", "line_comment", "block_comment", "multiline_comment")


class Frame(NamedTuple):
    """What is around a definition."""

    end: int
    scope: int
    symbol: int


Opened = tuple[int, int, int] | None
"""The offset at which a definition's scope starts, the scope, and its symbol; None where it opens none."""


def arguments(node: Node | None) -> list[Node]:
    """The named children that are no comments."""
    if node is None:
        return []
    return [one for one in node.named_children if one.type not in _COMMENTS]


def _place(node: Node) -> int:
    return (node.start_byte << 32) - node.end_byte


class Typed(Extraction):
    """See the module. ``locals`` has where in the text each name means a variable of a function, ``letters`` where it
    means a type parameter."""

    DEFINITIONS: ClassVar[Mapping[str, Callable[[Any, Node, Frame], Opened]]] = {}
    VALUES: ClassVar[Mapping[str, Callable[[Any, Node], int]]] = {}
    TESTS: ClassVar[frozenset[str]] = frozenset()
    """Annotations that mark a test."""

    def prepare(self) -> None:
        """Lay out what the rest needs.

        The nodes of a capture come in any order, another one each time: they are sorted, or names and expressions would
        be counted differently in equal texts.
        """
        self.nodes = {capture: sorted(nodes, key=_place) for capture, nodes in self.nodes.items()}
        self.known: dict[int, int] = {}
        self.kinds: dict[int, int] = {}
        self.scopes: dict[int, int] = {}
        self.closures: set[int] = set()
        self.locals: dict[bytes, list[tuple[int, int]]] = {}
        self.letters: dict[bytes, list[tuple[int, int]]] = {}
        self.later: list[tuple[Callable[..., None], tuple[Any, ...]]] = []
        self.depth = 0
        self.head = 0
        """Where package and imports end: names before it are no sites."""
        self.blocks = Nest(
            ((node.start_byte, node.end_byte, node.end_byte) for node in self.nodes.get("block", ())),
            len(self.source) + 1,
        )

    def define(self) -> None:
        """All definitions from the outside in; then what was put off until every scope is known."""
        regions: list[tuple[int, int, int]] = []
        around = [Frame(1 << 62, 0, 0)]
        for node in self.nodes.get("scope", ()):
            start, end = node.start_byte, node.end_byte
            while around[-1].end <= start:
                around.pop()
            opened = self.DEFINITIONS[node.type](self, node, around[-1])
            if opened is not None:
                begin, own, symbol = opened
                regions.append((begin, end, own))
                around.append(Frame(end, own, symbol))
        self.inside = Nest(regions)
        for run, given in self.later:
            run(*given)

    # -- definitions ----------------------------------------------------------------------------------------------

    def declare(
        self,
        node: Node,
        name: Node,
        kind: int,
        frame: Frame,
        start: Node | None = None,
        text: str = "",
        hidden: bool = False,
    ) -> int:
        """A symbol whose range begins with the node ``start`` within ``node``.

        ``text`` is its name where that is not as written; a ``hidden`` one is not found by its name.
        """
        build = self.build
        text = text or self.text(name)
        self.used.add(name.start_byte)
        where = (*build.start(start or node), *build.end(node))
        made = build.symbol(text, kind, frame.symbol, frame.scope, where, build.span(name))
        if not hidden:
            build.bind(frame.scope, text, TO_SYMBOL, made)
        return made

    def open(self, node: Node, kind: int, made: int, frame: Frame, start: int) -> tuple[int, int, int]:
        """The scope of a definition."""
        own = self.build.scope(frame.scope, kind, made, start, node.end_byte)
        self.scopes[node.id] = own
        if made >= 0:
            self.build.symbols[made].own = own
        return start, own, made if made >= 0 else frame.symbol

    def nameless(self, node: Node, kind: int, text: str, frame: Frame, start: int, at: Node) -> tuple[int, int, int]:
        """The symbol and the scope of a class without a name."""
        build = self.build
        where = (*build.start(node), *build.end(node))
        made = build.symbol(text, kind, frame.symbol, frame.scope, where, build.span(at))
        return self.open(node, CLASS_SCOPE, made, frame, start)

    def closure(self, node: Node, frame: Frame) -> tuple[int, int, int]:
        """The scope of a function without a name; `passed` is to be called later."""
        opened = self.open(node, FUNCTION_SCOPE, -1, frame, node.start_byte)
        self.closures.add(opened[1])
        return opened

    def letter(self, own: int, made: int, name: Node, bounds: Iterable[int], extent: tuple[int, int]) -> None:
        """A type parameter of a definition."""
        build = self.build
        text = self.text(name)
        self.used.add(name.start_byte)
        build.symbols[made].generics.append(text)
        self.letters.setdefault(text.encode(), []).append(extent)
        bound = build.union(bounds)
        if bound:
            build.bind(own, f"<{text}>", PARAMETER, bound)

    def local(self, name: Node, what: int, expr: int, extent: tuple[int, int], scope: int = -1) -> None:
        """A variable that no other function sees, for the uses in ``extent`` (offsets)."""
        start = name.start_byte
        self.used.add(start)
        self.locals.setdefault(self.source[start : name.end_byte], []).append(extent)
        build = self.build
        if scope < 0:
            build.bind(self.inside.at(start), self.text(name), what, expr, *extent)
        else:
            build.bind(scope, self.text(name), what, expr)

    def here(self, node: Node, start: int = 0) -> tuple[int, int]:
        """From a node's end (or ``start``) to the end of the block around it."""
        return start or node.end_byte, self.blocks.at(node.start_byte)

    def is_local(self, word: bytes, offset: int) -> bool:
        return any(start <= offset < end for start, end in self.locals.get(word, ()))

    # -- sites ----------------------------------------------------------------------------------------------------

    def place(self, kind: int, expr: int, name: Node) -> None:
        """A site at ``name``, unless it is one already."""
        start = name.start_byte
        if start not in self.used:
            self.used.add(start)
            self.build.site(kind, expr, self.inside.at(start), name)

    def call_site(self, expr: int, name: Node) -> None:
        """The site of a call whose value is ``expr``, 0 where nothing is known of what it is called on."""
        build = self.build
        self.place(CALL_SITE, expr or build.expr(CALL, build.expr(ATTR, 0, build.name(self.text(name))), -1), name)

    def names(self, capture: str = "name") -> None:
        """References of all bare names that are not used otherwise and mean no local variable."""
        build, used, source, head = self.build, self.used, self.source, self.head
        local, at, site = self.locals, self.inside.at, build.site
        for node in self.nodes.get(capture, ()):
            start = node.start_byte
            if start in used or start < head:
                continue
            word = source[start : node.end_byte]
            if word not in local or not self.is_local(word, start):
                site(REFERENCE_SITE, build.expr(NAME, build.name(word.decode("utf-8", "replace"))), at(start), node)

    def types(self, capture: str = "type", ignored: frozenset[bytes] = frozenset()) -> None:
        """References of all names in types that are not used otherwise and mean no type parameter."""
        build, used, source, head = self.build, self.used, self.source, self.head
        letters, at, site = self.letters, self.inside.at, build.site
        for node in self.nodes.get(capture, ()):
            start = node.start_byte
            if start in used or start < head:
                continue
            used.add(start)
            word = source[start : node.end_byte]
            if word in ignored or (word in letters and any(a <= start < b for a, b in letters[word])):
                continue
            named = build.expr(NAME, build.name(word.decode("utf-8", "replace")))
            site(REFERENCE_SITE, build.expr(INSTANCE, named), at(start), node)

    # -- expressions ----------------------------------------------------------------------------------------------

    def value(self, node: Node | None) -> int:
        """The expression of a node, 0 where nothing can be said of it."""
        if node is None:
            return 0
        key = node.id
        found = self.known.get(key)
        if found is None:
            how = self.VALUES.get(node.type)
            self.depth += 1
            found = self.known[key] = how(self, node) if how is not None and self.depth <= DEEPEST else 0
            self.depth -= 1
        return found

    def kind_of(self, node: Node | None) -> int:
        """The expression of a type."""
        raise NotImplementedError

    def instance(self, node: Node | None) -> int:
        """An INSTANCE of the type that ``node`` names."""
        kind = self.kind_of(node)
        return self.build.expr(INSTANCE, kind) if kind else 0

    def array(self, kind: int) -> int:
        return self.generic(self.build.named(ARRAY), (kind,))

    def generic(self, base: int, args: Iterable[int]) -> int:
        """The type ``base`` with type arguments."""
        build = self.build
        given = list(args)
        return build.expr(INDEX, base, build.cons(given)) if base and given else base

    def literal(self, name: str, args: int = 0) -> int:
        return self.build.expr(LITERAL, self.build.name(name), args)

    def call(self, callee: int, given: list[Node]) -> int:
        """A call with the values of its arguments."""
        if not callee:
            return 0
        build = self.build
        expr = build.expr(CALL, callee, len(given))
        if given:
            values = [self.value(one) for one in given]
            if any(values):
                expr = build.expr(GIVEN, expr, build.cons(values))
        return expr

    def passed(self, target: int, argument: int, number: int) -> int:
        """What a closure is given as parameter ``number``."""
        if not target or number > 15:
            return 0
        return self.build.expr(PASSED, target, min(argument, 255) << 4 | number)

    def returned(self) -> None:
        """What closures return by a statement."""
        build = self.build
        for node in self.nodes.get("return", ()):
            scope = self.inside.at(node.start_byte)
            if scope in self.closures:
                build.bind(scope, RETURNED, VALUE, self.value(node))


def sole(name: str) -> Callable[[Typed, Node], int]:
    """How a literal of that type is read."""

    def made(on: Typed, node: Node) -> int:
        del node
        return on.literal(name)

    return made


def inner(on: Typed, node: Node) -> int:
    """How what only encloses another expression is read."""
    return on.value(first(node))
