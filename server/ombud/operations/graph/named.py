"""From a caller's words to symbols: by id, by qualified or bare name, by a place in a file, or a file by itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from ombud.errors import OmbudError, Refused, UserError
from ombud.guard.redact import clean
from ombud.operations.graph.dress import symbol as dressed
from ombud.operations.shapes import FILE_LIMIT
from ombud.operations.targets import spot
from ombud.text.ranges import Position

if TYPE_CHECKING:
    from ombud.graph.store import Reader
    from ombud.graph.store.rows import Definition
    from ombud.guard.fence import Inside
    from ombud.operations.graph.ground import Ground, Root
    from ombud.operations.graph.shapes import Pointing
    from ombud.operations.session import Session

CANDIDATES = 20
BEGINNING, LIKES = 2, 300
"""How many letters a misspelt name is taken to have right, and how many names that begin so are compared."""
_AGAIN = re.compile(r"~\d+$")


@dataclass(frozen=True, slots=True)
class Meant:
    """What was named. ``definitions``: one symbol, or several definitions of one name in one file, the main first."""

    root: Root
    definitions: Sequence[Definition]

    @property
    def main(self) -> Definition:
        return self.definitions[0]

    @property
    def ids(self) -> list[int]:
        return [one.id for one in self.definitions]


async def meant(session: Session, ground: Ground, params: Pointing) -> Meant:
    """Raises `UserError` for a name that several symbols have, with ``candidates``, and for a place that is not there;
    `Refused` (``not_found``, with the nearest names; the fence's kinds)."""
    if params.line is not None or params.position is not None:
        return await _at_place(session, ground, params)
    if params.symbol is not None:
        return await by_name(session, ground, params.symbol, params.path)
    if params.path is None:
        raise UserError("Say which symbol: pass symbol, or path with line and symbol.")
    root, inside = ground.place(session, params.path)
    return Meant(root, [await module_of(root, inside)])


async def module_of(root: Root, inside: Inside) -> Definition:
    """The module symbol of a file. Raises `Refused` (``not_found``) for one that the graph does not have."""
    relative = root.relative(inside.path)
    file = await root.ask(lambda reader: reader.file_at(relative))
    if file is None or file.state_name != "indexed":
        raise Refused(_not_indexed(inside.relative, file.reason if file is not None else ""), kind="not_found")
    found: list[Definition] = await root.ask(lambda reader: reader.symbols_in(file.id))
    return found[0]


def _not_indexed(path: str, reason: str) -> str:
    if reason:
        return f"{path} is not in the code graph: it is left out ({reason})."
    return (
        f"{path} is not in the code graph: it is ignored, of a language that the graph does not read, or still to be "
        "read. “graph_stats” says which languages there are."
    )


# -- a place ----------------------------------------------------------------------------------------------------------


async def _at_place(session: Session, ground: Ground, params: Pointing) -> Meant:
    if params.path is None:
        raise UserError("A line or a position needs a path.")
    root, inside = ground.place(session, params.path)
    position = params.position or spot(text_of(session, inside), inside.relative, params.line, params.symbol)
    found = await at_position(root, inside, position)
    if found:
        return Meant(root, found)
    await module_of(root, inside)
    what = repr(clean(params.symbol, 200)) if params.symbol else "What stands there"
    raise Refused(
        f"{what} in line {position.line + 1} of {inside.relative} is neither defined there nor a use of a symbol of "
        "this workspace that the graph knows.",
        kind="not_found",
    )


async def at_position(root: Root, inside: Inside, position: Position) -> list[Definition]:
    """The symbol whose name, or whose use, is at a position; several where one site means several definitions."""
    relative = root.relative(inside.path)
    return await root.ask(lambda reader: at(reader, relative, position))


def at(reader: Reader, path: str, position: Position) -> list[Definition]:
    """As `at_position`, within a reader's thread. A definition comes before a use: a decorated one may be both."""
    with reader.reading():
        for one in _symbols_of(reader, path):
            if one.container is not None and _covers(one.at, position):
                return [one]
        edges, _ = reader.at(path, position.line, position.character)
        # An import brings what it names, and the file that it is in; the nearest meaning is the narrowest.
        return _narrowest(list(reader.symbols(edge.dst for edge in edges).values()))


def _narrowest(found: list[Definition]) -> list[Definition]:
    """Without modules, where anything else is meant."""
    return [one for one in found if one.container is not None] or found


def _covers(place: tuple[int, int, int], position: Position) -> bool:
    """Whether a position touches a name: its end belongs to it, as an editor's cursor behind a word does."""
    line, character, length = place
    return line == position.line and length > 0 and character <= position.character <= character + length


def text_of(session: Session, inside: Inside) -> str:
    from ombud.workspace.files import read

    document = session.hub.documents.get(inside.spelled_uri)
    return document.shown if document is not None else read(session.fence, inside, FILE_LIMIT).text


# -- a name -----------------------------------------------------------------------------------------------------------


async def by_name(session: Session, ground: Ground, name: str, path: str | None = None) -> Meant:
    """The symbol of that id, qualified or bare name; with ``path`` only in that file or folder. Raises as `meant`."""
    of_id = await _by_id(session, ground, name) if path is None and "#" in name else None
    if of_id is not None:
        return of_id
    if path is not None:
        root, inside = ground.place(session, path)
        within: str | None = root.relative(inside.path)
        roots = [root]
    else:
        within, roots = None, ground.roots
    found: list[tuple[Root, Definition]] = []
    for root in roots:
        found += [(root, one) for one in await root.ask(lambda reader: reader.find(name, within))]
    groups = _grouped(found)
    if not groups:
        raise await _unknown(ground, name, path)
    if len(groups) > 1:
        raise _ambiguous(name, groups)
    return groups[0]


async def _by_id(session: Session, ground: Ground, name: str) -> Meant | None:
    """The symbol of an id; None if it is none. A path, and a private name of JavaScript, may hold a ``#`` as well."""
    at, refused = 0, None
    while (at := name.find("#", at + 1)) > 0:
        try:
            root, inside = ground.place(session, name[:at])
        except OmbudError as error:
            refused = refused or error
            continue
        relative, qualified = root.relative(inside.path), name[at + 1 :]
        for one in await root.ask(partial(_symbols_of, path=relative)):
            if one.qualified == qualified:
                return Meant(root, [one])
    if refused is not None and refused.kind in ("outside_workspace", "sensitive_path"):
        raise refused
    return None


def _symbols_of(reader: Reader, path: str) -> list[Definition]:
    with reader.reading():
        file = reader.file_at(path)
        return reader.symbols_in(file.id) if file is not None else []


def _grouped(found: Sequence[tuple[Root, Definition]]) -> list[Meant]:
    """Candidates, those that are one to whoever names them together: overloads and other definitions of one name in
    one file, and a class with its constructor. A module counts only where nothing else has its name."""
    shown: dict[str, tuple[Root, Definition]] = {root.key(one): (root, one) for root, one in found}
    definitions = list(shown.values())
    if any(one.container is not None for _, one in definitions):
        definitions = [(root, one) for root, one in definitions if one.container is not None]
    classes = {(id(root), one.id) for root, one in definitions}
    definitions = [(root, one) for root, one in definitions if (id(root), one.container) not in classes]
    groups: dict[tuple[str, str], list[tuple[Root, Definition]]] = {}
    for root, one in definitions:
        groups.setdefault((root.shown(one.path), _AGAIN.sub("", one.qualified)), []).append((root, one))
    return [Meant(members[0][0], [one for _, one in members]) for members in groups.values()]


def _ambiguous(name: str, groups: Sequence[Meant]) -> UserError:
    some = [msgspec.to_builtins(dressed(one.root, one.main)) for one in groups[:CANDIDATES]]
    more = f" The first {CANDIDATES} are listed." if len(groups) > CANDIDATES else ""
    text = (
        f"{clean(name, 200)!r} names {len(groups)} symbols; pass the id of one of them, such as {some[0]['id']}.{more}"
    )
    return UserError(text, candidates=some, total=len(groups))


async def _unknown(ground: Ground, name: str, path: str | None) -> Refused:
    """What there is that looks like it."""
    bare = re.split(r"::|[.#/]", name)[-1] or name
    parts: dict[str, tuple[Root, Definition]] = {}
    likes: dict[str, tuple[Root, Definition]] = {}
    for root in ground.roots:
        for found, text, limit in ((parts, bare[:100], CANDIDATES), (likes, bare[:BEGINNING], LIKES)):
            for one in await root.ask(partial(_searched, query=text, limit=limit)):
                found.setdefault(root.key(one), (root, one))
    near = {**likes, **parts}
    close = get_close_matches(bare, dict.fromkeys(one.name for _, one in near.values()), 5, cutoff=0.6)
    chosen = [key for name in close for key, (_, one) in near.items() if one.name == name]
    chosen = list(dict.fromkeys([*chosen, *parts]))[:5]
    ordered = [msgspec.to_builtins(dressed(*near[key])) for key in chosen]
    where = f" in {clean(path, 200)}" if path else ""
    hint = f" The nearest is {ordered[0]['id']}." if ordered else " “graph_search” finds parts of names."
    unfinished = "" if ground.complete else " Files are still being read; ask again when that is done."
    text = f"No symbol of this workspace is called {clean(name, 200)!r}{where}.{hint}{unfinished}"
    return Refused(text, kind="not_found", candidates=ordered)


def _searched(reader: Reader, query: str, limit: int) -> list[Definition]:
    return reader.search(query, limit=limit).symbols
