"""One scripted server from its first byte to its last: dispatch, and misbehaving when the script says so.

Answers are worked out when the request arrives and sent when the script lets them go, so that a delayed answer still
tells which text the server had when it was asked.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import time

from tests.peers.scripted.asking import Asking
from tests.peers.scripted.diagnostics import Diagnostics, Refused
from tests.peers.scripted.documents import Document, Documents, file_path
from tests.peers.scripted.features import FEATURES, Features, InvalidParams
from tests.peers.scripted.keys import fires
from tests.peers.scripted.life import Life
from tests.peers.scripted.recorder import Recorder
from tests.peers.scripted.timers import Timers
from tests.peers.scripted.wire import LONE_SURROGATE, Gone, Wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ALL_METHODS = {method for _, _, methods in FEATURES.values() for method in methods}


class Unknown(Exception):
    """A method that this server does not have."""


class Answer:
    """What a request is going to be answered, while it waits to be sent."""

    def __init__(self, message: dict[str, Any], nth: int, body: dict[str, Any]) -> None:
        self.id = message["id"]
        self.method: str = message["method"]
        self.nth = nth
        self.body = body
        self.timer: int | None = None
        self._command: str = (message.get("params") or {}).get("command", "")

    @property
    def spoilt(self) -> bool:
        """Whether the sweeping misdeeds apply: a server that spoils its start or the test's questions is no use."""
        asked_by_test = self.method.startswith("test/") or self._command.endswith(".state")
        return self.method not in ("initialize", "shutdown") and not asked_by_test


class Session:
    def __init__(self, script: dict[str, Any], life: Life, recorder: Recorder) -> None:
        self._script = script
        self._life = life
        self._recorder = recorder
        self._wire = Wire(script)
        self.timers = Timers()
        self._documents = Documents(script["sync"], recorder.violation)
        self._asking = Asking(script, recorder, self.timers, self._send)
        self._diagnostics = Diagnostics(script, self._documents, self.timers, self._asking.notify)
        self._features = Features(script, self._documents)
        self._initialize: dict[str, Any] | None = None
        self._initialized = False
        self._shut_down = False
        self._configuration: list[Any] = []
        self._waiting: dict[Any, Answer] = {}
        self._held: list[Answer] = []

    # -- in

    def feed(self, data: bytes) -> None:
        for message in self._wire.feed(data):
            self._recorder.message(message)
            if "method" not in message:
                self._asking.answered(message)
                continue
            self._check_order(message)
            nth = self._recorder.counts[message["method"]]
            self._misbehave(message["method"], nth, message.get("params") or {})
            if "id" in message:
                self._request(message, nth)
            else:
                self._notification(message["method"], message.get("params") or {})
                self._crash(message["method"], nth, "after")

    def end_of_input(self) -> None:
        self._recorder.event("eof")
        if not self._script["ignoreEof"]:
            self._life.leave(self._exit_code())

    def _check_order(self, message: dict[str, Any]) -> None:
        method = message["method"]
        if method in ("initialize", "exit"):
            return
        if self._initialize is None:
            self._recorder.violation(f"{method} before initialize")
        elif not self._initialized and method not in ("initialized", "shutdown", "$/cancelRequest"):
            self._recorder.violation(f"{method} before initialized")
        elif self._shut_down and method != "$/cancelRequest" and not method.startswith("test/"):
            self._recorder.violation(f"{method} after shutdown")

    def _misbehave(self, method: str, nth: int, params: dict[str, Any]) -> None:
        """Everything that happens on arrival, before the message is looked at."""
        if fires(self._script["freezeOn"], method, nth):
            self._life.freeze()
        time.sleep(self._script["busy"].get(method, 0) / 1000)
        self._crash(method, nth, "before")
        flood = fires(self._script["floodOn"], method, nth)
        if flood:
            self._flood(flood, params)
        if self._script["requestsOn"].get(method):
            self._asking.scripted(self._script["requestsOn"][method])

    def _flood(self, flood: dict[str, Any], request: dict[str, Any]) -> None:
        wanted = flood.get("notification", "window/logMessage")
        notification: dict[str, Any] = {"method": wanted, "params": {"type": 4}} if isinstance(wanted, str) else wanted
        # Numbered, so that a test can tell one that is missing from one that came twice; booked as one event.
        for number in range(flood.get("count", 10_000)):
            params = {"message": str(number), **notification.get("params", {})}
            if params.get("token") in ("workDoneToken", "partialResultToken"):
                # The request's own token, whatever it is.
                params["token"] = request.get(params["token"], params["token"])
            self._wire.send({"jsonrpc": "2.0", "method": notification["method"], "params": params})
        self._recorder.event("flooded", count=flood.get("count", 10_000))

    def _crash(self, method: str, nth: int, when: str, frame: bytes = b"") -> None:
        crash = fires(self._script["crashOn"], method, nth, default_nth=1)
        if crash is None or crash.get("when", "before") != when:
            return
        if when == "midFrame":
            self._wire.write_raw(frame[: len(frame) - len(frame) // 3])
        os.write(2, str(crash.get("stderr", "")).encode())
        self._recorder.event("crash", method=method, when=when)
        if crash.get("signal"):
            self._life.kill(signal.Signals[crash["signal"]])
        self._life.leave(crash.get("exitCode", 1))

    def _request(self, message: dict[str, Any], nth: int) -> None:
        method = message["method"]
        if method in self._script["rawOn"]:
            self._wire.write_bytes(str(self._script["rawOn"][method]).encode())
            return
        body = self._work_out(message, nth)
        if body is None:
            return
        answer = Answer(message, nth, body)
        delay = self._script["slow"].get(method, 0)
        if method == "textDocument/diagnostic" and body.get("result", {}).get("items"):
            delay = delay or self._script["slowFound"]
        if fires(self._script["hangOn"], method, nth) or (method == "shutdown" and self._script["ignoreShutdown"]):
            self._waiting[answer.id] = answer
        elif delay:
            self._waiting[answer.id] = answer
            answer.timer = self.timers.after(delay, lambda: self._finish(answer))
        else:
            self._finish(answer)

    def _work_out(self, message: dict[str, Any], nth: int) -> dict[str, Any] | None:
        """The ``result`` or ``error`` member of an answer; None when it will be given later."""
        method, params = message["method"], message.get("params") or {}
        error = self._script["errorsOn"].get(method)
        if error is not None and error.get("nth", nth) == nth:
            return {"error": {key: error[key] for key in ("code", "message", "data") if key in error}}
        try:
            if method == "workspace/executeCommand" and params["command"].endswith(".applyEdit"):
                if method not in self._features.methods:
                    raise Unknown(method)
                self._apply_edit(message, nth)
                return None
            return {"result": self._result(method, params)}
        except InvalidParams as problem:
            return {"error": {"code": -32602, "message": str(problem)}}
        except Refused as problem:
            return {"error": problem.error}
        except (KeyError, TypeError) as problem:
            self._recorder.violation(f"{method} with malformed params: {problem!r}")
            return {"error": {"code": -32602, "message": f"malformed params: {problem!r}"}}
        except Unknown:
            if self._initialize is None:
                return {"error": {"code": -32002, "message": f"{self._script['name']} is not initialized"}}
            if method in _ALL_METHODS or method in ("textDocument/diagnostic", "workspace/diagnostic"):
                self._recorder.violation(f"asked for {method}, which was never announced")
            return {"error": {"code": -32601, "message": f"{self._script['name']} does not know {method}"}}

    def _result(self, method: str, params: dict[str, Any]) -> Any:
        """The result of any request. Raises ``Unknown``, ``InvalidParams``, ``Refused``."""
        match method:
            case "initialize":
                return self._start(params)
            case "shutdown":
                self._shut_down = True
                self._release()
                return None
            case "test/state":
                return self.state()
            case "test/log":
                return {"messages": self._recorder.messages}
            case "test/environment":
                values = {name: os.environ.get(name) for name in params.get("names", [])}
                return {"cwd": os.getcwd(), "argv": sys.argv, "values": values}
        if self._initialize is None:
            raise Unknown(method)
        if method == "textDocument/diagnostic" and self._diagnostics.pulls:
            return self._diagnostics.pull(params)
        if method == "workspace/diagnostic" and self._diagnostics.pulls and self._script["workspacePull"]:
            return self._diagnostics.pull_workspace(params)
        if method in self._script["answers"]:
            return self._script["answers"][method]
        if method not in self._features.methods:
            raise Unknown(method)
        if method == "workspace/executeCommand":
            return self._command(params)
        return self._features.answer(method, params)

    def _start(self, params: dict[str, Any]) -> dict[str, Any]:
        if self._initialize is not None:
            self._recorder.violation("a second initialize")
            raise Refused({"code": -32600, "message": "a second initialize"})
        if self._script["refuseInitialize"]:
            error = {"code": -32603, "message": self._script["refuseInitialize"], "data": {"retry": False}}
            raise Refused(error)
        self._initialize = params
        self._asking.root = params.get("rootUri")
        announced = self._features.capabilities()
        provider = self._diagnostics.meet(params.get("capabilities") or {})
        if provider is not None:
            announced["diagnosticProvider"] = provider
        if self._script["positionEncoding"]:
            announced["positionEncoding"] = self._script["positionEncoding"]
        announced |= self._script["capabilities"]
        capabilities = {key: value for key, value in announced.items() if value is not None}
        return {
            "capabilities": capabilities,
            "serverInfo": {"name": self._script["name"], "version": self._script["version"]},
        }

    def _command(self, params: dict[str, Any]) -> Any:
        command = params["command"]
        if command not in self._features.commands:
            raise InvalidParams(f"{self._script['name']} has no command {command}")
        arguments = params.get("arguments") or []
        return self.state() if command.endswith(".state") else {"by": self._script["name"], "arguments": arguments}

    def _apply_edit(self, message: dict[str, Any], nth: int) -> None:
        """``<name>.applyEdit``: the client applies ``arguments[0]``, and its answer is the command's result."""

        def applied(answer: dict[str, Any]) -> None:
            kept = {key: answer[key] for key in ("result", "error") if key in answer}
            self._finish(Answer(message, nth, {"result": {"answer": kept}}))

        edit = {"label": self._script["name"], "edit": message["params"]["arguments"][0]}
        self._asking.ask("workspace/applyEdit", edit, applied)

    # -- notifications

    def _notification(self, method: str, params: dict[str, Any]) -> None:
        match method:
            case "initialized":
                self._on_initialized()
            case "exit" if not self._script["ignoreExit"]:
                self._life.leave(self._exit_code())
            case "$/cancelRequest":
                self._cancel(params["id"])
            case "textDocument/didOpen":
                self._diagnostics.touched(self._documents.did_open(params), "open")
            case "textDocument/didChange":
                self._touched(self._documents.did_change(params), "change")
            case "textDocument/didSave":
                self._saved(params)
            case "textDocument/didClose":
                self._touched(self._documents.did_close(params), "close")
            case "workspace/didChangeWatchedFiles":
                self._watched(params)
            case "test/log":
                self._recorder.messages.append({"direction": "test", "message": params})

    def _touched(self, document: Document | None, why: str) -> None:
        if document is not None:
            self._diagnostics.touched(document, why)

    def _saved(self, params: dict[str, Any]) -> None:
        uri, save = params["textDocument"]["uri"], self._script["save"]
        if not save:
            self._recorder.violation(f"didSave of {uri} to a server that announced none")
        if (save == "text") != ("text" in params):
            self._recorder.violation(f"didSave of {uri} {'with' if 'text' in params else 'without'} its text")
        document = self._documents.open.get(uri)
        if document is None:
            self._recorder.violation(f"didSave of {uri}, which is not open")
        elif params.get("text", document.text) != document.text:
            self._recorder.violation(f"didSave of {uri} with a text that differs from the one synchronised")
        self._touched(document, "save")

    def _watched(self, params: dict[str, Any]) -> None:
        """Files that changed on disk: the open ones are known better, deleted ones have nothing to say."""
        for change in params["changes"]:
            if change["uri"] in self._documents.open:
                continue
            found = self._documents.find(change["uri"])
            if found is None and file_path(change["uri"]) is not None:
                found = Document(change["uri"], "", None, None)
            self._touched(found, "watched")

    def _on_initialized(self) -> None:
        if self._initialized:
            self._recorder.violation("a second initialized")
        self._initialized = True
        sections = self._script["askConfiguration"]
        if self._script["nullConfigurationSilent"] and not sections:
            sections = [self._script["name"]]
        if sections:
            items = {"items": [{"section": section} for section in sections]}
            self._asking.ask("workspace/configuration", items, self._configured)
        registrations = []
        if self._diagnostics.pulls and self._diagnostics.dynamic:
            registrations.append(self._diagnostics.registration())
        if self._script["watch"] and self._client_can("workspace", "didChangeWatchedFiles"):
            watchers = [{"globPattern": pattern} for pattern in self._script["watch"]]
            registrations.append(
                {
                    "id": "scripted-watch",
                    "method": "workspace/didChangeWatchedFiles",
                    "registerOptions": {"watchers": watchers},
                }
            )
        if registrations:
            self._asking.ask("client/registerCapability", {"registrations": registrations})
        self._asking.scripted(self._script["requestsOnInitialized"])
        if self._script["unknownMethods"]:
            name = self._script["name"]
            self._asking.ask(f"{name}/unknownRequest", {"by": name})
            self._asking.notify(f"{name}/unknownNotification", {"by": name})
            self._asking.notify("$/unknownNotification", {"by": name})

    def _client_can(self, section: str, name: str) -> bool:
        capabilities = (self._initialize or {}).get("capabilities") or {}
        return bool(((capabilities.get(section) or {}).get(name) or {}).get("dynamicRegistration"))

    def _configured(self, answer: dict[str, Any]) -> None:
        self._configuration.append(answer.get("result"))
        self._diagnostics.configured(answer.get("result") or [])

    def _cancel(self, request: Any) -> None:
        self._recorder.cancelled.append(request)
        answer = self._waiting.get(request) or next((one for one in self._held if one.id == request), None)
        if answer is None or self._script["ignoreCancel"]:
            return
        if answer in self._held:
            self._held.remove(answer)
        if answer.timer is not None:
            self.timers.cancel(answer.timer)
        late = self._script["lateAnswerAfterCancel"]
        if late is None:
            answer.body = {"error": {"code": -32800, "message": "cancelled"}}
            self._waiting.pop(request, None)
            self._send_answer(answer)
        else:
            answer.timer = self.timers.after(late, lambda: self._finish(answer))

    # -- out

    def _finish(self, answer: Answer) -> None:
        """An answer is due: it goes out, or waits for others to be put out of order with."""
        self._waiting.pop(answer.id, None)
        if not self._script["reorder"] or not answer.spoilt:
            self._send_answer(answer)
            return
        self._held.append(answer)
        if len(self._held) >= self._script["reorder"]:
            self._release()

    def _release(self) -> None:
        held, self._held = self._held, []
        for answer in reversed(held):
            self._send_answer(answer)

    def _send_answer(self, answer: Answer) -> None:
        message = {"jsonrpc": "2.0", "id": answer.id, **self._decorate(answer)}
        wrong = self._script["wrongIds"] if answer.spoilt else None
        if wrong in ("also", "instead"):
            self._send({**message, "id": f"wrong-{answer.id}"})
        if wrong == "asString":
            message["id"] = str(answer.id)
        self._crash(answer.method, answer.nth, "midFrame", self._wire.frame(message))
        twice = self._script["answerTwice"]
        if wrong != "instead":
            self._send(message)
            if fires(twice, answer.method, answer.nth) and (answer.spoilt or twice is not True):
                self._send(message)
        self._crash(answer.method, answer.nth, "after")

    def _decorate(self, answer: Answer) -> dict[str, Any]:
        """Padding and a lone surrogate, where the script wants them."""
        if "error" in answer.body or not answer.spoilt:
            return answer.body
        result, big = answer.body["result"], self._script["bigAnswer"]
        bytes_wanted = big.get(answer.method, 0) if isinstance(big, dict) else 0
        if answer.method == "textDocument/hover" and result is not None:
            bytes_wanted = bytes_wanted or (0 if isinstance(big, dict) else big)
            ending = " " * bool(bytes_wanted) + "x" * max(0, bytes_wanted - 1)
            ending += LONE_SURROGATE if self._script["surrogates"] else ""
            return {"result": {**result, "contents": result["contents"] + ending}}
        more: dict[str, Any] = {"padding": "x" * bytes_wanted} if bytes_wanted else {}
        if self._script["surrogates"]:
            more["lone"] = LONE_SURROGATE
        if not more:
            return answer.body
        if isinstance(result, list):
            return {"result": [*result[:-1], {**result[-1], **more}] if result else [more]}
        return {"result": {**(result or {}), **more}}

    def _send(self, message: dict[str, Any]) -> None:
        self._wire.send(message)
        self._recorder.sent(message)

    # -- state

    def state(self) -> dict[str, Any]:
        """Everything the server knows, as ``test/state`` and the command ``<name>.state`` answer it."""
        recorder = self._recorder
        return {
            "name": self._script["name"],
            "pid": os.getpid(),
            "initialize": self._initialize,
            "documents": self._documents.snapshot(),
            "received": recorder.received,
            "counts": recorder.counts,
            "configuration": self._configuration,
            "answers": recorder.answers,
            "cancelled": recorder.cancelled,
            "violations": recorder.violations,
            "spawned": recorder.spawned,
            "waiting": [answer.id for answer in (*self._waiting.values(), *self._held)],
        }

    def _exit_code(self) -> int:
        given = self._script["exitCode"]
        return (0 if self._shut_down else 1) if given is None else int(given)


def serve(script: dict[str, Any]) -> int:
    """Runs until the client or the script ends it; the exit code is for a client that stopped reading."""
    recorder = Recorder(script["log"])
    life = Life(script, recorder)
    life.begin()
    session = Session(script, life, recorder)
    while True:
        try:
            data = life.inbox.get(timeout=session.timers.wait())
        except queue.Empty:
            data = None
        try:
            if data:
                session.feed(data)
            elif data is not None:
                session.end_of_input()
            session.timers.run_due()
        except Gone as problem:
            recorder.event("gone", reason=str(problem))
            if not script["ignoreEof"]:
                life.leave(script["exitCode"] or 0)
        except Exception as problem:
            # Behind a proxy nobody sees our stderr; the log must tell a fault of this server from a scripted crash.
            recorder.event("bug", problem=repr(problem))
            raise
