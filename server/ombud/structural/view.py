"""How the matcher sees a tree: the children of a node that count, the same for patterns and for sources.

Comments, line ends, trailing commas and optional semicolons do not count. Where a grammar writes as siblings what is
one expression (the selectors of a call chain in Dart, the tokens of an argument in a macro of Rust), a virtual node
stands for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from ombud.syntax import grammars

if TYPE_CHECKING:
    from tree_sitter import Node as TreeNode

MODIFIERS = frozenset(
    [
        "abstract",
        "async",
        "declare",
        "export",
        "external",
        "final",
        "inline",
        "internal",
        "lazy",
        "native",
        "open",
        "override",
        "partial",
        "private",
        "protected",
        "pub",
        "public",
        "readonly",
        "sealed",
        "static",
        "synchronized",
        "transient",
        "unsafe",
        "virtual",
        "volatile",
    ]
)
"""Keywords before a declaration that a pattern need not name, where the grammar has them as bare tokens."""

NOUNS = frozenset(
    {"this", "base", "super", "self", "Self", "null", "nil", "true", "false", "nullptr", "undefined", "_"}
)
"""Bare tokens that are expressions: a metavariable may stand for them."""

CONTAINER = re.compile(
    r"^(?!control_structure_body)(?:\w*block|\w*block_body|\w*body|\w*body_statement|\w*statements|statement_list|suite|then|do|program|module"
    r"|source_file|source|translation_unit|compilation_unit|chunk|document|stmt_list|\w*arguments|\w*argument_list|\w*parameters"
    r"|\w*parameter_list|declarations|\w*declaration_list|alternatives|enumerators|match)$"
)
"""Nodes that hold a list: one metavariable is one element of it, never the whole."""

LISTED_HERE: Mapping[str, tuple[str, ...]] = {
    "javascript": ("import_clause",),
    "typescript": ("import_clause",),
    "tsx": ("import_clause",),
    "lua": ("variable_list", "expression_list"),
    "kotlin": ("variable_declaration",),
}
"""Further such nodes, by grammar."""

HOST = re.compile(
    r"^(?:object_type|interface_body|enum_body|field_declaration_list|struct_type|compound_statement|do_group|if_statement|elif_clause"
    r"|else_clause|subshell|command_substitution|object|array|list|tuple|set|dictionary|hash|else|literal_value"
    r"|\w*case\w*|\w*section|\w*entry|\w*default|\w*group|\w*_list|initializer_list|when)$"
)
"""Further nodes that hold siblings of one rank: a sequence may stand in them, and members whose ends are tokens
beside them.
"""

FOR = re.compile(r"^(?:c_style_)?for(?:_|$)|_for_|for_statement")
LISTED = re.compile(r"object_type|interface_body|enum_body")
"""Members that ``,`` and ``;`` may both separate."""

ALIKE: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "cpp": (("template_function", "template_type", "template_method"),),
    "rust": (
        ("scoped_identifier", "scoped_type_identifier"),
        ("generic_function", "generic_type", "generic_type_with_turbofish"),
    ),
    "java": (("scoped_identifier", "scoped_type_identifier"),),
}
"""Kinds that are one construct in two positions."""

CLOSERS = (")", "]", "}", ">", "|", "}}", "|}")
CHAIN, TOKENS = -1, -2
"""The kinds of virtual nodes."""


class Group:
    """A virtual node: siblings that are one expression. It answers what the matcher asks of a node."""

    __slots__ = ("children", "end_byte", "kind_id", "start_byte", "type")
    start_byte: int
    end_byte: int
    is_named = True
    is_extra = False
    is_error = False

    def __init__(self, kind_id: int, kind: str, children: list[Seen]) -> None:
        self.kind_id, self.type, self.children = kind_id, kind, children
        self.start_byte, self.end_byte = children[0].start_byte, children[-1].end_byte

    @property
    def child_count(self) -> int:
        return len(self.children)


if TYPE_CHECKING:
    Seen: TypeAlias = TreeNode | Group


class View:
    """What counts in the trees of one grammar."""

    def __init__(self, grammar: str) -> None:
        self.grammar = grammar
        self.language = grammars.grammar(grammar)
        kinds = [(n, self.language.node_kind_for_id(n) or "") for n in range(self.language.node_kind_count)]
        named = {n for n, _ in kinds if self.language.node_kind_is_named(n)}
        self.named = frozenset(named)
        self.bare = frozenset(kind for n, kind in kinds if n not in named)

        def tokens(texts: Iterable[str]) -> frozenset[int]:
            wanted = frozenset(texts)
            return frozenset(n for n, kind in kinds if n not in named and kind in wanted)

        self.commas, self.semicolons = tokens([","]), tokens([";"])
        self.closers, self.nouns, self.modifiers = tokens(CLOSERS), tokens(NOUNS), tokens(MODIFIERS)
        self.blanks = frozenset(n for n, kind in kinds if n not in named and not kind.strip())
        self.separators = self.commas | self.semicolons | self.blanks
        self.texts = frozenset(n for n, kind in kinds if n in named and kind == "jsx_text")
        listed = LISTED_HERE.get(grammar, ())
        self.containers = frozenset(n for n, kind in kinds if n in named and (CONTAINER.match(kind) or kind in listed))
        self.hosts = self.containers | frozenset(n for n, kind in kinds if n in named and HOST.match(kind))
        self.branching = frozenset(n for n, kind in kinds if grammar == "bash" and kind == "if_statement")
        self._alike: dict[int, frozenset[int]] = {}
        for group in ALIKE.get(grammar, ()):
            ids = frozenset(n for n, kind in kinds if kind in group)
            self._alike.update(dict.fromkeys(ids, ids))
        self._parens = tokens("()") if grammar == "python" else frozenset()
        self._imports = frozenset(n for n, kind in kinds if kind == "import_from_statement")
        self.fors = frozenset(n for n, kind in kinds if FOR.search(kind))
        self._listed = frozenset(n for n, kind in kinds if LISTED.search(kind))
        self._selectors = frozenset(
            n for n, kind in kinds if grammar == "dart" and kind in ("selector", "type_arguments")
        )
        self._heads = frozenset(n for n, kind in kinds if kind == "type_identifier")
        self._generic = frozenset(n for n, kind in kinds if kind == "type_arguments")
        self.token_trees = frozenset(n for n, kind in kinds if grammar == "rust" and kind == "token_tree")
        self._kept = frozenset(n for n, kind in kinds if kind == "heredoc_body")
        flat = self.commas if grammar in ("swift", "scala") else frozenset()
        self._tidy = (self.separators - self.commas) | flat | self.texts | self._selectors
        self._watched = self._tidy | self._parens | self.commas | self.closers

    @property
    def virtual(self) -> bool:
        """Whether the grammar has call chains of siblings, so that a node's depth is not that of its pattern."""
        return bool(self._selectors)

    def alike(self, kind_id: int) -> frozenset[int]:
        """The kinds that are the same construct as this one, itself included."""
        return self._alike.get(kind_id) or frozenset({kind_id})

    def apart(self, node: Seen) -> bool:
        """Whether a node is no construct of its own: the assignment in a local declaration of Lua."""
        if self.grammar != "lua" or node.type != "assignment_statement":
            return False
        parent = getattr(node, "parent", None)
        return parent is not None and parent.type == "variable_declaration"

    def kids(self, node: Seen) -> list[Seen]:
        """The children of a node that count, in order."""
        if type(node) is Group:
            return node.children
        parent, watched, commas = node.kind_id, self._watched, self.commas
        found: list[Seen] = []
        add = found.append
        untidy = parent in self._listed
        paren = trailing = False
        former = last = -3
        for child in node.children:
            kind = child.kind_id
            if child.is_extra and kind not in self._kept and not (child.is_error and _says(child)):
                continue
            add(child)
            if child.start_byte == child.end_byte:
                untidy = True
            if kind in watched:
                if kind in self._tidy:
                    untidy = True
                if kind in self._parens:
                    paren = True
                if last in commas and kind in self.closers:
                    trailing = True
            former, last = last, kind
        if parent in self.token_trees:
            return self._tokens(found)
        if untidy or last in commas or former in commas or (paren and (trailing or parent in self._imports)):
            return self._tidied(parent, found)
        return found

    def _tidied(self, parent: int, found: list[Seen]) -> list[Seen]:
        out: list[Seen] = []
        last = len(found) - 1
        for index, child in enumerate(found):
            kind = child.kind_id
            if kind in self.blanks or child.start_byte == child.end_byte:
                continue
            if kind in self.semicolons and (parent not in self.fors or found[index - 1].is_named):
                continue  # In the head of a loop, one stays only for an empty slot.
            if kind in self._parens and parent in self._imports:
                continue
            if kind in self.commas and (
                parent in self._listed
                or (out and out[-1].is_named and (index == last or found[index + 1].kind_id in self.closers))
            ):
                continue
            if kind in self.texts and not (child.text or b"").strip():  # type: ignore[union-attr]
                continue
            if (
                kind in self._selectors
                and out
                and out[-1].is_named
                and (kind not in self._generic or out[-1].kind_id in self._heads)
            ):
                out[-1] = Group(CHAIN, "chain", [out[-1], child])
                continue
            out.append(child)
        return out

    def _tokens(self, found: list[Seen]) -> list[Seen]:
        """A macro's token tree: the tokens between two commas are one argument."""
        if len(found) < 3:
            return found
        out: list[Seen] = [found[0]]
        run: list[Seen] = []
        for child in found[1:-1]:
            if child.kind_id in self.commas or child.kind_id in self.semicolons:
                out += _grouped(run)
                out.append(child)
                run = []
            else:
                run.append(child)
        out += _grouped(run)
        if out[-1].kind_id in self.commas:
            out.pop()
        return [*out, found[-1]]


def _says(node: Seen) -> bool:
    """Whether an error node holds more than separators."""
    return bool((getattr(node, "text", None) or b"").strip(b"; \t\r\n"))


def _grouped(run: list[Seen]) -> list[Seen]:
    return [Group(TOKENS, "tokens", run)] if len(run) > 1 else run


@cache
def view(grammar: str) -> View:
    """The view of a grammar, one a process."""
    return View(grammar)


def leaves(view: View, source: bytes, node: Seen) -> list[bytes]:
    """The tokens of a node in order, as text, without what does not count: equal code has equal leaves.

    Iterates, so that no depth of nesting matters. What stands between two tokens and is no white space (the content
    of a string that the grammar gives no node) is a token too.
    """
    out: list[bytes] = []
    place = node.start_byte
    stack: list[Seen] = [node]
    while stack:
        one = stack.pop()
        if type(one) is not Group and one.is_extra:
            place = max(place, one.end_byte)
            continue
        kids = view.kids(one) if one.child_count else []
        if kids:
            stack.extend(reversed(kids))
            continue
        if one.child_count:
            continue
        gap = source[place : one.start_byte]
        if one.start_byte > place and gap.strip(b" \t\r\n,;") and b"/" not in gap and b"#" not in gap:
            out.append(gap.strip())
        out.append(source[one.start_byte : one.end_byte])
        place = one.end_byte
    return out
