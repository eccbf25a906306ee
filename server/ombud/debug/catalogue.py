"""The adapters that Ombud knows (``catalogue.toml``), with those that the user adds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from ombud.debug.adapter import Transport
from ombud.errors import UserError

CATALOGUE = Path(__file__).with_name("catalogue.toml")


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row. See the head of ``catalogue.toml``."""

    name: str
    type: str
    dialect: str
    languages: tuple[str, ...]
    transport: Transport
    commands: tuple[tuple[str, ...], ...]
    markers: tuple[str, ...] = ()
    listens: tuple[str, ...] = ()
    node: bool = False
    least: str = ""
    attach: tuple[str, ...] = ()
    priority: int = 10
    install: str = ""
    is_users: bool = False
    configuration: dict[str, Any] = {}


@cache
def entries() -> Mapping[str, Entry]:
    """The rows by name, in their order."""
    import tomllib

    rows = tomllib.loads(CATALOGUE.read_text("utf-8"))
    return {name: msgspec.convert({"name": name, **row}, Entry) for name, row in rows.items()}


def with_users(said: Mapping[str, Mapping[str, Any]]) -> dict[str, Entry]:
    """The rows with what the user's configuration says of ``debug.adapters.NAME``: a row of one's own, or other keys.

    Raises `UserError` that names the key.
    """
    found = dict(entries())
    for name, changes in said.items():
        if changes.get("disabled"):
            found.pop(name, None)
            continue
        known = found.get(name)
        row: dict[str, Any] = msgspec.structs.asdict(known) if known is not None else _own(name)
        row |= {key: value for key, value in changes.items() if key not in ("disabled", "command")}
        if "command" in changes:
            row["commands"] = [changes["command"]]
        row |= {"name": name, "is_users": True}
        try:
            found[name] = msgspec.convert(row, Entry)
        except msgspec.ValidationError as error:
            raise UserError(f"The configuration of the debug adapter {name} is wrong: {error}.") from None
    return found


def _own(name: str) -> dict[str, Any]:
    return {"type": name, "dialect": "plain", "languages": [], "transport": "stdio", "commands": []}
