"""Search workers that do to themselves what hostile files do to a parser, and a searcher that has such workers.

As a program (``python -m tests.peers.searching``) it is a worker. What a file of it holds is a word:

* ``CRASH`` — the worker dies as by a fault in C code while it parses the file;
* ``FALL`` — it dies while it matches, once the file is parsed;
* ``HANG`` — it never comes to an end there; ``RAISE`` — our own reading of the file fails;
* ``WAIT path`` — it makes ``path`` and waits until ``path.go`` is there.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ombud.process.guardian import Guardian
from ombud.structural import pool as pools
from ombud.structural.messages import MATCHING, Opened, Root
from ombud.structural.query import Query
from ombud.structural.search import Job, Options, Outcome, Searcher

if TYPE_CHECKING:
    from tree_sitter import Tree

PROJECT = Path(__file__).resolve().parents[2]
MEMORY = 64_000_000


class Searching:
    """A searcher of the test's own process. ``count`` is how many workers it has."""

    def __init__(self, root: Path, count: int, hostile: bool) -> None:
        self.root = root.resolve()
        self._guardian = Guardian()
        self.searcher = Searcher(lambda: self._guardian, lambda: Options(MEMORY, 10))
        self.pool = pools.Pool(self._guardian, MEMORY, count)
        if hostile:
            self.pool.command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(PROJECT)!r}); {_RUN}"]
        self.searcher.use(self.pool, MEMORY)

    async def find(
        self, pattern: str, *, languages: Sequence[str] = ("python",), opened: Sequence[Opened] = (), **more: object
    ) -> Outcome:
        job = Job(
            Query(pattern=pattern),
            [Root(str(self.root))],
            languages,
            opened=opened,
            **more,  # type: ignore[arg-type]
        )
        return await self.searcher.find(job)

    @property
    def pids(self) -> list[int]:
        return self.pool.pids


@asynccontextmanager
async def searching(root: Path, count: int = 2, *, hostile: bool = False) -> AsyncIterator[Searching]:
    made = Searching(root, count, hostile)
    try:
        yield made
    finally:
        await made.searcher.close()
        await made._guardian.close()


_RUN = "from tests.peers.searching import main; main()"


def main() -> None:
    from ombud.structural import shard, worker

    plain = shard.parsed

    def parsed(language: str, text: bytes) -> tuple[Tree, bool]:
        for line in text.splitlines():
            word, _, rest = line.lstrip(b"# ").partition(b" ")
            _do(word, rest.decode())
        return plain(language, text)

    plain_at = worker.Worker._at

    def at(self: worker.Worker, what: bytes, path: str) -> None:
        plain_at(self, what, path)
        if what == MATCHING and Path(path).read_bytes().startswith(b"# FALL"):
            os.kill(os.getpid(), signal.SIGSEGV)

    shard.parsed = parsed
    worker.Worker._at = at  # type: ignore[method-assign]
    worker.PARSE_SECONDS = 0.3
    worker.main()


def _do(word: bytes, rest: str) -> None:
    if word == b"CRASH":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif word == b"RAISE":
        raise RuntimeError("our own reading of it fails")
    elif word == b"HANG":
        while True:
            pass
    elif word == b"WAIT":
        _wait(Path(rest))


def _wait(path: Path) -> None:
    import time

    path.touch()
    while not path.with_name(path.name + ".go").exists():
        # It must not use up the time that one file may take.
        time.sleep(0.01)
