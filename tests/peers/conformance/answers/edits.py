"""Payloads that change texts: formatting, renames, code actions, file operations, commands."""

from __future__ import annotations

from tests.peers.conformance.answers.ask import LONE, UNKNOWN, empty, null, span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tests.peers.conformance.answers.ask import Ask, Json, Payload


def edits(ask: Ask) -> list[Json]:
    return [
        {"range": span(0, 0, 0), "newText": f"{ask.name} \U0001f600\r\n", **UNKNOWN},
        {"range": span(2, 0, 0, last=3), "newText": ""},
    ]


def changes(ask: Ask) -> Json:
    return {"changes": {ask.uri: edits(ask), ask.other: [{"range": span(1), "newText": LONE}]}}


def document_changes(ask: Ask) -> Json:
    annotated = {"range": span(0), "newText": "annotated", "annotationId": "why"}
    return {
        "documentChanges": [
            {"textDocument": {"uri": ask.uri, "version": ask.version}, "edits": [edits(ask)[0], annotated]},
            {"textDocument": {"uri": ask.other, "version": None}, "edits": edits(ask)},
            {
                "kind": "create",
                "uri": f"{ask.folder}/made.x",
                "options": {"overwrite": True, "ignoreIfExists": True},
                "annotationId": "why",
            },
            {
                "kind": "rename",
                "oldUri": ask.other,
                "newUri": f"{ask.folder}/moved.x",
                "options": {"overwrite": False, "ignoreIfExists": True},
                "annotationId": "why",
            },
            {
                "kind": "delete",
                "uri": f"{ask.folder}/gone",
                "options": {"recursive": True, "ignoreIfNotExists": True},
                "annotationId": "why",
            },
        ],
        "changeAnnotations": {"why": {"label": "Why ü", "needsConfirmation": True, "description": f"of {ask.name}"}},
        **UNKNOWN,
    }


def _renamed(ask: Ask) -> Json:
    return {"changes": {ask.uri: [{"range": span(0), "newText": ask.params["newName"]}]}}


def _actions(ask: Ask) -> list[Json]:
    full = {
        "title": f"{ask.name}: full",
        "kind": "refactor.extract.function",
        "diagnostics": ask.params["context"]["diagnostics"],
        "isPreferred": True,
        "edit": document_changes(ask),
        "command": ask.command("own", {"after": "the edit"}),
        "data": ask.data(item="full"),
        **UNKNOWN,
    }
    disabled = {"title": "disabled", "kind": "", "disabled": {"reason": f"because {LONE}"}, "isPreferred": False}
    return [
        full,
        ask.command("own", [1, None]),
        {"title": "a bare command", "command": f"{ask.name}.own"},
        disabled,
        {"title": "late", "kind": "source.organizeImports", "data": ask.data(item="late")},
    ]


def _resolved_action(ask: Ask) -> Json:
    late = {"title": "resolved", "command": f"{ask.name}.own", "arguments": [f"resolved by {ask.name}"]}
    return {**ask.params, "edit": document_changes(ask), "command": late}


def _moved(ask: Ask) -> Json:
    """Each file of the operation is mentioned, so that an answer shows which ones the question held."""
    touched = [one.get("oldUri", one.get("uri")) for one in ask.params["files"]]
    return {"changes": {uri: [{"range": span(0, 0, 0), "newText": f"// {ask.name}\n"}] for uri in touched}}


FILES: dict[str, Payload] = {"changes": _moved, "documentChanges": document_changes, "null": null}


def _own(ask: Ask) -> Json:
    return {"by": ask.name, "arguments": ask.params.get("arguments"), "lone": LONE, **UNKNOWN}


ANSWERS: dict[str, dict[str, Payload]] = {
    **{
        f"textDocument/{word}": {"list": edits, "empty": empty, "null": null}
        for word in ("formatting", "rangeFormatting", "rangesFormatting", "onTypeFormatting", "willSaveWaitUntil")
    },
    "textDocument/rename": {
        "documentChanges": document_changes,
        "changes": changes,
        "newName": _renamed,
        "nothing": lambda ask: {},
        "null": null,
    },
    "textDocument/prepareRename": {
        "placeholder": lambda ask: {"range": span(0, 0, 5), "placeholder": f"{ask.name} ü", **UNKNOWN},
        "range": lambda ask: span(0, 1, 5),
        "default": lambda ask: {"defaultBehavior": True},
        "null": null,
    },
    "textDocument/codeAction": {"list": _actions, "empty": empty, "null": null},
    "codeAction/resolve": {"list": _resolved_action},
    "workspace/willCreateFiles": FILES,
    "workspace/willRenameFiles": FILES,
    "workspace/willDeleteFiles": FILES,
    "workspace/executeCommand": {
        "own": _own,
        "text": lambda ask: f"a text {LONE}",
        "number": lambda ask: 1.0,
        "false": lambda ask: False,
        "null": null,
    },
}
