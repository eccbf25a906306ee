"""Does a pattern match at a node? Patterns are compiled to closures over nodes, which backtrack where a ``$$$``
leaves a choice.

A part without a choice below it is a plain test; one with a choice takes what comes after it as a continuation. So
the depth of Python's stack is bounded by the pattern's size, never by the source's, and the number of steps by
``STEPS``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from ombud.structural.binding import Bound, State, bind_absent, bind_many
from ombud.structural.pattern import Inner, Many, One, Part, Quoted, Token, walk
from ombud.structural.relaxed import optional_apart
from ombud.structural.view import View

if TYPE_CHECKING:
    from ombud.structural.view import Seen

QUOTES = frozenset({b'"', b"'", b"`", b'"""', b"'''"})


Then: TypeAlias = Callable[[], bool]
Test: TypeAlias = "Callable[[Seen, State], bool]"
Choose: TypeAlias = "Callable[[Seen, State, Then], bool]"


@dataclass(slots=True)
class Element:
    """One compiled part: ``test`` where there is no choice below it, else ``choose``; ``kinds`` where only nodes of
    these can match.
    """

    part: Part
    kinds: frozenset[int] | None
    test: Test | None = None
    choose: Choose | None = None
    absent: tuple[Many, ...] | None = None

    def near(self, node: Seen, state: State) -> bool:
        """Whether the element may match at a node, told quickly."""
        part = self.part
        if isinstance(part, Token) and part.named and part.text[:1].isalnum():
            return state.source[node.start_byte : node.end_byte] == part.text
        return True

    def run(self, node: Seen, state: State, then: Then) -> bool:
        """Match at a node and go on."""
        if self.test is not None:
            return self.test(node, state) and then()
        assert self.choose is not None
        return self.choose(node, state, then)


class Compiler:
    """Makes closures of parts, for one grammar and one strictness.

    ``alone`` tells that what is bound in one place is never compared in another, so that a failure need not be tried
    twice.
    """

    def __init__(self, view: View, *, relaxed: bool, alone: bool) -> None:
        self._view, self._relaxed, self._alone = view, relaxed, alone

    def element(self, part: Part) -> Element:
        """The closure of one part; a ``$$$`` has none of its own."""
        match part:
            case Token():
                return Element(part, None if part.named else self._bare(part), self._token(part))
            case One():
                return Element(part, None, _ended(part) if part.ended else _one(part))
            case Quoted():
                return Element(part, None, _quoted(part))
            case Many():
                return Element(part, None)
            case Inner():
                return self._inner(part)

    def row(self, parts: Sequence[Part], *, open_end: bool = False, strict: bool = False) -> Row:
        """The closure of siblings; ``open_end`` where others may follow, ``strict`` where every keyword counts."""
        return Row(self, [self.element(part) for part in parts], open_end, strict)

    @property
    def alone(self) -> bool:
        """Whether no name is bound in two places."""
        return self._alone

    @property
    def view(self) -> View:
        """The view of the grammar."""
        return self._view

    def _token(self, part: Token) -> Test:
        kind, text = part.kind_id, part.text
        if not part.named:
            quotes = self._bare(part)

            def bare(node: Seen, state: State) -> bool:
                if node.kind_id not in quotes:
                    return False
                state.fixed.append((node.start_byte, node.end_byte))
                return True

            return bare
        keyword, whole = part.kind.startswith("keyword_"), part.whole

        def named(node: Seen, state: State) -> bool:
            start, end = node.start_byte, node.end_byte
            if keyword:
                if node.kind_id != kind:
                    return False
            elif state.source[start:end] != text or (node.child_count and not whole) or not node.is_named:
                return False
            state.fixed.append((start, end))
            return True

        return named

    def _bare(self, part: Token) -> frozenset[int]:
        return self._quotes() if self._relaxed and part.text in QUOTES else frozenset({part.kind_id})

    def _quotes(self) -> frozenset[int]:
        language = self._view.language
        every = range(language.node_kind_count)
        return frozenset(n for n in every if (language.node_kind_for_id(n) or "").encode() in QUOTES)

    def _inner(self, part: Inner) -> Element:
        kinds, kids = self._view.alike(part.kind_id), self._view.kids
        if self._relaxed:
            kids = partial(optional_apart, self._view, part)
        row = self.row(part.children, strict="import" in part.kind or "using" in part.kind)
        absent = tuple(c for c in part.children if isinstance(c, Many)) if part.absent else None
        if not row.choice:
            matches = row.matches

            def test(node: Seen, state: State) -> bool:
                return node.kind_id in kinds and matches(kids(node), 0, node, state) >= 0

            return Element(part, kinds, test, absent=absent)

        def choose(node: Seen, state: State, then: Then) -> bool:
            return node.kind_id in kinds and row.chooses(kids(node), 0, node, state, lambda _: then())

        return Element(part, kinds, choose=choose, absent=absent)


class Row:
    """Siblings of a pattern against siblings of the source."""

    def __init__(self, compiler: Compiler, elements: list[Element], open_end: bool, strict: bool) -> None:
        self._elements, self._open = elements, open_end
        self._skipped = frozenset() if strict else compiler.view.modifiers
        self._alone = compiler.alone
        self._view = compiler.view
        manys = [n for n, element in enumerate(elements) if isinstance(element.part, Many)]
        self.choice = len(manys) > 1 or any(e.choose is not None for e in elements) or (open_end and bool(manys))
        self._many = manys[0] if manys else None
        self._prefix = elements if self._many is None else elements[: self._many]
        self._suffix = [] if self._many is None else elements[: self._many : -1]
        # Of elements without a choice: what is tested in turn.
        self._tests = [(element.test, element.absent) for element in self._prefix if element.test is not None]

    def matches(self, kids: list[Seen], first: int, parent: Seen, state: State) -> int:
        """The index behind the last sibling matched, from ``first``; -1 where there is no match. Only without a
        choice.
        """
        index = self._forward(kids, first, state)
        if index < 0:
            return -1
        if self._many is None:
            if self._open:
                return index
            while index < len(kids) and kids[index].kind_id in self._skipped:
                index += 1
            return index if index == len(kids) else -1
        end = self._backward(kids, index, state)
        many = self._elements[self._many].part
        assert isinstance(many, Many)
        if end < 0 or not bind_many(self._view, many, kids, index, end, parent, state):
            return -1
        return len(kids)

    def _forward(self, kids: list[Seen], index: int, state: State) -> int:
        size = len(kids)
        for test, absent in self._tests:
            while index < size:
                kid = kids[index]
                if test(kid, state):
                    index += 1
                    break
                if kid.kind_id not in self._skipped:
                    if absent is None or not bind_absent(absent, kids, index, state):
                        return -1
                    break
                index += 1
            else:
                if absent is None or not bind_absent(absent, kids, index, state):
                    return -1
        return index

    def _backward(self, kids: list[Seen], low: int, state: State) -> int:
        index = len(kids)
        for element in self._suffix:
            test = element.test
            assert test is not None
            while True:
                if index > low:
                    kid = kids[index - 1]
                    if test(kid, state):
                        index -= 1
                        break
                    if kid.kind_id in self._skipped:
                        index -= 1
                        continue
                if element.absent is None or not bind_absent(element.absent, kids, index, state):
                    return -1
                break
        return index

    def chooses(self, kids: list[Seen], first: int, parent: Seen, state: State, then: Callable[[int], bool]) -> bool:
        """As ``matches``, where there is a choice: ``then`` is called with the index behind the match until it
        agrees.
        """
        return _Choice(self, kids, parent, state, then).step(0, first)

    @property
    def elements(self) -> list[Element]:
        return self._elements

    @property
    def view(self) -> View:
        return self._view

    @property
    def open_end(self) -> bool:
        return self._open

    def skips(self, kid: Seen) -> bool:
        """Whether a node of the source may be passed over."""
        return kid.kind_id in self._skipped

    @property
    def remembers(self) -> bool:
        """Whether a failure at a place fails whatever was bound before it."""
        return self._alone


class _Choice:
    """The choices of one row at one node; ``step`` goes from element to element."""

    __slots__ = ("_dead", "_failed", "_kids", "_parent", "_row", "_state", "_then")

    def __init__(self, row: Row, kids: list[Seen], parent: Seen, state: State, then: Callable[[int], bool]) -> None:
        self._row, self._kids, self._parent, self._state, self._then = row, kids, parent, state, then
        self._failed: set[tuple[int, int]] = set()
        self._dead: dict[int, int] = {}

    def step(self, number: int, index: int) -> bool:
        if not self._row.remembers:
            return self._step(number, index)
        many = number < len(self._row.elements) and isinstance(self._row.elements[number].part, Many)
        if (number, index) in self._failed or (many and index >= self._dead.get(number, index + 1)):
            return False
        done = self._step(number, index)
        if not done and many:
            self._dead[number] = index  # Further on, a ``$$$`` has a part of what it had here: it fails as well.
        elif not done:
            self._failed.add((number, index))
        return done

    def _step(self, number: int, index: int) -> bool:
        elements, kids, state, skips = self._row.elements, self._kids, self._state, self._row.skips
        first = number
        while number < len(elements):
            element = elements[number]
            if isinstance(element.part, Many):
                return self._many(element.part, number, index) if number == first else self.step(number, index)
            state.spend()
            if index < len(kids):
                kid = kids[index]
                if element.choose is not None:
                    after, place = number + 1, index + 1
                    if self._undone(lambda: element.run(kid, state, lambda: self.step(after, place))):  # noqa: B023
                        return True
                elif element.test is not None and element.test(kid, state):
                    number, index = number + 1, index + 1
                    continue
                if skips(kid):
                    index += 1
                    continue
            if element.absent is None or not bind_absent(element.absent, kids, index, state):
                return False
            number += 1
        if not self._row.open_end:
            while index < len(kids) and skips(kids[index]):
                index += 1
            if index < len(kids):
                return False
        return self._then(index)

    def _many(self, many: Many, number: int, index: int) -> bool:
        """Every end that the ``$$$`` can have: the shortest first, so that what follows it is the nearest."""
        kids, state = self._kids, self._state
        last = number + 1 == len(self._row.elements)
        following = None if last else self._row.elements[number + 1]
        low = index
        if last:
            low = len(kids) if not self._row.open_end else self._tail(len(kids))
        for end in range(low, len(kids) + 1):
            state.spend()
            if end != low and ((last and self._row.open_end) or (following is not None and self._idle(following))):
                break
            if following is not None and following.kinds is not None and following.absent is None:
                if end == len(kids):
                    break
                ahead = kids[end]
                if ahead.kind_id not in following.kinds and not self._row.skips(ahead):
                    continue

            if (
                following is not None
                and end < len(kids)
                and following.absent is None
                and not following.near(kids[end], state)
            ) and not self._row.skips(kids[end]):
                continue
            if self._undone(partial(self._ending, many, number, index, end)):
                return True
        return False

    def _idle(self, following: Element) -> bool:
        """Whether the next element is a ``$$$`` too, which may have it all."""
        return self._row.remembers and isinstance(following.part, Many)

    def _ending(self, many: Many, number: int, index: int, end: int) -> bool:
        """The ``$$$`` ends there. What is compared nowhere is bound last, when the rest is known to match."""
        view, kids, state, parent = self._row.view, self._kids, self._state, self._parent
        if self._row.remembers and many.name not in state.checks:
            return self.step(number + 1, end) and bind_many(view, many, kids, index, end, parent, state)
        state.spend((end - index) // 16)
        return bind_many(view, many, kids, index, end, parent, state) and self.step(number + 1, end)

    def _tail(self, end: int) -> int:
        """Where the siblings of an open end stop: before a closing token."""
        kids, view = self._kids, self._row.view
        while end > 0 and not kids[end - 1].is_named and kids[end - 1].kind_id in view.closers | view.separators:
            end -= 1
        return end

    def _undone(self, go: Then) -> bool:
        """Try, and forget what was bound where it fails."""
        state = self._state
        saved, size = dict(state.bound), len(state.fixed)
        if go():
            return True
        state.bound = saved
        del state.fixed[size:]
        return False


def _one(part: One) -> Test:
    name, slot, only = part.name, part.slot, part.only

    def test(node: Seen, state: State) -> bool:
        if node.is_named:
            if node.is_error or (only is not None and node.kind_id != only):
                return False
        elif node.kind_id not in state.view.nouns:
            return False
        if name is None:
            return True
        end = node.end_byte
        if slot and state.source[end - 1 : end] == b";":
            end -= 1
        bound = Bound(node.start_byte, end, [node])
        if state.checks or name in state.bound:
            return state.bind(name, bound)
        state.bound[name] = bound
        return True

    return test


def _ended(part: One) -> Test:
    """``$X;``: a statement that ends in a semicolon, or an expression as a statement; the capture is what stands
    before.
    """

    def test(node: Seen, state: State) -> bool:
        if not node.is_named or node.is_error or not node.children:
            return False
        last = node.children[-1]
        closed = last.kind_id in state.view.semicolons
        if not closed and node.type != "expression_statement":
            return False
        kids = state.view.kids(node)
        end = kids[-1].end_byte if kids else node.end_byte
        if closed:
            state.fixed.append((last.start_byte, last.end_byte))
        only = kids if len(kids) == 1 else [node]
        return state.bind(part.name, Bound(node.start_byte, end, only))

    return test


def _quoted(part: Quoted) -> Test:
    before, after = part.before, part.after

    def test(node: Seen, state: State) -> bool:
        start, end = node.start_byte, node.end_byte
        text = state.source[start:end]
        if len(text) < len(before) + len(after) or not text.startswith(before) or not text.endswith(after):
            return False
        inner = (start + len(before), end - len(after))
        state.fixed += [(start, inner[0]), (inner[1], end)]
        return state.bind(part.name, Bound(*inner, []))

    return test


def repeats(roots: Sequence[Part]) -> bool:
    """Whether a name stands in more than one place of the pattern."""
    names = [p.name for p, _ in walk(roots) if isinstance(p, One | Many | Quoted) and p.name]
    return len(names) != len(set(names))
