"""The paths in a patch's headers: git's quotes undone, and ``a/`` and ``b/`` taken off where they are no folders."""

from __future__ import annotations

import re

_ESCAPE = re.compile(r'\\(?:([abtnvfr"\\])|([0-3][0-7]{2}))')
_LETTERS = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
# What git puts before the two paths: a/ and b/, or with diff.mnemonicPrefix the commit, index, work tree or object.
_PREFIX = re.compile(r"[abciow]/(?=.)")
_LONGEST = 10_000


def unquoted(written: str) -> str:
    """A path as git quotes it, or as it stands. Bytes that are no UTF-8 become surrogates, as in ``os.fsdecode``."""
    found = _QUOTED.match(written)
    if found is None:
        return written
    out = bytearray()
    at, inner = 0, found[0][1:-1]
    while at < len(inner):
        escape = _ESCAPE.match(inner, at)
        if escape is None:
            out += inner[at].encode("utf-8", "surrogatepass")
            at += 1
        else:
            out.append(_LETTERS[escape[1]] if escape[1] else int(escape[2], 8))
            at = escape.end()
    return out.decode("utf-8", "surrogateescape")


def plain_names(old: str, new: str, head: str | None) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    """The two paths of ``---`` and ``+++`` (empty: ``/dev/null``) without prefixes, and their other readings.

    ``head`` are the paths of the ``diff --git`` line before them, which tell whether git wrote prefixes.
    """
    if not old or not new:
        return _one_sided(old, new, head)
    if old == new:
        # A folder may be called so, or both sides were given the same prefix.
        bare = _PREFIX.sub("", old)
        return old, new, () if bare == old else ((bare, bare),)
    bare_old, bare_new = _PREFIX.sub("", old, count=1), _PREFIX.sub("", new, count=1)
    if bare_old != old and bare_new != new and old[0] != new[0]:
        return bare_old, bare_new, ()
    for a, b in ((bare_old, new), (old, bare_new), (bare_old, bare_new)):
        if a == b:
            return a, b, ()
    # Two folders compared, or a copy of the file put aside (x.orig): what remains is one file.
    below_old, below_new = old.partition("/")[2], new.partition("/")[2]
    others = [(below_old, below_new)] if below_old and below_old == below_new else []
    return old, new, (*others, (new, new))


def _one_sided(old: str, new: str, head: str | None) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    path = old or new
    others: tuple[tuple[str, str], ...] = ()
    bare = re.sub(r"^[aciow]/(?=.)" if old else r"^[bciow]/(?=.)", "", path)
    if bare == path or head == f"{path} {path}":
        bare = path
    else:
        others = ((path, ""),) if old else ()
    return bare if old else "", bare if new else "", others


def both(head: str) -> str | None:
    """The path in ``a/PATH b/PATH``, for parts that have no other line with it; None where it is not clear."""
    if len(head) > _LONGEST:
        return None
    if head.startswith('"'):
        halves = [tuple(unquoted(half) for half in _QUOTED.findall(head))]
    else:
        halves = [(head[: found.start()], head[found.end() :]) for found in re.finditer(" ", head)]
    readings: set[str] = set()
    for half in halves:
        if len(half) != 2:
            continue
        one, other = half
        if one == other:
            return one
        below = one.partition("/")[2]
        if below and below == other.partition("/")[2]:
            readings.add(below)
    return readings.pop() if len(readings) == 1 else None
