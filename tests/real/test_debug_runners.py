"""Tests of other languages' runners under the debugger, crashes, child processes, and programs that run on."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from ombud.errors import Refused

from tests.conftest import Workspace
from tests.debugging import debugger, line_of
from tests.toolbox import require
from tests.waiting import wait_until

pytestmark = pytest.mark.real

GO_MOD = "module shop\n\ngo 1.24\n"
GO_TEST = """\
package price

import "testing"

func sum(values ...int) int {
	total := 0
	for _, value := range values {
		total += value
	}
	return total
}

func TestSum(t *testing.T) {
	got := sum(1, 2, 3)
	if got != 7 {
		t.Fatalf("got %d", got) // fails
	}
}

func TestOther(t *testing.T) {
	t.Fatal("not this one")
}

func TestTable(t *testing.T) {
	t.Run("one", func(t *testing.T) { t.Fatal("nor this") })
	t.Run("two", func(t *testing.T) {
		t.Error("this one") // two
	})
}
"""
CARGO = '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n'
PRICE = """\
pub fn sum(values: &[i32]) -> i32 {
    values.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() {
        let got = sum(&[1, 2, 3]);
        assert_eq!(got, 7); // fails
    }

    #[test]
    fn adds_more() {
        panic!("not this one");
    }
}
"""
WHOLE = """\
#[test]
fn whole() {
    let got = shop::price::sum(&[1]);
    assert!(got == 2); // fails
}
"""
RUST = {
    "Cargo.toml": CARGO,
    "src/lib.rs": "pub mod price;\npub mod tax;\n",
    "src/price.rs": PRICE,
    "src/tax.rs": "#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {}\n}\n",
    "tests/whole.rs": WHOLE,
}
NODE = """\
import assert from "node:assert";
import { describe, it, test } from "node:test";

test("not this one", () => {
  throw new Error("not this one");
});

describe("sums", () => {
  it("adds", () => {
    const got = 1 + 2;
    assert.strictEqual(got, 4); // fails
  });
});
"""
WEB = {"package.json": '{"name": "shop", "type": "module"}', "sum.test.js": NODE}


@dataclass(frozen=True)
class Failing:
    """``value`` is what ``got`` holds where it fails."""

    files: dict[str, str]
    test: str
    path: str
    mark: str = "// fails"
    value: str = ""


FAILING = {
    "go by folder": Failing(
        {"go.mod": GO_MOD, "price/price_test.go": GO_TEST}, "./price::TestSum", "price/price_test.go"
    ),
    "go by file": Failing(
        {"go.mod": GO_MOD, "price/price_test.go": GO_TEST},
        "price/price_test.go::TestTable/two",
        "price/price_test.go",
        "// two",
    ),
    "cargo of a module": Failing(RUST, "src/price.rs::tests::adds", "src/price.rs"),
    "cargo of tests/": Failing(RUST, "tests/whole.rs::whole", "tests/whole.rs"),
    "cargo by its name": Failing(RUST, "price::tests::adds", "src/price.rs"),
    "node": Failing(WEB, "sum.test.js::sums::adds", "sum.test.js"),
}


@pytest.mark.parametrize("name", FAILING)
async def test_a_test_stops_where_it_fails(name: str, workspace: Workspace, environment: dict[str, str]) -> None:
    case = FAILING[name]
    root = workspace(case.files)
    async with debugger(root, environment) as on:
        stop = await on("launch", test=case.test)
        line = line_of(case.files[case.path], case.mark)
        assert (stop["state"], stop.get("path"), stop.get("line")) == ("stopped", case.path, line), stop
        done = await on("continue")
        while done["state"] == "stopped":
            done = await on("continue")
        assert done["state"] == "exited"
        assert done["exitCode"] not in (0, None)


CRASH_C = "int main(void) {\n    int *nothing = 0;\n    return *nothing;  // fails\n}\n"
CRASH_RUST = (
    "fn main() {\n    let none: Option<i32> = std::env::args().nth(9).map(|_| 1);\n    none.unwrap(); // fails\n}\n"
)
CRASH_GO = 'package main\n\nfunc main() {\n\tvar m map[string]int\n\tm["a"] = 1 // fails\n}\n'
CRASH_JS = "function f(order) {\n  return order.lines.length; // fails\n}\n\nf({});\n"
_C = ("gcc", "-g", "-O0", "-o", "app", "app.c")
_RUSTC = ("rustc", "-g", "-o", "app", "app.rs")
CRASHES = {
    "lldb-dap C": ("lldb-dap", "app.c", CRASH_C, "app", _C),
    "codelldb C": ("codelldb", "app.c", CRASH_C, "app", _C),
    "codelldb Rust": ("codelldb", "app.rs", CRASH_RUST, "app", _RUSTC),
    "lldb-dap Rust": ("lldb-dap", "app.rs", CRASH_RUST, "app", _RUSTC),
    "dlv": ("dlv", "main.go", CRASH_GO, "main.go", ()),
    "js-debug": ("js-debug", "app.js", CRASH_JS, "app.js", ()),
}


def _built(root: Path, argv: tuple[str, ...], environment: dict[str, str]) -> None:
    if argv:
        whole = [str(require(argv[0])), *argv[1:]]
        subprocess.run(whole, cwd=root, env=environment, check=True, timeout=120, capture_output=True)


@pytest.mark.parametrize("name", CRASHES)
async def test_what_nobody_catches_stops_the_program(
    name: str, workspace: Workspace, environment: dict[str, str]
) -> None:
    adapter, source, text, program, build = CRASHES[name]
    root = workspace({source: text, **({"go.mod": GO_MOD} if adapter == "dlv" else {})})
    _built(root, build, environment)
    async with debugger(root, environment) as on:
        stop = await on("launch", program=program, adapter=adapter)
        place = (stop["state"], stop.get("path"), stop.get("line"))
        assert place == ("stopped", source, line_of(text, "// fails")), stop
        moment = await on("snapshot")
        assert moment["frames"]
        if "Rust" not in name:
            assert any(one["path"] == source for one in moment["frames"])
            assert moment["exception"]["message"]
        ended = await on("terminate")
        assert ended["state"] == "exited"


async def test_a_child_process_is_debugged_too(workspace: Workspace, environment: dict[str, str]) -> None:
    child = "const value = 42;\nconsole.log('child', value); // here\n"
    parent = (
        "const { spawnSync } = require('node:child_process');\n"
        "const done = spawnSync(process.execPath, ['child.js'], { stdio: 'inherit' });\n"
        "console.log('parent', done.status);\n"
    )
    root = workspace({"app.js": parent, "child.js": child, "package.json": "{}"})
    async with debugger(root, environment) as on:
        await on("breakpoints", path="child.js", breakpoints=[{"line": 2}])
        stop = await on("launch", program="app.js")
        assert (stop["state"], stop["path"], stop["line"]) == ("stopped", "child.js", 2), stop
        assert (await on("evaluate", expression="value"))["value"] == "42"
        done = await on("continue")
        assert (done["state"], done["exitCode"]) == ("exited", 0)
        assert done["output"].splitlines() == ["child 42", "parent 0"]


RUNNING = {
    "lldb-dap": (
        "app.c",
        "#include <unistd.h>\n\nint main(void) {\n    for (long n = 0;; n++) usleep(1000);\n}\n",
        "app",
        _C,
    ),
    "codelldb": (
        "app.c",
        "#include <unistd.h>\n\nint main(void) {\n    for (long n = 0;; n++) usleep(1000);\n}\n",
        "app",
        _C,
    ),
    "dlv": (
        "main.go",
        'package main\n\nimport "time"\n\nfunc main() {\n\tfor {\n\t\ttime.Sleep(time.Millisecond)\n\t}\n}\n',
        "main.go",
        (),
    ),
    "js-debug": ("app.js", "let n = 0;\nsetInterval(() => { n += 1; }, 1);\n", "app.js", ()),
    "bash-dap": ("app.sh", "n=0\nwhile true; do\n  n=$((n + 1))\n  sleep 0.01\ndone\n", "app.sh", ()),
}


@pytest.mark.parametrize("adapter", RUNNING)
async def test_a_running_program_can_be_paused_and_ended(
    adapter: str, workspace: Workspace, environment: dict[str, str]
) -> None:
    source, text, program, build = RUNNING[adapter]
    root = workspace({source: text, **({"go.mod": GO_MOD} if adapter == "dlv" else {})})
    _built(root, build, environment)
    async with debugger(root, environment) as on:
        launched = await on("launch", program=program, adapter=adapter, waitMs=0)
        assert launched["state"] == "running"

        async def paused() -> bool:
            try:
                return (await on("pause"))["state"] == "stopped"
            except Refused as error:
                # There is no thread yet.
                assert error.kind == "conflict"
                return False

        await wait_until(paused, 60, "the program stands")
        assert (await on("stack"))["frames"]

        async def goes_on() -> bool:
            # A pause that was asked for once more may still stand out.
            return bool((await on("continue", waitMs=50))["state"] == "running")

        await wait_until(goes_on, 60, "the program runs on")
        ended = await on("terminate")
        assert ended["state"] == "exited"
        assert (await on("status"))["state"] in ("exited", "none")


BROKEN = {
    "dlv": (
        {"go.mod": GO_MOD, "main.go": "package main\n\nfunc main() { nonsense() }\n"},
        {"program": "main.go"},
        "nonsense",
    ),
    "cargo": (
        {"Cargo.toml": CARGO, "src/lib.rs": "#[test]\nfn t() { nonsense(); }\n"},
        {"test": "src/lib.rs::t"},
        "nonsense",
    ),
    "a test that cargo does not have": (
        {"Cargo.toml": CARGO, "src/lib.rs": "#[test]\nfn t() {}\n"},
        {"test": "src/lib.rs::u"},
        "No test",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_what_cannot_be_built_says_why(name: str, workspace: Workspace, environment: dict[str, str]) -> None:
    files, asked, word = BROKEN[name]
    root = workspace(files)
    async with debugger(root, environment) as on:
        error = await on.refused("launch", **asked)
        assert word in error.message
        assert (await on("status"))["state"] in ("none", "exited")
