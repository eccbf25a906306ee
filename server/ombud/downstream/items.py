"""Whose item is it: marks on the items of lists that a client sends back (resolve, call hierarchy, commands).

Of each listing method one server a session is *plain*: its items go to the client as they are. The items of every
other server carry a mark in their ``data``, ``{"ombud": TAG, "data": the server's own}``, by which the follow-up finds
its way. A mark is taken off again before the server sees the item, and put on what it answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
from msgspec import Raw

from ombud.wire.values import begins, dump, load

Item = dict[str, Raw]

_NESTED = {"callHierarchy/incomingCalls": "from", "callHierarchy/outgoingCalls": "to"}
"""Follow-ups whose answers hold the next items one level down."""
LABELLED = frozenset({"textDocument/inlayHint", "inlayHint/resolve"})
"""Methods whose items may hold a command in each part of their label."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What is done to the items of one server: ``tag`` goes into ``data`` (empty: nothing does), ``renamed`` are the
    commands that another server means by the same name, old name → name for the client."""

    tag: str = ""
    renamed: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.tag or self.renamed)

    def put_on(self, raw: Raw, method: str) -> Raw:
        """One item of an answer to ``method``, marked. What is no object is left as it is."""
        if not self:
            return raw
        try:
            item = load(raw, Item)
        except (msgspec.ValidationError, ValueError):
            return raw
        nested = _NESTED.get(method)
        if nested is not None:
            if nested in item:
                item[nested] = self._marked(item[nested])
            return Raw(dump(item))
        self._name_commands(item, labelled=method in LABELLED)
        if self.tag and not _is_command(item):
            item["data"] = _wrapped(self.tag, item)
        return Raw(dump(item))

    def put_on_all(self, raw: Raw, method: str) -> Raw:
        """A list of items, marked. Null and anything else than a list is left as it is."""
        if not self:
            return raw
        try:
            items = load(raw, list[Raw])
        except (msgspec.ValidationError, ValueError):
            return raw
        return Raw(dump([self.put_on(item, method) for item in items]))

    def name_back(self, raw: Raw) -> Raw:
        """An item that comes back from the client, with the server's own names for its commands."""
        return Mark("", {new: old for old, new in self.renamed.items()}).put_on(raw, "inlayHint/resolve")

    def _marked(self, raw: Raw) -> Raw:
        if begins(raw) != b"{":
            return raw
        item = load(raw, Item)
        if self.tag:
            item["data"] = _wrapped(self.tag, item)
        return Raw(dump(item))

    def _name_commands(self, item: Item, *, labelled: bool) -> None:
        if not self.renamed:
            return
        if "command" in item:
            item["command"] = self._named(item["command"])
        if labelled and begins(item.get("label")) == b"[":
            item["label"] = Raw(dump([self._part(part) for part in load(item["label"], list[Raw])]))

    def _part(self, raw: Raw) -> Raw:
        """A part of a label, with the names of its command. What is no object has none."""
        part = load(raw, Item) if begins(raw) == b"{" else {}
        if "command" not in part:
            return raw
        part["command"] = self._named(part["command"])
        return Raw(dump(part))

    def _named(self, raw: Raw) -> Raw:
        """A command's name, or a ``Command`` object, with the name that the client is to use."""
        if begins(raw) == b'"':
            name = load(raw, str)
            return Raw(dump(self.renamed[name])) if name in self.renamed else raw
        if begins(raw) != b"{":
            return raw
        command = load(raw, Item)
        if "command" in command:
            command["command"] = self._named(command["command"])
        return Raw(dump(command))


def _is_command(item: Item) -> bool:
    """Whether a code action is a bare ``Command``: it cannot be resolved and has no ``data``."""
    return begins(item.get("command")) == b'"'


def _wrapped(tag: str, item: Item) -> Raw:
    own = {"data": item["data"]} if "data" in item else {}
    return Raw(dump({"ombud": tag, **own}))


class _Marked(msgspec.Struct):
    ombud: str
    data: Raw | msgspec.UnsetType = msgspec.UNSET


def take_off(params: Raw, *, inside: str | None = None) -> tuple[str, Raw]:
    """The tag of a marked item and the params with the server's own ``data``; an empty tag and ``params`` for others.

    ``inside``: the item stands under this key, as it does in the params of a call hierarchy's follow-ups.
    """
    if b'"ombud"' not in bytes(params):
        return "", params
    try:
        outer = load(params, Item)
        item = load(outer[inside], Item) if inside is not None else outer
        mark = load(item["data"], _Marked)
    except (msgspec.ValidationError, ValueError, KeyError):
        return "", params
    if isinstance(mark.data, Raw):
        item["data"] = mark.data
    else:
        del item["data"]
    if inside is not None:
        outer[inside] = Raw(dump(item))
    return mark.ombud, Raw(dump(outer))
