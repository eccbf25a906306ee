"""Searches without a process, for a client that allows none: in a thread of the hub, within narrower bounds."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator

from ombud.structural.finding import Search
from ombud.structural.messages import ANSWERS, CANCELLED, ENCODER, Answer, Bound, Find, Found, Rewrite, Rewritten
from ombud.structural.renewing import Renewal
from ombud.structural.shard import Key, Shard

LARGEST = 200_000
"""Bytes of a file: while it is parsed, nothing else happens in this process."""
SECONDS = 20.0
MEMORY = 32_000_000


class Inline:
    """As `ombud.structural.pool.Pool`, with one worker that is none. One question at a time."""

    count = 1

    def __init__(self) -> None:
        self._shard: Shard | None = None
        self._turn = asyncio.Lock()
        self._number = 0

    async def each(
        self, make: Callable[[int, int], Find | Rewrite], told: Callable[[Answer], Bound | None]
    ) -> list[Answer]:
        """Raises UserError where the question is wrong."""
        async with self._turn:
            if self._shard is None:
                self._shard = Shard(0, 1, MEMORY, largest=LARGEST)
            self._number += 1
            question = make(self._number, 0)
            question.seconds = min(question.seconds, SECONDS)
            stop = threading.Event()
            working = asyncio.ensure_future(asyncio.to_thread(_run, self._shard, question, stop))
            try:
                answer = await asyncio.shield(working)
            except asyncio.CancelledError:
                stop.set()
                # The next one must not find the thread still at it.
                await asyncio.wait([working])
                raise
            # Pages are encoded where they are made.
            answer = ANSWERS.decode(ENCODER.encode(answer))
            told(answer)
            return [answer]

    async def close(self) -> None:
        self._shard = None


def _run(shard: Shard, question: Find | Rewrite, stop: threading.Event) -> Answer:
    work: Generator[None, Key | None, Found | Rewritten]
    work = Search(shard, question).run() if isinstance(question, Find) else Renewal(shard, question).run()
    try:
        while not stop.is_set():
            next(work)
    except StopIteration as end:
        answer: Found | Rewritten = end.value
        return answer
    work.close()
    return (Found if isinstance(question, Find) else Rewritten)(question.number, stopped=CANCELLED)
