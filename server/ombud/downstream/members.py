"""What marker files say: whether they hold a word, and whether a workspace counts a package among its members.

Pure functions over bytes that somebody in the repository wrote: whatever cannot be read says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

_MOST_PATTERNS = 500
"""Patterns of a workspace that are looked at: their author is whoever wrote the repository."""
_MOST_STEPS = 32
_LONGEST_LINE = 1000
_DEPENDENCIES = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")


def says(name: str, data: bytes, word: str) -> bool:
    """Whether a marker's content has ``word``.

    In JSON a top-level key or a dependency of that name, in TOML a dotted table or key, anywhere else the plain text.
    """
    if name.endswith(".json"):
        tree = _json(data)
        return word in tree or any(word in part for part in map(tree.get, _DEPENDENCIES) if isinstance(part, Mapping))
    if name.endswith(".toml"):
        node: Any = _toml(data)
        for part in word.split("."):
            if not isinstance(node, Mapping) or part not in node:
                return False
            node = node[part]
        return True
    return word.encode() in data


def admits(name: str, data: bytes, package: PurePath) -> bool:
    """Whether the workspace whose marker this is counts ``package``, a relative folder below it, among its own.

    Cargo: unless excluded (the Cargo Book, "The workspace section"). npm, Yarn, Bun and pnpm: when a pattern of
    ``workspaces`` or ``packages`` names the folder or one above it. Other markers hold for all that is below them.
    """
    if name == "Cargo.toml":
        return _cargo_admits(_toml(data).get("workspace"), package)
    if name == "package.json":
        said = _json(data).get("workspaces")
        return _listed(_texts(said.get("packages") if isinstance(said, Mapping) else said), package)
    if name == "pnpm-workspace.yaml":
        return _listed(list(_pnpm_packages(data)), package)
    return True


def _cargo_admits(workspace: Any, package: PurePath) -> bool:
    if not isinstance(workspace, Mapping):
        return False

    def covers(key: str) -> bool:
        return any(package.is_relative_to(PurePath(text)) for text in _texts(workspace.get(key)))

    return not covers("exclude") or covers("members")


def _listed(patterns: Sequence[str], package: PurePath) -> bool:
    """The last pattern that matches a folder decides; ``!`` takes it out again."""
    compiled = [
        (not text.startswith("!"), _pattern(text.lstrip("!")))
        for text in patterns[:_MOST_PATTERNS]
        if len(text) <= _LONGEST_LINE
    ]
    for folder in (package, *package.parents[:-1]):
        verdict = False
        for adds, steps in compiled:
            if _matches(steps, folder.parts):
                verdict = adds
        if verdict:
            return True
    return False


_Step = str | re.Pattern[str]


def _pattern(text: str) -> list[_Step]:
    """``*`` stays within a component, ``**`` crosses any number of them."""
    from fnmatch import translate

    parts = [part for part in text.replace("\\", "/").split("/") if part not in ("", ".")]
    return [
        re.compile(translate(part)) if part != "**" and any(char in part for char in "*?[") else part
        for part in parts[:_MOST_STEPS]
    ]


def _matches(steps: Sequence[_Step], parts: Sequence[str]) -> bool:
    """The positions in the pattern that each component leads to: no backtracking that could blow up."""

    def closure(places: set[int]) -> set[int]:
        out = set(places)
        for place in places:
            at = place
            while at < len(steps) and steps[at] == "**":
                at += 1
                out.add(at)
        return out

    reached = closure({0})
    for part in parts:
        moved = set()
        for at in reached:
            step = steps[at] if at < len(steps) else None
            if step == "**":
                moved.add(at)
            elif step == part or (isinstance(step, re.Pattern) and step.match(part)):
                moved.add(at + 1)
        reached = closure(moved)
    return len(steps) in reached


_ITEM = re.compile(r"""\s*-\s*(?:"([^"]*)"|'([^']*)'|([^#]*?))\s*(?:#.*)?$""")


def _pnpm_packages(data: bytes) -> Iterator[str]:
    """The items of ``packages:`` in the one shape that pnpm writes and documents: a block list of texts."""
    inside = False
    for line in data.decode("utf-8", "replace").splitlines():
        if len(line) > _LONGEST_LINE or not line.strip() or line.lstrip().startswith("#"):
            continue
        if not line[0].isspace() and not line.startswith("-"):
            inside = re.match(r"""["']?packages["']?\s*:\s*(?:#.*)?$""", line) is not None
            continue
        found = _ITEM.match(line.rstrip()) if inside else None
        if found is not None:
            yield next((text for text in found.groups() if text), "")


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _json(data: bytes) -> Mapping[str, Any]:
    import msgspec

    try:
        tree = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return {}
    return tree if isinstance(tree, dict) else {}


def _toml(data: bytes) -> Mapping[str, Any]:
    import tomllib

    try:
        return tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, RecursionError, UnicodeDecodeError):
        return {}
