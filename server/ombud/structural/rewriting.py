"""Rewriting of one file: what the ops match, filled into their templates, as edits of the text and as the new text.

All ops read the original text. A match inside another's capture is rewritten with it, innermost first; any other
overlap is left out and counted. Nothing is replaced where text would vanish that the pattern does not know (a comment,
a modifier), and a file that would have a new syntax error is refused. Runs in the search workers; everything is in
UTF-8 bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from ombud.errors import UserError
from ombud.structural import grouping
from ombud.structural.filling import Filling, TooLarge
from ombud.structural.match import Match, Span
from ombud.structural.overlap import Chosen, choose, nest
from ombud.structural.query import Query
from ombud.structural.template import Template, check, parse
from ombud.structural.variables import variables

if TYPE_CHECKING:
    from tree_sitter import Tree

    from ombud.structural.removal import Edit

MOST_LOST = 200
"""Characters of a text that would vanish, as it is shown."""


class Op(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, rename="camel"):
    """One rewriting: what to look for, and what comes in its place; ``""`` deletes it.

    ``add_imports`` are lines in the file's language, added once to each file in which this op replaced something.
    """

    query: Query
    rewrite: str
    add_imports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Planned:
    """An op made ready for one language. ``loose`` says that its pattern has anonymous or repeated metavariables."""

    op: Op
    template: Template
    loose: bool

    @property
    def same(self) -> bool:
        """Whether pattern and rewrite are the same, so that every match stays as it is."""
        query = self.op.query
        return not query.any and query.pattern is not None and query.pattern.strip() == self.op.rewrite.strip()

    @property
    def closed(self) -> bool:
        """Whether the pattern itself ends with a separator, which is replaced with the rest then."""
        patterns = [*([self.op.query.pattern] if self.op.query.pattern else []), *self.op.query.any]
        return all(pattern.rstrip().endswith((";", ",")) for pattern in patterns)

    @property
    def known(self) -> bool:
        """Whether there is a pattern, and not a kind alone."""
        return bool(self.op.query.pattern or self.op.query.any)


@dataclass(frozen=True, slots=True)
class Plan:
    """All ops of a staging, for one language."""

    language: str
    ops: tuple[Planned, ...]


@dataclass(slots=True)
class Rewritten:
    """One file rewritten. ``edits`` are start, end and new text, in order, and lead from the source to ``new``.

    ``matches`` are those that are rewritten, ``replacements`` says how many of them change something; ``overlapping``
    were left out. ``lost`` are one-based lines and texts that would have vanished: their matches stay as they are.
    ``refused`` says why nothing is changed at all; then ``new`` is the source.
    """

    new: bytes
    edits: list[Edit] = field(default_factory=list)
    matches: list[Match] = field(default_factory=list)
    replacements: int = 0
    overlapping: int = 0
    refused: str | None = None
    lost: list[tuple[int, str]] = field(default_factory=list)


def compile_ops(ops: Sequence[Op], language: str) -> Plan:
    """Ops for one language. Raises UserError for a metavariable in a rewrite that its pattern does not bind, and for a
    pattern that is loose: what it passes over would vanish.
    """
    if not ops:
        raise UserError("There is nothing to rewrite: no op was given.")
    planned = []
    for op in ops:
        query = op.query
        if query.strictness == "relaxed":
            raise UserError('A rewrite needs strictness "exact": what a relaxed search passes over would vanish.')
        template = parse(op.rewrite, language)
        patterns = [*([query.pattern] if query.pattern else []), *query.any]
        around = [
            one for many in (query.inside, query.has) for one in ([many] if isinstance(many, str) else many or [])
        ]
        outer = {one.name: one.many for text in around for one in variables(text, language) if one.name}
        loose = False
        for pattern in patterns or [""]:
            found = variables(pattern, language)
            names = [one.name for one in found]
            loose = loose or None in names or len(set(names)) < len(names)
            check(template, outer | {one.name: one.many for one in found if one.name}, pattern)
        planned.append(Planned(op, template, loose))
    return Plan(language, tuple(planned))


def rewrite(
    source: bytes,
    tree: Tree,
    plan: Plan,
    rungs: Sequence[int | None],
    only: Sequence[Collection[Span] | None] | None = None,
) -> Rewritten:
    """``source`` with everything replaced that the ops match.

    ``rungs`` has for each op which reading of its pattern is meant, None where it has none in this language. ``only``
    has for each op the matches that count, None for all. Raises Unparseable and
    `ombud.structural.matcher.Exhausted` as a search does.
    """
    from ombud.structural.compiled import compile_query

    found: list[list[Match]] = []
    for planned, rung, spans in zip(plan.ops, rungs, only or [None] * len(rungs), strict=True):
        if rung is None:
            found.append([])
            continue
        reading = compile_query(planned.op.query, plan.language).rungs[rung]
        matches = reading.search(source, tree)[0] if reading.may_match(source) else []
        found.append([one for one in matches if spans is None or (one.start, one.end) in spans])
    return replace(source, tree, plan, found)


def replace(source: bytes, tree: Tree, plan: Plan, found: Sequence[Sequence[Match]]) -> Rewritten:
    """``source`` with these matches of each op replaced."""
    filling = Filling(source, tree, plan.language)
    done = Rewritten(source)
    ready: list[list[Match]] = []
    for planned, matches in zip(plan.ops, found, strict=True):
        kept = []
        for match in matches:
            lost = [] if planned.same else filling.lay_out(match, planned)
            if lost:
                done.lost += [(source.count(b"\n", 0, a) + 1, _text(source[a:b])) for a, b in lost]
            else:
                kept.append(match)
        ready.append(kept)
    done.lost = sorted(set(done.lost))
    chosen, done.overlapping = choose(ready)
    done.matches = [one.match for one in chosen]
    outermost = nest(chosen)
    try:
        filling.fill(chosen, plan)
    except TooLarge:
        done.refused = "The result would be many times as large as the file: nested matches double what they hold."
        return done
    marked = filling.edits(outermost)
    if not marked:
        return done
    _finish(done, source, tree, plan, filling, marked)
    if done.refused is None:
        done.replacements = _count(outermost, filling, plan)
        if done.replacements:
            _import(done, source, tree, plan, chosen)
    else:
        done.new, done.edits = source, []
    return done


def _text(text: bytes) -> str:
    shown = " ".join(text.decode("utf-8", "replace").split())
    return shown if len(shown) <= MOST_LOST else shown[: MOST_LOST - 1] + "…"


def _finish(done: Rewritten, source: bytes, tree: Tree, plan: Plan, filling: Filling, marked: list[Edit]) -> None:
    """The edits and the new text, with the parentheses and braces it needs; or why it is refused."""
    from ombud.structural.reparsed import broken
    from ombud.syntax.grammars import GRAMMARS, parser

    reads = parser(GRAMMARS[plan.language])
    done.edits = _changed(source, marked)
    done.new = apply(source, done.edits)
    now = reads.parse(done.new)
    wrapped = filling.to_wrap(now.root_node, done.new, marked)
    if wrapped:
        edits = _changed(source, marked, wrapped, filling.braces)
        new = apply(source, edits)
        after = reads.parse(new)
        if broken(plan.language, (source, tree), (new, after), edits) is None:
            done.edits, done.new = edits, new
            return
    fault = broken(plan.language, (source, tree), (done.new, now), done.edits)
    if fault is not None:
        line, what = fault
        done.refused = (
            f"The result would not parse: line {line} of it{f' ({what})' if what else ' has a syntax error'}."
        )
    elif line := filling.torn(done.edits):
        done.refused = f"The rewrite puts several lines where a single one has to stand, at line {line}."


def _changed(
    source: bytes, marked: list[Edit], wrapped: frozenset[int] = frozenset(), braces: frozenset[int] = frozenset()
) -> list[Edit]:
    """The edits without marks, those that change nothing left out."""
    edits = ((start, end, grouping.unmarked(text, wrapped, braces)) for start, end, text in marked)
    return [edit for edit in edits if source[edit[0] : edit[1]] != edit[2]]


def apply(source: bytes, edits: Sequence[Edit]) -> bytes:
    """The source with edits, which are in order and do not overlap."""
    parts = []
    at = 0
    for start, end, text in edits:
        parts += [source[at:start], text]
        at = end
    return b"".join([*parts, source[at:]])


def _count(outermost: list[Chosen], filling: Filling, plan: Plan) -> int:
    """How many matches are replaced: those that change something, and whose place is in the result at all."""
    count = 0
    rest = list(outermost)
    while rest:
        one = rest.pop()
        if not plan.ops[one.op].same and filling.changes(one):
            count += 1
        rest += [inner for inner in one.inner if plan.ops[one.op].same or filling.shows(one, inner)]
    return count


def _import(done: Rewritten, source: bytes, tree: Tree, plan: Plan, chosen: list[Chosen]) -> None:
    ops = sorted({one.op for one in chosen})
    lines = list(dict.fromkeys(line for op in ops for line in plan.ops[op].op.add_imports))
    if not lines:
        return
    from ombud.structural.imports import add_imports
    from ombud.structural.reparsed import broken
    from ombud.syntax.grammars import GRAMMARS, parser

    reads = parser(GRAMMARS[plan.language])
    at, text = add_imports(done.new, reads.parse(done.new), plan.language, lines)
    if not text:
        return
    edits = _with(done.edits, at, text)
    new = apply(source, edits)
    if fault := broken(plan.language, (source, tree), (new, reads.parse(new)), edits):
        done.refused = f"The result with the imports would not parse: line {fault[0]} of it has a syntax error."
        done.new, done.edits, done.replacements = source, [], 0
        return
    done.new, done.edits = new, edits


def _with(edits: list[Edit], at: int, text: bytes) -> list[Edit]:
    """Edits that also put ``text`` at an offset of what they lead to."""
    found: list[Edit] = []
    shift = 0
    placed = False
    for start, end, new in edits:
        if not placed and at < start + shift:
            found.append((at - shift, at - shift, text))
            placed = True
        if not placed and at <= start + shift + len(new):
            cut = at - start - shift
            found.append((start, end, new[:cut] + text + new[cut:]))
            placed = True
        else:
            found.append((start, end, new))
        shift += len(new) - (end - start)
    return found if placed else [*found, (at - shift, at - shift, text)]
