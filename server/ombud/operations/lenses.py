"""“Debug test” above each test: code lenses of our own, behind those of the servers.

The lens's command is our own ``ombud.debug`` with a launch, so a client runs it through ``workspace/executeCommand``
like any other; trust is asked for there.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from ombud.debug.tests import Found, has_tests, outline
from ombud.downstream.link import Outcome, Settle
from ombud.downstream.router import Running
from ombud.errors import Cancelled, ContentModified
from ombud.operations.asking import Asking
from ombud.text.ranges import LINE_END, utf16_length
from ombud.wire.values import dump, load, null

if TYPE_CHECKING:
    from pathlib import Path

    from ombud.operations.session import Session

LOG = logging.getLogger("ombud.lenses")
METHOD = "textDocument/codeLens"
RESOLVE = "codeLens/resolve"
MARK = "test"
"""``data.ombud`` of a lens of our own."""
TITLE = "Debug test"


class _Named(msgspec.Struct):
    uri: str


class _Asked(msgspec.Struct):
    textDocument: _Named  # noqa: N815  (the protocol's name)


class _Data(msgspec.Struct):
    ombud: str = ""


class _Lens(msgspec.Struct):
    data: Raw | UnsetType = UNSET


def answers(session: Session, method: str, params: Raw) -> bool:
    """Whether a question is about a file of tests, or about a lens of ours."""
    if method == RESOLVE:
        return _is_ours(params)
    if method != METHOD:
        return False
    try:
        document = session.hub.documents.get(load(params, _Asked).textDocument.uri)
    except msgspec.ValidationError:
        return False
    return document is not None and has_tests(document.path, document.language)


def request(session: Session, method: str, params: Raw, settle: Settle) -> Running:
    """A client's ``codeLens``, or the ``resolve`` of a lens of ours, which is whole already."""
    asking = Asking(settle, lambda _: None)
    if method == RESOLVE:
        asking.finish(Raw(bytes(params)))
        return asking
    uri = load(params, _Asked).textDocument.uri

    def heard(outcome: Outcome) -> None:
        if not asking.done:
            asking.finish(_joined(session, uri, outcome))

    running = session.router.request(method, params, heard)
    asking.until(running.cancel)
    return asking


def _is_ours(params: Raw) -> bool:
    if b'"ombud"' not in bytes(params):
        return False
    try:
        data = load(params, _Lens).data
        return isinstance(data, Raw) and load(Raw(bytes(data)), _Data).ombud == MARK
    except msgspec.ValidationError:
        return False


def _joined(session: Session, uri: str, outcome: Outcome) -> Outcome:
    """The servers' answer with our own lenses behind it; this is a request's boundary."""
    if isinstance(outcome, Cancelled | ContentModified):
        return outcome
    try:
        own = _lenses(session, uri)
        if not own:
            return outcome
        theirs = load(outcome, list[Raw]) if isinstance(outcome, Raw) and not null(outcome) else []
        return Raw(dump([*theirs, *own]))
    except Exception:
        LOG.exception("the tests of %s could not be offered", uri)
        return outcome


def _lenses(session: Session, uri: str) -> list[dict[str, Any]]:
    document = session.hub.documents.get(uri)
    if document is None:
        return []
    place = _place(session, document.path)
    if place is None:
        return []
    found = outline(document.path, document.language, document.shown)
    lines = LINE_END.split(document.shown) if found else []
    return [_lens(one, lines[one.line], *place) for one in found]


def _place(session: Session, path: Path) -> tuple[str, str | None] | None:
    """A test file as its id names it, and the folder to run in where that is not the first; None outside of all."""
    folders = session.fence.folders
    # Of nested folders the innermost is the file's.
    holding = [one for one in folders if path.is_relative_to(one)]
    if not holding:
        return None
    folder = max(holding, key=lambda one: len(one.parts))
    return path.relative_to(folder).as_posix(), None if folder == folders[0] else str(folder)


def _lens(found: Found, line: str, file: str, cwd: str | None) -> dict[str, Any]:
    launch = {"op": "launch", "test": f"{file}::{found.name}", **({"cwd": cwd} if cwd is not None else {})}
    start, end = (utf16_length(line[:index]) for index in (found.start, found.end))
    return {
        "range": {
            "start": {"line": found.line, "character": start},
            "end": {"line": found.line, "character": end},
        },
        "command": {"title": TITLE, "command": "ombud.debug", "arguments": [launch]},
        "data": {"ombud": MARK},
    }
