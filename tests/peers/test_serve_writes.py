"""Writes with servers: what could break with them, previews, series, formatting; nothing is told that was not so."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.client import Client
from tests.conftest import ClientFactory, OmbudFactory, Workspace
from tests.peers.road import (
    Json,
    codes,
    edit,
    entry,
    failure,
    freshness,
    hover,
    introduced,
    meddled,
    peer_texts,
    serving,
    together,
    wait_state,
    well_behaved,
)
from tests.peers.script import PeerLog, Script

PUBLISHED = "textDocument/publishDiagnostics"
PROJECT = {"x.toml": "", "a.x": "def name\nlast\n", "b.x": "USES(a.x name)\n", "c.x": "nothing\n"}
CHANNELS: dict[str, dict[str, Any]] = {
    "pull": {"diagnostics": "pull"},
    "push with versions": {"diagnostics": "push"},
    "push without versions": {"diagnostics": "push", "versioned": False},
}


def reference(root: Path, path: str, line: int, start: int, end: int) -> Json:
    place = {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}
    return {"uri": (root / path).as_uri(), "range": place}


def using(root: Path, *paths: str, **more: Any) -> Script:
    """A server to which these files use whatever it is asked about, on their first lines."""
    found = [reference(root, path, 0, 9, 13) for path in paths]
    return Script("one", project=[], answers={"textDocument/references": found}, **more)


def places(diagnostics: list[Json]) -> list[tuple[str, int, str]]:
    return [(one["path"], one["line"], one["code"]) for one in diagnostics]


def shown(client: Client, path: str) -> list[list[str]]:
    """The codes of each publish of a file so far."""
    uri = client.uri(path)
    published = [one.params for one in client.notifications if one.method == PUBLISHED and one.params["uri"] == uri]
    return [codes(one["diagnostics"]) for one in published]


# -- dependents


@pytest.mark.parametrize("channel", list(CHANNELS))
async def test_a_write_tells_what_broke_in_a_file_that_nobody_has_open(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, channel: str
) -> None:
    root = workspace(PROJECT)
    one = using(root, "b.x", log=peer_log, **CHANNELS[channel])
    async with serving(ombud, root, {"one": entry(one, settle_ms=50)}) as client:
        broken = await edit(client, "a.x", "def name", "def other")
        assert places(broken["diagnostics"]["introduced"]) == [("b.x", 1, "missing")]
        assert broken["diagnostics"]["introduced"][0]["text"] == "USES(a.x name)"
        assert broken["diagnostics"]["checkedDependents"] == ["b.x"]
        assert freshness(broken) == {"one": "fresh"}
        assert "Introduced 1 diagnostic" in broken["message"]
        assert broken["message"].endswith("New:\nb.x\n  1: error: a.x has no name [one missing]")
        mended = await edit(client, "a.x", "def other", "def name")
        assert mended["diagnostics"]["introduced"] == []
        assert places(mended["diagnostics"]["resolved"]) == [("b.x", 1, "missing")]
        again = await edit(client, "a.x", "def name", "def third")
        assert places(again["diagnostics"]["introduced"]) == [("b.x", 1, "missing")]
        # What was broken before is there already, and no news.
        worse = await edit(client, "a.x", "def third", "def fourth")
        assert worse["diagnostics"]["introduced"] == []
        assert worse["diagnostics"]["stillPresent"] == 1
    well_behaved(peer_log)


async def test_what_a_dependent_was_broken_by_before_is_not_blamed_on_a_write(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    """Its text has not changed, and yet what was said of it is out of date: another file was changed since."""
    root = workspace({**PROJECT, "b.x": "USES(a.x name)\nUSES(c.x nothing)\n"})
    async with serving(ombud, root, {"one": using(root, "b.x", diagnostics="pull")}) as client:
        await client.request("ombud/diagnostics", {"path": "b.x"})
        client.open("c.x")
        client.change("c.x", "changed by hand\n")
        broken = await edit(client, "a.x", "def name", "def other")
        assert [one["message"] for one in broken["diagnostics"]["introduced"]] == ["a.x has no name"]
        assert broken["diagnostics"]["stillPresent"] == 1


async def test_more_dependents_than_the_limit_are_left_out_and_counted(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    names = [f"d{number}.x" for number in range(6)]
    root = workspace({"x.toml": "", "a.x": "def name\n", **dict.fromkeys(names, "USES(a.x name)\n")})
    one = using(root, *names, diagnostics="pull")
    async with serving(ombud, root, {"one": one}, diagnostics={"dependents": 2}) as client:
        report = (await edit(client, "a.x", "def name", "def other"))["diagnostics"]
        assert len(report["checkedDependents"]) == len(report["introduced"]) == 2
        left = [one["path"] for one in report["leftOut"]]
        assert sorted([*report["checkedDependents"], *left]) == names
        assert report["leftOutCount"] == 4
        assert all("2" in one["reason"] for one in report["leftOut"])


async def test_no_dependents_are_looked_for_where_their_number_is_0(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(PROJECT)
    one = using(root, "b.x", diagnostics="pull", log=peer_log)
    async with serving(ombud, root, {"one": one}, diagnostics={"dependents": 0}) as client:
        report = (await edit(client, "a.x", "def name", "def other"))["diagnostics"]
        assert (report["introduced"], report["checkedDependents"]) == ([], [])
    assert peer_log.received("textDocument/references") == []


async def test_D9_dependents_that_are_late_do_not_hold_up_the_written_file_and_follow(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(PROJECT)
    one = using(root, "b.x", diagnostics="pull", slowFound=5000)
    async with serving(ombud, root, {"one": one}) as client:
        result = await edit(client, "a.x", "def name", "def other", waitMs=5000)
        assert freshness(result) == {"one": "fresh"}
        (left,) = result["diagnostics"]["leftOut"]
        assert (left["path"], "in time" in left["reason"]) == ("b.x", True)
        assert result["diagnostics"]["checkedDependents"] == []
        late = await client.wait_notification("ombud/introducedDiagnostics")
        assert (late["cause"], late["writeId"]) == ("write", result["writeId"])
        assert places(late["diagnostics"]) == [("b.x", 1, "missing")]
        assert late["checkedDependents"] == ["b.x"]


async def test_what_imports_a_file_from_another_root_is_left_out_by_name(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    files = {"p/x.toml": "", "p/a.x": "def name\n", "q/x.toml": "", "q/u.x": "import a\n", "q/v.x": "import c\n"}
    root = workspace(files)
    async with serving(ombud, root, {"one": Script("one", diagnostics="pull")}) as client:
        alone = (await edit(client, "p/a.x", "def name", "def other"))["diagnostics"]
        assert "leftOut" not in alone, "nobody works in the other root yet, so nothing of it is out of date"
        await client.request("ombud/diagnostics", {"path": "q/v.x"})
        report = (await edit(client, "p/a.x", "def other", "def third"))["diagnostics"]
        (left,) = report["leftOut"]
        assert (left["path"], "another root, q" in left["reason"]) == ("q/u.x", True)


# -- previews


@pytest.mark.parametrize("channel", list(CHANNELS))
async def test_a_preview_says_what_a_write_says_and_leaves_no_trace(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, channel: str
) -> None:
    root = workspace(PROJECT)
    one = using(root, "b.x", log=peer_log, **CHANNELS[channel])
    async with serving(ombud, root, {"one": entry(one, settle_ms=50)}) as client:
        client.open("a.x")
        client.open("c.x")
        before = await client.request("ombud/diagnostics", {"path": "*"})
        assert before["diagnostics"] == []
        preview = await edit(client, "a.x", "def name", "ERROR(own): other", preview=True)
        assert preview["applied"] is False
        assert preview["preview"] is True
        assert "checkpoint" not in preview
        assert preview["message"].startswith("Nothing was written")
        assert (root / "a.x").read_text() == PROJECT["a.x"]
        after = await client.request("ombud/diagnostics", {"path": "*"})
        assert (after["diagnostics"], set(freshness(after).values())) == ([], {"fresh"})
        assert (await peer_texts(client, "one"))["a.x"] == PROJECT["a.x"]
        written = await edit(client, "a.x", "def name", "ERROR(own): other")
        for key in ("introduced", "resolved", "stillPresent", "checkedDependents"):
            assert preview["diagnostics"][key] == written["diagnostics"][key]
        assert places(written["diagnostics"]["introduced"]) == [("a.x", 1, "own"), ("b.x", 1, "missing")]
        await client.request("ombud/diagnostics", {"path": "a.x"})
        # Nobody was shown what was never there.
        assert [found for found in shown(client, "a.x") if found] == [["own"]]
    well_behaved(peer_log)


async def test_a_request_during_a_preview_is_answered_about_the_text_that_is_there(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(PROJECT)
    one = Script("one", diagnostics="pull", slow={"textDocument/diagnostic": 1500}, log=peer_log)
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x")
        assert await hover(client, "a.x") == "one: line 0: def name"
        params = {"path": "a.x", "edits": [{"oldText": "def name", "newText": "ERROR(own): x"}], "preview": True}
        preview = client.start_request("ombud/edit", params)
        await peer_log.wait(lambda log: "ERROR(own)" in str(log.received("textDocument/didChange")))
        asked = [client.start_request("textDocument/hover", client.at("a.x", 0, 0)) for _ in range(3)]
        client.change("a.x", "typed\nlast\n")
        typed = client.start_request("textDocument/hover", client.at("a.x", 0, 0))
        for one_hover in asked:
            assert "def name" in str(await client.answer(one_hover))
        assert "typed" in str(await client.answer(typed))
        await client.answer(preview)
        assert (await peer_texts(client, "one"))["a.x"] == "typed\nlast\n"


@pytest.mark.parametrize("when", ["textDocument/didChange", "textDocument/diagnostic"])
async def test_a_server_that_dies_in_a_preview_comes_back_to_what_is_there(
    ombud: OmbudFactory, workspace: Workspace, when: str
) -> None:
    root = workspace(PROJECT)
    one = Script("one", diagnostics="pull", crashOn=[{"method": when, "nth": 1 if "Change" in when else 2}])
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x")
        await wait_state(client, "one", "ready")
        preview = await edit(client, "a.x", "def name", "ERROR(own): x", preview=True, waitMs=3000)
        assert preview["applied"] is False
        assert freshness(preview)["one"] != "fresh"
        assert (root / "a.x").read_text() == PROJECT["a.x"]
        await wait_state(client, "one", "ready")
        assert (await peer_texts(client, "one"))["a.x"] == PROJECT["a.x"]
        after = await client.request("ombud/diagnostics", {"path": "a.x"})
        assert after["diagnostics"] == []


async def test_a_preview_of_a_new_file_leaves_nothing_open(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(PROJECT)
    async with serving(ombud, root, {"one": Script("one")}) as client:
        params = {"path": "new/n.x", "content": "ERROR(own): x\n", "preview": True}
        preview = await client.request("ombud/write", params)
        assert places(preview["diagnostics"]["introduced"]) == [("new/n.x", 1, "own")]
        assert preview["files"] == [{"path": "new/n.x", "status": "created", "added": 1, "removed": 0}]
        assert not (root / "new").exists()
        await client.request("ombud/diagnostics", {"path": "a.x"})
        assert set(await peer_texts(client, "one")) == {"a.x"}
        assert shown(client, "new/n.x") in ([], [[]])


async def test_a_preview_of_a_server_that_looks_at_saved_files_is_not_called_clean(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(PROJECT)
    one = entry(Script("one", publishOn=["open", "save"]), diagnostics={"onSave": True})
    async with serving(ombud, root, {"one": one}) as client:
        preview = await edit(client, "a.x", "def name", "ERROR(own): x", preview=True)
        (row,) = preview["diagnostics"]["servers"]
        assert (row["freshness"], "saved files" in row["reason"]) == ("unavailable", True)


async def test_a_preview_that_the_server_has_no_time_for_ends_and_is_taken_back(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(PROJECT)
    one = Script("one", diagnostics="pull", slow={"textDocument/diagnostic": 1500})
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x")
        await client.request("ombud/diagnostics", {"path": "a.x"})
        preview = await edit(client, "a.x", "def name", "ERROR(own): x", preview=True, waitMs=300)
        assert freshness(preview) == {"one": "timed_out"}
        assert (await peer_texts(client, "one"))["a.x"] == PROJECT["a.x"]


# -- series


@pytest.mark.parametrize("ended_by", ["a write", "diagnostics"])
async def test_D8_a_series_is_reported_once_and_as_a_whole(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, ended_by: str
) -> None:
    root = workspace({**PROJECT, "a.x": "def name\nERROR(old): old\nlast\n"})
    async with serving(ombud, root, {"one": using(root, "b.x", diagnostics="pull", log=peer_log)}) as client:
        for old, new in [("def name", "def other"), ("last", "ERROR(mid): x"), ("ERROR(mid): x", "fine")]:
            result = await edit(client, "a.x", old, new, diagnostics="defer")
            assert (result["applied"], result["diagnostics"]) == (True, None)
            assert "reported with the next write that waits" in result["message"]
        await edit(client, "c.x", "nothing", "WARNING(c): c", diagnostics="defer")
        if ended_by == "a write":
            report = (await edit(client, "a.x", "ERROR(old): old", "ERROR(new): new"))["diagnostics"]
            own = [("a.x", 2, "new")]
            assert places(report["resolved"]) == [("a.x", 2, "old")]
        else:
            report = (await client.request("ombud/diagnostics", {"path": "*"}))["series"]
            own = []
            assert report["resolved"] == []
        assert places(report["introduced"]) == [*own, ("b.x", 1, "missing"), ("c.x", 1, "c")]
        # The series is over.
        after = await edit(client, "c.x", "WARNING(c): c", "WARNING(c): c\nmore")
        assert (after["diagnostics"]["introduced"], after["diagnostics"]["resolved"]) == ([], [])
        assert "series" not in await client.request("ombud/diagnostics", {"path": "*"})
    well_behaved(peer_log)


async def test_D8_a_series_goes_on_after_a_preview_and_after_a_refused_write(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(PROJECT)
    async with serving(ombud, root, {"one": Script("one")}) as client:
        await edit(client, "a.x", "last", "ERROR(first): x", diagnostics="defer")
        preview = await edit(client, "c.x", "nothing", "ERROR(second): x", preview=True)
        assert introduced(preview) == ["second"]
        wrong = {"path": "c.x", "edits": [{"oldText": "absent", "newText": "x"}]}
        assert (await failure(client.start_request("ombud/edit", wrong), client)).data["kind"] == "conflict"
        last = await edit(client, "c.x", "nothing", "ERROR(third): x")
        assert sorted(introduced(last)) == ["first", "third"]


async def test_D8_a_file_of_a_series_that_is_gone_by_its_end_is_resolved(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace({**PROJECT, "c.x": "ERROR(old): x\nmore\n"})
    async with serving(ombud, root, {"one": Script("one")}) as client:
        await edit(client, "c.x", "more", "ERROR(new): y", diagnostics="defer")
        patch = "--- a/c.x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-ERROR(old): x\n-ERROR(new): y\n"
        report = (await client.request("ombud/applyPatch", {"patch": patch}))["diagnostics"]
        assert (report["introduced"], codes(report["resolved"])) == ([], ["old"])


@pytest.mark.parametrize("second", CHANNELS)
async def test_D8_a_series_of_two_servers_is_told_by_both(
    ombud: OmbudFactory, workspace: Workspace, second: str
) -> None:
    root = workspace(PROJECT)
    servers = {"one": Script("one", diagnostics="push"), "two": Script("two", **CHANNELS[second])}
    async with serving(ombud, root, servers) as client:
        await edit(client, "a.x", "last", "ERROR(first): x", diagnostics="defer")
        last = await edit(client, "c.x", "nothing", "ERROR(second): x")
        assert sorted(introduced(last)) == ["first", "first", "second", "second"]
        assert freshness(last) == {"one": "fresh", "two": "fresh"}


# -- a caller who has gone


async def test_what_a_write_broke_is_told_though_its_caller_has_gone_while_it_was_made(
    client_factory: ClientFactory, workspace: Workspace
) -> None:
    root = workspace(PROJECT)
    made = meddled(client_factory, at="operations.writing.course.to_the_end", do=[["cancel"]])
    async with serving(made, root, {"one": Script("one")}) as client:
        wish = {"path": "a.x", "edits": [{"oldText": "last", "newText": "ERROR(new): x"}]}
        assert (await failure(client.start_request("ombud/edit", wish), client)).code == -32800
        told = await client.wait_notification("ombud/introducedDiagnostics")
        assert (told["cause"], codes(told["diagnostics"])) == ("write", ["new"])
        assert (root / "a.x").read_text() == "def name\nERROR(new): x\n"


# -- formatting


async def test_a_text_is_formatted_before_it_is_written_and_reported_on(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({**PROJECT, "a.x": "first\r\nsecond\r\n"})
    one = Script("one", log=peer_log)
    async with serving(ombud, root, {"one": one}) as client:
        plain = await edit(client, "a.x", "second", "second   ", format=True, preview=True)
        written = await edit(client, "a.x", "second", "ERROR(own): x   ", format=True)
        assert introduced(written) == ["own"]
        assert plain["applied"] is False
        assert (root / "a.x").read_bytes() == b"first\r\nERROR(own): x\r\n"
        assert (await peer_texts(client, "one"))["a.x"] == "first\r\nERROR(own): x\r\n"
        new = await client.request("ombud/write", {"path": "n.x", "content": "tail   \n", "format": True})
        assert new["files"][0]["status"] == "created"
        assert (root / "n.x").read_text() == "tail\n"
        (root / "n.x").write_text("tail   \n")
        await client.request("ombud/write", {"path": "n.x", "content": "tail   \n", "format": True})
        assert (root / "n.x").read_text() == "tail\n"
    well_behaved(peer_log)


async def test_a_formatter_that_fails_writes_nothing_and_one_that_is_missing_is_told(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(PROJECT)
    fails = Script("one", errorsOn={"textDocument/formatting": {"code": -32803, "message": "cannot parse"}})
    async with serving(ombud, root, {"one": fails}) as client:
        params = {"path": "a.x", "edits": [{"oldText": "last", "newText": "x"}], "format": True}
        error = await failure(client.start_request("ombud/edit", params), client)
        assert "nothing was written" in error.message
        assert (root / "a.x").read_text() == PROJECT["a.x"]
        assert (await peer_texts(client, "one")).get("a.x", PROJECT["a.x"]) == PROJECT["a.x"]
    async with serving(ombud, root, {"one": Script("one", features=["hover"])}) as client:
        result = await edit(client, "a.x", "last", "x", format=True)
        assert "No formatter" in result["note"]
        assert (root / "a.x").read_text() == "def name\nx\n"


# -- several at once


async def test_two_writes_at_once_are_each_told_their_own(ombud: OmbudFactory, workspace: Workspace) -> None:
    """Each file depends on the other: without turns, what one breaks would be blamed on the other as well."""
    root = workspace({"x.toml": "", "a.x": "def a\nUSES(b.x b)\n", "b.x": "def b\nUSES(a.x a)\n"})
    one = using(root, "a.x", "b.x", diagnostics="pull", slow={"textDocument/diagnostic": 100})
    async with together(ombud, root, {"one": one}, "first", "second") as (first, second):
        results = await asyncio.gather(
            edit(first, "a.x", "def a", "def x", waitMs=30000), edit(second, "b.x", "def b", "def y", waitMs=30000)
        )
        found = [places(result["diagnostics"]["introduced"]) for result in results]
        assert found == [[("b.x", 2, "missing")], [("a.x", 2, "missing")]]
