"""Waiting for what has no event: a process that goes, a line in a file."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

T = TypeVar("T")


@overload
async def wait_until(
    predicate: Callable[[], Awaitable[T]], timeout: float = ..., what: str = ..., interval: float = ...
) -> T: ...


@overload
async def wait_until(predicate: Callable[[], T], timeout: float = ..., what: str = ..., interval: float = ...) -> T: ...


async def wait_until(
    predicate: Callable[[], Any], timeout: float = 10.0, what: str = "", interval: float = 0.02
) -> Any:
    """Polls ``predicate`` (plain or async) until it is truthy and returns what it returned.

    ``timeout`` and ``interval`` are seconds. Raises ``TimeoutError`` that says ``what`` did not happen. Use it only
    where nothing can be awaited; notifications and answers have their own waits in ``tests.client``.
    """
    deadline = time.monotonic() + timeout
    while True:
        value = predicate()
        if inspect.isawaitable(value):
            value = await value
        if value:
            return value
        if time.monotonic() >= deadline:
            raise TimeoutError(_overdue(what, predicate, timeout, value))
        await asyncio.sleep(interval)


def wait_until_sync(predicate: Callable[[], T], timeout: float = 10.0, what: str = "", interval: float = 0.02) -> T:
    """``wait_until`` for tests without an event loop."""
    deadline = time.monotonic() + timeout
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise TimeoutError(_overdue(what, predicate, timeout, value))
        time.sleep(interval)


def _overdue(what: str, predicate: Callable[..., object], timeout: float, value: object) -> str:
    return f"not within {timeout:g} s: {what or getattr(predicate, '__qualname__', predicate)} (last: {value!r})"
