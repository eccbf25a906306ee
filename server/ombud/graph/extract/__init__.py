"""Facts from a text: one module a language, each with a query of its own under ``syntax/queries``."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from ombud.syntax.grammars import GRAMMARS, grammar

if TYPE_CHECKING:
    from ombud.graph.extract.extraction import Extraction
    from ombud.graph.facts import Facts

FULL = {
    "c": "c",
    "cpp": "cpp",
    "csharp": "csharp",
    "go": "go",
    "java": "java",
    "javascript": "ecma",
    "javascriptreact": "ecma",
    "kotlin": "kotlin",
    "php": "php",
    "python": "python",
    "ruby": "ruby",
    "rust": "rust",
    "typescript": "ecma",
    "typescriptreact": "ecma",
}
"""Languages whose imports and members are followed → the module here that reads them."""

PLAIN = ("dart", "elixir", "haskell", "lua", "scala", "shellscript", "sql", "swift", "zig")
"""Languages of which definitions and the calls within one file are known, and nothing more."""

LANGUAGES = (*FULL, *PLAIN)


class Unsupported(LookupError):
    """There is nothing here that reads this language."""


@cache
def _extraction(language: str) -> type[Extraction]:
    name = FULL.get(language) or ("plain" if language in PLAIN else None)
    if name is None:
        raise Unsupported(f"The graph does not read {language}.")
    module = f"ombud.graph.extract.{name}"
    try:
        found: type[Extraction] = import_module(module).EXTRACTION
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise Unsupported(f"The graph does not read {language}.") from None
    try:
        grammar(GRAMMARS[language])
    except LookupError:
        raise Unsupported(f"The graph does not read {language}: there is no grammar for it.") from None
    return found


def extract(language: str, source: bytes) -> Facts:
    """The facts of ``source``, UTF-8 (what is none of it is read as replacement characters).

    Raises `Unsupported` for a language that is in neither table, or that this installation has no rules or no grammar
    for.
    """
    return _extraction(language)(language, source).facts()
