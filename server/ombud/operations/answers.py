"""From what servers answer (LSP 3.17) to the items that an agent reads: locations, symbols, hovers, calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ombud.guard.redact import clean
from ombud.operations.shapes import Sources
from ombud.text.ranges import Range

HOVER_LIMIT = 8000
KINDS = (
    "file",
    "module",
    "namespace",
    "package",
    "class",
    "method",
    "property",
    "field",
    "constructor",
    "enum",
    "interface",
    "function",
    "variable",
    "constant",
    "string",
    "number",
    "boolean",
    "array",
    "object",
    "key",
    "null",
    "enum_member",
    "struct",
    "event",
    "operator",
    "type_parameter",
)
"""The words of ``SymbolKind``, from 1 on."""


def locations(found: Iterable[Any], sources: Sources) -> list[dict[str, Any]]:
    """``Location``, ``Location[]`` or ``LocationLink[]`` of several servers, each place once."""
    out = []
    seen: set[tuple[str, Range]] = set()
    for answer in found:
        for one in answer if isinstance(answer, list) else [answer]:
            if not isinstance(one, dict):
                continue
            uri = one.get("targetUri") or one.get("uri")
            where = _range(one.get("targetSelectionRange") or one.get("targetRange") or one.get("range"))
            if isinstance(uri, str) and where is not None and (uri, where) not in seen:
                seen.add((uri, where))
                out.append(sources.location(uri, where))
    return out


def hover(server: str, answer: Any) -> dict[str, Any]:
    """``{server, text, range?}``; the contents' markup is kept as it is."""
    answer = answer if isinstance(answer, dict) else {"contents": answer}
    out: dict[str, Any] = {"server": server, "text": clean(_markup(answer.get("contents")), HOVER_LIMIT)}
    where = _range(answer.get("range"))
    if where is not None:
        out["range"] = where
    return out


def _markup(contents: Any) -> str:
    """``MarkupContent``, ``MarkedString`` or a list of them as one text."""
    if isinstance(contents, str):
        return contents
    if isinstance(contents, list):
        return "\n\n".join(_markup(one) for one in contents)
    if isinstance(contents, dict):
        value = str(contents.get("value", ""))
        return f"```{contents['language']}\n{value}\n```" if "language" in contents else value
    return ""


def symbols(answer: Any, uri: str, sources: Sources, container: str | None = None) -> list[dict[str, Any]]:
    """``DocumentSymbol[]`` (flattened, each with its container), ``SymbolInformation[]`` or ``WorkspaceSymbol[]``."""
    out: list[dict[str, Any]] = []
    for one in answer if isinstance(answer, list) else []:
        if not isinstance(one, dict):
            continue
        place = one.get("location") if isinstance(one.get("location"), dict) else None
        where = _range(one.get("range") or (place or {}).get("range"))
        at = str((place or {}).get("uri") or uri)
        name = clean(str(one.get("name", "")), 300)
        item = {
            "name": name,
            "kind": kind(one.get("kind")),
            "container": one.get("containerName") or container,
            **(sources.location(at, where) if where is not None else {"path": sources.path(at)}),
        }
        if one.get("detail"):
            item["detail"] = clean(str(one["detail"]), 300)
        out.append(item)
        inner = f"{container}.{name}" if container else name
        out += symbols(one.get("children"), uri, sources, inner)
    return out


def kind(number: Any) -> str:
    return KINDS[number - 1] if isinstance(number, int) and 1 <= number <= len(KINDS) else "symbol"


def code_actions(server: str, answer: Any) -> list[dict[str, Any]]:
    """``{title, kind, server, preferred, disabled?}`` of ``CodeAction`` and bare ``Command`` alike."""
    out = []
    for one in answer if isinstance(answer, list) else []:
        if not isinstance(one, dict):
            continue
        item = {
            "title": clean(str(one.get("title", "")), 300),
            "kind": one.get("kind"),
            "server": server,
            "preferred": bool(one.get("isPreferred")),
        }
        if isinstance(one.get("disabled"), dict):
            item["disabled"] = clean(str(one["disabled"].get("reason", "")), 300)
        out.append(item)
    return out


def calls(answer: Any, end: str, sources: Sources) -> list[dict[str, Any]]:
    """Call hierarchy items: who calls (``end="from"``) or what is called (``end="to"``), with the call sites."""
    out = []
    for call in answer if isinstance(answer, list) else []:
        one = call.get(end) if isinstance(call, dict) else None
        where = _range(one.get("selectionRange")) if isinstance(one, dict) else None
        if not isinstance(one, dict) or where is None:
            continue
        ranges = call.get("fromRanges")
        sites = [_range(site) for site in ranges] if isinstance(ranges, list) else []
        out.append(
            {
                "name": clean(str(one.get("name", "")), 300),
                "kind": kind(one.get("kind")),
                "detail": one.get("detail"),
                **sources.location(str(one.get("uri")), where),
                "callSites": [{"line": site.start.line + 1, "range": site} for site in sites if site is not None],
            }
        )
    return out


def signatures(answer: Any) -> list[dict[str, Any]]:
    """``{label, documentation, activeParameter, active}`` for each signature."""
    if not isinstance(answer, dict):
        return []
    active = answer.get("activeSignature") or 0
    listed = answer.get("signatures")
    return [
        {
            "label": clean(str(one.get("label", "")), 2000),
            "documentation": clean(_markup(one.get("documentation")), HOVER_LIMIT),
            "activeParameter": one.get("activeParameter", answer.get("activeParameter")),
            "active": index == active,
        }
        for index, one in enumerate(listed if isinstance(listed, list) else [])
        if isinstance(one, dict)
    ]


def _range(value: Any) -> Range | None:
    try:
        return msgspec.convert(value, Range)
    except msgspec.ValidationError:
        return None
