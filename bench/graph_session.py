"""A session with `ombud serve` over Django: questions to the graph, and edits until the graph shows them.

What is asked is drawn from the sources by Python's own ``ast``, with a seed, and not from what Ombud says of them.
"""

from __future__ import annotations

import ast
import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from graph_source import python_files
from graph_tree import Failed, Process, family
from lean import Lean

SHOWN_WITHIN = 20.0
"""Seconds after which an edit that the graph does not show ends the run."""
CALLED = 5
"""A symbol is called often when its name is called so many times in the sources."""


class Definition(NamedTuple):
    """A function or class of a file, as ``ast`` finds it; lines count from one. ``body`` is the line of its first
    statement and the column there, None where that stands on the line of the ``def``; ``top``: not within another."""

    path: str
    qualified: str
    kind: str
    line: int
    end: int
    body: tuple[int, int] | None
    top: bool

    @property
    def id(self) -> str:
        return f"{self.path}#{self.qualified}"

    @property
    def name(self) -> str:
        return self.qualified.rpartition(".")[2]


class Asked(NamedTuple):
    """Questions of one kind: seconds of each, and how many got the answer that they must have, or any."""

    name: str
    seconds: list[float]
    answered: int


class Edit(NamedTuple):
    """One edit: what it was, how the server was told, seconds until the graph showed it, and by how many questions."""

    kind: str
    told: str
    seconds: float
    questions: int


# -- the sources, read by ourselves -----------------------------------------------------------------------------------


def definitions(path: str, text: str) -> list[Definition]:
    """Functions and classes that stand in a file or in a class of it, each under a name that is there only once."""
    found: list[Definition] = []

    def walk(body: Iterable[ast.stmt], outside: str) -> None:
        for node in body:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            first = node.body[0]
            own_line = first.lineno > node.lineno and not getattr(first, "decorator_list", None)
            place = (first.lineno, first.col_offset) if own_line else None
            kind = "class" if isinstance(node, ast.ClassDef) else "function"
            name = outside + node.name
            assert node.end_lineno is not None
            found.append(Definition(path, name, kind, node.lineno, node.end_lineno, place, not outside))
            if isinstance(node, ast.ClassDef):
                walk(node.body, f"{name}.")

    walk(ast.parse(text).body, "")
    times = Counter(one.qualified for one in found)
    return [one for one in found if times[one.qualified] == 1]


class Sources:
    """What the Python files of a folder define and call."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.definitions: list[Definition] = []
        self.calls: Counter[str] = Counter()
        self.files: list[str] = []
        for path in python_files(root):
            try:
                text = (root / path).read_text()
                found = definitions(path.as_posix(), text)
            except (SyntaxError, ValueError):
                continue  # Django's tests hold files that are wrong on purpose
            self.definitions += found
            self.calls.update(re.findall(r"\b(\w+)\(", text))
            if any(one.kind == "function" and one.body for one in found):
                self.files.append(path.as_posix())


# -- questions --------------------------------------------------------------------------------------------------------


class Through(Lean):
    """A lean client that says which process it talks to."""

    @property
    def pid(self) -> int:
        return self._process.pid


class Session:
    """Ombud over ``root``, its index built. ``end`` ends it in any case."""

    def __init__(self, command: Sequence[str], root: Path, env: Mapping[str, str]) -> None:
        self.root = root
        self.peer = Through([*command, "serve"], root, env)
        try:
            self.peer.initialize({"textDocument": {"synchronization": {"didSave": True}}})
            self.indexed = self.ask("graphIndex", {})[1]
        except BaseException:
            self.end()
            raise

    def ask(self, operation: str, params: Mapping[str, Any]) -> tuple[float, Any]:
        """Seconds between question and answer, and the result. Raises Failed for an error."""
        seconds, answer = self.try_asking(operation, params)
        if "error" in answer:
            raise Failed(f"ombud/{operation} {json.dumps(params)}: {answer['error']['message']}")
        return seconds, answer["result"]

    def try_asking(self, operation: str, params: Mapping[str, Any]) -> tuple[float, dict[str, Any]]:
        """Seconds, and the whole answer, which may be an error."""
        try:
            seconds, body = self.peer.ask(f"ombud/{operation}", json.dumps(params).encode())
        except (RuntimeError, OSError) as error:
            raise Failed(f"ombud/{operation}: {error}") from None
        return seconds, json.loads(body)

    def processes(self) -> list[Process]:
        """Ombud and what it has started, with their peaks."""
        return family(self.peer.pid)

    def end(self) -> None:
        self.peer.end()


def searches(session: Session, sources: Sources, count: int, chance: random.Random) -> list[Asked]:
    """Searches by name, by the humps of a class's name, and by a part of a name; ``count`` of all."""
    names = sorted({one.name for one in sources.definitions})
    classes = sorted({one.name for one in sources.definitions if one.kind == "class" and len(_humps(one.name)) > 1})
    kinds: dict[str, list[tuple[str, str]]] = {"search: a name": [], "search: humps": [], "search: a part": []}
    for number in range(count):
        kind = list(kinds)[number % len(kinds)]
        name = chance.choice(classes if kind == "search: humps" else names)
        kinds[kind].append((_query(kind, name, chance), name))
    result = []
    for kind, queries in kinds.items():
        session.peer.alive()
        seconds, answered = [], 0
        for query, name in queries:
            took, answer = session.ask("graphSearch", {"query": query, "limit": 20})
            seconds.append(took)
            found = [one["name"] for one in answer["symbols"]]
            answered += name in found if kind == "search: a name" else bool(found)
        result.append(Asked(kind, seconds, answered))
    return result


def _humps(name: str) -> list[str]:
    return re.findall(r"[A-Z][a-z0-9]+", name)


def _query(kind: str, name: str, chance: random.Random) -> str:
    if kind == "search: humps":
        return "".join(hump[:2] for hump in _humps(name))
    if kind == "search: a part" and len(name) > 5:
        length = chance.randint(4, min(8, len(name) - 1))
        start = chance.randint(0, len(name) - length)
        return name[start : start + length]
    return name


def impacts(session: Session, sources: Sources, count: int, chance: random.Random) -> list[Asked]:
    """Impact at depth 3 of any symbol, and of such whose names are called often; ``count`` of each."""
    often = [one for one in sources.definitions if sources.calls[one.name] >= CALLED]
    result = []
    for kind, among in (("impact, depth 3: any symbol", sources.definitions), ("impact, depth 3: called often", often)):
        session.peer.alive()
        seconds, answered = [], 0
        for one in chance.sample(among, min(count, len(among))):
            took, answer = session.ask("graphImpact", {"symbol": one.id, "depth": 3})
            seconds.append(took)
            answered += any(answer[place] for place in ("direct", "indirect", "tests"))
        result.append(Asked(kind, seconds, answered))
    return result


def symbols(session: Session, sources: Sources, count: int, chance: random.Random) -> Asked:
    """The question that `edits` asks, with nothing edited: what of an edit's time is the question's own."""
    session.peer.alive()
    some = chance.sample(sources.definitions, count)
    seconds = [session.ask("graphSymbol", {"symbol": one.id})[0] for one in some]
    return Asked("symbol, nothing edited", seconds, len(seconds))


# -- edits ------------------------------------------------------------------------------------------------------------


class Change(NamedTuple):
    """A new text for ``path``, and how to tell that the graph knows it: the symbol ``id`` is there, and has ``longer``
    more lines than before, if it was there before; ``gone`` is an id that must no longer be there."""

    kind: str
    path: str
    text: str
    id: str
    longer: int
    gone: str | None


KINDS = ("body", "function added", "function renamed")
WAYS = ("saved", "not announced")


def edits(session: Session, sources: Sources, count: int, chance: random.Random) -> Iterator[Edit]:
    """Edits of random files, one after the other, in turn saved by an editor and only written to the disk."""
    for number in range(count):
        session.peer.alive()
        told = WAYS[number % len(WAYS)]
        change = _change(sources, KINDS[number // len(WAYS) % len(KINDS)], number, chance)
        yield _saved(session, change) if told == "saved" else _unannounced(session, change)


def _change(sources: Sources, kind: str, number: int, chance: random.Random) -> Change:
    while True:
        path = chance.choice(sources.files)
        text = (sources.root / path).read_bytes().decode()
        fitting = [one for one in definitions(path, text) if one.kind == "function" and one.body]
        if kind == "function renamed":
            fitting = [one for one in fitting if one.top]
        if fitting:
            break
    one = chance.choice(fitting)
    lines = text.split("\n")
    if kind == "body":
        assert one.body is not None
        line, column = one.body
        lines.insert(line - 1, f"{lines[line - 1][:column]}bench_{number} = {number}")
        return Change(kind, path, "\n".join(lines), one.id, 1, None)
    if kind == "function added":
        name = f"bench_added_{number}"
        fresh = f"\n\ndef {name}(value):\n    return {one.name}(value)\n"
        return Change(kind, path, text + fresh, f"{path}#{name}", 0, None)
    name = f"{one.name}_bench_{number}"
    lines[one.line - 1] = re.sub(rf"\bdef {one.name}\b", f"def {name}", lines[one.line - 1], count=1)
    return Change(kind, path, "\n".join(lines), f"{path}#{name}", 0, one.id)


def _saved(session: Session, change: Change) -> Edit:
    """As an editor does it: the document is open, changes, is written, and saved."""
    path = session.root / change.path
    uri = session.peer.open(path, "python")
    end = _end_to_come(session, change)
    start = time.perf_counter()
    session.peer.notify(
        "textDocument/didChange",
        {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": change.text}]},
    )
    path.write_bytes(change.text.encode())
    session.peer.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    edit = _until_shown(session, change, "saved", start, end)
    session.peer.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    return edit


def _unannounced(session: Session, change: Change) -> Edit:
    """As another program does it: the file is written, and nobody says so."""
    end = _end_to_come(session, change)
    start = time.perf_counter()
    (session.root / change.path).write_bytes(change.text.encode())
    return _until_shown(session, change, "not announced", start, end)


def _end_to_come(session: Session, change: Change) -> int | None:
    """The line on which the symbol will end; None where any will do, since the symbol itself is new."""
    answer = session.try_asking("graphSymbol", {"symbol": change.id})[1]
    if change.longer:
        if "error" in answer:
            raise Failed(f"{change.id} is not in the graph: {answer['error']['message']}")
        return int(answer["result"]["endLine"]) + change.longer
    if "error" not in answer:
        raise Failed(f"{change.id} is in the graph before it is in the file")
    return None


def _until_shown(session: Session, change: Change, told: str, start: float, end: int | None) -> Edit:
    questions, seconds = 0, 0.0
    answer: dict[str, Any] = {}
    while not _shows(answer, change.id, end):
        if seconds > SHOWN_WITHIN:
            raise Failed(f"{change.kind}, {told}: {change.id} was not shown for {SHOWN_WITHIN:.0f} s: {answer}")
        answer = session.try_asking("graphSymbol", {"symbol": change.id})[1]
        seconds = time.perf_counter() - start
        questions += 1
    if change.gone is not None and "error" not in session.try_asking("graphSymbol", {"symbol": change.gone})[1]:
        raise Failed(f"{change.gone} was renamed, and is still in the graph")
    return Edit(change.kind, told, seconds, questions)


def _shows(answer: Mapping[str, Any], symbol: str, end: int | None) -> bool:
    result = answer.get("result")
    return result is not None and result["id"] == symbol and end in (None, result["endLine"])
