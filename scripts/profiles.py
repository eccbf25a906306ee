"""Writes server/ombud/downstream/profiles.json: what servers announce, for clients that ask before any is started.

python scripts/profiles.py                  the catalogue's part anew; what was measured stays
python scripts/profiles.py --measure        also start every server that is found and record what it announces
python scripts/profiles.py --measure --only ruff,gopls
python scripts/profiles.py --check          exit 1 when the file in the repository is another one

Servers are looked for in .tools, in the folders of --path, and on PATH, in this order. A server that is not found, or
does not answer, keeps what was recorded before; one that never was has what its row of the catalogue says.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import re
import shutil
import signal
import sys
import tempfile
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
from ombud.downstream.capabilities import Capabilities
from ombud.downstream.catalogue import ANY_LANGUAGE, ServerEntry, load_catalogue
from ombud.downstream.handshake import UNSAID, initialize_params, version_of
from ombud.downstream.profiles import Book, Profile, profile_of
from ombud.downstream.states import Launch
from ombud.syntax.languages import load_languages
from ombud.wire import envelope
from ombud.wire.framing import Framer, Junk, frame

PROJECT = Path(__file__).resolve().parent.parent
FILE = PROJECT / "server" / "ombud" / "downstream" / "profiles.json"
GROUPS = ("python", "npm", "go", "rust")
SECONDS = 60

CLIENT: dict[str, Any] = {
    **UNSAID,
    "textDocument": {
        **UNSAID["textDocument"],
        "synchronization": {"willSave": True, "willSaveWaitUntil": True, "didSave": True},
        "completion": {
            **UNSAID["textDocument"]["completion"],
            "completionItem": {
                **UNSAID["textDocument"]["completion"]["completionItem"],
                "snippetSupport": True,
                "commitCharactersSupport": True,
            },
        },
        "signatureHelp": {**UNSAID["textDocument"]["signatureHelp"], "contextSupport": True},
    },
    "notebookDocument": {"synchronization": {}},
}
"""A client that can do everything which makes a server announce something."""


def made(known: Book | None) -> Book:
    """The catalogue's part, and the profiles that were measured before."""
    catalogue = load_catalogue()
    before = known.servers if known is not None else {}
    servers = {entry.name: _profile(entry, before.get(entry.name)) for entry in catalogue}
    marks: dict[str, list[str]] = {}
    suffixes: dict[str, list[str]] = {}
    for entry in catalogue:
        names, ends = _signs(entry)
        for name in sorted(names):
            marks.setdefault(name, []).append(entry.name)
        for end in sorted(ends):
            suffixes.setdefault(end, []).append(entry.name)
    return Book(
        servers,
        {name: tuple(marks[name]) for name in sorted(marks, key=_order)},
        {end: tuple(suffixes[end]) for end in sorted(suffixes, key=_order)},
    )


def _order(sign: str) -> tuple[str, str]:
    return sign.lstrip(".").casefold(), sign


def _profile(entry: ServerEntry, before: Profile | None) -> Profile:
    if before is not None and before.version is not None:
        return before
    return Profile(completes=bool(entry.completion_triggers), completion=entry.completion_triggers)


def _signs(entry: ServerEntry) -> tuple[set[str], set[str]]:
    """Names and suffixes whose presence in a folder speaks for a server."""
    names, ends = set(entry.filenames), {end for end in entry.extensions if end.count(".") == 1}
    for marker in entry.markers:
        name = marker.partition("#")[0]
        if found := re.fullmatch(r"\*(\.\w+)", name):
            ends.add(found[1])
        elif not re.search(r"[/*?\[]", name):
            names.add(name)
    languages = load_languages().languages
    for language in entry.languages:
        if language != ANY_LANGUAGE:
            names.update(languages[language].filenames)
            ends.update(end for end in languages[language].extensions if end.count(".") == 1)
    return names, ends


def text_of(known: Book) -> str:
    """The file's text: a line for each server and for each letter of the signs, so that a change is seen as one."""
    servers = ",\n".join(f"  {_pair(name, one)}" for name, one in known.servers.items())
    parts = [f'"servers": {{\n{servers}\n}}']
    for key, signs in (("marks", known.marks), ("suffixes", known.suffixes)):
        letters = groupby(signs.items(), lambda sign: sign[0].lstrip(".").casefold()[:1])
        lines = ",\n".join("  " + ", ".join(_pair(*sign) for sign in some) for _, some in letters)
        parts.append(f'"{key}": {{\n{lines}\n}}')
    return "{" + ",\n".join(parts) + "}\n"


def _pair(name: str, value: Any) -> str:
    return f"{msgspec.json.encode(name).decode()}: {msgspec.json.encode(value).decode()}"


def read() -> Book | None:
    return msgspec.json.decode(FILE.read_bytes(), type=Book) if FILE.exists() else None


# -- measuring


async def measured(known: Book, path: str, only: set[str]) -> Book:
    servers = dict(known.servers)
    for entry in load_catalogue():
        found = [(shutil.which(command[0], path=path), command[1:]) for command in entry.commands]
        argv = next(([executable, *rest] for executable, rest in found if executable), None)
        if argv is None or (only and entry.name not in only):
            continue
        try:
            async with asyncio.timeout(SECONDS):
                servers[entry.name] = await ask(entry, argv, path)
        except (OSError, ValueError, EOFError, TimeoutError) as problem:
            print(f"{entry.name}: {type(problem).__name__} {problem}; what was recorded before stays", file=sys.stderr)
            continue
        print(f"{entry.name} {servers[entry.name].version or 'of unknown version'}", file=sys.stderr)
    return Book(servers, known.marks, known.suffixes)


async def ask(entry: ServerEntry, argv: list[str], path: str) -> Profile:
    """Start a server in an empty project and take down what it answers to ``initialize``."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "package.json").write_text("{}", encoding="utf-8")
        child = await asyncio.create_subprocess_exec(
            *_filled(argv, root, path),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=root,
            env={**os.environ, "PATH": path},
            start_new_session=True,
        )
        try:
            answer = await _initialize(child, entry, root, path)
        finally:
            # Some are scripts that start the real one, which would be left behind with its pipes open.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            await child.wait()
    version = re.search(r"\d+(\.\d+)+[\w.+-]*", version_of(answer.get("serverInfo") or {}) or "")
    # The number alone: clangd's text also names the platform.
    return profile_of(Capabilities(answer["capabilities"]), version[0] if version else "")


async def _initialize(child: asyncio.subprocess.Process, entry: ServerEntry, root: Path, path: str) -> Any:
    assert child.stdin is not None and child.stdout is not None
    options = _filled(dict(entry.initialization_options), root, path)
    params = initialize_params(Launch((), {}, CLIENT), root, root.as_uri(), options or None)
    child.stdin.write(frame(envelope.request(1, "initialize", params)))
    framer = Framer(junk=Junk.SKIP)
    while data := await child.stdout.read(65536):
        for body in framer.feed(data):
            message = msgspec.json.decode(body)
            if message.get("id") == 1 and "method" not in message:
                if "error" in message:
                    raise ValueError(message["error"])
                return message["result"]
            if "id" in message and "method" in message:
                child.stdin.write(frame(envelope.response(message["id"], None)))
    raise EOFError("it ended before it had answered")


def _filled(value: Any, root: Path, path: str) -> Any:
    """Initialization options with what their ``${…}`` stand for here; a key that nothing is known for is left out."""
    if isinstance(value, dict):
        filled = {key: _filled(one, root, path) for key, one in value.items()}
        return {key: one for key, one in filled.items() if one is not None}
    if isinstance(value, list):
        return [one for one in (_filled(one, root, path) for one in value) if one is not None]
    if not isinstance(value, str) or "${" not in value:
        return value
    tsc, vue = shutil.which("tsc", path=path), shutil.which("vue-language-server", path=path)
    known = {
        "root": str(root),
        "rootUri": root.as_uri(),
        "rootName": root.name,
        "data": str(root),
        "tsdk": str(Path(tsc).resolve().parent.parent / "lib") if tsc else None,
        "vuePlugin": str(Path(vue).resolve().parent.parent) if vue else None,
    }
    names = re.findall(r"\$\{(\w+)\}", value)
    if any(known.get(name) is None for name in names):
        return None
    return re.sub(r"\$\{(\w+)\}", lambda found: str(known[found[1]]), value)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--only", default="", help="names of servers, with commas between")
    parser.add_argument("--path", action="append", default=[], help="a folder with more servers")
    given = parser.parse_args()
    known = made(read())
    if given.measure:
        tools = [str(PROJECT / ".tools" / group / "bin") for group in GROUPS]
        path = os.pathsep.join([*tools, *given.path, os.environ.get("PATH", os.defpath)])
        known = asyncio.run(measured(known, path, {name for name in given.only.split(",") if name}))
    text = text_of(known)
    if given.check:
        written = FILE.read_text(encoding="utf-8").splitlines() if FILE.exists() else []
        other = [line for line in text.splitlines() if line not in written]
        if written == text.splitlines():
            return 0
        print("profiles.json is not what the catalogue and the servers say; run scripts/profiles.py.", file=sys.stderr)
        print("\n".join(line[:500] for line in other[:10]), file=sys.stderr)
        return 1
    FILE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
