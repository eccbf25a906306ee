"""What a search for dependents has found: files by how likely they are to break, up to a limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        self._joined: list[Ranking] = []
        self._left_out: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._hits)

    def join(self, other: Ranking) -> None:
        """Have what another search for the same finds, now or later, ranked with what this one finds.

        It does not count for the length, by which a search knows when to end.
        """
        self._joined.append(other)

    def leave_out(self, relative: str, reason: str) -> None:
        """A file that could break and cannot be looked at."""
        self._left_out[relative] = reason

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

    def uris_of(self, found: Importers) -> dict[Path, str]:
        """The files' URIs as the session spells them. Blocks: they may be thousands."""
        return {path: self._uri_of(path) or path_to_uri(path) for path in found.files}

    def imported(self, found: Importers, uris: Mapping[Path, str], tier: int, reach: int) -> None:
        """The files that import a touched one, those at a distance of up to ``reach`` whatever they use of it.

        Where all of them are known, a name that a touched file only handed on matters to nobody else. ``uris`` are
        those of `uris_of`.
        """
        for path, distance in found.files.items():
            if distance <= reach:
                self._hit(uris[path], tier + distance, hidden=False, only_imported=False)
        if found.complete:
            keys = {same_uri_key(uri) for uri in uris.values()}
            for one in (self, *self._joined):
                for key, hit in list(one._hits.items()):
                    if hit.only_imported and key not in keys:
                        del one._hits[key]

    def _all(self) -> dict[str, tuple[_Hit, str]]:
        """The hits, each with its URI: of what several searches have found, the better one."""
        found: dict[str, tuple[_Hit, str]] = {}
        for one in (self, *self._joined):
            for key, hit in one._hits.items():
                if key not in found or _rank(hit) < _rank(found[key][0]):
                    found[key] = hit, one._uris[key]
        return found

    def _uri_of(self, path: Path) -> str | None:
        try:
            return self._session.fence.resolve(str(path), intent="read").spelled_uri
        except OmbudError:
            return None

    def found(self, limit: int, partial: str | None) -> Found:
        """The best ``limit`` files; the others are left out, each with the reason."""
        ranked: dict[Path, tuple[tuple[int | bool | str, ...], Inside]] = {}
        left_out = list(self._left_out.items())
        for hit, uri in self._all().values():
            inside = self._inside(uri)
            if inside is None or inside.path in self._paths:
                continue
            if not self._server.entry.claims(language_of(inside.path), inside.path.name):
                left_out.append((inside.relative, f"{self._server.name} does not report on such files."))
                continue
            rank = (*_rank(hit), self._distance(inside), inside.relative)
            if inside.path not in ranked or ranked[inside.path][0] > rank:
                ranked[inside.path] = rank, inside
        ordered = sorted(ranked.values(), key=lambda one: one[0])
        files = tuple(inside for _, inside in ordered[: max(limit, 0)])
        reason = f"Over the limit of {limit} files (diagnostics.dependents)."
        left_out += [(one.relative, reason) for _, one in ordered[max(limit, 0) :]]
        return Found(files, tuple(left_out), partial)

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


def _rank(hit: _Hit) -> tuple[int, bool, int]:
    """The smaller the likelier to break."""
    return hit.tier, hit.hidden, -hit.count
