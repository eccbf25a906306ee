"""``ombud attach``: standard input and output of one client ↔ a hub that listens, started if there is none.

Bytes are passed on as they are by two threads that block, one for each direction. So a side that does not read is not
read from either, the hub's own rules for slow clients hold, and nothing is imported that a first answer would wait for.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from ombud import __version__
from ombud.errors import PeerError, Refused
from ombud.faces.lsp import unix
from ombud.faces.lsp.address import LOGS, Address, Tcp, Unix, private, runtime_folder, siblings
from ombud.process.environment import CHILD, HUB

CHUNK = 65536
LINGER_SECONDS = 60.0
"""How long a hub that was started here stays after its last client has left."""
START_SECONDS = 30.0
"""How long a hub may take from its start until it listens."""
LOOK_SECONDS = 0.02
EARLY_BYTES = 1 << 20
"""How much is kept to be said again, should the hub end before it has said anything."""
LOG_BYTES = 1 << 20
"""A hub's log is begun anew at the next start once it is larger."""
_METHOD = re.compile(rb'(?<!\\)"method"\s*:\s*"(shutdown|exit)"')
_LONGEST_MATCH = 64
_GREETING = re.compile(rb'"serverInfo":\{"name":"ombud","version":"([^"\\]{1,64})"\}')


def attach(place: Address, *, start: bool, linger: float = LINGER_SECONDS) -> int:
    """Be the hub's client in the place of whoever speaks on standard input; returns the exit code of ``serve``.

    Raises `Refused`: ``not_found`` where nobody listens and none may be started, ``permission_denied`` where another
    user does; `PeerError` (``server_failed``) where the hub could not be started.
    """
    with _ended_by_signals():
        try:
            pump = Pump(place, lambda: reach(place, start=start, linger=linger))
            _name_others(place)
            return pump.run()
        except _Ended:
            return 1


def reach(place: Address, *, start: bool, linger: float) -> socket.socket:
    """A socket to the hub at ``place``, started where nobody listens and ``start`` allows it. Raises as `attach`."""
    try:
        return _connected(place)
    except (FileNotFoundError, ConnectionRefusedError):
        pass
    except OSError as error:
        raise Refused(f"The hub at {place} cannot be reached: {error.strerror or error}.", kind="not_found") from None
    if not start or isinstance(place, Tcp):
        raise Refused(
            f"Nobody listens at {place}. Start a hub there with “ombud serve --listen {place}”.", kind="not_found"
        )
    return _started(place, linger)


def _connected(place: Address) -> socket.socket:
    if isinstance(place, Unix):
        found = unix.connect(place.path)
        if unix.same_user(found) is False:
            found.close()
            raise Refused(
                f"The hub at {place} belongs to another user, so it is told nothing. Choose another place.",
                kind="permission_denied",
            )
        return found
    made = socket.create_connection((place.host, place.port), timeout=10)
    made.settimeout(None)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def _started(place: Unix, linger: float) -> socket.socket:
    """Start a hub, unless another client has meanwhile: of two at once one starts it and both are its clients."""
    with _locked(place):
        with suppress(OSError):
            return _connected(place)
        log = _log_of(place)
        process = _launch(place, linger, log)
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            with suppress(FileNotFoundError, ConnectionRefusedError):
                return _connected(place)
            if process.poll() is not None:
                raise PeerError(f"The hub could not be started: {_last_words(log)}", kind="server_failed")
            time.sleep(LOOK_SECONDS)
        process.terminate()
    raise PeerError(f"The hub did not listen within {START_SECONDS:g} s. Its log is {log}.", kind="server_failed")


def _launch(place: Unix, linger: float, log: Path) -> subprocess.Popen[bytes]:
    """In a session of its own, so that it outlives the client that happened to come first."""
    command = [sys.executable, "-P", "-m", "ombud", "serve", "--listen", str(place), "--linger", f"{linger:g}"]
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    if log.exists() and log.stat().st_size > LOG_BYTES:
        flags |= os.O_TRUNC
    written = os.open(log, flags, 0o600)
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=written,
            cwd="/",
            # It is nobody's server, whoever started this: the guardian of another hub must not end it.
            env={name: value for name, value in os.environ.items() if name not in (HUB, CHILD)},
            start_new_session=True,
        )
    except OSError as error:
        raise PeerError(f"The hub could not be started: {error.strerror or error}.", kind="server_failed") from None
    finally:
        os.close(written)


@contextmanager
def _locked(place: Unix) -> Iterator[None]:
    """One at a time may start the hub of a place."""
    import fcntl

    held = os.open(runtime_folder() / f"{_short(place)}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def _short(place: Unix) -> str:
    return hashlib.sha256(os.fsencode(place.path)).hexdigest()[:16]


def _log_of(place: Unix) -> Path:
    from ombud.workspace.state import state_folder

    return private(state_folder() / LOGS) / f"{_short(place)}.log"


def _last_words(log: Path) -> str:
    with suppress(OSError):
        lines = log.read_text("utf-8", "replace").strip().splitlines()
        return f"{lines[-1][:300] if lines else 'it said nothing.'} Its log is {log}."
    return f"its log {log} cannot be read."


def _name_others(place: Address) -> None:
    """An editor that was not restarted after an update has a hub of its own: say why nothing is shared with it."""
    for version, path in siblings(place) if isinstance(place, Unix) else ():
        with suppress(OSError):
            unix.connect(path).close()
            _say(f"Ombud {version} has a hub for this project too; its clients share nothing with this one's.")


class Pump:
    """One client's bytes to the hub and the hub's to the client. ``connect`` gives a new socket to the hub.

    A hub may be ending, because it was left alone for long, in the very moment in which it was reached. One that is
    gone before it has said anything is therefore looked for once more, and told again what it was told.
    """

    def __init__(self, place: Address, connect: Callable[[], socket.socket]) -> None:
        self._place = place
        self._connect = connect
        self._socket = connect()
        self._sending = threading.Lock()
        self._early: bytearray | None = bytearray()
        self._again = True
        self._tail = b""
        self._said_shutdown = self._said_exit = self._ended = False

    def run(self) -> int:
        """Pass on until either side ends. The exit code is that of ``serve``: 0 after a ``shutdown``, else 1."""
        threading.Thread(target=self._up, daemon=True, name="to the hub").start()
        if not self._down():
            return 1
        if self._said_exit or self._ended:
            return 0 if self._said_shutdown else 1
        _say(f"The hub at {self._place} has ended, or closed the connection. Connect again to start or join one.")
        return 1

    def _up(self) -> None:
        while data := _read(0):
            self._notice(data)
            with self._sending:
                if self._early is not None:
                    self._early += data
                    if len(self._early) > EARLY_BYTES:
                        self._early = None
                # That the hub is gone is heard by the other thread, which knows what to do about it.
                with suppress(OSError):
                    self._socket.sendall(data)
        with self._sending:
            self._ended = True
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_WR)

    def _notice(self, data: bytes) -> None:
        """Whether the client says goodbye; an escaped quotation mark in a document's text is none."""
        seen = self._tail + data
        for match in _METHOD.finditer(seen):
            if match[1] == b"exit":
                self._said_exit = True
            else:
                self._said_shutdown = True
        self._tail = seen[-_LONGEST_MATCH:]

    def _down(self) -> bool:
        """Whether it was the hub's side that ended."""
        first = True
        while True:
            data = self._received()
            if not data:
                if first and self._said_again():
                    continue
                return True
            if first:
                first = False
                self._early = None
                _compare_version(data)
            if not _write(1, data):
                return False

    def _received(self) -> bytes:
        try:
            return self._socket.recv(CHUNK)
        except OSError:
            return b""

    def _said_again(self) -> bool:
        with self._sending:
            if not self._again or self._early is None:
                return False
            self._again = False
            self._socket.close()
            self._socket = self._connect()
            with suppress(OSError):
                self._socket.sendall(self._early)
                if self._ended:
                    self._socket.shutdown(socket.SHUT_WR)
        return True


def _compare_version(data: bytes) -> None:
    found = _GREETING.search(data)
    if found is not None and found[1].decode("ascii", "replace") != __version__:
        _say(f"The hub is Ombud {found[1].decode('ascii', 'replace')}, and this is {__version__}; it is used as it is.")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, CHUNK)
    except OSError:
        return b""


def _write(descriptor: int, data: bytes) -> bool:
    """Whether the reader is still there."""
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except OSError:
        return False
    return True


class _Ended(BaseException):
    """A signal has ended the command; no error of anybody's."""


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    def end(_number: int, _frame: FrameType | None) -> None:
        raise _Ended

    before = {}
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say(text: str) -> None:
    """To the person, on standard error: standard output belongs to the protocol."""
    with suppress(OSError):
        os.write(2, f"ombud: {text}\n".encode("utf-8", "replace"))
