"""Parentheses that a rewritten text needs: a capture, or what comes in a match's place, must stay one expression.

``$A * 2`` with ``a + b`` for ``$A`` is ``(a + b) * 2``. Whether it is one is asked of the new text's tree, so that no
table of precedences is needed. While the text is put together, control characters mark the places in question.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

OPEN, MIDDLE, CLOSE = b"\x01", b"\x03", b"\x02"
_MARK = re.compile(rb"\x01(\d+)\x03|\x02")
_CHARACTERS = re.compile(rb"[\x01-\x03]")
_LOOSE = re.compile(
    r"binary|boolean_operator|comparison|not_operator|unary|ternary|conditional_exp|lambda|arrow_function|assignment"
    r"|await|yield|cast|as_expression|range|infix|logical|additive|multiplicative|equality|relational|conjunction"
    r"|disjunction|elvis|coalesc|bitwise|shift|prefix_exp|postfix_exp|instanceof|is_expression|type_test|spread_exp"
)
_TIGHT = re.compile(
    r"member|attribute|field_(access|exp)|^call|call_exp|_call$|subscript|index|selector|navigation|invocation|scoped"
)
_LISTS = re.compile(r"argument|parameter|_list$|block|body|clause$|parenthesized|element$|pair$|statement")
_ALIKE = frozenset(("+", "*", "&&", "||", "and", "or", "&", "|", "^", "??", ".."))
"""Operators of which it does not matter how several in a row are grouped."""
_OPERATOR_BEFORE = re.compile(rb"(?:[-+*/%&|^<>=!?~.:]+|\w+)\Z")
_OPERATOR_BEHIND = re.compile(rb"[-+*/%&|^<>=!?~.:]+|\w+")
_WITHOUT = frozenset(("shellscript", "sql"))


def possible(language: str, source: bytes) -> bool:
    """Whether places can be marked in this source, and parentheses mean grouping in its language."""
    return language not in _WITHOUT and _CHARACTERS.search(source) is None


def is_loose(node: Node | None) -> bool:
    """Whether an expression may fall apart where it is put next to operators."""
    return node is not None and node.is_named and bool(_LOOSE.search(node.type)) and not _LISTS.search(node.type)


def binds(node: Node | None) -> bool:
    """Whether what stands in this node is an operand of it."""
    return node is not None and (is_loose(node) or (bool(_TIGHT.search(node.type)) and not _LISTS.search(node.type)))


def operator(node: Node | None) -> str:
    """The operator of an expression, if it has one."""
    children = node.children if node is not None else []
    return next((child.type for child in children if not child.is_named), "")


def mark(number: int) -> bytes:
    """What opens the place of that number; `CLOSE` closes it."""
    return b"%b%d%b" % (OPEN, number, MIDDLE)


def unmarked(text: bytes, wrapped: frozenset[int] = frozenset(), braces: frozenset[int] = frozenset()) -> bytes:
    """The text itself, with parentheses at the places to be wrapped; with braces where they are in ``braces``."""
    if OPEN not in text:
        return text
    opened: list[int] = []

    def shown(found: re.Match[bytes]) -> bytes:
        number = opened.pop() if found[1] is None else int(found[1])
        if found[1] is not None:
            opened.append(number)
        if number not in wrapped:
            return b""
        pair = (b" }", b"{ ") if number in braces else (b")", b"(")
        return pair[found[1] is not None]

    return _MARK.sub(shown, text)


def places(text: bytes) -> list[tuple[int, int, int]]:
    """The marked places: number, and start and end in the text without marks."""
    found: list[tuple[int, int, int]] = []
    opened: list[tuple[int, int]] = []
    taken = 0
    for one in _MARK.finditer(text):
        at = one.start() - taken
        taken += len(one[0])
        if one[1] is None:
            number, start = opened.pop()
            found.append((number, start, at))
        else:
            opened.append((int(one[1]), at))
    return found


def falls_apart(root: Node, text: bytes, start: int, end: int, was: str) -> bool:
    """Whether this part of a new text is no expression of its own; ``was`` is the operator it had, if any."""
    node = root.descendant_for_byte_range(start, end)
    if node is not None and node.start_byte == start and node.end_byte == end:
        # Some grammars call a function without parentheses, which the language does not.
        outer = node.parent
        leads = outer is not None and outer.start_byte == start and bool(_TIGHT.search(outer.type))
        return leads and is_loose(node)
    if node is None or not binds(node):
        return False
    if was not in _ALIKE:
        return True
    before, behind = text[node.start_byte : start].rstrip(), text[end : node.end_byte].lstrip()
    left, right = _OPERATOR_BEFORE.search(before), _OPERATOR_BEHIND.match(behind)
    beside = [found[0].decode() if found else "" for found, there in ((left, before), (right, behind)) if there]
    return any(one != was for one in beside)
