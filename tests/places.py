"""Workspaces for the tests of detection, with a PATH of programs that leave a trace should anybody run them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ombud.downstream.catalogue import load_catalogue
from ombud.downstream.detect import Detected, Detector
from ombud.guard.commands import CommandCache
from ombud.guard.trust import Trust

SERVERS = (
    *("basedpyright-langserver", "ty", "ruff", "typescript-language-server", "tsgo", "deno", "gopls", "rust-analyzer"),
    *("clangd", "vscode-eslint-language-server", "bash-language-server", "yaml-language-server", "ngserver", "jdtls"),
    *("vscode-json-language-server", "dart", "astro-ls", "terraform-ls"),
)


class Place:
    """A workspace, and a PATH outside of it whose programs leave a trace when they are run."""

    def __init__(self, base: Path) -> None:
        self.root = base / "ws"
        self.root.mkdir()
        self.bin = base / "bin"
        self.bin.mkdir()
        self.trace = base / "somebody-ran-me"

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def program(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch {self.trace}\n")
        path.chmod(0o755)
        return path

    def install(self, *names: str) -> None:
        for name in names:
            self.program(self.bin / name)

    def detector(
        self,
        said: bool | None = True,
        user: Mapping[str, Any] | None = None,
        folders: tuple[str, ...] = ("",),
        cache: CommandCache | None = None,
    ) -> Detector:
        trust = Trust.decide(self.root, said, None)
        catalogue = load_catalogue().with_overrides(user or {})
        return Detector(catalogue, [self.root / folder for folder in folders], trust, cache, path=str(self.bin))


def named(found: tuple[Detected, ...]) -> dict[str, Detected]:
    return {one.entry.name: one for one in found}


def where(detector: Detector, place: Place, path: str) -> dict[str, str]:
    """The available servers of a file with their roots, relative to the workspace."""
    found = detector.for_path(place.root / path)
    return {one.entry.name: one.root.relative_to(place.root).as_posix() for one in found if one.state == "available"}


MONOREPO = {
    ".git/HEAD": "",
    "backend/pyproject.toml": "",
    "backend/app/main.py": "",
    "backend/libs/core/setup.py": "",
    "backend/libs/core/core/x.py": "",
    "web/package.json": "{}",
    "web/tsconfig.json": "{}",
    "web/src/deep/a.ts": "",
    "web/eslint.config.js": "",
    "web/node_modules/eslint/package.json": "{}",
    "services/api/go.mod": "",
    "services/api/main.go": "",
    "services/jobs/go.mod": "",
    "services/jobs/cmd/run.go": "",
    "services/stray.go": "",
    "scripts/deploy": "#!/usr/bin/env bash\n",
    "scripts/run.sh": "",
    "top.py": "",
}
