"""What the scripted server remembers of its life, in memory and in its log.

The log (``log`` of the script) is one JSON object a line, appended at once and in one write, so that it survives any
crash and may be shared by all starts of a server: ``{"event", "pid", "time", …}`` with the events ``start``,
``received`` (the whole message), ``sent`` (method and id), ``violation``, ``spawned``, ``signal``, ``eof``, ``exit``.
"""

from __future__ import annotations

import json
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Recorder:
    def __init__(self, path: str | None) -> None:
        self.received: list[dict[str, Any]] = []
        self.counts: dict[str, int] = {}
        self.messages: list[dict[str, Any]] = []
        self.answers: list[dict[str, Any]] = []
        self.violations: list[str] = []
        self.cancelled: list[Any] = []
        self.spawned: list[int] = []
        self._log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) if path else None

    def event(self, event: str, **facts: Any) -> None:
        if self._log is None:
            return
        line = {"event": event, "pid": os.getpid(), "time": round(time.time(), 6), **facts}
        os.write(self._log, json.dumps(line).encode() + b"\n")

    def violation(self, what: str) -> None:
        """The client broke the protocol: kept, logged, never fatal, so that a test sees all of it."""
        self.violations.append(what)
        self.event("violation", what=what)

    def message(self, message: dict[str, Any]) -> None:
        """Books one message from the client; answers to our own requests have no method and count as none."""
        self.event("received", message=message)
        self.messages.append({"direction": "received", "message": message})
        method = message.get("method")
        if method is None:
            return
        self.counts[method] = self.counts.get(method, 0) + 1
        entry: dict[str, Any] = {"method": method}
        if "id" in message:
            entry["id"] = message["id"]
        params = message.get("params")
        document = params.get("textDocument") if isinstance(params, dict) else None
        if isinstance(document, dict):
            entry |= {key: document[key] for key in ("uri", "version") if key in document}
        self.received.append(entry)

    def sent(self, message: dict[str, Any]) -> None:
        summary = {key: message[key] for key in ("method", "id") if key in message}
        self.event("sent", **summary)
        self.messages.append({"direction": "sent", "message": summary})
