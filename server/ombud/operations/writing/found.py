"""What a search for dependents has found: files by how likely they are to break, up to a limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ombud.errors import OmbudError
from ombud.guard.uris import path_to_uri, same_uri_key
from ombud.syntax.languages import language_of

if TYPE_CHECKING:
    from ombud.downstream.server import Server
    from ombud.guard.fence import Inside
    from ombud.operations.session import Session
    from ombud.operations.writing.importers import Importers
    from ombud.operations.writing.symbols import Wanted

LEFT_OUT = 200
"""How many files that are left out are named; the others are one line with their number."""


@dataclass(frozen=True)
class Found:
    """``files`` are existing files of the server's, the likeliest first; ``left_out`` others, each with the reason.

    ``partial`` says why some may have been missed; None for a search that saw everything it looks for.
    """

    files: tuple[Inside, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    partial: str | None = None


@dataclass(slots=True)
class _Hit:
    """The best tier of the uses in a file, whether they are of something exported, and how many there are.

    ``only_imported``: all that is known is a name that the touched file had from elsewhere and handed on.
    """

    tier: int
    hidden: bool
    count: int
    only_imported: bool


class Ranking:
    """The files of one search. ``touched`` are those that are written, which are never among the found."""

    def __init__(self, session: Session, server: Server, touched: Sequence[Inside]) -> None:
        self._session = session
        self._server = server
        self._touched = touched
        self._paths = {one.path for one in touched}
        self._hits: dict[str, _Hit] = {}
        self._uris: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._hits)

    def add(self, uri: str, one: Wanted) -> None:
        """A use of what was asked about."""
        self._hit(uri, one.tier, hidden=not one.exported, only_imported=one.imported)

    def said(self, uri: str, tier: int) -> None:
        """A file of which the server says something."""
        self._hit(uri, tier, hidden=False, only_imported=False)

    def _hit(self, uri: str, tier: int, *, hidden: bool, only_imported: bool) -> None:
        key = same_uri_key(uri)
        self._uris.setdefault(key, uri)
        known = self._hits.get(key)
        if known is None:
            self._hits[key] = _Hit(tier, hidden, 1, only_imported)
            return
        if tier < known.tier:
            known.tier, known.hidden, known.count = tier, hidden, 0
        known.only_imported = known.only_imported and only_imported
        known.hidden = known.hidden and hidden
        known.count += tier == known.tier

    def imported(self, found: Importers, tier: int, reach: int) -> None:
        """The files that import a touched one, those at a distance of up to ``reach`` whatever they use of it.

        Where all of them are known, a name that a touched file only handed on matters to nobody else.
        """
        keys: set[str] = set()
        for path, distance in found.files.items():
            uri = path_to_uri(path)
            keys.add(self._key_of(path))
            if distance <= reach:
                self._hit(self._uri_of(path) or uri, tier + distance, hidden=False, only_imported=False)
        if found.complete:
            for key, hit in list(self._hits.items()):
                if hit.only_imported and key not in keys:
                    del self._hits[key]

    def _key_of(self, path: Path) -> str:
        return same_uri_key(self._uri_of(path) or path_to_uri(path))

    def _uri_of(self, path: Path) -> str | None:
        try:
            return self._session.fence.resolve(str(path), intent="read").spelled_uri
        except OmbudError:
            return None

    def found(self, limit: int, partial: str | None) -> Found:
        """The best ``limit`` files; the others are left out, each with the reason."""
        ranked: dict[Path, tuple[tuple[int | bool | str, ...], Inside]] = {}
        left_out = []
        for key, hit in self._hits.items():
            inside = self._inside(self._uris[key])
            if inside is None or inside.path in self._paths:
                continue
            if not self._server.entry.claims(language_of(inside.path), inside.path.name):
                left_out.append((inside.relative, f"{self._server.name} does not report on such files."))
                continue
            rank = (hit.tier, hit.hidden, -hit.count, self._distance(inside), inside.relative)
            if inside.path not in ranked or ranked[inside.path][0] > rank:
                ranked[inside.path] = rank, inside
        ordered = sorted(ranked.values(), key=lambda one: one[0])
        files = tuple(inside for _, inside in ordered[: max(limit, 0)])
        left_out += [(one.relative, f"over the limit of {limit} dependents") for _, one in ordered[max(limit, 0) :]]
        return Found(files, _cut(left_out), partial)

    def _inside(self, uri: str) -> Inside | None:
        """None for what is outside, sensitive, gone, or no ordinary file."""
        try:
            inside = self._session.fence.resolve(uri, intent="read")
            return inside if inside.path.is_file() else None
        except (OmbudError, OSError, ValueError):
            return None

    def _distance(self, inside: Inside) -> int:
        """How many folders lie between it and the nearest touched file."""
        own = inside.path.parent.parts
        best = len(own)
        for other in self._touched:
            there = other.path.parent.parts
            same = next((i for i, (a, b) in enumerate(zip(own, there, strict=False)) if a != b), None)
            same = min(len(own), len(there)) if same is None else same
            best = min(best, len(own) + len(there) - 2 * same)
        return best


def _cut(left_out: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    if len(left_out) <= LEFT_OUT:
        return tuple(left_out)
    path, _ = left_out[LEFT_OUT - 1]
    more = len(left_out) - LEFT_OUT
    return (*left_out[: LEFT_OUT - 1], (path, f"over the limit of dependents, as are {more} others"))
