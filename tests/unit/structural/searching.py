"""Search a text with a query, as one file of a search: what the tests of the engine share."""

from __future__ import annotations

from ombud.structural.compiled import compile_query
from ombud.structural.match import Match
from ombud.structural.query import Query
from ombud.syntax.grammars import GRAMMARS, parser


def search(language: str, source: str, query: Query, most: int | None = None) -> tuple[list[Match], bool, str]:
    """The matches of the first rung that has any, whether there are more, and the rung's name (else the first's)."""
    data = source.encode()
    tree = parser(GRAMMARS[language]).parse(data)
    rungs = compile_query(query, language).rungs
    for rung in rungs:
        if rung.may_match(data):
            matches, more = rung.search(data, tree, most)
            if matches:
                return matches, more, rung.name
    return [], False, rungs[0].name


def texts(language: str, source: str, query: Query) -> list[str]:
    """The text of every match."""
    data = source.encode()
    return [data[m.start : m.end].decode() for m in search(language, source, query)[0]]
