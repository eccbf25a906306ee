"""A large project to edit: Django's source, as its wheel holds it, pinned by ``django.txt``.

It is downloaded once, into ``${XDG_CACHE_HOME:-~/.cache}/ombud/bench``, and copied for every server that is measured.
Nothing of it is installed or run.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
if (SCRIPTS := str(HERE.parent / "scripts")) not in sys.path:
    sys.path.append(SCRIPTS)

from tool_commands import ATTEMPTS, ToolError, clean_environment, run  # noqa: E402

from tools import PIP_INSTALL, cache_folder, locked  # noqa: E402

PIN = HERE / "django.txt"
PROJECT = '[project]\nname = "large"\nversion = "1"\nrequires-python = ">=3.10"\n'


def source() -> Path:
    """The folder that holds the package ``django``. Ends the program with a sentence where it cannot be had."""
    key = hashlib.sha256(PIN.read_bytes()).hexdigest()[:16]
    folder = cache_folder().parent / "bench" / f"django-{key}"
    try:
        with locked("django"):
            if not folder.is_dir():
                _download(folder)
    except ToolError as error:
        sys.exit(f"Django's source is needed and could not be had: {error}")
    return folder


def _download(folder: Path) -> None:
    """Unpack the wheel beside ``folder`` and move it there when it is whole."""
    print(f"downloading {PIN.name} into {folder}", file=sys.stderr)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as fresh:
        target = Path(fresh) / "source"
        run(
            [sys.executable, *PIP_INSTALL, "--require-hashes", "--no-compile", "--target", target, "-r", PIN],
            what=f"unpacking bench/{PIN.name} with pip",
            env=clean_environment(),
            attempts=ATTEMPTS,
        )
        target.replace(folder)


def project(root: Path, checking: str | None) -> None:
    """Make ``root`` a project of Django's source. ``checking`` is basedpyright's mode, None for its own default."""
    root.mkdir(parents=True)
    shutil.copytree(source() / "django", root / "django")
    settings = f'\n[tool.basedpyright]\ntypeCheckingMode = "{checking}"\n' if checking else ""
    (root / "pyproject.toml").write_text(PROJECT + settings)
