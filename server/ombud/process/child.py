"""One child process: its three pipes, its group and its end."""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

from ombud.errors import PeerError
from ombud.process.environment import CHILD
from ombud.process.exit import Exit, describe
from ombud.process.group import Group
from ombud.process.guardian import Guardian
from ombud.process.pipes import widen
from ombud.process.ring import Ring

_log = logging.getLogger(__name__)

DRAIN = 1.0
"""Seconds that a dead child's output may still be held open by whom it left behind, before its end is told anyway."""
LAST_LOOK = 0.05
"""Seconds more, after ``DRAIN``, in which the event loop reads what it has not come to."""
LINGER = 2.0
"""Seconds that a child may live on after it closed a pipe it is spoken to through."""
SWEEP_TERM = 1.0
SWEEP_KILL = 3.0
"""Seconds that what a dead child left behind gets after SIGTERM, and after SIGKILL."""


class Child:
    """A running child process. Made by ``start``; everything belongs to the event loop's thread."""

    def __init__(
        self,
        *,
        on_stdout: Callable[[bytes], None],
        on_exit: Callable[[Exit], None],
        on_pause: Callable[[bool], None] | None,
        guardian: Guardian,
        stderr_limit: int,
        linger: float | None,
    ) -> None:
        """Not for callers: ``Child.start`` is the way in."""
        self._on_stdout = on_stdout
        self._on_exit = on_exit
        self._on_pause = on_pause
        self._guardian = guardian
        self._linger = linger
        self._mark = guardian.new_mark()
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.SubprocessTransport | None = None
        self._group: Group | None = None
        self._open_pipes = {0, 1, 2}
        self._stdin_closed_here = False
        self.slow = False
        """Whether so much waits for it that ``on_pause`` was told so; cheaper to ask than ``pending_bytes``."""
        self._complaint: str | None = None
        self._lost_patience = False
        self._exit: Exit | None = None
        self._starting: asyncio.Task[None] | None = None
        self._sweeping: asyncio.Task[None] | None = None
        self._finished = asyncio.Event()
        self.died = asyncio.Event()
        """Set when the process has ended, which may be a little before ``on_exit``."""
        self.stderr = Ring(stderr_limit)
        self._on_stderr: Callable[[bytes], None] | None = None
        self.started_at = time.monotonic()
        """Seconds on ``time.monotonic``: the age is ``time.monotonic() - started_at``."""
        self.returncode: int | None = None
        """As ``subprocess`` gives it, negative for a signal; None while the process runs."""
        self.climbs: dict[object, asyncio.Task[Exit]] = {}
        """The shutdown ladders being climbed for this child (``ladder.py``)."""

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        on_stdout: Callable[[bytes], None],
        on_exit: Callable[[Exit], None],
        guardian: Guardian,
        stderr_limit: int = 65536,
        on_pause: Callable[[bool], None] | None = None,
        linger: float | None = LINGER,
        on_stderr: Callable[[bytes], None] | None = None,
    ) -> Child:
        """Start ``argv`` in a session and process group of its own, with the guardian's marks added to ``env``.

        ``argv[0]`` is an absolute path (``guard`` resolves it; row T8): ValueError otherwise. ``on_stdout`` gets bytes
        in order, in the callback that delivers them: no task, no reader. ``on_exit`` is called exactly once, after all
        output, or ``DRAIN`` seconds after the end when somebody else still holds the output open. Both may be called
        before ``start`` has returned. ``on_pause(True)`` says that writing has filled the buffer beyond its mark (see
        ``pending_bytes``), ``on_pause(False)`` that it has drained. ``stderr_limit`` is in bytes. A child that closes
        its standard output or input and lives on is ended after ``linger`` seconds, since it can never answer again;
        None is for one that is spoken to through a socket. ``on_stderr`` gets the bytes of standard error, too, which
        `stderr_tail` keeps the end of in any case.

        Raises PeerError (``server_failed``) when it, or the guardian, cannot be started.
        """
        if not argv or not Path(argv[0]).is_absolute():
            raise ValueError("a child is started by the absolute path of its executable")
        guardian.ensure()
        child = cls(
            on_stdout=on_stdout,
            on_exit=on_exit,
            on_pause=on_pause,
            guardian=guardian,
            stderr_limit=stderr_limit,
            linger=linger,
        )
        child._on_stderr = on_stderr
        await child._spawn(argv, cwd, {**env, **guardian.environment(), CHILD: child._mark})
        return child

    @property
    def pid(self) -> int:
        """The process id, also after the end."""
        return self.group.leader

    @property
    def pgid(self) -> int:
        """The process group's id: the same number, because the child leads a group of its own."""
        return self.group.leader

    @property
    def group(self) -> Group:
        """All the processes the child stands for."""
        if self._group is None:
            raise RuntimeError("the child has not been started")
        return self._group

    @property
    def pending_bytes(self) -> int:
        """Bytes written here and not yet taken by the pipe."""
        pipe = self._stdin()
        return pipe.get_write_buffer_size() if pipe is not None else 0

    def write(self, data: bytes) -> None:
        """Send bytes to the child's standard input: never blocks, never raises for a child that is gone.

        What cannot be delivered is dropped. A broken pipe ends the connection (row P7): nothing more is tried, and
        ``on_exit`` is the one sign of it, because a child that broke it and lives on is ended (see ``start``).
        """
        pipe = self._stdin()
        if pipe is not None and not pipe.is_closing():
            pipe.write(data)

    def close_stdin(self) -> None:
        """End the child's input once what was written has been taken by it."""
        self._stdin_closed_here = True
        pipe = self._stdin()
        if pipe is not None:
            pipe.close()

    def stderr_tail(self, lines: int = 20) -> str:
        """The last lines of standard error as the child wrote them; redact them before showing them (row C9)."""
        return self.stderr.tail(lines)

    async def wait(self) -> Exit:
        """Wait until ``on_exit`` has been called and return what it was given."""
        await self._finished.wait()
        if self._exit is None:
            raise RuntimeError("the child's end was announced without being known")
        return self._exit

    async def gone(self) -> None:
        """Wait until the process has died and what it left behind has been swept up as well."""
        await self.died.wait()
        if self._sweeping is not None:
            # Shielded: the sweep is the child's own and outlives the patience of one caller.
            await asyncio.shield(self._sweeping)

    def _stdin(self) -> asyncio.WriteTransport | None:
        pipe = self._transport.get_pipe_transport(0) if self._transport is not None else None
        return pipe if isinstance(pipe, asyncio.WriteTransport) else None

    async def _spawn(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        self._starting = self._loop.create_task(
            _completed(
                self._loop.subprocess_exec(lambda: _Pipes(self), *argv, cwd=cwd, env=env, start_new_session=True)
            )
        )
        try:
            await asyncio.shield(self._starting)
        except (OSError, ValueError) as error:
            raise PeerError(_start_failure(argv[0], cwd, error), kind="server_failed") from error
        except asyncio.CancelledError:
            self._disown()
            raise

    # What the pipes say.

    def _started(self, transport: asyncio.SubprocessTransport) -> None:
        self._transport = transport
        out = transport.get_pipe_transport(1)
        # One that has closed its output already has said everything the long way.
        if out is not None and not out.is_closing():
            widen(out.get_extra_info("pipe").fileno())
            out.set_protocol(_Output(self, out.get_protocol()))
        self._group = Group(transport.get_pid(), self._mark)
        self._guardian.add(self._group.leader)

    def _received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self.stderr.write(data)
            if self._on_stderr is not None and self._exit is None:
                self._on_stderr(data)
        elif self._exit is None:
            self._on_stdout(data)

    def _pipe_lost(self, fd: int) -> None:
        self._open_pipes.discard(fd)
        if fd == 1:
            self._complain("closed its standard output")
        elif fd == 0 and not self._stdin_closed_here:
            self._complain("closed its standard input")
        self._finish_if_drained()

    def _process_ended(self) -> None:
        if self._transport is None or self._group is None:
            return
        self.returncode = self._transport.get_returncode()
        self._group.leader_ended()
        self.died.set()
        self._sweeping = self._loop.create_task(self._sweep(self._group))
        self._loop.call_later(DRAIN, self._stop_draining)
        self._finish_if_drained()

    def _paused(self, paused: bool) -> None:
        self.slow = paused
        if self._on_pause is not None:
            self._on_pause(paused)

    # What follows from it.

    def _complain(self, what: str) -> None:
        """A pipe was closed from the other side. A child that is ending closes them too, moments before its end."""
        if self._linger is None or self._complaint is not None or self.died.is_set():
            return
        self._complaint = what
        self._loop.call_later(self._linger, self._lose_patience, signal.SIGTERM)

    def _lose_patience(self, number: signal.Signals) -> None:
        if self.died.is_set() or self.climbs or self._linger is None:
            return
        self._lost_patience = True
        self.group.signal(number)
        if number == signal.SIGTERM:
            self._loop.call_later(self._linger, self._lose_patience, signal.SIGKILL)

    def _stop_draining(self) -> None:
        # When the loop itself was held up for so long, what the child has said is still in the pipe: a last look at
        # it, for which the loop needs a turn to read and one to deliver.
        self._loop.call_later(LAST_LOOK, self._finish)

    def _finish_if_drained(self) -> None:
        if self.died.is_set() and not self._open_pipes & {1, 2}:
            self._finish()

    def _finish(self) -> None:
        if self._exit is not None or self._transport is None:
            return
        self._exit = self._describe()
        try:
            self._release(self._transport)
        finally:
            self._finished.set()
            self._on_exit(self._exit)

    def _release(self, transport: asyncio.SubprocessTransport) -> None:
        """Close what is still open of the three pipes."""
        pipe = self._stdin()
        if pipe is not None and 0 in self._open_pipes and (self.pending_bytes or not pipe.is_closing()):
            # Closing would first wait for what is pending, which nobody is going to read. A pipe that is closing with
            # nothing pending has its end on the way, and asyncio does not bear to be told twice.
            pipe.abort()
        transport.close()

    def _describe(self) -> Exit:
        if self.returncode is None:
            return Exit(None, None, "ended, and its exit code is unknown")
        end = describe(self.returncode)
        if self._complaint is None or not self._lost_patience:
            return end
        return Exit(end.code, end.signal, f"{self._complaint}, lived on and {end.words}")

    async def _sweep(self, group: Group) -> None:
        survivors = await group.sweep(term=SWEEP_TERM, kill=SWEEP_KILL)
        if survivors:
            # They stay on the guardian's list, which tries again when Ombud ends.
            _log.warning("Processes %s, left behind by process %d, could not be ended.", survivors, group.leader)
        else:
            self._guardian.remove(group.leader)

    def _disown(self) -> None:
        """The caller of ``start`` was cancelled: nobody is told anything any more, and the process is ended.

        The start itself goes on for its last moments. Cancelled in the middle, asyncio would wait for the pipes to be
        closed, which whoever the child has started in the meantime need not ever do.
        """
        self._on_stdout, self._on_exit, self._on_pause = _nothing, _nothing, None
        if self._starting is not None:
            self._starting.add_done_callback(self._end_disowned)

    def _end_disowned(self, starting: asyncio.Task[None]) -> None:
        if not starting.cancelled():
            starting.exception()  # A start that failed has left nothing; looking at it keeps asyncio from logging it.
        if self._group is not None:
            self._group.kill()


class _Pipes(asyncio.SubprocessProtocol):
    """asyncio's view of a child: each call is passed on in the call itself, without a task or a queue between."""

    def __init__(self, child: Child) -> None:
        self._child = child

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._child._started(transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._child._received(fd, data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 -- asyncio's signature
        self._child._pipe_lost(fd)

    def process_exited(self) -> None:
        self._child._process_ended()

    def pause_writing(self) -> None:
        self._child._paused(True)

    def resume_writing(self) -> None:
        self._child._paused(False)


class _Output(asyncio.Protocol):
    """Standard output past asyncio's own view of it, which would put off each piece to another turn of the loop."""

    def __init__(self, child: Child, beneath: asyncio.BaseProtocol) -> None:
        self._child = child
        self._beneath = beneath

    def data_received(self, data: bytes) -> None:
        self._child._received(1, data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._beneath.connection_lost(exc)


async def _completed(start: Coroutine[Any, Any, object]) -> None:
    await start


def _nothing(_: object) -> None:
    pass


def _start_failure(program: str, cwd: Path, error: OSError | ValueError) -> str:
    """Why a program could not be started, and what to do about it. The system blames it on whatever it met last."""
    if not isinstance(error, OSError):
        return f"{program} could not be started: its command, folder or environment is malformed ({error})."
    if not cwd.is_dir():
        return f"{program} could not be started: its working folder {cwd} does not exist or is not a folder."
    reason = error.strerror or str(error)
    if error.errno == errno.ENOENT:
        if Path(program).exists():
            return f"{program} could not be started: the interpreter it names does not exist. Reinstall it."
        return f"{program} could not be started: there is no such file. Install it or correct its command."
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"{program} could not be started: it may not be executed. Check that it is a program and executable."
    if error.errno == errno.ENOEXEC:
        return f"{program} could not be started: it is not a program for this system. Reinstall it."
    if error.errno in (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE):
        return (
            f"{program} could not be started: the system has no room for it ({reason}). End other programs and retry."
        )
    return f"{program} could not be started: {reason}."
