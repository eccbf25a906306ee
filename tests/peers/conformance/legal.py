"""Whether a payload is one of the specification's, and which of its fields it has, by lsprotocol's types.

Those are generated from the specification's meta model. They know 3.18 as well, which is listed here and left out.
"""

from __future__ import annotations

import enum
from typing import Any

import attrs
from lsprotocol import converters, types

from tests.peers.conformance.answers.ask import UNKNOWN

_CONVERTER = converters.get_converter()

LATER = {
    *("textDocument/inlineCompletion", "textDocument/rangesFormatting", "workspace/foldingRange/refresh"),
    *("workspace/textDocumentContent", "workspace/textDocumentContent/refresh"),
}
"""Methods of the meta model that came after LSP 3.17."""
LATER_FIELDS = {"CompletionList.apply_kind", "Command.tooltip", "CodeAction.tags"}
"""Fields of its answers that came after LSP 3.17."""


def methods(direction: str, *, requests: bool) -> set[str]:
    """The methods of LSP 3.17 that go ``clientToServer`` or ``serverToClient``, requests or notifications."""
    return {
        method
        for method, (_, response, *_) in types.METHOD_TO_TYPES.items()
        if method not in LATER
        and types.message_direction(method) in (direction, "both")
        and (response is not None) == requests
    }


def typed(method: str, result: Any) -> Any:
    """``result`` as lsprotocol's types of an answer to ``method``; raises where it is none."""
    if method == "textDocument/codeAction" and result is not None:
        # lsprotocol takes an action that has a command for a command.
        kinds = [types.Command if isinstance(one.get("command"), str) else types.CodeAction for one in result]
        return [_CONVERTER.structure(one, kind) for one, kind in zip(result, kinds, strict=True)]
    if method == "workspace/symbol" and any("range" not in one["location"] for one in result or []):
        # It judges a list by its first item.
        return [_CONVERTER.structure(one, types.WorkspaceSymbol) for one in result]
    message = {"jsonrpc": "2.0", "id": 1, "result": result}
    response: Any = types.METHOD_TO_TYPES[method][1]
    return _CONVERTER.structure(message, response).result


def plain(value: Any) -> Any:
    """JSON or typed values in one comparable form: without nulls and without the fields that nobody knows."""
    if isinstance(value, enum.Enum):
        return value.value
    if attrs.has(type(value)):
        return plain(_CONVERTER.unstructure(value))
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items() if one is not None and key not in UNKNOWN}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def fields(value: Any) -> dict[str, bool]:
    """``Type.field`` → whether it is said, for every typed value within ``value``."""
    found: dict[str, bool] = {}
    if isinstance(value, list | tuple | dict):
        inner = list(value.values() if isinstance(value, dict) else value)
    elif attrs.has(type(value)):
        names = [field.name for field in attrs.fields(type(value))]
        inner = [getattr(value, name) for name in names]
        found = {f"{type(value).__name__}.{name}": one is not None for name, one in zip(names, inner, strict=True)}
    else:
        inner = []
    for one in inner:
        for name, said in fields(one).items():
            found[name] = found.get(name, False) or said
    return found
