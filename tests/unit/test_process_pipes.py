"""Pipes for large messages."""

from __future__ import annotations

import fcntl
import os
import socket
import tempfile

import pytest
from ombud.process.pipes import SIZE, widen

from tests.children import ON_LINUX


@pytest.mark.skipif(not ON_LINUX, reason="only Linux lets a pipe be widened")
def test_a_pipe_takes_a_large_message_in_one_piece() -> None:
    reader, writer = os.pipe()
    try:
        os.set_blocking(writer, False)
        widen(reader)
        assert os.write(writer, bytes(SIZE)) == SIZE == fcntl.fcntl(reader, fcntl.F_GETPIPE_SZ)
    finally:
        os.close(reader)
        os.close(writer)


@pytest.mark.skipif(not ON_LINUX, reason="only Linux lets a pipe be widened")
def test_a_pipe_that_is_wider_stays_so() -> None:
    reader, writer = os.pipe()
    try:
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 2 * SIZE)
        widen(writer)
        assert fcntl.fcntl(reader, fcntl.F_GETPIPE_SZ) == 2 * SIZE
    finally:
        os.close(reader)
        os.close(writer)


def test_what_is_no_pipe_is_left_as_it_is() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, tempfile.TemporaryFile() as file:
        widen(ours.fileno())
        widen(file.fileno())
        ours.sendall(b"still there")
        assert theirs.recv(100) == b"still there"
