"""The table of requests: every request of a client in LSP 3.17, with each variant of its answer.

A case knows its params from the document's URI and the answers to earlier cases, since resolves and hierarchies go on
from items. ``run`` asks a whole table and keeps what came back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.client import Client, LspError
from tests.peers.conformance.answers import ANSWERS
from tests.peers.conformance.answers.ask import LONE, position, span
from tests.peers.conformance.items import FOLLOWED, RESOLVED

Json = dict[str, Any]
Answers = dict[str, "Answer"]


@dataclass
class Answer:
    """What a case was answered: ``result`` or ``error``, the result's very bytes, and the progress before it."""

    result: Any = None
    error: Json | None = None
    raw: str = ""
    progress: list[Json] = field(default_factory=list)


@dataclass(frozen=True)
class Case:
    """``params(uri, answers)``: the document's URI, and the answers to the cases before by their names."""

    name: str
    method: str
    params: Callable[[str, Answers], Json]


def _document(uri: str) -> Json:
    return {"textDocument": {"uri": uri}}


def _place(uri: str) -> Json:
    return {**_document(uri), "position": position(0, 2)}


def _diagnostic() -> Json:
    return {"range": span(0), "message": "known ü", "code": 7, "source": "conformance", "data": {"of": ["a", None]}}


_OPTIONS = {
    "tabSize": 3,
    "insertSpaces": True,
    "trimTrailingWhitespace": True,
    "insertFinalNewline": False,
    "trimFinalNewlines": True,
    "vendor.key": "ü",
}
_COMPLETION = {"triggerKind": 2, "triggerCharacter": "."}
_INLINE = {"triggerKind": 1, "selectedCompletionInfo": {"range": span(0), "text": "x"}}
_SIGNATURE = {
    "triggerKind": 3,
    "isRetrigger": True,
    "activeSignatureHelp": {"signatures": [{"label": "f()"}], "activeSignature": 0},
}
_ACTION = {"diagnostics": [_diagnostic()], "only": ["quickfix", "refactor"], "triggerKind": 2}

OF_DOCUMENT: dict[str, Json] = {
    "textDocument/completion": {"position": position(0, 2), "context": _COMPLETION},
    "textDocument/signatureHelp": {"position": position(0, 2), "context": _SIGNATURE},
    "textDocument/references": {"position": position(0, 2), "context": {"includeDeclaration": True}},
    "textDocument/documentSymbol": {},
    "textDocument/codeAction": {"range": span(0), "context": _ACTION},
    "textDocument/codeLens": {},
    "textDocument/documentLink": {},
    "textDocument/documentColor": {},
    "textDocument/colorPresentation": {"color": {"red": 1, "green": 0.5, "blue": 0.1, "alpha": 1.0}, "range": span(0)},
    "textDocument/formatting": {"options": _OPTIONS},
    "textDocument/rangeFormatting": {"range": span(0), "options": _OPTIONS},
    "textDocument/rangesFormatting": {"ranges": [span(0), span(1)], "options": _OPTIONS},
    "textDocument/onTypeFormatting": {"position": position(0, 1), "ch": "}", "options": _OPTIONS},
    "textDocument/rename": {"position": position(0, 2), "newName": f"ümlaut{LONE}"},
    "textDocument/foldingRange": {},
    "textDocument/selectionRange": {"positions": [position(0, 2), position(1, 0)]},
    "textDocument/semanticTokens/full": {},
    "textDocument/semanticTokens/full/delta": {"previousResultId": "conformance-1"},
    "textDocument/semanticTokens/range": {"range": span(0, 0, 0, last=2)},
    "textDocument/inlayHint": {"range": span(0, 0, 0, last=2)},
    "textDocument/inlineValue": {"range": span(0), "context": {"frameId": 3, "stoppedLocation": span(0)}},
    "textDocument/inlineCompletion": {"position": position(0, 2), "context": _INLINE},
    "textDocument/diagnostic": {"identifier": "conformance", "previousResultId": "conformance-0"},
    "textDocument/willSaveWaitUntil": {"reason": 1},
}
"""What the params of a document's request hold besides the document; those that are missing hold a position."""

OF_WORKSPACE: dict[str, Callable[[str], Json]] = {
    "workspace/symbol": lambda uri: {"query": f"ü{LONE}"},
    "workspace/diagnostic": lambda uri: {
        "identifier": "conformance",
        "previousResultIds": [{"uri": uri, "value": "w"}],
    },
    "workspace/willCreateFiles": lambda uri: {"files": [{"uri": f"{uri}.new"}]},
    "workspace/willRenameFiles": lambda uri: {"files": [{"oldUri": uri, "newUri": f"{uri}.moved"}]},
    "workspace/willDeleteFiles": lambda uri: {"files": [{"uri": uri}, {"uri": f"{uri}.too"}]},
}


def about(value: Any, uri: str) -> Any:
    """``value`` with the document's URI wherever ``URI`` stands for it."""
    if isinstance(value, dict):
        return {key: about(one, uri) for key, one in value.items()}
    return uri if value == "URI" else value


def params_of(method: str, uri: str) -> Json:
    """The params of a request that does not go on from an item."""
    if method in OF_WORKSPACE:
        return OF_WORKSPACE[method](uri)
    return {**_document(uri), **OF_DOCUMENT[method]} if method in OF_DOCUMENT else _place(uri)


def chosen(params: Json, variant: str | dict[str, str]) -> Json:
    """``params`` with the server's cue, which is also a field that the specification does not know.

    ``variant`` is one for all servers, or one for each by its name.
    """
    return {**params, "conformance": {"variant": variant, "float": 1.0}}


_FOLLOWERS = {follower for followers in FOLLOWED.values() for follower in followers}


def plain(method: str) -> bool:
    """Whether a method's params do not come from another answer, and not from the server's commands."""
    return method not in {*RESOLVED.values(), *_FOLLOWERS, "workspace/executeCommand"}


def _case(method: str, variant: str, **more: Any) -> Case:
    word = "progress" if more else variant
    return Case(f"{method} {word}", method, lambda uri, _: chosen({**params_of(method, uri), **more}, variant))


def listings() -> Iterator[Case]:
    """Each variant of each request about a document or the workspace, an error, and one with progress tokens."""
    for method, variants in ANSWERS.items():
        if plain(method):
            yield from (_case(method, variant) for variant in (*variants, "error"))
            fullest = next(iter(variants))
            yield _case(method, fullest, workDoneToken=f"work {method}", partialResultToken=len(method))
    yield _case("textDocument/diagnostic", "cancelled")


def resolvable(method: str, result: Any) -> list[Json]:
    """The items of an answer that its server will resolve: those that have an object as ``data``."""
    items = result["items"] if isinstance(result, dict) else result
    default = result.get("itemDefaults", {}).get("data") if isinstance(result, dict) else None
    # An editor writes the list's default into an item that has no data of its own, and then asks with it.
    whole = [item if default is None else {"data": default, **item} for item in items]
    return [item for item in whole if isinstance(item.get("data"), dict)]


def resolves() -> Iterator[Case]:
    """Each listing that holds items, and a resolve of each of them; ``listing`` counts from its start."""
    for lister, resolver in RESOLVED.items():
        for variant in ANSWERS[resolver]:
            listing = _case(lister, variant)
            yield listing
            for index in range(_COUNT[listing.name]):
                yield Case(f"{resolver} {variant} {index}", resolver, _nth(listing, index))


def _nth(listing: Case, index: int) -> Callable[[str, Answers], Json]:
    return lambda _, answers: resolvable(listing.method, answers[listing.name].result)[index]


_COUNT = {
    "textDocument/completion list": 2,
    "textDocument/completion defaults": 3,
    "textDocument/completion array": 2,
    "textDocument/codeAction list": 2,
    "textDocument/codeLens list": 1,
    "textDocument/documentLink list": 1,
    "textDocument/inlayHint list": 2,
    "workspace/symbol symbols": 1,
    **{f"{lister} pair": 1 for lister in RESOLVED},
}
"""How many items of each listing are resolved."""


def hierarchies() -> Iterator[Case]:
    """Both hierarchies: prepared, followed in both directions, and followed once more from what that gave."""
    for prepare in ("textDocument/prepareCallHierarchy", "textDocument/prepareTypeHierarchy"):
        yield _case(prepare, "list")
        for follower in FOLLOWED[prepare]:
            first = f"{prepare} list"
            for variant in (*ANSWERS[follower], "error"):
                yield Case(f"{follower} {variant}", follower, _following(first, variant))
            yield Case(f"{follower} again", follower, _following(f"{follower} list", "list"))


def _following(before: str, variant: str) -> Callable[[str, Answers], Json]:
    def params(_: str, answers: Answers) -> Json:
        one = answers[before].result[0]
        return chosen({"item": one.get("from", one.get("to", one))}, variant)

    return params


def commands() -> Iterator[Case]:
    for variant in (*ANSWERS["workspace/executeCommand"], "error"):
        arguments: list[Any] = [{"ü": 1.0}, None, [], "text"]
        yield _command(variant, {"command": "conformance.own", "arguments": arguments})
    yield _command("own", {"command": "conformance.own"}, "without arguments")
    yield _command("own", {"command": "conformance.own", "workDoneToken": "work"}, "progress")


def _command(variant: str, params: Json, name: str = "") -> Case:
    return Case(f"command {name or variant}", "workspace/executeCommand", lambda *_: chosen(params, variant))


TABLE: dict[str, Callable[[], Iterable[Case]]] = {
    "listings": listings,
    "resolves": resolves,
    "hierarchies": hierarchies,
    "commands": commands,
}


async def run(client: Client, cases: Iterable[Case], uri: str) -> Answers:
    """Ask one case after the other."""
    answers: Answers = {}
    for case in cases:
        answers[case.name] = await ask(client, case.method, case.params(uri, answers))
    return answers


async def ask(client: Client, method: str, params: Json) -> Answer:
    """One request, its answer and the progress that came for it meanwhile."""
    heard = len(client.notifications)
    pending = client.start_request(method, params)
    answer = Answer()
    try:
        answer.result = await client.answer(pending, 30)
        answer.raw = result_of(pending.raw)
    except LspError as error:
        answer.error = {"code": error.code, "message": error.message, "data": error.data}
    tokens = [params[key] for key in ("workDoneToken", "partialResultToken") if key in params]
    answer.progress = [
        one.params
        for one in client.notifications[heard:]
        if one.method == "$/progress" and one.params["token"] in tokens
    ]
    return answer


def meaning(client: Client, method: str, answer: Answer) -> Answer:
    """Semantic tokens by the names that the client knows for their numbers; every other answer as it is."""
    legend = _legend(client) if "semanticTokens" in method and answer.result is not None else None
    if legend is None:
        return answer
    result = dict(answer.result)
    if "data" in result:
        result["data"] = _named(result["data"], legend)
    if "edits" in result:
        result["edits"] = [{**edit, "data": _named(edit.get("data", []), legend)} for edit in result["edits"]]
    return Answer(result, None, "", answer.progress)


def _legend(client: Client) -> Json | None:
    """The legend that the client was announced, at first or by a registration."""
    provider = client.server_capabilities.get("semanticTokensProvider")
    for registration in client.registrations.values():
        if registration["method"] == "textDocument/semanticTokens":
            provider = registration["registerOptions"]
    found: Json | None = provider["legend"] if provider else None
    return found


def _named(data: list[int], legend: Json) -> list[Any]:
    types, modifiers = legend["tokenTypes"], legend["tokenModifiers"]
    return [
        [
            *data[start : start + 3],
            types[data[start + 3]],
            *(name for bit, name in enumerate(modifiers) if data[start + 4] >> bit & 1),
        ]
        for start in range(0, len(data), 5)
    ]


def result_of(body: bytes) -> str:
    """The text of ``result`` in the body of an answer, as it was written."""
    text = body.decode()
    start = text.index('"result":') + len('"result":')
    start += len(text[start:]) - len(text[start:].lstrip())
    return text[start : json.JSONDecoder().raw_decode(text, start)[1]]
