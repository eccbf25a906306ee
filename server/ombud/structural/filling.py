"""Templates filled in for the matches of one file, innermost first, and the edits that come of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ombud.structural import grouping
from ombud.structural.indentation import BLANKS, Margins, Piece, line_end, unit
from ombud.structural.layout import Layout, Rule, ends_in_line_comment, lay_out, slot_parts
from ombud.structural.removal import BRACED, Removal
from ombud.structural.template import Template

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node, Tree

    from ombud.structural.match import Match
    from ombud.structural.overlap import Chosen
    from ombud.structural.removal import Edit
    from ombud.structural.rewriting import Plan


ROOM = 32_000_000
"""Bytes that may be put together for a file, besides twenty times its own: nested captures used twice double."""


class TooLarge(Exception):
    """What comes in the matches' places grows beyond all measure."""


class Filling:
    """One file's matches on their way to edits."""

    def __init__(self, source: bytes, tree: Tree, language: str) -> None:
        self._source, self._tree, self._language = source, tree, language
        self._margins = Margins(source, tree)
        self._end, self._unit = line_end(source), unit(source)
        self._removal = Removal(source, tree, language)
        self._marks = grouping.possible(language, source)
        self._room = ROOM + 20 * len(source)
        self._layouts: dict[int, Layout] = {}
        self._pieces: dict[int, Piece] = {}
        self._removed: dict[int, list[Edit]] = {}
        self._shown: dict[int, set[int]] = {}
        self._operators: list[str] = []
        self._branches: list[tuple[int, Node]] = []
        self._lines: list[tuple[int, Node]] = []

    def lay_out(self, match: Match, rule: Rule) -> list[tuple[int, int]]:
        """Make a match ready. What would vanish is given back; then it is not to be filled in."""
        layout = lay_out(self._source, self._tree, match, rule)
        self._layouts[id(match)] = layout
        return layout.lost

    # -- filling in ---------------------------------------------------------------------------------------------------

    def fill(self, chosen: list[Chosen], plan: Plan) -> None:
        """Fill in all templates. ``chosen`` has outer matches before inner ones. Raises `TooLarge`."""
        gone = [one for one in chosen if plan.ops[one.op].template.deletes]
        spans = [(self._layouts[id(one.match)].start, self._layouts[id(one.match)].end) for one in gone]
        for one, edits in zip(gone, self._removal.edits(spans), strict=True):
            self._removed[id(one)] = edits
        for one in reversed(chosen):
            planned = plan.ops[one.op]
            if not planned.same and not planned.template.deletes:
                self._pieces[id(one)] = self._filled(one, planned.template)

    def _filled(self, one: Chosen, template: Template) -> Piece:
        layout = self._layouts[id(one.match)]
        filled: dict[int, Piece] = {}
        empty = set()
        shown = self._shown.setdefault(id(one), set())
        for slot in template.slots:
            start, end = layout.span(slot)
            region = layout.regions[slot.name]
            inner = [other for other in one.inner if start <= other.match.start and other.match.end <= end]
            shown.update(map(id, inner))
            piece = self._region(start, end, inner)
            if not grouping.unmarked(piece.text).strip():
                empty.add(slot.name)
            elif not region.many:
                self._mark_capture(piece, region.start, region.end, (start, end))
            filled[slot.number] = piece
        base = self._margins.of(layout.start)
        piece = Piece(b"", base)
        inside = False
        after_comment = False
        for part in slot_parts(template.without(empty), layout.brought):
            if isinstance(part, bytes):
                text = part.lstrip(b" \t")
                text = b"\n" + text if after_comment and text and not text.startswith(b"\n") else part
                inside = self._add(piece, text, base, template, inside)
                after_comment = after_comment and not part
            else:
                self._put(piece, filled[part.number], layout.span(part)[0], inside)
                region = layout.regions[part.name]
                plain = part.number not in layout.brought
                after_comment = plain and region.many and ends_in_line_comment(self._source, region, self._tree)
        self._room -= sum(map(len, piece.lines))
        if self._room < 0:
            raise TooLarge
        self._close(layout, piece, template)
        return piece

    def _add(self, piece: Piece, text: bytes, base: bytes, template: Template, inside: bool) -> bool:
        """Text of the template, at this indentation and in the file's own style; says whether it ends in a literal."""
        held, inside = template.held(text, inside)
        first, *rest = text.split(b"\n")
        piece.add(first)
        step = self._step(template)
        for line, is_held in zip(rest, held, strict=True):
            blanks = BLANKS.match(line)
            own = blanks[0] if blanks else b""
            last = line is rest[-1]
            if not is_held and (line[len(own) :] or last):
                piece.add(self._end + base + self._styled(own, step) + line[len(own) :], is_held)
            else:
                piece.add(self._end + line, is_held)
        return inside

    def _step(self, template: Template) -> bytes:
        """One step of a template's own indentation."""
        lines = (line for part in template.parts if isinstance(part, bytes) for line in part.split(b"\n")[1:])
        found = (BLANKS.match(line) for line in lines)
        steps = [one[0] for one in found if one and one[0]]
        return min(steps, key=len) if steps else b"    "

    def _styled(self, own: bytes, step: bytes) -> bytes:
        """A template's indentation as tabs in a file of tabs, as blanks in a file of blanks."""
        if self._unit == b"\t" and b" " in own:
            count, rest = divmod(len(own.expandtabs(len(step))), len(step.expandtabs(len(step))))
            return b"\t" * count + b" " * rest
        if self._unit != b"\t" and b"\t" in own:
            return own.replace(b"\t", self._unit)
        return own

    def _put(self, piece: Piece, other: Piece, start: int, inside: bool) -> None:
        """A capture on the last line, moved to the indentation of where it comes to stand."""
        if inside:
            other.hold()
        elif len(other.lines) > 1:
            other.move(self._margins.of(start), piece.margin())
        piece.join(other)

    def _region(self, start: int, end: int, inner: list[Chosen]) -> Piece:
        """A part of the source with what is inside rewritten, at the indentation it has."""
        piece = Piece(b"", self._margins.of(start))
        at = start
        for first, last, put in self._within(inner, start, end):
            self._raw(piece, at, first)
            piece.join(put)
            at = last
        self._raw(piece, at, end)
        return piece

    def _raw(self, piece: Piece, start: int, end: int) -> None:
        text = self._source[start:end]
        if b"\n" not in text:
            piece.lines[-1] += text
            return
        other = Piece(text)
        at = start
        for number, line in enumerate(other.lines):
            if number and self._margins.is_held(at):
                other.held.add(number)
            at += len(line) + 1
        piece.join(other)

    def _within(self, inner: list[Chosen], start: int, end: int) -> list[tuple[int, int, Piece]]:
        """What comes in the place of matches: start, end and the text, in order and apart, within these bounds."""
        found: list[tuple[int, int, Piece]] = []
        rest = list(inner)
        while rest:
            one = rest.pop()
            if id(one) in self._pieces:
                layout = self._layouts[id(one.match)]
                found.append((layout.start, layout.end, self._copy(self._pieces[id(one)])))
            elif id(one) in self._removed:
                found += [(max(a, start), min(b, end), Piece(text)) for a, b, text in self._removed[id(one)]]
            else:
                rest += one.inner
        apart: list[tuple[int, int, Piece]] = []
        for a, b, piece in sorted(found, key=lambda edit: (edit[0], edit[1])):
            begin = max(a, apart[-1][1]) if apart and not piece.text else a
            if begin < b or piece.text:
                apart.append((begin, max(begin, b), piece))
        return apart

    @staticmethod
    def _copy(piece: Piece) -> Piece:
        copy = Piece(b"", piece.margin_before)
        copy.lines, copy.held = list(piece.lines), set(piece.held)
        return copy

    # -- what must hold together ------------------------------------------------------------------------

    def _mark(self, piece: Piece, was: str) -> int:
        number = len(self._operators)
        self._operators.append(was)
        piece.lines[0] = grouping.mark(number) + piece.lines[0]
        piece.lines[-1] += grouping.CLOSE
        return number

    def _mark_capture(self, piece: Piece, start: int, end: int, reach: tuple[int, int]) -> None:
        if not self._marks or reach != (start, end):
            return
        node = self._exact(start, end)
        if grouping.is_loose(node):
            self._mark(piece, grouping.operator(node))

    def _exact(self, start: int, end: int) -> Node | None:
        node = self._tree.root_node.descendant_for_byte_range(start, end)
        return node if node is not None and (node.start_byte, node.end_byte) == (start, end) else None

    def _close(self, layout: Layout, piece: Piece, template: Template) -> None:
        """What is still to be said of a filled template: its own semicolon, and whether it must stay one thing."""
        source = self._source
        last = template.parts[-1]
        if isinstance(last, bytes) and last[-1:] in (b";", b","):
            behind = BLANKS.match(source, layout.end)
            at = behind.end() if behind else layout.end
            if source[at : at + 1] == last[-1:]:
                layout.end = at + 1
        node = self._exact(layout.start, layout.end)
        while node is not None and node.parent is not None and self._span(node.parent) == self._span(node):
            node = node.parent
        if not self._marks:
            return
        text = b"".join(part for part in template.parts if isinstance(part, bytes))
        if b"\n" in text or b";" in text:
            self._mark_branch(layout, piece)
        elif node is not None and grouping.binds(node.parent):
            # A template of nothing but the operator that was there keeps it.
            was = grouping.operator(node)
            self._mark(piece, was if text.strip().decode() == was else "")

    def _mark_branch(self, layout: Layout, piece: Piece) -> None:
        """Several statements may come where one is the whole branch."""
        place = self._removal.place(layout.start, layout.end)
        if place is None:
            return
        parent, first, last, end = place
        if self._language in BRACED and self._removal.is_bare(parent, first, last):
            piece.add(self._source[layout.end : end])
            layout.end = max(layout.end, end)
            self._branches.append((self._mark(piece, ""), parent))
        elif self._language == "python" and parent.type in ("block", "if_statement", "module"):
            block = parent if parent.type == "block" else parent.children[first]
            if block.type == "block" and block.parent and block.start_point.row == block.parent.start_point.row:
                self._lines.append((layout.start, block))

    @staticmethod
    def _span(node: Node) -> tuple[int, int]:
        return node.start_byte, node.end_byte

    @property
    def braces(self) -> frozenset[int]:
        """The marked places that are wrapped in braces."""
        return frozenset(number for number, _ in self._branches)

    def to_wrap(self, root: Node, new: bytes, marked: Sequence[Edit]) -> frozenset[int]:
        """The marked places that fell apart in the new text, of which ``root`` is the root."""
        found = set()
        branches = self.braces
        shift = 0
        for start, end, text in marked:
            for number, a, b in grouping.places(text):
                at, to = start + shift + a, start + shift + b
                if number in branches:
                    node = root.descendant_for_byte_range(at, to)
                    if node is not None and self._span(node) != (at, to):
                        found.add(number)
                elif grouping.falls_apart(root, new, at, to, self._operators[number]):
                    found.add(number)
            shift += len(grouping.unmarked(text)) - (end - start)
        return frozenset(found)

    def torn(self, edits: Sequence[Edit]) -> int:
        """The one-based line of a statement that became several where there is room for one only; 0 if none did."""
        for start, block in self._lines:
            for a, _, text in edits:
                if a == start and b"\n" in text:
                    return block.start_point.row + 1
        return 0

    # -- what comes of it ------------------------------------------------------------------------------

    def edits(self, outermost: list[Chosen]) -> list[Edit]:
        """All edits in order, with marks in them."""
        return [(a, b, piece.text) for a, b, piece in self._within(outermost, 0, len(self._source))]

    def changes(self, one: Chosen) -> bool:
        """Whether a match's place reads differently afterwards."""
        if id(one) in self._removed:
            return bool(self._removed[id(one)])
        layout, piece = self._layouts[id(one.match)], self._pieces[id(one)]
        return grouping.unmarked(piece.text) != self._source[layout.start : layout.end]

    def shows(self, outer: Chosen, inner: Chosen) -> bool:
        """Whether an inner match is in what comes in the outer one's place."""
        return id(inner) in self._shown.get(id(outer), ())
