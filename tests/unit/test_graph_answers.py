"""Answers about the graph without a graph: how risk is counted, how lists are cut, and SCIP's bytes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ombud.operations.graph import scip
from ombud.operations.graph.budget import Budget
from ombud.operations.graph.risk import LEVELS, assess, level

COUNT = st.integers(0, 500)
FILES = st.lists(st.sampled_from([f"{folder}/{name}.py" for folder in "abcd" for name in "xyz"]), unique=True)


# -- risk


@given(COUNT, st.booleans(), FILES, st.integers(0, 9), COUNT, st.data())
def test_more_dependents_never_lower_the_score_and_more_tests_never_raise_it(
    callers: int, exported: bool, files: list[str], depth: int, tests: int, data: st.DataObject
) -> None:
    known: dict[str, Any] = {"callers": callers, "exported": exported, "files": files, "depth": depth, "tests": tests}
    before = assess(**known)
    assert 0 <= before.score <= 100
    assert sum(one.points for one in before.factors) == pytest.approx(before.score, abs=1)
    grown: dict[str, Any] = {
        "callers": callers + data.draw(COUNT),
        "exported": True,
        "files": [*files, *data.draw(FILES)],
        "depth": depth + data.draw(st.integers(0, 9)),
    }
    for name, value in grown.items():
        assert assess(**{**known, name: value}).score >= before.score, name
    assert assess(**{**known, "tests": tests + data.draw(COUNT)}).score <= before.score


def test_what_nobody_uses_is_of_low_risk_and_what_all_use_untested_is_critical() -> None:
    assert assess(callers=0, exported=True, files=[], depth=0, tests=0).level == "low"
    wide = [f"{folder}/{number}.py" for folder in "abcd" for number in range(10)]
    worst = assess(callers=200, exported=True, files=wide, depth=3, tests=0)
    assert (worst.level, worst.score) == ("critical", 100)
    assert [one.name for one in worst.factors] == ["callers", "exported", "files", "packages", "depth", "tests"]


def test_levels_begin_where_they_say() -> None:
    for bound, name in LEVELS:
        assert level(bound - 0.1) == name
        assert level(bound) != name


# -- budgets


def test_a_list_is_cut_by_its_limit_and_says_so() -> None:
    budget = Budget(None)
    assert budget.fit([1, 2, 3], 2, name="symbols") == [1, 2]
    assert budget.sentence("narrow by path") == "Shown 2 of 3 symbols; narrow by path."


def test_an_uncut_list_says_nothing() -> None:
    budget = Budget(1000)
    assert budget.fit(["a"], 5, name="symbols") == ["a"]
    assert budget.sentence("narrow by path") is None


@given(st.lists(st.text(max_size=50), max_size=60), st.integers(1, 400), st.integers(1, 60))
def test_what_is_kept_fits_the_tokens_and_is_the_beginning(items: list[str], tokens: int, limit: int) -> None:
    budget = Budget(tokens, used=0)
    kept = budget.fit(items, limit, name="symbols")
    assert kept == items[: len(kept)]
    assert len(kept) <= limit
    assert sum(len(msgspec.json.encode(one).decode()) + 1 for one in kept) <= tokens * 4
    assert (budget.sentence("") is not None) == (len(kept) < len(items))


def test_behind_a_list_that_was_cut_by_tokens_nothing_follows() -> None:
    budget = Budget(10, used=0)
    assert budget.fit(["x" * 30, "y" * 30], 10, name="direct") == ["x" * 30]
    assert budget.fit(["y" * 30], 10, name="tests") == []
    assert budget.sentence("ask again") == "Shown 1 of 2 direct, Shown 0 of 1 tests; ask again."


# -- SCIP


@pytest.mark.parametrize(("number", "data"), [(0, b"\0"), (127, b"\x7f"), (128, b"\x80\x01"), (300, b"\xac\x02")])
def test_numbers_are_protobufs(number: int, data: bytes) -> None:
    assert scip.varint(number) == data


def test_a_default_value_is_left_out() -> None:
    assert scip.text(1, "") == b""
    assert scip.number(3, 0) == b""
    assert scip.data(2, b"") == b"\x12\0"


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("f", "function", "f()."),
        ("f~2", "function", "f(+1)."),
        ("C", "class", "C#"),
        ("x", "field", "x."),
        ("x~3", "constant", "`x~3`."),
        ("m", "macro", "m!"),
        ("n", "namespace", "n/"),
        ("operator ==", "method", "`operator ==`()."),
        ("a`b", "variable", "`a``b`."),
    ],
)
def test_descriptors_are_of_scips_grammar(name: str, kind: str, said: str) -> None:
    assert scip.descriptor(name, kind) == said


def test_a_files_symbol_escapes_its_path() -> None:
    assert scip.head("src/a b.py") == "ombud . . . `src/a b.py`/"
    assert scip.head("Makefile") == "ombud . . . Makefile/"
