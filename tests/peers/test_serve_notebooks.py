"""Notebooks: who is told what of them, also late and after a crash, and the way of their cells' diagnostics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.client import Client
from tests.conftest import OmbudFactory, Workspace
from tests.peers.road import Json, connected, entry, listening, serving, wait_state, well_behaved
from tests.peers.script import PeerLog, Script
from tests.profiles import AGENT, NEOVIM, VSCODE

FILES = {"x.toml": "", "book.ipynb": "{}"}
PUBLISH = "textDocument/publishDiagnostics"
LIFE = [
    "notebookDocument/didOpen",
    "notebookDocument/didChange",
    "notebookDocument/didSave",
    "notebookDocument/didClose",
]
EVERYTHING = {"notebookDocumentSync": {"notebookSelector": [{"notebook": "*"}], "save": True}}
ONLY_X = {"notebookDocumentSync": {"notebookSelector": [{"cells": [{"language": "x"}]}]}}


def server(script: Script, **more: Any) -> Json:
    return entry(script, languages=["x"], **more)


class Book:
    """A client's notebook: tells everything as an editor does."""

    def __init__(self, client: Client, root: Path, languages: dict[str, str] | None = None) -> None:
        self.client = client
        self.uri = (root / "book.ipynb").as_uri()
        self.languages = languages or {}
        self.version = 1

    def cell(self, name: str) -> str:
        return f"vscode-notebook-cell:{self.uri.removeprefix('file:')}#{name}"

    def entry(self, name: str) -> Json:
        return {"kind": 1 if self.languages.get(name) == "markdown" else 2, "document": self.cell(name)}

    def item(self, name: str, text: str) -> Json:
        return {"uri": self.cell(name), "languageId": self.languages.get(name, "x"), "version": 1, "text": text}

    def open(self, **cells: str) -> Json:
        document = {"uri": self.uri, "notebookType": "jupyter-notebook", "version": self.version, "metadata": {"k": 1}}
        document["cells"] = [self.entry(name) for name in cells]
        texts = [self.item(name, text) for name, text in cells.items()]
        return self._tell(LIFE[0], {"notebookDocument": document, "cellTextDocuments": texts})

    def change(self, change: Json) -> Json:
        self.version += 1
        return self._tell(LIFE[1], {"notebookDocument": {"uri": self.uri, "version": self.version}, "change": change})

    def write(self, name: str, text: str, version: int) -> Json:
        edit = {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 5}}, "text": text}
        content = {"document": {"uri": self.cell(name), "version": version}, "changes": [edit]}
        return self.change({"cells": {"textContent": [content]}})

    def splice(self, start: int, count: int, gone: list[str], **new: str) -> Json:
        array = {"start": start, "deleteCount": count, "cells": [self.entry(name) for name in new]}
        structure = {
            "array": array,
            "didOpen": [self.item(name, text) for name, text in new.items()],
            "didClose": [{"uri": self.cell(name)} for name in gone],
        }
        return self.change({"cells": {"structure": structure}})

    def save(self) -> Json:
        return self._tell(LIFE[2], {"notebookDocument": {"uri": self.uri}})

    def close(self, *cells: str) -> Json:
        texts = [{"uri": self.cell(name)} for name in cells]
        return self._tell(LIFE[3], {"notebookDocument": {"uri": self.uri}, "cellTextDocuments": texts})

    def _tell(self, method: str, params: Json) -> Json:
        self.client.notify(method, params)
        return {"method": method, "params": params}

    def publish(self, name: str, code: str, version: int | None = None) -> Json:
        """A publish of a server for a cell, to be sent when some message arrives."""
        span = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
        params = {"uri": self.cell(name), "diagnostics": [{"range": span, "message": code, "code": code}]}
        return {"method": PUBLISH, "params": params if version is None else {**params, "version": version}}


def heard(log: PeerLog, pid: int | None = None) -> list[Json]:
    """What a server was told of notebooks, in order."""
    return [
        {"method": one["method"], "params": one["params"]}
        for one in log.received(pid=pid)
        if one.get("method", "").startswith("notebookDocument/")
    ]


async def settled(client: Client, name: str) -> None:
    """Everything that was told before has reached the running server."""
    await client.request("workspace/executeCommand", {"command": f"{name}.state"})


async def test_a_notebook_goes_as_it_came_to_the_servers_that_want_it(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path
) -> None:
    root = workspace(FILES)
    logs = {name: PeerLog(tmp_path / f"{name}.jsonl") for name in ("all", "some", "none")}
    servers = {
        "all": server(Script("all", log=logs["all"], capabilities=EVERYTHING)),
        "some": server(Script("some", log=logs["some"], capabilities=ONLY_X)),
        "none": server(Script("none", log=logs["none"])),
    }
    async with serving(ombud, root, servers, capabilities=VSCODE) as client:
        assert client.server_capabilities["notebookDocumentSync"]["notebookSelector"]
        book = Book(client, root, {"prose": "markdown", "more": "markdown"})
        told = [
            book.open(a="first", prose="# Title", b="second"),
            book.write("a", "FIRST", 2),
            book.splice(1, 1, ["prose"], more="# More", c="third"),
            book.change({"metadata": {"k": 2}, "cells": {"data": [{**book.entry("b"), "metadata": {"run": 1}}]}}),
            book.save(),
        ]
        for name in logs:
            await settled(client, name)
        told.append(book.close("a", "more", "c", "b"))
        for name in logs:
            await settled(client, name)
    assert heard(logs["all"]) == told
    assert heard(logs["none"]) == []
    opening, writing, splicing, data, closing = heard(logs["some"])
    assert [cell["document"] for cell in opening["params"]["notebookDocument"]["cells"]] == [
        book.cell("a"),
        book.cell("b"),
    ]
    assert [item["text"] for item in opening["params"]["cellTextDocuments"]] == ["first", "second"]
    assert writing["params"]["change"] == told[1]["params"]["change"]
    structure = splicing["params"]["change"]["cells"]["structure"]
    assert structure["array"] == {"start": 1, "deleteCount": 0, "cells": [book.entry("c")]}
    assert (structure["didOpen"], "didClose" in structure) == ([book.item("c", "third")], False)
    assert data["params"]["change"] == told[3]["params"]["change"]
    assert closing["params"]["cellTextDocuments"] == [{"uri": book.cell(name)} for name in ("a", "c", "b")]
    well_behaved(*logs.values())


async def test_a_server_that_starts_again_is_opened_the_present_state(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    crash = {"method": "textDocument/hover", "nth": 1}
    one = Script("one", log=peer_log, capabilities=EVERYTHING, perStart=[{"crashOn": [crash]}, {}])
    async with serving(ombud, root, {"one": server(one)}, capabilities=VSCODE) as client:
        book = Book(client, root)
        book.open(a="first", b="second")
        book.write("a", "FIRST", 2)
        client.start_request("textDocument/hover", {"textDocument": {"uri": book.cell("a")}, "position": _start()})
        await wait_state(client, "one", "crashed")
        book.splice(1, 1, ["b"], c="third")
        await wait_state(client, "one", "ready")
        book.write("c", "THIRD", 2)
        await settled(client, "one")
        first, second = peer_log.starts()
        assert len(heard(peer_log, first)) == 2
        opening, *rest = heard(peer_log, second)
        assert [one["method"] for one in (opening, *rest)] == [LIFE[0], LIFE[1], LIFE[1]]
        assert [item["version"] for item in opening["params"]["cellTextDocuments"]] == [2, 1]
        texts = {item["uri"]: item["text"] for item in opening["params"]["cellTextDocuments"]}
        seen = [_play(texts, one["params"]["change"]["cells"]) for one in rest]
        assert seen[-1] == {book.cell("a"): "FIRST", book.cell("c"): "THIRD"}
        assert rest[-1]["params"]["notebookDocument"]["version"] == 4
    well_behaved(peer_log)


async def test_a_server_that_was_stopped_is_opened_the_notebook_at_the_next_need(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    servers = {"one": server(Script("one", log=peer_log, capabilities=EVERYTHING))}
    async with serving(ombud, root, servers, capabilities=VSCODE) as client:
        book = Book(client, root)
        book.open(a="first")
        book.write("a", "FIRST", 2)
        await settled(client, "one")
        for _ in range(2):
            await client.request("ombud/reload", {})
            await settled(client, "one")
        assert len(peer_log.starts()) == 3
        last = heard(peer_log, peer_log.starts()[-1])
        assert [item["text"] for one in last for item in one["params"]["cellTextDocuments"]] == ["FIRST"]
    well_behaved(peer_log)


def _start() -> Json:
    return {"line": 0, "character": 0}


async def test_a_server_that_registers_later_is_opened_what_is_there(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    registration = {"id": "n", "method": "notebookDocument/sync", "registerOptions": EVERYTHING["notebookDocumentSync"]}
    asked = [{"method": "client/registerCapability", "params": {"registrations": [registration]}}]
    one = Script("one", log=peer_log, requestsOn={"textDocument/documentSymbol": asked})
    async with serving(ombud, root, {"one": server(one)}, capabilities=AGENT) as client:
        book = Book(client, root)
        book.open(a="first")
        client.open("a.x", "text")
        book.write("a", "FIRST", 2)
        await settled(client, "one")
        assert heard(peer_log) == []
        await client.request("textDocument/documentSymbol", {"textDocument": {"uri": client.uri("a.x")}})
        (opening,) = await peer_log.wait(heard, what="the notebook is opened")
        assert opening["params"]["cellTextDocuments"] == [{**book.item("a", "FIRST"), "version": 2}]


async def test_questions_about_a_cell_go_to_the_servers_that_know_it(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path
) -> None:
    root = workspace(FILES)
    logs = {name: PeerLog(tmp_path / f"{name}.jsonl") for name in ("none", "one")}
    servers = {
        "none": server(Script("none", log=logs["none"]), priority=1),
        "one": server(Script("one", log=logs["one"], capabilities=EVERYTHING), priority=2),
    }
    async with serving(ombud, root, servers, capabilities=VSCODE) as client:
        book = Book(client, root)
        book.open(a="first")
        await settled(client, "none")
        await settled(client, "one")
        for name, count in (("a", 1), ("unknown", 1)):
            params = {"textDocument": {"uri": book.cell(name)}, "position": _start()}
            await client.answer(client.start_request("textDocument/hover", params))
            assert [len(log.received("textDocument/hover")) for log in logs.values()] == [0, count]
        pulled = await client.request("textDocument/diagnostic", {"textDocument": {"uri": book.cell("a")}})
        assert pulled == {"kind": "full", "items": []}


@pytest.mark.parametrize("capabilities", [VSCODE, NEOVIM], ids=["pulls", "listens"])
async def test_diagnostics_of_cells_reach_the_client_and_go_with_their_cells(
    ombud: OmbudFactory, workspace: Workspace, capabilities: Json
) -> None:
    root = workspace(FILES)
    blank = Book.__new__(Book)
    blank.uri = (root / "book.ipynb").as_uri()
    said = [("didOpen", "a", "E1", 1), ("didChange", "b", "E2", None), ("didSave", "a", "E3", 7)]
    floods = [
        {"method": f"notebookDocument/{when}", "nth": 1, "count": 1, "notification": blank.publish(name, code, version)}
        for when, name, code, version in said
    ]
    one = Script("one", capabilities=EVERYTHING, floodOn=floods)
    async with serving(ombud, root, {"one": server(one)}, capabilities=capabilities) as client:
        book = Book(client, root)

        async def published(name: str) -> Json:
            found: Json = await client.wait_notification(PUBLISH, lambda params: params["uri"] == book.cell(name))
            return found

        book.open(a="first", b="second")
        first = await published("a")
        assert ([item["code"] for item in first["diagnostics"]], first.get("version")) == (["E1"], 1)
        book.change({"metadata": {"k": 2}})
        second = await published("b")
        assert ([item["code"] for item in second["diagnostics"]], "version" in second) == (["E2"], False)
        book.splice(1, 1, ["b"])
        assert (await published("b"))["diagnostics"] == []
        book.save()
        # About another version than the client's: it is not said to be of that one.
        third = await published("a")
        assert ([item["code"] for item in third["diagnostics"]], "version" in third) == (["E3"], False)
        book.close("a")
        assert (await published("a"))["diagnostics"] == []


async def test_of_two_clients_the_notebook_touched_last_is_seen(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    servers = {"one": server(Script("one", log=peer_log, capabilities=EVERYTHING))}
    async with listening(ombud, root) as (_, port), connected(port, root, servers, name="left") as left:
        mine = Book(left, root)
        mine.open(a="first")
        await settled(left, "one")
        async with connected(port, root, servers, name="right") as right:
            theirs = Book(right, root)
            theirs.open(a="other", z="more")
            await settled(right, "one")
            mine.write("a", "FIRST", 2)
            await settled(left, "one")
            theirs.write("a", "OTHER", 2)
            await settled(right, "one")
        await peer_log.wait(lambda log: len(heard(log)) == 5, what="the one that is left is seen again")
        opening, *changes = heard(peer_log)
        texts = {item["uri"]: item["text"] for item in opening["params"]["cellTextDocuments"]}
        seen = [_play(texts, one["params"]["change"].get("cells", {})) for one in changes]
        a, z = mine.cell("a"), mine.cell("z")
        assert seen == [{a: "other", z: "more"}, {a: "FIRST"}, {a: "OTHER", z: "more"}, {a: "FIRST"}]
        mine.close("a")
        await settled(left, "one")
        assert heard(peer_log)[-1]["method"] == "notebookDocument/didClose"
    well_behaved(peer_log)


def _play(texts: dict[str, str], cells: Json) -> dict[str, str]:
    """The cells' texts after a change that has whole texts or replaces the first five characters."""
    structure = cells.get("structure", {})
    for one in structure.get("didClose", []):
        del texts[one["uri"]]
    texts.update({item["uri"]: item["text"] for item in structure.get("didOpen", [])})
    for content in cells.get("textContent", []):
        (edit,) = content["changes"]
        uri = content["document"]["uri"]
        texts[uri] = edit["text"] + (texts[uri][5:] if "range" in edit else "")
    return dict(texts)


async def test_a_client_without_notebooks_opens_the_file_as_text(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    one = entry(Script("one", log=peer_log, capabilities=EVERYTHING), extensions=[".ipynb"])
    async with serving(ombud, root, {"one": one}, capabilities=AGENT) as client:
        assert "notebookDocumentSync" not in client.server_capabilities
        client.open("book.ipynb", '{"cells": []}', "json")
        await settled(client, "one")
        (opened,) = peer_log.received("textDocument/didOpen")
        assert opened["params"]["textDocument"]["text"] == '{"cells": []}'
        assert heard(peer_log) == []
    well_behaved(peer_log)
