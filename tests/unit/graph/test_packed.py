"""Facts as they are sent and stored."""

from __future__ import annotations

import pytest
from ombud.graph.extract import extract
from ombud.graph.facts import EXPORTED, FIELD, Export, Facts, Import, Symbol
from ombud.graph.packed import SIGNED, Told, decode, encode, joined, parts

TEXT = b'''
"""A module."""
from .a import b as c
class Shop(Base[int]):
    """Sells."""
    total: int = 0
    @property
    def price(self, *most, \xe2\x82\xac=1): return self.total
    def price(self): return c(self)
def f(): ...
def f(): ...
'''


def _odd(*names: str) -> Facts:
    """Symbols with these names, each within the next, with numbers that take all their bits."""
    place = ((2**31 - 1, 0, 2**31 - 1, 1), (0, 0, 2**20))
    symbols = [Symbol(names[0], "", 0, 0, 0, 0, *place)]
    for at, name in enumerate(names[1:], 1):
        parent = min(at + 1, len(names) - 1)
        told = (EXPORTED, f"{name}\0{name}", "\0" if at % 2 else name, 1, 2, 3, [1], [], [-1, 2**31 - 1], [name])
        symbols.append(Symbol(name, f"odd {at}", FIELD, parent, -1, -(2**31), *place, *told, (0, -1), [name, ""]))
    imported = [Import("m", "\0", "", 2, 1, 3, (1, 2, 3))]
    return Facts("go", "p", list(names), b"\1\2\3\4" * 5, symbols, b"", b"", imported, [Export("x")], b"", ["\0"], 3, 1)


FACTS = {
    "python": extract("python", TEXT),
    "nothing": extract("python", b""),
    "no symbols": Facts("c", "", [], b"", [], b"", b"", [], [], b"\0" * 48),
    "names with zeros": _odd("", "a\0b", "\0", ""),
    "names without": _odd("x", "", "é", "x"),
}


@pytest.mark.parametrize("name", FACTS)
def test_facts_come_back_as_they_were(name: str) -> None:
    facts = FACTS[name]
    assert decode(encode(facts)) == facts


@pytest.mark.parametrize("name", FACTS)
def test_resolvers_get_all_but_what_is_only_told(name: str) -> None:
    facts, lean = FACTS[name], joined(*parts(encode(FACTS[name])))
    for one in facts.symbols:
        one.range, one.doc = (0, 0, 0, 0), ""
        one.signature = one.signature if facts.language in SIGNED else ""
    for one in lean.symbols:
        one.range = (0, 0, 0, 0)
    assert lean == facts


@pytest.mark.parametrize("name", FACTS)
def test_what_is_told_needs_the_first_part_alone(name: str) -> None:
    facts = decode(encode(FACTS[name]))
    told = Told(parts(encode(facts))[0])
    symbols = facts.symbols
    assert told.qualified == [one.qualified for one in symbols]
    assert [told.span(at) for at in range(len(told))] == [(*one.range, *one.at) for one in symbols]
    assert list(zip(told.signatures, told.docs, strict=True)) == [(one.signature, one.doc) for one in symbols]
    assert (told.package, told.lines, told.sites) == (facts.package, facts.lines, len(facts.sites) // 24)


@pytest.mark.parametrize("cut", [0, 3, 4, 9, -1])
def test_what_is_no_blob_is_refused(cut: int) -> None:
    with pytest.raises(ValueError, match="These are no facts"):
        decode(encode(FACTS["python"])[:cut])
