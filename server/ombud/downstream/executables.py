"""Which programs of a project a server could be started from: what trust in its folder is bound to (T5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ombud.downstream.catalogue import Catalogue
from ombud.downstream.detect import Detector
from ombud.downstream.fill import Values
from ombud.guard.commands import Resolved, resolve_command
from ombud.guard.trust import Trust


@dataclass(frozen=True, slots=True)
class Local:
    """A program in the project, and the servers that could be started from it."""

    path: Path
    names: tuple[str, ...]


def local_executables(catalogue: Catalogue, folders: Sequence[Path]) -> list[Local]:
    """Every program in ``folders`` (real paths) that a row could be started from, and the interpreters in them.

    Looked up as it would be for a server in a trusted workspace, from every root that the project's files have. This
    walks the project: call it in a thread.
    """
    trusted = Trust.decide(folders[0], True, None)
    detector = Detector(catalogue, folders, trusted)
    roots = dict.fromkeys([*folders, *sorted(one.root for one in detector.survey().detected)])
    found: dict[Path, dict[str, None]] = {}
    for root in roots:
        folder = detector.roots.folder_of(root) or folders[0]
        for entry in catalogue:
            for command in entry.commands:
                # No search path: what lies outside of the project needs no trust.
                answer = resolve_command(command, root=root, folders=folders, trust=trusted, path="")
                if isinstance(answer, Resolved) and answer.local:
                    found.setdefault(answer.executable, {})[entry.name] = None
        interpreter = Values("", root, folder, detector.roots, trusted)("python")
        if interpreter is not None:
            found.setdefault(Path(interpreter), {})["the project's interpreter"] = None
    return [Local(path, tuple(names)) for path, names in sorted(found.items())]
