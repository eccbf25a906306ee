"""Where a hub listens: ``HOST:PORT``, ``unix:PATH``, or the place that belongs to a project."""

from __future__ import annotations

import hashlib
import os
import socket
from dataclasses import dataclass
from pathlib import Path

from ombud import __version__
from ombud.errors import Refused, UserError

PROJECT_MARKS = (".ombud.toml", ".git", ".hg", ".jj", ".svn")
"""What marks the folder whose sessions share a hub: a whole checkout, not each package in it."""
LOGS = "hubs"
"""The folder of the logs of hubs that nobody looks at, in the state folder."""


@dataclass(frozen=True, slots=True)
class Tcp:
    """A port; 0 for a free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Unix:
    """A socket's file, by an absolute path."""

    path: Path

    def __str__(self) -> str:
        return f"unix:{self.path}"


Address = Tcp | Unix


def parse(text: str) -> Address:
    """``unix:PATH``, ``HOST:PORT``, ``:PORT`` or ``PORT``; IPv6 in brackets. Raises `UserError`."""
    if text.startswith("unix:"):
        return _unix(text.removeprefix("unix:"))
    host, colon, port = text.rpartition(":")
    if not colon:
        host, port = "", text
    if not (port.isascii() and port.isdigit()) or len(port) > 5 or int(port) > 65535:
        raise UserError(
            f"{text!r} is no address; write HOST:PORT, such as 127.0.0.1:7000 (port 0 takes a free one), or unix:PATH."
        )
    host = host.removeprefix("[").removesuffix("]")
    return Tcp("127.0.0.1" if host in ("", "localhost") else host, int(port))


def _unix(path: str) -> Unix:
    from ombud.faces.lsp.unix import check_length

    if not path or "\0" in path:
        raise UserError("unix: is no address; write unix:PATH, such as unix:/tmp/mine/ombud.sock.")
    _check_system()
    place = Unix(Path(os.path.abspath(path)))  # noqa: PTH100  (a link in it is the user's own)
    check_length(place.path)
    return place


def _check_system() -> None:
    if not hasattr(socket, "AF_UNIX"):
        raise UserError("This system has no Unix sockets; listen on HOST:PORT, such as 127.0.0.1:7000.")


def project_of(start: Path) -> Path:
    """The real folder whose sessions share a hub: the nearest marked one at or above ``start``, else ``start``."""
    start = Path(os.path.realpath(start))
    for folder in (start, *start.parents):
        if folder.parent != folder and any(os.path.lexists(folder / mark) for mark in PROJECT_MARKS):
            return folder
    return start


def of_project(root: Path) -> Unix:
    """The socket of the hub for ``root``, in this user's runtime folder.

    Ombud's version is part of the name: sessions of two versions share no hub, and an update takes effect with the
    next session. Raises `UserError` and `Refused` as `runtime_folder` does, and for a path that is too long.
    """
    from ombud.faces.lsp.unix import check_length

    _check_system()
    name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    place = Unix(runtime_folder() / f"{name}-{__version__}.sock")
    check_length(place.path)
    return place


def siblings(place: Unix) -> list[tuple[str, Path]]:
    """The sockets of the same project's hubs of other versions: (version, path)."""
    name, _, _ = place.path.stem.partition("-")
    found = sorted(place.path.parent.glob(f"{name}-*.sock")) if len(name) == 16 else []
    return [(path.stem.partition("-")[2], path) for path in found if path != place.path]


def runtime_folder() -> Path:
    """This user's folder for sockets, mode 0700: in ``XDG_RUNTIME_DIR``, else in the state folder. Made if missing.

    Raises `Refused` for one that belongs to somebody else, `UserError` where it cannot be made.
    """
    from ombud.workspace.state import state_folder

    said = os.environ.get("XDG_RUNTIME_DIR", "")
    # A relative one is ignored, as the XDG rules say.
    folder = Path(said) / "ombud" if said and Path(said).is_absolute() else state_folder() / "run"
    return private(folder)


def private(folder: Path) -> Path:
    """Make ``folder`` if it is missing, and this user's alone. Raises as `runtime_folder`."""
    advice = f"Set {'XDG_STATE_HOME' if folder.name == LOGS else 'XDG_RUNTIME_DIR'} to a folder of yours."
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
        if not folder.is_dir() or folder.is_symlink():
            raise Refused(f"{folder} is no folder of its own; move it away. {advice}", kind="permission_denied")
        if hasattr(os, "getuid") and status.st_uid != os.getuid():
            raise Refused(f"{folder} belongs to another user and is not used. {advice}", kind="permission_denied")
        if status.st_mode & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        raise UserError(f"The folder {folder} cannot be used: {error.strerror}. {advice}") from None
    return folder
