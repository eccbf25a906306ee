"""Workspace edits of several servers, as one."""

from __future__ import annotations

from typing import Any

import pytest
from ombud.downstream.edits import joined_edits

Json = dict[str, Any]


def edit(line: int, text: str, start: int = 0, end: int = 3, **more: Any) -> Json:
    where = {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}
    return {"range": where, "newText": text, **more}


def changes(**files: list[Json]) -> Json:
    return {"changes": {f"file:///{name}": edits for name, edits in files.items()}}


def documents(name: str, *edits: Json, version: int | None = None) -> Json:
    return {"textDocument": {"uri": f"file:///{name}", "version": version}, "edits": list(edits)}


def test_one_edit_stays_as_it_is() -> None:
    only = {**changes(a=[edit(1, "x")]), "x-vendor": True}
    assert joined_edits([{}, only, {"documentChanges": []}]) is only
    assert joined_edits([{}]) == {}


def test_files_of_both_are_edited_and_what_both_say_once() -> None:
    one = changes(a=[edit(1, "x")], b=[edit(2, "y")])
    two = changes(a=[edit(1, "x"), edit(5, "z")], c=[edit(0, "c")])
    assert joined_edits([one, two]) == changes(a=[edit(1, "x"), edit(5, "z")], b=[edit(2, "y")], c=[edit(0, "c")])


@pytest.mark.parametrize(
    ("other", "kept"),
    [
        (edit(1, "other"), False),
        (edit(1, "other", 2, 9), False),
        (edit(1, "other", 3, 9), True),
        (edit(1, "insertion", 0, 0), False),
        (edit(1, "insertion", 3, 3), True),
        (edit(2, "other"), True),
    ],
)
def test_where_two_disagree_the_first_is_right(other: Json, kept: bool) -> None:
    found = joined_edits([changes(a=[edit(1, "x")]), changes(a=[other])])
    assert found == changes(a=[edit(1, "x"), other] if kept else [edit(1, "x")])


def test_insertions_of_both_at_one_place_are_made_in_order() -> None:
    one, two = edit(0, "import a\n", 0, 0), edit(0, "import b\n", 0, 0)
    assert joined_edits([changes(a=[one]), changes(a=[one, two])]) == changes(a=[one, two])


def test_edits_of_one_server_may_meet() -> None:
    """Several insertions at one place are an import block, and their order is the server's."""
    two = changes(a=[edit(0, "import a\n", 0, 0), edit(0, "import b\n", 0, 0)])
    assert joined_edits([changes(b=[edit(0, "x")]), two])["changes"]["file:///a"] == two["changes"]["file:///a"]
    both = joined_edits([{"documentChanges": [documents("b", edit(0, "x"))]}, two])
    assert both["documentChanges"][1]["edits"] == two["changes"]["file:///a"]


def test_document_changes_of_one_and_changes_of_the_other() -> None:
    rename = {"kind": "rename", "oldUri": "file:///a", "newUri": "file:///b"}
    one = {"documentChanges": [rename, documents("b", edit(1, "x"), version=4)]}
    two = changes(b=[edit(1, "x"), edit(9, "y")], c=[edit(0, "c")])
    assert joined_edits([one, two]) == {
        "documentChanges": [
            rename,
            documents("b", edit(1, "x"), version=4),
            documents("b", edit(9, "y")),
            documents("c", edit(0, "c")),
        ]
    }
    assert joined_edits([one, {"documentChanges": [rename]}, one])["documentChanges"] == one["documentChanges"]


def test_annotations_of_one_name_are_told_apart() -> None:
    def part(label: str, line: int) -> Json:
        return {
            "documentChanges": [documents("a", edit(line, "x", annotationId="why"))],
            "changeAnnotations": {"why": {"label": label}},
        }

    found = joined_edits([part("first", 1), part("second", 2), part("first", 3)])
    assert found["changeAnnotations"] == {"why": {"label": "first"}, "why-2": {"label": "second"}}
    names = [one["edits"][0]["annotationId"] for one in found["documentChanges"]]
    assert names == ["why", "why-2", "why"]
