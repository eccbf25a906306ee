"""Every method of LSP 3.17 over one server: through Ombud and directly, the same comes back and the same arrives."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.client import LspError
from tests.conftest import ClientFactory, OmbudFactory, Workspace
from tests.peers.conformance import legal
from tests.peers.conformance.announced import capabilities, dig, need
from tests.peers.conformance.answers import ANSWERS
from tests.peers.conformance.items import FOLLOWED, RESOLVED
from tests.peers.conformance.notifications import (
    LIFE,
    SETTLED,
    STEERED,
    TOLD,
    asked,
    notebooks,
    told_by_server,
)
from tests.peers.conformance.requests import TABLE, Answer, about, chosen, meaning, params_of, run
from tests.peers.conformance.talks import FILES, SETTINGS, Talk, always, direct, through
from tests.profiles import AGENT

Json = dict[str, Any]
Start = Callable[[str], AbstractAsyncContextManager[Talk]]
WAYS = ("direct", "through")


@pytest.fixture
def start(client_factory: ClientFactory, ombud: OmbudFactory, workspace: Workspace, tmp_path: Path) -> Start:
    """``async with start("direct") as talk`` or ``start("through")``, in the same workspace."""
    root, logs = workspace(FILES), tmp_path / "logs"
    logs.mkdir()
    return lambda way: (
        direct(client_factory, root, logs) if way == "direct" else through(ombud, root, logs, {"conformance": {}})
    )


# -- the table


def test_the_table_has_every_method_of_the_specification() -> None:
    """lsprotocol is generated from the meta model of LSP; a method that it has and the table lacks is named here."""
    uri = "file:///srv/a.x"
    told = {method for notes in TOLD.values() for method, _ in notes(uri)}
    assert legal.methods("clientToServer", requests=True) - ANSWERS.keys() - LIFE == set()
    assert legal.methods("clientToServer", requests=False) - told - SETTLED - STEERED - LIFE == set()
    assert legal.methods("serverToClient", requests=True) - asked(uri).keys() == set()
    assert legal.methods("serverToClient", requests=False) - told_by_server(uri).keys() - STEERED == set()


async def test_the_servers_answers_are_legal_and_say_every_field(start: Start) -> None:
    said: dict[str, bool] = {}
    asked_for = set()
    async with start("direct") as talk:
        for part in TABLE.values():
            cases = list(part())
            answers = await run(talk.client, cases, talk.uri)
            for case in cases:
                answer = answers[case.name]
                assert (answer.error is None) == (not case.name.endswith((" error", " cancelled"))), case.name
                if answer.error is None:
                    asked_for.add(case.method)
                    value = legal.typed(case.method, answer.result)
                    assert legal.plain(value) == legal.plain(answer.result), case.name
                    for name, one in legal.fields(value).items():
                        said[name] = said.get(name, False) or one
    assert asked_for == ANSWERS.keys()
    assert {name for name, one in said.items() if not one} == legal.LATER_FIELDS


# -- requests of the client


@pytest.mark.parametrize("part", TABLE)
async def test_answers_are_the_servers_own_to_the_byte(start: Start, part: str) -> None:
    """Results, errors with their data, progress before the answer; and what the server was asked, token names aside."""
    answers: dict[str, dict[str, Answer]] = {}
    heard: dict[str, dict[str, list[Any]]] = {}
    for way in WAYS:
        cases = list(TABLE[part]())
        async with start(way) as talk:
            found = await run(talk.client, cases, talk.uri)
            answers[way] = {case.name: meaning(talk.client, case.method, found[case.name]) for case in cases}
            heard[way] = {case.method: _asked_by_case(talk, case.method) for case in cases}
    different = {name for name, answer in answers["direct"].items() if answers["through"][name] != answer}
    assert {name: (answers["direct"][name], answers["through"][name]) for name in different} == {}
    assert heard["through"] == heard["direct"]
    progressing = [name for name in answers["direct"] if name.endswith(" progress")]
    assert all(answers["direct"][name].progress for name in progressing)


def _asked_by_case(talk: Talk, method: str) -> list[Any]:
    """What the server was asked by the table and not by Ombud itself; tokens only by the fact that they are there.

    Semantic tokens are renumbered for the client as a whole, so a server is not asked for parts of them.
    """
    cued = method not in RESOLVED.values()
    left_out = {"partialResultToken"} if "semanticTokens" in method else set()
    return [
        {key: key.endswith("Token") or value for key, value in params.items() if key not in left_out}
        for params in talk.heard(method)
        if "conformance" in params or not cued
    ]


async def test_progress_tokens_of_two_clients_and_numbers_are_kept_apart(start: Start) -> None:
    """A number and a text that look alike are two tokens."""
    async with start("through") as talk:
        params = chosen(params_of("textDocument/references", talk.uri), "list")
        first = talk.client.start_request("textDocument/references", {**params, "workDoneToken": 1})
        second = talk.client.start_request("textDocument/references", {**params, "workDoneToken": "1"})
        await talk.client.answer(first)
        await talk.client.answer(second)
        tokens = [one.params["token"] for one in talk.client.notifications if one.method == "$/progress"]
        assert tokens == [1, 1, 1, "1", "1", "1"]
        seen = [one["workDoneToken"] for one in talk.heard("textDocument/references")]
        assert len(set(seen)) == 2


async def test_what_the_server_announced_is_announced_to_the_client(start: Start) -> None:
    """Statically or, where Ombud did not know the server yet, by a registration."""
    async with start("through") as talk:
        await talk.client.request("textDocument/hover", params_of("textDocument/hover", talk.uri))
        await talk.command("conformance.state")
        registered = {one["method"] for one in talk.client.registrations.values()}
        missing = set()
        for method in sorted(ANSWERS):
            path = need(method)
            assert path is not None
            assert dig(capabilities("conformance"), path)
            if method not in legal.LATER and not dig(talk.client.server_capabilities, path):
                missing.add(method)
        assert {method for method in missing if not _family(method) & registered} == set()


def _family(method: str) -> set[str]:
    """The methods by whose registration a client learns of ``method``."""
    listers = {lister for lister, resolver in RESOLVED.items() if resolver == method}
    preparers = {preparer for preparer, followers in FOLLOWED.items() if method in followers}
    special = {
        "textDocument/colorPresentation": "textDocument/documentColor",
        "textDocument/prepareRename": "textDocument/rename",
        "workspace/diagnostic": "textDocument/diagnostic",
    }
    semantic = {"textDocument/semanticTokens"} if "semanticTokens" in method else set()
    return {method, special.get(method, method), *listers, *preparers, *semantic}


# -- notifications of the client


@pytest.mark.parametrize("part", TOLD)
async def test_notifications_arrive_as_they_were_sent(start: Start, part: str) -> None:
    """But for the versions of documents, which Ombud counts by itself since several clients may have one open."""
    for way in WAYS:
        async with start(way) as talk:
            notes = TOLD[part](talk.uri)
            await talk.command("conformance.state")
            log = talk.log("conformance")
            before = len(log.received())
            for method, params in notes:
                talk.client.notify(method, params)
            await talk.command("conformance.state")
            wanted = {method for method, _ in notes}
            heard = [(one.get("method"), one.get("params")) for one in log.received()[before:]]
            found = [(method, _unversioned(params)) for method, params in heard if method in wanted]
            assert found == [(method, _unversioned(params)) for method, params in notes], way


def _unversioned(params: Any) -> Any:
    document = params.get("textDocument")
    if document is None:
        return params
    return {**params, "textDocument": {key: value for key, value in document.items() if key != "version"}}


async def test_versions_in_edits_are_the_clients_own(start: Start) -> None:
    """A client drops an edit that is for another version than its own; what number the server knows is no matter."""
    edits = {}
    for way in WAYS:
        async with start(way) as talk:
            uri = talk.client.open("b.x", version=40)
            talk.client.change("b.x", "changed\n")
            method = "textDocument/rename"
            renamed = await talk.client.request(method, chosen(params_of(method, uri), "documentChanges"))
            method = "textDocument/codeAction"
            (action, *_, last) = await talk.client.request(method, chosen(params_of(method, uri), "list"))
            late = await talk.client.request("codeAction/resolve", last)
            known = (await talk.command("conformance.state"))["documents"][uri]["version"]
            changes = [{"textDocument": {"uri": uri, "version": known}, "edits": []}]
            params = {"edit": {"documentChanges": changes}}
            await talk.command("conformance.ask", {"method": "workspace/applyEdit", "params": params})
            applied = talk.client.server_requests[-1].params
            edits[way] = [renamed, action["edit"], late["edit"], applied["edit"]]
            for edit in edits[way]:
                assert edit["documentChanges"][0]["textDocument"] == {"uri": uri, "version": 41}, way
    assert edits["through"] == edits["direct"]


async def test_requests_about_a_cell_of_a_notebook_go_to_its_server(start: Start) -> None:
    results = {}
    for way in WAYS:
        async with start(way) as talk:
            notes = notebooks(talk.uri)
            opened = notes[0][1]
            for method, params in notes[:1]:
                talk.client.notify(method, params)
            cell = opened["cellTextDocuments"][0]["uri"]
            results[way] = await talk.client.request(
                "conformance/cell", chosen({"textDocument": {"uri": cell}}, "markdown")
            )
    assert results["through"] == results["direct"]


async def test_watched_files_are_told_as_the_server_registered(start: Start) -> None:
    watch = {"watchers": [{"globPattern": "**/*.watched"}]}
    registration = {"id": "w", "method": "workspace/didChangeWatchedFiles", "registerOptions": watch}
    registering = {"method": "client/registerCapability", "params": {"registrations": [registration]}}
    for way in WAYS:
        async with start(way) as talk:
            assert await talk.command("conformance.ask", registering) == {"result": None}
            change = {"uri": f"{talk.uri}.watched", "type": 1}
            talk.client.notify("workspace/didChangeWatchedFiles", {"changes": [change]})
            told = await talk.log("conformance").wait_received("workspace/didChangeWatchedFiles")
            assert change in told[0]["params"]["changes"], way


async def test_changed_settings_are_told_to_the_server_which_asks_for_them(start: Start) -> None:
    settings = {"conformance": {"deep": "changed"}}
    asking = {"method": "workspace/configuration", "params": {"items": [{"section": "conformance"}]}}
    for way in WAYS:
        async with start(way) as talk:
            assert await talk.command("conformance.ask", asking) == {"result": [SETTINGS["conformance"]]}
            before = len(talk.heard("workspace/didChangeConfiguration"))
            talk.client.settings = settings
            talk.client.notify("workspace/didChangeConfiguration", {"settings": settings})
            await talk.log("conformance").wait_received("workspace/didChangeConfiguration", before + 1)
            assert await talk.command("conformance.ask", asking) == {"result": [settings["conformance"]]}, way


async def test_trace_is_turned_on_for_the_server_and_its_traces_come_back(start: Start) -> None:
    for way in WAYS:
        async with start(way) as talk:
            await talk.command("conformance.state")
            talk.client.notify("$/setTrace", {"value": "verbose"})
            trace = {"message": "traced ü", "verbose": "much"}
            await talk.command("conformance.tell", {"method": "$/logTrace", "params": trace})
            assert talk.heard("$/setTrace") == [{"value": "verbose"}], way
            assert await talk.client.wait_notification("$/logTrace", timeout=20) == trace, way


# -- what the server asks and tells


async def test_the_server_gets_the_clients_own_answers(start: Start) -> None:
    answers: dict[str, Json] = {}
    seen: dict[str, Json] = {}
    for way in WAYS:
        answers[way], seen[way] = {}, {}
        async with start(way) as talk:
            for method, (params, result) in asked(talk.uri).items():
                if result is not None:
                    talk.client.handlers[method] = always(result)
                answers[way][method] = await talk.command("conformance.ask", {"method": method, "params": params})
            for request in talk.client.server_requests:
                if "Capability" not in request.method and "Progress" not in request.method:
                    seen[way][request.method] = request.params
    assert answers["through"] == answers["direct"]
    # Ombud answers these by itself, with the same.
    known = ("workspace/configuration", "workspace/workspaceFolders", "workspace/diagnostic/refresh")
    assert {key: value for key, value in seen["through"].items() if key not in known} == {
        key: value for key, value in seen["direct"].items() if key not in known
    }


async def test_a_clients_error_is_the_servers_answer(start: Start) -> None:
    def refuses(params: Any) -> Any:
        raise LspError(-32803, "not now ü")

    answers = {}
    for way in WAYS:
        async with start(way) as talk:
            talk.client.handlers["workspace/applyEdit"] = refuses
            params: Json = {"edit": {"changes": {}}}
            answers[way] = await talk.command("conformance.ask", {"method": "workspace/applyEdit", "params": params})
    assert answers["direct"] == {"error": {"code": -32803, "message": "not now ü"}}
    assert answers["through"] == answers["direct"]


async def test_without_a_client_that_can_the_server_is_answered_all_the_same(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path
) -> None:
    """The answers that mean "nobody decided", each of its method's shape (LSP 3.17)."""
    root = workspace(FILES)
    async with through(ombud, root, tmp_path, {"conformance": {}}, capabilities=AGENT) as talk:
        found = {
            method: await talk.command("conformance.ask", {"method": method, "params": params})
            for method, (params, _) in asked(talk.uri).items()
        }
        assert found.pop("workspace/applyEdit")["result"]["applied"] is False
        assert found.pop("window/showDocument") == {"result": {"success": False}}
        assert found.pop("workspace/configuration") == {"result": [SETTINGS["conformance"], SETTINGS["flat"]]}
        assert found.pop("workspace/workspaceFolders") == {"result": [{"uri": root.as_uri(), "name": root.name}]}
        assert set(map(repr, found.values())) == {repr({"result": None})}
        assert {one.method for one in talk.client.server_requests} <= {"window/showMessageRequest"}


async def test_what_the_server_tells_arrives_as_it_was_told(start: Start) -> None:
    """Messages for a human name the server in front; everything else is as the server said it."""
    heard: dict[str, Json] = {}
    for way in WAYS:
        heard[way] = {}
        async with start(way) as talk:
            notes = {**told_by_server(talk.uri), "conformance/told": {"any": ["thing", None, 1.0]}}
            for method, params in notes.items():
                await talk.command("conformance.tell", {"method": method, "params": params})
                heard[way][method] = await talk.client.wait_notification(method, _told_now, timeout=20)
    for method in ("window/showMessage", "window/logMessage"):
        heard["direct"][method]["message"] = f"conformance: {heard['direct'][method]['message']}"
    assert heard["through"] == heard["direct"]


def _told_now(params: Any) -> bool:
    """Not one of Ombud's own messages, and not the diagnostics of before."""
    return "ü" in str(params.get("message", "ü")) and params.get("diagnostics") != []


async def test_progress_that_the_server_made_is_shown_and_can_be_cancelled(start: Start) -> None:
    values: dict[str, list[Any]] = {}
    reports: list[Json] = [
        {"kind": "begin", "title": "Work ü", "cancellable": True, "message": "m", "percentage": 0},
        {"kind": "report", "message": "half", "percentage": 50},
        {"kind": "end", "message": "done"},
    ]
    for way in WAYS:
        async with start(way) as talk:
            create = {"method": "window/workDoneProgress/create", "params": {"token": 5}}
            assert await talk.command("conformance.ask", create) == {"result": None}
            token = (await talk.client.wait_request("window/workDoneProgress/create")).params["token"]
            for report in reports:
                told = {"method": "$/progress", "params": {"token": 5, "value": report}}
                await talk.command("conformance.tell", told)
                if report["kind"] == "begin":
                    talk.client.notify("window/workDoneProgress/cancel", {"token": token})
            values[way] = [
                one.params["value"]
                for one in talk.client.notifications
                if one.method == "$/progress" and one.params["token"] == token
            ]
            assert talk.heard("window/workDoneProgress/cancel") == [{"token": 5}]
    assert values["direct"] == reports
    assert values["through"] == reports


# -- life


async def test_a_cancelled_request_is_cancelled_at_the_server(
    client_factory: ClientFactory, ombud: OmbudFactory, workspace: Workspace, tmp_path: Path
) -> None:
    """The client is answered -32800 and the server hears of it under the id that it knows."""
    root = workspace(FILES)
    held = {"conformance": {"differently": {"holds": ["textDocument/rename"]}}}
    async with through(ombud, root, tmp_path, held) as talk:
        await talk.command("conformance.state")
        pending = talk.client.start_request("textDocument/rename", params_of("textDocument/rename", talk.uri))
        await talk.command("conformance.state")
        talk.client.cancel(pending)
        with pytest.raises(LspError) as refused:
            await talk.client.answer(pending, 30)
        assert refused.value.code == -32800
        assert await talk.command("conformance.release") == 0
        log = talk.log("conformance")
        (asked_id,) = [message["id"] for message in log.received("textDocument/rename")]
        assert log.received("$/cancelRequest")[0]["params"] == {"id": asked_id}


async def test_progress_of_a_request_is_cancelled_under_the_servers_token(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path
) -> None:
    root = workspace(FILES)
    held = {"conformance": {"differently": {"holds": ["textDocument/rename"]}}}
    async with through(ombud, root, tmp_path, held) as talk:
        await talk.command("conformance.state")
        params = {**chosen(params_of("textDocument/rename", talk.uri), "newName"), "workDoneToken": "mine"}
        pending = talk.client.start_request("textDocument/rename", params)
        talk.client.notify("window/workDoneProgress/cancel", {"token": "mine"})
        assert await talk.command("conformance.release") == 1
        await talk.client.answer(pending, 30)
        (asked_with,) = talk.heard("textDocument/rename")
        assert talk.heard("window/workDoneProgress/cancel") == [{"token": asked_with["workDoneToken"]}]


async def test_a_session_begins_and_ends_as_the_specification_says(start: Start) -> None:
    for way in WAYS:
        async with start(way) as talk:
            await talk.command("conformance.state")
            log = talk.log("conformance")
            greeting = log.methods()[:2]
            params = log.received("initialize")[0]["params"]
        assert greeting == ["initialize", "initialized"]
        assert params["rootUri"] == talk.root.as_uri()
        assert params["workspaceFolders"] == [{"uri": talk.root.as_uri(), "name": talk.root.name}]
        assert [method for method in log.methods() if method in LIFE] == [
            "initialize",
            "initialized",
            "shutdown",
            "exit",
        ]
        assert [entry["code"] for entry in log.entries("exit")] == [0]


# -- methods that the specification does not know


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("conformance/expandMacro", {"textDocument": {"uri": "URI"}, "position": {"line": 0, "character": 0}}),
        ("textDocument/switchSourceHeader", {"uri": "URI"}),
        ("textDocument/switchSourceHeader", {"textDocument": {"uri": "URI"}}),
        ("conformance/anything", {"no": ["document"]}),
        ("conformance/nothing", None),
        ("conformance/list", [1.0, {"a": None}]),
        ("unknown/method", {"textDocument": {"uri": "URI"}}),
    ],
)
async def test_requests_of_vendors_are_passed_on(start: Start, method: str, params: Any) -> None:
    found: dict[str, Any] = {}
    for way in WAYS:
        async with start(way) as talk:
            await talk.command("conformance.state")
            named = about(params, talk.uri)
            try:
                found[way] = await talk.client.request(method, named, 30)
            except LspError as error:
                found[way] = (error.code, error.message, error.data)
            if way == "direct" and method != "unknown/method":
                assert found[way]["params"] == named
    assert found["through"] == found["direct"]
