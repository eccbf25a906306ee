"""Which server a command belongs to, for one client, when several servers know commands of the same name.

The first by priority goes by the plain name, and keeps it once an item with it has been handed out. Another's command
of that name is known to the client as ``TAG:NAME``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from ombud.downstream.server import Server

_FILE_URI = re.compile(rb'"(file:[^"\\]*)"')


class Commands:
    """The commands of a session's servers. ``running()`` are those that run, by priority."""

    def __init__(self, running: Callable[[], Sequence[Server]]) -> None:
        self._running = running
        self._owners: dict[str, str] = {}
        """Command → the tag of the server that goes by it plainly."""

    def renamed(self, server: Server) -> Mapping[str, str]:
        """For items that are about to go out: the commands of ``server`` that another one owns, its own name → the
        name for the client. From now on the owners are what they are."""
        out: dict[str, str] = {}
        for name in server.capabilities.commands:
            if self._owners.setdefault(name, self._owner(name, server)) != server.tag:
                out[name] = f"{server.tag}:{name}"
        return out

    def names(self, server: Server) -> list[str]:
        """All commands of ``server`` as the client is to know them by now, in the server's order."""
        return [
            name if self._owner(name, server) == server.tag else f"{server.tag}:{name}"
            for name in server.capabilities.commands
        ]

    def _owner(self, name: str, server: Server) -> str:
        """The tag of the owner of a command that ``server`` offers."""
        owner = self._owners.get(name)
        if owner is not None:
            return owner
        offering = [one for one in self._running() if name in one.capabilities.commands]
        return min(offering or [server], key=lambda one: (one.entry.priority, one.tag)).tag

    def find(self, name: str, params: bytes) -> tuple[list[Server], str]:
        """The servers that the command may belong to, the likeliest first, and the server's own name of it.

        A plain name that several offer goes to the one whose root holds a file that the arguments name, else to its
        owner. A server that is still starting may turn out to offer it.
        """
        running = list(self._running())
        tag, colon, bare = name.partition(":")
        named = [server for server in running if colon and server.tag == tag]
        if named:
            return named, bare
        offering = [server for server in running if name in server.capabilities.commands]
        if not offering:
            return [server for server in running if server.accepting], name
        owner = self._owners.get(name)
        offering.sort(key=lambda server: server.tag != owner)
        if len(offering) > 1:
            files = [uri.decode("utf-8", "replace") for uri in _FILE_URI.findall(params)]
            offering.sort(key=lambda server: not any(_inside(uri, server.root_uri) for uri in files))
        return offering[:1], name


def _inside(uri: str, root: str) -> bool:
    return uri == root or uri.startswith(root.rstrip("/") + "/")
