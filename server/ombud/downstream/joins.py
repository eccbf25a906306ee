"""Answers of several servers to one request, joined as a careful reader would (LSP 3.17).

Lists are joined as lists of `Raw`: an item is opened only where it must be looked into. What is alone stays the bytes
it came in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from ombud.downstream.edits import joined_edits
from ombud.downstream.items import Item, Mark
from ombud.wire.values import NULL, begins, dump, load, load_any, null

RULE = "\n\n---\n\n"
"""Between the hovers of two servers, in Markdown."""


@dataclass(frozen=True, slots=True)
class Part:
    """One server's answer; ``mark`` is what its items get, so that what the client sends back returns to it."""

    raw: Raw
    mark: Mark


def join(method: str, parts: Sequence[Part], *, missing: bool = False) -> Raw:
    """The answer to ``method``. ``missing``: a server's part did not come in time, which a completion list can say.

    Raises `msgspec.ValidationError` where a part has another shape than the specification's.
    """
    found = [part for part in parts if not null(part.raw)]
    if method == "textDocument/completion":
        return _completion(found, missing)
    if not found:
        # An empty list of one is as good as the null of another; the first of them is passed on.
        return parts[0].raw if parts else NULL
    if len(found) == 1 and not found[0].mark:
        return found[0].raw
    return _JOINS.get(method, _lists)(method, found)


# -- lists ----------------------------------------------------------------------------------------------------


def _items(method: str, part: Part) -> list[Raw]:
    items = load(part.raw, list[Raw])
    return [part.mark.put_on(item, method) for item in items] if part.mark else items


def _lists(method: str, parts: Sequence[Part]) -> Raw:
    return Raw(msgspec.json.encode([item for part in parts for item in _items(method, part)]))


def _distinct(method: str, parts: Sequence[Part]) -> Raw:
    """Lists joined, without what an earlier server has said already. What one server says twice stays."""
    out: list[Raw] = []
    seen: set[bytes | None] = set()
    for part in parts:
        keys = []
        for plain, item in zip(load(part.raw, list[Raw]), _items(method, part), strict=True):
            key = _KEYS[method](plain)
            if key is None or key not in seen:
                out.append(item)
            keys.append(key)
        seen.update(keys)
    return Raw(msgspec.json.encode(out))


class _Place(msgspec.Struct):
    uri: Any = None
    range: Any = None
    targetUri: Any = None  # noqa: N815  (the protocol's name)
    targetSelectionRange: Any = None  # noqa: N815


class _Symbol(msgspec.Struct):
    name: Any = None
    kind: Any = None
    location: _Place | None = None


class _Coloured(msgspec.Struct):
    range: Any = None
    color: Any = None


class _Link(msgspec.Struct):
    range: Any = None
    target: Any = None


def _location_key(raw: Raw) -> bytes:
    place = load(raw, _Place)
    return _canonical([place.uri or place.targetUri, place.range or place.targetSelectionRange])


def _link_key(raw: Raw) -> bytes | None:
    """Where a link leads is known once it has a target: two that have yet to be resolved are not the same."""
    link = load(raw, _Link)
    return None if link.target is None else _canonical(link)


def _key(kind: type[Any]) -> Callable[[Raw], bytes]:
    return lambda raw: _canonical(load(raw, kind))


def _canonical(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value, order="sorted")
    except UnicodeEncodeError:
        return dump(value)


_KEYS: dict[str, Callable[[Raw], bytes | None]] = {
    "textDocument/references": _location_key,
    "workspace/symbol": _key(_Symbol),
    "textDocument/documentColor": _key(_Coloured),
    "textDocument/documentLink": _link_key,
}
"""What makes two items of such a list the same; None is the same as nothing else."""


# -- hover ----------------------------------------------------------------------------------------------------


class _Hover(msgspec.Struct):
    contents: Any = None
    range: Raw | UnsetType = UNSET


def _hover(_method: str, parts: Sequence[Part]) -> Raw:
    """All contents under one another, told apart by a rule; the range is the first server's that has one."""
    hovers = [load(part.raw, _Hover) for part in parts]
    texts = [text for hover in hovers if (text := _markup(hover.contents))[1].strip()]
    if len(texts) <= 1:
        with_text = [part for part, hover in zip(parts, hovers, strict=True) if _markup(hover.contents)[1].strip()]
        return (with_text or parts)[0].raw
    distinct = list(dict.fromkeys(texts))
    if all(kind == "plaintext" for kind, _ in distinct):
        contents = {"kind": "plaintext", "value": "\n\n".join(text for _, text in distinct)}
    else:
        contents = {"kind": "markdown", "value": RULE.join(_markdown(kind, text) for kind, text in distinct)}
    out: dict[str, Any] = {"contents": contents}
    ranges = [hover.range for hover in hovers if isinstance(hover.range, Raw) and not null(hover.range)]
    if ranges:
        out["range"] = ranges[0]
    return Raw(dump(out))


def _markup(contents: Any) -> tuple[str, str]:
    """The kind and the text of ``MarkupContent | MarkedString | MarkedString[]``."""
    if isinstance(contents, str):
        return "markdown", contents
    if isinstance(contents, list):
        return "markdown", "\n\n".join(text for one in contents if (text := _markup(one)[1]))
    if not isinstance(contents, dict):
        return "markdown", ""
    value = str(contents.get("value") or "")
    if "kind" in contents:
        return ("plaintext" if contents["kind"] == "plaintext" else "markdown"), value
    return "markdown", _fenced(str(contents.get("language") or ""), value) if value else ""


def _markdown(kind: str, text: str) -> str:
    return text if kind == "markdown" else _fenced("text", text)


def _fenced(language: str, text: str) -> str:
    """A fenced block whose fence is longer than any run of backticks in the text."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


# -- completion -----------------------------------------------------------------------------------------------


class _List(msgspec.Struct):
    isIncomplete: bool = False  # noqa: N815  (the protocol's name)
    items: list[Raw] = []
    itemDefaults: Item | None = None  # noqa: N815


def _completion(parts: Sequence[Part], missing: bool) -> Raw:
    """One list. It is incomplete when one of its parts is, or did not come: the client then asks again.

    ``itemDefaults`` hold for all items of a list, so those of one server are written into its own items.
    """
    lists = [_completion_list(part.raw) for part in parts]
    incomplete = missing or any(one.isIncomplete for one in lists)
    full = [(part, one) for part, one in zip(parts, lists, strict=True) if one.items]
    if len(full) <= 1 and not (full and full[0][0].mark) and (not parts or not incomplete):
        return full[0][0].raw if full else parts[0].raw if parts else NULL
    if len(full) == 1 and not full[0][0].mark and full[0][1].isIncomplete:
        return full[0][0].raw
    items = [item for part, one in full for item in _completion_items(part.mark, one)]
    return Raw(msgspec.json.encode({"isIncomplete": incomplete, "items": items}))


def _completion_list(raw: Raw) -> _List:
    return _List(items=load(raw, list[Raw])) if begins(raw) == b"[" else load(raw, _List)


def _completion_items(mark: Mark, one: _List) -> Iterable[Raw]:
    items: Iterable[Raw] = one.items
    if one.itemDefaults:
        items = [_with_defaults(item, one.itemDefaults) for item in items]
    return [mark.put_on(item, "textDocument/completion") for item in items] if mark else items


def _with_defaults(raw: Raw, defaults: Item) -> Raw:
    """An item that stands for itself (LSP 3.17, ``CompletionList.itemDefaults``)."""
    item = load(raw, Item)
    for name, value in defaults.items():
        if name == "editRange":
            if "textEdit" not in item:
                item["textEdit"] = _text_edit(item, value)
        else:
            item.setdefault(name, value)
    item.pop("textEditText", None)
    return Raw(dump(item))


def _text_edit(item: Item, edit_range: Raw) -> Raw:
    """The ``TextEdit`` or ``InsertReplaceEdit`` of an item that left its range to the list."""
    text = item.get("textEditText") or item["label"]
    where = load(edit_range, Item)
    if "insert" in where:
        return Raw(dump({"newText": text, "insert": where["insert"], "replace": where["replace"]}))
    return Raw(dump({"newText": text, "range": edit_range}))


# -- workspace edits ------------------------------------------------------------------------------------------


def _edits(_method: str, parts: Sequence[Part]) -> Raw:
    return Raw(dump(joined_edits([load_any(part.raw) for part in parts])))


_JOINS: dict[str, Callable[[str, Sequence[Part]], Raw]] = {
    "textDocument/hover": _hover,
    "workspace/willCreateFiles": _edits,
    "workspace/willRenameFiles": _edits,
    "workspace/willDeleteFiles": _edits,
    **dict.fromkeys(_KEYS, _distinct),
}
