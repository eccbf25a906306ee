"""“Debug test” above tests: beside the servers' own lenses, where there is none, and what running one does."""

from __future__ import annotations

from tests.conftest import OmbudFactory, Workspace
from tests.debugging import WAIT_MS
from tests.peers.road import Json, serving
from tests.peers.script import PeerLog, Script

BAD = "import pytest\n\n\ndef test_bad():\n    total = 41\n    assert total == 42\n"
FILES = {"x.toml": "", "pyproject.toml": "", "tests/test_cart.py": BAD, "app.py": "def test_no(): ...\n"}
THEIRS = {
    "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}},
    "command": {"title": "Theirs", "command": "theirs"},
}


def python(log: PeerLog, answer: object) -> Json:
    script = Script("one", log=log, capabilities={"codeLensProvider": {}}, answers={"textDocument/codeLens": answer})
    return {**script.entry(), "languages": ["python"]}


async def test_behind_those_of_the_servers(ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog) -> None:
    async with serving(ombud, workspace(FILES), {"one": python(peer_log, [THEIRS])}) as client:
        for path, titles in (("tests/test_cart.py", ["Theirs", "Debug test"]), ("app.py", ["Theirs"])):
            client.open(path)
            found = await client.request("textDocument/codeLens", {"textDocument": {"uri": client.uri(path)}}, 60)
            assert [one["command"]["title"] for one in found] == titles


async def test_without_a_server_and_of_the_text_as_it_is_now(ombud: OmbudFactory, workspace: Workspace) -> None:
    async with serving(ombud, workspace(FILES), {}) as client:
        asked = {"textDocument": {"uri": client.uri("tests/test_cart.py")}}
        assert not await client.request("textDocument/codeLens", asked, 60), "the file is not open"
        client.open("tests/test_cart.py")
        (lens,) = await client.request("textDocument/codeLens", asked, 60)
        assert lens["range"]["start"] == {"line": 3, "character": 0}
        assert lens["command"] == {
            "title": "Debug test",
            "command": "ombud.debug",
            "arguments": [{"op": "launch", "test": "tests/test_cart.py::test_bad"}],
        }
        assert await client.request("codeLens/resolve", lens, 60) == lens
        client.change("tests/test_cart.py", "class TestA:\n    def test_é(self): ...\n")
        (lens,) = await client.request("textDocument/codeLens", asked, 60)
        assert lens["command"]["arguments"][0]["test"] == "tests/test_cart.py::TestA::test_é"
        assert lens["range"] == {"start": {"line": 1, "character": 4}, "end": {"line": 1, "character": 14}}
        client.change("tests/test_cart.py", "x = 1\n")
        assert not await client.request("textDocument/codeLens", asked, 60)


async def test_running_it_stops_where_the_test_fails(ombud: OmbudFactory, workspace: Workspace) -> None:
    async with serving(ombud, workspace(FILES), {}) as client:
        client.open("tests/test_cart.py")
        asked = {"textDocument": {"uri": client.uri("tests/test_cart.py")}}
        (lens,) = await client.request("textDocument/codeLens", asked, 60)
        (launch,) = lens["command"]["arguments"]
        run = {"command": lens["command"]["command"], "arguments": [{**launch, "waitMs": WAIT_MS}]}
        stop = await client.request("workspace/executeCommand", run, 60)
        assert (stop["state"], stop["reason"], stop["path"], stop["line"]) == (
            "stopped",
            "exception",
            "tests/test_cart.py",
            6,
        )
        await client.request("ombud/debug", {"op": "terminate"}, 60)
