"""What version a found server has: as its package says, else as it says itself, run once with a time limit.

Only servers that would start are asked: what trust does not allow to run, is not run to learn its version either.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ombud.errors import OmbudError
from ombud.guard.redact import clean, redact

if TYPE_CHECKING:
    from ombud.downstream.detect import Detected
    from ombud.process.exit import Exit
    from ombud.process.guardian import Guardian

LIMIT_SECONDS = 5.0
AT_ONCE = 4
_OUTPUT_LIMIT = 65_536
_VERSION = re.compile(r"\bv?(\d+\.\d+[0-9A-Za-z.+_-]*)")
_SHOWN = 60


async def versions_of(found: Sequence[Detected], environment: Mapping[str, str]) -> list[str | None]:
    """The version of each, in order.

    None where there is no package to tell and the server was not asked, said nothing, failed, or took more than 5 s.
    """
    from ombud.process.guardian import Guardian

    guardian = Guardian()
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(detected: Detected) -> str | None:
        async with gate:
            return await _version_of(detected, environment, guardian)

    try:
        return list(await asyncio.gather(*map(one, found)))
    finally:
        await guardian.close()


def command_of(detected: Detected) -> tuple[str, ...] | None:
    """What to run for a server's version; None for one that must not or need not be run.

    A command of the user's own may be a wrapper or an interpreter, whose version would be somebody else's.
    """
    entry, resolved = detected.entry, detected.resolved
    if detected.state != "available" or resolved is None or not entry.version_args or entry.from_user:
        return None
    return (str(resolved.executable), *entry.version_args)


def package_version(detected: Detected) -> str | None:
    """The version of the npm or Python package that a server's program belongs to, read from the package's own files.

    Some servers cannot be asked: basedpyright's takes ``--version`` for a start without a connection.
    """
    resolved = detected.resolved
    if detected.state != "available" or resolved is None or detected.entry.from_user:
        return None
    return _npm_version(resolved.real) or _python_version(resolved.real)


def _npm_version(program: Path) -> str | None:
    parts = program.parts
    if "node_modules" not in parts:
        return None
    at = len(parts) - 1 - parts[::-1].index("node_modules")
    scoped = parts[at + 1 : at + 2] and parts[at + 1].startswith("@")
    manifest = Path(*parts[: at + 3 if scoped else at + 2]) / "package.json"
    try:
        version = json.loads(_text(manifest)).get("version")
    except (ValueError, AttributeError, RecursionError):
        return None
    return clean(version, _SHOWN) if isinstance(version, str) else None


def _python_version(program: Path) -> str | None:
    """A console script's distribution names it among its entry points (packaging.python.org, "Entry points")."""
    script = re.compile(rf"^{re.escape(program.name)}\s*=", re.MULTILINE)
    for metadata in sorted(program.parent.parent.glob("lib/python*/site-packages/*.dist-info")):
        if script.search(_text(metadata / "entry_points.txt")):
            found = re.search(r"^Version:\s*(\S+)", _text(metadata / "METADATA"), re.MULTILINE)
            return clean(found[1], _SHOWN) if found is not None else None
    return None


def _text(path: Path) -> str:
    """The beginning of a small file, empty when it is not there."""
    try:
        with path.open("rb") as file:
            return file.read(_OUTPUT_LIMIT).decode("utf-8", "replace")
    except OSError:
        return ""


async def _version_of(detected: Detected, environment: Mapping[str, str], guardian: Guardian) -> str | None:
    from ombud.process.child import Child
    from ombud.process.ladder import Grace, end

    argv = command_of(detected)
    packaged = await asyncio.to_thread(package_version, detected)
    if argv is None or packaged is not None:
        return packaged
    output = bytearray()
    over = asyncio.Event()

    def on_stdout(data: bytes) -> None:
        if len(output) < _OUTPUT_LIMIT:
            output.extend(data)

    def on_exit(_: Exit) -> None:
        over.set()

    try:
        child = await Child.start(
            argv,
            cwd=detected.root,
            env={**environment, **detected.entry.env},
            on_stdout=on_stdout,
            on_exit=on_exit,
            guardian=guardian,
            linger=None,
        )
    except OmbudError:
        return None
    try:
        # A server that takes no such option reads its input: the end of it ends the server.
        child.close_stdin()
        async with asyncio.timeout(LIMIT_SECONDS):
            await over.wait()
    except TimeoutError:
        return None
    finally:
        await end(child, grace=Grace(goodbye=0, stdin=0, term=0.5, kill=2))
    return told(bytes(output).decode("utf-8", "replace"), child.stderr_tail(5)) if child.returncode == 0 else None


def told(output: str, errors: str) -> str | None:
    """The version in what a program printed: the first thing that looks like one, in its output before its errors."""
    for text in (output, errors):
        found = _VERSION.search(redact(clean(text, 4000)))
        if found is not None:
            return found.group(1)[:_SHOWN]
    return None
