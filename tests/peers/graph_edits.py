"""Random edits of a small project, and whether the graph that was kept through them is the one built from the end.

A `Kind` is what the edits of one language are made of: a project is files, a file is parts, a part is a few lines that
`Kind.part` makes up. Edits add, drop and change parts, shift lines, and make, move and delete files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from ombud.graph.census import Census, Protected
from ombud.graph.extract import LANGUAGES
from ombud.graph.index import Index
from ombud.graph.pool import Pool
from ombud.graph.resolve import Resolver
from ombud.graph.store import open_reader, open_writer

Row = tuple[Any, ...]
EDGE = 8
"""Values in the row of an edge."""


@dataclass(frozen=True)
class Kind:
    """``paths`` are all that a file may have; ``fixed`` are files that stay as they are. ``head`` begins each file."""

    name: str
    paths: tuple[str, ...]
    part: Callable[[Random], str]
    head: Callable[[str], str] = lambda path: ""
    fixed: dict[str, str] = field(default_factory=dict)


class Project:
    """Files on the disk, below ``root``, and what they are made of."""

    def __init__(self, root: Path, kind: Kind, random: Random) -> None:
        self._root = root
        self._kind = kind
        self._random = random
        self.parts: dict[str, list[str]] = {}
        for path, text in kind.fixed.items():
            self._write(path, text)
        for path in random.sample(kind.paths, max(2, len(kind.paths) * 2 // 3)):
            self._lay(path, [kind.part(random) for _ in range(random.randrange(2, 9))])

    def edit(self) -> str:
        """Do something; says what."""
        random, part = self._random, self._kind.part(self._random)
        free = [path for path in self._kind.paths if path not in self.parts]
        path = random.choice(sorted(self.parts))
        parts = list(self.parts[path])
        what = random.choice(("add", "add", "drop", "change", "change", "shift", "make", "move", "delete"))
        if what in ("make", "move") and free:
            target = random.choice(free)
            self._lay(target, [part] if what == "make" else parts)
            if what == "move":
                self._delete(path)
            return f"{what} {path} {target}"
        if what == "delete" and len(self.parts) > 2:
            self._delete(path)
            return f"delete {path}"
        at = random.randrange(len(parts) + 1)
        if what in ("drop", "change") and at < len(parts):
            parts[at : at + 1] = [part] if what == "change" else []
        else:
            parts.insert(at, "\n" * random.randrange(1, 4) if what == "shift" else part)
        self._lay(path, parts)
        return f"{what} {path} {at} {part!r}"

    def _lay(self, path: str, parts: list[str]) -> None:
        self.parts[path] = parts
        self._write(path, self._kind.head(path) + "\n".join(parts) + "\n")

    def _write(self, path: str, text: str) -> None:
        whole = self._root / path
        whole.parent.mkdir(parents=True, exist_ok=True)
        whole.write_text(text)

    def _delete(self, path: str) -> None:
        del self.parts[path]
        (self._root / path).unlink()


class Kept:
    """The graph of ``root``, kept by `update`."""

    def __init__(self, root: Path, store: Path, pool: Pool, rules: type[Resolver] = Resolver) -> None:
        self._writer = open_writer(store, root)
        self._store = store
        census = Census(root.resolve(), Protected(), LANGUAGES)
        self._index = Index(root.resolve(), census, self._writer, pool, rules)
        self._index.look_at_all()
        self.update()

    def update(self) -> None:
        self._index.look((), {}, sweep=True)
        self._index.update(lambda _done, _total, _phase: None, lambda: False)
        assert self._index.complete
        assert not self._index.pending

    def rows(self) -> list[Row]:
        """Everything that the graph says, in one order, without what only this store knows (numbers of files)."""
        reader = open_reader(self._store)
        try:
            symbols = [
                (one.key, one.kind, one.flags, one.fan, one.range, one.signature) for one in reader.all_symbols()
            ]
            edges = [
                (start, end, edge.kind, edge.confidence, edge.path, edge.line, edge.character, edge.length)
                for edge, start, end in reader.all_edges()
            ]
            files = [(one.path, one.state, one.external, one.unresolved, one.resolved) for one in reader.files()]
        finally:
            reader.close()
        return [*files, *symbols, *edges]

    def close(self) -> None:
        self._writer.close()


# -- languages --------------------------------------------------------------------------------------------------


def _python(random: Random) -> str:
    function, other = (f"f{random.randrange(8)}" for _ in range(2))
    one, base = (f"C{random.randrange(5)}" for _ in range(2))
    method, called = (f"m{random.randrange(4)}" for _ in range(2))
    module = random.choice(("p", "p.a", "p.b", "q", "q.c", "q.c.d", ".", ".a", "..", "..q", "r"))
    return random.choice(
        (
            f"def {function}():\n    return {other}()",
            f"def {function}(x: {one}) -> {base}:\n    x.{method}()\n    return {base}()",
            f"class {one}({base}):\n    def {method}(self):\n        return self.{called}()",
            f"class {one}:\n    y = {base}()\n    def {method}(self):\n        super().{method}()\n        {other}()",
            f"from {module} import {random.choice((function, one, 'a', 'b', 'c'))}",
            f"from {module} import {one} as {base}",
            f"from {module} import *",
            f"import {module.strip('.') or 'p'}",
            f"__all__ = ['{function}', '{one}']",
            f"{other}()\n{one}().{method}()",
            f"z = {one}()\nz.{method}()\nz.y.{called}()",
            f"try:\n    from p.a import {function}\nexcept ImportError:\n    def {function}(): pass",
        )
    )


PYTHON = Kind(
    "python",
    (
        *("p/__init__.py", "p/a.py", "p/b.py", "p/a/__init__.py", "q/__init__.py", "q/c.py", "q/c/__init__.py"),
        *("q/c/d.py", "r.py", "main.py", "p/test_x.py"),
    ),
    _python,
)

KINDS = (PYTHON,)
