"""Notebooks as values: what a change makes of one, what a server sees of it, and how it gets from one to another."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw
from ombud.downstream.capabilities import Capabilities
from ombud.downstream.notebooks import REGISTERED, view, wants, wants_saves
from ombud.workspace.notebook import Cell, Notebook, changed, difference, opened

Json = dict[str, Any]
URI = "file:///ws/book.ipynb"


def raw(value: Any) -> Raw:
    return Raw(msgspec.json.encode(value))


def entry(name: str, **more: Any) -> Json:
    return {"kind": 2, "document": f"cell:{name}", **more}


def item(name: str, text: str = "", language: str = "python", version: int = 1) -> Json:
    return {"uri": f"cell:{name}", "languageId": language, "version": version, "text": text}


def book(*names: str, kind: str = "jupyter-notebook", uri: str = URI, **languages: str) -> Notebook:
    """A notebook with these cells, each with its name as its text."""
    document = {"uri": uri, "notebookType": kind, "version": 1, "cells": [entry(name) for name in names]}
    texts = [item(name, name, languages.get(name, "python")) for name in names]
    return opened(raw({"notebookDocument": document, "cellTextDocuments": texts}))


def after(notebook: Notebook, change: Json, version: int = 2) -> Notebook:
    named = {"uri": notebook.uri, "version": version}
    return changed(notebook, raw({"notebookDocument": named, "change": change}))[0]


def shown(notebook: Notebook) -> list[tuple[str, str, int]]:
    return [(cell.uri.removeprefix("cell:"), cell.text, cell.version) for cell in notebook.cells]


def test_what_was_opened_is_what_a_later_server_is_opened() -> None:
    params = {
        "notebookDocument": {
            "uri": URI,
            "notebookType": "jupyter-notebook",
            "version": 3,
            "metadata": {"kernel": "ü"},
            "vendor": [1],
            "cells": [entry("a", metadata={"x": 1}), {"kind": 1, "document": "cell:b"}],
        },
        "cellTextDocuments": [item("a", "x = 1"), item("b", "# prose", "markdown")],
    }
    found = opened(raw(params))
    assert found.opening() == params
    assert found.closing() == {
        "notebookDocument": {"uri": URI},
        "cellTextDocuments": [{"uri": "cell:a"}, {"uri": "cell:b"}],
    }


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"notebookDocument": {"uri": URI}},
        {"notebookDocument": {"cells": []}},
        {"notebookDocument": {"uri": URI, "cells": [5]}},
        {"notebookDocument": {"uri": URI, "cells": [{"kind": 2}]}},
    ],
)
def test_another_shape_is_refused(params: Json) -> None:
    with pytest.raises(msgspec.ValidationError):
        opened(raw(params))


def test_cells_come_go_move_and_change() -> None:
    first = book("a", "b", "c")
    array = {"start": 1, "deleteCount": 1, "cells": [entry("n"), entry("m")]}
    structure = {"array": array, "didOpen": [item("n", "new"), item("m", "more")], "didClose": [{"uri": "cell:b"}]}
    second = after(first, {"cells": {"structure": structure}})
    assert shown(second) == [("a", "a", 1), ("n", "new", 1), ("m", "more", 1), ("c", "c", 1)]
    assert (second.version, second.rest["version"], first.version) == (2, 2, 1)
    # A cell that is moved is neither closed nor opened.
    moved = after(
        second, {"cells": {"structure": {"array": {"start": 0, "deleteCount": 2, "cells": [entry("n"), entry("a")]}}}}
    )
    assert [name for name, _, _ in shown(moved)] == ["n", "a", "m", "c"] and shown(moved)[1] == ("a", "a", 1)
    insert = {"range": {"start": {"line": 0, "character": 1}, "end": {"line": 0, "character": 1}}, "text": "!"}
    texts = [{"document": {"uri": "cell:a", "version": 2}, "changes": [insert, {**insert, "text": "?"}]}]
    third = after(
        moved, {"cells": {"textContent": texts, "data": [entry("c", executionSummary={"executionOrder": 1})]}}
    )
    assert shown(third)[1] == ("a", "a?!", 2)
    assert third.cells[3].entry["executionSummary"] == {"executionOrder": 1}
    assert after(third, {"metadata": {"x": 1}}).rest["metadata"] == {"x": 1}
    assert shown(after(third, {"cells": {"structure": {"array": {"start": 99, "deleteCount": 99}}}})) == shown(third)


# -- what a server sees


def announced(*selectors: Json, **more: Any) -> Capabilities:
    return Capabilities({"notebookDocumentSync": {"notebookSelector": list(selectors), **more}})


@pytest.mark.parametrize(
    ("selector", "fits"),
    [
        ({"notebook": "*"}, True),
        ({"notebook": "jupyter-notebook"}, True),
        ({"notebook": "other"}, False),
        ({"notebook": {"notebookType": "jupyter-notebook", "scheme": "file"}}, True),
        ({"notebook": {"notebookType": "*", "scheme": "untitled"}}, False),
        ({"notebook": {"pattern": "**/*.ipynb"}}, True),
        ({"notebook": {"pattern": "*.ipynb"}}, True),
        ({"notebook": {"pattern": "**/*.other"}}, False),
        ({"notebook": {"pattern": "/ws/*.ipynb"}}, True),
        ({"notebook": 5}, False),
        ({"cells": [{"language": "*"}]}, True),
        ({}, True),
    ],
)
def test_a_selector_fits_a_notebook(selector: Json, fits: bool) -> None:
    notebook = book("a")
    assert view(notebook, announced(selector)) is (notebook if fits else None)


def test_a_server_sees_the_cells_of_its_languages() -> None:
    notebook = book("a", "b", "c", b="markdown", c="sql")
    python = view(notebook, announced({"cells": [{"language": "python"}]}))
    assert python is not None and [cell.uri for cell in python.cells] == ["cell:a"]
    both = view(
        notebook, announced({"cells": [{"language": "sql"}]}, {"notebook": "*", "cells": [{"language": "python"}]})
    )
    assert both is not None and [cell.uri for cell in both.cells] == ["cell:a", "cell:c"]
    assert view(notebook, announced({"cells": [{"language": "sql"}]}, {"notebook": "*"})) is notebook
    none = view(notebook, announced({"cells": [{"language": "go"}]}))
    assert none is not None and none.cells == ()


def test_a_server_may_register_later_and_says_whether_it_wants_saves() -> None:
    capabilities = Capabilities({"hoverProvider": True})
    assert not wants(capabilities) and view(book("a"), capabilities) is None
    capabilities.register("1", REGISTERED, {"notebookSelector": [{"notebook": "*"}]})
    assert wants(capabilities) and not wants_saves(capabilities) and view(book("a"), capabilities) is not None
    capabilities.register("2", REGISTERED, {"notebookSelector": [], "save": True})
    assert wants_saves(capabilities)
    capabilities.unregister("1")
    assert view(book("a"), capabilities) is None


# -- from one state to another

_NAMES = "abcdef"
_cells = st.lists(st.sampled_from(_NAMES), unique=True, max_size=6).flatmap(
    lambda names: st.tuples(
        *(
            st.builds(
                Cell,
                st.fixed_dictionaries(
                    {"kind": st.just(2), "document": st.just(f"cell:{name}"), "mark": st.integers(0, 1)}
                ),
                st.just(f"cell:{name}"),
                st.sampled_from(["python", "sql"]),
                st.integers(1, 3),
                st.text("xyz\n", max_size=4),
            )
            for name in names
        )
    )
)
_books = st.builds(
    lambda cells, version, mark: Notebook(URI, "k", version, {"uri": URI, "version": version, "metadata": mark}, cells),
    _cells,
    st.integers(1, 5),
    st.integers(0, 1),
)


@given(_books, _books)
def test_a_difference_makes_the_new_state_of_any_old_one(before: Notebook, new: Notebook) -> None:
    change = difference(before, new, None, {})
    assert after(before, change, new.version) == new
    documents = {cell.uri for cell in before.cells}
    structure = change.get("cells", {}).get("structure", {})
    closed = {one["uri"] for one in structure.get("didClose", [])}
    opening = {one["uri"] for one in structure.get("didOpen", [])}
    # A server knows exactly the documents that are there, and none is opened twice.
    assert (documents - closed) | opening == {cell.uri for cell in new.cells}
    assert not opening & (documents - closed)
    assert (change == {}) == ((before.cells, before.rest["metadata"]) == (new.cells, new.rest["metadata"]))


def test_a_clients_own_edits_go_on_where_the_server_has_the_text_that_they_are_of() -> None:
    base = book("a", "b", b="markdown")
    edit = [{"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}, "text": "z"}]
    texts = [{"document": {"uri": f"cell:{name}", "version": 2}, "changes": edit} for name in "ab"]
    params = raw({"notebookDocument": {"uri": URI, "version": 2}, "change": {"cells": {"textContent": texts}}})
    new, edits = changed(base, params)
    python = announced({"cells": [{"language": "python"}]})
    part, now = view(base, python), view(new, python)
    assert part is not None and now is not None
    one = {"uri": "cell:a", "version": 2}

    def content(before: Notebook, of: Notebook | None) -> list[Any]:
        found = difference(before, now, of, edits)["cells"]["textContent"]
        built: list[Any] = msgspec.json.decode(msgspec.json.encode(found))
        return built

    assert content(part, base) == [{"document": one, "changes": edit}]
    whole = [{"document": one, "changes": [{"text": "z"}]}]
    assert content(part, None) == whole
    assert content(after(part, {"cells": {"textContent": [{**texts[0], "changes": [{"text": "old"}]}]}}), base) == whole
