"""What scripted servers hear of the disk, and how tests wait for it without a clock."""

from __future__ import annotations

import re
from pathlib import Path

from tests.client import Client
from tests.peers.road import Json
from tests.peers.script import PeerLog
from tests.waiting import wait_until

WATCHED = "workspace/didChangeWatchedFiles"
CREATED, CHANGED, DELETED = 1, 2, 3
FILES = {"x.toml": "", "a.x": "first\n", "b.x": "other\n"}


def heard(log: PeerLog, root: Path) -> list[tuple[str, int]]:
    """The events that a server was sent, by paths relative to ``root``."""
    events = [event for message in log.received(WATCHED) for event in message["params"]["changes"]]
    return [(event["uri"].removeprefix(root.as_uri() + "/"), event["type"]) for event in events]


async def hears(log: PeerLog, root: Path, *expected: tuple[str, int]) -> None:
    await log.wait(lambda one: set(expected) <= set(heard(one, root)), what=f"{expected} among the events")


async def watching(client: Client, folder: str = "") -> None:
    """Our own watcher is at work, in a folder whose path ends like this."""
    await wait_until(lambda: re.search(rf"watching \d+ folders of .*{folder}\b", client.stderr), 30, "Ombud watches")


def events(client: Client, *changes: tuple[str, int]) -> Json:
    return {"changes": [{"uri": client.uri(name), "type": kind} for name, kind in changes]}
