"""Launch and attach configurations, one function a dialect: what each adapter calls the same wishes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ombud.debug.breakpoints import Watch
from ombud.debug.catalogue import Entry
from ombud.debug.connection import Plan
from ombud.errors import UserError


@dataclass(frozen=True, slots=True)
class Wish:
    """What a caller wants debugged. One of ``program``, ``module`` and ``runner`` is given, or an attach target.

    ``runner`` is a test run that was made a program: see `ombud.debug.testing`. ``env`` is the whole environment of the
    program. ``interpreter`` runs it, where it is a script.
    """

    cwd: Path
    env: Mapping[str, str] = field(repr=False)
    program: Path | None = None
    module: str | None = None
    args: tuple[str, ...] = ()
    stop_on_entry: bool = False
    interpreter: str | None = None
    test: str | None = None
    port: int | None = None
    host: str = "127.0.0.1"
    pid: int | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the adapter's own, which win."""
    build: tuple[str, ...] = ()
    """What makes the program, in ``cwd``, before it is known: see `ombud.operations.debugging.building`."""

    @property
    def attaches(self) -> bool:
        return self.port is not None or self.pid is not None


def plan(entry: Entry, wish: Wish) -> Plan:
    """The plan for an adapter. Raises `UserError` for what it cannot do."""
    if wish.attaches and (("pid" if wish.port is None else "port") not in entry.attach):
        how = " or ".join(entry.attach)
        raise UserError(
            f"{entry.name} cannot attach by that; it can by {how}." if how else f"{entry.name} cannot attach."
        )
    configuration = _DIALECTS[entry.dialect](wish)
    request = "attach" if wish.attaches else "launch"
    whole = {
        "type": entry.type,
        "request": request,
        "name": "Ombud",
        **configuration,
        **entry.configuration,
        **wish.more,
    }
    # A panic of Rust is no exception to debuggers of compiled programs. Of a name that is not there nothing comes.
    panics = entry.dialect in ("lldb", "codelldb", "gdb") and not wish.attaches
    return Plan(request, entry.type, whole, Watch(functions=("rust_panic",) if panics else ()))


def _program(wish: Wish, name: str) -> str:
    if wish.program is None:
        raise UserError(f"{name} launches programs; name the program's path.")
    return str(wish.program)


def _debugpy(wish: Wish) -> dict[str, Any]:
    common = {"subProcess": True, "justMyCode": True, "cwd": str(wish.cwd)}
    if wish.port is not None:
        return {**common, "connect": {"host": wish.host, "port": wish.port}}
    if wish.pid is not None:
        return {**common, "processId": wish.pid}
    what = {"module": wish.module} if wish.module else {"program": _program(wish, "debugpy")}
    interpreter = {"python": [wish.interpreter]} if wish.interpreter else {}
    return {
        **common,
        **what,
        **interpreter,
        "args": list(wish.args),
        "env": dict(wish.env),
        "console": "internalConsole",
        "stopOnEntry": wish.stop_on_entry,
        "redirectOutput": True,
    }


def _lldb(wish: Wish) -> dict[str, Any]:
    if wish.pid is not None:
        return {"pid": wish.pid}
    return {
        "program": _program(wish, "lldb-dap"),
        "args": list(wish.args),
        "cwd": str(wish.cwd),
        "env": [f"{name}={value}" for name, value in wish.env.items()],
        "stopOnEntry": wish.stop_on_entry,
    }


def _codelldb(wish: Wish) -> dict[str, Any]:
    # Expressions in the program's language, as lldb-dap takes them, and not in CodeLLDB's own that cannot assign.
    if wish.pid is not None:
        return {"pid": wish.pid, "stopOnEntry": False, "expressions": "native"}
    return {**_lldb(wish), "env": dict(wish.env), "terminal": "console", "expressions": "native"}


def _dlv(wish: Wish) -> dict[str, Any]:
    if wish.pid is not None:
        return {"mode": "local", "processId": wish.pid}
    if wish.port is not None:
        return {"mode": "remote", "host": wish.host, "port": wish.port}
    program = Path(_program(wish, "dlv"))
    is_built = program.is_file() and program.suffix != ".go"
    return {
        "mode": "test" if wish.test is not None else "exec" if is_built else "debug",
        "program": str(program),
        "args": list(wish.args),
        "cwd": str(wish.cwd),
        "env": dict(wish.env),
        "stopOnEntry": wish.stop_on_entry,
        "outputMode": "remote",
    }


def _js_debug(wish: Wish) -> dict[str, Any]:
    common = {
        "cwd": str(wish.cwd),
        "skipFiles": ["<node_internals>/**", "**/node_modules/**"],
        "resolveSourceMapLocations": [f"{wish.cwd}/**", "!**/node_modules/**"],
        "sourceMaps": True,
        # Where it looks for the maps that lead from a breakpoint's source to the script that runs. To pause at each
        # script that has a map would be the other way, but Node does not pause at modules of CommonJS.
        "__workspaceFolder": str(wish.cwd),
        "rootPath": str(wish.cwd),
        "outFiles": [f"{wish.cwd}/**/*.(m|c|)js", "!**/node_modules/**"],
    }
    if wish.port is not None:
        return {**common, "address": wish.host, "port": wish.port}
    runtime = {"runtimeExecutable": wish.interpreter} if wish.interpreter else {}
    return {
        **common,
        **runtime,
        "program": _program(wish, "js-debug"),
        "args": list(wish.args),
        "env": dict(wish.env),
        # Of a program that it starts itself it tells no exit code.
        "console": "integratedTerminal",
        "outputCapture": "std",
        "stopOnEntry": wish.stop_on_entry,
    }


def _gdb(wish: Wish) -> dict[str, Any]:
    if wish.pid is not None:
        return {"pid": wish.pid}
    return {
        "program": _program(wish, "gdb"),
        "args": list(wish.args),
        "cwd": str(wish.cwd),
        "env": dict(wish.env),
        "stopAtBeginningOfMainSubprogram": wish.stop_on_entry,
    }


def _cdt(wish: Wish) -> dict[str, Any]:
    if wish.pid is not None:
        return {"processId": str(wish.pid)}
    return {
        "program": _program(wish, "cdt-gdb-adapter"),
        "arguments": " ".join(wish.args),
        "cwd": str(wish.cwd),
        "environment": dict(wish.env),
        "initCommands": ["break main"] if wish.stop_on_entry else [],
    }


def _bash(wish: Wish) -> dict[str, Any]:
    program = _program(wish, "bash-dap")
    return {
        "program": program,
        "args": list(wish.args),
        "cwd": str(wish.cwd),
        "env": dict(wish.env),
        "console": "internalConsole",
        "stopOnEntry": wish.stop_on_entry,
    }


def _netcoredbg(wish: Wish) -> dict[str, Any]:
    if wish.pid is not None:
        return {"processId": wish.pid}
    program = Path(_program(wish, "netcoredbg"))
    through = program.suffix == ".dll"
    return {
        "program": "dotnet" if through else str(program),
        "args": [str(program), *wish.args] if through else list(wish.args),
        "cwd": str(wish.cwd),
        "env": dict(wish.env),
        "stopAtEntry": wish.stop_on_entry,
    }


def _php(wish: Wish) -> dict[str, Any]:
    return {
        "program": _program(wish, "php"),
        "args": list(wish.args),
        "cwd": str(wish.cwd),
        "env": dict(wish.env),
        "port": 0,
        "runtimeArgs": ["-dxdebug.start_with_request=yes"],
        "stopOnEntry": wish.stop_on_entry,
    }


def _plain(wish: Wish) -> dict[str, Any]:
    """What most adapters understand, for one of the user's own."""
    if wish.pid is not None:
        return {"processId": wish.pid}
    if wish.port is not None:
        return {"host": wish.host, "port": wish.port}
    what = {"module": wish.module} if wish.module else {"program": _program(wish, "The adapter")}
    return {
        **what,
        "args": list(wish.args),
        "cwd": str(wish.cwd),
        "env": dict(wish.env),
        "stopOnEntry": wish.stop_on_entry,
    }


def _elixir(wish: Wish) -> dict[str, Any]:
    return {"task": "run", "taskArgs": [_program(wish, "elixir-ls"), *wish.args], "projectDir": str(wish.cwd)}


_DIALECTS: Mapping[str, Callable[[Wish], dict[str, Any]]] = {
    "bash": _bash,
    "cdt": _cdt,
    "codelldb": _codelldb,
    "dart": _plain,
    "debugpy": _debugpy,
    "dlv": _dlv,
    "elixir": _elixir,
    "gdb": _gdb,
    "java": _plain,
    "js-debug": _js_debug,
    "lldb": _lldb,
    "netcoredbg": _netcoredbg,
    "php": _php,
    "plain": _plain,
    "rdbg": _plain,
}
