"""The items that the conformance server has handed out, and whether one that comes back is one of them."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

RESOLVED = {
    "textDocument/completion": "completionItem/resolve",
    "textDocument/codeAction": "codeAction/resolve",
    "textDocument/codeLens": "codeLens/resolve",
    "textDocument/documentLink": "documentLink/resolve",
    "textDocument/inlayHint": "inlayHint/resolve",
    "workspace/symbol": "workspaceSymbol/resolve",
}
"""The request whose answer lists items → the request that resolves one, whose params are the item."""

_CALLS = ("callHierarchy/incomingCalls", "callHierarchy/outgoingCalls")
_TYPES = ("typeHierarchy/supertypes", "typeHierarchy/subtypes")
FOLLOWED = {
    "textDocument/prepareCallHierarchy": _CALLS,
    "textDocument/prepareTypeHierarchy": _TYPES,
    **dict.fromkeys(_CALLS, _CALLS),
    **dict.fromkeys(_TYPES, _TYPES),
}
"""The request whose answer lists hierarchy items → the requests that go on from one, in ``params.item``."""


class NotMine(Exception):
    """An item came back that this server has not handed out, or not like this."""


class Items:
    def __init__(self, name: str) -> None:
        self._name = name
        self._made: dict[str, list[Json]] = {}

    def made(self, method: str, result: Any) -> None:
        """Remember the items of an answer."""
        for follower in (RESOLVED.get(method), *FOLLOWED.get(method, ())):
            if follower is not None and result is not None:
                self._made.setdefault(follower, []).extend(_items(method, result))

    def variant(self, method: str, params: Json) -> str | None:
        """Which payload is wanted; None where nobody chose. Raises ``NotMine``."""
        chosen = params.get("conformance")
        if method in RESOLVED.values():
            self._check(method, params)
            if isinstance(params.get("data"), dict):
                variant: str = params["data"]["variant"]
                return variant
            raise NotMine(f"{self._name} cannot resolve {method} without data: {params}")
        if "item" in params and method in (*_CALLS, *_TYPES):
            self._check(method, params["item"])
        if chosen is None:
            return None
        # One for all servers, or one for each.
        found = chosen["variant"]
        return str(found[self._name]) if isinstance(found, dict) else str(found)

    def origin(self, method: str, params: Json) -> Json:
        """Where the document of an item is named that is resolved; empty for other questions."""
        data = params.get("data")
        return data if method in RESOLVED.values() and isinstance(data, dict) else {}

    def _check(self, method: str, item: Json) -> None:
        known = self._made.get(method, [])
        if not any(_same(method, one, item) for one in known):
            text = json.dumps(item, ensure_ascii=True)
            raise NotMine(f"{self._name} was asked {method} about an item that it did not make: {text}")


def _same(method: str, made: Json, came: Json) -> bool:
    """An item comes back as it was, but a completion item may have its list's defaults written into it.

    ``textEditText`` is of use only together with them, and part of the ``textEdit`` that they make.
    """
    if method != "completionItem/resolve":
        return made == came
    spent = {"textEditText"} if "textEdit" in came and "textEdit" not in made else set()
    return all(came.get(key) == value for key, value in made.items() if key not in spent)


def _items(method: str, result: Any) -> list[Json]:
    if isinstance(result, dict):
        default = result.get("itemDefaults", {}).get("data")
        return [item if default is None else {"data": default, **item} for item in result["items"]]
    if method in _CALLS:
        return [one["from" if "from" in one else "to"] for one in result]
    # Commands stand among code actions and are not resolved; one whose command is a text is such a command.
    return [one for one in result if not isinstance(one.get("command"), str)]
