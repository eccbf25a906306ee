"""The rules that count for a session: those of the workspace's own folder, of its configuration, or of a caller."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ombud.errors import OmbudError, UserError
from ombud.guard.redact import clean
from ombud.structural.rulefile import FILE_LIMIT, SUFFIXES
from ombud.structural.rules import Rules

if TYPE_CHECKING:
    from ombud.guard.fence import Inside
    from ombud.operations.session import Session

FOLDER = ".ombud/rules"
"""Where a workspace keeps its rules, in each of its folders."""
MOST_FILES = 500
GIVEN = "(given)"
"""What problems call the file of a rule that a caller gave in words."""

Named = str | dict[str, Any]


async def rulebook(session: Session, named: Sequence[Named] | None = None) -> Rules:
    """The rules of the workspace and its configuration; or those that ``named`` names, by file, folder or id, or gives.

    Raises `OmbudError` for what is named and not there. What is wrong within a file is among the problems.
    """
    return await asyncio.to_thread(_rulebook, session, named)


def _rulebook(session: Session, named: Sequence[Named] | None) -> Rules:
    if not named:
        return _usual(session)
    book, usual = Rules(), None
    for number, one in enumerate(named, 1):
        if isinstance(one, Mapping):
            book.add(GIVEN, one, f"rule-{number}")
            continue
        try:
            inside = session.fence.resolve(one, intent="read")
        except OmbudError as error:
            usual = usual or _usual(session)
            if error.kind != "not_found" or one not in usual.rules:
                raise _nowhere(one, error, usual) from None
            book.rules.setdefault(one, usual.rules[one])
        else:
            _read(session, inside, book)
    return book


def _nowhere(name: str, error: OmbudError, usual: Rules) -> OmbudError:
    if error.kind != "not_found":
        return error
    near = get_close_matches(name, usual.rules, 1)
    hint = f" Did you mean the rule {near[0]}?" if near else " Name a file or folder of rules, or the id of a rule."
    return UserError(f"{clean(name, 200)} is neither a file or folder of this workspace nor one of its rules.{hint}")


def _usual(session: Session) -> Rules:
    book = Rules()
    for inside in places(session, book):
        _read(session, inside, book)
    return book


def places(session: Session, book: Rules | None = None) -> list[Inside]:
    """The files and folders of rules that there are. ``book`` is told of those that are configured and not there."""
    out = []
    for folder in session.fence.folders:
        try:
            out.append(session.fence.resolve(str(folder / FOLDER), intent="read"))
        except OmbudError as error:
            if book is not None and error.kind != "not_found":
                book.problem(FOLDER, error.message)
    for name in session.configuration.rules:
        try:
            out.append(session.fence.resolve(name, intent="read"))
        except OmbudError as error:
            if book is not None:
                book.problem(clean(name, 200), f"It is among the “rules” of the configuration. {error.message}")
    return out


def files(session: Session, inside: Inside, book: Rules | None = None) -> list[Path]:
    """The rule files of a place: itself, or those below it."""
    from ombud.workspace.walk import Walk

    if not inside.path.is_dir():
        return [inside.path]
    found = []
    walk = Walk(session.fence, frozenset(), files=20_000, folders=1000, depth=8)
    for path in walk.files(inside.path):
        if path.suffix.lower() in SUFFIXES:
            found.append(path)
            if len(found) >= MOST_FILES:
                break
    if book is not None and (walk.note or len(found) >= MOST_FILES):
        note = walk.note or f"Only the first {MOST_FILES} files of rules were read."
        book.problem(inside.relative, note)
    return found


def _read(session: Session, inside: Inside, book: Rules) -> None:
    for path in files(session, inside, book):
        name = inside.relative
        try:
            one = session.fence.resolve(str(path), intent="read")
            name = one.relative
            if path.suffix.lower() not in SUFFIXES:
                book.problem(name, f"A file of rules is one of {', '.join(SUFFIXES)}.")
                continue
            book.read(name, session.fence.read(one, FILE_LIMIT).data)
        except OmbudError as error:
            book.problem(name, error.message)


def only(book: Rules, language: str) -> Rules:
    """The rules that can be for a file of that language."""
    mine = {key: rule for key, rule in book.rules.items() if not rule.languages or language in rule.languages}
    return replace(book, rules=mine)
