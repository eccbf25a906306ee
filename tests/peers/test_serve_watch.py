"""D7: what changes on disk reaches every server that asked for it, whoever sees it: a client, our watcher, or us."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.client import Client
from tests.conftest import OmbudFactory, Workspace
from tests.connection import LspError
from tests.peers.disk import CHANGED, CREATED, DELETED, FILES, WATCHED, events, heard, hears, watching
from tests.peers.road import (
    Json,
    connected,
    edit,
    entry,
    hover,
    listening,
    peer_state,
    peer_texts,
    serving,
    wait_state,
    well_behaved,
)
from tests.peers.script import PeerLog, Script
from tests.profiles import AGENT, NEOVIM, VSCODE
from tests.waiting import wait_until

ABSOLUTE: Json = {"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}}
"""A client that watches and knows no ``RelativePattern``."""


@pytest.fixture(autouse=True)
def _told_of_watching(environment: dict[str, str]) -> None:
    environment["OMBUD_LOG"] = "INFO"


def registering(*watchers: Any) -> Json:
    """A server's ``client/registerCapability`` for these ``FileSystemWatcher``s."""
    one = {"id": "w", "method": WATCHED, "registerOptions": {"watchers": list(watchers)}}
    return {"method": "client/registerCapability", "params": {"registrations": [one]}}


# -- who hears what


async def test_D7_each_server_hears_what_it_has_registered_for(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path
) -> None:
    root = workspace({**FILES, "sub/x.toml": "", "sub/a.x": "sub\n"})
    outside = tmp_path.resolve() / "lib"
    everything = [("a.x", CHANGED), ("new.x", CREATED), ("gone.x", DELETED), ("n.txt", CHANGED), ("x.toml", CHANGED)]
    everything += [("sub/s.x", CHANGED), ("sub/s.txt", CHANGED), (f"{outside}/l.x", CHANGED)]
    cases: dict[str, tuple[Json, set[str]]] = {
        "unregistered": ({}, {"a.x", "new.x", "gone.x", "x.toml", "sub/s.x"}),
        "string": ({"watch": ["*.x"]}, {"a.x", "new.x", "gone.x"}),
        "all": ({"watch": ["**"]}, {name for name, _ in everything if not name.startswith("/")}),
        "based": ({"watch": [{"baseUri": (root / "sub").as_uri(), "pattern": "*.txt"}]}, {"sub/s.txt"}),
        "outside": ({"watch": [f"{outside}/**/*.x"]}, {f"{outside}/l.x"}),
        "nothing": ({"requestsOnInitialized": [registering()]}, set()),
        "kinds": (
            {
                "requestsOnInitialized": [
                    registering({"globPattern": "*.x", "kind": 4}, {"globPattern": "*.txt", "kind": 3})
                ]
            },
            {"gone.x", "n.txt"},
        ),
    }
    logs = {name: PeerLog(tmp_path / f"{name}.jsonl") for name in cases}
    servers = {name: entry(Script(name, log=logs[name], **keys)) for name, (keys, _) in cases.items()}
    async with serving(ombud, root, servers) as client:
        client.open("a.x")
        for name in cases:
            # What it has registered came before its answer to this.
            await peer_state(client, name)
        client.notify(WATCHED, events(client, *everything))
        for name, (_, wanted) in cases.items():
            # What a server was not to hear would have been written before the end.
            await peer_state(client, name)
            told = [one.removeprefix(outside.as_uri()) for one, _ in heard(logs[name], root)]
            assert {f"{outside}{one}" if one.startswith("/") else one for one in told} == wanted, name
            assert len(told) == len(wanted), name
    well_behaved(*logs.values())


async def test_D7_what_is_all_for_a_server_is_sent_on_as_it_came(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one", watch=["**/*.x"], log=peer_log)}) as client:
        client.open("a.x")
        await peer_state(client, "one")
        params = {**events(client, ("new.x", CREATED), ("b.x", CHANGED)), "from": "a client of another age"}
        client.notify(WATCHED, params)
        (told,) = await peer_log.wait_received(WATCHED)
        assert told["params"] == params
        for odd in ({"changes": []}, {"changes": [{"uri": "untitled:1", "type": 1}, {"uri": "file:rel", "type": 2}]}):
            client.notify(WATCHED, odd)
        client.notify(WATCHED, events(client, ("b.x", DELETED)))
        await hears(peer_log, root, ("b.x", DELETED))
        assert len(heard(peer_log, root)) == 3
    well_behaved(peer_log)


async def test_a_folder_under_a_link_is_told_by_both_of_its_names(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    link = tmp_path.resolve() / "link"
    link.symlink_to(root)
    async with serving(ombud, link, {"one": Script("one", watch=["**/*.x"], log=peer_log)}) as client:
        client.open("a.x")
        assert await hover(client, "a.x") == "one: line 0: first"
        client.notify(WATCHED, events(client, ("b.x", CHANGED)))
        await hears(peer_log, root, ("b.x", CHANGED), (f"{link.as_uri()}/b.x", CHANGED))
    well_behaved(peer_log)


# -- what clients are asked to watch


def registered(client: Client) -> list[Any]:
    """The globs of the registration that Ombud has with a client; for a moment none, while one takes over."""
    mine = [one for one in client.registrations.values() if one["method"] == WATCHED]
    assert all(one["id"].startswith("ombud/watch/") for one in mine)
    if len(mine) != 1:
        return []
    return [watcher["globPattern"] for watcher in mine[0]["registerOptions"]["watchers"]]


async def asked_for(client: Client, glob: Any, wanted: bool = True) -> None:
    await wait_until(lambda: registered(client) and (glob in registered(client)) == wanted, 20, f"{glob}: {wanted}")


async def test_a_client_is_asked_to_watch_what_servers_ask_for(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path, peer_log: PeerLog
) -> None:
    """In its own terms, once, kept in step, and without a watcher of ours beside it."""
    root = workspace({**FILES, "sub/y.toml": "", "sub/b.y": ""})
    lib = tmp_path.resolve() / "lib"
    gone = {"unregisterations": [{"id": "scripted-watch", "method": WATCHED}]}
    one = Script(
        "one",
        watch=["**/one.json", {"baseUri": lib.as_uri(), "pattern": "**/*.l"}],
        requestsOn={"textDocument/didSave": [{"method": "client/unregisterCapability", "params": gone}]},
        log=peer_log,
    )
    two = Script("two", watch=["src/*.two", f"{lib}/*.abs"]).entry([".y"], markers=["y.toml"])
    for capabilities, relative in ((VSCODE, True), (ABSOLUTE, False)):
        async with serving(ombud, root, {"one": one, "two": two}, capabilities=capabilities) as client:
            client.open("a.x")
            await asked_for(client, "**/one.json")
            base = {"baseUri": lib.as_uri(), "pattern": "**/*.l"}
            assert (base if relative else f"{lib}/**/*.l") in registered(client)
            # What Ombud itself has to know: files that servers claim, markers, its own settings.
            assert {"**/*.x", "**/{.git,x.toml}"} <= {str(glob) for glob in registered(client)}
            settings = {"baseUri": root.as_uri(), "pattern": ".ombud.toml"} if relative else f"{root}/.ombud.toml"
            assert settings in registered(client)
            assert "/.config/ombud" in str(registered(client))
            client.open("sub/b.y")
            based = {"baseUri": (root / "sub").as_uri(), "pattern": "src/*.two"}
            inner = based if relative else f"{root}/sub/src/*.two"
            await asked_for(client, inner)
            client.save("a.x", write=False)
            await asked_for(client, "**/one.json", wanted=False)
            assert inner in registered(client)
            assert "watching" not in client.stderr
    well_behaved(peer_log)


async def test_a_client_that_comes_later_is_asked_as_well(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    servers = {"one": Script("one", watch=["**/one.json"], log=peer_log)}
    async with (
        listening(ombud, root) as (hub, port),
        connected(port, root, servers, name="left", capabilities=AGENT) as left,
    ):
        left.open("a.x")
        await hover(left, "a.x")
        await watching(hub)
        async with connected(port, root, servers, name="right") as right:
            await asked_for(right, "**/one.json")
            # There is a client now that sees more than our own watcher would.
            await wait_until(lambda: "no longer watching" in hub.stderr, 20, "our watcher ends")
            right.notify(WATCHED, events(right, ("one.json", CHANGED)))
            await hears(peer_log, root, ("one.json", CHANGED))
        # It left, and its word with it.
        await wait_until(lambda: hub.stderr.count("folders of") == 2, 20, "our watcher is back")
        (root / "one.json").write_text("{}")
        await hears(peer_log, root, ("one.json", CREATED))
    well_behaved(peer_log)


async def test_where_a_client_refuses_to_watch_we_do(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)

    def refuse(params: Json) -> None:
        if WATCHED in str(params):
            raise LspError(-32803, "no more watches")

    async with serving(ombud, root, {"one": Script("one", log=peer_log)}) as client:
        client.handlers["client/registerCapability"] = refuse
        client.open("a.x")
        await hover(client, "a.x")
        await watching(client)
        (root / "new.x").write_text("new")
        await hears(peer_log, root, ("new.x", CREATED))
    well_behaved(peer_log)


# -- our own watcher


@pytest.mark.parametrize("capabilities", [AGENT, NEOVIM])
async def test_D7_for_a_client_that_cannot_watch_we_do(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, capabilities: Json
) -> None:
    more = {
        "src/c.x": "c",
        ".gitignore": "/out/\n",
        "out/o.x": "",
        "node_modules/m.x": "",
        "node_modules/named/i.x": "",
    }
    root = workspace({**FILES, **more})
    # A folder among the dependencies that the server has asked for by name is watched.
    named = {"baseUri": (root / "node_modules/named").as_uri(), "pattern": "*.x"}
    one = Script("one", watch=["**/*.x", "**/*.json", named], log=peer_log)
    async with serving(ombud, root, {"one": one}, capabilities=capabilities) as client:
        assert await client.request("ombud/status", {})
        assert "watching" not in client.stderr, "nothing is watched before a server is ready"
        client.open("a.x")
        await hover(client, "a.x")
        await watching(client, "node_modules/named")
        subprocess.run(["sed", "-i.bak", "s/other/OTHER/", root / "b.x"], check=True)
        (root / "new/deep").mkdir(parents=True)
        (root / "new/deep/n.x").write_text("n")
        (root / "src").rename(root / "lib")
        (root / "node_modules/named/i.x").write_text("changed")
        for name in ("out/p.x", "node_modules/n.x", "b.txt"):
            (root / name).write_text("nobody's business")
        (root / "last.json").write_text("{}")
        await hears(
            peer_log,
            root,
            *(("b.x", CHANGED), ("new/deep/n.x", CREATED), ("src/c.x", DELETED), ("lib/c.x", CREATED)),
            *(("node_modules/named/i.x", CHANGED), ("last.json", CREATED)),
        )
        names = {"b.x", "new/deep/n.x", "src/c.x", "lib/c.x", "node_modules/named/i.x", "last.json"}
        assert {name for name, _ in heard(peer_log, root)} == names
    well_behaved(peer_log)


async def test_an_idle_hub_watches_nothing(ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog) -> None:
    """The watcher ends with the last server; a server that starts after that is shown nothing of before."""
    root = workspace(FILES)
    one = Script("one", log=peer_log)
    async with serving(ombud, root, {"one": one}, capabilities=AGENT, idleMinutes=0.01) as client:
        await edit(client, "a.x", "first", "second")
        await wait_state(client, "one", "swept")
        await wait_until(lambda: "no longer watching" in client.stderr, 20, "the watcher ends")
        (root / "a.x").write_text("while nobody looked\n")
        assert await hover(client, "b.x") == "one: line 0: other"
        assert await peer_texts(client, "one") in ({}, {"a.x": "while nobody looked\n"})
    well_behaved(peer_log)


async def test_a_burst_is_told_in_batches_and_nothing_twice(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    """As a checkout of another branch: thousands of files that come, go and change within a moment."""
    old = {f"d{number % 50}/f{number}.x": "old" for number in range(2000)}
    root = workspace({**FILES, **old})
    one = Script("one", watch=["**/*.x"], log=peer_log)
    async with serving(ombud, root, {"one": one}, capabilities=AGENT) as client:
        client.open("a.x")
        await hover(client, "a.x")
        await watching(client)
        wanted = set()
        for number, name in enumerate(old):
            if number % 2:
                (root / name).unlink()
                wanted.add((name, DELETED))
        for number in range(2000):
            name = f"e{number % 50}/sub/g{number}.x"
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text("new")
            wanted.add((name, CREATED))
        await peer_log.wait(lambda log: wanted <= set(heard(log, root)), 60, "every event")
        found = heard(peer_log, root)
        sizes = [len(message["params"]["changes"]) for message in peer_log.received(WATCHED)]
        assert max(sizes) <= 1000
        # The writing takes seconds and a batch at most half of one.
        assert len(sizes) < 100
        # A file may be seen while it is being written, and so be told as changed after it was told as new.
        assert [one for one in found if one[1] != CHANGED and found.count(one) > 1] == []
        assert await hover(client, "a.x") == "one: line 0: first"
    well_behaved(peer_log)


async def test_what_cannot_be_watched_is_said_and_looked_at(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, environment: dict[str, str], tmp_path: Path
) -> None:
    """A system without file watches: here one without the library for them."""
    root = workspace(FILES)
    broken = tmp_path / "modules" / "watchfiles"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('not on this system')\n")
    environment["PYTHONPATH"] = str(broken.parent)
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}, capabilities=AGENT) as client:
        client.open("a.x")
        await hover(client, "a.x")
        await watching(client)
        (root / "new.x").write_text("new")
        await hears(peer_log, root, ("new.x", CREATED))
        problems = (await client.request("ombud/status", {}))["problems"]
        assert any("watchfiles is not installed" in problem for problem in problems)
    well_behaved(peer_log)


# -- open documents


async def test_D7_servers_see_the_new_text_of_what_nobody_holds_back(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    names = ["quiet.x", "saved.x", "unsaved.x", "reloaded.x", "deleted.x"]
    root = workspace({"x.toml": "", **{name: f"{name} one\n" for name in names}})
    one = Script("one", watch=["**/*.x"], log=peer_log)
    async with serving(ombud, root, {"one": one}, capabilities=AGENT) as client:
        for name in ("quiet.x", "deleted.x"):
            await edit(client, name, "one", "two")
        for name in ("saved.x", "unsaved.x", "reloaded.x"):
            client.open(name)
        client.change("unsaved.x", "unsaved\n")
        assert len(await peer_texts(client, "one")) == len(names)
        await watching(client)
        for name in names[:4]:
            (root / name).write_text(f"{name} three\n")
        (root / "deleted.x").unlink()
        await hears(peer_log, root, *((name, CHANGED) for name in names[:4]), ("deleted.x", DELETED))
        expected = {name: f"{name} three\n" for name in ("quiet.x", "saved.x", "reloaded.x")}
        expected["unsaved.x"] = "unsaved\n"
        assert await peer_texts(client, "one") == expected

        # The editor reloads one and types on; what it typed is its own from then on.
        client.change("reloaded.x", "reloaded.x three\n")
        client.change("reloaded.x", "typed\n")
        (root / "reloaded.x").write_text("four, on disk\n")
        (root / "saved.x").write_text("four, on disk\n")
        (root / "mark.x").write_text("")
        await hears(peer_log, root, ("mark.x", CREATED))
        expected |= {"reloaded.x": "typed\n", "saved.x": "four, on disk\n"}
        assert await peer_texts(client, "one") == expected

        # Nothing of its owner's is lost by a write to a buffer that was saved.
        assert (await edit(client, "saved.x", "four", "five"))["applied"]
        expected["saved.x"] = "five, on disk\n"
        assert await peer_texts(client, "one") == expected
        # Saved again, the editor's buffer is what is on disk.
        client.save("unsaved.x")
        assert await peer_texts(client, "one") == expected
        (root / "unsaved.x").write_text("five, on disk\n")
        (root / "mark2.x").write_text("")
        await hears(peer_log, root, ("mark2.x", CREATED))
        expected["unsaved.x"] = "five, on disk\n"
        assert await peer_texts(client, "one") == expected
    well_behaved(peer_log)


async def test_D7_diagnostics_of_a_quiet_document_follow_the_disk(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    """As a client's own event says it; an agent that asks next is answered for what is on disk."""
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}) as client:
        await edit(client, "a.x", "first", "second")
        (root / "a.x").write_text("ERROR(e1): bad\n")
        client.notify(WATCHED, events(client, ("a.x", CHANGED)))
        _, saved = await peer_log.wait_received("textDocument/didSave", 2)
        assert saved["params"]["textDocument"]["uri"] == client.uri("a.x")
        assert await peer_texts(client, "one") == {"a.x": "ERROR(e1): bad\n"}
    well_behaved(peer_log)


async def test_our_own_write_is_told_once(ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog) -> None:
    """By us, at once, and not again by whoever watches."""
    root = workspace(FILES)
    one = Script("one", watch=["**/*.x"], log=peer_log)
    async with serving(ombud, root, {"one": one}, capabilities=AGENT) as client:
        client.open("b.x")
        await hover(client, "b.x")
        await watching(client)
        await edit(client, "a.x", "first", "second")
        await hears(peer_log, root, ("a.x", CHANGED))
        await client.request("ombud/write", {"path": "new.x", "content": "new\n"})
        client.notify(WATCHED, events(client, ("a.x", CHANGED), ("new.x", CREATED)))
        (root / "mark.x").write_text("")
        await hears(peer_log, root, ("mark.x", CREATED))
        assert [one for one in heard(peer_log, root) if one[0] != "mark.x"] == [("a.x", CHANGED), ("new.x", CREATED)]
        # Somebody else's change of the same file is news again.
        (root / "a.x").write_text("third\n")
        await hears(peer_log, root, ("mark.x", CREATED), ("a.x", CHANGED))
        await peer_log.wait(lambda log: heard(log, root).count(("a.x", CHANGED)) == 2)
    well_behaved(peer_log)


# -- what Ombud itself has read


async def test_a_marker_that_appears_brings_its_server(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({"a.x": "first\n", "y.toml": "", "b.y": "b\n"})
    servers = {
        "one": Script("one", log=peer_log),
        "two": entry(Script("two"), extensions=[".y"], rootMarkers=["y.toml"]),
    }
    async with serving(ombud, root, servers, capabilities=AGENT) as client:
        client.open("a.x")
        client.open("b.y")
        assert await hover(client, "b.y") == "two: line 0: b"
        await watching(client)
        (root / "x.toml").write_text("")
        await peer_log.wait_received("textDocument/didOpen")
        assert await hover(client, "a.x") == "one: line 0: first"
    well_behaved(peer_log)


async def test_a_marker_that_an_editor_saves_brings_its_server(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    """While nothing runs, nothing is watched; the save itself says so."""
    root = workspace({"a.x": "first\n"})
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}, capabilities=AGENT) as client:
        client.open("a.x")
        client.open("x.toml", "")
        client.save("x.toml")
        assert await hover(client, "a.x") == "one: line 0: first"
    well_behaved(peer_log)


@pytest.mark.parametrize("folder", ["there", "not there yet"])
async def test_our_own_settings_are_read_again(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, home: Path, folder: str
) -> None:
    from tests.peers.road import user_file

    root = workspace(FILES)
    user = user_file(home)
    if folder == "not there yet":
        user.parent.rmdir()
        user.parent.parent.rmdir()
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}, capabilities=AGENT) as client:
        client.open("a.x")
        await hover(client, "a.x")
        await watching(client)
        for path in (root / ".ombud.toml", user):
            for text, wrong in (("nonsense = 1\n", True), ("", False)):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)

                async def told(wrong: bool = wrong) -> bool:
                    problems = (await client.request("ombud/status", {}))["problems"]
                    return any("nonsense" in problem for problem in problems) == wrong

                await wait_until(told, 20, f"{path} is read again")
    well_behaved(peer_log)
