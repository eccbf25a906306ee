"""File operations: which server wants to hear of which files (LSP 3.17, ``FileOperationRegistrationOptions``)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Raw

from ombud.downstream.capabilities import PROVIDERS, dig
from ombud.downstream.server import Server
from ombud.downstream.watched import expression
from ombud.guard.uris import path_or_none
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
    announced = dig(server.capabilities.announced, PROVIDERS[method])
    options = [announced, *server.capabilities.registrations(method)]
    filters = [one for option in options if isinstance(option, Mapping) for one in option.get("filters") or []]
    return any(_matches(one, uri, str(file.get("newUri", uri))) for one in filters if isinstance(one, Mapping))


def _matches(wanted: Mapping[str, Any], uri: str, now: str) -> bool:
    scheme, colon, _ = uri.partition(":")
    if wanted.get("scheme") not in (None, scheme if colon else None):
        return False
    pattern = wanted.get("pattern")
    if not isinstance(pattern, Mapping) or not isinstance(pattern.get("glob"), str):
        return False
    path = path_or_none(uri)
    if path is None:
        return False
    if pattern.get("matches") in ("file", "folder"):
        # What was created or renamed is there under its new name, or is still there under its old one.
        here = _kind(now) or _kind(uri)
        if here is not None and here != pattern["matches"]:
            return False
    options = pattern.get("options")
    ignore_case = bool(options.get("ignoreCase")) if isinstance(options, Mapping) else False
    return _glob(pattern["glob"], ignore_case).fullmatch(path.as_posix().strip("/") + "/") is not None


def _kind(uri: str) -> str | None:
    """``file`` or ``folder`` by what is there; None where there is nothing, or nothing that can be looked at."""
    path = path_or_none(uri)
    try:
        return None if path is None or not path.exists() else "folder" if path.is_dir() else "file"
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=256)
def _glob(pattern: str, ignore_case: bool) -> re.Pattern[str]:
    """For a whole path without its first slash and with one behind it."""
    return re.compile(expression(pattern.lstrip("/")), re.IGNORECASE if ignore_case else 0)
