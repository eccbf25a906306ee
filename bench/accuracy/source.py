"""Our own reading of a source file: where its calls name what they call, and where its definitions stand.

Made with tree-sitter's grammars and nothing of ``ombud.graph``: what is measured must not measure itself. Lines and
characters are zero-based, characters in UTF-16 units, as in LSP and in SCIP.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

Spot = tuple[int, int]  # line, character

GRAMMARS = {
    **{".py": "python", ".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "tsx"},
    **{".go": "go", ".java": "java", ".rs": "rust", ".cpp": "cpp", ".cc": "cpp", ".h": "cpp", ".hpp": "cpp"},
}
CONSTRUCTORS = ("__init__", "__new__", "constructor")
OVERLOAD = "@"  # before the line, where each overload is a definition of its own

CALLABLE, CLASS, TYPE = "callable", "class", "type"  # a type cannot be called


@dataclass(frozen=True)
class Call:
    """A place that names what it calls. `shape` says how the callee is written, for grouping the failures.

    `counted` is false where calling is a matter of definition (a bare decorator, ``super(...)`` of TypeScript): an
    edge there can be wrong, the lack of one is no miss.
    """

    shape: str
    counted: bool = True


@dataclass
class Source:
    """What one file holds. A definition is named by its lexical path: ``Class.method``, ``outer.inner``.

    Declarations of one name in one scope (overloads, branches, a property's setter) are one definition: the indexers
    point at the first of them or the last.
    """

    lines: list[str]
    calls: dict[Spot, Call] = field(default_factory=dict)
    names: dict[Spot, str] = field(default_factory=dict)  # where a definition's name stands -> its lexical path
    kinds: dict[str, str] = field(default_factory=dict)
    starts: dict[tuple[str, int], str] = field(default_factory=dict)  # bare name, first line -> lexical path
    aliases: dict[Spot, Spot] = field(default_factory=dict)  # `a = b`: where a stands -> where b does

    def word(self, spot: Spot) -> str:
        """The name that starts at a spot."""
        line, character = spot
        rest = self.lines[line].encode("utf-16-le")[2 * character :].decode("utf-16-le", "replace")
        found = re.match(r"[\w$#]+", rest)
        return found.group() if found is not None else ""

    def family(self, path: str) -> set[str]:
        """The definition and those that stand for the same callee: a class and its own constructors."""
        if self.kinds.get(path) == CLASS:
            return {path, *(other for other in self.kinds if self._constructs(other) == path)}
        if (made := self._constructs(path)) is not None:
            return {made, path}
        return {path}

    def _constructs(self, path: str) -> str | None:
        """The class whose constructor this is, if it is one."""
        head, _, last = path.rpartition(".")
        name = last.partition(OVERLOAD)[0]
        constructs = name in {*CONSTRUCTORS, head.rpartition(".")[2]} and self.kinds.get(head) == CLASS
        return head if constructs else None


def supported(path: str) -> bool:
    return PurePosixPath(path).suffix in GRAMMARS and not path.endswith((".d.ts", ".d.mts", ".d.cts"))


def read(path: str, data: bytes) -> Source:
    """Parse one file. `path` decides the grammar; undecodable bytes are replaced."""
    from . import native, python, typescript

    suffix = PurePosixPath(path).suffix
    source = Source(data.decode("utf-8", "replace").split("\n"))
    reader = Reader(source, data.split(b"\n"))
    root = _parser(GRAMMARS[suffix]).parse(data).root_node
    if suffix in native.GRAMMARS:
        native.walk(root, reader, native.GRAMMARS[suffix])
    else:
        (python.walk if suffix == ".py" else typescript.walk)(root, reader)
    return source


_PARSERS: dict[str, Parser] = {}


def _parser(grammar: str) -> Parser:
    if grammar not in _PARSERS:
        from tree_sitter_language_pack import get_parser

        _PARSERS[grammar] = get_parser(grammar)  # type: ignore[arg-type]
    return _PARSERS[grammar]


@dataclass
class Reader:
    """Collects what a walk over the tree finds."""

    source: Source
    rows: list[bytes]

    def spot(self, node: Node) -> Spot:
        row, column = node.start_point
        return row, len(self.rows[row][:column].decode("utf-8", "replace").encode("utf-16-le")) // 2

    def call(self, name: Node | None, shape: str, counted: bool = True) -> None:
        if name is not None:
            self.source.calls[self.spot(name)] = Call(shape, counted)

    def define(self, scope: str, name: Node, kind: str, *extents: Node, apart: bool = False) -> str:
        """Note a definition; `extents` are the nodes it may be said to begin with. Returns its lexical path.

        With `apart`, each overload is a definition of its own.
        """
        text = word(name).strip("\"'")
        path = f"{scope}.{text}" if scope else text
        if apart:
            path = f"{path}{OVERLOAD}{name.start_point[0] + 1}"
        self.source.names[self.spot(name)] = path
        if self.source.kinds.get(path) != CLASS:
            self.source.kinds[path] = kind
        for node in (name, *extents):
            self.source.starts[text, node.start_point[0]] = path
        return path


def word(node: Node | None) -> str:
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""
