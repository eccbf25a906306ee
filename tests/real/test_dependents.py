"""The files that a change could break, found by real servers: each way of breaking them, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from ombud.operations.session import Session
from ombud.operations.targets import pin
from ombud.operations.watching import METHOD
from ombud.operations.writing.configures import affected, configures

from tests.conftest import Workspace
from tests.hosted import PATIENCE, Change, alone, indexed, searched, session
from tests.toolbox import require
from tests.waiting import wait_until

pytestmark = pytest.mark.real

# -- Python

PYTHON = {
    "pyproject.toml": '[project]\nname = "harbour"\nversion = "1"\n',
    "harbour/__init__.py": "from .berths import Ship, fits as suits\nfrom .stars import *\n\n"
    '__all__ = ["Ship", "suits"]\n',
    "harbour/stars.py": "def polaris() -> int:\n    return 1\n",
    "harbour/berths.py": """\
from dataclasses import dataclass

TARIFF = {
    "small": 1,
}


@dataclass
class Ship:
    name: str
    length: int

    def sail(self, to: str) -> str:
        course = to.upper()
        return course


class Pilot:
    def guide(self):
        return 1


def fits(ship: Ship, berth: int) -> bool:
    # Compares lengths.
    return ship.length <= berth


def fee(ship: Ship):
    return _rate(ship)


def _rate(ship: Ship):
    return ship.length * 2
""",
    "harbour/boats.py": "from .berths import Pilot\n\n\nclass Cox(Pilot):\n    def guide(self):\n        return 2\n",
    "harbour/crew.py": "from .boats import Cox\n\nCOX = Cox()\n",
    "use_suits.py": "from harbour import suits\n\nCHECK = suits\n",
    "use_ship.py": 'from harbour import Ship\n\nSHIP = Ship("a", 1)\n',
    "use_fee.py": "from harbour.berths import fee\n\nFEE = fee\n",
    "use_name.py": "from use_ship import SHIP\n\nNAME = SHIP.name\n",
    "use_tariff.py": 'import harbour.berths\n\nSMALL = harbour.berths.TARIFF["small"]\n',
    "use_star.py": "from harbour import polaris\n\nSTAR = polaris()\n",
    "harbour/bills.py": "from harbour.berths import Pilot, fee\n\nhire = Pilot\ndef bill(ship): return fee(ship)\n",
    "use_bill.py": "from harbour.bills import bill\n\n\ndef total(ship):\n    return [bill(ship)]\n",
    "use_total.py": "from use_bill import total\n\nTOTAL: int = total(None)[0]\n",
    "use_total_too.py": "from use_total import TOTAL\n\nAGAIN = TOTAL\n",
    "use_hire.py": "from harbour.bills import hire\n\nPILOT = hire()\n",
    "aside.py": "import os\n\nAWAY = os.sep\n",
}
_USERS_OF_PILOT = {"harbour/boats.py", "harbour/bills.py", "use_hire.py"}
_USERS_OF_FEE = {"use_fee.py", "harbour/bills.py", "use_bill.py", "use_total.py"}
BERTHS = "harbour/berths.py"
_USERS_OF_SHIP = {"harbour/__init__.py", "use_ship.py"}


@dataclass(frozen=True)
class Case:
    """What must be found (``breaks``) and may be found besides (``also``), by what is changed."""

    what: str
    change: Change
    breaks: set[str]
    also: set[str] = field(default_factory=set)


PYTHON_CASES = [
    Case(
        "a parameter more, under an alias as well",
        Change(BERTHS, [("ship: Ship, berth: int", "ship: Ship, berth: int, tide: int")]),
        {"harbour/__init__.py", "use_suits.py"},
    ),
    Case("a comment", Change(BERTHS, [("# Compares lengths.", "# Compares the lengths.")]), set()),
    Case("blank lines", Change(BERTHS, [("class Pilot:", "\n\nclass Pilot:")]), set()),
    Case("spaces", Change(BERTHS, [("to.upper()", "to.upper( )")]), set()),
    Case("an inferred type", Change(BERTHS, [("ship.length * 2", "str(ship.length)")]), _USERS_OF_FEE),
    Case("a body", Change(BERTHS, [("return _rate(ship)", 'return "x"')]), _USERS_OF_FEE),
    Case("a renamed field", Change(BERTHS, [("    name: str", "    title: str")]), _USERS_OF_SHIP | {"use_name.py"}),
    Case(
        "a field more", Change(BERTHS, [("    length: int\n", "    length: int\n    draught: int\n")]), _USERS_OF_SHIP
    ),
    Case("a decorator", Change(BERTHS, [("@dataclass\n", "@dataclass(frozen=True)\n")]), _USERS_OF_SHIP),
    Case("a decorator less", Change(BERTHS, [("@dataclass\n", "")]), _USERS_OF_SHIP),
    Case("a key of a constant", Change(BERTHS, [('    "small": 1,', '    "large": 1,')]), {"use_tariff.py"}),
    Case(
        "a method at the end of a base",
        Change(BERTHS, [("        return 1\n", "        return 1\n\n    def moor(self): ...\n")]),
        _USERS_OF_PILOT,
        {"harbour/crew.py"},
    ),
    Case(
        "a method that is overridden",
        Change(BERTHS, [("def guide(self):", "def guide(self, far: bool):")]),
        _USERS_OF_PILOT,
        {"harbour/crew.py"},
    ),
    Case("a local name", Change(BERTHS, [("course = to.upper()", "course = to.lower()")]), set()),
    Case(
        "a re-export",
        Change("harbour/__init__.py", [("Ship, fits as suits", "fits as suits")]),
        {"use_ship.py"},
        {"use_suits.py", "use_star.py"},
    ),
    Case(
        "a re-export of all",
        Change("harbour/__init__.py", [("from .stars import *\n", "")]),
        {"use_star.py"},
        {"use_suits.py", "use_ship.py", "use_tariff.py"},
    ),
    Case(
        "a name of __all__",
        Change("harbour/__init__.py", [('["Ship", "suits"]', '["Ship"]')]),
        {"use_suits.py"},
        {"use_ship.py", "use_star.py"},
    ),
    Case(
        "a deleted file",
        Change("harbour/stars.py", gone=True),
        {"harbour/__init__.py", "use_star.py"},
        {"use_ship.py", "use_suits.py"},
    ),
    Case(
        "a deleted function",
        Change(BERTHS, [("def fee(ship: Ship):\n    return _rate(ship)\n", "")]),
        {"use_fee.py", "harbour/bills.py"},
        _USERS_OF_FEE,
    ),
    Case("a new function", Change(BERTHS, [("def fee(", "def toll(ship: Ship):\n    return 1\n\n\ndef fee(")]), set()),
]


@dataclass(frozen=True)
class Suite:
    """Cases on one project with one server; ``tool`` is what must be there."""

    server: str
    tool: str
    files: Mapping[str, str]
    cases: Sequence[Case]


# -- TypeScript

TYPESCRIPT = {
    "package.json": '{"name": "harbour", "type": "module"}',
    "tsconfig.json": '{"compilerOptions": {"strict": true, "module": "es2022", "moduleResolution": "bundler", '
    '"target": "es2022", "types": [], "noEmit": true}, "include": ["src"]}',
    "src/berths.ts": """\
export const TARIFF = {
  small: 1,
};

export interface Ship {
  name: string;
  length: number;
}

export class Pilot {
  guide() {
    return 1;
  }
}

/** Compares lengths. */
export function fits(ship: Ship, berth: number): boolean {
  return ship.length <= berth;
}

export const fee = (ship: Ship) => {
  const rate = 2;
  return ship.length * rate;
};
""",
    "src/stars.ts": "export const polaris = 1;\n",
    "src/index.ts": 'export { fits, type Ship as Vessel } from "./berths";\nexport * from "./stars";\n',
    "src/boats.ts": 'import { Pilot } from "./berths";\n'
    "export class Cox extends Pilot {\n  guide() {\n    return 2;\n  }\n}\n",
    "src/crew.ts": 'import { Cox } from "./boats";\nexport const cox = new Cox();\n',
    "src/literal.ts": 'import { fits } from "./index";\nexport const check = fits({ name: "a", length: 1 }, 2);\n',
    "src/use_ship.ts": 'import type { Vessel } from ".";\nexport let ship: Vessel;\n',
    "src/use_fee.ts": 'import { fee } from "./berths";\nexport const f = fee;\nexport const g = () => f;\n',
    "src/use_g.ts": 'import { g } from "./use_fee";\nexport const h: number = g()({ name: "a", length: 1 });\n',
    "src/use_star.ts": 'import { polaris } from "./index";\nexport const star = polaris;\n',
    "src/use_tariff.ts": 'import * as berths from "./berths.js";\nexport const small = berths.TARIFF.small;\n',
    "src/aside.ts": "export const away = 1;\n",
}
TS = "src/berths.ts"
_USERS_OF_VESSEL = {"src/index.ts", "src/use_ship.ts"}
TYPESCRIPT_CASES = [
    Case(
        "a parameter more",
        Change(TS, [("berth: number)", "berth: number, tide: number)")]),
        {"src/index.ts", "src/literal.ts"},
    ),
    Case("a comment", Change(TS, [("/** Compares lengths. */", "/** Compares the lengths. */")]), set()),
    Case("line breaks", Change(TS, [("(ship: Ship, berth: number)", "(\n  ship: Ship,\n  berth: number\n)")]), set()),
    Case(
        "a local that the type follows from",
        Change(TS, [("const rate = 2", 'const rate = "2"')]),
        {"src/use_fee.ts", "src/use_g.ts"},
    ),
    Case(
        "a field more",
        Change(TS, [("  length: number;\n", "  length: number;\n  draught: number;\n")]),
        {*_USERS_OF_VESSEL, "src/literal.ts"},
        {"src/use_fee.ts", "src/use_g.ts"},
    ),
    Case(
        "a renamed field",
        Change(TS, [("  name: string;", "  title: string;")]),
        {"src/literal.ts", "src/use_g.ts"},
        {*_USERS_OF_VESSEL},
    ),
    Case("a key of a constant", Change(TS, [("  small: 1", "  large: 1")]), {"src/use_tariff.ts"}),
    Case(
        "a method of a base",
        Change(TS, [("  guide() {", "  moor() {}\n  guide() {")]),
        {"src/boats.ts"},
        {"src/crew.ts"},
    ),
    Case(
        "a method that is overridden",
        Change(TS, [("  guide() {", "  guide(far: boolean) {")]),
        {"src/boats.ts"},
        {"src/crew.ts"},
    ),
    Case("a deleted export", Change(TS, [("export const fee", "const fee")]), {"src/use_fee.ts"}, {"src/use_g.ts"}),
    Case(
        "a re-export",
        Change("src/index.ts", [("fits, type Ship as Vessel", "type Ship as Vessel")]),
        {"src/literal.ts"},
    ),
    Case(
        "a re-export under an alias",
        Change("src/index.ts", [("fits, type Ship as Vessel", "fits")]),
        {"src/use_ship.ts"},
    ),
    Case(
        "a re-export of all",
        Change("src/index.ts", [('export * from "./stars";\n', "")]),
        {"src/use_star.ts"},
        {"src/literal.ts", "src/use_ship.ts"},
    ),
    Case("a deleted file", Change("src/stars.ts", gone=True), {"src/index.ts", "src/use_star.ts"}),
]

# -- Go

GO = {
    "go.mod": "module harbour\n\ngo 1.21\n",
    "berths.go": """\
package harbour

// A Sailer sails.
type Sailer interface {
\tSail(to string) int
}

// A Ship has a name.
type Ship struct {
\tName string
}

const Small = 1

// Fits compares.
func Fits(ship Ship) bool { return ship.Name == "" }
""",
    "plan.go": 'package harbour\n\nfunc Plan() bool { return Fits(Ship{Name: "x"}) }\n',
    "boats/boats.go": "package boats\n\ntype Boat struct{}\n\nfunc (Boat) Sail(to string) int { return 2 }\n",
    "crew/crew.go": 'package crew\n\nimport (\n\t"harbour"\n\t"harbour/boats"\n)\n\n'
    "var _ harbour.Sailer = boats.Boat{}\n",
    "fare/fare.go": 'package fare\n\nimport "harbour"\n\nvar Fare = harbour.Small\n',
}
GO_CASES = [
    Case("a parameter more", Change("berths.go", [("Fits(ship Ship)", "Fits(ship Ship, berth int)")]), {"plan.go"}),
    Case("a comment", Change("berths.go", [("// Fits compares.", "// Fits compares lengths.")]), set()),
    Case("a renamed field", Change("berths.go", [("\tName string", "\tTitle string")]), {"plan.go"}),
    Case(
        "a method of an interface",
        Change("berths.go", [("Sail(to string) int", "Sail(to int) int")]),
        {"boats/boats.go", "crew/crew.go"},
    ),
    Case(
        "a method more in an interface",
        Change("berths.go", [("\tSail(", "\tMoor()\n\tSail(")]),
        {"boats/boats.go", "crew/crew.go"},
    ),
    Case("a deleted constant", Change("berths.go", [("const Small = 1\n", "")]), {"fare/fare.go"}),
    Case(
        "a deleted file",
        Change("berths.go", gone=True),
        {"plan.go", "crew/crew.go", "fare/fare.go"},
        {"boats/boats.go"},
    ),
]

# -- C++

CPP = {
    "compile_flags.txt": "-std=c++17\n-I.\n",
    "berths.h": """\
#pragma once
#define LIMIT 3

struct Ship {
  int length;
};

/// Compares lengths.
bool fits(const Ship &ship, int berth);
""",
    "boats.h": '#pragma once\n#include "berths.h"\nstruct Boat : Ship {};\n',
    "berths.cpp": '#include "berths.h"\nbool fits(const Ship &ship, int berth) { return ship.length < berth; }\n',
    "plan.cpp": '#include "berths.h"\nbool plan(const Ship &ship) { return fits(ship, LIMIT); }\n',
    "crew.cpp": '#include "boats.h"\nBoat boat;\n',
    "aside.cpp": "int aside;\n",
}
_INCLUDERS = {"berths.cpp", "plan.cpp", "boats.h", "crew.cpp"}
CPP_CASES = [
    Case("a parameter more", Change("berths.h", [("int berth", "int berth, int tide")]), _INCLUDERS),
    Case("a comment", Change("berths.h", [("/// Compares lengths.", "/// Compares.")]), set()),
    Case("a renamed field", Change("berths.h", [("int length;", "int metres;")]), _INCLUDERS),
    Case("a macro", Change("berths.h", [("#define LIMIT 3\n", "")]), _INCLUDERS),
    Case("a deleted file", Change("berths.h", gone=True), _INCLUDERS),
    Case(
        "a body",
        Change("berths.cpp", [("ship.length < berth", "ship.length <= berth")]),
        set(),
        _INCLUDERS | {"berths.h"},
    ),
]

# -- Rust

RUST = {
    "Cargo.toml": '[package]\nname = "harbour"\nversion = "1.0.0"\nedition = "2021"\n',
    "src/lib.rs": "pub mod berths;\npub mod boats;\npub mod plan;\n\npub use berths::fits;\n",
    "src/berths.rs": """\
/// Sails.
pub trait Sail {
    fn sail(&self, to: &str) -> u32;
}

pub struct Ship {
    pub name: String,
}

/// Compares.
pub fn fits(ship: &Ship) -> bool {
    ship.name.is_empty()
}
""",
    "src/boats.rs": "use crate::berths::Sail;\n\npub struct Boat;\n\n"
    "impl Sail for Boat {\n    fn sail(&self, _to: &str) -> u32 {\n        2\n    }\n}\n",
    "src/plan.rs": "use crate::{berths::Ship, fits};\n\n"
    'pub fn plan() -> bool {\n    fits(&Ship { name: "x".into() })\n}\n',
}
RUST_CASES = [
    Case(
        "a parameter more",
        Change("src/berths.rs", [("ship: &Ship)", "ship: &Ship, berth: u32)")]),
        {"src/plan.rs", "src/lib.rs"},
    ),
    Case("a comment", Change("src/berths.rs", [("/// Compares.", "/// Compares lengths.")]), set()),
    Case("a renamed field", Change("src/berths.rs", [("pub name", "pub title")]), {"src/plan.rs"}),
    Case("a method of a trait", Change("src/berths.rs", [("to: &str)", "to: u32)")]), {"src/boats.rs"}),
    Case(
        "a method more in a trait",
        Change("src/berths.rs", [("    fn sail", "    fn moor(&self);\n    fn sail")]),
        {"src/boats.rs"},
    ),
    Case("a re-export", Change("src/lib.rs", [("pub use berths::fits;\n", "")]), {"src/plan.rs"}, {"src/berths.rs"}),
]

SUITES = [
    Suite("basedpyright", "basedpyright-langserver", PYTHON, PYTHON_CASES),
    Suite("tsgo", "tsgo", TYPESCRIPT, TYPESCRIPT_CASES),
    Suite("typescript-language-server", "typescript-language-server", TYPESCRIPT, TYPESCRIPT_CASES),
    Suite("gopls", "gopls", GO, GO_CASES),
    Suite("clangd", "clangd", CPP, CPP_CASES),
    Suite("rust-analyzer", "rust-analyzer", RUST, RUST_CASES),
]


@pytest.mark.parametrize("graph", [False, True], ids=["alone", "graph"])
@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.server)
async def test_what_a_change_could_break(
    suite: Suite, graph: bool, workspace: Workspace, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same by the server alone and with a code graph that is asked before it."""
    require(suite.tool)
    monkeypatch.setenv("PATH", environment["PATH"])
    monkeypatch.setenv("XDG_CACHE_HOME", environment["XDG_CACHE_HOME"])
    root = workspace(suite.files)
    wrong = {}
    async with session(root, environment, alone(suite.server)) as made:
        if graph:
            await indexed(made, root)
        for case in suite.cases:
            found = await searched(made, suite.server, [case.change])
            names = {one.relative for one in found.files}
            if not case.breaks <= names <= case.breaks | case.also or found.partial or found.left_out:
                wrong[case.what] = (sorted(names), f"not {sorted(case.breaks)}", found.partial, found.left_out)
    assert not wrong, "\n".join(f"{what}: {told}" for what, told in wrong.items())


# -- settings

SETTINGS = {
    "pyproject.toml": '[project]\nname = "harbour"\nversion = "1"\n',
    "tsconfig.json": '{"compilerOptions": {"strict": true}}',
    "package.json": "{}",
    "go.mod": "module harbour\n\ngo 1.21\n",
    "eslint.config.js": "export default [];\n",
    "a.py": "A = 1\n",
    "b.py": "B = 1\n",
    "deep/c.py": "C = 1\n",
    "deep/.gitignore": "made.py\n",
    "deep/made.py": "D = 1\n",
    "a.ts": "export const a = 1;\n",
    "a.go": "package harbour\n",
    "README.md": "# Harbour\n",
}


async def started(made: Session, *paths: str) -> None:
    """Open the files in all of their servers and wait until these are ready."""
    for path in paths:
        inside = made.fence.resolve(path, intent="read")
        servers = made.servers(inside.path)
        assert servers, f"nothing is for {path}"
        pin(made, inside, inside.path.read_text(encoding="utf-8"), servers)
        for server in servers:
            server.need()
            async with asyncio.timeout(PATIENCE):
                await server.turn()


async def test_settings_are_those_of_each_server(
    workspace: Workspace, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for tool in ("basedpyright-langserver", "ruff", "tsgo", "gopls"):
        require(tool)
    monkeypatch.setenv("PATH", environment["PATH"])
    root = workspace(SETTINGS)
    off = {"typescript-language-server": {"disabled": True}}
    async with session(root, environment, off) as made:
        await started(made, "a.py", "b.py", "a.ts", "a.go")

        def names(path: str) -> set[str]:
            return {one.name for one in configures(made, made.fence.resolve(path, intent="create"))}

        running = {one.name: one for one in made.running()}
        assert {"basedpyright", "ruff", "tsgo", "gopls"} <= set(running)
        assert names("pyproject.toml") == {"basedpyright", "ruff"}
        assert names("pyrightconfig.json") == {"basedpyright"}
        assert names("ruff.toml") == {"ruff"}
        assert names("tsconfig.json") == {"tsgo"}
        assert names("go.mod") == {"gopls"}
        asked = running["basedpyright"].capabilities.registrations
        await wait_until(lambda: "'**'" in str(asked(METHOD)), PATIENCE, "basedpyright has asked to hear of all files")
        await wait_until(lambda: names("team.work") == {"gopls"}, PATIENCE, "gopls has asked to hear of *.work")
        assert names("deep/pyproject.toml") == {"basedpyright", "ruff"}
        for source in ("a.py", "deep/new.py", "a.ts", "a.go", "README.md"):
            assert names(source) == set(), source

        server = running["basedpyright"]
        whole = await affected(made, server, 20)
        assert [one.relative for one in whole.files] == ["a.py", "b.py", "deep/c.py"]
        assert whole.left_out == ()
        some = await affected(made, server, 1)
        assert [one.relative for one in some.files] == ["a.py"]
        assert len(some.left_out) == 1
        assert "2 more files of basedpyright" in some.left_out[0][1]
