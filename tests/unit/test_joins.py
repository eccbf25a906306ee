"""Answers of several servers to one request, joined (ARCHITECTURE.md, "Lanes")."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from msgspec import Raw
from ombud.downstream.items import Mark
from ombud.downstream.joins import RULE, Part, join
from ombud.downstream.methods import LISTED_BY

PLAIN = Mark()
SECOND = Mark("two")


def raw(value: Any) -> Raw:
    return Raw(value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode())


def joined(method: str, *values: Any, missing: bool = False) -> Any:
    """The join of answers of which the first is the plain server's, read again."""
    other = SECOND if method in LISTED_BY.values() else PLAIN
    parts = [Part(raw(value), other if number else PLAIN) for number, value in enumerate(values)]
    return json.loads(bytes(join(method, parts, missing=missing)))


def place(line: int, start: int = 0, end: int = 5) -> dict[str, Any]:
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}


def test_what_is_alone_keeps_its_bytes() -> None:
    odd = b'[ {"a" : 1.0} ,{"b":"\\ud83d"}]'
    for method in ("textDocument/references", "textDocument/codeLens", "textDocument/completion", "textDocument/hover"):
        body = b'{"contents" : "x" }' if method.endswith("hover") else odd
        assert bytes(join(method, [Part(Raw(b"null"), PLAIN), Part(Raw(body), PLAIN)])) == body


def test_nothing_of_all_is_what_the_first_said() -> None:
    assert joined("textDocument/references", None, None) is None
    assert joined("textDocument/references", [], None) == []
    assert joined("textDocument/completion", None, None) is None


def test_items_of_another_server_are_marked_and_the_plain_ones_are_not() -> None:
    mine, theirs = {"range": place(0), "data": {"x": [1]}}, {"range": place(1), "data": 7}
    assert joined("textDocument/codeLens", [mine], [theirs, {"range": place(2)}]) == [
        mine,
        {"range": place(1), "data": {"ombud": "two", "data": 7}},
        {"range": place(2), "data": {"ombud": "two"}},
    ]


def test_references_are_joined_without_what_was_said_before() -> None:
    here, there, far = ({"uri": f"file:///{name}", "range": place(3)} for name in "abc")
    turned = {"range": {"end": here["range"]["end"], "start": here["range"]["start"]}, "uri": here["uri"]}
    assert joined("textDocument/references", [here, there, there], [turned, far]) == [here, there, there, far]


def test_symbols_and_colours_and_links_are_distinct() -> None:
    one = {"name": "f", "kind": 12, "location": {"uri": "file:///a", "range": place(0)}}
    other = {**one, "name": "g", "data": 1}
    assert joined("workspace/symbol", [one], [{**one, "containerName": "x"}, other]) == [
        one,
        {**other, "data": {"ombud": "two", "data": 1}},
    ]
    red = {"range": place(0), "color": {"red": 1, "green": 0, "blue": 0, "alpha": 1}}
    assert len(joined("textDocument/documentColor", [red], [red, {**red, "range": place(1)}])) == 2
    link = {"range": place(0), "target": "file:///t"}
    assert joined("textDocument/documentLink", [link], [link]) == [link]
    unresolved = {"range": place(0), "data": 1}
    assert len(joined("textDocument/documentLink", [unresolved], [unresolved])) == 2, "they may lead to two places"


# -- hover


def test_hovers_stand_under_one_another_with_the_first_range() -> None:
    one = {"contents": {"kind": "markdown", "value": "**one**"}}
    two = {"contents": "two", "range": place(1)}
    three = {"contents": [{"language": "py", "value": "x: int"}, "more"], "range": place(2)}
    assert joined("textDocument/hover", one, None, two, three) == {
        "contents": {"kind": "markdown", "value": RULE.join(["**one**", "two", "```py\nx: int\n```\n\nmore"])},
        "range": place(1),
    }


def test_plain_texts_stay_plain_and_are_fenced_beside_markdown() -> None:
    plain = {"contents": {"kind": "plaintext", "value": "a *b*"}}
    other = {"contents": {"kind": "plaintext", "value": "```"}}
    assert joined("textDocument/hover", plain, other)["contents"] == {"kind": "plaintext", "value": "a *b*\n\n```"}
    mixed = joined("textDocument/hover", other, {"contents": "md"})["contents"]
    assert mixed == {"kind": "markdown", "value": RULE.join(["````text\n```\n````", "md"])}


def test_an_empty_or_equal_hover_adds_nothing() -> None:
    one = {"contents": {"kind": "markdown", "value": "same"}, "range": place(0)}
    for empty in ({"contents": ""}, {"contents": []}, {"contents": {"kind": "markdown", "value": "\n"}}):
        assert joined("textDocument/hover", one, empty) == one
        assert joined("textDocument/hover", empty, one) == one
    assert joined("textDocument/hover", one, one)["contents"]["value"] == "same"


# -- completion


def test_a_joined_list_is_incomplete_when_one_part_is() -> None:
    complete, more = [{"label": "a"}], {"isIncomplete": True, "items": [{"label": "b", "data": 1}]}
    found = joined("textDocument/completion", complete, more)
    assert found == {
        "isIncomplete": True,
        "items": [{"label": "a"}, {"label": "b", "data": {"ombud": "two", "data": 1}}],
    }
    assert joined("textDocument/completion", {"isIncomplete": False, "items": []}, complete)["isIncomplete"] is False
    assert joined("textDocument/completion", complete, {"isIncomplete": True, "items": []}) == {
        "isIncomplete": True,
        "items": complete,
    }
    assert joined("textDocument/completion", complete, None, missing=True)["isIncomplete"] is True


def test_defaults_of_a_list_are_written_into_its_own_items() -> None:
    edit_range = place(0, 2, 4)
    first = {
        "isIncomplete": False,
        "itemDefaults": {"commitCharacters": ["."], "editRange": edit_range, "insertTextFormat": 2, "data": {"k": 1}},
        "items": [{"label": "a"}, {"label": "b", "textEditText": "bb", "insertTextFormat": 1, "data": 5}],
    }
    second = {
        "isIncomplete": False,
        "itemDefaults": {"editRange": {"insert": place(0, 2, 3), "replace": edit_range}},
        "items": [{"label": "c"}, {"label": "d", "textEdit": {"newText": "d", "range": place(9)}}],
    }
    items = joined("textDocument/completion", first, second)["items"]
    assert items[0] == {
        "label": "a",
        "commitCharacters": ["."],
        "textEdit": {"newText": "a", "range": edit_range},
        "insertTextFormat": 2,
        "data": {"k": 1},
    }
    assert items[1]["textEdit"] == {"newText": "bb", "range": edit_range}
    assert (items[1]["insertTextFormat"], items[1]["data"], "textEditText" in items[1]) == (1, 5, False)
    assert items[2]["textEdit"] == {"newText": "c", "insert": place(0, 2, 3), "replace": edit_range}
    assert items[2]["data"] == {"ombud": "two"}
    assert items[3]["textEdit"] == {"newText": "d", "range": place(9)}


def test_the_only_list_of_another_server_is_marked_with_its_defaults_written_out() -> None:
    part = Part(raw({"isIncomplete": True, "items": [{"label": "a"}], "itemDefaults": {"data": 3}}), SECOND)
    found = json.loads(bytes(join("textDocument/completion", [part])))
    assert found == {"isIncomplete": True, "items": [{"label": "a", "data": {"ombud": "two", "data": 3}}]}


@pytest.mark.parametrize("wrong", [7, "text", {"items": 3}, [[1]]])
def test_another_shape_is_no_answer(wrong: Any) -> None:
    with pytest.raises((msgspec.ValidationError, TypeError)):
        joined("textDocument/completion" if wrong != [[1]] else "textDocument/references", [{"label": "x"}], wrong)
