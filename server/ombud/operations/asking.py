"""A client's request that is worked on here, and not by a server alone."""

from __future__ import annotations

from collections.abc import Callable

from ombud.downstream.link import Outcome, Settle
from ombud.errors import Cancelled


class Asking:
    """Answers exactly once; `cancel` works at any time. ``over(outcome)`` is called behind the answer."""

    __slots__ = ("_over", "_settle", "_stop")

    def __init__(self, settle: Settle, over: Callable[[Outcome], None]) -> None:
        self._settle: Settle | None = settle
        self._over = over
        self._stop: Callable[[], object] | None = None

    @property
    def done(self) -> bool:
        return self._settle is None

    def until(self, stop: Callable[[], object]) -> None:
        """What ends the present work for it, should the client cancel."""
        if self._settle is not None:
            self._stop = stop

    def finish(self, outcome: Outcome) -> None:
        """The first answer counts; later ones are dropped (W11)."""
        settle, self._settle = self._settle, None
        if settle is None:
            return
        self._stop = None
        try:
            settle(outcome)
        finally:
            self._over(outcome)

    def cancel(self) -> None:
        """Answer at once, then stop the work."""
        stop = self._stop
        self.finish(Cancelled())
        if stop is not None:
            stop()
