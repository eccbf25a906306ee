"""Rules: patterns with a message, which make a linter of the search. Read here, run by ``ombud.operations.structural``.

A rule is a table: ``id`` (by default the file's name), ``language`` or ``languages`` (by default every one in which the
pattern parses), what to look for (the keys of `Query`: ``pattern``, ``any``, ``kind``, ``where``, ``inside``,
``notInside``, ``has``, ``notHas``, ``strictness``), ``as`` (the shell that reads the pattern, by default the first that
can), ``message`` (with ``$X``), ``severity``, ``fix`` (what to put in its place), ``note``, ``url``, and the globs
``files`` and ``ignores``. A table with ``rule`` is one of ast-grep's and read by `ombud.structural.foreign`.

Nothing raises for what stands in a file: what cannot be used becomes a `Problem`, and its rule is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Any, Literal

import msgspec

from ombud.guard.redact import clean
from ombud.structural.query import Condition, Query
from ombud.structural.rulefile import Unreadable, mappings
from ombud.syntax.grammars import GRAMMARS
from ombud.syntax.languages import canonical

Severity = Literal["error", "warning", "information", "hint"]
SEVERITIES: Mapping[str, Severity] = {
    "error": "error",
    "warning": "warning",
    "warn": "warning",
    "information": "information",
    "info": "information",
    "hint": "hint",
}
OFF = "off"
"""The severity of a rule that is not to run."""
MOST_RULES = 1000
MOST_PROBLEMS = 200
TEXT_LIMIT = 10_000
"""Characters of any text of a rule."""
CAPTURED_LIMIT = 200
"""Characters of a capture in a message."""
MARK = "ombud-ignore"
_ID = re.compile(r"[^\s,;:]{1,100}")
_METAVARIABLE = re.compile(r"\$(?:\$\$)?([A-Z_][A-Z0-9_]*)")
_SEARCH = ("pattern", "any", "kind", "where", "inside", "notInside", "has", "notHas", "strictness")
_TEXTS = ("message", "severity", "fix", "note", "url", "as")
_KEYS = ("id", "language", "languages", "files", "ignores", *_SEARCH, *_TEXTS)
TOGETHER: Mapping[str, tuple[str, ...]] = {
    "javascript": ("javascript", "javascriptreact"),
}
"""Languages whose name in a rule stands for another one as well: JSX is JavaScript, while TSX is another grammar."""


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a rule, or a whole file of them, does not count: ``message`` is a sentence."""

    path: str
    message: str
    rule: str | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """How a match must stand to those of ``clauses``: be one of them, lie in one, or have one in it; or must not."""

    how: Literal["is", "inside", "has"]
    wanted: bool
    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class Clause:
    """A query, what the whole of a match must be besides (``whole``), and how it must stand to others."""

    query: Query
    whole: tuple[Condition, ...] = ()
    relations: tuple[Relation, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``clauses``: a match of any of them is a finding. ``languages``: none for every one that parses it.

    ``shell`` is the name of the rung that reads the pattern, None for the first that can. ``marks`` are the words of
    comments that suppress it.
    """

    id: str
    path: str
    clauses: tuple[Clause, ...]
    message: str
    severity: Severity = "warning"
    languages: tuple[str, ...] = ()
    fix: str | None = None
    note: str | None = None
    url: str | None = None
    files: tuple[str, ...] = ()
    ignores: tuple[str, ...] = ()
    shell: str | None = None
    marks: tuple[str, ...] = (MARK,)

    def speaks(self, captures: Mapping[str, str]) -> str:
        """The message with the texts of what was captured; what was not stands as it is written."""

        def one(found: re.Match[str]) -> str:
            text = captures.get(found.group(1))
            return found.group() if text is None else clean(" ".join(text.split()), CAPTURED_LIMIT)

        return _METAVARIABLE.sub(one, self.message)


@dataclass(slots=True)
class Rules:
    """The rules of several files, each id once, and what is wrong with the others."""

    rules: dict[str, Rule] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def read(self, path: str, data: bytes) -> None:
        """Add the rules of a file; ``path`` is what problems call it."""
        try:
            found = mappings(path, data)
        except Unreadable as problem:
            self.problem(path, str(problem))
            return
        stem = PurePosixPath(path).name.rpartition(".")[0] or "rule"
        for number, table in enumerate(found, 1):
            self.add(path, table, stem if len(found) == 1 else f"{stem}-{number}")

    def add(self, path: str, table: Mapping[str, Any], name: str) -> None:
        """Add one rule; ``name`` is its id where it has none."""
        said = table.get("id")
        identity = said if isinstance(said, str) else name
        notes: list[str] = []
        try:
            rule = _rule(path, table, name, notes)
        except Unusable as problem:
            self.problem(path, str(problem), identity)
            return
        if rule is None:
            return
        for note in notes:
            self.problem(path, note, rule.id)
        if rule.id in self.rules:
            former = self.rules[rule.id].path
            where = "twice in this file" if former == path else f"also in {former}"
            self.problem(path, f"There is a rule of this id {where}; the first one counts.", rule.id)
        elif len(self.rules) >= MOST_RULES:
            self.problem(path, f"There are more than {MOST_RULES} rules; the others were left out.")
        else:
            self.rules[rule.id] = rule

    def problem(self, path: str, message: str, rule: str | None = None) -> None:
        """Keep a sentence, each once and not without end."""
        made = Problem(path, message, clean(rule, 100) if rule is not None else None)
        if len(self.problems) < MOST_PROBLEMS and made not in self.problems:
            self.problems.append(made)


class Unusable(Exception):
    """The rule cannot be used; the text is a sentence that says why."""


def _rule(path: str, table: Mapping[str, Any], name: str, notes: list[str]) -> Rule | None:
    """None for a rule that is switched off. ``notes`` takes what of a usable one does not count. Raises `Unusable`."""
    if "rule" in table:
        from ombud.structural.foreign import rule

        return rule(path, table, name, notes)
    known(table, _KEYS, "A rule")
    if text(table, "severity") == OFF:
        return None
    return Rule(
        clauses=(Clause(query_of({key: table[key] for key in _SEARCH if table.get(key) is not None})),),
        **common(path, table, name, "warning"),
        fix=text(table, "fix"),
        shell=text(table, "as"),
    )


def common(path: str, table: Mapping[str, Any], name: str, severity: str) -> dict[str, Any]:
    """What rules of both kinds have, as arguments of `Rule`. Raises `Unusable`."""
    identity = text(table, "id") or name
    if not _ID.fullmatch(identity):
        raise Unusable("Its id must be one word of at most 100 characters without “,”, “;” and “:”.")
    said = (text(table, "severity") or severity).lower()
    if said not in SEVERITIES:
        raise Unusable(f"Its severity {clean(said, 40)!r} is none of {', '.join(dict.fromkeys(SEVERITIES.values()))}.")
    return {
        "id": identity,
        "path": path,
        "languages": languages(table),
        "message": (text(table, "message") or identity).strip(),
        "severity": SEVERITIES[said],
        "note": text(table, "note"),
        "url": text(table, "url"),
        "files": globs(table, "files"),
        "ignores": globs(table, "ignores"),
    }


def query_of(tree: Mapping[str, Any]) -> Query:
    """The query of a rule's keys. Raises `Unusable`."""
    if not any(tree.get(key) for key in ("pattern", "any", "kind")):
        raise Unusable("It says nothing to look for: it needs a pattern, several in “any”, or a kind.")
    for key in ("pattern", "kind"):
        if isinstance(tree.get(key), str):
            text(tree, key)
    try:
        query = msgspec.convert(dict(tree), Query)
    except msgspec.ValidationError as error:
        raise Unusable(f"Its query cannot be read: {clean(str(error), 300)}.") from None
    if any(_asks_type(one) for one in query.where.values()):
        raise Unusable("A “type” is asked of a language server, which no rule can wait for; leave it out.")
    return query


def _asks_type(condition: Condition | str | None) -> bool:
    return isinstance(condition, Condition) and (condition.type is not None or _asks_type(condition.not_))


def languages(table: Mapping[str, Any]) -> tuple[str, ...]:
    """The LSP ids that ``language`` or ``languages`` names. Raises `Unusable` for one that has no grammar."""
    said = [key for key in ("language", "languages") if table.get(key) is not None]
    if len(said) > 1:
        raise Unusable("It has “language” and “languages”; one of them is enough.")
    if not said:
        return ()
    out: dict[str, None] = {}
    for word in texts(table, said[0]):
        name = canonical({"tsx": "typescriptreact", "bash": "shellscript"}.get(word.lower(), word))
        if name not in GRAMMARS:
            near = get_close_matches(word.lower(), GRAMMARS, 1)
            hint = f" Did you mean {near[0]}?" if near else f" There are {', '.join(sorted(GRAMMARS))}."
            raise Unusable(f"There is no grammar for the language {clean(word, 60)!r}.{hint}")
        out.update(dict.fromkeys(TOGETHER.get(name, (name,))))
    return tuple(out)


def known(table: Mapping[str, Any], keys: Iterable[str], what: str) -> None:
    """Raises `Unusable` for a key that is none of ``keys``, with the nearest."""
    keys = tuple(keys)
    for key in table:
        if key not in keys:
            near = get_close_matches(key, keys, 1)
            hint = f" Did you mean {near[0]!r}?" if near else f" It takes {', '.join(keys)}."
            raise Unusable(f"{what} has no key {clean(key, 60)!r}.{hint}")


def text(table: Mapping[str, Any], key: str) -> str | None:
    """A text of bounded length, None where there is none. Raises `Unusable`."""
    value = table.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise Unusable(f"Its {key!r} must be a text.")
    if len(value) > TEXT_LIMIT:
        raise Unusable(f"Its {key!r} is longer than {TEXT_LIMIT:,} characters.")
    return value


def texts(table: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """One text or several. Raises `Unusable`."""
    value = table.get(key)
    if value is None:
        return ()
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(one, str) and one for one in listed):
        raise Unusable(f"Its {key!r} must be a text or a list of texts.")
    return tuple(listed)


def globs(table: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Globs such as ``src/**/*.ts``, relative to the workspace. Raises `Unusable`."""
    found = texts(table, key)
    for one in found:
        if one.startswith(("/", "../")) or "\\" in one or len(one) > 500:
            raise Unusable(f"The glob {clean(one, 80)!r} in {key!r} must be relative to the workspace, with “/”.")
    return found
