"""Sessions with conformance servers: directly, and through Ombud."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.client import Client
from tests.conftest import ClientFactory, OmbudFactory
from tests.peers.road import options, well_behaved
from tests.peers.script import PeerLog
from tests.profiles import VSCODE

Json = dict[str, Any]

SERVER = Path(__file__).with_name("server.py")
FILES = {"x.toml": "", "a.x": "first ü\nsecond\n", "b.x": "", "book.xnb": "{}"}
SETTINGS = {"conformance": {"deep": {"ü": [1.0, None]}}, "flat": "text"}

FULL: Json = {
    **VSCODE,
    "textDocument": {
        **VSCODE["textDocument"],
        "moniker": {},
        "inlineCompletion": {},
        "diagnostic": {"dynamicRegistration": True, "relatedDocumentSupport": True},
    },
}
"""A client that can everything."""


def command(name: str, log: PeerLog, **differently: Any) -> list[str]:
    said = json.dumps({"name": name, "log": str(log.path), **differently})
    return [sys.executable, "-I", "-S", str(SERVER), said]


def entry(name: str, log: PeerLog, differently: Json | None = None, **more: Any) -> Json:
    """An entry of ``servers``: a conformance server for ``.x`` files and their notebooks."""
    return {
        "command": command(name, log, **(differently or {})),
        "extensions": [".x", ".xnb"],
        "languages": ["x"],
        "rootMarkers": ["x.toml"],
        "diagnostics": {"settleMs": 0},
        **more,
    }


def always(result: Any) -> Callable[[Any], Any]:
    """A client's handler that answers every request with ``result``."""
    return lambda _: result


class Talk:
    """A client whose document ``a.x`` is open, and the logs of the servers that it talks with, by their names."""

    def __init__(self, client: Client, root: Path, logs: Mapping[str, PeerLog]) -> None:
        self.client = client
        self.root = root
        self.uri = (root / "a.x").as_uri()
        self.first = ""
        """The server that was there first, where a test has asked for it."""
        self._logs = logs

    async def command(self, name: str, *arguments: Any) -> Any:
        """The result of a command such as ``alpha.ask``."""
        params = {"command": name, "arguments": list(arguments)}
        return await self.client.request("workspace/executeCommand", params, 30)

    def log(self, name: str) -> PeerLog:
        return self._logs[name]

    def heard(self, method: str, name: str = "conformance") -> list[Any]:
        """The params of all messages of ``method`` that a server has read. Ask it something first, as a barrier."""
        return [message.get("params") for message in self._logs[name].received(method)]


@asynccontextmanager
async def direct(factory: ClientFactory, root: Path, logs: Path) -> AsyncIterator[Talk]:
    """One conformance server with nothing in between."""
    log = PeerLog(logs / f"{len(list(logs.iterdir()))}-direct.jsonl")
    async with factory(command("conformance", log), name="direct") as client:
        yield await _open(client, root, {}, {"conformance": log}, FULL)
    well_behaved(log)


@asynccontextmanager
async def through(
    ombud: OmbudFactory,
    root: Path,
    logs: Path,
    servers: Mapping[str, Json] | None = None,
    *,
    capabilities: Json = FULL,
    strict: bool = True,
    **more: Any,
) -> AsyncIterator[Talk]:
    """Ombud, and conformance servers behind it: name → how it is different (``differently``) and keys of its entry.

    Each name's priority is its place; ``more`` are keys of the contract. Without ``servers`` it is the one of `direct`.
    """
    before = len(list(logs.iterdir()))
    known = {name: PeerLog(logs / f"{before}-{name}.jsonl") for name in servers or ["conformance"]}
    entries = {
        name: entry(name, log, **{"priority": place, "settings": SETTINGS, **(servers or {}).get(name, {})})
        for place, (name, log) in enumerate(known.items(), 1)
    }
    async with ombud(cwd=root, strict=strict) as client:
        yield await _open(client, root, options(entries, **more), known, capabilities)
    well_behaved(*known.values())


async def _open(client: Client, root: Path, said: Json, logs: Mapping[str, PeerLog], capabilities: Json) -> Talk:
    client.settings = SETTINGS
    await client.initialize(root, said, capabilities)
    client.open("a.x")
    return Talk(client, root, logs)
