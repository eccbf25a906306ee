"""What a client is told after a save or a change on the disk: ``ombud/introducedDiagnostics``, each thing once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.client import Client
from tests.conftest import OmbudFactory, Workspace
from tests.peers.disk import CHANGED, CREATED, DELETED, events, watching
from tests.peers.road import (
    Json,
    codes,
    connected,
    edit,
    entry,
    freshness,
    introduced,
    listening,
    serving,
    together,
    well_behaved,
)
from tests.peers.script import PeerLog, Script
from tests.profiles import AGENT, VSCODE

TOLD = "ombud/introducedDiagnostics"
PUBLISHED = "textDocument/publishDiagnostics"
CLEAN = "first\nsecond\nthird\n"
FILES = {"x.toml": "", "a.x": CLEAN, "b.x": "other\n"}
PROJECT = {"x.toml": "", "a.x": "def name\n", "b.x": "USES(a.x name)\n", "c.x": "USES(a.x name)\n"}

CHANNELS: dict[str, dict[str, Any]] = {
    "pull": {"diagnostics": "pull"},
    "pull registered late": {"diagnostics": "pullDynamic"},
    "push with versions": {"diagnostics": "push"},
    "push without versions": {"diagnostics": "push", "versioned": False},
    "push on save only": {"diagnostics": "push", "publishOn": ["open", "save"]},
    "push and pull": {"diagnostics": "both"},
}


async def told(client: Client, **more: Any) -> Json:
    """The next report; ``more`` are keys that it must have."""
    found: Json = await client.wait_notification(TOLD)
    assert {key: found[key] for key in more} == more
    return found


def reports(client: Client) -> list[Json]:
    """All reports so far."""
    return [one.params for one in client.notifications if one.method == TOLD]


def places(diagnostics: list[Json]) -> list[tuple[str, int, str]]:
    return [(one["path"], one["line"], one["code"]) for one in diagnostics]


async def opened(client: Client, *paths: str, on_record: int = 0) -> None:
    """Open files and wait until what is wrong with them is known, with so many diagnostics in all."""
    for path in paths:
        client.open(path)
    found = await client.request("ombud/diagnostics", {"path": "*"})
    assert set(freshness(found).values()) == {"fresh"}
    assert len(found["diagnostics"]) == on_record


def save(client: Client, path: str, text: str) -> None:
    """Type a new text and save it."""
    client.change(path, text)
    client.save(path)


@pytest.mark.parametrize("channel", list(CHANNELS))
async def test_a_save_tells_what_it_introduced_and_resolved_and_nothing_twice(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, channel: str
) -> None:
    root = workspace({"x.toml": "", "a.x": "ERROR(old): old\nsecond\nWARNING(gone): gone\n"})
    one = Script("one", log=peer_log, **CHANNELS[channel])
    extra = {"diagnostics": {"channel": "both"}} if channel == "push and pull" else {}
    async with serving(ombud, root, {"one": entry(one, settle_ms=50, **extra)}) as client:
        await opened(client, "a.x", on_record=2)
        save(client, "a.x", "zero\nERROR(old): old\nERROR(new): worse\n")
        first = await told(client, cause="save", files=["a.x"], stillPresent=1)
        (new,) = first["diagnostics"]
        assert (new["path"], new["line"], new["severity"], new["source"]) == ("a.x", 3, "error", "one")
        assert (new["code"], new["message"], new["text"]) == ("new", "worse", "ERROR(new): worse")
        assert new["range"]["start"] == {"line": 2, "character": 0}
        (gone,) = first["resolved"]
        assert (gone["code"], gone["line"], gone["text"]) == ("gone", 3, "WARNING(gone): gone")
        assert freshness(first) == {"one": "fresh"}
        assert "writeId" not in first
        client.save("a.x")
        again = await told(client, cause="save", files=["a.x"], stillPresent=2, diagnostics=[], resolved=[])
        assert freshness(again) == {"one": "fresh"}
        save(client, "a.x", "zero\n")
        last = await told(client, stillPresent=0, diagnostics=[])
        assert codes(last["resolved"]) == ["new", "old"]
        assert len(reports(client)) == 3
    well_behaved(peer_log)


@pytest.mark.parametrize("channel", ["pull", "push with versions", "push without versions"])
async def test_a_save_tells_what_broke_in_files_that_were_not_touched(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, channel: str
) -> None:
    root = workspace(PROJECT)
    one = Script("one", project=["b.x", "c.x"], projectDelayMs=100, log=peer_log, **CHANNELS[channel])
    async with serving(ombud, root, {"one": entry(one, settle_ms=50)}) as client:
        await opened(client, "a.x", "b.x")
        save(client, "a.x", "def renamed\n")
        first = await told(client, cause="save", files=["a.x"], resolved=[])
        unopened = [] if channel == "pull" else [("c.x", 1, "missing")]
        assert places(first["diagnostics"]) == [("b.x", 1, "missing"), *unopened]
        assert first["diagnostics"][-1]["text"] == "USES(a.x name)"
        assert first["checkedDependents"] == sorted({"b.x", *(path for path, _, _ in unopened)})
        save(client, "a.x", "def name\n")
        second = await told(client, files=["a.x"], diagnostics=[])
        assert places(second["resolved"]) == [("b.x", 1, "missing"), *unopened]
        assert len(reports(client)) == 2
    well_behaved(peer_log)


async def test_hints_are_no_news_and_what_moved_is_not_new(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({"x.toml": "", "a.x": "first\nERROR(e1): bad\n"})
    async with serving(ombud, root, {"one": Script("one")}) as client:
        await opened(client, "a.x", on_record=1)
        save(client, "a.x", "HINT(h): hm\nzero\nfirst\nERROR(e1): bad\n")
        await told(client, diagnostics=[], resolved=[], stillPresent=1)
        save(client, "a.x", "ERROR(e1): bad\nzero\nfirst\nERROR(e1): bad\n")
        second = await told(client, resolved=[], stillPresent=1)
        assert places(second["diagnostics"]) == [("a.x", 1, "e1")]


@pytest.mark.parametrize(
    ("more", "hears"),
    [({}, True), ({"diagnostics": {"notify": True}}, True), ({"diagnostics": {"notify": False}}, False)],
)
async def test_notify_decides_who_is_told(ombud: OmbudFactory, workspace: Workspace, more: Json, hears: bool) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one")}, **more) as client:
        await opened(client, "a.x")
        save(client, "a.x", "ERROR(e1): bad\n")
        await client.wait_diagnostics("a.x", lambda found: codes(found) == ["e1"])
        if hears:
            assert codes((await told(client))["diagnostics"]) == ["e1"]
        else:
            # By then a report on the save would have come: a write of the same file waits for the same servers.
            assert introduced(await edit(client, "a.x", "bad\n", "bad\nERROR(e2): bad\n")) == ["e2"]
            assert reports(client) == []


async def test_a_client_that_knows_nothing_of_ombud_is_told_nothing_that_lsp_does_not_know(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    servers = {"one": Script("one")}
    async with listening(ombud, root) as (_, port), connected(port, root, servers, name="agent") as agent:
        await opened(agent, "b.x")
        async with Client.tcp("127.0.0.1", port, name="plain") as plain:
            await plain.initialize(root, None, VSCODE)
            agent.open("a.x")
            plain.open("a.x")
            await plain.wait_diagnostics("a.x")
            save(plain, "a.x", "ERROR(e1): bad\n")
            await plain.wait_diagnostics("a.x", lambda found: codes(found) == ["e1"])
            # The agent has it open as well, and for the agent somebody else has changed it.
            assert codes((await told(agent, cause="watch", files=["a.x"]))["diagnostics"]) == ["e1"]
            assert reports(plain) == []


async def test_D4_where_it_is_not_known_what_was_wrong_before_nothing_is_new_and_nothing_clean(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace({"x.toml": "", "a.x": "ERROR(old): old\n"})
    async with serving(ombud, root, {"one": Script("one", startDelayMs=1_000, delayMs=100)}) as client:
        client.open("a.x")
        save(client, "a.x", "ERROR(old): old\nERROR(new): new\n")
        first = await told(client, files=["a.x"], diagnostics=[], resolved=[])
        (server,) = first["servers"]
        assert (server["name"], server["freshness"]) == ("one", "unavailable")
        assert "one had not reported on a.x before it was changed" in server["reason"]
        save(client, "a.x", "ERROR(new): new\nERROR(newer): newer\n")
        second = await told(client, stillPresent=1)
        assert codes(second["diagnostics"]) == ["newer"]
        assert codes(second["resolved"]) == ["old"]
        assert freshness(second) == {"one": "fresh"}


@pytest.mark.parametrize("channel", ["push with versions", "pull"])
async def test_what_a_server_says_of_the_opened_text_is_heard_however_fast_it_is_saved_anew(
    ombud: OmbudFactory, workspace: Workspace, channel: str
) -> None:
    root = workspace({"x.toml": "", "a.x": "ERROR(old): old\n"})
    async with serving(ombud, root, {"one": Script("one", **CHANNELS[channel])}) as client:
        await opened(client, "a.x", on_record=1)
        for number in range(5):
            client.close("a.x")
            client.open("a.x")
            if channel == "pull":
                await client.request("ombud/diagnostics", {"path": "a.x"})
            save(client, "a.x", f"ERROR(old): old\nERROR(e{number}): new\n")
            assert codes((await told(client, stillPresent=1))["diagnostics"]) == [f"e{number}"]
            save(client, "a.x", "ERROR(old): old\n")
            assert codes((await told(client, diagnostics=[]))["resolved"]) == [f"e{number}"]


async def test_D3_typing_on_makes_the_next_save_tell_the_sum(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    one = Script("one", log=peer_log, delayMs=700)
    async with serving(ombud, root, {"one": one}) as client:
        await opened(client, "a.x")
        save(client, "a.x", "ERROR(e1): one\nERROR(e2): two\n")
        await peer_log.wait_received("textDocument/didSave")
        client.change("a.x", "ERROR(e1): one\nERROR(half): half\n")
        await client.wait_diagnostics("a.x", lambda found: codes(found) == ["e1", "half"])
        assert reports(client) == []
        save(client, "a.x", "ERROR(e1): one\nERROR(e3): three\n")
        assert codes((await told(client))["diagnostics"]) == ["e1", "e3"]
        assert len(reports(client)) == 1
    well_behaved(peer_log)


async def test_saving_all_is_one_report(ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog) -> None:
    names = [f"f{number}.x" for number in range(8)]
    root = workspace({"x.toml": "", **dict.fromkeys(names, CLEAN)})
    servers = {"one": Script("one", delayMs=1_000, log=peer_log), "two": Script("two", diagnostics="pull")}
    async with serving(ombud, root, servers, diagnostics={"waitMs": 30_000}) as client:
        await opened(client, *names)
        for name in names:
            client.change(name, f"ERROR({name}): bad\n")
        for name in names[:4]:
            client.save(name)
        # The second half comes while the first one is being looked at.
        await peer_log.wait_received("textDocument/didSave", 4)
        for name in names[4:]:
            client.save(name)
        found = await told(client, cause="save")
        assert sorted(found["files"]) == names
        assert places(found["diagnostics"]) == [(name, 1, name) for name in names for _ in servers]
        assert freshness(found) == {"one": "fresh", "two": "fresh"}
        client.save(names[0])
        await told(client, files=[names[0]], diagnostics=[], stillPresent=len(names) * 2)
        assert len(reports(client)) == 2
    well_behaved(peer_log)


async def test_D9_a_late_server_is_named_and_what_it_finds_follows(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    servers = {"late": Script("late", delayMs=1_500), "now": Script("now")}
    async with serving(ombud, root, servers, diagnostics={"waitMs": 600}) as client:
        client.open("a.x")
        await client.wait_diagnostics("a.x", lambda found: found == [])
        found = await client.request("ombud/diagnostics", {"path": "*", "waitMs": 20_000})
        assert freshness(found) == {"late": "fresh", "now": "fresh"}
        save(client, "a.x", "ERROR(e1): bad\n")
        first = await told(client, cause="save", files=["a.x"])
        assert [one["source"] for one in first["diagnostics"]] == ["now"]
        assert freshness(first) == {"late": "timed_out", "now": "fresh"}
        second = await told(client, cause="save", files=["a.x"])
        assert [one["source"] for one in second["diagnostics"]] == ["late"]
        assert freshness(second) == {"late": "fresh"}


async def test_D9_what_a_server_says_by_itself_after_the_report_follows(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(PROJECT)
    one = Script("one", project=["c.x"], projectDelayMs=2_500)
    async with serving(ombud, root, {"one": one}) as client:
        await opened(client, "a.x", "b.x")
        save(client, "a.x", "def renamed\nERROR(e1): bad\n")
        found = (await told(client, cause="save", files=["a.x"]))["diagnostics"]
        # How much of it is in the first report is a matter of how fast the machine is.
        while len(found) < 3:
            found += (await told(client, cause="save", files=["a.x"], resolved=[]))["diagnostics"]
        assert sorted(places(found)) == [("a.x", 2, "e1"), ("b.x", 1, "missing"), ("c.x", 1, "missing")]


async def test_D8_what_is_half_typed_in_other_files_is_left_for_their_own_save(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(PROJECT)
    async with serving(ombud, root, {"one": Script("one", project=[])}) as client:
        await opened(client, "a.x", "b.x")
        client.change("b.x", "USES(a.x name)\nERROR(half): half\n")
        save(client, "a.x", "def renamed\n")
        first = await told(client, files=["a.x"], diagnostics=[], checkedDependents=[])
        (left,) = first["leftOut"]
        assert left["path"] == "b.x"
        assert "unsaved" in left["reason"]
        save(client, "b.x", "USES(a.x name)\n")
        second = await told(client, files=["b.x"])
        assert places(second["diagnostics"]) == [("b.x", 1, "missing")]


async def test_a_server_that_looks_at_saved_files_is_heard_after_the_save(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    one = Script("one", publishOn=["open", "change", "save"], versioned=False, delayMs=1_200, stale=True, log=peer_log)
    async with serving(ombud, root, {"one": entry(one, settle_ms=50, diagnostics={"onSave": True})}) as client:
        await opened(client, "a.x")
        client.change("a.x", "ERROR(e1): bad\n")
        await client.wait_diagnostics("a.x", lambda found: codes(found) == ["e1"])
        client.save("a.x")
        assert codes((await told(client))["diagnostics"]) == ["e1"]
        sent = [one["method"] for one in peer_log.entries("sent") if one.get("method") == PUBLISHED]
        assert len(sent) == 3, "it was not waited for after the save"


async def test_a_crash_while_it_is_waited_for_is_survived(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    crash = [{"method": "textDocument/didChange", "nth": 1}]
    one = Script("one", log=peer_log, perStart=[{"crashOn": crash}, {}])
    servers = {"one": one, "two": Script("two")}
    async with serving(ombud, root, servers) as client:
        await opened(client, "a.x")
        save(client, "a.x", "ERROR(e1): bad\n")
        first = await told(client, files=["a.x"])
        found = first["diagnostics"]
        while [one["source"] for one in found] not in (["one", "two"], ["two", "one"]):
            found += (await told(client, files=["a.x"]))["diagnostics"]
        assert len(peer_log.starts()) == 2


# -- the disk


WATCHED = "workspace/didChangeWatchedFiles"
WATCHERS = {"a client that watches": VSCODE, "our own watcher": AGENT}


@pytest.fixture(autouse=True)
def _told_of_watching(environment: dict[str, str]) -> None:
    environment["OMBUD_LOG"] = "INFO"


async def watched(client: Client, *changes: tuple[str, int]) -> None:
    """Say what has changed, where this client is the one who watches."""
    if client.capabilities is VSCODE:
        client.notify(WATCHED, events(client, *changes))


async def begun(client: Client) -> None:
    if client.capabilities is not VSCODE:
        await watching(client)


@pytest.mark.parametrize("watcher", list(WATCHERS))
@pytest.mark.parametrize("channel", ["pull", "push with versions", "push without versions"])
async def test_D7_a_change_of_another_program_is_told_with_what_it_broke_elsewhere(
    ombud: OmbudFactory, workspace: Workspace, channel: str, watcher: str
) -> None:
    root = workspace(PROJECT)
    script = {**CHANNELS[channel], "publishOn": ["open", "change", "save", "watched"]}
    one = entry(Script("one", project=[], **script), settle_ms=50)
    async with serving(ombud, root, {"one": one}, capabilities=WATCHERS[watcher]) as client:
        await opened(client, "a.x", "b.x")
        await begun(client)
        (root / "a.x").write_text("def other\nERROR(e1): bad\n")
        await watched(client, ("a.x", CHANGED))
        first = await told(client, cause="watch", files=["a.x"], resolved=[])
        assert places(first["diagnostics"]) == [("a.x", 2, "e1"), ("b.x", 1, "missing")]
        assert freshness(first) == {"one": "fresh"}
        (root / "a.x").write_text("zero\ndef other\nERROR(e1): bad\n")
        await watched(client, ("a.x", CHANGED))
        await told(client, cause="watch", files=["a.x"], diagnostics=[], resolved=[], stillPresent=2)
        (root / "a.x").write_text("zero\ndef name\n")
        await watched(client, ("a.x", CHANGED))
        last = await told(client, cause="watch", diagnostics=[])
        assert places(last["resolved"]) == [("a.x", 3, "e1"), ("b.x", 1, "missing")]


@pytest.mark.parametrize("channel", ["pull", "push with versions"])
async def test_D7_a_change_of_a_file_that_nobody_has_open_breaks_one_that_is(
    ombud: OmbudFactory, workspace: Workspace, channel: str
) -> None:
    root = workspace({**PROJECT, "set.x": "strict\n", "b.x": "USES(set.x strict)\n"})
    one = Script("one", project=[], **CHANNELS[channel])
    async with serving(ombud, root, {"one": one}) as client:
        await opened(client, "b.x")
        (root / "set.x").write_text("loose\n")
        client.notify(WATCHED, events(client, ("set.x", CHANGED)))
        first = await told(client, cause="watch", files=["set.x"])
        assert places(first["diagnostics"]) == [("b.x", 1, "missing")]
        (root / "set.x").unlink()
        client.notify(WATCHED, events(client, ("set.x", DELETED)))
        (root / "set.x").write_text("strict\n")
        client.notify(WATCHED, events(client, ("set.x", CREATED)))
        second = await told(client, cause="watch", diagnostics=[])
        assert places(second["resolved"]) == [("b.x", 1, "missing")]


async def test_a_checkout_of_many_files_is_one_report(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    names = [f"f{number}.x" for number in range(200)]
    root = workspace({"x.toml": "", **dict.fromkeys(names, CLEAN)})
    one = Script("one", diagnostics="pull", log=peer_log)
    async with serving(ombud, root, {"one": one}) as client:
        await opened(client, *names[:5])
        for name in names:
            (root / name).write_text(f"ERROR({name}): bad\n")
        for start in range(0, len(names), 40):
            client.notify(WATCHED, events(client, *((name, CHANGED) for name in names[start : start + 40])))
        found = await told(client, cause="watch")
        assert set(names[:5]) <= set(found["files"])
        assert places(found["diagnostics"]) == [(name, 1, name) for name in sorted(names[:5])]
        save(client, names[0], CLEAN)
        await told(client, cause="save", files=[names[0]])
        # Where the last events came after the first report, there is a second one, and no more.
        assert len(reports(client)) <= 3
    well_behaved(peer_log)


@pytest.mark.parametrize("project", [["gone.x"], []])
async def test_what_was_wrong_with_a_file_that_is_gone_is_resolved(
    ombud: OmbudFactory, workspace: Workspace, project: list[str]
) -> None:
    root = workspace({**FILES, "gone.x": "ERROR(e1): bad\n"})
    one = Script("one", project=project, diagnostics="push" if project else "pull")
    async with serving(ombud, root, {"one": one}) as client:
        await opened(client, "b.x")
        if project:
            await client.wait_diagnostics("gone.x", lambda found: codes(found) == ["e1"])
            save(client, "b.x", "more\n")
            await told(client, diagnostics=[], resolved=[])
        else:
            # Nobody has it open; an operation has had a look, and it stays open quietly.
            assert codes((await client.request("ombud/diagnostics", {"path": "gone.x"}))["diagnostics"]) == ["e1"]
        (root / "gone.x").unlink()
        client.notify(WATCHED, events(client, ("gone.x", DELETED)))
        found = await told(client, cause="watch", files=["gone.x"], diagnostics=[])
        assert places(found["resolved"]) == [("gone.x", 1, "e1")]


@pytest.mark.parametrize("first", ["save", "event"])
async def test_an_editors_own_save_is_told_once_also_where_it_watches_the_disk(
    ombud: OmbudFactory, workspace: Workspace, first: str
) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one", delayMs=200)}) as client:
        await opened(client, "a.x", "b.x")
        client.change("a.x", "ERROR(e1): bad\n")
        if first == "event":
            (root / "a.x").write_text("ERROR(e1): bad\n")
            client.notify(WATCHED, events(client, ("a.x", CHANGED)))
        client.save("a.x")
        if first == "save":
            client.notify(WATCHED, events(client, ("a.x", CHANGED)))
        assert codes((await told(client, cause="save", files=["a.x"]))["diagnostics"]) == ["e1"]
        client.notify(WATCHED, events(client, ("a.x", CHANGED)))
        save(client, "b.x", "ERROR(e2): bad\n")
        assert codes((await told(client, cause="save", files=["b.x"]))["diagnostics"]) == ["e2"]
        assert len(reports(client)) == 2


# -- several clients


@pytest.mark.parametrize("how", ["write", "save"])
async def test_what_one_client_changes_is_a_watched_change_for_the_others(
    ombud: OmbudFactory, workspace: Workspace, how: str
) -> None:
    root = workspace(PROJECT)
    servers = {"one": Script("one", project=[], delayMs=300)}
    async with together(ombud, root, servers, "agent", "editor") as (agent, editor):
        await opened(editor, "a.x", "b.x")
        await opened(agent, "a.x")
        if how == "write":
            result = await edit(agent, "a.x", "def name", "def other")
            assert introduced(result) == ["missing"]
        else:
            save(agent, "a.x", "def other\n")
            await told(agent, cause="save", files=["a.x"])
        found = await told(editor, cause="watch", files=["a.x"])
        assert places(found["diagnostics"]) == [("b.x", 1, "missing")]
        # The one who made the change has heard of it already.
        save(agent, "a.x", "def other\n")
        last = await told(agent, cause="save", files=["a.x"], stillPresent=1)
        assert last["diagnostics"] == last["resolved"] == []


async def test_a_preview_is_told_to_nobody(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    servers = {"one": Script("one")}
    async with together(ombud, root, servers, "agent", "editor") as (agent, editor):
        await opened(editor, "a.x")
        await opened(agent, "b.x")
        shown = await edit(agent, "a.x", "first", "ERROR(e1): bad", preview=True)
        assert introduced(shown) == ["e1"]
        save(editor, "a.x", "first\nERROR(e2): bad\n")
        found = await told(editor, cause="save", resolved=[])
        assert codes(found["diagnostics"]) == ["e2"]
        assert len(reports(editor)) == 1


async def test_a_document_that_is_closed_is_forgotten(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one", publishOn=["open", "change", "save", "close"])}) as client:
        await opened(client, "a.x", "b.x")
        save(client, "a.x", "ERROR(e1): bad\n")
        assert codes((await told(client))["diagnostics"]) == ["e1"]
        client.close("a.x")
        save(client, "b.x", "more\n")
        await told(client, files=["b.x"], diagnostics=[], resolved=[])
        client.open("a.x")
        await client.wait_diagnostics("a.x", lambda found: codes(found) == ["e1"])
        save(client, "b.x", "and more\n")
        await told(client, files=["b.x"], diagnostics=[], resolved=[])
