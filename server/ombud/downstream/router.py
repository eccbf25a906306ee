"""From a client's request to the servers that are asked: each policy of `methods` carried out, for one client."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import msgspec
from msgspec import UNSET, Raw, UnsetType

from ombud.downstream import fileops
from ombud.downstream.commands import Commands
from ombud.downstream.forward import Call, Forward, Lent, Params, Passing
from ombud.downstream.gather import Gather
from ombud.downstream.items import Item, Mark, take_off
from ombud.downstream.link import Outcome, Settle
from ombud.downstream.methods import LISTED_BY, POLICIES, Policy
from ombud.downstream.selecting import selects
from ombud.downstream.semantic import Tokens
from ombud.downstream.server import Server
from ombud.downstream.states import State
from ombud.downstream.triggers import meant
from ombud.errors import METHOD_NOT_FOUND, OmbudError, UserError
from ombud.wire.values import NULL, dump, load


class Running(Protocol):
    """A client's request under way."""

    def cancel(self) -> None:
        """Answer it at once with -32800; what comes later is dropped."""


Transform = Callable[[Server, Raw], Raw]

FORMATTERS = {"formatter": 0, "linter": 1, "syntax": 2, "spelling": 3, "types": 4}
"""Who formats a document: by what a server is there for, then by priority."""
COMMAND_SECONDS = 600.0
"""How long a command may take: it is the user's own wish, such as to run tests, and can be cancelled."""
_TOKENS = "textDocument/semanticTokens/"
_HIERARCHY = ("callHierarchy/", "typeHierarchy/")
_ANY_NAME = Raw(b'{"defaultBehavior":true}')
"""``prepareRename`` of a server that renames without preparing: what the client thinks is a name is one."""


class _Uri(msgspec.Struct):
    uri: str | UnsetType = UNSET


class _Targeted(msgspec.Struct):
    textDocument: _Uri | UnsetType = UNSET  # noqa: N815  (the protocol's name)
    item: _Uri | UnsetType = UNSET
    uri: str | UnsetType = UNSET


class _Command(msgspec.Struct):
    command: str = ""


def target(params: Params) -> str | None:
    """The URI that a request is about: of its document, of its hierarchy item, or its own ``uri``."""
    if isinstance(params, UnsetType):
        return None
    try:
        found = load(params, _Targeted)
    except (msgspec.ValidationError, ValueError):
        return None
    for place in (found.textDocument, found.item):
        if isinstance(place, _Uri) and isinstance(place.uri, str):
            return place.uri
    return found.uri if isinstance(found.uri, str) else None


class _Spelled(msgspec.Struct):
    uri: Raw


class _SpelledTarget(msgspec.Struct):
    textDocument: _Spelled  # noqa: N815


def _respelled(params: Raw, uri: str) -> Raw:
    """``params`` with the document's URI as its servers know it; every other byte stays.

    A hierarchy item's URI is the server's own and stays as well.
    """
    try:
        token = bytes(load(params, _SpelledTarget).textDocument.uri)
    except msgspec.ValidationError:
        return params
    return Raw(bytes(params).replace(token, dump(uri)))


class Ground(Protocol):
    """What a router needs to know of its client: the session gives it."""

    def claim(self, uri: str) -> Sequence[Server]:
        """The servers of a document, by priority."""

    def running(self) -> Sequence[Server]:
        """The servers that run for this client at all, by priority."""

    def find(self, tag: str) -> Server | None:
        """One of the client's servers by its tag, running or not."""

    def version(self, uri: str) -> int | None:
        """The version of an open document."""

    def language(self, uri: str) -> str | None:
        """The language id of an open document, as servers know it."""

    def spelling(self, uri: str) -> str:
        """The URI under which servers know a document."""

    def with_own_diagnostics(self, server: Server, uri: str, params: Params) -> Params:
        """The params of a code action without the diagnostics that only other servers of the document have made."""

    def chosen(self, server: Server) -> None:
        """A request of this client is about to be sent to ``server``."""

    def lend(self, server: Server, params: Params, shape: Callable[[Raw], Raw] | None) -> Lent:
        """``params`` with progress tokens of ours in place of the client's."""

    def commanding(self, server: Server, params: Params, shape: Callable[[Raw], Raw] | None) -> Lent:
        """As `lend`, for a command that ``server`` is about to carry out for this client."""


class Router:
    """Routing for one client; see `Ground` for what it stands on."""

    def __init__(self, ground: Ground, tokens: Tokens | None = None) -> None:
        self._ground = ground
        self._tokens = tokens
        self.commands = Commands(ground.running)
        self._seal = f"#{os.urandom(6).hex()}"
        """The end of this router's marks: ``data`` of a server's own that looks like one, another Ombud's, is none."""
        self._plain: dict[str, str] = {}
        """Listing method → the tag of the server whose items of it the client gets without a mark."""

    def request(self, method: str, params: Params, settle: Settle) -> Running:
        """Send a client's request on its way. ``settle`` is called exactly once, possibly before this returns."""
        policy = POLICIES.get(method, Policy.VENDOR)
        if policy is Policy.OWNER:
            return self._owner(method, params, settle)
        if policy is Policy.COMMAND:
            return self._command(method, params, settle)
        if policy is Policy.FILES:
            return self._files(method, params, settle)
        if policy is Policy.RUNNING:
            return self._several(list(self._ground.running()), self._call(method, params), settle)
        uri = target(params)
        if policy is Policy.VENDOR:
            return self._vendor(method, params, uri, settle)
        if uri is None:
            return _refused(UserError(f"{method} names no document: it needs textDocument.uri."), settle)
        params, servers = self._of_document(params, uri)
        servers = self._selecting(servers, method, uri)
        call = self._call(method, params, uri)
        if method == "textDocument/codeAction" and len(servers) > 1:
            call.worded = partial(self._ground.with_own_diagnostics, uri=uri, params=params)
        if policy is Policy.ALL:
            return self._several(servers, call, settle)
        if policy is Policy.FORMATTER:
            servers.sort(key=formatting_rank)
        elif policy is Policy.RENAMER:
            _rename(call)
        elif policy is Policy.TOKENS:
            return self._semantic(servers, call, settle)
        found = policy is Policy.FOUND and not _streams(params)
        call.shape = self._shape(method)
        return Forward(servers, call, settle, passes=Passing.nothing_found if found else Passing.never)

    def mark(self, server: Server, listing: str) -> Mark:
        """What the items of ``server`` get in an answer to ``listing``: nothing, where it is the plain one.

        Nor do items that never come back.
        """
        if listing not in _MARKED:
            return Mark()
        plain = self._plain.setdefault(listing, server.tag) == server.tag
        return Mark("" if plain else server.tag + self._seal, self.commands.renamed(server))

    # -- the parts of the policies ----------------------------------------------------------------------------

    def _call(self, method: str, params: Params, uri: str | None = None) -> Call:
        call = Call(method, params, lambda server: server.offers(method), chosen=self._ground.chosen)
        if uri is not None:
            call.version = partial(self._ground.version, uri)
        if isinstance(params, Raw) and b'Token"' in bytes(params):
            call.lend = self._ground.lend
        by_character = meant(method, params) if isinstance(params, Raw) else None
        if by_character is not None:
            call.able = lambda server: server.offers(method) and by_character(server.capabilities)
        return call

    def _of_document(self, params: Params, uri: str) -> tuple[Params, list[Server]]:
        if isinstance(params, Raw) and (known := self._ground.spelling(uri)) != uri:
            params = _respelled(params, known)
        return params, list(self._ground.claim(uri))

    def _selecting(self, servers: list[Server], method: str, uri: str) -> list[Server]:
        """``servers`` without those that registered ``method`` for other documents, where another has it for this."""
        if len(servers) < 2:
            return servers
        language = self._ground.language(uri)
        out = [
            one for one in servers if one.state is not State.READY or selects(one.capabilities, method, uri, language)
        ]
        return out if any(one.state is not State.READY or one.offers(method) for one in out) else servers

    def _several(self, servers: list[Server], call: Call, settle: Settle) -> Running:
        """One that can: verbatim. Several: joined."""
        able = [server for server in servers if server.state is not State.READY or call.able(server)]
        if len(able) <= 1:
            call.shape = self._shape(call.method)
            return Forward(able, call, settle)
        if call.lend is not None:
            # A joined answer comes whole, for its parts could not be taken back; one server shows its work.
            first, worded = able[0], call.worded or (lambda _: call.params)
            call.worded = lambda server: _without(
                worded(server), ("partialResultToken",) if server is first else ("partialResultToken", "workDoneToken")
            )
        return Gather(able, call, settle, partial(self.mark, listing=call.method))

    def _shape(self, method: str) -> Transform | None:
        """What a single server's answer needs: marks, if its items come back by a follow-up and it is not plain."""
        if method == "textDocument/completion":
            return self._shape_completion
        if method not in _MARKED:
            return None
        return lambda server, raw: self.mark(server, method).put_on_all(raw, method)

    def _shape_completion(self, server: Server, raw: Raw) -> Raw:
        mark = self.mark(server, "textDocument/completion")
        if not mark:
            return raw
        from ombud.downstream.joins import Part, join

        return join("textDocument/completion", [Part(raw, mark)])

    def _owner(self, method: str, params: Params, settle: Settle) -> Running:
        """A follow-up on an item. One that its server cannot resolve is answered as it is."""
        if not isinstance(params, Raw):
            return _refused(UserError(f"{method} needs the item that it is about."), settle)
        hierarchy = method.startswith(_HIERARCHY)
        listing = LISTED_BY[method]
        tag, own = take_off(params, inside="item" if hierarchy else None)
        if not tag.endswith(self._seal):
            tag, own = self._plain.get(listing, ""), params
        server = self._ground.find(tag.removesuffix(self._seal))
        if server is not None and not hierarchy and (mark := self.mark(server, listing)).renamed:
            own = mark.name_back(own)
        call = self._call(method, own)

        def shape(server: Server, raw: Raw) -> Raw:
            mark = self.mark(server, listing)
            if not mark:
                return raw
            return mark.put_on_all(raw, method) if hierarchy else mark.put_on(raw, method)

        call.shape = shape
        nobody = NULL if hierarchy else Raw(bytes(params))
        return Forward([server] if server is not None else [], call, settle, nobody=nobody)

    def _semantic(self, servers: list[Server], call: Call, settle: Settle) -> Running:
        """The first server that knows all tokens of a document owns it, also when it is asked about a range.

        One that knows ranges only is asked where no other is known to know more.
        """
        method, whole = call.method, f"{_TOKENS}full"
        servers.sort(key=lambda server: server.state is State.READY and not server.offers(whole))

        def worth_asking(server: Server) -> bool:
            return server.offers(whole) or (method == f"{_TOKENS}range" and server.offers(method))

        def instead(server: Server) -> Outcome | None:
            # A delta that its owner cannot make was asked for because Ombud announces it: the client asks again.
            return None if server.offers(method) else NULL

        call.able, call.instead, call.shape = worth_asking, instead, self._tokens
        if method == f"{_TOKENS}full/delta":
            ready = [server for server in servers if server.state is State.READY and worth_asking(server)]
            if ready and not ready[0].offers(method):
                call.method, call.instead = f"{_TOKENS}full", None
                call.params = _without(call.params, ("previousResultId",))
        tokens = self._tokens
        if tokens is not None and _streams(call.params):
            # Parts go to the client as progress, where nobody exchanges their numbers; so they come whole.
            params = call.params
            call.worded = lambda server: params if tokens.agree(server) else _without(params, ("partialResultToken",))
        return Forward(servers, call, settle)

    def _command(self, method: str, params: Params, settle: Settle) -> Running:
        try:
            name = load(params, _Command).command if isinstance(params, Raw) else ""
        except (msgspec.ValidationError, ValueError):
            name = ""
        raw = params if isinstance(params, Raw) else NULL
        owners, own = self.commands.find(name, bytes(raw))
        call = self._call(method, params if own == name else _commanding(raw, own))
        call.lend, call.timeout = self._ground.commanding, COMMAND_SECONDS
        call.able = lambda server: (
            server.offers(method) and (own in server.capabilities.commands or self._alone(method))
        )
        nobody = UserError(f"No running server offers the command {name!r}.", kind="not_found")
        return Forward(owners, call, settle, nobody=nobody)

    def _alone(self, method: str) -> bool:
        """Whether one server takes commands at all: one that it did not list can only be meant for it."""
        return sum(one.state is not State.READY or one.offers(method) for one in self._ground.running()) == 1

    def _files(self, method: str, params: Params, settle: Settle) -> Running:
        """A file operation: each server gets the files that its filters ask for."""
        if not isinstance(params, Raw):
            return _refused(UserError(f"{method} needs its files."), settle)
        parts = fileops.shares(self._ground.running(), method, params)
        call = self._call(method, params)
        call.worded = lambda server: parts[server]
        if len(parts) == 1:
            return Forward(list(parts), call, settle)
        return Gather(list(parts), call, settle, lambda _: Mark())

    def _vendor(self, method: str, params: Params, uri: str | None, settle: Settle) -> Running:
        servers: list[Server] = []
        if uri is not None:
            params, servers = self._of_document(params, uri)
        servers = servers or self.namesakes(method) or list(self._ground.running())
        if not servers:
            text = f"Ombud does not know the method {method!r}, and no server runs that could."
            return _refused(_Unknown(text), settle)
        call = self._call(method, params, uri)
        return Forward(servers, call, settle, passes=Passing.unknown_method)

    def listeners(self, method: str, params: Raw) -> list[tuple[Server, Raw]]:
        """The running servers of a document that take the notification ``method``, each with its params."""
        uri = target(params)
        if uri is None:
            return []
        worded, servers = self._of_document(params, uri)
        assert isinstance(worded, Raw)
        return [(one, Raw(bytes(worded))) for one in servers if one.state is State.READY and one.offers(method)]

    def namesakes(self, method: str) -> list[Server]:
        """The running servers whose name or tag is the first word of a method (``rust-analyzer/expandMacro``)."""
        word = method.partition("/")[0]
        return [server for server in self._ground.running() if word in (server.name, server.tag)]


_MARKED = frozenset(LISTED_BY.values())


def formatting_rank(server: Server) -> tuple[int, int]:
    """The order in which servers are asked to format (`Policy.FORMATTER`)."""
    return FORMATTERS.get(server.entry.role, 5), server.entry.priority


def _rename(call: Call) -> None:
    """``prepareRename`` goes to the server that will rename, also if that one has nothing to prepare."""
    if call.method == "textDocument/prepareRename":
        call.able = lambda server: server.offers("textDocument/rename")
        call.instead = lambda server: None if server.offers("textDocument/prepareRename") else _ANY_NAME


def _streams(params: Params) -> bool:
    """Whether parts of the answer may come before it: an empty one then says nothing."""
    return isinstance(params, Raw) and b'"partialResultToken"' in bytes(params)


def _without(params: Params, names: Sequence[str]) -> Params:
    if not isinstance(params, Raw):
        return params
    fields = load(params, Item)
    return Raw(dump({name: value for name, value in fields.items() if name not in names}))


def _commanding(params: Raw, name: str) -> Raw:
    fields: dict[str, Any] = dict(load(params, Item))
    fields["command"] = name
    return Raw(dump(fields))


def _refused(error: OmbudError, settle: Settle) -> Forward:
    forward = Forward([], Call("", UNSET, lambda _: False), lambda _: None)
    settle(error)
    return forward


class _Unknown(OmbudError):
    code = METHOD_NOT_FOUND

    def __init__(self, message: str) -> None:
        super().__init__(message, kind="unknown_method")
