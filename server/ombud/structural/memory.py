"""What a search keeps of files between two questions: their sources and trees, within a bound.

A search goes through all files from the first to the last, so forgetting what was used longest ago would forget
everything just before it is needed. What the present question or the one before it has used is therefore kept, and what
finds no room is not taken in.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from ombud.workspace.listing import NONE, Stamp

if TYPE_CHECKING:
    from tree_sitter import Tree

NODE_BYTES = 100
"""What a node of a tree takes in memory, as measured over several languages."""
SOURCES = 0.3
"""The share of the memory that sources may take."""


class Held:
    """What is known of one file. ``source`` is UTF-8 without a mark, None where it is not kept; so is ``tree``.

    ``version`` is another one for every content, which ``content`` stands for; ``stamp`` is that of the file, believed
    while ``sure``. ``flawed`` says of the tree that it has errors, ``softened`` that it is not of the very source.
    """

    __slots__ = ("content", "flawed", "language", "reason", "softened", "source", "stamp", "sure", "tree", "version")

    def __init__(self) -> None:
        self.stamp: Stamp = NONE
        self.sure = False
        self.content: tuple[int, int, str, bool] | None = None
        self.language = ""
        self.reason = ""
        self.source: bytes | None = None
        self.tree: Tree | None = None
        self.flawed = False
        self.softened = False
        self.version = 0


class Shelf:
    """Whose sources, or trees, are kept, within ``limit`` bytes; with the size and the last use of each."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.size = 0
        self._kept: OrderedDict[Held, tuple[int, int]] = OrderedDict()

    def __contains__(self, held: Held) -> bool:
        return held in self._kept

    def used(self, held: Held, turn: int) -> None:
        known = self._kept.get(held)
        if known is not None:
            self._kept[held] = known[0], turn
            self._kept.move_to_end(held)

    def fits(self, size: int, turn: int) -> list[Held] | None:
        """Whom to forget so that ``size`` bytes find room; None where there is no room."""
        if size > self.limit:
            return None
        out: list[Held] = []
        room = self.limit - self.size
        for held, (taken, last) in self._kept.items():
            if room >= size:
                break
            if last >= turn - 1:
                return None
            out.append(held)
            room += taken
        return out if room >= size else None

    def put(self, held: Held, size: int, turn: int) -> None:
        self.forget(held)
        self._kept[held] = size, turn
        self.size += size

    def forget(self, held: Held) -> None:
        known = self._kept.pop(held, None)
        if known is not None:
            self.size -= known[0]


class Memory:
    """``limit`` is in bytes. ``turn`` counts the questions."""

    def __init__(self, limit: int) -> None:
        self.sources = Shelf(int(limit * SOURCES))
        self.trees = Shelf(limit - int(limit * SOURCES))
        self.turn = 1
        self._files: dict[tuple[str, str], Held] = {}
        self._versions = 0

    def of(self, root: str, path: str) -> Held:
        key = root, path
        held = self._files.get(key)
        if held is None:
            held = self._files[key] = Held()
        return held

    def next_turn(self) -> None:
        self.turn += 1

    def new_content(self, held: Held) -> None:
        """What was kept of a file is of no use any more."""
        self._versions += 1
        held.version = self._versions
        held.flawed = False
        self.sources.forget(held)
        self.trees.forget(held)
        held.source = held.tree = None

    def keep_source(self, held: Held, source: bytes) -> None:
        gone = self.sources.fits(len(source), self.turn)
        if gone is None:
            return
        for one in gone:
            self.sources.forget(one)
            one.source = None
        held.source = source
        self.sources.put(held, len(source), self.turn)

    def keep_tree(self, held: Held, tree: Tree) -> None:
        size = tree.root_node.descendant_count * NODE_BYTES + 2_000
        gone = self.trees.fits(size, self.turn)
        if gone is None:
            return
        for one in gone:
            self.trees.forget(one)
            one.tree = None
        held.tree = tree
        self.trees.put(held, size, self.turn)

    def used(self, held: Held) -> None:
        self.sources.used(held, self.turn)
        if held.tree is not None:
            self.trees.used(held, self.turn)

    def forget(self, root: str, path: str) -> None:
        """The file is gone."""
        held = self._files.pop((root, path), None)
        if held is not None:
            self.new_content(held)
