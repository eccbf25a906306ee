"""One rewriting, carried out by one shard: the new bytes of each file that something matched in. Nothing is written."""

from __future__ import annotations

import logging
import time
from collections.abc import Generator
from typing import TYPE_CHECKING

from ombud.errors import Refused, UserError
from ombud.structural.finding import HARD, MOST_BYTES, MOST_TOLD
from ombud.structural.messages import LARGE, LATE, MATCHING, File, Rewrite, Rewritten
from ombud.structural.shard import Candidate, Key
from ombud.structural.shown import Pages
from ombud.syntax import source as sources
from ombud.text.buffer import decode

if TYPE_CHECKING:
    from ombud.structural.memory import Held
    from ombud.structural.query import Query
    from ombud.structural.rewriting import Plan
    from ombud.structural.shard import Shard

LOG = logging.getLogger(__name__)


class Renewal:
    """One `Rewrite`; see the module."""

    def __init__(self, shard: Shard, ask: Rewrite) -> None:
        self._shard = shard
        self._ask = ask
        self._found = Rewritten(ask.number)
        self._until = time.monotonic() + ask.seconds
        self._plans: dict[str, Plan] = {}
        self._avoid = set(ask.avoid)
        self._size = 0

    def run(self) -> Generator[None, Key | None, Rewritten]:
        """Raises UserError where an op is wrong."""
        from ombud.structural.compiled import Exhausted
        from ombud.structural.rewriting import Op, compile_ops

        ops = [Op(op.query, op.rewrite, tuple(op.add_imports)) for op in self._ask.ops]
        languages = frozenset(self._ask.rungs)
        for language in languages:
            self._plans[language] = compile_ops(ops, language)
        for candidate in self._shard.candidates(self._ask, languages, []):
            yield
            if time.monotonic() > self._until or self._size > 4 * MOST_BYTES:
                self._found.stopped = LATE if time.monotonic() > self._until else LARGE
                break
            try:
                self._file(candidate)
            except UserError:
                raise
            except Exhausted:
                self._skip(candidate, HARD)
            except Exception:
                LOG.exception("%s was left out", candidate.path)
                self._skip(candidate, sources.FAILED)
        return self._found

    def _file(self, candidate: Candidate) -> None:
        if candidate.reason:
            self._skip(candidate, candidate.reason)
            return
        shard, root = self._shard, self._ask.roots[candidate.root]
        whole = f"{root.path}/{candidate.path}"
        if whole in self._avoid:
            self._skip(candidate, sources.DEADLY)
            return
        held = shard.held(root, candidate)
        text = shard.text(held, root, candidate)
        if text is None:
            if held.reason != sources.GONE:
                self._skip(candidate, held.reason)
            return
        rungs = self._ask.rungs.get(held.language)
        if rungs is None:
            return
        self._found.searched += 1
        if any(
            self._may_match(op.query, held.language, rung, text) for op, rung in zip(self._ask.ops, rungs, strict=True)
        ):
            self._renew(candidate, held, text, whole)

    def _may_match(self, query: Query, language: str, rung: int | None, text: bytes) -> bool:
        if rung is None:
            return False
        compiled = self._shard.compiled(query, language)
        if isinstance(compiled, UserError):
            raise compiled
        return compiled.rungs[rung].may_match(text)

    def _renew(self, candidate: Candidate, held: Held, text: bytes, whole: str) -> None:
        from ombud.structural.rewriting import rewrite

        tree = self._shard.plain_tree(held, whole, text)
        if held.flawed and len(self._found.flawed) < MOST_TOLD:
            self._found.flawed.append((candidate.root, candidate.path))
        self._shard.at(MATCHING, whole)
        only = [None if op.only is None else op.only.get(whole, []) for op in self._ask.ops]
        done = rewrite(text, tree, self._plans[held.language], self._ask.rungs[held.language], only)
        if not (done.matches or done.lost or done.overlapping or done.refused):
            return
        file = self._as_on_disk(candidate, text, done.new)
        pages = Pages(text)
        room = max(0, self._ask.most - sum(len(one.hits) for one in self._found.files))
        file.language = held.language
        file.replacements, file.overlapping = done.replacements, done.overlapping
        file.refused = file.refused or done.refused or ""
        file.lost = done.lost
        file.hits = [pages.hit(candidate.root, candidate.path, held.language, one, 0) for one in done.matches[:room]]
        file.edits = done.edits
        self._size += len(file.before) + len(file.after)
        self._found.files.append(file)

    def _as_on_disk(self, candidate: Candidate, text: bytes, new: bytes) -> File:
        """The file before and after, in the disk's encoding, its mark included."""
        read = sources.read(self._ask.roots[candidate.root].path, candidate.path)
        file = File(candidate.root, candidate.path, "", text, new)
        if candidate.text is not None:
            if read.reason or sources.source(read.data) != text:
                file.opened = True
                return file
        elif read.reason or sources.source(read.data) != text:
            file.refused = read.reason or sources.UNSTEADY
            return file
        try:
            file.before, file.after = read.data, decode(read.data).encode(new.decode())
        except Refused as error:
            file.before, file.after, file.refused = read.data, read.data, error.message
        return file

    def _skip(self, candidate: Candidate, reason: str) -> None:
        if len(self._found.skipped) < MOST_TOLD:
            self._found.skipped.append((candidate.root, candidate.path, reason))
        else:
            self._found.left += 1
