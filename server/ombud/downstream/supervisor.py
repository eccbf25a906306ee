"""All servers of a hub: one per (name, root, command), swept when idle, capped in number and memory (P1–P4)."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ombud.downstream.server import Server
from ombud.downstream.states import Launch, Listener, State
from ombud.errors import PeerError
from ombud.guard.uris import path_to_uri

if TYPE_CHECKING:
    from ombud.downstream.detect import Detected
    from ombud.process.child import Child
    from ombud.process.exit import Exit
    from ombud.process.guardian import Guardian

LOG = logging.getLogger("ombud.supervisor")
MEASURE_SECONDS = 15.0
"""How often the memory of running servers is read."""


class Supervisor:
    """Owns every `Server` and the guardian that ends their processes should Ombud be killed.

    ``idle_minutes``, ``max_servers`` and ``max_rss_mb`` are those of the configuration and may change at any time.
    """

    def __init__(self, listener: Listener, *, idle_minutes: float, max_servers: int, max_rss_mb: int) -> None:
        self._listener = listener
        self._guardian: Guardian | None = None
        self._room = asyncio.Lock()
        self.idle_minutes = idle_minutes
        self.max_servers = max_servers
        self.max_rss_mb = max_rss_mb
        self._servers: dict[tuple[str, Path, tuple[str, ...]], Server] = {}
        self._tags: dict[tuple[str, Path], str] = {}
        self._patrol: asyncio.Task[None] | None = None
        self._stops: set[asyncio.Task[None]] = set()
        self._measured = 0.0
        self._closing = False

    def all(self) -> list[Server]:
        return list(self._servers.values())

    def server(
        self,
        detected: Detected,
        client: Mapping[str, Any],
        environment: Callable[[], Mapping[str, str]],
        locale: str = "en",
        trace: str = "off",
    ) -> Server:
        """The server for a detection that is ``available``; it is made known here, not started.

        ``client`` are the capabilities of the client whose need it is, ``locale`` and ``trace`` its further words.
        ``environment`` is asked for one that is new alone, since working it out looks at the disk.
        """
        assert detected.resolved is not None
        argv = detected.resolved.argv
        key = (detected.entry.name, detected.root, argv)
        server = self._servers.get(key)
        if server is None:
            launch = Launch(argv, {**environment(), **detected.entry.env}, client, locale, trace)
            server = Server(
                detected.entry, detected.root, path_to_uri(detected.root), launch, self._listener, self._spawn
            )
            server.tag = self._tag(detected.entry.name, detected.root)
            self._servers[key] = server
        return server

    def _tag(self, name: str, root: Path) -> str:
        """The server's name, with a number for each further root; the same one for as long as the hub lives."""
        tag = self._tags.get((name, root))
        if tag is None:
            taken = set(self._tags.values())
            free = (name if number == 1 else f"{name}-{number}" for number in itertools.count(1))
            tag = self._tags[(name, root)] = next(one for one in free if one not in taken)
        return tag

    def find(self, detected: Detected) -> Server | None:
        """The server of a detection, if anything has needed it yet."""
        if detected.resolved is None:
            return None
        return self._servers.get((detected.entry.name, detected.root, detected.resolved.argv))

    def like(self, former: Server) -> Server | None:
        """The server that took the place of ``former`` after a reload."""
        return next((one for one in self.all() if one.name == former.name and one.root == former.root), None)

    def guardian(self) -> Guardian:
        """Who ends the processes that Ombud has started, should it be killed. Raises `PeerError` at its end."""
        from ombud.process.guardian import Guardian

        if self._closing:
            raise PeerError("Ombud is shutting down and starts no server any more.", kind="server_failed")
        if self._guardian is None:
            self._guardian = Guardian()
        return self._guardian

    async def _spawn(
        self,
        argv: tuple[str, ...],
        cwd: Path,
        environment: Mapping[str, str],
        on_stdout: Callable[[bytes], None],
        on_exit: Callable[[Exit], None],
    ) -> Child:
        from ombud.process.child import Child

        guardian = self.guardian()
        # One at a time: servers that are needed at the same moment would each wait for the others to make room.
        async with self._room:
            await self._make_room()
            if self._patrol is None:
                self._patrol = asyncio.create_task(self._watch(), name="server patrol")
            return await Child.start(
                argv, cwd=cwd, env=environment, on_stdout=on_stdout, on_exit=on_exit, guardian=guardian
            )

    async def _make_room(self) -> None:
        """Stop the least recently used server until one more is within ``max_servers``, never one that is busy.

        Only a server with a process takes room; one that waits here for its own has none.
        """
        while True:
            running = [server for server in self.all() if server.child is not None]
            if len(running) < self.max_servers:
                return
            idle = sorted((server for server in running if not server.busy), key=lambda server: server.last_used)
            if not idle:
                await self._wait_for_a_free_one()
                continue
            await idle[0].stop(
                State.SWEPT,
                f"It was the least recently used one when more than maxServers = {self.max_servers} were needed.",
            )

    async def _wait_for_a_free_one(self) -> None:
        """All servers are busy; look again soon. The one that starts is bounded by its own ready deadline."""
        await asyncio.sleep(0.2)

    async def _watch(self) -> None:
        """Sweep the idle and end the greedy, until nothing runs any more."""
        try:
            while any(server.running for server in self.all()):
                await asyncio.sleep(min(5.0, max(0.05, self.idle_minutes * 60 / 10)))
                self._sweep()
                if time.monotonic() - self._measured >= MEASURE_SECONDS:
                    self._measured = time.monotonic()
                    await self._weigh()
        finally:
            self._patrol = None

    def _sweep(self) -> None:
        limit = self.idle_minutes * 60
        for server in self.all():
            if server.state is State.READY and not server.busy and limit > 0 and server.idle_seconds >= limit:
                self._stop_soon(
                    server, State.SWEPT, f"It was idle for {self.idle_minutes:g} minutes; it starts again when needed."
                )

    async def _weigh(self) -> None:
        """The memory cap: a server over it is ended and starts again at the next need."""
        from ombud.process.measure import usage

        for server in self.all():
            child = server.child
            if server.state is not State.READY or child is None:
                continue
            used = await asyncio.to_thread(usage, child.pid)
            if used is not None and used.rss_bytes > self.max_rss_mb * 1024 * 1024 and server.child is child:
                self._stop_soon(
                    server,
                    State.SWEPT,
                    f"It used {used.rss_bytes // 1048576} MB, more than maxServerRssMb = {self.max_rss_mb}.",
                )

    def _stop_soon(self, server: Server, state: State, reason: str) -> None:
        LOG.info("stopping %s: %s", server.name, reason)
        task = asyncio.create_task(server.stop(state, reason), name=f"stop {server.name}")
        self._stops.add(task)
        task.add_done_callback(self._stops.discard)

    async def remove(self, servers: list[Server], reason: str = "It was reloaded.") -> None:
        """Stop these servers and forget them, failures included: the next need makes new ones.

        One that was needed while it was stopping runs again and stays known, or nobody would end it.
        """
        await asyncio.gather(*(server.stop(State.AVAILABLE, reason) for server in servers))
        gone = [server for server in servers if not server.running]
        self._servers = {key: server for key, server in self._servers.items() if server not in gone}

    async def close(self) -> None:
        """End every server, then the guardian. Nothing is left behind."""
        self._closing = True
        if self._patrol is not None:
            self._patrol.cancel()
        await asyncio.gather(
            *(server.stop(State.SWEPT, "Ombud is shutting down.") for server in self.all()), return_exceptions=True
        )
        if self._stops:
            await asyncio.gather(*self._stops, return_exceptions=True)
        if self._guardian is not None:
            await self._guardian.close()
            self._guardian = None
