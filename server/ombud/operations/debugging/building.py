"""Tests that are compiled before they can be run: cargo makes the executables, and each says what tests it has."""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ombud.debug import testing
from ombud.debug.launching import Wish
from ombud.errors import PeerError, Refused, UserError
from ombud.guard.commands import Resolved, resolve_command
from ombud.guard.redact import clean, redact
from ombud.process.child import Child
from ombud.process.ladder import Grace, end

if TYPE_CHECKING:
    from ombud.operations.session import Session
    from ombud.process.exit import Exit

BUILD_SECONDS = 600.0
LIST_SECONDS = 30.0
_MOST = 32 * 1024 * 1024
"""Characters of output that are read; of more, the beginning."""
_SAID = 1500


@dataclass(frozen=True, slots=True)
class Ran:
    """``code`` is None where a signal ended it."""

    code: int | None
    output: str
    errors: str


async def built(session: Session, wish: Wish) -> Wish:
    """The wish with its program and the test's whole name. Raises `Refused`, `PeerError`, `UserError`."""
    resolved = resolve_command(
        wish.build,
        root=wish.cwd,
        folders=session.fence.folders,
        trust=session.trust,
        path=wish.env.get("PATH", ""),
    )
    if not isinstance(resolved, Resolved):
        raise Refused(f"The test cannot be built: {resolved.reason}", kind="no_server")
    ran = await run(session, resolved.argv, wish.cwd, wish.env, BUILD_SECONDS)
    if ran.code != 0:
        said = clean(redact(testing.complaints(ran.output) or ran.errors), _SAID).strip()
        raise PeerError(f"{wish.build[0]} could not build the test: {said.rstrip('.')}.", kind="server_failed")
    test = wish.test or ""
    found: list[tuple[testing.Built, str]] = []
    for one in testing.built(ran.output):
        listed = await run(session, (str(one.program), "--list"), wish.cwd, wish.env, LIST_SECONDS)
        found += [(one, name) for name in testing.named(test, listed.output.splitlines())]
    chosen, name = _only(found, test, wish.cwd)
    return replace(wish, program=chosen.program, args=(name, *wish.args), build=())


def _only(found: Sequence[tuple[testing.Built, str]], test: str, cwd: Path) -> tuple[testing.Built, str]:
    """The one that is meant: of several, that of the file which the id names."""
    file = test.partition("::")[0]
    rows = [one for one in found if str(one[0].source).endswith(f"/{file}")] or list(found)
    if not rows:
        raise UserError(
            f"No test {test} was found in the package in {cwd.name}; “cargo test -- --list” there lists its tests.",
            kind="not_found",
        )
    if len(rows) > 1:
        # Such as src/price.rs::tests::adds and src/tax.rs::tests::adds: the file's own module comes first.
        module = "::".join(Path(file).with_suffix("").parts[1:])
        ours = [one for one in rows if module and one[1].startswith(f"{module}::")]
        if len(ours) == 1:
            return ours[0]
        some = ", ".join(sorted({one[1] for one in rows})[:5])
        raise UserError(f"Several tests are called {test}: {some}. Give the file and the whole name.", kind="not_found")
    return rows[0]


async def run(session: Session, argv: Sequence[str], cwd: Path, env: Mapping[str, str], seconds: float) -> Ran:
    """Run a program to its end, without input. Raises `PeerError` (``timeout``); then it has been ended."""
    pieces: list[str] = []
    size = 0
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    over: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()

    def heard(data: bytes) -> None:
        nonlocal size
        size += len(data)
        if size <= _MOST:
            pieces.append(decoder.decode(data))

    child = await Child.start(
        argv,
        cwd=cwd,
        env=env,
        on_stdout=heard,
        on_exit=lambda said: None if over.done() else over.set_result(said),
        guardian=session.hub.supervisor.guardian(),
        linger=None,
    )
    try:
        child.close_stdin()
        async with asyncio.timeout(seconds):
            ended = await over
    except TimeoutError:
        raise PeerError(
            f"{Path(argv[0]).name} took more than {seconds:g} seconds and was ended.", kind="timeout"
        ) from None
    finally:
        await end(child, grace=Grace(goodbye=0, stdin=0, term=0.5, kill=2))
    return Ran(ended.code, "".join(pieces), child.stderr_tail(30))
