"""Who waits for a change that a client makes to one of its documents."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ombud.operations.session import Session


class Typed:
    """`heard` is called for each ``didChange``; `until` waits for one that brings about what is looked for."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Session, Callable[[], bool], asyncio.Future[None]]] = []

    def heard(self, session: Session) -> None:
        for who, looked_for, future in self._waiting:
            if who is session and not future.done() and looked_for():
                future.set_result(None)

    def until(self, session: Session, looked_for: Callable[[], bool]) -> asyncio.Future[None]:
        """Done at the first change by ``session`` after which ``looked_for`` is true. Cancel it to stop waiting."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = session, looked_for, future
        self._waiting.append(entry)
        future.add_done_callback(lambda _: self._waiting.remove(entry))
        return future
