"""Whatever stands in a question or in an answer: each request is answered, once, and what others say is not lost."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from ombud.downstream.methods import LISTED_BY, POLICIES, Policy

from tests.client import Client, LspError
from tests.conftest import OmbudFactory, Workspace
from tests.peers.road import serving

PARROT = Path(__file__).with_name("parrot.py")
FILES = {"x.toml": "", "a.x": "first\n"}
PLACE = '{"start":{"line":0,"character":0},"end":{"line":0,"character":1}}'
COMMAND = '{"title":"t","command":{"command":"conformance.shared"},"data":'
ANSWERS = (
    *("null", "true", "7", '"text"', "[]", "{}", "[null]", "[[]]", "[7]", '["text"]', '"\\ud800"'),
    *(f'{{"contents":{"[" * deep}{"]" * deep}}}' for deep in (400, 900)),
    *(f'[{{"range":{"[" * deep}{"]" * deep}}}]' for deep in (400, 900)),
    *('{"contents":[7,null,{}]}', '{"contents":{"kind":[],"value":7}}', '{"items":null}', '{"items":[null]}'),
    *('{"items":[{}],"itemDefaults":{"editRange":7}}', '{"items":[{}],"itemDefaults":{"editRange":{"insert":7}}}'),
    *('[{"label":["text"]}]', '[{"label":[{"command":7}]}]', '{"label":[7]}', '[{"title":"t","command":["c"]}]'),
    *('[{"from":7}]', '[{"to":null}]', '[{"from":[]}]', '[{"data":{"ombud":"two"}}]', '[{"data":{"ombud":7}}]'),
    *('{"changes":[]}', '{"changes":{"file:///a":7}}', '{"changes":{"file:///a":[7]}}', '{"documentChanges":[7]}'),
    *('{"documentChanges":true}', '{"edit":{"documentChanges":7}}', '[{"edit":{"documentChanges":true}}]'),
    '{"documentChanges":[{"textDocument":{"uri":"file:///%00","version":1},"edits":[]}]}',
    '{"documentChanges":[{"kind":"create","uri":7,"annotationId":[]}],"changeAnnotations":{"a":{}}}',
    *(
        '{"data":7}',
        '{"data":[7]}',
        '{"data":[0,0,1,99999999999999999999,0]}',
        '{"edits":[{"start":-1,"deleteCount":-1}]}',
    ),
    '{"data":[18446744073709551615,1,1,99,0,18446744073709551615,1,1,0,0]}',
    *(f'{{"edit":{"[" * 300}{"]" * 300}}}', f"{COMMAND}{'[' * 500}{']' * 500}}}", f"[{COMMAND}{PLACE}}}]"),
)
"""JSON of shapes that LSP does not know, as texts."""
ATOMS: tuple[Any, ...] = (
    *(None, True, -1, 2**64, 1.5, "", "\ud800", "\0", "file:///%00", "file://[", [], {}, [None], [7], [[]], ["text"]),
    *(
        {"uri": 7},
        {"ombud": "two"},
        {"start": {"line": 2**63, "character": 0}, "end": {"line": 2**64, "character": 2**64}},
    ),
)


@asynccontextmanager
async def parrots(ombud: OmbudFactory, root: Path, *names: str) -> AsyncIterator[Client]:
    servers = {
        name: {
            "command": [sys.executable, "-I", "-S", str(PARROT), name],
            "extensions": [".x"],
            "rootMarkers": ["x.toml"],
            "priority": number,
        }
        for number, name in enumerate(names, 1)
    }
    async with serving(ombud, root, servers) as client:
        client.open("a.x")
        for name in names:
            answer = {name: f'{{"contents":"{name}"}}'}
            assert await client.request("textDocument/hover", {**client.at("a.x", 0, 0), "answer": answer})
        yield client
        assert "Traceback" not in client.stderr


def question(client: Client, method: str) -> dict[str, Any]:
    """Params of ``method`` that are right."""
    uri = client.uri("a.x")
    match POLICIES[method]:
        case Policy.FILES:
            return {"files": [{"uri": uri, "oldUri": uri, "newUri": f"{uri}.new"}]}
        case Policy.COMMAND:
            return {"command": "conformance.shared", "arguments": [{"uri": uri}], "workDoneToken": "w"}
        case Policy.RUNNING:
            return {"query": "", "partialResultToken": "p"}
        case Policy.OWNER if "ierarchy/" in method:
            return {"item": {"uri": uri, "data": {"ombud": "two", "data": 7}}, "workDoneToken": 7}
        case Policy.OWNER:
            command = {"command": "two:conformance.shared"}
            return {"label": "a", "data": {"ombud": "two"}, "command": command}
    where = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
    context = {"diagnostics": [], "triggerKind": 2, "triggerCharacter": "."}
    return {**client.at("a.x", 0, 0), "range": where, "context": context, "workDoneToken": "w", "previousResultId": "r"}


async def outcomes(client: Client, asked: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    """The result or the error of each request; all are under way at once."""
    pending = [client.start_request(method, params) for method, params in asked]
    found: list[Any] = []
    for one in pending:
        try:
            found.append(await client.answer(one, 30))
        except LspError as error:
            assert error.kind != "internal", (one.method, error)
            found.append(error)
    return found


def with_answer(params: dict[str, Any], answer: Any) -> dict[str, Any]:
    return (
        {**params, "item": {**params["item"], "answer": answer}} if "item" in params else {**params, "answer": answer}
    )


@pytest.mark.parametrize("names", [("one",), ("one", "two")])
async def test_answers_of_every_shape_are_answers(
    ombud: OmbudFactory, workspace: Workspace, names: tuple[str, ...]
) -> None:
    async with parrots(ombud, workspace(FILES), *names) as client:
        for method in POLICIES:
            params = question(client, method)
            said = [*ANSWERS, *({"one": text, "two": "[{}]"} for text in ANSWERS if len(names) > 1)]
            await outcomes(client, [(method, with_answer(params, answer)) for answer in said])


async def test_an_answer_nobody_can_read_spoils_no_others(ombud: OmbudFactory, workspace: Workspace) -> None:
    deep = f'{{"contents":{"[" * 900}{"]" * 900}}}'
    async with parrots(ombud, workspace(FILES), "one", "two") as client:
        at = client.at("a.x", 0, 0)
        good, bad = '{"contents":"good"}', {"one": deep, "two": deep}
        found = await outcomes(
            client,
            [("textDocument/hover", {**at, "answer": one}) for one in (bad | {"one": good}, bad | {"two": good}, bad)],
        )
        assert found[:2] == [{"contents": "good"}] * 2
        assert found[2].kind == "server_failed"


async def test_questions_of_every_shape_are_answered(ombud: OmbudFactory, workspace: Workspace) -> None:
    async with parrots(ombud, workspace(FILES), "one", "two") as client:
        for method in POLICIES:
            params = question(client, method)
            wrong = [{**params, key: atom} for key in params if not key.endswith("Token") for atom in ATOMS]
            wrong += [
                {**params, key: {**inner, deep: atom}}
                for key, inner in params.items()
                if isinstance(inner, dict)
                for deep in inner
                for atom in ATOMS
            ]
            await outcomes(client, [(method, one) for one in wrong])


@pytest.mark.parametrize("method", sorted(set(LISTED_BY) - {"codeAction/resolve"}))
async def test_a_servers_own_data_that_looks_like_a_mark_goes_back_to_it(
    ombud: OmbudFactory, workspace: Workspace, method: str
) -> None:
    """A server that is an Ombud itself has such data, and one that would reach another server with it can forge it."""
    async with parrots(ombud, workspace(FILES), "one", "two") as client:
        listing = LISTED_BY[method]
        item = '{"label":"a","data":{"ombud":"two","data":7}}'
        await client.request(listing, with_answer(question(client, listing), {"one": f"[{item}]", "two": f"[{item}]"}))
        answer = {"one": '{"from":{"name":"one"},"name":"one"}', "two": '{"from":{"name":"two"},"name":"two"}'}
        inner = {"label": "a", "data": {"ombud": "two", "data": 7}, "answer": answer}
        found = await client.request(method, {"item": inner} if "ierarchy/" in method else inner)
        assert found["name"] == "one"
