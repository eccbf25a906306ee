"""Which symbol a name means: an id, a qualified name or the end of one, a bare name, or the path of a file."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ombud.graph.facts import EXPORTED, OVERLOAD, TEST
from ombud.graph.store.rows import Definition
from ombud.graph.store.schema import MASK, SHIFT
from ombud.graph.store.snapshot import Snapshot, is_text

LIMIT = 50
_LONGEST = 1000
"""Characters of a name. No source has longer ones."""
_SEPARATOR = re.compile(r"::|->|[.#\\/]")
_INDEXES = frozenset({"__init__", "__main__", "index", "mod", "lib", "main"})
"""Files that stand for their folder in a module's name."""

_NAMED = (
    "SELECT s.id, s.flags, s.fan FROM names n JOIN symbols s ON s.name = n.id "
    "WHERE n.name = ?1 COLLATE NOCASE AND n.name = ?1"
)


def find(reader: Snapshot, name: str, path: str | None = None, limit: int = LIMIT) -> list[Definition]:
    """The symbols that ``name`` may mean, likeliest first, at most ``limit``; one if it says which.

    Tried in this order, and the first that finds anything is the answer: an id (``path#Qualified.name``), a file's path
    (its module), a whole qualified name, the end of one (``method``, ``Class.method``), and a name behind its module
    (``package.module.function``; the end of that too). ``path`` is the file, or the folder, that it has to be in.
    """
    name = name.strip()
    if not name or len(name) > _LONGEST or not is_text(name):
        return []
    with reader.reading():
        if path is None and "#" in name:
            where, _, qualified = name.rpartition("#")
            if (file := reader.file_at(where)) is not None:
                return [found for found in reader.symbols_in(file.id) if found.qualified == qualified][:1]
        if path is None and (file := reader.file_at(name)) is not None:
            return list(reader.symbols([file.id << SHIFT]).values())
        return _by_name(reader, name, path, limit)


def _by_name(reader: Snapshot, name: str, path: str | None, limit: int) -> list[Definition]:
    wanted = _SEPARATOR.sub(".", name).strip(".")
    parts = wanted.split(".")
    last = parts[-1].partition("~")[0]
    rows = _rows(reader, last, parts[-2].partition("~")[0] if len(parts) > 1 else None)
    if not rows and len(parts) > 1:
        rows = _rows(reader, name, None)
        wanted = name
    light = sorted(_weighed(reader, rows, path))
    if len(parts) == 1 and "~" not in wanted:
        # A bare name that is whole somewhere, a function beside methods of that name, is still one of several.
        return list(reader.symbols(symbol for *_, symbol in light[:limit]).values())
    found = list(reader.symbols(symbol for *_, symbol in light).values())
    for fits in (_is_whole, _is_end, _is_behind_module):
        if fitting := [definition for definition in found if fits(definition, wanted)]:
            return fitting[:limit]
    return []


def _rows(reader: Snapshot, last: str, above: str | None) -> list[tuple[int, int, int]]:
    """Symbols of the name ``last``; with ``above``, only those in something of that name, or at the top of a file."""
    with reader.reading() as connection:
        if above is None:
            return connection.execute(_NAMED, (last,)).fetchall()
        query = (
            f"{_NAMED} AND (s.container = 0 OR EXISTS (SELECT 1 FROM symbols c JOIN names m ON m.id = c.name "
            f"WHERE c.id = (s.id >> {SHIFT} << {SHIFT}) + s.container AND m.name = ?2))"
        )
        return connection.execute(query, (last, above)).fetchall()


def _weighed(
    reader: Snapshot, rows: Iterable[tuple[int, int, int]], path: str | None
) -> Iterable[tuple[int, int, int, int, str, int, int]]:
    """What orders candidates: no overloads, no tests, exported, used by many; then by path and place."""
    for symbol, flags, fan in rows:
        file = reader.file_of(symbol >> SHIFT)
        if file is None or (path is not None and not within(file.path, path)):
            continue
        test = file.test or flags & TEST
        yield (bool(flags & OVERLOAD), bool(test), not flags & EXPORTED, -fan, file.path, symbol & MASK, symbol)


def within(path: str, folder: str) -> bool:
    """Whether a path is ``folder`` or below it; everything is below an empty one."""
    folder = folder.rstrip("/")
    return not folder or folder in (".", path) or path.startswith(f"{folder}/")


def _is_whole(definition: Definition, wanted: str) -> bool:
    return definition.qualified == wanted


def _is_end(definition: Definition, wanted: str) -> bool:
    return definition.qualified.endswith(f".{wanted}")


def _is_behind_module(definition: Definition, wanted: str) -> bool:
    return any(f".{module}.{definition.qualified}".endswith(f".{wanted}") for module in modules(definition.path))


def modules(path: str) -> list[str]:
    """What a file is called as a module: its path with dots, without the extension; an index file, its folder, too."""
    *folders, name = path.split("/")
    stem = name.partition(".")[0]
    whole = ".".join([*folders, stem])
    return [whole, ".".join(folders)] if stem in _INDEXES and folders else [whole]
