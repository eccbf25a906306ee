"""A file's bytes as a source that parsers read: UTF-8 without a byte order mark; or the reason why it is none."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ombud.errors import Refused
from ombud.guard.handles import open_file
from ombud.text.buffer import decode
from ombud.workspace.listing import NONE, Stamp, is_young

LARGEST = 2_000_000
"""Bytes of a file that is parsed."""

HUGE = "larger than 2 MB"
BINARY = "binary"
MINIFIED = "minified"
UNREADABLE = "not readable"
UNTYPICAL = "not an ordinary file"
UNSTEADY = "changed while it was read"
GONE = "not there any more"
DEADLY = "the process that searched it failed or took too long"
FAILED = "its parser failed"

_MARK = b"\xef\xbb\xbf"
_WIDE = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
_MINIFIED_FROM = 4096
"""Bytes from which on the length of lines tells something: one long line makes no minified file."""
_MEAN_LINE = 500
_LONGEST_LINE = 20_000
_DENSE = frozenset({"javascript", "javascriptreact", "typescript", "typescriptreact", "css", "php"})
"""Languages that tools write without line ends. In others a long line is data amid code that somebody wrote."""


@dataclass(frozen=True, slots=True)
class Read:
    """A file as it was read. ``data`` is as on the disk; ``reason`` says why it is left out, then ``data`` is empty.

    ``sure`` is false where the file had changed so shortly before that another change could have the same stamp.
    """

    data: bytes
    stamp: Stamp
    sure: bool
    reason: str = ""


def read(root: str, path: str, largest: int = LARGEST) -> Read:
    """``root``/``path``, never through a link out of the folder, never more than ``largest`` bytes.

    A file that changes meanwhile is read once more. Anything that is wrong with the file is the ``reason``.
    """
    for _ in range(2):
        try:
            found = _once(root.rstrip("/") + "/", path, largest)
        except Refused as error:
            reason = {"not_found": GONE, "permission_denied": UNREADABLE}.get(error.kind, UNTYPICAL)
            return Read(b"", NONE, False, reason)
        except (OSError, ValueError):
            return Read(b"", NONE, False, UNREADABLE)
        if found is not None:
            return found
    return Read(b"", NONE, False, UNSTEADY)


def _once(prefix: str, path: str, largest: int) -> Read | None:
    """None where the file has changed meanwhile."""
    fd, before = open_file(None, prefix + path, path)
    stamp = before.st_mtime_ns, before.st_size, before.st_ctime_ns, before.st_ino
    try:
        if not _is_below(fd, prefix):
            # A folder on the way has become a link to somewhere else.
            return Read(b"", stamp, True, UNTYPICAL)
        if before.st_size > largest:
            return Read(b"", stamp, True, HUGE)
        young = is_young(stamp)
        data = os.read(fd, before.st_size + 1)
        while len(data) < before.st_size and (more := os.read(fd, before.st_size + 1 - len(data))):
            data += more
        after = os.fstat(fd)
    finally:
        os.close(fd)
    if (after.st_mtime_ns, after.st_size, after.st_ctime_ns) != stamp[:3] or len(data) != after.st_size:
        return None
    return Read(data, stamp, not young)


def _is_below(fd: int, prefix: str) -> bool:
    """Whether the system says that an opened file lies in the folder; a system that does not say is believed."""
    try:
        told = os.readlink(f"/proc/self/fd/{fd}")  # noqa: PTH115 - one string of the kernel's, not a file to walk
    except OSError:
        from ombud.guard.handles import opened_path

        known = opened_path(fd)
        told = str(known) if known is not None else prefix
    return told.startswith(prefix)


def source(data: bytes) -> bytes | None:
    """The text of a file as UTF-8 without a mark; None for what is no text.

    What is no valid UTF-8 is read as `ombud.text.buffer.decode` reads it, so that places in it mean the same to all.
    """
    if b"\0" not in data and not data.startswith((_MARK, *_WIDE)):
        if data.isascii():
            return data
        try:
            data.decode()
        except UnicodeDecodeError:
            pass
        else:
            return data
    try:
        return decode(data).text.encode()
    except (Refused, UnicodeError):
        return None


def is_minified(text: bytes, language: str) -> bool:
    """Whether the lines of a source are so long that a tool has squeezed it."""
    if len(text) < _MINIFIED_FROM:
        return False
    lines = text.count(b"\n") + 1
    if len(text) > _MEAN_LINE * lines:
        return True
    if language not in _DENSE or len(text) < _LONGEST_LINE:
        return False
    return max(map(len, text.split(b"\n"))) > _LONGEST_LINE
