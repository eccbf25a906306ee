"""Configuration that changes while servers work: by the client's word, by its files, and with several clients."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.children import lives
from tests.client import NO_ANSWER, Client, LspError
from tests.conftest import OmbudFactory, Workspace
from tests.peers.road import (
    Json,
    ask_hover,
    connected,
    entry,
    failure,
    hover,
    listening,
    peer_state,
    serving,
    status,
    together,
    user_file,
    wait_state,
    well_behaved,
)
from tests.peers.script import PeerLog, Script
from tests.profiles import AGENT, NEOVIM, VSCODE

FILES = {"x.toml": "", "a.x": "first\nsecond\n", "b.y": "first\n"}
CHANGED = "workspace/didChangeConfiguration"
ASK = "workspace/configuration"
ASKS = {"requestsOn": {CHANGED: [ASK]}}
"""A server that asks again for its section whenever it is told of a change."""


def change(client: Client, settings: Any) -> None:
    client.notify(CHANGED, {"settings": settings})


def row(**keys: Any) -> Json:
    """Settings of the client that change the server ``one``."""
    return {"ombud": {"servers": {"one": keys}}}


async def told(client: Client, name: str) -> list[Any]:
    """What the running server was answered to its questions for its section, one after the other."""
    answers = (await peer_state(client, name))["answers"]
    return [one["result"][0] for one in answers if one["method"] == ASK]


async def pushed(log: PeerLog, settings: Any) -> None:
    """Wait until these are the settings that the server was told last."""

    def last(peer: PeerLog) -> bool:
        received = peer.received(CHANGED)
        return bool(received) and received[-1]["params"] == {"settings": settings}

    await log.wait(last, what=f"the settings {settings}")


async def problems(client: Client) -> list[str]:
    found: list[str] = (await client.request("ombud/status", {}))["problems"]
    return found


def messages(client: Client) -> list[str]:
    return [one.params["message"] for one in client.notifications if one.method == "window/showMessage"]


# -- the shapes in which clients tell


@pytest.mark.parametrize(
    "settings",
    [
        {"ombud": {"servers": {"one": {"settings": {"one": {"deep": 2}}}}}},
        {"ombud.servers": {"one": {"settings": {"one": {"deep": 2}}}}},
        {"ombud.servers.one.settings": {"one.deep": 2}},
        {"ombud": {"servers.one.settings": {"one": {"deep": 2}}}},
        {"one": {"deep": 2}, "two": {"deep": 3}},
        {"one.deep": 2},
    ],
    ids=json.dumps,
)
async def test_every_shape_of_new_settings_reaches_a_server_while_it_works(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, settings: Json
) -> None:
    root = workspace(FILES)
    one = entry(Script("one", log=peer_log, **ASKS), settings={"one": {"deep": 1, "kept": True}})
    async with serving(ombud, root, {"one": one}, capabilities=AGENT) as client:
        await hover(client, "a.x")
        change(client, settings)
        await pushed(peer_log, {"one": {"deep": 2, "kept": True}})
        await hover(client, "a.x")
        assert await told(client, "one") == [{"deep": 1, "kept": True}, {"deep": 2, "kept": True}]
        assert len(peer_log.starts()) == 1
        # Settings that are taken back are the former ones again.
        change(client, {"ombud": {}, "one": {"deep": 1}})
        await pushed(peer_log, {"one": {"deep": 1, "kept": True}})
    well_behaved(peer_log)


@pytest.mark.parametrize("said", [None, {}, {"ombud": None}, {"other": {"x": 1}}, {"ombud": {}}], ids=json.dumps)
async def test_a_client_that_says_nothing_changes_nothing(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, said: Any
) -> None:
    root = workspace(FILES)
    one = entry(Script("one", log=peer_log), settings={"one": {"deep": 1}})
    async with serving(ombud, root, {"one": one}, capabilities=AGENT) as client:
        await hover(client, "a.x")
        change(client, said)
        await hover(client, "a.x")
        assert len(peer_log.received(CHANGED)) == len(peer_log.starts()) == 1
        assert (await problems(client), messages(client)) == ([], [])


async def test_a_client_that_can_be_asked_is_asked_and_told_what_to_watch_for(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    one = entry(Script("one", log=peer_log, **ASKS), settings={"one": {"deep": 1}})
    async with ombud(cwd=root) as client:
        client.settings = row(settings={"one": {"deep": 2}})
        servers = {"one": one}
        await client.initialize(root, {"ombud": {"servers": servers, "trusted": True}}, VSCODE)
        asked = await client.wait_request(ASK)
        assert asked.params == {"items": [{"section": "ombud"}]}
        registered = client.registrations["ombud/configuration"]
        assert (registered["method"], registered["registerOptions"]) == (CHANGED, {"section": "ombud"})
        await hover(client, "a.x")
        assert (await told(client, "one"))[-1] == {"deep": 2}
        # What changes is asked for again, by us and by the server that asks the client through us.
        client.settings = {**row(settings={"one": {"deep": 3}}), "one": {"more": 4}}
        change(client, None)
        await pushed(peer_log, {"one": {"deep": 3}})
        await peer_log.wait(lambda log: [{"deep": 3, "more": 4}] in _answers(log), what="the server's new section")
        client.settings = {}
        change(client, {})
        await peer_log.wait(lambda log: _answers(log)[-1] == [{"deep": 3}], what="a null leaves things as they are")
    well_behaved(peer_log)


def _answers(log: PeerLog) -> list[Any]:
    return [message["result"] for message in log.received() if "method" not in message and "result" in message]


@pytest.mark.parametrize("capabilities", [AGENT, NEOVIM], ids=["agent", "neovim"])
async def test_a_client_that_cannot_register_is_not_asked_to(
    ombud: OmbudFactory, workspace: Workspace, capabilities: Json
) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one")}, capabilities=capabilities) as client:
        await hover(client, "a.x")
        assert [name for name in client.registrations if "configuration" in name] == []


# -- a client's own sections


async def test_a_clients_answer_lies_under_what_was_set_for_the_server_and_over_nothing(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    """Editors answer with the defaults of all their extensions, so a deliberate word for the server stands above."""
    root = workspace(FILES)
    ask = {"items": [{"section": "one", "scopeUri": "file:///x"}, {}, {"section": "other"}, {"section": "gone.leaf"}]}
    one = Script("one", requestsOnInitialized=[{"method": ASK, "params": ask}])
    async with ombud(cwd=root) as client:
        client.settings = {"one": {"deep": 9, "mine": 1, "nothing": None}, "other": {"x": 1}}
        servers = {"one": entry(one, settings={"one": {"deep": 1}})}
        await client.initialize(root, {"ombud": {"servers": servers, "trusted": True}}, NEOVIM)
        await hover(client, "a.x")
        (answered,) = [one for one in (await peer_state(client, "one"))["answers"] if one["method"] == ASK]
        assert answered["result"] == [{"deep": 1, "mine": 1}, {"one": {"deep": 1}}, {"x": 1}, None]
        (asked,) = [
            one for one in client.server_requests if one.method == ASK and one.params["items"][0] == ask["items"][0]
        ]
        # Not for the whole tree: an editor's settings are nobody's business but its own.
        assert asked.params["items"] == [item for item in ask["items"] if item]


async def test_a_client_that_leaves_a_servers_question_open_holds_nobody_up(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    one = Script("one", nullConfigurationSilent=True)
    async with ombud(cwd=root) as client:
        client.handlers[ASK] = lambda params: NO_ANSWER
        await client.initialize(root, {"ombud": {"servers": {"one": entry(one)}, "trusted": True}}, VSCODE)
        client.open("a.x", "ERROR(e1): bad")
        await client.wait_diagnostics("a.x", lambda found: len(found) == 1)
        assert (await told(client, "one")) == [{}]


# -- what a change does


async def test_a_server_that_is_switched_off_ends_and_comes_back(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    servers = {"one": Script("one", log=peer_log), "two": entry(Script("two"), priority=99)}
    async with serving(ombud, root, servers, capabilities=AGENT) as client:
        client.open("a.x", "ERROR(e1): bad")
        await client.wait_diagnostics("a.x", lambda found: len(found) == 2)
        change(client, row(disabled=True))
        await client.wait_diagnostics("a.x", lambda found: [one["source"] for one in found] == ["two"])
        (first,) = peer_log.starts()
        await peer_log.wait(lambda _log: not lives(first), what="the process ends")
        assert (await hover(client, "a.x")).startswith("two: ")
        assert (await status(client))["one"]["state"] == "disabled"
        change(client, row(disabled=False))
        await client.wait_diagnostics("a.x", lambda found: len(found) == 2)
        assert (await hover(client, "a.x")).startswith("one: ")
        assert len(peer_log.starts()) == 2
    well_behaved(peer_log)


@pytest.mark.parametrize(
    "changed",
    [{"initializationOptions": {"x": 2}}, {"env": {"OMBUD_TEST_VALUE": "2"}}],
    ids=["initializationOptions", "env"],
)
async def test_what_is_read_at_the_start_only_starts_a_server_anew(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, changed: Json
) -> None:
    root = workspace(FILES)
    one = entry(Script("one", log=peer_log), initializationOptions={"x": 1}, env={"OMBUD_TEST_VALUE": "1"})
    async with serving(ombud, root, {"one": one}, capabilities=AGENT) as client:
        client.open("a.x", "unsaved\n")
        await hover(client, "a.x")
        change(client, row(**changed))
        await peer_log.wait(lambda log: len(log.starts()) == 2, what="a second start")
        assert await hover(client, "a.x") == "one: line 0: unsaved"
        state = await peer_state(client, "one")
        assert state["initialize"]["initializationOptions"] == {"x": 2 if "initializationOptions" in changed else 1}
        assert next(iter(state["documents"].values()))["text"] == "unsaved\n"
        values = Path(f"/proc/{state['pid']}/environ")
        if values.exists():
            wanted = "2" if "env" in changed else "1"
            assert f"OMBUD_TEST_VALUE={wanted}".encode() in values.read_bytes().split(b"\0")
        # The same once more is no change.
        change(client, row(**changed))
        await hover(client, "a.x")
        assert len(peer_log.starts()) == 2
    well_behaved(peer_log)


async def test_a_new_command_replaces_the_process(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    former = Script("one", log=peer_log)
    other = Script("other", log=peer_log)
    async with serving(ombud, root, {"one": former}, capabilities=AGENT) as client:
        client.open("a.x", "unsaved\n")
        assert await hover(client, "a.x") == "one: line 0: unsaved"
        change(client, row(command=other.command()))
        assert await hover(client, "a.x") == "other: line 0: unsaved"
        first, second = peer_log.starts()
        await peer_log.wait(lambda _log: not lives(first), what="the former process ends")
        assert lives(second)
        assert (await status(client))["one"]["pid"] == second
    well_behaved(peer_log)


async def test_what_is_ours_to_decide_counts_at_once_and_restarts_nothing(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    one = Script("one", log=peer_log, hangOn=["textDocument/definition"])
    servers = {"one": entry(one, priority=1), "two": entry(Script("two"), priority=2, exceptFeatures=["definition"])}
    async with serving(ombud, root, servers, capabilities=AGENT) as client:
        client.open("a.x")
        assert first_of(await hover(client, "a.x")) == "one"
        change(client, row(exceptFeatures=["hover"]))
        assert await hover(client, "a.x") == "two: line 0: first"
        change(client, row(onlyFeatures=["hover", "definition"], priority=3))
        assert first_of(await hover(client, "a.x")) == "two"
        change(client, row(onlyFeatures=["hover", "definition"], requestTimeoutMs=300))
        assert first_of(await hover(client, "a.x")) == "one"
        assert len(peer_log.starts()) == 1
        error = await failure(client.start_request("textDocument/definition", client.at("a.x", 0, 0)), client)
        assert (error.data["kind"], error.data["server"]) == ("timeout", "one")


@pytest.mark.parametrize("channel", ["push", "pull"])
async def test_what_a_server_reports_goes_and_comes_with_the_feature(
    ombud: OmbudFactory, workspace: Workspace, channel: str
) -> None:
    root = workspace(FILES)
    servers = {"one": Script("one", diagnostics=channel), "two": Script("two")}
    async with serving(ombud, root, servers, capabilities=AGENT) as client:
        client.open("a.x", "ERROR(e1): bad")
        await client.wait_diagnostics("a.x", lambda found: len(found) == 2)
        for keys in ({"onlyFeatures": ["format"]}, {"exceptFeatures": ["diagnostics"]}):
            change(client, row(**keys))
            await client.wait_diagnostics("a.x", lambda found: [one["source"] for one in found] == ["two"])
            change(client, row(exceptFeatures=["hover"]))
            await client.wait_diagnostics("a.x", lambda found: len(found) == 2)


def first_of(text: str) -> str:
    """The server whose word comes first in a hover that may be of several."""
    return text.partition(":")[0]


async def test_limits_change_at_once(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    servers = {"one": Script("one"), "two": entry(Script("two"), extensions=[".y"])}
    async with serving(ombud, root, servers, capabilities=AGENT) as client:
        await hover(client, "a.x")
        change(client, {"ombud": {"maxServers": 1}})
        await hover(client, "b.y")
        swept = await wait_state(client, "one", "swept")
        assert "maxServers = 1" in swept["reason"]


async def test_trust_that_is_taken_back_ends_the_servers(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}, capabilities=AGENT) as client:
        await hover(client, "a.x")
        change(client, {"ombud": {"trusted": False}})
        (process,) = peer_log.starts()
        await peer_log.wait(lambda _log: not lives(process), what="the process ends")
        assert (await client.answer(ask_hover(client, "a.x"))) is None
        with pytest.raises(LspError) as refused:
            await client.request("ombud/diagnostics", {"path": "a.x"})
        assert refused.value.data["kind"] == "no_server"


async def test_what_is_wrong_is_said_once_and_changes_nothing(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    one = entry(Script("one", log=peer_log), settings={"one": {"deep": 1}})
    async with serving(ombud, root, {"one": one}, capabilities=AGENT) as client:
        await hover(client, "a.x")
        change(client, {"ombud": {"idleMinutes": 3, "servers": {"one": {"settings": {"one": {"deep": 2}}}}}})
        await pushed(peer_log, {"one": {"deep": 2}})
        bad = {
            "idleMinutes": "soon",
            "servers": {"one": {"settings": [], "priority": "high", "nonsense": 1}, "new": {"extensions": [".z"]}},
        }
        change(client, {"ombud": bad})
        said = await client.wait_notification("window/showMessage")
        assert said["type"] == 2 and said["message"].startswith("Ombud: settings.ombud: idleMinutes must be a number")
        assert "4 more problems" in said["message"]
        found = "\n".join(await problems(client))
        for words in (
            "idleMinutes must be",
            "one.settings must be",
            "one.priority must be",
            "one.nonsense",
            "servers.new",
        ):
            assert found.count(words) == 1, found
        await hover(client, "a.x")
        assert len(peer_log.received(CHANGED)) == 2 and len(peer_log.starts()) == 1
        change(client, {"ombud": bad})
        await hover(client, "a.x")
        assert len(messages(client)) == 1
        # Editors keep keys of their own in the same section.
        change(client, {"ombud": {**bad, "trace": {"server": "off"}, "editorsOwn": 1}})
        assert [one for one in await problems(client) if "trace" in one] == []
        assert len([one for one in await problems(client) if "editorsOwn" in one]) == 1
        assert len(messages(client)) == 1
        change(client, {"ombud": "odd"})
        assert "must be an object" in (await client.wait_notification("window/showMessage"))["message"]
        assert len(peer_log.received(CHANGED)) == 2
        change(client, {"ombud": {}})
        await pushed(peer_log, {"one": {"deep": 1}})
        assert await problems(client) == []


# -- the files


async def test_files_that_change_on_disk_are_read_again(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, home: Path
) -> None:
    root = workspace({**FILES, ".ombud.toml": "[servers.one.settings.one]\na = 1\nb = 1\n"})
    mine = user_file(home)
    mine.write_text("[servers.one.settings.one]\nb = 2\nc = 2\n")
    one = entry(Script("one", log=peer_log), settings={"one": {"c": 3}})
    async with serving(ombud, root, {"one": one}, capabilities=AGENT) as client:

        def write(path: Path, text: str) -> None:
            path.write_text(text)
            client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": path.as_uri(), "type": 2}]})

        await hover(client, "a.x")
        await pushed(peer_log, {"one": {"a": 1, "b": 2, "c": 3}})
        write(root / ".ombud.toml", "[servers.one.settings.one]\na = 4\nb = 4\nc = 4\n")
        await pushed(peer_log, {"one": {"a": 4, "b": 2, "c": 3}})
        # Half a line that an editor has saved stops nobody.
        write(root / ".ombud.toml", "[servers.one.settings.one]\na = ")
        said = (await client.wait_notification("window/showMessage"))["message"]
        assert ".ombud.toml" in said and "what it said before still counts" in said
        write(root / ".ombud.toml", "trusted = true\n[servers.one]\ncommand = ['./evil']\n")
        await pushed(peer_log, {"one": {"b": 2, "c": 3}})
        assert len([one for one in await problems(client) if ".ombud.toml" in one]) == 2
        assert len(peer_log.starts()) == 1
    well_behaved(peer_log)


async def test_each_folder_has_a_file_of_its_own(ombud: OmbudFactory, workspace: Workspace, tmp_path: Path) -> None:
    first = workspace({**FILES, ".ombud.toml": "[servers.one.settings.one]\nof = 'first'\n"}, name="first")
    second = workspace({**FILES, ".ombud.toml": "[servers.one.settings.one]\nof = 'second'\n"}, name="second")
    third = workspace(FILES, name="third")
    logs = {folder: PeerLog(tmp_path / f"{folder.name}.jsonl") for folder in (first, second, third)}
    script = Script("one", askConfiguration=["one"])
    one = entry(script)
    async with ombud(cwd=first) as client:
        await client.initialize([first, second], {"ombud": {"servers": {"one": one}, "trusted": True}}, AGENT)
        found = {}
        for folder in (first, second):
            await hover(client, str(folder / "a.x"))
        added = [{"uri": third.as_uri(), "name": "third"}]
        client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": added, "removed": []}})
        await hover(client, str(third / "a.x"))
        rows = (await client.request("ombud/status", {}))["servers"]
        assert len({row["pid"] for row in rows if row["pid"]}) == 3, logs
        for folder in (first, second, third):
            found[folder.name] = await _section(client, folder)
        assert found == {"first": {"of": "first"}, "second": {"of": "second"}, "third": {}}


async def _section(client: Client, folder: Path) -> Any:
    """What the server of a folder was answered, by the diagnostics file it would be asked for."""
    tag = {"first": "one", "second": "one-2", "third": "one-3"}[folder.name]
    state = await client.request(
        "workspace/executeCommand", {"command": f"{tag}:one.state" if tag != "one" else "one.state"}
    )
    return state["configuration"][-1][0]


# -- several clients


async def test_the_client_that_needed_a_server_first_configures_it_until_it_leaves(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    script = Script("one", log=peer_log)

    def of(who: str) -> dict[str, Json]:
        return {"one": entry(script, settings={"one": {"of": who}})}

    async with listening(ombud, root) as (_, port), connected(port, root, of("second"), name="second") as second:
        async with connected(port, root, of("first"), name="first", capabilities=AGENT) as first:
            await hover(first, "a.x")
            await hover(second, "a.x")
            await pushed(peer_log, {"one": {"of": "first"}})
            assert await problems(first) == []
            (problem,) = await problems(second)
            assert "tests/first needed it first" in problem
            change(second, row(settings={"one": {"of": "second again"}}))
            await hover(second, "a.x")
            change(first, row(settings={"one": {"more": 1}}))
            await pushed(peer_log, {"one": {"of": "first", "more": 1}})
            assert len(peer_log.starts()) == 1
        await pushed(peer_log, {"one": {"of": "second again"}})
        assert await problems(second) == []
        assert len(peer_log.starts()) == 1
    well_behaved(peer_log)


async def test_a_server_that_one_client_switches_off_works_on_for_the_other(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    servers = {"one": Script("one", log=peer_log)}
    async with together(ombud, root, servers, "first", "second", capabilities=AGENT) as (first, second):
        first.open("a.x")
        await hover(first, "a.x")
        second.open("a.x", "of the second\n")
        await hover(second, "a.x")
        first.open("c.x", "ERROR(e1): bad")
        await first.wait_diagnostics("c.x", lambda found: len(found) == 1)
        change(first, row(disabled=True))
        assert await first.wait_diagnostics("c.x") == []
        assert (await status(first))["one"]["state"] in ("disabled", "ready")
        assert await hover(second, "a.x") == "one: line 0: of the second"
        change(second, row(disabled=True))
        (process,) = peer_log.starts()
        await peer_log.wait(lambda _log: not lives(process), what="the process ends")
    well_behaved(peer_log)
