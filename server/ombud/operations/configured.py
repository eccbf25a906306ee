"""The configuration of one session while it works: what its client changes, and what becomes of its servers.

Clients tell of changes in two ways (LSP 3.17, ``workspace/didChangeConfiguration``): some send their settings, under
``ombud`` and under the servers' own sections; others send null and want to be asked. A change takes effect at once and
without a restart where a server allows that: new settings are told to it, and what is ours to decide (features,
priorities, deadlines, limits) counts from the next message on. Only a new command, environment or initialization
options start a server anew. What is wrong changes nothing: the key keeps its former value, and `problems` says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from ombud.downstream import settings
from ombud.downstream.states import State
from ombud.errors import OmbudError
from ombud.wire.values import load_any
from ombud.workspace.keys import UNKNOWN

if TYPE_CHECKING:
    from pathlib import Path

    from ombud.downstream.catalogue import Catalogue, ServerEntry
    from ombud.downstream.detect import Detected
    from ombud.downstream.server import Server
    from ombud.operations.session import Session
    from ombud.workspace.documents import Document

SECTION = "ombud"
CHANGED = "workspace/didChangeConfiguration"
ASK = "workspace/configuration"
TRACE = "trace"
"""A key of editors' own, which they keep in the section of each server."""
_NO_MORE = "The configuration does not want it any more."


class Configured:
    """See the module."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.memory: dict[Path, Mapping[str, Any]] = {}
        """The last good tree of each configuration file."""
        self.said: dict[str, Any] = {}
        """The ``ombud`` section of the client's settings, with the last good value of each key."""
        self.sections: dict[str, Any] = {}
        """The other sections that the client sent by itself."""
        self._faults: tuple[str, ...] = ()
        self._of_folders: tuple[str, ...] = ()
        self._told: set[str] = set()
        self._registered: set[str] = set()

    # -- hearing of changes -----------------------------------------------------------------------------------

    def begin(self) -> None:
        """The client is ready to be asked: hear of changes from now on, and ask for what it has."""
        self._register("ombud/configuration", {"section": SECTION})
        if self._session.can("workspace.configuration"):
            self._ask()

    def follow(self) -> None:
        """A server's question has gone to the client: hear of all changes, so that the server can ask again."""
        self._register("ombud/configuration/servers", {})

    def _register(self, identity: str, options: dict[str, Any]) -> None:
        can = self._session.can("workspace.didChangeConfiguration.dynamicRegistration")
        if can and identity not in self._registered:
            self._registered.add(identity)
            one = {"id": identity, "method": CHANGED, "registerOptions": options}
            self._session.register([one])

    def _ask(self) -> None:
        def answered(result: Raw | None, _error: Raw | None) -> None:
            values = load_any(result) if result is not None else None
            mine = values[0] if isinstance(values, list) and values else None
            if mine is not None:
                self._take(mine)

        self._session.ask_client(ASK, {"items": [{"section": SECTION}]}, answered)

    def heard(self, said: Any) -> None:
        """The client's settings, or nothing: then it wants to be asked for them, by us and by the servers."""
        if not isinstance(said, Mapping) or not said:
            if self._session.can("workspace.configuration"):
                self._ask()
                self._session.hub.settling.changed(self._session)
            return
        tree = settings.unfolded(said)
        mine = tree.pop(SECTION, None)
        others = {name: value for name, value in tree.items() if value is not None}
        new = {**self.sections, **others} != self.sections
        self.sections.update(others)
        if not (mine is not None and self._take(mine)) and new:
            self.apply()

    def _take(self, said: Any) -> bool:
        """The client's ``ombud`` section; whether that changed anything."""
        from ombud.workspace.configuration import settled
        from ombud.workspace.keys import SERVERS

        tree = settings.unfolded(said) if isinstance(said, Mapping) else said
        if isinstance(tree, dict):
            tree.pop(TRACE, None)
        kept, problems = settled(tree, self.said)
        if isinstance(kept.get(SERVERS), Mapping):
            kept[SERVERS], more = self._rows(kept[SERVERS], self.said.get(SERVERS) or {})
            problems += more
        if kept == self.said and problems == self._faults:
            return False
        self.said, self._faults = kept, problems
        self.apply()
        return True

    def _rows(self, rows: Mapping[str, Any], former: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """The rows of ``servers``, with the former value of each key that the catalogue finds wrong."""
        from ombud.downstream.overrides import faults
        from ombud.workspace.configuration import SETTINGS

        kept = {name: dict(row) if isinstance(row, Mapping) else row for name, row in rows.items()}
        problems = []
        for name, key, sentence in faults(self._session.catalogue, rows):
            problems.append(f"{SETTINGS}: servers.{name}{'.' if key else ''}{key} {sentence}")
            before = former.get(name)
            if not key or not isinstance(kept.get(name), dict):
                kept.pop(name, None)
                if before is not None:
                    kept[name] = before
                continue
            kept[name].pop(key, None)
            if isinstance(before, Mapping) and key in before:
                kept[name][key] = before[key]
        return kept, tuple(problems)

    def catalogues(self) -> dict[Path, Catalogue]:
        """The catalogues of the further workspace folders (real paths), by what each one's own file says."""
        from ombud.downstream.catalogue import load_catalogue

        session = self._session
        pairs = list(zip(session.fence.folders, session.folders, strict=True))[1:]
        found: dict[Path, Catalogue] = {}
        problems: dict[str, None] = {}
        for real, folder in pairs:
            trusted = session.trusting.of(real).allows_workspace_code
            found[real], more = load_catalogue().adjusted(session.configuration.server_rows(trusted, folder))
            problems |= dict.fromkeys(more)
        self._of_folders = tuple(problems)
        return found

    # -- what becomes of it -----------------------------------------------------------------------------------

    def apply(self) -> None:
        """Read all configuration files again, one of which has changed or come or gone, and let them take effect."""
        session = self._session
        session.forget_configuration()
        # Reading it sets the hub's limits as well.
        _ = session.configuration
        session.redetect()
        session.hub.graphs.leave()
        session.hub.searches.leave()
        self._tell()

    def _tell(self) -> None:
        """Show the client's user what is wrong, each thing once. Keys that only an editor knows are not worth that."""
        found = [problem for problem in self._session.problems if UNKNOWN not in problem]
        new = [problem for problem in found if problem not in self._told]
        self._told.update(new)
        if new:
            more = f" There are {len(new) - 1} more problems; “ombud status” lists them." if len(new) > 1 else ""
            self._session.tell("window/showMessage", {"type": 2, "message": f"Ombud: {new[0]}{more}"})

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with the client's settings, and which of its wishes another client's stand before."""
        overruled = self._overruled()
        return (*self._faults, *self._of_folders, *overruled)

    def _overruled(self) -> list[str]:
        found = []
        for server in self._mine():
            owner = self._session.hub.settling.owner(server)
            detected = self._session.detector.again(server.name, server.root) if owner is not self._session else None
            if owner is None or detected is None or detected.state != "available":
                continue
            if not _alike(detected.entry, server.entry) or self.settings_for(server, detected.entry) != server.settings:
                found.append(
                    f"servers.{server.name} in {server.root.name}: {owner.client.name} needed it first, so it works "
                    "with that client's configuration until that client leaves or the server is reloaded."
                )
        return found

    def _mine(self) -> list[Server]:
        """The servers that this session works with."""
        hub = self._session.hub
        return [server for server in hub.supervisor.all() if self._session in hub.asks.users.get(server, ())]

    def settings_for(self, server: Server, entry: ServerEntry | None = None) -> dict[str, Any]:
        """The settings that a server is to have: its entry's, and over them its own sections of the client's.

        An interpreter in a folder that is not trusted is not named to it, whoever has written it down (T1).
        """
        entry = server.entry if entry is None else entry
        tree = settings.laid(entry.settings, self._own_sections(server, entry))
        return {**tree, "python": self.guarded(server, tree["python"])} if "python" in tree else tree

    def guarded(self, server: Server, python: Any) -> Any:
        """The section ``python`` with an interpreter that may run, if any."""
        path = python.get("pythonPath") if isinstance(python, Mapping) else None
        if not isinstance(path, str):
            return python
        interpreters = self._session.detector.values(server.name, server.root).interpreters
        named = interpreters.checked(path) or interpreters.find()
        rest = {key: value for key, value in python.items() if key != "pythonPath"}
        return rest if named is None else {**rest, "pythonPath": named}

    def guarded_as(self, server: Server, name: str | None, value: Any) -> Any:
        """As `guarded`, for the value of any section."""
        if name == "python":
            return self.guarded(server, value)
        if name == "python.pythonPath":
            return self.guarded(server, {"pythonPath": value}).get("pythonPath")
        return value

    def _own_sections(self, server: Server, entry: ServerEntry) -> dict[str, Any]:
        asked = self._session.hub.settling.asked_by(server)
        return spoken(settings.of_client(entry, self.sections, asked))

    def explicit(self, server: Server) -> dict[str, Any]:
        """The places in a server's settings that somebody has set for this very server."""
        row = self._session.configuration.people.get(server.name, {})
        said = row.get("settings")
        rows = settings.unfolded(said) if isinstance(said, Mapping) else {}
        return settings.laid(rows, self._own_sections(server, server.entry))

    @property
    def interpreter(self) -> str | None:
        """The Python that the client's own settings name for all servers."""
        python = self.sections.get("python")
        if not isinstance(python, Mapping):
            return None
        named = (python.get(key) for key in ("pythonPath", "defaultInterpreterPath"))
        return next((path for path in named if isinstance(path, str) and path), None)

    def refresh(self) -> None:
        """Let the servers follow what the session's detector says now: live, by a restart, or by letting them go."""
        for server in self._mine():
            found = self._session.detector.again(server.name, server.root)
            if not _stays(server, found):
                self._leave(server)
            elif found is not None and self._session.hub.settling.owner(server) is self._session:
                self.update(server, found)
        self._release()

    def update(self, server: Server, found: Detected) -> None:
        """Give a server this session's configuration."""
        hub, former = self._session.hub, server.entry
        if found.state == "available":
            server.entry = found.entry
        new = self.settings_for(server)
        changed, server.settings = new != server.settings, new
        options = (former.initialization_options, former.env)
        if options != (server.entry.initialization_options, server.entry.env):
            environment = {**self._session.environment_at(server.root), **server.entry.env}
            server.launch = server.launch._replace(environment=environment)
            if server.state not in (State.AVAILABLE, State.SWEPT):
                hub.spawn(_restart(server))
        elif changed:
            server.notify(CHANGED, {"settings": server.settings})
            hub.repull(server)
        self._listen(server, former.serves("diagnostics"))
        if former.priority != server.entry.priority:
            for servers in hub.attached.values():
                servers.sort(key=lambda one: one.entry.priority)

    def _listen(self, server: Server, before: bool) -> None:
        """What a server reports is taken back once it is not to be asked for that, and asked for once it is again.

        One that pushes does not repeat what nobody listened to, so it begins anew.
        """
        hub, now = self._session.hub, server.entry.serves("diagnostics")
        if before and not now:
            hub.store.silence(server)
        elif now and not before and server.state is State.READY:
            if server.offers("textDocument/diagnostic") and server.entry.diagnostics.channel != "both":
                hub.repull(server)
            else:
                hub.spawn(_restart(server))

    def _leave(self, server: Server) -> None:
        """This session works with a server no more; without any other session it ends."""
        hub = self._session.hub
        hub.settling.leave(server, self._session)
        if not hub.asks.users.get(server):
            for document in hub.documents.all():
                if server in hub.servers_of(document.uri):
                    hub.detach(document, server)
            hub.store.forget_server(server)
            hub.spawn(hub.supervisor.remove([server], _NO_MORE))

    def _release(self) -> None:
        """Close this session's documents in the servers that none of their owners wants for them."""
        hub = self._session.hub
        for document in hub.documents.all():
            if self._session in document.owners and self._session.fence.contains(document.path):
                for server in list(hub.servers_of(document.uri)):
                    if not any(_wants(owner, document, server) for owner in hub.owners(document)):
                        hub.detach(document, server)
                        # What it said of the document by itself would else stay until it says otherwise.
                        hub.store.push(server, document.key, None, ())


def spoken(sections: Mapping[str, Any]) -> dict[str, Any]:
    """A client's sections without ``python.pythonPath = "python"``: editors answer that when nobody has chosen one."""
    from ombud.downstream.project import bare

    python = sections.get("python")
    if isinstance(python, Mapping) and isinstance(path := python.get("pythonPath"), str) and bare(path):
        return {**sections, "python": {key: value for key, value in python.items() if key != "pythonPath"}}
    return dict(sections)


async def _restart(server: Server) -> None:
    await server.stop(State.AVAILABLE, "Its configuration has changed.")
    server.forgive()
    with suppress(OmbudError):
        server.need()


def _stays(server: Server, found: Detected | None) -> bool:
    """Whether a server that works is still the one that the configuration asks for.

    A program that has gone from the disk under a running server is being installed anew, as a rule.
    """
    if found is None or found.state in ("disabled", "not_trusted"):
        return False
    if found.resolved is None:
        return found.entry.commands == server.entry.commands
    return found.resolved.argv == server.launch.argv


def _wants(owner: Session, document: Document, server: Server) -> bool:
    """Whether a session would have a document open in a server."""
    for one in owner.detected(document.path, document.language):
        if one.entry.name == server.name and one.root == server.root:
            return one.state in ("available", "missing_binary") and _stays(server, one)
    return False


def _alike(one: ServerEntry, other: ServerEntry) -> bool:
    """Whether two rows make a server work in the same way; its settings are compared apart."""
    plain: dict[str, Any] = {"disabled": None, "from_user": False, "settings": {}}
    return one.changed(**plain) == other.changed(**plain)
