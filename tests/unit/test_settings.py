"""Settings from several hands: who wins where, and what a server is answered."""

from __future__ import annotations

from typing import Any

import pytest
from ombud.downstream.catalogue import load_catalogue
from ombud.downstream.settings import answer, answered, joined, laid, of_client, section, unfolded

CATALOGUE = load_catalogue()
TREE = {"python": {"pythonPath": "/p", "analysis": {"mode": "open"}}, "css.lint": {"x": 1}, "flag": False}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (None, TREE),
        ("", TREE),
        ("python", TREE["python"]),
        ("python.analysis", {"mode": "open"}),
        ("python.analysis.mode", "open"),
        ("css.lint", {"x": 1}),
        ("flag", False),
        # vscode-css stays silent for ever after a null.
        ("css", {}),
        ("unknown", {}),
        ("python.unknown", None),
        ("unknown.leaf", None),
        # Below a plain value there is nothing that could be an object.
        ("flag.below", None),
    ],
)
def test_a_section_is_found_nested_or_flat_and_an_unknown_one_is_empty(name: str | None, value: Any) -> None:
    assert section(TREE, name) == value


def test_a_question_is_answered_item_by_item() -> None:
    items = [{"section": "python.analysis"}, {}, {"section": 7}, "odd", {"section": "no"}]
    assert answer(TREE, {"items": items}) == [{"mode": "open"}, TREE, TREE, TREE, {}]
    assert answer(TREE, {"items": "odd"}) == answer(TREE, None) == []


def test_dotted_names_of_the_first_level_are_unfolded_and_deeper_ones_are_names() -> None:
    schemas = {"https://json.schemastore.org/x": "x.yaml"}
    flat = {
        "yaml.schemas": schemas,
        "yaml": {"validate": True},
        "a.b.c": 1,
        "a.b": {"d": 2},
        ".odd": 1,
        "odd.": 2,
        "": 3,
    }
    assert unfolded(flat) == {
        "yaml": {"schemas": schemas, "validate": True},
        "a": {"b": {"c": 1, "d": 2}},
        ".odd": 1,
        "odd.": 2,
        "": 3,
    }


def test_a_key_of_very_many_words_is_no_tree() -> None:
    long = "a." * 5_000 + "a"
    assert unfolded({long: 1, "b.c": 2}) == {long: 1, "b": {"c": 2}}


def test_a_dotted_key_meets_the_nested_one_of_its_name() -> None:
    """Users write ``python.analysis.…``, and the catalogue has a ``python``: the one must not hide the other."""
    below = {"python": {"pythonPath": "/p", "analysis": {"a": 1}}, "x.y": 1}
    above = {"python.analysis.b": 2, "x": {"z": None}, "alone.key": [3]}
    assert joined(below, above) == {
        "python": {"pythonPath": "/p", "analysis": {"a": 1, "b": 2}},
        "x": {"y": 1, "z": None},
        "alone.key": [3],
    }


def test_objects_are_merged_the_rest_replaces_and_null_says_nothing() -> None:
    below = {"a": {"x": 1, "y": [1]}, "b": {"z": 1}, "c": 1, "d": 1}
    above = {"a": {"y": [2], "n": 2}, "b": 2, "c": {"w": 1}, "d": None}
    kept = {"a": {"y": [3]}, "c": 0}
    assert laid(below, above) == {"a": {"x": 1, "y": [2], "n": 2}, "b": 2, "c": {"w": 1}, "d": 1}
    assert laid(below, above, kept) == {"a": {"x": 1, "y": [1], "n": 2}, "b": 2, "c": 1, "d": 1}
    assert below == {"a": {"x": 1, "y": [1]}, "b": {"z": 1}, "c": 1, "d": 1}


@pytest.mark.parametrize(
    ("name", "theirs", "expected"),
    [
        ("s", {"mode": "theirs", "more": 1, "nothing": None}, {"mode": "theirs", "list": [1], "more": 1}),
        ("s", {"list": [2]}, {"mode": "ours", "list": [1]}),
        ("s", None, {"mode": "ours", "list": [1]}),
        ("s", "odd", {"mode": "ours", "list": [1]}),
        ("s.mode", "theirs", "theirs"),
        ("s.list", [2], [1]),
        ("t", {"x": 1}, {"x": 1}),
        ("t", 5, 5),
        ("t", None, {}),
    ],
)
def test_a_clients_answer_lies_over_the_catalogue_and_under_what_was_set_for_the_server(
    name: str, theirs: Any, expected: Any
) -> None:
    settings = {"s": {"mode": "ours", "list": [1]}}
    assert answered(settings, {"s": {"list": [1]}}, [name], [theirs]) == [expected]
    assert answered(settings, {"s": {"list": [1]}}, [name], None) == answer(settings, {"items": [{"section": name}]})


def test_a_server_is_shown_the_sections_of_a_client_that_concern_it() -> None:
    sections = {name: {"of": name} for name in ("python", "basedpyright", "yaml", "gopls", "mine")}
    pyright, yaml = CATALOGUE.entries["basedpyright"], CATALOGUE.entries["yaml-language-server"]
    assert sorted(of_client(pyright, sections, ())) == ["basedpyright", "python"]
    assert sorted(of_client(yaml, {**sections, "none": None}, ["mine.part", "none"])) == ["mine", "yaml"]
    assert sorted(of_client(CATALOGUE.entries["gopls"], sections, ())) == ["gopls"]
