"""``ombud`` in whose way somebody gets: ``python tests/peers/meddled.py '{"at": …, "nth": 3, "do": […]}' serve``.

Right before the ``nth`` call of the function or method ``at`` (dotted, under ``ombud``) it is done what ``do`` says: a
list of ``["kill"]``, ``["cancel"]`` (the task that calls), ``["rename", old, new]``, ``["symlink", target, name]``,
``["write", path, text]``. Instead of
``do`` there may be ``orders``: a file that holds such a list whenever the test wants something done before the next
call; it is gone once that is done. With ``log`` every call that makes, moves, deletes or syncs a file is written there,
one JSON list a line: its name and its paths.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

# The interpreter was started with -P, which leaves the tests out of the path.
sys.path.append(str(Path(__file__).parents[2]))

from ombud.__main__ import main

from tests.commits import interposed


def do(steps: list[list[str]]) -> None:
    for what, *args in steps:
        if what == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif what == "cancel":
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
        elif what == "rename":
            Path(args[0]).rename(args[1])
        elif what == "symlink":
            Path(args[1]).symlink_to(args[0])
        elif what == "write":
            Path(args[0]).write_text(args[1])
        else:
            raise ValueError(what)


def ordered(orders: Path) -> None:
    try:
        steps = json.loads(orders.read_text())
    except FileNotFoundError:
        return
    orders.unlink()
    do(steps)


def meddle(at: str, then: Callable[[int], None]) -> None:
    """``then`` is told the number of each call, from 1. Raises ``AttributeError`` where nothing has that name."""
    parts = at.split(".")
    # Modules are in small letters; a class may stand between one and its method.
    depth = next((number for number, part in enumerate(parts) if part[0].isupper()), len(parts) - 1)
    holder = import_module(".".join(["ombud", *parts[:depth]]))
    for part in parts[depth:-1]:
        holder = getattr(holder, part)
    real = getattr(holder, parts[-1])
    calls: list[None] = []

    def meddled(*args: Any, **named: Any) -> Any:
        calls.append(None)
        then(len(calls))
        return real(*args, **named)

    setattr(holder, parts[-1], meddled)


def logging(path: Path) -> Any:
    """What `interposed` calls in place of each call: it is done, and then written down."""
    file = path.open("a", buffering=1)

    def of_fd(fd: Any) -> str:
        return os.readlink(f"/proc/self/fd/{fd}") if isinstance(fd, int) else ""

    def act(name: str, real: Any, args: Any, named: Any) -> Any:
        if name in ("fsync", "fchmod", "ftruncate", "write"):
            places = [of_fd(args[0])]
        else:
            folders = [named.get(key) for key in ("dir_fd", "src_dir_fd", "dst_dir_fd") if key in named]
            paths = [one for one in args if isinstance(one, (str, os.PathLike))]
            places = [
                os.path.join(of_fd(folder), one)
                for folder, one in zip(folders or [None] * len(paths), paths, strict=False)
            ]
        result = real(*args, **named)
        file.write(json.dumps([name, *places]) + "\n")
        return result

    return act


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    if "orders" in asked:
        meddle(asked["at"], lambda _number: ordered(Path(asked["orders"])))
    elif "at" in asked:
        meddle(asked["at"], lambda number: do(asked["do"]) if number == asked.get("nth", 1) else None)
    if "log" not in asked:
        sys.exit(main(sys.argv[2:]))
    with interposed(logging(Path(asked["log"]))):
        sys.exit(main(sys.argv[2:]))
