"""From a caller's words to a search, and from what was found to an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ombud.errors import OmbudError, Refused, UserError
from ombud.operations.structural.shapes import (
    Asking,
    LanguageShape,
    MatchShape,
    PlaceShape,
    SkippedShape,
)
from ombud.structural.messages import FULL, LARGE, LATE, Hit, Opened, Place, Root
from ombud.structural.query import Condition, Query
from ombud.structural.search import Job, Outcome
from ombud.syntax.grammars import GRAMMARS
from ombud.text.ranges import Position, Range

if TYPE_CHECKING:
    from ombud.operations.session import Session

TOGETHER = {"javascript": ("javascript", "javascriptreact")}
"""Languages that are one to whoever names them: they have the same grammar."""


@dataclass(slots=True)
class Ground:
    """Where a search takes place. ``roots`` are as the search has them."""

    session: Session
    roots: list[Root]
    languages: tuple[str, ...]
    opened: list[Opened] = field(default_factory=list)

    def shown(self, root: int, path: str) -> str:
        """A path as results name it: relative to the first folder, absolute in another one."""
        first = str(self.session.fence.folders[0]).rstrip("/")
        return f"{self.roots[root].path.rstrip('/')}/{path}".removeprefix(f"{first}/")

    def job(self, query: Query, asking: Asking, context: int = 0, most: int | None = None) -> Job:
        return Job(
            query,
            self.roots,
            self.languages,
            tuple(asking.globs or ()),
            self.opened,
            asking.max_results if most is None else most,
            context,
            processes=self.session.configuration.trusted is not False,
        )


def ground(session: Session, language: str | None, path: str | None) -> Ground:
    """Where to search. Raises UserError (``unknown_language``), `Refused` as the fence does."""
    languages = known_language(language) if language is not None else ()
    configuration = session.configuration
    rules = list(configuration.sensitive_add), list(configuration.sensitive_allow)
    if path is not None:
        inside = session.fence.resolve(path, intent="read")
        start = inside.path.relative_to(inside.folder).as_posix()
        is_file = inside.path.is_file()
        if not is_file and not inside.path.is_dir():
            raise Refused(f"{inside.relative} is neither a file nor a folder. Name one of these.", kind="not_text")
        start = "" if start == "." else start
        # A file whose language the caller names is read as that, whatever its name.
        named = languages[0] if is_file and languages else ""
        roots = [Root(str(inside.folder), start, is_file, named, *rules)]
    else:
        folders = session.fence.folders
        if not folders:
            raise Refused("There is no workspace folder, so there is nothing to search.", kind="outside_workspace")
        outer = [one for one in folders if not any(one != other and one.is_relative_to(other) for other in folders)]
        roots = [Root(str(one), "", False, "", *rules) for one in outer]
    found = Ground(session, roots, languages)
    found.opened = _opened(session, roots)
    return found


def known_language(language: str) -> tuple[str, ...]:
    """The ids of a language that has a grammar. Raises UserError (``unknown_language``) with the nearest names."""
    from ombud.syntax.languages import canonical, load_languages

    name = canonical(language.strip())
    if name in GRAMMARS:
        return TOGETHER.get(name, (name,))
    words = {**{one: one for one in GRAMMARS}, **_aliases()}
    near = list(dict.fromkeys(words[one] for one in get_close_matches(language.lower(), words, 3, 0.6)))
    known = name in load_languages().languages
    what = f"There is no grammar for {language}" if known else f"{language!r} is no language that is known here"
    hint = f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(sorted(GRAMMARS))}."
    raise UserError(f"{what}. {hint}", kind="unknown_language", language=language, near=near)


def _aliases() -> dict[str, str]:
    from ombud.syntax.languages import load_languages

    rows = load_languages().languages
    return {alias: name for name, row in rows.items() if name in GRAMMARS for alias in row.aliases}


def _opened(session: Session, roots: Sequence[Root]) -> list[Opened]:
    """What clients have in their buffers of the files that are searched; the session's own text before others'."""
    from ombud.syntax.languages import canonical

    found = []
    for document in session.hub.documents.all():
        owners = session.hub.owners(document)
        language = canonical(document.language)
        if not owners or not document.uri.startswith("file:") or language not in GRAMMARS:
            continue
        number = next((number for number, root in enumerate(roots) if _is_in(document.path, root)), None)
        if number is None:
            continue
        try:
            session.fence.resolve(str(document.path), intent="write")
        except OmbudError:
            continue
        text = owners[session].text if session in owners else document.shown
        path = document.path.relative_to(roots[number].path).as_posix()
        found.append(Opened(number, path, language, text.removeprefix("\ufeff").encode("utf-8", "replace")))
    return found


def _is_in(path: Path, root: Root) -> bool:
    start = Path(root.path, root.start)
    return path == start if root.file else path.is_relative_to(start)


def query(asking: Asking, pattern: str | None, several: Sequence[str] | None, strictness: Any = "exact") -> Query:
    """What to look for. Raises UserError where nothing is said, or two things at once."""
    if pattern is not None and several:
        raise UserError("Pass either pattern or any, not both.")
    if pattern is None and not several and asking.kind is None:
        raise UserError("Say what to look for: pattern, any (several patterns) or kind.")
    if pattern is not None and not pattern.strip():
        raise UserError("The pattern is empty; write code in it, with $NAME for what may be anything.")
    return Query(
        pattern=pattern,
        any=list(several or []),
        kind=asking.kind,
        where=asking.where or {},
        inside=asking.inside,
        not_inside=asking.not_inside,
        has=asking.has,
        not_has=asking.not_has,
        strictness=strictness,
    )


def without_types(wanted: Query) -> tuple[Query, dict[str, str]]:
    """The query without its conditions on types, and these: metavariable → name of the type.

    Raises UserError for one within a ``not``, which no server can be asked.
    """
    types: dict[str, str] = {}
    where: dict[str, Condition] = {}
    for name, condition in wanted.where.items():
        if _denies_type(condition.not_):
            raise UserError(f"type cannot stand within not (where, {name}); a server only says what a type is.")
        if condition.type is not None:
            types[name] = condition.type
        rest = msgspec.structs.replace(condition, type=None)
        if rest != Condition():
            where[name] = rest
    return msgspec.structs.replace(wanted, where=where), types


def _denies_type(condition: Condition | str | None) -> bool:
    if not isinstance(condition, Condition):
        return False
    return condition.type is not None or _denies_type(condition.not_)


# -- answers --------------------------------------------------------------------------------------------------------


def match(found: Ground, hit: Hit, *, around: bool = False) -> MatchShape:
    """A hit as it is told; ``around`` adds the lines before and after it."""
    captures: dict[str, PlaceShape | list[PlaceShape]] = {name: _place(one) for name, one in hit.places.items()}
    captures |= {name: [_place(one) for one in several] for name, several in hit.lists.items()}
    return MatchShape(
        path=found.shown(hit.root, hit.path),
        line=hit.place.line + 1,
        end_line=hit.place.end_line + 1,
        range=range_of(hit.place),
        text=hit.place.text,
        captures=captures,
        kind=hit.kind,
        before=hit.before if around else None,
        after=hit.after if around else None,
    )


def _place(place: Place) -> PlaceShape:
    return PlaceShape(text=place.text, range=range_of(place))


def range_of(place: Place) -> Range:
    return Range(Position(place.line, place.column), Position(place.end_line, place.end_column))


def said(found: Ground, outcome: Outcome, *notes: str | None) -> dict[str, Any]:
    """The fields of a `Searched`."""
    language = outcome.language()
    rows = [
        LanguageShape(
            language=one,
            parsed_as=outcome.parsed_as(one) if reading.rungs else None,
            files=reading.files,
            matches=reading.matches,
        )
        for one, reading in sorted(outcome.readings.items())
    ]
    return {
        "files_searched": outcome.searched,
        "files_skipped": [
            SkippedShape(path=found.shown(root, path), reason=reason) for root, path, reason in outcome.skipped
        ],
        "truncated": outcome.truncated,
        "parsed_as": outcome.parsed_as(language) if language is not None else None,
        "also_parses_as": outcome.also_parses_as(language) if language is not None else [],
        "parse_errors": [found.shown(root, path) for root, path in outcome.flawed],
        "languages": rows,
        "total": outcome.total,
        "note": _note(outcome, notes),
    }


def _note(outcome: Outcome, notes: Sequence[str | None]) -> str | None:
    parts = [*outcome.notes]
    if outcome.stopped == FULL:
        known = f"of {outcome.total:,} matches" if outcome.total is not None else "and there are more"
        parts.append(
            f"Shown the first {len(outcome.hits):,} {known}; narrow the search by path, globs or where, or raise "
            "maxResults."
        )
    elif outcome.stopped == LATE:
        parts.append("There was no time to look at everything; narrow the search by path, globs or language.")
    elif outcome.stopped == LARGE:
        parts.append("The answer grew too large, so not everything was looked at; narrow the search.")
    if outcome.left:
        parts.append(f"{outcome.left:,} more files were skipped than are listed.")
    parts += [one for one in notes if one]
    return " ".join(parts) or None
