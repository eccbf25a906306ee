"""One search, carried out by one shard: its matches in the order of files, up to what was asked for; then a count."""

from __future__ import annotations

import logging
import time
from collections.abc import Generator
from typing import TYPE_CHECKING

from msgspec import Raw

from ombud.errors import UserError
from ombud.structural.messages import ENCODER, FULL, LARGE, LATE, MATCHING, Find, Found, Reading
from ombud.structural.shard import Answer, Candidate, Key, key_of
from ombud.structural.shown import Pages
from ombud.syntax import source as sources
from ombud.syntax.grammars import GRAMMARS
from ombud.workspace.listing import NONE, stamp_of

if TYPE_CHECKING:
    from ombud.structural.compiled import Compiled, Rung
    from ombud.structural.memory import Held
    from ombud.structural.shard import Shard

LOG = logging.getLogger(__name__)
MOST_TOLD = 200
"""Files that were left out, and files with errors, that one answer names."""
MOST_BYTES = 16_000_000
"""How much the matches of one answer may take."""
HARD = "the pattern takes too long in it"
TALLY_SECONDS = 0.03
"""How long a search that has what it was asked for goes on counting what has not been counted yet."""


class Search:
    """One `Find`, carried out by one shard."""

    def __init__(self, shard: Shard, ask: Find) -> None:
        self._shard = shard
        self._ask = ask
        self._found = Found(ask.number)
        self._languages = frozenset(ask.languages or GRAMMARS)
        self._answers = shard.answers(ask.query)
        self._until = time.monotonic() + ask.seconds
        self._avoid = set(ask.avoid)
        self._pages: list[bytes] = []
        self._told = 0
        """Hits of files that came in their order."""
        self._matches = 0
        self._size = 0
        self._looks = ask.fresh or ask.later
        self._bound: Key | None = None
        self._read: dict[str, tuple[Compiled | None, Reading]] = {}
        self._tally_until = 0.0
        self._answer = Answer(0, 0, 0, parsed=False)
        self._more = False
        self._uncounted = False
        """Whether a file has matches behind the page, nobody knows how many."""

    def run(self) -> Generator[None, Key | None, Found]:
        found, notes = self._found, list[str]()
        if self._ask.fresh:
            self._shard.memory.next_turn()
        for language in self._ask.languages:
            # A pattern that cannot be read is an error, whatever files there are.
            self._reading(language)
        for candidate in self._shard.candidates(self._ask, self._languages, notes, look=self._looks):
            told = yield
            if told is not None:
                self._bound = min(told, self._bound or told)
            if self._stops(candidate):
                break
            self._try(candidate)
        else:
            found.total = None if self._uncounted else self._matches
        found.note = " ".join(notes)
        # They are encoded already; whoever decodes them has lists.
        found.pages = [Raw(page) for page in self._pages]  # type: ignore[misc]
        return found

    def _stops(self, candidate: Candidate) -> bool:
        found, now = self._found, time.monotonic()
        if found.stopped == FULL and (self._uncounted or (now > self._tally_until and not self._known(candidate))):
            return True
        if found.stopped in (LATE, LARGE):
            return True
        if now > self._until:
            found.stopped = LATE
            return True
        if self._bound is not None and not found.stopped and key_of(*candidate[:2]) > self._bound:
            self._full()
        return False

    def _full(self) -> None:
        """The page is full: from here on matches are only counted, as far as that costs next to nothing."""
        self._found.stopped = FULL
        self._tally_until = time.monotonic() + TALLY_SECONDS

    def _known(self, candidate: Candidate) -> bool:
        """Whether it is known how often the pattern matches in a file as it is now."""
        if candidate.reason:
            return True
        root = self._ask.roots[candidate.root]
        held = self._shard.held(root, candidate)
        if candidate.text is not None:
            return False
        if not held.sure or held.stamp != stamp_of(f"{root.path}/{candidate.path}"):
            return False
        if held.reason:
            return True
        known = self._answers.get(held)
        return known is not None and known[:2] == (held.version, self._ask.rungs.get(held.language, 0))

    def _try(self, candidate: Candidate) -> None:
        from ombud.structural.compiled import Exhausted

        try:
            self._file(candidate)
        except UserError:
            raise
        except Exhausted:
            self._skip(candidate, HARD)
        except Exception:
            # A file that our own reading of it fails on is one file lost, not all of them.
            LOG.exception("%s was left out", candidate.path)
            self._skip(candidate, sources.FAILED)

    def _file(self, candidate: Candidate) -> None:
        if candidate.reason:
            self._skip(candidate, candidate.reason)
            return
        if self._avoid and f"{self._ask.roots[candidate.root].path}/{candidate.path}" in self._avoid:
            self._skip(candidate, sources.DEADLY)
            return
        shard, root = self._shard, self._ask.roots[candidate.root]
        held = shard.held(root, candidate)
        text = shard.text(held, root, candidate, look=self._looks)
        if text is None:
            if held.stamp == NONE and held.reason == sources.GONE:
                shard.memory.forget(root.path, candidate.path)
            elif candidate.language or held.language in self._languages:
                self._skip(candidate, held.reason)
            return
        if held.language not in self._languages:
            return
        compiled, reading = self._read.get(held.language) or self._reading(held.language)
        if compiled is not None:
            self._match(candidate, held, text, compiled, reading)

    def _match(self, candidate: Candidate, held: Held, text: bytes, compiled: Compiled, reading: Reading) -> None:
        ask = self._ask
        reading.files += 1
        self._found.searched += 1
        number = ask.rungs.get(held.language, 0)
        known = self._answers.get(held)
        if known is not None and known[:2] != (held.version, number):
            known = None
        counted = self._found.stopped == FULL or ask.most < 0
        if known is None and not compiled.rungs[number].may_match(text):
            known = Answer(held.version, number, 0, parsed=False)
            self._answers.put(held, known)
        if known is not None and (known.matches == 0 or counted or self._has_page(candidate, known)):
            self._count(reading, known.matches)
            if known.parsed:
                self._note_flaws(candidate, held)
            if known.matches and not counted:
                self._tell(candidate, known.page or b"", known.matches)
            return
        self._search(candidate, held, text, compiled.rungs[number], counted)
        answer = self._answer
        self._count(reading, answer.matches if known is None else known.matches)
        self._note_flaws(candidate, held)
        if not self._more:
            self._answers.put(held, answer._replace(rung=number))
        elif known is None:
            self._uncounted = True
        if answer.page is not None:
            self._tell(candidate, answer.page, answer.matches)

    def _search(self, candidate: Candidate, held: Held, text: bytes, rung: Rung, counted: bool) -> None:
        """Leaves what came of it in ``_answer``, and in ``_more`` whether that is not all of it."""
        ask, whole = self._ask, f"{self._ask.roots[candidate.root].path}/{candidate.path}"
        tree = self._shard.tree(held, whole, text)
        self._shard.at(MATCHING, whole)
        if counted:
            self._more = False
            self._answer = Answer(held.version, 0, rung.count(text, tree), True, None, candidate.root, ask.context)
            return
        matches, self._more = rung.search(text, tree, self._room(candidate))
        page = None
        if matches:
            pages = Pages(text)
            page = ENCODER.encode(
                [pages.hit(candidate.root, candidate.path, held.language, match, ask.context) for match in matches]
            )
        self._answer = Answer(held.version, 0, len(matches), True, page, candidate.root, ask.context)

    def _room(self, candidate: Candidate) -> int:
        """How many hits of a file are of interest, one beyond the page among them."""
        return self._ask.most + 1 - (0 if self._is_new(candidate) else self._told)

    def _has_page(self, candidate: Candidate, known: Answer) -> bool:
        same = known.root == candidate.root and known.context == self._ask.context
        return known.page is not None and same and known.matches <= self._room(candidate)

    def _tell(self, candidate: Candidate, page: bytes, count: int) -> None:
        self._pages.append(page)
        self._size += len(page)
        if not self._is_new(candidate):
            self._told += count
        if not self._found.stopped:
            if self._size > MOST_BYTES:
                self._found.stopped = LARGE
            elif self._told > self._ask.most:
                self._full()

    def _note_flaws(self, candidate: Candidate, held: Held) -> None:
        if held.flawed and len(self._found.flawed) < MOST_TOLD:
            self._found.flawed.append((candidate.root, candidate.path))

    def _is_new(self, candidate: Candidate) -> bool:
        """Whether it is a text that is no file yet; those come out of order."""
        if candidate.text is None:
            return False
        return stamp_of(f"{self._ask.roots[candidate.root].path}/{candidate.path}") == NONE

    def _count(self, reading: Reading, count: int) -> None:
        reading.matches += count
        self._matches += count

    def _skip(self, candidate: Candidate, reason: str) -> None:
        if len(self._found.skipped) < MOST_TOLD:
            self._found.skipped.append((candidate.root, candidate.path, reason))
        else:
            self._found.left += 1

    def _reading(self, language: str) -> tuple[Compiled | None, Reading]:
        """How the pattern reads in a language: None where it does not."""
        compiled = self._shard.compiled(self._ask.query, language)
        found: tuple[Compiled | None, Reading]
        if isinstance(compiled, UserError):
            found = None, Reading(trouble=[compiled.kind, compiled.message], tried=_tried(compiled))
        else:
            found = compiled, Reading([rung.name for rung in compiled.rungs])
        self._read[language] = found
        self._found.readings[language] = found[1]
        return found


def _tried(error: UserError) -> list[tuple[str, str]]:
    rungs = error.data.get("rungs")
    if not isinstance(rungs, list):
        return []
    return [(str(rung.get("as", "")), str(rung.get("complaint", ""))) for rung in rungs if isinstance(rung, dict)]
