"""From a pattern's text to its readings: the shells of the language in order, each of which parses the fragment or
says why not.
"""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ombud.errors import UserError
from ombud.structural.pattern import Inner, Many, One, Part, Quoted, Rejected, Token, parts, walk
from ombud.structural.shells import SHELLS, SPELLINGS, Shell
from ombud.structural.variables import Substituted, Variable, stem, substitute, variables
from ombud.structural.view import View
from ombud.syntax import grammars

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

BYTES = 16_384
"""The longest pattern."""
VARIABLES = 64
"""The most metavariables of a pattern."""
PLAIN = frozenset({"{}", "{Q}", "${}"})
HEADLESS = re.compile(
    r"^(?!if|for|while|match|loop|try|when|do|switch|unsafe|async|const_block).*(?:call|invocation|application|expression"
    r"|assignment|macro|composite|creation|infix|apply|literal)|^command$"
)
"""Kinds of nodes that a block may follow and that are no header of it."""
PARSES = 400
"""The most parses of one shell, to find how its metavariables must be spelled."""


class Unparseable(UserError):
    """No context of the language takes the fragment; ``rungs`` says which were tried and what the parser said."""

    def __init__(self, pattern: str, language: str, rungs: Sequence[dict[str, str]]) -> None:
        shown = pattern if len(pattern) <= 200 else f"{pattern[:200]}…"
        said = f" As {rungs[0]['as']}: {rungs[0]['complaint']}." if rungs else ""
        super().__init__(
            f"The pattern {shown!r} is not {language} in any context that was tried.{said}"
            " Write code of that language with $NAME for one node and $$$NAME for several.",
            kind="unparseable_pattern",
            language=language,
            rungs=list(rungs),
        )


@dataclass(frozen=True, slots=True)
class Reading:
    """A pattern as one shell reads it."""

    name: str
    roots: tuple[Part, ...]
    closed: bool = False
    """Whether the fragment ends in a semicolon."""


def readings(pattern: str, language: str, view: View) -> list[Reading]:
    """Every different reading of ``pattern``, in the ladder's order. Raises Unparseable, or UserError for a pattern
    beyond all measure.
    """
    text = textwrap.dedent(pattern.expandtabs(4) if "\t" in pattern and language == "python" else pattern).strip()
    _measured(text, language)
    found: list[Reading] = []
    tried: list[dict[str, str]] = []
    seen: set[tuple[Part, ...]] = set()
    for shell in SHELLS[view.grammar]:
        try:
            roots = _read(text, language, view, shell)
        except Rejected as reason:
            if all(rung["as"] != shell.name for rung in tried):
                tried.append({"as": shell.name, "complaint": str(reason)})
            continue
        if roots not in seen:
            seen.add(roots)
            found.append(Reading(shell.name, roots, text.endswith(";")))
    if not found:
        raise Unparseable(pattern, language, tried)
    return found


def _measured(text: str, language: str) -> None:
    if not text:
        raise UserError("The pattern is empty. Write code with $NAME for one node and $$$NAME for several.")
    if len(text.encode()) > BYTES:
        raise UserError(
            f"The pattern is longer than {BYTES:,} bytes. Write a smaller one, with $$$ for what does not matter."
        )
    found = variables(text, language)
    if len(found) > VARIABLES:
        raise UserError(f"The pattern has {len(found)} metavariables; at most {VARIABLES} are taken.")
    if len(found) == 1 and found[0].many and found[0].written == text.rstrip(";, \n"):
        raise UserError(f"The pattern {text!r} alone would match any code. Write what stands around it.")
    kinds: dict[str, bool] = {}
    for one in found:
        if one.name and kinds.setdefault(one.name, one.many) != one.many:
            raise UserError(f"The pattern has both ${one.name} and $$${one.name}. Give the two different names.")


def _read(text: str, language: str, view: View, shell: Shell) -> tuple[Part, ...]:
    if shell.closed and not text.endswith(("}", ";")):
        raise Rejected("a fragment that ends in neither } nor ; is no declaration")
    if view.grammar == "php" and not shell.before and "<?" not in text:
        raise Rejected("without <?php it is no code")
    if shell.tail and text.endswith(("}", ";", "end", "fi", "done")):
        raise Rejected("it has its own body")
    if (shell.tail.startswith("\n $$$") and not text.endswith(":")) or (
        shell.tail.startswith(":") and text.endswith(":")
    ):
        raise Rejected("it has its own body" if shell.tail.startswith(":") else "it is no header")
    if shell.after.lstrip().startswith(";") and text.endswith((";", "}")):
        raise Rejected("it has its own end")
    whole = text + shell.tail
    found = variables(whole, language)
    word = stem(shell.before + whole + shell.after)
    best: tuple[int, str] = (-1, "")
    before, after = shell.before.encode(), shell.after.encode()
    for count, spellings in enumerate(
        _spellings(found, view.grammar, lambda s: _score(before, after, whole, found, s, word, view))
    ):
        spelled = substitute(whole, found, spellings, word)
        source = before + spelled.text + after
        tree = grammars.parser(view.grammar).parse(source)
        fault = _fault(tree)
        if fault is None:
            try:
                return _roots(tree, source, len(before), spelled, found, view, shell)
            except Rejected as reason:
                best = max(best, (0, str(reason)), key=lambda one: one[0])
        elif fault.start_byte > best[0]:
            best = (fault.start_byte, _complaint(fault, source, len(before), len(spelled.text)))
        if count > PARSES:
            break
    raise Rejected(_unspelled(best[1], word, found))


def _roots(
    tree: Tree, source: bytes, before: int, spelled: Substituted, found: Sequence[Variable], view: View, shell: Shell
) -> tuple[Part, ...]:
    moved = Substituted(source, tuple((start + before, end + before) for start, end in spelled.spans))
    roots = parts(view, tree, (before, before + len(spelled.text)), moved, found)
    if not roots or all(isinstance(root, Many) for root in roots):
        raise Rejected("nothing but $$$ is left of it")
    if any(isinstance(root, Token) and root.kind_id in view.containers for root in roots):
        raise Rejected("it holds no code")
    if shell.name == "child" and not (isinstance(roots[0], Inner) and roots[0].kind.startswith("jsx")):
        raise Rejected("it is text there")
    if shell.tail and (len(roots) > 1 or not isinstance(roots[0], Inner) or HEADLESS.search(roots[0].kind)):
        raise Rejected("it is no header")
    return roots


def _spellings(found: Sequence[Variable], grammar: str, score: _Score) -> Iterator[tuple[str, ...]]:
    """Ways to spell the metavariables, the likeliest first: all plain; the ``$$$`` as members; then as the parser
    gets further.
    """
    known = SPELLINGS[grammar]
    plain = [spelling for spelling in known if spelling in PLAIN]
    for base in plain:
        yield (base,) * len(found)
    for base in plain[:2] if found else ():
        yield from _members(found, base, known)
    yield from _mixed(found, plain, known)
    for base in plain[:2] if len(found) > 1 else ():
        yield _greedy(base, known, len(found), score)


def _members(found: Sequence[Variable], base: str, known: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """One metavariable that needs another spelling, then two ``$$$``, then three, then all of them alike."""
    manys = [number for number, variable in enumerate(found) if variable.many]
    for number in sorted(range(len(found)), key=lambda n: (not found[n].many, n)):
        for spelling in known:
            yield (*[base] * number, spelling, *[base] * (len(found) - number - 1))
    if len(manys) == 2:
        for one, other in itertools.permutations(known, 2):
            yield tuple((one if n == manys[0] else other if n == manys[1] else base) for n in range(len(found)))
    if len(manys) == 3:
        for three in itertools.product(known[:4], repeat=3):
            chosen = dict(zip(manys, three, strict=True))
            yield tuple(chosen.get(n, base) for n in range(len(found)))
    for spelling in known:
        yield tuple(spelling if variable.many else base for variable in found)


def _mixed(found: Sequence[Variable], plain: Sequence[str], known: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Plain spellings of every mixture, where a grammar tells variables, names and constants apart."""
    ones = [number for number, variable in enumerate(found) if not variable.many]
    if len(plain) < 2 or not 1 < len(ones) <= 4:
        return
    for mixed in itertools.product(plain, repeat=len(ones)):
        for spelling in known if len(ones) < len(found) else ("{}",):
            chosen = dict(zip(ones, mixed, strict=True))
            yield tuple(chosen.get(n, spelling) for n in range(len(found)))


def _greedy(base: str, known: Sequence[str], count: int, score: _Score) -> tuple[str, ...]:
    """One variable after the other as the parser gets furthest."""
    chosen = [base] * count
    for number in range(count):
        tries = [[*chosen[:number], spelling, *chosen[number + 1 :]] for spelling in dict.fromkeys((base, *known))]
        scores = [score(one) for one in tries]
        chosen = tries[max(range(len(tries)), key=lambda n: (scores[n], -n))]
    return tuple(chosen)


if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    _Score: TypeAlias = Callable[[Sequence[str]], tuple[int, int]]


def _score(
    before: bytes, after: bytes, whole: str, found: Sequence[Variable], spellings: Sequence[str], word: str, view: View
) -> tuple[int, int]:
    """How far a spelling gets: the number of faults, and how much text stands before the first of them."""
    spelled = substitute(whole, found, spellings, word)
    tree = grammars.parser(view.grammar).parse(before + spelled.text + after)
    fault = _fault(tree)
    if fault is None:
        return (1, 0)
    place = fault.start_byte - len(before)
    shift = sum(len(spelled.text[s:e]) - 8 for s, e in spelled.spans if e <= place)
    return (-_faulty(tree), place - shift)


def _faulty(tree: Tree) -> int:
    """The number of bytes in error, and one for every missing token."""
    total, stack = 0, [tree.root_node]
    while stack:
        node = stack.pop()
        if node.is_error or node.is_missing:
            total += max(1, node.end_byte - node.start_byte)
        elif node.has_error:
            stack.extend(node.children)
    return total


def _fault(tree: Tree) -> Node | None:
    """The first error or missing node of a tree. A separator without text that a grammar misses is none: one line may
    do without.
    """
    stack = [tree.root_node]
    while stack:
        node = stack.pop()
        if node.is_error or node.is_missing:
            return node
        if node.has_error:
            stack.extend(reversed(node.children))
    return None


def _complaint(fault: Node, source: bytes, before: int, size: int) -> str:
    if fault.is_missing:
        return f"{fault.type!r} is missing"
    text = source[max(fault.start_byte, before) : min(fault.end_byte, before + size)].decode("utf-8", "replace").strip()
    if not text:
        return "the parser cannot read it"
    return f"unexpected {text if len(text) <= 80 else text[:80] + '…'!r}"


def _unspelled(complaint: str, word: str, found: Sequence[Variable]) -> str:
    """The complaint with the metavariables as they were written."""
    for number in reversed(range(len(found))):
        for name in (f"{word}{number}q", f"{word}{number}q".capitalize()):
            complaint = complaint.replace(name, found[number].written)
    return complaint or "the parser cannot read it"


def captures(roots: Sequence[Part]) -> dict[str, bool]:
    """The names that a pattern binds; True for those of ``$$$``."""
    return {
        part.name: isinstance(part, Many) and not part.whole
        for part, _ in walk(roots)
        if isinstance(part, One | Many | Quoted) and part.name
    }
