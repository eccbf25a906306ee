"""What the commands for shapes of code share: their options, their params, and how matches and diffs are shown."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ombud.faces.cli.context import Context, Usage
from ombud.faces.cli.roots import absolute
from ombud.faces.cli.terminal import Screen
from ombud.guard.redact import clean

Result = Mapping[str, Any]
_LIMIT = 10_000
_NAME = re.compile(r"\$?(?:\$\$)?([A-Z_][A-Z0-9_]*)((?:\.[a-zA-Z]+)*)=(.*)", re.DOTALL)
_KEYS = ("regex", "equals", "kind", "pattern", "in", "type")


def shape_options(parser: argparse.ArgumentParser) -> None:
    """The options that say what is looked for and where."""
    parser.add_argument(
        "--lang", "--language", metavar="LANGUAGE", help="only files of this language, and the pattern read in it"
    )
    parser.add_argument("--kind", metavar="KIND", help="only syntax nodes of this kind, by the grammar's name for it")
    parser.add_argument(
        "--where",
        metavar="X.KEY=VALUE",
        action="append",
        default=[],
        help="what $X must be: X.regex=, X.equals=, X.kind=, X.pattern=, X.in=a,b or X.type=; X.not.regex= and so on "
        "for what it must not be; may be repeated",
    )
    for side, text in (
        ("inside", "only within code like this"),
        ("not-inside", "never within code like this"),
        ("has", "only with code like this in it"),
        ("not-has", "never with code like this in it"),
    ):
        parser.add_argument(f"--{side}", metavar="PATTERN", action="append", default=[], help=text)
    parser.add_argument(
        "-g",
        "--glob",
        metavar="GLOB",
        dest="globs",
        action="append",
        default=[],
        help="only files of this glob, as seen from the project's folder; with “!” before it, none of these",
    )


def shape_params(arguments: argparse.Namespace, command: str) -> dict[str, Any]:
    """The params that `shape_options` stand for. Raises `Usage`."""
    said = {
        "language": arguments.lang,
        "kind": arguments.kind,
        "where": where(arguments.where, command),
        "inside": arguments.inside,
        "notInside": arguments.not_inside,
        "has": arguments.has,
        "notHas": arguments.not_has,
        "globs": arguments.globs,
    }
    return {key: value for key, value in said.items() if value}


def where(words: Sequence[str], command: str) -> dict[str, Any]:
    """Conditions by metavariable from words such as ``X.regex=^a`` and ``X.not.kind=call``. Raises `Usage`."""
    out: dict[str, Any] = {}
    for word in words:
        found = _NAME.fullmatch(word)
        if found is None:
            raise Usage(f"--where takes X.regex=VALUE or the like, not {word!r}.", command)
        name, path, value = found.groups()
        keys = path.lstrip(".").split(".") if path else ["equals"]
        if any(key != "not" for key in keys[:-1]) or (keys[-1] not in _KEYS and keys != ["not"]):
            raise Usage(f"--where {word!r}: it takes {', '.join(_KEYS)}, or one of these after “not.”.", command)
        node = out.setdefault(name, {})
        for key in keys[:-1]:
            node = node.setdefault(key, {})
        if not isinstance(node, dict) or keys[-1] in node:
            raise Usage(f"--where says twice what {name}.{'.'.join(keys)} must be.", command)
        several = keys[-1] == "in" or (keys[-1] == "kind" and "," in value)
        node[keys[-1]] = value.split(",") if several else value
    return out


def places(context: Context, paths: Sequence[str]) -> list[str | None]:
    """The paths as operations take them; none of them means the folder the user stands in."""
    if not paths:
        here = absolute(".", context.cwd, context.root)
        return [None if here in (".", "", str(context.root)) else here]
    return [absolute(path, context.cwd, context.root) for path in paths]


def plain(value: object) -> str:
    return clean(str(value), _LIMIT)


def diff_lines(text: str, screen: Screen) -> Iterator[str]:
    """A unified diff in colours."""
    for line in text.splitlines():
        shown = plain(line)
        if line.startswith(("+++", "---")):
            yield screen.paint(shown, "bold")
        elif line.startswith("@@"):
            yield screen.paint(shown, "cyan")
        elif line.startswith("+"):
            yield screen.paint(shown, "green")
        elif line.startswith("-"):
            yield screen.paint(shown, "red")
        else:
            yield shown
