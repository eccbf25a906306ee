"""Runs scip-python and scip-typescript over a copy of a package."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from . import packages, truth
from .packages import LINKS, Package, ToolError, clean_environment, run
from .scip import read_index

SCIP = LINKS / "scip" / "bin"
MEMORY = "--max-old-space-size=4096"


def ask(package: Package, folder: Path) -> truth.Truth:
    """Index a copy of the package in the new folder `folder`. Raises ToolError with the indexer's last words."""
    packages.copy(package, folder)
    output = folder.with_name(f"{folder.name}.scip")
    path = os.pathsep.join((str(packages.node().parent), os.defpath))
    words = _python(package, folder) if package.language == "python" else _typescript(folder)
    run(
        [packages.node(), *words, "--cwd", folder, "--output", output],
        what=f"indexing {package.name}",
        cwd=folder,
        env=clean_environment(PATH=path, NODE_OPTIONS=MEMORY),
    )
    documents = read_index(output)
    if not documents:
        raise ToolError(f"indexing {package.name} made an empty index.")
    return truth.join(folder, documents, _own(package))


def _own(package: Package) -> str:
    """How the symbols of the package itself begin: scheme, package manager, name."""
    return (
        f"scip-python python {package.name} "
        if package.language == "python"
        else f"scip-typescript npm {package.name} "
    )


def _python(package: Package, folder: Path) -> list[str | Path]:
    settings = {"include": list(package.folders), "extraPaths": [str(packages.python_sources())]}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    others = folder.with_name(f"{folder.name}-environment.json")
    others.write_text(json.dumps(packages.environment(package)))
    names = ("--project-name", package.name, "--project-version", "1", "--environment", others)
    return [SCIP / "scip-python", "index", "--quiet", *names]


def _typescript(folder: Path) -> list[str | Path]:
    modules = packages.typescript_sources() / "node_modules"
    (folder / "node_modules").symlink_to(modules, target_is_directory=True)
    return [SCIP / "scip-typescript", "index", "--no-progress-bar"]


def ready() -> None:
    """Ends the program with a sentence where the indexers are not installed."""
    if not (SCIP / "scip-python").exists():
        sys.exit("scip-python and scip-typescript are needed: python3 scripts/tools.py --only scip")
