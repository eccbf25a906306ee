"""Standard requests that no language server can answer, answered from the code graph (LSP 3.17).

Where a server of the document has answered, its answer stands alone. ``workspace/symbol`` is a question to the whole
workspace: what the servers that run find is joined with what the graph knows of the languages that none of them serves.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, UnsetType, ValidationError

from ombud.downstream.link import Outcome, Settle
from ombud.downstream.router import Running, target
from ombud.errors import Cancelled, OmbudError
from ombud.wire.values import NULL, dump, load, null

if TYPE_CHECKING:
    from ombud.operations.session import Session

LOG = logging.getLogger("ombud.navigating")

CALLS = frozenset({"callHierarchy/incomingCalls", "callHierarchy/outgoingCalls"})
SYMBOLS = "workspace/symbol"
RESOLVE = "workspaceSymbol/resolve"
OF_DOCUMENT = frozenset(
    {
        "textDocument/documentSymbol",
        "textDocument/definition",
        "textDocument/references",
        "textDocument/prepareCallHierarchy",
        "textDocument/foldingRange",
    }
)
METHODS = OF_DOCUMENT | CALLS | {SYMBOLS, RESOLVE}
MARK = "graph"
"""``data.ombud`` of an item that the graph has made."""


class _Data(msgspec.Struct):
    ombud: str = ""


class _Item(msgspec.Struct):
    data: Raw | UnsetType = msgspec.UNSET


class _Followed(msgspec.Struct):
    item: _Item | UnsetType = msgspec.UNSET
    data: Raw | UnsetType = msgspec.UNSET


def _is_ours(params: Raw | UnsetType) -> bool:
    """Whether a follow-up is about an item that the graph has made."""
    if not isinstance(params, Raw) or b'"ombud"' not in bytes(params):
        return False
    try:
        found = load(params, _Followed)
        data = found.item.data if isinstance(found.item, _Item) else found.data
        return isinstance(data, Raw) and load(Raw(bytes(data)), _Data).ombud == MARK
    except msgspec.ValidationError:
        return False


def is_navigable(session: Session, method: str, uri: str | None) -> bool:
    """Whether the graph may know an answer about a document (None for a question to the whole workspace).

    It is a process of its own, which nobody has who said no to all of them (T1).
    """
    if session.root is None or session.said_no or not session.configuration.index.enabled:
        return False
    if method not in OF_DOCUMENT:
        return method == SYMBOLS
    path = session.path_of(uri) if uri is not None else None
    if uri is None or path is None:
        return False
    from ombud.graph.extract import LANGUAGES

    return (session.language(uri) or session.detector.language(path)) in LANGUAGES


def request(session: Session, method: str, params: Raw | UnsetType, settle: Settle) -> Running:
    """A request of one of `METHODS`. ``settle`` is called exactly once, possibly before this returns."""
    asked = _Asked(session, method, Raw(bytes(params)) if isinstance(params, Raw) else params, settle)
    if asked.mine:
        asked.turn(NULL)
    else:
        asked.route()
    return asked


class _Asked:
    """The servers first, then the graph. Answers exactly once; `cancel` works at any time."""

    def __init__(self, session: Session, method: str, params: Raw | UnsetType, settle: Settle) -> None:
        self._session = session
        self._method = method
        self._params = params
        self._settle: Settle | None = settle
        self.mine = _is_ours(params)
        self._routed: Running | None = None
        self._task: asyncio.Task[None] | None = None

    def route(self) -> None:
        """Ask the servers."""
        routed = self._session.router.request(self._method, self._params, self._answered)
        if self._task is None:
            self._routed = routed

    def _answered(self, outcome: Outcome) -> None:
        # Nobody's answer is this very object; what a server sends is one of its own, also where it is null.
        if self._method == SYMBOLS or outcome is NULL or self._is_failure(outcome):
            self.turn(outcome)
        else:
            self._finish(outcome)

    def _is_failure(self, outcome: Outcome) -> bool:
        """Whether none of the document's servers could be started."""
        if not isinstance(outcome, OmbudError) or outcome.kind != "server_failed" or self._method not in OF_DOCUMENT:
            return False
        uri = target(self._params)
        return uri is not None and not any(server.running for server in self._session.claim(uri))

    def turn(self, outcome: Outcome) -> None:
        """Ask the graph; ``outcome`` is the answer where it knows nothing."""
        if self._settle is None:
            return
        if self._method == RESOLVE and isinstance(self._params, Raw):
            # What the graph lists is whole.
            self._finish(self._params if self.mine else outcome)
        elif self.mine or is_navigable(self._session, self._method, target(self._params)):
            self._task = self._session.hub.spawn(self._ask(outcome))
        else:
            self._finish(outcome)

    async def _ask(self, outcome: Outcome) -> None:
        from ombud.operations.graph.standard import answer

        try:
            found = await answer(self._session, self._method, self._params)
        except (OmbudError, ValidationError) as error:
            # Nobody has asked for the graph: where it cannot tell, the answer is what it was without it.
            LOG.debug("%s from the graph: %s", self._method, error)
            found = None
        except asyncio.CancelledError:
            self._finish(Cancelled())
            raise
        except Exception:
            LOG.exception("%s could not be answered from the graph", self._method)
            found = None
        self._finish(joined(outcome, found))

    def _finish(self, outcome: Outcome) -> None:
        settle, self._settle = self._settle, None
        if settle is not None:
            settle(outcome)

    def cancel(self) -> None:
        routed, self._routed = self._routed, None
        if self._task is not None:
            self._finish(Cancelled())
            self._task.cancel()
        elif routed is not None:
            routed.cancel()


def joined(outcome: Outcome, found: list[Any] | None) -> Outcome:
    """The servers' outcome with what the graph has found; for a list of theirs, ours behind it."""
    if not found:
        return outcome
    if isinstance(outcome, Raw) and not null(outcome):
        try:
            return Raw(dump([*load(outcome, list[Raw]), *found]))
        except msgspec.ValidationError:
            return outcome
    return Raw(dump(found))
