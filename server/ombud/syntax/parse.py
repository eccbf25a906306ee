"""Does a text still parse? Asked of a text before and after an edit, by tree-sitter's grammars.

Parsers are C code that reads whatever somebody wrote. So this is a program of its own: ``ombud.syntax.apart`` runs
``python -m ombud.syntax.parse`` and ends it where it takes too long. One question and one answer at a time:
a line of JSON ``{"was", "now", "old", "new"}`` (two languages, two sizes in bytes) with the two texts in UTF-8 behind
it; answered by a line of JSON, ``null`` or ``[line, what]``.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

GRAMMARS: Mapping[str, tuple[str, ...]] = {
    "c": ("c",),
    "cpp": ("cpp", "c"),  # A header's name does not tell which of the two it is.
    "csharp": ("csharp",),
    "go": ("go",),
    "java": ("java",),
    "javascript": ("javascript",),
    "javascriptreact": ("javascript",),
    "json": ("json",),
    "lua": ("lua",),
    "php": ("php",),
    "python": ("python",),
    "ruby": ("ruby",),
    "rust": ("rust",),
    "shellscript": ("bash",),
    "toml": ("toml",),
    "typescript": ("typescript",),
    "typescriptreact": ("tsx",),
    "yaml": ("yaml",),
}
"""Language id of LSP → the grammars of ``tree-sitter-language-pack`` that may take its files.

Only grammars that fail on few real files are here: what a grammar does not know would be called an error of the edit.
A language that is not here is not checked.
"""

CPU_SECONDS = 30
"""Of all questions to one process, which may outlive whoever asked them by no more than that."""
MEMORY = 2 << 30
WHAT = 100
"""The most characters of what is said about an error."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A syntax error: its one-based line in the new text, and what it is in a few words, as far as that is known."""

    line: int
    what: str = ""


@dataclass(frozen=True, slots=True)
class _Span:
    """Where an error stands: its first and last line, counted from zero."""

    first: int
    last: int
    what: str = ""


def fault(was: str, old: str, now: str, new: str) -> Fault | None:
    """The syntax error that ``new`` has and ``old`` has not; None where there is none or where it cannot be told.

    ``was`` and ``now`` are the languages of the two texts, which differ where a file is renamed to another kind. Where
    several parsers can read a language, a text that one of them takes is right: each of them has its gaps.
    """
    old, new = _plain(old), _plain(new)
    found = _error(now, new)
    if found is None or (was != now and _error(was, new) is None):
        return None
    if not _checked(was) or _error(was, old) is not None:
        return None
    return Fault(_line(found, old, new) + 1, found.what[:WHAT])


def _plain(text: str) -> str:
    """Line ends as parsers count lines: not all of them know a lone carriage return."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _checked(language: str) -> bool:
    return language in GRAMMARS


def _error(language: str, text: str) -> _Span | None:
    """The first error of a text; None for one that parses, and for one that nobody here can judge."""
    if not _checked(language):
        return None
    found = _of_grammars(language, text)
    return _of_python(text, found) if language == "python" else found


def _of_grammars(language: str, text: str) -> _Span | None:
    first: _Span | None = None
    softened = soften(language, text)
    for grammar in GRAMMARS[language]:
        for one in dict.fromkeys((text, softened)):
            root = _parser(grammar).parse(one.encode("utf-8", "replace")).root_node
            if not root.has_error:
                return None
            first = first or _first(root)
    return first


@cache
def _parser(grammar: str) -> Parser:
    from tree_sitter_language_pack import get_parser

    return get_parser(grammar)  # type: ignore[arg-type]  # The pack's own list of names is longer than ours.


def _first(root: Node) -> _Span:
    """The innermost node of the first error. A loop: texts nest deeper than Python calls."""
    node = root
    while True:
        inner = next((child for child in node.children if child.has_error or child.is_missing), None)
        if inner is None:
            what = f"{node.type} is missing" if node.is_missing else ""
            return _Span(node.start_point.row, node.end_point.row, what)
        node = inner


def _of_python(text: str, found: _Span | None) -> _Span | None:
    """What Python's own parser says besides.

    The grammar takes any indentation, and only Python tells a wrong one. Python in turn takes no syntax that is newer
    than itself, so of everything else both must say that it is wrong.
    """
    import ast
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except IndentationError as error:
        line = max(0, (error.lineno or 1) - 1)
        return _Span(line, line, error.msg)
    except SyntaxError as error:
        if found is None:
            return None
        there = found.first <= (error.lineno or 0) - 1 <= found.last
        return _Span(found.first, found.last, found.what or (_words(error) if there else ""))
    except (ValueError, RecursionError, MemoryError):
        # It is too deep for Python, which says nothing about it.
        return None
    return None


def _words(error: SyntaxError) -> str:
    """Python's words for an error, where they say something and do not guess what was meant."""
    return "" if "?" in error.msg or error.msg == "invalid syntax" else error.msg


def _line(span: _Span, old: str, new: str) -> int:
    """The line to tell, from zero: where the error begins or, in an error that begins before it, the first change."""
    before, after = old.split("\n"), new.split("\n")
    changed = next(
        (at for at, (one, other) in enumerate(zip(before, after, strict=False)) if one != other),
        min(len(before), len(after)),
    )
    return min(changed if span.first < changed <= span.last else span.first, len(after) - 1)


# -- what the grammars do not know ----------------------------------------------------------------------------


_BREAKS = re.compile(r"[^\n]")


def _blank(found: re.Match[str]) -> str:
    """Blanks in its place, with its line ends: everything behind it stays where it is."""
    return _BREAKS.sub(" ", found[0])


def _name(found: re.Match[str]) -> str:
    return "_" + _blank(found)[1:]


def _bare(found: re.Match[str]) -> str:
    return found[1] + _BREAKS.sub(" ", found[2])


_INNER = r"[^\[\]]{0,500}"
_IMPORT = (
    r"\bimport\s*\(\s*(?:\"[^\"\n]*\"|'[^'\n]*')\s*(?:,\s*\{[^{}]{0,200}(?:\{[^{}]{0,200}\}[^{}]{0,200})?\})?\s*\)"
)
_GAPS: Mapping[str, tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...]] = {
    "python": (
        # Defaults of type parameters (PEP 696).
        (re.compile(rf"(\b(?:class|def|type)[ \t]+\w+[ \t]*)(\[{_INNER}(?:\[{_INNER}\]{_INNER})*\])"), _bare),
    ),
    "rust": (
        # Items of an `unsafe extern` block (edition 2024).
        (re.compile(r"\bsafe\s+(?=(?:fn|static)\b)"), _blank),
    ),
    "typescript": (
        (re.compile(_IMPORT), _name),
        # Variance (`in`, `out`), and `export type *`.
        (re.compile(r"(?<=[<,])\s*(?:in\s+out|in|out)(?=\s+[A-Za-z_$])"), _blank),
        (re.compile(r"(?<=\bexport)\s+type(?=\s*\*)"), _blank),
    ),
}


def soften(language: str, text: str) -> str:
    """``text`` with what is right and the language's grammar does not know put in words that it does.

    As long as before, with the same lines. It may make a wrong text right there; it makes none wrong that was right.
    """
    family = "typescript" if language == "typescriptreact" else language
    for pattern, how in _GAPS.get(family, ()):
        text = pattern.sub(how, text)
    return text


# -- as a program ---------------------------------------------------------------------------------------------


def main() -> None:
    """Answer questions until there are no more. See the module."""
    _limit()
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    for line in iter(questions.readline, b""):
        asked = json.loads(line)
        old, new = (questions.read(asked[name]).decode("utf-8", "replace") for name in ("old", "new"))
        found = fault(asked["was"], old, asked["now"], new)
        answer = None if found is None else [found.line, found.what]
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def _limit() -> None:
    """A text that is made to use up the machine ends this process and nothing else."""
    import contextlib
    import resource

    wanted = {resource.RLIMIT_CPU: CPU_SECONDS, resource.RLIMIT_AS: MEMORY, resource.RLIMIT_CORE: 0}
    for what, most in wanted.items():
        hard = resource.getrlimit(what)[1]
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with contextlib.suppress(ValueError, OSError):  # Not every system knows each of them.
            resource.setrlimit(what, (limit, limit))


if __name__ == "__main__":
    main()
