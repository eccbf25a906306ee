"""A hub on a Unix socket, and clients that attach to one: for the tests of ``serve --listen unix:`` and ``attach``.

Socket paths are short ones of their own, since the system takes about a hundred bytes and pytest's folders have more.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

import psutil
import pytest

from tests.client import Client
from tests.conftest import OMBUD, ClientFactory, OmbudFactory
from tests.link import SocketLink
from tests.waiting import wait_until

LINGER = "0.2"
"""Seconds that a hub of a test stays alone: long enough for nobody to come back."""


class UnixLink(SocketLink):
    """A server that listens on a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), 0)
        self._path = path

    def __str__(self) -> str:
        return f"unix:{self._path}"

    async def open(self, on_data: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self._on_data, self._on_end = on_data, on_end
        await asyncio.get_running_loop().create_unix_connection(lambda: self, str(self._path))


def unix_client(path: Path, *, name: str = "client", strict: bool = True) -> Client:
    return Client(UnixLink(path), name, strict)


@pytest.fixture
def run_folder(environment: dict[str, str]) -> Iterator[Path]:
    """A short folder that is ``XDG_RUNTIME_DIR`` of whatever the test starts."""
    folder = Path(tempfile.mkdtemp(prefix="o-")).resolve()
    environment["XDG_RUNTIME_DIR"] = str(folder)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def listening_on(ombud: OmbudFactory, path: Path, *arguments: str) -> AsyncIterator[Client]:
    """``ombud serve --listen unix:PATH``, ended by SIGTERM: its process."""
    async with ombud("--listen", f"unix:{path}", *arguments, name="hub") as hub:
        await wait_until(lambda: f"ombud listens on unix:{path}" in hub.stderr, 20, "the address is told")
        try:
            yield hub
        finally:
            hub.kill(15)
            await hub.wait_exit(25)


class Attach(Protocol):
    def __call__(
        self, *arguments: str, root: Path, name: str = ..., linger: str = ..., strict: bool = ...
    ) -> Client: ...


@pytest.fixture
def attach(client_factory: ClientFactory, run_folder: Path) -> Attach:
    """``async with attach(root=root) as client``: ``ombud attach`` in that folder."""

    def make(*arguments: str, root: Path, name: str = "attached", linger: str = LINGER, strict: bool = True) -> Client:
        argv = [*OMBUD, "attach", "--linger", linger, *arguments]
        return client_factory(argv, cwd=root, name=name, strict=strict)

    return make


def hubs(run_folder: Path) -> list[psutil.Process]:
    """The living hubs whose socket is in that folder."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if "serve" in words and any(word.startswith(f"unix:{run_folder}") for word in words):
            found.append(process)
    return found
