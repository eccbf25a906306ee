"""What ``initialize`` could not know: registered at clients that take it when its server is there, each thing once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from ombud.downstream.semantic import STANDARD

from tests.client import Client, LspError
from tests.conftest import ClientFactory, OmbudFactory, Workspace
from tests.peers.road import Json, connected, entry, hover, hurried, listening, serving, wait_state, well_behaved
from tests.peers.script import PeerLog, Script
from tests.profiles import NEOVIM, VSCODE
from tests.waiting import wait_until

FILES = {"x.toml": "", "a.x": "first 2\n", "b.x": "second\n", "sub/x.toml": "", "sub/a.x": "third\n"}
COMMAND, TYPING = "workspace/executeCommand", "textDocument/onTypeFormatting"
X = [{"scheme": "file", "pattern": "**/*.x"}]


def of(client: Client, method: str) -> list[Json]:
    """The client's registrations of a method, as they are now."""
    return [one for one in client.registrations.values() if one["method"] == method]


def listed(client: Client) -> list[str]:
    """The commands that a client knows: announced ones of servers, and registered ones."""
    announced = client.server_capabilities["executeCommandProvider"]["commands"]
    later = [name for one in of(client, COMMAND) for name in one["registerOptions"]["commands"]]
    return [*(name for name in announced if not name.startswith("ombud.")), *later]


def asked(client: Client, kind: str, method: str) -> list[Json]:
    """Everything that the client was ever asked to register (or unregister) of a method."""
    key = "registrations" if kind == "register" else "unregisterations"
    requests = [one for one in client.server_requests if one.method == f"client/{kind}Capability"]
    return [one for request in requests for one in request.params[key] if one["method"] == method]


def typing(first: str, *more: str) -> Json:
    return {"documentOnTypeFormattingProvider": {"firstTriggerCharacter": first, "moreTriggerCharacter": list(more)}}


async def test_commands_of_a_server_are_registered_once_when_it_is_ready(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    servers = {
        "one": Script("one", commands=["one.do", "shared.do"], log=peer_log),
        "two": entry(Script("two", commands=["two.do", "shared.do"]), priority=90),
    }
    async with serving(ombud, root, servers, capabilities=VSCODE) as client:
        assert listed(client) == []
        client.open("a.x")
        await hover(client, "a.x")
        await wait_until(lambda: len(listed(client)) == 4, 20, "four commands")
        assert Counter(listed(client)) == Counter(["one.do", "shared.do", "two.do", "two:shared.do"])
        assert all(one["id"].startswith("ombud/") for one in client.registrations.values())
        client.open("b.x")
        await hover(client, "b.x")
        for name, server in (("two:shared.do", "two"), ("shared.do", "one"), ("one.do", "one")):
            answer = await client.request(COMMAND, {"command": name, "arguments": [1]})
            assert answer == {"by": server, "arguments": [1]}
        assert len(asked(client, "register", COMMAND)) == 4
        assert asked(client, "unregister", COMMAND) == []
    well_behaved(peer_log)


async def test_a_client_that_takes_no_registration_is_asked_for_none(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    one = Script("one", capabilities=typing("§"), log=peer_log)
    async with serving(ombud, root, {"one": one}, capabilities=NEOVIM) as client:
        client.open("a.x")
        await hover(client, "a.x")
        # Its next start in the folder is announced from the beginning, since it is known now.
    assert [one.method for one in client.server_requests if "egisterCapability" in one.method] == []

    async def known() -> bool:
        async with serving(ombud, root, {"one": one}, capabilities=NEOVIM) as client:
            typed = client.server_capabilities["documentOnTypeFormattingProvider"]
            return "one.state" in listed(client) and typed["firstTriggerCharacter"] == "§"

    # It is written down in a thread; the second run may only read it after the first has ended.
    assert await known()
    well_behaved(peer_log)


async def test_what_servers_share_is_registered_once_and_with_everything_in_it(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    servers = {
        "one": Script("one", capabilities=typing("§", "±")),
        "two": entry(Script("two", capabilities=typing("¶", "§"), startDelayMs=300), priority=90),
    }
    async with serving(ombud, root, servers, capabilities=VSCODE) as client:
        client.open("a.x")
        await wait_state(client, "two", "ready")
        await hover(client, "a.x")
        (found,) = await wait_until(
            lambda: [one for one in of(client, TYPING) if "¶" in str(one)], 20, "the second server's characters"
        )
        assert found["registerOptions"] == {
            "documentSelector": X,
            "firstTriggerCharacter": "§",
            "moreTriggerCharacter": ["±", "¶"],
        }


async def test_late_sessions_are_told_and_one_that_leaves_takes_nothing_with_it(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    servers = {"one": Script("one", commands=["one.do"], capabilities=typing("§"), log=peer_log)}
    async with listening(ombud, root) as (_, port), connected(port, root, servers, name="first") as first:
        first.open("a.x")
        await hover(first, "a.x")
        assert listed(first) == ["one.do"]
        async with connected(port, root, servers, name="late") as late:
            await wait_until(lambda: listed(late) == ["one.do"], 20, "the replay")
            assert len(of(late, TYPING)) == int("§" not in str(late.server_capabilities))
        async with connected(port, root, servers, name="plain", capabilities=NEOVIM) as plain:
            assert "one.do" in listed(plain)
            assert (await plain.request("ombud/status", {}))["servers"]
            assert of(plain, COMMAND) == []
        assert await hover(first, "a.x") == "one: line 0: first 2"
        assert listed(first) == ["one.do"]
        assert asked(first, "unregister", COMMAND) == []
        assert len(asked(first, "register", COMMAND)) == 1
    well_behaved(peer_log)


async def test_a_restart_registers_nothing_again_but_what_has_changed(
    client_factory: ClientFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    ombud = hurried(client_factory, **{"downstream__server__BACKOFF": [0.05]})
    root = workspace(FILES)
    starts = [{"commands": ["kept", "old"], "crashOn": {"method": "textDocument/hover"}}, {"commands": ["kept", "new"]}]
    one = Script("one", perStart=starts, log=peer_log)
    async with serving(ombud, root, {"one": one}, capabilities=VSCODE) as client:
        client.open("a.x")
        await wait_until(lambda: listed(client) == ["kept", "old"], 20, "the first start's commands")
        with pytest.raises(LspError):
            await hover(client, "a.x")
        assert await hover(client, "a.x") == "one: line 0: first 2"
        await wait_until(lambda: sorted(listed(client)) == ["kept", "new"], 20, "the second start's commands")
        assert [one["id"] for one in asked(client, "unregister", COMMAND)] == [f"ombud/{COMMAND}/old"]
        assert len(asked(client, "register", COMMAND)) == 3


async def test_the_last_server_that_goes_takes_its_registrations_along(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    """Two roots of one server share what they have; each is swept when it has been idle for a moment."""
    root = workspace(FILES)
    one = Script("one", commands=[], capabilities=typing("§"), log=peer_log)
    async with serving(ombud, root, {"one": one}, capabilities=VSCODE, idleMinutes=0.005) as client:
        for where in ("a.x", "sub/a.x"):
            client.open(where)
            await hover(client, where)
        assert len(peer_log.starts()) == 2
        await wait_until(lambda: asked(client, "unregister", TYPING), 20, "the end of both")
        assert of(client, TYPING) == []
        assert len(asked(client, "register", TYPING)) == 1
        assert await hover(client, "a.x")
        await wait_until(lambda: len(of(client, TYPING)) == 1, 20, "the return of one")


async def test_what_a_server_registers_itself_is_carried_on(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    made = [
        {"id": "1", "method": "vendor/thing", "registerOptions": {"deep": {"x": [1]}}},
        {"id": "2", "method": "other/thing", "registerOptions": {}},
        {"id": "3", "method": COMMAND, "registerOptions": {"commands": ["late.do"]}},
        {"id": "4", "method": "textDocument/hover", "registerOptions": {"documentSelector": None}},
        {"id": "5", "method": "textDocument/willSaveWaitUntil", "registerOptions": {"documentSelector": None}},
    ]
    gone = {"unregisterations": [{"id": one["id"], "method": one["method"]} for one in made]}
    one = Script(
        "one",
        commands=[],
        requestsOnInitialized=[{"method": "client/registerCapability", "params": {"registrations": made}}],
        requestsOn={"textDocument/didSave": [{"method": "client/unregisterCapability", "params": gone}]},
        log=peer_log,
    )
    client_can: Json = {**VSCODE, "vendor": {"thing": {"dynamicRegistration": True}}}
    async with serving(ombud, root, {"one": one}, capabilities=client_can) as client:
        client.open("a.x")
        await hover(client, "a.x")
        (thing,) = await wait_until(lambda: of(client, "vendor/thing"), 20, "the vendor's registration")
        assert thing["registerOptions"] == {"deep": {"x": [1]}}
        assert thing["id"].startswith("ombud/")
        assert listed(client) == ["late.do"]
        (waiting,) = of(client, "textDocument/willSaveWaitUntil")
        assert waiting["registerOptions"] == {"documentSelector": X}
        # Hovers are announced already; the client would show each twice. It never said that it takes the other one.
        assert of(client, "textDocument/hover") == of(client, "other/thing") == []
        client.save("a.x")
        methods = {"vendor/thing", COMMAND, "textDocument/willSaveWaitUntil"}
        await wait_until(lambda: not any(of(client, method) for method in methods), 20, "the end of them")
    well_behaved(peer_log)


async def test_a_command_that_the_client_refuses_takes_no_other_along(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    """VS Code refuses a command whose name another extension has."""
    root = workspace(FILES)
    more = {"registrations": [{"id": "1", "method": COMMAND, "registerOptions": {"commands": ["later.do"]}}]}
    one = Script(
        "one",
        commands=["taken", "one.do"],
        capabilities=typing("§"),
        requestsOn={"textDocument/didSave": [{"method": "client/registerCapability", "params": more}]},
        log=peer_log,
    )
    async with serving(ombud, root, {"one": one}, capabilities=VSCODE) as client:
        take = client.handlers["client/registerCapability"]

        def register(params: Any) -> Any:
            if any("taken" in one["id"] for one in params["registrations"]):
                raise LspError(-32603, "command 'taken' already exists")
            return take(params)

        client.handlers["client/registerCapability"] = register
        client.open("a.x")
        await hover(client, "a.x")
        await wait_until(lambda: listed(client) == ["one.do"], 20, "the other command")
        assert len(of(client, TYPING)) == 1
        client.save("a.x")
        await wait_until(lambda: listed(client) == ["one.do", "later.do"], 20, "a command that came late")
        assert [one["id"] for one in asked(client, "register", COMMAND)].count(f"ombud/{COMMAND}/taken") == 1
        await client.request("ombud/reload", {})
        await wait_until(lambda: len(peer_log.starts()) == 2, 20, "another start")
        await hover(client, "a.x")
        await wait_until(lambda: listed(client) == ["one.do"], 20, "the other command again")
        gone = [one["id"] for one in asked(client, "unregister", COMMAND)]
        assert sorted(gone) == [f"ombud/{COMMAND}/later.do", f"ombud/{COMMAND}/one.do"]
    well_behaved(peer_log)


# -- characters


async def test_a_character_asks_only_the_servers_that_announced_it(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    """The client knows the characters of all servers, and could not be told whose each is."""
    root = workspace(FILES)
    completing = {"completionProvider": {"triggerCharacters": ["+"]}}
    servers = {
        "one": Script("one", log=peer_log),
        "two": entry(Script("two", capabilities=completing), priority=90),
    }
    async with serving(ombud, root, servers, capabilities=VSCODE) as client:
        client.open("a.x")
        await wait_state(client, "two", "ready")
        await hover(client, "a.x")

        async def who(**context: Any) -> set[str]:
            found = await client.request("textDocument/completion", {**client.at("a.x", 0, 0), "context": context})
            items = (found or {"items": []})["items"]
            return {(item["data"].get("ombud", "").partition("#")[0] or item["data"]["server"]) for item in items}

        assert await who(triggerKind=1) == {"one", "two"}
        assert await who(triggerKind=2, triggerCharacter=".") == {"one"}
        assert await who(triggerKind=2, triggerCharacter="+") == {"two"}
        assert await who(triggerKind=2, triggerCharacter="#") == set()
        assert len(peer_log.received("textDocument/completion")) == 2
    well_behaved(peer_log)


# -- semantic tokens

SPELLS = {"legend": {"tokenTypes": ["spell", "number"], "tokenModifiers": ["loud"]}, "full": True}


def legend(client: Client) -> list[str]:
    """The token types that the client reads by now."""
    options = client.server_capabilities["semanticTokensProvider"]
    for one in of(client, "textDocument/semanticTokens"):
        options = one["registerOptions"]
    types: list[str] = options["legend"]["tokenTypes"]
    return types


async def kinds(client: Client, where: str) -> list[str]:
    """The types of a document's tokens, as the client reads them."""
    params = {"textDocument": {"uri": client.uri(where)}}
    answer = await client.request("textDocument/semanticTokens/full", params)
    types = legend(client)
    return [types[number] for number in answer["data"][3::5]]


async def test_words_outside_of_the_announced_legend_are_announced_with_the_next(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    one = Script("one", features="all", capabilities={"semanticTokensProvider": SPELLS}, log=peer_log)
    async with serving(ombud, root, {"one": one}, capabilities=VSCODE) as client:
        before = legend(client)
        assert "spell" not in before
        client.open("a.x")
        await hover(client, "a.x")
        await wait_until(lambda: "spell" in legend(client), 20, "the wider legend")
        assert legend(client)[: len(before)] == before, "answers on their way keep their meaning"
        assert await kinds(client, "a.x") == ["spell", "number"]
        (gone,) = asked(client, "unregister", "textDocument/semanticTokens")
        assert gone["id"] == client.server_capabilities["semanticTokensProvider"]["id"]
        (options,) = (one["registerOptions"] for one in of(client, "textDocument/semanticTokens"))
        assert options["full"] == {"delta": True} and "id" not in options
    well_behaved(peer_log)


async def test_a_client_with_one_legend_only_gets_the_words_that_it_knows(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    one = Script("one", features="all", capabilities={"semanticTokensProvider": SPELLS}, log=peer_log)
    async with serving(ombud, root, {"one": one}, capabilities=NEOVIM) as client:
        client.open("a.x")
        assert await kinds(client, "a.x") == ["number"]
        params = {"textDocument": {"uri": client.uri("a.x")}, "partialResultToken": "parts"}
        answer = await client.request("textDocument/semanticTokens/full", params)
        (_, asking) = peer_log.received("textDocument/semanticTokens/full")
        assert "partialResultToken" not in asking["params"], "parts would be read by the wrong legend"
        # It stands behind the word that was left out, where it stood before.
        assert answer["data"] == [0, 6, 1, STANDARD.types.index("number"), 0]
        assert of(client, "textDocument/semanticTokens") == []
    well_behaved(peer_log)
