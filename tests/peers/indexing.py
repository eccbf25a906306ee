"""An indexer of the code graph and how tests speak to it: questions one after the other, on its own pipes.

As a program (``python -m tests.peers.indexing worker ROOT MARKER`` and ``… indexer``) it is a worker that does to
itself what hostile files do to a parser, and the indexer that has such workers. What such a file holds is a word:

* ``CRASH`` — the worker dies as by a fault in C code; ``HANG`` — it never ends; ``RAISE`` — our own reading fails;
* ``WAIT path`` — it makes ``path`` and waits until ``path.go`` is there; a worker that is killed there is innocent.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ombud.graph.messages import ANSWER, CANCEL, CURRENT, FAILED, INDEX, PROGRESS, READY, SAYS, Ask, Say, Setup
from ombud.process import frames

if TYPE_CHECKING:
    from ombud.graph.facts import Facts
    from ombud.graph.store import Reader

SECONDS = 30.0
PROJECT = Path(__file__).resolve().parents[2]


class Failed(Exception):
    """What the indexer says of a question, or of itself."""


class Indexer:
    """One that runs. ``says`` are all messages but progress; ``progress`` its (done, total, phase)."""

    def __init__(self, root: Path, store: Path, argv: list[str]) -> None:
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=PROJECT)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in, self._out = self.process.stdin, self.process.stdout
        self._says = (SAYS.decode(message) for message in frames.messages(self._out))
        self._number = 0
        self.progress: list[tuple[int, int, str]] = []
        self.send(Setup(str(root.resolve()), str(store)))
        self.ready = self.wait(lambda say: say.what == READY)

    def send(self, message: Setup | Ask) -> None:
        self._in.write(frames.pack(message))
        self._in.flush()

    def wait(self, wanted: Callable[[Say], bool]) -> Say:
        """The next message that is wanted. Raises Failed."""
        for say in self._says:
            if say.what == PROGRESS:
                self.progress.append((say.done, say.total, say.phase))
            if wanted(say):
                return say
            if say.what == FAILED and not say.number:
                raise Failed(say.problem)
        raise Failed("It has ended.")

    def ask(self, what: str, **more: object) -> int:
        """Send a question, and do not wait: its number."""
        self._number += 1
        self.send(Ask(self._number, what, **more))  # type: ignore[arg-type]
        return self._number

    def answer(self, number: int) -> Say:
        """Raises Failed where it could not be done."""
        say = self.wait(lambda one: one.number == number and one.what in (ANSWER, FAILED))
        if say.what == FAILED:
            raise Failed(say.kind)
        return say

    def index(self, *, force: bool = False) -> Say:
        return self.answer(self.ask(INDEX, force=force))

    def current(self, *told: str, sweep: bool = True, **buffers: str | None) -> Say:
        """Files in ``buffers`` are named without their ``.py``."""
        texts = {f"{name}.py": None if text is None else text.encode() for name, text in buffers.items()}
        return self.answer(self.ask(CURRENT, told=list(told), buffers=texts, sweep=sweep))

    def cancel(self, number: int) -> None:
        self.send(Ask(number, CANCEL))

    def workers(self) -> list[int]:
        return children(self.process.pid)

    def end(self) -> int:
        """Close its input and wait; its exit code."""
        self._in.close()
        code = self.process.wait(SECONDS)
        self._out.close()
        return code


def children(pid: int) -> list[int]:
    try:
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


@contextmanager
def indexer(root: Path, store: Path, *, hostile: bool = False) -> Iterator[Indexer]:
    """An indexer that has ended afterwards, whatever happens, with its workers."""
    own = [sys.executable, "-m", "tests.peers.indexing", "indexer", str(root.resolve())]
    running = Indexer(root, store, own if hostile else [sys.executable, "-P", "-m", "ombud.graph.indexer"])
    try:
        yield running
    finally:
        left = running.workers()
        running.process.kill()
        running.process.wait(SECONDS)
        for pid in left:
            until(lambda pid=pid: not Path(f"/proc/{pid}").exists() or _is_zombie(pid))  # type: ignore[misc]


def _is_zombie(pid: int) -> bool:
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True


def until(met: Callable[[], bool]) -> None:
    """Wait for something that no event tells."""
    end = time.monotonic() + SECONDS
    while not met():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.01)


def reader(running: Indexer) -> Reader:
    from ombud.graph.store import open_reader

    return open_reader(Path(running.ready.folder))


def skipped(running: Indexer) -> dict[str, str]:
    """Files that were left out → the reason."""
    return {file.path: file.reason for file in reader(running).files() if file.reason}


def indexed(running: Indexer) -> set[str]:
    from ombud.graph.store.schema import INDEXED

    return {file.path for file in reader(running).files() if file.state == INDEXED}


def symbols(running: Indexer) -> set[str]:
    return {symbol.key for symbol in reader(running).all_symbols()}


# -- as a program -----------------------------------------------------------------------------------------------


def _hostile(language: str, source: bytes) -> Facts:
    from ombud.graph.extract import extract

    word, _, rest = source.decode().partition(" ")
    path = Path(rest.strip())
    if word.strip() == "CRASH":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif word.strip() == "HANG":
        while True:
            pass
    elif word.strip() == "RAISE":
        raise ValueError("on purpose")
    elif word == "WAIT":
        path.touch()
        until(path.with_name(path.name + ".go").exists)
    return extract(language, source)


def main(role: str, *rest: str) -> None:
    from ombud.graph import indexer as real
    from ombud.graph import worker

    if role == "worker":
        worker.CPU_SECONDS = 1.0
        os.chdir(PROJECT)
        worker.main(rest, _hostile)
    else:
        real.serve([sys.executable, "-c", _WORKER, rest[0]])


_WORKER = "; ".join(
    (
        f"import sys; sys.path.insert(0, {str(PROJECT)!r})",
        "from tests.peers.indexing import main",
        "main('worker', *sys.argv[1:])",
    )
)

if __name__ == "__main__":
    main(*sys.argv[1:])
