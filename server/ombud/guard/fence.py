"""The workspace fence: which paths of the outside world are files of this workspace, and how they are opened.

``Fence.resolve`` turns an outside string into an ``Inside`` or raises; nothing else makes one. Checking a path and
using it are two moments, so what reads or writes goes on by handle: ``Fence.read`` and ``Fence.directory`` walk
from the workspace folder without following links (F4) and look again at what they opened (F2).

Not covered, because no file system can tell: a hard link that somebody with the user's own rights made to a file
elsewhere. ``FileBytes.nlink`` says when a file has several names.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ombud.errors import Refused, UserError
from ombud.guard import handles
from ombud.guard.names import windows_trouble
from ombud.guard.plain import clean
from ombud.guard.sensitive import SensitivePaths
from ombud.guard.uris import is_file_uri, path_to_uri, uri_to_text

__all__ = ["Fence", "FileBytes", "Inside", "Intent"]

Intent = Literal["read", "write", "create", "delete"]

# Longer than any system accepts (Windows 32,767 characters, Linux 4,096 bytes); a bound for our own loops.
_LONGEST = 32_767
_OTHER_SCHEME = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]+:/|untitled:)")
_WINDOWS = os.name == "nt"


@dataclass(frozen=True, slots=True)
class Inside:
    """A place in the workspace that has passed the fence.

    ``path``: absolute, all links resolved. ``folder``: the real workspace folder it lies in (the innermost).
    ``relative``: posix text relative to the first folder when it lies in that, else the absolute posix path.
    ``exists``: at the time of the check. ``spelled_uri``: the URI as the client spells its folder, when that was
    given through a link (macOS' ``/tmp``); compare with what editors send by ``uris.same_uri_key``.
    """

    path: Path
    folder: Path
    relative: str
    exists: bool
    spelled_uri: str

    @property
    def uri(self) -> str:
        """The ``file:`` URI of ``path``."""
        return path_to_uri(self.path)


@dataclass(frozen=True, slots=True)
class FileBytes:
    """A file's content with the metadata of the very file that was read.

    ``mode`` is the whole ``st_mode``; ``mtime_ns`` is of before the reading, so a change during it is noticed later.
    """

    data: bytes
    mode: int
    ino: int
    dev: int
    nlink: int
    mtime_ns: int
    size: int
    uid: int
    gid: int


class Fence:
    """The folders of a workspace, and the only door to the files in them.

    ``folders`` may be given relative, through links and several times; ``Fence.folders`` are the real ones in the
    same order. Raises ``Refused(kind="not_found")`` for a folder that is not there. With no folder everything is
    outside.
    """

    def __init__(self, folders: Sequence[Path], sensitive: SensitivePaths) -> None:
        self._sensitive = sensitive
        self._spelled: dict[Path, Path] = {}
        for folder in folders:
            spelled = Path(os.path.abspath(folder))  # noqa: PTH100 - Path.resolve would lose the client's spelling
            try:
                real = Path(os.path.realpath(spelled, strict=True))
                if not real.is_dir():
                    raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            except (OSError, ValueError, RecursionError) as error:
                words = error.strerror if isinstance(error, OSError) else "its name is not valid"
                raise Refused(
                    f"The workspace folder {_shown(str(folder))} cannot be opened: {words}.", kind="not_found"
                ) from error
            self._spelled.setdefault(real, spelled)
        self.folders: tuple[Path, ...] = tuple(self._spelled)

    def contains(self, path: Path) -> bool:
        """Whether a real path (absolute, links resolved) is a workspace folder or lies in one.

        Compared by components, never by text (F1). A relative path and one with ``..`` are not contained.
        """
        return self._place(path) is not None

    def resolve(self, path: str, *, intent: Intent) -> Inside:
        """Let a path of the outside world in: relative to the first folder, absolute, or a ``file:`` URI.

        ``read`` and ``delete`` need an existing file or folder; ``write`` and ``create`` accept a missing one (and
        its missing parents) as well as an existing one, which ``Inside.exists`` tells. Use two calls for a rename
        (F6).

        Raises ``Refused``: ``outside_workspace`` (also when any step of the resolution fails, F3, and for what only
        a link leads to), ``sensitive_path`` (the name as given or the file it leads to, F5, F7), ``not_found``,
        ``conflict`` (deleting through a link). Raises ``UserError`` for text that is no path: empty, with a NUL,
        another scheme.
        """
        named = self._named(path)
        shown = _shown(path)
        real, exists = self._real(named, shown)
        folder = self._place(real)
        if folder is None:
            raise self._outside(shown)
        self._check_sensitive(named, shown)
        self._check_sensitive(real, shown)
        if intent in ("read", "delete") and not exists:
            raise Refused(f"{shown} does not exist. Check the path.", kind="not_found")
        if intent != "read" and real in self._spelled:
            raise Refused(f"{shown} is the workspace folder itself; name a file in it.", kind="outside_workspace")
        if intent == "delete" and _is_link(named):
            raise Refused(
                f"{shown} is a symbolic link. Delete the file by its own name, {self._relative(real)}.",
                kind="conflict",
            )
        return self._inside(real, folder, exists)

    @contextmanager
    def directory(self, inside: Inside, *, create: bool = False, made: list[Path] | None = None) -> Iterator[int]:
        """A descriptor of the folder that holds the file, for ``dir_fd=``; closed at the end of the block.

        Every component from the workspace folder on is opened without following links (F4), so whatever is swapped
        afterwards, what is done through the descriptor happens in a folder that was in the workspace. With ``create``
        missing folders are made and appended to ``made``, the outermost first. Raises ``Refused``.

        Without folder handles (Windows) this raises ``Refused(kind="permission_denied")``: callers open by path
        there and hand what they opened to ``confirm``. ``handles.SUPPORTED`` tells which.
        """
        base, steps = self._steps(inside)
        if not handles.SUPPORTED:
            raise Refused(
                f"{inside.relative} cannot be reached by folder handles on this system.", kind="permission_denied"
            )
        fd = handles.walk(base, steps, create=create, on_create=None if made is None else made.append)
        try:
            yield fd
        finally:
            os.close(fd)

    def read(self, inside: Inside, limit: int) -> FileBytes:
        """The bytes of an ordinary file of at most ``limit`` bytes.

        Raises ``Refused``: ``not_text`` (a folder, pipe, socket, device), ``too_large``, ``not_found``,
        ``permission_denied``, ``outside_workspace`` (a link or another file stands there now, F2, F4),
        ``sensitive_path``.
        """
        with self._opened(inside) as (fd, status):
            data = handles.read_all(fd, limit, inside.relative, status.st_size)
        return FileBytes(
            data=data,
            mode=status.st_mode,
            ino=status.st_ino,
            dev=status.st_dev,
            nlink=status.st_nlink,
            mtime_ns=status.st_mtime_ns,
            size=len(data),
            uid=status.st_uid,
            gid=status.st_gid,
        )

    def chmod(self, inside: Inside, mode: int) -> None:
        """Set the permission bits of an ordinary file on its handle, never through a link (F9). Raises as ``read``."""
        with self._opened(inside) as (fd, _status):
            try:
                os.fchmod(fd, stat.S_IMODE(mode))
            except OSError as error:
                raise handles.refusal(error, inside.relative) from error

    def confirm(self, fd: int, inside: Inside) -> None:
        """Contain again what has been opened (F2); raises ``Refused(kind="outside_workspace")``.

        The system is asked for the opened file's own path; where it does not tell, the path is resolved once more and
        must lead to the very file that is open.
        """
        told = handles.opened_path(fd)
        try:
            if told is None:
                told = Path(os.path.realpath(inside.path, strict=True))
                if not os.path.samestat(told.stat(), os.fstat(fd)):
                    raise handles.replaced(inside.relative)
        except (OSError, RecursionError) as error:
            raise handles.replaced(inside.relative) from error
        if not self.contains(told):
            raise handles.replaced(inside.relative)

    @contextmanager
    def _opened(self, inside: Inside) -> Iterator[tuple[int, os.stat_result]]:
        base, steps = self._steps(inside)
        if handles.SUPPORTED:
            folder = handles.walk(base, steps)
            try:
                fd, status = handles.open_file(folder, inside.path.name, inside.relative)
            finally:
                os.close(folder)
        else:
            fd, status = handles.open_file(None, str(inside.path), inside.relative)
        try:
            self.confirm(fd, inside)
            yield fd, status
        finally:
            os.close(fd)

    def _steps(self, inside: Inside) -> tuple[Path, tuple[str, ...]]:
        """The outermost folder around the file, and the components from there to the file's own folder.

        The outermost, because a folder within another one could itself be swapped by what is written into that.
        The ``Inside`` is checked once more: it may be older than this fence's rules, or another fence's.
        """
        around = [folder for folder in self.folders if inside.path.is_relative_to(folder)]
        if not around or ".." in inside.path.parts:
            raise self._outside(inside.relative)
        self._check_sensitive(inside.path, inside.relative)
        base = min(around, key=lambda folder: len(folder.parts))
        parts = inside.path.relative_to(base).parts
        if not parts:
            raise Refused(
                f"{inside.relative} is the workspace folder itself, not a file. Name a file in it.", kind="not_text"
            )
        return base, parts[:-1]

    def _named(self, path: str) -> Path:
        """The absolute path that the text spells, links and ``..`` still in it."""
        if not path:
            raise UserError("The path is empty. Name a file of the workspace, or “.” for the whole.")
        text = path
        if is_file_uri(path):
            text = uri_to_text(path)
        elif _OTHER_SCHEME.match(path):
            raise UserError(f"{_shown(path)} is not a file. Pass a path or a file: URI.")
        try:
            encoded = os.fsencode(text)
        except UnicodeEncodeError:
            raise UserError(f"{_shown(path)} is not valid Unicode, so it names no file.") from None
        if b"\0" in encoded:
            raise UserError(f"{_shown(path)} contains a NUL byte, which no path can hold.")
        if not self.folders or len(encoded) > _LONGEST:
            raise self._outside(_shown(path))
        named = self.folders[0] / text
        if _WINDOWS:
            self._check_windows(named, _shown(path))
        return named

    def _check_windows(self, named: Path, shown: str) -> None:
        for name in named.parts[1:]:
            trouble = windows_trouble(name)
            if trouble is not None:
                raise Refused(f"{shown} is refused: {trouble}. Use another name.", kind="outside_workspace")

    def _real(self, named: Path, shown: str) -> tuple[Path, bool]:
        """The path with every link resolved, and whether something is there.

        A missing file is its deepest existing folder, resolved, and the missing names. Any other error denies (F3).
        """
        try:
            real = _strict(named)
        except FileNotFoundError:
            return self._missing(named, shown), False
        except NotADirectoryError as error:
            self._deny_if_outside(named, shown)
            raise Refused(f"{shown} leads through a file as if it were a folder.", kind="not_found") from error
        except (OSError, ValueError, RecursionError) as error:
            raise self._unresolved(named, shown, error) from error
        return self._rebased(real), True

    def _missing(self, named: Path, shown: str) -> Path:
        rest: list[str] = []
        at = named
        while at != at.parent:
            try:
                if stat.S_ISLNK(at.lstat().st_mode):
                    raise self._dangling(at, shown)
            except FileNotFoundError:
                pass
            except (OSError, ValueError) as error:
                raise self._unresolved(named, shown, error) from error
            rest.append(at.name)
            at = at.parent
            try:
                real = _strict(at)
            except FileNotFoundError:
                continue
            except (OSError, ValueError, RecursionError) as error:
                raise self._unresolved(named, shown, error) from error
            if ".." in rest:
                self._deny_if_outside(named, shown)
                raise Refused(f"{shown} leads through a folder that does not exist.", kind="not_found")
            return self._rebased(real.joinpath(*reversed(rest)))
        raise self._outside(shown)

    def _dangling(self, link: Path, shown: str) -> Refused:
        """A link to nothing: creating through it would put a file wherever it points (F6)."""
        try:
            inside = self.contains(Path(os.path.realpath(link)))
        except (OSError, ValueError, RecursionError):
            inside = False
        if not inside:
            return self._outside(shown)
        return Refused(
            f"{shown} leads through a symbolic link to a file that does not exist. Name the file itself.",
            kind="not_found",
        )

    def _deny_if_outside(self, named: Path, shown: str) -> None:
        """Say "outside" of what is outside even by its letters, so that no error tells what exists there."""
        if not self.contains(Path(os.path.normpath(named))):
            raise self._outside(shown)

    def _unresolved(self, named: Path, shown: str, error: Exception) -> Refused:
        """Any error on the way denies (F3); the system's words are told of the workspace's own paths only."""
        if not self.contains(Path(os.path.normpath(named))):
            return self._outside(shown)
        words = error.strerror if isinstance(error, OSError) and error.strerror else "too many links"
        return Refused(
            f"{shown} cannot be resolved ({words}), so it is not known to lie in the workspace.",
            kind="outside_workspace",
        )

    def _outside(self, shown: str) -> Refused:
        folders = ", ".join(str(folder) for folder in self.folders) or "none"
        return Refused(
            f"{shown} is outside the workspace (folders: {folders}). Name a file in it, or add the folder.",
            kind="outside_workspace",
        )

    def _check_sensitive(self, path: Path, shown: str) -> None:
        why = self._sensitive.reason(path, self._place(path) or self._spelled_place(path))
        if why is not None:
            raise Refused(
                f"{shown} is refused: {why}. Only the user's own configuration can allow it.",
                kind="sensitive_path",
            )

    def _place(self, path: Path) -> Path | None:
        """The innermost workspace folder around a real path."""
        if ".." in path.parts:
            return None
        around = [folder for folder in self.folders if path.is_relative_to(folder)]
        return max(around, key=lambda folder: len(folder.parts), default=None)

    def _spelled_place(self, path: Path) -> Path | None:
        return next((spelled for spelled in self._spelled.values() if path.is_relative_to(spelled)), None)

    def _rebased(self, real: Path) -> Path:
        """The path under its folder's own spelling, where the disk takes two spellings for one folder (macOS).

        ``realpath`` keeps the caller's letters, so on a case-insensitive disk a folder is known by its identity.
        """
        if self._place(real) is not None:
            return real
        for above in (real, *real.parents):
            known = _identity(above)
            if known is None:
                continue
            for folder in self.folders:
                if known == _identity(folder):
                    return folder / real.relative_to(above)
        return real

    def _relative(self, path: Path) -> str:
        first = self.folders[0]
        return path.relative_to(first).as_posix() if path.is_relative_to(first) else path.as_posix()

    def _inside(self, path: Path, folder: Path, exists: bool) -> Inside:
        spelled = self._spelled[folder] / path.relative_to(folder)
        return Inside(path, folder, self._relative(path), exists, path_to_uri(spelled))


def _strict(named: Path) -> Path:
    """``realpath`` that must succeed, and that the kernel must agree with.

    Near PATH_MAX, and with more links than the kernel follows, the two have disagreed (F3): then the file that the
    kernel opens by this name is not the one whose path we hold, and an OSError says so.
    """
    for _attempt in range(3):
        real = Path(os.path.realpath(named, strict=True))
        if os.path.samestat(named.stat(), real.lstat()):
            return real
        # An editor that saves by renaming can fall between the two looks; a true disagreement stays.
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino)


def _is_link(path: Path) -> bool:
    try:
        return stat.S_ISLNK(path.lstat().st_mode)
    except OSError:
        return False


def _shown(path: str) -> str:
    """An outside path as it may stand in a message."""
    return clean(path.replace("\n", " "), 200) or "The path"
