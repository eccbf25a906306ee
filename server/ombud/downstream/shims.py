"""Executables that are found and still are no server: stand-ins of a toolchain, and packages that are too old.

Both are told from files beside the executable; nothing is run to find out (P9, P10).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ombud.downstream.catalogue import ServerEntry
from ombud.guard.commands import Resolved

_PACKAGE_LIMIT = 1_048_576


class _Said(msgspec.Struct):
    name: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Package:
    """What is asked of a ``package.json``; ``folder`` is where it stands."""

    name: str
    version: str
    folder: Path

    @property
    def major(self) -> int | None:
        found = re.match(r"\d+", self.version)
        return int(found.group()) if found is not None else None


def trouble(entry: ServerEntry, resolved: Resolved, environment: Mapping[str, str] | None = None) -> str | None:
    """Why the executable cannot be this server, as a sentence, or None when nothing speaks against it."""
    name = resolved.executable.stem
    if entry.shim is not None and _is_shim(resolved, entry.shim):
        home = rustup_home(os.environ if environment is None else environment)
        if entry.shim == "rustup" and not any(home.glob(f"toolchains/*/bin/{resolved.executable.name}")):
            return f"{resolved.executable} only stands in for a component that no rustup toolchain has."
    least = entry.least_major.get(name)
    if least is not None:
        package = package_of(resolved.real)
        if package is not None and package.major is not None and package.major < least:
            return f"{resolved.executable} is {package.name} {package.version}; it needs version {least} or newer."
    return None


def rustup_home(environment: Mapping[str, str]) -> Path:
    """Where rustup keeps its toolchains (the rustup book, "Environment variables")."""
    told = environment.get("RUSTUP_HOME", "")
    return Path(told) if told and Path(told).is_absolute() else Path.home() / ".rustup"


def _is_shim(resolved: Resolved, tool: str) -> bool:
    """rustup's stand-ins are links to it, or the same file under another name."""
    if resolved.real.stem == tool:
        return True
    try:
        return resolved.real.samefile(resolved.executable.with_name(tool + resolved.executable.suffix))
    except OSError:
        return False


def package_of(executable: Path) -> Package | None:
    """The npm package that a file belongs to."""
    for folder in executable.parents[:6]:
        path = folder / "package.json"
        try:
            if not path.is_file() or path.stat().st_size > _PACKAGE_LIMIT:
                continue
            said = msgspec.json.decode(path.read_bytes(), type=_Said)
        except (OSError, msgspec.DecodeError):
            return None
        if said.version:
            return Package(said.name, said.version, folder)
    return None
