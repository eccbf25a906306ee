"""What a repository's ``.gitignore`` files leave out (gitignore(5)), for walks that must not run git.

In an untrusted workspace git is not started (T6), and starting it costs more than reading the few files there are.
Patterns come from the repository, so matching takes time linear in the name, whatever they hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import translate
from pathlib import PurePosixPath

NAME = ".gitignore"
MOST_PATTERNS = 2000
"""Patterns of one file that count; further ones are left out."""
_LONGEST = 1024
_MOST_SEGMENTS = 64
_ANY = None


@dataclass(frozen=True, slots=True)
class _Pattern:
    """``steps`` are the expressions for the components of a path, None for any number of them (``**``)."""

    steps: tuple[re.Pattern[str] | None, ...]
    negated: bool
    folders_only: bool

    def matches(self, parts: Sequence[str], is_folder: bool) -> bool:
        return (is_folder or not self.folders_only) and _reaches_end(self.steps, parts)


class Ignores:
    """The patterns of one ``.gitignore``; paths are relative to its folder."""

    def __init__(self, text: str) -> None:
        self._patterns = tuple(_patterns(text))

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def verdict(self, path: PurePosixPath, is_folder: bool) -> bool | None:
        """True for ignored, False for taken back by ``!``, None where no pattern matches. The last one decides."""
        for pattern in reversed(self._patterns):
            if pattern.matches(path.parts, is_folder):
                return not pattern.negated
        return None


class Layers:
    """The ``.gitignore`` files from a top folder down to one folder. Immutable: `below` makes the next deeper one."""

    def __init__(self, layers: Sequence[tuple[PurePosixPath, Ignores]] = ()) -> None:
        self._layers = tuple(layers)

    def __bool__(self) -> bool:
        """Whether anything may be left out."""
        return bool(self._layers)

    def below(self, folder: PurePosixPath, text: str | None) -> Layers:
        """With the ``.gitignore`` of ``folder`` (relative to the top), where it has one."""
        ignores = Ignores(text) if text else None
        return Layers((*self._layers, (folder, ignores))) if ignores else self

    def ignored(self, path: PurePosixPath, is_folder: bool) -> bool:
        """Whether ``path`` (relative to the top) is left out. Its parents are asked first, by whoever walks."""
        for folder, ignores in reversed(self._layers):
            verdict = ignores.verdict(path.relative_to(folder), is_folder)
            if verdict is not None:
                return verdict
        return False


def _patterns(text: str) -> Iterator[_Pattern]:
    for line in text.splitlines()[:MOST_PATTERNS]:
        pattern = _pattern(line)
        if pattern is not None:
            yield pattern


def _pattern(line: str) -> _Pattern | None:
    """One line; None for an empty one, a comment, and one that is no pattern."""
    # Trailing spaces do not count unless a backslash stands before them.
    line = re.sub(r"(?<!\\) +$", "", line.rstrip("\r\n"))
    if line.startswith("#") or len(line) > _LONGEST:
        return None
    negated = line.startswith("!")
    line = line[1:] if negated else line
    folders_only = line.endswith("/")
    line = line.rstrip("/") if folders_only else line
    anchored = "/" in line
    segments = [segment for segment in line.split("/") if segment]
    if not segments or len(segments) > _MOST_SEGMENTS:
        return None
    steps: list[re.Pattern[str] | None] = [] if anchored else [_ANY]
    steps += [_ANY if segment == "**" else _expression(segment) for segment in segments]
    if steps[-1] is _ANY and len(steps) > 1:
        # `a/**` is everything below a, not a itself.
        steps.append(_expression("*"))
    return _Pattern(tuple(steps), negated, folders_only)


def _expression(segment: str) -> re.Pattern[str]:
    """One component's pattern as an expression. ``fnmatch`` knows neither backslashes nor ``[^…]``."""
    out = ""
    at = 0
    while at < len(segment):
        char = segment[at]
        if char == "\\" and at + 1 < len(segment):
            at += 1
            out += f"[{segment[at]}]" if segment[at] in "*?[" else segment[at]
        elif char == "[" and segment[at + 1 : at + 2] == "^":
            at += 1
            out += "[!"
        else:
            out += char
        at += 1
    return re.compile(translate(out), re.DOTALL)


def _reaches_end(steps: Sequence[re.Pattern[str] | None], parts: Sequence[str]) -> bool:
    """All positions in ``steps`` that are possible after each component: nothing to go back to, so nothing blows up."""
    reached = _past_any(steps, {0})
    for part in parts:
        moved: set[int] = set()
        for at in reached:
            if at == len(steps):
                continue
            step = steps[at]
            if step is _ANY:
                moved.add(at)
            elif step.match(part):
                moved.add(at + 1)
        reached = _past_any(steps, moved)
        if not reached:
            return False
    return len(steps) in reached


def _past_any(steps: Sequence[re.Pattern[str] | None], places: set[int]) -> set[int]:
    """``places``, and those behind a ``**``, which may also stand for no component."""
    out = set(places)
    for place in places:
        at = place
        while at < len(steps) and steps[at] is _ANY:
            at += 1
            out.add(at)
    return out
