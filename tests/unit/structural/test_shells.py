"""The ladder of contexts: which one reads a fragment, and what is said of a fragment that none takes."""

from __future__ import annotations

import pytest
from ombud.errors import UserError
from ombud.structural.compiled import Unparseable, compile_query
from ombud.structural.query import Query
from ombud.structural.shells import SHELLS, SPELLINGS
from ombud.syntax.grammars import GRAMMARS

from tests.unit.structural.searching import search

CONTEXTS = [
    ("python", "f($X)", "statement"),
    ("python", "except $E: $$$", "clause"),
    ("python", "class $C($B)", "header"),
    ("python", "case $P: $$$", "arm"),
    ("javascript", "{ $K: $V }", "statement"),
    ("javascript", "case $X: $$$", "clause"),
    ("typescript", "async $M($$$) { $$$ }", "member"),
    ("typescript", "private $X: $T", "member"),
    ("typescript", "@Component({ $$$ })", "decorator"),
    ("java", "public void $M($$$) { $$$ }", "member"),
    ("java", "List<$T>", "type"),
    ("rust", "Some($X) => $Y", "arm"),
    ("go", "func $F($$$) { $$$ }", "top_level"),
    ("go", "case $X: $$$", "clause"),
    ("dart", "dispose($X)", "statement"),
]


@pytest.mark.parametrize(("language", "pattern", "name"), CONTEXTS)
def test_the_first_context_that_reads_it(language: str, pattern: str, name: str) -> None:
    assert compile_query(Query(pattern=pattern), language).rungs[0].name == name


def test_a_later_context_counts_where_the_first_finds_nothing() -> None:
    query = Query(pattern="final $T $N;")
    assert search("dart", "class A { final int x; }", query)[2] == "member"
    assert search("dart", "class A { final int x; void f() { final int y; } }", query)[2] == "statement"


@pytest.mark.parametrize("language", sorted(GRAMMARS))
def test_what_no_context_takes_is_an_error_with_the_contexts_tried(language: str) -> None:
    with pytest.raises(Unparseable) as caught:
        compile_query(Query(pattern="$X ((( ]] }{ $$$"), language)
    error = caught.value
    assert (error.kind, error.data["language"]) == ("unparseable_pattern", language)
    assert {rung["as"] for rung in error.data["rungs"]} == {shell.name for shell in SHELLS[GRAMMARS[language]]}
    assert all(rung["complaint"] for rung in error.data["rungs"])
    assert "q0v" not in error.message, "the identifiers that stand for metavariables are nobody's business"


def test_every_grammar_has_shells_and_spellings() -> None:
    assert set(GRAMMARS.values()) == set(SHELLS) == set(SPELLINGS)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (Query(pattern=""), "empty"),
        (Query(pattern="$$$A"), "any code"),
        (Query(pattern="f($X, $$$X)"), "both"),
        (Query(pattern="f(\ud800)"), "surrogate"),
        (Query(pattern="a" * 20_000), "longer"),
        (Query(pattern="f(" + ",".join(f"$A{n}" for n in range(65)) + ")"), "65 metavariables"),
        (Query(), "nothing to search"),
        (Query(pattern="a", any=["b"]), "not both"),
        (Query(kind="cal"), "Near it: call"),
        (Query(any=["f()"] * 101), "more than 100"),
    ],
)
def test_a_bad_query_is_the_callers_to_mend(query: Query, said: str) -> None:
    with pytest.raises(UserError) as caught:
        compile_query(query, "python")
    assert caught.value.kind == "invalid_params"
    assert said in caught.value.message


def test_an_unknown_language_is_told() -> None:
    with pytest.raises(UserError) as caught:
        compile_query(Query(pattern="a"), "pyton")
    assert caught.value.kind == "unknown_language"
