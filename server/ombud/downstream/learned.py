"""What servers announced here before: kept in the user's cache folder, so that the next ``initialize`` knows it.

Two kinds of files, each written whole and in one rename. A *profile* belongs to a server's name and its version. A
*place* belongs to a workspace folder and says which servers ran there, with the state of the executable: one that was
exchanged since may announce something else, so its old profile only adds to the measured one. A file that is damaged,
too large or of another Ombud's making is as good as none, and so is a folder that cannot be read or written.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import sys
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from ombud.downstream.profiles import MOST_FOLDERS, Profile

LOG = logging.getLogger("ombud.learned")
T = TypeVar("T")
LARGEST = 256 * 1024
"""Bytes of a file that is read, or written."""
MOST_FILES = 300
"""Files of each kind; those that were not written for the longest time go first."""
MOST_SERVERS = 32
"""Servers that are remembered of one folder, the newest ones."""


class Stamp(msgspec.Struct, frozen=True, array_like=True):
    """The state of an executable: nanoseconds of its last change, and bytes."""

    changed: int
    size: int


class _Seen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    profile: str
    executable: str
    stamp: Stamp | None = None


class _Place(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    servers: dict[str, _Seen]


class Known(NamedTuple):
    """``exact``: the executable is still the one whose profile this is."""

    profile: Profile
    exact: bool


def cache_folder() -> Path:
    """The user's cache folder for Ombud: that of ``platformdirs``, whose import would cost ``initialize`` too much.

    A relative one from the environment is ignored, as the XDG rules say: it would lie in the workspace (T3).
    """
    said = os.environ.get("XDG_CACHE_HOME", "").strip()
    if Path(said).is_absolute():
        return Path(said) / "ombud"
    return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "ombud"


def stamp(executable: str) -> Stamp | None:
    """The present state of an executable; None where there is none that can be looked at."""
    try:
        found = os.stat(executable)  # noqa: PTH116  (a name from a file: it need be no path of this system)
    except (OSError, ValueError):
        return None
    return Stamp(found.st_mtime_ns, found.st_size)


class Learned:
    """See the module. ``folder`` is made at the first write. Never raises for what the disk does."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._lock = threading.Lock()

    @property
    def folder(self) -> Path:
        return self._folder if self._folder is not None else cache_folder() / "profiles"

    def known(self, folders: Sequence[Path]) -> dict[str, Known]:
        """What is known of the servers that ran in these workspace folders, by name."""
        out: dict[str, Known] = {}
        for folder in folders[:MOST_FOLDERS]:
            place = self._read(self._place(folder), _Place)
            for name, seen in place.servers.items() if place is not None else ():
                profile = self._read(self.folder / "servers" / f"{_plain(seen.profile)}.json", Profile)
                if profile is not None and name not in out:
                    same = seen.stamp is not None and seen.stamp == stamp(seen.executable)
                    out[name] = Known(profile, same)
        return out

    def learn(self, name: str, executable: str, profile: Profile, folders: Iterable[Path]) -> None:
        """A server of that name was started from ``executable`` in these workspace folders and has ``profile``.

        Blocks on the disk: call it in a thread.
        """
        now = stamp(executable)
        version = profile.version or f"{now.changed}-{now.size}" if now is not None else profile.version
        key = _digest(f"{name}\0{version}")
        with self._lock:
            if not self._write(self.folder / "servers" / f"{key}.json", profile):
                return
            for folder in folders:
                path = self._place(folder)
                place = self._read(path, _Place)
                others = {} if place is None else {one: seen for one, seen in place.servers.items() if one != name}
                kept = dict(list(others.items())[-(MOST_SERVERS - 1) :])
                self._write(path, _Place({**kept, name: _Seen(key, executable, now)}))

    def _place(self, folder: Path) -> Path:
        return self.folder / "places" / f"{_digest(str(folder))}.json"

    def _read(self, path: Path, kind: type[T]) -> T | None:
        try:
            data = _bytes(path)
            return msgspec.json.decode(data, type=kind) if len(data) <= LARGEST else None
        except (OSError, ValueError, RecursionError):
            return None

    def _write(self, path: Path, value: msgspec.Struct) -> bool:
        """Whether ``path`` holds ``value`` now."""
        try:
            data = msgspec.json.encode(value)
            if len(data) > LARGEST:
                return False
            if path.is_file() and _bytes(path) == data:
                os.utime(path)
                return True
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fresh = path.with_name(f"{path.stem}.{os.getpid()}.new")
            fresh.write_bytes(data)
            fresh.replace(path)
            _prune(path.parent)
        except (OSError, UnicodeEncodeError, RecursionError) as error:
            # A server may have announced a lone surrogate, which no file of ours can hold.
            LOG.debug("%s could not be kept: %s", path.name, error)
            return False
        return True


def _bytes(path: Path) -> bytes:
    """At most one byte more than may be. Raises `OSError`, also for a pipe, which would keep everybody waiting."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(f"{path} is no ordinary file")
        return file.read(LARGEST + 1)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _plain(name: str) -> str:
    """A file's name out of a file: it must not lead anywhere."""
    return name if name.isalnum() else "none"


def _prune(folder: Path) -> None:
    with os.scandir(folder) as entries:
        files = sorted((entry.stat().st_mtime_ns, entry.path) for entry in entries if entry.is_file())
    for _, path in files[: max(0, len(files) - MOST_FILES)]:
        Path(path).unlink(missing_ok=True)
