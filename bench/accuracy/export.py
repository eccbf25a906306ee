"""Our side: what ``ombud graph-export --format json`` says about a copy of the package."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .truth import Place

OMBUD = Path(__file__).resolve().parents[2] / ".venv" / "bin" / "ombud"
COUNTED = {"exact", "confirmed"}  # guesses are a tier of their own and no answer unless asked for
TIMEOUT = 600.0
FOLDERS = ("CACHE_HOME", "STATE_HOME", "CONFIG_HOME", "DATA_HOME", "RUNTIME_DIR")


@dataclass(frozen=True)
class Edge:
    """A call edge: `place` is the callee's name at the site; `path`, `start` and `name` the definition it leads to,
    `start` its first line, zero-based; `source` is the definition that calls. Kinds are the export's words."""

    place: Place
    path: str
    start: int
    name: str
    kind: str = ""
    qualified: str = ""
    source: str = ""
    source_path: str = ""
    source_kind: str = ""


class ExportFailed(Exception):
    """The export could not be made or read; the text says why."""


def export(root: Path) -> list[str]:
    """The lines of the export of `root`, made by the command line with caches of its own. Raises ExportFailed."""
    with tempfile.TemporaryDirectory(prefix="ombud-accuracy-") as home:
        folders = {f"XDG_{kind}": Path(home) / kind.lower() for kind in FOLDERS}
        for folder in folders.values():
            folder.mkdir(mode=0o700)
        env = os.environ | {name: str(folder) for name, folder in folders.items()}
        command = [str(OMBUD), "graph-export", "--root", str(root), "--format", "json"]
        try:
            done = subprocess.run(
                command, cwd=root, env=env, capture_output=True, text=True, timeout=TIMEOUT, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ExportFailed(f"{OMBUD} graph-export in {root}: {error}") from error
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip()[-600:]
            raise ExportFailed(f"graph-export in {root} ended with {done.returncode}: {said}")
        return done.stdout.splitlines()


def call_edges(lines: Iterable[str]) -> list[Edge]:
    """The call edges that count. Raises ExportFailed where an edge leads to a symbol that the export does not have."""
    records = [json.loads(line) for line in lines if line.strip()]
    symbols = {record["id"]: record for record in records if record["type"] == "symbol"}
    edges = []
    for record in records:
        if record["type"] != "edge" or record["kind"] != "call" or record["confidence"] not in COUNTED:
            continue
        to, of = symbols.get(record["dst"]), symbols.get(record["src"])
        if to is None or of is None:
            raise ExportFailed(f"an edge of {record['path']} names a symbol that is not in the export: {record}")
        start = record["range"]["start"]
        edges.append(
            Edge(
                place=(record["path"], start["line"], start["character"]),
                path=to["path"],
                start=to["range"]["start"]["line"],
                name=to["name"],
                kind=to["kind"],
                qualified=to["qualifiedName"],
                source=of["qualifiedName"],
                source_path=of["path"],
                source_kind=of["kind"],
            )
        )
    return edges
