"""Marks on the items that a client sends back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw
from ombud.downstream.items import Mark, take_off

OTHERS = Mark("gopls-2", {"tidy": "gopls-2:tidy"})


def raw(value: Any) -> Raw:
    return Raw(json.dumps(value).encode())


def marked(value: Any, method: str, mark: Mark = OTHERS) -> Any:
    return json.loads(bytes(mark.put_on(raw(value), method)))


@pytest.mark.parametrize("data", [{"data": None}, {"data": {"a": [1, "\ud83d"]}}, {"data": "x"}, {}])
@pytest.mark.parametrize("inside", [None, "item"])
def test_a_mark_that_is_taken_off_leaves_the_item_as_it_was(data: dict[str, Any], inside: str | None) -> None:
    item = {"label": "a", **data, "x-vendor": 1.5}
    there = marked(item, "textDocument/completion")
    assert there["data"]["ombud"] == "gopls-2"
    tag, own = take_off(raw(there if inside is None else {inside: there, "workDoneToken": 1}), inside=inside)
    found = json.loads(bytes(own))
    assert (tag, found if inside is None else found[inside]) == ("gopls-2", item)


@pytest.mark.parametrize("data", [{"ombud": 7}, {"ombud": "x", "data": 1}, "ombud", ["ombud"]])
def test_data_of_a_servers_own_that_looks_like_a_mark(data: Any) -> None:
    item = {"label": "a", "data": data}
    tag, own = take_off(raw(marked(item, "textDocument/codeLens")))
    assert (tag, json.loads(bytes(own))) == ("gopls-2", item)


def test_what_bears_no_mark_keeps_its_bytes() -> None:
    for body in (b'{ "label":"a" }', b'{"data": {"x":"\\"ombud\\""}}', b'{"label":"ombud","data":3}', b"[]", b"null"):
        assert take_off(Raw(body)) == ("", Raw(body))


def test_a_bare_command_has_no_data_but_another_name() -> None:
    command = {"title": "Tidy", "command": "tidy", "arguments": [1]}
    assert marked(command, "textDocument/codeAction") == {**command, "command": "gopls-2:tidy"}
    action = {"title": "Tidy", "command": command, "data": 1}
    found = marked(action, "textDocument/codeAction")
    assert found == {
        **action,
        "command": {**command, "command": "gopls-2:tidy"},
        "data": {"ombud": "gopls-2", "data": 1},
    }


def test_a_command_of_the_client_keeps_its_name() -> None:
    lens = {"range": {}, "command": {"title": "refs", "command": "editor.action.showReferences"}}
    assert marked(lens, "textDocument/codeLens")["command"] == lens["command"]


def test_commands_in_the_parts_of_a_label_are_named_too() -> None:
    hint = {"position": {}, "label": [{"value": "x", "command": {"title": "t", "command": "tidy"}}, {"value": "y"}]}
    found = marked(hint, "textDocument/inlayHint", Mark("", {"tidy": "b:tidy"}))
    assert found["label"][0]["command"]["command"] == "b:tidy"
    assert "data" not in found
    assert marked({"label": "plain"}, "textDocument/inlayHint")["label"] == "plain"


def test_calls_are_marked_one_level_down() -> None:
    call = {"from": {"name": "f", "data": 1}, "fromRanges": []}
    assert marked(call, "callHierarchy/incomingCalls") == {
        "from": {"name": "f", "data": {"ombud": "gopls-2", "data": 1}},
        "fromRanges": [],
    }


def test_no_mark_is_no_change() -> None:
    body = Raw(b'[ {"data": 1} ]')
    assert Mark().put_on_all(body, "textDocument/codeLens") is body
    for odd in (b"null", b"3", b'{"a":1}'):
        assert bytes(OTHERS.put_on_all(Raw(odd), "textDocument/codeLens")) == odd
