"""Two servers at once, kept apart: commands, questions, progress; one that fails, lacks a method, is switched off."""

from __future__ import annotations

from typing import Any

import pytest
from ombud.downstream import features

from tests.client import LspError
from tests.peers.conformance.announced import need
from tests.peers.conformance.answers import ANSWERS
from tests.peers.conformance.answers.ask import position, span
from tests.peers.conformance.items import FOLLOWED, RESOLVED
from tests.peers.conformance.notifications import asked
from tests.peers.conformance.pair import (
    Json,
    Start,
    bare,
    items_of,
    of,
    ready,
    request,
    start,
)
from tests.peers.conformance.requests import about, chosen, params_of, plain
from tests.peers.conformance.requests import ask as ask_for
from tests.peers.conformance.talks import always

__all__ = ["start"]


# -- commands, and what servers ask


async def test_commands_are_known_by_names_that_tell_them_apart(start: Start) -> None:
    async with start() as talk:
        await ready(talk)
        registered = [
            command
            for one in talk.client.registrations.values()
            if one["method"] == "workspace/executeCommand"
            for command in one["registerOptions"]["commands"]
        ]
        known = [*talk.client.server_capabilities["executeCommandProvider"]["commands"], *registered]
        (second,) = {"alpha", "beta"} - {talk.first}
        wanted = {"alpha.own", "beta.own", "conformance.shared", f"{second}:conformance.shared"}
        assert wanted <= set(known)
        assert len(known) == len(set(known)), "a command that is listed twice is an error in VS Code"
        for command, name in (
            *(("alpha.own", "alpha"), ("beta.own", "beta")),
            *(("conformance.shared", talk.first), (f"{second}:conformance.shared", second)),
        ):
            assert (await talk.command(command, 1.0))["by"] == name
        with pytest.raises(LspError) as refused:
            await talk.command("nobody.knows")
        assert refused.value.kind == "not_found"


async def test_both_servers_get_their_own_answers(start: Start) -> None:
    """With the same ids, registration ids and progress tokens on both sides."""
    async with start() as talk:
        await ready(talk)
        for method, (params, _) in asked(talk.uri).items():
            for name in ("alpha", "beta"):
                talk.client.handlers["workspace/applyEdit"] = always({"applied": True, "for": name})
                answer = await talk.command(f"{name}.ask", {"method": method, "params": params})
                assert "result" in answer, (method, answer)
                if method == "workspace/applyEdit":
                    assert answer["result"]["for"] == name
        created = [one.params["token"] for one in talk.client.server_requests if one.method.endswith("/create")]
        assert len(set(created)) == 2
        for name in ("beta", "alpha"):
            begin = {"token": "made", "value": {"kind": "begin", "title": name}}
            await talk.command(f"{name}.tell", {"method": "$/progress", "params": begin})
        shown = [
            (one.params["token"], one.params["value"]["title"])
            for one in talk.client.notifications
            if one.method == "$/progress"
        ]
        assert shown == [(created[1], "beta"), (created[0], "alpha")]


async def test_progress_of_a_joined_request_is_one_servers(start: Start) -> None:
    """Partial results of several servers cannot be told apart from the whole: such an answer comes whole."""
    async with start() as talk:
        await ready(talk)
        params = {**params_of("textDocument/references", talk.uri), "workDoneToken": "w", "partialResultToken": "p"}
        answer = await ask_for(talk.client, "textDocument/references", chosen(params, "pair"))
        assert len(answer.result) == 3
        assert [(one["token"], one["value"]["kind"]) for one in answer.progress] == [
            ("w", "begin"),
            ("w", "report"),
            ("w", "end"),
        ]
        assert ["partialResultToken" in one for one in talk.heard("textDocument/references", "alpha")] == [False]
        assert ["workDoneToken" in one for one in talk.heard("textDocument/references", "beta")] == [False]


# -- one that fails


JOINED = [
    "textDocument/hover",
    "textDocument/completion",
    "textDocument/codeAction",
    "textDocument/references",
    *(f"textDocument/{word}" for word in ("codeLens", "inlayHint", "documentLink", "documentColor", "inlineValue")),
    "workspace/symbol",
]
"""Methods whose answers are joined."""


@pytest.mark.parametrize("method", JOINED)
async def test_one_that_refuses_does_not_spoil_the_answer(start: Start, method: str) -> None:
    full = next(iter(ANSWERS[method]))
    async with start() as talk:
        await ready(talk)
        for fails, answers in (("beta", "alpha"), ("alpha", "beta")):
            found = await request(talk, method, {fails: "error", answers: full})
            expected = of(answers, talk, method, full)
            assert _loose(found) == _loose(expected)
        with pytest.raises(LspError) as refused:
            await request(talk, method, "error")
        assert (refused.value.code, refused.value.data["kind"]) == (-32803, "made_up")


def _loose(result: Any) -> Any:
    """An answer without the marks that Ombud may have put on its items."""
    items = items_of(result)
    return bare(items) if isinstance(items, list) else items


@pytest.mark.parametrize("method", ["textDocument/hover", "textDocument/completion", "textDocument/references"])
async def test_one_that_dies_does_not_spoil_the_answer(start: Start, method: str) -> None:
    full = next(iter(ANSWERS[method]))
    async with start(beta={"differently": {"dies": [method]}}) as talk:
        await ready(talk)
        assert _loose(await request(talk, method, full)) == _loose(of("alpha", talk, method, full))
        assert talk.log("beta").entries("crash") != []


async def test_one_that_is_slow_holds_up_nothing_else(start: Start) -> None:
    """A completion goes out without it and says that it is incomplete; references wait for its deadline."""
    held = ["textDocument/completion", "textDocument/references"]
    async with start(beta={"differently": {"holds": held}, "requestTimeoutMs": 8000}) as talk:
        await ready(talk)
        params = chosen(params_of("textDocument/completion", talk.uri), "array")
        waiting = talk.client.start_request("textDocument/completion", params)
        assert await request(talk, "textDocument/hover") is not None
        assert (await talk.command("beta.own"))["by"] == "beta"
        assert not waiting.done()
        found = await talk.client.answer(waiting, 30)
        assert found["isIncomplete"] is True
        assert _loose(found) == _loose(of("alpha", talk, "textDocument/completion", "array"))
        assert await request(talk, "textDocument/references", "list") == of(
            "alpha", talk, "textDocument/references", "list"
        )


async def test_a_joined_request_is_cancelled_at_both(start: Start) -> None:
    holds = {"differently": {"holds": ["textDocument/references"]}}
    async with start(holds, holds) as talk:
        await ready(talk)
        pending = talk.client.start_request("textDocument/references", params_of("textDocument/references", talk.uri))
        await ready(talk)
        talk.client.cancel(pending)
        with pytest.raises(LspError) as refused:
            await talk.client.answer(pending, 30)
        assert refused.value.code == -32800
        for name in ("alpha", "beta"):
            assert await talk.command(f"{name}.release") == 0
            (held,) = [message["id"] for message in talk.log(name).received("textDocument/references")]
            assert talk.heard("$/cancelRequest", name) == [{"id": held}]


# -- switched off, and lacking


FEATURES: dict[str, list[str]] = {
    **{
        word: [f"textDocument/{word}"]
        for word in (
            *("hover", "definition", "declaration", "typeDefinition", "implementation", "references"),
            *("documentHighlight", "documentSymbol", "signatureHelp", "formatting", "onTypeFormatting"),
            *("foldingRange", "selectionRange", "linkedEditingRange", "moniker", "inlineValue", "completion"),
            *("codeAction", "codeLens", "documentLink", "inlayHint", "inlineCompletion"),
        )
    },
    "rangeFormatting": ["textDocument/rangeFormatting"],
    "rename": ["textDocument/rename", "textDocument/prepareRename"],
    "documentColor": ["textDocument/documentColor", "textDocument/colorPresentation"],
    "callHierarchy": ["textDocument/prepareCallHierarchy"],
    "typeHierarchy": ["textDocument/prepareTypeHierarchy"],
    "semanticTokens": [f"textDocument/semanticTokens/{kind}" for kind in ("full", "full/delta", "range")],
    "workspaceSymbol": ["workspace/symbol"],
    "fileOperations": [f"workspace/will{what}Files" for what in ("Create", "Rename", "Delete")],
    "diagnostics": ["textDocument/diagnostic", "workspace/diagnostic"],
}
"""The words of ``onlyFeatures`` and ``exceptFeatures``, and the requests that each is about."""


@pytest.mark.parametrize("key", ["exceptFeatures", "onlyFeatures"])
async def test_each_feature_can_be_switched_off_for_one_server(start: Start, key: str) -> None:
    """Every second word is taken from beta, the others from alpha; each request is then heard by the other alone."""
    words = list(FEATURES)
    kept = {"alpha": words[::2], "beta": words[1::2]}
    off = {"alpha": kept["beta"], "beta": kept["alpha"]}
    said = off if key == "exceptFeatures" else {name: [*kept[name], "executeCommand"] for name in kept}
    async with start({key: said["alpha"]}, {key: said["beta"]}) as talk:
        await ready(talk)
        for word, methods in FEATURES.items():
            for method in methods:
                await request(talk, method, next(iter(ANSWERS[method])))
                for name in ("alpha", "beta"):
                    assert bool(talk.heard(method, name)) == (word in kept[name]), (key, word, method, name)


def test_every_feature_is_in_the_table() -> None:
    assert FEATURES.keys() | {"executeCommand"} == features.FEATURES


async def test_what_no_server_has_is_answered_with_nothing_at_once(start: Start) -> None:
    paths = {path.partition(".")[0] for method in ANSWERS if (path := need(method)) is not None}
    kept = {"executeCommandProvider", "textDocumentSync", "workspace"}
    lacks = [*sorted(paths - kept), "textDocumentSync.willSaveWaitUntil", "workspace.fileOperations"]
    both = {"differently": {"lacks": lacks}}
    async with start(both, both) as talk:
        await ready(talk)
        for method in ANSWERS:
            if not plain(method):
                continue
            found = await request(talk, method, next(iter(ANSWERS[method])))
            if method.endswith("/diagnostic"):
                assert found["items"] == [], method
            else:
                assert found in (None, []), method
        for method in RESOLVED.values():
            item: Json = {"label": "an item of nobody", "title": "t", "range": span(0), "position": position(0)}
            assert await talk.client.request(method, item) in (None, item), method
        item = {"name": "n", "kind": 1, "uri": talk.uri, "range": span(0), "selectionRange": span(0)}
        for followers in FOLLOWED.values():
            for method in followers:
                assert await talk.client.request(method, {"item": item}) in (None, []), method


# -- vendors


@pytest.mark.parametrize(
    ("method", "params", "by"),
    [
        ("alpha/anything", {"no": "document"}, "alpha"),
        ("beta/anything", {"no": "document"}, "beta"),
        ("beta/nothing", None, "beta"),
        ("beta/expandMacro", {"textDocument": {"uri": "URI"}, "position": position(0)}, "beta"),
        ("conformance/expandMacro", {"textDocument": {"uri": "URI"}, "position": position(0)}, "alpha"),
        ("textDocument/switchSourceHeader", {"uri": "URI"}, "alpha"),
    ],
)
async def test_requests_of_vendors_find_their_server(start: Start, method: str, params: Any, by: str) -> None:
    """By the document, the first server that knows the method; without one, by the name that it begins with."""
    async with start() as talk:
        await ready(talk)
        said = None if params is None else {key: about(one, talk.uri) for key, one in params.items()}
        assert await talk.client.request(method, said, 30) == {"by": by, "method": method, "params": said}
        if "URI" not in str(params):
            (other,) = {"alpha", "beta"} - {by}
            assert talk.heard(method, other) == []


async def test_a_method_that_no_server_knows_is_refused(start: Start) -> None:
    async with start() as talk:
        await ready(talk)
        for params in ({"textDocument": {"uri": talk.uri}}, {"uri": talk.uri}, {"no": "document"}, None):
            with pytest.raises(LspError) as refused:
                await talk.client.request("unknown/method", params, 30)
            assert refused.value.code == -32601


async def test_notifications_of_vendors_go_both_ways(start: Start) -> None:
    async with start() as talk:
        await ready(talk)
        about = {"textDocument": {"uri": talk.uri}}
        talk.client.notify("vendor/aboutDocument", about)
        talk.client.notify("vendor/aboutNothing", {"any": 1})
        talk.client.notify("beta/told", {"any": 1})
        await ready(talk)
        heard = {
            name: [one for one in talk.log(name).methods() if one.startswith(("vendor/", "beta/"))]
            for name in ("alpha", "beta")
        }
        everybody = ["vendor/aboutDocument", "vendor/aboutNothing"]
        assert heard == {"alpha": everybody, "beta": [*everybody, "beta/told"]}
        for name in ("alpha", "beta"):
            await talk.command(f"{name}.tell", {"method": f"{name}/progress", "params": {"of": name}})
            assert await talk.client.wait_notification(f"{name}/progress", timeout=20) == {"of": name}
