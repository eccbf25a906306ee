"""The ``${…}`` of catalogue rows and of users' own entries, filled in for one root.

Known are ``root``, ``rootUri``, ``rootName``, ``data``, ``python``, ``tsdk``, ``compileCommands`` and ``vuePlugin``
(see the head of ``catalogue.toml``). Any other ``${…}`` is left as it stands, for the server may know it. What cannot
be filled in goes away with its key or its list item, so that the server falls back on its own default.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ombud.downstream import vue
from ombud.downstream.catalogue import ServerEntry
from ombud.downstream.learned import cache_folder
from ombud.downstream.project import Interpreters, compile_commands
from ombud.downstream.roots import Roots
from ombud.guard.trust import Trust
from ombud.guard.uris import path_to_uri

Value = Callable[[str], str | None]

NAMES = ("root", "rootUri", "rootName", "data", "python", "tsdk", "compileCommands", "vuePlugin")
_MARK = re.compile(r"\$\{(" + "|".join(NAMES) + r")\}")
_GONE = object()


def needs_filling(tree: Any) -> bool:
    """Whether any text in a JSON-like tree has one of our ``${…}``."""
    if isinstance(tree, str):
        return _MARK.search(tree) is not None
    if isinstance(tree, dict):
        return any(needs_filling(value) for value in tree.values())
    return isinstance(tree, list | tuple) and any(needs_filling(value) for value in tree)


def fill(tree: Any, value: Value) -> Any:
    """A copy of a JSON-like tree with every ``${…}`` replaced by ``value`` of its name."""
    filled = _fill(tree, value)
    return None if filled is _GONE else filled


def _fill(tree: Any, value: Value) -> Any:
    if isinstance(tree, str):
        found = {name: value(name) for name in _MARK.findall(tree)}
        if None in found.values():
            return _GONE
        return _MARK.sub(lambda mark: found[mark.group(1)] or "", tree)
    if isinstance(tree, dict):
        pairs = ((key, _fill(part, value)) for key, part in tree.items())
        return {key: part for key, part in pairs if part is not _GONE}
    if isinstance(tree, list | tuple):
        parts = (_fill(part, value) for part in tree)
        return type(tree)(part for part in parts if part is not _GONE)
    return tree


def filled(entry: ServerEntry, value: Value) -> ServerEntry:
    """The entry with its options, settings and commands filled in."""
    fields = {
        name: fill(getattr(entry, name), value)
        for name in ("initialization_options", "settings", "commands", "env")
        if needs_filling(getattr(entry, name))
    }
    return entry.changed(**fields) if fields else entry


class Values:
    """What the names stand for at one root. Nothing is looked up before it is asked for."""

    def __init__(
        self,
        name: str,
        root: Path,
        folder: Path,
        roots: Roots,
        trust: Trust,
        *,
        environment: Mapping[str, str] | None = None,
        said: str | None = None,
        path: str | None = None,
    ) -> None:
        """``environment`` is the session's, and ``said`` the interpreter that its client has named, if any.

        ``path`` is the search path for commands (default: PATH).
        """
        self._name = name
        self._root = root
        self._folder = folder
        self._roots = roots
        self._trust = trust
        self._path = path
        self.interpreters = Interpreters(root, folder, roots, trust, environment or {}, said)

    def __call__(self, name: str) -> str | None:
        match name:
            case "root":
                return str(self._root)
            case "rootUri":
                return path_to_uri(self._root)
            case "rootName":
                return self._root.name or str(self._root)
            case "data":
                return str(data_folder(self._name, self._root))
            case "python":
                return self.interpreters.find()
            case "tsdk":
                return self._tsdk()
            case "compileCommands":
                return compile_commands(self._root, self._folder, self._roots)
            case "vuePlugin":
                return vue.plugin(self._root, self._folder, self._trust, self._path)
        return None

    def _tsdk(self) -> str | None:
        """The project's own TypeScript, which a server would load as code."""
        if not self._trust.allows_workspace_code:
            return None
        found = self._roots.above(self._root, self._folder, ("node_modules/typescript/lib",))
        return str(found) if found is not None else None


def data_folder(name: str, root: Path) -> Path:
    """Where a server may keep what it computes about a root: in the user's cache, never in the workspace.

    The folder is not made here; servers that want one make it.
    """
    import hashlib

    return cache_folder() / "servers" / name / hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
