"""Paths that are refused although they lie in the workspace: secrets and git's own files.

The list is the wire contract's ("Refused with ``sensitive_path``"). Only the user's own configuration can add to it
or allow something of it; a workspace never can. Names are compared folded (F7), see ``names.folded``.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from pathlib import PurePath

from ombud.errors import UserError
from ombud.guard.names import components, folded

_FOLDERS = {
    ".git": "everything in .git/ belongs to git",
    # The short name under which Windows can reach .git; git protects it on every system as well.
    "git~1": "everything in .git/ belongs to git",
    ".ssh": ".ssh/ holds keys",
    ".aws": ".aws/ holds credentials",
    ".gnupg": ".gnupg/ holds keys",
    ".kube": ".kube/ holds credentials",
}
_FILES = {
    ".env": "it is an environment file with secrets",
    ".npmrc": "it can hold registry credentials",
    ".netrc": "it holds credentials",
    ".pypirc": "it holds registry credentials",
    "credentials.json": "it holds credentials",
    "kubeconfig": "it holds cluster credentials",
}
_ENV_PATTERNS = frozenset({".env.example", ".env.sample", ".env.template"})
_KEY_SUFFIXES = (".pem", ".key", ".p12")


class SensitivePaths:
    """The refused names, with the user's own additions and exceptions.

    ``add`` and ``allow`` are simple globs as in a gitignore file: without a slash (or with one at the end only) a
    pattern matches a file or folder of that name at any depth, and all that is in the folder; with a slash it is
    anchored at the workspace folder. ``*`` and ``?`` stay within a component, ``**`` crosses. As in gitignore an
    exception for a file's name does not open a protected folder: allow the folder, or name the file with its path.
    ``allow`` wins over both.

    Raises ``UserError`` for a pattern that cannot match anything or that begins with ``!``.
    """

    def __init__(self, add: Sequence[str] = (), allow: Sequence[str] = ()) -> None:
        self._add = tuple(_Glob(pattern) for pattern in add)
        self._allow = tuple(_Glob(pattern) for pattern in allow)

    def reason(self, path: PurePath, folder: PurePath | None = None) -> str | None:
        """Why the path is protected, as a clause (``"it is a private key (*.pem)"``), or None.

        ``folder`` is the workspace folder at which anchored patterns begin. The path need not exist (F6); the
        protected folders count in every component, also above the workspace folder. Nothing is read: links are the
        caller's.
        """
        whole = components(path)
        if not whole:
            return None
        inner = whole
        if folder is not None and path.is_relative_to(folder):
            inner = components(path.relative_to(folder))
        for index, name in enumerate(whole):
            why = _FOLDERS.get(name)
            if why is not None and not self._allowed(whole, inner, index):
                return why
        why = _file_reason(whole[-1])
        if why is not None and not self._allowed(whole, inner, len(whole) - 1):
            return why
        for glob in self._add:
            hit = glob.match(inner)
            if hit is not None and not self._allowed(whole, inner, hit + len(whole) - len(inner)):
                return f"the user's configuration protects {glob.text}"
        return None

    def _allowed(self, whole: tuple[str, ...], inner: tuple[str, ...], hit: int) -> bool:
        """Whether an exception covers the component ``whole[hit]`` that a rule has matched."""
        for glob in self._allow:
            if glob.anchored:
                if glob.match(inner) is not None:
                    return True
            elif glob.match(whole[: hit + 1]) is not None:
                return True
        return False


def _file_reason(name: str) -> str | None:
    why = _FILES.get(name)
    if why is not None:
        return why
    if name.startswith(".env.") and name not in _ENV_PATTERNS:
        return _FILES[".env"]
    if name.endswith(_KEY_SUFFIXES):
        return f"it is a private key (*.{name.rpartition('.')[2]})"
    if name.startswith("id_") and not name.endswith(".pub"):
        return "it is named as a private key (id_*)"
    return None


class _Glob:
    """One gitignore-like pattern, matched component by component so that no pattern can take long."""

    def __init__(self, text: str) -> None:
        self.text = text
        body = text.strip()
        if body.startswith("!"):
            raise UserError(f"The pattern {text!r} begins with “!”: list exceptions under allow instead.")
        core = body.strip("/")
        if not core or "\0" in core:
            raise UserError(f"The pattern {text!r} matches nothing: name a file or a folder.")
        self.anchored = "/" in body.rstrip("/")
        self._parts = [None if part == "**" else _component(part) for part in core.split("/") if part]

    def match(self, path: tuple[str, ...]) -> int | None:
        """The index of the component at which the pattern is fulfilled, or None; what lies below is matched too."""
        if not self.anchored:
            pattern = self._parts[0]
            return next((i for i, name in enumerate(path) if pattern is None or pattern.match(name)), None)
        reached = {0}
        for index, name in enumerate(path):
            reached = self._step(reached, name)
            if len(self._parts) in reached:
                return index
            if not reached:
                return None
        return None

    def _step(self, reached: set[int], name: str) -> set[int]:
        """The pattern positions after one more component, ``**`` standing for any number of them."""
        after: set[int] = set()
        for position in self._closure(reached):
            if position == len(self._parts):
                continue
            part = self._parts[position]
            if part is None:
                # A last ``**`` is fulfilled by one component at least: ``a/**`` is what lies in a, not a itself.
                after.add(position + 1 if position + 1 == len(self._parts) else position)
            elif part.match(name):
                after.add(position + 1)
        return after

    def _closure(self, reached: set[int]) -> set[int]:
        positions = set(reached)
        for position in sorted(reached):
            at = position
            while at < len(self._parts) - 1 and self._parts[at] is None:
                at += 1
                positions.add(at)
        return positions


def _component(pattern: str) -> re.Pattern[str]:
    # The fold also drops a trailing dot or space, which a name that is compared has lost as well.
    return re.compile(fnmatch.translate(folded(pattern) or pattern))
