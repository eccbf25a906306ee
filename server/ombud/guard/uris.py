"""``file:`` URIs and paths, both ways (RFC 8089; LSP 3.17, "URI").

Nothing here touches the disk and nothing here is a permission: whatever a URI names goes through the fence next.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from functools import lru_cache
from pathlib import Path, PurePath, PureWindowsPath
from urllib.parse import quote_from_bytes, unquote_to_bytes

from ombud.errors import UserError

_WINDOWS = os.name == "nt"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_DRIVE = re.compile(r"/+([A-Za-z])[:|](?=/|$)")
# RFC 3986 "pchar" without the percent sign, as far as ``Path.as_uri`` leaves it alone.
_SAFE = "/"


def is_file_uri(text: str) -> bool:
    """Whether the text is a ``file:`` URI, whatever the case of its scheme."""
    return text[:5].lower() == "file:"


def path_to_uri(path: PurePath | str) -> str:
    """The ``file:`` URI of an absolute path, percent-encoded exactly as ``Path.as_uri`` does.

    A ``PureWindowsPath`` gives ``file:///c:/x`` and ``file://host/share/x`` on every system. Raises ``UserError``
    for a relative path and for text that no file system can hold (a lone surrogate).
    """
    pure = PurePath(path) if isinstance(path, str) else path
    if not pure.is_absolute():
        raise UserError(f"A URI needs an absolute path, and {str(pure)!r} is relative.")
    try:
        if not isinstance(pure, PureWindowsPath):
            return "file://" + quote_from_bytes(os.fsencode(str(pure)), safe=_SAFE)
        raw = pure.as_posix().encode("utf-8")
    except UnicodeEncodeError:
        raise UserError(f"{str(pure)!a} cannot be spelled as a URI: it is not valid Unicode.") from None
    if pure.drive[1:2] == ":":
        return "file:///" + pure.drive + quote_from_bytes(raw[2:], safe=_SAFE)
    return "file:" + quote_from_bytes(raw, safe=_SAFE)


def uri_to_path(uri: str) -> Path:
    """The path that a ``file:`` URI names on this system; see ``uri_to_text`` for what is accepted and raised."""
    return Path(uri_to_text(uri))


def path_or_none(uri: str) -> Path | None:
    """As `uri_to_path`; None for another scheme and for what is no path of this system."""
    try:
        return uri_to_path(uri)
    except (UserError, ValueError):
        return None


def uri_to_text(uri: str, *, windows: bool = _WINDOWS) -> str:
    """The path text of a ``file:`` URI, with every spelling that clients and servers use.

    ``file:/x``, ``file:///x`` and ``file://localhost/x`` are the same; ``c:``, ``C:``, ``c%3A`` and ``c|`` are
    drives on Windows, where another host means a network share. Percent-encoding is undone once; a fragment is not
    part of a file's name (RFC 3986, 3.5) and is dropped. Raises ``UserError`` for another scheme, a foreign host, a
    query, a NUL.
    """
    if not is_file_uri(uri):
        raise UserError(f"{uri[:200]!r} is not a file: URI. Pass a path or a file: URI.")
    rest = uri[5:].partition("#")[0]
    if "?" in rest:
        raise UserError(f"{uri[:200]!r} has a query, which a file: URI cannot have. Write %3F for a question mark.")
    host, path = "", rest
    if rest.startswith("//"):
        host, slash, tail = rest[2:].partition("/")
        path = slash + tail
    host = "" if host.lower() in ("", "localhost") else host
    if host and not windows:
        raise UserError(f"{uri[:200]!r} names a file on another machine ({host[:80]}), which cannot be reached.")
    text = _decoded(path, windows)
    if "\0" in text:
        raise UserError(f"{uri[:200]!r} contains a NUL byte, which no path can hold.")
    if not text.startswith("/"):
        raise UserError(f"{uri[:200]!r} does not hold an absolute path. Write file:///path.")
    if not windows:
        return text
    return _windows_text(host, text)


def _decoded(path: str, windows: bool) -> str:
    """Percent-decoding to a path text; POSIX names may hold any bytes, Windows names are Unicode."""
    try:
        raw = unquote_to_bytes(path)
        return raw.decode("utf-8") if windows else os.fsdecode(raw)
    except UnicodeError:
        raise UserError(f"{path[:200]!a} is not valid Unicode, so it names no file.") from None


def _windows_text(host: str, text: str) -> str:
    if host:
        return "\\\\" + host + text.replace("/", "\\")
    drive = _DRIVE.match(text)
    if drive is None:
        return text.replace("/", "\\")
    rest = text[drive.end() :].replace("/", "\\")
    return drive.group(1).lower() + ":" + (rest or "\\")


@lru_cache(maxsize=4096)
def same_uri_key(uri: str) -> str:
    """A key under which two spellings of one document's URI are equal, without asking the disk.

    For ``file:`` it undoes percent-encoding, the three spellings of the empty host, doubled slashes, dot segments,
    the case and encoding of a drive letter and, on macOS, the Unicode form. It never fails: what is not understood,
    and every other scheme (where percent-encoding can carry meaning), is its own key with the scheme in lower case.
    """
    if not is_file_uri(uri):
        scheme = _SCHEME.match(uri)
        return uri if scheme is None else scheme.group(1).lower() + uri[scheme.end(1) :]
    rest = uri[5:].partition("#")[0]
    host = ""
    if rest.startswith("//"):
        host, slash, tail = rest[2:].partition("/")
        rest = slash + tail
    host = "" if host.lower() == "localhost" else host.lower()
    text = unquote_to_bytes(rest.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogateescape")
    kept: list[str] = []
    for part in text.split("/"):
        if part == "..":
            del kept[-1:]
        elif part not in ("", "."):
            kept.append(part)
    if kept and re.fullmatch(r"[A-Za-z][:|]", kept[0]):
        kept[0] = kept[0][0].lower() + ":"
        # A drive letter only exists where names are compared without case.
        kept = [part.casefold() for part in kept]
    key = "file://" + host + "/" + "/".join(kept)
    return unicodedata.normalize("NFC", key) if sys.platform == "darwin" else key
