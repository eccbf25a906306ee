"""``ombud serve --listen unix:PATH``: a socket that only its user can open, and that comes and goes with its hub."""

from __future__ import annotations

import os
import socket
import stat
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from ombud.errors import Refused
from ombud.faces.lsp import address, peer, unix
from ombud.faces.lsp.attach import reach

from tests.conftest import ClientFactory, OmbudFactory, Workspace
from tests.peers.hub import listening_on, run_folder, unix_client
from tests.peers.road import failure, hover, hurried, options, well_behaved
from tests.peers.script import PeerLog, Script
from tests.waiting import wait_until

__all__ = ["run_folder"]

FILES = {"x.toml": "", "a.x": "on disk\n"}


async def test_two_clients_share_a_hub_on_a_socket_of_mode_0600(
    ombud: OmbudFactory, workspace: Workspace, run_folder: Path, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    path = run_folder / "hub"
    said = options({"one": Script("one", log=peer_log)})
    async with listening_on(ombud, path) as hub:
        status = path.lstat()
        assert stat.S_ISSOCK(status.st_mode)
        assert stat.S_IMODE(status.st_mode) == 0o600
        assert "token" not in hub.stderr
        async with unix_client(path, name="left") as left, unix_client(path, name="right") as right:
            for client in (left, right):
                await client.initialize(root, said)
                client.open("a.x")
                assert await hover(client, "a.x") == "one: line 0: on disk"
        assert len(peer_log.starts()) == 1
    assert os.listdir(run_folder) == []
    well_behaved(peer_log)


async def test_the_socket_of_a_dead_hub_is_replaced_and_that_of_a_living_one_is_not(
    ombud: OmbudFactory, workspace: Workspace, run_folder: Path
) -> None:
    root = workspace(FILES)
    path = run_folder / "hub"
    async with ombud("--listen", f"unix:{path}", name="dead") as dead:
        await wait_until(lambda: "listens" in dead.stderr, 20)
        dead.kill(9)
        await dead.wait_exit(20)
    assert path.is_socket()
    async with listening_on(ombud, path):
        async with ombud("--listen", f"unix:{path}", name="second") as second:
            assert await second.wait_exit(20) == 1
            assert f"A hub listens on {path} already" in second.stderr
            assert f"ombud attach unix:{path}" in second.stderr
        async with unix_client(path) as client:
            await client.initialize(root)


async def test_what_is_no_socket_stays_and_a_hub_takes_away_only_its_own(ombud: OmbudFactory, run_folder: Path) -> None:
    path = run_folder / "hub"
    path.write_text("precious")
    async with ombud("--listen", f"unix:{path}") as refused:
        assert await refused.wait_exit(20) == 1
        assert "is no socket; nothing was changed" in refused.stderr
    assert path.read_text() == "precious"
    path.unlink()
    async with ombud("--listen", f"unix:{run_folder / 'nowhere' / 'hub'}") as refused:
        assert await refused.wait_exit(20) == 1
        assert "cannot be opened" in refused.stderr
    async with listening_on(ombud, path):
        path.unlink()
        path.write_text("another's")
    assert path.read_text() == "another's"


async def test_a_hub_that_is_left_alone_ends_by_itself(
    ombud: OmbudFactory, workspace: Workspace, run_folder: Path
) -> None:
    root = workspace(FILES)
    path = run_folder / "hub"
    async with ombud("--listen", f"unix:{path}", "--linger", "0.5", name="hub") as hub:
        await wait_until(lambda: "listens" in hub.stderr, 20)
        async with unix_client(path, name="first") as first:
            await first.initialize(root)
            async with unix_client(path, name="second") as second:
                await second.initialize(root)
            # One of two has left: nobody is alone.
            with pytest.raises(TimeoutError):
                await hub.wait_exit(1.5)
            await first.request("ombud/status", {})
        assert await hub.wait_exit(20) == 0
    assert os.listdir(run_folder) == []


async def test_one_client_too_many_is_told_so(
    client_factory: ClientFactory, workspace: Workspace, run_folder: Path
) -> None:
    root = workspace(FILES)
    path = run_folder / "hub"
    ombud = hurried(client_factory, app__MOST_CLIENTS=2, app__MOST_WAITING=1)
    async with listening_on(ombud, path):
        async with unix_client(path, name="first") as first, unix_client(path, name="second") as second:
            await first.initialize(root)
            async with unix_client(path, name="third", strict=False) as third:
                error = await failure(third.start_request("initialize", {"capabilities": {}}), third)
                assert (error.kind, "2 clients" in str(error)) == ("overloaded", True)
                await third.wait_exit(20)
            async with unix_client(path, name="waits", strict=False), unix_client(path, strict=False) as fourth:
                await fourth.wait_exit(20)
            # It counts whoever is connected, and is free again when one has left.
            await second.initialize(root)
        async with unix_client(path, name="later") as later:
            await later.initialize(root)


@pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="the system does not tell")
def test_the_peer_of_a_socket_is_known_by_its_user(monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = socket.socketpair()
    with left, right:
        assert unix.same_user(left) is True
        real = os.getuid()
        monkeypatch.setattr(os, "getuid", lambda: real + 1)
        assert unix.same_user(left) is False


def test_a_hub_of_another_user_is_told_nothing(monkeypatch: pytest.MonkeyPatch, run_folder: Path) -> None:
    path = run_folder / "hub"
    door = unix.Door(path)
    with door.socket:
        place = address.Unix(path)
        reach(place, start=False, linger=0).close()
        real = os.getuid()
        monkeypatch.setattr(os, "getuid", lambda: real + 1)
        with pytest.raises(Refused, match="belongs to another user") as refused:
            reach(place, start=True, linger=0)
        assert refused.value.kind == "permission_denied"
    door.close()


def test_a_hub_whose_backlog_is_full_lives(monkeypatch: pytest.MonkeyPatch, run_folder: Path) -> None:
    monkeypatch.setattr(unix, "BACKLOG", 0)
    monkeypatch.setattr(unix, "CONNECT_SECONDS", 0.1)
    path = run_folder / "hub"
    door = unix.Door(path)
    with door.socket, ExitStack() as waiting:
        with pytest.raises(BlockingIOError):
            for _ in range(10):
                waiting.enter_context(unix.connect(path))
        with pytest.raises(Refused, match="listens on"):
            unix.Door(path)
        assert path.exists()
    door.close()


def test_a_closed_hub_takes_nothing_of_the_next_one(monkeypatch: pytest.MonkeyPatch, run_folder: Path) -> None:
    # A file system may give the next file the number that this one had.
    monkeypatch.setattr(unix, "_identity", lambda path: path.lstat() and (1, 1))
    path = run_folder / "hub"
    former = unix.Door(path)
    with former.socket:
        former.close()
    assert not path.exists()
    door = unix.Door(path)
    with door.socket:
        former.close()
        assert path.exists()
        door.close()
    assert not path.exists()


def test_another_user_needs_the_token() -> None:
    stranger = peer.Peer(lambda _: pytest.fail("nothing is accepted here"), lambda _: False)
    assert not peer.admitted(stranger, None, "secret")
    assert not peer.admitted(stranger, {"token": 5}, "secret")
    assert not peer.admitted(stranger, {"token": "other"}, "secret")
    assert peer.admitted(stranger, {"token": "secret"}, "secret")
    stranger.trusted_user = True
    assert peer.admitted(stranger, None, "secret")
