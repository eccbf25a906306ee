"""Rows C1 to C9 at every way of writing: what is written is written whole, and as the file was; what is not is told."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.client import Client
from tests.commits import portrait
from tests.conftest import ClientFactory, OmbudFactory, Workspace
from tests.peers.road import failure, meddled, peer_texts, serving
from tests.peers.script import Script
from tests.peers.ways import TRIGGER, WAYS, WRITING, Answer, Way, Wish, offering, uri_of
from tests.profiles import AGENT

Json = dict[str, Any]
BASE = {"x.toml": "", TRIGGER: "trigger\n", "inner.x": "inner\n"}


def wishes_of(ways: list[Way], old: str = "old\n", new: str = "new\n") -> dict[Way, Wish]:
    """For each way a file of its own to change, or a place for a new one."""
    return {
        way: Wish(f"w{number}/a.x", old, new) if way.fits(Wish("", old)) else Wish(f"w{number}/fresh.x", None, new)
        for number, way in enumerate(ways)
    }


def files_of(wishes: dict[Way, Wish], content: str | bytes) -> dict[str, str | bytes]:
    return {**BASE, **{wish.path: content for wish in wishes.values() if wish.old is not None}}


def again(root: Path) -> None:
    """For the next way that moves ``inner.x`` somewhere, or something to ``elsewhere.x``."""
    (root / "inner.x").write_text("inner\n")
    (root / "elsewhere.x").unlink(missing_ok=True)


# -- C1, C2, C3: the commit


async def test_C1_a_file_that_changed_between_reading_and_writing_is_left_alone(
    client_factory: ClientFactory, workspace: Workspace, tmp_path: Path
) -> None:
    wishes = wishes_of(WAYS)
    root = workspace(files_of(wishes, "old\n"))
    orders = tmp_path / "orders"
    made = meddled(client_factory, at="workspace.commit.verify", orders=str(orders))
    async with serving(made, root, {"one": offering(root, list(wishes.values()))}, capabilities=AGENT) as client:
        for way, wish in wishes.items():
            again(root)
            (root / wish.path).parent.mkdir(exist_ok=True)
            orders.write_text(json.dumps([["write", str(root / wish.path), "a person's\n"]]))
            answer = await way.ask(client, root, wish)
            assert not orders.exists(), way.name
            assert answer.kind in ("file_changed", "refused") and wish.path in answer.said, (way.name, answer)
            assert (root / wish.path).read_text() == "a person's\n", way.name
            assert (root / "inner.x").read_text() == "inner\n" and not (root / "elsewhere.x").exists(), way.name
            # Read again, it can be written.
            (root / wish.path).unlink()
            if wish.old is not None:
                (root / wish.path).write_text(wish.old)
            answer = await way.ask(client, root, wish)
            assert answer.done, (way.name, answer)


MANY: dict[str, Callable[[Path, str], Json]] = {
    "a file that is not there": lambda root, to: texts(root, f"{to}/a.x", f"{to}/b.x", f"{to}/none.x"),
    "a file outside": lambda root, to: texts(root, f"{to}/a.x", f"{to}/b.x", "../outside/a.x"),
    "a protected file": lambda root, to: texts(root, f"{to}/a.x", ".env", f"{to}/b.x"),
    "a file that exists": lambda root, to: both(texts(root, f"{to}/a.x"), [made("create", root, f"{to}/b.x")]),
    "a file that is no text": lambda root, to: texts(root, f"{to}/a.x", f"{to}/b.x", "binary.x"),
    "a place that is not there": lambda root, to: both(texts(root, f"{to}/a.x"), [beyond(root, f"{to}/b.x")]),
}


def texts(root: Path, *paths: str, version: int | None = None, line: int = 0) -> Json:
    span = {"start": {"line": line, "character": 0}, "end": {"line": line + 1, "character": 0}}
    edits = [{"range": span, "newText": "new\n"}]
    return {
        "documentChanges": [
            {"textDocument": {"uri": uri_of(root, path), "version": version}, "edits": edits} for path in paths
        ]
    }


def made(kind: str, root: Path, path: str, to: str = "") -> Json:
    if kind == "rename":
        return {"kind": kind, "oldUri": uri_of(root, path), "newUri": uri_of(root, to)}
    return {"kind": kind, "uri": uri_of(root, path)}


def beyond(root: Path, path: str) -> Json:
    """An edit of two overlapping places."""
    change: Json = texts(root, path)["documentChanges"][0]
    return {**change, "edits": change["edits"] * 2}


def both(edit: Json, more: list[Json]) -> Json:
    return {"documentChanges": [*edit["documentChanges"], *more]}


SERVERS = ("action", "applied", "renamed")
"""The folders of the three ways in which a server's edit comes."""


async def server_says(
    ombud: OmbudFactory, root: Path, edit_for: Callable[[Path, str], Json], opened: str = ""
) -> dict[str, Answer]:
    """What becomes of an edit as a code action, as ``workspace/applyEdit`` and as a rename: each in a folder."""
    action = {"title": "do it", "kind": "quickfix", "edit": edit_for(root, "action")}
    answers = {"textDocument/codeAction": [action], "textDocument/rename": edit_for(root, "renamed")}
    place = {"path": TRIGGER, "line": 1, "symbol": "trigger"}

    async def of_action(client: Client, _root: Path, _wish: Wish, _more: Json) -> Any:
        return await client.request("ombud/lsp", {"action": "code_actions", **place, "apply": "do it"})

    async def of_server(client: Client, root: Path, _wish: Wish, _more: Json) -> Any:
        params = {"command": "one.applyEdit", "arguments": [edit_for(root, "applied")]}
        return await client.request("workspace/executeCommand", params)

    async def of_rename(client: Client, _root: Path, _wish: Wish, _more: Json) -> Any:
        return await client.request("ombud/rename", {**place, "newName": "other"})

    said = {}
    async with serving(ombud, root, {"one": Script("one", answers=answers)}, capabilities=AGENT) as client:
        for folder, send in zip(SERVERS, (of_action, of_server, of_rename), strict=True):
            if opened:
                client.open(f"{folder}/{opened}")
            await client.request("ombud/lsp", {"action": "symbols", "path": TRIGGER})
            said[folder] = await Way(folder, lambda _wish: True, send).ask(client, root, Wish(""))
    return said


def three(files: dict[str, str]) -> dict[str, str]:
    return {f"{folder}/{name}": text for folder in SERVERS for name, text in files.items()}


@pytest.mark.parametrize("what", MANY)
async def test_C1_of_a_servers_edit_over_several_files_none_is_made_if_one_cannot(
    ombud: OmbudFactory, workspace: Workspace, what: str
) -> None:
    workspace({"a.x": "old\n"}, name="outside")
    files: dict[str, str | bytes] = {**BASE, **three({"a.x": "old\n", "b.x": "old\n"}), ".env": "old\n"}
    root = workspace({**files, "binary.x": b"\0\1\xff" * 99})
    before = portrait(root.parent / "outside"), portrait(root)
    for folder, answer in (await server_says(ombud, root, MANY[what])).items():
        assert not answer.done and answer.kind != "internal", (folder, answer)
    assert (portrait(root.parent / "outside"), portrait(root)) == before


@contextmanager
def no_larger_file(pid: int, size: int) -> Iterator[None]:
    """No file of that process may grow beyond so many bytes: as a full disk, but for it alone."""
    import resource

    soft, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.skipif(sys.platform != "linux", reason="prlimit(2) is Linux's")
async def test_C2_where_there_is_no_space_the_old_bytes_survive_and_servers_see_them(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    wishes = wishes_of(WRITING, new="new " * 2500 + "\n")
    root = workspace(files_of(wishes, "old\n"))
    async with serving(ombud, root, {"one": offering(root, list(wishes.values()))}, capabilities=AGENT) as client:
        await client.request("ombud/lsp", {"action": "symbols", "path": TRIGGER})
        for way, wish in wishes.items():
            client.open(wish.path)
            before = portrait(root)
            with no_larger_file(client.link.pid, 8192):
                answer = await way.ask(client, root, wish)
            assert answer.kind in ("write_failed", "refused"), (way.name, answer)
            assert "Nothing was changed" in answer.said, (way.name, answer)
            assert portrait(root) == before, way.name
            assert (await peer_texts(client, "one"))["a.x"] == "old\n", way.name
            assert (await way.ask(client, root, wish)).done, way.name
            assert (root / wish.path).read_text() == wish.new
            client.close(wish.path)


@pytest.mark.skipif(sys.platform != "linux", reason="the log takes paths from /proc")
async def test_C3_nothing_takes_a_files_place_before_it_is_synced(
    client_factory: ClientFactory, workspace: Workspace, tmp_path: Path
) -> None:
    wishes = wishes_of(WAYS)
    two = "".join(f"--- a/two/{name}.x\n+++ b/two/{name}.x\n@@ -1 +1 @@\n-old\n+new\n" for name in "ab")
    root = workspace({**files_of(wishes, "old\n"), "two/a.x": "old\n", "two/b.x": "old\n"})
    log = tmp_path / "calls"
    made = meddled(client_factory, log=str(log))
    async with serving(made, root, {"one": offering(root, list(wishes.values()))}, capabilities=AGENT) as client:
        for way, wish in wishes.items():
            again(root)
            start = len(log.read_text().splitlines())
            assert (await way.ask(client, root, wish)).done, way.name
            synced_first(root, log.read_text().splitlines()[start:], way.name)
        start = len(log.read_text().splitlines())
        await client.request("ombud/applyPatch", {"patch": two})
        synced_first(root, log.read_text().splitlines()[start:], "two files", journal=True)


def synced_first(root: Path, lines: list[str], name: str, *, journal: bool = False) -> None:
    """Every new file is synced before it takes its place, its folder afterwards; the journal before all."""
    calls = [tuple(json.loads(line)) for line in lines]
    places = []
    for number, (what, *paths) in enumerate(calls):
        if what not in ("replace", "link") or not paths[-1].startswith(str(root)):
            continue
        new, target = paths[0], Path(paths[-1])
        if Path(new).name.startswith(".ombud-"):
            assert ("fsync", new) in calls[:number], (name, calls)
        if not target.name.startswith(".ombud-") or what == "replace":
            places.append((number, target))
    assert places, (name, calls)
    last = places[-1][0]
    for _, target in places:
        assert ("fsync", str(target.parent)) in calls[last:], (name, target, calls)
    if journal:
        early = [path for what, *path in calls[: places[0][0]] if what == "fsync" and path[0].endswith(".journal")]
        assert early, (name, calls)


# -- C4, C5: edits for a text that is not there, and the order of operations


async def test_C4_a_servers_edit_for_another_version_is_refused_whole(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace({**BASE, **three({"a.x": "old\n", "b.x": "old\n"})})
    before = portrait(root)

    def stale(root: Path, to: str) -> Json:
        return both(texts(root, f"{to}/a.x"), texts(root, f"{to}/b.x", version=99)["documentChanges"])

    for folder, answer in (await server_says(ombud, root, stale, opened="b.x")).items():
        assert answer.kind in ("file_changed", "conflict", "refused"), (folder, answer)
    assert portrait(root) == before


async def test_C4_a_stale_edit_or_patch_is_refused_whole(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({**BASE, "a.x": "old\n", "b.x": "newer\n"})
    before = portrait(root)
    hunks = "".join(f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-old\n+new\n" for name in ("a.x", "b.x"))
    edits = [{"oldText": "old", "newText": "new"}, {"oldText": "older", "newText": "x"}]
    async with serving(ombud, root, {}, capabilities=AGENT) as client:
        for operation, params in (("applyPatch", {"patch": hunks}), ("edit", {"path": "a.x", "edits": edits})):
            error = await failure(client.start_request(f"ombud/{operation}", params), client)
            assert error.kind == "conflict" and "candidates" in error.data, error
            assert portrait(root) == before


ORDERS: dict[str, tuple[Callable[[Path, str], list[Json]], dict[str, str | None]]] = {
    "edit, rename": (
        lambda root, to: [*texts(root, f"{to}/a.x")["documentChanges"], made("rename", root, f"{to}/a.x", f"{to}/b.x")],
        {"a.x": None, "b.x": "new\n"},
    ),
    "rename, edit": (
        lambda root, to: [made("rename", root, f"{to}/a.x", f"{to}/b.x"), *texts(root, f"{to}/b.x")["documentChanges"]],
        {"a.x": None, "b.x": "new\n"},
    ),
    "edit, rename, edit": (
        lambda root, to: [
            *texts(root, f"{to}/a.x")["documentChanges"],
            made("rename", root, f"{to}/a.x", f"{to}/deep/b.x"),
            *texts(root, f"{to}/deep/b.x", line=1)["documentChanges"],
        ],
        {"a.x": None, "deep/b.x": "new\nnew\n"},
    ),
    "create, edit, rename": (
        lambda root, to: [
            made("create", root, f"{to}/c.x"),
            {**texts(root, f"{to}/c.x")["documentChanges"][0]},
            made("rename", root, f"{to}/c.x", f"{to}/d.x"),
        ],
        {"a.x": "old\n", "c.x": None, "d.x": "new\n"},
    ),
    "two swap their names": (
        lambda root, to: [
            made("rename", root, f"{to}/a.x", f"{to}/t.x"),
            made("rename", root, f"{to}/other.x", f"{to}/a.x"),
            made("rename", root, f"{to}/t.x", f"{to}/other.x"),
        ],
        {"a.x": "other\n", "other.x": "old\n", "t.x": None},
    ),
    "delete, create, edit": (
        lambda root, to: [
            made("delete", root, f"{to}/a.x"),
            made("create", root, f"{to}/a.x"),
            *texts(root, f"{to}/a.x")["documentChanges"],
        ],
        {"a.x": "new\n"},
    ),
}


@pytest.mark.parametrize("order", ORDERS)
async def test_C5_operations_of_a_servers_edit_are_made_in_their_order(
    ombud: OmbudFactory, workspace: Workspace, order: str
) -> None:
    steps, expected = ORDERS[order]
    root = workspace({**BASE, **three({"a.x": "old\n", "other.x": "other\n"})})
    said = await server_says(ombud, root, lambda root, to: {"documentChanges": steps(root, to)})
    for folder, answer in said.items():
        assert answer.done, (folder, answer)
        for name, text in expected.items():
            path = root / folder / name
            assert (path.read_text() if path.exists() else None) == text, (folder, name)


async def test_C5_a_patch_that_renames_and_edits_keeps_the_edit(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({**BASE, "a.x": "old\nkept\n"})
    head = "diff --git a/a.x b/deep/b.x\nsimilarity index 50%\nrename from a.x\nrename to deep/b.x\n"
    body = "--- a/a.x\n+++ b/deep/b.x\n@@ -1,2 +1,2 @@\n-old\n+new\n kept\n"
    async with serving(ombud, root, {}, capabilities=AGENT) as client:
        result = await client.request("ombud/applyPatch", {"patch": head + body})
        (file,) = result["files"]
        assert (file["path"], file["status"], file["from"]) == ("deep/b.x", "renamed", "a.x")
        assert (root / "deep/b.x").read_text() == "new\nkept\n" and not (root / "a.x").exists()
        await client.request("ombud/rollback", {"checkpoint": result["checkpoint"]})
        assert (root / "a.x").read_text() == "old\nkept\n" and not (root / "deep/b.x").exists()


# -- C6, C8: what a file is made of, and what it is besides its bytes


SORTS: dict[str, Callable[[str], bytes]] = {
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "BOM": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "BOM and CRLF": lambda text: b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(),
    "UTF-16 LE": lambda text: b"\xff\xfe" + text.encode("utf-16-le"),
    "UTF-16 BE and CRLF": lambda text: b"\xfe\xff" + text.replace("\n", "\r\n").encode("utf-16-be"),
}


def moved_to(way: Way, root: Path, wish: Wish) -> Path | None:
    """Where the wish's own file is after a way has been gone; None for a way that deletes."""
    if way.name.startswith("delete"):
        return None
    return root / ("elsewhere.x" if way.name.endswith("from") else wish.path)


@pytest.mark.parametrize("sort", SORTS)
async def test_C6_encoding_byte_order_mark_and_line_ends_are_kept_and_come_back(
    ombud: OmbudFactory, workspace: Workspace, sort: str
) -> None:
    encode = SORTS[sort]
    ways = [way for way in WAYS if way.fits(Wish("", "old\n"))]
    wishes = wishes_of(ways)
    old, new = encode("old\nhält 𝄞\n"), encode("new\nhält 𝄞\n")
    root = workspace(files_of(wishes, old))
    async with serving(ombud, root, {"one": offering(root, list(wishes.values()))}, capabilities=AGENT) as client:
        for way, wish in wishes.items():
            again(root)
            if way.name == "write":
                # Line ends are as given there, and the encoding and the mark are the file's.
                text = "new\nhält 𝄞\n".replace("\n", "\r\n" if "CRLF" in sort else "\n")
                answer = await way.ask(client, root, Wish(wish.path, wish.old, text))
                assert answer.done, (way.name, answer)
            elif way.name == "delete by applyPatch":
                patch = f"--- a/{wish.path}\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-old\n-hält 𝄞\n"
                await client.request("ombud/applyPatch", {"patch": patch})
            else:
                answer = await way.ask(client, root, wish)
                assert answer.done, (way.name, answer)
            where = moved_to(way, root, wish)
            if where is not None:
                assert where.read_bytes() == (new if way in WRITING else old), way.name
            newest = (await client.request("ombud/checkpoints", {}))["checkpoints"][0]
            await client.request("ombud/rollback", {"checkpoint": newest["checkpoint"]})
            assert (root / wish.path).read_bytes() == old, f"rollback of {way.name}"


async def test_C8_links_modes_and_other_names_are_kept_and_come_back(ombud: OmbudFactory, workspace: Workspace) -> None:
    ways = [way for way in WRITING if way.fits(Wish("", "old\n"))]
    names = ("link.x", "tool.x", "twin.x")
    wishes = {way: [Wish(f"w{number}/{name}", "old\n") for name in names] for number, way in enumerate(ways)}
    root = workspace({**BASE, **{f"w{n}/{name}": "old\n" for n in range(len(ways)) for name in ("to.x", *names[1:])}})
    for number in range(len(ways)):
        (root / f"w{number}/link.x").symlink_to("to.x")
        (root / f"w{number}/tool.x").chmod(0o755)
        os.link(root / f"w{number}/twin.x", root / f"w{number}/other.x")
    before = portrait(root)
    everything = [wish for each in wishes.values() for wish in each]
    async with serving(ombud, root, {"one": offering(root, everything)}, capabilities=AGENT) as client:
        for number, way in enumerate(ways):
            folder = root / f"w{number}"
            inode = (folder / "twin.x").stat().st_ino
            for wish in wishes[way]:
                answer = await way.ask(client, root, wish)
                assert answer.done, (way.name, answer)
                assert (root / wish.path).read_text() == "new\n", way.name
            assert os.readlink(folder / "link.x") == "to.x" and (folder / "to.x").read_text() == "new\n"
            assert (folder / "tool.x").stat().st_mode & 0o7777 == 0o755
            assert (folder / "twin.x").stat().st_ino == inode == (folder / "other.x").stat().st_ino
        oldest = (await client.request("ombud/checkpoints", {}))["checkpoints"][-1]
        await client.request("ombud/rollback", {"checkpoint": oldest["checkpoint"]})
    assert portrait(root) == before


# -- C9: nobody reads in an error or a log what was in a file


SECRET = "ghp_" + "aB3dE5gH7jK9mN1pQ3rS5tU7vW9xY1zA2bC4"


async def test_C9_secrets_stand_in_no_error_no_message_and_no_log(ombud: OmbudFactory, workspace: Workspace) -> None:
    """But for the candidates in ``data`` of a text that is not found: they are the file's own, to be copied exactly."""
    line = f"token = '{SECRET}'\n"
    wishes = wishes_of(WAYS, old=f"tokens = '{SECRET}'\n", new=f"token = 'x{SECRET}'\n")
    root = workspace(files_of(wishes, line + "kept\n"))
    async with serving(ombud, root, {"one": offering(root, list(wishes.values()))}, capabilities=AGENT) as client:
        for way, wish in wishes.items():
            again(root)
            answer = await way.ask(client, root, wish)
            assert SECRET not in answer.message, (way.name, answer)
            assert way.name in ("edit", "applyPatch", "delete by applyPatch") or SECRET not in answer.said, way.name
        refusals = [
            ("edit", {"path": "w1/a.x", "edits": [{"oldText": "token = ''", "newText": SECRET}]}),
            ("write", {"path": "a.x", "content": SECRET, "wrong": SECRET}),
            ("applyPatch", {"patch": f"--- a/w1/a.x\n+++ b/w1/a.x\n@@ -1 +1 @@\n-{SECRET}\n+x\n"}),
            ("applyPatch", {"patch": f"{SECRET} is no patch"}),
        ]
        for operation, params in refusals:
            error = await failure(client.start_request(f"ombud/{operation}", params), client)
            assert SECRET not in error.message, (operation, params)
            error.data.pop("candidates", None)
            assert SECRET not in f"{error.data}", (operation, params)
        listed = await client.request("ombud/checkpoints", {})
        assert SECRET not in json.dumps(listed)
        assert all(SECRET not in json.dumps(one.params) for one in client.notifications)
    assert SECRET not in client.stderr
