"""What is said while servers start: one line on a terminal that is gone afterwards, else nothing unless asked for."""

from __future__ import annotations

import io
from typing import Any

import pytest
from ombud.faces.cli import progress as module
from ombud.faces.cli.progress import Progress


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def row(name: str, state: str, reason: str = "It is so.") -> dict[str, Any]:
    return {"name": name, "root": "/srv/x", "state": state, "reason": reason}


def made(stream: io.StringIO, *, quiet: bool = False, verbose: bool = False, term: str = "xterm") -> Progress:
    return Progress(stream, {"TERM": term, "COLUMNS": "60"}, quiet=quiet, verbose=verbose)


def test_one_line_tells_of_every_start(clock: Clock) -> None:
    stream = Tty()
    progress = made(stream)
    progress.server(row("one", "starting"))
    clock.now += 1.0
    progress.server(row("two", "starting"))
    clock.now += 0.9
    progress.server(row("one", "ready"))
    assert progress.line() == "starting one … ready (1.9 s), two … 1 s"
    progress.server(row("two", "failed"))
    assert progress.line() == "starting one … ready (1.9 s), two … failed"
    assert "\n" not in stream.getvalue()


def test_the_line_fits_and_is_erased(clock: Clock) -> None:
    stream = Tty()
    progress = made(stream)
    clock.now += 1
    for number in range(12):
        progress.server(row(f"server-{number}", "starting"))
    drawn = stream.getvalue().split("\r\x1b[2K")
    assert max(map(len, drawn)) <= 59
    progress.clear()
    assert stream.getvalue().endswith("\r\x1b[2K")
    before = stream.getvalue()
    progress.clear()
    assert stream.getvalue() == before


def test_what_is_quick_shows_nothing(clock: Clock) -> None:
    stream = Tty()
    progress = made(stream)
    progress.activity("asking")
    clock.now += 0.2
    progress.server(row("one", "starting"))
    progress.server(row("one", "ready"))
    progress.clear()
    assert stream.getvalue() == ""


def test_an_activity_stands_first(clock: Clock) -> None:
    progress = made(Tty())
    progress.activity("checked 1 of 3")
    progress.server(row("one", "starting"))
    clock.now += 4
    assert progress.line() == "checked 1 of 3  starting one … 4 s"


@pytest.mark.parametrize(("stream", "term"), [(io.StringIO(), "xterm"), (Tty(), "dumb")])
def test_elsewhere_there_is_no_line(clock: Clock, stream: io.StringIO, term: str) -> None:
    progress = made(stream, term=term)
    clock.now += 1
    progress.server(row("one", "starting"))
    progress.activity("asking")
    progress.clear()
    assert stream.getvalue() == ""


@pytest.mark.parametrize("stream", [io.StringIO(), Tty()])
def test_verbose_has_lines_that_stay(clock: Clock, stream: io.StringIO) -> None:
    progress = made(stream, verbose=True)
    progress.server(row("one", "starting"))
    clock.now += 2
    progress.server(row("one", "ready"))
    progress.server(row("one", "crashed", "It exited with code 3."))
    progress.server(row("one", "swept", "It was idle."))
    assert stream.getvalue().splitlines() == [
        "starting one in /srv/x",
        "one is ready (2.0 s)",
        "one crashed: It exited with code 3.",
        "one was stopped: It was idle.",
    ]


def test_quiet_says_nothing_at_all(clock: Clock) -> None:
    stream = Tty()
    progress = made(stream, quiet=True, verbose=True)
    clock.now += 1
    progress.server(row("one", "starting"))
    progress.activity("asking")
    progress.note("something")
    assert stream.getvalue() == ""


def test_a_note_does_not_run_into_the_line(clock: Clock) -> None:
    stream = Tty()
    progress = made(stream)
    clock.now += 1
    progress.server(row("one", "starting"))
    progress.note("a note")
    assert stream.getvalue().endswith("\r\x1b[2Ka note\n")


def test_a_restart_counts_from_its_own_beginning(clock: Clock) -> None:
    progress = made(Tty())
    progress.server(row("one", "starting"))
    clock.now += 5
    progress.server(row("one", "crashed"))
    clock.now += 5
    progress.server(row("one", "starting"))
    clock.now += 1
    progress.server(row("one", "ready"))
    assert progress.line() == "starting one … ready (1.0 s)"


class Gone(Tty):
    def write(self, _: str) -> int:
        raise BrokenPipeError


def test_a_terminal_that_has_gone_is_no_fault(clock: Clock) -> None:
    progress = made(Gone())
    clock.now += 1
    progress.server(row("one", "starting"))
    progress.note("x")
    progress.clear()
