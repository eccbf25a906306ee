"""The whole road in a test: a client, ``ombud serve``, and scripted language servers behind it.

    async with serving(ombud, root, {"one": Script("one", log=log)}) as client:
        client.open("a.x")
        assert await hover(client, "a.x") == "one: line 0: first"

The servers are for ``.x`` files under an ``x.toml`` unless their entry says otherwise. Times are seconds.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from tests.client import Client, LspError, Notification, Pending
from tests.conftest import ClientFactory, OmbudFactory
from tests.peers.script import PeerLog, Script, ombud_options
from tests.profiles import VSCODE
from tests.waiting import wait_until

Json = dict[str, Any]
Servers = Mapping[str, Script | Json]

HURRIED = Path(__file__).with_name("hurried.py")
MEDDLED = Path(__file__).with_name("meddled.py")
_LISTENS = re.compile(r"ombud listens on (\S+):(\d+)")


def entry(script: Script, settle_ms: int = 0, **more: Any) -> Json:
    """An entry for a scripted server, whose publishes stand at once unless ``settle_ms`` says otherwise."""
    return {**script.entry(**more), "diagnostics": {"settleMs": settle_ms, **more.get("diagnostics", {})}}


def options(servers: Servers, *, trusted: bool | None = True, **ombud: Any) -> Json:
    """``initializationOptions`` of a client that wants to hear of every state; ``trusted=None`` leaves it unsaid."""
    entries = {name: entry(one) if isinstance(one, Script) else one for name, one in servers.items()}
    said = {} if trusted is None else {"trusted": trusted}
    return ombud_options(entries, **{"statusNotifications": True, **said, **ombud})


def hurried(factory: ClientFactory, **clocks: Any) -> OmbudFactory:
    """``ombud`` with other clocks (``tests/peers/hurried.py``); ``__`` in a name stands for a dot."""
    said = json.dumps({name.replace("__", "."): value for name, value in clocks.items()})

    def make(*arguments: str, **more: Any) -> Client:
        argv = [sys.executable, "-P", str(HURRIED), said, "serve", *arguments]
        return factory(argv, **{"name": "ombud", **more})

    return make


def meddled(factory: ClientFactory, **asked: Any) -> OmbudFactory:
    """``ombud`` in whose way somebody gets (``tests/peers/meddled.py``)."""
    said = json.dumps(asked)

    def make(*arguments: str, **more: Any) -> Client:
        argv = [sys.executable, "-P", str(MEDDLED), said, "serve", *arguments]
        return factory(argv, **{"name": "ombud", **more})

    return make


@asynccontextmanager
async def serving(
    ombud: OmbudFactory,
    root: Path,
    servers: Servers,
    *,
    capabilities: Json | None = VSCODE,
    trusted: bool | None = True,
    strict: bool = True,
    **more: Any,
) -> AsyncIterator[Client]:
    """An initialized client of ``ombud serve`` in ``root``; ``more`` are further keys of the contract."""
    async with ombud(cwd=root, strict=strict) as client:
        await client.initialize(root, options(servers, trusted=trusted, **more), capabilities)
        yield client


@asynccontextmanager
async def listening(ombud: OmbudFactory, root: Path) -> AsyncIterator[tuple[Client, int]]:
    """``ombud serve --listen`` on a free port of the loopback, ended by SIGTERM: its process and the port."""
    async with ombud("--listen", "127.0.0.1:0", cwd=root, name="hub") as hub:
        (address,) = await wait_until(lambda: _LISTENS.findall(hub.stderr), 20, "the address is told")
        try:
            yield hub, int(address[1])
        finally:
            hub.kill(15)
            await hub.wait_exit(25)


@asynccontextmanager
async def connected(
    port: int,
    root: Path,
    servers: Servers,
    *,
    name: str,
    capabilities: Json | None = VSCODE,
    trusted: bool | None = True,
    strict: bool = True,
    **more: Any,
) -> AsyncIterator[Client]:
    """An initialized client of a hub that listens; ``name`` is how Ombud speaks of it: ``tests/<name>``."""
    async with Client.tcp("127.0.0.1", port, name=name, strict=strict) as client:
        await client.initialize(root, options(servers, trusted=trusted, **more), capabilities)
        yield client


@asynccontextmanager
async def together(
    ombud: OmbudFactory, root: Path, servers: Servers, *names: str, **more: Any
) -> AsyncIterator[list[Client]]:
    """A hub that listens and its clients, one for each name; ``more`` is as for `connected`, the same for all."""
    async with listening(ombud, root) as (_, port), AsyncExitStack() as stack:
        clients = [connected(port, root, servers, name=name, **more) for name in names]
        yield [await stack.enter_async_context(client) for client in clients]


def user_file(home: Path) -> Path:
    """The user's own ``ombud.toml``, in a folder that is there."""
    folder = home / ("Library/Application Support" if sys.platform == "darwin" else ".config") / "ombud"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "ombud.toml"


# -- asking


def ask_hover(client: Client, where: str, line: int = 0) -> Pending:
    return client.start_request("textDocument/hover", client.at(where, line, 0))


async def hover(client: Client, where: str, line: int = 0, timeout: float = 30) -> str:
    """What the first scripted server says: ``<name>: line <n>: <text of that line>``."""
    return (await hovers(client, where, line, timeout))[0]


async def hovers(client: Client, where: str, line: int = 0, timeout: float = 30) -> list[str]:
    """What each scripted server of a document says, in order of priority."""
    contents = (await client.answer(ask_hover(client, where, line), timeout))["contents"]
    return str(contents["value"] if isinstance(contents, dict) else contents).split("\n\n---\n\n")


async def peer_state(client: Client, name: str) -> Json:
    """What a running scripted server knows, asked through Ombud and in order with everything before."""
    found: Json = await client.request("workspace/executeCommand", {"command": f"{name}.state"})
    return found


async def peer_texts(client: Client, name: str) -> dict[str, str]:
    """File name → text, as a running scripted server knows its open documents."""
    documents = (await peer_state(client, name))["documents"]
    return {Path(uri).name: document["text"] for uri, document in documents.items()}


async def failure(pending: Pending, client: Client, timeout: float = 30) -> LspError:
    """The error that a request is answered with."""
    try:
        result = await client.answer(pending, timeout)
    except LspError as error:
        return error
    raise AssertionError(f"{pending.method} was answered with {result!r}")


# -- states


async def status(client: Client) -> dict[str, Json]:
    """The rows of ``ombud/status`` by server name."""
    found = await client.request("ombud/status", {})
    return {row["name"]: row for row in found["servers"]}


def rows(client: Client, name: str) -> Iterator[Json]:
    """Everything that was said of a server by ``ombud/statusChanged`` so far."""
    for one in client.notifications:
        if one.method == "ombud/statusChanged":
            yield from (row for row in one.params["servers"] if row["name"] == name)


def states(client: Client, name: str) -> list[str]:
    return [row["state"] for row in rows(client, name)]


async def wait_state(client: Client, name: str, state: str, timeout: float = 30) -> Json:
    """The row of the next ``ombud/statusChanged`` that says so; of each server those not yet waited for, in order."""

    def found(one: Notification) -> list[Json]:
        if one.method != "ombud/statusChanged":
            return []
        return [row for row in one.params["servers"] if row["name"] == name and row["state"] == state]

    notification = await client._next(client.notifications, f"a state of {name}", timeout, lambda one: bool(found(one)))
    return found(notification)[0]


# -- writing


async def edit(client: Client, path: str, old: str, new: str, **more: Any) -> Json:
    """``ombud/edit`` of one place."""
    params = {"path": path, "edits": [{"oldText": old, "newText": new}], **more}
    found: Json = await client.request("ombud/edit", params)
    return found


def introduced(result: Json) -> list[str]:
    """The codes of what a write introduced."""
    return [one["code"] for one in result["diagnostics"]["introduced"]]


def freshness(result: Json) -> dict[str, str]:
    """Server name → freshness, of a write or of ``ombud/diagnostics``."""
    servers = result["diagnostics"]["servers"] if "applied" in result else result["servers"]
    return {one["name"]: one["freshness"] for one in servers}


def codes(diagnostics: list[Json]) -> list[str]:
    return sorted(str(one["code"]) for one in diagnostics)


def well_behaved(*logs: PeerLog) -> None:
    """Ombud must have kept the protocol towards its servers, too."""
    for log in logs:
        assert log.violations() == []
        assert log.entries("bug") == []
