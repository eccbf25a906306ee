"""A debug adapter that does as its script says: ``python adapter.py '{"order": …}'``. The standard library only.

``order``: when ``initialized`` is sent and the launch answered (see `ORDERS`). ``eager``: it stops before the answers.
``stop``: false for a program that runs on. ``fail``: the launch is refused with that message. ``words``: printed on
standard error. ``hang``, ``ignore``: requests that are never answered. ``flood``: pieces of output before the stop.
``reverse``: reverse requests that are sent then; what is answered is printed. ``junk``: bytes before the first message;
``garbage``: bodies that are no messages. ``variables``: how many there are, ``value`` how long each is. ``leave``: how
it goes at a ``continue``: exit (with ``code``), late, terminated, eof, run. ``child``: a command that is started.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

ORDERS = {
    # The protocol's own: ``initialized`` answers ``initialize``.
    "at once": ("initialize", "launch"),
    # debugpy, lldb-dap: after the launch was sent, which is answered last.
    "launch last": ("launch", "configurationDone"),
    # lldb-vscode: the launch is answered before ``initialized``.
    "launch first": ("after launch", "launch"),
    # CodeLLDB: launch and configurationDone are answered together.
    "together": ("launch", "configurationDone"),
}


class Adapter:
    def __init__(self, script: dict[str, Any]) -> None:
        self.script = script
        self.seq = 0
        self.launch: dict[str, Any] | None = None
        self.initialized, self.answered = ORDERS[script.get("order", "launch last")]
        self.path = ""

    def send(self, message: dict[str, Any]) -> None:
        self.seq += 1
        body = json.dumps({"seq": self.seq, **message}).encode()
        sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        sys.stdout.buffer.flush()

    def event(self, name: str, body: dict[str, Any] | None = None) -> None:
        self.send({"type": "event", "event": name, "body": body or {}})

    def answer(self, request: dict[str, Any], body: dict[str, Any] | None = None, error: str = "") -> None:
        said: dict[str, Any] = {"type": "response", "request_seq": request["seq"], "command": request["command"]}
        if error:
            said |= {"success": False, "message": "failed", "body": {"error": {"id": 1, "format": error}}}
        else:
            said |= {"success": True, "body": body or {}}
        self.send(said)

    def run(self) -> None:
        sys.stderr.write(self.script.get("words", ""))
        sys.stderr.flush()
        sys.stdout.buffer.write(self.script.get("junk", "").encode())
        stream = sys.stdin.buffer
        while head := stream.readline():
            if head == b"\r\n" or b":" not in head:
                continue
            length = int(head.split(b":")[1])
            while stream.readline() not in (b"\r\n", b""):
                pass
            self.take(json.loads(stream.read(length)))

    def take(self, message: dict[str, Any]) -> None:
        if message["type"] == "response":
            self.event("output", {"category": "console", "output": f"{message['command']}: {message['success']}\n"})
            return
        command = message["command"]
        if command in self.script.get("ignore", ()) or command in self.script.get("hang", ()):
            return
        getattr(self, f"on_{command}", self.on_anything)(message)

    def on_anything(self, message: dict[str, Any]) -> None:
        self.answer(message)

    def on_initialize(self, message: dict[str, Any]) -> None:
        for body in self.script.get("garbage", ()):
            sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body.encode()))
        filters = [{"filter": "uncaught", "label": "Uncaught"}, {"filter": "raised", "label": "Raised"}]
        can = {
            "supportsConfigurationDoneRequest": True,
            "supportsSetVariable": True,
            "exceptionBreakpointFilters": filters,
        }
        self.answer(message, {**can, **self.script.get("can", {})})
        if self.initialized == "initialize":
            self.event("initialized")

    def on_launch(self, message: dict[str, Any]) -> None:
        if child := self.script.get("child"):
            subprocess.Popen(child)
        if fail := self.script.get("fail"):
            self.answer(message, error=fail)
            return
        self.path = message["arguments"].get("program", "")
        if self.answered == "launch":
            self.answer(message)
        else:
            self.launch = message
        if self.initialized in ("launch", "after launch"):
            self.event("initialized")

    on_attach = on_launch

    def on_configurationDone(self, message: dict[str, Any]) -> None:
        if self.script.get("eager"):
            self.stop()
        self.answer(message)
        if self.launch is not None:
            self.answer(self.launch)
        for name in self.script.get("reverse", ()):
            self.send({"type": "request", "command": name, "arguments": {}})
        for number in range(self.script.get("flood", 0)):
            self.event("output", {"category": "stdout", "output": f"line {number} of the flood\n"})
        if self.script.get("stop", True) and not self.script.get("eager"):
            self.stop()

    def stop(self, reason: str = "breakpoint") -> None:
        self.event("stopped", {"reason": reason, "threadId": 7, "allThreadsStopped": True})

    def on_setBreakpoints(self, message: dict[str, Any]) -> None:
        lines = [one["line"] for one in message["arguments"]["breakpoints"]]
        odd = self.script.get("unbound", ())
        rows = [
            {"id": at, "line": at, "verified": at not in odd, "message": "no code" if at in odd else ""} for at in lines
        ]
        self.answer(message, {"breakpoints": rows})

    def on_threads(self, message: dict[str, Any]) -> None:
        self.answer(message, {"threads": [{"id": 7, "name": "main"}]})

    def on_stackTrace(self, message: dict[str, Any]) -> None:
        source = {"name": "app", "path": self.path}
        frames = [{"id": n + 1, "name": f"f{n}", "line": n + 1, "column": 1, "source": source} for n in range(40)]
        first, count = message["arguments"].get("startFrame", 0), message["arguments"].get("levels", 40)
        self.answer(message, {"stackFrames": frames[first : first + count], "totalFrames": len(frames)})

    def on_scopes(self, message: dict[str, Any]) -> None:
        self.answer(message, {"scopes": [{"name": "Locals", "variablesReference": 5, "expensive": False}]})

    def on_variables(self, message: dict[str, Any]) -> None:
        count, length = self.script.get("variables", 2), self.script.get("value", 3)
        rows = [{"name": f"v{n}", "value": "x" * length, "variablesReference": 0} for n in range(count)]
        self.answer(message, {"variables": rows})

    def on_evaluate(self, message: dict[str, Any]) -> None:
        asked = message["arguments"]["expression"]
        if asked == "wrong":
            self.answer(message, error="Traceback (most recent call last):\n  File x\nNameError: wrong")
        else:
            self.answer(message, {"result": asked, "variablesReference": 0})

    def on_next(self, message: dict[str, Any]) -> None:
        # Faster than its own answer, as some are.
        self.stop("step")
        self.answer(message)

    def on_continue(self, message: dict[str, Any]) -> None:
        leave = self.script.get("leave", "exit")
        self.answer(message, {"allThreadsContinued": True})
        if leave == "exit":
            self.event("exited", {"exitCode": self.script.get("code", 0)})
            self.event("terminated")
        elif leave == "late":
            self.event("terminated")
            time.sleep(0.2)
            self.event("exited", {"exitCode": self.script.get("code", 0)})
        elif leave == "terminated":
            self.event("terminated")
        elif leave == "eof":
            sys.exit(0)

    def on_pause(self, message: dict[str, Any]) -> None:
        self.answer(message)
        self.stop("pause")

    def on_disconnect(self, message: dict[str, Any]) -> None:
        self.answer(message)
        sys.exit(0)


if __name__ == "__main__":
    Adapter(json.loads(sys.argv[1])).run()
