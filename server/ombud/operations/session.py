"""A session: what belongs to one connection. Its capabilities, folders, trust, buffers, and the way to its client."""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Raw, UnsetType

from ombud.diagnostics.given import given
from ombud.downstream.capabilities import dig
from ombud.downstream.forward import Lent, Params
from ombud.downstream.link import Settle
from ombud.downstream.router import Router, Running
from ombud.downstream.semantic import Tokens as SemanticTokens
from ombud.downstream.server import Server
from ombud.guard.fence import Fence
from ombud.guard.sensitive import SensitivePaths
from ombud.guard.tiers import Tiers
from ombud.guard.trust import Trust
from ombud.guard.uris import path_or_none, same_uri_key
from ombud.operations import lenses, quickfix
from ombud.operations.configured import Configured
from ombud.operations.grouping import Grouping
from ombud.operations.heard import HEARD, vendors
from ombud.operations.introduced import Introduced
from ombud.operations.linting import Linting
from ombud.operations.navigating import METHODS as NAVIGATION
from ombud.operations.navigating import request as navigate
from ombud.operations.pulled import PULLS, Pulled
from ombud.operations.refresh import Refresh
from ombud.operations.registrations import Registrations
from ombud.operations.showing import Showing
from ombud.operations.trusting import Trusting
from ombud.operations.versions import EDITING, settling
from ombud.operations.writing.series import Series

if TYPE_CHECKING:
    from ombud.downstream.catalogue import Catalogue
    from ombud.downstream.detect import Detected, Detector
    from ombud.operations.debugging.desk import Desk
    from ombud.operations.hub import Hub
    from ombud.workspace.checkpoints import Checkpoints
    from ombud.workspace.configuration import Configuration

Answered = Callable[[Raw | None, Raw | None], None]
"""Called once with the client's result or its error."""


class Front(Protocol):
    """The way to the client, given by the face. Nothing is sent before the client was answered ``initialize``."""

    def notify(self, method: str, params: Any) -> None: ...
    def ask(self, method: str, params: Any, answered: Answered) -> str: ...


@dataclass(frozen=True, slots=True)
class Client:
    """What the client said of itself in ``initialize``."""

    folders: tuple[Path, ...]
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    options: Any = None
    name: str = "a client"
    locale: str = "en"
    trace: str = "off"
    stays: bool = True
    """Whether it will ask more than once; a command of the command line does not."""


def _existing(folders: Sequence[Path]) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """The folders that are there, and those that are not."""
    there = tuple(folder for folder in folders if _is_folder(folder))
    return there, tuple(folder for folder in folders if folder not in there)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        # A name that is too long, or a folder above it that may not be entered.
        return False


LOG = logging.getLogger("ombud.session")
_SEARCHED = frozenset({"PATH", "PYTHONPATH", "NODE_PATH"})
"""The variables from which interpreters take programs and modules."""
_NUMBERS = itertools.count(1)


class Session:
    """See the module. Everything that reads files or configuration is done at the first need, not in ``initialize``."""

    def __init__(self, hub: Hub, client: Client, front: Front, *, environment: Mapping[str, str] | None = None) -> None:
        self.hub = hub
        self.client = client
        self.number = next(_NUMBERS)
        self.front = front
        self.trace = client.trace
        self.environment = dict(os.environ if environment is None else environment)
        # The key to a shared hub is no business of the servers'.
        self.environment.pop("OMBUD_TOKEN", None)
        self.semantic = SemanticTokens()
        self.router = Router(self, self.semantic)
        self.registrations = Registrations(self)
        self._configuration: Configuration | None = None
        self._folders, self._missing = _existing(client.folders)
        self._detector: Detector | None = None
        self._catalogue: tuple[Catalogue, tuple[str, ...]] | None = None
        self._fence: Fence | None = None
        self.trusting = Trusting(self)
        self.configured = Configured(self)
        self.showing = Showing(self)
        self.introduced = Introduced(self)
        self.pulled = Pulled(self)
        self.linting = Linting(self)
        self.series = Series()
        self.transaction = Grouping(self)
        self._debugging: Desk | None = None
        self._refreshes: dict[str, Refresh] = {}
        hub.sessions.append(self)

    # -- what it may and has ----------------------------------------------------------------------------------

    @property
    def configuration(self) -> Configuration:
        if self._configuration is None:
            from ombud.workspace.configuration import load_configuration

            self._configuration = load_configuration(
                self.root,
                self.client.options,
                more=self._folders[1:],
                settings=self.configured.said or None,
                memory=self.configured.memory,
            )
            self.hub.limit()
        return self._configuration

    @property
    def known_configuration(self) -> Configuration | None:
        """The configuration if it was read already."""
        return self._configuration

    @property
    def folders(self) -> tuple[Path, ...]:
        return self._folders

    @property
    def real_folders(self) -> tuple[Path, ...]:
        """The folders with all links resolved, also before anything of them was read."""
        return tuple(Path(os.path.realpath(folder)) for folder in self._folders)

    @property
    def root(self) -> Path | None:
        return self._folders[0] if self._folders else None

    @property
    def fence(self) -> Fence:
        if self._fence is None:
            configuration = self.configuration
            sensitive = SensitivePaths(configuration.sensitive_add, configuration.sensitive_allow)
            # A folder may have gone since the client named it; that must not take the others along.
            self._folders, gone = _existing(self._folders)
            self._missing += gone
            self._fence = Fence(self._folders, sensitive)
        return self._fence

    @property
    def trust(self) -> Trust:
        """Of the first folder; `trusting` knows the others."""
        if self.root is None:
            # Without a folder there is nothing to trust, and the fence lets nothing in.
            return Trust.decide(Path("/"), self.configuration.trusted, None)
        return self.trusting.of(self.root)

    @property
    def debugging(self) -> Desk:
        """The debugger of this connection."""
        if self._debugging is None:
            from ombud.operations.debugging.desk import Desk

            self._debugging = Desk(self)
        return self._debugging

    @property
    def known_debugging(self) -> Desk | None:
        """The debugger if it was used already."""
        return self._debugging

    @property
    def checkpoints(self) -> Checkpoints:
        """What was there before this session's writes."""
        return self.transaction.checkpoints

    @property
    def said_no(self) -> bool:
        """Whether the client said that the workspace is not trusted: then no server works for it, whoever runs it."""
        return self.configuration.trusted is False

    @property
    def tiers(self) -> Tiers:
        return self.configuration.tiers

    @property
    def detector(self) -> Detector:
        if self._detector is None:
            from ombud.downstream.detect import Detector

            trusts = {folder: self.trusting.of(folder) for folder in self.fence.folders}
            self._detector = Detector(
                self.catalogue,
                self.fence.folders,
                self.trust,
                trusts=trusts,
                catalogues=self.configured.catalogues(),
                environment=self.environment,
                interpreter=self.configured.interpreter,
            )
        return self._detector

    @property
    def catalogue(self) -> Catalogue:
        """The catalogue with this session's changes; what is wrong with them is among `problems`."""
        return self._adjusted()[0]

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with the configuration, a sentence each."""
        missing = tuple(f"The workspace folder {folder} is not there; it was left out." for folder in self._missing)
        found = (
            *missing,
            *self.configuration.problems,
            *self._adjusted()[1],
            *self.configured.problems,
            *self.linting.problems,
            *self.hub.watch.problems(self),
        )
        return tuple(dict.fromkeys(found))

    def _adjusted(self) -> tuple[Catalogue, tuple[str, ...]]:
        if self._catalogue is None:
            from ombud.downstream.catalogue import load_catalogue

            rows = self.configuration.server_rows(self.trust.allows_workspace_code)
            self._catalogue = load_catalogue().adjusted(rows)
        return self._catalogue

    def set_folders(self, folders: Sequence[Path]) -> None:
        """``workspace/didChangeWorkspaceFolders``: the fence and the detection follow."""
        self._folders, self._missing = _existing(folders)
        self.forget_configuration()
        self.redetect()
        self.registrations.review()

    def redetect(self) -> None:
        """Look again which servers there are, also for what is open already."""
        self._detector = None
        self._catalogue = None
        self.configured.refresh()
        self._reattach()
        self.linting.again()

    def _reattach(self) -> None:
        for document in self.hub.documents.all():
            if self in document.owners:
                self.hub.attach(document.uri, self.servers(document.path, document.language))
        self.hub.notebooks.redetect(self)

    def files_changed(self, paths: Sequence[Path]) -> None:
        """Files changed on disk: what was read of the configuration and of roots is read again where it may differ."""
        from ombud.workspace.sources import WORKSPACE_FILE, user_file

        if self._configuration is not None and (
            any(path.name == WORKSPACE_FILE and path.parent in self.real_folders for path in paths)
            or user_file(self.folders)[0] in paths
        ):
            self.configured.apply()
        self.linting.files_changed(paths)
        if self._detector is not None and any(self._detector.notice(path) for path in paths):
            self.configured.refresh()
            self._reattach()

    def forget_configuration(self) -> None:
        """Read the configuration files again at the next need."""
        self._configuration = None
        self._fence = None
        self._detector = None
        self._catalogue = None

    def can(self, capability: str) -> bool:
        """Whether the client announced ``capability``, a dotted path."""
        return bool(dig(self.client.capabilities, capability))

    # -- servers ----------------------------------------------------------------------------------------------

    def detected(self, path: Path, language: str | None = None) -> tuple[Detected, ...]:
        return self.detector.for_path(path, language)

    def servers(self, path: Path, language: str | None = None) -> list[Server]:
        """The servers that claim ``path`` and may run, by priority. None is started by this."""
        found = self.detected(path, language)
        if any(one.state == "not_trusted" for one in found):
            self.trusting.ask(self.detector.roots.folder_of(Path(os.path.realpath(path.parent))))
        return [self._server(one) for one in found if one.state == "available"]

    def _server(self, detected: Detected) -> Server:
        server = self.hub.supervisor.server(
            detected,
            self.client.capabilities,
            lambda: self.environment_at(detected.root),
            self.client.locale,
            self.trace,
        )
        self.hub.asks.used_by(server, self)
        self.hub.settling.met(server, self, detected)
        return server

    def environment_at(self, root: Path) -> Mapping[str, str]:
        """The environment for a server that starts in ``root``, where no search path leads to the workspace's own.

        An empty or relative entry means the folder that the server starts in (T8). One that lies in the workspace is
        for a trusted one only (T1): ``#!/usr/bin/env node`` asks PATH and not us.
        """
        around = self.detector.roots.folder_of(root)
        trusted = around is not None and self.trusting.of(around).allows_workspace_code
        kept = dict(self.environment)
        for name in _SEARCHED.intersection(kept):
            entries = [entry for entry in kept[name].split(os.pathsep) if Path(entry).is_absolute()]
            if not trusted:
                entries = [entry for entry in entries if not self.fence.contains(Path(os.path.realpath(entry)))]
            kept[name] = os.pathsep.join(entries)
            if not entries:
                del kept[name]
        return kept

    def claim(self, uri: str) -> list[Server]:
        """The servers of a document: those it is open in, else those that would claim its path.

        What another client has opened or trusted is not this one's: its own folders and its own word on trust count.
        """
        if self.said_no:
            return []
        cells = self.hub.notebooks.servers_of(self, uri)
        if cells is not None:
            return cells
        document = self.hub.documents.get(uri)
        mine = document is not None and self in document.owners
        path = None if mine else self.path_of(uri)
        if not mine and path is None:
            return []
        known = self.hub.servers_of(uri)
        for server in known:
            self.hub.asks.used_by(server, self)
        return known or (self.servers(path) if path is not None else [])

    def running(self) -> list[Server]:
        """The running servers whose root lies in this session's folders, by priority."""
        if self.said_no:
            return []
        mine = [server for server in self.hub.supervisor.all() if server.running and self._is_mine(server)]
        return sorted(mine, key=lambda server: server.entry.priority)

    def path_of(self, uri: str) -> Path | None:
        """The real path behind a ``file:`` URI inside the workspace; None for anything else."""
        path = path_or_none(uri)
        if path is None:
            return None
        try:
            real = path.resolve()
        except (OSError, RuntimeError):
            return None
        return real if self.fence.contains(real) else None

    def find(self, tag: str) -> Server | None:
        """The server of that tag, if its root lies in this session's folders."""
        for server in self.hub.supervisor.all():
            if server.tag == tag:
                return server if not self.said_no and self._is_mine(server) else None
        return None

    def _is_mine(self, server: Server) -> bool:
        return any(server.root.is_relative_to(folder) for folder in self.fence.folders)

    def chosen(self, server: Server) -> None:
        """A request goes to ``server``: what it asks a human from now on is for this client."""
        self.hub.asks.used_by(server, self)

    def with_own_diagnostics(self, server: Server, uri: str, params: Params) -> Params:
        """The params of a code action without the diagnostics that only other servers of the document have made."""
        return given(self.hub.store, server, same_uri_key(uri), params) if isinstance(params, Raw) else params

    def lend(self, server: Server, params: Params, shape: Callable[[Raw], Raw] | None) -> Lent:
        """Progress tokens of ours in place of the client's."""
        return self.hub.asks.tokens.lend(self, server, params, shape)

    def commanding(self, server: Server, params: Params, shape: Callable[[Raw], Raw] | None) -> Lent:
        """As `lend`, for a command: what the server asks of a client until it has answered is for this one."""
        worded, lent = self.lend(server, params, shape)
        done = self.hub.asks.commanded(server, self)

        def answered() -> None:
            done()
            if lent is not None:
                lent()

        return worded, answered

    def version(self, uri: str) -> int | None:
        """The hub's version of an open document."""
        document = self.hub.documents.get(uri)
        return document.version if document is not None else None

    def language(self, uri: str) -> str | None:
        """The language id of an open document, as servers know it."""
        document = self.hub.documents.get(uri)
        return document.language if document is not None else None

    def spelling(self, uri: str) -> str:
        """The URI under which servers know an open document, whatever way this client encodes it."""
        document = self.hub.documents.get(uri)
        return document.uri if document is not None else uri

    # -- to the client ----------------------------------------------------------------------------------------

    def heard(self, method: str, params: Raw) -> None:
        """A notification of the client. Raises `msgspec.ValidationError` where its params have another shape."""
        self.hub.ahead.heard()
        handler = HEARD.get(method)
        if handler is not None:
            handler(self, params)
        else:
            vendors(self, method, params)

    def request(self, method: str, params: Raw | UnsetType, settle: Settle) -> Running:
        self.hub.ahead.heard()
        if method in PULLS:
            return self.pulled.request(method, params, settle)
        if method in NAVIGATION:
            return navigate(self, method, params, settle)
        if method in EDITING:
            settle = settling(self, settle)
            if isinstance(params, Raw) and quickfix.answers(self, method, params):
                return quickfix.request(self, method, params, settle)
        if isinstance(params, Raw) and lenses.answers(self, method, params):
            return lenses.request(self, method, params, settle)
        return self.router.request(method, params, settle)

    def tell(self, method: str, params: Any) -> None:
        self.front.notify(method, params)

    def ask_client(self, method: str, params: Any, answered: Answered) -> str:
        """A request to the client, under an id of ours, which is returned."""
        return self.front.ask(method, params, answered)

    def register(self, made: Sequence[Mapping[str, Any]], answered: Answered = lambda _result, _error: None) -> None:
        """``client/registerCapability``: each with ``id``, ``method`` and ``registerOptions``."""
        self.front.ask("client/registerCapability", {"registrations": list(made)}, answered)

    def unregister(self, gone: Sequence[Mapping[str, Any]]) -> None:
        """``client/unregisterCapability``: each with ``id`` and ``method``."""
        # The specification's own spelling, mistake included.
        self.front.ask("client/unregisterCapability", {"unregisterations": list(gone)}, lambda _result, _error: None)

    def refresh(self, method: str) -> None:
        """Ask the client to ask again (``workspace/…/refresh``), if it can."""
        if method not in self._refreshes:
            self._refreshes[method] = Refresh(self, method)
        self._refreshes[method].want()

    def server_changed(self, server: Server) -> None:
        self.registrations.changed(server)
        wants = self.configuration.status_notifications
        if wants and self._is_mine(server):
            from ombud.operations.status import row

            self.tell("ombud/statusChanged", {"servers": [row(server)]})

    def close(self) -> None:
        self.transaction.close()
        self.pulled.close()
        self.linting.close()
        self.introduced.close()
        for refresh in self._refreshes.values():
            refresh.close()
        self.hub.drop(self)
