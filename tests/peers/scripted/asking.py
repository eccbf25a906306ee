"""Requests from the scripted server to its client, and the answers it was given."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tests.peers.scripted.recorder import Recorder
    from tests.peers.scripted.timers import Timers

    Answered = Callable[[dict[str, Any]], None]


class Asking:
    """Our ids count from 1 and the progress token is 1: two servers behind one proxy collide, as real ones do."""

    def __init__(
        self,
        script: dict[str, Any],
        recorder: Recorder,
        timers: Timers,
        send: Callable[[dict[str, Any]], None],
    ) -> None:
        self._script = script
        self._recorder = recorder
        self._timers = timers
        self._send = send
        self._waiting: dict[Any, tuple[str, Answered | None]] = {}
        self._last_id = 0
        self.root: str | None = None

    def notify(self, method: str, params: Any) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, params: Any, answered: Answered | None = None) -> None:
        self._last_id += 1
        self._waiting[self._last_id] = (method, answered)
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": self._last_id, "method": method}
        if params is not None:
            message["params"] = params
        self._send(message)

    def answered(self, message: dict[str, Any]) -> None:
        """Books an answer; one that nobody asked for is a violation."""
        waiting = self._waiting.pop(message.get("id"), None)
        if waiting is None:
            self._recorder.violation(f"an answer to id {message.get('id')!r}, which is not waiting for one")
            return
        if ("result" in message) == ("error" in message):
            self._recorder.violation(f"an answer to {waiting[0]} that is not either a result or an error")
        kept: dict[str, Any] = {key: message[key] for key in ("id", "result", "error") if key in message}
        self._recorder.answers.append({"method": waiting[0], **kept})
        if waiting[1] is not None:
            waiting[1](message)

    def scripted(self, wanted: list[Any]) -> None:
        """Sends the requests of ``requestsOnInitialized`` or ``requestsOn``."""
        for entry in wanted:
            stated: dict[str, Any] = {"method": entry} if isinstance(entry, str) else entry
            method = stated["method"]
            params = stated["params"] if "params" in stated else self._canned(method)
            answered = None
            if method == "window/workDoneProgress/create":
                answered = self._progress_granted(params["token"])
            self.ask(method, params, answered)

    def _canned(self, method: str) -> Any:
        name = self._script["name"]
        return {
            "workspace/configuration": {"items": [{"section": name}]},
            "client/registerCapability": {"registrations": [{"id": "1", "method": "workspace/didChangeConfiguration"}]},
            "client/unregisterCapability": {
                "unregisterations": [{"id": "1", "method": "workspace/didChangeConfiguration"}]
            },
            "window/workDoneProgress/create": {"token": 1},
            "window/showMessageRequest": {
                "type": 3,
                "message": f"{name} asks",
                "actions": [{"title": "Yes"}, {"title": "No"}],
            },
            "workspace/applyEdit": {"label": name, "edit": {"changes": {}}},
            "window/showDocument": {"uri": self.root or "file:///"},
        }.get(method)

    def _progress_granted(self, token: Any) -> Answered:
        def granted(answer: dict[str, Any]) -> None:
            if "error" in answer:
                return
            title = self._script["name"]
            self.notify("$/progress", {"token": token, "value": {"kind": "begin", "title": title}})
            report = {"kind": "report", "message": "half", "percentage": 50}
            self.notify("$/progress", {"token": token, "value": report})
            end = {"token": token, "value": {"kind": "end", "message": "done"}}
            self._timers.after(self._script["progressMs"], lambda: self.notify("$/progress", end))

        return granted
