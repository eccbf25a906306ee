"""Edits that real servers make: symbols and files renamed, code actions carried out, all of it written and reported."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.client import LspError
from tests.profiles import AGENT
from tests.real.desk import Desk, seated
from tests.toolbox import TOOLS, require

pytestmark = pytest.mark.real

Json = dict[str, Any]
PATIENCE = 180.0
TS = {"package.json": '{"name": "m", "version": "1.0.0", "type": "module"}\n'}
TS["tsconfig.json"] = '{"compilerOptions": {"strict": true, "module": "esnext", "moduleResolution": "bundler"}}\n'
PY = {"pyproject.toml": '[project]\nname = "m"\nversion = "1"\n'}
GO = {"go.mod": "module example.com/m\n\ngo 1.21\n"}
CPP = {"compile_flags.txt": "-std=c++17\n", ".clangd": ""}
ESLINT = {"eslint.config.js": 'export default [{ rules: { "prefer-const": "error", "no-var": "error" } }];\n'}


@dataclass(frozen=True)
class Case:
    """``files`` is the project; ``off`` are servers that stay out of it; ``after`` what the named files hold then."""

    tool: str
    files: Mapping[str, str]
    params: Json
    after: Mapping[str, str | None]
    off: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()
    told: bool = True
    """Whether what it introduced is looked at: clangd first speaks of a file with its headers as they were."""


@asynccontextmanager
async def project(folder: Path, case: Case) -> AsyncIterator[Desk]:
    require(case.tool)
    root = folder / "ws"
    for name, text in case.files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    if "eslint.config.js" in case.files:
        (root / "node_modules").symlink_to((TOOLS / "npm" / "node_modules").resolve(), target_is_directory=True)
    options = {"servers": {name: {"disabled": True} for name in case.off}, "diagnostics": {"waitMs": 60_000}}
    async with seated(folder, root, capabilities=AGENT, options=options, name=case.tool) as desk:
        yield desk


def check(root: Path, case: Case, result: Json) -> None:
    for name, text in case.after.items():
        path = root / name
        assert (path.read_bytes().decode() if path.exists() else None) == text, name
    assert result["applied"] is True
    changed = {name for name, text in case.after.items() if text is not None and text != case.files.get(name)}
    assert changed <= {one["path"] for one in result["files"]}
    assert all(one["freshness"] == "fresh" for one in result["diagnostics"]["servers"]), result["diagnostics"]
    if case.told:
        assert [one["message"] for one in result["diagnostics"]["introduced"]] == []


A_PY = "def greet(name: str) -> str:\r\n    return name\r\n"
B_PY = "from a import greet\n\nprint(greet('x'), greet('y'))\n"
A_TS = "export function greet(name: string): string {\r\n  return name;\r\n}\r\n"
B_TS = 'import { greet } from "./a";\n\nconsole.log(greet("x"), greet("y"));\n'
A_GO = "package m\r\n\r\nfunc Greet(name string) string {\r\n\treturn name\r\n}\r\n"
B_GO = 'package m\n\nvar _ = Greet("x") + Greet("y")\n'
A_H = "inline int greet(int n) {\r\n  return n;\r\n}\r\n"
B_CPP = '#include "a.h"\n\nint main() { return greet(1) + greet(2); }\n'


def renamed(files: Mapping[str, str], old: str, new: str) -> dict[str, str]:
    return {name: text.replace(old, new) for name, text in files.items()}


def symbol(tool: str, base: Mapping[str, str], files: Mapping[str, str], line: int, name: str, **more: Any) -> Case:
    first = next(iter(files))
    new = "Welcome" if name[0].isupper() else "welcome"
    params = {"path": first, "line": line, "symbol": name, "newName": new}
    return Case(tool, {**base, **files}, params, renamed(files, name, new), **more)


SYMBOLS = {
    "basedpyright": symbol("basedpyright-langserver", PY, {"a.py": A_PY, "b.py": B_PY}, 1, "greet"),
    "tsgo": symbol("tsgo", TS, {"a.ts": A_TS, "b.ts": B_TS}, 1, "greet", off=("typescript-language-server",)),
    "typescript-language-server": symbol(
        "typescript-language-server", TS, {"a.ts": A_TS, "b.ts": B_TS}, 1, "greet", off=("tsgo",)
    ),
    "gopls": symbol("gopls", GO, {"a.go": A_GO, "b.go": B_GO}, 3, "Greet"),
    "clangd": symbol("clangd", CPP, {"a.h": A_H, "b.cpp": B_CPP}, 1, "greet", opened=("b.cpp",), told=False),
}


@pytest.mark.parametrize("name", SYMBOLS)
async def test_a_symbol_is_renamed_in_every_file(tmp_path: Path, name: str) -> None:
    """Line ends are each file's own (C6); nothing is broken by it, nor said to be."""
    case = SYMBOLS[name]
    async with project(tmp_path.resolve(), case) as desk:
        for path in case.opened:
            desk.client.open(path)
        told = await desk.client.request("ombud/rename", {**case.params, "apply": False}, PATIENCE)
        assert told["applied"] is False
        edits = {one["path"]: len(one["edits"]) for one in told["files"]}
        old = case.params["symbol"]
        assert edits == {path: case.files[path].count(old) for path in case.after}
        result = await desk.client.request("ombud/rename", case.params, PATIENCE)
        check(desk.root, case, result)
        assert {one["path"]: one["edits"] for one in result["files"]} == edits


@pytest.mark.parametrize("name", ["basedpyright", "typescript-language-server", "gopls"])
async def test_what_no_server_renames_is_refused(tmp_path: Path, name: str) -> None:
    """A literal or a bracket: there is no name."""
    case = SYMBOLS[name]
    async with project(tmp_path.resolve(), case) as desk:
        line = len(case.files[case.params["path"]].splitlines()) - 1
        bracket = {"path": case.params["path"], "position": {"line": line, "character": 0}, "newName": "x"}
        with pytest.raises(LspError) as caught:
            await desk.client.request("ombud/rename", bracket, PATIENCE)
        assert caught.value.kind in ("not_found", "server_failed")
        for path in case.after:
            assert (desk.root / path).read_bytes().decode() == case.files[path]


def moved(tool: str, base: Mapping[str, str], files: Mapping[str, str], new: str, after: Json, **more: Any) -> Case:
    return Case(tool, {**base, **files}, {"path": next(iter(files)), "newPath": new}, after, **more)


MOVES = {
    "basedpyright": moved(
        "basedpyright-langserver",
        PY,
        {"a.py": A_PY, "b.py": B_PY},
        "c.py",
        {"a.py": None, "c.py": A_PY, "b.py": B_PY.replace("from a ", "from c ")},
    ),
    "typescript-language-server": moved(
        "typescript-language-server",
        TS,
        {"a.ts": A_TS, "b.ts": B_TS},
        "lib/c.ts",
        {"a.ts": None, "lib/c.ts": A_TS, "b.ts": B_TS.replace("./a", "./lib/c")},
        off=("tsgo",),
    ),
    "a folder": moved(
        "typescript-language-server",
        TS,
        {"old/a.ts": A_TS, "b.ts": B_TS.replace("./a", "./old/a")},
        "new",
        {"old/a.ts": None, "new/a.ts": A_TS, "b.ts": B_TS.replace("./a", "./new/a")},
        off=("tsgo",),
    ),
}
MOVES["a folder"].params["path"] = "old"


@pytest.mark.parametrize("name", MOVES)
async def test_a_file_is_moved_with_the_imports_of_it(tmp_path: Path, name: str) -> None:
    case = MOVES[name]
    async with project(tmp_path.resolve(), case) as desk:
        result = await desk.client.request("ombud/rename", case.params, PATIENCE)
        check(desk.root, case, result)


MESSY = "import sys\nimport os\n\nprint(sys.argv, os.name)\n"
LOOSE = "let x = 1;\nconsole.log(x);\n"


def action(tool: str, files: Mapping[str, str], line: int, name: str, title: str, after: Json, **more: Any) -> Case:
    path = next(one for one in files if one in after)
    params = {"action": "code_actions", "path": path, "line": line, "symbol": name, "apply": title}
    return Case(tool, files, params, after, **more)


ACTIONS = {
    "ruff organizes imports": action(
        "ruff",
        {**PY, "a.py": MESSY},
        1,
        "sys",
        "Ruff: Organize imports",
        {"a.py": "import os\nimport sys\n\nprint(sys.argv, os.name)\n"},
    ),
    "ruff removes an import": action(
        "ruff",
        {**PY, "a.py": "import os\r\nimport sys\r\n\r\nprint(sys.argv)\r\n"},
        1,
        "os",
        "Remove unused import",
        {"a.py": "import sys\r\n\r\nprint(sys.argv)\r\n"},
    ),
    "typescript adds an import": action(
        "typescript-language-server",
        {**TS, "b.ts": 'console.log(greet("x"));\nexport {};\n', "a.ts": A_TS},
        1,
        "greet",
        'Add import from "./a"',
        {"b.ts": 'import { greet } from "./a";\n\nconsole.log(greet("x"));\nexport {};\n'},
        off=("tsgo",),
    ),
    "tsgo adds an import": action(
        "tsgo",
        {**TS, "b.ts": 'console.log(greet("x"));\nexport {};\n', "a.ts": A_TS},
        1,
        "greet",
        'Add import from "./a"',
        {"b.ts": 'import { greet } from "./a";\n\nconsole.log(greet("x"));\nexport {};\n'},
        off=("typescript-language-server",),
    ),
    "eslint fixes by a command": action(
        "vscode-eslint-language-server",
        {**TS, **ESLINT, "a.js": LOOSE},
        1,
        "x",
        "Fix this prefer-const problem",
        {"a.js": LOOSE.replace("let", "const")},
        off=("tsgo", "typescript-language-server"),
    ),
    "gopls organizes imports": action(
        "gopls",
        {**GO, "a.go": 'package m\n\nimport "os"\n\nvar X = 1\n'},
        3,
        "os",
        "Organize Imports",
        {"a.go": "package m\n\nvar X = 1\n"},
    ),
}


@pytest.mark.parametrize("name", ACTIONS)
async def test_a_code_action_is_carried_out_on_the_first_call(tmp_path: Path, name: str) -> None:
    case = ACTIONS[name]
    async with project(tmp_path.resolve(), case) as desk:
        result = await desk.client.request("ombud/lsp", case.params, PATIENCE)
        check(desk.root, case, result)
        assert case.params["apply"].lower() in result["items"][0]["title"].lower()


FORMATTED = {
    "ruff": Case(
        "ruff", {**PY, "a.py": "a = 1\n"}, {"path": "a.py", "content": "a   =  {'b':1}\n"}, {"a.py": 'a = {"b": 1}\n'}
    ),
    "gopls": Case(
        "gopls", GO, {"path": "a.go", "content": "package m\nvar A  = 1\n"}, {"a.go": "package m\n\nvar A = 1\n"}
    ),
    "clangd": Case("clangd", CPP, {"path": "a.cpp", "content": "int  a( );\n"}, {"a.cpp": "int a();\n"}),
    "biome, beside a server for types": Case(
        "biome",
        {**TS, "biome.json": "{}\n"},
        {"path": "a.ts", "content": "export const a   = {b:1}\n"},
        {"a.ts": "export const a = { b: 1 };\n"},
    ),
    "biome, the text that is there": Case(
        "biome",
        {"biome.json": "{}\n", "a.json": '{"a":1}'},
        {"path": "a.json", "content": '{"a":1}'},
        {"a.json": '{ "a": 1 }\n'},
    ),
}


@pytest.mark.parametrize("name", FORMATTED)
async def test_what_is_written_is_formatted_by_its_owner_on_the_first_call(tmp_path: Path, name: str) -> None:
    case = FORMATTED[name]
    async with project(tmp_path, case) as desk:
        result = await desk.client.request("ombud/write", {**case.params, "format": True}, PATIENCE)
        assert (result["applied"], result.get("note")) == (True, None)
        assert {path: (desk.client.path(path)).read_text() for path in case.after} == case.after
