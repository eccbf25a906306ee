"""The grammars of the sources: which one reads a language, its parser, and our own queries (``queries/*.scm``).

All grammars are those of ``tree-sitter-language-pack``, which carries them in its wheel. Importing this module costs
nothing; the first call that needs a grammar loads it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from tree_sitter import Language, Parser, Query, Tree

GRAMMARS: Mapping[str, str] = {
    "c": "c",
    "cpp": "cpp",
    "csharp": "csharp",
    "dart": "dart",
    "elixir": "elixir",
    "go": "go",
    "haskell": "haskell",
    "java": "java",
    "javascript": "javascript",
    "javascriptreact": "javascript",
    "kotlin": "kotlin",
    "lua": "lua",
    "php": "php",
    "python": "python",
    "ruby": "ruby",
    "rust": "rust",
    "scala": "scala",
    "shellscript": "bash",
    "sql": "sql",
    "swift": "swift",
    "typescript": "typescript",
    "typescriptreact": "tsx",
    "zig": "zig",
}
"""Language id of LSP → its grammar. A language that is not here has no trees."""

QUERIES = Path(__file__).with_name("queries")


@cache
def grammar(name: str) -> Language:
    """The grammar of that name. Raises LookupError where the pack has none."""
    from tree_sitter_language_pack import get_language

    return get_language(cast("object", name))  # type: ignore[arg-type]


@cache
def parser(name: str) -> Parser:
    """One parser a grammar and process; it is not to be shared between threads."""
    from tree_sitter import Parser

    return Parser(grammar(name))


@cache
def query(name: str, grammar_name: str) -> Query:
    """The query of file ``queries/<name>.scm`` for that grammar, which must know every node the file names.

    Files joined by ``+`` are one query.
    """
    from tree_sitter import Query

    texts = [QUERIES.joinpath(f"{part}.scm").read_text("utf-8") for part in name.split("+")]
    return Query(grammar(grammar_name), "\n".join(texts))


class Trees:
    """Trees by content: the same bytes in the same grammar are parsed once while they are remembered.

    ``limit`` is in bytes of source; a tree takes about ten times its source.
    """

    def __init__(self, limit: int = 4_000_000) -> None:
        self._limit = limit
        self._size = 0
        self._kept: OrderedDict[tuple[str, bytes], tuple[Tree, int]] = OrderedDict()

    def parse(self, language: str, source: bytes) -> Tree:
        """The tree of ``source``. Raises LookupError for a language without a grammar."""
        name = GRAMMARS.get(language)
        if name is None:
            raise LookupError(f"There is no grammar for {language}.")
        key = (name, blake2b(source, digest_size=16).digest())
        if (found := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
            return found[0]
        tree = parser(name).parse(source)
        self._kept[key] = (tree, len(source))
        self._size += len(source)
        while self._size > self._limit and len(self._kept) > 1:
            self._size -= self._kept.popitem(last=False)[1][1]
        return tree
