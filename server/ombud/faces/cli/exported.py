"""``ombud graph-export``: the graph as JSON lines or a SCIP index, as it comes, to standard output or into a file."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from ombud.errors import Refused, UserError
from ombud.faces.cli.context import Context, Unwritable
from ombud.faces.cli.session import WORK, open_session
from ombud.faces.cli.terminal import is_terminal
from ombud.operations import registry
from ombud.operations.graph import export
from ombud.operations.tokens import CARRIED


async def run(context: Context, params: Mapping[str, Any], output: str | None) -> int:
    """Write the export. A file is there whole or as it was before. Raises `OmbudError` as the operation does."""
    asked = registry.parse(registry.operation("graph_export"), dict(params))
    assert isinstance(asked, export.Params)
    if asked.format == "scip" and output is None and is_terminal(sys.stdout):
        raise UserError("A SCIP index is no text for a terminal; pass --output FILE.")
    async with open_session(context.root, context.progress) as (session, _):
        session.tiers.require("read", session.trust, "graph_export")
        CARRIED.set(WORK)
        with _opened(context, output) as sink:
            ground, counts = await export.write(session, asked, sink)
    note = ground.note()
    if note:
        context.progress.note(note)
    if output is not None:
        context.say(f"{output}: {counts.symbols:,} symbols, {counts.edges:,} edges")
    return 0


@contextmanager
def _opened(context: Context, output: str | None) -> Iterator[Callable[[bytes], None]]:
    if output is None:
        yield _stdout(context)
        return
    path = context.cwd / output
    try:
        fd, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise _unwritable(path, error) from None
    try:
        with os.fdopen(fd, "wb") as file:
            yield _to(file, path)
        _place(Path(name), path)
    except OSError as error:
        raise _unwritable(path, error) from None
    finally:
        with suppress(FileNotFoundError):
            Path(name).unlink()


def _place(made: Path, path: Path) -> None:
    """Put what was written where it belongs, readable as files are here."""
    mask = os.umask(0)
    os.umask(mask)
    made.chmod(0o666 & ~mask)
    made.replace(path)


def _to(file: BinaryIO, path: Path) -> Callable[[bytes], None]:
    def sink(data: bytes) -> None:
        try:
            file.write(data)
        except OSError as error:
            raise _unwritable(path, error) from None

    return sink


def _unwritable(path: Path, error: OSError) -> Refused:
    return Refused(f"{path} cannot be written: {error.strerror or error}.", kind="permission_denied")


def _stdout(context: Context) -> Callable[[bytes], None]:
    def sink(data: bytes) -> None:
        context.progress.clear()
        try:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise Unwritable(error) from None

    return sink
