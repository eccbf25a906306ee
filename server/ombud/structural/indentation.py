"""White space at the start of lines: of a place in a source, of text that moves there, and where it must stay.

Everything here is bytes of UTF-8, offsets are tree-sitter's. Lines end with ``\\n``; the ``\\r`` before it, where there
is one, belongs to the line, so that text which is moved keeps its own line ends.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

BLANKS = re.compile(rb"[ \t]*")
_LITERAL = re.compile(
    r"string|heredoc|nowdoc|text_block|template_literal|char_literal|character_literal|quoted|quasiquote|sigil|charlist"
    r"|regex|verbatim|^text$|text_interpolation|raw_text"
)
"""Kinds of nodes in which white space is content, in any of the grammars."""
_COMPOUND = re.compile(r"concatenated_string|chained_string|string_array|string_concatenation|adjacent_string|_type$")
"""Kinds that are named so, yet are made of literals with code between them."""
_SAMPLE = 400
"""Indented lines that are looked at to tell a file's style."""


def line_end(source: bytes) -> bytes:
    """The line end of new lines in a file: the one that most of its lines have; ``\\n`` where it has only one line."""
    crlf = source.count(b"\r\n")
    return b"\r\n" if crlf * 2 > source.count(b"\n") else b"\n"


def unit(source: bytes) -> bytes:
    """One step of indentation in a file: a tab, or as many blanks as its first indented line has (four if none)."""
    tabs = blanks = 0
    first = b""
    for found in re.finditer(rb"^([ \t]+)[^\s*]", source, re.MULTILINE):
        if found[1][:1] == b"\t":
            tabs += 1
        else:
            blanks += 1
            first = first or found[1].partition(b"\t")[0]
        if tabs + blanks >= _SAMPLE:
            break
    if tabs > blanks:
        return b"\t"
    return first if 0 < len(first) <= 8 else b"    "


class Margins:
    """The indentation of one source; ``tree`` is its tree, which tells the lines that begin inside a literal."""

    def __init__(self, source: bytes, tree: Tree) -> None:
        self.source = source
        self._tree = tree
        self._held: list[tuple[int, int]] | None = None

    def is_held(self, start: int) -> bool:
        """Whether the line that starts at this offset begins inside a literal, so that its blanks are content."""
        if self._held is None:
            self._held = _literals(self._tree.root_node)
        at = bisect_right(self._held, (start, -1)) - 1
        return at >= 0 and self._held[at][0] < start <= self._held[at][1]

    def of(self, offset: int) -> bytes:
        """The indentation of the line ``offset`` is in; of the line a literal began in, where it is within one."""
        start = self.source.rfind(b"\n", 0, offset) + 1
        while start and self.is_held(start):
            start = self.source.rfind(b"\n", 0, start - 1) + 1
        if start == 0 and self.source.startswith(b"\xef\xbb\xbf"):
            start = 3
        found = BLANKS.match(self.source, start, max(offset, start))
        return found[0] if found else b""


def _literals(root: Node) -> list[tuple[int, int]]:
    """Where literals of several lines stand, in order. A loop: trees nest deeper than Python calls."""
    found = []
    cursor = root.walk()
    while True:
        node = cursor.node
        assert node is not None
        inside = False
        if node.start_point.row != node.end_point.row:
            if node.is_named and _LITERAL.search(node.type) and not _COMPOUND.search(node.type):
                found.append((node.start_byte, node.end_byte))
            else:
                inside = cursor.goto_first_child()
        if inside:
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return found


def moved(line: bytes, base: bytes, target: bytes, goes_on: bool = False) -> bytes:
    """A line of text that stood at indentation ``base``, at ``target``: what it was indented further, it still is.

    A line of nothing but blanks stays as it is, unless it ``goes_on``: more text will stand on it.
    """
    blanks = BLANKS.match(line)
    old = blanks[0] if blanks else b""
    rest = line[len(old) :]
    if base == target or (not rest.strip(b"\r") and not goes_on):
        return line
    if old.startswith(base):
        return target + old[len(base) :] + rest
    if not old or not base.startswith(old):
        # A directive or a label at the margin, or another style: nobody can say where that belongs.
        return line
    return target[: max(0, len(target) - (len(base) - len(old)))] + rest


class Piece:
    """Text that is being put together: its lines without ``\\n``, and which of them begin inside a literal.

    ``margin_before`` is the indentation of the line that it begins on.
    """

    __slots__ = ("held", "lines", "margin_before")

    def __init__(self, text: bytes = b"", margin_before: bytes = b"") -> None:
        self.lines = text.split(b"\n")
        self.held: set[int] = set()
        self.margin_before = margin_before

    def add(self, text: bytes, held: bool = False) -> None:
        """More text on the last line; ``held`` says whether its further lines begin inside a literal."""
        first, *rest = text.split(b"\n")
        if held:
            self.held.update(range(len(self.lines), len(self.lines) + len(rest)))
        self.lines[-1] += first
        self.lines += rest

    def join(self, other: Piece) -> None:
        """Another piece on the last line."""
        shift = len(self.lines) - 1
        self.lines[-1] += other.lines[0]
        self.lines += other.lines[1:]
        self.held.update(index + shift for index in other.held if index)

    def hold(self) -> None:
        """All of it stands inside a literal."""
        self.held.update(range(1, len(self.lines)))

    def margin(self) -> bytes:
        """The indentation of the last line that does not begin inside a literal."""
        at = len(self.lines) - 1
        while at and at in self.held:
            at -= 1
        found = BLANKS.match(self.lines[at])
        return found[0] if found and at else self.margin_before

    def move(self, base: bytes, target: bytes) -> None:
        """All lines but the first from one indentation to another; held ones stay as they are."""
        if base != target:
            last = len(self.lines) - 1
            for at in range(1, len(self.lines)):
                if at not in self.held:
                    self.lines[at] = moved(self.lines[at], base, target, at == last)

    @property
    def text(self) -> bytes:
        """All of it."""
        return b"\n".join(self.lines)
