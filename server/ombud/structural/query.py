"""A structural query as callers write it: a pattern or several, and conditions. Plain data, importable without a
grammar.
"""

from __future__ import annotations

from typing import Literal

import msgspec


class Condition(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, rename="camel"):
    """What a metavariable's capture must be; all keys given must hold.

    ``regex`` is searched in the captured text (anchor it with ``^`` and ``$``). ``equals`` compares leaves: white
    space and comments do not matter. ``not`` denies a condition, or a pattern where it is a string. ``kind`` is one
    or several of the grammar's node kinds. ``pattern`` must match the whole capture. ``in`` lists the texts allowed,
    compared as ``equals`` does. ``type`` is asked of a language server, last and not by the engine.
    """

    regex: str | None = None
    equals: str | None = None
    not_: Condition | str | None = msgspec.field(default=None, name="not")
    kind: str | list[str] | None = None
    pattern: str | None = None
    in_: list[str] | None = msgspec.field(default=None, name="in")
    type: str | None = None


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, rename="camel"):
    """What to look for: ``pattern``, or ``any`` of several patterns, or nodes of ``kind`` (or a pattern whose match
    is of it).

    ``where`` is by metavariable name without ``$``. ``inside`` and ``not_inside`` are patterns for a node around the
    match, ``has`` and ``not_has`` for one within it; where several are given, all ``inside`` and ``has`` must hold
    and no ``not_…``.
    """

    pattern: str | None = None
    any: list[str] = []
    kind: str | None = None
    where: dict[str, Condition] = {}
    inside: str | list[str] | None = None
    not_inside: str | list[str] | None = None
    has: str | list[str] | None = None
    not_has: str | list[str] | None = None
    strictness: Literal["exact", "relaxed"] = "exact"
