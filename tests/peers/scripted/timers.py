"""Things to do later, on the one thread that the scripted server works on."""

from __future__ import annotations

import heapq
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Timers:
    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._cancelled: set[int] = set()
        self._count = 0

    def after(self, milliseconds: float, action: Callable[[], None]) -> int:
        """Plans ``action``; equal times keep the order in which they were planned."""
        self._count += 1
        heapq.heappush(self._heap, (time.monotonic() + milliseconds / 1000, self._count, action))
        return self._count

    def cancel(self, timer: int) -> None:
        self._cancelled.add(timer)

    def wait(self) -> float | None:
        """Seconds until the next action, None when nothing is planned."""
        return max(0.0, self._heap[0][0] - time.monotonic()) if self._heap else None

    def run_due(self) -> None:
        while self._heap and self._heap[0][0] <= time.monotonic():
            _, timer, action = heapq.heappop(self._heap)
            if timer in self._cancelled:
                self._cancelled.discard(timer)
            else:
                action()
