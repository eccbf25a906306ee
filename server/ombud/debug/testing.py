"""From a test's id, as its runner writes it, to the program that runs this one test, and what stops at its failure.

A failing test raises inside of a runner that catches it. So beside the adapter's own exception filters, what leaves the
project's code counts: that is where a test fails.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ombud.debug.breakpoints import Watch
from ombud.debug.catalogue import Entry
from ombud.debug.connection import Plan
from ombud.debug.launching import Wish
from ombud.errors import UserError

_MOST_FILES = 20_000
_JS = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx")
_FAILED = (
    "error && (error.code === 'ERR_ASSERTION' || error.name === 'AssertionError' || error.matcherResult !== undefined "
    "|| error.name === 'JestAssertionError' || !(error instanceof Error) "
    "|| !/node_modules|node:internal/.test((error.stack || '').split('\\n')[1] || ''))"
)
"""Which thrown values of JavaScript are a test's failure: assertions, and what the project's own code throws."""


@dataclass(frozen=True, slots=True)
class Test:
    """``adapter`` is a row's name; ``native`` for any that takes compiled programs."""

    adapter: str
    wish: Wish


def resolve(test: str, wish: Wish, folders: Sequence[Path], interpreter: str | None, adapter: str | None) -> Test:
    """Which runner and adapter a test's id belongs to. Raises `UserError` where none can be told.

    ``wish`` has folder, environment and further arguments. Reads the disk.
    """
    file, _, name = test.partition("::")
    path = _file(wish.cwd, folders, file)
    suffix = Path(file).suffix if "/" in file or path is not None else ""
    if adapter in ("debugpy", None) and (suffix == ".py" or _is_dotted_python(test, wish.cwd)):
        return Test("debugpy", _python(test, wish, interpreter, bool(suffix)))
    if suffix in _JS and path is not None:
        return Test("js-debug", _javascript(path, name, wish))
    if suffix == ".go" or (suffix != ".rs" and _go_root(wish.cwd, path) is not None):
        return Test("dlv", _go(test, wish, path))
    if suffix == ".rs" or (path is None and (wish.cwd / "Cargo.toml").is_file()):
        return Test("native", _rust(test, wish, path))
    if adapter == "debugpy":
        return Test("debugpy", _python(test, wish, interpreter, bool(suffix)))
    raise UserError(
        f"No test runner is known for {test!r}. Give the runner's own id, such as tests/test_x.py::test_y, "
        "src/x.test.ts::adds, ./pkg::TestX, or src/lib.rs::tests::adds.",
        kind="not_found",
    )


def watched(entry: Entry, plan: Plan) -> Plan:
    """The plan with what stops at a test's failure."""
    if entry.dialect == "debugpy":
        return replace(plan, watch=Watch(("userUnhandled", "uncaught")))
    if entry.dialect == "js-debug":
        # Of what is thrown in skipped files nothing is told, and that is where assertions are raised.
        whole = {**plan.configuration, "skipFiles": []}
        return replace(plan, configuration=whole, watch=Watch(("all", "uncaught"), {"all": _FAILED}))
    if entry.dialect == "dlv":
        return replace(plan, watch=Watch(functions=("testing.(*common).Fail", "testing.(*common).FailNow")))
    return replace(plan, watch=Watch(functions=("rust_panic",)))


def _file(cwd: Path, folders: Sequence[Path], said: str) -> Path | None:
    """A file that an id names, from the folder it runs in or a workspace folder; never outside of them."""
    if not said or "\0" in said:
        return None
    for folder in (cwd, *folders):
        try:
            found = (folder / said).resolve()
            if found.exists() and any(found.is_relative_to(one) for one in folders):
                return found
        except OSError:
            continue
    return None


# -- Python ------------------------------------------------------------------------------------------------------------


def _is_dotted_python(test: str, cwd: Path) -> bool:
    """``package.module.Class.test``, as unittest has it."""
    parts = test.split(".")
    if not re.fullmatch(r"[\w.]+", test) or len(parts) < 2:
        return False
    return any((cwd.joinpath(*parts[:end]).with_suffix(".py")).is_file() for end in range(1, len(parts)))


def _python(test: str, wish: Wish, interpreter: str | None, by_file: bool) -> Wish:
    module = "pytest" if by_file else "unittest"
    # Its capture would keep the output until the end, and its cache is none of the debugger's business.
    args = (test, "-q", "-p", "no:cacheprovider") if by_file else (test,)
    return replace(wish, module=module, args=(*args, *wish.args), interpreter=interpreter, test=test)


# -- Go ----------------------------------------------------------------------------------------------------------------


def _go_root(cwd: Path, path: Path | None) -> Path | None:
    """The module's folder."""
    start = path if path is not None and path.is_dir() else (path or cwd / "x").parent
    return next((one for one in (start, *start.parents) if (one / "go.mod").is_file()), None)


def _go(test: str, wish: Wish, path: Path | None) -> Wish:
    """``./pkg::TestX``, ``pkg/x_test.go::TestX/sub`` or ``TestX`` alone, whose package is looked for."""
    name = test.partition("::")[2] or test
    if not re.match(r"(Test|Example|Fuzz|Benchmark)", name):
        raise UserError(f"{name!r} is no name of a Go test; give ./pkg::TestX.", kind="not_found")
    folder = (
        path if path is not None and path.is_dir() else path.parent if path is not None else _go_folder(wish.cwd, name)
    )
    pattern = "/".join(f"^{re.escape(part)}$" for part in name.split("/"))
    return replace(wish, program=folder, cwd=folder, args=("-test.run", pattern, "-test.v", *wish.args), test=test)


def _go_folder(cwd: Path, name: str) -> Path:
    """The package that has a test of that name. Raises `UserError` for none, or several."""
    word = re.compile(rb"^func " + re.escape(name.partition("/")[0].encode()) + rb"\(", re.MULTILINE)
    found: set[Path] = set()
    for number, file in enumerate(cwd.rglob("*_test.go")):
        if number > _MOST_FILES:
            break
        if word.search(file.read_bytes()):
            found.add(file.parent)
    if len(found) == 1:
        return found.pop()
    if not found:
        raise UserError(f"No test {name} was found below {cwd.name}; give ./pkg::{name}.", kind="not_found")
    some = ", ".join(sorted(f"./{one.relative_to(cwd)}::{name}" for one in found)[:5])
    raise UserError(f"Several packages have a test {name}: {some}.", kind="not_found")


# -- Rust --------------------------------------------------------------------------------------------------------------


def _rust(test: str, wish: Wish, path: Path | None) -> Wish:
    """``src/price.rs::tests::adds``, ``tests/all.rs::adds``, or the name alone as libtest has it.

    Which executable has it is known once cargo has made them: the wish is without its program.
    """
    name = test.partition("::")[2] if path is not None else test
    if not re.fullmatch(r"[\w:]+", name):
        raise UserError(f"{name!r} is no name of a Rust test; give src/lib.rs::tests::adds.", kind="not_found")
    start = path.parent if path is not None else wish.cwd
    package = next((one for one in (start, *start.parents) if (one / "Cargo.toml").is_file()), wish.cwd)
    env = {**wish.env, "CARGO_MANIFEST_DIR": str(package)}
    build = ("cargo", "test", "--no-run", "--message-format=json")
    args = ("--exact", "--nocapture", "--test-threads=1", *wish.args)
    return replace(wish, cwd=package, env=env, args=args, test=test, build=build)


@dataclass(frozen=True, slots=True)
class Built:
    """One executable of tests, and the source that is its root."""

    program: Path
    source: Path


def built(printed: str) -> list[Built]:
    """The executables that cargo has made, out of its messages, one JSON object a line."""
    found = []
    for line in printed.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if not isinstance(row, dict) or row.get("reason") != "compiler-artifact" or not row.get("executable"):
            continue
        if row.get("profile", {}).get("test"):
            found.append(Built(Path(row["executable"]), Path(row.get("target", {}).get("src_path", ""))))
    return found


def complaints(printed: str) -> str:
    """What the compiler had to say against it, out of the same messages."""
    said = ""
    for line in printed.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        message = row.get("message") if isinstance(row, dict) else None
        if isinstance(message, dict) and message.get("level") == "error":
            said += str(message.get("rendered") or message.get("message") or "")
    return said


def named(test: str, listed: Sequence[str]) -> list[str]:
    """The tests that an id means, of those an executable has listed (``name: test``)."""
    file, _, rest = test.partition("::")
    name = rest if file.endswith(".rs") else test
    names = [line.removesuffix(": test") for line in listed if line.endswith(": test")]
    if name in names:
        return [name]
    # The module of a file below src/ is a part of the name.
    return [one for one in names if one.endswith(f"::{name}")]


# -- JavaScript --------------------------------------------------------------------------------------------------------


_RUNNERS = {
    "vitest": (
        "node_modules/vitest/vitest.mjs",
        "run {file} --pool threads --no-file-parallelism --testTimeout 0 --hookTimeout 0",
        "-t",
    ),
    "jest": ("node_modules/jest/bin/jest.js", "--runInBand --runTestsByPath {file} --testTimeout 2147483647", "-t"),
    "mocha": ("node_modules/mocha/bin/mocha.js", "--no-timeouts {file}", "-g"),
}
"""A runner's script, its arguments without time limits and without processes of its own, and how it takes a title."""


def _javascript(path: Path, name: str, wish: Wish) -> Wish:
    """The runner that the nearest package.json depends on, else node's own, of which the file itself is a program."""
    package = next((one for one in path.parents if (one / "package.json").is_file()), wish.cwd)
    relative = path.relative_to(package).as_posix() if path.is_relative_to(package) else str(path)
    title = re.escape(name.replace("::", " "))
    env = {**wish.env, "NODE_ENV": wish.env.get("NODE_ENV", "test")}
    common = replace(wish, cwd=package, env=env, test=relative)
    runner = _RUNNERS.get(_runner(package))
    if runner is None:
        more = {"runtimeArgs": ["--test-name-pattern", title]} if title else {}
        return replace(common, program=path, more=more)
    script, words, by_title = runner
    args = [word.replace("{file}", relative) for word in words.split()]
    args += [by_title, title] if title else []
    return replace(common, program=package / script, args=(*args, *wish.args))


def _runner(package: Path) -> str:
    try:
        said = json.loads((package / "package.json").read_text("utf-8"))
    except (OSError, ValueError):
        return "node"
    names: set[str] = set()
    for key in ("dependencies", "devDependencies"):
        rows = said.get(key) if isinstance(said, dict) else None
        names |= set(rows) if isinstance(rows, dict) else set()
    return next((one for one in ("vitest", "jest", "mocha") if one in names), "node")
