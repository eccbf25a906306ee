"""The scripted server's diagnostics: one rule, and every channel that real servers are known to use."""

from __future__ import annotations

from typing import Any

import pytest

from tests.client import Client, LspError
from tests.conftest import Workspace
from tests.peers.conftest import PeerFactory
from tests.profiles import AGENT, NEOVIM, VSCODE

ERROR = "ok\nx ERROR(e1): broken\n"
CLEAN = "ok\n"


def codes(diagnostics: list[dict[str, Any]]) -> list[str]:
    return [one["code"] for one in diagnostics]


def published(client: Client) -> list[tuple[int | None, list[str]]]:
    """Version and codes of everything published so far."""
    return [
        (one.params.get("version"), codes(one.params["diagnostics"]))
        for one in client.notifications
        if one.method == "textDocument/publishDiagnostics"
    ]


async def pull(client: Client, where: str = "a.x", previous: str | None = None) -> dict[str, Any]:
    params: dict[str, Any] = {"textDocument": {"uri": client.uri(where)}}
    if previous is not None:
        params["previousResultId"] = previous
    report: dict[str, Any] = await client.request("textDocument/diagnostic", params)
    return report


async def test_the_rule(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(source="rule") as client:
        await client.initialize(workspace())
        client.open("a.x", "😀 ERROR(a): one WARNING(): two  \r\nHINT(c):\nINFORMATION(d): four\nERROR a: no\n")
        found = await client.wait_diagnostics("a.x")
    places = [(one["range"]["start"], one["range"]["end"]["character"]) for one in found]
    assert places == [
        ({"line": 0, "character": 3}, 16),
        ({"line": 0, "character": 17}, 31),
        ({"line": 1, "character": 0}, 8),
        ({"line": 2, "character": 0}, 20),
    ]
    assert [(one["severity"], one.get("code"), one["message"]) for one in found] == [
        (1, "a", "one"),
        (2, None, "two"),
        (4, "c", ""),
        (3, "d", "four"),
    ]
    assert {one["source"] for one in found} == {"rule"}


@pytest.mark.parametrize("versioned", [True, False])
async def test_push_on_open_change_and_save(peer: PeerFactory, workspace: Workspace, versioned: bool) -> None:
    async with peer(versioned=versioned) as client:
        await client.initialize(workspace())
        assert "diagnosticProvider" not in client.server_capabilities
        client.open("a.x", ERROR)
        client.change("a.x", CLEAN)
        client.save("a.x")
        client.close("a.x")
        await client.request("test/state")
        versions = [1, 2, 2] if versioned else [None, None, None]
        assert published(client) == list(zip(versions, [["e1"], [], []], strict=True))


async def test_push_may_say_nothing_about_a_clean_file(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(silentWhenClean=True, publishOn=["open", "change", "close"]) as client:
        await client.initialize(workspace())
        client.open("a.x", CLEAN)
        client.change("a.x", ERROR)
        client.change("a.x", CLEAN)
        client.close("a.x")
        await client.request("test/state")
        assert published(client) == [(2, ["e1"]), (3, [])], "closing clears, silence does not"


async def test_push_in_two_stages(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(publishes=2, delayMs=20) as client:
        await client.initialize(workspace())
        client.open("a.x", "ERROR(e1): type\nERROR(syntax-1): brace\n")
        assert codes(await client.wait_diagnostics("a.x")) == ["syntax-1"]
        assert codes(await client.wait_diagnostics("a.x")) == ["e1", "syntax-1"]


@pytest.mark.parametrize(("stale", "expected"), [(False, [(2, [])]), (True, [(1, ["e1"]), (2, [])])])
async def test_a_late_publish_may_be_of_the_text_before(
    peer: PeerFactory, workspace: Workspace, stale: bool, expected: Any
) -> None:
    async with peer(delayMs=200, stale=stale) as client:
        await client.initialize(workspace())
        client.open("a.x", ERROR)
        client.change("a.x", CLEAN)
        await client.wait_diagnostics("a.x", version=2)
        assert published(client) == expected


async def test_a_publish_that_is_due_after_closing_is_dropped(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(delayMs=200) as client:
        await client.initialize(workspace())
        client.open("a.x", ERROR)
        client.close("a.x")
        client.open("b.x", ERROR)
        await client.wait_diagnostics("b.x")
        assert published(client) == [(1, ["e1"])]


async def test_pull_is_announced_and_knows_unchanged(peer: PeerFactory, workspace: Workspace) -> None:
    root = workspace({"disk.x": ERROR})
    async with peer(diagnostics="pull", workspacePull=True) as client:
        await client.initialize(root)
        assert client.server_capabilities["diagnosticProvider"]["workspaceDiagnostics"] is True
        client.open("a.x", ERROR)
        first = await pull(client)
        assert (first["kind"], codes(first["items"])) == ("full", ["e1"])
        assert await pull(client, previous=first["resultId"]) == {"kind": "unchanged", "resultId": first["resultId"]}
        client.change("a.x", CLEAN)
        assert (await pull(client, previous=first["resultId"]))["items"] == []
        assert codes((await pull(client, "disk.x"))["items"]) == ["e1"]
        assert (await pull(client, "absent.x"))["items"] == []
        whole = await client.request("workspace/diagnostic", {"previousResultIds": []})
        assert [(one["uri"], one["version"]) for one in whole["items"]] == [(client.uri("a.x"), 2)]
        assert published(client) == []


@pytest.mark.parametrize(
    ("diagnostics", "capabilities", "announced", "registered", "pushes"),
    [
        ("pullDynamic", VSCODE, False, True, False),
        ("pullDynamic", NEOVIM, True, False, False),
        ("pullDynamic", AGENT, True, False, False),
        ("auto", VSCODE, False, True, False),
        ("auto", NEOVIM, True, False, False),
        ("auto", AGENT, False, False, True),
        ("none", VSCODE, False, False, False),
    ],
)
async def test_the_channel_follows_the_client(
    peer: PeerFactory,
    workspace: Workspace,
    diagnostics: str,
    capabilities: dict[str, Any],
    announced: bool,
    registered: bool,
    pushes: bool,
) -> None:
    async with peer(diagnostics=diagnostics) as client:
        await client.initialize(workspace(), capabilities=capabilities)
        client.open("a.x", ERROR)
        if registered:
            await client.wait_request("client/registerCapability")
        state = await client.request("test/state")
        assert ("diagnosticProvider" in client.server_capabilities) == announced
        assert [one["method"] for one in client.registrations.values()] == ["textDocument/diagnostic"] * registered
        assert published(client) == [(1, ["e1"])] * pushes
        assert [one["method"] for one in state["answers"]] == ["client/registerCapability"] * registered
        if announced or registered:
            assert codes((await pull(client))["items"]) == ["e1"]
        else:
            with pytest.raises(LspError, match="-32601"):
                await pull(client)


@pytest.mark.parametrize(
    ("codes_pushed", "pushed", "pulled"), [(None, ["e1", "w1"], ["e1", "w1"]), (["e1"], ["e1"], ["w1"])]
)
async def test_both_channels_at_once(
    peer: PeerFactory, workspace: Workspace, codes_pushed: list[str] | None, pushed: list[str], pulled: list[str]
) -> None:
    async with peer(diagnostics="both", pushCodes=codes_pushed) as client:
        await client.initialize(workspace())
        client.open("a.x", "ERROR(e1): a\nWARNING(w1): b\n")
        assert codes((await pull(client))["items"]) == pulled
        assert published(client) == [(1, pushed)]


async def test_a_pull_may_be_refused_for_a_while(peer: PeerFactory, workspace: Workspace) -> None:
    refusal = {"code": -32802, "message": "busy", "data": {"retriggerRequest": True}, "times": 2}
    async with peer(diagnostics="pull", pullError=refusal) as client:
        await client.initialize(workspace())
        client.open("a.x", ERROR)
        for _ in range(2):
            with pytest.raises(LspError) as problem:
                await pull(client)
            assert (problem.value.code, problem.value.data) == (-32802, {"retriggerRequest": True})
        assert codes((await pull(client))["items"]) == ["e1"]


@pytest.mark.parametrize(("settings", "speaks"), [({"css": {"validate": True}}, True), ({}, False)])
async def test_a_null_configuration_may_silence_for_ever(
    peer: PeerFactory, workspace: Workspace, settings: dict[str, Any], speaks: bool
) -> None:
    async with peer(name="css", nullConfigurationSilent=True, diagnostics="both") as client:
        client.settings = settings
        client.capabilities = VSCODE
        await client.initialize(workspace(), capabilities=VSCODE, initialized=False)
        client.notify("initialized", {})
        client.open("a.x", ERROR)
        await client.wait_request("workspace/configuration")
        state = await client.request("test/state")
        assert state["configuration"] == [[{"validate": True} if speaks else None]]
        client.change("a.x", ERROR + "ERROR(e2): more\n")
        pulled = (await pull(client))["items"]
        assert codes(pulled) == (["e1", "e2"] if speaks else [])
        assert published(client) == ([(1, ["e1"]), (2, ["e1", "e2"])] if speaks else [])


async def test_watched_changes_are_published_from_disk(peer: PeerFactory, workspace: Workspace) -> None:
    root = workspace({"a.x": ERROR, "open.x": ERROR})
    async with peer(publishOn=["watched"]) as client:
        await client.initialize(root)
        client.open("open.x")
        changes = [{"uri": client.uri(name), "type": 2} for name in ("a.x", "open.x", "deleted.x")]
        client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
        assert codes(await client.wait_diagnostics("a.x")) == ["e1"]
        assert await client.wait_diagnostics("deleted.x") == []
        await client.request("test/state")
        assert len(published(client)) == 2, "an open document is known better than the disk"


@pytest.mark.parametrize("delay", [0, 100])
async def test_a_change_of_one_file_may_break_another_that_nobody_has_open(
    peer: PeerFactory, workspace: Workspace, delay: int
) -> None:
    root = workspace({"a.x": "name\n", "b.x": "USES(a.x name)\n", "c.x": "USES(a.x other)\n"})
    async with peer(project=["b.x", "c.x"], projectDelayMs=delay) as client:
        await client.initialize(root)
        client.open("a.x", "name\n")
        found = await client.wait_diagnostics("c.x")
        assert [(one["code"], one["message"]) for one in found] == [("missing", "a.x has no other")]
        client.change("a.x", "other\n")
        assert codes(await client.wait_diagnostics("b.x")) == ["missing"]
        assert await client.wait_diagnostics("c.x") == []


async def test_a_pull_that_finds_something_may_be_slow(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(diagnostics="pull", slowFound=300) as client:
        await client.initialize(workspace(), capabilities=VSCODE)
        client.open("a.x", ERROR)
        client.open("b.x", CLEAN)
        slow = client.start_request("textDocument/diagnostic", {"textDocument": {"uri": client.uri("a.x")}})
        assert (await pull(client, "b.x"))["items"] == []
        assert not slow.done()
        assert codes((await client.answer(slow))["items"]) == ["e1"]


async def test_an_answer_may_be_given_by_the_script(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(answers={"textDocument/definition": [{"uri": "file:///elsewhere.x"}]}) as client:
        await client.initialize(workspace())
        client.open("a.x", CLEAN)
        found = await client.request("textDocument/definition", client.at("a.x", 0, 0))
        assert found == [{"uri": "file:///elsewhere.x"}]
