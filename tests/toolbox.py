"""The pinned real tools of scripts/tools.py, as the tests use them: a PATH, a must-have check and project copies."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
TOOLS = PROJECT / ".tools"
GROUPS = ("python", "npm", "go", "rust", "emacs", "debug", "lldb")
PROJECTS = PROJECT / "fixtures" / "servers"


def tool_path() -> str:
    """A PATH that is the same on every machine: the tools' folders first, then the system's least and git's folder.

    The caller's own PATH is left out: a server that happens to be installed there would be tested in the pinned
    one's place. Node, Go and Cargo are in the tools' folders, so only the system's own programs come from elsewhere.
    """
    folders = [str(TOOLS / group / "bin") for group in GROUPS]
    folders += os.defpath.split(os.pathsep)
    git = shutil.which("git")
    if git is not None:
        folders.append(str(Path(git).parent))
    return os.pathsep.join(dict.fromkeys(folder for folder in folders if folder))


def require(name: str) -> Path:
    """The absolute path of a pinned tool. A missing tool fails the test: a skipped one would look passed."""
    for group in GROUPS:
        candidate = TOOLS / group / "bin" / name
        if os.access(candidate, os.X_OK):
            return candidate
    pytest.fail(
        f"{name} is not among the tools in .tools. Run `make tools` (for rust-analyzer and Emacs on Debian or Ubuntu: "
        "`python3 scripts/tools.py --system` as root).",
        pytrace=False,
    )


def copy_project(language: str, into: Path) -> Path:
    """Copies fixtures/servers/<language> to `into`/<language> and returns that folder.

    ESLint's server loads the linter out of the project it lints, and Vue's files import Vue, so those copies get the
    tools' node_modules as a link.
    """
    source = PROJECTS / language
    if not source.is_dir():
        known = ", ".join(sorted(entry.name for entry in PROJECTS.iterdir() if entry.is_dir()))
        pytest.fail(f"There is no fixtures/servers/{language}; there are: {known}.", pytrace=False)
    target = into / language
    shutil.copytree(source, target)
    if language in ("eslint", "vue", "web"):
        require("eslint")
        (target / "node_modules").symlink_to((TOOLS / "npm" / "node_modules").resolve(), target_is_directory=True)
    return target
