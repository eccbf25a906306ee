"""What metavariables are bound to during one attempt to match, and how a ``$$$`` takes siblings with their
separators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from ombud.structural.match import Span
from ombud.structural.pattern import Many
from ombud.structural.view import View, leaves

if TYPE_CHECKING:
    from ombud.structural.view import Seen

STEPS = 1_000_000
"""The most choices and comparisons of one pattern in one file."""


class Exhausted(Exception):
    """A pattern has too many possibilities in this file: the search of it was given up, and whoever asked must be
    told.
    """


class Bound(msgspec.Struct):
    """What a metavariable stands for, with its nodes: one for ``$X``, any number for ``$$$X``."""

    start: int
    end: int
    nodes: list[Seen]
    items: tuple[Span, ...] | None = None


Check: TypeAlias = Callable[[Bound, "State"], bool]


class State(msgspec.Struct):
    """One attempt to match: the source, what is bound so far, the leaves matched, and the steps left for this file."""

    view: View
    source: bytes
    steps: list[int]
    checks: Mapping[str, Check] = msgspec.field(default_factory=dict)
    bound: dict[str, Bound] = msgspec.field(default_factory=dict)
    fixed: list[Span] = msgspec.field(default_factory=list)

    def spend(self, steps: int = 1) -> None:
        """Raises Exhausted where no steps are left."""
        self.steps[0] -= steps
        if self.steps[0] < 0:
            raise Exhausted

    def bind(self, name: str | None, bound: Bound) -> bool:
        """Bind a metavariable; False where it is bound to other code, or its condition does not hold."""
        if name is None:
            return True
        known = self.bound.get(name)
        if known is not None:
            return self.same(known, bound)
        check = self.checks.get(name)
        if check is not None and not check(bound, self):
            return False
        self.bound[name] = bound
        return True

    def same(self, one: Bound, other: Bound) -> bool:
        """Whether two captures are equal code: white space, comments and trailing commas do not count."""
        source = self.source
        self.spend(1 + (one.end - one.start) // 64)
        if source[one.start : one.end] == source[other.start : other.end]:
            return True
        return self._leaves(one) == self._leaves(other)

    def _leaves(self, bound: Bound) -> list[bytes]:
        self.spend(1 + (bound.end - bound.start) // 4)
        if not bound.nodes:
            text = self.source[bound.start : bound.end].strip()
            return [text] if text else []
        found: list[bytes] = []
        for node in bound.nodes:
            found += leaves(self.view, self.source, node)
        return found


def _place(kids: list[Seen], index: int, parent: Seen | None) -> int:
    """Where an empty ``$$$`` stands: behind what precedes it."""
    if index > 0:
        return kids[index - 1].end_byte
    if index < len(kids):
        return kids[index].start_byte
    return parent.start_byte if parent is not None else 0


def bind_absent(manys: Sequence[Many], kids: list[Seen], index: int, state: State) -> bool:
    """Bind the ``$$$`` of a node that is not there to nothing."""
    place = _place(kids, index, None)
    return all(state.bind(many.name, Bound(place, place, [], ())) for many in manys)


def bind_many(view: View, many: Many, kids: list[Seen], first: int, end: int, parent: Seen, state: State) -> bool:
    """Bind a ``$$$`` to ``kids[first:end]``, without the separators at both ends. False where that is no list."""
    if many.whole:
        start = kids[first - 1].end_byte if first else parent.start_byte
        stop = kids[end].start_byte if end < len(kids) else parent.end_byte
        return state.bind(many.name, Bound(start, stop, kids[first:end]))
    separators = view.separators
    low, high = first, end
    while low < high and kids[low].kind_id in separators:
        low += 1
    while high > low and kids[high - 1].kind_id in separators:
        high -= 1
    if low == high:
        if many.name is None:
            return True
        place = _place(kids, first, parent)
        return state.bind(many.name, Bound(place, place, [], ()))
    region = kids[low:high]
    head = region[0]
    if not head.is_named and head.kind_id not in view.nouns and parent.kind_id not in view.token_trees:
        following = region[1] if len(region) > 1 else None
        if following is not None and following.kind_id not in separators:
            return False
        if following is None and (low > first or not _dotted(state.source[head.start_byte : head.end_byte])):
            return False
    if parent.kind_id in view.branching and any(kid.type in ("else_clause", "elif_clause") for kid in region):
        return False
    if many.name is None:
        return True
    nodes = [kid for kid in region if kid.kind_id not in separators]
    return state.bind(many.name, Bound(region[0].start_byte, region[-1].end_byte, nodes, _items(view, nodes)))


def _dotted(text: bytes) -> bool:
    """A parameter that is a bare token: the dots of C, the star of Python."""
    return text in (b"...", b"*", b"/", b"..")


def _items(view: View, nodes: list[Seen]) -> tuple[Span, ...]:
    if len(nodes) == 1 and nodes[0].is_named and nodes[0].type.endswith("_list"):
        inner = view.kids(nodes[0])
        if inner and inner[0].is_named:
            return tuple((n.start_byte, n.end_byte) for n in inner if n.kind_id not in view.separators)
    return tuple((n.start_byte, n.end_byte) for n in nodes)
