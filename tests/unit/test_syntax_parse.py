"""Which edits break the syntax, and which only look like it: the table, the process, and what would bring it down."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
from ombud.process.guardian import Guardian
from ombud.syntax import apart
from ombud.syntax.apart import Texts, faults
from ombud.syntax.languages import is_known, language_of
from ombud.syntax.parse import GRAMMARS, Fault, fault, soften

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"

NESTED = """const A = () => (
  <ul className={`a ${b}`}>
    {items.map((one) => (
      <li key={one.id} onClick={() => { pick(one); }}>
        {one.open ? <b>{one.name}</b> : <i/>}
      </li>
    ))}
  </ul>
);
"""
FUNCTION = "def f():\n    x = 1\n    return x\n"

# Language, the text, a part of it, what stands there afterwards, and the line to tell: where a parser stumbles.
BROKEN = [
    ("typescriptreact", NESTED, "      </li>\n", "", 6),
    ("typescriptreact", NESTED, "<b>{one.name}</b>", "<b>{one.name}", 5),
    ("typescriptreact", NESTED, "<i/>}", "<i/>", 6),
    ("javascriptreact", NESTED, "pick(one); }}", "pick(one); }", 5),
    ("javascriptreact", NESTED, "`a ${b}`", "`a ${b`", 2),
    ("typescript", "const a = `x ${b} y`;\nconst c = 1;\n", "${b}", "${b", 1),
    ("typescript", "function f() {\n  g();\n}\nfunction h() {}\n", "}\nf", "f", 3),
    ("python", FUNCTION, "    return", "  return", 3),
    ("python", FUNCTION, "    return", "      return", 3),
    ("python", FUNCTION, "    x = 1", "x = 1", 2),
    ("python", FUNCTION, "    return", "\treturn", 3),
    ("python", FUNCTION, "x = 1", "x = (1", 2),
    ("python", FUNCTION, "x = 1", 'x = f"{1"', 2),
    ("python", FUNCTION, "x = 1", "x[1 +] = 1", 2),
    ("go", "package a\n\nfunc f() {\n\tg()\n}\n", "g()", "g(", 4),
    ("rust", "fn f() {\n    g(1);\n}\n", "1)", "1", 2),
    ("c", "int f(void) {\n  return g(1);\n}\n", "g(1)", "g(1", 2),
    ("cpp", "class A {\n  int f() { return 1; }\n};\n", "1; }", "1;", 2),
    ("java", "class A {\n  void f() { g(1); }\n}\n", "(1)", "(1", 2),
    ("csharp", "class A {\n  void F() { G(1); }\n}\n", "(1)", "(1", 2),
    ("ruby", "def f\n  g(1)\nend\n", "g(1)", "g(1", 2),
    ("php", "<?php\nf(1);\n", "(1)", "(1", 2),
    ("lua", "local x = {\n  1,\n}\n", "1,", "1, =", 2),
    ("shellscript", "if a; then\n  b\nfi\n", "then", "", 1),
    ("json", '{\n  "a": [1]\n}\n', "[1]", "[1", 2),
    ("toml", "a = 1\nb = 2\n", "2", "", 2),
    ("yaml", "a:\n  - [1, 2]\n", "]", "", 2),
]


@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(("language", "old", "part", "instead", "line"), BROKEN)
def test_an_edit_that_breaks_the_syntax_is_told_with_its_line(
    language: str, old: str, part: str, instead: str, line: int, eol: str
) -> None:
    assert old.count(part) == 1
    new = old.replace(part, instead)
    found = fault(language, old.replace("\n", eol), language, new.replace("\n", eol))
    assert found is not None and found.line == line, found
    assert fault(language, new, language, old) is None, "what was broken may be mended"
    assert fault(language, new, language, new + "\n") is None, "and may be edited as long as it is broken"


FINE = [
    ("typescript", "let x: import('./a').B;\n", "import('./a').B", 'Promise<import("./a").B<string>[]>'),
    ("typescript", "interface A<T> {}\n", "<T>", "<in out T, out U>"),
    ("typescriptreact", 'export * from "./a";\n', "export *", "export type *"),
    ("python", "class A[T]:\n    x = 1\n", "[T]", "[T: list[int] = list[int], *U]"),
    ("python", "X = int\n", "X =", "type X[T] ="),
    ("python", "x = 1\n", "1", 't"{y}"'),
    ("python", "try:\n    a\nexcept A:\n    b\n", "except A", "except A, B"),
    ("rust", 'extern "C" {\n    fn f();\n}\n', "fn", "safe fn"),
    ("cpp", "int a_class;\n", "a_class", "class"),  # A header of C.
    ("go", "package a\n\nvar x = 1\n", "x", "ä"),
    ("yaml", "a: 1\n", "1", '"{{ b }}"'),
    ("vue", "<a></a>\n", "</a>", "<"),
    ("kotlin", "val x = 1\n", "1", "((("),
    ("no such language", "a\n", "a", "(((((("),
]


@pytest.mark.parametrize(("language", "old", "part", "instead"), FINE)
def test_what_is_right_or_cannot_be_judged_passes(language: str, old: str, part: str, instead: str) -> None:
    assert part in old
    assert fault(language, old, language, old.replace(part, instead)) is None


def test_what_a_renamed_file_becomes_counts_as_well() -> None:
    cast = "const a = <B>c;\nconst d = 1;\n"
    assert fault("typescript", cast, "typescriptreact", cast + "f();\n") is None
    assert fault("javascript", "let a = 1;\n", "typescript", "let a: number = 1;\n") is None
    assert fault("typescript", cast, "typescriptreact", cast + "f(;\n") == Fault(3)
    assert fault("javascript", "let a = 1;\n", "python", "let a = (1;\n") is not None


def test_python_alone_does_not_say_what_is_wrong_since_it_may_be_older_than_the_text() -> None:
    """Of an error that is not one of indentation the grammar must say the same."""
    newest = "match x:\n    case 1:\n        type Y = int\n"
    assert fault("python", "x = 1\n", "python", newest) is None
    with pytest.raises(SyntaxError):
        ast.parse("f(a=1, 2)\n")
    assert fault("python", "f(1, 2)\n", "python", "f(a=1, 2)\n") is None


def test_softening_keeps_every_line_and_column() -> None:
    text = 'a(import(\n"./x"\n).Y<Z>);\ninterface A<in\n out T> {}\nexport type\n* from "y";\n'
    soft = soften("typescript", text)
    assert soft != text
    assert [len(line) for line in soft.split("\n")] == [len(line) for line in text.split("\n")]


def test_the_languages_are_those_of_the_table() -> None:
    assert [one for one in GRAMMARS if not is_known(one)] == []


KEYWORDS = {
    *("continue", "default", "extends", "finally", "function", "implements", "include", "interface", "namespace"),
    *("package", "private", "protected", "readonly", "template", "typedef", "typename", "decltype", "noexcept"),
    *("constexpr", "constructor", "abstract", "instanceof", "required", "override", "unsigned", "size_t", "virtual"),
    *("explicit", "operator", "mutable", "volatile", "register", "continue", "synchronized", "transient"),
}


def sources() -> list[Path]:
    found = [path for path in sorted(FIXTURES.rglob("*")) if path.is_file() and language_of(path) in GRAMMARS]
    assert len(found) > 40
    return found


def test_no_name_that_is_changed_into_another_is_taken_for_an_error() -> None:
    """In the fixtures, names that are no keyword anywhere: each has more than six letters or an underline."""
    refused, clean, tried = [], set(), 0
    for path in sources():
        language = language_of(path) or ""
        text = path.read_text(encoding="utf-8")
        for name in sorted({*re.findall(r"(?<![#\w])(?=\w*_|\w{7})[A-Za-z]\w+", text)} - KEYWORDS)[:12]:
            changed = re.sub(rf"\b{name}\b", "another_name", text)
            tried += 1
            if fault(language, text, language, changed) is not None:
                refused.append((path.name, name))
            elif fault(language, text, language, "([{" + text) is not None:
                clean.add(path)
    assert refused == []
    assert tried > 100 and len(clean) > 30, "most of them were judged at all"


# -- apart


@pytest.fixture
async def guardian() -> AsyncIterator[Guardian]:
    one = Guardian()
    yield one
    left = {child.pid for child in psutil.Process().children(recursive=True)} - {one.pid}
    await one.close()
    assert not left, "a parser was left behind"


def python(old: str, new: str) -> Texts:
    return Texts("python", old, "python", new)


GOOD, BAD = python("x = 1\n", "x = 2\n"), python("x = 1\n", "x = (\n")


async def test_texts_are_parsed_in_another_process_in_their_order(guardian: Guardian) -> None:
    large = "# ä𝄞\n" * 200_000
    texts = [BAD, GOOD, python(large, large + "x = 'ä'\n"), python(large, large + "x = (\n"), BAD]
    found = await faults(texts, guardian)
    assert [one.line if isinstance(one, Fault) else one for one in found] == [1, None, None, 200_001, 1]


async def test_what_needs_no_parser_starts_no_process(guardian: Guardian, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    assert await faults([Texts("vue", "<a>", "vue", "<"), python("x\n", "x\n")], guardian) == [None, None]
    assert await faults([BAD], guardian) == ["its parser failed"]


async def test_a_text_that_is_too_large_is_not_parsed(guardian: Guardian, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "LARGEST", 1_000_000)
    found = await faults([python("x = 1\n", "x = 1 \n" * 200_000), BAD], guardian)
    assert found == ["more than 1 million characters", Fault(1, "'(' was never closed")]


async def test_a_text_that_crashes_its_parser_takes_no_other_with_it(guardian: Guardian) -> None:
    """The scanner of YAML's grammar keeps indentation in a buffer that is too small for this."""
    deep = "\n".join(" " * depth + "if a:" for depth in range(2000))
    texts = [BAD, Texts("yaml", "a: 1\n", "yaml", deep), BAD, GOOD]
    found = await faults(texts, guardian)
    assert found == [Fault(1, "'(' was never closed"), "its parser failed", Fault(1, "'(' was never closed"), None]


async def test_a_text_that_takes_for_ever_is_given_up(guardian: Guardian, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "TEXT_SECONDS", 4.0)
    slow = Texts("lua", "x = 1\n", "lua", "x = 1\n" + "<div>" * 790_000)
    assert await faults([slow, BAD], guardian) == ["its parser takes too long", Fault(1, "'(' was never closed")]


async def test_all_of_them_have_one_time_limit(guardian: Guardian, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "ALL_SECONDS", 1.0)
    late = "there was no time left for it"
    slow = Texts("lua", "x = 1\n", "lua", "x = 1\n" + "<div>" * 790_000)
    assert await faults([slow, BAD, python("x\n", "x\n")], guardian) == [late, late, None]


@pytest.mark.parametrize(
    "text", ["(" * 500_000, "[" * 99_999 + "]" * 99_999, "-" * 500_000 + "1", "not " * 99_999 + "x"]
)
@pytest.mark.parametrize("language", ["python", "typescriptreact", "json"])
async def test_deep_nesting_is_survived(guardian: Guardian, language: str, text: str) -> None:
    old = {"python": "x = 1\n", "typescriptreact": "f();\n", "json": "{}\n"}[language]
    found = await faults([Texts(language, old, language, text), BAD], guardian)
    assert found[1] == Fault(1, "'(' was never closed")
