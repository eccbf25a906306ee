"""The packages that accuracy is measured on: pinned, downloaded once, copied for every run. Nothing of them is run.

Downloads stand in ``${XDG_CACHE_HOME:-~/.cache}/ombud/bench``, in folders named after their pins.
"""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
if (SCRIPTS := str(HERE.parents[1] / "scripts")) not in sys.path:
    sys.path.append(SCRIPTS)

from tool_commands import ATTEMPTS, ToolError, clean_environment, run  # noqa: E402

from tools import LINKS, NPM_CI, PIP_INSTALL, cache_folder, locked  # noqa: E402

__all__ = ["LINKS", "Package", "ToolError", "cache_folder", "clean_environment", "copy", "environment", "run"]

PYTHON_PINS = HERE / "python.txt"
PYCG_PINS = HERE / "pycg.txt"
NPM_PINS = HERE / "npm"
FIXTURE_FOLDER = HERE.parents[1] / "fixtures" / "accuracy"
SKIPPED = shutil.ignore_patterns(
    "__pycache__", "*.pyc", "tests", "__tests__", "benchmarks", "tsconfig*.json", "*.test.ts"
)
TSCONFIG = {
    "compilerOptions": {
        **{"target": "es2022", "module": "esnext", "moduleResolution": "bundler"},
        **{"strict": True, "skipLibCheck": True, "noEmit": True, "types": []},
    }
}


@dataclass(frozen=True)
class Package:
    """A package to measure. `folders` hold its sources, relative to where it is installed; `promised` says whether
    the thresholds hold for it, or its numbers are only told. Thresholds are the language's."""

    name: str
    language: str
    folders: tuple[str, ...]
    promised: bool = True

    @property
    def precision(self) -> float:
        return PROMISES.get(self.language, PRECISION_ONLY)[0]

    @property
    def recall(self) -> float:
        return PROMISES.get(self.language, PRECISION_ONLY)[1]


# Least precision and recall, by language; a fixture measured against a language server promises its precision only.
PROMISES = {"python": (0.98, 0.95), "typescript": (0.95, 0.90)}
PRECISION_ONLY = (0.95, 0.0)

PYTHON = [
    Package(name, "python", folders, promised)
    for name, folders, promised in (
        ("attrs", ("attr", "attrs"), False),
        ("click", ("click",), True),
        ("flask", ("flask",), True),
        ("h11", ("h11",), False),
        ("itsdangerous", ("itsdangerous",), True),
        ("jinja2", ("jinja2",), True),
        ("packaging", ("packaging",), True),
        ("werkzeug", ("werkzeug",), True),
        ("anyio", ("anyio",), False),
        ("httpx", ("httpx",), False),
        ("marshmallow", ("marshmallow",), False),
        ("pluggy", ("pluggy",), False),
        ("requests", ("requests",), True),
        ("rich", ("rich",), True),
        ("starlette", ("starlette",), False),
        ("tenacity", ("tenacity",), False),
        ("tomlkit", ("tomlkit",), False),
        ("typer", ("typer",), False),
    )
]
TYPESCRIPT = [
    Package(name, "typescript", (folder,), promised)
    for name, folder, promised in (
        ("@tanstack/query-core", "src", True),
        ("ajv", "lib", True),
        ("immer", "src", True),
        ("rxjs", "src", True),
        ("@noble/curves", "src", False),
        ("@trpc/server", "src", False),
        ("css-select", "src", False),
        ("mobx", "src", False),
        ("zod", "src", False),
    )
]
FIXTURES = [Package(language, language, (), True) for language in ("go", "java", "rust", "cpp")]
PACKAGES = {package.name: package for package in PYTHON + TYPESCRIPT + FIXTURES}


def node() -> Path:
    return LINKS / "python" / "bin" / "node"


def copy(package: Package, into: Path) -> None:
    """Copy the sources of a package into the new folder `into`, as a project of their own."""
    if package in FIXTURES:
        shutil.copytree(FIXTURE_FOLDER / package.language, into)
        return
    into.mkdir(parents=True)
    if package.language == "python":
        for folder in package.folders:
            shutil.copytree(python_sources() / folder, into / folder, ignore=SKIPPED)
        return
    home = typescript_sources() / "node_modules" / package.name
    for folder in package.folders:
        shutil.copytree(home / folder, into / folder, ignore=SKIPPED)
    shutil.copyfile(home / "package.json", into / "package.json")
    (into / "tsconfig.json").write_text(json.dumps(TSCONFIG | {"include": list(package.folders)}, indent=2) + "\n")


def python_sources() -> Path:
    """The folder into which all Python packages are unpacked. Raises ToolError where they cannot be had."""
    return _once(PYTHON_PINS, "accuracy-python", _unpack_wheels)


def typescript_sources() -> Path:
    """The folder whose ``node_modules`` has all TypeScript packages. Raises ToolError where they cannot be had."""
    return _once(NPM_PINS / "package-lock.json", "accuracy-typescript", _npm_ci)


def pycg_snippets() -> Path:
    """PyCG's snippets, ``<category>/<case>/``. Raises ToolError where they cannot be had."""
    return _once(PYCG_PINS, "accuracy-pycg", _unpack_archive) / "snippets"


def environment(package: Package) -> list[dict[str, object]]:
    """What scip-python's ``--environment`` wants: each package but the measured one, with its version and files."""
    found: list[dict[str, object]] = []
    for folder in sorted(python_sources().glob("*.dist-info")):
        name, _, version = folder.name.removesuffix(".dist-info").rpartition("-")
        if name == package.name:
            continue
        with (folder / "RECORD").open(encoding="utf-8", newline="") as record:
            found.append({"name": name, "version": version, "files": [row[0] for row in csv.reader(record) if row]})
    return found


# -- downloading -----------------------------------------------------------------------------------------------------


def _once(pin: Path, name: str, fill: Callable[[Path], None]) -> Path:
    """The folder that `fill` makes from `pin`, made beside its place and moved there when it is whole."""
    key = hashlib.sha256(pin.read_bytes()).hexdigest()[:16]
    folder = cache_folder().parent / "bench" / f"{name}-{key}"
    with locked(name):
        if not folder.is_dir():
            print(f"downloading {pin.relative_to(HERE)} into {folder}", file=sys.stderr)
            folder.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder.parent) as fresh:
                target = Path(fresh) / "whole"
                target.mkdir()
                fill(target)
                target.replace(folder)
    return folder


def _unpack_wheels(target: Path) -> None:
    run(
        [sys.executable, *PIP_INSTALL, "--require-hashes", "--no-compile", "--target", target, "-r", PYTHON_PINS],
        what="unpacking bench/accuracy/python.txt with pip",
        env=clean_environment(),
        attempts=ATTEMPTS,
    )


def _npm_ci(target: Path) -> None:
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copyfile(NPM_PINS / name, target / name)
    run(
        [node(), LINKS / "python" / "npm" / "bin" / "npm-cli.js", *NPM_CI, "--legacy-peer-deps"],
        what="unpacking bench/accuracy/npm with npm",
        cwd=target,
        env=clean_environment(),
        attempts=ATTEMPTS,
    )


# pip asks a source archive for its metadata before it hands it over, which runs its build scripts. This stands in
# for the build backend that the archive names and answers for it, so that nothing of the archive is run.
BACKEND = """
import os


def prepare_metadata_for_build_wheel(folder, config_settings=None):
    name = "{name}-{version}.dist-info"
    os.mkdir(os.path.join(folder, name))
    with open(os.path.join(folder, name, "METADATA"), "w") as metadata:
        metadata.write("Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
    return name
"""


def _unpack_archive(target: Path) -> None:
    pin = PYCG_PINS.read_text(encoding="utf-8").splitlines()[-1].split()[0]
    name, _, version = pin.partition("==")
    with tempfile.TemporaryDirectory() as scratch:
        backend = Path(scratch) / "backend" / "hatchling"
        backend.mkdir(parents=True)
        (backend / "__init__.py").write_text("")
        (backend / "build.py").write_text(BACKEND.format(name=name, version=version))
        archives = Path(scratch) / "archives"
        words = ("--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--use-pep517", "--require-hashes")
        run(
            [sys.executable, "-m", "pip", "download", "--quiet", *words, "--dest", archives, "-r", PYCG_PINS],
            what="downloading bench/accuracy/pycg.txt with pip",
            env=clean_environment(PYTHONPATH=str(backend.parent)),
            attempts=ATTEMPTS,
        )
        with tarfile.open(next(archives.glob("*.tar.gz"))) as archive:
            archive.extractall(Path(scratch) / "unpacked", filter="data")
        snippets = Path(scratch) / "unpacked" / f"{name}-{version}" / "micro-benchmark" / "snippets"
        shutil.copytree(snippets, target / "snippets")
