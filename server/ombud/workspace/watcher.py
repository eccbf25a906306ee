"""Our own watcher, for clients that cannot watch: a thread that asks the system and tells exact events.

On Linux a watch is set on each folder that is looked at (`ombud.workspace.tree`) and on no other, so that
``node_modules`` does not use up the user's watches; elsewhere the system watches whole trees at no cost. Where it
refuses, or `watchfiles` is missing, the thread looks at the files itself every few seconds.
"""

from __future__ import annotations

import errno
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal, Protocol

from ombud.workspace.events import CHANGED
from ombud.workspace.tree import Event, Hint, Tree

LOG = logging.getLogger("ombud.watch")
STEP_MS = 50
"""A batch ends when so long nothing came."""
BATCH_MS = 500
"""A batch is never longer than this."""
POLL_SECONDS = 2.0
"""Between two looks where the system does not watch; longer where a look takes long (a tenth of the time)."""
_TRIES = 3


class Notify(Protocol):
    """The part of ``watchfiles``' `RustNotify` that is used."""

    def watch(
        self, debounce_ms: int, step_ms: int, timeout_ms: int, stop_event: threading.Event | None
    ) -> set[Hint] | Literal["signal", "stop", "timeout"]: ...
    def close(self) -> None: ...


Open = Callable[[list[str], bool], Notify]
"""Starts watching folders: their paths, and whether all that is below them is meant."""


class Watcher:
    """Watches from `start` to `stop`. All calls of ``heard`` and ``trouble`` are made on its own thread.

    ``folders`` are real; ``extra`` and ``files`` are as for `Tree`. ``heard`` is given the events of a batch, each path
    once. ``trouble`` is given a sentence where not everything is watched as it should be. ``ready`` is called when
    nothing is missed any more.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        heard: Callable[[list[Event]], None],
        trouble: Callable[[str], None],
        *,
        extra: Iterable[Path] = (),
        files: Iterable[Path] = (),
        ready: Callable[[], None] = lambda: None,
        opened: Open | None = None,
    ) -> None:
        self._folders = list(folders)
        self._extra = tuple(extra)
        self._files = tuple(files)
        self._heard = heard
        self._trouble = trouble
        self._ready = ready
        self._open = opened or _system
        self._over = threading.Event()
        # A daemon: the process must not wait for a file system that does not answer.
        self._thread = threading.Thread(target=self._run, name="file watcher", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End soon. Nothing is told any more that was not on its way already."""
        self._over.set()

    def join(self, seconds: float) -> bool:
        """Wait for the end of the thread; whether it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._watch()
        except Exception:
            LOG.exception("the file watcher ended")
            self._trouble("Files are no longer watched; Ombud's log says why.")
        LOG.info("no longer watching %s", ", ".join(str(one) for one in self._folders))

    def _watch(self) -> None:
        tree = Tree(self._folders, extra=self._extra, files=self._files)
        tree.look()
        if tree.note:
            self._trouble(tree.note)
        notify = self._opened(tree)
        named = ", ".join(str(one) for one in (*self._folders, *self._extra))
        LOG.info("watching %d folders of %s", len(tree.folders), named)
        # What happened while the watches were set.
        self._tell(tree.look())
        self._ready()
        if notify is None:
            self._poll(tree)
            return
        try:
            while not self._over.is_set():
                hints = self._hints(notify, BATCH_MS, 0)
                if hints is None:
                    notify.close()
                    renewed = self._renewed(tree)
                    if renewed is None:
                        self._poll(tree)
                        return
                    notify = renewed
                    continue
                if isinstance(hints, str):
                    continue
                events, fresh = tree.take(hints)
                while fresh:
                    following = self._opened(tree)
                    if following is None:
                        self._tell(events)
                        self._poll(tree)
                        return
                    notify, former = following, notify
                    more, fresh = self._rest(tree, former, fresh)
                    events += more
                self._tell(_once(events))
        finally:
            notify.close()

    def _hints(self, notify: Notify, batch_ms: int, timeout_ms: int) -> set[Hint] | str | None:
        """What the system reports; None where the notifier has ended, as at a name that is not UTF-8."""
        try:
            return notify.watch(batch_ms, STEP_MS, timeout_ms, self._over)
        except RuntimeError as error:
            LOG.info("the notifier ended: %s", error)
            return None

    def _renewed(self, tree: Tree) -> Notify | None:
        """Another notifier in the place of one that has ended, and what came meanwhile. After a pause, for what has
        ended this one may do the same to the next: then files are looked at as often as without any."""
        self._tell(tree.look())
        self._over.wait(POLL_SECONDS)
        events = tree.look()
        notify = self._opened(tree)
        self._tell(_once([*events, *tree.look()]))
        return notify

    def _rest(self, tree: Tree, former: Notify, fresh: list[str]) -> tuple[list[Event], list[str]]:
        """What came while another notifier took over: to the former one, and into folders that nobody watched; and the
        folders that are new once more."""
        left = self._hints(former, STEP_MS, STEP_MS)
        former.close()
        events = tree.again(fresh) if left is not None else tree.look()
        more, following = tree.take(left if isinstance(left, set) else ())
        return [*events, *more], following

    def _tell(self, events: list[Event]) -> None:
        if events and not self._over.is_set():
            self._heard(events)

    def _opened(self, tree: Tree) -> Notify | None:
        """The system's notifier for all folders of the tree; None where it cannot, which was said."""
        for _ in range(_TRIES):
            whole = sys.platform != "linux"
            named = (str(one) for one in self._folders) if whole else tree.folders
            # What is not UTF-8 is no path to the notifier.
            paths = [path for path in named if _is_text(path)]
            try:
                return self._open(paths, whole)
            except (FileNotFoundError, PermissionError):
                # A folder went, or was locked, between the look and the watch.
                tree.look()
            except ImportError:
                self._trouble(f"Files are looked at every {POLL_SECONDS:g} s or more: watchfiles is not installed.")
                return None
            except (OSError, RuntimeError) as error:
                self._trouble(_refusal(error))
                return None
        self._trouble(f"Files are looked at every {POLL_SECONDS:g} s or more: folders come and go too fast.")
        return None

    def _poll(self, tree: Tree) -> None:
        pause = POLL_SECONDS
        while not self._over.wait(pause):
            began = time.monotonic()
            self._tell(tree.look())
            pause = max(POLL_SECONDS, 10 * (time.monotonic() - began))


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _once(events: list[Event]) -> list[Event]:
    """Each path once: what was last seen of it, but what was new stays so."""
    found: dict[str, Event] = {}
    for event in events:
        former = found.get(event.path)
        if former is None or event.kind != CHANGED:
            found[event.path] = event
    return list(found.values())


def _refusal(error: Exception) -> str:
    """Why the system does not watch, and what can be done."""
    words = str(error)
    full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EMFILE) or "limit" in words or "Too many" in words
    if full:
        return (
            "The user's limit of file watches is reached, so Ombud looks at the files itself, which is slower. Raise "
            "fs.inotify.max_user_watches and fs.inotify.max_user_instances."
        )
    return f"The system does not watch files here ({words[:200]}), so Ombud looks at them itself, which is slower."


def _system(paths: list[str], whole: bool) -> Notify:
    from watchfiles._rust_notify import RustNotify

    # Its way of overlooking folders that may not be read would overlook the limit of watches, too.
    return RustNotify(paths, False, False, 300, whole, False)
