"""What a slow client is sent and what not, by the marks of its transport's buffer."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import Raw
from ombud.faces.lsp import outbox
from ombud.faces.lsp.outbox import Outbox
from ombud.wire.framing import Framer


class Transport:
    """Keeps everything that is written, and passes its high mark after ``room`` frames."""

    def __init__(self) -> None:
        self.frames: list[Any] = []
        self.reading = True
        self.aborted = False
        self.room = 1000
        self.waiting = 0
        self.outbox: Outbox | None = None

    def write(self, data: bytes) -> None:
        self.frames += [msgspec.json.decode(body) for body in Framer().feed(data)]
        self.room -= 1
        if self.room == 0 and self.outbox is not None:
            self.outbox.pressed(True)

    def pause(self) -> None:
        self.reading = False

    def resume(self) -> None:
        self.reading = True

    def close(self) -> None:
        raise AssertionError("it is aborted, never closed")

    def abort(self) -> None:
        self.aborted = True


@pytest.fixture
def transport() -> Transport:
    return Transport()


def slow(transport: Transport) -> Outbox:
    made = transport.outbox = Outbox(transport)
    made.pressed(True)
    return made


def published(uri: str, count: int) -> dict[str, Any]:
    return {"uri": uri, "diagnostics": [{"message": str(number)} for number in range(count)]}


def test_a_slow_client_is_not_read_from_until_it_has_caught_up(transport: Transport) -> None:
    box = slow(transport)
    assert (box.slow, transport.reading) == (True, False)
    box.pressed(False)
    assert (box.slow, transport.reading) == (False, True)


@pytest.mark.parametrize(
    ("method", "params", "kept"),
    [
        ("window/logMessage", {"type": 3, "message": "x"}, True),
        ("telemetry/event", Raw(b'{"a":1}'), True),
        ("$/progress", {"token": 1, "value": {"kind": "report", "percentage": 5}}, True),
        ("$/progress", Raw(b'{"token":1,"value":{"kind":"report"}}'), True),
        ("$/progress", {"token": 1, "value": {"kind": "begin", "title": "x"}}, False),
        ("$/progress", Raw(b'{"token":1,"value":{"kind":"end"}}'), False),
        ("$/progress", Raw(b'{"token":1,"value":[{"a":1}]}'), False),
        ("window/showMessage", {"type": 1, "message": "x"}, False),
        ("ombud/introducedDiagnostics", {"diagnostics": []}, False),
        ("some/vendor", Raw(b"{}"), False),
    ],
)
def test_only_what_a_client_can_do_without_is_dropped(
    transport: Transport, method: str, params: Any, kept: bool
) -> None:
    box = slow(transport)
    assert box.keeps(method, params) is kept
    box.pressed(False)
    assert transport.frames == []


def test_of_each_document_and_server_the_newest_is_sent_when_it_reads_again(transport: Transport) -> None:
    box = slow(transport)
    for count in range(4):
        assert box.keeps("textDocument/publishDiagnostics", published("file:///a", count))
    assert box.keeps("textDocument/publishDiagnostics", published("file:///b", 1))
    for state in ("starting", "ready"):
        row = {"name": "one", "root": "/x", "state": state}
        assert box.keeps("ombud/statusChanged", {"servers": [row]})
    assert transport.frames == []
    box.pressed(False)
    assert [frame["params"] for frame in transport.frames] == [
        published("file:///a", 3),
        published("file:///b", 1),
        {"servers": [{"name": "one", "root": "/x", "state": "ready"}]},
    ]


def test_what_fills_the_buffer_again_waits_for_the_next_time(transport: Transport) -> None:
    box = slow(transport)
    for name in "abc":
        box.keeps("textDocument/publishDiagnostics", published(f"file:///{name}", 1))
    transport.room = 1
    box.pressed(False)
    assert [frame["params"]["uri"] for frame in transport.frames] == ["file:///a"]
    assert (box.slow, transport.reading) == (True, False)
    box.keeps("textDocument/publishDiagnostics", published("file:///b", 2))
    transport.room = 1000
    box.pressed(False)
    assert [len(frame["params"]["diagnostics"]) for frame in transport.frames] == [1, 1, 2]
    assert transport.reading


def test_what_is_held_back_counts_and_too_much_ends_it(transport: Transport, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "MOST_BYTES", 1000)
    box = slow(transport)
    transport.waiting = 700
    assert not box.full
    box.keeps("textDocument/publishDiagnostics", published("file:///a", 100))
    assert box.full
    # The newest of it is small again.
    box.keeps("textDocument/publishDiagnostics", published("file:///a", 0))
    assert not box.full
    transport.waiting = 1001
    assert box.full
    box.give_up()
    assert transport.aborted
    assert not box.slow
