"""Searching symbols by name, as people type names, and by the words of docstrings.

Names are looked up first, then the symbols of the names that fit best. How well a name fits decides before anything
else: the name itself, the name in another case, a beginning, humps (``gUBN``, ``getUser``, ``HttpReq``), a part of it,
words of the docstring. Among equals: exported, used by many, no test, short, by path.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Collection, Sequence
from itertools import islice
from typing import NamedTuple

from ombud.graph.facts import EXPORTED, MODULE, OVERLOAD, TEST
from ombud.graph.store.finding import modules
from ombud.graph.store.naming import HUMPS, TRIGRAM, humps, initials
from ombud.graph.store.rows import Found
from ombud.graph.store.schema import SHIFT
from ombud.graph.store.snapshot import Snapshot, batches, is_text, marks

LIMIT = 50
_LONGEST = 200
"""Characters of a query that are looked at: no name is longer."""
_NAMES, _NAMES_OF_SOME = 200, 5000
"""Names of one rank that are looked at, the shortest first; more where only some symbols are wanted."""
_ROWS = 5000
"""Symbols of so many names that are looked at where only some are wanted."""
_DOCS = 400
"""Docstrings with the right words that are looked at."""
_PARTS = 2000
"""Names with the right parts of three letters, or of the right initials, that are looked at."""
_ABOVE = 8
"""Names around a name that are looked at."""
_LOOKS = 200
"""Symbols whose surroundings are looked at beyond the nearest."""
_SHORT = 50_000
"""Names that are gone through for one or two letters."""
_WORDS = 8
_SEPARATOR = re.compile(r"::|->|[.#\\/]")
_WORD = re.compile(r"\w+")
_CAPITAL = re.compile(r"([A-Z])(?=[A-Z])")
_STOP = frozenset(
    (
        *("a", "an", "and", "are", "at", "by", "do", "does", "for", "from", "how", "in", "is", "it", "of", "on", "or"),
        *("that", "the", "thing", "this", "to", "what", "where", "which", "who", "with"),
    )
)

EXACT, SAME_LETTERS, BEGINNING, IN_HUMPS, PART, IN_DOC = range(6)
"""Ranks."""

Row = tuple[int, int, int, str, int, str, int]
"""Symbol, flags, fan, name, whether its file is one of tests, path, container."""
_ROW = (
    "SELECT s.id, s.flags, s.fan, n.name, f.test, f.path, s.container FROM {0} "
    f"JOIN files f ON f.id = s.id >> {SHIFT} WHERE "
)
_OF_NAMES = _ROW.format("names n JOIN symbols s ON s.name = n.id") + "n.id"
_OF_IDS = _ROW.format("symbols s JOIN names n ON n.id = s.name") + "s.id"
_BEST = (
    f"ORDER BY (s.flags & {OVERLOAD}) != 0, (s.flags & {EXPORTED}) = 0, s.fan DESC, "
    f"f.test OR (s.flags & {TEST}) != 0, length(n.name), f.path, s.id"
)
"""The order of `_weigh`."""


def search(
    reader: Snapshot,
    query: str,
    kinds: Collection[int] = (),
    languages: Collection[str] = (),
    path: str | None = None,
    limit: int = LIMIT,
) -> Found:
    """The symbols that fit ``query`` best, at most ``limit``.

    ``path`` is a file, a folder or a glob (``src/**/*.py``) that they have to be in. ``Class.method`` and
    ``module.function`` say what they have to be defined in. No text is wrong: what fits nothing finds nothing.
    """
    if path is not None and not is_text(path):
        return Found([])
    text = clean(query)
    *above, last = _split(text)
    folder, glob = ("", path) if path is not None and any(letter in path for letter in "*?[") else (path or "", None)
    fits = _filter(reader, glob, above) if glob is not None or above else None
    most = _NAMES_OF_SOME if fits is not None or kinds or languages or folder else _NAMES
    chosen: dict[int, None] = {}
    with reader.reading() as connection:
        names: set[int] = set()
        for rank in range(IN_DOC + 1):
            if len(chosen) > limit:
                break
            if rank == PART and len(last) < TRIGRAM and chosen:
                # No index knows where two letters are: all names are gone through only when nothing else is found.
                continue
            if rank == IN_DOC:
                ids = _documented(connection, text)
            else:
                ids = [name for name in _RANKS[rank](connection, last, most) if name not in names] if last else []
                names.update(ids)
            # One more than is wanted tells whether there are more.
            wanted = limit + 1 - len(chosen)
            enough = wanted + len(chosen) if fits is None else _ROWS
            wish = _Wish(kinds, languages, folder.rstrip("/"), above[-1] if above else "", enough)
            rows = _rows(connection, _OF_IDS if rank == IN_DOC else _OF_NAMES, ids, wish)
            better = sorted((row for row in rows if row[0] not in chosen), key=_weigh)
            fitted = (row[0] for row in better if fits is None or fits(row))
            chosen.update((symbol, None) for symbol in islice(fitted, wanted))
        kept = list(chosen)[:limit]
        return Found(list(reader.symbols(kept).values()), len(chosen) > limit)


def _split(text: str) -> list[str]:
    """The names around the name that is looked for, in lower case, the outermost first, and that name."""
    *above, last = [part.strip() for part in _SEPARATOR.split(text) if part.strip()] or [""]
    return [*(part.lower() for part in above[-_ABOVE:]), last]


def clean(query: str) -> str:
    """What of a query can be looked for: text that can be written, without control characters, not endless."""
    text = query[: 4 * _LONGEST].encode("utf-8", "ignore").decode("utf-8")
    return "".join(letter if letter.isprintable() else " " for letter in text).strip()[:_LONGEST]


# -- names that fit ----------------------------------------------------------------------------------------------------


def _exact(connection: sqlite3.Connection, text: str, most: int) -> list[int]:
    query = "SELECT id FROM names WHERE name = ?1 COLLATE NOCASE AND name = ?1 LIMIT ?2"
    return [name for (name,) in connection.execute(query, (text, most))]


def _same_letters(connection: sqlite3.Connection, text: str, most: int) -> list[int]:
    query = "SELECT id FROM names WHERE name = ? COLLATE NOCASE LIMIT ?"
    return [name for (name,) in connection.execute(query, (text, most))]


def _beginning(connection: sqlite3.Connection, text: str, most: int) -> list[int]:
    # The index is in the order of letters without case; whatever begins with the text lies between it and its last.
    query = (
        "SELECT id FROM names WHERE name >= ?1 COLLATE NOCASE AND name < ?2 COLLATE NOCASE "
        "ORDER BY length(name), name LIMIT ?3"
    )
    return [name for (name,) in connection.execute(query, (text, f"{text}\U0010ffff", most))]


def _humped(connection: sqlite3.Connection, text: str, most: int) -> list[int]:
    """Names whose first parts begin with the parts of ``text``."""
    parts = [part.lower() for part in humps(text)]
    # Capitals in a row are one part of a name ("HTTPServer"), or the first letters of several ("gUBN").
    single = [part.lower() for part in humps(_CAPITAL.sub(r"\1_", text))]
    if len(parts) > 1 or len(single) > 1:
        found = _initialled(connection, f'"{initials(parts)}" *', parts, most) if len(parts) > 1 else []
        return found if single == parts else found + _initialled(connection, f'"{initials(single)}" *', single, most)
    # Letters that may be the first ones of parts ("gubn") are looked for as such, whole.
    small = text.isalpha() and text.islower() and 2 <= len(text) <= HUMPS
    return _initialled(connection, f'"{text}"', [], most) if small else []


def _initialled(connection: sqlite3.Connection, match: str, parts: Sequence[str], most: int) -> list[int]:
    """The names whose initials ``match``, and whose parts begin with ``parts``, the shortest first."""
    long = [part for part in parts if len(part) > 1]
    holds = "".join(" AND instr(lower(n.name), ?)" for part in long)
    query = (
        "SELECT n.id, n.name FROM (SELECT rowid FROM humps WHERE humps MATCH ? LIMIT ?) h "
        f"JOIN names n ON n.id = h.rowid WHERE true{holds} ORDER BY length(n.name), n.name LIMIT ?"
    )
    rows = connection.execute(query, (match, max(_PARTS, most), *long, most))
    if not long:
        return [name for name, _ in rows]
    return [name for name, whole in rows if _begins([part.lower() for part in humps(whole)], parts)]


def _begins(whole: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether ``parts`` begin the first parts of a name, each its own."""
    return len(whole) >= len(parts) and all(map(str.startswith, whole, parts))


def _part(connection: sqlite3.Connection, text: str, most: int) -> list[int]:
    folded = text.casefold()
    if len(text) < TRIGRAM:
        query = (
            f"SELECT id FROM (SELECT id, name FROM names LIMIT {_SHORT}) "
            "WHERE instr(lower(name), ?) ORDER BY length(name), name LIMIT ?"
        )
        return [name for (name,) in connection.execute(query, (folded, most))]
    # The index knows which parts of three letters a name has, not where: the text itself decides.
    parts = dict.fromkeys(text[at : at + TRIGRAM] for at in range(len(text) - TRIGRAM + 1))
    match = " AND ".join('"' + part.replace('"', '""') + '"' for part in parts)
    query = (
        "SELECT n.id, n.name FROM (SELECT rowid FROM trigrams WHERE trigrams MATCH ? LIMIT ?) t "
        "JOIN names n ON n.id = t.rowid ORDER BY length(n.name), n.name"
    )
    rows = connection.execute(query, (match, max(_PARTS, most)))
    return list(islice((name for name, whole in rows if folded in whole.casefold()), most))


_RANKS: tuple[Callable[[sqlite3.Connection, str, int], list[int]], ...] = (
    *(_exact, _same_letters, _beginning, _humped, _part),
)


# -- symbols -----------------------------------------------------------------------------------------------------------


class _Wish(NamedTuple):
    """Which symbols are wanted: of some kinds and languages (of all, where none are named), below a folder, in what
    has a name that begins with ``above`` or at the top of a file, at most ``limit`` of so many names, the best."""

    kinds: Collection[int]
    languages: Collection[str]
    folder: str
    above: str
    limit: int


def _rows(connection: sqlite3.Connection, what: str, ids: Sequence[int], wish: _Wish) -> list[Row]:
    """The symbols of some names (`_OF_NAMES`), or those of some ids (`_OF_IDS`)."""
    more = f" AND s.kind IN {marks(wish.kinds)}" if wish.kinds else f" AND s.kind != {MODULE}"
    values: list[int | str] = [*wish.kinds, *wish.languages]
    if wish.languages:
        more += f" AND f.language IN {marks(wish.languages)}"
    if wish.folder not in ("", "."):
        # What is below a folder lies between its path with a slash and the same with the next character.
        more += " AND (f.path = ? OR f.path >= ? AND f.path < ?)"
        values += [wish.folder, f"{wish.folder}/", f"{wish.folder}0"]
    if wish.above:
        more += (
            " AND (s.container = 0 OR EXISTS (SELECT 1 FROM symbols c JOIN names m ON m.id = c.name WHERE "
            f"c.id = (s.id >> {SHIFT} << {SHIFT}) + s.container AND instr(lower(m.name), ?) = 1))"
        )
        values.append(wish.above)
    rows: list[Row] = []
    for batch in batches(ids):
        query = f"{what} IN {marks(batch)}{more} {_BEST} LIMIT ?"
        rows += connection.execute(query, (*batch, *values, wish.limit)).fetchall()
    return rows


def _documented(connection: sqlite3.Connection, text: str) -> list[int]:
    """The symbols whose docstrings have the words of ``text``, or all but one of them."""
    words = [word for word in _WORD.findall(text.replace("_", " ")) if word.lower() not in _STOP][:_WORDS]
    fewer = [words[:at] + words[at + 1 :] for at in range(len(words))] if len(words) > 2 else []
    for wanted in filter(None, (words, *fewer)):
        match = " AND ".join(f'"{word}"' for word in wanted)
        rows = connection.execute("SELECT rowid FROM docs WHERE docs MATCH ? LIMIT ?", (match, _DOCS)).fetchall()
        if rows:
            return [symbol for (symbol,) in rows]
    return []


def _weigh(row: Row) -> tuple[object, ...]:
    symbol, flags, fan, name, test, path, _ = row
    return (bool(flags & OVERLOAD), not flags & EXPORTED, -fan, bool(test or flags & TEST), len(name), path, symbol)


def _filter(reader: Snapshot, glob: str | None, above: Sequence[str]) -> Callable[[Row], bool]:
    """Whether a row's path is as the glob says, and the row within the names ``above`` its own.

    Of what is not at the top of its file, `_Wish.above` has seen to the last of those names.
    """
    pattern = _pattern(glob) if glob is not None else None
    looks = _LOOKS

    def fits(row: Row) -> bool:
        nonlocal looks
        symbol, path, container = row[0], row[5], row[6]
        if pattern is not None and pattern.fullmatch(path) is None:
            return False
        if not above or (container > 0 and len(above) == 1):
            return True
        looks -= container > 0
        key = reader.key(symbol) if container > 0 and looks >= 0 else ""
        return bool(key) == (container > 0) and _is_within(key or "", path, above)

    return fits


def _is_within(key: str, path: str, above: Sequence[str]) -> bool:
    """Whether the names around a symbol, behind those of its module, end in ``above``, the last at least begun."""
    around = key.rpartition("#")[2].lower().split(".")[:-1]
    for module in modules(path):
        whole = [*module.lower().split("."), *around][-len(above) :]
        if whole[:-1] == list(above[:-1]) and whole[-1].startswith(above[-1]):
            return True
    return False


def _pattern(glob: str) -> re.Pattern[str]:
    """A glob over paths: ``*`` and ``?`` stay within a folder, ``**`` does not; without a ``/``, any folder will do."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]/]+\])", glob)
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    inner = "".join(known.get(part) or (_letters(part) if at % 2 else re.escape(part)) for at, part in enumerate(parts))
    return re.compile(inner if "/" in glob else f"(?:.*/)?{inner}", re.DOTALL)


def _letters(part: str) -> str:
    """``[abc]``, ``[!abc]``; what is no class of letters stands for itself."""
    inner = part[1:-1]
    negated = inner.startswith("!")
    try:
        return re.compile(f"[{'^' if negated else ''}{inner[negated:].replace(chr(92), chr(92) * 2)}]").pattern
    except re.error:
        return re.escape(part)
