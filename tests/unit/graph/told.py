"""Facts in a compact form that can be read: one line a symbol, a binding, a site.

Symbols: ``kind qualified flags : type``. Bindings: ``scope name what = expression``. Sites: ``kind name = expression``.
Scopes are told by the qualified name of their symbol, closures as ``λ``.
"""

from __future__ import annotations

from typing import NamedTuple

from ombud.graph import facts as f
from ombud.graph.extract import extract

OPS = {
    f.AWAIT: "await",
    f.ELEM: "elem",
    f.UNION: "or",
    f.TUPLE: "tuple",
    f.INSTANCE: "a",
    f.SELF: "self",
    f.CLASS: "class",
    f.SUPER: "super",
    f.UNWRAP: "unwrap",
    f.TYPE_OF: "type",
}
WHAT = ("value", "declared", "parameter", "symbol", "import", "outer", "narrowed")
FLAGS = {
    f.EXPORTED: "exported",
    f.STATIC: "static",
    f.ABSTRACT: "abstract",
    f.TEST: "test",
    f.ASYNC: "async",
    f.PRIVATE: "private",
}


class Told:
    """The facts of one text, told."""

    def __init__(self, language: str, source: str | bytes) -> None:
        self.source = source.encode() if isinstance(source, str) else source
        self.facts = extract(language, self.source)
        self._exprs = f.rows(self.facts.exprs)
        self._scopes = list(f.each(self.facts.scopes, f.SCOPE_WIDTH))
        self._lines = self.source.decode("utf-8", "replace").split("\n")

    def expr(self, number: int) -> str:
        """An expression as it might be written."""
        if not number:
            return "?"
        op, a, b = self._exprs[3 * number : 3 * number + 3]
        names = self.facts.names
        if op == f.NAME:
            return names[a]
        if op == f.ATTR:
            return f"{self.expr(a)}.{names[b]}"
        if op == f.CALL:
            return f"{self.expr(a)}({b if b >= 0 else '*'})"
        if op == f.GIVEN:
            call = self.expr(a)
            return f"{call[: call.rindex('(')]}({self.listed(b)})"
        if op == f.INDEX:
            return f"{self.expr(a)}<{self.listed(b)}>" if b else f"{self.expr(a)}[]"
        if op == f.LITERAL:
            return f"'{names[a]}" + (f"<{self.listed(b)}>" if b else "")
        if op == f.PASSED:
            return f"passed({self.expr(a)}, {b >> 4}.{b & 15})"
        if op == f.SYMBOL:
            return f"#{self.facts.symbols[a].qualified}"
        if op in (f.CLOSURE, f.IMPORT):
            return "λ" if op == f.CLOSURE else f"import {a}"
        if op in (f.SELF, f.CLASS, f.SUPER):
            return OPS[op]
        if op == f.WITHIN:
            return self.expr(b)
        if op == f.ELEM:
            return f"elem({self.expr(a)}{f', {b}' if b else ''})"
        if op == f.UNION:
            return f"{self.expr(a)} or {self.expr(b)}"
        return f"{OPS[op]} {self.expr(a) if op != f.TUPLE else self.listed(a)}"

    def listed(self, number: int) -> str:
        """A CONS list; any other expression as itself."""
        found = []
        while number and self._exprs[3 * number] == f.CONS:
            _, head, number = self._exprs[3 * number : 3 * number + 3]
            found.append(self.expr(head))
        return ", ".join([*found, *([self.expr(number)] if number else [])])

    def where(self, scope: int) -> str:
        symbol = self._scopes[scope][2]
        return "λ" if symbol < 0 else self.facts.symbols[symbol].qualified or "module"

    def symbols(self) -> list[str]:
        """All but the module."""
        found = []
        for symbol in self.facts.symbols[1:]:
            flags = [word for flag, word in FLAGS.items() if symbol.flags & flag]
            kind = f.KINDS[symbol.kind]
            type_ = f" : {self.expr(symbol.type)}" if symbol.type else ""
            value = f" = {self.expr(symbol.value)}" if symbol.value else ""
            found.append(" ".join([kind, symbol.qualified, *flags]) + type_ + value)
        return found

    def bindings(self) -> list[str]:
        """What is bound to expressions."""
        found = []
        for scope, name, what, value, _, _ in f.each(self.facts.bindings, f.BINDING_WIDTH):
            if what not in (f.TO_SYMBOL, f.TO_IMPORT, f.OUTER):
                found.append(f"{self.where(scope)} {self.facts.names[name]} {WHAT[what]} = {self.expr(value)}")
        return found

    def sites(self) -> list[str]:
        """In the order of the text."""
        found = []
        for kind, expr, _, line, character, length in sorted(
            f.each(self.facts.sites, f.SITE_WIDTH), key=lambda row: row[3:]
        ):
            raw = self._lines[line].encode("utf-16-le")[2 * character : 2 * (character + length)]
            found.append(f"{f.SITE_KINDS[kind]} {raw.decode('utf-16-le')} = {self.expr(expr)}")
        return found

    def imports(self) -> list[str]:
        return [f"{one.module}:{one.name} as {one.alias} {one.flags}" for one in self.facts.imports]


def places(told: Told) -> list[tuple[int, int, int]]:
    """Line, character and length of every site: no two of them may be the same."""
    return [tuple(row[3:]) for row in f.each(told.facts.sites, f.SITE_WIDTH)]  # type: ignore[misc]


class Case(NamedTuple):
    """What a text is to be told as."""

    name: str
    part: str
    """``symbols``, ``bindings``, ``sites`` or ``imports``."""
    source: str
    expected: list[str]

    def check(self, language: str) -> None:
        told = Told(language, self.source)
        assert getattr(told, self.part)() == self.expected
        at = places(told)
        assert len(at) == len(set(at)), "a name is two sites"
