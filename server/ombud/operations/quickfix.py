"""Code actions where the workspace's rules have found something: those of the servers, and behind them our own.

Our own diagnostics, which a client sends along with its question, are no business of the servers' and are taken out.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from ombud.downstream.link import Outcome, Settle
from ombud.downstream.router import Running
from ombud.errors import Cancelled, OmbudError
from ombud.operations.asking import Asking
from ombud.operations.linting import SOURCE, Kept
from ombud.text.ranges import Range
from ombud.wire.values import dump, load, null

if TYPE_CHECKING:
    from ombud.operations.session import Session
    from ombud.operations.structural.ruling import Finding

LOG = logging.getLogger("ombud.quickfix")
METHOD = "textDocument/codeAction"
RESOLVE = "codeAction/resolve"
KIND = "quickfix"
MARK = "rule"
"""``data.ombud`` of an action of our own."""
TITLE_LIMIT = 80


class _Named(msgspec.Struct):
    uri: str


class _Context(msgspec.Struct):
    diagnostics: list[Raw] = []
    only: list[str] | None = None


class _Asked(msgspec.Struct):
    textDocument: _Named  # noqa: N815  (the protocol's name)
    range: Range
    context: _Context = msgspec.field(default_factory=_Context)


class _Made(msgspec.Struct):
    source: str | None = None


class _Data(msgspec.Struct):
    ombud: str = ""


class _Action(msgspec.Struct):
    data: Raw | UnsetType = UNSET


def answers(session: Session, method: str, params: Raw | UnsetType) -> bool:
    """Whether a question is one that rules have something to say to."""
    if not session.linting.speaks or not isinstance(params, Raw):
        return False
    return method == METHOD or (method == RESOLVE and _is_ours(params))


def request(session: Session, method: str, params: Raw, settle: Settle) -> Running:
    """A client's ``codeAction``, or the ``resolve`` of an action of ours, which is whole already."""
    if method == RESOLVE:
        asking = Asking(settle, lambda _: None)
        asking.finish(Raw(bytes(params)))
        return asking
    try:
        asked = load(params, _Asked)
    except msgspec.ValidationError:
        return session.router.request(method, params, settle)
    asking = Asking(settle, lambda _: None)

    def heard(outcome: Outcome) -> None:
        if not asking.done:
            task = session.hub.spawn(_join(session, asked, asking, outcome))
            asking.until(task.cancel)

    running = session.router.request(method, _without_ours(params, asked), heard)
    asking.until(running.cancel)
    return asking


def _is_ours(params: Raw) -> bool:
    if b'"ombud"' not in bytes(params):
        return False
    try:
        data = load(params, _Action).data
        return isinstance(data, Raw) and load(Raw(bytes(data)), _Data).ombud == MARK
    except msgspec.ValidationError:
        return False


def _without_ours(params: Raw, asked: _Asked) -> Raw:
    kept = [raw for raw in asked.context.diagnostics if not _made_here(raw)]
    if len(kept) == len(asked.context.diagnostics):
        return params
    fields = load(params, dict[str, Raw])
    context = {**load(fields["context"], dict[str, Raw]), "diagnostics": kept}
    return Raw(dump({**fields, "context": context}))


def _made_here(raw: Raw) -> bool:
    try:
        return load(raw, _Made).source == SOURCE
    except msgspec.ValidationError:
        return False


async def _join(session: Session, asked: _Asked, asking: Asking, outcome: Outcome) -> None:
    """The servers' answer with our own actions behind it: this is a request's boundary."""
    try:
        own: list[dict[str, Any]] = []
        if session.can("textDocument.codeAction.codeActionLiteralSupport") and _wanted(asked.context.only):
            kept = await session.linting.present(asked.textDocument.uri)
            own = list(_actions(kept, asked)) if kept is not None else []
        asking.finish(_joined(outcome, own))
    except asyncio.CancelledError:
        asking.finish(Cancelled())
        raise
    except Exception:
        LOG.exception("the fixes for %s could not be offered", asked.textDocument.uri)
        asking.finish(outcome)


def _joined(outcome: Outcome, own: Sequence[dict[str, Any]]) -> Outcome:
    if not own or (not isinstance(outcome, Raw) and not isinstance(outcome, OmbudError)):
        return outcome
    if isinstance(outcome, OmbudError) or null(outcome):
        return Raw(dump(own))
    try:
        theirs = load(outcome, list[Raw])
    except msgspec.ValidationError:
        return outcome
    return Raw(dump([*theirs, *own]))


def _wanted(only: Sequence[str] | None) -> bool:
    """Whether the client asks for quick fixes among others."""
    return not only or any(one in ("", KIND) for one in only)


def _actions(kept: Kept, asked: _Asked) -> Iterator[dict[str, Any]]:
    uri, rules = asked.textDocument.uri, dict[str, None]()
    for finding, item in zip(kept.findings, kept.items, strict=True):
        edits = _edits(finding)
        if edits is None or not _meet(load(item, _Ranged).range, asked.range):
            continue
        rules[finding.rule.id] = None
        title = finding.message.partition("\n")[0]
        title = title if len(title) <= TITLE_LIMIT else f"{title[: TITLE_LIMIT - 1]}…"
        yield _action(f"Fix: {title} ({finding.rule.id})", uri, edits, [item], preferred=True)
    for rule in rules:
        mine = [(one, item) for one, item in zip(kept.findings, kept.items, strict=True) if one.rule.id == rule]
        edits, number = _together([one for one, _ in mine])
        if number > 1:
            yield _action(f"Fix all {number} of {rule} in this file", uri, edits, [item for _, item in mine])


class _Ranged(msgspec.Struct):
    range: Range


def _action(
    title: str, uri: str, edits: list[dict[str, Any]], items: Sequence[Raw], *, preferred: bool = False
) -> dict[str, Any]:
    made = {
        "title": title,
        "kind": KIND,
        "diagnostics": list(items),
        "edit": {"changes": {uri: edits}},
        "data": {"ombud": MARK},
    }
    return {**made, "isPreferred": True} if preferred else made


def _edits(finding: Finding) -> list[dict[str, Any]] | None:
    from ombud.operations.structural.ground import range_of

    if finding.edits is None:
        return None
    return [{"range": range_of(place), "newText": new} for place, new in finding.edits]


def _together(findings: Sequence[Finding]) -> tuple[list[dict[str, Any]], int]:
    """The edits of all findings that do not touch one another, and how many findings that are."""
    out: list[dict[str, Any]] = []
    number, end = 0, None
    for finding in findings:
        edits = _edits(finding)
        if edits and (end is None or edits[0]["range"].start >= end):
            out += edits
            number += 1
            end = max(one["range"].end for one in edits)
    return out, number


def _meet(one: Range, other: Range) -> bool:
    return one.start <= other.end and other.start <= one.end
