"""Which file events a server wants to hear (LSP 3.17, "DidChangeWatchedFiles Notification").

A server says so by glob patterns that it registers. They are read leniently: a pattern that cannot be understood, or
has too many alternatives, stands for every file below its base, since an event too many is harmless and one too few
is not. A server that has registered nothing hears of the files that its row of the catalogue claims and of what marks
its root.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase, translate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ombud.errors import OmbudError
from ombud.guard.uris import path_to_uri, uri_to_path
from ombud.workspace.events import CHANGED, CREATED, DELETED

if TYPE_CHECKING:
    from ombud.downstream.catalogue import ServerEntry

BITS: Mapping[int, int] = {CREATED: 1, CHANGED: 2, DELETED: 4}
"""``FileChangeType`` → its bit in ``WatchKind``."""
EVERY_KIND = 7
MOST_ALTERNATIVES = 512
"""Patterns that one pattern with braces may stand for."""
_FLAGS = re.DOTALL | (re.IGNORECASE if sys.platform in ("darwin", "win32") else 0)
_ANY = "**"
_EVERYTHING = "(?:[^/]+/)*"


@dataclass(frozen=True, slots=True)
class Watcher:
    """One ``FileSystemWatcher`` of a registration.

    ``base`` is the real folder that ``pattern`` is relative to. ``kinds`` are bits of ``WatchKind``. ``anchored``: the
    registration itself named the folder, by a ``RelativePattern`` or an absolute pattern; otherwise it is the server's
    root. ``source`` is the ``GlobPattern`` as the server wrote it.
    """

    base: Path
    pattern: str
    kinds: int
    anchored: bool
    source: Any


def watchers(options: Sequence[Mapping[str, Any]], root: Path) -> tuple[Watcher, ...]:
    """The watchers of a server's registrations. What has another shape is left out."""
    found = []
    for one in options:
        listed = one.get("watchers")
        for watcher in listed if isinstance(listed, list) else ():
            read = _read(watcher, root) if isinstance(watcher, Mapping) else None
            if read is not None:
                found.append(read)
    return tuple(found)


def _read(watcher: Mapping[str, Any], root: Path) -> Watcher | None:
    source, kinds = watcher.get("globPattern"), watcher.get("kind")
    bits = kinds & EVERY_KIND if isinstance(kinds, int) and not isinstance(kinds, bool) else EVERY_KIND
    if isinstance(source, str):
        base, pattern = _split(source) if source.startswith("/") else (root, source)
        return Watcher(base, pattern, bits, source.startswith("/"), source)
    if isinstance(source, Mapping) and isinstance(source.get("pattern"), str):
        around = source.get("baseUri")
        uri = around.get("uri") if isinstance(around, Mapping) else around
        try:
            base = Path(os.path.realpath(uri_to_path(uri))) if isinstance(uri, str) else root
        except (OmbudError, ValueError):
            return None
        return Watcher(base, source["pattern"], bits, True, source)
    return None


def _split(pattern: str) -> tuple[Path, str]:
    """An absolute pattern as the folder that it names literally, with links resolved, and the rest."""
    parts = pattern.split("/")
    literal = 0
    while literal < len(parts) - 1 and not any(char in parts[literal] for char in "*?[{"):
        literal += 1
    return Path(os.path.realpath("/".join(parts[:literal]) or "/")), "/".join(parts[literal:])


class Interest:
    """What one server wants to hear. Made anew when its registrations change.

    ``options`` are those of its registrations; None where it has never registered. ``root`` is real.
    """

    def __init__(self, entry: ServerEntry, root: Path, options: Sequence[Mapping[str, Any]] | None) -> None:
        self.entry = entry
        self._inside = f"{root}".rstrip("/") + "/"
        self.watchers = watchers(options, root) if options is not None else None
        self._expressions = _by_kind(self.watchers or ())
        self._names, self._globs = marker_names(entry)
        self._globs += entry.watched

    def wants(self, path: str, kind: int, language: str | None) -> bool:
        """Whether an event of this kind (``FileChangeType``) is for the server.

        ``path`` is absolute, its folder real; ``language`` is what the file's name says.
        """
        if self.watchers is not None:
            expression = self._expressions.get(kind)
            return expression is not None and expression.fullmatch(path + "/") is not None
        return path.startswith(self._inside) and self._claims(path.rpartition("/")[2], language)

    def _claims(self, name: str, language: str | None) -> bool:
        if self.entry.claims(language, name) or name in self._names:
            return True
        return any(fnmatchcase(name, glob) for glob in self._globs)


def marker_names(entry: ServerEntry) -> tuple[frozenset[str], tuple[str, ...]]:
    """The last components of what decides about a server's root: whole names, and globs."""
    every = (*entry.markers, *entry.weak_markers, *entry.exclude_markers, *entry.exclude_nearer)
    names = {marker.partition("#")[0].rpartition("/")[2] for marker in every}
    globs = {name for name in names if any(char in name for char in "*?[")}
    return frozenset(names - globs), tuple(sorted(globs))


def _by_kind(all_of_it: Sequence[Watcher]) -> dict[int, re.Pattern[str]]:
    """For each kind of event one expression for all patterns that want it, for a whole path with a slash behind it."""
    found = {}
    for kind, bit in BITS.items():
        sources = dict.fromkeys(
            re.escape(f"{one.base}".rstrip("/") + "/") + expression(one.pattern) for one in all_of_it if one.kinds & bit
        )
        if sources:
            found[kind] = re.compile("|".join(f"(?:{source})" for source in sources), _FLAGS)
    return found


# -- patterns


def expression(pattern: str) -> str:
    """The regular expression of a glob pattern (LSP 3.17, ``Pattern``), for a relative path with a slash behind it.

    Stars that another star follows are atomic: the first place where they can end is as good as any, and a path is
    matched in linear time whatever the pattern.
    """
    alternatives = expanded(pattern)
    if alternatives is None:
        return _EVERYTHING
    try:
        source = "|".join(dict.fromkeys(_path(one) for one in alternatives))
        re.compile(source)
    except re.error:
        return _EVERYTHING
    return f"(?:{source})"


def expanded(pattern: str) -> list[str] | None:
    """The patterns without braces that a pattern stands for; None where they are too many."""
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        if len(done) + len(waiting) > MOST_ALTERNATIVES:
            return None
        one = waiting.pop()
        group = _group(one)
        if group is None:
            done.append(one)
        else:
            start, end, choices = group
            waiting += [one[:start] + choice + one[end:] for choice in reversed(choices)]
    return done


def _group(pattern: str) -> tuple[int, int, list[str]] | None:
    """The first braces of a pattern that are closed: where they start, where they end, and what they choose from."""
    start = pattern.find("{")
    while start >= 0:
        depth, begin = 0, start + 1
        choices = []
        for at in range(start, len(pattern)):
            char = pattern[at]
            depth += (char == "{") - (char == "}")
            if (char == "," and depth == 1) or depth == 0:
                choices.append(pattern[begin:at])
                begin = at + 1
            if depth == 0:
                return start, at + 1, choices
        start = pattern.find("{", start + 1)
    return None


def _path(pattern: str) -> str:
    """A pattern without braces. Each component takes its slash along, so that ``**`` may stand for none."""
    runs: list[list[str]] = [[]]
    for component in pattern.split("/"):
        if component == _ANY:
            if runs[-1] or len(runs) == 1:
                runs.append([])
        elif component not in ("", "."):
            runs[-1].append(_component(component) + "/")
    out = "".join(runs[0])
    for place, run in enumerate(runs[1:], 2):
        last = place == len(runs)
        out += _EVERYTHING + "".join(run) if last else f"(?>(?:[^/]+/)*?{''.join(run)})"
    return out


def _component(component: str) -> str:
    """One component of a pattern: pieces of single characters, with stars between them."""
    pieces = [""]
    at = 0
    while at < len(component):
        char, width = component[at], 1
        end = component.find("]", at + 2) if char == "[" else -1
        if char == "*":
            pieces.append("")
        elif char == "?":
            pieces[-1] += "[^/]"
        elif end > 0:
            pieces[-1] += _one_of(component[at + 1 : end])
            width = end + 1 - at
        else:
            pieces[-1] += re.escape(char)
        at += width
    out = pieces[0]
    for place, piece in enumerate(pieces[1:], 2):
        out += f"[^/]*{piece}" if place == len(pieces) else f"(?>[^/]*?{piece})" if piece else ""
    return out


def _one_of(inside: str) -> str:
    """``[a-z]``, ``[!…]`` and ``[^…]``; never a slash."""
    negated = inside.startswith(("!", "^"))
    text = translate(f"[{'!' if negated else ''}{inside[negated:]}]").removeprefix("(?s:")
    return "(?!/)" + text.removesuffix(r")\Z").removesuffix(r")\z")


# -- for a client that watches


def patterns_of(entry: ServerEntry) -> list[str]:
    """The files that a row of the catalogue claims or reads and the markers of its roots, as glob patterns for any
    folder."""
    from ombud.syntax.languages import load_languages

    rows = [row for name in entry.languages if (row := load_languages().languages.get(name)) is not None]
    extensions = [*entry.extensions, *(one for row in rows for one in row.extensions)]
    names, globs = marker_names(entry)
    exact = [*entry.filenames, *(one for row in rows for one in row.filenames), *sorted(names)]
    return [f"**/{one}" for one in (_either("*", extensions), _either("", exact), *globs, *entry.watched) if one]


def _either(before: str, choices: Sequence[str]) -> str:
    """One pattern for all of the choices; those that a pattern cannot hold are left out."""
    kept = [one for one in dict.fromkeys(choices) if one and not any(char in one for char in "*?[]{},/")]
    return before + (f"{{{','.join(kept)}}}" if len(kept) > 1 else kept[0]) if kept else ""


def client_glob(watcher: Watcher, spelled: Path, *, plain: bool, relative: bool) -> Any:
    """The ``GlobPattern`` by which a client watches what ``watcher`` means.

    ``spelled`` is its base as the client spells it; ``plain``: that is the client's only folder, to which patterns
    without a base are relative. ``relative``: the client knows ``RelativePattern``.
    """
    if plain and not watcher.anchored:
        return watcher.pattern
    if relative:
        return {"baseUri": path_to_uri(spelled), "pattern": watcher.pattern}
    around = "".join(f"[{char}]" if char in "*?[{" else char for char in f"{spelled}".rstrip("/"))
    return f"{around}/{watcher.pattern}" if watcher.pattern else around or "/"
