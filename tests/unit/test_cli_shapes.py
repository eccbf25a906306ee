"""``ombud grep``, ``rewrite`` and ``scan``: from words to params, and from matches to lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ombud.faces.cli import grep, scan, shapes
from ombud.faces.cli.context import Usage
from ombud.faces.cli.grep import Page, notes, once
from ombud.faces.cli.help import parser_of
from ombud.faces.cli.options import intermixed
from ombud.faces.cli.terminal import Screen
from ombud.syntax.source import DEADLY

PLAIN, COLOURS = Screen(100), Screen(100, colour=True)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["X.regex=^a=b$"], {"X": {"regex": "^a=b$"}}),
        (["$X.kind=call"], {"X": {"kind": "call"}}),
        (["$$$ARGS.kind=call,identifier"], {"ARGS": {"kind": ["call", "identifier"]}}),
        (["X.in=a,b"], {"X": {"in": ["a", "b"]}}),
        (["X.in=a"], {"X": {"in": ["a"]}}),
        (["X=foo"], {"X": {"equals": "foo"}}),
        (["X.not=foo($Y)"], {"X": {"not": "foo($Y)"}}),
        (["X.not.regex=a", "X.not.kind=b"], {"X": {"not": {"regex": "a", "kind": "b"}}}),
        (["X.not.not.equals=a"], {"X": {"not": {"not": {"equals": "a"}}}}),
        (["X.regex=a", "Y1_Z.type=int"], {"X": {"regex": "a"}, "Y1_Z": {"type": "int"}}),
        (["X.pattern=a\nb"], {"X": {"pattern": "a\nb"}}),
        ([], {}),
    ],
)
def test_conditions_are_read(words: list[str], expected: dict[str, Any]) -> None:
    assert shapes.where(words, "grep") == expected


@pytest.mark.parametrize(
    "words",
    [
        ["X"],
        ["x.regex=a"],
        ["X.regx=a"],
        ["X.regex.not=a"],
        ["X.regex=a", "X.regex=b"],
        ["X.not=a", "X.not.kind=b"],
        ["=a"],
    ],
)
def test_conditions_that_cannot_be_read(words: list[str]) -> None:
    with pytest.raises(Usage, match="--where"):
        shapes.where(words, "grep")


def params(*argv: str) -> tuple[dict[str, Any], list[str]]:
    parser = parser_of("grep", PLAIN)
    grep.fill(parser)
    arguments = intermixed(parser, argv)
    grep.settle(arguments)
    found = grep.params_of(arguments)
    del found["maxResults"]
    return found, arguments.paths


@pytest.mark.parametrize(
    ("argv", "expected", "paths"),
    [
        (["a($X)"], {"pattern": "a($X)"}, []),
        (["a", "src", "b.py"], {"pattern": "a"}, ["src", "b.py"]),
        (["-e", "a", "src"], {"pattern": "a"}, ["src"]),
        (["-e", "-$X", "-e", "b"], {"any": ["-$X", "b"]}, []),
        (["--kind", "call", "src"], {"kind": "call"}, ["src"]),
        (["--kind", "call", "-e", "a"], {"kind": "call", "pattern": "a"}, []),
        (
            ["a", "--lang", "python", "--relaxed", "-g", "*.py", "-g", "!t/**"],
            {"pattern": "a", "language": "python", "strictness": "relaxed", "globs": ["*.py", "!t/**"]},
            [],
        ),
        (
            ["a", "--inside", "b", "--not-inside", "c", "--has", "d", "--not-has", "e", "--not-has", "f"],
            {"pattern": "a", "inside": ["b"], "notInside": ["c"], "has": ["d"], "notHas": ["e", "f"]},
            [],
        ),
        (
            ["a", "--lang", "go", "src", "-g", "*.go", "b.go"],
            {"pattern": "a", "language": "go", "globs": ["*.go"]},
            ["src", "b.go"],
        ),
        (["--", "-a", "-b"], {"pattern": "-a"}, ["-b"]),
    ],
)
def test_words_become_params(argv: list[str], expected: dict[str, Any], paths: list[str]) -> None:
    assert params(*argv) == (expected, paths)


@pytest.mark.parametrize(
    "argv", [[], ["a", "-C", "-1"], ["a", "-A", "21"], ["a", "--max", "0"], ["a", "-l", "-c"], ["a", "-l", "--json"]]
)
def test_words_that_make_no_sense(argv: list[str]) -> None:
    with pytest.raises(Usage):
        params(*argv)


def match(path: str, start: tuple[int, int], end: tuple[int, int], text: str) -> dict[str, Any]:
    where = {"start": dict(zip(("line", "character"), start, strict=True))}
    where["end"] = dict(zip(("line", "character"), end, strict=True))
    return {"path": path, "line": start[0] + 1, "endLine": end[0] + 1, "range": where, "text": text, "captures": {}}


LINES = ["zero", "one(a)", "two", "  three(", "    b)", "five", ""]
MATCHES = [match("a.py", (1, 0), (1, 6), "one(a)"), match("a.py", (3, 2), (4, 6), "three(\n    b)")]


def rows(before: int = 0, after: int = 0, screen: Screen = PLAIN, lines: list[str] | None = None) -> list[list[str]]:
    page = Page("a.py", LINES if lines is None else lines, MATCHES)
    return [list(page.rows(group, screen)) for group in page.groups(before, after)]


def test_lines_are_those_of_grep() -> None:
    assert rows() == [["a.py:2:one(a)", "a.py:4:  three(", "a.py:5:    b)"]]


def test_context_is_marked_as_grep_does() -> None:
    assert rows(before=1) == [["a.py-1-zero", "a.py:2:one(a)", "a.py-3-two", "a.py:4:  three(", "a.py:5:    b)"]]
    assert rows(after=1) == [["a.py:2:one(a)", "a.py-3-two", "a.py:4:  three(", "a.py:5:    b)", "a.py-6-five"]]
    apart = [*LINES[:3], *(["…"] * 3), *LINES[3:]]
    far = [MATCHES[0], match("a.py", (6, 2), (7, 6), "three(\n    b)")]
    page = Page("a.py", apart, far)
    assert [len(group) for group in page.groups(1, 1)] == [3, 4]


def test_a_file_that_is_gone_shows_the_match() -> None:
    assert rows(lines=[]) == [["a.py:2:one(a)", "a.py:4:three(", "a.py:5:    b)"]]


def test_a_match_is_red_and_its_columns_are_utf16() -> None:
    page = Page(
        "a.py", ["é𝄞 = f(é) + f(b)"], [match("a.py", (0, 6), (0, 10), "f(é)"), match("a.py", (0, 13), (0, 17), "f(b)")]
    )
    (row,) = page.rows([0], COLOURS)
    assert row.endswith(":é𝄞 = \x1b[31;1mf(é)\x1b[0m + \x1b[31;1mf(b)\x1b[0m")


def test_matches_within_one_another_are_marked_once() -> None:
    page = Page("a.py", ["f(f(a))"], [match("a.py", (0, 0), (0, 7), "f(f(a))"), match("a.py", (0, 2), (0, 6), "f(a)")])
    assert next(page.rows([0], COLOURS)).count("\x1b[31;1m") == 1


def test_C9_a_line_obeys_no_terminal() -> None:
    page = Page("a\x1b[2Jb.py", ["f(\x1b]0;title\x07a)"], [match("a.py", (0, 0), (0, 13), "")])
    assert list(page.rows([0], PLAIN)) == ["ab.py:1:f(a)"]


def result(matches: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    base = {"filesSearched": 2, "filesSkipped": [], "parsedAs": "expression", "alsoParsesAs": [], "note": None}
    return {"matches": matches, **base, **more}


def test_paths_within_one_another_show_a_match_once() -> None:
    assert once([result(MATCHES), result(MATCHES[1:])], 10) == MATCHES
    assert once([result(MATCHES)], 1) == MATCHES[:1]


def test_nothing_found_says_how_the_pattern_was_read() -> None:
    assert list(notes([result([], alsoParsesAs=["member", "type"])], [])) == [
        "Nothing found in 2 files. The pattern was read as expression, which could also be member or type."
    ]
    skipped = [{"path": "a", "reason": "binary"}, {"path": "b", "reason": "binary"}]
    assert list(notes([result([], filesSearched=0, filesSkipped=skipped)], [])) == [
        "Not searched: 2 (binary).",
        "No file was searched: no other file here is in a language in which the pattern can be read.",
    ]
    assert list(notes([result(MATCHES, note="More.")], MATCHES)) == ["More."]


def test_a_diff_in_colours() -> None:
    text = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n c\n"
    assert list(shapes.diff_lines(text, PLAIN)) == text.splitlines()
    styles = [line.partition("m")[0] for line in shapes.diff_lines(text, COLOURS)]
    assert styles == ["\x1b[1", "\x1b[1", "\x1b[36", "\x1b[31", "\x1b[32", " c"]


def finding(severity: str, **more: Any) -> dict[str, Any]:
    where = {"start": {"line": 1, "character": 4}, "end": {"line": 2, "character": 0}}
    base = {"ruleId": "r", "path": "a.py", "line": 2, "endLine": 3, "range": where, "severity": severity}
    return {**base, "message": "No.\nReally.", "text": "f(\n)", **more}


@pytest.mark.parametrize(
    ("severities", "least", "code"),
    [
        ([], "error", 0),
        (["warning", "hint"], "error", 0),
        (["error"], "error", 1),
        (["warning"], "warning", 1),
        (["hint"], "information", 0),
        (["hint"], "hint", 1),
    ],
)
def test_the_severity_decides(severities: list[str], least: str, code: int) -> None:
    assert scan.exit_code([finding(one) for one in severities], least) == code


def test_findings_are_printed_as_compilers_do() -> None:
    said = {
        "findings": [finding("error", fix={"edits": []}, note="Because."), finding("warning")],
        "problems": [{"path": "r.yml", "message": "It is odd.", "rule": "x"}, {"path": "s.yml", "message": "No YAML."}],
        "suppressed": 2,
        "filesSearched": 3,
        "rules": 1,
        "note": "More.",
    }
    assert list(scan.lines({}, said, PLAIN)) == [
        "a.py:2:5: error: No. [r, can be fixed]",
        "    Really.",
        "    f( …",
        "    Because.",
        "a.py:2:5: warning: No. [r]",
        "    Really.",
        "    f( …",
        "r.yml (rule x): It is odd.",
        "s.yml: No YAML.",
        "1 error and 1 warning in 3 files with 1 rule. 2 findings silenced by comments.",
        "More.",
    ]


def test_the_root_comes_from_the_first_path(tmp_path: Path) -> None:
    """``settle`` runs before the root is looked for, so that no pattern is taken for a path."""
    parser = parser_of("grep", PLAIN)
    grep.fill(parser)
    arguments = parser.parse_args(["-e", "a", str(tmp_path)])
    grep.settle(arguments)
    assert arguments.paths == [str(tmp_path)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
def test_a_line_is_shown_in_the_encoding_of_its_file(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.py").write_bytes('s = "é"\r\nfoo(1)\n'.encode(encoding))
    assert grep._lines_of(tmp_path / "a.py") == ['s = "é"', "foo(1)", ""]


@pytest.mark.parametrize(
    ("reason", "matches", "expected"),
    [("binary", [], 1), (DEADLY, [], 2), (DEADLY, MATCHES, 0)],
)
def test_a_search_that_failed_is_not_one_that_found_nothing(
    reason: str, matches: list[dict[str, Any]], expected: int
) -> None:
    skipped = [{"path": "a.py", "reason": reason}]
    assert grep.code([result(matches, filesSkipped=skipped)], matches) == expected
