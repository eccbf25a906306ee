"""The test client as a judge: it must find every breach of the protocol, miss nothing that arrives, and never hang."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.client import NO_ANSWER, Client, Disconnected, LspError, ProtocolViolation
from tests.conftest import ClientFactory, OmbudFactory, Workspace
from tests.framing import frame, frame_body
from tests.peers.conftest import PeerFactory
from tests.peers.script import Script
from tests.profiles import VSCODE
from tests.waiting import wait_until, wait_until_sync

HOVER = "textDocument/hover"
PROJECT = Path(__file__).parents[2]
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Listener:
    """A server on a loopback port that says what the test tells it to, byte for byte."""

    def __init__(self) -> None:
        self.port = 0
        self.talk: Talk = self.silence
        self._server: asyncio.Server | None = None

    async def silence(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self.talk(reader, writer)
        finally:
            writer.close()

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    def says(self, *messages: Any, then_end: bool = False) -> None:
        """Reads one frame, says these messages (bytes as they are), then listens until the client is gone."""

        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await read_frame(reader)
            for message in messages:
                writer.write(message if isinstance(message, bytes) else frame({"jsonrpc": "2.0", **message}))
            if then_end:
                writer.write_eof()
            await reader.read()

        self.talk = talk


async def read_frame(reader: asyncio.StreamReader) -> Any:
    header = await reader.readuntil(b"\r\n\r\n")
    return json.loads(await reader.readexactly(int(header.split(b":")[1])))


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    found = Listener()
    await found.start()
    yield found
    await found.stop()


# -- what it finds


@pytest.mark.parametrize(
    ("messages", "violation"),
    [
        ([{"id": 1, "result": {}}, {"id": 1, "result": {}}], "a second answer"),
        ([{"id": 7, "result": {}}], "an answer to an unknown id"),
        ([{"id": "1", "result": {}}], "an answer to an unknown id"),
        ([{"id": None, "error": {"code": -32700, "message": "?"}}], "a response without an id"),
        ([{"id": 1, "result": {}, "error": {"code": 1, "message": ""}}], "either a result or an error"),
        ([{"id": 1}], "either a result or an error"),
        ([{"id": 1, "jsonrpc": "1.0", "result": {}}], "without jsonrpc 2.0"),
        ([{"id": 1, "error": "no"}], "an error without code and message"),
        ([{"method": "textDocument/publishDiagnostics", "params": {}}], "before initialize was answered"),
        ([{"method": "$/progress", "params": {"token": 5, "value": {}}}], "which nobody created"),
        ([{"method": "$/progress"}], "cannot be digested"),
        ([{"id": 1, "method": "workspace/configuration", "params": {"items": []}}], "did not declare"),
        ([b"junk" + frame({"jsonrpc": "2.0", "id": 1, "result": {}})], "unusual header"),
        ([b"junk\n" + frame({"jsonrpc": "2.0", "id": 1, "result": {}})], "belong to no frame"),
        ([frame_body(b"{")], "not JSON"),
        ([frame_body(b"[]")], "not an object"),
        ([], "initialize (1) was not answered before the connection ended"),
    ],
)
async def test_each_breach_of_the_protocol_is_raised_in_the_end(
    listener: Listener, messages: list[Any], violation: str
) -> None:
    listener.says(*messages, then_end=True)
    with pytest.raises(ProtocolViolation) as raised:
        async with Client.tcp("127.0.0.1", listener.port) as client:
            pending = client.start_request("initialize", {})
            await wait_until(lambda: not client.connected, what="the end")
            assert pending.done()
    assert violation in str(raised.value)


async def test_violations_do_not_hide_the_failure_of_the_test(listener: Listener) -> None:
    listener.says({"id": 7, "result": 1}, {"id": 1, "result": 2})
    with pytest.raises(ZeroDivisionError):
        async with Client.tcp("127.0.0.1", listener.port) as client:
            assert await client.request("x") == 2
            raise ZeroDivisionError
    assert len(client.violations) == 1


async def test_early_messages_that_are_allowed(listener: Listener) -> None:
    listener.says(
        {"method": "window/logMessage", "params": {"type": 3, "message": "hi"}},
        {"method": "$/progress", "params": {"token": "t", "value": {"kind": "begin", "title": ""}}},
        {"id": 9, "method": "window/showMessageRequest", "params": {"type": 3, "message": "?"}},
        {"id": 1, "error": {"code": -32603, "message": "not today"}},
    )
    async with Client.tcp("127.0.0.1", listener.port) as client:
        with pytest.raises(LspError, match="not today"):
            await client.initialize(workDoneToken="t")
    assert client.violations == []


async def test_a_request_without_an_answer_is_a_violation_unless_abandoned(
    peer: PeerFactory, workspace: Workspace
) -> None:
    with pytest.raises(ProtocolViolation, match=r"textDocument/hover \(2\) was never answered"):
        async with peer(hangOn=[HOVER]) as client:
            await client.initialize(workspace())
            client.start_request(HOVER, client.at("a.x", 0, 0))
    async with peer(hangOn=[HOVER]) as client:
        await client.initialize(workspace())
        client.abandon(client.start_request(HOVER, client.at("a.x", 0, 0)))


async def test_progress_and_registrations_must_be_in_order(peer: PeerFactory, workspace: Workspace) -> None:
    twice = ["window/workDoneProgress/create"] * 2
    unknown = {"unregisterations": [{"id": "none", "method": "x"}]}
    asked = [*twice, {"method": "client/unregisterCapability", "params": unknown}]
    async with peer(requestsOnInitialized=asked, progressMs=1, strict=False) as client:
        await client.initialize(workspace(), capabilities=VSCODE)
        await client.wait_request("client/unregisterCapability")
        await client.wait_notification("$/progress", lambda one: one["value"]["kind"] == "end")
        await client.request("test/state")
    assert "progress token 1 was created while it is in use" in client.violations
    assert "unregistration of 'none', which is not registered" in client.violations


async def test_a_server_that_stays_is_ended_and_named(client_factory: ClientFactory) -> None:
    code = "import sys, time; sys.stdin.read(); time.sleep(60)"
    client = client_factory([sys.executable, "-I", "-S", "-c", code], strict=False)
    async with client:
        pass_by = client._goodbye

        async def impatient(patience: float) -> None:
            await pass_by(0.1)

        client._goodbye = impatient  # type: ignore[method-assign]  # the real patience is 20 s
    assert client.violations == ["the server was still there 0.1 s after it was told to go"]
    assert client.returncode == -9


# -- what arrives


async def test_notifications_are_found_from_the_cursor_on(listener: Listener) -> None:
    notes = [{"method": "window/logMessage", "params": {"n": number}} for number in range(5)]
    listener.says(*notes, {"id": 1, "result": {}})
    async with Client.tcp("127.0.0.1", listener.port) as client:
        await client.request("initialize", {})
        assert await client.wait_notification("window/logMessage") == {"n": 0}
        assert await client.wait_notification("window/logMessage", lambda one: one["n"] > 2) == {"n": 3}
        assert await client.wait_notification("window/logMessage") == {"n": 4}
        with pytest.raises(TimeoutError, match="window/logMessage did not come"):
            await client.wait_notification("window/logMessage", timeout=0.05)
        client.kill()
        with pytest.raises(Disconnected, match="while waiting for x"):
            await client.wait_notification("x", timeout=20)


async def test_diagnostics_have_a_cursor_for_each_document(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer() as client:
        await client.initialize(workspace())
        for name in ("ä b.x", "b.x"):
            client.open(name, "ERROR(e): x")
            client.change(name, "")
        assert len(await client.wait_diagnostics("b.x")) == 1
        assert await client.wait_diagnostics("ä b.x", lambda found: not found) == []
        assert await client.wait_diagnostics("b.x", version=2) == []


async def test_raw_bytes_both_ways(listener: Listener) -> None:
    answer = b'{ "id": "r1", "jsonrpc": "2.0", "result": "\\ud83d" }'

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.readexactly(9) == b"anything\n"
        writer.write(frame({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "?"}}))
        assert (await read_frame(reader))["id"] == "r1"
        writer.write(frame_body(answer))
        assert await reader.read() == b""

    listener.talk = talk
    async with Client.tcp("127.0.0.1", listener.port) as client:
        await client.send_raw(b"anything\n")
        assert json.loads(await client.read_raw())["error"]["code"] == -32700
        expected = client.expect("r1")
        await client.send_body(b'{"jsonrpc":"2.0","id":"r1","method":"x"}')
        assert await client.answer(expected) == "\ud83d"
        assert expected.raw == answer == await client.read_raw()
        assert client.anonymous_errors == [{"code": -32700, "message": "?"}]
        client.close_input()
        assert await client.read_raw() == b""


async def test_everything_ends_when_the_connection_does(listener: Listener) -> None:
    listener.talk = lambda reader, writer: read_frame(reader)
    async with Client.tcp("127.0.0.1", listener.port, strict=False) as client:
        pending = client.start_request("x")
        with pytest.raises(Disconnected, match="ended before the answer"):
            await client.answer(pending)
        with pytest.raises(Disconnected, match="not connected"):
            await client.request("y")
        assert await client.wait_exit() is None
    with pytest.raises(OSError):
        async with Client.stdio(["/nonexistent/server"]):
            pytest.fail("started")


async def test_a_request_that_a_test_gave_up_may_still_be_answered(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(slow={HOVER: 300}) as client:
        await client.initialize(workspace())
        pending = client.start_request(HOVER, client.at("a.x", 0, 0))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(pending, 0.01)
        assert pending.cancelled()
        later = client.start_request(HOVER, client.at("a.x", 0, 0))
        await client.answer(later)
    assert client.violations == []


# -- what it answers


async def test_handlers_of_a_test(peer: PeerFactory, workspace: Workspace) -> None:
    asked = [
        {"method": f"x/{name}", "params": name} for name in ("plain", "later", "refused", "late-refused", "silent")
    ]

    def refuse(params: Any) -> Any:
        raise LspError(-32803, "refused")

    async def later(params: Any) -> Any:
        await asyncio.sleep(0)
        return params.upper()

    async def late_refusal(params: Any) -> Any:
        raise LspError(-32803, "late")

    async with peer(requestsOnInitialized=asked) as client:
        client.handlers |= {
            "x/plain": lambda params: params.upper(),
            "x/later": later,
            "x/refused": refuse,
            "x/late-refused": late_refusal,
            "x/silent": lambda params: NO_ANSWER,
        }
        await client.initialize(workspace())
        await client.wait_request("x/silent")
        await wait_until(lambda: client.server_requests[3].answer, what="the last answer")
        answers = {one["method"]: one for one in (await client.request("test/state"))["answers"]}
        assert answers["x/plain"]["result"] == "PLAIN"
        assert answers["x/later"]["result"] == "LATER"
        assert answers["x/refused"]["error"] == {"code": -32803, "message": "refused"}
        assert answers["x/late-refused"]["error"]["message"] == "late"
        assert "x/silent" not in answers


async def test_a_handler_that_fails_is_a_failure_of_the_test(peer: PeerFactory, workspace: Workspace) -> None:
    async def fail_later(params: Any) -> Any:
        raise ZeroDivisionError

    def fail(params: Any) -> Any:
        raise ZeroDivisionError

    async with peer(requestsOnInitialized=["x/now", "x/later"], strict=False) as client:
        client.handlers |= {"x/now": fail, "x/later": fail_later}
        await client.initialize(workspace())
        await client.wait_request("x/later")
        await wait_until(lambda: client.server_requests[1].answer, what="the answer")
    assert len(client.violations) == 2
    assert all("ZeroDivisionError" in violation for violation in client.violations)


async def test_an_edit_that_does_not_fit_is_refused(peer: PeerFactory, workspace: Workspace) -> None:
    edit = {"documentChanges": [{"textDocument": {"uri": "file:///a.x", "version": 9}, "edits": []}]}
    async with peer() as client:
        await client.initialize(workspace(), capabilities=VSCODE)
        client.open("/a.x", "text", version=3)
        command = {"command": "scripted.applyEdit", "arguments": [edit]}
        done = await client.request("workspace/executeCommand", command)
        assert done["answer"]["result"]["applied"] is False
        assert "version 3" in done["answer"]["result"]["failureReason"]


# -- the environment of tests


async def test_nothing_of_the_users_own_reaches_a_server(
    ombud: OmbudFactory, environment: dict[str, str], home: Path, bin_folder: Path
) -> None:
    assert environment["HOME"] == str(home)
    assert {Path(environment[name]).is_relative_to(home) for name in environment if name.startswith("XDG_")} == {True}
    assert environment["PATH"].split(os.pathsep)[0] == str(bin_folder)
    names = {path.name for folder in environment["PATH"].split(os.pathsep) for path in Path(folder).iterdir()}
    assert "sh" in names
    assert not names & {"python3", "node", "clangd", "gopls", "git"}
    assert str(ombud("--flag").link).startswith(str([sys.executable, "-P", "-m", "ombud", "serve", "--flag"]))


async def test_waiting_has_a_limit_and_says_for_what() -> None:
    calls = iter([0, 0, 3])
    assert await wait_until(lambda: next(calls), what="three") == 3

    async def soon() -> bool:
        return True

    assert await wait_until(soon) is True
    with pytest.raises(TimeoutError, match=r"0\.05 s: rain \(last: 0\)"):
        await wait_until(lambda: 0, 0.05, "rain")
    assert wait_until_sync(lambda: 5) == 5
    with pytest.raises(TimeoutError, match="sun"):
        wait_until_sync(lambda: None, 0.05, "sun")


def run_pytest(folder: Path, source: str) -> subprocess.CompletedProcess[str]:
    """Runs a test file under this suite's conftest, in a process of its own."""
    (folder / "conftest.py").write_text('pytest_plugins = ["tests.conftest"]\n')
    (folder / "test_inner.py").write_text(textwrap.dedent(source))
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-o",
            "asyncio_mode=auto",
            f"--rootdir={folder}",
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_failing_test_prints_both_sides_of_every_transcript(tmp_path: Path) -> None:
    done = run_pytest(
        tmp_path,
        f"""
        from tests.peers.script import Script

        async def test_fails(client_factory, workspace):
            script = Script("talkative", stderr="words of the server")
            async with client_factory(script.command(), name="first") as one:
                await one.initialize(workspace())
                one.open("a.x", "a text")
                await one.request("{HOVER}", one.at("a.x", 0, 0))
                async with client_factory(script.command(), name="second") as two:
                    assert False

        def test_passes():
            pass
        """,
    )
    assert done.returncode == 1, done.stdout
    assert "1 failed, 1 passed" in done.stdout
    for expected in (
        "transcript of first",
        '→ {"jsonrpc":"2.0","id":2,"method":"textDocument/hover"',
        "talkative: line 0: a text",
        "words of the server",
        "exit code: 0",
        "transcript of second",
    ):
        assert expected in done.stdout


def test_a_leaked_process_fails_the_test_that_left_it_and_is_killed(tmp_path: Path) -> None:
    done = run_pytest(
        tmp_path,
        """
        import subprocess, sys
        from tests import leaks

        leaks.GRACE_SECONDS = 0.5
        SLEEP = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(300)"]

        def start(**more):
            with open("pids", "a") as pids:
                print(subprocess.Popen(SLEEP, **more).pid, file=pids)

        def test_clean():
            subprocess.run([sys.executable, "-I", "-S", "-c", ""], check=True)

        def test_child():
            start()

        def test_session_of_its_own():
            start(start_new_session=True)

        def test_hidden_environment():
            start(env={})

        def test_orphan():
            code = "import subprocess, sys; print(subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL).pid)"
            done = subprocess.run([sys.executable, "-I", "-S", "-c", code, *SLEEP], stdout=subprocess.PIPE, check=True)
            with open("pids", "ab") as pids:
                pids.write(done.stdout)
        """,
    )
    pids = [int(line) for line in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 4
    assert not [pid for pid in pids if psutil.pid_exists(pid)]
    assert "5 passed, 4 errors" in done.stdout, done.stdout
    assert done.stdout.count(" ERROR at teardown of ") == 4
    assert "ERROR test_inner.py::test_orphan - Failed: this test left processes behind" in done.stdout
    assert "ERROR test_inner.py::test_clean" not in done.stdout


def test_a_process_that_outlives_the_run_is_named_and_killed(tmp_path: Path) -> None:
    done = run_pytest(
        tmp_path,
        """
        import pytest, subprocess, sys
        from tests import leaks

        leaks.GRACE_SECONDS = 0.5

        @pytest.fixture(scope="module")
        def server():
            process = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(300)"])
            return process

        def test_uses_it(server):
            assert server.poll() is None

        def test_uses_it_again(server):
            assert server.poll() is None
            open("pid", "w").write(str(server.pid))
        """,
    )
    assert "2 passed, 1 error" in done.stdout, done.stdout
    assert "processes outlived the run, started by ['a fixture']" in done.stdout
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))


async def test_many_messages_at_once_are_each_answered(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(Script(diagnostics="none")) as client:
        await client.initialize(workspace())
        client.open("a.x", "x\n" * 500)
        pending = [client.start_request(HOVER, client.at("a.x", line, 0)) for line in range(500)]
        answers = await asyncio.gather(*pending)
        assert [answer["contents"] for answer in answers] == [f"scripted: line {line}: x" for line in range(500)]
