"""One conversation with a server's process: each request is answered once, whatever comes over the wire."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw
from ombud.downstream.link import BAD_BODIES, Link, Outcome, ServerError
from ombud.errors import Cancelled, OmbudError, PeerError
from ombud.process.child import Child
from ombud.wire.envelope import Message
from ombud.wire.framing import frame

from tests.waiting import wait_until


class Pipe:
    """What a link writes to in place of a process: it keeps what was written, as messages."""

    slow = False

    def __init__(self) -> None:
        self.written = bytearray()

    def write(self, data: bytes) -> None:
        self.written += data

    @property
    def messages(self) -> list[dict[str, Any]]:
        out = []
        rest = bytes(self.written)
        while rest:
            header, _, rest = rest.partition(b"\r\n\r\n")
            length = int(header.removeprefix(b"Content-Length: "))
            out.append(json.loads(rest[:length]))
            rest = rest[length:]
        return out


class Talk:
    """A link with both of its ends in hand."""

    def __init__(self) -> None:
        self.pipe = Pipe()
        self.heard: list[Message] = []
        self.broken: list[OmbudError] = []
        self.answers: dict[int, list[Outcome]] = {}
        self.link = Link("one", self.heard.append, self.broken.append)
        self.link.child = cast("Child", self.pipe)

    def call(self, method: str = "a", params: Any = None, timeout: float | None = None) -> int:
        answers: list[Outcome] = []
        identity = self.link.call(method, params if params is not None else {}, answers.append, timeout)
        self.answers[identity] = answers
        return identity

    def says(self, *bodies: bytes | dict[str, Any]) -> None:
        """The server says these, in one chunk."""
        self.link.feed(b"".join(frame(b if isinstance(b, bytes) else json.dumps(b).encode()) for b in bodies))

    def only(self, identity: int) -> Outcome:
        """The one answer that a request was given."""
        (outcome,) = self.answers[identity]
        return outcome


@pytest.fixture
def talk() -> Iterator[Talk]:
    talk = Talk()
    yield talk
    talk.link.close(PeerError("The test is over.", kind="server_failed"))
    assert all(len(answers) == 1 for answers in talk.answers.values())


def answer(identity: Any, result: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "result": result}


def words(outcome: Outcome) -> str:
    assert isinstance(outcome, PeerError)
    return outcome.message


# -- answers


def test_a_request_leaves_in_the_same_call_and_its_answer_comes_back(talk: Talk) -> None:
    identity = talk.call("textDocument/hover", {"x": 1})
    assert talk.pipe.messages == [
        {"jsonrpc": "2.0", "id": identity, "method": "textDocument/hover", "params": {"x": 1}}
    ]
    assert talk.link.pending == 1
    talk.says(b'{"jsonrpc":"2.0","id":%d,"result":{ "a":1.50 }}' % identity)
    outcome = talk.only(identity)
    assert isinstance(outcome, Raw)
    assert bytes(outcome) == b'{ "a":1.50 }'
    assert talk.link.pending == 0


def test_an_error_answer_is_handed_on_as_it_is(talk: Talk) -> None:
    identity = talk.call()
    talk.says(b'{"id":%d,"error":{ "code":-32801, "message":"\\ud83d", "data":[1] }}' % identity)
    outcome = talk.only(identity)
    assert isinstance(outcome, ServerError)
    assert bytes(outcome.raw) == b'{ "code":-32801, "message":"\\ud83d", "data":[1] }'
    assert (outcome.code, outcome.message) == (-32801, "\ud83d")


def test_null_is_an_answer(talk: Talk) -> None:
    identity = talk.call()
    talk.says(answer(identity))
    outcome = talk.only(identity)
    assert isinstance(outcome, Raw)
    assert bytes(outcome) == b"null"


def test_answers_may_come_in_any_order_and_in_one_chunk(talk: Talk) -> None:
    identities = [talk.call() for _ in range(20)]
    talk.says(*(answer(identity, identity) for identity in reversed(identities)))
    for identity in identities:
        outcome = talk.only(identity)
        assert isinstance(outcome, Raw)
        assert bytes(outcome) == b"%d" % identity


def test_W11_a_second_answer_is_dropped(talk: Talk) -> None:
    identity = talk.call()
    talk.says(answer(identity, 1), answer(identity, 2), {"id": identity, "error": {"code": 1, "message": "x"}})
    outcome = talk.only(identity)
    assert isinstance(outcome, Raw)
    assert bytes(outcome) == b"1"
    assert talk.broken == []


@pytest.mark.parametrize("wrong", [99, "1", "wrong", None, 0, -1, 1 << 70])
def test_W11_an_answer_to_nobody_is_dropped(talk: Talk, wrong: Any) -> None:
    identity = talk.call()
    talk.says(answer(wrong, "wrong") if wrong is not None else {"id": None, "error": {"code": 1, "message": "x"}})
    assert talk.answers[identity] == []
    talk.says(answer(identity, "right"))
    outcome = talk.only(identity)
    assert isinstance(outcome, Raw)
    assert bytes(outcome) == b'"right"'


def test_W11_ids_are_never_used_twice(talk: Talk) -> None:
    first = talk.call()
    talk.link.cancel(first)
    talk.says(answer(first))
    second = talk.call()
    assert second != first
    talk.says(answer(first, "late"))
    assert talk.answers[second] == []


# -- cancelling


def test_W10_a_cancelled_request_is_answered_at_once_and_the_server_told(talk: Talk) -> None:
    identity = talk.call()
    talk.link.cancel(identity)
    assert isinstance(talk.only(identity), Cancelled)
    assert talk.pipe.messages[1] == {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": identity}}
    # The server still owes it an answer, and it counts as busy until then (P2).
    assert talk.link.pending == 1
    talk.link.cancel(identity)
    assert len(talk.pipe.messages) == 2


def test_W11_what_a_server_answers_to_a_cancelled_request_is_dropped(talk: Talk) -> None:
    identity = talk.call()
    talk.link.cancel(identity)
    talk.says(answer(identity, "late"))
    assert isinstance(talk.only(identity), Cancelled)
    assert talk.link.pending == 0


def test_a_request_that_was_answered_cannot_be_cancelled(talk: Talk) -> None:
    identity = talk.call()
    talk.says(answer(identity, 1))
    talk.link.cancel(identity)
    talk.link.cancel(77)
    assert isinstance(talk.only(identity), Raw)
    assert len(talk.pipe.messages) == 1


# -- deadlines


async def test_P5_a_deadline_names_the_server_and_breaks_the_link(talk: Talk) -> None:
    late = talk.call("textDocument/hover", timeout=0.01)
    other = talk.call("textDocument/definition")
    await wait_until(lambda: talk.broken)
    outcome = talk.only(late)
    assert isinstance(outcome, PeerError)
    assert (outcome.kind, outcome.data) == ("timeout", {"server": "one", "method": "textDocument/hover"})
    assert "one did not answer textDocument/hover within 0.01 s" in outcome.message
    bystander = talk.only(other)
    assert isinstance(bystander, PeerError)
    assert (bystander.kind, bystander.data["server"]) == ("server_failed", "one")
    assert "because it did not answer textDocument/hover" in bystander.message
    assert talk.broken == [bystander]


async def test_P5_a_cancelled_request_that_is_never_answered_breaks_the_link_too(talk: Talk) -> None:
    identity = talk.call(timeout=0.01)
    talk.link.cancel(identity)
    await wait_until(lambda: talk.broken)
    assert isinstance(talk.only(identity), Cancelled)


async def test_an_answer_in_time_stops_the_clock(talk: Talk) -> None:
    identity = talk.call(timeout=0.01)
    last = talk.call(timeout=0.05)
    talk.says(answer(identity))
    await wait_until(lambda: talk.broken)
    assert isinstance(talk.only(identity), Raw)
    assert words(talk.only(last)).startswith("one did not answer a within 0.05 s")


# -- the end


def test_every_open_request_is_answered_when_the_process_is_gone(talk: Talk) -> None:
    identities = [talk.call() for _ in range(5)]
    talk.link.cancel(identities[0])
    talk.link.close(PeerError("one was killed by SIGKILL.", kind="server_failed"))
    assert isinstance(talk.only(identities[0]), Cancelled)
    assert {words(talk.only(identity)) for identity in identities[1:]} == {"one was killed by SIGKILL."}
    assert (talk.link.pending, talk.broken) == (0, [])


def test_after_the_end_requests_are_answered_with_its_reason_and_nothing_is_sent_or_heard(talk: Talk) -> None:
    before = talk.call()
    talk.link.close(PeerError("one is gone.", kind="server_failed"))
    sent = len(talk.pipe.messages)
    after = talk.call()
    talk.link.notify("x")
    talk.link.answer(1, None)
    talk.link.cancel(after)
    talk.says(answer(before), answer(after), {"method": "late"})
    assert words(talk.only(before)) == words(talk.only(after)) == "one is gone."
    assert (len(talk.pipe.messages), talk.heard) == (sent, [])


def test_a_request_made_while_others_are_answered_with_the_end_is_answered_too(talk: Talk) -> None:
    nested: list[Outcome] = []

    def again(_: Outcome) -> None:
        talk.link.call("b", {}, nested.append, None)

    talk.link.call("a", {}, again, None)
    talk.link.close(PeerError("one is gone.", kind="server_failed"))
    assert len(nested) == 1


# -- what the server says by itself


def test_messages_are_handed_on_in_their_order_between_the_answers(talk: Talk) -> None:
    order: list[Any] = []
    link = Link("one", lambda message: order.append(message.method), talk.broken.append)
    link.child = cast("Child", talk.pipe)
    identity = link.call("a", {}, lambda _: order.append("answer"), None)
    bodies: list[dict[str, Any]] = [{"method": "1"}, {"id": 1, "method": "2"}, answer(identity), {"method": "3"}]
    link.feed(b"".join(frame(json.dumps(body).encode()) for body in bodies))
    assert order == ["1", "2", "answer", "3"]


def test_the_servers_own_requests_are_answered_under_their_ids(talk: Talk) -> None:
    talk.says({"id": 1, "method": "x/a"}, {"id": "1", "method": "x/b"}, {"id": 1 << 70, "method": "x/c"})
    ids = [message.id for message in talk.heard]
    assert ids == [1, "1", 1 << 70]
    for identity in ids:
        assert isinstance(identity, int | str)
        talk.link.answer(identity, {"text": "\ud83d"})
    talk.link.refuse(1, {"code": -32601, "message": "no \ud83d"})
    assert [message["id"] for message in talk.pipe.messages] == [*ids, 1]
    assert talk.pipe.messages[0]["result"] == {"text": "\ud83d"}
    assert talk.pipe.messages[3]["error"] == {"code": -32601, "message": "no \ud83d"}


def test_a_message_that_its_hearer_stumbles_over_does_not_cost_the_next_one(
    talk: Talk, caplog: pytest.LogCaptureFixture
) -> None:
    heard = []

    def hear(message: Message) -> None:
        heard.append(message.method)
        if message.method == "bad":
            raise RuntimeError("a bug")

    def stumble(_: Outcome) -> None:
        raise RuntimeError("another bug")

    link = Link("one", hear, talk.broken.append)
    link.child = cast("Child", talk.pipe)
    first = link.call("a", {}, stumble, None)
    answers: list[Outcome] = []
    link.call("a", {}, stumble, None)
    link.call("a", {}, answers.append, None)
    bodies = [{"method": "good"}, {"method": "bad"}, answer(first), {"method": "good"}]
    link.feed(b"".join(frame(json.dumps(body).encode()) for body in bodies))
    assert heard == ["good", "bad", "good"]
    link.close(PeerError("one is gone.", kind="server_failed"))
    assert len(answers) == 1
    assert [record.levelname for record in caplog.records] == ["ERROR"] * 3


def test_a_flood_of_10_000_notifications_is_heard_whole_and_in_order(talk: Talk) -> None:
    identity = talk.call()
    stream = b"".join(frame(b'{"method":"n","params":[%d]}' % number) for number in range(10_000))
    stream += frame(b'{"id":%d,"result":1}' % identity)
    for at in range(0, len(stream), 65_536):
        talk.link.feed(stream[at : at + 65_536])
    assert [message.params for message in talk.heard if not isinstance(message.params, Raw)] == []
    numbers = [json.loads(bytes(message.params))[0] for message in talk.heard if isinstance(message.params, Raw)]
    assert numbers == list(range(10_000))
    assert isinstance(talk.only(identity), Raw)


# -- what is no message


def test_W5_junk_between_frames_is_skipped_and_kept(talk: Talk) -> None:
    first, second = talk.call(), talk.call()
    talk.link.feed(b"Welcome!\nno line end" + frame(b'{"id":%d,"result":1}' % first))
    talk.link.feed(b"\x1b[0mINFO: Content: more\r\n" + frame(b'{"id":%d,"result":2}' % second))
    assert isinstance(talk.only(first), Raw)
    assert isinstance(talk.only(second), Raw)
    assert talk.link.banner == "Welcome!\nno line end\x1b[0mINFO: Content: more\r\n"


def test_W5_what_a_server_printed_last_is_known_also_without_a_line_end(talk: Talk) -> None:
    talk.link.feed(b"usage: one [--stdio]")
    assert talk.link.banner == "usage: one [--stdio]"
    talk.link.feed(b" FILE\nContent-Le")
    assert talk.link.banner == "usage: one [--stdio] FILE\n"


def test_W7_answers_with_lone_surrogates_pass_byte_for_byte(talk: Talk) -> None:
    identity = talk.call(params={"text": "\ud83d"})
    assert talk.pipe.messages[0]["params"] == {"text": "\ud83d"}
    talk.says(b'{"id":%d,"result":[ "\\ud83d\\uDE00\\ud83d", 1.0 ]}' % identity)
    outcome = talk.only(identity)
    assert isinstance(outcome, Raw)
    assert bytes(outcome) == b'[ "\\ud83d\\uDE00\\ud83d", 1.0 ]'


def test_an_answer_that_is_not_utf8_is_repaired_as_editors_do(talk: Talk) -> None:
    identity = talk.call()
    talk.says(b'{"id":%d,"result":"caf\xe9"}' % identity)
    outcome = talk.only(identity)
    assert isinstance(outcome, Raw)
    assert bytes(outcome).decode() == '"caf\ufffd"'


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","id":%d}',
        b'{"jsonrpc":"2.0","id":%d,"result":1,"error":{"code":1,"message":""}}',
        b'{"jsonrpc":2.0,"id":%d,"result":1}',
        b'{"jsonrpc":"2.0","id":%d,"result":[1,]}',
        b'{"jsonrpc":"2.0","id":%d,"result":NaN}',
    ],
)
def test_W9_an_answer_that_cannot_be_read_is_an_error_at_once_and_not_a_time_out(talk: Talk, body: bytes) -> None:
    identity, other = talk.call("textDocument/hover"), talk.call()
    talk.says(body % identity)
    outcome = talk.only(identity)
    assert isinstance(outcome, PeerError)
    assert (outcome.kind, outcome.data) == ("server_failed", {"server": "one", "method": "textDocument/hover"})
    assert outcome.message.startswith("one answered textDocument/hover with a message that cannot be read: ")
    assert talk.answers[other] == []
    talk.says(answer(other))
    assert talk.broken == []


def test_W9_a_broken_request_of_the_servers_is_no_answer_to_ours(talk: Talk) -> None:
    identity = talk.call()
    talk.says(b'{"id":%d,"method":5}' % identity, b'{"jsonrpc":"2.0","id":%d,"method":"a","params":[NaN]}' % identity)
    assert talk.answers[identity] == []
    talk.says(answer(identity))
    assert isinstance(talk.only(identity), Raw)


@pytest.mark.parametrize("identity", [7, "seven"])
@pytest.mark.parametrize("rest", ['"params":true', '"params":"text"', '"params":{"a":}'])
def test_a_question_that_cannot_be_read_is_answered_too(talk: Talk, identity: int | str, rest: str) -> None:
    talk.says(f'{{"jsonrpc":"2.0","id":{json.dumps(identity)},"method":"workspace/applyEdit",{rest}}}'.encode())
    (answered,) = talk.pipe.messages
    assert (answered["id"], answered["error"]["code"] in (-32600, -32700)) == (identity, True)
    assert (talk.heard, talk.broken) == ([], [])


def test_W9_unreadable_bodies_are_borne_up_to_a_number(talk: Talk) -> None:
    identity = talk.call()
    for _ in range(BAD_BODIES):
        talk.says(b"{", {"method": "good"})
    assert (len(talk.heard), talk.broken) == (BAD_BODIES, [])
    talk.says(b"{", {"method": "never heard"})
    assert "keeps sending unreadable messages" in words(talk.only(identity))
    assert [error.kind for error in talk.broken] == ["server_failed"]
    assert talk.broken[0].data["server"] == "one"
    assert len(talk.heard) == BAD_BODIES


def test_W1_a_framing_fault_breaks_the_link_once_and_what_stood_before_it_counts(talk: Talk) -> None:
    good, bad = talk.call(), talk.call()
    talk.link.feed(frame(b'{"id":%d,"result":1}' % good) + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n")
    assert isinstance(talk.only(good), Raw)
    assert "broke the protocol: A Content-Length has more than 10 digits" in words(talk.only(bad))
    talk.says(answer(bad))
    assert len(talk.broken) == 1


@given(st.lists(st.sampled_from(["call", "cancel", "answer", "late", "wrong", "twice", "bad", "die"]), max_size=40))
def test_W11_each_request_is_answered_once_in_every_story(story: list[str]) -> None:
    talk = Talk()
    open_ids: list[int] = []
    for step, deed in enumerate(story):
        last = open_ids[step % len(open_ids)] if open_ids else 0
        if deed == "call":
            open_ids.append(talk.call())
        elif deed == "cancel":
            talk.link.cancel(last)
        elif deed == "die":
            talk.link.close(PeerError("one is gone.", kind="server_failed"))
        elif deed == "bad":
            talk.says(b'{"id":%d}' % last)
        else:
            stray: list[int | str] = [str(last), 10_000 + last]
            identities = stray if deed == "wrong" else [last, last] if deed == "twice" else [last]
            talk.says(*(answer(identity, deed) for identity in identities))
        assert all(len(answers) <= 1 for answers in talk.answers.values())
    talk.link.close(PeerError("The story is over.", kind="server_failed"))
    assert all(len(answers) == 1 for answers in talk.answers.values())
    assert talk.link.pending == 0
