"""The settings a server asks for with ``workspace/configuration``, answered per server and always with objects.

Some servers stay silent for ever after a null (vscode-css), so an unknown section is answered with an empty object
where its parent is one, and null only where the section names a plain value that nobody set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def section(settings: Mapping[str, Any], name: str | None) -> Any:
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
    if isinstance(node, Mapping):
        return section(node, rest)
    return {} if node is None else None


def answer(settings: Mapping[str, Any], params: Any) -> list[Any]:
    """The answer to a ``workspace/configuration`` request: one value for each item, in order."""
    items = params.get("items") if isinstance(params, Mapping) else None
    return [section(settings, _name(item)) for item in items] if isinstance(items, list) else []


def _name(item: Any) -> str | None:
    """The section that an item asks for; None for the whole tree, also where the item has another shape."""
    name = item.get("section") if isinstance(item, Mapping) else None
    return name if isinstance(name, str) else None
