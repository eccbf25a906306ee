"""One program in several languages, through the whole sequence with every adapter: the same answers from all."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.conftest import Workspace
from tests.debugging import Debugger, debugger, line_of
from tests.toolbox import require

pytestmark = pytest.mark.real

C = """\
#include <stdio.h>

int area(int width, int height) {
    int result = width * height;  // area
    return result;  // back
}

int main(int argc, char **argv) {
    int total = 0;
    for (int side = 1; side <= 4; side++) {
        total += area(side, side);  // loop
    }
    printf("total %d\\n", total);  // print
    fprintf(stderr, "oops\\n");
    return total % 7;
}
"""
RUST = """\
fn area(width: i32, height: i32) -> i32 {
    let mut result = width * height; // area
    result += 0; // back
    result
}

fn main() {
    let mut total = 0;
    for side in 1..=4 {
        total += area(side, side); // loop
    }
    println!("total {}", total); // print
    eprintln!("oops");
    std::process::exit(total % 7);
}
"""
GO = """\
package main

import (
	"fmt"
	"os"
)

var called int

func keep(what *int) {
}

func count(by int) int {
	called += by
	return called
}

func area(width, height int) int {
	result := width * height // area
	keep(&result)            // back
	return result
}

func main() {
	total := 0
	for side := 1; side <= 4; side++ {
		total += area(side, side) // loop
	}
	fmt.Println("total", total) // print
	fmt.Fprintln(os.Stderr, "oops")
	if total < 0 {
		total = count(1)
	}
	os.Exit(total % 7)
}
"""
JAVASCRIPT = """\
function keep() {}

function area(width, height) {
  let result = width * height; // area
  keep(result); // back
  return result;
}

function main() {
  let total = 0;
  for (const side of [1, 2, 3, 4]) {
    total += area(side, side); // loop
  }
  console.log("total", total); // print
  console.error("oops");
  return total % 7;
}

process.exitCode = main();
"""
TYPESCRIPT = """\
interface Sides { width: number; height: number }

function keep(..._: unknown[]): void {}

function area({ width, height }: Sides): number {
  let result: number = width * height; // area
  keep(result); // back
  return result;
}

function main(): number {
  let total: number = 0;
  for (const side of [1, 2, 3, 4]) {
    total += area({ width: side, height: side }); // loop
  }
  console.log("total", total); // print
  console.error("oops");
  return total % 7;
}

process.exitCode = main();
"""
BASH = """\
#!/bin/bash
area() {
  result=$(($1 * $2)) # area
  back=$result # back
}

total=0
for side in 1 2 3 4; do
  area "$side" "$side" # loop
  total=$((total + back))
done
echo "total $total" # print
echo oops >&2
exit $((total % 7))
"""
Build = Callable[[Path, dict[str, str]], None]


@dataclass(frozen=True)
class Case:
    """``frames`` are the names at the innermost stop, as far as they are ours.

    ``effect``: an expression, and another one with the value that it has afterwards; None where none has any, and no
    variable can be set. ``out`` is how many lines behind the call a step out of it leads.
    """

    adapter: str
    source: str
    text: str
    program: str
    frames: tuple[str, ...]
    condition: str = "side == 3"
    sum: str = "total + side"
    effect: tuple[str, str, str] | None = ("result = result + 1", "result", "100")
    build: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    remark: str = "//"
    out: int = 0


_CC = ("gcc", "-g", "-O0", "-o", "app", "app.c")
_RUSTC = ("rustc", "-g", "-o", "app", "app.rs")
_TSC = ("tsc", "--sourceMap", "--outDir", "out", "--target", "es2022", "--module", "commonjs", "globals.d.ts", "app.ts")
_HASH = re.compile(r"::h[0-9a-f]{16}$")
"""What Rust puts behind a function's name."""
CASES = {
    "lldb-dap C": Case("lldb-dap", "app.c", C, "app", ("area", "main"), build=_CC),
    "lldb-dap Rust": Case("lldb-dap", "app.rs", RUST, "app", ("app::area", "app::main"), build=_RUSTC),
    "codelldb C": Case("codelldb", "app.c", C, "app", ("area", "main"), build=_CC),
    "codelldb Rust": Case("codelldb", "app.rs", RUST, "app", ("app::area", "app::main"), build=_RUSTC),
    "dlv": Case(
        *("dlv", "main.go", GO, "main.go", ("main.area", "main.main")),
        effect=("call count(3)", "called", "3"),
        files={"go.mod": "module shop\n\ngo 1.24\n"},
    ),
    "js-debug": Case("js-debug", "app.js", JAVASCRIPT, "app.js", ("global.area", "global.main"), out=-1),
    "js-debug TypeScript": Case(
        *("js-debug", "app.ts", TYPESCRIPT, "out/app.js", ("area", "main")),
        build=_TSC,
        out=-1,
        files={"globals.d.ts": "declare const process: any;\n"},
    ),
    "bash-dap": Case(
        *("bash-dap", "app.sh", BASH, "app.sh", ("area", "main")),
        condition="(( side == 3 ))",
        remark="#",
        sum="$((total + side))",
        effect=None,
        out=1,
    ),
}


def made(case: Case, workspace: Workspace, environment: dict[str, str]) -> Path:
    root = workspace({case.source: case.text, **case.files})
    if case.build:
        argv = [str(require(case.build[0])), *case.build[1:]]
        done = subprocess.run(argv, cwd=root, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert (root / case.program).exists(), done.stdout + done.stderr
    return root


@pytest.mark.parametrize("name", CASES)
async def test_the_whole_sequence(name: str, workspace: Workspace, environment: dict[str, str]) -> None:
    case = CASES[name]
    root = made(case, workspace, environment)
    loop, area, back, there = (
        line_of(case.text, f"{case.remark} {word}") for word in ("loop", "area", "back", "print")
    )
    async with debugger(root, environment) as on:
        await on("breakpoints", path=case.source, breakpoints=[{"line": loop, "condition": case.condition}])
        stop = await on("launch", program=case.program, adapter=case.adapter)
        assert (stop["state"], stop["reason"], stop["path"], stop["line"]) == (
            "stopped",
            "breakpoint",
            case.source,
            loop,
        )
        assert (stop["breakpoints"]["bound"], stop["breakpoints"]["unbound"]) == (1, [])
        assert stop["frames"][0]["text"].endswith(f"{case.remark} loop")
        assert (await on.values())["total"] == "5"
        assert (await on("evaluate", expression=case.sum))["value"] == "8"
        assert stop["threadId"] in [one["id"] for one in (await on("threads"))["threads"]]
        await _into(on, area)
        frames = (await on("stack"))["frames"]
        assert tuple(_HASH.sub("", one["name"]) for one in frames[: len(case.frames)]) == case.frames
        stepped = await on("step_over")
        assert (stepped["reason"], stepped["line"]) == ("step", back)
        total = await _changed(on, case)
        out = await on("step_out")
        assert (_HASH.sub("", out["frames"][0]["name"]), out["line"]) == (case.frames[1], loop + case.out)
        moment = await on("snapshot")
        assert re.search(f"→ +{loop + case.out} ", moment["frames"][0]["source"])
        run = await on("run_to", path=case.source, line=there)
        assert (run["line"], (await on.values())["total"]) == (there, str(total))
        await _over(on, total)


async def _into(on: Debugger, area: int) -> None:
    stepped = await on("step_in")
    if stepped["line"] != area:
        # Some stop at the function's head first.
        stepped = await on("step_over")
    assert (stepped["reason"], stepped["line"]) == ("step", area)


async def _changed(on: Debugger, case: Case) -> int:
    """A variable set, and an evaluation with an effect; returns what the total comes to by them."""
    assert (await on.values())["result"] == "9"
    if case.effect is None:
        return 30
    for scope in (await on("scopes"))["scopes"]:
        rows = (await on("variables", variablesReference=scope["variablesReference"]))["variables"]
        if any(one["name"] == "result" for one in rows):
            break
    done = await on("set_variable", variablesReference=scope["variablesReference"], name="result", value="99")
    assert done["value"] == "99"
    assert (await on("evaluate", expression="result"))["value"] == "99"
    expression, afterwards, value = case.effect
    await on("evaluate", expression=expression)
    assert (await on("evaluate", expression=afterwards))["value"] == value
    return 5 + int((await on("evaluate", expression="result"))["value"]) + 16


async def _over(on: Debugger, total: int) -> None:
    """To the end: what was printed, the exit code, and nothing to ask any more."""
    done = await on("continue")
    assert (done["state"], done["exitCode"]) == ("exited", total % 7)
    said = [one for one in done["output"].splitlines() if not one.startswith("Building ")]
    assert sorted(said) == ["oops", f"total {total}"]
    printed = (await on("output"))["entries"]
    assert {"stdout", "stderr"} >= {
        one["category"] for one in printed if "total" in one["text"] or "oops" in one["text"]
    }
    assert (await on.refused("stack")).kind == "no_session"
