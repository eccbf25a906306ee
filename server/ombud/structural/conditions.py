"""The conditions of a query on what its metavariables captured, as checks made while a pattern binds them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from ombud.errors import UserError
from ombud.structural.binding import Bound, Check, State
from ombud.structural.query import Condition
from ombud.structural.view import View, leaves
from ombud.syntax import grammars

if TYPE_CHECKING:
    from typing import TypeAlias

    from ombud.structural.view import Seen

REGEX = 2_000
"""The most characters of a regular expression."""
SEARCHED = 20_000
"""The most bytes of a capture that a regular expression is searched in."""

if TYPE_CHECKING:
    Fits: TypeAlias = Callable[[Seen, State], bool]
    Nested: TypeAlias = Callable[[str], Fits]


def check(condition: Condition, name: str, view: View, nested: Nested) -> Check:
    """One check of all that a condition asks, ``type`` apart. ``nested`` compiles a pattern to a test of one node.

    Raises UserError for a regular expression that does not compile and for a kind that the grammar does not have.
    """
    checks: list[Check] = []
    if condition.regex is not None:
        checks.append(_regex(condition.regex, name))
    if condition.equals is not None:
        checks.append(_equal([condition.equals], view))
    if condition.in_ is not None:
        checks.append(_equal(condition.in_, view))
    if condition.kind is not None:
        checks.append(_kind(kind_ids([condition.kind] if isinstance(condition.kind, str) else condition.kind, view)))
    if condition.pattern is not None:
        checks.append(_each(nested(condition.pattern)))
    if condition.not_ is not None:
        denied = Condition(pattern=condition.not_) if isinstance(condition.not_, str) else condition.not_
        checks.append(_denied(check(denied, name, view, nested)))
    if len(checks) == 1:
        return checks[0]
    return lambda bound, state: all(one(bound, state) for one in checks)


def _regex(text: str, name: str) -> Check:
    if len(text) > REGEX:
        raise UserError(f"The regex of ${name} is longer than {REGEX:,} characters.")
    try:
        pattern = re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise UserError(f"The regex of ${name} is not one: {error}. Mend {text!r} and search again.") from None

    def holds(bound: Bound, state: State) -> bool:
        captured = state.source[bound.start : min(bound.end, bound.start + SEARCHED)].decode("utf-8", "replace")
        return pattern.search(captured) is not None

    return holds


def _equal(texts: Sequence[str], view: View) -> Check:
    """One of the texts has the same leaves. A text that does not parse alone is compared without its white space."""
    plain = frozenset(text.encode() for text in texts)
    split = [_leaves_of(text, view) for text in texts]

    def holds(bound: Bound, state: State) -> bool:
        captured = state.source[bound.start : bound.end]
        if captured in plain:
            return True
        state.spend(1 + len(captured) // 4)
        found = [leaf for node in bound.nodes for leaf in leaves(state.view, state.source, node)]
        found = [leaf for leaf in found if leaf != b","]
        return bool(found) and found in split

    return holds


def _leaves_of(text: str, view: View) -> list[bytes]:
    source = (("<?php " if view.grammar == "php" else "") + text).encode()
    tree = grammars.parser(view.grammar).parse(source)
    found = leaves(view, source, tree.root_node)
    return [leaf for leaf in (found[1:] if view.grammar == "php" else found) if leaf != b","]


def kind_ids(kinds: Sequence[str], view: View) -> frozenset[int]:
    """The ids of node kinds, those below a supertype included. Raises UserError for a kind that the grammar does not
    have.
    """
    language = view.language
    names = {language.node_kind_for_id(n) or "": n for n in view.named}
    found: set[int] = set()
    for kind in kinds:
        supers = [n for n in language.supertypes if language.node_kind_for_id(n) == kind]
        todo = supers[:]
        while todo:
            for sub in language.subtypes(todo.pop()):
                if sub not in found:
                    found.add(sub)
                    todo += [sub] if sub in language.supertypes else []
        here = {n for n in view.named if language.node_kind_for_id(n) == kind}
        if not here and not supers:
            near = get_close_matches(kind, [name for name in names if not name.startswith("_")], 3)
            hint = f" Near it: {', '.join(near)}." if near else ""
            raise UserError(f"The grammar of {view.grammar} has no node kind {kind!r}.{hint}")
        found |= here
    return frozenset(found)


def same_place(node: Seen, view: View) -> list[Seen]:
    """The node and those below it that are the same text, as a statement and its expression are."""
    found = [node]
    while True:
        kids = view.kids(found[-1])
        if len(kids) != 1 or (kids[0].start_byte, kids[0].end_byte) != (node.start_byte, node.end_byte):
            return found
        found.append(kids[0])


def _kind(ids: frozenset[int]) -> Check:
    return _each(lambda node, state: any(one.kind_id in ids for one in same_place(node, state.view)))


def _each(fits: Fits) -> Check:
    """What is asked of every node captured; nothing captured is no such node."""
    return lambda bound, state: bool(bound.nodes) and all(fits(node, state) for node in bound.nodes)


def _denied(inner: Check) -> Check:
    return lambda bound, state: not inner(bound, state)
