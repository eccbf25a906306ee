"""What the graph keeps of a root: an SQLite file in the user's cache folder, one writer, readers it never blocks.

`open_writer` is the indexer's, `open_reader` everybody else's. Both use `sqlite3`, which costs time to load: import
this package where it is used.
"""

from ombud.graph.store.failures import Busy, Damaged, Missing, StoreError, Unwritable
from ombud.graph.store.place import place
from ombud.graph.store.read import Reader, open_reader
from ombud.graph.store.writer import Writer, open_writer

__all__ = [
    "Busy",
    "Damaged",
    "Missing",
    "Reader",
    "StoreError",
    "Unwritable",
    "Writer",
    "open_reader",
    "open_writer",
    "place",
]
