"""Ombud's own operations over LSP: as requests and as commands, their errors, tiers and cancellation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ombud.operations.table import camel

from tests.client import Client, LspError
from tests.conftest import OmbudFactory, Workspace
from tests.peers.road import entry, failure, hover, introduced, peer_texts, serving, wait_state, well_behaved
from tests.peers.script import PeerLog, Script
from tests.profiles import AGENT
from tests.waiting import wait_until

TEXT = """def alpha():
    return beta(1)
def beta(n):
    return n + n
"""
FILES = {"x.toml": "", "a.x": TEXT, "b.x": "alpha()\n"}
KINDS = {
    *("outside_workspace", "sensitive_path", "not_trusted", "permission_denied", "no_server", "server_failed"),
    *("conflict", "timeout", "file_changed", "not_found", "too_large", "not_text", "invalid_params", "unknown_method"),
}


async def refused(client: Client, name: str, params: Any) -> LspError:
    """The error of an operation, the same as a request and as a command; every one has code, kind and message."""
    command = {"command": f"ombud.{name}", "arguments": [] if params is None else [params]}
    first = await failure(client.start_request(f"ombud/{name}", params), client)
    second = await failure(client.start_request("workspace/executeCommand", command), client)
    assert (first.code, first.kind) == (second.code, second.kind)
    assert first.code in (-32602, -32603, -32803, -32601)
    assert first.kind in KINDS
    assert first.message.endswith((".", "?")), first.message
    return first


async def ask(client: Client, action: str, **params: Any) -> dict[str, Any]:
    found: dict[str, Any] = await client.request("ombud/lsp", {"action": action, **params})
    return found


# -- calling


async def test_each_operation_is_a_request_and_a_command(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one")}, capabilities=AGENT) as client:
        capabilities = client.server_capabilities
        announced = capabilities["experimental"]["ombud"]["operations"]
        names = [one["name"] for one in announced]
        assert {"status", "reload", "lsp", "diagnostics", "write", "edit"} <= set(names)
        assert {one["name"]: one["tier"] for one in announced}["edit"] == "write"
        # A client that takes no registrations is told at once what its servers may know as well.
        commands = capabilities["executeCommandProvider"]["commands"]
        assert [one for one in commands if one.startswith("ombud.")] == [f"ombud.{camel(name)}" for name in names]
        params = {"action": "hover", "path": "a.x", "line": 1, "symbol": "alpha"}
        first = await client.request("ombud/lsp", params)
        second = await client.request("workspace/executeCommand", {"command": "ombud.lsp", "arguments": [params]})
        assert first == second
        assert await client.request("workspace/executeCommand", {"command": "ombud.reload"}) == {"restarted": ["one"]}
        null = {"command": "ombud.status", "arguments": None}
        assert "servers" in await client.request("workspace/executeCommand", null)


async def test_unknown_params_are_named(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {}) as client:
        error = await refused(client, "edit", {"path": "a.x", "edits": [], "waitMS": 5})
        assert error.code == -32602
        assert error.data["unknown"] == ["waitMS"]
        assert "Did you mean 'waitMs'?" in error.message
        error = await refused(client, "status", {"verbose": True, "color": 1})
        assert error.data["unknown"] == ["verbose", "color"]


@pytest.mark.parametrize(
    ("name", "params", "words"),
    [
        ("lsp", {"action": "fly", "path": "a.x"}, "action"),
        ("lsp", {}, "action"),
        ("lsp", {"action": "hover"}, "path"),
        ("lsp", {"action": "hover", "path": "a.x"}, "Say where"),
        ("lsp", {"action": "hover", "path": "a.x", "line": 0, "symbol": "alpha"}, "line"),
        ("lsp", {"action": "hover", "path": "a.x", "line": "1"}, "line"),
        ("lsp", {"action": "hover", "path": "a.x", "line": 1}, "symbol"),
        ("lsp", {"action": "hover", "path": "a.x", "line": 900, "symbol": "alpha"}, "there is no line 900"),
        ("lsp", {"action": "hover", "path": "a.x", "line": 1, "symbol": "gamma"}, "which reads 'def alpha():'"),
        ("lsp", {"action": "hover", "path": "a.x", "line": 1, "symbol": "alpha#2"}, "is not on line 1"),
        ("lsp", {"action": "symbols"}, "query"),
        ("edit", {"path": "a.x"}, "edits"),
        ("edit", {"path": "a.x", "edits": []}, "edits"),
        ("edit", {"path": "a.x", "edits": [{"oldText": "x"}]}, "newText"),
        ("write", {"path": "a.x"}, "content"),
        ("write", {"path": 5, "content": ""}, "path"),
        ("write", {"path": "a.x", "content": "", "waitMs": -1}, "waitMs"),
        ("write", {"path": "a.x", "content": "", "diagnostics": "maybe"}, "diagnostics"),
        ("diagnostics", None, "path"),
        ("status", [1], "object"),
        ("status", 5, "object"),
    ],
)
async def test_bad_params_say_what_is_wrong_with_which(
    ombud: OmbudFactory, workspace: Workspace, name: str, params: Any, words: str
) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one")}) as client:
        if isinstance(params, int):
            command = {"command": f"ombud.{name}", "arguments": [params]}
            error = await failure(client.start_request("workspace/executeCommand", command), client)
        else:
            error = await refused(client, name, params)
        assert (error.code, error.kind) == (-32602, "invalid_params")
        assert words in error.message


async def test_refusals_have_their_kind(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({**FILES, ".env": "KEY=1\n", "binary.x": b"\x00\x01\x02\xff" * 50, "two.x": "same\nsame\n"})
    outside = workspace({"o.x": "outside\n"}, name="other")
    (root / "link.x").symlink_to(outside / "o.x")
    async with serving(ombud, root, {"one": Script("one")}) as client:
        edit = [{"oldText": "absent", "newText": "x"}]
        for name, params, kind in (
            ("write", {"path": str(outside / "o.x"), "content": ""}, "outside_workspace"),
            ("write", {"path": "../other/o.x", "content": ""}, "outside_workspace"),
            ("write", {"path": "link.x", "content": ""}, "outside_workspace"),
            ("diagnostics", {"path": (outside / "o.x").as_uri()}, "outside_workspace"),
            ("write", {"path": ".env", "content": ""}, "sensitive_path"),
            ("write", {"path": "new/.git/config", "content": ""}, "sensitive_path"),
            ("edit", {"path": ".env", "edits": edit}, "sensitive_path"),
            ("edit", {"path": "none.x", "edits": edit}, "not_found"),
            ("edit", {"path": "a.x", "edits": edit}, "conflict"),
            ("edit", {"path": "two.x", "edits": [{"oldText": "same", "newText": "x"}]}, "conflict"),
            ("edit", {"path": "binary.x", "edits": edit}, "not_text"),
            ("lsp", {"action": "hover", "path": "x.toml", "line": 1, "symbol": "x"}, "no_server"),
            ("diagnostics", {"path": "readme.nobody"}, "not_found"),
        ):
            error = await refused(client, name, params)
            assert error.kind == kind, (name, params)
        workspace({"readme.nobody": "text\n"})
        error = await refused(client, "diagnostics", {"path": "readme.nobody"})
        assert error.kind == "no_server"
        assert (outside / "o.x").read_text() == "outside\n"
        assert not (root / "new").exists()


async def test_an_operation_that_does_not_exist_is_told_so(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {}) as client:
        error = await refused(client, "statsu", {})
        assert (error.code, error.kind) == (-32601, "unknown_method")
        assert "ombud/status" in error.message
        wrong: list[Any] = [[{}, {}], {"path": "a.x"}, "a.x"]
        for arguments in wrong:
            command = {"command": "ombud.status", "arguments": arguments}
            error = await failure(client.start_request("workspace/executeCommand", command), client)
            assert (error.code, error.kind) == (-32602, "invalid_params")


async def test_tiers_bound_what_a_session_may_do(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one")}, tiers=["read"]) as client:
        for name, params in (
            ("write", {"path": "a.x", "content": ""}),
            ("write", {"nonsense": 1}),
            ("edit", {"path": "a.x", "edits": [{"oldText": "alpha", "newText": "x"}]}),
        ):
            error = await refused(client, name, params)
            assert (error.code, error.kind, error.data["tier"]) == (-32803, "permission_denied", "write")
        assert (root / "a.x").read_text() == TEXT
        assert (await ask(client, "hover", path="a.x", line=1, symbol="alpha"))["complete"]


async def test_without_a_folder_there_is_nothing_to_work_on(ombud: OmbudFactory) -> None:
    async with ombud() as client:
        await client.initialize()
        found = await client.request("ombud/status")
        assert (found["servers"], found["trust"]["root"]) == ([], None)
        error = await refused(client, "write", {"path": str(Path.cwd() / "never.x"), "content": ""})
        assert error.kind == "outside_workspace"


# -- language intelligence by symbol


async def test_every_action_answers_by_line_and_symbol(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one", features="all", log=peer_log)}) as client:
        client.open("b.x")
        found = await ask(client, "definition", path="a.x", line=2, symbol="beta")
        assert found == {
            "items": [
                {
                    "path": "a.x",
                    "line": 2,
                    "endLine": 2,
                    "range": {"start": {"line": 1, "character": 11}, "end": {"line": 1, "character": 15}},
                    "text": "return beta(1)",
                }
            ],
            "complete": True,
            "servers": ["one"],
            "note": None,
        }
        found = await ask(client, "references", path="a.x", line=1, symbol="alpha")
        assert [(one["path"], one["line"], one["text"]) for one in found["items"]] == [
            ("a.x", 1, "def alpha():"),
            ("b.x", 1, "alpha()"),
        ]
        found = await ask(client, "references", path="a.x", line=4, symbol="n#3")
        assert len(found["items"]) == 3
        found = await ask(client, "hover", path="a.x", position={"line": 2, "character": 5})
        assert found["items"] == [
            {
                "server": "one",
                "text": "one: line 2: def beta(n):",
                "range": {"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 12}},
            }
        ]
        found = await ask(client, "symbols", path="a.x")
        assert [(one["name"], one["kind"], one["line"], one["endLine"]) for one in found["items"]] == [
            ("alpha", "function", 1, 3),
            ("beta", "function", 3, 5),
        ]
        found = await ask(client, "symbols", query="bet")
        assert [(one["name"], one["path"], one["container"]) for one in found["items"]] == [("beta", "a.x", "one")]
        found = await ask(client, "incoming_calls", path="a.x", line=3, symbol="beta")
        assert [(one["name"], one["path"], [site["line"] for site in one["callSites"]]) for one in found["items"]] == [
            ("alpha", "a.x", [2])
        ]
        found = await ask(client, "outgoing_calls", path="a.x", line=1, symbol="alpha")
        assert [one["name"] for one in found["items"]] == ["beta"]
        found = await ask(client, "signature", path="a.x", position={"line": 1, "character": 17})
        assert found["items"][0]["label"] == "beta(…) by one"
        client.open("a.x", TEXT + "ERROR(e1): bad\n")
        await client.wait_diagnostics("a.x", lambda found: len(found) == 1)
        found = await ask(client, "code_actions", path="a.x", line=5, symbol="bad")
        assert [(one["title"], one["kind"], one["server"]) for one in found["items"]] == [
            ("one: remove e1", "quickfix", "one")
        ]
    well_behaved(peer_log)


async def test_answers_of_several_servers_are_joined_or_the_first_ones(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    servers = {
        "one": entry(Script("one", features=["hover", "references"]), priority=1),
        "two": entry(Script("two", features=["hover", "references", "definition"]), priority=2),
        "bad": entry(Script("bad", dieBeforeInitialize={"stderr": "no\n", "code": 1}), priority=3),
    }
    async with serving(ombud, root, servers) as client:
        found = await ask(client, "hover", path="a.x", line=1, symbol="alpha")
        assert [one["server"] for one in found["items"]] == ["one", "two"]
        # The one that failed is no reason to say nothing, and no answer is called whole without it.
        assert found["servers"] == ["one", "two"]
        assert found["complete"] is False
        assert "bad" in found["note"]
        found = await ask(client, "references", path="a.x", line=1, symbol="alpha")
        assert [(one["path"], one["line"]) for one in found["items"]] == [("a.x", 1)]
        found = await ask(client, "definition", path="a.x", line=1, symbol="alpha")
        assert found["servers"] == ["two"]


async def test_D10_an_answer_while_the_server_is_still_busy_is_not_called_complete(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    ending = {"method": "$/progress", "params": {"token": 1, "value": {"kind": "end"}}}
    one = Script(
        "one",
        requestsOnInitialized=["window/workDoneProgress/create"],
        progressMs=200_000,
        floodOn=[{"method": "textDocument/didSave", "count": 1, "notification": ending}],
    )
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x")
        await client.wait_notification("$/progress", lambda one: one["value"]["kind"] == "begin")
        found = await ask(client, "references", path="a.x", line=1, symbol="alpha")
        assert found["complete"] is False
        assert "one was still busy (one)" in found["note"]
        client.save("a.x")
        await client.wait_notification("$/progress", lambda one: one["value"]["kind"] == "end")
        found = await ask(client, "references", path="a.x", line=1, symbol="alpha")
        assert (found["complete"], found["note"]) == (True, None)


async def test_what_no_server_of_a_file_can_do_is_an_error_and_not_an_empty_list(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one", features=["hover"])}) as client:
        params = {"action": "implementation", "path": "a.x", "line": 1, "symbol": "alpha"}
        error = await refused(client, "lsp", params)
        assert error.kind == "no_server"
        assert "one cannot answer textDocument/implementation" in error.message
        error = await refused(client, "lsp", {"action": "signature", "path": "a.x", "line": 1, "symbol": "alpha"})
        assert error.kind == "no_server"


async def test_a_limit_is_said(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({"x.toml": "", "a.x": "same same same same\n"})
    async with serving(ombud, root, {"one": Script("one")}) as client:
        found = await ask(client, "references", path="a.x", line=1, symbol="same#2", limit=2)
        assert len(found["items"]) == 2
        assert "Shown 2 of 4" in found["note"]


async def test_paths_may_be_relative_absolute_or_uris(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({"x.toml": "", "ä b/c#d.x": "first\n"})
    async with serving(ombud, root, {"one": Script("one")}) as client:
        for path in ("ä b/c#d.x", str(root / "ä b/c#d.x"), (root / "ä b/c#d.x").as_uri(), "./ä b/../ä b/c#d.x"):
            found = await ask(client, "definition", path=path, line=1, symbol="first")
            assert [one["path"] for one in found["items"]] == ["ä b/c#d.x"], path
        assert len((await client.request("ombud/diagnostics", {"path": "*"}))["servers"]) == 1


# -- cancelling a write


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_cancelled_write_is_whole_or_not_at_all_and_lets_its_servers_go(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, when: str
) -> None:
    """Cancelled before the commit, while a server is asked about the old text, or after it."""
    root = workspace({"x.toml": "", "a.x": "first\n"})
    nth = 1 if when == "before" else 2
    one = Script("one", diagnostics="pull", hangOn=[{"method": "textDocument/diagnostic", "nth": nth}], log=peer_log)
    async with serving(ombud, root, {"one": one}) as client:
        params = {"path": "a.x", "edits": [{"oldText": "first", "newText": "ERROR(e1): bad"}], "waitMs": 20_000}
        pending = client.start_request("ombud/edit", params)
        await peer_log.wait_received("textDocument/diagnostic", nth)
        client.cancel(pending)
        error = await failure(pending, client, 5)
        assert (error.code, error.kind) == (-32800, "cancelled")
        # The second pull is about the new text, which its server may see a moment before the disk does.
        text = "first\n" if when == "before" else "ERROR(e1): bad\n"
        await wait_until(lambda: (root / "a.x").read_text() == text, 10, "it is written")
        client.open("a.x")
        client.change("a.x", "changed\n")
        assert await hover(client, "a.x", timeout=5) == "one: line 0: changed"
        client.close("a.x")
        params = {"path": "a.x", "content": text + "ERROR(e2): worse\n"}
        assert introduced(await client.request("ombud/write", params)) == ["e2"]
        assert await peer_texts(client, "one") == {"a.x": text + "ERROR(e2): worse\n"}
    well_behaved(peer_log)


async def test_an_operation_that_fails_inside_is_an_error_and_the_next_one_works(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    answer = (
        '{"jsonrpc":"2.0","id":%d,"result":[{"uri":5,"range":{}},7,null,{"targetUri":"file:///x","targetRange":1}]}'
    )
    bodies = [answer % number for number in range(2, 4)]
    frames = "".join(f"Content-Length: {len(body)}\r\n\r\n{body}" for body in bodies)
    one = Script("one", rawOn={"textDocument/definition": frames}, diagnostics="none")
    async with serving(ombud, root, {"one": one}) as client:
        found = await ask(client, "definition", path="a.x", line=1, symbol="alpha")
        assert found["items"] == []
        await wait_state(client, "one", "ready")
        assert (await ask(client, "hover", path="a.x", line=1, symbol="alpha"))["items"]
