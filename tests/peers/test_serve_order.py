"""Order and cancellation: what was said first is known first, and each request is answered once (W10, W11)."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from tests.client import Client, LspError, Pending
from tests.conftest import OmbudFactory, Workspace
from tests.peers.road import ask_hover, entry, failure, hover, peer_state, serving, wait_state, well_behaved
from tests.peers.script import PeerLog, Script

HUNDRED = 100


async def outcomes(client: Client, pending: list[Pending]) -> list[Any]:
    """What each request was answered: its result, or the code of its error."""
    found: list[Any] = []
    for one in pending:
        try:
            found.append(await client.answer(one))
        except LspError as error:
            found.append(error.code)
    return found


def interleave(client: Client) -> list[Pending]:
    """A hundred changes, alternately whole and incremental, each followed by a question about it."""
    pending = []
    for number in range(HUNDRED):
        if number % 2:
            last = {"line": 0, "character": 1_000}
            client.change("a.x", [{"range": {"start": {"line": 0, "character": 0}, "end": last}, "text": f"n{number}"}])
        else:
            client.change("a.x", f"n{number}")
        pending.append(ask_hover(client, "a.x"))
    return pending


async def test_W10_each_hover_knows_the_version_at_which_it_was_asked(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({"x.toml": "", "a.x": "start"})
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}) as client:
        client.open("a.x")
        await hover(client, "a.x")
        found = await outcomes(client, interleave(client))
        assert [one["contents"] for one in found] == [f"one: line 0: n{number}" for number in range(HUNDRED)]
    well_behaved(peer_log)


async def test_W10_order_is_kept_while_the_server_starts(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({"x.toml": "", "a.x": "start"})
    async with serving(ombud, root, {"one": Script("one", startDelayMs=400, log=peer_log)}) as client:
        client.open("a.x")
        pending = [ask_hover(client, "a.x"), *interleave(client)]
        await wait_state(client, "one", "starting")
        assert not any(one.done() for one in pending)
        found = await outcomes(client, pending)
        wanted = ["start", *(f"n{number}" for number in range(HUNDRED))]
        assert [one["contents"] for one in found] == [f"one: line 0: {text}" for text in wanted]
    well_behaved(peer_log)


async def test_W10_order_is_kept_by_a_server_that_takes_whole_texts_only(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({"x.toml": "", "a.x": "start"})
    async with serving(ombud, root, {"one": Script("one", sync=1, log=peer_log)}) as client:
        client.open("a.x")
        found = await outcomes(client, interleave(client))
        assert [one["contents"] for one in found] == [f"one: line 0: n{number}" for number in range(HUNDRED)]
    well_behaved(peer_log)


async def test_answers_in_an_odd_order_find_their_questions(ombud: OmbudFactory, workspace: Workspace) -> None:
    text = "\n".join(f"line{number}" for number in range(8))
    root = workspace({"x.toml": "", "a.x": text})
    async with serving(ombud, root, {"one": Script("one", reorder=4)}) as client:
        client.open("a.x")
        pending = [ask_hover(client, "a.x", line) for line in range(8)]
        arrived: list[Any] = []
        for one in pending:
            one.add_done_callback(lambda done: arrived.append(done.id))
        found = await outcomes(client, pending)
        assert [one["contents"] for one in found] == [f"one: line {line}: line{line}" for line in range(8)]
        await asyncio.sleep(0)
        first = pending[0].id
        assert isinstance(first, int)
        assert arrived == [first + step for step in (3, 2, 1, 0, 7, 6, 5, 4)]


async def test_answers_under_wrong_ids_and_second_answers_are_dropped(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace({"x.toml": "", "a.x": "first"})
    servers = {
        "also": entry(Script("also", wrongIds="also", answerTwice=True), extensions=[".x"]),
        "twice": entry(Script("twice", answerTwice=True), extensions=[".y"]),
    }
    workspace({"b.y": "second"})
    async with serving(ombud, root, servers) as client:
        for where, name, word in (("a.x", "also", "first"), ("b.y", "twice", "second")):
            client.open(where)
            found = await outcomes(client, [ask_hover(client, where) for _ in range(20)])
            assert [one["contents"] for one in found] == [f"{name}: line 0: {word}"] * 20


# -- cancelling


async def test_W11_a_late_answer_after_a_cancellation_is_dropped(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({"x.toml": "", "a.x": "first\nsecond"})
    one = Script("one", slow={"textDocument/definition": 60_000}, lateAnswerAfterCancel=200, log=peer_log)
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x")
        pending = client.start_request("textDocument/definition", client.at("a.x", 0, 0))
        (asked,) = await peer_log.wait_received("textDocument/definition")
        client.cancel(pending)
        error = await failure(pending, client, 5)
        assert (error.code, error.kind) == (-32800, "cancelled")
        (told,) = await peer_log.wait_received("$/cancelRequest")
        assert told["params"]["id"] == asked["id"]
        await peer_log.wait(lambda log: any(sent.get("id") == asked["id"] for sent in log.entries("sent")))
        # What comes after it in the stream is answered as ever; a second answer would be a violation.
        assert await hover(client, "a.x", 1) == "one: line 1: second"
        assert (await peer_state(client, "one"))["waiting"] == []


async def test_a_request_is_cancelled_while_its_server_starts(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({"x.toml": "", "a.x": "first"})
    async with serving(ombud, root, {"one": Script("one", startDelayMs=600, log=peer_log)}) as client:
        client.open("a.x")
        first, second = ask_hover(client, "a.x"), ask_hover(client, "a.x")
        client.cancel(first)
        assert (await failure(first, client, 5)).code == -32800
        assert not second.done()
        assert (await client.answer(second))["contents"] == "one: line 0: first"
        assert len(peer_log.received("textDocument/hover")) == 1
        assert peer_log.received("$/cancelRequest") == []
    well_behaved(peer_log)


async def test_a_request_is_cancelled_while_it_waits_for_the_second_server(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({"x.toml": "", "a.x": "first"})
    servers = {
        "one": entry(Script("one", features=["definition"]), priority=1),
        "two": entry(Script("two", hangOn=["textDocument/hover"], log=peer_log), priority=2),
    }
    async with serving(ombud, root, servers) as client:
        client.open("a.x")
        pending = ask_hover(client, "a.x")
        await peer_log.wait_received("textDocument/hover")
        client.cancel(pending)
        assert (await failure(pending, client, 5)).code == -32800
        await peer_log.wait_received("$/cancelRequest")
        assert await client.request("textDocument/definition", client.at("a.x", 0, 0))


async def test_a_joined_request_is_cancelled_after_one_of_its_servers_has_answered(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({"x.toml": "", "a.x": "first"})
    servers = {
        "one": entry(Script("one", features=["hover", "definition"]), priority=1),
        "two": entry(Script("two", hangOn=["textDocument/hover"], log=peer_log), priority=2),
    }
    async with serving(ombud, root, servers) as client:
        client.open("a.x")
        pending = ask_hover(client, "a.x")
        await peer_log.wait_received("textDocument/hover")
        # It answers in order, so its hover is there before this.
        assert await client.request("textDocument/definition", client.at("a.x", 0, 0))
        client.cancel(pending)
        assert (await failure(pending, client, 5)).code == -32800


async def test_a_cancellation_of_what_is_answered_or_unknown_is_ignored(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({"x.toml": "", "a.x": "first"})
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}) as client:
        client.open("a.x")
        pending = ask_hover(client, "a.x")
        await client.answer(pending)
        client.cancel(pending)
        client.cancel(10_000)
        client.cancel("nobody's")
        assert await hover(client, "a.x") == "one: line 0: first"
        assert peer_log.received("$/cancelRequest") == []


async def test_a_request_cancelled_twice_is_answered_once(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({"x.toml": "", "a.x": "first"})
    async with serving(ombud, root, {"one": Script("one", hangOn=["textDocument/definition"])}) as client:
        client.open("a.x")
        pending = client.start_request("textDocument/definition", client.at("a.x", 0, 0))
        client.cancel(pending)
        client.cancel(pending)
        assert (await failure(pending, client, 5)).code == -32800
        client.cancel(pending)
        assert await hover(client, "a.x") == "one: line 0: first"


async def test_a_cancelled_operation_is_answered_at_once_and_its_own_questions_are_cancelled(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({"x.toml": "", "a.x": "first"})
    one = Script("one", hangOn=["textDocument/hover"], log=peer_log)
    params = {"action": "hover", "path": "a.x", "line": 1, "symbol": "first"}
    async with serving(ombud, root, {"one": one}) as client:
        # The very first request of the own lane, cancelled while that lane is still being loaded.
        early = client.start_request("ombud/lsp", params)
        client.cancel(early)
        error = await failure(early, client, 5)
        assert (error.code, error.kind) == (-32800, "cancelled")
        later = client.start_request("ombud/lsp", params)
        (asked,) = await peer_log.wait_received("textDocument/hover")
        client.cancel(later)
        assert (await failure(later, client, 5)).code == -32800
        (told,) = await peer_log.wait_received("$/cancelRequest")
        assert told["params"]["id"] == asked["id"]
        command = {"command": "ombud.lsp", "arguments": [params]}
        third = client.start_request("workspace/executeCommand", command)
        await peer_log.wait_received("textDocument/hover", 2)
        client.cancel(third)
        assert (await failure(third, client, 5)).code == -32800
        assert (await client.request("ombud/status"))["servers"]


async def test_every_request_is_answered_exactly_once_whatever_happens(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    """Requests, changes and cancellations pell-mell, over a server that dies in the middle and comes back."""
    root = workspace({"x.toml": "", "a.x": "first", "b.y": ""})
    crash = {"method": "textDocument/hover", "nth": 25, "when": "midFrame"}
    one = Script("one", slow={"textDocument/definition": 20}, reorder=2, log=peer_log)
    one = one.but(perStart=[{"crashOn": [crash]}, {}])
    chance = random.Random(7)
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x")
        pending: list[Pending] = []
        for number in range(300):
            choice = chance.randrange(6)
            if choice == 0:
                client.change("a.x", f"n{number}")
            elif choice == 1 and pending:
                client.cancel(chance.choice(pending))
            elif choice == 2:
                pending.append(client.start_request("textDocument/definition", client.at("a.x", 0, 0)))
            elif choice == 3:
                pending.append(client.start_request("ombud/status"))
            elif choice == 4:
                pending.append(ask_hover(client, "b.y"))
            else:
                pending.append(ask_hover(client, "a.x"))
            if number % 10 == 0:
                await client.drain()
        # A server that holds an odd number of answers back lets go of the last one with the next question.
        pending += [ask_hover(client, "a.x"), ask_hover(client, "a.x")]
        await wait_state(client, "one", "crashed")
        await wait_state(client, "one", "ready")
        last = [ask_hover(client, "a.x"), ask_hover(client, "a.x")]
        found = await outcomes(client, last)
        text = client.documents[client.uri("a.x")].text
        assert [one["contents"] for one in found] == [f"one: line 0: {text}"] * 2
        for one_of_them in pending:
            await asyncio.wait({one_of_them}, timeout=20)
        assert all(one_of_them.done() for one_of_them in pending)
        codes = {code for code in await outcomes(client, pending) if isinstance(code, int)}
        assert codes == {-32800, -32803}
    well_behaved(peer_log)
