"""The readers' side of a store: `Reader` answers questions about what is committed, and never waits for the writer.

It opens the file at the first question, and again when the writer has made another; until there is one, questions raise
`Missing`. Several questions see one state of the store within ``with reader.reading():``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from ombud.graph.facts import CALL_SITE, CONFIRMED, IMPORT_SITE, Facts
from ombud.graph.packed import joined
from ombud.graph.store import export, finding, tracing, walks
from ombud.graph.store import search as searching
from ombud.graph.store.place import FILE
from ombud.graph.store.rows import Definition, Edge, File, Found, Impact, Links, Node, Site, Stats, Traced
from ombud.graph.store.schema import INDEXED, PARTS, SHIFT, SKIPPED
from ombud.graph.store.snapshot import Snapshot


def open_reader(folder: Path) -> Reader:
    """A reader of the store in ``folder``. Nothing is opened yet."""
    return Reader(folder / FILE)


class Reader(Snapshot):
    """See the module. Ids are symbols' ids; `Definition.key` is what the outside calls a symbol."""

    # -- names ----------------------------------------------------------------------------------------------------

    def find(self, name: str, path: str | None = None, limit: int = finding.LIMIT) -> list[Definition]:
        """See `ombud.graph.store.finding.find`."""
        return finding.find(self, name, path, limit)

    def search(
        self,
        query: str,
        kinds: Collection[int] = (),
        languages: Collection[str] = (),
        path: str | None = None,
        limit: int = 50,
    ) -> Found:
        """See `ombud.graph.store.search.search`."""
        return searching.search(self, query, kinds, languages, path, limit)

    # -- edges ----------------------------------------------------------------------------------------------------

    def callers(
        self,
        symbols: Collection[int],
        depth: int = 1,
        limit: int = 200,
        kinds: Collection[int] = (CALL_SITE,),
        confidence: int = CONFIRMED,
    ) -> Traced:
        """See `ombud.graph.store.tracing.callers`."""
        return tracing.callers(self, symbols, depth, limit, kinds, confidence)

    def callees(
        self,
        symbols: Collection[int],
        depth: int = 1,
        limit: int = 200,
        kinds: Collection[int] = (CALL_SITE,),
        confidence: int = CONFIRMED,
    ) -> Traced:
        """See `ombud.graph.store.tracing.callees`."""
        return tracing.callees(self, symbols, depth, limit, kinds, confidence)

    def loose(self, name: str, languages: Collection[str] | None = None) -> list[Site]:
        """The call sites of a name that nothing was found for."""
        with self.reading():
            return list(tracing.loose(self, name, languages))

    def at(self, path: str, line: int, character: int) -> tuple[list[Edge], Definition | None]:
        """The edges whose site is at a place (zero-based, UTF-16), and the innermost symbol around it."""
        with self.reading():
            file = self.file_at(path)
            if file is None:
                return [], None
            base, place = file.id << SHIFT, (line, character)
            edges = [
                Edge(base | src, other << SHIFT | dst, how >> 2, how & 3, path, row, column, length)
                for row, column, length, src, other, dst, how in self.places(file.id)
                if row == line and column <= character <= column + length
            ]
            there = self.symbols(edge.dst for edge in edges)
            around = [symbol for symbol in self.symbols_in(file.id) if symbol.range[:2] <= place <= symbol.range[2:]]
            return [edge for edge in edges if edge.dst in there], around[-1] if around else None

    def edges_of(self, path: str, kinds: Collection[int]) -> list[Edge]:
        """The edges of ``kinds`` from a file, by place."""
        with self.reading():
            file = self.file_at(path)
            if file is None:
                return []
            edges = tracing.edges_from(self, [symbol.id for symbol in self.symbols_in(file.id)], kinds)
            there = self.symbols(edge.dst for edge in edges)
            return [edge for edge in edges if edge.dst in there]

    def imports_of(self, path: str) -> list[Edge]:
        """What a file imports of other files of the root."""
        return self.edges_of(path, (IMPORT_SITE,))

    def importers_of(self, path: str) -> list[Edge]:
        """Where a file, or something in it, is imported."""
        return walks.edges_into(self, path, (IMPORT_SITE,))

    # -- walks ----------------------------------------------------------------------------------------------------

    def impact(self, symbols: Collection[int], depth: int = 5, cap: int = walks.NODES) -> Impact:
        """See `ombud.graph.store.walks.impact`."""
        return walks.impact(self, symbols, depth, cap)

    def path(self, start: int, end: int, cap: int = walks.NODES) -> tuple[list[Edge] | None, bool]:
        """See `ombud.graph.store.walks.path`."""
        return walks.path(self, start, end, cap)

    def dependencies(self, path: str, cap: int = walks.FILES) -> Links:
        """See `ombud.graph.store.walks.dependencies`."""
        return walks.dependencies(self, path, cap)

    # -- files ----------------------------------------------------------------------------------------------------

    def file(self, path: str) -> File | None:
        """A file that was looked at, None for one that was not; a skipped one says why."""
        return self.file_at(path)

    def files(self) -> list[File]:
        """All of them, by path."""
        with self.reading() as connection:
            rows = connection.execute("SELECT id FROM files ORDER BY path").fetchall()
            return [file for (number,) in rows if (file := self.file_of(number)) is not None]

    def facts(self, file: int) -> Facts:
        """Without what `texts` has. Raises KeyError for a file that is not indexed."""
        with self.reading() as connection:
            row = connection.execute(PARTS, (file,)).fetchone()
            if row is None:
                raise KeyError(file)
            return joined(*row)

    def outline(self, path: str) -> list[Node]:
        """What is defined at the top of a file, each with what is in it; empty for a file that is not indexed."""
        with self.reading():
            file = self.file_at(path)
            symbols = self.symbols_in(file.id) if file is not None else []
        children: dict[int | None, list[Node]] = {}
        for symbol in symbols:
            children.setdefault(symbol.container, []).append(Node(symbol, children.setdefault(symbol.id, [])))
        return children.get(file.id << SHIFT, []) if file is not None else []

    def doc(self, symbol: int) -> str:
        """The docstring of a symbol, empty where it has none."""
        told = self.told(symbol)
        return "" if told is None else told[0].docs[told[1]]

    # -- the whole ------------------------------------------------------------------------------------------------

    def stats(self) -> Stats:
        with self.reading() as connection:
            sums = connection.execute(
                "SELECT count(*), total(symbols), total(sites), total(imports), total(exports), total(size), "
                "total(lines), total(external), total(unresolved), total(NOT resolved), total(edges) FROM files "
                "WHERE state = ?",
                (INDEXED,),
            ).fetchone()
            files, symbols, sites, imports, exports, size, lines, external, unresolved, pending, edges = map(int, sums)
            by = "SELECT {0}, count(*) FROM files WHERE state = ? AND {0} != '' GROUP BY 1 ORDER BY 2 DESC, 1"
            languages = dict(connection.execute(by.format("language"), (INDEXED,)).fetchall())
            skipped = dict(connection.execute(by.format("reason"), (SKIPPED,)).fetchall())
            notes = dict(connection.execute(by.format("notes"), (INDEXED,)).fetchall())
        store = sum(path.stat().st_size for path in self.store.parent.glob(f"{FILE}*") if path.is_file())
        return Stats(
            *(files, symbols, sites, imports, exports, edges, size, store, lines, external, unresolved),
            languages,
            skipped,
            notes,
            pending,
            self.complete,
        )

    def all_symbols(self, folder: str = "") -> Iterator[Definition]:
        """Every symbol, in the order of an export, read over a connection of its own."""
        return export.symbols_of(self.store, folder)

    def all_edges(self, folder: str = "") -> Iterator[tuple[Edge, str, str]]:
        """Every edge with the keys of its ends, in the order of an export, read over a connection of its own."""
        return export.edges_of(self.store, folder)
