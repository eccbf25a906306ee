"""What comes in a match's place: text with metavariables, as the caller wrote it, made ready to be filled in.

White space around the whole template is nothing; the indentation that all of its lines share is taken off. An empty
``$$$X`` takes a neighbouring separator along, or its line where nothing else is on it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import TypeAlias

from ombud.errors import UserError
from ombud.structural.variables import SUPERGLOBALS

# Unlike in a pattern one may stand behind letters: `get_$NAME` makes a name.
VARIABLE = re.compile(r"\$\$\$(?:([A-Z_][A-Z0-9_]*)(?![A-Za-z0-9_]))?|\$([A-Z_][A-Z0-9_]*)(?![A-Za-z0-9_])")
MOST = 100_000
"""The most characters of a template."""
_QUOTES: Mapping[str, tuple[bytes, ...]] = {
    **dict.fromkeys(("python", "dart"), (b'"""', b"'''")),
    **dict.fromkeys(("csharp", "elixir", "java", "kotlin", "scala", "swift"), (b'"""',)),
    **dict.fromkeys(("go", "javascript", "javascriptreact", "typescript", "typescriptreact"), (b"`",)),
}
"""What begins and ends a literal of several lines."""
_SEPARATED_AFTER = re.compile(rb"[ \t\r\n]*[,;][ \t]*\n?[ \t]*")
_SEPARATED_BEFORE = re.compile(rb",[ \t\r\n]*\Z")
_LINE_BEFORE = re.compile(rb"(?:\A|\n)[ \t]*\Z")
_LINE_AFTER = re.compile(rb"[ \t]*[,;]?[ \t]*(?:\n|\Z)")
_CLOSES = re.compile(rb"[ \t\n]*[)\]}>]")


@dataclass(frozen=True, slots=True)
class Slot:
    """A metavariable of a template. ``many`` says that it is written ``$$$NAME``, ``number`` counts all of them."""

    name: str
    many: bool
    number: int


Part: TypeAlias = bytes | Slot


@dataclass(frozen=True, slots=True)
class Template:
    """A template in its parts, text and slots in turn: there is text, if empty, before and behind every slot."""

    parts: tuple[Part, ...]
    language: str

    @property
    def slots(self) -> list[Slot]:
        """The metavariables in it, each as often as it is used."""
        return [part for part in self.parts if isinstance(part, Slot)]

    @property
    def deletes(self) -> bool:
        """Whether there is nothing in it."""
        return self.parts == (b"",)

    def without(self, empty: Set[str]) -> tuple[Part, ...]:
        """The parts with the slots of these names, which have nothing to show, gone with their separators."""
        parts = list(self.parts)
        while (at := next((i for i, p in enumerate(parts) if isinstance(p, Slot) and p.name in empty), -1)) >= 0:
            before, after = parts[at - 1], parts[at + 1]
            assert isinstance(before, bytes) and isinstance(after, bytes)
            last, first = at + 1 == len(parts) - 1, at == 1
            parts[at - 1 : at + 2] = [_close(before, after, (first, last), self.language)]
        return tuple(parts)

    def held(self, text: bytes, inside: bool = False) -> tuple[list[bool], bool]:
        """Which lines of template text, after its first, begin inside a literal; and whether its end is in one."""
        quotes = _QUOTES.get(self.language, ())
        found = []
        for number, line in enumerate(text.split(b"\n")):
            if number:
                found.append(inside)
            if sum(line.count(quote) for quote in quotes) % 2:
                inside = not inside
        return found, inside


def _close(before: bytes, after: bytes, ends: tuple[bool, bool], language: str) -> bytes:
    """The text around an empty slot. ``ends``: whether the template begins with ``before``, ends with ``after``."""
    first, last = ends
    alone = _LINE_BEFORE.search(before) if first or b"\n" in before else None
    line = _LINE_AFTER.match(after)
    if alone and line and (b"\n" in line[0] or last):
        kept, rest = before[: alone.start()], after[line.end() :]
        separated = _SEPARATED_BEFORE.search(kept)
        # Go wants the comma before a closing bracket that stands on a line of its own.
        if separated and _CLOSES.match(rest) and language != "go":
            kept = kept[: separated.start()]
        if not rest and last:
            return kept
        return kept + b"\n" + rest if kept or not first else rest
    if found := _SEPARATED_AFTER.match(after):
        return before + after[found.end() :]
    if found := _SEPARATED_BEFORE.search(before):
        return before[: found.start()] + after
    if before[-1:] in b" \t" and (not after or after[:1] in b" \t\n)]}>;,/"):
        # A brace keeps its blank on one side: `{ $$$B }` is `{ }`.
        return before.rstrip(b" \t") + after
    return before + after.lstrip(b" \t") if not before else before + after


def parse(text: str, language: str) -> Template:
    """The template that a caller wrote, for one language. Raises `UserError` where it is too large."""
    if len(text) > MOST:
        raise UserError(f"The rewrite has {len(text):,} characters; {MOST:,} are the most.")
    plain = _dedented(text.replace("\r\n", "\n").replace("\r", "\n"))
    parts: list[Part] = []
    at = 0
    for found in VARIABLE.finditer(plain):
        if language == "php" and found[0] in SUPERGLOBALS:
            continue
        parts.append(plain[at : found.start()].encode())
        many = found[0].startswith("$$$")
        parts.append(Slot((found[1] or "") if many else found[2], many, len(parts) // 2))
        at = found.end()
    parts.append(plain[at:].encode())
    return Template(tuple(parts), language)


def _dedented(text: str) -> str:
    """``text`` without the white space around it and without the indentation that all its lines share."""
    lines = text.rstrip().split("\n")
    while lines and not lines[0].strip():
        del lines[0]
    if not lines:
        return ""
    first = re.match(r"[ \t]*", lines[0])
    margin = first[0] if first else ""
    if margin and all(line.startswith(margin) or not line.strip() for line in lines):
        lines = [line[len(margin) :] if line.strip() else line for line in lines]
    lines[0] = lines[0].lstrip(" \t")
    return "\n".join(lines)


def check(template: Template, bound: Mapping[str, bool], pattern: str) -> None:
    """Raises `UserError` for a metavariable that is not in ``bound``: name → whether it is written ``$$$``."""
    for slot in template.slots:
        written = ("$$$" if slot.many else "$") + slot.name
        if bound.get(slot.name) is slot.many and not slot.name.startswith("_") and slot.name:
            continue
        known = ", ".join(sorted(("$$$" if many else "$") + name for name, many in bound.items())) or "none"
        what = f"The rewrite uses {written}, which the pattern {pattern!r} does not bind; it binds {known}."
        if slot.name in bound:
            what += f" Write {'$$$' if bound[slot.name] else '$'}{slot.name}."
        elif template.language in ("shellscript", "php"):
            what += f" For a variable of the program itself write ${{{slot.name}}}."
        raise UserError(what, variable=written, pattern=pattern)
