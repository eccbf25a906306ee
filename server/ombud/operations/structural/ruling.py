"""Rules carried out: what each of them finds in some files, without what comments silence, and how it can be mended.

A rule means the first way in which its pattern can be read, or the one that its ``as`` names. A search by hand goes on
with the next way where the first finds nothing; a rule must not, or mending its last finding would make it look for
something else. That a pattern would have been found in another way is said.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ombud.errors import OmbudError, UserError
from ombud.operations.structural.rulebook import GIVEN
from ombud.structural.globs import Globs
from ombud.structural.messages import LATE, Hit, Op, Opened, Place, Root
from ombud.structural.query import Condition, Query
from ombud.structural.rules import Clause, Problem, Relation, Rule, Rules
from ombud.structural.search import Job, Outcome, Searcher
from ombud.structural.spans import Places
from ombud.structural.suppressed import Silence
from ombud.syntax.source import DEADLY

if TYPE_CHECKING:
    from ombud.structural.messages import File

MOST = 10_000
"""Matches of one query that are looked at."""
SECONDS = 120.0
"""How long all rules together may take."""
WHOLE = "OMBUD_WHOLE"

Source = Callable[[int, str], Awaitable[bytes | None]]
"""The text of a file as it is searched, by the number of its root and its path; None where there is none any more."""
Where = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Files:
    """The files that rules look at. ``source`` reads one of them. ``processes``: whether any may be started."""

    roots: Sequence[Root]
    opened: Sequence[Opened]
    source: Source
    processes: bool = True
    languages: tuple[str, ...] = ()


@dataclass(slots=True)
class Finding:
    """A match of a rule. ``edits`` mend it: places in the file and their new texts."""

    rule: Rule
    hit: Hit
    edits: list[tuple[Place, str]] | None = None

    @property
    def message(self) -> str:
        texts = {name: _text(one) for name, one in self.hit.captures.items()}
        return self.rule.speaks(texts)


@dataclass(slots=True)
class Ran:
    """What came of it. ``files`` says how many were searched, by language."""

    findings: list[Finding] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files: dict[str, int] = field(default_factory=dict)
    skipped: dict[Where, str] = field(default_factory=dict)
    flawed: set[Where] = field(default_factory=set)
    slow: set[str] = field(default_factory=set)
    """Rules with which a file could not be finished in its time."""
    suppressed: int = 0
    truncated: bool = False


def _text(captured: Place | list[Place]) -> str:
    return captured.text if isinstance(captured, Place) else ", ".join(one.text for one in captured)


class Ruling:
    """One run of rules over some files. ``seconds`` are for all of it, ``each`` for one search of it."""

    def __init__(self, searcher: Searcher, files: Files, seconds: float = SECONDS, each: float = SECONDS) -> None:
        self._searcher = searcher
        self._files = files
        self._until = time.monotonic() + seconds
        self._each = each
        self._ran = Ran()
        self._sources: dict[Where, bytes | None] = {}
        self._silences: dict[tuple[Where, tuple[str, ...]], Silence] = {}

    async def run(self, book: Rules, *, fixes: bool = True) -> Ran:
        """Every rule in turn. Raises PeerError where the search itself fails."""
        ran = self._ran
        ran.problems += book.problems
        for number, rule in enumerate(book.rules.values()):
            if time.monotonic() > self._until:
                ran.notes.append(
                    f"The time was over before {len(book.rules) - number} of the rules had been looked for."
                )
                ran.truncated = True
                break
            try:
                await self._rule(rule, fixes=fixes)
            except UserError as error:
                ran.problems.append(Problem(rule.path, error.message, rule.id))
        ran.findings.sort(key=lambda one: (*_where(one.hit), one.hit.start, one.hit.end, one.rule.id))
        return ran

    async def _rule(self, rule: Rule, *, fixes: bool) -> None:
        if self._files.languages and rule.languages and not set(rule.languages) & set(self._files.languages):
            return
        if not self._files.processes and rule.path != GIVEN and any(map(_has_regex, rule.clauses)):
            # In a thread of ours nobody could end an expression that never comes to an end, and it is the workspace's.
            raise UserError("It holds a regex, which is tried only where a process of its own may be started for it.")
        found: dict[tuple[Where, int, int], Finding] = {}
        for clause in rule.clauses:
            hits = await self._clause(rule, clause, self._files.roots, main=True)
            hits = [hit for hit in hits if not await self._silent(rule, hit)]
            fresh = [hit for hit in hits if (_where(hit), hit.start, hit.end) not in found]
            mended = await self._mended(rule, clause.query, fresh) if fixes and rule.fix is not None and fresh else {}
            for hit in fresh:
                key = _where(hit), hit.start, hit.end
                found[key] = Finding(rule, hit, mended.get(key))
        self._ran.findings += found.values()

    # -- searching --------------------------------------------------------------------------------------------------

    def _job(self, rule: Rule, query: Query, roots: Sequence[Root]) -> Job:
        known = self._files.languages
        languages = [one for one in rule.languages if not known or one in known] if rule.languages else list(known)
        return Job(
            query,
            roots,
            languages,
            [*rule.files, *(f"!{one}" for one in rule.ignores)],
            self._files.opened,
            MOST,
            seconds=max(1.0, min(self._each, self._until - time.monotonic())),
            processes=self._files.processes,
        )

    async def _clause(self, rule: Rule, clause: Clause, roots: Sequence[Root], *, main: bool = False) -> list[Hit]:
        job = self._job(rule, clause.query, roots)
        rungs = await self._rungs(rule, job)
        outcome = await self._searcher.find(replace(job, rungs=rungs))
        self._note(rule, outcome)
        globs = Globs(job.globs)
        # A file that was named is searched whatever the globs say.
        hits = [hit for hit in outcome.hits if globs.let_in(hit.path)]
        if rungs is None:
            others = {language: at for language, at in outcome.read_as.items() if at}
            later = [hit for hit in hits if hit.language in others]
            hits = [hit for hit in hits if hit.language not in others]
            if later and main:
                self._say_other(rule, outcome, later)
        for condition in clause.whole:
            hits = await self._such(rule, condition, hits)
        for relation in clause.relations:
            hits = await self._related(rule, relation, hits)
        return hits

    async def _rungs(self, rule: Rule, job: Job) -> dict[str, int] | None:
        """Which reading ``as`` means in each language; None where the rule names none. Raises `UserError`."""
        if rule.shell is None:
            return None
        outcome = await self._searcher.find(replace(job, most=0, rungs={}))
        named = {language: one.rungs for language, one in outcome.readings.items() if one.rungs}
        rungs = {language: names.index(rule.shell) for language, names in named.items() if rule.shell in names}
        if named and not rungs:
            known = ", ".join(dict.fromkeys(name for names in named.values() for name in names))
            raise UserError(f"Its pattern cannot be read as {rule.shell!r}; it can be read as {known}.")
        return rungs

    def _say_other(self, rule: Rule, outcome: Outcome, later: Sequence[Hit]) -> None:
        language = later[0].language
        self._ran.notes.append(
            f"{rule.id}: its pattern is read as {outcome.readings[language].rungs[0]} in {language} and finds nothing; "
            f"as {outcome.parsed_as(language)} it would. If that is meant, give the rule “as: "
            f"{outcome.parsed_as(language)}”."
        )

    def _note(self, rule: Rule, outcome: Outcome) -> None:
        ran = self._ran
        for language, reading in outcome.readings.items():
            ran.files[language] = max(ran.files.get(language, 0), reading.files)
        ran.skipped.update({(root, path): reason for root, path, reason in outcome.skipped})
        ran.flawed.update(outcome.flawed)
        if outcome.stopped == LATE or any(reason == DEADLY for _, _, reason in outcome.skipped):
            ran.slow.add(rule.id)
        ran.notes += [note for note in outcome.notes if note not in ran.notes]
        if outcome.stopped:
            ran.truncated = True
            why = f"more than {MOST:,} matches" if len(outcome.hits) >= MOST else "not enough time for all files"
            ran.notes.append(f"{rule.id}: there were {why}; the rest was not looked at.")

    # -- what else must hold ------------------------------------------------------------------------------------------

    async def _such(self, rule: Rule, condition: Condition, hits: list[Hit]) -> list[Hit]:
        """The hits that are as a whole what ``condition`` says."""
        if condition.kind is not None:
            kinds = [condition.kind] if isinstance(condition.kind, str) else condition.kind
            hits = [hit for hit in hits if hit.kind in kinds]
        if condition.pattern is not None:
            relation = Relation("is", True, (Clause(Query(pattern=condition.pattern)),))
            hits = await self._related(rule, relation, hits)
        if condition.regex is not None:
            hits = await self._reading(rule, condition.regex, hits)
        if condition.not_ is not None:
            inner = condition.not_ if isinstance(condition.not_, Condition) else Condition(pattern=condition.not_)
            denied = {id(hit) for hit in await self._such(rule, inner, hits)}
            hits = [hit for hit in hits if id(hit) not in denied]
        return hits

    async def _reading(self, rule: Rule, regex: str, hits: list[Hit]) -> list[Hit]:
        """The hits whose text the expression is found in. The workers say so: it may be one that never ends.

        A metavariable alone is each node of a kind, in whichever way it is read.
        """
        places: dict[Where, set[tuple[int, int]]] = {}
        where = {WHOLE: Condition(regex=regex)}
        for kind in sorted({hit.kind for hit in hits}):
            job = self._job(rule, Query(pattern=f"${WHOLE}", kind=kind, where=where), self._roots_of(hits))
            job = replace(job, languages=sorted({hit.language for hit in hits if hit.kind == kind}), rungs={})
            outcome = await self._searcher.find(job)
            rungs = {language: len(one.rungs) for language, one in outcome.readings.items()}
            for number in range(max(rungs.values(), default=0)):
                if number:
                    some = {language: number for language, count in rungs.items() if number < count}
                    outcome = await self._searcher.find(replace(job, languages=sorted(some), rungs=some))
                for hit in outcome.hits:
                    places.setdefault(_where(hit), set()).add((hit.start, hit.end))
        return [hit for hit in hits if (hit.start, hit.end) in places.get(_where(hit), ())]

    async def _related(self, rule: Rule, relation: Relation, hits: list[Hit]) -> list[Hit]:
        """The hits that stand to those of the relation as it says."""
        if not hits:
            return []
        roots = self._roots_of(hits)
        others: dict[Where, list[tuple[int, int, str]]] = {}
        for clause in relation.clauses:
            for other in await self._clause(rule, clause, roots):
                others.setdefault(_where(other), []).append((other.start, other.end, other.kind))
        places = {where: Places(found) for where, found in others.items()}
        test = {"is": Places.has_same, "inside": Places.has_around, "has": Places.has_within}[relation.how]

        def holds(hit: Hit) -> bool:
            found = places.get(_where(hit))
            return found is not None and test(found, (hit.start, hit.end, hit.kind))

        return [hit for hit in hits if holds(hit) == relation.wanted]

    def _roots_of(self, hits: Iterable[Hit]) -> list[Root]:
        """The roots with nothing but the files of the hits. Their numbers stay, since places are compared."""
        files: dict[int, set[str]] = {}
        for hit in hits:
            files.setdefault(hit.root, set()).add(hit.path)
        roots = self._files.roots
        if len(roots) == 1 and len(files.get(0, ())) == 1:
            return [_only(roots[0], next(iter(files[0])))]
        return list(roots)

    # -- comments, and fixes ------------------------------------------------------------------------------------------

    async def _silent(self, rule: Rule, hit: Hit) -> bool:
        key = _where(hit), rule.marks
        silence = self._silences.get(key)
        if silence is None:
            text = (await self.source(_where(hit)) or b"").decode("utf-8", "replace")
            silence = self._silences[key] = await asyncio.to_thread(Silence, text, rule.marks)
        silent = silence.holds(hit.place.line, rule.id)
        self._ran.suppressed += silent
        return silent

    async def source(self, where: Where) -> bytes | None:
        """The text of a file, read once."""
        if where not in self._sources:
            self._sources[where] = await self._files.source(*where)
        return self._sources[where]

    async def _mended(
        self, rule: Rule, query: Query, hits: Sequence[Hit]
    ) -> Mapping[tuple[Where, int, int], list[tuple[Place, str]]]:
        """The edits for each hit that can be mended."""
        assert rule.fix is not None
        job = self._job(rule, query, self._roots_of(hits))
        rungs = await self._rungs(rule, job)
        try:
            files, _ = await self._searcher.rewrite(replace(job, rungs=rungs or {}), [Op(query, rule.fix)])
        except OmbudError as error:
            # What was found is worth telling also where it cannot be mended.
            self._ran.problems.append(Problem(rule.path, f"Its fix cannot be used. {error.message}", rule.id))
            return {}
        out = {}
        wanted = {(_where(hit), hit.start, hit.end) for hit in hits}
        for file in files:
            where = file.root, file.path
            source = await self.source(where)
            if file.refused or source is None:
                continue
            spans = [(start, end) for at, start, end in wanted if at == where]
            for span, edits in _by_match(file, spans).items():
                out[where, *span] = _placed(source, edits)
        return out


def _has_regex(clause: Clause) -> bool:
    if any(_tries(one) for one in (*clause.whole, *clause.query.where.values())):
        return True
    return any(_has_regex(other) for relation in clause.relations for other in relation.clauses)


def _tries(condition: Condition | str | None) -> bool:
    return isinstance(condition, Condition) and (condition.regex is not None or _tries(condition.not_))


def _only(root: Root, path: str) -> Root:
    return Root(root.path, path, True, root.language, root.add, root.allow)


def _where(hit: Hit) -> Where:
    return hit.root, hit.path


def _by_match(file: File, spans: Sequence[tuple[int, int]]) -> dict[tuple[int, int], list[tuple[int, int, bytes]]]:
    """The edits that belong to each match: those in it, or one that takes more than it along, as a deletion does."""
    out: dict[tuple[int, int], list[tuple[int, int, bytes]]] = {}
    rewritten = Places((hit.start, hit.end, "") for hit in file.hits)
    for start, end in spans:
        place = start, end, ""
        # A match in another's capture is rewritten with that, and has no edit of its own.
        if rewritten.has_same(place) and not rewritten.has_around(place):
            mine = [edit for edit in file.edits if edit[0] < end and edit[1] > start]
            if mine:
                out[start, end] = mine
    return out


def _placed(source: bytes, edits: Sequence[tuple[int, int, bytes]]) -> list[tuple[Place, str]]:
    from ombud.structural.shown import Pages

    pages = Pages(source)
    return [(pages.place(start, end), new.decode("utf-8", "replace")) for start, end, new in edits]
