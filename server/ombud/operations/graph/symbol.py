"""What one symbol is: kind, signature, docstring, what it is defined in, where it is, and how often it is used.

It is named by id, by qualified or bare name, or by a name on a line of a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ombud.graph.facts import CALL_SITE, IMPORT_SITE, INHERIT_SITE, REFERENCE_SITE
from ombud.guard.redact import clean, redact
from ombud.operations.graph import dress
from ombud.operations.graph.ground import consult
from ombud.operations.graph.named import meant
from ombud.operations.graph.shapes import Answer, Pointing, SymbolShape
from ombud.operations.graph.texts import first_lines
from ombud.operations.shapes import Shape
from ombud.text.ranges import Range

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ombud.graph.store import Reader
    from ombud.operations.session import Session

COUNTED = 10_000
"""Edges that are counted of one kind."""


class Params(Pointing, frozen=True, kw_only=True):
    """Only what says which symbol is meant."""


class Counts(Shape, kw_only=True):
    """Of symbols that lead to it, or that it leads to."""

    callers: int
    callees: int
    references: int
    importers: int
    inheritors: int
    members: int
    """Symbols that are defined in it."""


class Result(Answer, kw_only=True):
    id: str
    kind: str
    name: str
    qualified_name: str
    path: str
    line: int
    end_line: int
    range: Range
    signature: str
    exported: bool
    container: str | None
    docstring: str
    text: str
    """The first source line of its definition."""
    counts: Counts
    also: list[SymbolShape]
    """Further definitions of the same name in the same file, such as overloads."""


async def run(session: Session, params: Params) -> Result:
    """Raises `UserError` for a name that several symbols have, with ``candidates``, and for a place that is not there;
    `Refused` (``not_found``, with the nearest names; the fence's kinds)."""
    ground = await consult(session, params)
    found = await meant(session, ground, params)
    root, main = found.root, found.main
    counts, doc, unresolved = await root.ask(lambda reader: _counted(reader, found.ids))
    (text,) = await first_lines(session, [(root.shown(main.path), main.at[0])])
    values: dict[str, Any] = {**dress.fields(root, main), **ground.said(unresolved)}
    return Result(
        **values,
        docstring=clean(redact(doc), dress.DOC_LIMIT),
        text=text,
        counts=counts,
        also=[dress.symbol(root, one) for one in found.definitions[1:]],
        note=ground.note(ground.about(main.language)),
    )


def _counted(reader: Reader, ids: Sequence[int]) -> tuple[Counts, str, int]:
    def leading(kind: int) -> int:
        return len({edge.src for edge in reader.callers(ids, limit=COUNTED, kinds=(kind,)).edges})

    with reader.reading():
        to = reader.callers(ids, limit=COUNTED, kinds=(CALL_SITE,))
        away = reader.callees(ids, limit=COUNTED, kinds=(CALL_SITE,))
        file = reader.file_of(reader.symbols(ids)[ids[0]].file)
        within = [one for one in reader.symbols_in(file.id) if one.container in ids] if file is not None else []
        counts = Counts(
            callers=len({edge.src for edge in to.edges}),
            callees=len({edge.dst for edge in away.edges}),
            references=leading(REFERENCE_SITE),
            importers=leading(IMPORT_SITE),
            inheritors=leading(INHERIT_SITE),
            members=len(within),
        )
        return counts, next(filter(None, map(reader.doc, ids)), ""), to.inferred + to.ambiguous
