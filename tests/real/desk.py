"""One Ombud that several tests share: a client at work on a project whose servers have started once.

Starting the servers of a pair takes longer than all that they are asked, so a module's tests share a session. Each
works on files of its own (`Desk.write`), for what one test leaves in a document would be another's surprise.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.client import Client, LspError
from tests.conftest import OMBUD
from tests.connection import Json
from tests.isolation import isolated
from tests.profiles import VSCODE
from tests.real.cases import Spot
from tests.real.conftest import OFFLINE, SHARED
from tests.real.editor import CONTENT_MODIFIED, PATIENCE, RETRIES, Editor
from tests.toolbox import tool_path


class Desk(Editor):
    """An `Editor` that asks in the protocol's own words, and does what an editor does with the answers."""

    def write(self, path: str, text: str, language: str | None = None) -> str:
        """A file that was not there before, on disk and open, as when an editor makes one. Returns its URI."""
        target = self.root / path
        assert not target.exists(), f"{path} is another test's"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        created = {"uri": self.client.uri(path), "type": 1}
        self.client.notify("workspace/didChangeWatchedFiles", {"changes": [created]})
        return self.client.open(path, text, language)

    async def ask_at(self, method: str, spot: Spot, **more: Any) -> Any:
        """``textDocument/<method>`` at a place."""
        return await self.answered(f"textDocument/{method}", {**self.client.at(spot.path, *self.find(spot)), **more})

    async def ask_about(self, method: str, path: str, **more: Any) -> Any:
        """``textDocument/<method>`` about a whole document."""
        return await self.answered(f"textDocument/{method}", {"textDocument": {"uri": self.client.uri(path)}, **more})

    async def answered(self, method: str, params: Any) -> Any:
        """The answer. A server that has just learned more than it knew takes an answer back; editors ask again."""
        for attempt in range(RETRIES):
            try:
                return await self.client.request(method, params, PATIENCE)
            except LspError as error:
                if error.code != CONTENT_MODIFIED or attempt == RETRIES - 1:
                    raise
                await asyncio.sleep(0.2)
        raise AssertionError("not reached")

    async def published(self, path: str, *found: tuple[str, str]) -> list[Json]:
        """Wait until the client is shown at least these, each the source and the code; all that is shown then."""
        wanted = set(found)
        return await self.client.wait_diagnostics(path, lambda shown: wanted <= kinds(shown), PATIENCE)

    async def clean(self, path: str) -> list[Json]:
        """The diagnostics of our own operation, once every server has spoken about the content that the client has."""
        found, servers = await self.diagnostics(path)
        assert all(one["freshness"] == "fresh" for one in servers), servers
        return [one for one in found if one["severity"] in ("error", "warning")]

    def span(self, path: str, piece: str) -> Json:
        """The range of a piece of text that stands in the document once."""
        start, end = self.find(Spot(path, f"<|>{piece}")), self.find(Spot(path, f"{piece}<|>"))
        return {
            "start": {"line": start[0], "character": start[1]},
            "end": {"line": end[0], "character": end[1]},
        }

    async def actions(self, path: str, piece: str, shown: Sequence[Json] = (), **more: Any) -> dict[str, Json]:
        """The code actions for a piece of text, by title. ``shown`` are the diagnostics that the client has there."""
        span = self.span(path, piece)
        context = {"diagnostics": [one for one in shown if overlap(one["range"], span)], **more}
        found = await self.ask_about("codeAction", path, range=span, context=context)
        assert len({one["title"] for one in found}) == len(found), "two code actions of one name"
        return {one["title"]: one for one in found}

    async def do(self, action: Json) -> list[str]:
        """What an editor does when a code action is chosen: resolve it, apply its edit, run its command.

        Returns the URIs that its own edit changed; what a command changes comes as a request of the server's.
        """
        if "edit" not in action and not isinstance(action.get("command"), str):
            action = await self.client.request("codeAction/resolve", action, PATIENCE)
        changed = self.client.apply_workspace_edit(action["edit"]) if action.get("edit") else []
        command = action if isinstance(action.get("command"), str) else action.get("command")
        if command:
            await self.run(command["command"], command.get("arguments"))
        return changed

    async def run(self, command: str, arguments: Any = None) -> Any:
        """``workspace/executeCommand``. Fails where the command was not announced: editors would not offer it."""
        known = self.client.server_capabilities["executeCommandProvider"]["commands"]
        known += [
            name
            for one in self.client.registrations.values()
            if one["method"] == "workspace/executeCommand"
            for name in one["registerOptions"]["commands"]
        ]
        assert command in known, f"{command} was not announced"
        params = {"command": command, **({} if arguments is None else {"arguments": arguments})}
        return await self.client.request("workspace/executeCommand", params, PATIENCE)

    async def becomes(self, path: str, right: Callable[[str], bool]) -> str:
        """Wait until edits of a server's own (``workspace/applyEdit``) have made the document right; its text."""
        while not right(self.text(path)):
            await self.client.wait_request("workspace/applyEdit", timeout=PATIENCE)
        return self.text(path)

    async def formatted(self, path: str) -> str:
        """The document's text after ``textDocument/formatting``."""
        edits = await self.ask_about("formatting", path, options={"tabSize": 4, "insertSpaces": True})
        self.client.apply_workspace_edit({"changes": {self.client.uri(path): edits or []}})
        return self.text(path)

    async def completed(self, spot: Spot, label: str) -> Json:
        """The completion item of that label at a place, resolved."""
        answer = await self.ask_at("completion", spot)
        items = answer["items"] if isinstance(answer, dict) else answer
        item = next((one for one in items if one["label"].strip() == label), None)
        assert item is not None, f"{label} is not among {[one['label'] for one in items][:50]}"
        resolved: Json = await self.client.request("completionItem/resolve", item, PATIENCE)
        return resolved

    def lines(self, answer: Any) -> list[str]:
        """``path: source line`` of each place of an answer, in order of the paths."""
        places = answer if isinstance(answer, list) else [answer] if answer else []
        return sorted(self._line(place) for place in places)


def kinds(shown: Sequence[Json]) -> set[tuple[str, str]]:
    return {(str(one.get("source")), str(one.get("code"))) for one in shown}


def overlap(one: Json, other: Json) -> bool:
    def at(place: Json) -> tuple[int, int]:
        return place["line"], place["character"]

    return at(one["start"]) <= at(other["end"]) and at(other["start"]) <= at(one["end"])


def words(hover: Json | None) -> str:
    """The text of a hover, whichever form it has."""
    contents = (hover or {}).get("contents", "")
    parts = contents if isinstance(contents, list) else [contents]
    return "\n".join(part if isinstance(part, str) else part["value"] for part in parts)


@asynccontextmanager
async def seated(
    folder: Path, root: Path, *, capabilities: Json = VSCODE, options: Json | None = None, name: str
) -> AsyncIterator[Desk]:
    """A `Desk` in the project ``root``, with an environment of its own in ``folder``: the pinned tools, no network."""
    # biome binds a socket in the user's cache, and a socket's path has 107 bytes at most.
    short = Path(tempfile.mkdtemp(prefix="ombud-"))
    (short / "run").mkdir(mode=0o700)
    environment = isolated(folder / "home", tool_path().split(os.pathsep))
    environment |= {**OFFLINE, "XDG_CACHE_HOME": str(short / "cache"), "XDG_RUNTIME_DIR": str(short / "run")}
    client = Client.stdio([*OMBUD, "serve"], cwd=root, env=environment, name=name)
    SHARED.append(client.transcript)
    try:
        async with client:
            desk = Desk(client, root)
            await desk.initialize(capabilities, options=options)
            yield desk
    finally:
        SHARED.remove(client.transcript)
        shutil.rmtree(short, ignore_errors=True)
