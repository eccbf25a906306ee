"""Where the tests of a source file stand, and the ids that `testing.resolve` takes for them.

Read line by line from the text in the editor, unsaved and half-typed as it may be: no parser of another's making runs
in the hub's process, and a file that is no test file by its name costs nothing. What cannot be told for sure, such as a
title that is made when the test runs, is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import NamedTuple

from ombud.text.ranges import LINE_END

LARGEST = 1_000_000
"""Characters of a text that is read at all."""
MOST = 2000
"""Tests of a file at most."""
_NAMES = {
    "python": re.compile(r"test.*\.py|.*_test\.py"),
    "go": re.compile(r".+_test\.go"),
    "javascript": re.compile(r".+[.-](test|spec)\.[cm]?[jt]sx?"),
}
_FAMILIES = {
    "python": "python",
    "go": "go",
    **dict.fromkeys(("javascript", "javascriptreact", "typescript", "typescriptreact"), "javascript"),
}
_STRINGS = r"|\"(?:\\(?s:.)|[^\"\\\n])*\"?|'(?:\\(?s:.)|[^'\\\n])*'?"
_SILENT = {
    "python": re.compile(
        r"(?P<whole>#[^\n]*|\"\"\"(?s:(?:\\.|.)*?)(?:\"\"\"|\Z)|'''(?s:(?:\\.|.)*?)(?:'''|\Z))" + _STRINGS
    ),
    "go": re.compile(r"(?P<whole>//[^\n]*|/\*(?s:.*?)(?:\*/|\Z)|`[^`]*(?:`|\Z))" + _STRINGS),
    "javascript": re.compile(
        r"(?P<whole>//[^\n]*|/\*(?s:.*?)(?:\*/|\Z)|`(?s:(?:\\.|[^`\\]|\\\Z)*)(?:`|\Z))" + _STRINGS
    ),
}
"""Comments and strings of several lines, which are blanked; other strings are matched so that nothing begins there.
What is never closed ends with its line or the text, so that no place is looked at twice (B3)."""
_PYTHON = re.compile(r"(?:class\s+(?P<class>\w+)\s*(?P<bases>\([^)]*\)?)?|(?:async\s+)?def\s+(?P<def>\w+)\s*\()")
_CASE = re.compile(r"TestCase\b|TestCaseMixin\b")
_GO = re.compile(r"func\s+(?P<name>(?:Test|Fuzz|Benchmark|Example)(?:[A-Z0-9_]\w*)?)\s*\(")
_JAVASCRIPT = re.compile(
    r"(?P<word>describe|context|suite|it|test)(?:\.(?:only|concurrent|sequential|skip))?\s*\(\s*"
    r"(?P<quote>[\"'`])(?P<title>(?:(?!(?P=quote))[^\\\n])+)(?P=quote)\s*,"
)
_SUITES = ("describe", "context", "suite")


class Found(NamedTuple):
    """A test: its zero-based line, the string indices of its first and last character there, and its name within the
    file, with ``::`` between what it stands in."""

    line: int
    start: int
    end: int
    name: str


def has_tests(path: PurePath, language: str) -> bool:
    """Whether a file is one of tests, by its name alone."""
    family = _FAMILIES.get(language)
    return family is not None and (
        _NAMES[family].fullmatch(path.name) is not None
        or (family == "javascript" and path.parent.name in ("__tests__", "test", "tests"))
    )


def outline(path: PurePath, language: str, text: str) -> list[Found]:
    """The tests of a text, in its order; none where the file is no file of tests, or larger than `LARGEST`."""
    if len(text) > LARGEST or not has_tests(path, language):
        return []
    family = _FAMILIES[language]
    lines = _SILENT[family].sub(_blanked, LINE_END.sub("\n", text)).split("\n")
    read = {"python": _python, "go": _go, "javascript": _javascript}[family]
    found: list[Found] = []
    for one in read(lines):
        found.append(one)
        if len(found) == MOST:
            break
    return found


def _blanked(match: re.Match[str]) -> str:
    """The same lines and columns without what they say. A template of JavaScript on one line may be a title."""
    said = match[0]
    if match["whole"] is None or (said.startswith("`") and "\n" not in said and "${" not in said):
        return said
    return re.sub(r"[^\n]", " ", said)


def _indent(line: str) -> int | None:
    """None for a line that says nothing of where it stands."""
    bare = line.lstrip(" \t\f")
    if not bare or bare[0] in ")]}":
        return None
    return len(line[: len(line) - len(bare)].expandtabs(8))


def _python(lines: list[str]) -> Iterator[Found]:
    # What a line stands in: its indentation, and the class's name, or None for a function and another class.
    around: list[tuple[int, str | None]] = []
    for number, line in enumerate(lines):
        indent = _indent(line)
        if indent is None:
            continue
        while around and around[-1][0] >= indent:
            around.pop()
        start = len(line) - len(line.lstrip(" \t\f"))
        match = _PYTHON.match(line, start)
        if match is None:
            continue
        names = [name for _, name in around]
        if match["class"] is not None:
            is_case = match["class"].startswith("Test") or _CASE.search(match["bases"] or "") is not None
            around.append((indent, match["class"] if is_case and None not in names else None))
        else:
            name = match["def"]
            if name.startswith("test") and None not in names:
                yield Found(number, start, match.end("def"), "::".join([*(one for one in names if one), name]))
            around.append((indent, None))


def _go(lines: list[str]) -> Iterator[Found]:
    for number, line in enumerate(lines):
        match = _GO.match(line)
        if match is not None and match["name"] != "TestMain":
            yield Found(number, 0, match.end("name"), match["name"])


def _javascript(lines: list[str]) -> Iterator[Found]:
    around: list[tuple[int, str]] = []
    for number, line in enumerate(lines):
        indent = _indent(line)
        if indent is None:
            continue
        while around and around[-1][0] >= indent:
            around.pop()
        match = _JAVASCRIPT.match(line, len(line) - len(line.lstrip()))
        if match is None:
            continue
        if match["word"] in _SUITES:
            around.append((indent, match["title"]))
        else:
            names = [*(name for _, name in around), match["title"]]
            yield Found(number, match.start(), match.end("title") + 1, "::".join(names))
