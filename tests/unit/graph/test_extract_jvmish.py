"""Java, C# and Kotlin: texts that no compiler would take are bounded, and equal texts have equal facts."""

from __future__ import annotations

import random

import pytest
from ombud.graph.extract import extract
from ombud.graph.packed import encode

from tests.unit.graph.told import Told

GOOD = {
    "java": "class A<T> extends B { int x; void go(D d) { for (var e : d.all()) e.run(x -> x.id()); new C() { }; } }",
    "csharp": "class A<T> : B { int X; void Go(D d) { foreach (var e in d.All()) e.Run(x => x.I); new C { P = 2 }; } }",
    "kotlin": "class A<T>(val x: Int) : B() {\nfun go(d: D) { for (e in d.all()) e.run { it.i() }\nobject : C { } }\n}",
}
DEEP = {
    "java": [
        "class A { void f() { a" + ".b()" * 10_000 + "; } }",
        "class A { int x = " + "+".join(["a"] * 10_000) + "; }",
        "class A { void f() { " + "g(" * 2_000 + ")" * 2_000 + "; } }",
        "class A { void f() { x = " + "y -> " * 1_000 + "z; } }",
        "class A { " + "L<" * 1_000 + "T" + ">" * 1_000 + " x; }",
        "class A { " * 1_000,
        "{" * 50_000,
    ],
    "csharp": [
        "class A { void F() { a" + ".B()" * 10_000 + "; } }",
        "class A { void F() { a" + "?.B" * 3_000 + "; } }",
        "class A { int x = " + "+".join(["a"] * 10_000) + "; }",
        "class A { void F() { " + "G(" * 2_000 + ")" * 2_000 + "; } }",
        "class A { " + "L<" * 1_000 + "T" + ">" * 1_000 + " x; }",
        "namespace A { " * 1_000,
    ],
    "kotlin": [
        "fun f() { a" + ".b()" * 10_000 + " }",
        "val x = " + "+".join(["a"] * 10_000),
        "fun f() { " + "g(" * 2_000 + ")" * 2_000 + " }",
        "val x = " + "if (a) b else " * 2_000 + "c",
        "fun f() { " + "g { " * 300 + "}" * 300 + " }",
        "class A { " * 1_000,
    ],
}


@pytest.mark.parametrize("language", GOOD)
def test_nothing_and_a_byte_order_mark(language: str) -> None:
    assert Told(language, "").symbols() == []
    plain, marked = Told(language, GOOD[language]), Told(language, "\ufeff" + GOOD[language])
    assert marked.symbols() == plain.symbols()
    assert plain.sites()


@pytest.mark.parametrize(("language", "number"), [(name, n) for name, texts in DEEP.items() for n in range(len(texts))])
def test_deep_texts_end(language: str, number: int) -> None:
    facts = extract(language, DEEP[language][number].encode())
    assert len(encode(facts)) < 4_000_000


@pytest.mark.parametrize("language", GOOD)
def test_names_outside_of_ascii_are_measured_in_utf_16(language: str) -> None:
    # The told text of a site is cut out by its line, character and length: it is the name only if these are right.
    source = GOOD[language].replace("run", "läuft").replace("Run", "Läuft").replace("d.", '"𝄞".x(d).')
    told = [line.split(" ")[1] for line in Told(language, source).sites()]
    assert ("Läuft" if language == "csharp" else "läuft") in told


@pytest.mark.parametrize("language", GOOD)
def test_damaged_texts_have_equal_facts_each_time(language: str) -> None:
    rng = random.Random(5)
    for _ in range(60):
        text = bytearray(GOOD[language].encode() * 3)
        for _ in range(rng.randrange(1, 20)):
            at = rng.randrange(len(text))
            if rng.random() < 0.5:
                text[at] = rng.randrange(256)
            else:
                del text[at : at + rng.randrange(1, 12)]
        assert encode(extract(language, bytes(text))) == encode(extract(language, bytes(text))), bytes(text)
