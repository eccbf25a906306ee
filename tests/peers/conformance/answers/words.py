"""Payloads of what is shown at the cursor: completion, hover, signatures, inline completions."""

from __future__ import annotations

from tests.peers.conformance.answers.ask import LONE, UNKNOWN, empty, markdown, null, position, span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tests.peers.conformance.answers.ask import Ask, Json, Payload


def _full_item(ask: Ask) -> Json:
    return {
        "label": f"{ask.name}_full",
        "labelDetails": {"detail": "(a, b)", "description": "mod.ü"},
        "kind": 3,
        "tags": [1],
        "detail": "def full(a, b)",
        "documentation": markdown(f"**bold** {LONE} \U0001f600"),
        "deprecated": True,
        "preselect": True,
        "sortText": "0000",
        "filterText": "full",
        "insertText": "full($1)$0",
        "insertTextFormat": 2,
        "insertTextMode": 2,
        "textEdit": {"range": span(0, 0, 2), "newText": "full($1)$0"},
        "textEditText": "full",
        "additionalTextEdits": [{"range": span(0, 0, 0), "newText": "import full\n"}],
        "commitCharacters": [".", "("],
        "command": ask.command("own", {"why": "completion"}),
        "data": ask.data(item="full"),
        **UNKNOWN,
    }


def _insert_replace(ask: Ask) -> Json:
    edit = {"newText": "replace", "insert": span(0, 0, 2), "replace": span(0, 0, 6)}
    return {"label": "replace", "documentation": "plain text", "textEdit": edit, "data": ask.data(item="replace")}


def _items(ask: Ask) -> list[Json]:
    return [_full_item(ask), _insert_replace(ask), {"label": "bare"}, {"label": "falsy", "data": 0, "sortText": ""}]


def _list(ask: Ask) -> Json:
    return {"isIncomplete": True, "items": _items(ask), **UNKNOWN}


def defaults(ask: Ask) -> Json:
    return {
        "commitCharacters": [";"],
        "editRange": {"insert": span(0, 0, 1), "replace": span(0, 0, 5)},
        "insertTextFormat": 2,
        "insertTextMode": 1,
        "data": ask.data(item="default"),
    }


def _with_defaults(ask: Ask) -> Json:
    items: list[Json] = [
        {"label": "inherits"},
        {"label": "inherits too", "textEditText": "another text"},
        {"label": "has its own", "commitCharacters": ["!"], "data": ask.data(item="own"), "insertTextFormat": 1},
    ]
    return {"isIncomplete": False, "itemDefaults": defaults(ask), "items": items}


def _simple_range(ask: Ask) -> Json:
    return {"isIncomplete": False, "itemDefaults": {"editRange": span(0, 0, 3)}, "items": [{"label": "ranged"}]}


def _resolved_item(ask: Ask) -> Json:
    return {
        **ask.params,
        "detail": f"resolved by {ask.name}",
        "documentation": {"kind": "plaintext", "value": f"documentation {LONE}"},
        "additionalTextEdits": [{"range": span(0, 0, 0), "newText": "import it\n"}],
        "command": ask.command("own", "after completion"),
    }


def _marked(ask: Ask) -> Json:
    return {"contents": {"language": "x", "value": f"def {ask.name}()"}}


def _markdown_hover(ask: Ask) -> Json:
    return {"contents": markdown(f"**{ask.name}** {LONE}\n\n---\n\n`ü` \U0001f600"), "range": span(0, 0, 5), **UNKNOWN}


def _mixed_hover(ask: Ask) -> Json:
    return {"contents": ["first", {"language": "python", "value": "```"}, ""], "range": span(1)}


def _signatures(ask: Ask) -> Json:
    offsets: list[Any] = [{"label": [4, 5], "documentation": markdown("*a*")}, {"label": [7, 8]}]
    return {
        "signatures": [
            {"label": "f(a, b)", "documentation": markdown("doc ü"), "parameters": offsets, "activeParameter": 1},
            {"label": "f(a)", "documentation": "plain", "parameters": [{"label": "a", "documentation": "plain"}]},
            {"label": "f()", **UNKNOWN},
        ],
        "activeSignature": 1,
        "activeParameter": 0,
    }


def _inline_completions(ask: Ask) -> Json:
    item = {
        "insertText": {"kind": "snippet", "value": "for $1 in $2"},
        "filterText": "for",
        "range": span(0, 0, 2),
        "command": ask.command(),
    }
    return {"items": [item, {"insertText": "plain"}]}


def _inline_values(ask: Ask) -> list[Json]:
    return [
        {"range": span(0), "text": "x = 5", **UNKNOWN},
        {"range": span(1), "variableName": "x", "caseSensitiveLookup": True},
        {"range": span(2), "expression": "x + 1"},
    ]


def _hints(ask: Ask) -> list[Json]:
    parts = [
        {
            "value": f": {ask.name}",
            "tooltip": markdown("a *part*"),
            "location": {"uri": ask.other, "range": span(0)},
            "command": ask.command("own", "hint"),
        },
        {"value": " bare", "tooltip": "plain"},
    ]
    full = {
        "position": position(0, 4),
        "label": parts,
        "kind": 1,
        "textEdits": [{"range": span(0, 4, 4), "newText": ": int"}],
        "tooltip": markdown("**tip**"),
        "paddingLeft": True,
        "paddingRight": False,
        "data": ask.data(item="full"),
        **UNKNOWN,
    }
    return [
        full,
        {"position": position(1, 1), "label": "x:", "kind": 2, "tooltip": "plain", "data": ask.data(item="b")},
    ]


def _resolved_hint(ask: Ask) -> Json:
    return {**ask.params, "tooltip": f"resolved by {ask.name}", "textEdits": []}


ANSWERS: dict[str, dict[str, Payload]] = {
    "textDocument/completion": {
        "list": _list,
        "defaults": _with_defaults,
        "range": _simple_range,
        "array": _items,
        "empty": empty,
        "emptyList": lambda ask: {"isIncomplete": True, "items": []},
        "null": null,
    },
    "completionItem/resolve": {
        "list": _resolved_item,
        "defaults": _resolved_item,
        "array": _resolved_item,
    },
    "textDocument/hover": {
        "markdown": _markdown_hover,
        "plaintext": lambda ask: {"contents": {"kind": "plaintext", "value": ask.name}},
        "string": lambda ask: {"contents": f"{ask.name} alone"},
        "marked": _marked,
        "mixed": _mixed_hover,
        "emptyList": lambda ask: {"contents": []},
        "null": null,
    },
    "textDocument/signatureHelp": {
        "full": _signatures,
        "none": lambda ask: {"signatures": []},
        "null": null,
    },
    "textDocument/inlineCompletion": {
        "list": _inline_completions,
        "array": lambda ask: [{"insertText": "plain"}],
        "null": null,
    },
    "textDocument/inlineValue": {"list": _inline_values, "empty": empty, "null": null},
    "textDocument/inlayHint": {"list": _hints, "empty": empty, "null": null},
    "inlayHint/resolve": {"list": _resolved_hint},
}
