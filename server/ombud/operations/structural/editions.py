"""From the bytes that were staged to what is written: each file must be as it was then, on the disk and in buffers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ombud.errors import Refused
from ombud.guard.redact import clean
from ombud.operations.shapes import FILE_LIMIT
from ombud.operations.writing.plan import Edition
from ombud.structural.staging import File, Staged, Staging
from ombud.text.buffer import decode

if TYPE_CHECKING:
    from ombud.guard.fence import FileBytes, Inside
    from ombud.operations.session import Session

NAMED = 5
"""So many files are named in a sentence; the lists of its data hold all."""
_CHANGED = frozenset({"not_found", "too_large", "not_text"})
"""What the fence says of a file that was an ordinary one when it was captured, and is no more."""


@dataclass(slots=True)
class Looked:
    """What is there now. ``changed`` are files whose bytes on the disk are other ones, or that are gone; ``unsaved``
    those with another text in a buffer, and the clients that have it; ``done`` those that hold the staged text already.
    """

    editions: list[Edition] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unsaved: dict[str, list[str]] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)

    @property
    def paths(self) -> list[str]:
        """All that are not as they were, as results name them."""
        return sorted({*self.changed, *self.unsaved})


def look(session: Session, kept: Staging, staged: Staged, files: Sequence[File]) -> Looked:
    """The editions of an edit's ``files``, and which are not as they were. Blocks; buffers are looked at by `buffers`.

    Raises `Refused`: ``unknown_edit`` where the staged bytes are torn, ``outside_workspace``, ``sensitive_path`` and
    ``permission_denied`` as the fence; `OSError` for the store.
    """
    looked = Looked()
    for file, before, after in kept.texts(staged, files):
        found = _read(session, file)
        if found is None or found[1].data != before:
            looked.changed.append(file.shown)
            if found is not None and found[1].data == after:
                looked.done.append(file.shown)
        else:
            looked.editions.append(edition(found[0], found[1], before, after))
    return looked


def edition(inside: Inside, stat: FileBytes, before: bytes, after: bytes) -> Edition:
    """A file that changes from ``before`` to ``after``, bytes for bytes. ``stat`` is what is on the disk.

    Raises `Refused` (``not_text``).
    """
    old, new = decode(before, inside.relative), decode(after, inside.relative)
    return Edition("modify", inside, stat, after, old.text, new.text, old)


def _read(session: Session, file: File) -> tuple[Inside, FileBytes] | None:
    """The file as it is now; None where it is no file any more, or a link to another one stands there."""
    try:
        inside = session.fence.resolve(str(file.path), intent="read")
        if inside.path != file.path:
            return None
        session.fence.resolve(str(file.path), intent="write")
        return inside, session.fence.read(inside, FILE_LIMIT)
    except Refused as refused:
        if refused.kind in _CHANGED:
            return None
        raise


def buffers(session: Session, places: Iterable[tuple[Path, str]], texts: Mapping[Path, str]) -> dict[str, list[str]]:
    """The files of which a client has another text than was captured, and these clients.

    ``places`` are real paths and what results call them. ``texts`` are the captured ones, of files that are as they
    were on the disk; of the others any unsaved buffer counts.
    """
    found: dict[str, list[str]] = {}
    for path, shown in places:
        captured = texts.get(path)
        names = sorted(
            {
                clean(owner.client.name, 100)
                for document in session.hub.documents.of_path(path)
                for owner, text in session.hub.owners(document).items()
                if (text.unsaved(captured) if captured is not None else not (text.saved or text.superseded))
            }
        )
        if names:
            found[shown] = names
    return found


def refusal(staged: Staged, looked: Looked, total: int) -> Refused:
    """The refusal of a commit of ``total`` files of which some are not as they were (C1)."""
    said = "; ".join(_reasons(looked))
    paths = looked.paths
    is_one = len(paths) == 1
    if looked.done and len(looked.done) == total:
        advice = f"All of it holds the staged text already, so there is nothing left to commit: discard {staged.id}."
    else:
        advice = f"“restage” of {staged.id} stages the same rewrite on what is there now."
    return Refused(
        f"{len(paths)} of {total} {'file' if total == 1 else 'files'} {'is' if is_one else 'are'} not as when "
        f"{staged.id} was staged ({said}), so nothing was written. {advice}",
        kind="file_changed",
        paths=paths,
        editId=staged.id,
        **({"unsaved": looked.unsaved} if looked.unsaved else {}),
    )


def _reasons(looked: Looked) -> Iterator[str]:
    if looked.changed:
        yield f"changed or removed on the disk: {in_short(looked.changed)}"
    if looked.unsaved:
        clients = sorted({name for names in looked.unsaved.values() for name in names})
        yield f"with unsaved changes in {in_short(clients)}: {in_short(sorted(looked.unsaved))}"


def in_short(names: Sequence[str]) -> str:
    """Some names in a row, and how many more there are."""
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def all_hold(session: Session, files: Sequence[File]) -> bool:
    """Whether every file holds its staged bytes now. Blocks; a file that cannot be read holds them not."""
    for file in files:
        try:
            found = _read(session, file)
        except Refused:
            return False
        if found is None or hashlib.sha256(found[1].data).digest() != file.after.sha256:
            return False
    return True
