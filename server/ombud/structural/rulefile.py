"""From the bytes of a rule file to the rules that stand in it, as plain mappings: YAML, or TOML.

A rule file belongs to the workspace and may be anybody's: it is bounded in size, depth and in what its aliases make of
it, and only plain data is ever read from it. A file is one rule, a list of rules, a table with a list ``rules``, or (in
YAML) several documents divided by ``---``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from ombud.guard.redact import clean

SUFFIXES = (".yml", ".yaml", ".toml")
FILE_LIMIT = 262_144
"""Bytes of a rule file."""
DEEPEST = 32
"""Levels of tables and lists."""
MOST_VALUES = 20_000
"""Values of a file, those behind aliases counted each time."""
_TOO_MANY = f"It holds more than {MOST_VALUES:,} values; split it."
_NULL = "tag:yaml.org,2002:null"


class Unreadable(Exception):
    """The file cannot be read as rules; the text is a sentence that says why, and where."""


def mappings(name: str, data: bytes) -> list[Mapping[str, Any]]:
    """The rules of the file ``name``, whose suffix says how to read it. Raises `Unreadable`."""
    if len(data) > FILE_LIMIT:
        raise Unreadable(f"It is larger than {FILE_LIMIT:,} bytes; split it.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable("It is not UTF-8 text.") from None
    try:
        trees = [_toml(text)] if name.lower().endswith(".toml") else _yaml(text)
        if _values(trees, MOST_VALUES) < 0:
            raise Unreadable(_TOO_MANY)
    except RecursionError:
        raise Unreadable("It is nested too deeply.") from None
    return list(_rules(trees))


def _rules(trees: list[Any]) -> Iterator[Mapping[str, Any]]:
    for tree in trees:
        if tree is None:
            continue
        listed = tree
        if isinstance(tree, Mapping) and "rules" in tree:
            others = sorted(str(key) for key in tree if key != "rules")
            if others:
                raise Unreadable(f"Beside the list “rules” it has {clean(', '.join(others), 200)}, which is no rule's.")
            listed = tree["rules"]
        for one in listed if isinstance(listed, list) else [listed]:
            if not isinstance(one, Mapping):
                raise Unreadable("A rule is a table with keys such as “id”, “pattern” and “message”.")
            if not all(isinstance(key, str) for key in one):
                raise Unreadable("The keys of a rule are words.")
            yield one


def _values(tree: Any, left: int, depth: int = 0) -> int:
    """How many values may still come after those of ``tree``; less than 0 when it holds too many."""
    if depth > DEEPEST + 2:
        raise RecursionError
    left -= 1
    inner = tree.values() if isinstance(tree, Mapping) else tree if isinstance(tree, list) else ()
    for one in inner:
        if left < 0:
            break
        left = _values(one, left, depth + 1)
    return left


def _toml(text: str) -> Any:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Unreadable(f"It is not valid TOML: {clean(str(error), 200)}.") from None


def _yaml(text: str) -> list[Any]:
    import yaml

    try:
        _check_events(text)
        return list(yaml.load_all(text, Loader=_loader()))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}: " if mark is not None else ""
        words = clean(error.problem or error.context or "it cannot be read", 200)
        hint = " Put a text with such a sign into quotes." if "token" in words or "not allowed here" in words else ""
        raise Unreadable(f"It is not valid YAML, {place}{words}.{hint}") from None
    except yaml.YAMLError as error:
        raise Unreadable(f"It is not valid YAML: {clean(str(error), 200)}.") from None
    except ValueError as error:
        # A number beyond what a number may be.
        raise Unreadable(f"It holds a value that cannot be read: {clean(str(error), 200)}.") from None


def _check_events(text: str) -> None:
    """Before anything is built, since building goes as deep as the file does, and takes its time."""
    import yaml

    depth = 0
    for number, event in enumerate(yaml.parse(text, Loader=_loader())):
        if number > 3 * MOST_VALUES:
            raise Unreadable(_TOO_MANY)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEEPEST:
                raise RecursionError
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


@cache
def _loader() -> type[Any]:
    """PyYAML's safe loader; what is neither a list, a table nor nothing is a text: ``off``, ``no``, ``1`` and dates.

    A rule is made of texts alone, and code is full of what YAML would take for something else.
    """
    import yaml

    class Loader(yaml.SafeLoader):
        """See `_loader`."""

        def flatten_mapping(self, node: Any) -> None:
            """Merging can multiply what a small file holds, and no rule needs it."""
            if any(key.tag == "tag:yaml.org,2002:merge" for key, _ in node.value):
                raise yaml.constructor.ConstructorError(None, None, "no key may be merged here", node.start_mark)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen: set[Any] = set()
            for key, _ in node.value:
                value = self.construct_object(key, deep=True)
                if not isinstance(value, str | int | float | bool | None):
                    raise yaml.constructor.ConstructorError(None, None, "a key must be a word", key.start_mark)
                if value in seen:
                    text = f"the key {clean(str(value), 60)!r} stands twice"
                    raise yaml.constructor.ConstructorError(None, None, text, key.start_mark)
                seen.add(value)
            return super().construct_mapping(node, deep)

    Loader.yaml_implicit_resolvers = {
        first: [(tag, found) for tag, found in resolvers if tag == _NULL]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return Loader
