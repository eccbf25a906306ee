"""The steps of a commit on the disk, and the way back: shared by the commit itself and by recovery after a crash.

Every change is one step of the file system with the old file kept beside it under a backup name, so that the way
back needs no space and gives back the very file, with everything it had. Where a disk knows no hard links, or the
old file was written in place, the way back writes the bytes of the journal.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from ombud.errors import Refused
from ombud.workspace.folders import Dress, Folder, Folders, Seen
from ombud.workspace.journal import Entry, Image, Plan

Bytes = Callable[[Image], bytes | None]


class Changed(Exception):
    """Somebody else changed the file of an entry while the commit was under way."""

    def __init__(self, entry: Entry) -> None:
        super().__init__(entry.name)
        self.entry = entry


class Landing:
    """One plan, on its way to the disk or back. Methods raise `OSError`, `Refused` (of handles) and `Changed`."""

    def __init__(self, plan: Plan, folders: Folders, bytes_of: Bytes) -> None:
        self.plan = plan
        self._folders = folders
        self._bytes = bytes_of
        self._begun = len(plan.entries)
        self._originals = {entry.old.identity for entry in plan.entries if entry.old is not None}

    # On the way

    def begin(self) -> None:
        """Nothing was changed yet. Without this (after a crash) the way back looks at every entry."""
        self._begun = 0

    def prepare(self, entry: Entry) -> None:
        """Write and sync the temporary of an entry beside its file; folders that are missing are made."""
        folder = self._folders.at(entry.path.parent, create=entry.old is None)
        if entry.temporary is None or entry.new is None:
            return
        data = self._needed(entry.new)
        model = entry if entry.old is not None else self._other(entry.model)
        if model is None or model.old is None:
            folder.create(entry.temporary, data, entry.new.mode)
            return
        with _opened(self._at(model), model.name) as fd:
            folder.create(entry.temporary, data, entry.new.mode, _dress(model.old, fd))

    def swap(self, entry: Entry) -> None:
        """Make the change. Raises `Changed` where the file is not the one that was checked."""
        folder = self._at(entry)
        if entry.old is not None:
            self._unchanged(folder, entry, entry.old, entry.name)
        self._begun += 1
        if entry.new is None:
            self._disappear(folder, entry)
        elif entry.old is None:
            self._appear(folder, entry, entry.new)
        elif entry.in_place:
            self._rewrite(folder, entry.name, entry.new, entry.old)
        else:
            # An editor may have saved since the check. What is kept is looked at, so that it is not lost unseen.
            if folder.link(entry.name, _must(entry.backup)):
                self._unchanged(folder, entry, entry.old, _must(entry.backup))
            folder.replace(_must(entry.temporary), entry.name)

    def sync(self) -> None:
        """Make the names durable (C3), in the files' folders and where folders were made."""
        for path in self._touched():
            self._folders.at(path).sync()

    def tidy(self) -> None:
        """Remove temporaries and backups: after this there is no way back."""
        for entry in self.plan.entries:
            try:
                folder = self._at(entry)
            except Refused:
                continue  # The folder is gone, and with it what was in it.
            for name in (entry.temporary, entry.backup):
                if name is not None:
                    folder.remove(name)

    # Looking

    def landed(self) -> bool:
        """Whether every file is as it is to be after the commit."""
        return all(self._is_new(entry, self._look(entry)) for entry in self.plan.entries)

    def _look(self, entry: Entry) -> Seen | None:
        try:
            return self._at(entry).look(entry.name)
        except Refused as refused:
            if _gone(refused, entry):
                return None
            raise

    # The way back

    def restore(self) -> tuple[list[Entry], list[Exception]]:
        """Bring back what was there: ``(conflicts, errors)``.

        Conflicts are entries whose file somebody else has changed since, which is left alone; one that the commit has
        not come to is none. Errors stopped single entries; trying again later may help. The folders that were made
        are removed where they are empty.
        """
        conflicts: list[Entry] = []
        errors: list[Exception] = []
        for entry in reversed(self.plan.entries[: self._begun]):
            try:
                if not self._restore(entry):
                    conflicts.append(entry)
            except (OSError, Refused) as error:
                errors.append(error)
        if not errors:
            try:
                self.tidy()
                self.remove_folders()
                self._sync_remains()
            except OSError as error:
                errors.append(error)
        return conflicts, errors

    def remove_folders(self) -> None:
        """Remove the folders that were made and are empty."""
        for folder in reversed(self.plan.made):
            with contextlib.suppress(Refused):
                self._folders.at(folder.parent).remove_folder(folder.name)

    def old_bytes(self, entry: Entry) -> bytes | None:
        """What the file of an entry held before, None where there was none."""
        return None if entry.old is None else self._bytes(entry.old)

    def _sync_remains(self) -> None:
        for path in self._touched():
            with contextlib.suppress(Refused):
                self._folders.at(path).sync()

    def _restore(self, entry: Entry) -> bool:
        """Bring back one file; False where it is somebody else's now, or its folder is gone."""
        try:
            folder = self._at(entry)
        except Refused as refused:
            if _gone(refused, entry):
                return entry.old is None
            raise
        seen = folder.look(entry.name)
        if entry.old is None:
            return self._vanish(folder, entry, seen)
        if seen is not None and seen.identity == entry.old.identity:
            return self._mend(entry, entry.old, seen)
        if seen is not None and not self._ours(folder, entry, seen):
            return entry.old.holds(seen.data) or self._waiting(folder, entry)
        backup = None if entry.backup is None else folder.look(entry.backup)
        if backup is not None and backup.identity == entry.old.identity:
            folder.replace(_must(entry.backup), entry.name)
            return self._mend(entry, entry.old, backup)
        if seen is None and entry.temporary is not None and folder.status(entry.temporary) is not None:
            return True  # The commit had not come to it: somebody else removed it.
        self._write_back(folder, entry, entry.old)
        return True

    def _mend(self, entry: Entry, old: Image, seen: Seen) -> bool:
        """Give the very same file its old bytes and permissions back, where it was written in place."""
        same = old.holds(seen.data)
        if not entry.in_place:
            return same or self._waiting(self._at(entry), entry)
        if not same and not self._torn(entry, seen.data):
            return False
        if not same:
            self._rewrite(self._at(entry), entry.name, old, old)
        elif old.mode is not None and stat.S_IMODE(seen.status.st_mode) != stat.S_IMODE(old.mode):
            self._at(entry).change_mode(entry.name, old.mode)
        return True

    def _write_back(self, folder: Folder, entry: Entry, old: Image) -> None:
        """Write the old bytes of the journal where the old file itself is not to be had any more."""
        temporary = _must(entry.backup)
        data = self._needed(old)
        folder.remove(temporary)
        status = folder.status(entry.name)
        if status is None:
            folder.create(temporary, data, old.mode, _dress(old, None))
        else:
            with _opened(folder, entry.name) as fd:
                folder.create(temporary, data, old.mode, _dress(old, fd))
        folder.replace(temporary, entry.name)

    def _vanish(self, folder: Folder, entry: Entry, seen: Seen | None) -> bool:
        """Take away a file that the commit made; False where it is somebody else's."""
        if seen is None:
            return True
        source = self._other(entry.source)
        if source is not None:
            return self._move_back(entry, source, seen)
        if seen.identity in self._originals:
            return True  # A disk that ignores case shows an old file under its new name; its own entry brings it back.
        if not self._ours(folder, entry, seen):
            return self._waiting(folder, entry)
        folder.unlink(entry.name)
        return True

    def _ours(self, folder: Folder, entry: Entry, seen: Seen) -> bool:
        """Whether what stands there is what the commit put there.

        A temporary that is still another file was not put anywhere yet: then the same content is somebody else's.
        """
        if not self._is_new(entry, seen):
            return False
        waiting = None if entry.temporary is None else folder.status(entry.temporary)
        return waiting is None or (waiting.st_dev, waiting.st_ino) == seen.identity

    def _waiting(self, folder: Folder, entry: Entry) -> bool:
        """Whether the commit has not come to this entry: what somebody else did to its file is no conflict then."""
        if entry.temporary is not None:
            return folder.status(entry.temporary) is not None
        return entry.backup is not None and not entry.in_place and folder.status(entry.backup) is None

    def _move_back(self, entry: Entry, source: Entry, seen: Seen) -> bool:
        """Undo the move of a file: its other name, kept as the source's backup, remains."""
        if source.old is None or seen.identity != source.old.identity:
            return False
        home = self._at(source)
        kept = home.status(_must(source.backup)) or home.status(source.name)
        if kept is not None and (kept.st_dev, kept.st_ino) == source.old.identity:
            self._at(entry).unlink(entry.name)
        else:
            self._at(entry).replace(entry.name, _must(source.backup), home)
        return True

    # Single things

    def _disappear(self, folder: Folder, entry: Entry) -> None:
        """Move the file to its backup, and back where it was not the one that was checked."""
        folder.replace(entry.name, _must(entry.backup))
        if entry.old is None:
            return
        try:
            self._unchanged(folder, entry, entry.old, _must(entry.backup))
        except Changed:
            with contextlib.suppress(FileExistsError):
                folder.move(_must(entry.backup), entry.name)
            raise

    def _appear(self, folder: Folder, entry: Entry, new: Image) -> None:
        if entry.source is None:
            folder.move(_must(entry.temporary), entry.name)
            return
        source = self.plan.entries[entry.source]
        home, backup = self._at(source), _must(source.backup)
        if not home.link(backup, entry.name, folder):
            home.move(backup, entry.name, folder)
        if source.old is not None and entry.in_place:
            self._rewrite(folder, entry.name, new, source.old)

    def _rewrite(self, folder: Folder, name: str, image: Image, old: Image) -> None:
        mode = old.mode if image.mode is None else image.mode
        folder.rewrite(name, self._needed(image), mode=mode or 0o600, identity=old.identity)

    def _unchanged(self, folder: Folder, entry: Entry, old: Image, name: str) -> None:
        """Raises `Changed` where what stands at ``name`` is not the file of ``entry`` as it was checked."""
        status = folder.status(name)
        if status is None or not stat.S_ISREG(status.st_mode):
            raise Changed(entry)
        if (status.st_dev, status.st_ino) != old.identity or (status.st_size, status.st_mtime_ns) != (
            old.size,
            old.mtime_ns,
        ):
            raise Changed(entry)

    def _is_new(self, entry: Entry, seen: Seen | None) -> bool:
        if entry.new is None or seen is None:
            return entry.new is None and seen is None
        if not entry.new.holds(seen.data):
            return False
        # A file that is replaced gets its permissions with its bytes. Else they come last, or are all that changes.
        alone = entry.in_place or (entry.old is not None and entry.old.sha256 == entry.new.sha256)
        return not alone or entry.new.mode is None or stat.S_IMODE(seen.status.st_mode) == entry.new.mode

    def _torn(self, entry: Entry, data: bytes | None) -> bool:
        """Whether a file that was being written in place is the work of the commit, whole or half.

        Every byte must be the old or the new one; beyond the old end a crash may have left zeros.
        """
        target = self._target(entry)
        if data is None or entry.old is None or target is None:
            return False
        old, new = self._needed(entry.old), self._needed(target)
        if len(data) > max(len(old), len(new)):
            return False
        if data in (old, new):
            return True
        for at, byte in enumerate(data):
            if at < len(new) and byte == new[at]:
                continue
            if byte != (old[at] if at < len(old) else 0):
                return False
        return True

    def _target(self, entry: Entry) -> Image | None:
        """What is written over the old bytes of an entry, also when the file is at its new name by then."""
        if entry.new is not None:
            return entry.new
        number = self.plan.entries.index(entry)
        return next((other.new for other in self.plan.entries if other.source == number), None)

    def _other(self, number: int | None) -> Entry | None:
        return None if number is None else self.plan.entries[number]

    def _at(self, entry: Entry) -> Folder:
        return self._folders.at(entry.path.parent)

    def _needed(self, image: Image) -> bytes:
        data = self._bytes(image)
        if data is None:
            raise OSError("The journal does not hold these bytes.")
        return data

    def _touched(self) -> list[Path]:
        """The folders in which names changed."""
        files = {entry.path.parent for entry in self.plan.entries}
        return sorted(files | {folder.parent for folder in self.plan.made})


def _gone(refused: Refused, entry: Entry) -> bool:
    """Whether the folder of a file is gone, or a link stands for it (F4): not the disk that the workspace is on."""
    return refused.kind in ("not_found", "outside_workspace") and entry.base.is_dir()


def _must(name: str | None) -> str:
    assert name is not None, "a plan gives every entry the names that its change needs"
    return name


def _dress(old: Image, fd: int | None) -> Dress:
    return Dress(old.uid, old.gid, old.mode or 0o600, fd)


@contextlib.contextmanager
def _opened(folder: Folder, name: str) -> Iterator[int]:
    fd, _ = folder.open(name)
    try:
        yield fd
    finally:
        os.close(fd)
