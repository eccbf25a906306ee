"""What a file imports and exports, who imports it, and the files that depend on it, directly and over others.

A file depends on another by any edge into it: an import, a call, inheritance, a reference. Imports of libraries are
listed without a path. The risk is scored as for `graph_impact`, with files in the place of symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import msgspec

from ombud.graph.facts import IMPORT_SITE
from ombud.operations.graph import dress
from ombud.operations.graph.budget import Budget
from ombud.operations.graph.ground import Root, consult
from ombud.operations.graph.named import module_of
from ombud.operations.graph.risk import assess
from ombud.operations.graph.shapes import Listed, Listing, Risk
from ombud.operations.shapes import Shape
from ombud.text.ranges import Range

if TYPE_CHECKING:
    from ombud.graph.facts import Facts, Import
    from ombud.graph.store import Reader
    from ombud.graph.store.rows import Definition, Edge, Links
    from ombud.operations.session import Session


class Params(Listing, frozen=True, kw_only=True):
    path: Annotated[str, msgspec.Meta(description="The file.")]


class ImportShape(Shape):
    module: str
    """As it is written."""
    name: str
    """The name that is taken from it, empty for the module itself, ``*`` for all of it."""
    alias: str
    """What it is called here."""
    line: int
    end_line: int
    range: Range
    path: str | None
    """The file of this workspace that it leads to; null for a library."""
    symbol: str | None
    """The id of what is imported."""


class ExportShape(Shape):
    name: str
    kind: str
    id: str | None
    """Null for what is only passed on from another module."""
    module: str | None
    line: int


class Importer(Shape):
    path: str
    line: int
    end_line: int
    range: Range
    """Of the first import."""
    symbols: list[str]
    """The ids of what it imports."""


class DependentFile(Shape):
    path: str
    depth: int
    test: bool


class Result(Listed, kw_only=True):
    imports: list[ImportShape]
    exports: list[ExportShape]
    imported_by: list[Importer]
    direct: list[DependentFile]
    indirect: list[DependentFile]
    risk: Risk


@dataclass(frozen=True, slots=True)
class _Told:
    facts: Facts
    brought: Sequence[Edge]
    importers: Sequence[Edge]
    links: Links
    symbols: Sequence[Definition]
    keys: dict[int, str]
    paths: dict[int, str]
    unresolved: int


async def run(session: Session, params: Params) -> Result:
    """Raises `Refused`: ``not_found`` for a file that is not in the graph, with the reason; the fence's kinds."""
    ground = await consult(session, params)
    root, inside = ground.place(session, params.path)
    module = await module_of(root, inside)
    told = await root.ask(lambda reader: _told(root, reader, module))
    direct = [DependentFile(path=root.shown(one.path), depth=one.depth, test=one.test) for one in told.links.direct]
    indirect = [DependentFile(path=root.shown(one.path), depth=one.depth, test=one.test) for one in told.links.indirect]
    exports = _exports(root, told)
    budget, limit = Budget(params.tokens, used=900), params.limit
    every = [*direct, *indirect]
    return Result(
        imports=budget.fit(_imports(root, told), limit, name="imports"),
        imported_by=budget.fit(_importers(root, told), limit, name="importers"),
        direct=budget.fit(direct, limit, name="direct dependents"),
        indirect=budget.fit(indirect, limit, name="indirect dependents"),
        exports=budget.fit(exports, limit, name="exports"),
        risk=assess(
            callers=sum(not one.test for one in direct),
            exported=bool(exports),
            files={one.path for one in every if not one.test},
            depth=max((one.depth for one in every if not one.test), default=0),
            tests=sum(one.test for one in every),
        ),
        truncated=told.links.truncated or bool(budget.cut),
        note=ground.note(budget.sentence("raise limit or tokens"), ground.about(module.language)),
        **ground.said(told.unresolved),
    )


def _told(root: Root, reader: Reader, module: Definition) -> _Told:
    path = module.path
    with reader.reading():
        brought, importers = reader.edges_of(path, (IMPORT_SITE,)), reader.importers_of(path)
        ends = {edge.dst for edge in (*brought, *importers)}
        held = reader.file_at(path)
        found = reader.symbols(ends)
        return _Told(
            reader.facts(module.file),
            brought,
            importers,
            reader.dependencies(path),
            reader.symbols_in(module.file),
            {number: root.key(one) for number, one in found.items()},
            {number: one.path for number, one in found.items()},
            held.unresolved if held is not None else 0,
        )


def _imports(root: Root, told: _Told) -> list[ImportShape]:
    """Each import that is written, with where it leads."""
    by_site: dict[tuple[int, int], list[Edge]] = {}
    for edge in told.brought:
        by_site.setdefault((edge.line, edge.character), []).append(edge)
    return [_import(root, told, one, by_site.get(one.site[:2], [])) for one in told.facts.imports]


def _import(root: Root, told: _Told, one: Import, edges: Sequence[Edge]) -> ImportShape:
    # A module that is imported by a name of its own is an edge to its file, anything else to what it defines.
    target = edges[-1].dst if edges else None
    path = told.paths.get(target) if target is not None else None
    where = dress.site(*one.site)
    return ImportShape(
        module="." * one.level + one.module,
        name=one.name,
        alias=one.alias,
        line=where.start.line + 1,
        end_line=where.end.line + 1,
        range=where,
        path=root.shown(path) if path is not None else None,
        symbol=told.keys.get(target) if target is not None else None,
    )


def _exports(root: Root, told: _Told) -> list[ExportShape]:
    """What others may import: its exported symbols at the top, and what it passes on."""
    out = [
        ExportShape(name=one.name, kind=one.kind_name, id=root.key(one), module=None, line=one.at[0] + 1)
        for one in told.symbols
        if one.exported and one.container is not None and one.container == told.symbols[0].id
    ]
    known = {one.name for one in out}
    out += [
        ExportShape(name=one.name, kind="reexport", id=None, module=one.module, line=0)
        for one in told.facts.exports
        if one.module and one.name not in known
    ]
    return out


def _importers(root: Root, told: _Told) -> list[Importer]:
    """Each importing file once, by path."""
    files: dict[str, Importer] = {}
    for edge in told.importers:
        where = dress.site(edge.line, edge.character, edge.length)
        path = root.shown(edge.path)
        first = files.setdefault(
            path,
            Importer(path=path, line=edge.line + 1, end_line=edge.line + 1, range=where, symbols=[]),
        )
        if told.keys[edge.dst] not in first.symbols:
            first.symbols.append(told.keys[edge.dst])
    return list(files.values())
