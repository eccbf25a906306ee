"""Metavariables of a pattern: ``$NAME``, ``$_``, ``$$$`` and ``$$$NAME``, and the identifiers that stand for them in
a parse.

No grammar ever sees a ``$`` of ours: before a pattern is parsed, each metavariable gives way to an identifier that
occurs nowhere else in it, spelled as the place needs (``q``, ``q;``, ``int q;`` …). What else begins with ``$`` (a
variable of PHP or of a shell, an identifier such as ``$el``) stays code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

METAVARIABLE = re.compile(
    r"(?<![A-Za-z0-9_$])\$(?:(?P<many>\$\$)(?P<rest>[A-Z_][A-Z0-9_]*)?|(?P<one>[A-Z_][A-Z0-9_]*))(?![A-Za-z0-9_$])"
)

SUPERGLOBALS = frozenset(
    {"$_GET", "$_POST", "$_SERVER", "$_SESSION", "$_COOKIE", "$_FILES", "$_ENV", "$_REQUEST", "$GLOBALS"}
)
"""Variables of PHP that look like metavariables and are meant as themselves."""


@dataclass(frozen=True, slots=True)
class Variable:
    """One metavariable where it stands in a pattern's text.

    ``name`` is None where nothing is captured (``$_``, ``$_NAME``, ``$$$``); ``written`` is its text in the pattern;
    ``start`` and ``end`` are characters of it.
    """

    name: str | None
    many: bool
    written: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Substituted:
    """A pattern in which identifiers stand for metavariables, in UTF-8.

    ``spans`` are the places of the spelled identifiers, in bytes, in the order of the variables.
    """

    text: bytes
    spans: tuple[tuple[int, int], ...]


def variables(pattern: str, language: str) -> list[Variable]:
    """The metavariables of a pattern in order of position."""
    found = []
    for match in METAVARIABLE.finditer(pattern):
        if language == "php" and match.group() in SUPERGLOBALS:
            continue
        name = match["rest"] if match["many"] else match["one"]
        named = name if name and not name.startswith("_") else None
        found.append(Variable(named, bool(match["many"]), match.group(), match.start(), match.end()))
    return found


def stem(text: str) -> str:
    """The beginning of identifiers that nothing in ``text`` begins with, in any case."""
    low, number = text.lower(), 0
    while (word := f"q{number}vz") in low:
        number += 1
    return word


def substitute(pattern: str, found: Sequence[Variable], spellings: Sequence[str], word: str) -> Substituted:
    """``pattern`` with the n-th variable spelled as ``spellings[n]``, whose ``{}`` (or ``{Q}``, capitalized) is the
    identifier.
    """
    out: list[bytes] = []
    spans: list[tuple[int, int]] = []
    size = last = 0
    for number, (variable, spelling) in enumerate(zip(found, spellings, strict=True)):
        before = pattern[last : variable.start].encode()
        identifier = f"{word}{number}q"
        spelled = spelling.replace("{Q}", identifier.capitalize()).replace("{}", identifier).encode()
        out += [before, spelled]
        spans.append((size + len(before), size + len(before) + len(spelled)))
        size += len(before) + len(spelled)
        last = variable.end
    out.append(pattern[last:].encode())
    return Substituted(b"".join(out), tuple(spans))
