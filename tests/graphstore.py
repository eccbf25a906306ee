"""Small graphs for the tests of the store: facts and edges from a few words, put in by a real writer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ombud.graph import facts as f
from ombud.graph.facts import Facts, Symbol
from ombud.graph.packed import encode
from ombud.graph.resolve import Resolved
from ombud.graph.store import Reader, Writer, open_reader, open_writer
from ombud.graph.store.rows import Definition

KINDS = {"class": f.CLASS_KIND, "def": f.FUNCTION, "method": f.METHOD, "var": f.VARIABLE, "new": f.CONSTRUCTOR}
EDGES = {"call": f.CALL_SITE, "import": f.IMPORT_SITE, "inherit": f.INHERIT_SITE, "reference": f.REFERENCE_SITE}


@dataclass
class Source:
    """One file: definitions as ``kind Qualified.name``, a leading ``-`` for what is not exported, docstrings by name.

    A definition is 10 lines below the one before it. ``edges``: ``(kind, from, to, line)`` with ``path#name`` for the
    end, and a confidence if it is not exact. ``loose``: ``(from, name, line)``. ``keys``: what its answer asked for.
    """

    symbols: list[str] = field(default_factory=list)
    edges: list[tuple[str | int, ...]] = field(default_factory=list)
    loose: list[tuple[str, str, int]] = field(default_factory=list)
    docs: Mapping[str, str] = field(default_factory=dict)
    language: str = "python"
    keys: Collection[int] = ()
    first: int = 1

    def facts(self) -> Facts:
        module = Symbol("", "", f.MODULE, 0, 0, 0, (0, 0, 9999, 0), (0, 0, 0), f.EXPORTED)
        found, at = [module], {"": 0}
        for number, text in enumerate(self.symbols):
            kind, name = text.lstrip("-").split(" ")
            above, _, bare = name.rpartition(".")
            line = self.first + 10 * number
            flags = 0 if text.startswith("-") else f.EXPORTED
            at[name] = len(found)
            place = ((line, 0, line + 8, 4), (line, 4, len(bare)), flags)
            doc = self.docs.get(name, "")
            bare = bare.partition("~")[0]
            found.append(Symbol(bare, name, KINDS[kind], at[above], 0, -1, *place, f"{kind} {bare}()", doc))
        return Facts(self.language, "", [], b"", found, b"", b"", [], [], b"\0" * 24 * len(self.edges), None, 10)

    def index(self, name: str) -> int:
        return [symbol.qualified for symbol in self.facts().symbols].index(name)


Sources = dict[str, Source]
ROOT = Path("/srv/project")


def opened(folder: Path, facts_bytes: int = 1 << 20) -> Writer:
    """The writer of the store in ``folder``, always of the same root."""
    return open_writer(folder, ROOT, facts_bytes=facts_bytes)


def resolved(writer: Writer, sources: Sources, path: str) -> Resolved:
    """What a resolver says of ``path``: the edges of its `Source` whose ends are there."""
    source = sources[path]
    answer = Resolved(external=1, unresolved=len(source.loose), asked=set(source.keys))
    for kind, start, end, line, *sure in source.edges:
        other, _, name = str(end).partition("#")
        if other in sources and name in (symbol.qualified for symbol in sources[other].facts().symbols):
            dst = (writer.paths()[other], sources[other].index(name))
            confidence = int(sure[0]) if sure else f.EXACT
            place = (int(line), 8, len(name) or 1)
            answer.edges.append((source.index(str(start)), *dst, EDGES[str(kind)], *place, confidence))
    answer.loose = [(source.index(start), name, line, 4, len(name)) for start, name, line in source.loose]
    return answer


def put(writer: Writer, path: str, source: Source) -> int:
    facts = source.facts()
    return writer.put(path, (1, 100), path.encode(), source.language, encode(facts))


def write(writer: Writer, sources: Sources, paths: Iterable[str] | None = None, again: Iterable[str] = ()) -> None:
    """Put ``paths`` (all of ``sources``; those that it has not are removed), and resolve them and ``again``."""
    changed = list(sources if paths is None else paths)
    writer.begin()
    for path in changed:
        if path in sources:
            put(writer, path, sources[path])
        else:
            writer.remove(path)
    for path in dict.fromkeys([*changed, *again]):
        if path in sources:
            writer.resolved(writer.paths()[path], resolved(writer, sources, path))
    writer.commit()


def stored(folder: Path, sources: Sources) -> Reader:
    """A reader of a store in ``folder`` that has ``sources``; its writer is closed."""
    writer = opened(folder)
    write(writer, sources)
    writer.begin()
    writer.complete(True)
    writer.commit()
    writer.settle()
    writer.close()
    return open_reader(folder)


def the(reader: Reader, key: str) -> Definition:
    (found,) = reader.find(key)
    return found


def keys(reader: Reader, ids: Iterable[int]) -> list[str | None]:
    return [reader.key(symbol) for symbol in ids]


def export(reader: Reader, folder: str = "") -> list[object]:
    """Everything an export says, without the store's own numbers."""
    symbols = [
        (one.key, one.kind, one.flags, one.fan, one.range, one.at, one.signature) for one in reader.all_symbols(folder)
    ]
    edges = [
        (start, end, edge.kind, edge.confidence, edge.path, edge.line, edge.character, edge.length)
        for edge, start, end in reader.all_edges(folder)
    ]
    return [*symbols, *edges]
