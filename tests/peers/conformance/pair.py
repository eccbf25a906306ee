"""Two conformance servers behind Ombud, ``alpha`` before ``beta`` by priority, and what a test asks of both."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import OmbudFactory, Workspace
from tests.peers.conformance.answers import ANSWERS
from tests.peers.conformance.answers.ask import Ask
from tests.peers.conformance.requests import chosen, params_of
from tests.peers.conformance.talks import FILES, Talk, through

Json = dict[str, Any]
Start = Callable[..., AbstractAsyncContextManager[Talk]]
Variant = str | dict[str, str]

NAMES = ("alpha", "beta")


@pytest.fixture
def start(ombud: OmbudFactory, workspace: Workspace, tmp_path: Path) -> Start:
    """``async with start(alpha={…}, beta={…}) as talk``: keys of their entries, ``differently`` for the servers."""
    root, logs = workspace(FILES), tmp_path / "logs"
    logs.mkdir()

    def begun(alpha: Json | None = None, beta: Json | None = None, **more: Any) -> AbstractAsyncContextManager[Talk]:
        return through(ombud, root, logs, {"alpha": alpha or {}, "beta": beta or {}}, **more)

    return begun


async def ready(talk: Talk) -> None:
    """Both servers run from here on, so that none is passed over or comes late."""
    for name in ("alpha", "beta"):
        assert (await talk.command(f"{name}.state"))["violations"] == []
    talk.first = (await talk.command("conformance.shared"))["by"]


async def request(talk: Talk, method: str, variant: Variant = "pair", **more: Any) -> Any:
    return await talk.client.request(method, {**chosen(params_of(method, talk.uri), variant), **more}, 30)


def of(name: str, talk: Talk, method: str, variant: str, params: Json | None = None) -> Any:
    """What one server answers by itself."""
    asked_with = params_of(method, talk.uri) if params is None else params
    ask = Ask(name, talk.uri, asked_with, variant, 1)
    return ANSWERS[method][variant](ask)


def bare(items: Any) -> Any:
    """Items without ``data``: what stands there is between Ombud and the item's server."""
    return [{key: value for key, value in item.items() if key != "data"} for item in items]


def items_of(result: Any) -> Any:
    """The items of a completion list, or the list that an answer is."""
    return result["items"] if isinstance(result, dict) and "items" in result else result


def shared(talk: Talk, name: str) -> Json:
    """The command that both servers have, of one of them: whoever was there first keeps the name."""
    command = "conformance.shared" if name == talk.first else f"{name}:conformance.shared"
    return {"title": f"shared by {name}", "command": command, "arguments": [name]}
