"""A workspace with one change of every kind, and system calls that fail or kill at a chosen moment.

For the tests of the commit: whatever happens in between, the workspace is as before or as after, never in between.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ombud.errors import Refused
from ombud.guard.fence import Fence
from ombud.guard.sensitive import SensitivePaths
from ombud.workspace import journal, turns
from ombud.workspace.change import Change
from ombud.workspace.commit import commit

Snapshot = dict[str, tuple[Any, ...]]

LOCKS = {journal.GATE, turns.NAME}
"""What always stays in a journal folder."""

_LARGEST = 1 << 22

# Everything that changes a disk, or makes a change durable.
CALLS = ("write", "link", "replace", "unlink", "rmdir", "mkdir", "fsync", "ftruncate", "fchmod", "fchown", "open")


def snapshot(root: Path) -> Snapshot:
    """All that is in a folder: bytes, permissions, links, and which names are one file."""
    names: dict[int, str] = {}
    seen: Snapshot = {}
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root).as_posix()
        if path.is_symlink():
            seen[relative] = ("link", os.readlink(path))
        elif path.is_dir():
            seen[relative] = ("folder", path.stat().st_mode)
        else:
            status = path.stat()
            first = names.setdefault(status.st_ino, relative)
            seen[relative] = (path.read_bytes(), status.st_mode & 0o7777, first)
    return seen


Portrait = dict[str, tuple[Any, ...]]


def portrait(root: Path) -> Portrait:
    """As `snapshot`, with owners, and quick: for thousands of rounds. Times, which nobody brings back, are left out."""
    names: dict[int, str] = {}
    seen: Portrait = {}

    def look(folder: str, above: str) -> None:
        for entry in sorted(os.scandir(folder), key=lambda one: one.name):
            relative = above + entry.name
            status = entry.stat(follow_symlinks=False)
            facts = (status.st_mode, status.st_uid, status.st_gid)
            if entry.is_symlink():
                seen[relative] = (*facts, os.readlink(entry.path))
            elif entry.is_dir():
                seen[relative] = facts
                look(entry.path, f"{relative}/")
            else:
                first = names.setdefault(status.st_ino, relative)
                data = Path(entry.path).read_bytes()
                seen[relative] = (*facts, first, status.st_nlink, len(data), hash(data))

    look(str(root), "")
    return seen


@dataclass
class Scene:
    """A workspace and the changes to make in it."""

    root: Path
    journals: Path
    fence: Fence

    def file(self, name: str, data: bytes, mode: int = 0o644) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(mode)

    def create(self, name: str, data: bytes, mode: int | None = None) -> Change:
        return Change("create", self.fence.resolve(name, intent="create"), after=data, mode=mode)

    def modify(self, name: str, data: bytes, mode: int | None = None) -> Change:
        inside = self.fence.resolve(name, intent="write")
        return Change("modify", inside, self.fence.read(inside, _LARGEST), data, mode=mode)

    def delete(self, name: str) -> Change:
        inside = self.fence.resolve(name, intent="delete")
        return Change("delete", inside, self.fence.read(inside, 1 << 20))

    def rename(self, name: str, to: str, data: bytes | None = None, mode: int | None = None) -> Change:
        inside = self.fence.resolve(name, intent="delete")
        target = self.fence.resolve(to, intent="create")
        return Change("rename", inside, self.fence.read(inside, 1 << 20), data, target, mode)


def fence_of(root: Path) -> Fence:
    return Fence([root], SensitivePaths())


def scene(folder: Path) -> Scene:
    """An empty workspace below ``folder``, with a place for journals outside it."""
    root = folder / "ws"
    root.mkdir(parents=True)
    return Scene(root, folder / "state" / "journals", fence_of(root))


def of_every_kind(made: Scene) -> list[Change]:
    """A change of every kind: also a file with two names that is rewritten, and another that is moved as well."""
    made.file("a.py", b"old a\r\n" * 300)
    made.file("tool.sh", b"#!/bin/sh\nold\n", 0o755)
    made.file("gone.py", b"to be deleted\n", 0o640)
    made.file("pack/from.py", b"moves on\n", 0o600)
    made.file("pack/edited.py", b"moves and changes\n", 0o755)
    made.file("twin.py", b"two names, one file\n" * 50)
    made.file("roaming.py", b"two names, and moves\n" * 50, 0o600)
    made.file("apart.py", b"never touched\n")
    os.link(made.root / "twin.py", made.root / "other-twin.py")
    os.link(made.root / "roaming.py", made.root / "home.py")
    return [
        made.modify("a.py", b"new a\r\n" * 200),
        made.modify("tool.sh", b"#!/bin/sh\nnew and longer\n"),
        made.create("fresh/deep/b.py", b"new file\n", 0o750),
        made.delete("gone.py"),
        made.rename("pack/from.py", "fresh/to.py"),
        made.rename("pack/edited.py", "pack/renamed.py", b"moved and changed\n"),
        made.modify("twin.py", b"written in place, and longer than before\n" * 60),
        made.rename("roaming.py", "fresh/roamed.py", b"moved in place, shorter\n", 0o640),
    ]


def five_files(made: Scene) -> list[Change]:
    """Five ordinary files, the usual case."""
    for number in range(5):
        made.file(f"m{number % 2}/f{number}.py", b"old %d\n" % number * 500)
    return [made.modify(f"m{number % 2}/f{number}.py", b"new %d\n" % number * 400) for number in range(5)]


def twenty_files(made: Scene) -> list[Change]:
    """Twenty files, each of another sort: encodings, line ends, modes, owners, links, odd names, and every kind."""
    large = bytes(range(256)) * (1 << 13)
    files: list[tuple[str, bytes, int]] = [
        ("crlf.py", b"one\r\ntwo\r\n" * 40, 0o644),
        ("bom.py", b"\xef\xbb\xbfone\r\ntwo\n", 0o644),
        ("wide.txt", "\ufeffbreit: äöü 𝄞\r\n".encode("utf-16-le") * 20, 0o664),
        ("tool.sh", b"#!/bin/sh\nold\n", 0o755),
        ("empty.py", b"", 0o644),
        ("emptied.py", b"to be emptied\n", 0o600),
        ("large.bin", large, 0o644),
        ("ünï/文件 ✓.py", "größe = 1\n".encode(), 0o644),
        ("-rf $(x) 'q' \"; \\n\n.py", b"an odd name\n", 0o444),
        ("real/linked.py", b"reached through a link\n", 0o711),
        ("twin.py", b"two names, one file\n" * 50, 0o640),
        (_NO_TEXT, b"its name is no text\n", 0o600),
        ("mode.sh", b"#!/bin/sh\nonly its mode\n", 0o644),
        ("gone.py", b"to be deleted\n", 0o640),
        ("leaving.py", b"one of two names goes\n", 0o600),
        ("pack/from.py", b"moves on\n", 0o600),
        ("pack/edited.py", b"moves and changes\n", 0o755),
        ("roaming.py", b"two names, and moves\n" * 50, 0o600),
        ("apart.py", b"never touched\n", 0o644),
    ]
    for name, data, mode in files:
        made.file(name, data, mode)
    for name, other in (("twin.py", "other-twin.py"), ("leaving.py", "staying.py"), ("roaming.py", "pack/home.py")):
        os.link(made.root / name, made.root / other)
    (made.root / "link.py").symlink_to("real/linked.py")
    (made.root / "pack/dangling").symlink_to("nowhere")
    if os.geteuid() == 0:
        os.chown(made.root / "bom.py", 12_345, 12_346)
        os.chown(made.root / "pack/edited.py", 12_345, 12_346)
    return [
        made.modify("crlf.py", b"one\r\nTWO\r\n" * 50),
        made.modify("bom.py", b"\xef\xbb\xbfONE\r\ntwo\n"),
        made.modify("wide.txt", "\ufeffschmal: é\r\n".encode("utf-16-le") * 30),
        made.modify("tool.sh", b"#!/bin/sh\nnew and longer\n"),
        made.modify("empty.py", b"no longer\n"),
        made.modify("emptied.py", b""),
        made.modify("large.bin", large[: 1 << 20] + b"changed in its middle" + large[1 << 20 :]),
        made.modify("ünï/文件 ✓.py", "größe = 2\n".encode()),
        made.modify("-rf $(x) 'q' \"; \\n\n.py", b"an odd name, changed\n"),
        made.modify("link.py", b"written through a link\n"),
        made.modify("twin.py", b"written in place, and longer than before\n" * 60),
        made.modify(_NO_TEXT, b"its name is still no text\n"),
        made.modify("mode.sh", b"#!/bin/sh\nonly its mode\n", 0o755),
        made.create("fresh/deep/er/a.py", b"new, in new folders\n"),
        made.create("fresh/b.py", b"new, with a mode\n", 0o750),
        made.delete("gone.py"),
        made.delete("leaving.py"),
        made.rename("pack/from.py", "fresh/to.py"),
        made.rename("pack/edited.py", "pack/renamed.py", b"moved and changed\n"),
        made.rename("roaming.py", "fresh/deep/roamed.py", b"moved in place, shorter\n", 0o640),
    ]


# macOS has no names that are not Unicode.
_NO_TEXT = os.fsdecode(b"caf\xe9.py") if sys.platform == "linux" else "café.py"


Action = Callable[[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]


@contextmanager
def interposed(act: Action) -> Iterator[None]:
    """Every call of `CALLS` goes to ``act`` instead: name, the real function, its arguments.

    Of ``open`` only those that make a file.
    """
    real = {name: getattr(os, name) for name in CALLS}

    def wrap(name: str) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            if name == "open" and not (args[1] & os.O_CREAT and args[1] & os.O_EXCL):
                return real[name](*args, **named)
            return act(name, real[name], args, named)

        return call

    for name in CALLS:
        setattr(os, name, wrap(name))
    try:
        yield
    finally:
        for name, function in real.items():
            setattr(os, name, function)


class Counter:
    """Counts the calls and hands the one numbered ``at`` (from 1) to ``do``; with ``onwards`` all later ones too."""

    def __init__(self, at: int, do: Action, *, onwards: bool = False) -> None:
        self.count = 0
        self.names: list[str] = []
        self._at = at
        self._do = do
        self._onwards = onwards

    def __call__(self, name: str, real: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        self.count += 1
        self.names.append(name)
        if self.count == self._at or (self._onwards and self.count > self._at):
            return self._do(name, real, args, named)
        return real(*args, **named)


def kill_before(_name: str, _real: Callable[..., Any], _args: tuple[Any, ...], _named: dict[str, Any]) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_after(name: str, real: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    try:
        real(*args, **named)
    finally:
        kill_before(name, real, args, named)


def kill_half(name: str, real: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """A write that gets half way, another call that gets all the way, and then the end."""
    if name == "write":
        args = (args[0], bytes(args[1])[: len(args[1]) // 2])
    kill_after(name, real, args, named)


def one_file(made: Scene) -> list[Change]:
    """One file that is changed in one step."""
    made.file("a.py", b"old\n")
    return [made.modify("a.py", b"new\n")]


def one_new_file(made: Scene) -> list[Change]:
    """One new file in folders that are made for it."""
    made.file("a.py", b"old\n")
    return [made.create("new/deep/b.py", b"new\n")]


def one_twin(made: Scene) -> list[Change]:
    """One file with two names, which is written in place."""
    made.file("a.py", b"old\n" * 20)
    os.link(made.root / "a.py", made.root / "b.py")
    return [made.modify("a.py", b"new and longer\n" * 30)]


def refused(made: Scene, changes: list[Change]) -> Refused:
    """The refusal of a commit, which must have left nothing behind."""
    before = snapshot(made.root)
    try:
        commit(made.fence, changes, made.journals)
    except Refused as error:
        assert snapshot(made.root) == before
        assert left_over(made) == []
        return error
    raise AssertionError("the commit was not refused")


def left_over(made: Scene) -> list[str]:
    """Journals, kept files and temporaries that should be gone."""
    journals = [path.name for path in made.journals.iterdir()] if made.journals.is_dir() else []
    here = [path.name for path in made.root.rglob(".ombud-*")]
    return [name for name in journals if name not in LOCKS] + here


def failing(number: int) -> Action:
    """Every call it gets fails with this error number."""

    def fail(_name: str, _real: Any, _args: Any, _named: Any) -> Any:
        raise OSError(number, os.strerror(number))

    return fail
