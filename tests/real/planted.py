"""What a planted edit is: a change of a sample project, and what one real server must be found to say of it.

The tables are in the modules ``planted_python``, ``planted_web`` and ``planted_native``. What they expect was found out
from the servers alone, without Ombud: all diagnostics of all files of a copy of ``fixtures/planted`` before and after.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.connection import Json

DISK = "It sees on the disk which files there are."
SETTINGS = "It reads its settings from the disk."
"""Why a preview cannot know."""

Files = Mapping[str, str]
Change = Mapping[str, str | None]
"""The new texts of a change by path; None for a file that goes."""


@dataclass(frozen=True)
class Wrong:
    """One diagnostic. ``line`` counts from one, ``message`` is a piece of what it says."""

    path: str
    line: int
    code: str
    message: str
    severity: str = "error"


@dataclass(frozen=True)
class Act:
    """A way of writing. ``change`` gives the texts that it leads to, ``params`` how it is asked for."""

    method: str
    change: Callable[[Files], Change]
    params: Callable[[Files], Json]


@dataclass(frozen=True)
class Step:
    """One write, and what is said of it over the written files and those that could break.

    ``resolved`` are named by their places before it. ``checked`` are dependents that must have been looked at.
    ``unseen`` tells why a preview cannot know, where it cannot by nature: the server looks at the disk for what has
    changed. ``late``: it looks at its settings now and then only, so right after the write it may as well not know.
    """

    act: Act
    introduced: tuple[Wrong, ...] = ()
    resolved: tuple[Wrong, ...] = ()
    still: int = 0
    checked: tuple[str, ...] = ()
    unseen: str | None = None
    late: bool = False


@dataclass(frozen=True)
class Case:
    """Steps on a copy of a project, over which ``files`` were laid before.

    ``open`` are open in the client, and have been diagnosed there. ``known`` have been asked about before.
    """

    kind: str
    server: str
    steps: tuple[Step, ...]
    files: Files = field(default_factory=dict)
    open: tuple[str, ...] = ()
    known: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.server}/{self.kind.replace(',', '').replace(' ', '_')}"


@dataclass(frozen=True)
class Stage:
    """What all cases of one server have in common.

    ``source`` is what it calls itself in its diagnostics, ``aside`` a file with which the others have nothing to do.
    """

    server: str
    tools: tuple[str, ...]
    project: str
    aside: str
    source: str
    off: tuple[str, ...]


_PYTHON = ("basedpyright", "pyright", "ty", "pyrefly", "zuban", "jedi-language-server", "pylsp", "ruff")
_WEB = ("typescript-language-server", "vtsls", "tsgo", "eslint", "src/tide.js", "biome", "vscode-json")


def _others(family: tuple[str, ...], name: str) -> tuple[str, ...]:
    return tuple(one for one in family if one != name)


STAGES = (
    Stage(
        "basedpyright",
        ("basedpyright-langserver",),
        "python",
        "harbour/tide.py",
        "basedpyright",
        _others(_PYTHON, "basedpyright"),
    ),
    Stage("ruff", ("ruff",), "python", "harbour/tide.py", "Ruff", _others(_PYTHON, "ruff")),
    Stage("tsgo", ("tsgo",), "typescript", "src/tide.ts", "ts", _others(_WEB, "tsgo")),
    Stage(
        "typescript-language-server",
        ("typescript-language-server", "tsserver"),
        "typescript",
        "src/tide.ts",
        "typescript",
        _others(_WEB, "typescript-language-server"),
    ),
    Stage(
        "eslint",
        ("vscode-eslint-language-server", "eslint"),
        "eslint",
        "src/tide.js",
        "eslint",
        _others(_WEB, "eslint"),
    ),
    Stage("gopls", ("gopls", "go"), "go", "tide/tide.go", "compiler", ()),
    Stage("clangd", ("clangd",), "cpp", "tide.cpp", "clang", ("yaml-language-server",)),
)


def edited(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert text.count(old) == 1, f"{old!r} must stand there once"
        text = text.replace(old, new)
    return text


def edit(path: str, *pairs: tuple[str, str]) -> Act:
    """``edit`` with these old and new texts, each made on what the former one left."""
    edits = [{"oldText": old, "newText": new} for old, new in pairs]
    return Act(
        "ombud/edit",
        lambda files: {path: edited(files[path], *pairs)},
        lambda files: {"path": path, "edits": edits},
    )


def write(path: str, content: str) -> Act:
    return Act("ombud/write", lambda files: {path: content}, lambda files: {"path": path, "content": content})


def patched(change: Mapping[str, str | tuple[tuple[str, str], ...] | None]) -> Act:
    """``apply_patch`` over several files: a new text, None for a file that goes, or old and new texts in it."""

    def texts(files: Files) -> Change:
        return {path: edited(files[path], *what) if isinstance(what, tuple) else what for path, what in change.items()}

    return Act("ombud/applyPatch", texts, lambda files: {"patch": unified(files, texts(files))})


def unified(files: Files, change: Change) -> str:
    """The patch in git's format that makes ``change`` of ``files``."""
    parts = []
    for path, new in change.items():
        old = files.get(path)
        parts.append(f"diff --git a/{path} b/{path}\n")
        parts += ["new file mode 100644\n"] if old is None else ["deleted file mode 100644\n"] if new is None else []
        parts += difflib.unified_diff(
            (old or "").splitlines(keepends=True),
            (new or "").splitlines(keepends=True),
            "/dev/null" if old is None else f"a/{path}",
            "/dev/null" if new is None else f"b/{path}",
        )
    return "".join(parts)
