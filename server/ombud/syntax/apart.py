"""Texts parsed apart, in a process that may crash or never come to an end (`ombud.syntax.parse` is what it runs)."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ombud.errors import PeerError
from ombud.guard.redact import clean, redact
from ombud.syntax.parse import GRAMMARS, Fault

if TYPE_CHECKING:
    from ombud.process.child import Child
    from ombud.process.exit import Exit
    from ombud.process.guardian import Guardian

LOG = logging.getLogger(__name__)

LARGEST = 4_000_000
"""Characters of a text that is parsed."""
START_SECONDS = 10.0
TEXT_SECONDS = 5.0
"""How long one text may take, before and after together."""
ALL_SECONDS = 20.0
"""How long all of them may take."""


@dataclass(frozen=True, slots=True)
class Texts:
    """A text before and after an edit, each with the language id that its file has then."""

    was: str
    old: str
    now: str
    new: str

    @property
    def judged(self) -> bool:
        """Whether there is a grammar, and a difference."""
        return self.was in GRAMMARS and self.now in GRAMMARS and self.old != self.new

    @property
    def large(self) -> bool:
        return max(len(self.old), len(self.new)) > LARGEST


async def faults(texts: Sequence[Texts], guardian: Guardian) -> list[Fault | str | None]:
    """The syntax error that each edit brought, None where it brought none, or why that is not known: a few words.

    ``guardian`` ends the process should Ombud be killed. Raises nothing of its own: what cannot be parsed is not known.
    """
    found: list[Fault | str | None] = [None] * len(texts)
    waiting = []
    for number, one in enumerate(texts):
        if one.judged and one.large:
            found[number] = f"more than {LARGEST // 1_000_000} million characters"
        elif one.judged:
            found[number] = "there was no time left for it"
            waiting.append(number)
    if waiting:
        with suppress(TimeoutError):
            async with asyncio.timeout(ALL_SECONDS):
                await _read(_Reader(guardian), texts, waiting, found)
    return found


async def _read(
    reader: _Reader, texts: Sequence[Texts], waiting: Sequence[int], found: list[Fault | str | None]
) -> None:
    """Fill in ``found``, with another process after each text that one could not live with."""
    try:
        for number in waiting:
            try:
                found[number] = await reader.ask(texts[number])
            except TimeoutError:
                found[number] = "its parser takes too long"
                await reader.end()
            except PeerError as error:
                LOG.warning("A parser failed: %s", clean(redact(error.message), 400))
                found[number] = "its parser failed"
                await reader.end()
    finally:
        await reader.end()


class _Reader:
    """The process: started by the first question, and again by one after an ``end``."""

    def __init__(self, guardian: Guardian) -> None:
        self._guardian = guardian
        self._child: Child | None = None
        self._said = bytearray()
        self._answer: asyncio.Future[bytes] | None = None

    async def ask(self, texts: Texts) -> Fault | None:
        """Raises `PeerError` where the process fails, and TimeoutError."""
        child = self._child or await self._start()
        old, new = (one.encode("utf-8", "replace") for one in (texts.old, texts.new))
        asked = {"was": texts.was, "now": texts.now, "old": len(old), "new": len(new)}
        answer = await self._exchange(child, TEXT_SECONDS, json.dumps(asked).encode() + b"\n" + old + new)
        said = json.loads(answer)
        return None if said is None else Fault(int(said[0]), str(said[1]))

    async def _start(self) -> Child:
        from ombud.process.child import Child

        self._said.clear()
        argv = [sys.executable, "-P", "-m", "ombud.syntax.parse"]
        # Nothing of it is the workspace's: neither the folder nor what is imported.
        child = self._child = await Child.start(
            argv,
            cwd=Path("/"),
            env=_environment(os.environ),
            on_stdout=self._hear,
            on_exit=self._ended,
            guardian=self._guardian,
            stderr_limit=4096,
        )
        # The time of the start is not that of the first text.
        await self._exchange(child, START_SECONDS, _NOTHING)
        return child

    async def _exchange(self, child: Child, seconds: float, question: bytes) -> bytes:
        if child.died.is_set():
            raise PeerError("it ended before it was asked.", kind="server_failed")
        self._answer = asyncio.get_running_loop().create_future()
        child.write(question)
        async with asyncio.timeout(seconds):
            return await self._answer

    def _hear(self, data: bytes) -> None:
        self._said += data
        line, end, rest = bytes(self._said).partition(b"\n")
        if end and self._answer is not None and not self._answer.done():
            self._said = bytearray(rest)
            self._answer.set_result(line)

    def _ended(self, end: Exit) -> None:
        if self._answer is not None and not self._answer.done():
            words = self._child.stderr_tail(3) if self._child is not None else ""
            self._answer.set_exception(PeerError(f"it {end.words}. {words}", kind="server_failed"))

    async def end(self) -> None:
        """Whatever it is doing. Nothing is left of it."""
        from ombud.process.ladder import Grace, end

        child, self._child = self._child, None
        if child is not None:
            # It has nothing to save.
            child.close_stdin()
            await end(child, grace=Grace(goodbye=0, stdin=0, term=0, kill=5))


def _environment(base: Mapping[str, str]) -> dict[str, str]:
    """Ombud's own: it is Ombud's own program."""
    from ombud.process.environment import CHILD, HUB

    return {name: value for name, value in base.items() if name not in (HUB, CHILD)}


_NOTHING = json.dumps({"was": "", "now": "", "old": 0, "new": 0}).encode() + b"\n"
