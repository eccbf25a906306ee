"""The servers that are tested for real, a row each: what they are asked, and what they must find.

Who answers how, measured on the pinned versions with a client that can pull (architecture.md, decisions 8 and 9):

| server                     | channel       | version | a clean file   | when                                    |
|----------------------------|---------------|---------|----------------|-----------------------------------------|
| basedpyright               | pull          |         | empty answer   | it registers its pull late              |
| ruff, zuban, tsgo          | pull          |         | empty answer   | at once                                 |
| ty                         | pull          |         | empty answer   | it registers its pull late              |
| eslint                     | pull          |         | empty answer   | once it has loaded the project's linter |
| vscode-css, vscode-json    | pull          |         | empty answer   | never, were its settings null           |
| pyrefly                    | push          | yes     | empty publish  | twice for a version                     |
| clangd                     | push          | yes     | empty publish  | once for a version                      |
| gopls                      | push          | yes     | empty publish  | complete at once, by our settings       |
| biome                      | push          | yes     | empty publish  | 250 ms late; a guess when opened        |
| bash-language-server       | push          | yes     | empty publish  | 500 ms late, by shellcheck              |
| yaml-language-server       | push          | no      | empty publish  | 200 ms late                             |
| typescript-language-server | push          | no      | *silence*      | 200 ms late; syntax before types        |
| rust-analyzer              | pull and push | yes     | empty, too soon | cargo's errors after a save, late      |
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Action = Literal["hover", "symbols", "definition", "references", "completion"]


@dataclass(frozen=True)
class Spot:
    """A place: a piece of one line of a file, which stands in it once, with ``<|>`` where the cursor is."""

    path: str
    text: str


@dataclass(frozen=True)
class Ask:
    """One question. ``expect`` by action: a part of the hover; names; ``path: source line`` of each place; labels."""

    action: Action
    spot: Spot
    expect: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """What one server says of one mistake. ``line`` counts from the mistake's first line, which is 0.

    ``saved``: it comes from a checker that reads the disk, so an unsaved mistake is not found.
    """

    source: str
    severity: str
    code: str | None
    message: str
    line: int = 0
    saved: bool = False


@dataclass(frozen=True)
class Case:
    """A server, or two that share a file, on a copy of a sample project.

    ``mistake`` is put below the line ``below`` (the end of the file without one). ``{n}`` in it is a number: made twice
    it must get the same message twice, and be told apart in the text, since of two equal lines either may be the new
    one. ``fix`` is part of the title of a code action for it. ``loads``: until it has loaded, it answers an editor with
    null. ``concurrent``: it handles messages at the same time, so a change that comes while it still opens the file is
    lost in it, whoever its client is. ``off`` are servers that take the tested one's place, ``files`` come on top of
    the project, ``settings`` are the user's, by server.
    """

    servers: tuple[str, ...]
    tools: tuple[str, ...]
    project: str
    path: str
    mistake: str
    findings: tuple[Finding, ...]
    asks: tuple[Ask, ...] = ()
    fix: str | None = None
    below: str | None = None
    loads: bool = False
    concurrent: bool = False
    off: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return "+".join(self.servers)

    @property
    def hover(self) -> Ask | None:
        return next((ask for ask in self.asks if ask.action == "hover"), None)


PYTHON = ("basedpyright", "ty", "pyrefly", "zuban", "ruff")
TYPESCRIPT = ("typescript-language-server", "tsgo")


def others(family: tuple[str, ...], *wanted: str) -> tuple[str, ...]:
    return tuple(name for name in family if name not in wanted)


_FITS = Spot("harbour/plan.py", "if fi<|>ts(ship, berths[name])")
_PYTHON = (
    Ask("hover", _FITS, ("Whether a ship fits a berth",)),
    Ask("symbols", _FITS, ("berth_for", "first_to_place")),
    Ask("definition", _FITS, ("harbour/berths.py: def fits(ship: Ship, berth_length: int) -> bool:",)),
    Ask(
        "references",
        Spot("harbour/berths.py", "def fi<|>ts("),
        (
            "harbour/berths.py: def fits(ship: Ship, berth_length: int) -> bool:",
            "harbour/plan.py: from harbour.berths import Ship, fits, longest",
            "harbour/plan.py: return next((name for name in free if fits(ship, berths[name])), None)",
        ),
    ),
    Ask("completion", Spot("harbour/plan.py", "longest(ships).name<|>"), ("name",)),
)
_TYPESCRIPT_FITS = Spot("src/plan.ts", "=> fi<|>ts(ship, length)")
_TYPESCRIPT = (
    Ask("hover", _TYPESCRIPT_FITS, ("Whether a ship fits a berth",)),
    Ask("symbols", _TYPESCRIPT_FITS, ("berthFor", "firstToPlace")),
    Ask(
        "definition",
        _TYPESCRIPT_FITS,
        ("src/berths.ts: export function fits(ship: Ship, berthLength: number): boolean {",),
    ),
    Ask(
        "references",
        Spot("src/berths.ts", "function fi<|>ts("),
        (
            "src/berths.ts: export function fits(ship: Ship, berthLength: number): boolean {",
            'src/plan.ts: import { fits, longest, type Ship } from "./berths";',
            "src/plan.ts: return byLength.find(([, length]) => fits(ship, length))?.[0];",
        ),
    ),
    Ask("completion", Spot("src/plan.ts", "longest(ships)?.<|>name"), ("length", "name")),
)
_CPP_FITS = Spot("plan.cpp", "if (fi<|>ts(ship, lengths[index])")
_GO_FITS = Spot("plan.go", "if Fi<|>ts(ship, berth.Length)")
_RUST_FITS = Spot("src/plan.rs", "|&length| fi<|>ts(ship, length)")
_SHELL_FITS = Spot("moor.sh", "fi<|>ts ")
_MOOR = """#!/usr/bin/env bash
# moor.sh SHIP_LENGTH BERTH_LENGTH: whether the ship can be made fast.

# shellcheck source=berths.sh
source "$(dirname "$0")/berths.sh"

fits "$1" "$2"
"""

CASES = (
    Case(
        servers=("basedpyright",),
        tools=("basedpyright-langserver",),
        project="python",
        path="harbour/plan.py",
        mistake="\nlen(5)  # {n}\n",
        findings=(Finding("basedpyright", "error", "reportArgumentType", 'Argument of type "Literal[5]"', 1),),
        asks=_PYTHON,
        off=others(PYTHON, "basedpyright"),
    ),
    Case(
        servers=("ruff",),
        tools=("ruff",),
        project="python",
        path="harbour/moor.py",
        mistake="\nprint(moor)  # {n}\n",
        findings=(Finding("Ruff", "error", "F821", "Undefined name `moor`", 1),),
        fix="Disable for this line",
        asks=(Ask("hover", Spot("harbour/moor.py", "# noqa: F4<|>01"), ("unused-import",)),),
        off=others(PYTHON, "ruff"),
        files={"harbour/moor.py": '"""How a ship is made fast."""\n\nimport os  # noqa: F401\n'},
    ),
    Case(
        servers=("basedpyright", "ruff"),
        tools=("basedpyright-langserver", "ruff"),
        project="python",
        path="harbour/plan.py",
        mistake="\nprint(moor)  # {n}\n",
        findings=(
            Finding("basedpyright", "error", "reportUndefinedVariable", '"moor" is not defined', 1),
            Finding("Ruff", "error", "F821", "Undefined name `moor`", 1),
        ),
        asks=_PYTHON,
        off=others(PYTHON, "basedpyright", "ruff"),
    ),
    Case(
        servers=("ty",),
        tools=("ty",),
        project="python",
        path="harbour/plan.py",
        mistake="\nlen(5)  # {n}\n",
        findings=(Finding("ty", "error", "invalid-argument-type", "Argument to function `len` is incorrect", 1),),
        asks=_PYTHON,
        off=others(PYTHON, "ty"),
    ),
    Case(
        servers=("pyrefly",),
        tools=("pyrefly",),
        project="python",
        path="harbour/plan.py",
        mistake="\nlen(5)  # {n}\n",
        findings=(Finding("Pyrefly", "error", "bad-argument-type", "Argument `Literal[5]` is not assignable", 1),),
        asks=_PYTHON,
        off=others(PYTHON, "pyrefly"),
    ),
    Case(
        servers=("zuban",),
        tools=("zuban",),
        project="python",
        path="harbour/plan.py",
        mistake="\nlen(5)  # {n}\n",
        findings=(Finding("zuban", "error", "arg-type", 'Argument 1 to "len" has incompatible type', 1),),
        asks=_PYTHON,
        off=others(PYTHON, "zuban"),
    ),
    Case(
        servers=("clangd",),
        tools=("clangd",),
        project="cpp",
        path="plan.cpp",
        mistake="\nint *mooring{n} = 1.5;\n",
        findings=(Finding("clang", "error", "init_conversion_failed", "Cannot initialize a variable of type", 1),),
        asks=(
            # The comment on its declaration comes with the index, which may not be there yet.
            Ask("hover", _CPP_FITS, ("function `fits`",)),
            Ask("symbols", _CPP_FITS, ("berth_for",)),
            Ask("definition", _CPP_FITS, ("berths.h: bool fits(const Ship &ship, int berth_length);",)),
            Ask(
                "references",
                _CPP_FITS,
                ("plan.cpp: if (fits(ship, lengths[index]) && (best < 0 || lengths[index] < lengths[best])) {",),
            ),
            Ask("completion", _CPP_FITS, ("fits",)),
        ),
    ),
    Case(
        servers=("typescript-language-server",),
        tools=("typescript-language-server", "tsserver"),
        project="typescript",
        path="src/plan.ts",
        mistake='\nexport const mooring{n}: number = "x";\n',
        findings=(Finding("typescript", "error", "2322", "Type 'string' is not assignable to type 'number'", 1),),
        asks=_TYPESCRIPT,
        off=others(TYPESCRIPT, "typescript-language-server"),
    ),
    Case(
        servers=("tsgo",),
        tools=("tsgo",),
        project="typescript",
        path="src/plan.ts",
        mistake='\nexport const mooring{n}: number = "x";\n',
        findings=(Finding("ts", "error", "2322", "Type 'string' is not assignable to type 'number'", 1),),
        asks=_TYPESCRIPT,
        off=others(TYPESCRIPT, "tsgo"),
    ),
    Case(
        servers=("eslint",),
        tools=("vscode-eslint-language-server", "eslint"),
        project="eslint",
        path="src/plan.js",
        mistake="\nmoor(); // {n}\n",
        findings=(Finding("eslint", "error", "no-undef", "'moor' is not defined", 1),),
        fix="Disable no-undef for this line",
        off=TYPESCRIPT,
    ),
    Case(
        servers=("biome",),
        tools=("biome",),
        project="typescript",
        path="src/plan.ts",
        mistake="\ndebugger; // {n}\n",
        findings=(Finding("biome", "error", "lint/suspicious/noDebugger", "This is an unexpected use", 1),),
        fix="Suppress rule lint/suspicious/noDebugger",
        off=TYPESCRIPT,
        concurrent=True,
        files={"biome.json": "{}\n"},
    ),
    Case(
        servers=("vscode-css",),
        tools=("vscode-css-language-server",),
        project="css",
        path="harbour.css",
        mistake="\n.slip{n} { color: }\n",
        findings=(Finding("css", "error", "css-propertyvalueexpected", "property value expected", 1),),
        asks=(
            Ask("hover", Spot("harbour.css", "pad<|>ding: 0.5rem"), ("padding",)),
            Ask("symbols", Spot("harbour.css", "<|>.berth {"), (".berth", ".berth:hover")),
            Ask("definition", Spot("harbour.css", "var(--qu<|>ay)"), ("harbour.css: --quay: #24506b;",)),
            Ask("completion", Spot("harbour.css", "  <|>padding"), ("display",)),
        ),
    ),
    Case(
        servers=("vscode-json",),
        tools=("vscode-json-language-server",),
        project="json",
        path="berths.json",
        mistake='    { "name": "slip{n}", "length": "long" },\n',
        below='  "berths": [',
        findings=(Finding("vscode-json", "warning", None, 'Incorrect type. Expected "integer"'),),
        asks=(
            Ask("hover", Spot("berths.json", '"harb<|>our"'), ("The name of the harbour",)),
            Ask("symbols", Spot("berths.json", '"harb<|>our"'), ("harbour", "berths", "length")),
            Ask("completion", Spot("berths.json", '  <|>"harbour"'), ("harbour",)),
        ),
    ),
    Case(
        servers=("yaml-language-server",),
        tools=("yaml-language-server",),
        project="yaml",
        path="berths.yaml",
        mistake="  - name: slip{n}\n    length: long\n",
        findings=(Finding("yaml-schema: Berths", "error", "0", 'Incorrect type. Expected "integer"', 1),),
        asks=(
            Ask("hover", Spot("berths.yaml", "harb<|>our: North"), ("The name of the harbour",)),
            Ask("symbols", Spot("berths.yaml", "harb<|>our: North"), ("harbour", "berths", "length")),
        ),
        # Its catalogue of schemas is on the network, which tests do without.
        settings={"yaml-language-server": {"yaml": {"schemaStore": {"enable": False}}}},
    ),
    Case(
        servers=("bash-language-server",),
        tools=("bash-language-server", "shellcheck"),
        project="shell",
        path="moor.sh",
        mistake="\ncd /berths{n}\n",
        findings=(Finding("shellcheck", "warning", "SC2164", "Use 'cd ... || exit'", 1),),
        asks=(
            Ask("hover", _SHELL_FITS, ("whether the ship fits the berth",)),
            Ask("symbols", Spot("berths.sh", "fi<|>ts() {"), ("fits",)),
            Ask("definition", _SHELL_FITS, ("berths.sh: fits() {",)),
            Ask(
                "references",
                _SHELL_FITS,
                (
                    "berths.sh: fits() {",
                    'moor.sh: fits "$1" "$2"',
                    'plan.sh: if fits "$ship_length" "$berth_length"; then',
                ),
            ),
            Ask("completion", Spot("moor.sh", "fits<|> "), ("fits",)),
        ),
        loads=True,
        files={"moor.sh": _MOOR},
    ),
    Case(
        servers=("gopls",),
        tools=("gopls", "go"),
        project="go",
        path="plan.go",
        mistake='\nvar _ int = "x" // {n}\n',
        findings=(Finding("compiler", "error", "IncompatibleAssign", 'cannot use "x"', 1),),
        asks=(
            Ask("hover", _GO_FITS, ("Fits reports whether a ship fits",)),
            Ask("symbols", _GO_FITS, ("Berth", "BerthFor")),
            Ask("definition", _GO_FITS, ("berths.go: func Fits(ship Ship, berthLength int) bool {",)),
            Ask(
                "references",
                _GO_FITS,
                (
                    "berths.go: func Fits(ship Ship, berthLength int) bool {",
                    "plan.go: if Fits(ship, berth.Length) && (!found || berth.Length < best.Length) {",
                ),
            ),
            Ask("completion", Spot("berths.go", "ship.<|>Length"), ("Length", "Name")),
        ),
    ),
    Case(
        servers=("rust-analyzer",),
        tools=("rust-analyzer", "cargo", "rustc"),
        project="rust",
        path="src/plan.rs",
        mistake='\npub const MOORING{n}: i32 = "x";\n',
        findings=(
            Finding("rust-analyzer", "error", "E0308", "expected i32, found", 1),
            Finding("rustc", "error", "E0308", "mismatched types", 1, saved=True),
        ),
        asks=(
            Ask("hover", _RUST_FITS, ("Whether a ship fits a berth",)),
            Ask("symbols", _RUST_FITS, ("berth_for",)),
            Ask("definition", _RUST_FITS, ("src/lib.rs: pub fn fits(ship: &Ship, berth_length: u32) -> bool {",)),
            Ask(
                "references",
                _RUST_FITS,
                (
                    "src/lib.rs: pub fn fits(ship: &Ship, berth_length: u32) -> bool {",
                    "src/plan.rs: berths.iter().copied().filter(|&length| fits(ship, length)).min()",
                    "src/plan.rs: use crate::{fits, Ship};",
                ),
            ),
            Ask("completion", Spot("src/lib.rs", "ship.<|>length"), ("length", "name")),
        ),
        loads=True,
    ),
)
