"""From an operation's JSON Schema to options of the command line, and from the words given back to its params.

The contract ("Command line"): list and object params are JSON, booleans are flags, the first required string may be
positional; where none is required, the one whose schema says so (`BARE`). Nothing here knows a certain operation.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ombud.errors import UserError

Kind = Literal["text", "integer", "number", "flag", "json", "choice"]

BARE = "x-bare"
"""The key of a param's schema that says so."""
STDIN = "-"
LONG_TEXTS = frozenset({"content", "patch"})
"""Params that are whole files: for these, and for every JSON param, ``-`` reads standard input."""
SHOWN_CHOICES = 4
"""So many fit into a usage line in place of the option's name."""
STDIN_LIMIT = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Option:
    """One param. ``key`` is its name on the wire, ``flag`` its spelling here (``--wait-ms``)."""

    key: str
    kind: Kind
    required: bool
    default: Any
    choices: tuple[str, ...] = ()
    description: str = ""
    bare: bool = False
    """Whether it may be given without its name although it is not required."""

    @property
    def flag(self) -> str:
        return f"--{kebab(self.key)}"

    @property
    def long(self) -> bool:
        """Whether ``-`` stands for standard input."""
        return self.kind == "json" or self.key in LONG_TEXTS


def kebab(name: str) -> str:
    """``waitMs`` and ``wait_ms`` as ``wait-ms``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).replace("_", "-").lower()


def options_of(schema: Mapping[str, Any]) -> list[Option]:
    """The options for the params that ``schema`` describes, in its order."""
    definitions = schema.get("$defs", {})
    node = _followed(schema, definitions)
    required = set(node.get("required", ()))
    return [_option(key, part, definitions, key in required) for key, part in node.get("properties", {}).items()]


def _option(key: str, schema: Mapping[str, Any], definitions: Mapping[str, Any], required: bool) -> Option:
    parts = [_followed(part, definitions) for part in schema.get("anyOf", [schema])]
    parts = [part for part in parts if part.get("type") != "null"]
    # An object's own description tells of its fields; what is wanted here is what the param is for.
    said = [part["description"] for part in parts if part.get("description") and "properties" not in part]
    description = schema.get("description") or next(iter(said), "")
    kind, choices = _kind(parts)
    bare = any(part.get(BARE) for part in parts)
    return Option(key, kind, required, schema.get("default"), choices, str(description), bare)


def _followed(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in schema:
        schema = definitions[str(schema["$ref"]).rpartition("/")[2]]
    return schema


def _kind(parts: Sequence[Mapping[str, Any]]) -> tuple[Kind, tuple[str, ...]]:
    if len(parts) != 1:
        return "json", ()
    part = parts[0]
    if "enum" in part and all(isinstance(value, str) for value in part["enum"]):
        return "choice", tuple(part["enum"])
    if isinstance(part.get("const"), str):
        return "choice", (part["const"],)
    kinds: dict[Any, Kind] = {"string": "text", "integer": "integer", "number": "number", "boolean": "flag"}
    return kinds.get(part.get("type"), "json"), ()


def positional(options: Sequence[Option]) -> Option | None:
    """The option that may be given without its name: the first required one that is a plain text, or one marked so."""
    plain = [one for one in options if one.kind in ("text", "choice")]
    return next((one for one in plain if one.required), next((one for one in plain if one.bare), None))


def add_options(parser: argparse.ArgumentParser, options: Sequence[Option], words: Mapping[str, str]) -> None:
    """Add ``options`` to a parser; ``words`` has help for those whose schema says nothing of itself."""
    bare = positional(options)
    if bare is not None:
        text = _help(bare, words)
        if len(bare.choices) > SHOWN_CHOICES:
            text = f"{text.rstrip('.')}: {', '.join(bare.choices)}"
        parser.add_argument("bare", nargs="?", metavar=_metavar(bare), help=_escaped(text))
    for option in options:
        _add(parser, option, argparse.SUPPRESS if option is bare else _escaped(_help(option, words)))


def _help(option: Option, words: Mapping[str, str]) -> str:
    text = words.get(option.key) or option.description or "(see docs/protocol.md)"
    if option.long:
        text += " “-” reads it from standard input." if text.endswith(".") else "; “-” reads it from standard input"
    if option.default not in (None, False, "", [], {}):
        text += f" (default: {option.default if isinstance(option.default, str) else json.dumps(option.default)})"
    return text


def _escaped(text: str) -> str:
    # argparse formats help with %.
    return text.replace("%", "%%")


def _metavar(option: Option) -> str:
    if option.kind == "choice":
        return "{" + ",".join(option.choices) + "}" if len(option.choices) <= SHOWN_CHOICES else option.key.upper()
    return (
        "JSON" if option.kind == "json" else {"integer": "N", "number": "N"}.get(option.kind, kebab(option.key).upper())
    )


def _add(parser: argparse.ArgumentParser, option: Option, text: str) -> None:
    if option.kind == "flag":
        action: Any = argparse.BooleanOptionalAction if option.default is not False else "store_true"
        parser.add_argument(option.flag, dest=f"o_{option.key}", action=action, default=None, help=text)
        return
    types: dict[str, Any] = {"integer": int, "number": float}
    parser.add_argument(
        option.flag,
        dest=f"o_{option.key}",
        default=None,
        metavar=_metavar(option),
        type=types.get(option.kind, str),
        choices=option.choices or None,
        help=text,
    )


def joined(argv: Sequence[str], parser: argparse.ArgumentParser) -> list[str]:
    """``--content -x`` as ``--content=-x``: argparse takes a value that begins with a hyphen for an option."""
    known = parser._option_string_actions
    out: list[str] = []
    words = list(argv)
    while words:
        word = words.pop(0)
        if word == "--":
            return [*out, word, *words]
        action = known.get(word)
        takes = action is not None and action.nargs is None
        if takes and words and words[0].startswith("-") and words[0] != "-" and not _is_option(words[0], known):
            word += f"={words.pop(0)}" if word.startswith("--") else words.pop(0)
        out.append(word)
    return out


def intermixed(parser: argparse.ArgumentParser, argv: Sequence[str]) -> argparse.Namespace:
    """Parse words of which positional ones may stand on both sides of options, and in any form behind ``--``."""
    words = joined(argv, parser)
    if "--" in words:
        # argparse loses the mark between its two rounds; a NUL, which no word of a command line holds, stands for it.
        at = words.index("--")
        words = [*words[:at], *(f"\0{word}" for word in words[at + 1 :])]
    parsed = parser.parse_intermixed_args(words)
    for name, value in vars(parsed).items():
        if isinstance(value, str):
            setattr(parsed, name, value.removeprefix("\0"))
        elif isinstance(value, list):
            setattr(parsed, name, [one.removeprefix("\0") if isinstance(one, str) else one for one in value])
    return parsed


def _is_option(word: str, known: Mapping[str, Any]) -> bool:
    return word.partition("=")[0] in known


def params_of(namespace: argparse.Namespace, options: Sequence[Option]) -> dict[str, Any]:
    """The params object: only what was given. Raises `UserError` for JSON that is none, and for a value given twice."""
    values: dict[str, Any] = {}
    bare = positional(options)
    for option in options:
        value = getattr(namespace, f"o_{option.key}")
        if option is bare and namespace.bare is not None:
            if value is not None:
                raise UserError(
                    f"{option.key} was given twice: once by itself ({namespace.bare!r}), once as {option.flag}."
                )
            value = namespace.bare
            if option.choices and value not in option.choices:
                raise UserError(_not_a_choice(option, value))
        if value is None:
            continue
        values[option.key] = _value(option, value)
    missing = [option for option in options if option.required and option.key not in values]
    if missing:
        names = " and ".join(_metavar(one) if one is bare else one.flag for one in missing)
        raise UserError(f"{names} is missing." if len(missing) == 1 else f"{names} are missing.")
    return values


def _not_a_choice(option: Option, value: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(value, option.choices, 1)
    hint = f" Did you mean {near[0]}?" if near else ""
    return f"{option.key} cannot be {value!r}; it is one of {', '.join(option.choices)}.{hint}"


def _value(option: Option, value: Any) -> Any:
    if value == []:
        # argparse takes a value "--" for the mark that ends the options, and leaves nothing of it.
        value = "--"
    if option.long and value == STDIN:
        value = _stdin()
    if option.kind != "json":
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{option.flag} must be JSON: {error}.") from None


def _stdin() -> str:
    """Standard input as text, to the byte: line ends are the caller's own."""
    data = sys.stdin.buffer.read(STDIN_LIMIT + 1)
    if len(data) > STDIN_LIMIT:
        raise UserError(f"Standard input has more than {STDIN_LIMIT // 1048576} MB.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"Standard input is not UTF-8 text: {error}.") from None
