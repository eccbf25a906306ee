"""What the hub and its search workers say to one another (`ombud.process.frames` carries it)."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ombud.structural.query import Query

MOST_TEXT = 2_000
"""Characters of a match's or a capture's text that an answer shows."""


class Setup(msgspec.Struct, tag=True):
    """The hub's first message. ``marker`` is a file in which the worker says what it is at, and that it removes.

    ``memory`` is in bytes: how much the sources and trees of this worker may take.
    """

    number: int
    count: int
    memory: int
    marker: str


class Root(msgspec.Struct, array_like=True):
    """A folder to be searched. ``start`` is a folder or a file below it, ``""`` for all of it.

    ``file`` says that ``start`` is a file, which is read whatever its name; ``language`` is that of the file where
    the caller said so. ``add`` and ``allow`` are the user's patterns of protected names.
    """

    path: str
    start: str = ""
    file: bool = False
    language: str = ""
    add: list[str] = []
    allow: list[str] = []


class Opened(msgspec.Struct, array_like=True):
    """What a client has in its buffer, in place of what is on the disk; ``root`` is the number of one of the roots."""

    root: int
    path: str
    language: str
    text: bytes


class Op(msgspec.Struct):
    """One rewriting of a staging, see `ombud.structural.rewriting`."""

    query: Query
    rewrite: str
    add_imports: list[str] = []
    only: dict[str, list[tuple[int, int]]] | None = None
    """By absolute path the matches that count, where somebody else decides that: a language server on types."""


class Find(msgspec.Struct, tag=True):
    """Search. ``number`` comes back in the answer.

    ``languages`` are LSP ids, none for every one that has a grammar. ``rungs`` says for a language which of its
    pattern's readings is meant (the first). ``globs`` let in and, after ``!``, leave out. ``most`` matches are told;
    -1 for none of them, only how many there are. ``seconds`` end it. ``later`` is a search that waits for all others.
    ``avoid`` are files that killed a worker, as absolute paths.
    """

    number: int
    query: Query
    roots: list[Root]
    languages: list[str] = []
    rungs: dict[str, int] = {}
    globs: list[str] = []
    opened: list[Opened] = []
    most: int = 50
    context: int = 0
    seconds: float = 60.0
    later: bool = False
    fresh: bool = True
    """Whether this is a new question, and not a further reading of the same one."""
    avoid: list[str] = []


class Rewrite(msgspec.Struct, tag=True):
    """Rewrite in every file what the ops match. ``rungs`` has for each language the reading of each op, None
    for one that cannot be read in it.

    ``bytes`` bounds what the answer holds.
    """

    number: int
    ops: list[Op]
    roots: list[Root]
    rungs: dict[str, list[int | None]]
    globs: list[str] = []
    opened: list[Opened] = []
    seconds: float = 60.0
    most: int = 50
    avoid: list[str] = []


class Stop(msgspec.Struct, tag=True):
    """Stop working on that number; its answer says how far it came."""

    number: int


class Bound(msgspec.Struct, tag=True):
    """Nothing behind that file is of interest for that number any more."""

    number: int
    root: int
    path: str


Said = Setup | Find | Rewrite | Stop | Bound


class Place(msgspec.Struct, array_like=True, gc=False):
    """A span of a text: zero-based lines and UTF-16 columns, and the text of it, cut."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


class Hit(msgspec.Struct, array_like=True, gc=False):
    """A match. ``places`` has that of each ``$X``, ``lists`` for each ``$$$X`` those of its elements.

    ``start`` and ``end`` are offsets in the UTF-8 source. ``before`` and ``after`` are lines around it.
    """

    root: int
    path: str
    language: str
    start: int
    end: int
    kind: str
    place: Place
    places: dict[str, Place]
    lists: dict[str, list[Place]] = {}
    before: list[str] = []
    after: list[str] = []

    def order(self) -> tuple[int, list[str], int, int]:
        """What hits are sorted by."""
        return self.root, self.path.split("/"), self.start, -self.end

    @property
    def captures(self) -> dict[str, Place | list[Place]]:
        """Both by name."""
        return {**self.places, **self.lists}


class Reading(msgspec.Struct, array_like=True):
    """How the pattern was read in one language. ``rungs`` are the names of all readings, none where it cannot be read;
    then ``tried`` says why: what it was tried as, and the complaint.

    ``files`` were searched, with ``matches`` as far as they were counted.
    """

    rungs: list[str] = []
    tried: list[tuple[str, str]] = []
    trouble: list[str] = []
    """The kind of the error and its message, where it cannot be read."""
    files: int = 0
    matches: int = 0


class Found(msgspec.Struct, tag=True):
    """The answer to `Find`. ``pages`` are the hits of each file, encoded by the worker where it was searched.

    ``stopped`` says why not everything was looked at: one of the words below, empty where it was. ``total`` is how
    many matches there are, None where that is not known. ``skipped`` has the number of the root, the path and the
    reason; ``left`` says how many more there are. ``flawed`` are searched files whose tree has errors.
    """

    number: int
    pages: list[list[Hit]] = []
    readings: dict[str, Reading] = {}
    searched: int = 0
    skipped: list[tuple[int, str, str]] = []
    left: int = 0
    flawed: list[tuple[int, str]] = []
    stopped: str = ""
    total: int | None = None
    note: str = ""


def in_order(pages: Iterable[list[Hit]]) -> list[Hit]:
    """The hits of pages, none of which is empty, in the order of files and places. A page is in order already."""
    ordered = sorted(pages, key=lambda page: (page[0].root, page[0].path.split("/")))
    return [hit for page in ordered for hit in page]


class File(msgspec.Struct, array_like=True):
    """A file that was rewritten, or that could not be. ``before`` and ``after`` are as on the disk, marks included.

    ``opened`` says that ``before`` is a client's text and differs from the disk's. ``edits`` are spans of the UTF-8
    source without its mark, with what comes in their place. ``lost`` are comments that would vanish: line and text.
    """

    root: int
    path: str
    language: str
    before: bytes
    after: bytes
    opened: bool = False
    replacements: int = 0
    overlapping: int = 0
    refused: str = ""
    lost: list[tuple[int, str]] = []
    hits: list[Hit] = []
    edits: list[tuple[int, int, bytes]] = []


class Rewritten(msgspec.Struct, tag=True):
    """The answer to `Rewrite`: files that something matched in. ``stopped`` as in `Found`."""

    number: int
    files: list[File] = []
    searched: int = 0
    skipped: list[tuple[int, str, str]] = []
    left: int = 0
    flawed: list[tuple[int, str]] = []
    stopped: str = ""


class Failed(msgspec.Struct, tag=True):
    """The question itself cannot be answered: an error of `ombud.errors` in its parts."""

    number: int
    message: str
    kind: str
    data: dict[str, object] = {}
    user: bool = True


Answer = Found | Rewritten | Failed

FULL, LATE, CANCELLED, LARGE = "full", "late", "cancelled", "large"
"""Why a search stopped: it had what was asked for; its time was over; somebody said so; the answer grew too large."""

PARSING, MATCHING, READING, IDLE = b"P", b"M", b"C", b"-"
"""What a worker is at, with a path behind it: a file's parser, the matcher, or (with a language) the pattern itself."""
LONGEST = 8192
"""Bytes of a marker."""


def marked(number: int, what: bytes, path: str) -> bytes:
    """What a marker holds."""
    name = path.encode("utf-8", "replace")[: LONGEST - 11]
    return number.to_bytes(8, "big") + what + len(name).to_bytes(2, "big") + name


def read_marker(data: bytes) -> tuple[int, bytes, str]:
    """The number of a question, what was done for it, and the path; of a marker without anything all are empty."""
    size = int.from_bytes(data[9:11], "big")
    return int.from_bytes(data[:8], "big"), data[8:9], data[11 : 11 + size].decode("utf-8", "replace")


ENCODER = msgspec.msgpack.Encoder()
SAID: msgspec.msgpack.Decoder[Said] = msgspec.msgpack.Decoder(Said)
ANSWERS: msgspec.msgpack.Decoder[Answer] = msgspec.msgpack.Decoder(Answer)
