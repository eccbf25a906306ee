"""Scripts for ``tests/peers/server.py``, built in Python, and what a peer wrote into its log.

    log = PeerLog(tmp_path / "peer.jsonl")
    script = Script("mine", diagnostics="pull", hangOn=["textDocument/hover"], log=log)
    options = ombud_options({"mine": script.entry([".x"])}, trusted=True)

Keys are spelled as in ``tests/peers/scripted/keys.py``, where each is explained; one that does not exist is an error
here and now.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.peers.scripted.keys import complete
from tests.waiting import wait_until

SERVER = Path(__file__).with_name("server.py")
# A single argument of a command may not be larger on Linux (MAX_ARG_STRLEN); stay well below it.
_LONGEST_ARGUMENT = 100_000


class Script:
    """How a scripted peer behaves. Immutable: ``but`` makes a changed copy."""

    def __init__(self, name: str = "scripted", **keys: Any) -> None:
        log = keys.get("log")
        if isinstance(log, PeerLog):
            keys["log"] = str(log.path)
        self.name = name
        self.keys: dict[str, Any] = {"name": name, **keys}
        complete(self.keys)

    def but(self, **keys: Any) -> Script:
        return Script(**{**self.keys, **keys})

    def json(self) -> str:
        return json.dumps(self.keys)

    def command(self) -> list[str]:
        """The server's command: a bare interpreter (no site-packages, some 30 ms to start) and the script."""
        text = self.json()
        if len(text) > _LONGEST_ARGUMENT:
            raise ValueError(f"a script of {len(text)} characters needs command_with(file)")
        return [sys.executable, "-I", "-S", str(SERVER), text]

    def command_with(self, file: Path) -> list[str]:
        """The same with the script in a file, which may be rewritten between two starts."""
        file.write_text(self.json(), encoding="utf-8")
        return [sys.executable, "-I", "-S", str(SERVER), "--script", str(file)]

    def executable(self, path: Path) -> Path:
        """Makes ``path`` a program that is this server, for PATH, ``node_modules/.bin`` and the like; POSIX only."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!/bin/sh\nexec {shlex.join(self.command())} "$@"\n', encoding="utf-8")
        path.chmod(0o755)
        return path

    def entry(
        self,
        extensions: Sequence[str] = (".x",),
        languages: Sequence[str] = (),
        markers: Sequence[str] = ("x.toml",),
        **more: Any,
    ) -> dict[str, Any]:
        """An entry of ``initializationOptions.ombud.servers``; ``more`` are further keys of the contract."""
        entry: dict[str, Any] = {
            "command": self.command(),
            "extensions": list(extensions),
            "rootMarkers": list(markers),
        }
        if languages:
            entry["languages"] = list(languages)
        return {**entry, **more}


def ombud_options(servers: Mapping[str, Script | dict[str, Any]], **ombud: Any) -> dict[str, Any]:
    """``initializationOptions`` with these servers (scripts become entries for ``.x`` files under ``x.toml``)."""
    entries = {name: one.entry() if isinstance(one, Script) else one for name, one in servers.items()}
    return {"ombud": {"servers": entries, **ombud}}


class PeerLog:
    """The log of all starts of one scripted server: the way to see it from behind a proxy, also when it is dead."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def entries(self, event: str | None = None) -> list[dict[str, Any]]:
        """All entries, oldest first; a line still being written is left for the next call."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return []
        found = [json.loads(line) for line in data.split(b"\n")[:-1]]
        return [entry for entry in found if event is None or entry["event"] == event]

    def starts(self) -> list[int]:
        """The process ids of all starts."""
        return [entry["pid"] for entry in self.entries("start")]

    def received(self, method: str | None = None, pid: int | None = None) -> list[dict[str, Any]]:
        """The messages that the server was sent, whole, answers to its own requests included."""
        return [
            entry["message"]
            for entry in self.entries("received")
            if (method is None or entry["message"].get("method") == method) and pid in (None, entry["pid"])
        ]

    def methods(self, pid: int | None = None) -> list[str]:
        """The methods of ``received``, in order."""
        return [message["method"] for message in self.received(pid=pid) if "method" in message]

    def violations(self) -> list[str]:
        return [entry["what"] for entry in self.entries("violation")]

    def spawned(self) -> list[int]:
        return [entry["child"] for entry in self.entries("spawned")]

    async def wait(self, predicate: Callable[[PeerLog], Any], timeout: float = 20.0, what: str = "") -> Any:
        """Polls until ``predicate(log)`` is truthy and returns that. Raises ``TimeoutError`` with the log's events."""
        try:
            return await wait_until(lambda: predicate(self), timeout, what)
        except TimeoutError as problem:
            events = [entry.get("message", {}).get("method", entry["event"]) for entry in self.entries()]
            raise TimeoutError(f"{problem}; the peer's log has {events}") from None

    async def wait_received(self, method: str, count: int = 1, timeout: float = 20.0) -> list[dict[str, Any]]:
        """Waits until ``count`` messages of ``method`` have arrived over all starts."""

        def enough(log: PeerLog) -> list[dict[str, Any]]:
            found = log.received(method)
            return found if len(found) >= count else []

        found: list[dict[str, Any]] = await self.wait(enough, timeout, f"{count} × {method}")
        return found
