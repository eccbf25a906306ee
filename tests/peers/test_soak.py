"""A soak: four clients of one hub and one that comes and goes, three servers that crash now and then, many requests.

It runs with 10,000 requests; ``OMBUD_SOAK=100000`` (``make soak``) is the long one. Every request must be answered
exactly once (the clients count), with what its own servers say about it and about the text its client had sent; the
hub must not grow, and nothing may be open in it at the end. The seeds are fixed.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import sys
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.client import Client, Disconnected, LspError, Pending
from tests.conftest import ClientFactory, Workspace
from tests.peers.echo import CRASH
from tests.peers.road import connected, hurried, listening
from tests.waiting import wait_until

REQUESTS = int(os.environ.get("OMBUD_SOAK", "10000"))
PHASES = 5
"""The first one warms up; memory is compared between its end and the ends of the others."""
CLIENTS = 4
WINDOW = 16
"""Requests that a client has open at the same time."""
GROWTH = 12_000_000
"""Bytes that the hub may grow by after its warm-up, however many requests that are."""
NAMES = ("one", "two", "three")
EXTENSIONS = {"one": [".x"], "two": [".x", ".y"], "three": [".y"]}
METHODS = (
    *(["textDocument/hover"] * 5),
    *(["textDocument/completion"] * 3),
    *(["textDocument/references"] * 2),
    *(["completionItem/resolve"] * 1),
)
MARK = re.compile(rb"(one|two|three)\|([a-zA-Z/]+)\|(\d+)\|(\d+)\|(-|\d+)")


def servers() -> dict[str, Any]:
    """The three of them; each kind of file has two."""
    program = str(Path(__file__).with_name("echo.py"))
    return {
        name: {
            "command": [sys.executable, "-I", "-S", program, name, str(number)],
            "extensions": EXTENSIONS[name],
            "rootMarkers": ["x.toml"],
            "diagnostics": {"settleMs": 0},
        }
        for number, name in enumerate(NAMES)
    }


@dataclass
class Asked:
    """A request on its way, and what its answer must be about."""

    pending: Pending
    method: str
    line: int
    character: int
    where: str
    text: int
    """The number in the document's text when it was asked."""
    cancelled: bool = False
    item: Any = None


class Player:
    """One client that asks, changes its texts and cancels. ``ends`` counts how its requests ended."""

    def __init__(self, client: Client, number: int, seed: int) -> None:
        self.client = client
        self.number = number
        self.ends: Counter[str] = Counter()
        self._random = random.Random(seed)
        self._files = [f"{number}.x", f"{number}.y"]
        self._texts = dict.fromkeys(self._files, 0)
        self._open: deque[Asked] = deque()
        self._items: deque[Any] = deque(maxlen=50)
        self._count = 0

    def begin(self) -> None:
        for where in self._files:
            self.client.open(where, "0\nthe text of the document\n")

    async def play(self, count: int) -> None:
        """Ask ``count`` times and see every answer."""
        for _ in range(count):
            if self._random.random() < 0.2:
                self._type(self._random.choice(self._files))
            self._ask(self._random.choice(METHODS), self._random.choice(self._files))
            if self._open and self._random.random() < 0.1:
                self._cancel(self._random.choice(self._open))
            while len(self._open) >= WINDOW:
                await self._see(self._open.popleft())
        while self._open:
            await self._see(self._open.popleft())

    def crash(self, server: int) -> None:
        """Ask something that ends a server; the other one of the file answers it, or nobody."""
        where = self._files[1] if NAMES[server] == "three" else self._files[0]
        self._send("textDocument/hover", where, server, CRASH)

    def _type(self, where: str) -> None:
        self._texts[where] += 1
        self.client.change(where, f"{self._texts[where]}\nthe text of the document\n")

    def _ask(self, method: str, where: str) -> None:
        self._count += 1
        if method != "completionItem/resolve":
            self._send(method, where, self._count, self.number)
        elif self._items:
            item = self._random.choice(self._items)
            pending = self.client.start_request(method, item)
            self._open.append(Asked(pending, method, 0, 0, where, 0, item=item))

    def _send(self, method: str, where: str, line: int, character: int) -> None:
        params = {**self.client.at(where, line, character), "context": {"includeDeclaration": True}}
        if method != "textDocument/references":
            del params["context"]
        pending = self.client.start_request(method, params)
        self._open.append(Asked(pending, method, line, character, where, self._texts[where]))

    def _cancel(self, asked: Asked) -> None:
        if not asked.pending.done():
            asked.cancelled = True
            self.client.cancel(asked.pending)

    async def _see(self, asked: Asked) -> None:
        try:
            result = await self.client.answer(asked.pending, 60)
        except LspError as error:
            self._refused(asked, error)
            return
        self.ends["answered"] += 1
        if asked.item is not None:
            owner = asked.item["label"].partition("|")[0]
            assert result["detail"] == f"{owner}|resolved|{asked.item['label']}", asked
            return
        self._is_its_own(asked)
        if asked.method == "textDocument/completion" and result["items"]:
            self._items.append(self._random.choice(result["items"]))

    def _is_its_own(self, asked: Asked) -> None:
        """The answer is about this request and nothing else, from the file's servers, about a text that was there."""
        marks = set(MARK.findall(asked.pending.raw))
        assert marks, (asked, asked.pending.raw[:300])
        for name, method, line, character, seen in marks:
            said = (method.decode(), int(line), int(character))
            assert said == (asked.method, asked.line, asked.character), (asked, said)
            assert Path(asked.where).suffix in EXTENSIONS[name.decode()], (asked, name)
            assert seen != b"-", (asked, "the server did not know the document")
            assert asked.text <= int(seen) <= self._texts[asked.where], (asked, seen)
        if len({name for name, *_ in marks}) < 2:
            self.ends["half"] += 1

    def _refused(self, asked: Asked, error: LspError) -> None:
        if error.code == -32800:
            assert asked.cancelled, (asked, error)
            self.ends["cancelled"] += 1
            return
        # A server was lost while it was being asked, or the text moved on while its successor was coming.
        assert error.code in (-32803, -32801), (asked, error)
        self.ends["lost"] += 1


async def come_and_go(port: int, root: Path, over: asyncio.Event) -> int:
    """A client that connects, asks a little and leaves in one of three ways, again and again. Returns how often."""
    chance = random.Random(77)
    lives = 0
    while not over.is_set() and lives < REQUESTS:
        lives += 1
        way = chance.choice(("goodbye", "reset", "half-closed"))
        # Who has hung up can answer no question any more.
        async with connected(port, root, servers(), name=f"guest{lives}", strict=way == "goodbye") as client:
            guest = Player(client, 9, lives)
            guest.begin()
            await guest.play(chance.randrange(10))
            if way == "goodbye":
                continue
            pending = [client.start_request("textDocument/hover", client.at("9.x", line, 9)) for line in range(5)]
            client.kill() if way == "reset" else client.close_input()
            for one in pending:
                try:
                    await client.answer(one, 30)
                except (Disconnected, LspError):
                    continue
    return lives


@asynccontextmanager
async def players(port: int, root: Path) -> AsyncIterator[list[Player]]:
    """The four clients, each with its texts open."""
    async with AsyncExitStack() as stack:
        found = []
        for number in range(CLIENTS):
            client = await stack.enter_async_context(connected(port, root, servers(), name=f"client{number}"))
            found.append(Player(client, number, 1000 + number))
            found[-1].begin()
        yield found


async def quiet(client: Client, hub: psutil.Process, sessions: int) -> int:
    """Wait until nothing is open in the hub any more; its bytes of memory then."""
    found: dict[str, Any] = {}

    async def idle() -> bool:
        found.update(await client.request("ombud/status", {}))
        rows = [row for row in found["servers"] if row["name"] in NAMES]
        return (
            len(rows) == len(NAMES)
            and all(row["pendingRequests"] == 0 and row["state"] == "ready" for row in rows)
            and len(found["sessions"]) <= sessions
        )

    await wait_until(idle, 60, f"no request is open and {sessions} sessions are left: {found}")
    return int(hub.memory_info().rss)


@pytest.mark.slow
async def test_many_requests_of_many_clients_are_each_answered_once(
    client_factory: ClientFactory, workspace: Workspace
) -> None:
    root = workspace({"x.toml": "", **{f"{n}.{kind}": "0\n" for n in (*range(CLIENTS), 9) for kind in "xy"}})
    ombud = hurried(client_factory, downstream__server__BACKOFF=[0.05], downstream__failures__FAILURES_ALLOWED=10_000)
    async with listening(ombud, root) as (process, port), players(port, root) as all_four:
        hub = psutil.Process(process.pid)
        over = asyncio.Event()
        guest = asyncio.create_task(come_and_go(port, root, over))
        memory: list[int] = []
        handles: list[int] = []
        try:
            for phase in range(PHASES):
                for number in range(len(NAMES)):
                    await asyncio.gather(*(one.play(REQUESTS // PHASES // CLIENTS // len(NAMES)) for one in all_four))
                    all_four[(phase + number) % CLIENTS].crash(number)
                await asyncio.gather(*(one.play(10) for one in all_four))
                memory.append(await quiet(all_four[0].client, hub, CLIENTS + 1))
                handles.append(hub.num_fds())
        finally:
            over.set()
            lives = await guest
        await quiet(all_four[0].client, hub, CLIENTS)
        ends = sum((one.ends for one in all_four), Counter())
        print(f"{lives} guests; {dict(ends)}; {[one // 1_000_000 for one in memory]} MB; {handles} handles")
        assert lives > 3
        assert ends["cancelled"] > REQUESTS / 100
        assert ends["lost"] <= 2 * PHASES * len(NAMES) * CLIENTS * WINDOW
        assert ends["answered"] > REQUESTS / 2
        assert max(memory[1:]) - memory[0] < GROWTH
        assert max(handles[1:]) <= handles[0] + 8
        row = {row["name"]: row for row in (await all_four[0].client.request("ombud/status", {}))["servers"]}
        assert all(row[name]["restarts"] >= PHASES - 1 for name in NAMES)
