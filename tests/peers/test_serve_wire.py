"""What a client may put on the wire, and what Ombud says to it: framing, bodies, text (incidents W1 to W9)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.client import Client
from tests.conftest import OmbudFactory, Workspace
from tests.framing import frame, frame_body
from tests.peers.road import entry, hover, peer_texts, serving, well_behaved
from tests.peers.script import PeerLog, Script
from tests.waiting import wait_until

INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}
# A lone surrogate in JSON, an astral character beside it and DEL, which Ombud's own detour for surrogates uses.
ODD = "a\ud83d b\U0001f600\x7f\u00fc"


async def refusal(client: Client) -> dict[str, Any]:
    """The anonymous error that a client with a broken stream is told before the connection ends with code 1."""
    assert await client.wait_exit(10) == 1
    (error,) = client.anonymous_errors
    assert error["code"] == -32600
    assert error["data"]["kind"] == "malformed_header"
    return error


# -- headers


async def test_W1_a_length_of_5000_digits_is_refused_and_what_came_before_is_answered(ombud: OmbudFactory) -> None:
    async with ombud(strict=False) as client:
        answer = client.expect(1, "initialize")
        await client.send_raw(frame(INITIALIZE) + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n{}")
        assert "capabilities" in await client.answer(answer)
        assert "10 digits" in (await refusal(client))["message"]
    assert client.violations == ["the connection ended before the client said goodbye"]


@pytest.mark.parametrize(
    "header",
    [
        b"content-length:%d\r\n\r\n",
        b"CONTENT-LENGTH: %d\r\n\r\n",
        b"Content-Length: %d\n\n",
        b"Content-Length:%d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf8\nCONTENT-length: %d\n\n",
    ],
)
async def test_W2_header_variants_are_understood(ombud: OmbudFactory, header: bytes) -> None:
    body = json.dumps(INITIALIZE).encode()
    async with ombud() as client:
        answer = client.expect(1, "initialize")
        await client.send_raw(header % len(body) + body)
        assert "capabilities" in await client.answer(answer)


@pytest.mark.parametrize(
    "stream",
    [
        b"Content-Length: abc\r\n\r\n",
        b"Content-Length: -5\r\n\r\n",
        b"Content-Length: +5\r\n\r\n",
        b"Content-Length:\r\n\r\n",
        b"Content-Type: text/plain\r\n\r\n",
        b"Content-Length 5\r\n\r\n{}",
        b"Content-Length: 99999999999999\r\n\r\n",
        b"Content-Length: 9999999999\r\n\r\n",
        b'{"jsonrpc": "2.0", "id": 1, "method": "initialize"}',
        b"X: " + b"x" * 70_000 + b"\r\n\r\n",
    ],
    ids=lambda stream: stream[:24].decode(),
)
async def test_W2_any_other_header_is_refused_with_a_message(ombud: OmbudFactory, stream: bytes) -> None:
    async with ombud() as client:
        await client.send_raw(stream)
        assert (await refusal(client))["message"].endswith(".")


@pytest.mark.parametrize("second", [b"5", b"2"], ids=["agreeing", "contradicting"])
async def test_W4_two_lengths_are_refused(ombud: OmbudFactory, second: bytes) -> None:
    async with ombud() as client:
        await client.send_raw(b"Content-Length: 2\r\nContent-Length: " + second + b"\r\n\r\n{}")
        assert "Content-Length" in (await refusal(client))["message"]


async def test_W5_a_client_that_prints_a_banner_is_refused(ombud: OmbudFactory) -> None:
    async with ombud() as client:
        await client.send_raw(b"Welcome to my editor!\n" + frame(INITIALIZE))
        assert "Welcome" in (await refusal(client))["message"]


async def test_W6_lines_and_bodies_of_megabytes_pass_in_both_directions(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({"x.toml": "", "a.x": ""})
    text = "first\n" + "y" * 3_000_000
    one = Script("one", bigAnswer=5_000_000, log=peer_log)
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x", text)
        said = await hover(client, "a.x")
        assert said.startswith("one: line 0: first x")
        assert len(said) >= 5_000_000
        assert (await peer_texts(client, "one"))["a.x"] == text
    well_behaved(peer_log)


# -- bodies


BROKEN = [
    (b"{", -32700),
    (b"", -32700),
    (b"\xff\xfe\x00", -32700),
    (b'{"jsonrpc": "2.0", "method": "\xc3"}', -32700),
    (b"nonsense", -32700),
    (b"[1, 2]", -32600),
    (b"7", -32600),
    (b"null", -32600),
    (b'{"jsonrpc": "2.0"}', -32600),
    (b'[{"jsonrpc": "2.0", "id": 1, "method": "initialize"}]', -32600),
    (b'{"jsonrpc": "2.0", "id": null, "method": "initialize"}', -32600),
    (b'{"jsonrpc": "2.0", "id": 1, "result": 1, "error": {"code": 1, "message": ""}}', -32600),
    (b'{"jsonrpc": "2.0", "method": 5}', -32600),
    (b'{"jsonrpc": "2.0", "method": "\\ud83d"}', -32600),
]


async def test_W3_W9_malformed_bodies_are_answered_and_the_connection_goes_on(ombud: OmbudFactory) -> None:
    async with ombud() as client:
        for body, _ in BROKEN:
            await client.send_body(body)
        await client.initialize()
        assert [error["code"] for error in client.anonymous_errors] == [code for _, code in BROKEN]
        assert {error["data"]["kind"] for error in client.anonymous_errors} == {"malformed_message"}
        assert (await client.request("ombud/status", {}))["servers"] == []
        assert [one.method for one in client.notifications] == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"jsonrpc": "2.0", "id": 77, "method": "textDocument/hover", "params": 5}', -32600),
        (b'{"jsonrpc": "2.0", "id": 77, "method": "textDocument/hover", "params": "text"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 77, "method": ["hover"]}', -32600),
        (b'{"jsonrpc": "2.0", "id": 77, "method": "textDocument/hover", "params": {', -32700),
    ],
)
async def test_W9_a_malformed_request_with_a_legible_id_is_answered_under_it(
    ombud: OmbudFactory, body: bytes, code: int
) -> None:
    async with ombud() as client:
        await client.initialize()
        pending = client.expect(77)
        await client.send_body(body)
        await client.drain()
        with pytest.raises(Exception, match=str(code)):
            await client.answer(pending)
        assert (await client.request("ombud/status", {}))["servers"] == []


@pytest.mark.parametrize(
    "params",
    [
        '{"a":' * 300 + "1" + "}" * 300,
        "[" * 100_000 + "]" * 100_000,
        "[" * 100_000,
        '{"n": ' + "9" * 1_000_000 + "}",
        '{"n": 0.' + "1" * 1_000_000 + "}",
        '{"n": NaN}',
        '{"n": Infinity}',
    ],
    ids=["deep objects", "deep arrays", "unclosed", "long integer", "long fraction", "NaN", "Infinity"],
)
async def test_W8_bombs_are_refused_before_they_are_parsed(ombud: OmbudFactory, params: str) -> None:
    async with ombud() as client:
        await client.initialize()
        pending = client.expect(77)
        await client.send_body(f'{{"jsonrpc":"2.0","id":77,"method":"ombud/status","params":{params}}}'.encode())
        with pytest.raises(Exception, match="-32700"):
            await client.answer(pending, 5)
        assert (await client.request("ombud/status", {}))["servers"] == []


async def test_W8_what_is_within_the_limits_passes(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({"x.toml": "", "a.x": "first"})
    async with serving(ombud, root, {"one": Script("one")}) as client:
        client.open("a.x")
        deep: Any = 9**300
        for _ in range(250):
            deep = [deep]
        found = await client.request("workspace/executeCommand", {"command": "one.echo", "arguments": deep})
        assert found == {"by": "one", "arguments": deep}


# -- text that is no Unicode


async def test_W7_lone_surrogates_pass_byte_for_byte_from_server_to_client(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace({"x.toml": "", "a.x": ""})
    async with serving(ombud, root, {"one": Script("one", surrogates=True)}) as client:
        client.open("a.x", f"{ODD}\nERROR(e1): odd")
        pending = client.start_request("textDocument/hover", client.at("a.x", 0, 0))
        found = await client.answer(pending)
        assert found["contents"] == f"one: line 0: {ODD}\ud83d"
        # The scripted server writes compact ASCII where a surrogate is in the message; each byte of it arrives.
        assert json.dumps(found, separators=(",", ":")).encode() in pending.raw
        diagnostics = await client.wait_diagnostics("a.x")
        assert diagnostics[0]["message"] == "odd\ud83d"
        references = client.start_request(
            "textDocument/references", {**client.at("a.x", 0, 0), "context": {"includeDeclaration": True}}
        )
        assert (await client.answer(references))[-1]["lone"] == "\ud83d"


async def test_W7_lone_surrogates_reach_every_server_in_didOpen_and_didChange(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path
) -> None:
    root = workspace({"x.toml": "", "a.x": ""})
    logs = [PeerLog(tmp_path / f"{kind}.jsonl") for kind in (2, 1)]
    servers = {
        f"sync{kind}": entry(Script(f"sync{kind}", sync=kind, log=log)) for kind, log in zip((2, 1), logs, strict=True)
    }
    async with serving(ombud, root, servers) as client:
        client.open("a.x", f"{ODD}\nlast")
        # The surrogate counts as one unit, the astral character as two: the change lands behind both of them.
        place = {"line": 0, "character": 7}
        client.change("a.x", [{"range": {"start": place, "end": place}, "text": "\udc00!"}])
        wanted = "a\ud83d b\U0001f600\x7f\udc00!\u00fc\nlast"
        assert client.documents[client.uri("a.x")].text == wanted
        assert await hover(client, "a.x") == "sync2: line 0: " + wanted.partition("\n")[0]
        for name in servers:
            assert await peer_texts(client, name) == {"a.x": wanted}
    well_behaved(*logs)


async def test_W7_params_with_lone_surrogates_pass_to_the_server_and_errors_with_them_come_back(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace({"x.toml": "", "a.x": "first"})
    error = {"code": -32803, "message": f"cannot: {ODD}", "data": {"word": ODD}}
    one = Script("one", errorsOn={"textDocument/definition": error})
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x")
        echo = {"command": "one.echo", "arguments": [ODD, {ODD: "\udfff"}]}
        assert (await client.request("workspace/executeCommand", echo))["arguments"] == echo["arguments"]
        with pytest.raises(Exception) as caught:  # its parts are compared below
            await client.request("textDocument/definition", client.at("a.x", 0, 0))
        assert caught.value.message == error["message"]  # type: ignore[attr-defined]
        assert caught.value.data == error["data"]  # type: ignore[attr-defined]


async def test_a_stream_in_single_bytes_is_one_stream(ombud: OmbudFactory) -> None:
    async with ombud() as client:
        answer = client.expect(1, "initialize")
        for byte in frame(INITIALIZE):
            client.link.write(bytes([byte]))
        assert "capabilities" in await client.answer(answer)
        # Half a frame is not an answer yet, and not a fault either.
        later = client.expect(2)
        body = b'{"jsonrpc": "2.0", "id": 2, "method": "ombud/status"}'
        await client.send_raw(frame_body(body)[:20])
        await wait_until(lambda: not client.link.pending_bytes(), 5)
        assert not later.done()
        await client.send_raw(frame_body(body)[20:])
        assert (await client.answer(later))["servers"] == []
