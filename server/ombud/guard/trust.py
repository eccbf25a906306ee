"""Trust: whether a workspace's own code may run, who said so, and what exactly they said it of.

The rules are the wire contract's ("Trust"). Stored trust is bound to the real path of the root and to the very
folder that stood there, and for executables in it to their content (T5); it is kept in the user's state folder and
is never read from, or believed because of, anything in the workspace (T3).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ombud.errors import UserError
from ombud.guard.store import OUTSIDE, Entry, StoreFile, digest

__all__ = ["Entry", "Trust", "TrustState", "TrustStore", "Verdict"]

TrustState = Literal["trusted", "untrusted", "unasked"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Yes, or no with a sentence that says why; its truth value is ``ok``."""

    ok: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.ok


class TrustStore:
    """The roots the user has trusted for good, in one file of the user's (mode 0600, in a folder of mode 0700).

    ``path`` defaults to ``trust.json`` in the user's state folder for Ombud. The file is read again when it has
    changed, so ``ombud trust`` reaches a running server. A file that is damaged, or that others can write, counts
    as empty and ``problems`` says so; the next ``grant`` keeps the damaged one beside the new one.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._file = StoreFile(_default_path() if path is None else path)

    @property
    def path(self) -> Path:
        """Where the store is kept."""
        return self._file.path

    @property
    def problems(self) -> tuple[str, ...]:
        """Sentences about what is wrong with the store's file; none when it is well or not there yet."""
        self._file.entries()
        return self._file.problems

    def entries(self) -> tuple[Entry, ...]:
        """What has been granted, in order of path; also for roots that are not there any more."""
        return tuple(sorted(self._file.entries(), key=lambda entry: entry.path))

    def grant(self, root: Path, executables: Sequence[Path] = ()) -> Entry:
        """Trust a root, and the given executables in it as they are now; replaces what was granted for this root
        before.

        Pass every repository-local executable that is going to run: one that is not listed, or that has changed
        since, does not run (T5). Raises ``UserError`` when the root or an executable is not there, when the root is
        the whole disk, or when the store itself lies in it; ``Refused(kind="permission_denied")`` when the store
        cannot be written.
        """
        real = _real_folder(root)
        if real == Path(real.anchor):
            raise UserError("The whole disk cannot be trusted. Trust the folder of one project.")
        if self.path.is_relative_to(real):
            raise UserError(
                f"{real} cannot be trusted for good, because the trust store lies in it ({self.path}) and could be "
                "changed from there. Trust the folder of one project."
            )
        status = real.stat()
        entry = Entry(
            path=str(real),
            dev=status.st_dev,
            ino=status.st_ino,
            executables=dict(_bound(real, executable) for executable in executables),
        )
        self._file.change(lambda entries: [*(old for old in entries if old.path != entry.path), entry])
        return entry

    def revoke(self, root: Path) -> bool:
        """Take back what was granted for this root; False when nothing was. The root need not exist any more.

        Raises ``UserError`` when the root is trusted only as a part of a trusted folder, which it names.
        """
        real = os.path.realpath(root)
        if any(entry.path == real for entry in self._file.entries()):
            self._file.change(lambda entries: [entry for entry in entries if entry.path != real])
            return True
        cover = self._covering(Path(real))
        if cover:
            raise UserError(
                f"{real} is trusted as a part of {cover[0].path}. Revoke that, then trust what you still need."
            )
        return False

    def state(self, root: Path) -> Literal["trusted", "unknown"]:
        """Whether the root, or a folder that it lies in, has been granted and is still the same folder.

        Compared by real path components (never by text, as F1) and by the folder's inode number. The device number
        is recorded but not compared: on btrfs, NFS and APFS it changes with every boot. A root that the store
        itself lies in is never trusted by it (T3).
        """
        return "trusted" if self._covering(Path(os.path.realpath(root))) else "unknown"

    def executable_ok(self, root: Path, exe: Path) -> Verdict:
        """Whether a repository-local executable is the one that was there when the root was trusted, to the byte.

        ``exe`` may be a link; what it leads to is judged. It is hashed at each call unless its inode, size and
        times are unchanged. Between this answer and the start of the process there is a moment that no user-space
        check closes.
        """
        cover = self._covering(Path(os.path.realpath(root)))
        if not cover:
            return Verdict(False, f"{root} is not trusted.")
        try:
            key, now = _bound(Path(cover[0].path), exe)
        except UserError as error:
            return Verdict(False, error.message)
        recorded = [entry.executables[key] for entry in cover if key in entry.executables]
        if not recorded:
            return Verdict(
                False,
                f"{exe} was not there, or not used, when {cover[0].path} was trusted. Look at it and trust it again.",
            )
        if now not in recorded:
            return Verdict(
                False,
                f"{exe} has changed since {cover[0].path} was trusted. Look at the change and trust it again.",
            )
        return Verdict(True)

    def _covering(self, real: Path) -> list[Entry]:
        """The entries that hold for a real path, the innermost first."""
        found = []
        for entry in self._file.entries():
            granted = Path(entry.path)
            if real.is_relative_to(granted) and not self.path.is_relative_to(granted) and _is_same(granted, entry):
                found.append(entry)
        return sorted(found, key=lambda entry: -len(Path(entry.path).parts))


@dataclass(frozen=True, slots=True)
class Trust:
    """What one session may run in one root; made by ``decide`` once and passed to whatever starts something."""

    root: Path
    state: TrustState
    source: Literal["client", "store", "nobody"]
    _store: TrustStore | None = field(default=None, repr=False, compare=False)

    @classmethod
    def decide(cls, root: Path, said: bool | None, store: TrustStore | None) -> Trust:
        """The contract's rule. ``said``: the client's ``trusted``, None when it said nothing; wins over the store."""
        if said is not None:
            return cls(root, "trusted" if said else "untrusted", "client", store)
        if store is not None and store.state(root) == "trusted":
            return cls(root, "trusted", "store", store)
        return cls(root, "unasked", "nobody", store)

    @property
    def allows_children(self) -> bool:
        """Whether any child process may start; an untrusted workspace gets the in-process features only (T4)."""
        return self.state != "untrusted"

    @property
    def allows_workspace_code(self) -> bool:
        """Whether servers may start that run code of the workspace: build scripts, plugins, configuration in code."""
        return self.state == "trusted"

    def allows_local(self, exe: Path) -> Verdict:
        """Whether an executable that lies in the workspace may start (T1, T5, T7).

        A client that said ``trusted`` has asked its user about everything in the folder; stored trust holds for the
        executables that were there.
        """
        if self.state != "trusted":
            return Verdict(False, f"{exe} belongs to the workspace, which is not trusted. {self.explanation}")
        if self.source == "store" and self._store is not None:
            return self._store.executable_ok(self.root, exe)
        return Verdict(True)

    @property
    def explanation(self) -> str:
        """One or two sentences for a person: where this trust comes from, or how to give it."""
        if self.state == "trusted":
            said = "the client said so" if self.source == "client" else "it is in your trust store"
            return f"{self.root} is trusted: {said}."
        if self.state == "untrusted":
            return (
                f"The client said that {self.root} is not trusted. Trust the workspace in your editor if you know it."
            )
        return f"Nobody has trusted {self.root} yet. Run “ombud trust {self.root}” if you know what is in it."


def _bound(root: Path, executable: Path) -> tuple[str, str]:
    """What an approval is bound to: the real path, and the content where that lies in the root.

    A link out of the repository (``.venv/bin/python``) is bound to where it leads; the content there is the system's.
    """
    try:
        real = Path(os.path.realpath(executable, strict=True))
        return str(real), digest(real) if real.is_relative_to(root) else OUTSIDE
    except (OSError, ValueError, RecursionError) as error:
        words = error.strerror if isinstance(error, OSError) and error.strerror else "its name is not valid"
        raise UserError(f"The executable {executable} cannot be read: {words}.") from error


def _real_folder(root: Path) -> Path:
    try:
        real = Path(os.path.realpath(root, strict=True))
    except (OSError, ValueError, RecursionError) as error:
        words = error.strerror if isinstance(error, OSError) and error.strerror else "its name is not valid"
        raise UserError(f"{root} cannot be trusted: {words}.") from error
    if not real.is_dir():
        raise UserError(f"{root} is not a folder. Trust the folder of a project.")
    return real


def _is_same(folder: Path, entry: Entry) -> bool:
    """Whether the folder that was granted still stands at its path, and not a link or another folder in its place."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    return status.st_ino == entry.ino


def _default_path() -> Path:
    """``trust.json`` in the user's state folder.

    A relative folder in the environment (``XDG_STATE_HOME=.state``) would be looked up in whatever folder the process
    stands in, which is the workspace; the XDG rules say to ignore it, and so does T3.
    """
    import platformdirs

    told = Path(platformdirs.user_state_dir("ombud", appauthor=False))
    if not told.is_absolute():
        told = Path.home() / ".local" / "state" / "ombud"
    return told / "trust.json"
