"""Code actions: what servers offer at a place, and one of them carried out (the action ``code_actions`` of ``lsp``).

Quick fixes hang on diagnostics, so servers are given the time to speak about the file first. An action is carried out
as an editor does it: it is resolved, its edit is made, and then its command is run by the server that offered it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from ombud.diagnostics.items import range_of
from ombud.downstream.router import COMMAND_SECONDS
from ombud.downstream.server import Server
from ombud.errors import OmbudError, Refused, UserError
from ombud.operations import answers
from ombud.operations.diagnostics import settled, turns
from ombud.operations.lsp import Asking, Params, Result, checked
from ombud.operations.targets import Target, opened, place
from ombud.operations.writing.applying import Applied, Commanded, carry_out, reported, words_of
from ombud.operations.writing.edits import Asked, shown
from ombud.operations.writing.perform import fresh_id
from ombud.operations.writing.plan import Options
from ombud.operations.writing.result import WriteResult
from ombud.text.ranges import Position
from ombud.wire.values import load_any, null

if TYPE_CHECKING:
    from ombud.operations.session import Session

METHOD = "textDocument/codeAction"
RESOLVE = "codeAction/resolve"
EXECUTE = "workspace/executeCommand"
LISTED = 40
"""How many titles an error names."""


class AppliedAction(WriteResult, kw_only=True):
    """As a write; ``items`` is the action that was carried out."""

    items: list[dict[str, Any]]
    complete: bool
    servers: list[str]


@dataclass(frozen=True, slots=True)
class Offer:
    """A ``CodeAction`` or bare ``Command`` as its server gave it, and ``item`` as it is shown."""

    server: Server
    action: dict[str, Any]
    item: dict[str, Any]

    @property
    def title(self) -> str:
        title: str = self.item["title"]
        return title

    @property
    def named(self) -> str:
        """The title with its server, which tells two of one title apart."""
        return f"{self.server.name}: {self.title}"

    @property
    def command(self) -> dict[str, Any] | None:
        """``{command, arguments?}``; a bare ``Command`` is one itself."""
        command = self.action.get("command")
        if isinstance(command, str):
            return self.action
        return command if isinstance(command, dict) and isinstance(command.get("command"), str) else None


async def run(session: Session, params: Params) -> Result | AppliedAction:
    """List the actions of a place, or carry out the one that ``apply`` names.

    Raises as `ombud.operations.lsp.run`, and for ``apply``: `Refused` (``permission_denied`` without the tier write,
    ``not_found`` with the titles where none is meant, ``conflict`` for one that cannot be done now), `UserError` where
    several could be meant, and whatever a write raises.
    """
    if params.path is None:
        raise UserError("code_actions needs a path.")
    if params.apply is not None:
        session.tiers.require("write", session.trust, "lsp code_actions with apply")
    options = Options.of(session, params)
    asking = Asking(session)
    async with AsyncExitStack() as stack:
        target = await _settled(asking, params.path, options.wait_ms / 1000, stack)
        where = place(target.document, target.inside.relative, params.line, params.symbol, params.position)
        asked = shown(session)
        offers = await _offers(session, asking, target, where)
        listed = checked(asking, target, asking.result([one.item for one in offers], params.limit), METHOD)
        if params.apply is None:
            return listed
        offer = await _resolved(chosen(offers, params.apply, target.inside.relative))
        return await _carried_out(session, offer, asked, options, listed)


async def _settled(asking: Asking, path: str, seconds: float, stack: AsyncExitStack) -> Target:
    """Hold the file open until ``stack`` ends, once its servers have spoken about it; at most for ``seconds``."""
    session = asking.session
    async with turns(session, path):
        target = stack.enter_context(opened(session, path))
        verdicts = await settled(session, target.document, target.servers, seconds)
    late = [one.server for one in verdicts if one.freshness == "timed_out"]
    asking.notes += [f"{name} had not reported on the file yet, so its quick fixes may be missing." for name in late]
    return target


async def _offers(session: Session, asking: Asking, target: Target, where: Position) -> list[Offer]:
    """What the servers offer, by priority. Each is told of the diagnostics of the line that are its own."""

    def params(server: Server) -> dict[str, Any]:
        track = session.hub.store.tracks(target.document.key).get(server)
        own = [] if track is None else _of_line(track.joined(), where.line)
        return {
            "textDocument": {"uri": target.document.uri},
            "range": {"start": where, "end": where},
            "context": {"diagnostics": own, "triggerKind": 1},
        }

    found = await asking.all(target.servers, METHOD, params)
    out = []
    for server, answer in found:
        actions = [one for one in answer if isinstance(one, dict)] if isinstance(answer, list) else []
        items = answers.code_actions(server.name, actions)
        out += [Offer(server, action, item) for action, item in zip(actions, items, strict=True)]
    return out


def _of_line(raws: Iterable[Raw], line: int) -> list[Raw]:
    return [raw for raw in raws if (where := range_of(raw)) and where.start.line <= line <= where.end.line]


# -- which one ------------------------------------------------------------------------------------------------


def chosen(offers: Sequence[Offer], title: str, path: str) -> Offer:
    """The action that ``title`` means: by its whole title, by the only one that begins with it, or that contains it.

    ``server: title`` tells two of one title apart. Raises `Refused` (``not_found``) where none is meant, and
    `UserError` where several are; both name the titles.
    """
    wanted = title.strip()
    low = wanted.lower()
    ways = (
        lambda offer: wanted in (offer.title, offer.named),
        lambda offer: low in (offer.title.lower(), offer.named.lower()),
        lambda offer: offer.title.lower().startswith(low) or offer.named.lower().startswith(low),
        lambda offer: low in offer.title.lower(),
    )
    for way in ways:
        found = [offer for offer in offers if way(offer)]
        if len({_meaning(offer) for offer in found}) == 1:
            return found[0]
        if found:
            listed = _titles(found)
            raise UserError(
                f"{title!r} could be {len(found)} code actions; name one as its server and title: {listed}.",
                titles=[offer.named for offer in found],
            )
    if not offers:
        raise Refused(f"No code action is offered there in {path}.", kind="not_found", titles=[])
    raise Refused(
        f"No code action there in {path} is called {title!r}; there are: {_titles(offers)}.",
        kind="not_found",
        titles=[offer.title for offer in offers],
    )


def _meaning(offer: Offer) -> str:
    """What makes two offers the same: a server may make one for each of two diagnostics of a line."""
    return f"{offer.named}\0{[offer.action.get(key) for key in ('edit', 'command', 'arguments', 'data', 'kind')]!r}"


def _titles(offers: Sequence[Offer]) -> str:
    names = list(dict.fromkeys(repr(offer.named) for offer in offers))
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more} more" if more > 0 else "")


async def _resolved(offer: Offer) -> Offer:
    """The action with its edit. Raises `Refused` (``conflict``) for one that its server has disabled."""
    disabled = offer.item.get("disabled")
    if disabled is not None:
        raise Refused(
            f"{offer.named} cannot be done now: {disabled or 'its server does not say why'}.", kind="conflict"
        )
    bare = isinstance(offer.action.get("command"), str)
    if bare or offer.action.get("edit") is not None or not offer.server.offers(RESOLVE):
        return offer
    raw = await offer.server.ask(RESOLVE, offer.action)
    action = None if null(raw) else load_any(Raw(bytes(raw)))
    return replace(offer, action={**offer.action, **action}) if isinstance(action, dict) else offer


# -- doing it -------------------------------------------------------------------------------------------------


async def _carried_out(session: Session, offer: Offer, asked: Asked, options: Options, listed: Result) -> AppliedAction:
    """The edit, then the command; both are reported together."""
    edit, command = offer.action.get("edit"), offer.command
    _check(offer, edit, command, options)
    notes: list[str] = []
    if command is None:
        applied = await carry_out(session, edit, options, offer.title, author=offer.server.name, asked=asked)
        if applied is None:
            raise Refused(f"{offer.named} changes nothing; nothing was written.", kind="not_found")
        return _answer(applied.result, offer, listed, notes)
    steps: list[Applied] = []
    if edit:
        later = replace(options, report="none" if options.report == "none" else "defer")
        first = await carry_out(session, edit, later, offer.title, author=offer.server.name, asked=asked)
        steps += [first] if first is not None else []
    steps += await _commanded(session, offer, command, options, notes, begun=bool(steps))
    if not steps:
        return _answer(_nothing_written(offer), offer, listed, notes)
    return _answer(await reported(session, steps, options, offer.title), offer, listed, notes)


def _check(offer: Offer, edit: Any, command: dict[str, Any] | None, options: Options) -> None:
    """Before anything is written. Raises `Refused`."""
    if not edit and command is None:
        raise Refused(f"{offer.named} has neither an edit nor a command; nothing was written.", kind="not_found")
    if command is None:
        return
    name, server = command["command"], offer.server
    if name not in server.capabilities.commands or not server.offers(EXECUTE):
        raise Refused(
            f"{offer.named} needs the command {name!r}, which is one of an editor and not of {server.name}; nothing "
            "was written.",
            kind="conflict",
            command=name,
        )
    if options.preview:
        raise Refused(
            f"{offer.named} is done by the command {name!r} of {server.name}, and what a command does cannot be "
            "previewed; nothing was written.",
            kind="conflict",
            command=name,
        )


async def _commanded(
    session: Session, offer: Offer, command: dict[str, Any], options: Options, notes: list[str], *, begun: bool
) -> list[Applied]:
    """Run the command, and make the edits that the server sends meanwhile.

    Raises what went wrong where nothing was written yet; else it becomes a note, since something has been.
    """
    server = offer.server
    commanded = Commanded(session, server, options, offer.title)
    params = {key: command[key] for key in ("command", "arguments") if key in command}
    session.chosen(server)
    failure: OmbudError | None = None
    with session.hub.asks.editing.of_command(server, commanded):
        try:
            await server.ask(EXECUTE, params, timeout=COMMAND_SECONDS)
        except OmbudError as error:
            failure = error
        await commanded.over()
    if commanded.refused and not commanded.applied and not begun:
        raise Refused(f"{offer.named} was not carried out: {words_of(commanded.refused)}", kind=commanded.kind)
    if failure is not None and not commanded.applied and not begun:
        raise failure
    if failure is not None:
        notes.append(failure.message)
    if commanded.refused:
        notes.append(f"Not all of it was done: {words_of(commanded.refused)}")
    return commanded.applied


def _nothing_written(offer: Offer) -> WriteResult:
    return WriteResult(
        applied=True,
        message=f"{offer.server.name} has carried out {offer.title!r} and sent no edits: no file was written by it.",
        files=[],
        write_id=fresh_id(),
        diagnostics=None,
    )


def _answer(result: WriteResult, offer: Offer, listed: Result, notes: Sequence[str]) -> AppliedAction:
    said = {name: getattr(result, name) for name in result.__struct_fields__}
    told = [*filter(None, [result.note]), *notes, *filter(None, [listed.note])]
    head, gap, rest = result.message.partition("\n\n")
    message = " ".join([head, *notes]) + gap + rest
    return AppliedAction(
        **{**said, "note": " ".join(dict.fromkeys(told)) or None, "message": message},
        items=[offer.item],
        complete=listed.complete,
        servers=listed.servers,
    )
