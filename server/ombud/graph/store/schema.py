"""The tables of a store, and how its file is opened.

What is asked for by a key of its own is a row. What is only ever wanted for a whole file (its facts, the places of its
edges, its long texts) is one packed value a file (`ombud.graph.store.columns`): that is a third of the size of rows.
A symbol's id is ``file << 20 | n``; neither a file's id nor, in a file, an ``n`` is ever given twice, so that a
left-over reference means nothing rather than something else.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from ombud.graph import facts
from ombud.graph.store.failures import DAMAGED, Damaged, Missing, spoken
from ombud.graph.store.place import FILE, create, discard

VERSION = 2
"""Of the tables. Raised whenever they change: a store of another version is built anew."""
APPLICATION = 0x4F6D6247
"""Stands in the file's head ("OmbG"), so that somebody else's database is never taken for ours."""
SHIFT = 20
"""Bits of a symbol's id below the file's."""
MASK = (1 << SHIFT) - 1

INDEXED, CONFIGURATION, SKIPPED = range(3)
"""``files.state``."""
STATES = ("indexed", "configuration", "skipped")

CONSTRUCTS = 1 << 16
"""A bit of ``symbols.flags`` beside those of `ombud.graph.facts`: a call of its class runs it."""

LOG_PAGES = 1000
BUILD_LOG_PAGES = 6000
"""Pages of the log after which they are moved to the store; a build writes the same pages again and again."""
_PAGE = 4096
_BUSY_MS = 5000

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
    id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, language TEXT NOT NULL, package TEXT NOT NULL,
    state INTEGER NOT NULL, reason TEXT NOT NULL, notes TEXT NOT NULL, test INTEGER NOT NULL,
    size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, hash BLOB NOT NULL, lines INTEGER NOT NULL,
    symbols INTEGER NOT NULL, sites INTEGER NOT NULL, imports INTEGER NOT NULL, exports INTEGER NOT NULL,
    next INTEGER NOT NULL, numbers BLOB,
    resolved INTEGER NOT NULL, edges INTEGER NOT NULL, external INTEGER NOT NULL, unresolved INTEGER NOT NULL
);
CREATE TABLE facts (file INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE texts (file INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE links (file INTEGER PRIMARY KEY, edges BLOB NOT NULL, loose BLOB NOT NULL, asked BLOB NOT NULL);
CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE symbols (
    id INTEGER PRIMARY KEY, name INTEGER NOT NULL, kind INTEGER NOT NULL, container INTEGER NOT NULL,
    flags INTEGER NOT NULL, fan INTEGER NOT NULL
);
CREATE TABLE edges (dst INTEGER, src INTEGER, how INTEGER, PRIMARY KEY (dst, src, how)) WITHOUT ROWID;
CREATE TABLE loose (name TEXT, file INTEGER, count INTEGER NOT NULL, PRIMARY KEY (name, file)) WITHOUT ROWID;
CREATE VIRTUAL TABLE trigrams USING fts5(name, content='', columnsize=0, detail=none, tokenize='trigram');
CREATE VIRTUAL TABLE humps USING fts5(initials, content='', columnsize=0, detail=none, tokenize='unicode61');
CREATE VIRTUAL TABLE docs USING fts5(doc, content='', columnsize=0, detail=none, tokenize='porter unicode61');
"""
"""``edges.how`` is ``kind << 2 | confidence``; where in the file of ``src`` an edge is stands in ``links.edges``.
``names``, and ``trigrams`` and ``humps`` with its ids, only grow: a name without symbols is found by nobody."""

PARTS = "SELECT t.data, f.data FROM texts t JOIN facts f ON f.file = t.file WHERE t.file = ?"
"""Both parts of a file's facts (`ombud.graph.packed`), texts first."""
INDEXES = """
CREATE INDEX IF NOT EXISTS names_name ON names (name COLLATE NOCASE);
CREATE INDEX IF NOT EXISTS symbols_name ON symbols (name);
"""
"""Made when a first build has read all files: a quarter of the work, and four fifths of the size, of keeping them
up to date from the start. Until then, what looks for a name goes through all of them."""


def connect(file: Path) -> sqlite3.Connection:
    """A connection that may write, in autocommit mode: transactions are begun and ended by hand."""
    connection = sqlite3.connect(file, isolation_level=None, timeout=_BUSY_MS / 1000, cached_statements=64)
    connection.execute("PRAGMA trusted_schema=OFF")
    # The cache holds the pages that one transaction changes; more of it is memory for nothing.
    for pragma in ("synchronous=NORMAL", "cache_size=-8192", "temp_store=MEMORY", "mmap_size=0", "foreign_keys=OFF"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def open_file(folder: Path, root: str, anew: str) -> tuple[sqlite3.Connection, str]:
    """The store in ``folder``, which the caller has locked, and a sentence that says why it had to be made anew.

    ``anew`` is such a reason that the caller has; the sentence is empty where the store is as it was, or the first.
    Raises `Unwritable`.
    """
    file = folder / FILE
    reason = anew or _unusable(file, root)
    if reason:
        discard(folder)
    create(folder)
    with spoken(file):
        connection = connect(file)
        try:
            if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                _build(connection, root)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA journal_size_limit=4194304")
            connection.execute(f"PRAGMA wal_autocheckpoint={LOG_PAGES}")
        except BaseException:
            connection.close()
            raise
    return connection, reason and f"The code graph is built anew: {reason}."


def _build(connection: sqlite3.Connection, root: str) -> None:
    connection.execute(f"PRAGMA page_size={_PAGE}")
    connection.execute(f"PRAGMA application_id={APPLICATION}")
    connection.execute("PRAGMA journal_mode=WAL")
    rows = {"facts": str(facts.VERSION), "root": root, "complete": "0"}
    connection.execute("BEGIN IMMEDIATE")
    for statement in _TABLES.split(";"):
        connection.execute(statement)
    connection.executemany("INSERT INTO meta VALUES (?, ?)", rows.items())
    connection.execute(f"PRAGMA user_version={VERSION}")
    connection.execute("COMMIT")


def _unusable(file: Path, root: str) -> str:
    """Why the store cannot go on being used, as the end of a sentence; empty if it can, or if there is none."""
    if file.with_name(DAMAGED).exists():
        return "the store was damaged"
    if not file.exists() or not file.stat().st_size:
        return ""
    try:
        with spoken(file), closing(connect(file)) as connection:
            return different(connection, root)
    except (Damaged, sqlite3.DatabaseError):
        return "the store was damaged"


def different(connection: sqlite3.Connection, root: str | None = None) -> str:
    """What about an open store is not as this version of Ombud makes it; empty if nothing is.

    A look at the head and one page of each table: a check of the whole file would take longer than it may.
    """
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION or version != VERSION:
        return "the store was made by another version of Ombud"
    meta = dict(connection.execute("SELECT key, value FROM meta"))
    if meta.get("facts") != str(facts.VERSION):
        return "the store was made by another version of Ombud"
    if root is not None and meta.get("root") != root:
        return "the store belongs to another folder"
    for table in ("files", "facts", "texts", "links", "names", "symbols", "edges", "loose"):
        connection.execute(f"SELECT * FROM {table} LIMIT 1").fetchone()
    return ""


def open_for_reading(file: Path) -> sqlite3.Connection:
    """A connection that cannot write; its thread may change, one at a time. Raises `Missing` and `Damaged`."""
    if not file.exists():
        raise Missing(f"There is no code graph at {file} yet. Run graph_index.")
    with spoken(file):
        connection = _read_only(file)
        try:
            connection.execute("PRAGMA cache_size=-6144")
            connection.execute("PRAGMA query_only=ON")
            if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                raise Missing(f"There is no code graph at {file} yet. Run graph_index.")
            reason = different(connection)
        except BaseException:
            connection.close()
            raise
    if reason:
        connection.close()
        raise Missing(f"The code graph at {file} is of no use: {reason}. Run graph_index.")
    return connection


def _read_only(file: Path) -> sqlite3.Connection:
    """Read-only, also where the folder is: there a store that was closed in good order has no log, and needs none."""
    address = f"{file.absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=1, check_same_thread=False)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.OperationalError:
        connection.close()
        if file.with_name(f"{file.name}-wal").exists():
            raise
        connection = sqlite3.connect(
            f"{address}&immutable=1", uri=True, isolation_level=None, timeout=1, check_same_thread=False
        )
    return connection
