"""A small file system in memory: what a server's operations would leave of it, step by step (C5).

A ``WorkspaceEdit`` may edit a file and then rename it, create one and then fill it, delete one and put another in its
place. The operations are carried out here in their order, and only what is left at the end becomes editions, one for
each path.
"""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ombud.errors import Refused
from ombud.guard.fence import FileBytes, Inside
from ombud.operations.writing.plan import Edition
from ombud.text.buffer import Buffer
from ombud.text.changes import TextEdit, apply_text_edits


@dataclass(frozen=True, slots=True)
class Original:
    """A file as it is on the disk. ``buffer`` is None for one that is no text: it can be moved or deleted only."""

    inside: Inside
    stat: FileBytes
    buffer: Buffer | None

    @property
    def text(self) -> str | None:
        return None if self.buffer is None else self.buffer.text


@dataclass(eq=False, slots=True)
class Node:
    """A file of the simulation: where it is, where it came from, and the edits that its text has yet to get.

    Edits of one document belong together as long as nothing else happens to it: by the specification they all speak
    of the text of one version.
    """

    inside: Inside
    origin: Original | None = None
    text: str | None = ""
    edits: list[TextEdit] = field(default_factory=list)
    done: list[TextEdit] = field(default_factory=list)

    @property
    def buffer(self) -> Buffer:
        if self.origin is not None and self.origin.buffer is not None:
            return self.origin.buffer
        return Buffer("", name=self.inside.relative)

    def settle(self) -> None:
        """Apply the edits that wait. Raises `PeerError` where two of them overlap (C4)."""
        if not self.edits:
            return
        assert self.text is not None
        eol = self.buffer.eol if self.origin is not None else None
        self.text = apply_text_edits(self.text, self.edits, eol=eol)
        self.done += self.edits
        self.edits = []


class Simulated:
    """See the module. ``folders`` are the folders that are there, as far as an operation could meet them.

    All methods raise `Refused` for what an editor could not do either: ``not_found``, ``conflict``, ``not_text``.
    """

    def __init__(self, originals: Iterable[Original], folders: Iterable[Path]) -> None:
        self._originals: Mapping[Path, Original] = {one.inside.path: one for one in originals}
        self._nodes: dict[Path, Node] = {}
        self._folders = set(folders)
        self._filled: Counter[Path] = Counter()
        """Folder → how many files are in it and below."""
        for one in self._originals.values():
            self._put(Node(one.inside, one, one.text))

    def _put(self, node: Node) -> None:
        self._take(node.inside.path)
        self._nodes[node.inside.path] = node
        self._filled.update(node.inside.path.parents)

    def _take(self, path: Path) -> Node | None:
        node = self._nodes.pop(path, None)
        if node is not None:
            self._filled.subtract(path.parents)
        return node

    def node(self, path: Path) -> Node | None:
        return self._nodes.get(path)

    def within(self, folder: Path) -> list[Node]:
        """The files in a folder and below, in order of their paths."""
        return [self._nodes[path] for path in sorted(self._nodes) if path != folder and path.is_relative_to(folder)]

    def is_folder(self, path: Path) -> bool:
        return path not in self._nodes and (path in self._folders or self._filled[path] > 0)

    def edit(self, inside: Inside, edits: Sequence[TextEdit]) -> None:
        node = self._nodes.get(inside.path)
        if node is None:
            what = "is a folder" if self.is_folder(inside.path) else "does not exist"
            raise Refused(f"{inside.relative} is to be edited and {what}.", kind="not_found", path=inside.relative)
        if node.text is None:
            raise Refused(
                f"{inside.relative} is to be edited and is no text file.", kind="not_text", path=inside.relative
            )
        node.edits += edits

    def create(self, inside: Inside, *, overwrite: bool, ignore: bool) -> None:
        if self._in_the_way(inside, overwrite=overwrite, ignore=ignore):
            return
        there = self._nodes.get(inside.path)
        if there is None:
            self._put(Node(inside))
        elif there.origin is not None and there.origin.buffer is None:
            raise _binary(inside)
        else:
            # The same file with another content: encoding, mode and owner stay.
            there.settle()
            there.text = ""

    def rename(self, old: Inside, new: Sequence[tuple[Inside, Inside]], *, overwrite: bool, ignore: bool) -> None:
        """``new`` are the moves of the files, one pair for a file and all that are in it for a folder."""
        whole = self.is_folder(old.path)
        for before, after in new:
            # What is in the way comes first, as editors have it: then there need be nothing to rename.
            if before.path == after.path or self._in_the_way(after, overwrite=overwrite, ignore=ignore):
                continue
            node = self._take(before.path)
            if node is None:
                raise Refused(
                    f"{old.relative} is to be renamed and does not exist.", kind="not_found", path=old.relative
                )
            node.settle()
            node.inside = after
            self._put(node)
        if whole:
            self._folders = {one for one in self._folders if not one.is_relative_to(old.path)}

    def delete(self, inside: Inside, *, recursive: bool, ignore: bool) -> None:
        if self._take(inside.path) is not None:
            return
        if not self.is_folder(inside.path):
            if ignore:
                return
            raise Refused(
                f"{inside.relative} is to be deleted and does not exist.", kind="not_found", path=inside.relative
            )
        below = self.within(inside.path)
        if below and not recursive:
            raise Refused(
                f"{inside.relative} is a folder that is not empty, and its content is not to be deleted with it.",
                kind="conflict",
                path=inside.relative,
            )
        for node in below:
            self._take(node.inside.path)
        self._folders = {one for one in self._folders if not one.is_relative_to(inside.path)}

    def _in_the_way(self, inside: Inside, *, overwrite: bool, ignore: bool) -> bool:
        """Whether the operation is left out for what is there already. Overwriting wins (LSP 3.17)."""
        folder = self.is_folder(inside.path)
        if inside.path not in self._nodes and not folder:
            return False
        if overwrite and not folder:
            return False
        if ignore:
            return True
        raise Refused(f"{inside.relative} exists already.", kind="conflict", path=inside.relative)

    # -- what is left -----------------------------------------------------------------------------------------

    def editions(self) -> tuple[Edition, ...]:
        """One edition for each path that is not as it was. A file that comes and goes leaves none."""
        for node in self._nodes.values():
            node.settle()
        out: list[Edition] = []
        moved: set[Path] = set()
        for path in sorted(self._nodes):
            edition = self._edition(self._nodes[path])
            if edition is not None:
                out.append(edition)
                moved.update(edition.paths if edition.kind == "rename" else ())
        for path in sorted(self._originals):
            if path not in self._nodes and path not in moved:
                one = self._originals[path]
                out.append(
                    Edition("delete", one.inside, one.stat, None, one.text, None, _named(one.buffer, one.inside))
                )
        return tuple(out)

    def edits(self) -> dict[str, tuple[TextEdit, ...]]:
        """The edits of each file's text, by its path afterwards; after `editions`."""
        return {node.inside.relative: tuple(node.done) for node in self._nodes.values() if node.done}

    def _edition(self, node: Node) -> Edition | None:
        there, origin, path = self._originals.get(node.inside.path), node.origin, node.inside.path
        if there is None:
            if origin is None:
                after = node.buffer.encode(node.text or "")
                return Edition("create", node.inside, None, after, None, node.text, node.buffer)
            if origin.inside.path not in self._nodes:
                return self._renamed(node, origin)
            return Edition("create", node.inside, None, _data(node), None, node.text, node.buffer, mode=_mode(origin))
        if origin is not None and origin.inside.path == path:
            if node.text == origin.text:
                return None
            after = node.buffer.encode(node.text or "")
            return Edition("modify", node.inside, origin.stat, after, origin.text, node.text, node.buffer)
        # Another file has taken the place of this one, whose name stays.
        after = _data(node)
        if there.buffer is None:
            raise _binary(node.inside)
        mode = None if origin is None else _mode(origin)
        if after == there.stat.data and mode in (None, _mode(there)):
            return None
        return Edition("modify", node.inside, there.stat, after, there.text, node.text, node.buffer, mode=mode)

    def _renamed(self, node: Node, origin: Original) -> Edition:
        after = None if node.text == origin.text else node.buffer.encode(node.text or "")
        return Edition("rename", origin.inside, origin.stat, after, origin.text, node.text, node.buffer, to=node.inside)


def _data(node: Node) -> bytes:
    if node.text is None:
        raise _binary(node.inside)
    return node.buffer.encode(node.text)


def _mode(origin: Original) -> int:
    return stat.S_IMODE(origin.stat.mode)


def _named(buffer: Buffer | None, inside: Inside) -> Buffer:
    return Buffer("", name=inside.relative) if buffer is None else buffer


def _binary(inside: Inside) -> Refused:
    return Refused(
        f"{inside.relative} is no text file and is to change places with another one; move it by itself.",
        kind="not_text",
        path=inside.relative,
    )
