"""Words of source text, read without a grammar: what of a change counts, and which names stand on a line.

This looks at lines only, so that it works for any language and for text that does not parse. Where it is not sure it
says that something counts: a question too many costs time, one too few hides what broke.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ombud.text.diff import LineMap
from ombud.text.ranges import LINE_END, utf16_length


@dataclass(frozen=True, slots=True)
class Style:
    """How a language is written: the sign of a comment to the end of the line, whether ``/* */`` is one as well, and
    whether indentation and line ends have a meaning."""

    sign: str
    block: bool
    indented: bool = False


_SLASHES = Style("//", block=True)
STYLES: dict[str, Style] = {
    "python": Style("#", block=False, indented=True),
    **dict.fromkeys(("c", "cpp", "objective-c", "objective-cpp", "cuda-cpp", "go", "rust", "java", "csharp"), _SLASHES),
    **dict.fromkeys(("javascript", "javascriptreact", "typescript", "typescriptreact", "php", "dart"), _SLASHES),
}
"""Of any other language only trailing white space is known to be nothing."""
INFERRING = frozenset({"python", "javascript", "javascriptreact", "typescript", "typescriptreact"})
"""Languages in which the type of a function can follow from its body."""
STRUCTURAL = INFERRING - {"python"}
"""Languages in which a type is its members, whatever its name."""
_DIRECTIVE = re.compile(r"@\w|\b(?:type|pyright|mypy|go)\s*:|\+build|<\s*reference")
"""What makes a comment count: types, visibility and conditions of compilation are said in comments, too."""
_TOKEN = re.compile(
    r"(?:return|throw|break|continue|yield)[ \t]*\n"  # A line end here ends the statement in JavaScript.
    r'|"(?:\\.|[^"\\\n])*"' + r"|'(?:\\.|[^'\\\n])*'" + r"|`[^`]*`|\w+|[^\w\s]"
)
_NAME = re.compile(r"[^\W\d][\w$]*|\$[\w$]+")
_STRING = re.compile(r'"([^"\n]*)"' + r"|'([^'\n]*)'" + r"|`([^`\n]*)`")
IMPORTS = re.compile(
    r"^\s*(?:(?:pub(?:\([^)]*\))?\s+)?(?:import|from|use|using|include|mod|require)\b|#\s*(?:include|import)\b)"
    r"|^\s*export\s*(?:(?:type\s*)?[{*]|=|import\b|default\s+[\w$.]+\s*;?\s*$)"
    r"|\brequire\s*\(|^\s*(?:module\.)?exports\b|^\s*__all__\b"
)
"""A line that takes in or hands out names of another file."""
_DECLARED = re.compile(
    r"\b(?:def|class|function|const|let|var|val|type|interface|struct|enum|trait|fn|func|namespace|module|macro|union"
    r"|#\s*define|import|as)\s+\*?([^\W\d][\w$]*)|^([^\W\d][\w$]*)\s*(?::[^=]+)?=(?!=)",
    re.MULTILINE,
)
_KEYWORDS = """
and as async await bool break case class const continue crate def default define del do elif else enum except export
extends extern False final finally float fn for from func function global goto if impl implements import in include
instanceof int interface is lambda let long match mod module mut namespace new None nil nonlocal not null object of or
package pass private protected pub public raise readonly require return self Self static str string struct super switch
template this throw trait True true false try type typedef typename typeof undefined union unsigned use using val var
virtual void where while with yield
"""
KEYWORDS = frozenset(_KEYWORDS.split())
"""Of all languages together: a name that is one in another language is hardly worth a question."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines ``[a, b)`` of the old text became lines ``[c, d)`` of the new one; one of the two may be none."""

    a: int
    b: int
    c: int
    d: int


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier at a place of a text; ``character`` in UTF-16 units. ``quoted``: it stands in a string."""

    text: str
    line: int
    character: int
    quoted: bool = False


class Page:
    """The lines of one text in one language. Lines are those of LSP, zero-based."""

    def __init__(self, text: str, language: str | None) -> None:
        self.lines: list[str] = LINE_END.split(text)
        self.language = language or ""
        self.style = STYLES.get(self.language)
        self._remarks: frozenset[int] | None = None
        self._indents: dict[int, int] = {}

    @property
    def indented(self) -> bool:
        return self.style is not None and self.style.indented

    @property
    def remarks(self) -> frozenset[int]:
        """The lines that are nothing but a comment. One that begins behind code is not looked for."""
        if self._remarks is None:
            self._remarks = frozenset(_remarks(self.lines, self.style)) if self.style is not None else frozenset()
        return self._remarks

    def blank(self, line: int) -> bool:
        return not self.lines[line].strip()

    def counts(self, line: int) -> bool:
        """Whether there is anything but white space and comments on a line."""
        return not self.blank(line) and line not in self.remarks

    def indent(self, line: int) -> int:
        known = self._indents.get(line)
        if known is None:
            text = self.lines[line].expandtabs()
            known = self._indents[line] = len(text) - len(text.lstrip())
        return known

    def tokens(self, start: int, end: int) -> list[str]:
        """What counts on the lines ``[start, end)``."""
        if self.style is None:
            return [line.rstrip() for line in self.lines[start:end]]
        kept = [(line, self.lines[line]) for line in range(start, end) if self.counts(line)]
        if not self.style.indented:
            return _tokens(text for _, text in kept)
        return [part for line, text in kept for part in (str(self.indent(line)), *_TOKEN.findall(text))]

    def names(self, line: int) -> list[Name]:
        """The identifiers of a line in their order, also those that are whole strings; no keywords."""
        text = self.lines[line]
        strings = [(one.start(), one.end(), next(part for part in one.groups() if part is not None)) for one in
                   _STRING.finditer(text)]  # fmt: skip
        found = [(start + 1, inside, True) for start, _, inside in strings if _NAME.fullmatch(inside)] + [
            (one.start(), one.group(), False)
            for one in _NAME.finditer(text)
            if not any(start <= one.start() < end for start, end, _ in strings)
        ]
        return [
            Name(word, line, utf16_length(text[:at]), quoted)
            for at, word, quoted in sorted(found)
            if word not in KEYWORDS
        ]


def _tokens(lines: Iterable[str]) -> list[str]:
    """Of a language in braces; a line of the preprocessor ends where it ends."""
    found: list[str] = []
    waiting = ""
    for line in lines:
        if line.lstrip().startswith("#"):
            found += [*_TOKEN.findall(waiting), line.strip()]
            waiting = ""
        else:
            waiting += line + "\n"
    return found + _TOKEN.findall(waiting)


def _remarks(lines: Sequence[str], style: Style) -> Iterable[int]:
    inside, held = False, list[int]()
    for number, line in enumerate(lines):
        text = line.strip()
        if not inside and style.block and text.startswith("/*"):
            inside, held = True, []
        if inside:
            held.append(number)
            _, end, after = text.partition("*/")
            if end:
                inside = False
                if not after.strip() and not any(_DIRECTIVE.search(lines[one]) for one in held):
                    yield from held
        elif text.startswith(style.sign) and not _DIRECTIVE.search(text):
            yield number


def hunks(lines: LineMap) -> list[Hunk]:
    """The changes of a map, from above."""
    found = []
    a = c = 0
    for i, j, size in [*lines.parts, (lines.old_count, lines.new_count, 0)]:
        if a < i or c < j:
            found.append(Hunk(a, i, c, j))
        a, c = i + size, j + size
    return found


def telling(old: Page, new: Page, lines: LineMap) -> list[Hunk]:
    """The changes that are more than comments, blank lines and white space."""
    return [one for one in hunks(lines) if old.tokens(one.a, one.b) != new.tokens(one.c, one.d)]


def declared(page: Page, lines: Iterable[int]) -> set[str]:
    """The names that these lines look like declaring."""
    found = _DECLARED.findall("\n".join(page.lines[line] for line in lines))
    return {one or other for one, other in found} - KEYWORDS
