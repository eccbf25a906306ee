"""A connection from its first message to its last: what is allowed when, and the exit codes (LSP 3.17, "Lifecycle")."""

from __future__ import annotations

from typing import Any

import pytest

from tests.client import Client, Disconnected, LspError
from tests.conftest import OmbudFactory, Workspace
from tests.peers.road import ask_hover, failure, hover, serving, wait_state
from tests.peers.script import PeerLog, Script


async def error_of(client: Client, method: str, params: Any = None) -> LspError:
    return await failure(client.start_request(method, params), client)


async def test_requests_before_initialize_are_refused_and_notifications_dropped(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace({"x.toml": "", "a.x": "first"})
    async with ombud(cwd=root) as client:
        client.folders = [root]
        client.open("a.x")
        for method, params in (
            ("textDocument/hover", client.at("a.x", 0, 0)),
            ("ombud/status", {}),
            ("$/mine", {}),
        ):
            error = await error_of(client, method, params)
            assert (error.code, error.kind) == (-32002, "not_initialized")
        client.cancel(99)
        await client.initialize(root)
        assert client.child_processes() == []


async def test_a_shutdown_before_initialize_shuts_nothing_down(ombud: OmbudFactory) -> None:
    async with ombud(strict=False) as client:
        error = await error_of(client, "shutdown")
        assert (error.code, error.kind) == (-32002, "not_initialized")
        client.exit()
        assert await client.wait_exit() == 1


async def test_a_second_initialize_is_refused(ombud: OmbudFactory) -> None:
    async with ombud() as client:
        await client.initialize()
        error = await error_of(client, "initialize", {"capabilities": {}})
        assert (error.code, error.kind) == (-32600, "initialized")
        assert (await client.request("ombud/status"))["servers"] == []


@pytest.mark.parametrize("params", [{"processId": "me"}, {"workspaceFolders": 5}, {"capabilities": []}, [1]])
async def test_an_initialize_of_another_shape_is_refused_and_may_be_sent_again(
    ombud: OmbudFactory, params: Any
) -> None:
    async with ombud() as client:
        error = await error_of(client, "initialize", params)
        assert (error.code, error.kind) == (-32602, "invalid_params")
        await client.initialize()


@pytest.mark.parametrize(
    "params",
    [
        {},
        None,
        {"processId": None, "clientInfo": None, "rootUri": None, "workspaceFolders": None, "capabilities": None},
        {"initializationOptions": {"ombud": None}, "capabilities": {}},
        {"initializationOptions": [], "capabilities": {}},
        {"workspaceFolders": [{"uri": "untitled:here", "name": "x"}], "capabilities": {}},
    ],
)
async def test_an_initialize_that_says_little_is_answered(ombud: OmbudFactory, params: Any) -> None:
    async with ombud() as client:
        result = await client.request("initialize", params)
        assert result["capabilities"]["positionEncoding"] == "utf-16"
        assert result["capabilities"]["experimental"]["ombud"]["operations"]
        assert (await client.request("ombud/status"))["servers"] == []


async def test_after_shutdown_only_exit_is_allowed(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({"x.toml": "", "a.x": "first"})
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}) as client:
        await client.shutdown()
        for method in ("textDocument/hover", "ombud/status", "initialize", "$/mine"):
            error = await error_of(client, method, client.at("a.x", 0, 0))
            assert error.code == -32600
        client.open("a.x")
        client.exit()
        assert await client.wait_exit() == 0
    assert peer_log.starts() == []


@pytest.mark.parametrize("initialized", [False, True])
async def test_exit_without_shutdown_is_code_1(ombud: OmbudFactory, initialized: bool) -> None:
    async with ombud() as client:
        if initialized:
            await client.initialize()
        client.exit()
        assert await client.wait_exit() == 1


@pytest.mark.parametrize("shut_down", [False, True])
async def test_P8_the_end_of_the_input_ends_ombud(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, shut_down: bool
) -> None:
    """Code 0 after ``shutdown``, else 1; the servers are ended in either case, and politely."""
    root = workspace({"x.toml": "", "a.x": "first"})
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}) as client:
        client.open("a.x")
        await hover(client, "a.x")
        if shut_down:
            await client.shutdown()
        client.close_input()
        assert await client.wait_exit() == (0 if shut_down else 1)
    assert peer_log.methods()[-2:] == ["shutdown", "exit"]
    assert peer_log.entries("exit")[0]["code"] == 0


async def test_what_is_open_at_the_end_of_the_input_does_not_hold_ombud_back(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({"x.toml": "", "a.x": "first"})
    one = Script("one", hangOn=["textDocument/hover"], log=peer_log)
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x")
        pending = ask_hover(client, "a.x")
        await peer_log.wait_received("textDocument/hover")
        operation = client.start_request("ombud/lsp", {"action": "hover", "path": "a.x", "line": 1, "symbol": "first"})
        await peer_log.wait_received("textDocument/hover", 2)
        client.close_input()
        assert await client.wait_exit() == 1
        for one_of_them in (pending, operation):
            with pytest.raises((Disconnected, LspError)):
                await one_of_them


async def test_a_duplicate_id_is_refused_and_the_first_request_is_still_answered(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace({"x.toml": "", "a.x": "first"})
    async with serving(ombud, root, {"one": Script("one", slow={"textDocument/hover": 500})}) as client:
        client.open("a.x")
        first = ask_hover(client, "a.x")
        # What comes back under the id is told apart by hand: the refusal of the second, then the answer to the first.
        second = client.expect(first.id, "the second")
        await client.send_body(
            b'{"jsonrpc":"2.0","id":%d,"method":"ombud/status","params":{}}' % int(first.id),
        )
        error = await failure(second, client)
        assert (error.code, error.kind) == (-32600, "duplicate_id")
        again = client.expect(first.id, "the first")
        assert (await client.answer(again))["contents"] == "one: line 0: first"
        # An id that was answered may be used again.
        third = client.expect(first.id)
        await client.send_body(b'{"jsonrpc":"2.0","id":%d,"method":"ombud/status"}' % int(first.id))
        assert (await client.answer(third))["servers"]


async def test_ids_may_be_strings_and_are_told_apart_from_numbers(ombud: OmbudFactory) -> None:
    async with ombud() as client:
        await client.initialize()
        for identity, spelled in (("7", b'"7"'), (7, b"7"), ("ombud-1", b'"ombud-1"'), (-3, b"-3")):
            pending = client.expect(identity)
            await client.send_body(b'{"jsonrpc":"2.0","id":%b,"method":"ombud/status"}' % spelled)
            assert "servers" in await client.answer(pending)


async def test_unknown_methods_are_answered_as_unknown(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({"x.toml": "", "a.x": "first"})
    async with serving(ombud, root, {"one": Script("one")}) as client:
        for method in ("mine/method", "$/mine", "textDocument", "workspace/unheardOf", "ombud/nothingSuch"):
            error = await error_of(client, method, {})
            assert (error.code, error.kind) == (-32601, "unknown_method"), method
        # A vendor's method about a document is its server's business, whose own answer comes back.
        client.open("a.x")
        error = await error_of(client, "vendor/method", client.at("a.x", 0, 0))
        assert (error.code, error.message) == (-32601, "one does not know vendor/method")


async def test_notifications_that_nobody_knows_or_with_bad_params_are_survived(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace({"x.toml": "", "a.x": "first"})
    async with serving(ombud, root, {"one": Script("one")}) as client:
        uri = client.open("a.x")
        for method, params in (
            ("textDocument/didOpen", {}),
            ("textDocument/didOpen", {"textDocument": {"uri": 5}}),
            ("textDocument/didOpen", {"textDocument": {"uri": "file:///\x00", "text": "x"}}),
            ("textDocument/didOpen", {"textDocument": {"uri": "untitled:one", "text": "x", "version": 1}}),
            ("textDocument/didOpen", [1]),
            ("textDocument/didOpen", None),
            ("textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": "all"}),
            ("textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": 1}]}),
            ("textDocument/didChange", {"textDocument": {"uri": uri + "no"}, "contentChanges": [{"text": ""}]}),
            ("textDocument/didSave", {"textDocument": None}),
            ("textDocument/didClose", {"textDocument": {"uri": uri + "no"}}),
            ("textDocument/didClose", {}),
            ("workspace/didChangeWatchedFiles", {}),
            ("workspace/didChangeWatchedFiles", {"changes": [{"uri": 1}]}),
            ("workspace/didChangeWorkspaceFolders", {"event": 1}),
            ("workspace/didChangeWorkspaceFolders", {}),
            ("window/workDoneProgress/cancel", {"token": "nobody's"}),
            ("$/cancelRequest", {"id": []}),
            ("$/cancelRequest", {}),
            ("$/setTrace", {"value": "verbose"}),
            ("$/mine", {}),
            ("mine/notification", {}),
            ("initialized", {}),
        ):
            client.notify(method, params)
        assert await hover(client, "a.x") == "one: line 0: first"
        await wait_state(client, "one", "ready")
        assert client.documents[uri].version == 1


async def test_answers_to_nothing_are_ignored(ombud: OmbudFactory) -> None:
    async with ombud() as client:
        await client.initialize()
        for body in (
            b'{"jsonrpc": "2.0", "id": "ombud-77", "result": null}',
            b'{"jsonrpc": "2.0", "id": 5, "error": {"code": 1, "message": "no"}}',
            b'{"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "no"}}',
        ):
            await client.send_body(body)
        assert (await client.request("ombud/status"))["servers"] == []
        assert client.anonymous_errors == []
