"""Several processes commit to the same twenty files at once, again and again, and report who did what.

Run by test_commit_together.py: ``python commit_together.py FOLDER PROCESSES ROUNDS`` prints one JSON list. It is a
program of its own since it forks.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from ombud.errors import Refused
from ombud.workspace.commit import commit
from ombud.workspace.recover import recover

from tests import commits
from tests.commits import Portrait, Scene, portrait

FILES = [f"m{number % 3}/f{number}.py" for number in range(16)]
TWINS = [f"twin{number}.py" for number in range(4)]
WRITTEN, REFUSED = 0, 7


def scenery(made: Scene) -> None:
    for number, name in enumerate(FILES):
        made.file(name, b"old %d\n" % number * 50)
    for name in TWINS:
        made.file(name, b"old twin\n" * 50)
        os.link(made.root / name, made.root / f"other-{name}")


def changes_of(made: Scene, who: int) -> list[Any]:
    """Each process its own text for all files; those of several names under a name that another does not use."""
    mine = b"process %d\n" % who
    changes = [made.modify(name, mine * (40 + number)) for number, name in enumerate(FILES)]
    return changes + [made.modify(name if who % 2 else f"other-{name}", mine * 60) for name in TWINS]


def alone(folder: Path, who: int) -> Portrait:
    """How the workspace is when only this process has written."""
    made = commits.scene(folder / f"alone-{who}")
    scenery(made)
    commit(made.fence, changes_of(made, who), made.journals)
    return portrait(made.root)


def at_once(made: Scene, processes: int) -> list[int]:
    """All commit as soon as all are ready; their exit codes."""
    plans = [changes_of(made, who) for who in range(processes)]
    waiting, go = os.pipe()
    children = []
    for changes in plans:
        child = os.fork()
        if child == 0:
            os.close(go)
            os.read(waiting, 1)
            try:
                commit(made.fence, changes, made.journals)
            except Refused as refused:
                os._exit(REFUSED if refused.kind == "file_changed" else 3)
            except BaseException as error:  # noqa: BLE001 - the boundary of a process
                sys.stderr.write(f"{type(error).__name__}: {error}\n")
                os._exit(4)
            os._exit(WRITTEN)
        children.append(child)
    os.close(waiting)
    os.close(go)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def main() -> None:
    folder, processes, rounds = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    wholes = [alone(folder, who) for who in range(processes)]
    told = []
    for number in range(rounds):
        made = commits.scene(folder / f"round-{number}")
        scenery(made)
        codes = at_once(made, processes)
        now = portrait(made.root)
        told.append(
            {
                "codes": codes,
                "wholly": [who for who, whole in enumerate(wholes) if whole == now],
                "left over": commits.left_over(made),
                "recovered": [one.message for one in recover(made.journals)],
            }
        )
    print(json.dumps(told))


if __name__ == "__main__":
    main()
