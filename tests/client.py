"""The LSP client of the tests: it speaks the protocol to the letter and writes down where the server does not.

It shares no code with the product. Every request must be answered exactly once, no answer may be for an unknown id,
nothing but frames may be in the stream, and a server may only ask what the client declared: whatever breaks that is a
*violation*, raised as ``ProtocolViolation`` when the client is left (``strict=False`` only keeps the list).

    async with Client.stdio([sys.executable, "-m", "ombud", "serve"], cwd=root) as client:
        await client.initialize(root=root, options={"ombud": {}}, capabilities=VSCODE)
        client.open("a.py")
        hover = await client.request("textDocument/hover", client.at("a.py", 0, 4))

Everything that only sends (``notify``, ``open``, ``start_request`` …) is a plain call: messages go out in the order of
the calls. Times are seconds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import answering
from tests.connection import (
    NO_ANSWER,
    Connection,
    Disconnected,
    Json,
    Link,
    LspError,
    Notification,
    Pending,
    ProtocolViolation,
    ServerRequest,
)
from tests.edits import NotApplicable, apply_operation, operations, same_uri
from tests.link import PipeLink, SocketLink
from tests.positions import apply_changes
from tests.profiles import AGENT

__all__ = [
    "NO_ANSWER",
    "Client",
    "Disconnected",
    "LspError",
    "Notification",
    "Pending",
    "ProtocolViolation",
    "ServerRequest",
]

Where = str | os.PathLike[str]

# The environment variable by which tests/conftest.py finds the processes of a test.
MARKER = "OMBUD_TEST_MARKER"

_LANGUAGES = {
    **{".py": "python", ".pyi": "python", ".ts": "typescript", ".tsx": "typescriptreact", ".js": "javascript"},
    **{".jsx": "javascriptreact", ".go": "go", ".c": "c", ".h": "c", ".cpp": "cpp", ".cc": "cpp", ".rs": "rust"},
    **{".sh": "shellscript", ".json": "json", ".css": "css", ".html": "html", ".md": "markdown", ".java": "java"},
    **{".yaml": "yaml", ".yml": "yaml", ".toml": "toml", ".php": "php", ".lua": "lua", ".rb": "ruby"},
}


@dataclass
class OpenDocument:
    text: str
    version: int
    language: str


class Client(Connection):
    """One connection. Made by ``stdio`` or ``tcp``, lived in as an async context."""

    def __init__(self, link: Link, name: str, strict: bool) -> None:
        super().__init__(link, name, strict)
        self.registrations: dict[str, Json] = {}
        self.documents: dict[str, OpenDocument] = {}
        self.folders: list[Path] = []
        self.settings: Json = {}
        self.initialize_result: Json = {}
        self.handlers |= {
            "workspace/configuration": self._configuration,
            "workspace/workspaceFolders": lambda params: [self._folder(path) for path in self.folders] or None,
            "workspace/applyEdit": self._apply_edit,
            "client/registerCapability": self._register,
            "client/unregisterCapability": self._unregister,
            "window/workDoneProgress/create": self._create_progress,
            "window/showMessageRequest": lambda params: None,
            "window/showDocument": lambda params: {"success": True},
        }

    @classmethod
    def stdio(
        cls,
        argv: Sequence[Where],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        name: str = "client",
        strict: bool = True,
    ) -> Client:
        """A client of ``argv``'s stdin and stdout. ``env`` replaces the environment, but for the test's marker."""
        marker = {key: value for key, value in os.environ.items() if key == MARKER}
        return cls(PipeLink(argv, cwd, None if env is None else {**env, **marker}), name, strict)

    @classmethod
    def tcp(cls, host: str, port: int, *, name: str = "client", strict: bool = True) -> Client:
        """A client of a server that listens already."""
        return cls(SocketLink(host, port), name, strict)

    # -- the handshake

    async def initialize(
        self,
        root: Path | Sequence[Path] | None = None,
        options: Json | None = None,
        capabilities: Json | None = None,
        *,
        process_id: int | None = -1,
        initialized: bool = True,
        timeout: float = 60.0,
        **more: Any,
    ) -> Json:
        """Shakes hands and returns the server's ``InitializeResult``.

        ``options`` become ``initializationOptions``; ``process_id`` is the test's own unless given (None: null);
        ``more`` is laid over the params. ``initialized=False`` leaves the closing notification to the caller.
        """
        self.folders = [] if root is None else [root] if isinstance(root, Path) else list(root)
        self.capabilities = AGENT if capabilities is None else capabilities
        folders = [self._folder(path) for path in self.folders]
        params: Json = {
            "processId": os.getpid() if process_id == -1 else process_id,
            "clientInfo": {"name": f"tests/{self.name}"},
            "rootUri": folders[0]["uri"] if folders else None,
            "rootPath": str(self.folders[0]) if folders else None,
            "workspaceFolders": folders or None,
            "capabilities": self.capabilities,
            **({} if options is None else {"initializationOptions": options}),
            **more,
        }
        self.initialize_result = await self.request("initialize", params, timeout)
        if initialized:
            self.notify("initialized", {})
        return self.initialize_result

    @property
    def server_capabilities(self) -> Json:
        found: Json = self.initialize_result.get("capabilities", {})
        return found

    # -- documents

    def path(self, where: Where) -> Path:
        """Relative paths are meant from the first folder."""
        path = Path(where)
        return path if path.is_absolute() or not self.folders else self.folders[0] / path

    def uri(self, where: Where) -> str:
        return where if isinstance(where, str) and "://" in where else self.path(where).as_uri()

    def at(self, where: Where, line: int, character: int) -> Json:
        """``TextDocumentPositionParams``; both numbers count from zero."""
        return {
            "textDocument": {"uri": self.uri(where)},
            "position": {"line": line, "character": character},
        }

    def open(self, where: Where, text: str | None = None, language: str | None = None, version: int = 1) -> str:
        """``didOpen`` with ``text``, or with what is on disk. Returns the URI."""
        uri = self.uri(where)
        content = self.path(where).read_bytes().decode() if text is None else text
        known = language or _LANGUAGES.get(Path(uri).suffix, Path(uri).suffix.lstrip(".") or "plaintext")
        self.documents[uri] = OpenDocument(content, version, known)
        item = {"uri": uri, "languageId": known, "version": version, "text": content}
        self.notify("textDocument/didOpen", {"textDocument": item})
        return uri

    def change(self, where: Where, what: str | Sequence[Json]) -> int:
        """``didChange`` to a whole new text or by ``contentChanges``. Returns the new version."""
        uri = self.uri(where)
        document = self.documents[uri]
        changes = [{"text": what}] if isinstance(what, str) else list(what)
        document.text = apply_changes(document.text, changes)
        document.version += 1
        item = {"uri": uri, "version": document.version}
        self.notify("textDocument/didChange", {"textDocument": item, "contentChanges": changes})
        return document.version

    def save(self, where: Where, write: bool = True) -> None:
        """Writes the open text to disk unless told not to, then ``didSave``, with the text if the server wants it."""
        uri = self.uri(where)
        text = self.documents[uri].text
        if write:
            self.path(where).write_bytes(text.encode())
        sync = self.server_capabilities.get("textDocumentSync")
        save = sync.get("save") if isinstance(sync, dict) else None
        included = {"text": text} if isinstance(save, dict) and save.get("includeText") else {}
        self.notify("textDocument/didSave", {"textDocument": {"uri": uri}, **included})

    def close(self, where: Where) -> None:
        uri = self.uri(where)
        del self.documents[uri]
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    async def wait_diagnostics(
        self,
        where: Where,
        predicate: Callable[[list[Json]], bool] | None = None,
        timeout: float = 30.0,
        version: int | None = None,
    ) -> list[Json]:
        """The next published diagnostics of a document; with ``version``, published for it or a later one."""
        key = same_uri(self.uri(where))

        def matches(one: Notification) -> bool:
            if one.method != "textDocument/publishDiagnostics" or same_uri(one.params["uri"]) != key:
                return False
            if version is not None and one.params.get("version", -1) < version:
                return False
            return predicate is None or predicate(one.params["diagnostics"])

        notification = await self._next(self.notifications, f"diagnostics of {key}", timeout, matches)
        found: list[Json] = notification.params["diagnostics"]
        return found

    # -- answering as an editor does

    def _folder(self, path: Path) -> Json:
        return {"uri": path.as_uri(), "name": path.name}

    def _configuration(self, params: Json) -> list[Any]:
        return [answering.settings_of(self.settings, item.get("section")) for item in params["items"]]

    def _register(self, params: Json) -> None:
        for registration in params["registrations"]:
            if registration["id"] in self.registrations:
                self._violation(f"registration id {registration['id']!r} is in use")
            self.registrations[registration["id"]] = registration

    def _unregister(self, params: Json) -> None:
        # The specification spells the key this way and keeps it for compatibility.
        for entry in params["unregisterations"]:
            if self.registrations.pop(entry["id"], None) is None and entry["id"] not in self._announced_ids():
                self._violation(f"unregistration of {entry['id']!r}, which is not registered")

    def _announced_ids(self) -> set[str]:
        """The ids of what is registered by ``initialize`` itself (LSP 3.17, ``StaticRegistrationOptions``)."""
        return {one["id"] for one in self.server_capabilities.values() if isinstance(one, dict) and "id" in one}

    def _create_progress(self, params: Json) -> None:
        fault = self._progress.created(params["token"])
        if fault is not None:
            self._violation(fault)

    def _apply_edit(self, params: Json) -> Json:
        try:
            self.apply_workspace_edit(params["edit"])
        except (NotApplicable, ValueError) as problem:
            return {"applied": False, "failureReason": str(problem)}
        return {"applied": True}

    def apply_workspace_edit(self, edit: Json) -> list[str]:
        """Applies an edit as an editor does: to open documents (with ``didChange``) and to files. Returns the URIs.

        Raises ``tests.edits.NotApplicable`` at the first operation that does not fit.
        """

        def open_text(uri: str) -> tuple[str, int] | None:
            document = self.documents.get(uri)
            return None if document is None else (document.text, document.version)

        return [
            apply_operation(one, open_text, lambda uri, text: (self.change(uri, text), None)[1])
            for one in operations(edit)
        ]
