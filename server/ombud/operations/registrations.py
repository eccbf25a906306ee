"""What is registered at a client beyond what ``initialize`` announced, when its servers turn out to have more.

Each thing is registered once, however many servers have it and however often they start: a client that heard twice of
one feature would show its results twice. So registrations are made of *parts*, a method and the language (or the
command) it is for, and servers that share a part share its registration; it goes when the last of them is gone. A
server that is restarting keeps its parts. What a server registers at Ombud by itself counts like what it announces.

Nothing is registered at a client that does not say ``dynamicRegistration``, nor before its ``initialized``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Raw

from ombud.downstream.capabilities import PROVIDERS, dig
from ombud.downstream.catalogue import ANY_LANGUAGE
from ombud.downstream.handshake import version_of
from ombud.downstream.learned import Learned
from ombud.downstream.profiles import profile_of
from ombud.downstream.registering import can_register
from ombud.downstream.semantic import Legend, legend_in, legend_of
from ombud.downstream.server import Server
from ombud.downstream.states import State

if TYPE_CHECKING:
    from ombud.operations.hub import Hub
    from ombud.operations.session import Session

LOG = logging.getLogger("ombud.registrations")
PREFIX = "ombud/"
COMMAND = "workspace/executeCommand"
TYPING = "textDocument/onTypeFormatting"
SEMANTIC = "textDocument/semanticTokens"

LATER: Mapping[str, str] = {
    "textDocument/inlineValue": "inlineValueProvider",
    "textDocument/willSave": "textDocumentSync.willSave",
    "textDocument/willSaveWaitUntil": "textDocumentSync.willSaveWaitUntil",
}
"""Methods that ``initialize`` does not announce to everybody, and the capability that says that it did."""
NEWER: Mapping[str, str] = {"textDocument/inlineCompletion": "inlineCompletionProvider"}
"""Methods that came after LSP 3.17, and the capability by which a server announces them."""
OURS = ("textDocument/", "notebookDocument/", "workspace/didChange", "window/")
"""How methods begin that Ombud itself speaks with servers; their registrations mean nothing to a client, except for
the methods that are named here."""

GONE = frozenset({State.SWEPT, State.FAILED, State.AVAILABLE})
"""Where a server is no more, and none is on its way by itself."""


class Part(NamedTuple):
    """One method for one ``unit``: a language id, a glob for files, a command, or another registration's own key."""

    method: str
    unit: str

    @property
    def id(self) -> str:
        return f"{PREFIX}{self.method}/{self.unit}"


Options = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Announced:
    """What the client's ``InitializeResult`` said."""

    capabilities: Mapping[str, Any]
    commands: frozenset[str]
    typing: frozenset[str]

    @classmethod
    def of(cls, capabilities: Mapping[str, Any]) -> _Announced:
        typing = capabilities.get("documentOnTypeFormattingProvider") or {}
        triggers = [typing.get("firstTriggerCharacter"), *(typing.get("moreTriggerCharacter") or [])]
        commands = (capabilities.get("executeCommandProvider") or {}).get("commands") or []
        return cls(capabilities, frozenset(commands), frozenset(one for one in triggers if one))

    def has(self, provider: str) -> bool:
        return bool(dig(self.capabilities, provider))


class Registrations:
    """See the module. One for each session; ``legend`` of its semantic tokens is kept in step."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._announced = _Announced.of({})
        self._greeted = False
        self._parts: dict[Server, dict[Part, Options]] = {}
        self._live: dict[Part, Options] = {}
        """What the client was asked to register, and has not refused."""
        self._refused: set[Part] = set()
        self._tokens: str | None = None
        """The id of the registration of semantic tokens that counts."""
        self._numbers = 0

    def announced(self, capabilities: Mapping[str, Any]) -> None:
        """The ``capabilities`` with which this client was answered."""
        self._announced = _Announced.of(capabilities)
        tokens = capabilities.get("semanticTokensProvider")
        self._session.semantic.legend = legend_in(tokens)
        self._tokens = tokens.get("id") if isinstance(tokens, Mapping) else None

    def greeted(self) -> None:
        """The client's ``initialized``: from now on it may be asked. What servers have by now follows at once."""
        self._greeted = True
        self.review()

    def review(self) -> None:
        """Look at all servers anew: the client has come, or its folders are others."""
        ready = [server for server in self._session.hub.supervisor.all() if server.state is State.READY]
        if not self._greeted or not (ready or self._parts):
            return
        mine = self._session.running()
        self._parts = {server: parts for server, parts in self._parts.items() if server in mine}
        for server in mine:
            if server.state is State.READY:
                self._learn(server)
        self._settle()

    def changed(self, server: Server) -> None:
        """A server's state or its registrations changed."""
        if not self._greeted:
            return
        if server.state is State.READY and server in self._session.running():
            # What one server can may change by what names the others' commands have.
            self.review()
            return
        if server.state in GONE:
            self._parts.pop(server, None)
        else:
            return
        self._settle()

    # -- what there is to register ----------------------------------------------------------------------------

    def _learn(self, server: Server) -> None:
        self._parts[server] = {part: options for part, options in self._of(server) if self._takes(part.method)}
        colours = server.offers(f"{SEMANTIC}/full") or server.offers(f"{SEMANTIC}/range")
        theirs = legend_of(server.capabilities) if colours else None
        if theirs is not None and self._tokens is not None and self._takes(SEMANTIC):
            self._widen(theirs)

    def _takes(self, method: str) -> bool:
        return can_register(self._session.client.capabilities, method)

    def _of(self, server: Server) -> Iterator[tuple[Part, Options]]:
        """The parts of a server that were not announced."""
        if server.offers(COMMAND):
            for name in self._session.router.commands.names(server):
                if name not in self._announced.commands:
                    yield Part(COMMAND, name), {"commands": [name]}
        more = [one for one in profile_of(server.capabilities).typing if one not in self._announced.typing]
        if more and server.offers(TYPING):
            for unit, selector in _units(server):
                yield Part(TYPING, unit), {**selector, **_triggers(more)}
        for method, provider in LATER.items():
            if server.offers(method) and not self._announced.has(provider):
                for unit, selector in _units(server):
                    yield Part(method, unit), selector
        for method, provider in NEWER.items():
            if server.capabilities.announced.get(provider):
                for unit, selector in _units(server):
                    yield Part(method, unit), selector
        yield from self._carried(server)

    def _carried(self, server: Server) -> Iterator[tuple[Part, Options]]:
        """Its own registrations of methods that no room of Ombud deals with: they are the client's business."""
        for key, method, options in server.capabilities.registered():
            known = method in PROVIDERS or method in (COMMAND, SEMANTIC)
            if not known and (method in NEWER or not method.startswith(OURS)):
                yield Part(method, f"{server.tag}/{key}"), options

    # -- telling the client -----------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Make the client's registrations those of the servers that are there."""
        wanted = _merged(self._parts.values())
        old = [part for part, options in self._live.items() if wanted.get(part) != options]
        if old:
            self._session.unregister([{"id": part.id, "method": part.method} for part in old])
        for part in old:
            del self._live[part]
        self._refused &= wanted.keys()
        fresh = [part for part in wanted if part not in self._live and part not in self._refused]
        plain = [part for part in fresh if part.method != COMMAND]
        # A command whose name is taken in an editor is refused there; that must not take others along.
        for some in ([plain] if plain else []) + [[part] for part in fresh if part.method == COMMAND]:
            self._register({part: wanted[part] for part in some})

    def _register(self, parts: Mapping[Part, Options]) -> None:
        self._live.update(parts)

        def answered(_result: Raw | None, error: Raw | None) -> None:
            if error is not None:
                LOG.info("the client did not register %s", ", ".join(part.id for part in parts))
                for part in parts:
                    if self._live.get(part) == parts[part]:
                        del self._live[part]
                        self._refused.add(part)

        made = [{"id": part.id, "method": part.method, "registerOptions": one} for part, one in parts.items()]
        self._session.register(made, answered)

    def _widen(self, theirs: Legend) -> None:
        """Announce the semantic tokens anew with the words of one more server behind the others.

        There can be one legend only, since a request does not say which it is asked by. A number keeps its meaning in
        the wider one, so an answer that is on its way is read rightly by either.
        """
        semantic = self._session.semantic
        if semantic.legend is None or (wider := semantic.legend.with_words_of(theirs)) == semantic.legend:
            return
        self._session.unregister([{"id": self._tokens, "method": SEMANTIC}])
        self._numbers += 1
        self._tokens = f"{PREFIX}semanticTokens/{self._numbers}"
        semantic.legend = wider
        options = {**self._announced.capabilities["semanticTokensProvider"], "legend": wider.options()}
        options.pop("id", None)
        self._session.register([{"id": self._tokens, "method": SEMANTIC, "registerOptions": options}])


def _units(server: Server) -> Iterator[tuple[str, Options]]:
    """The documents of a server, each kind with its ``documentSelector``."""
    entry = server.entry
    if ANY_LANGUAGE in entry.languages:
        yield "*", {"documentSelector": [{"scheme": "file"}]}
        return
    for language in entry.languages:
        yield language, {"documentSelector": [{"language": language}]}
    if not entry.languages:
        for glob in (*(f"**/*{one}" for one in entry.extensions), *(f"**/{one}" for one in entry.filenames)):
            yield glob, {"documentSelector": [{"scheme": "file", "pattern": glob}]}


def _triggers(characters: Sequence[str]) -> Options:
    return {"firstTriggerCharacter": characters[0], "moreTriggerCharacter": list(characters[1:])}


def _merged(servers: Iterable[Mapping[Part, Options]]) -> dict[Part, Options]:
    """The parts of all servers. Of one that several have, the first's options count; trigger characters add up."""
    out: dict[Part, Options] = {}
    for parts in servers:
        for part, options in parts.items():
            known = out.setdefault(part, options)
            if part.method == TYPING and known is not options:
                characters = dict.fromkeys(
                    one
                    for each in (known, options)
                    for one in (each["firstTriggerCharacter"], *each["moreTriggerCharacter"])
                )
                out[part] = {**known, **_triggers(list(characters))}
    return out


class Notes:
    """Keeps what servers have announced for the next ``initialize`` (`downstream.learned`). One for a hub."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._learned = Learned()

    def take(self, server: Server) -> None:
        """Write down what a ready server has announced and registered so far."""
        users = self._hub.asks.users.get(server, [])
        folders = {
            folder for session in users for folder in session.folders if server.root.is_relative_to(folder.resolve())
        }
        profile = profile_of(server.capabilities, version_of(server.server_info))
        work = asyncio.to_thread(self._learned.learn, server.name, server.launch.argv[0], profile, sorted(folders))
        self._hub.spawn(work)
