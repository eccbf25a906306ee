"""What a language server says about a fixture project: the references of every definition in it.

A call's name that is among a definition's references is bound to it; one that is among nobody's is a library's.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from . import source
from .packages import LINKS, ToolError, clean_environment
from .source import CALLABLE, CLASS
from .truth import EXTERNAL, INSIDE, VALUE, Binding, Definition, Made, Place, Truth

if (BENCH := str(Path(__file__).resolve().parents[1])) not in sys.path:
    sys.path.append(BENCH)

from wire import Peer

SECONDS = 300.0  # how long a server may take to know its project
REPEATS, PAUSE = 3, 0.4


@dataclass(frozen=True)
class Server:
    """A language with its server, which the tools' `group` installs."""

    language: str
    group: str
    command: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)


def known(language: str, data: Path) -> Server:
    """The server of a language; `data` is a new folder for what it writes. Raises ToolError."""
    return java(data) if language == "java" else {"go": go, "rust": rust, "cpp": cpp}[language]()


def go() -> Server:
    return Server("go", "go", (str(LINKS / "go" / "bin" / "gopls"),))


def rust() -> Server:
    options = {"cachePriming": {"enable": False}, "checkOnSave": False, "cargo": {"buildScripts": {"enable": False}}}
    return Server("rust", "rust", (str(LINKS / "rust" / "bin" / "rust-analyzer"),), options)


def cpp() -> Server:
    return Server("cpp", "python", (str(LINKS / "python" / "bin" / "clangd"), "--background-index", "--log=error"))


def java(data: Path) -> Server:
    home = LINKS / "java"
    launcher = next((home / "jdtls" / "plugins").glob("org.eclipse.equinox.launcher_*.jar"), None)
    if launcher is None:
        raise ToolError("Eclipse's launcher is not in the java group: python3 scripts/tools.py --only java")
    shutil.copytree(home / "jdtls" / "configuration", data / "configuration", symlinks=True)
    flags = [
        *("-Xmx1G", "-Declipse.application=org.eclipse.jdt.ls.core.id1", "-Dosgi.bundles.defaultStartLevel=4"),
        *("-Declipse.product=org.eclipse.jdt.ls.core.product", "--add-modules=ALL-SYSTEM"),
        *("--add-opens", "java.base/java.util=ALL-UNNAMED", "--add-opens", "java.base/java.lang=ALL-UNNAMED"),
    ]
    where = ("-configuration", str(data / "configuration"), "-data", str(data / "workspace"))
    return Server("java", "java", (str(home / "bin" / "java"), *flags, "-jar", str(launcher), *where))


def ask(server: Server, root: Path) -> Truth:
    """The truth about the project in `root`, by the server's references. Raises ToolError."""
    paths = sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if source.supported(path.name))
    sources = {path: source.read(path, (root / path).read_bytes()) for path in paths}
    truth = Truth(sources)
    definitions = [(path, spot, name) for path, held in sources.items() for spot, name in held.names.items()]
    with _running(server, root) as peer:
        for path in paths:
            text = (root / path).read_text(encoding="utf-8")
            item = {"uri": (root / path).as_uri(), "languageId": server.language, "version": 1, "text": text}
            peer.notify("textDocument/didOpen", {"textDocument": item})
        asked = [
            {
                "textDocument": {"uri": (root / path).as_uri()},
                "position": {"line": line, "character": character},
                "context": {"includeDeclaration": False},
            }
            for path, (line, character), _ in definitions
        ]
        answers = _settled(peer, asked)
    _bind(truth, root, definitions, answers)
    return truth


@contextmanager
def _running(server: Server, root: Path) -> Iterator[Peer]:
    if not Path(server.command[0]).exists():
        raise ToolError(f"{server.command[0]} is needed: python3 scripts/tools.py --only {server.group}")
    path = os.pathsep.join([*(str(LINKS / name / "bin") for name in ("go", "rust", "java")), os.defpath])
    env = clean_environment(PATH=path, GOPROXY="off", GOTOOLCHAIN="local", GOFLAGS="-mod=mod", CARGO_NET_OFFLINE="true")
    peer = Peer(server.command, root, env, seconds=2 * SECONDS)
    try:
        progress = {"window": {"workDoneProgress": True}, "textDocument": {"references": {}, "documentSymbol": {}}}
        peer.initialize(root, progress, dict(server.options))
        yield peer
    except (RuntimeError, OSError, json.JSONDecodeError) as error:
        raise ToolError(f"{server.command[0]} in {root}: {error}") from error
    finally:
        peer.end()


def _settled(peer: Peer, asked: list[dict[str, Any]]) -> list[Any]:
    """The references, once the server gives the same ones several times, and some for most definitions.

    Servers say in ways of their own that their index is whole; until then they answer with less, nothing or an error.
    """
    end = time.monotonic() + SECONDS
    last, same = "", 0
    while time.monotonic() < end:
        try:
            answers = peer.requests("textDocument/references", asked)
        except RuntimeError as error:
            if peer.process.poll() is not None:
                raise ToolError(f"the server ended: {error}") from error
            answers = []
        now = json.dumps(answers, sort_keys=True)
        known = 2 * sum(bool(answer) for answer in answers) > len(asked)
        same = same + 1 if known and now == last else 0
        if same == REPEATS:
            return answers
        last = now
        time.sleep(PAUSE)
    raise ToolError(f"the server did not come to rest in {SECONDS:.0f} seconds.")


def _bind(truth: Truth, root: Path, definitions: list[tuple[str, tuple[int, int], str]], answers: list[Any]) -> None:
    targets: dict[Place, set[Definition]] = {}
    values: dict[Place, set[Made]] = {}
    for (path, (line, _), name), answer in zip(definitions, answers, strict=True):
        for location in answer or ():
            start = location["range"]["start"]
            place = (_relative(location["uri"], root), start["line"], start["character"])
            if truth.sources[path].kinds[name] in {CALLABLE, CLASS}:
                targets.setdefault(place, set()).add((path, name))
            else:
                values.setdefault(place, set()).add((path, line, name.rpartition(".")[2]))
    classes = _classes(truth)
    for place in targets | values:
        if place in targets:
            # C++ defines a constructor in another file than its class, and both stand for the same callee.
            made = {one for _, name in targets[place] for one in classes.get(name.rpartition(".")[0], ())}
            own = {one for one in made if any(_constructs(name, one[1]) for _, name in targets[place])}
            truth.bindings[place] = Binding(INSIDE, frozenset(targets[place] | own))
        else:
            truth.bindings[place] = Binding(VALUE, made=frozenset(values[place]))
    for path, held in truth.sources.items():
        for line, character in held.calls:
            truth.bindings.setdefault((path, line, character), Binding(EXTERNAL))


def _classes(truth: Truth) -> dict[str, set[Definition]]:
    found: dict[str, set[Definition]] = {}
    for path, held in truth.sources.items():
        for name, kind in held.kinds.items():
            if kind == CLASS:
                found.setdefault(name, set()).add((path, name))
    return found


def _constructs(name: str, owner: str) -> bool:
    head, _, last = name.rpartition(".")
    return head == owner and last.partition(source.OVERLOAD)[0] == owner.rpartition(".")[2]


def _relative(uri: str, root: Path) -> str:
    path = Path(unquote(urlsplit(uri).path))
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
