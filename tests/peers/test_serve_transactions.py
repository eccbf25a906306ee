"""Transactions over LSP: all that is written from the begin on is kept together, or taken back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.conftest import OmbudFactory, Workspace
from tests.peers.road import (
    connected,
    failure,
    listening,
    peer_texts,
    serving,
    together,
)
from tests.peers.script import Script
from tests.peers.writer import FILES, MOVES, TEXTS, Json, Writer, writing
from tests.waiting import wait_until


@pytest.fixture
async def writer(ombud: OmbudFactory, workspace: Workspace) -> AsyncIterator[Writer]:
    """A session without language servers."""
    async with writing(ombud, workspace(FILES)) as made:
        yield made


async def begin(writer: Writer) -> None:
    assert (await writer.ask("transaction", action="begin"))["state"] == "begun"


async def test_a_commit_keeps_everything(writer: Writer) -> None:
    await begin(writer)
    made = await writer.save("a.x", "1\n")
    await writer.save("b.x", "2\n")
    result = await writer.ask("transaction", action="commit")
    assert (result["state"], result["checkpoint"]) == ("committed", made)
    assert writer.texts() == {**TEXTS, "a.x": "1\n", "b.x": "2\n"}
    await writer.back(result["checkpoint"])
    assert writer.texts() == TEXTS


async def test_an_abort_restores_everything_since_the_begin_and_answers_as_a_write(writer: Writer) -> None:
    await writer.save("a.x", "before\n")
    before = writer.state()
    await begin(writer)
    await writer.save("new/n.x", "n\n")
    await writer.ask("applyPatch", patch=MOVES.replace("first", "before"), waitMs=0)
    await writer.save("sub/moved.x", "moved and edited\n")
    after = writer.state()
    result = await writer.ask("transaction", action="abort")
    assert next(iter(result)) == "applied"
    assert (result["applied"], result["state"]) == (True, "aborted")
    assert {one["path"] for one in result["files"]} == {"a.x", "b.x", "new/d.x", "new/n.x", "sub/c.x"}
    assert writer.state() == before
    assert not (writer.root / "new").exists()
    assert (await writer.refused("transaction", action="abort")).kind == "conflict"
    await writer.back(result["checkpoint"])
    assert writer.state() == after, "an abort is a write as well"


FAILING: dict[str, tuple[str, Json, str]] = {
    "old text that is not there": ("edit", {"path": "a.x", "edits": [{"oldText": "no", "newText": ""}]}, "conflict"),
    "a file that is not there": ("edit", {"path": "no.x", "edits": [{"oldText": "no", "newText": ""}]}, "not_found"),
    "outside": ("write", {"path": "../out.x", "content": ""}, "outside_workspace"),
    "a secret": ("write", {"path": ".env", "content": ""}, "sensitive_path"),
    "no patch": ("applyPatch", {"patch": "nonsense"}, ""),
    "a patch that does not fit": ("applyPatch", {"patch": MOVES}, "conflict"),
    "a rollback to nowhere": ("rollback", {"checkpoint": "c99"}, "not_found"),
    "params that are none": ("write", {"path": "a.x", "contents": ""}, "invalid_params"),
    "binary": ("write", {"path": "a.x", "content": "a\0b"}, "not_text"),
}


@pytest.mark.parametrize("what", FAILING)
async def test_a_write_that_fails_restores_everything_since_the_begin(writer: Writer, what: str) -> None:
    name, params, kind = FAILING[what]
    plain = await writer.refused(
        name, **{**params, **({} if what != "a patch that does not fit" else {"patch": MOVES.replace("first", "x")})}
    )
    await writer.save("sub/c.x", "before\n")
    before = writer.state()
    await begin(writer)
    await writer.save("a.x", "1\n")
    await writer.save("new/n.x", "n\n")
    error = await writer.refused(name, **params)
    assert (error.code, error.kind) == (plain.code, plain.kind)
    assert error.kind == kind or not kind
    assert writer.state() == before
    assert sorted(error.data["rolledBack"]) == ["a.x", "new/n.x"]
    assert "Everything since the begin of the transaction was restored" in error.message
    assert (await writer.refused("transaction", action="commit")).kind == "conflict"
    assert not (writer.root / "new").exists()
    # What comes after belongs to no transaction.
    await writer.save("a.x", "2\n")
    await writer.refused("edit", path="a.x", edits=[{"oldText": "absent", "newText": ""}])
    assert writer.texts()["a.x"] == "2\n"


async def test_a_preview_in_a_transaction_ends_nothing(writer: Writer) -> None:
    await begin(writer)
    await writer.save("a.x", "1\n")
    preview = await writer.ask("write", path="b.x", content="2\n", preview=True, waitMs=0)
    assert preview["applied"] is False
    bad = [{"oldText": "absent", "newText": ""}]
    error = await writer.refused("edit", path="a.x", edits=bad, preview=True)
    assert (error.kind, "rolledBack" in error.data) == ("conflict", False)
    await writer.refused("lsp", action="hover", path="nowhere.x", line=1, symbol="x")
    await writer.refused("transaction", action="begin")
    await writer.refused("transaction", action="nonsense")
    assert (await writer.ask("transaction", action="commit"))["state"] == "committed"
    assert writer.texts() == {**TEXTS, "a.x": "1\n"}


async def test_begin_and_end_say_what_is_wrong(writer: Writer) -> None:
    for action in ("commit", "abort"):
        error = await writer.refused("transaction", action=action)
        assert (error.code, error.kind) == (-32803, "conflict")
        assert "no open transaction" in error.message
    await begin(writer)
    error = await writer.refused("transaction", action="begin")
    assert (error.code, error.kind) == (-32803, "conflict")
    assert "open already" in error.message
    assert (await writer.ask("transaction", action="abort"))["files"] == []
    await begin(writer)
    assert "checkpoint" not in await writer.ask("transaction", action="commit")


async def test_an_abort_is_refused_where_somebody_else_changed_a_file_and_can_be_tried_again(writer: Writer) -> None:
    await begin(writer)
    await writer.save("a.x", "1\n")
    await writer.save("b.x", "2\n")
    (writer.root / "b.x").write_text("theirs\n")
    error = await writer.refused("transaction", action="abort")
    assert (error.kind, error.data["paths"]) == ("file_changed", ["b.x"])
    assert "still open" in error.message
    assert writer.texts() == {**TEXTS, "a.x": "1\n", "b.x": "theirs\n"}
    # A write that fails now cannot restore either; it says so beside what was wrong with it.
    error = await writer.refused("edit", path="a.x", edits=[{"oldText": "absent", "newText": ""}])
    assert (error.kind, error.data["notRolledBack"]) == ("conflict", ["b.x"])
    assert "still open" in error.message
    assert writer.texts()["a.x"] == "1\n"
    (writer.root / "b.x").write_text("2\n")
    assert (await writer.ask("transaction", action="abort"))["applied"]
    assert writer.texts() == TEXTS


async def test_writes_of_a_transaction_keep_their_order(writer: Writer) -> None:
    """All is asked for at once: what comes before the begin and after the end does not belong to it."""
    client = writer.client
    asked = [
        client.start_request("ombud/write", {"path": "a.x", "content": "before\n", "waitMs": 0}),
        client.start_request("ombud/transaction", {"action": "begin"}),
        client.start_request("ombud/write", {"path": "b.x", "content": "within\n", "waitMs": 0}),
        client.start_request("ombud/edit", {"path": "b.x", "edits": [{"oldText": "within", "newText": "w"}]}),
        client.start_request("ombud/transaction", {"action": "abort"}),
        client.start_request("ombud/write", {"path": "sub/c.x", "content": "after\n", "waitMs": 0}),
    ]
    for one in asked:
        await client.answer(one)
    assert writer.texts() == {**TEXTS, "a.x": "before\n", "sub/c.x": "after\n"}


async def test_a_cancelled_write_ends_no_transaction(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    hangs = Script("one", diagnostics="pull", hangOn=["textDocument/diagnostic"])
    async with writing(ombud, root, one=hangs) as writer:
        await begin(writer)
        await writer.save("a.x", "1\n", diagnostics="none")
        pending = writer.client.start_request("ombud/write", {"path": "b.x", "content": "2\n", "waitMs": 60_000})
        await wait_until(lambda: (root / "b.x").read_text() == "2\n", 60, "the write is made")
        writer.client.cancel(pending)
        assert (await failure(pending, writer.client)).code == -32800
        await writer.ask("transaction", action="abort", waitMs=0, diagnostics="none")
        assert writer.texts() == TEXTS


async def test_a_transaction_is_of_one_session(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with together(ombud, root, {}, "mine", "yours") as (one, other):
        mine, yours = Writer(one, root), Writer(other, root)
        await begin(mine)
        await begin(yours)
        await mine.save("a.x", "mine\n")
        await yours.save("b.x", "yours\n")
        await yours.refused("edit", path="b.x", edits=[{"oldText": "absent", "newText": ""}])
        assert mine.texts() == {**TEXTS, "a.x": "mine\n"}
        await mine.ask("transaction", action="commit")
        assert mine.texts() == {**TEXTS, "a.x": "mine\n"}


@pytest.mark.parametrize("how", ["goodbye", "closed", "terminated"])
async def test_the_end_of_the_connection_aborts(ombud: OmbudFactory, workspace: Workspace, how: str) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {}, strict=how == "goodbye") as client:
        writer = Writer(client, root)
        await writer.save("sub/c.x", "before\n")
        await begin(writer)
        await writer.save("a.x", "1\n")
        await writer.save("new/n.x", "n\n")
        await writer.save("b.x", "2\n")
        (root / "b.x").write_text("theirs\n")
        if how == "closed":
            client.link.close_input()
        elif how == "terminated":
            client.kill(15)
        if how != "goodbye":
            await client.wait_exit(25)
    assert "but for b.x" in client.stderr
    assert writer.texts() == {**TEXTS, "sub/c.x": "before\n", "b.x": "theirs\n"}
    assert not (root / "new").exists()


async def test_the_end_of_one_of_two_connections_aborts_and_the_other_hears_of_it(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    servers = {"one": Script("one")}
    async with listening(ombud, root) as (hub, port), connected(port, root, servers, name="stays") as stays:
        stays.open("a.x")
        stays.open("b.x")
        assert (await peer_texts(stays, "one"))["a.x"] == "first\n"
        async with connected(port, root, servers, name="goes") as goes:
            writer = Writer(goes, root)
            await begin(writer)
            await writer.save("a.x", "1\n", diagnostics="none")
            await writer.save("b.x", "2\n", diagnostics="none")
            assert (await peer_texts(stays, "one"))["a.x"] == "1\n"
            (root / "b.x").write_text("theirs\n")
        await wait_until(lambda: (root / "a.x").read_text() == "first\n", 30, "the abort")

        async def shown() -> str:
            return (await peer_texts(stays, "one"))["a.x"]

        async with asyncio.timeout(30):
            while await shown() != "first\n":
                pass
        assert (root / "b.x").read_text() == "theirs\n"
        await wait_until(lambda: "but for b.x" in hub.stderr, 20, "what was left is logged")
