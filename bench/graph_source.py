"""What `graph.py` indexes, and with what: Django's repository, ctags and codegraph.

Both downloads are made once, into ``${XDG_CACHE_HOME:-~/.cache}/ombud/bench``.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import platform
import re
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from large import HERE  # it knows the way to the scripts below
from tool_commands import ATTEMPTS, ToolError, clean_environment, run

from tools import GROUPS, NPM_CI, cache_folder, locked

PIN = HERE / "graph_django.txt"
CODEGRAPH = HERE / "codegraph"
BUNDLE = "node_modules/@colbymchenry/codegraph-linux-x64/bin/codegraph"
"""What `@colbymchenry/codegraph` starts on Linux x86-64. Its bundles for other systems are not in the registry, so that
this one is pinned by itself: ``npm ci`` refuses a lock in which optional packages are missing."""
DOWNLOAD = (
    *("-m", "pip", "download", "--disable-pip-version-check", "--no-input", "--quiet", "--retries", "5"),
    *("--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--require-hashes"),
)


class Missing(Exception):
    """Something to compare with is not on this machine; the text is a sentence that says how to get it."""


def django() -> Path:
    """The unpacked repository of Django. Ends the program with a sentence where it cannot be had."""
    try:
        return _cached("django-repository", [PIN], _download_django)
    except ToolError as error:
        sys.exit(f"Django's sources are needed and could not be had: {error}")


def _download_django(target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        run(
            [sys.executable, *DOWNLOAD, "--dest", folder, "-r", PIN],
            what=f"downloading bench/{PIN.name} with pip",
            # pip asks the archive's build backend for its metadata; ours reads them and runs nothing.
            env=clean_environment(PYTHONPATH=str(HERE / "no_build")),
            attempts=ATTEMPTS,
        )
        (archive,) = Path(folder).glob("*.tar.gz")
        with tarfile.open(archive) as tar:
            tar.extractall(Path(folder, "source"), filter="data")
        (root,) = Path(folder, "source").iterdir()
        root.replace(target)


def codegraph() -> list[str]:
    """The command of codegraph. Raises Missing."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise Missing("codegraph is pinned for Linux x86-64 only")
    python = GROUPS["python"].folder
    if not (python / "bin" / "node").exists():
        raise Missing("codegraph is installed with the pinned Node: run `make tools` first")
    pins = [CODEGRAPH / "package.json", CODEGRAPH / "package-lock.json"]
    try:
        folder = _cached("codegraph", pins, _install_codegraph)
    except ToolError as error:
        raise Missing(f"codegraph could not be installed: {error}") from None
    return [str(folder / BUNDLE)]


def _install_codegraph(target: Path) -> None:
    python = GROUPS["python"].folder
    node = python / "bin" / "node"
    target.mkdir()
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copyfile(CODEGRAPH / name, target / name)
    run(
        [node, python / "npm" / "bin" / "npm-cli.js", *NPM_CI],
        what="installing bench/codegraph/package-lock.json with npm",
        cwd=target,
        env=clean_environment(PATH=f"{node.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"),
        attempts=ATTEMPTS,
    )
    if not (target / BUNDLE).exists():
        # npm counts an optional package that it cannot get as a success.
        raise ToolError("npm left out the package with codegraph's program")


def ctags() -> list[str]:
    """The command of Universal Ctags. Raises Missing."""
    found = shutil.which("ctags")
    if found is None:
        raise Missing("ctags is not on PATH (Debian, Ubuntu: apt-get install universal-ctags)")
    if "Universal Ctags" not in run([found, "--version"], what="asking ctags for its version"):
        raise Missing(f"{found} is not Universal Ctags (Debian, Ubuntu: apt-get install universal-ctags)")
    return [found]


def _cached(name: str, pins: list[Path], make: Callable[[Path], None]) -> Path:
    """The folder that ``make`` has filled for these pins, now or earlier. Raises ToolError."""
    key = hashlib.sha256(b"\0".join(pin.read_bytes() for pin in pins)).hexdigest()[:16]
    folder = cache_folder().parent / "bench" / f"{name}-{key}"
    with locked(f"bench-{name}"):
        if not folder.is_dir():
            print(f"downloading {name} into {folder}", file=sys.stderr)
            folder.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder.parent) as fresh:
                make(Path(fresh, "whole"))
                Path(fresh, "whole").replace(folder)
    return folder


# -- projects of any size ---------------------------------------------------------------------------------------------


def repeated(root: Path, source: Path, count: int) -> int:
    """Fill ``root`` with ``count`` Python files: those of the folders ``django`` and ``tests``, over and over, each
    time under other package names, so that every copy imports itself and no other. Returns the bytes written."""
    pattern = _imports(source)
    written = 0
    for copy, inside in itertools.islice(_endless(source), count):
        suffix = b"_%d" % copy
        renamed = _renamed(inside, suffix.decode())
        data = pattern.sub(rb"\g<0>" + suffix, (source / inside).read_bytes())
        target = root / renamed
        if not target.parent.is_dir():
            target.parent.mkdir(parents=True)
        target.write_bytes(data)
        written += len(data)
    return written


def python_files(root: Path, *folders: str) -> list[Path]:
    """Paths below ``root``, sorted."""
    found = [path for folder in folders or (".",) for path in sorted((root / folder).rglob("*.py"))]
    return [path.relative_to(root) for path in found if path.is_file()]


def _endless(source: Path) -> Iterator[tuple[int, Path]]:
    files = python_files(source, "django", "tests")
    copy = 0
    while True:
        yield from ((copy, path) for path in files)
        copy += 1


def _imports(source: Path) -> re.Pattern[bytes]:
    """Where a line imports one of the repository's packages, up to and with the name of it."""
    packages = [path.name for path in (source / "tests").iterdir() if any(path.glob("*.py"))]
    names = b"|".join(re.escape(name.encode()) for name in ("django", *sorted(packages)))
    return re.compile(rb"^[ \t]*(?:from|import)[ \t]+(?:%b)\b" % names, re.MULTILINE)


def _renamed(inside: Path, suffix: str) -> Path:
    """``django/db/x.py`` → ``django_3/db/x.py``; ``tests/basic/x.py`` → ``tests_3/basic_3/x.py``."""
    top, *rest = inside.parts
    if top == "tests" and len(rest) > 1:
        rest[0] += suffix
    return Path(top + suffix, *rest)
