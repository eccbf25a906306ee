"""A client at work on a sample project: places by the text around them, questions on both roads, states and processes.

Everything waits for answers and notifications. Times are seconds; line numbers count from one, as in the contract.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.client import Client, LspError
from tests.connection import Json
from tests.markers import CURSOR
from tests.positions import utf16_length
from tests.real.cases import Ask, Case, Finding, Spot
from tests.toolbox import copy_project, require
from tests.waiting import wait_until

PATIENCE = 90.0
"""Longer than any server here takes on a loaded machine, shorter than the end of the run."""
WAIT_MS = 60_000
SHIFT = 10
RUNNING = ("starting", "ready", "stopping")
CONTENT_MODIFIED = -32801
RETRIES = 20
METHODS = {
    "hover": "textDocument/hover",
    "symbols": "textDocument/documentSymbol",
    "definition": "textDocument/definition",
    "references": "textDocument/references",
    "completion": "textDocument/completion",
}


# -- texts


def shifted(text: str) -> str:
    """The same ten lines further down, all but the first, which may have to stay the first."""
    first, end, rest = text.partition("\n")
    return first + end + "\n" * SHIFT + rest


@dataclass(frozen=True)
class Planted:
    """A text with mistakes in it. ``lines`` are the first lines of the mistakes, from above."""

    text: str
    lines: tuple[int, ...]


def plant(case: Case, base: str, *numbers: int) -> Planted:
    """``base`` with the case's mistake, once for each of ``numbers``, from above."""
    head, tail = _split(case, base)
    lines = []
    for number in numbers:
        lines.append(head.count("\n") + 1)
        head += case.mistake.replace("{n}", str(number))
    return Planted(head + tail, tuple(lines))


def planting(case: Case, text: str, base: str, number: int) -> Json:
    """The edit that makes the mistake in ``text``, above those that have been made in ``base`` before."""
    head, _ = _split(case, base)
    lines = head.splitlines(keepends=True)
    old = next(old for count in range(1, len(lines) + 1) if text.count(old := "".join(lines[-count:])) == 1)
    return {"oldText": old, "newText": old + case.mistake.replace("{n}", str(number))}


def _split(case: Case, base: str) -> tuple[str, str]:
    if case.below is None:
        return base, ""
    assert base.count(case.below + "\n") == 1, f"{case.below!r} must stand once in {case.path}"
    before, anchor, after = base.partition(case.below + "\n")
    return before + anchor, after


# -- diagnostics


def wanted(findings: Iterable[Finding], lines: Iterable[int], *, saved: bool = True) -> list[tuple[Any, ...]]:
    """What is expected for mistakes at ``lines``; without ``saved`` only what is found in an unsaved buffer."""
    return sorted(
        (line + one.line, one.source, one.severity, str(one.code))
        for line in lines
        for one in findings
        if saved or not one.saved
    )


def shown(diagnostics: Sequence[Json]) -> list[tuple[Any, ...]]:
    """Diagnostics of our own operations, in the form of `wanted`."""
    return sorted((one["line"], one["source"], one["severity"], str(one.get("code"))) for one in diagnostics)


def check(case: Case, text: str, diagnostics: Sequence[Json], lines: Iterable[int]) -> None:
    """``diagnostics`` of ``text`` are exactly those of mistakes at ``lines``: place, words and source line as well."""
    assert shown(diagnostics) == wanted(case.findings, lines)
    source = text.split("\n")
    for one in diagnostics:
        assert one["path"] == case.path
        assert one["line"] == one["range"]["start"]["line"] + 1 <= one["endLine"]
        assert one["text"] == source[one["line"] - 1].strip()
        said = [finding.message for finding in case.findings if finding.source == one["source"]]
        assert any(message in one["message"] for message in said), one["message"]


def all_fresh(case: Case, servers: Sequence[Json]) -> None:
    """Every server of the case, and no other, has answered for exactly this content (D4)."""
    assert [(one["name"], one["freshness"], one.get("reason")) for one in servers] == [
        (name, "fresh", None) for name in case.servers
    ]


# -- the client


class Editor:
    """See the module. Made for a client that has not been initialized yet."""

    def __init__(self, client: Client, root: Path) -> None:
        self.client = client
        self.root = root
        self._mark = 0

    async def initialize(self, capabilities: Json, *, options: Json | None = None, case: Case | None = None) -> None:
        """Trusted, with status notifications, and with the servers that the case turns off turned off."""
        servers: dict[str, Json] = {}
        if case is not None:
            servers |= {name: {"disabled": True} for name in case.off}
            servers |= {name: {"settings": settings} for name, settings in case.settings.items()}
        ours = {"trusted": True, "statusNotifications": True, "servers": servers, **(options or {})}
        await self.client.initialize(root=self.root, options={"ombud": ours}, capabilities=capabilities)

    # -- states and processes

    async def rows(self) -> list[Json]:
        """The servers of ``ombud/status``."""
        answer = await self.client.request("ombud/status", {}, PATIENCE)
        found: list[Json] = answer["servers"]
        return found

    async def status(self) -> dict[str, Json]:
        """`rows` by name, for a workspace in which a server has one root."""
        return {row["name"]: row for row in await self.rows()}

    async def running(self) -> set[str]:
        return {row["name"] for row in await self.rows() if row["state"] in RUNNING}

    def mark(self) -> None:
        """From here on `state` looks."""
        self._mark = len(self.client.notifications)

    def changes(self) -> list[Json]:
        """All rows of ``ombud/statusChanged`` since the mark."""
        heard = [one for one in self.client.notifications[self._mark :] if one.method == "ombud/statusChanged"]
        return [row for one in heard for row in one.params["servers"]]

    def started(self) -> set[str]:
        return {row["name"] for row in self.changes()}

    async def state(self, name: str, state: str) -> Json:
        """Wait until the server has been in that state since the mark; its row."""
        while True:
            found = next((row for row in self.changes() if row["name"] == name and row["state"] == state), None)
            if found is not None:
                return found
            await self.client.wait_notification("ombud/statusChanged", timeout=PATIENCE)

    async def at_rest(self, name: str, state: str) -> Json:
        """Wait until that is the last that was heard of the server; its row."""
        while True:
            rows = [row for row in self.changes() if row["name"] == name]
            if rows and rows[-1]["state"] == state:
                return rows[-1]
            await self.client.wait_notification("ombud/statusChanged", timeout=PATIENCE)

    # -- text

    def text(self, path: str) -> str:
        document = self.client.documents.get(self.client.uri(path))
        return self.disk(path) if document is None else document.text

    def disk(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")

    def find(self, spot: Spot) -> tuple[int, int]:
        """Zero-based line and UTF-16 character of a place in the text as the client has it."""
        piece = spot.text.replace(CURSOR, "")
        text = self.text(spot.path)
        assert text.count(piece) == 1, f"{piece!r} must stand once in {spot.path}"
        at = text.index(piece) + spot.text.index(CURSOR)
        start = text.rfind("\n", 0, at) + 1
        return text.count("\n", 0, at), utf16_length(text[start:at])

    # -- questions

    async def diagnostics(self, path: str) -> tuple[list[Json], list[Json]]:
        """The current diagnostics and the servers' freshness."""
        answer = await self.client.request("ombud/diagnostics", {"path": path, "waitMs": WAIT_MS}, PATIENCE)
        return answer["diagnostics"], answer["servers"]

    def ask(self, ask: Ask) -> Any:
        """A question as an editor asks it, on its way: the `tests.client.Pending` with the server's own answer."""
        params: Json = self.client.at(ask.spot.path, *self.find(ask.spot))
        if ask.action == "references":
            params["context"] = {"includeDeclaration": True}
        return self.client.start_request(METHODS[ask.action], params)

    async def answers(self, ask: Ask) -> None:
        """The editor's road: the answer has what is expected."""
        for attempt in range(RETRIES):
            try:
                answer = await self.client.answer(self.ask(ask), PATIENCE)
            except LspError as error:
                # A server that has just learned more than it knew takes its answer back; editors ask again.
                if error.code != CONTENT_MODIFIED or attempt == RETRIES - 1:
                    raise
                await asyncio.sleep(0.2)
            else:
                self._check(ask, self._seen(ask, answer))
                return

    async def tells(self, ask: Ask) -> None:
        """The agent's road, by line and symbol: the answer has what is expected, and is complete."""
        params: Json = {"action": ask.action, "path": ask.spot.path}
        if ask.action != "symbols":
            line, symbol = self._symbol(ask.spot)
            params |= {"line": line, "symbol": symbol}
        answer = await self.client.request("ombud/lsp", params, PATIENCE)
        # pyrefly reads the project after its start and does not say when it has (D10): a young one is never complete.
        silent = answer["servers"] == ["pyrefly"] and "does not say when" in (answer["note"] or "")
        assert answer["complete"] is not silent, answer["note"]
        assert answer["servers"]
        items = answer["items"]
        if ask.action == "hover":
            seen = [item["text"] for item in items]
        elif ask.action == "symbols":
            seen = [item["name"] for item in items]
        else:
            seen = [f"{item['path']}: {item['text']}" for item in items]
        self._check(ask, seen)

    def _symbol(self, spot: Spot) -> tuple[int, str]:
        """A place as an agent names it: the line, and the word around the cursor, numbered where it is not alone."""
        row, character = self.find(spot)
        line = self.text(spot.path).split("\n")[row]
        start = end = character
        while start and (line[start - 1].isalnum() or line[start - 1] in "_-"):
            start -= 1
        while end < len(line) and (line[end].isalnum() or line[end] in "_-"):
            end += 1
        word = line[start:end]
        before = line.count(word, 0, start)
        return row + 1, f"{word}#{before + 1}" if before else word

    def _seen(self, ask: Ask, answer: Any) -> list[str]:
        if ask.action == "hover":
            return [json.dumps(answer, ensure_ascii=False)]
        if ask.action == "symbols":
            return list(_names(answer))
        if ask.action == "completion":
            items = answer["items"] if isinstance(answer, dict) else answer
            return [item["label"].strip() for item in items]
        places = answer if isinstance(answer, list) else [answer]
        return [self._line(place) for place in places]

    def _line(self, place: Json) -> str:
        from urllib.parse import unquote, urlsplit

        uri = place.get("targetUri") or place["uri"]
        span = place.get("targetSelectionRange") or place["range"]
        path = Path(unquote(urlsplit(uri).path)).relative_to(self.root).as_posix()
        return f"{path}: {self.text(path).split(chr(10))[span['start']['line']].strip()}"

    def _check(self, ask: Ask, seen: list[str]) -> None:
        if ask.action == "hover":
            assert any(part in one for one in seen for part in ask.expect), f"{ask}: {seen}"
        elif ask.action in ("symbols", "completion"):
            # Servers name functions with their signatures or without.
            names = {one.partition("(")[0] for one in seen}
            assert set(ask.expect) <= names, f"{ask}: {seen[:50]}"
        else:
            assert sorted(set(seen)) == sorted(ask.expect), f"{ask}: {seen}"


def _names(symbols: Sequence[Json] | None) -> Iterable[str]:
    for one in symbols or []:
        yield one["name"]
        yield from _names(one.get("children"))


def project(case: Case, folder: Path) -> Path:
    """A copy of the case's project, once its tools are known to be there."""
    for tool in case.tools:
        require(tool)
    root = copy_project(case.project, folder.resolve())
    for name, text in case.files.items():
        (root / name).write_text(text, encoding="utf-8")
    return root


# -- processes


def family(pid: int) -> list[psutil.Process]:
    """A process and all that descend from it."""
    leader = psutil.Process(pid)
    return [leader, *leader.children(recursive=True)]


def living(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Those that still run. psutil tells them from others that were given their numbers meanwhile."""
    found = []
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


async def gone(processes: Iterable[psutil.Process], timeout: float = 30.0) -> None:
    known = list(processes)
    await wait_until(lambda: not living(known), timeout, f"{known} end")


def freeze(processes: Iterable[psutil.Process]) -> None:
    """Stop them where they stand, so that what they are asked stays unanswered."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.suspend()


async def frozen(processes: Iterable[psutil.Process]) -> None:
    """Wait until the kernel has stopped them."""
    known = list(processes)
    stopped = (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)
    async with asyncio.timeout(10):
        await wait_until(lambda: all(one.status() in stopped for one in living(known)), 9, "they stop")
