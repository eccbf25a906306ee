"""The settings of servers: trees that are joined from several hands, and what ``workspace/configuration`` is answered.

Some servers stay silent for ever after a null (vscode-css), so an unknown section of one word is answered with an empty
object. An unknown one below that is null, as from any editor: it may be a list or a switch, and an object in its place
is no less than a wrong value (Vue's server dies of it).

The order of the hands, the weakest first: the catalogue; what a client answers when it is asked for a server's section,
since editors mix the defaults of all their extensions into that; ``servers.NAME.settings`` of the files and then of the
client; and the server's own section where the client sent it by itself (``workspace/didChangeConfiguration``), as
clients do that keep one tree of settings for each server. Objects are merged, everything else replaces. A null of a
client says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ombud.downstream.catalogue import ServerEntry

Tree = Mapping[str, Any]
MOST_WORDS = 32
"""Words of a dotted key. A longer one is no name of a setting, and would nest deeper than anybody can look."""


def section(settings: Tree, name: str | None) -> Any:
    """The part of ``settings`` at the dotted ``name``; the whole tree for no name.

    Settings may be nested (``{"python": {"analysis": …}}``) or flat (``{"python.analysis": …}``); both are found.
    """
    if not name:
        return dict(settings)
    if name in settings:
        return settings[name]
    head, _, rest = name.partition(".")
    node = settings.get(head)
    if not rest:
        return node if node is not None else {}
    while rest and isinstance(node, Mapping):
        if rest in node:
            return node[rest]
        head, _, rest = rest.partition(".")
        node = node.get(head)
    return None if rest else node


def answer(settings: Tree, params: Any) -> list[Any]:
    """The answer to a ``workspace/configuration`` request: one value for each item, in order."""
    return [section(settings, name) for name in names(params)]


def names(params: Any) -> list[str | None]:
    """The sections that a ``workspace/configuration`` request asks for; None for the whole tree.

    An item of another shape asks for the whole tree as well.
    """
    items = params.get("items") if isinstance(params, Mapping) else None
    return [_name(item) for item in items] if isinstance(items, list) else []


def _name(item: Any) -> str | None:
    name = item.get("section") if isinstance(item, Mapping) else None
    return name if isinstance(name, str) else None


def unfolded(tree: Tree) -> dict[str, Any]:
    """The tree with dotted keys of its first level (``"python.analysis": …``) as nested objects.

    Deeper keys stay: there a dot belongs to a name (``yaml.schemas`` has URLs for keys). Where both spellings of one
    key are there, the later one wins.
    """
    out: dict[str, Any] = {}
    for key, value in tree.items():
        head, *rest = key.split(".")
        if not head or not all(rest) or len(rest) >= MOST_WORDS:
            head, rest = key, []
        inner = reduce(lambda below, part: {part: below}, reversed(rest), value)
        old = out.get(head)
        out[head] = laid(old, inner) if isinstance(old, Mapping) and isinstance(inner, Mapping) else inner
    return out


def joined(below: Tree, above: Tree) -> dict[str, Any]:
    """``above`` over ``below``, nulls included; a dotted key of either meets the nested one of the same name."""
    nested = {name for name in (*below, *above) if "." not in name}

    def opened(tree: Tree) -> dict[str, Any]:
        flat = {name: tree[name] for name in tree if name.partition(".")[0] in nested}
        return {**{name: value for name, value in tree.items() if name not in flat}, **unfolded(flat)}

    return laid(opened(below), opened(above), nulls=True)


def laid(below: Tree, above: Tree, kept: Tree | None = None, *, nulls: bool = False) -> dict[str, Any]:
    """``above`` laid over ``below`` as a new tree; its nulls say nothing, unless ``nulls`` count.

    What has a place in ``kept`` stays as it is below: an object there covers its keys, anything else a whole value.
    """
    out = dict(below)
    for key, value in above.items():
        if value is None and not nulls:
            continue
        old = out.get(key)
        whole = isinstance(old, Mapping) and isinstance(value, Mapping)
        if kept is not None and key in kept:
            if isinstance(kept[key], Mapping) and isinstance(old, Mapping) and isinstance(value, Mapping):
                out[key] = laid(old, value, kept[key], nulls=nulls)
        else:
            out[key] = laid(old, value, nulls=nulls) if whole else value  # type: ignore[arg-type]
    return out


def answered(settings: Tree, kept: Tree, asked: Sequence[str | None], theirs: Any) -> list[Any]:
    """`answer`, with what a client answered to the same items laid between the catalogue and ``kept``.

    ``kept`` has the places of ``settings`` that somebody has set for this very server.
    """
    values = theirs if isinstance(theirs, list) else []
    out = []
    for index, name in enumerate(asked):
        mine, value = section(settings, name), values[index] if index < len(values) else None
        mask = section(kept, name)
        if isinstance(value, Mapping) and isinstance(mine, Mapping):
            mine = laid(mine, value, mask if isinstance(mask, Mapping) else {})
        elif value is not None and mask in (None, {}) and not (isinstance(mine, Mapping) and mine):
            mine = value
        out.append(mine)
    return out


def heads(entry: ServerEntry, asked: Iterable[str]) -> frozenset[str]:
    """The first words of the sections that concern a server: its name, its languages, what it has and asks for.

    No server is shown the settings of others, which can hold a key to something.
    """
    said = {name.partition(".")[0] for name in (*entry.settings, *asked)}
    return frozenset({entry.name, *entry.languages, *said})


def of_client(entry: ServerEntry, sections: Tree, asked: Iterable[str]) -> dict[str, Any]:
    """The part of a client's own ``sections`` that concerns a server."""
    known = heads(entry, asked)
    return {name: value for name, value in sections.items() if name in known and value is not None}
