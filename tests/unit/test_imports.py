"""The rooms of the house, read from the imports: who may lean on whom (ARCHITECTURE.md says why)."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PACKAGE = PROJECT / "server" / "ombud"

# Bottom to top. A room imports itself and rooms on lower lines; rooms on one line never import one another.
STOREYS: tuple[tuple[str, ...], ...] = (
    ("errors",),
    ("wire",),
    ("text",),
    ("guard",),
    ("process",),
    ("workspace",),
    ("syntax",),
    ("downstream", "debug"),
    ("diagnostics", "graph", "structural"),
    ("operations",),
    ("faces",),
    ("app",),
    ("__main__",),
)
STOREY = {room: number for number, rooms in enumerate(STOREYS) for room in rooms}

# Only a face speaks to the outside in lsprotocol's classes.
FACES_ONLY = {"pygls", "lsprotocol", "cattrs"}
# These rooms turn bytes into values and back; whoever calls them does the I/O.
PURE_ROOMS = {"wire", "text"}
IO_MODULES = {
    *("asyncio", "concurrent", "ctypes", "fcntl", "glob", "http", "mmap", "multiprocessing", "os", "pathlib"),
    *("select", "selectors", "shutil", "signal", "socket", "socketserver", "ssl", "subprocess", "tempfile"),
    *("threading", "time", "urllib"),
}
IO_CALLS = {"open", "print", "input"}
# `ombud serve` starts with asyncio and msgspec; whatever costs more is imported where it is used.
HEAVY = {
    "psutil",
    "platformdirs",
    "tomllib",
    "pygls",
    "lsprotocol",
    "cattrs",
    "attrs",
    "attr",
    "tree_sitter",
    "tree_sitter_language_pack",
    "watchfiles",
    "yaml",
}
IMPORTED_AS = {"pyyaml": "yaml"}
"""Distributions whose modules have another name than they."""


@dataclass(frozen=True)
class Import:
    """One imported name: `target` is dotted, `eager` says whether it is imported when its module is."""

    line: int
    target: str
    eager: bool


def imports(module: str, source: str, *, is_package: bool = False) -> Iterator[Import]:
    """Every import of a module, also inside functions, under TYPE_CHECKING and by importlib with a constant name."""

    def walk(node: ast.AST, eager: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                yield from (Import(child.lineno, alias.name, eager) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                base = absolute(module, child, is_package)
                yield from (Import(child.lineno, f"{base}.{alias.name}", eager) for alias in child.names)
            elif isinstance(child, ast.Call) and (name := named_at_run_time(child)):
                yield Import(child.lineno, name, eager)
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                for part in child.body:
                    yield from walk(ast.Module([part], []), False)
                for part in child.orelse:
                    yield from walk(ast.Module([part], []), eager)
                continue
            lazy = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from walk(child, eager and not lazy)

    yield from walk(ast.parse(source), True)


def absolute(module: str, node: ast.ImportFrom, is_package: bool) -> str:
    """The dotted name that a `from … import` starts from, with leading dots resolved."""
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    parts = parts[: len(parts) - node.level + is_package]
    return ".".join([*parts, *([node.module] if node.module else [])])


def named_at_run_time(node: ast.Call) -> str:
    """The constant name that `import_module` or `__import__` is called with, or an empty string."""
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    if name in {"import_module", "__import__"} and node.args and isinstance(node.args[0], ast.Constant):
        return str(node.args[0].value)
    return ""


def faults(module: str, source: str, *, is_package: bool = False) -> list[str]:
    """What a module does against the table, one sentence each."""
    room = [*module.split("."), "__init__"][1]
    found = []
    for item in imports(module, source, is_package=is_package):
        root, _, rest = item.target.partition(".")
        problems = import_faults(room, root, rest.split(".")[0], item.eager)
        found += [f"{module}:{item.line}: {problem}" for problem in problems]
    if room in PURE_ROOMS:
        calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
        names = ((node.lineno, node.func.id) for node in calls if isinstance(node.func, ast.Name))
        found += [
            f"{module}:{line}: {room} does no I/O, yet calls {name}()" for line, name in names if name in IO_CALLS
        ]
    return found


def import_faults(room: str, root: str, other: str, eager: bool) -> Iterator[str]:
    """What is wrong with `room` importing `root` (a distribution's top name; `other` is the room when it is ours)."""
    if root == "ombud":
        if other in STOREY and other != room and STOREY[other] >= STOREY.get(room, -1):
            yield f"{room} imports {other}, which is not below it"
        return
    if root in FACES_ONLY and room != "faces":
        yield f"{room} imports {root}; only faces may"
        return
    if root in IO_MODULES and room in PURE_ROOMS:
        yield f"{room} does no I/O, yet imports {root}"
    if root in HEAVY and eager and room != "faces":
        yield f"{room} imports {root} when it is imported itself; import it where it is used"


def modules() -> list[tuple[str, Path]]:
    """Every module of the package with its dotted name."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return found


def declared() -> set[str]:
    """The top names of the distributions that pyproject.toml says the package needs at run time."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = (re.split(r"[^A-Za-z0-9_.-]", requirement)[0] for requirement in project["dependencies"])
    return {IMPORTED_AS.get(name.lower(), name.replace("-", "_").lower()) for name in names}


def test_every_room_keeps_to_the_table() -> None:
    found = modules()
    assert len(found) > 20, "the package was not found"
    problems = []
    for module, path in found:
        problems += faults(module, path.read_text(encoding="utf-8"), is_package=path.name == "__init__.py")
    assert not problems, "\n".join(problems)


def test_every_room_is_in_the_table() -> None:
    rooms = {path.stem for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py"}
    unknown = rooms - set(STOREY) - {"__init__", "__pycache__"}
    assert not unknown, f"give {', '.join(sorted(unknown))} a storey in this file and in ARCHITECTURE.md"


def test_what_is_imported_is_declared() -> None:
    known = set(sys.stdlib_module_names) | declared() | {"ombud"}
    strangers = [
        f"{module}:{item.line}: {item.target}"
        for module, path in modules()
        for item in imports(module, path.read_text(encoding="utf-8"), is_package=path.name == "__init__.py")
        if item.target.partition(".")[0] not in known
    ]
    assert not strangers, "not in pyproject.toml's dependencies:\n" + "\n".join(strangers)


@pytest.mark.parametrize(
    ("module", "source", "expected"),
    [
        ("ombud.wire.framing", "from ombud.text.lines import LineIndex", "wire imports text"),
        ("ombud.text.lines", "from ombud.wire import limits", None),
        ("ombud.text.lines", "import pathlib", "text does no I/O"),
        ("ombud.text.lines", "def f():\n    import socket", "text does no I/O"),
        ("ombud.wire.limits", "def f(p):\n    return open(p)", "calls open()"),
        ("ombud.guard.fence", "from ..process.child import Child", "guard imports process"),
        ("ombud.guard.fence", "from . import uris", None),
        ("ombud.downstream.server", "from ombud.debug import adapters", "downstream imports debug"),
        ("ombud.debug.adapters", "import ombud.downstream.server", "debug imports downstream"),
        ("ombud.diagnostics.ledger", "from ombud.graph import store", "diagnostics imports graph"),
        ("ombud.diagnostics.ledger", "from ombud.downstream.server import Server", None),
        ("ombud.operations.write", "from ombud.faces.lsp import front", "operations imports faces"),
        ("ombud.operations.write", "def f():\n    from ombud import faces", "operations imports faces"),
        (
            "ombud.operations.write",
            "import importlib\nimportlib.import_module('ombud.faces.cli')",
            "operations imports faces",
        ),
        (
            "ombud.downstream.link",
            "if TYPE_CHECKING:\n    from ombud.operations.hub import Hub",
            "downstream imports op",
        ),
        ("ombud.downstream.link", "def f():\n    import lsprotocol.types", "only faces may"),
        ("ombud.faces.lsp.front", "from lsprotocol import types", None),
        ("ombud.app", "from pygls.server import X", "only faces may"),
        ("ombud.process.measure", "import psutil", "import it where it is used"),
        ("ombud.process.measure", "if TYPE_CHECKING:\n    import psutil\ndef f():\n    import psutil", None),
        (
            "ombud.process.measure",
            "if TYPE_CHECKING:\n    pass\nelse:\n    import psutil",
            "import it where it is used",
        ),
        ("ombud.process.measure", "class A:\n    import psutil", "import it where it is used"),
        ("ombud.errors", "from ombud.wire import limits", "errors imports wire"),
        ("ombud.app", "from ombud.faces.lsp import front", None),
    ],
)
def test_the_reader_sees(module: str, source: str, expected: str | None) -> None:
    found = faults(module, source)
    if expected is None:
        assert found == []
    else:
        assert len(found) == 1
        assert expected in found[0]


def test_a_package_resolves_its_dots_from_itself() -> None:
    assert faults("ombud.guard", "from .uris import path_to_uri", is_package=True) == []
    assert faults("ombud.guard", "from ..process import child", is_package=True) != []
