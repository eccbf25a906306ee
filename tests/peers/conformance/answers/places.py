"""Payloads of navigation: places, symbols, hierarchies."""

from __future__ import annotations

from tests.peers.conformance.answers.ask import LONE, UNKNOWN, empty, null, span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tests.peers.conformance.answers.ask import Ask, Json, Payload


def location(ask: Ask, line: int) -> Json:
    return {"uri": ask.other, "range": span(line, 2, 9)}


def _links(ask: Ask) -> list[Json]:
    full = {
        "originSelectionRange": span(0, 0, 5),
        "targetUri": ask.other,
        "targetRange": span(3, 0, 1, last=9),
        "targetSelectionRange": span(3, 4, 8),
        **UNKNOWN,
    }
    bare = {"targetUri": ask.uri, "targetRange": span(1), "targetSelectionRange": span(1, 1, 2)}
    return [full, bare]


def _single(ask: Ask) -> Json:
    return {**location(ask, ask.own_line), **UNKNOWN}


def _locations(ask: Ask) -> list[Json]:
    # The same place twice: one server's own repetition is its own business.
    return [location(ask, 0), location(ask, ask.own_line), location(ask, 0)]


GOTO: dict[str, Payload] = {"links": _links, "single": _single, "list": _locations, "empty": empty, "null": null}


def _references(ask: Ask) -> list[Json]:
    return [
        {**location(ask, 0), **UNKNOWN},
        location(ask, ask.own_line),
        {"uri": "zip:/lib.zip!/a.x", "range": span(7)},
    ]


def _highlights(ask: Ask) -> list[Json]:
    return [{"range": span(line, 0, 3), "kind": line} for line in (1, 2, 3)] + [{"range": span(4)}]


def _tree(ask: Ask) -> list[Json]:
    leaf = {
        "name": f"leaf {LONE}",
        "detail": "",
        "kind": 12,
        "tags": [1],
        "deprecated": True,
        "range": span(2, 0, 9, last=3),
        "selectionRange": span(2, 4, 8),
        **UNKNOWN,
    }
    root = {
        "name": f"{ask.name} 根",
        "detail": "class",
        "kind": 5,
        "range": span(0, 0, 0, last=9),
        "selectionRange": span(0, 6, 9),
        "children": [leaf, {**leaf, "name": "twin", "children": []}],
    }
    return [root]


def symbol_information(ask: Ask, name: str, line: int) -> Json:
    return {
        "name": name,
        "kind": 12,
        "tags": [1],
        "deprecated": False,
        "containerName": ask.name,
        "location": location(ask, line),
        **UNKNOWN,
    }


def _flat(ask: Ask) -> list[Json]:
    return [symbol_information(ask, "flat", 0), {"name": "bare", "kind": 26, "location": location(ask, 1)}]


def _workspace_symbols(ask: Ask) -> list[Json]:
    return [
        {
            "name": f"{ask.name} symbol",
            "kind": 5,
            "tags": [1],
            "containerName": "container",
            "location": {"uri": ask.other},
            "data": ask.data(),
            **UNKNOWN,
        },
        {"name": "whole", "kind": 13, "location": location(ask, 2), "data": None},
    ]


def _resolved_symbol(ask: Ask) -> Json:
    return {**ask.params, "location": location(ask, ask.own_line), "containerName": f"resolved by {ask.name}"}


def hierarchy_item(ask: Ask, name: str, line: int = 0) -> Json:
    return {
        "name": name,
        "kind": 12,
        "tags": [1],
        "detail": f"of {ask.name}",
        "uri": ask.uri,
        "range": span(line, 0, 0, last=line + 2),
        "selectionRange": span(line, 4, 8),
        "data": ask.data(item=name),
        **UNKNOWN,
    }


def _prepared(ask: Ask) -> list[Json]:
    bare = {"name": "bare", "kind": 6, "uri": ask.other, "range": span(5), "selectionRange": span(5)}
    return [hierarchy_item(ask, "prepared"), bare]


def _incoming(ask: Ask) -> list[Json]:
    caller = hierarchy_item(ask, f"caller of {ask.params['item']['name']}", 4)
    return [{"from": caller, "fromRanges": [span(5), span(6, 1, 3)], **UNKNOWN}]


def _outgoing(ask: Ask) -> list[Json]:
    return [{"to": hierarchy_item(ask, f"called by {ask.params['item']['name']}", 6), "fromRanges": []}]


def _super(ask: Ask) -> list[Json]:
    return [hierarchy_item(ask, f"above {ask.params['item']['name']}", 7)]


def _sub(ask: Ask) -> list[Json]:
    return [hierarchy_item(ask, f"below {ask.params['item']['name']}", 8)]


def _monikers(ask: Ask) -> list[Json]:
    kinds: list[Any] = ["import", "export", "local"]
    full = [{"scheme": ask.name, "identifier": "a:b", "unique": "scheme", "kind": kind, **UNKNOWN} for kind in kinds]
    return [*full, {"scheme": "tsc", "identifier": "ü", "unique": "document"}]


def _selections(ask: Ask) -> list[Json]:
    # One selection range for each position that was asked about, in its order.
    outer = {"range": span(0, 0, 0, last=40)}
    return [
        {"range": {"start": place, "end": place}, "parent": {"range": span(place["line"], 0, 40), "parent": outer}}
        for place in ask.params["positions"]
    ]


def _folds(ask: Ask) -> list[Json]:
    full = {"startLine": 0, "startCharacter": 3, "endLine": 9, "endCharacter": 1, "kind": "region", **UNKNOWN}
    return [
        {**full, "collapsedText": "… ü"},
        {"startLine": 1, "endLine": 2, "kind": "imports"},
        {"startLine": 3, "endLine": 4},
    ]


def _linked(ask: Ask) -> Json:
    return {"ranges": [span(0, 1, 4), span(3, 2, 5)], "wordPattern": r"[\w\-ü]+", **UNKNOWN}


ANSWERS: dict[str, dict[str, Payload]] = {
    **{f"textDocument/{word}": GOTO for word in ("definition", "declaration", "typeDefinition", "implementation")},
    "textDocument/references": {"list": _references, "empty": empty, "null": null},
    "textDocument/documentHighlight": {"list": _highlights, "empty": empty, "null": null},
    "textDocument/documentSymbol": {"tree": _tree, "flat": _flat, "empty": empty, "null": null},
    "workspace/symbol": {"symbols": _workspace_symbols, "information": _flat, "empty": empty, "null": null},
    "workspaceSymbol/resolve": {"symbols": _resolved_symbol},
    "textDocument/prepareCallHierarchy": {"list": _prepared, "empty": empty, "null": null},
    "callHierarchy/incomingCalls": {"list": _incoming, "empty": empty, "null": null},
    "callHierarchy/outgoingCalls": {"list": _outgoing, "empty": empty, "null": null},
    "textDocument/prepareTypeHierarchy": {"list": _prepared, "empty": empty, "null": null},
    "typeHierarchy/supertypes": {"list": _super, "empty": empty, "null": null},
    "typeHierarchy/subtypes": {"list": _sub, "empty": empty, "null": null},
    "textDocument/moniker": {"list": _monikers, "empty": empty, "null": null},
    "textDocument/selectionRange": {"list": _selections, "empty": empty, "null": null},
    "textDocument/foldingRange": {"list": _folds, "empty": empty, "null": null},
    "textDocument/linkedEditingRange": {"ranges": _linked, "null": null},
}
