"""How often a server has failed lately, and how long it is therefore left alone (P4)."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence

FAILURE_WINDOW = 180.0
FAILURES_ALLOWED = 5
COOL_DOWN = 300.0
"""Five failures in three minutes stop the restarts; a need five minutes later may try again (P4)."""


class Failures:
    """Times are monotonic seconds."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=FAILURES_ALLOWED)
        self._blocked_until = 0.0

    def note(self, backoff: Sequence[float]) -> float:
        """One more has happened now. Returns the seconds until the next try: the n-th of ``backoff`` after n failures
        in the window, ``COOL_DOWN`` after too many."""
        now = time.monotonic()
        self._times.append(now)
        delay = COOL_DOWN if self.too_many else backoff[min(self._recent(now), len(backoff)) - 1]
        self._blocked_until = now + delay
        return delay

    @property
    def too_many(self) -> bool:
        """Whether it must not be restarted by itself any more."""
        return self._recent(time.monotonic()) >= FAILURES_ALLOWED

    @property
    def wait(self) -> float:
        """How many seconds must pass before the next try; not positive when none must."""
        return self._blocked_until - time.monotonic()

    def forgive(self) -> None:
        self._times.clear()
        self._blocked_until = 0.0

    def _recent(self, now: float) -> int:
        return sum(now - at < FAILURE_WINDOW for at in self._times)
