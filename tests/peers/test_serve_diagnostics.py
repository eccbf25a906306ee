"""What a write says that it broke: every channel of diagnostics, with each server's freshness (incidents D1 to D6)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import OmbudFactory, Workspace
from tests.peers.road import (
    codes,
    edit,
    entry,
    failure,
    freshness,
    hover,
    introduced,
    serving,
    states,
    wait_state,
    well_behaved,
)
from tests.peers.script import PeerLog, Script
from tests.profiles import AGENT

CLEAN = "first\nsecond\nthird\n"
FILES = {"x.toml": "", "a.x": CLEAN}

CHANNELS: dict[str, dict[str, Any]] = {
    "pull": {"diagnostics": "pull"},
    "pull registered late": {"diagnostics": "pullDynamic"},
    "pull where possible": {"diagnostics": "auto"},
    "push with versions": {"diagnostics": "push"},
    "push without versions": {"diagnostics": "push", "versioned": False},
    "push on save only": {"diagnostics": "push", "publishOn": ["open", "save"]},
    "push and pull": {"diagnostics": "both"},
}


@pytest.mark.parametrize("channel", list(CHANNELS))
async def test_a_write_reports_what_it_introduced_and_what_it_resolved(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, channel: str
) -> None:
    root = workspace({"x.toml": "", "a.x": "ERROR(old): old\nsecond\nWARNING(gone): gone\n"})
    one = Script("one", log=peer_log, **CHANNELS[channel])
    extra = {"diagnostics": {"channel": "both"}} if channel == "push and pull" else {}
    async with serving(ombud, root, {"one": entry(one, settle_ms=50, **extra)}, capabilities=AGENT) as client:
        result = await edit(client, "a.x", "second\nWARNING(gone): gone", "ERROR(new): worse\nfourth")
        assert freshness(result) == {"one": "fresh"}
        (new,) = result["diagnostics"]["introduced"]
        assert (new["path"], new["line"], new["endLine"], new["severity"]) == ("a.x", 2, 2, "error")
        assert (new["code"], new["source"], new["message"]) == ("new", "one", "worse")
        assert new["text"] == "ERROR(new): worse"
        assert new["range"] == {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 17}}
        (gone,) = result["diagnostics"]["resolved"]
        assert (gone["code"], gone["line"], gone["text"]) == ("gone", 3, "WARNING(gone): gone")
        assert result["diagnostics"]["stillPresent"] == 1
        fixed = await edit(client, "a.x", "ERROR(new): worse", "better")
        assert introduced(fixed) == []
        assert codes(fixed["diagnostics"]["resolved"]) == ["new"]
        assert freshness(fixed) == {"one": "fresh"}
        assert result["writeId"] != fixed["writeId"]
    well_behaved(peer_log)


async def test_D1_a_diagnostic_that_moved_is_not_new(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({"x.toml": "", "a.x": "first\nERROR(e1): bad\nWARNING(w1): hm\n"})
    async with serving(ombud, root, {"one": Script("one")}) as client:
        result = await edit(client, "a.x", "first\n", "zero\nzero and a half\nfirst\n")
        assert introduced(result) == []
        assert result["diagnostics"]["resolved"] == []
        assert result["diagnostics"]["stillPresent"] == 2
        result = await edit(client, "a.x", "zero\nzero and a half\nfirst\nERROR(e1): bad\n", "ERROR(e1): bad\nfirst\n")
        assert introduced(result) == []
        assert result["diagnostics"]["stillPresent"] == 2


async def test_D2_a_second_instance_is_new_and_its_own_place_is_told(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({"x.toml": "", "a.x": "first\nERROR(e1): bad\nlast\n"})
    async with serving(ombud, root, {"one": Script("one")}) as client:
        result = await edit(client, "a.x", "first\n", "ERROR(e1): bad\nfirst\n")
        assert [(one["code"], one["line"]) for one in result["diagnostics"]["introduced"]] == [("e1", 1)]
        assert result["diagnostics"]["stillPresent"] == 1
        result = await edit(client, "a.x", "last", "ERROR(e1): bad")
        assert [(one["code"], one["line"]) for one in result["diagnostics"]["introduced"]] == [("e1", 4)]
        result = await edit(client, "a.x", "ERROR(e1): bad\nfirst\n", "first\n")
        assert introduced(result) == []
        assert [(one["code"], one["line"]) for one in result["diagnostics"]["resolved"]] == [("e1", 1)]
        assert result["diagnostics"]["stillPresent"] == 2


async def test_D3_a_publish_for_the_old_content_after_the_write_does_not_count(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({"x.toml": "", "a.x": "ERROR(old): old\n"})
    one = Script("one", delayMs=400, stale=True, log=peer_log)
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x")
        await client.wait_diagnostics("a.x", lambda found: codes(found) == ["old"])
        # Touched twice, so that what it says of the text before the write is still to come when the write is done.
        client.change("a.x", "ERROR(old): old\n")
        client.save("a.x")
        result = await edit(client, "a.x", "ERROR(old): old", "ERROR(new): new")
        assert introduced(result) == ["new"]
        assert codes(result["diagnostics"]["resolved"]) == ["old"]
        assert freshness(result) == {"one": "fresh"}
    well_behaved(peer_log)


async def test_D3_without_versions_the_last_word_after_the_write_counts(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({"x.toml": "", "a.x": "ERROR(old): old\n"})
    one = Script("one", delayMs=200, stale=True, versioned=False, publishOn=["open", "change"], log=peer_log)
    async with serving(ombud, root, {"one": entry(one, settle_ms=600)}) as client:
        client.open("a.x")
        client.change("a.x", "ERROR(old): old\n")
        result = await edit(client, "a.x", "ERROR(old): old", "ERROR(new): new")
        assert introduced(result) == ["new"]
        assert codes(result["diagnostics"]["resolved"]) == ["old"]
    well_behaved(peer_log)


@pytest.mark.parametrize("channel", ["pull", "push with versions"])
async def test_D3_what_was_said_of_a_closed_document_is_no_evidence_for_its_next_text(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, channel: str
) -> None:
    root = workspace(FILES)
    script = CHANNELS[channel]
    one = Script("one", log=peer_log, slow={"textDocument/diagnostic": 150}, delayMs=150, **script)
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x")
        for number in range(6):
            client.change("a.x", f"ERROR(e{number}): unsaved\n")
        await client.wait_diagnostics("a.x", lambda found: codes(found) == ["e5"])
        client.close("a.x")
        (root / "a.x").write_text("ERROR(disk): on disk\n")
        result = await client.request("ombud/diagnostics", {"path": "a.x"})
        assert codes(result["diagnostics"]) == ["disk"]
        assert freshness(result) == {"one": "fresh"}
        assert introduced(await edit(client, "a.x", "on disk", "on disk ERROR(more): more")) == ["more"]
    well_behaved(peer_log)


async def test_D4_silence_is_timed_out_and_never_clean(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({"x.toml": "", "a.x": "ERROR(e1): bad\n"})
    one = Script("one", silentWhenClean=True, versioned=False)
    async with serving(ombud, root, {"one": one}) as client:
        result = await edit(client, "a.x", "ERROR(e1): bad", "clean", waitMs=700)
        assert result["applied"] is True
        assert freshness(result) == {"one": "timed_out"}
        assert result["diagnostics"]["introduced"] == result["diagnostics"]["resolved"] == []
        assert "Not known yet: one" in result["message"]
        (server,) = result["diagnostics"]["servers"]
        assert "one" in server["reason"]
        assert 0 < server["elapsedMs"] < 5_000
        found = await client.request("ombud/diagnostics", {"path": "a.x", "waitMs": 300})
        assert freshness(found) == {"one": "timed_out"}


@pytest.mark.parametrize(
    "script", [{"delayMs": 1500}, {"diagnostics": "pull", "slow": {"textDocument/diagnostic": 900}}]
)
async def test_D4_D9_a_late_answer_to_a_write_follows_by_notification(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, script: dict[str, Any]
) -> None:
    root = workspace({"x.toml": "", "a.x": "ERROR(old): old\n"})
    async with serving(ombud, root, {"one": Script("one", log=peer_log, **script)}) as client:
        result = await edit(client, "a.x", "ERROR(old): old", "ERROR(old): old\nERROR(new): new", waitMs=300)
        assert (root / "a.x").read_text() == "ERROR(old): old\nERROR(new): new\n"
        assert freshness(result) == {"one": "timed_out"}
        assert introduced(result) == []
        late = await client.wait_notification("ombud/introducedDiagnostics")
        assert (late["cause"], late["writeId"]) == ("write", result["writeId"])
        assert codes(late["diagnostics"]) == ["new"]
        assert late["resolved"] == []
        assert [(one["name"], one["freshness"]) for one in late["servers"]] == [("one", "fresh")]
        again = await edit(client, "a.x", "ERROR(new): new", "better", waitMs=6000)
        assert freshness(again) == {"one": "fresh"}
        assert codes(again["diagnostics"]["resolved"]) == ["new"]
    well_behaved(peer_log)


async def test_D9_one_late_server_is_not_held_back_by_one_that_is_later_still(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    servers = {
        "late": entry(Script("late", delayMs=1_500, log=peer_log), priority=1),
        "never": entry(Script("never", diagnostics="pull", hangOn=["textDocument/diagnostic"]), priority=2),
        "now": entry(Script("now"), priority=3),
    }
    async with serving(ombud, root, servers) as client:
        client.open("a.x")
        published = "textDocument/publishDiagnostics"
        await peer_log.wait(lambda log: [one for one in log.entries("sent") if one.get("method") == published])
        result = await edit(client, "a.x", "second", "ERROR(new): new", waitMs=1_000)
        assert introduced(result) == ["new"]
        assert freshness(result) == {"late": "timed_out", "never": "timed_out", "now": "fresh"}
        late = await client.wait_notification("ombud/introducedDiagnostics", timeout=10)
        assert [one["name"] for one in late["servers"]] == ["late"]
        assert codes(late["diagnostics"]) == ["new"]


async def test_D9_no_late_notification_for_a_client_that_wants_none(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    one = Script("one", delayMs=500, log=peer_log)
    async with serving(ombud, root, {"one": one}, diagnostics={"notify": False, "waitMs": 200}) as client:
        result = await edit(client, "a.x", "second", "ERROR(new): new")
        assert freshness(result) == {"one": "timed_out"}
        # The next write waits for the same server, and is answered after the first one has been heard out.
        assert introduced(await edit(client, "a.x", "third", "ERROR(more): more", waitMs=5000)) == ["more"]
        assert [one for one in client.notifications if one.method == "ombud/introducedDiagnostics"] == []


async def test_D5_the_first_publish_of_a_server_is_not_taken_for_all(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    one = Script("one", publishes=2, delayMs=250, versioned=False, log=peer_log)
    async with serving(ombud, root, {"one": entry(one, settle_ms=500)}) as client:
        result = await edit(client, "a.x", "second", "ERROR(syntax1): first ERROR(later): then")
        assert freshness(result) == {"one": "fresh"}
        assert sorted(introduced(result)) == ["later", "syntax1"]
        result = await edit(client, "a.x", "third", "ERROR(syntax2): first ERROR(later): then")
        assert sorted(introduced(result)) == ["later", "syntax2"]


async def test_D6_applied_is_the_first_word_of_the_answer(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one")}) as client:
        params = {"path": "a.x", "edits": [{"oldText": "second", "newText": "ERROR(e1): bad"}]}
        pending = client.start_request("ombud/edit", params)
        result = await client.answer(pending)
        assert b'"result":{"applied":true,"message":"Wrote a.x' in pending.raw
        assert "introduced 1 diagnostic" in result["message"].lower()
        assert result["files"] == [{"path": "a.x", "status": "modified", "added": 1, "removed": 1}]


async def test_a_new_file_is_reported_whole(ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}) as client:
        params = {"path": "sub/deep/new.x", "content": "ERROR(e1): bad\nERROR(e1): bad\n"}
        result = await client.request("ombud/write", params)
        assert introduced(result) == ["e1", "e1"]
        assert result["files"] == [{"path": "sub/deep/new.x", "status": "created", "added": 2, "removed": 0}]
        assert freshness(result) == {"one": "fresh"}
    well_behaved(peer_log)


async def test_several_servers_with_one_that_is_dead(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    crash = [{"method": "textDocument/didChange", "stderr": "no more\n"}]
    servers = {
        "well": entry(Script("well"), priority=1),
        "dies": entry(Script("dies", crashOn=crash), priority=2),
        "dead": entry(Script("dead", dieBeforeInitialize={"stderr": "never\n", "code": 1}), priority=3),
        "gone": {"command": ["no-such-program"], "extensions": [".x"], "rootMarkers": ["x.toml"]},
        "fine": entry(Script("fine", diagnostics="pull"), priority=4),
    }
    async with serving(ombud, root, servers) as client:
        client.open("a.x")
        for name in ("well", "dies", "fine"):
            await wait_state(client, name, "ready")
        await wait_state(client, "dead", "failed")
        result = await edit(client, "a.x", "second", "ERROR(new): new", waitMs=1500)
        found = freshness(result)
        # The one that died comes back within seconds; by the end of the wait it has not spoken.
        assert found.pop("dies") in ("timed_out", "unavailable")
        assert found == {"well": "fresh", "dead": "unavailable", "fine": "fresh"}
        assert introduced(result) == ["new", "new"]
        assert [one["source"] for one in result["diagnostics"]["introduced"]] == ["well", "fine"]
        reasons = {one["name"]: one.get("reason", "") for one in result["diagnostics"]["servers"]}
        assert "never" in reasons["dead"]
        assert "Not known yet: dies, dead" in result["message"]


async def test_diagnostics_none_asks_and_starts_nobody(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}) as client:
        result = await edit(client, "a.x", "second", "ERROR(e1): bad", diagnostics="none")
        assert result["diagnostics"] is None
        assert "not asked for" in result["message"]
        assert states(client, "one") == []
        assert peer_log.starts() == []
        # A server that has the file open is shown the text all the same.
        client.open("a.x")
        await hover(client, "a.x")
        await edit(client, "a.x", "third", "fourth", diagnostics="none")
        assert await hover(client, "a.x", 2) == "one: line 2: fourth"


async def test_hints_count_only_when_asked_for(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({"x.toml": "", "a.x": "HINT(h0): old\nsecond\n"})
    async with serving(ombud, root, {"one": Script("one")}) as client:
        result = await edit(client, "a.x", "second", "HINT(h1): hm\nINFORMATION(i1): well")
        assert introduced(result) == ["i1"]
        assert result["diagnostics"]["stillPresent"] == 0
        result = await edit(client, "a.x", "INFORMATION(i1): well", "HINT(h2): hm", severity="hint")
        assert introduced(result) == ["h2"]
        assert result["diagnostics"]["introduced"][0]["severity"] == "hint"
        assert codes(result["diagnostics"]["resolved"]) == ["i1"]
        assert result["diagnostics"]["stillPresent"] == 2
        found = await client.request("ombud/diagnostics", {"path": "a.x"})
        assert found["diagnostics"] == []
        found = await client.request("ombud/diagnostics", {"path": "a.x", "severity": "hint"})
        assert codes(found["diagnostics"]) == ["h0", "h1", "h2"]


async def test_no_server_for_a_file_is_not_called_clean(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({"notes.nobody": "first\n"})
    async with serving(ombud, root, {}) as client:
        result = await edit(client, "notes.nobody", "first", "second")
        assert result["applied"] is True
        assert result["diagnostics"]["servers"] == []
        assert "nothing is known" in result["message"]


async def test_writes_of_one_file_follow_each_other_and_each_reports_its_own(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({"x.toml": "", "a.x": "".join(f"line {number}\n" for number in range(6)), "b.x": "line 0\n"})
    async with serving(ombud, root, {"one": Script("one", delayMs=30, log=peer_log)}) as client:
        pending = [
            client.start_request(
                "ombud/edit",
                {"path": path, "edits": [{"oldText": f"line {number}\n", "newText": f"ERROR(e{number}): bad\n"}]},
            )
            for path, number in [*(("a.x", number) for number in range(6)), ("b.x", 0)]
        ]
        results = [await client.answer(one) for one in pending]
        assert [introduced(one) for one in results] == [[f"e{number}"] for number in (*range(6), 0)]
        assert len({one["writeId"] for one in results}) == 7
        assert (root / "a.x").read_text() == "".join(f"ERROR(e{number}): bad\n" for number in range(6))
    well_behaved(peer_log)


async def test_a_file_that_somebody_changes_during_a_write_is_left_to_them(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    """Between our reading and our writing: nothing is written, and the servers keep nothing that never was."""
    root = workspace(FILES)
    one = Script("one", diagnostics="pull", slow={"textDocument/diagnostic": 500}, log=peer_log)
    async with serving(ombud, root, {"one": one}) as client:
        params = {"path": "a.x", "edits": [{"oldText": "second", "newText": "ERROR(e1): bad"}]}
        pending = client.start_request("ombud/edit", params)
        await peer_log.wait_received("textDocument/diagnostic")
        (root / "a.x").write_text("ERROR(theirs): theirs\n")
        error = await failure(pending, client)
        assert (error.code, error.kind) == (-32803, "file_changed")
        assert (root / "a.x").read_text() == "ERROR(theirs): theirs\n"
        assert await hover(client, "a.x", 1) == "one: line 1: second"
        found = await client.request("ombud/diagnostics", {"path": "a.x"})
        assert (codes(found["diagnostics"]), freshness(found)) == (["theirs"], {"one": "fresh"})
    well_behaved(peer_log)


async def test_a_pull_that_the_server_cancels_is_asked_again(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    error = {"code": -32802, "message": "busy", "data": {"retriggerRequest": True}, "times": 2}
    one = Script("one", diagnostics="pull", pullError=error, log=peer_log)
    async with serving(ombud, root, {"one": one}) as client:
        result = await edit(client, "a.x", "second", "ERROR(e1): bad")
        assert (introduced(result), freshness(result)) == (["e1"], {"one": "fresh"})
    well_behaved(peer_log)


async def test_a_pull_that_fails_is_unavailable(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    error = {"code": -32603, "message": "I am confused", "times": 100}
    async with serving(ombud, root, {"one": Script("one", diagnostics="pull", pullError=error)}) as client:
        result = await edit(client, "a.x", "second", "ERROR(e1): bad")
        assert freshness(result) == {"one": "unavailable"}
        assert "I am confused" in result["diagnostics"]["servers"][0]["reason"]
        assert result["applied"] is True


async def test_the_current_diagnostics_of_a_file_and_of_all_open_ones(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace({"x.toml": "", "a.x": "ERROR(a1): bad\n", "b.y": "ERROR(b1): bad\nWARNING(b2): hm\n", "c.x": ""})
    servers = {
        "one": entry(Script("one")),
        "two": entry(Script("two", diagnostics="pull"), extensions=[".y"]),
        "silent": entry(Script("silent", diagnostics="none"), extensions=[".y"], priority=90),
    }
    async with serving(ombud, root, servers) as client:
        found = await client.request("ombud/diagnostics", {"path": "a.x"})
        assert codes(found["diagnostics"]) == ["a1"]
        assert (freshness(found), found["files"]) == ({"one": "fresh"}, 1)
        client.open("b.y")
        await client.wait_diagnostics("b.y", lambda found: len(found) == 2)
        found = await client.request("ombud/diagnostics", {"path": "*", "waitMs": 800})
        assert codes(found["diagnostics"]) == ["a1", "b1", "b2"]
        assert freshness(found) == {"one": "fresh", "two": "fresh", "silent": "timed_out"}
        assert found["files"] == 2


async def test_both_channels_of_one_server_are_joined(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    one = Script("one", diagnostics="both", pushCodes=["pushed"], log=peer_log)
    both = entry(one, settle_ms=50, diagnostics={"channel": "both"})
    async with serving(ombud, root, {"one": both}) as client:
        client.open("a.x")
        result = await edit(client, "a.x", "second", "ERROR(pushed): a ERROR(pulled): b")
        assert sorted(introduced(result)) == ["pulled", "pushed"]
        await client.wait_diagnostics("a.x", lambda found: codes(found) == ["pulled", "pushed"])
    well_behaved(peer_log)


async def test_C9_messages_of_servers_are_clean_and_without_secrets(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    secret = "ghp_" + "a1B2c3D4e5" * 4
    async with serving(ombud, root, {"one": Script("one")}) as client:
        result = await edit(client, "a.x", "second", f"ERROR(e1): \x1b[31mred\x1b[0m {secret} \u202eend")
        (new,) = result["diagnostics"]["introduced"]
        assert new["message"].startswith("red «redacted»")
        for text in (new["message"], new["text"]):
            assert secret not in text
            assert "\x1b" not in text
            assert "\u202e" not in text
