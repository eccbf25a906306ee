"""Row P4: how long a server that failed is left alone, and when it is not restarted by itself any more."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from ombud.downstream import failures as module
from ombud.downstream.failures import COOL_DOWN, FAILURE_WINDOW, FAILURES_ALLOWED, Failures
from ombud.downstream.server import BACKOFF


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=clock.monotonic))
    return clock


def test_P4_the_waits_grow_from_2_to_30_seconds_and_the_fifth_failure_is_one_too_many(clock: Clock) -> None:
    failures = Failures()
    assert (BACKOFF[0], BACKOFF[-1]) == (2.0, 30.0)
    assert (failures.wait <= 0, failures.too_many) == (True, False)
    for expected in BACKOFF[: FAILURES_ALLOWED - 1]:
        assert failures.note(BACKOFF) == expected
        assert (failures.wait, failures.too_many) == (expected, False)
        clock.now += expected
        assert failures.wait <= 0
    assert failures.note(BACKOFF) == COOL_DOWN
    assert failures.too_many
    clock.now += COOL_DOWN
    # Five minutes later a need may try again, and what was before is forgotten.
    assert (failures.wait <= 0, failures.too_many) == (True, False)
    assert failures.note(BACKOFF) == BACKOFF[0]


def test_P4_only_the_failures_of_the_last_three_minutes_count(clock: Clock) -> None:
    failures = Failures()
    for _ in range(20):
        assert failures.note(BACKOFF) == BACKOFF[0]
        clock.now += FAILURE_WINDOW
    failures.note(BACKOFF)
    clock.now += FAILURE_WINDOW - 1
    assert failures.note(BACKOFF) == BACKOFF[1]


def test_P4_what_is_forgiven_does_not_count(clock: Clock) -> None:
    failures = Failures()
    for _ in range(FAILURES_ALLOWED):
        failures.note(BACKOFF)
    failures.forgive()
    assert (failures.wait <= 0, failures.too_many) == (True, False)
    assert failures.note(BACKOFF) == BACKOFF[0]


def test_P4_a_short_list_of_waits_ends_with_its_last(clock: Clock) -> None:
    failures = Failures()
    assert [failures.note((1.0, 2.0)) for _ in range(4)] == [1.0, 2.0, 2.0, 2.0]
