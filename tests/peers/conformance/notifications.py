"""The table of what is not asked by a client for an answer: its notifications, and what a server asks and tells."""

from __future__ import annotations

from typing import Any

from tests.peers.conformance.answers.ask import LONE, UNKNOWN, position, span

Json = dict[str, Any]
Told = list[tuple[str, Json]]

LIFE = {"initialize", "initialized", "shutdown", "exit"}
"""Messages that every session has."""
STEERED = {"$/cancelRequest", "$/progress", "window/workDoneProgress/cancel", "$/setTrace", "$/logTrace"}
"""Messages whose ids and tokens are different on both sides of Ombud, or that follow from another: see the tests."""


def documents(uri: str) -> Told:
    """A document's life, in order."""
    one = {"uri": f"{uri}.other.x"}
    edits = [
        {"range": span(0, 1, 3), "rangeLength": 2, "text": "\U0001f600"},
        {"range": span(1, 0, 0), "text": "in\r\nserted"},
    ]
    opened = {**one, "languageId": "x", "version": 7, "text": "ünö\ntwo\n"}
    return [
        ("textDocument/didOpen", {"textDocument": opened}),
        ("textDocument/didChange", {"textDocument": {**one, "version": 8}, "contentChanges": edits}),
        ("textDocument/didChange", {"textDocument": {**one, "version": 11}, "contentChanges": [{"text": "whole\n"}]}),
        ("textDocument/willSave", {"textDocument": one, "reason": 2}),
        ("textDocument/didSave", {"textDocument": one, "text": "whole\n"}),
        ("textDocument/didClose", {"textDocument": one}),
    ]


def notebooks(uri: str) -> Told:
    """A notebook's life, in order."""
    book, version = {"uri": f"{uri.rpartition('/')[0]}/book.xnb"}, 3
    cells = [f"vscode-notebook-cell:{book['uri'].removeprefix('file:')}#{number}" for number in ("c1", "c2")]
    kept: list[Json] = [{"kind": 2, "document": cells[0], "metadata": {"ü": 1}}]
    text = {"uri": cells[0], "languageId": "x", "version": 1, "text": "cell ü"}
    added = {"kind": 2, "document": cells[1], "executionSummary": {"executionOrder": 1, "success": True}}
    structure = {
        "array": {"start": 1, "deleteCount": 0, "cells": [added]},
        "didOpen": [{"uri": cells[1], "languageId": "x", "version": 1, "text": "second"}],
    }
    content = {
        "document": {"uri": cells[0], "version": 2},
        "changes": [{"range": span(0, 0, 4), "text": "changed"}],
    }
    removed = {"array": {"start": 1, "deleteCount": 1}, "didClose": [{"uri": cells[1]}]}
    named = {**book, "notebookType": "x-notebook", "metadata": {"kernel": "ü"}}
    return [
        (
            "notebookDocument/didOpen",
            {"notebookDocument": {**named, "version": version, "cells": kept}, "cellTextDocuments": [text]},
        ),
        (
            "notebookDocument/didChange",
            {
                "notebookDocument": {**book, "version": 4},
                "change": {"metadata": {"kernel": "b"}, "cells": {"structure": structure}},
            },
        ),
        (
            "notebookDocument/didChange",
            {"notebookDocument": {**book, "version": 5}, "change": {"cells": {"textContent": [content]}}},
        ),
        (
            "notebookDocument/didChange",
            {
                "notebookDocument": {**book, "version": 6},
                "change": {"cells": {"structure": removed, "data": [{**kept[0], "metadata": {"ü": 2}}]}},
            },
        ),
        ("notebookDocument/didSave", {"notebookDocument": book}),
        ("notebookDocument/didClose", {"notebookDocument": book, "cellTextDocuments": [{"uri": cells[0]}]}),
    ]


def files(uri: str) -> Told:
    return [
        ("workspace/didCreateFiles", {"files": [{"uri": f"{uri}.new"}]}),
        ("workspace/didRenameFiles", {"files": [{"oldUri": uri, "newUri": f"{uri}.moved"}]}),
        ("workspace/didDeleteFiles", {"files": [{"uri": uri}]}),
    ]


def vendors(uri: str) -> Told:
    """Notifications that no specification knows, named like a server or about a document."""
    return [
        ("conformance/told", {"any": ["thing", None, 1.0]}),
        ("vendor/aboutDocument", {"textDocument": {"uri": uri}, **UNKNOWN}),
        ("vendor/aboutUri", {"uri": uri}),
    ]


TOLD = {"documents": documents, "notebooks": notebooks, "files": files, "vendors": vendors}
"""Notifications that a server must be told exactly as its client told them."""

SETTLED = {
    "workspace/didChangeConfiguration",
    "workspace/didChangeWorkspaceFolders",
    "workspace/didChangeWatchedFiles",
}
"""Notifications that Ombud understands: servers hear what follows from them."""

_ACTIONS = [{"title": "Yes ü", "vendor": {"id": 1}}, {"title": "No"}]


def asked(uri: str) -> dict[str, tuple[Any, Any]]:
    """What a server asks a client: method → the params and the client's answer (None: what it answers anyway)."""
    edit = {
        "documentChanges": [
            {"textDocument": {"uri": uri, "version": 1}, "edits": [{"range": span(0, 0, 0), "newText": LONE}]}
        ]
    }
    watch = {"watchers": [{"globPattern": "**/*.watched", "kind": 7}]}
    registration = {"id": "one", "method": "workspace/didChangeWatchedFiles", "registerOptions": watch}
    refreshes = ("codeLens", "semanticTokens", "inlayHint", "inlineValue", "diagnostic")
    return {
        "workspace/configuration": (
            {"items": [{"section": "conformance", "scopeUri": uri}, {"section": "flat"}]},
            None,
        ),
        "workspace/workspaceFolders": (None, None),
        "client/registerCapability": ({"registrations": [registration]}, None),
        "client/unregisterCapability": ({"unregisterations": [{"id": "one", "method": registration["method"]}]}, None),
        "workspace/applyEdit": (
            {"label": "Label ü", "edit": edit},
            {"applied": False, "failureReason": f"no ü {LONE}", "failedChange": 0, **UNKNOWN},
        ),
        "window/showMessageRequest": ({"type": 3, "message": "Which?", "actions": _ACTIONS}, _ACTIONS[0]),
        "window/showDocument": (
            {"uri": "https://example.com/", "external": True, "takeFocus": False, "selection": span(1)},
            {"success": False, **UNKNOWN},
        ),
        "window/workDoneProgress/create": ({"token": "made"}, None),
        **{f"workspace/{word}/refresh": (None, None) for word in refreshes},
    }


def told_by_server(uri: str) -> dict[str, Json]:
    """What a server tells a client: method → the params."""
    diagnostic = {"range": span(0), "message": f"pushed {LONE}", "source": "s", "data": {"a": [1.0]}, **UNKNOWN}
    where = {"start": position(0), "end": position(0, 1)}
    return {
        "textDocument/publishDiagnostics": {
            "uri": uri,
            "version": 1,
            "diagnostics": [diagnostic, {"range": where, "message": "b"}],
        },
        "window/showMessage": {"type": 2, "message": "shown ü"},
        "window/logMessage": {"type": 4, "message": "logged ü"},
        "telemetry/event": {"any": ["thing", None], **UNKNOWN},
    }
