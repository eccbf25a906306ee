"""A match's text that is neither the pattern's own nor in a capture: comments, line ends, separators, modifiers.

What stands around a capture goes with it where the template has the same tokens on both sides of it, so that
``foo($A, $B)`` → ``bar($A, $B)`` keeps a call of several lines as it is, comments included. A comment beside the
elements of a ``$$$X`` belongs to it. Any other text that would vanish is told, and its match is not rewritten.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ombud.structural.match import Capture, Match
from ombud.structural.template import Part, Slot, Template

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node, Tree

_IDLE = re.compile(rb"(?:[\s,;:]|\\\r?\n)*")
"""What may go without a word: white space, separators, and a backslash that continues a line."""
_WORD_BEFORE = re.compile(rb"\w+\Z|[^\w\s]\Z")
_WORD_BEHIND = re.compile(rb"\w+|[^\w\s]")
_COMMENTED = re.compile(rb"//|/\*|#|--|\(\*|\{-|%|=begin")
"""What every comment begins with, in some language; most texts without one have none of these."""
_LINE_COMMENT = (b"//", b"#", b"--", b"%")


class Rule(Protocol):
    """What is asked of an op here."""

    @property
    def template(self) -> Template:
        """What comes in a match's place."""

    @property
    def known(self) -> bool:
        """Whether there is a pattern, and not a kind alone."""

    @property
    def loose(self) -> bool:
        """Whether metavariables are anonymous or repeated: a match does not tell where these stand."""

    @property
    def closed(self) -> bool:
        """Whether the pattern itself ends with a separator."""


@dataclass(slots=True)
class Region:
    """The text that stands for a metavariable, with the comments beside it.

    ``left`` and ``right`` reach to the tokens around it; ``stray`` says that a comment is there.
    """

    start: int
    end: int
    left: int
    right: int
    many: bool
    empty: bool
    stray: bool = False


@dataclass(slots=True)
class Layout:
    """One match, ready to be filled into a template.

    ``start`` and ``end`` are what is replaced. ``brought`` has the slots, by number, that bring along what is around
    their region, and from where to where. ``lost`` are spans of text that would vanish.
    """

    start: int
    end: int
    regions: dict[str, Region]
    brought: dict[int, tuple[int, int]]
    lost: list[tuple[int, int]]

    def span(self, slot: Slot) -> tuple[int, int]:
        """What is filled in for a metavariable."""
        region = self.regions[slot.name]
        return self.brought.get(slot.number) or (region.start, region.end)


def lay_out(source: bytes, tree: Tree, match: Match, rule: Rule) -> Layout:
    """A match made ready, by the rule that it is one of."""
    template, known, loose = rule.template, rule.known, rule.loose
    inner = {name: one for name, one in match.captures.items() if match.start <= one.start and one.end <= match.end}
    covered = sorted([*match.fixed, *((one.start, one.end) for one in inner.values())])
    gaps = _gaps(match, covered)
    blanked, comments = _without_comments(source, tree, gaps) if known else (source, [])
    regions = {name: _region(one, match, covered, comments) for name, one in match.captures.items()}
    lost = [] if loose or not known else _rest(blanked, gaps)
    stray = [
        span for span in comments if not any(one.start <= span[0] and span[1] <= one.end for one in regions.values())
    ]
    end = match.end
    if not template.deletes and known and not rule.closed:
        reach = [(one.start, one.end) for name, one in regions.items() if name in inner]
        end = _trimmed(blanked, match, [*covered, *reach])
    stray = [span for span in stray if span[0] < end]
    brought: dict[int, tuple[int, int]] = {}
    if not template.deletes:
        for name in inner:
            _widen(regions[name], blanked, covered, (match.start, end), stray)
        brought = _brought(source, blanked, (match.start, end), template, regions)
        stray = [span for span in stray if not any(a <= span[0] and span[1] <= b for a, b in brought.values())]
        used = {slot.name for slot in template.slots}
        for name in inner.keys() - used:
            one = regions[name]
            if _COMMENTED.search(source, one.start, one.end):
                lost += _comments(tree.root_node, one.start, one.end)
    return Layout(match.start, end, regions, brought, sorted([*lost, *stray]))


def _gaps(match: Match, covered: list[tuple[int, int]]) -> list[tuple[int, int]]:
    found, at = [], match.start
    for start, end in covered:
        if start > at:
            found.append((at, start))
        at = max(at, end)
    if at < match.end:
        found.append((at, match.end))
    return found


def _without_comments(source: bytes, tree: Tree, gaps: list[tuple[int, int]]) -> tuple[bytes, list[tuple[int, int]]]:
    """The source with blanks for the comments in the gaps, and where these comments are."""
    comments: list[tuple[int, int]] = []
    for start, end in gaps:
        idle = _IDLE.match(source, start, end)
        if idle is None or idle.end() < end:
            comments += _comments(tree.root_node, start, end)
    if not comments:
        return source, []
    plain = bytearray(source)
    for start, end in comments:
        plain[start:end] = b" " * (end - start)
    return bytes(plain), comments


def _comments(root: Node, start: int, end: int) -> list[tuple[int, int]]:
    found = []
    rest = [root.descendant_for_byte_range(start, end)]
    while rest:
        node = rest.pop()
        if node is None:
            continue
        if "comment" in node.type:
            if start <= node.start_byte and node.end_byte <= end and node.start_byte < node.end_byte:
                found.append((node.start_byte, node.end_byte))
            continue
        rest += [one for one in node.children if one.start_byte < end and one.end_byte > start]
    return sorted(found)


def _rest(blanked: bytes, gaps: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """What else is in the gaps."""
    found = []
    for start, end in gaps:
        at = start
        while at < end:
            idle = _IDLE.match(blanked, at, end)
            at = idle.end() if idle else at
            word = re.compile(rb"\w+|[^\w\s,;:]+").match(blanked, at, end)
            if word:
                found.append((at, word.end()))
            at = word.end() if word else at + 1
    return found


def _region(one: Capture, match: Match, covered: list[tuple[int, int]], comments: list[tuple[int, int]]) -> Region:
    start, end = one.start, one.end
    if one.items is not None and comments and match.start <= start:
        before = max((b for _, b in covered if b <= start and (_, b) != (one.start, one.end)), default=match.start)
        after = min((a for a, _ in covered if a >= end and (a, _) != (one.start, one.end)), default=match.end)
        beside = [span for span in comments if before <= span[0] and span[1] <= after]
        if beside:
            nothing = start == end
            start = beside[0][0] if nothing else min(start, beside[0][0])
            end = beside[-1][1] if nothing else max(end, beside[-1][1])
    return Region(start, end, start, end, one.items is not None, start == end)


def _widen(
    region: Region,
    blanked: bytes,
    covered: list[tuple[int, int]],
    whole: tuple[int, int],
    stray: list[tuple[int, int]],
) -> None:
    """Let ``left`` and ``right`` reach to the tokens around a region, within the whole match."""
    before = max((b for _, b in covered if b <= region.start), default=whole[0])
    after = min((a for a, _ in covered if a >= region.end), default=whole[1])
    region.left = before + len(blanked[before : region.start].rstrip())
    gap = blanked[region.end : max(after, region.end)]
    region.right = region.end + len(gap) - len(gap.lstrip())
    region.stray = any(region.left <= a and b <= region.right for a, b in stray)


def _brought(
    source: bytes, blanked: bytes, whole: tuple[int, int], template: Template, regions: Mapping[str, Region]
) -> dict[int, tuple[int, int]]:
    """The slots that bring along what is around them, with what they bring: all that have something, or none.

    They can where the same tokens are around the slot in the template and around its region in the source.
    """
    found: dict[int, tuple[int, int]] = {}
    wanted = False
    parts = template.parts
    for at in range(1, len(parts), 2):
        slot, before, after = parts[at], parts[at - 1], parts[at + 1]
        assert isinstance(slot, Slot) and isinstance(before, bytes) and isinstance(after, bytes)
        region = regions[slot.name]
        if region.empty:
            continue
        lead, trail = before[len(before.rstrip()) :], after[: len(after) - len(after.lstrip())]
        if b"\n" in lead + trail:
            continue
        reach = (region.left, _before_closing(blanked, region, whole[1], after))
        around = source[reach[0] : region.start] + source[region.end : reach[1]]
        wants = b"\n" in around or region.stray
        if _same(before, after, (at == 1, at + 2 == len(parts)), blanked, whole, reach):
            found[slot.number] = reach
        elif wants:
            return {}
        wanted = wanted or wants
    return found if wanted else {}


def _before_closing(blanked: bytes, region: Region, end: int, after: bytes) -> int:
    """The right end of a region; behind a trailing separator that the template does not have."""
    at = region.right
    token = after.lstrip()[:1]
    if token and at < end and blanked[at : at + 1] in (b",", b";") and token != blanked[at : at + 1]:
        rest = blanked[at + 1 : end]
        behind = rest.lstrip()
        if behind[:1] == token:
            return at + 1 + len(rest) - len(behind)
    return at


def _same(
    before: bytes,
    after: bytes,
    ends: tuple[bool, bool],
    blanked: bytes,
    whole: tuple[int, int],
    reach: tuple[int, int],
) -> bool:
    """Whether the tokens next to a slot are those next to its region."""
    left, right = reach
    mine, theirs = _WORD_BEFORE.search(before.rstrip()), _WORD_BEFORE.search(blanked[whole[0] : left])
    if not before.strip():
        if not (ends[0] and left == whole[0]):
            return False
    elif not _alike(mine, theirs):
        return False
    if not after.strip():
        return ends[1] and right == whole[1]
    mine, theirs = _WORD_BEHIND.match(after.lstrip()), _WORD_BEHIND.match(blanked, right, whole[1])
    return _alike(mine, theirs)


def _alike(one: re.Match[bytes] | None, other: re.Match[bytes] | None) -> bool:
    """Whether two tokens are the same; of two words it does not matter which they are."""
    return bool(one and other and (one[0] == other[0] or (one[0][-1:].isalnum() and other[0][-1:].isalnum())))


def _trimmed(blanked: bytes, match: Match, covered: list[tuple[int, int]]) -> int:
    """Where what a template replaces ends: a separator there that the pattern does not have stays in the source."""
    last = max((end for _, end in covered), default=match.end)
    rest = blanked[last : match.end]
    return last if covered and not rest.strip(b" \t\r\n,;") else match.end


def ends_in_line_comment(source: bytes, region: Region, comments_of: Tree) -> bool:
    """Whether a region's text ends in a comment that goes to the end of its line."""
    node = comments_of.root_node.descendant_for_byte_range(max(region.start, region.end - 1), region.end)
    if node is None or "comment" not in node.type:
        return False
    return source[node.start_byte : node.end_byte].startswith(_LINE_COMMENT)


def slot_parts(parts: tuple[Part, ...], brought: Mapping[int, object]) -> tuple[Part, ...]:
    """The parts of a template without the blanks next to slots that bring their own."""
    found = list(parts)
    for at in range(1, len(found), 2):
        slot, before, after = found[at], found[at - 1], found[at + 1]
        if isinstance(slot, Slot) and slot.number in brought:
            assert isinstance(before, bytes) and isinstance(after, bytes)
            found[at - 1], found[at + 1] = before.rstrip(b" \t"), after.lstrip(b" \t")
    return tuple(found)
