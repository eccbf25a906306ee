"""The trees that `search.py` searches: Django's package, and what npm has of TypeScript and JavaScript sources.

The npm packages are those of ``search_trees/package-lock.json``, by their hashes. They are unpacked once, into
``${XDG_CACHE_HOME:-~/.cache}/ombud/bench``, and only their sources are kept: neither declarations nor what a tool has
squeezed, so that both sides look at the same files. Nothing of them is run.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from graph_source import _cached
from large import HERE, source
from tool_commands import ATTEMPTS, ToolError, clean_environment, run

from tools import GROUPS, NPM_CI

TREES = HERE / "search_trees"
PACKAGES = {
    "typescript": ("viem", "effect", "ox", "rxjs", "@trpc/server"),
    "javascript": ("three", "core-js"),
}
SUFFIXES = {"typescript": (".ts", ".mts"), "javascript": (".js", ".mjs")}


def trees() -> dict[str, Path]:
    """Language → a folder of its sources. Ends the program with a sentence where they cannot be had."""
    try:
        pins = [TREES / "package.json", TREES / "package-lock.json"]
        folder = _cached("search-trees", pins, _download)
    except ToolError as error:
        sys.exit(f"Sources to search are needed and could not be had: {error}")
    return {"python": source() / "django", **{language: folder / language for language in PACKAGES}}


def _download(target: Path) -> None:
    python = GROUPS["python"].folder
    node = python / "bin" / "node"
    if not node.exists():
        raise ToolError("npm is that of the pinned tools: run `make tools` first")
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copyfile(TREES / name, Path(folder, name))
        run(
            [node, python / "npm" / "bin" / "npm-cli.js", *NPM_CI],
            what="installing bench/search_trees/package-lock.json with npm",
            cwd=Path(folder),
            env=clean_environment(PATH=f"{node.parent}:/usr/bin:/bin"),
            attempts=ATTEMPTS,
        )
        for language, packages in PACKAGES.items():
            for package in packages:
                _copy(Path(folder, "node_modules", package), target / language / package, language)


def _copy(package: Path, target: Path, language: str) -> None:
    from ombud.syntax.source import LARGEST, is_minified
    from ombud.workspace.listing import is_minified as named_minified

    for path in sorted(package.rglob("*")):
        inside = path.relative_to(package)
        if not path.is_file() or not path.name.endswith(SUFFIXES[language]) or "node_modules" in inside.parts:
            continue
        if path.name.endswith((".d.ts", ".d.mts")) or named_minified(path.name):
            continue
        data = path.read_bytes()
        if len(data) > LARGEST or is_minified(data, language) or b"\0" in data:
            continue
        (target / inside).parent.mkdir(parents=True, exist_ok=True)
        (target / inside).write_bytes(data)
