"""What a text's facts say, in lines that can be read: symbols, bindings and sites.

    read("go", "package p; func f() { g() }").sites == ["call g"]

A name is written as it is, ``a.b`` is an ATTR, ``a(2)`` a CALL with two arguments, ``a[…]`` an INDEX, ``new a`` an
INSTANCE, ``a*`` what iterating gives, ``a*1`` its first part, ``'int'`` a LITERAL; others go by their names.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ombud.graph import facts as f
from ombud.graph.extract import extract

_OPERATORS = {
    f.AWAIT: "await",
    f.UNWRAP: "unwrap",
    f.GIVEN: "given",
    f.TYPE_OF: "typeof",
    f.TUPLE: "tuple",
    f.UNION: "union",
    f.PASSED: "passed",
    f.SELF: "self",
    f.CLASS: "class",
    f.SUPER: "super",
}
_WHATS = ("=", ":", "parameter", "symbol", "import", "outer", "narrowed")
_FLAGS = {
    f.EXPORTED: "exported",
    f.STATIC: "static",
    f.ABSTRACT: "abstract",
    f.TEST: "test",
    f.ALIAS: "alias",
    f.ASYNC: "async",
}


@dataclass
class Reading:
    facts: f.Facts
    symbols: list[str] = field(default_factory=list)
    """``kind qualified.name flag flag``, without the module."""
    bindings: list[str] = field(default_factory=list)
    """``name = expression`` (``:`` as declared, ``parameter``, ``narrowed``), without symbols and imports."""
    sites: list[str] = field(default_factory=list)
    """``kind expression``, in the order of the text."""
    places: list[tuple[int, int, int]] = field(default_factory=list)
    """Line, character and length of each site."""

    def expr(self, number: int, depth: int = 0) -> str:
        rows = f.rows(self.facts.exprs)
        op, a, b = rows[3 * number : 3 * number + 3]

        def inner(one: int) -> str:
            return self.expr(one, depth + 1) if depth < 30 else "…"

        names = self.facts.names
        texts = {
            f.UNKNOWN: lambda: "?",
            f.NAME: lambda: names[a],
            f.ATTR: lambda: f"{inner(a)}.{names[b]}",
            f.CALL: lambda: f"{inner(a)}({b})",
            f.INDEX: lambda: f"{inner(a)}[{inner(b)}]",
            f.ELEM: lambda: f"{inner(a)}*{b or ''}",
            f.CONS: lambda: f"{inner(a)}, {inner(b)}" if b else inner(a),
            f.INSTANCE: lambda: f"new {inner(a)}",
            f.LITERAL: lambda: f"'{names[a]}'" + (f"<{inner(b)}>" if b else ""),
            f.CLOSURE: lambda: "closure",
            f.SYMBOL: lambda: f"#{self.facts.symbols[a].qualified}",
        }
        if op == f.IMPORT:
            return f"import {self.facts.imports[a].module} {self.facts.imports[a].name}".rstrip()
        if op == f.WITHIN:
            return inner(b)
        if op in texts:
            return texts[op]()
        parts = [inner(a)] if a else []
        if b or op == f.PASSED:
            parts.append(str(b) if op == f.PASSED else inner(b))
        return f"{_OPERATORS[op]}({'; '.join(parts)})"


def read(language: str, source: str | bytes) -> Reading:
    """The facts of a text. No two sites are at one token."""
    data = source.encode() if isinstance(source, str) else source
    found = Reading(extract(language, data))
    facts = found.facts
    for symbol in facts.symbols[1:]:
        flags = [name for flag, name in _FLAGS.items() if symbol.flags & flag]
        found.symbols.append(" ".join([f.KINDS[symbol.kind], symbol.qualified, *flags]))
    for _, name, what, value, _, _ in f.each(facts.bindings, f.BINDING_WIDTH):
        if what not in (f.TO_SYMBOL, f.TO_IMPORT, f.OUTER):
            found.bindings.append(f"{facts.names[name]} {_WHATS[what]} {found.expr(value)}")
    for kind, expr, _, line, character, length in sorted(
        f.each(facts.sites, f.SITE_WIDTH), key=lambda row: (row[3], row[4])
    ):
        found.sites.append(f"{f.SITE_KINDS[kind]} {found.expr(expr)}")
        found.places.append((line, character, length))
    assert len(set(found.places)) == len(found.places)
    return found
