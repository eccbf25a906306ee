"""Payloads of what is drawn over a text: tokens, lenses, links, colours, diagnostics."""

from __future__ import annotations

from tests.peers.conformance.answers.ask import LONE, UNKNOWN, empty, null, span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tests.peers.conformance.answers.ask import Ask, Json, Payload

_TOKENS = [[0, 0, 5, 0, 0], [1, 2, 3, 1, 1], [0, 6, 4, 2, 6], [4, 0, 9, 3, 8]]
"""Line and start relative to the token before, length, type and modifier bits of the server's own legend."""


def tokens(ask: Ask) -> Json:
    return {"resultId": f"{ask.name}-1", "data": [number for token in _TOKENS for number in token]}


def _delta(ask: Ask) -> Json:
    edits = [{"start": 5, "deleteCount": 5, "data": [2, 2, 3, 3, 4]}, {"start": 15, "deleteCount": 5}]
    return {"resultId": f"{ask.name}-2", "edits": edits, **UNKNOWN}


def _lenses(ask: Ask) -> list[Json]:
    return [
        {"range": span(0, 0, 5), "command": ask.command("own", {"lens": 1}), **UNKNOWN},
        {"range": span(1, 0, 5), "data": ask.data(item="late")},
        {"range": span(2, 0, 5)},
    ]


def _resolved_lens(ask: Ask) -> Json:
    return {**ask.params, "command": ask.command("own", f"resolved by {ask.name}")}


def _links(ask: Ask) -> list[Json]:
    return [
        {"range": span(0, 0, 5), "target": "https://example.com/%C3%BC?q=1#x", "tooltip": f"tip {LONE}", **UNKNOWN},
        {"range": span(1, 0, 5), "data": ask.data(item="late"), "tooltip": "late"},
    ]


def _resolved_link(ask: Ask) -> Json:
    return {**ask.params, "target": f"file:///resolved/by/{ask.name}"}


def _colors(ask: Ask) -> list[Json]:
    return [{"range": span(0, 0, 4), "color": {"red": 1, "green": 0.5, "blue": 0.1, "alpha": 1.0}, **UNKNOWN}]


def _presentations(ask: Ask) -> list[Json]:
    edit = {"range": ask.params["range"], "newText": "#ff8019"}
    more = [{"range": span(9, 0, 0), "newText": "/* ü */"}]
    return [{"label": "#ff8019", "textEdit": edit, "additionalTextEdits": more, **UNKNOWN}, {"label": ask.name}]


def diagnostic(ask: Ask, line: int = 0) -> Json:
    return {
        "range": span(line, 0, 4),
        "severity": 2,
        "code": "ü-1",
        "codeDescription": {"href": "https://example.com/rules/ü-1"},
        "source": ask.name,
        "message": f"{ask.name} says {LONE}\nin two lines",
        "tags": [1, 2],
        "relatedInformation": [{"location": {"uri": ask.other, "range": span(3)}, "message": "see here"}],
        "data": ask.data(item="diagnostic"),
        **UNKNOWN,
    }


def _full_report(ask: Ask) -> Json:
    bare = {"range": span(1), "message": "bare", "code": 7}
    related = {
        ask.other: {"kind": "full", "resultId": "r-1", "items": [diagnostic(ask, 1)]},
        f"{ask.folder}/c.x": {"kind": "unchanged", "resultId": "r-2"},
    }
    items = [diagnostic(ask), bare]
    return {"kind": "full", "resultId": f"{ask.name}-1", "items": items, "relatedDocuments": related, **UNKNOWN}


def _unchanged(ask: Ask) -> Json:
    related = {ask.other: {"kind": "full", "items": []}}
    return {"kind": "unchanged", "resultId": ask.params.get("previousResultId", "none"), "relatedDocuments": related}


def _workspace_report(ask: Ask) -> Json:
    known = {one["uri"]: one["value"] for one in ask.params.get("previousResultIds", [])}
    return {
        "items": [
            {"kind": "full", "uri": ask.other, "version": None, "resultId": "w-1", "items": [diagnostic(ask)]},
            {"kind": "full", "uri": f"{ask.folder}/c.x", "version": 3, "items": []},
            *({"kind": "unchanged", "uri": uri, "version": 1, "resultId": value} for uri, value in known.items()),
        ]
    }


def no_diagnostics(ask: Ask) -> Json:
    return {"kind": "full", "items": []}


ANSWERS: dict[str, dict[str, Payload]] = {
    "textDocument/semanticTokens/full": {"tokens": tokens, "empty": lambda ask: {"data": []}, "null": null},
    "textDocument/semanticTokens/full/delta": {"delta": _delta, "full": tokens, "null": null},
    "textDocument/semanticTokens/range": {"tokens": tokens, "null": null},
    "textDocument/codeLens": {"list": _lenses, "empty": empty, "null": null},
    "codeLens/resolve": {"list": _resolved_lens},
    "textDocument/documentLink": {"list": _links, "empty": empty, "null": null},
    "documentLink/resolve": {"list": _resolved_link},
    "textDocument/documentColor": {"list": _colors, "empty": empty},
    "textDocument/colorPresentation": {"list": _presentations, "empty": empty},
    "textDocument/diagnostic": {"full": _full_report, "unchanged": _unchanged, "clean": no_diagnostics},
    "workspace/diagnostic": {"full": _workspace_report, "empty": lambda ask: {"items": []}},
}
