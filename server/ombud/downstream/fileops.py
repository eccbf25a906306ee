"""File operations: which server wants to hear of which files (LSP 3.17, ``FileOperationRegistrationOptions``)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

import msgspec
from msgspec import Raw

from ombud.downstream.capabilities import PROVIDERS
from ombud.downstream.server import Server
from ombud.downstream.watched import expression
from ombud.guard.uris import uri_to_path
from ombud.wire.values import dump, load


class _Files(msgspec.Struct):
    files: list[dict[str, Any]]


def shares(servers: Sequence[Server], method: str, params: Raw) -> dict[Server, Raw]:
    """For each server that wants any of them, the params with its files.

    ``method`` is one of ``workspace/{will,did}{Create,Rename,Delete}Files``. Raises `msgspec.ValidationError` where
    ``params`` has another shape.
    """
    files = load(params, _Files).files
    out: dict[Server, Raw] = {}
    for server in servers:
        mine = [one for one in files if wants(server, method, one)] if server.offers(method) else []
        if mine:
            out[server] = Raw(bytes(params)) if len(mine) == len(files) else Raw(dump({"files": mine}))
    return out


def wants(server: Server, method: str, file: Mapping[str, Any]) -> bool:
    """Whether one of the server's filters matches a file: for a rename by the old name, else by the only one."""
    uri = file.get("oldUri", file.get("uri"))
    if not isinstance(uri, str):
        return False
    options = [_announced(server, method), *server.capabilities.registrations(method)]
    filters = [one for option in options if isinstance(option, Mapping) for one in option.get("filters") or []]
    return any(_matches(one, uri, str(file.get("newUri", uri))) for one in filters if isinstance(one, Mapping))


def _announced(server: Server, method: str) -> Any:
    node: Any = server.capabilities.announced
    for name in PROVIDERS[method].split("."):
        node = node.get(name) if isinstance(node, Mapping) else None
    return node


def _matches(wanted: Mapping[str, Any], uri: str, now: str) -> bool:
    scheme, colon, _ = uri.partition(":")
    if wanted.get("scheme") not in (None, scheme if colon else None):
        return False
    pattern = wanted.get("pattern")
    if not isinstance(pattern, Mapping) or not isinstance(pattern.get("glob"), str):
        return False
    path = _path(uri)
    if pattern.get("matches") in ("file", "folder") and path is not None:
        # What was created or renamed is there under its new name, or is still there under its old one.
        here = [place for one in (now, uri) if (place := _local(one)) is not None and place.exists()]
        if here and here[0].is_dir() != (pattern["matches"] == "folder"):
            return False
    options = pattern.get("options")
    ignore_case = bool(options.get("ignoreCase")) if isinstance(options, Mapping) else False
    return path is not None and _glob(pattern["glob"], ignore_case).fullmatch(path.strip("/") + "/") is not None


@lru_cache(maxsize=256)
def _glob(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    """For a whole path without its first slash and with one behind it."""
    return re.compile(expression(pattern.lstrip("/")), re.IGNORECASE if ignore_case else 0)


def _local(uri: str) -> Any:
    try:
        return uri_to_path(uri)
    except Exception:  # noqa: BLE001  (another scheme, or no path of this system: then nothing is known of it)
        return None


def _path(uri: str) -> str | None:
    found = _local(uri)
    return str(PurePosixPath(found.as_posix())) if found is not None else None
