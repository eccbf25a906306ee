"""A workspace whose writes make checkpoints, and the way back over them."""

from __future__ import annotations

from pathlib import Path

from ombud.workspace.change import Change
from ombud.workspace.checkpoints import Checkpoints
from ombud.workspace.commit import commit
from ombud.workspace.record import Record
from ombud.workspace.undo import assess, net, remove_folders

from tests.commits import scene


class Bench:
    """A workspace whose writes make checkpoints, and the way back over them."""

    def __init__(self, folder: Path) -> None:
        self.scene = scene(folder)
        self.root = self.scene.root
        self.folder = folder / "state" / "checkpoints" / "ws"
        self.store = Checkpoints(self.folder)

    def write(self, *changes: Change, store: Checkpoints | None = None) -> str:
        """One write and its checkpoint."""
        pending = (store or self.store).begin(changes, "a write")
        commit(self.scene.fence, changes, self.scene.journals)
        made, problem = pending.done()
        assert (problem, pending.problem) == (None, None)
        assert made is not None
        return made

    def save(self, name: str, text: str, mode: int | None = None, store: Checkpoints | None = None) -> str:
        data = text.encode()
        exists = (self.root / name).exists()
        change = self.scene.modify(name, data, mode) if exists else self.scene.create(name, data, mode)
        return self.write(change, store=store)

    def since(self, checkpoint: str, store: Checkpoints | None = None) -> list[Record]:
        return [one for one in (store or self.store).records() if one.number >= int(checkpoint[1:])]

    def back(self, checkpoint: str) -> list[str]:
        """Go back, by a write of its own; the paths where that is refused."""
        records = self.since(checkpoint)
        way = assess(net(records), self.scene.fence, self.store.bytes_of)
        if way.changed or way.lost:
            return way.changed + way.lost
        self.write(*way.changes)
        remove_folders(records, self.scene.fence)
        return []

    def blobs(self) -> set[bytes]:
        return {path.read_bytes() for path in (self.folder / "blobs").iterdir()}


def ids(records: list[Record]) -> list[str]:
    return [record.id for record in records]
