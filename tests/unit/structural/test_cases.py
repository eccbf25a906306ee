"""Patterns and what they find: the table under `cases/`, row by row."""

from __future__ import annotations

import pytest
from ombud.errors import UserError
from ombud.structural.compiled import Rung, compile_query
from ombud.structural.match import Capture, Match
from ombud.syntax.grammars import GRAMMARS, parser

from tests.unit.structural.table import Case, languages, read

CASES = [case for language in languages() for case in read(language)]


def found(case: Case) -> tuple[Rung | None, list[Match]]:
    """The matches of the first rung that has any, as a search over one file finds them."""
    tree = parser(GRAMMARS[case.language]).parse(case.source)
    for rung in compile_query(case.query, case.language).rungs:
        matches, more = rung.search(case.source, tree)
        assert not more, "nothing asked to stop"
        if matches:
            assert rung.may_match(case.source), "the quick test before parsing throws out a file that has matches"
            return rung, matches
    return None, []


def texts(source: bytes, capture: Capture) -> str | list[str]:
    if capture.items is None:
        return source[capture.start : capture.end].decode()
    return [source[start:end].decode() for start, end in capture.items]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    if case.error is not None:
        with pytest.raises(UserError) as caught:
            compile_query(case.query, case.language)
        assert caught.value.kind == case.error
        return
    rung, matches = found(case)
    source = case.source
    assert [source[m.start : m.end].decode() for m in matches] == [source[a:b].decode() for a, b in case.spans]
    assert [(m.start, m.end) for m in matches] == case.spans
    for match, wanted in zip(matches, case.captures, strict=False):
        assert {name: texts(source, match.captures[name]) for name in wanted} == wanted
    if case.parsed_as is not None:
        assert rung is not None
        assert rung.name == case.parsed_as


def test_every_language_of_the_issue_has_its_cases() -> None:
    wanted = (
        "c cpp csharp dart go java javascript kotlin lua php python ruby rust scala shellscript swift typescript tsx"
    )
    counts = {language: sum(case.language == language for case in CASES) for language in languages()}
    assert set(counts) == {name.replace("tsx", "typescriptreact") for name in wanted.split()}
    assert min(counts.values()) >= 12
    assert sum(counts.values()) >= 300


def test_names_are_unique() -> None:
    names = [str(case) for case in CASES]
    assert len(names) == len(set(names))
