"""The command line in a test: ``ombud …`` as a process of its own, and the user's ``ombud.toml`` for it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.peers.script import Script

LIMIT = 60.0
"""Seconds that any command of these tests may take."""


@dataclass(frozen=True)
class Ran:
    """How a command ended: its exit code and what it wrote."""

    code: int | None
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Command:
    """``ombud`` in a folder, with an environment in which nothing of the developer's own is found."""

    def __init__(self, environment: Mapping[str, str], root: Path) -> None:
        self.environment = dict(environment)
        self.root = root
        # What an assertion is about must not depend on the width of who runs the tests.
        self.environment["COLUMNS"] = "120"

    def configure(self, servers: Mapping[str, Script | dict[str, Any]], **keys: Any) -> None:
        """Write the user's ``ombud.toml``: these servers for ``.x`` files under ``x.toml``, and further keys."""
        entries = {
            name: {"diagnostics": {"settleMs": 0}, **(one.entry() if isinstance(one, Script) else one)}
            for name, one in servers.items()
        }
        folder = Path(self.environment["XDG_CONFIG_HOME"]) / "ombud"
        folder.mkdir(parents=True, exist_ok=True)
        lines = [f"{name} = {_toml(value)}" for name, value in keys.items()]
        lines += [f"servers.{json.dumps(name)} = {_toml(entry)}" for name, entry in entries.items()]
        (folder / "ombud.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")

    async def start(self, *arguments: str, cwd: Path | None = None, **pipes: Any) -> asyncio.subprocess.Process:
        """The running command, its three streams as pipes unless told otherwise."""
        streams = {name: pipes.pop(name, asyncio.subprocess.PIPE) for name in ("stdin", "stdout", "stderr")}
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ombud", *arguments),
            cwd=cwd or self.root,
            env={**self.environment, **pipes.pop("env", {})},
            **streams,
            **pipes,
        )

    async def __call__(
        self, *arguments: str, cwd: Path | None = None, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> Ran:
        """Run to the end. A command that takes longer than ``LIMIT`` is killed and fails the test."""
        process = await self.start(*arguments, cwd=cwd, env=dict(env or {}))
        return await self.end(process, stdin)

    async def end(self, process: asyncio.subprocess.Process, stdin: bytes = b"") -> Ran:
        """Wait for the end of a running command."""
        try:
            out, err = await asyncio.wait_for(process.communicate(stdin), LIMIT)
        finally:
            with suppress(ProcessLookupError):
                process.kill()
        return Ran(process.returncode, (out or b"").decode(), (err or b"").decode())


def _toml(value: Any) -> str:
    """A value as TOML; JSON's texts, numbers and lists are TOML's, only tables are written differently."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)
