"""A language server with every method of LSP 3.17: ``python tests/peers/conformance/server.py '<json>'``.

The JSON has the server's ``name``, and optionally ``log`` (a file, as ``tests/peers/scripted/recorder.py`` writes it)
and what it does differently: ``lacks`` (dotted paths of capabilities), ``fails``, ``dies``, ``holds`` (methods: each is
answered with an error, ends the process, or waits for the command ``<name>.release``), ``unasked`` (method → variant
where the params choose none).

What is answered is chosen by ``params.conformance.variant``, or by the item that is asked about; see ``answers``. The
server is strict: whatever the protocol forbids a client to send is a violation, and items must come back as they
were handed out.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading

# The interpreter may have been started with -I, which leaves the script's own folder out of the path.
sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))))

from tests.peers.conformance.announced import NEEDS, capabilities, dig, need, without
from tests.peers.conformance.answers import ANSWERS
from tests.peers.conformance.answers.ask import LONE, Ask
from tests.peers.conformance.items import Items, NotMine
from tests.peers.scripted.documents import Documents
from tests.peers.scripted.recorder import Recorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Json = dict[str, Any]

DEFAULTS: dict[str, Any] = {
    "name": "conformance",
    "log": None,
    "lacks": [],
    "fails": [],
    "dies": [],
    "holds": [],
    "unasked": {},
}
UNCHOSEN: dict[str, Any] = {
    # Ombud asks for diagnostics by itself, and hears that there are none.
    "textDocument/diagnostic": {"kind": "full", "items": []},
    "workspace/diagnostic": {"items": []},
}
LONGEST_LIFE_S = 300.0
ERROR = {"code": -32803, "message": "refused ü", "data": {"kind": "made_up", "nested": [{"float": 1.0, "lone": LONE}]}}


class Refused(Exception):
    """Answered with the error object that it holds."""

    def __init__(self, error: Json) -> None:
        super().__init__(error["message"])
        self.error = error


def refuse(code: int, message: str) -> Refused:
    return Refused({"code": code, "message": message})


class Server:
    def __init__(self, options: Json) -> None:
        self.name: str = options["name"]
        self._options = options
        self._recorder = Recorder(options["log"])
        self._violation = self._recorder.violation
        self._announced = capabilities(self.name)
        for path in options["lacks"]:
            without(self._announced, path)
        self._documents = Documents(2, self._violation)
        self._items = Items(self.name)
        self._waiting: dict[Any, tuple[str, Callable[[Json], None]]] = {}
        self._held: dict[Any, Json] = {}
        self._open: set[Any] = set()
        self._last_id = 0
        self._stage = "new"
        self._root = ""

    # -- in

    def take(self, message: Json) -> None:
        self._recorder.message(message)
        if message.get("jsonrpc") != "2.0":
            self._violation(f"a message without jsonrpc 2.0: {message}")
        if "method" not in message:
            self._answered(message)
            return
        method = message["method"]
        self._check(method)
        if method in self._options["dies"]:
            self._recorder.event("crash", method=method)
            os.kill(os.getpid(), signal.SIGKILL)
        if "id" in message:
            self._request(message)
        else:
            self._notification(method, message.get("params"))

    def _check(self, method: str) -> None:
        """The order of life, and that only announced methods are used."""
        expected = {"initialize": "new", "initialized": "greeted", "exit": "down"}.get(method, "ready")
        if method not in ("$/cancelRequest", "shutdown") and self._stage != expected:
            self._violation(f"{method} while the server is {self._stage}")
        path = need(method) if method in ANSWERS or method in NEEDS else None
        if path is not None and dig(self._announced, path) in (None, False):
            self._violation(f"{method}, though {path} was not announced")

    def _request(self, message: Json) -> None:
        if message["id"] in self._open:
            self._violation(f"id {message['id']!r} is open already")
        self._open.add(message["id"])
        if message["method"] in self._options["holds"]:
            self._held[message["id"]] = message
            return
        self._work(message)

    def _work(self, message: Json) -> None:
        """Answer a request, unless its answer waits for the client."""
        method, params = message["method"], message.get("params")
        try:
            if method in self._options["fails"]:
                raise Refused({**ERROR, "message": f"{self.name} fails"})
            if method == "workspace/executeCommand" and self._deferred(message):
                return
            result = self._result(method, params)
        except (KeyError, TypeError) as problem:
            self._violation(f"{method} with malformed params: {problem!r}")
            self._fail(message["id"], {"code": -32602, "message": f"malformed params: {problem!r}"})
        except NotMine as problem:
            self._violation(str(problem))
            self._fail(message["id"], {"code": -32602, "message": str(problem)})
        except Refused as problem:
            self._fail(message["id"], problem.error)
        else:
            self._finish(message["id"], {"result": self._report(params, result)})

    def _result(self, method: str, params: Any) -> Any:
        match method:
            case "initialize":
                self._stage = "greeted"
                self._root = params["rootUri"]
                return {
                    "capabilities": self._announced,
                    "serverInfo": {"name": self.name, "version": "3.17"},
                }
            case "shutdown":
                self._stage = "down"
                return None
        if method == "workspace/executeCommand":
            self._command(params)
        if method not in ANSWERS:
            return self._vendor(method, params)
        variant = self._items.variant(method, params)
        variant = variant or self._options["unasked"].get(method)
        if variant == "error":
            raise Refused(ERROR)
        if variant == "cancelled":
            raise Refused({"code": -32802, "message": "later", "data": {"retriggerRequest": True}})
        uri = self._about(method, params)
        document = self._documents.open.get(uri)
        ask = Ask(self.name, uri, params, variant or "", document.version if document is not None else None)
        if variant is None:
            return UNCHOSEN.get(method)
        result = ANSWERS[method][variant](ask)
        self._items.made(method, result)
        return result

    def _about(self, method: str, params: Json) -> str:
        """The document of a question; for questions about the whole workspace a document in the root."""
        place = params.get("textDocument") or params.get("item") or self._items.origin(method, params)
        uri: str = place.get("uri") or f"{self._root}/a.x"
        if "textDocument" in params and uri not in self._documents.open:
            self._violation(f"{method} about {uri}, which is not open")
        return uri

    def _vendor(self, method: str, params: Any) -> Any:
        if not method.startswith(("conformance/", f"{self.name}/")) and method != "textDocument/switchSourceHeader":
            raise refuse(-32601, f"{self.name} does not know {method}")
        return {"by": self.name, "method": method, "params": params}

    def _command(self, params: Json) -> None:
        if params["command"] not in self._announced["executeCommandProvider"]["commands"]:
            raise refuse(-32602, f"{self.name} has no command {params['command']}")

    def _deferred(self, message: Json) -> bool:
        """The commands that steer the server; true when the answer is on its way or will be."""
        params, identity = message["params"], message["id"]
        owner, _, word = params["command"].partition(".")
        if owner != self.name:
            return False
        first: Any = next(iter(params.get("arguments", [])), None)
        match word:
            case "ask":
                self._ask(first["method"], first.get("params"), lambda kept: self._finish(identity, {"result": kept}))
            case "tell":
                self._send({"method": first["method"], "params": first.get("params")})
                self._finish(identity, {"result": None})
            case "release":
                held, self._held = self._held, {}
                for one in held.values():
                    self._work(one)
                self._finish(identity, {"result": len(held)})
            case "state":
                violations, documents = self._recorder.violations, self._documents.snapshot()
                self._finish(identity, {"result": {"violations": violations, "documents": documents}})
            case _:
                return False
        return True

    def _notification(self, method: str, params: Any) -> None:
        match method:
            case "initialized":
                self._stage = "ready"
            case "exit":
                self._recorder.event("exit", code=0 if self._stage == "down" else 1)
                os._exit(0 if self._stage == "down" else 1)
            case "$/cancelRequest":
                if self._held.pop(params["id"], None) is not None:
                    self._fail(params["id"], {"code": -32800, "message": "cancelled"})
            case "textDocument/didOpen":
                self._documents.did_open(params)
            case "textDocument/didChange":
                self._documents.did_change(params)
            case "textDocument/didClose":
                self._documents.did_close(params)
            case "textDocument/didSave":
                document = self._documents.open.get(params["textDocument"]["uri"])
                if document is None or params.get("text") != document.text:
                    self._violation(f"didSave without the text that was synchronised: {params}")

    # -- out

    def _report(self, params: Any, result: Any) -> Any:
        """Progress under the tokens that the client gave with a request; returns what is left for the answer."""
        if not isinstance(params, dict):
            return result
        work, partial = params.get("workDoneToken"), params.get("partialResultToken")
        begin = {"kind": "begin", "title": f"{self.name} ü", "cancellable": True, "message": "", "percentage": 0}
        half = {"kind": "report", "message": "half", "percentage": 50, "cancellable": False}
        reports: list[tuple[Any, Any]] = [(work, begin), (work, half), (work, {"kind": "end", "message": "done"})]
        if partial is not None and isinstance(result, list):
            # What was reported in parts is not answered again (LSP 3.17, "Partial Result Progress").
            reports[2:2] = [(partial, result[:1]), (partial, result[1:])]
            result = []
        for token, value in reports:
            if token is not None:
                self._send({"method": "$/progress", "params": {"token": token, "value": value}})
        return result

    def _ask(self, method: str, params: Any, answered: Callable[[Json], None]) -> None:
        self._last_id += 1
        self._waiting[self._last_id] = (method, answered)
        message: Json = {"id": self._last_id, "method": method}
        self._send(message if params is None else {**message, "params": params})

    def _answered(self, message: Json) -> None:
        waiting = self._waiting.pop(message.get("id"), None)
        if waiting is None or ("result" in message) == ("error" in message):
            self._violation(f"an answer that nobody waits for, or is none: {message}")
        else:
            waiting[1]({key: message[key] for key in ("result", "error") if key in message})

    def _fail(self, identity: Any, error: Json) -> None:
        self._finish(identity, {"error": error})

    def _finish(self, identity: Any, body: Json) -> None:
        self._open.discard(identity)
        self._send({"id": identity, **body})

    def _send(self, message: Json) -> None:
        self._recorder.sent(message)
        text = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False)
        try:
            body = text.encode()
        except UnicodeEncodeError:
            body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        data = memoryview(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        while data:
            data = data[os.write(1, data) :]


def bodies() -> Iterator[Any]:
    """The decoded bodies of standard input, until its end."""
    stream = sys.stdin.buffer
    while True:
        length = None
        while (line := stream.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if length is None:
            return
        yield json.loads(stream.read(length))


def main(argv: list[str]) -> int:
    given = json.loads(argv[0]) if argv else {}
    unknown = sorted(given.keys() - DEFAULTS.keys())
    if unknown:
        print(f"bad options: {unknown}", file=sys.stderr)
        return 64
    limit = threading.Timer(LONGEST_LIFE_S, os._exit, (99,))
    limit.daemon = True
    limit.start()
    options = {**DEFAULTS, **given}
    options["unasked"] = {"workspace/executeCommand": "own", **options["unasked"]}
    Recorder(options["log"]).event("start")
    server = Server(options)
    for message in bodies():
        server.take(message)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
