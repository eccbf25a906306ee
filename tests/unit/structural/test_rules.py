"""Files of rules: what is read of them, what is refused with a sentence, and what of ast-grep's can be said."""

from __future__ import annotations

from typing import Any

import pytest
from ombud.structural.query import Condition, Query
from ombud.structural.rulefile import FILE_LIMIT, Unreadable, mappings
from ombud.structural.rules import Clause, Relation, Rule, Rules

OURS = """\
id: no-print
language: python
pattern: print($$$ARGS)
where:
  ARGS: {not: {regex: "^debug"}}
notInside: "def main($$$): $$$"
message: Use the log for $$$ARGS, not print.
severity: error
fix: log.info($$$ARGS)
note: See the handbook.
url: https://example.org/log
files: ["src/**/*.py"]
ignores: src/vendor/**
"""


def read(text: str, name: str = "rules/a.yml") -> Rules:
    book = Rules()
    book.read(name, text.encode())
    return book


def only(text: str, name: str = "rules/a.yml") -> Rule:
    book = read(text, name)
    assert not book.problems
    (rule,) = book.rules.values()
    return rule


def refused(text: str, name: str = "rules/a.yml") -> str:
    book = read(text, name)
    assert not book.rules
    (problem,) = book.problems
    assert problem.path == name
    return problem.message


def test_a_rule_has_all_its_parts() -> None:
    rule = only(OURS)
    assert rule == Rule(
        id="no-print",
        path="rules/a.yml",
        clauses=(
            Clause(
                Query(
                    pattern="print($$$ARGS)",
                    where={"ARGS": Condition(not_=Condition(regex="^debug"))},
                    not_inside="def main($$$): $$$",
                )
            ),
        ),
        message="Use the log for $$$ARGS, not print.",
        severity="error",
        languages=("python",),
        fix="log.info($$$ARGS)",
        note="See the handbook.",
        url="https://example.org/log",
        files=("src/**/*.py",),
        ignores=("src/vendor/**",),
    )


def test_toml_says_the_same() -> None:
    text = """\
id = "no-print"
languages = ["python"]
any = ["print($$$)", "pprint($$$)"]
severity = "info"
"""
    rule = only(text, "rules/a.toml")
    assert (rule.id, rule.severity, rule.languages) == ("no-print", "information", ("python",))
    assert rule.clauses == (Clause(Query(any=["print($$$)", "pprint($$$)"])),)


@pytest.mark.parametrize(
    ("name", "text", "ids"),
    [
        ("one.yml", "pattern: a", ["one"]),
        ("two.yaml", "- pattern: a\n- pattern: b", ["two-1", "two-2"]),
        ("docs.yml", "id: a\npattern: a\n---\nid: b\npattern: b\n---\n", ["a", "b"]),
        ("table.yml", "rules:\n- {id: x, pattern: a}\n- {id: y, pattern: b}", ["x", "y"]),
        ("table.toml", '[[rules]]\nid = "x"\npattern = "a"\n[[rules]]\npattern = "b"', ["x", "table-2"]),
        ("empty.yml", "# nothing\n", []),
        ("mark.yml", "\ufeffpattern: a", ["mark"]),
        ("off.yml", "pattern: a\nseverity: off", []),
    ],
)
def test_a_file_may_hold_several(name: str, text: str, ids: list[str]) -> None:
    book = read(text, name)
    assert not book.problems
    assert list(book.rules) == ids


@pytest.mark.parametrize("word", ["yes", "no", "off", "1", "0x10", "1:30", "2001-01-01", "true", "1_000", "~x"])
def test_words_of_code_stay_texts(word: str) -> None:
    """What YAML 1.1 makes a number, a date or a truth of is a pattern here."""
    assert only(f"pattern: {word}").clauses[0].query.pattern == word


def test_a_language_stands_for_its_other_name() -> None:
    assert only("pattern: a\nlanguage: JavaScript").languages == ("javascript", "javascriptreact")
    assert only("pattern: a\nlanguages: [Tsx, ts, Bash, golang, C++]").languages == (
        *("typescriptreact", "typescript", "shellscript", "go", "cpp"),
    )
    assert only("pattern: a").languages == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id: a", "needs a pattern"),
        ("pattern: [a, b]", "query cannot be read"),
        ("pattern: a\npatern: b", "Did you mean 'pattern'"),
        ("pattern: a\nlanguage: klingon", "no grammar for the language 'klingon'"),
        ("pattern: a\nlanguage: pyton", "Did you mean python"),
        ("pattern: a\nlanguage: a\nlanguages: [b]", "one of them is enough"),
        ("pattern: a\nseverity: fatal", "none of error, warning, information, hint"),
        ("pattern: a\nid: two words", "one word"),
        ("pattern: a\nid: [x]", "'id' must be a text"),
        ("pattern: a\nmessage: {a: b}", "'message' must be a text"),
        ("pattern: a\nwhere: {X: {regx: a}}", "query cannot be read"),
        ("pattern: a\nwhere: {X: {type: int}}", "asked of a language server"),
        ("pattern: a\nfiles: /etc/*", "relative to the workspace"),
        ("pattern: a\nfiles: [../x]", "relative to the workspace"),
        ("pattern: a\nignores: {a: b}", "text or a list of texts"),
        (f"pattern: {'x' * 10_001}", "longer than 10,000"),
        ("just words", "A rule is a table"),
        ("- a\n- b", "A rule is a table"),
        ("1: a", "A rule has no key '1'"),
        ("rules: []\nother: 1", "which is no rule's"),
        ("a: [", "not valid YAML, line 1"),
        ("pattern: @a", "quotes"),
        ("pattern: a\npattern: b", "line 2: the key 'pattern' stands twice"),
        ("a: *nowhere", "undefined alias"),
        ("a: !!python/object/apply:os.system [x]", "could not determine a constructor"),
        ("pattern: a\n<<: {x: y}", "no key '<<'"),
        ("? [a]\n: b", "a key must be a word"),
        ("[" * 200, "nested too deeply"),
        ("a: &a [*a]", "nested too deeply"),
        ("a: [" + "x, " * 20_001 + "x]", "more than 20,000 values"),
        ("\x00", "not valid YAML"),
    ],
)
def test_what_is_wrong_is_a_sentence(text: str, words: str) -> None:
    assert words in refused(text)


def test_aliases_multiply_nothing() -> None:
    """A laugh of a few bytes that stands for billions of values."""
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"{two}: &{two} [{', '.join([f'*{one}'] * 10)}]" for one, two in zip("abcdefgh", "bcdefghi", strict=True)]
    assert "more than 20,000 values" in refused("\n".join(lines))


def test_bytes_that_are_no_text_and_files_that_are_too_large() -> None:
    with pytest.raises(Unreadable, match="UTF-8"):
        mappings("a.yml", b"\xff\xfe")
    with pytest.raises(Unreadable, match="larger than"):
        mappings("a.yml", b"#" * (FILE_LIMIT + 1))
    with pytest.raises(Unreadable, match="TOML"):
        mappings("a.toml", b"a = ")


def test_one_bad_rule_leaves_the_others() -> None:
    book = read("id: a\npattern: a\n---\nid: b\n---\nid: c\npattern: c\n")
    assert list(book.rules) == ["a", "c"]
    assert [(one.rule, "needs a pattern" in one.message) for one in book.problems] == [("b", True)]


def test_an_id_counts_once() -> None:
    book = read("id: a\npattern: a\n---\nid: a\npattern: b\n")
    book.read("rules/z.yml", b"id: a\npattern: c\n")
    assert book.rules["a"].clauses[0].query.pattern == "a"
    assert ["twice in this file" in one.message or "also in rules/a.yml" in one.message for one in book.problems] == [
        True,
        True,
    ]


def test_a_message_speaks_of_what_was_captured() -> None:
    rule = Rule("r", "r.yml", (), "Use $NEW, not $OLD or $$$REST; $5 and $_ cost $OLDER.")
    said = rule.speaks({"OLD": "foo(\n  1)", "REST": "a, b"})
    assert said == "Use $NEW, not foo( 1) or a, b; $5 and $_ cost $OLDER."
    assert len(rule.speaks({"OLD": "x" * 5000})) < 400


# -- ast-grep's ----------------------------------------------------------------------------------------------------


def foreign(rule: str, more: str = "") -> str:
    return f"id: r\nlanguage: TypeScript\n{more}rule:\n" + "".join(f"  {line}\n" for line in rule.splitlines())


def clauses(rule: str, more: str = "") -> tuple[Clause, ...]:
    return only(foreign(rule, more)).clauses


A = Query(pattern="a($X)")


@pytest.mark.parametrize(
    ("rule", "more", "expected"),
    [
        ("pattern: a($X)", "", [Clause(A)]),
        ("kind: call_expression", "", [Clause(Query(kind="call_expression"))]),
        ("pattern: a($X)\nkind: k", "", [Clause(Query(pattern="a($X)", kind="k"))]),
        ("pattern: {context: a($X)}", "", [Clause(A)]),
        ("pattern: a($X)\nregex: ^a", "", [Clause(A, (Condition(regex="^a"),))]),
        (
            "any: [{pattern: a($X)}, {pattern: b}]",
            "",
            [Clause(A), Clause(Query(pattern="b"))],
        ),
        (
            "all:\n- any: [{pattern: a($X)}, {kind: k}]\n- not: {regex: z}",
            "",
            [
                Clause(A, (Condition(not_=Condition(regex="z")),)),
                Clause(Query(kind="k"), (Condition(not_=Condition(regex="z")),)),
            ],
        ),
        ("pattern: a($X)\ninside: {pattern: b, stopBy: end}", "", [Clause(Query(pattern="a($X)", inside=["b"]))]),
        ("pattern: a($X)\nhas: {pattern: b, stopBy: end}", "", [Clause(Query(pattern="a($X)", has=["b"]))]),
        (
            "pattern: a($X)\nnot: {inside: {pattern: b, stopBy: end}}",
            "",
            [Clause(Query(pattern="a($X)", not_inside=["b"]))],
        ),
        (
            "pattern: a($X)\ninside: {kind: k, stopBy: end}",
            "",
            [Clause(A, (), (Relation("inside", True, (Clause(Query(kind="k")),)),))],
        ),
        (
            "pattern: a($X)\nnot: {has: {any: [{kind: k}, {kind: l}], stopBy: end}}",
            "",
            [Clause(A, (), (Relation("has", False, (Clause(Query(kind="k")), Clause(Query(kind="l")))),))],
        ),
        ("pattern: a($X)\nnot: {pattern: b}", "", [Clause(A, (Condition(not_=Condition(pattern="b")),))]),
        (
            "pattern: a($X)\nnot: {any: [{pattern: b}, {kind: k}]}",
            "",
            [Clause(A, (Condition(not_=Condition(pattern="b")), Condition(not_=Condition(kind="k"))))],
        ),
        ("all: [{pattern: a($X)}, {pattern: b}]", "", [Clause(A, (Condition(pattern="b"),))]),
        ("not: {not: {pattern: a($X)}}", "", [Clause(A)]),
        (
            "pattern: a($X)",
            "constraints: {X: {regex: ^b, kind: k, not: {pattern: c}}}\n",
            [
                Clause(
                    Query(
                        pattern="a($X)",
                        where={"X": Condition(regex="^b", kind="k", not_=Condition(pattern="c"))},
                    )
                )
            ],
        ),
        (
            "pattern: a($X)",
            "constraints: {X: {any: [{kind: k}, {kind: l}]}}\n",
            [Clause(Query(pattern="a($X)", where={"X": Condition(kind=["k", "l"])}))],
        ),
        (
            "pattern: a($X)",
            "constraints: {X: {any: [{regex: k}, {regex: l|m}]}}\n",
            [Clause(Query(pattern="a($X)", where={"X": Condition(regex="(?:k)|(?:l|m)")}))],
        ),
    ],
)
def test_what_ast_grep_says_can_be_said_here(rule: str, more: str, expected: list[Clause]) -> None:
    assert list(clauses(rule, more)) == expected


def test_what_else_an_ast_grep_rule_has() -> None:
    rule = only(foreign("pattern: a($X)", "message: No $X\nseverity: info\nnote: n\nfix: b($X)\nfiles: ['*.ts']\n"))
    assert (rule.message, rule.severity, rule.note, rule.fix, rule.files) == (
        *("No $X", "information", "n", "b($X)", ("*.ts",)),
    )
    assert rule.marks == ("ombud-ignore", "ast-grep-ignore")
    assert only(foreign("pattern: a")).severity == "hint"
    assert only(foreign("pattern: a", "fix: ''\n")).fix == ""
    assert only(foreign("pattern: a", "fix: {template: b}\n")).fix == "b"
    assert not read(foreign("pattern: a", "severity: off\n")).rules


@pytest.mark.parametrize(
    ("rule", "more", "words"),
    [
        ("pattern: a\ninside: {kind: k}", "", "stopBy: end"),
        ("pattern: a\nhas: {pattern: b, stopBy: neighbor}", "", "direct child alone"),
        ("pattern: a\nhas: {pattern: b, stopBy: {kind: k}}", "", "ends at another rule"),
        ("pattern: a\nhas: {pattern: b, stopBy: end, field: f}", "", "field"),
        ("pattern: a\nfollows: {pattern: b}", "", "“follows” has no equivalent"),
        ("pattern: a\nprecedes: {pattern: b}", "", "“precedes” has no equivalent"),
        ("pattern: a\nnthChild: 1", "", "“nthChild” has no equivalent"),
        ("matches: other", "", "“matches” has no equivalent"),
        ("pattern: a\nunheard: b", "", "not a key of a rule"),
        ("pattern: {context: 'class A { $F }', selector: field}", "", "selector"),
        ("pattern: {context: a, strictness: cst}", "", "strictness"),
        ("pattern: a($$OP)", "", "$$NAME"),
        ("kind: a > b", "", "no single node kind"),
        ("regex: a", "", "nothing to begin with"),
        ("not: {pattern: a}", "", "nothing to begin with"),
        ("pattern: a\nregex: '\\p{Lu}'", "", "means something else"),
        ("pattern: a\nregex: '[[:alpha:]]'", "", "means something else"),
        ("pattern: a\nregex: '('", "", "cannot be read"),
        ("any: []", "", "takes a list"),
        ("any: {pattern: a}", "", "takes a list"),
        ("{}", "", "Each part of a rule"),
        ("pattern: a", "constraints: {X: {regex: b}}\n", "none of its patterns binds"),
        ("pattern: a($X)", "constraints: {X: {inside: {kind: k}}}\n", "“inside”, which has no equivalent"),
        ("pattern: a", "unheard: b\n", "no key 'unheard'"),
        ("all:\n" + "- any: [{kind: a}, {kind: b}]\n" * 6, "", "more than 50 alternatives"),
    ],
)
def test_what_cannot_be_said_is_left_out_with_a_sentence(rule: str, more: str, words: str) -> None:
    assert words in refused(foreign(rule, more))


def test_what_of_a_usable_rule_does_not_count_is_said() -> None:
    for more, words in (
        ("fix: {template: a, expandEnd: {regex: ','}}\n", "takes text around the match along"),
        ("transform: {NEW: {convert: {source: $X}}}\nfix: b($NEW)\n", "transform"),
        ("fix: [{template: b}, {template: c}]\n", "only the first one"),
        ("labels: {X: {style: primary}}\n", "labels"),
    ):
        book = read(foreign("pattern: a($X)", more))
        assert list(book.rules) == ["r"]
        assert [words in one.message for one in book.problems] == [True]


def test_a_foreign_rule_names_its_language() -> None:
    assert "names its language" in refused("id: r\nrule: {pattern: a}")
    assert "must be a table" in refused("id: r\nlanguage: ts\nrule: a")


def test_rules_have_an_end() -> None:
    book = Rules()
    tables: list[dict[str, Any]] = [{"id": f"r{number}", "pattern": "a"} for number in range(1002)]
    for table in tables:
        book.add("a.yml", table, "x")
    assert len(book.rules) == 1000
    assert ["more than 1000 rules" in one.message for one in book.problems] == [True]
