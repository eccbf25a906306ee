"""Executables that are found and still are no server: stand-ins of a toolchain, and packages that are too old.

Both are told from files beside the executable; nothing is run to find out (P9, P10).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from ombud.downstream.catalogue import ServerEntry
from ombud.guard.commands import Resolved

_PACKAGE_LIMIT = 1_048_576


class _Package(msgspec.Struct):
    name: str = ""
    version: str = ""


def trouble(entry: ServerEntry, resolved: Resolved, environment: Mapping[str, str] | None = None) -> str | None:
    """Why the executable cannot be this server, as a sentence, or None when nothing speaks against it."""
    name = resolved.executable.stem
    if entry.shim is not None and _is_shim(resolved, entry.shim):
        home = rustup_home(os.environ if environment is None else environment)
        if entry.shim == "rustup" and not any(home.glob(f"toolchains/*/bin/{resolved.executable.name}")):
            return f"{resolved.executable} only stands in for a component that no rustup toolchain has."
    least = entry.least_major.get(name)
    if least is not None:
        package = _package(resolved.real)
        major = re.match(r"\d+", package.version) if package is not None else None
        if package is not None and major is not None and int(major.group()) < least:
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


def _package(executable: Path) -> _Package | None:
    """The package.json of the npm package that an executable belongs to."""
    for folder in executable.parents[:6]:
        path = folder / "package.json"
        try:
            if not path.is_file() or path.stat().st_size > _PACKAGE_LIMIT:
                continue
            package = msgspec.json.decode(path.read_bytes(), type=_Package)
        except (OSError, msgspec.DecodeError):
            return None
        if package.version:
            return package
    return None
