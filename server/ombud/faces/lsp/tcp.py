"""``ombud serve --listen HOST:PORT``: several clients of one hub over TCP.

Loopback unless told otherwise. The peer must be the same user, which Linux tells through ``/proc/net/tcp``; where the
system cannot tell, or the address is not loopback, the client must show the token in ``initializationOptions.ombud``
(B2, protocol.md "Wire limits").
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
import struct
from typing import Any


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own; a name is taken for a stranger's."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def prepare(transport: asyncio.Transport) -> bool:
    """Set an accepted connection up; whether it is known to come from this very user."""
    accepted = transport.get_extra_info("socket")
    accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    local, remote = transport.get_extra_info("sockname"), transport.get_extra_info("peername")
    return bool(is_loopback(remote[0]) and same_user(local, remote, accepted.family))


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
