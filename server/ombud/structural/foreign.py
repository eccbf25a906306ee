"""ast-grep's rule files, as far as they can be said in our terms (``id``, ``language``, ``rule``, ``constraints``, …).

``any``, ``all`` and ``not`` are multiplied out into clauses. ``inside`` and ``has`` are taken with ``stopBy: end``,
which is what ours mean; without it ast-grep looks at the direct parent or child alone, which cannot be said here. A
rule of which a part cannot be said is left out with a sentence: found too much would be worse than not found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ombud.guard.redact import clean
from ombud.structural.query import Condition, Query
from ombud.structural.rules import MARK, OFF, Clause, Relation, Rule, Unusable, common, known, text

MARKS = (MARK, "ast-grep-ignore")
MOST_CLAUSES = 50
_KEYS = (
    *("id", "language", "rule", "constraints", "message", "severity", "note", "url", "fix", "files", "ignores"),
    *("metadata", "labels", "transform", "utils", "rewriters"),
)
_NO_EQUIVALENT = ("nthChild", "range", "follows", "precedes", "matches")
_OTHER_REGEX = re.compile(r"\\[pPz]|\\x\{|\\u\{|\[:\^?\w+:\]|&&|~~|(?<!^)\(\?[a-zA-Z]+\)|\(\?[^:)]*[RUux]")
"""What Rust's expressions mean and Python's do not, or mean otherwise."""
_UNNAMED = re.compile(r"(?<!\$)\$\$(?=[A-Z_])")
_KIND = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_Side = Literal["inside", "not_inside", "has", "not_has"]


@dataclass(frozen=True, slots=True)
class _Draft:
    """A clause that is being put together; all of it must hold."""

    pattern: str | None = None
    kind: str | None = None
    whole: tuple[Condition, ...] = ()
    relations: tuple[Relation, ...] = ()
    sides: tuple[tuple[_Side, str], ...] = ()


def rule(path: str, table: Mapping[str, Any], name: str, notes: list[str]) -> Rule | None:
    """One of ast-grep's rules; None for one that is switched off. Raises `Unusable`."""
    known(table, _KEYS, "A rule of ast-grep's")
    if text(table, "severity") == OFF:
        return None
    shared = common(path, table, name, "hint")
    if not shared["languages"]:
        raise Unusable("A rule of ast-grep's names its language.")
    if not isinstance(table["rule"], Mapping):
        raise Unusable("Its “rule” must be a table.")
    where = {key: _condition(one, f"constraint on ${key}") for key, one in _tables(table, "constraints").items()}
    if table.get("labels"):
        notes.append("Its labels are not shown; nothing else of it is changed by that.")
    drafts = _read(table["rule"])
    for key in where:
        if not any(_binds(draft, key) for draft in drafts):
            raise Unusable(f"It constrains ${clean(key, 40)}, which none of its patterns binds.")
    clauses = tuple(_clause(draft, where) for draft in drafts)
    return Rule(**shared, clauses=clauses, fix=_fix(table, notes), marks=MARKS)


def _tables(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = table.get(key) or {}
    if not isinstance(found, Mapping):
        raise Unusable(f"Its “{key}” must be a table.")
    return found


def _fix(table: Mapping[str, Any], notes: list[str]) -> str | None:
    fix = table.get("fix")
    if isinstance(fix, list) and fix:
        if len(fix) > 1:
            notes.append("It has several fixes; only the first one is offered.")
        fix = fix[0]
    if isinstance(fix, Mapping):
        if fix.get("expandStart") or fix.get("expandEnd"):
            notes.append("Its fix takes text around the match along, which has no equivalent here; it has no fix.")
            return None
        fix = text(fix, "template")
    made = text({"fix": fix}, "fix")
    uses = [name for name in _tables(table, "transform") if made is not None and re.search(rf"\${name}\b", made)]
    if uses or (made is not None and table.get("rewriters")):
        notes.append("Its fix needs “transform” or “rewriters”, which have no equivalent here; it has no fix.")
        return None
    return made


def _clause(draft: _Draft, where: Mapping[str, Condition] | None = None) -> Clause:
    """Raises `Unusable` where nothing says what to begin with."""
    if draft.pattern is None and draft.kind is None:
        raise Unusable("A part of it has neither a pattern nor a kind, so that there is nothing to begin with.")
    sides: dict[str, list[str]] = {}
    for side, pattern in draft.sides:
        sides.setdefault(side, []).append(pattern)
    bound = {key: one for key, one in (where or {}).items() if _binds(draft, key)}
    query = Query(pattern=draft.pattern, kind=draft.kind, where=bound, **sides)  # type: ignore[arg-type]
    return Clause(query, draft.whole, draft.relations)


def _binds(draft: _Draft, name: str) -> bool:
    patterns = [draft.pattern or "", *(pattern for side, pattern in draft.sides if not side.startswith("not"))]
    return any(re.search(rf"\$(?:\$\$)?{re.escape(name)}(?![A-Z0-9_])", one) for one in patterns)


# -- a rule object ----------------------------------------------------------------------------------------------------


def _read(table: Any) -> list[_Draft]:
    """The alternatives that a rule object stands for. Raises `Unusable`."""
    if not isinstance(table, Mapping) or not table:
        raise Unusable("Each part of a rule is a table with keys such as “pattern” and “kind”.")
    drafts = [_Draft()]
    for key, value in table.items():
        drafts = _with(drafts, key, value)
        if len(drafts) > MOST_CLAUSES:
            raise Unusable(f"It stands for more than {MOST_CLAUSES} alternatives; divide it.")
    return drafts


def _with(drafts: list[_Draft], key: str, value: Any) -> list[_Draft]:
    if key in ("any", "all"):
        parts = _parts(key, value)
        if key == "all":
            for part in parts:
                drafts = _both(drafts, _read(part))
            return drafts
        return _both(drafts, [draft for part in parts for draft in _read(part)])
    if key == "not":
        return _both(drafts, _denied(value))
    if key in ("inside", "has"):
        return _both(drafts, [_related(key, value, wanted=True)])
    single: dict[str, Callable[[Any], _Draft]] = {
        "pattern": lambda one: _Draft(pattern=_pattern(one)),
        "kind": lambda one: _Draft(kind=_kind(one)),
        "regex": lambda one: _Draft(whole=(Condition(regex=_regex(one)),)),
    }
    if key in single:
        return _both(drafts, [single[key](value)])
    if key in _NO_EQUIVALENT:
        raise Unusable(f"“{key}” has no equivalent here, so the rule was left out.")
    raise Unusable(f"{clean(str(key), 60)!r} is not a key of a rule.")


def _parts(key: str, value: Any) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise Unusable(f"“{key}” takes a list of rules.")
    return value


def _both(ones: list[_Draft], others: list[_Draft]) -> list[_Draft]:
    if len(ones) * len(others) > MOST_CLAUSES:
        raise Unusable(f"It stands for more than {MOST_CLAUSES} alternatives; divide it.")
    return [_joined(one, other) for one in ones for other in others]


def _joined(one: _Draft, other: _Draft) -> _Draft:
    whole = one.whole + other.whole
    pattern, kind = one.pattern or other.pattern, one.kind or other.kind
    if one.pattern and other.pattern and one.pattern != other.pattern:
        whole += (Condition(pattern=other.pattern),)
    if one.kind and other.kind and one.kind != other.kind:
        whole += (Condition(kind=other.kind),)
    return _Draft(pattern, kind, whole, one.relations + other.relations, one.sides + other.sides)


def _denied(value: Any) -> list[_Draft]:
    """What ``not`` says. Alternatives are each denied; what must hold together is denied as one."""
    if not isinstance(value, Mapping) or not value:
        raise Unusable("“not” takes a rule.")
    if set(value) == {"not"}:
        return _read(value["not"])
    if set(value) == {"any"}:
        drafts = [_Draft()]
        for part in _parts("any", value["any"]):
            drafts = _both(drafts, _denied(part))
        return drafts
    if set(value) in ({"inside"}, {"has"}):
        (key,) = value
        return [_related(key, value[key], wanted=False)]
    if set(value) <= {"pattern", "kind", "regex"}:
        return [_Draft(whole=(Condition(not_=_condition(value, "“not”")),))]
    return [_Draft(relations=(Relation("is", False, tuple(map(_clause, _read(value)))),))]


def _related(key: str, value: Any, *, wanted: bool) -> _Draft:
    how: Literal["inside", "has"] = "inside" if key == "inside" else "has"
    if not isinstance(value, Mapping):
        raise Unusable(f"“{key}” takes a rule.")
    stop = value.get("stopBy", "neighbor")
    if stop != "end":
        near = "parent" if key == "inside" else "child"
        said = f"looks at the direct {near} alone" if stop == "neighbor" else "ends at another rule"
        raise Unusable(f"“{key}” {said}, which has no equivalent here; with “stopBy: end” the rule can be used.")
    if "field" in value:
        raise Unusable(f"“{key}” names a field, which has no equivalent here, so the rule was left out.")
    rest = {name: one for name, one in value.items() if name != "stopBy"}
    if set(rest) == {"pattern"}:
        denied: _Side = "not_inside" if how == "inside" else "not_has"
        side: _Side = how if wanted else denied
        return _Draft(sides=((side, _pattern(rest["pattern"])),))
    return _Draft(relations=(Relation(how, wanted, tuple(map(_clause, _read(rest)))),))


# -- single values ----------------------------------------------------------------------------------------------------


def _condition(value: Any, what: str) -> Condition:
    """A constraint on a metavariable, or what must not hold of a whole match. Raises `Unusable`."""
    if not isinstance(value, Mapping) or not value:
        raise Unusable(f"The {what} must be a table.")
    made = Condition()
    for key, one in value.items():
        if key == "pattern":
            made = _also(made, pattern=_pattern(one))
        elif key == "kind":
            made = _also(made, kind=_kind(one))
        elif key == "regex":
            made = _also(made, regex=_regex(one))
        elif key == "not":
            made = _also(made, not_=_condition(one, what))
        elif key == "any" and (joined := _alternatives(_parts("any", one))) is not None:
            made = _also(made, **joined)
        else:
            raise Unusable(f"The {what} uses “{clean(str(key), 60)}”, which has no equivalent here.")
    return made


def _also(made: Condition, **changes: Any) -> Condition:
    """``made`` with one more thing that must hold. Raises `Unusable` where it has that already."""
    from msgspec.structs import replace as replaced

    for key in changes:
        if getattr(made, key) is not None:
            raise Unusable("A condition can hold one pattern, one expression and one kind.")
    return replaced(made, **changes)


def _alternatives(parts: list[Any]) -> dict[str, Any] | None:
    """``any`` of kinds, or of expressions, as one condition; None for any other."""
    keys = {tuple(part) if isinstance(part, Mapping) else () for part in parts}
    if keys == {("kind",)}:
        return {"kind": [_kind(part["kind"]) for part in parts]}
    if keys == {("regex",)}:
        return {"regex": "|".join(f"(?:{_regex(part['regex'])})" for part in parts)}
    return None


def _pattern(value: Any) -> str:
    if isinstance(value, Mapping):
        if value.get("strictness", "smart") not in ("smart", "relaxed"):
            raise Unusable("The strictness of its pattern has no equivalent here, so the rule was left out.")
        if "selector" in value:
            raise Unusable("A pattern that is a part of its context (“selector”) has no equivalent here; use “as”.")
        value = value.get("context")
    found = text({"pattern": value}, "pattern")
    if not found:
        raise Unusable("Its pattern must be a text that is not empty.")
    if _UNNAMED.search(found):
        raise Unusable("“$$NAME”, which stands for nodes without a name, has no equivalent here.")
    return found


def _kind(value: Any) -> str:
    found = text({"kind": value}, "kind") or ""
    if not _KIND.fullmatch(found):
        raise Unusable(f"The kind {clean(found, 60)!r} is no single node kind, so the rule was left out.")
    return found


def _regex(value: Any) -> str:
    found = text({"regex": value}, "regex") or ""
    if _OTHER_REGEX.search(found):
        raise Unusable(f"The expression {clean(found, 80)!r} means something else here, so the rule was left out.")
    try:
        re.compile(found)
    except (re.error, RecursionError, OverflowError) as error:
        raise Unusable(f"The expression {clean(found, 80)!r} cannot be read: {clean(str(error), 100)}.") from None
    return found
