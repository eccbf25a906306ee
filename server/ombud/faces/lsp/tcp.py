"""``ombud serve --listen HOST:PORT``: several clients of one hub over TCP.

Loopback unless told otherwise. The peer must be the same user, which Linux tells through ``/proc/net/tcp``; where the
system cannot tell, or the address is not loopback, the client must show the token in ``initializationOptions.ombud``
(B2, protocol.md "Wire limits").
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import os
import socket
import struct
import sys
from collections.abc import Callable
from typing import Any

from ombud.errors import UserError

DEFAULT_HOST = "127.0.0.1"


def parse_address(text: str) -> tuple[str, int]:
    """``HOST:PORT``, ``:PORT`` or ``PORT``; IPv6 in brackets. Raises `UserError`."""
    host, colon, port = text.rpartition(":")
    if not colon:
        host, port = "", text
    if not port.isdigit() or int(port) > 65535:
        raise UserError(f"{text!r} is no address; write HOST:PORT, such as 127.0.0.1:7000 (port 0 takes a free one).")
    host = host.removeprefix("[").removesuffix("]")
    return ("127.0.0.1" if host in ("", "localhost") else host), int(port)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def same_user(local: Any, remote: Any, family: int) -> bool | None:
    """Whether the process at the other end of an accepted connection belongs to this user; None: cannot be told.

    ``local`` and ``remote`` are socket addresses as ``getsockname`` and ``getpeername`` give them.
    """
    name = "/proc/net/tcp6" if family == socket.AF_INET6 else "/proc/net/tcp"
    theirs, ours = _hex(remote, family), _hex(local, family)
    try:
        with open(name, encoding="ascii") as table:  # noqa: PTH123  (procfs: one sequential read)
            next(table)
            for line in table:
                fields = line.split()
                if fields[1] == theirs and fields[2] == ours:
                    return int(fields[7]) == os.getuid()
    except (OSError, StopIteration, IndexError, ValueError, AttributeError):
        return None
    return None


def _hex(address: Any, family: int) -> str:
    """An address as the kernel's table writes it: 32-bit words in the machine's byte order."""
    packed = socket.inet_pton(family, address[0].partition("%")[0])
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return "".join(f"{word:08X}" for word in words) + f":{address[1]:04X}"


class Peer(asyncio.Protocol):
    """One accepted connection as a transport. ``begin(peer)`` gives the object that is fed its bytes."""

    def __init__(self, begin: Callable[[Peer], Any]) -> None:
        self._begin = begin
        self._transport: asyncio.Transport | None = None
        self._connection: Any = None
        self.trusted_user = False
        """Whether the system says that the peer is this very user."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        accepted = transport.get_extra_info("socket")
        local, remote = transport.get_extra_info("sockname"), transport.get_extra_info("peername")
        self.trusted_user = bool(is_loopback(remote[0]) and same_user(local, remote, accepted.family))
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection = self._begin(self)

    def data_received(self, data: bytes) -> None:
        self._connection.feed(data)

    def connection_lost(self, _exc: Exception | None) -> None:
        self._connection.eof()

    def write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


def admitted(peer: Peer, options: Any, token: str) -> bool:
    """Whether a client may use this hub: the same user, or one that knows the token."""
    if peer.trusted_user:
        return True
    given = options.get("token") if isinstance(options, dict) else None
    return isinstance(given, str) and hmac.compare_digest(given.encode(), token.encode())


def announce(host: str, port: int, token: str) -> None:
    """Where it listens, and the token for whoever is not this user: to the person who started it, on standard error."""
    shown = f"[{host}]" if ":" in host else host
    print(f"ombud listens on {shown}:{port}", file=sys.stderr, flush=True)  # noqa: T201  (the user's answer)
    print(  # noqa: T201
        f"Whoever is not you needs initializationOptions.ombud.token = {token}", file=sys.stderr, flush=True
    )
