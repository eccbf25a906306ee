"""The tools that no package registry has: Rust's, LLDB's adapter, and Emacs: the machine's own, linked like the others.

What is missing is installed from Debian's packages where that is allowed (as root). The standard library only.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tool_commands import ATTEMPTS, ToolError, clean_environment, run, version_of

LINKS = Path(__file__).resolve().parent.parent / ".tools"


@dataclass(frozen=True)
class Options:
    """What the command line allows."""

    system: bool = False


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


LLDB = ("lldb-dap", *(f"lldb-dap-{number}" for number in range(22, 17, -1)))
"""The adapter's names, the newest first. LLVM's packages of two releases exclude one another."""
LLDB_PACKAGES = ("lldb-22", "lldb-19", "lldb-18")


def build_lldb(folder: Path, options: Options) -> dict[str, str]:
    """Links to the machine's own lldb-dap and C compiler."""
    for programs, packages in ((LLDB, [LLDB_PACKAGES]), (("gcc",), [("gcc",), ("libc6-dev",)])):
        if any(running(name) for name in programs):
            continue
        if not options.system:
            raise ToolError(
                f"{programs[0]} not found on this machine. On Debian or Ubuntu, run as root: "
                f"python3 scripts/tools.py --system (elsewhere: install {packages[0][-1]})."
            )
        apt_install(packages)
    adapter = next((path for name in LLDB if (path := running(name)) is not None), None)
    compiler = running("gcc")
    if adapter is None or compiler is None:
        raise ToolError("The system's packages for LLDB and GCC were installed, yet no lldb-dap or gcc on PATH runs.")
    (folder / "bin").mkdir()
    (folder / "bin" / "lldb-dap").symlink_to(adapter)
    (folder / "bin" / "gcc").symlink_to(compiler)
    return {name: version_of(folder / "bin" / name, ["--version"], clean_environment()) for name in ("gcc", "lldb-dap")}


EMACS = ("emacs-nox", "emacs")
EGLOT = ("elpa-eglot",)
"""Emacs 29 has Eglot in it, Emacs 28 has it as a package."""


def build_emacs(folder: Path, options: Options) -> dict[str, str]:
    """A link to the machine's own Emacs, which must have Eglot for all its users, not in somebody's `.emacs.d`."""
    for packages, what, there in ((EMACS, "Emacs", has_emacs), (EGLOT, "Eglot", has_eglot)):
        if there():
            continue
        if not options.system:
            raise ToolError(
                f"{what} not found on this machine. On Debian or Ubuntu, run as root: python3 scripts/tools.py "
                "--system (elsewhere: install Emacs 29 or newer)."
            )
        apt_install([packages])
    emacs = running("emacs")
    if emacs is None or not has_eglot():
        raise ToolError("The system's packages for Emacs and Eglot were installed, yet no emacs on PATH has Eglot.")
    (folder / "bin").mkdir()
    (folder / "bin" / "emacs").symlink_to(emacs)
    return {"emacs": version_of(folder / "bin" / "emacs", ["--version"], clean_environment())}


def has_emacs() -> bool:
    return running("emacs") is not None


def has_eglot() -> bool:
    """Whether Emacs has Eglot where all its users find it."""
    emacs = running("emacs")
    if emacs is None:
        return False
    words = ("--batch", "-q", "--eval", "(package-initialize)", "--eval", "(require 'eglot)")
    with tempfile.TemporaryDirectory() as home:
        try:
            run([emacs, *words], what="looking for Eglot", env=clean_environment(HOME=home), timeout=120)
        except ToolError:
            return False
    return True


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
