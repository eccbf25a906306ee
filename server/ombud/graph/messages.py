"""What the hub and its indexer say to one another (`ombud.process.frames` carries it)."""

from __future__ import annotations

import msgspec

INDEX, CURRENT, CANCEL = "index", "current", "cancel"
"""Build what is missing, or all; take in what has changed; stop doing what the number says."""


class Setup(msgspec.Struct, array_like=True):
    """The hub's first message. ``store`` is the folder that is wanted, ``add`` and ``allow`` as for `Protected`."""

    root: str
    store: str
    add: list[str] = []
    allow: list[str] = []
    nice: int = 0
    """How far behind others it stays, for as long as it runs, where nobody waits for what it is started for."""


class Ask(msgspec.Struct, array_like=True):
    """``number`` comes back in the answer; nobody waits for that of 0."""

    number: int
    what: str
    force: bool = False
    """For INDEX: everything is read again."""
    told: list[str] = []
    """Files and folders, relative to the root, that somebody says have changed."""
    buffers: dict[str, bytes | None] = {}
    """Texts that clients have open, in UTF-8, as far as they are new; None for one that is closed."""
    sweep: bool = True
    """Whether to ask the disk as well what has changed."""


class State(msgspec.Struct, array_like=True):
    """How the index is. ``pending`` are files that have changed and are not taken in yet.

    ``complete`` is false until all files of the root have been read and resolved once.
    """

    complete: bool = False
    files: int = 0
    pending: int = 0
    skipped: dict[str, int] = {}
    """Reason → how many files were left out for their names: the store does not know them."""
    note: str = ""
    """A sentence about what is not as it should be."""


class Say(msgspec.Struct, array_like=True):
    """``what`` is one of the words below."""

    what: str
    state: State
    number: int = 0
    changed: int = 0
    """For an answer: the files whose facts are others now."""
    done: int = 0
    total: int = 0
    phase: str = ""
    """For progress: files, of how many, and what is done to them."""
    folder: str = ""
    """For READY: where the store is."""
    problem: str = ""
    kind: str = ""
    """For FAILED: a sentence, and the word for it."""


READY, ANSWER, PROGRESS, FAILED = "ready", "answer", "progress", "failed"
"""READY comes first. FAILED with a number answers that question; without one the indexer as a whole ends."""

ASKS = msgspec.msgpack.Decoder(Ask)
SAYS = msgspec.msgpack.Decoder(Say)
SETUPS = msgspec.msgpack.Decoder(Setup)
