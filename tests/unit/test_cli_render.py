"""Results as a person reads them: complete, in compilers' form, and never obeyed by the terminal."""

from __future__ import annotations

from typing import Any

import pytest
from ombud.faces.cli.render import candidates, counted, diagnostic_lines, listed, rendered
from ombud.faces.cli.terminal import Screen

PLAIN = Screen(80)


def where(line: int, character: int, end: int | None = None) -> dict[str, Any]:
    return {
        "start": {"line": line, "character": character},
        "end": {"line": line if end is None else end, "character": character + 1},
    }


def diagnostic(**more: Any) -> dict[str, Any]:
    return {
        "path": "a.py",
        "line": 4,
        "endLine": 4,
        "range": where(3, 8),
        "severity": "error",
        "source": "basedpyright",
        "message": "It is wrong.",
        "text": "x = 1",
        "code": "reportCallIssue",
        **more,
    }


def lines(name: str, params: dict[str, Any], result: dict[str, Any], screen: Screen = PLAIN) -> list[str]:
    return list(rendered(name, params, result, screen))


def test_a_diagnostic_reads_as_compilers_write_it() -> None:
    assert list(diagnostic_lines(diagnostic(), PLAIN)) == [
        "a.py:4:9: error: It is wrong. [basedpyright reportCallIssue]"
    ]


def test_a_diagnostic_without_a_code_and_of_several_lines() -> None:
    one = diagnostic(message="One.\n\nTwo.\n  Three.")
    del one["code"]
    assert list(diagnostic_lines(one, PLAIN)) == ["a.py:4:9: error: One. [basedpyright]", "    Two.", "      Three."]


def test_C9_no_text_of_a_file_is_obeyed_by_the_terminal() -> None:
    evil = "\x1b]0;owned\x07\x1b[2Jx\r\u202e"
    one = diagnostic(path=f"{evil}.py", message=evil, source=evil, code=evil)
    result = {
        "applied": True,
        "message": evil,
        "files": [],
        "writeId": "w1",
        "diagnostics": {
            "introduced": [one],
            "resolved": [one],
            "stillPresent": 0,
            "servers": [{"name": evil, "freshness": "timed_out", "elapsedMs": 1, "reason": evil}],
        },
    }
    symbol = {
        "name": evil,
        "kind": evil,
        "path": evil,
        "line": 1,
        "range": where(0, 0),
        "container": evil,
        "text": evil,
    }
    answers = {"items": [symbol], "complete": False, "servers": [evil], "note": evil}
    texts = [
        *lines("edit", {}, result),
        *lines("diagnostics", {"path": evil}, {"diagnostics": [one], "servers": [], "files": 1}),
        *lines("lsp", {"action": "symbols"}, answers),
        *lines("lsp", {"action": "hover"}, {**answers, "items": [{"server": evil, "text": evil}] * 2}),
        *candidates({"candidates": [{"line": 1, "text": evil}, evil, {"id": evil}]}),
    ]
    assert not [text for text in texts if set(text) & {"\x1b", "\x07", "\r", "\u202e"}]


def test_D6_a_write_says_first_that_it_was_done() -> None:
    result = {
        "applied": True,
        "message": "Wrote a.py (+1 −1). Introduced 1 diagnostic, resolved 1, 7 still there.",
        "files": [],
        "writeId": "w1",
        "diagnostics": {
            "introduced": [diagnostic()],
            "resolved": [diagnostic(severity="warning", code=None)],
            "stillPresent": 7,
            "servers": [{"name": "one", "freshness": "fresh", "elapsedMs": 5}],
            "checkedDependents": [],
        },
    }
    assert lines("write", {}, result) == [
        "Wrote a.py (+1 −1). Introduced 1 diagnostic, resolved 1, 7 still there.",
        "introduced",
        "  a.py:4:9: error: It is wrong. [basedpyright reportCallIssue]",
        "resolved",
        "  a.py:4:9: warning: It is wrong. [basedpyright]",
        "one answered for this content.",
    ]


def test_D4_what_was_not_checked_is_told_by_reason_and_fits_the_screen() -> None:
    left = [{"path": f"src/some/folder/{number}.py", "reason": "Over the limit of 2 files."} for number in range(12)]
    report = {"introduced": [], "resolved": [], "stillPresent": 0, "servers": [], "leftOutCount": 70}
    report["leftOut"] = [*left, {"path": "b.py", "reason": "It cannot be read as text."}]
    result = {"applied": True, "message": "Wrote a.py (+1 −1).\n\nNot checked: …", "diagnostics": report, "files": []}
    said = lines("edit", {}, {**result, "checkpoint": "c7"})
    assert said[:3] == [
        "Wrote a.py (+1 −1).",
        "Not checked: 12 files. Over the limit of 2 files.",
        "  src/some/folder/0.py, src/some/folder/1.py, src/some/folder/2.py,",
    ]
    assert said[-4:] == [
        "  src/some/folder/6.py, src/some/folder/7.py and 4 more",
        "Not checked: b.py. It cannot be read as text.",
        "Not checked: 57 more files.",
        "“ombud rollback c7” undoes it.",
    ]
    assert max(map(len, said)) <= PLAIN.width


@pytest.mark.parametrize("freshness", ["timed_out", "unavailable"])
def test_D4_silence_is_never_called_clean(freshness: str) -> None:
    servers = [
        {"name": "one", "freshness": "fresh", "elapsedMs": 5},
        {"name": "two", "freshness": freshness, "elapsedMs": 5, "reason": "It was asleep."},
    ]
    text = "\n".join(lines("diagnostics", {"path": "a.py"}, {"diagnostics": [], "servers": servers, "files": 1}))
    assert "Nothing found" not in text
    assert "two has not answered" in text
    assert "It was asleep." in text


def test_what_is_clean_is_called_clean() -> None:
    servers = [{"name": "one", "freshness": "fresh", "elapsedMs": 5}]
    assert lines("diagnostics", {"path": "a.py"}, {"diagnostics": [], "servers": servers, "files": 1}) == [
        "Nothing found in a.py.",
        "one answered for this content.",
    ]


def test_no_open_file_is_no_clean_file() -> None:
    text = lines("diagnostics", {"path": "*"}, {"diagnostics": [], "servers": [], "files": 0})
    assert text == ["No file is open here. Name one, or use “ombud check”."]


@pytest.mark.parametrize(
    ("action", "item", "expected"),
    [
        (
            "references",
            {"path": "a.py", "line": 3, "endLine": 3, "range": where(2, 4), "text": "x = f()"},
            ["a.py:3:5: x = f()"],
        ),
        (
            "symbols",
            {
                "path": "a.py",
                "line": 3,
                "endLine": 9,
                "range": where(2, 0),
                "text": "class A:",
                "name": "A",
                "kind": "class",
            },
            ["a.py:3:1: class A"],
        ),
        (
            "symbols",
            {"path": "a.py", "line": 4, "range": where(3, 4), "name": "m", "kind": "method", "container": "A"},
            ["a.py:4:5: method m in A"],
        ),
        ("symbols", {"path": "a.py", "name": "m", "kind": "method"}, ["a.py: method m"]),
        (
            "incoming_calls",
            {
                "path": "a.py",
                "line": 4,
                "range": where(3, 4),
                "name": "m",
                "kind": "method",
                "callSites": [{"line": 5}, {"line": 9}],
            },
            ["a.py:4:5: method m", "    called in line 5, 9"],
        ),
        (
            "code_actions",
            {"title": "Add import", "kind": "quickfix", "server": "one"},
            ["Add import (quickfix) [one]"],
        ),
        ("signature", {"label": "f(x)", "documentation": "Doubles.", "active": True}, ["f(x)", "    Doubles."]),
        ("hover", {"server": "one", "text": "```python\nx: int\n```\n---\nA number."}, ["x: int", "---", "A number."]),
    ],
)
def test_answers_of_servers(action: str, item: dict[str, Any], expected: list[str]) -> None:
    result = {"items": [item], "complete": True, "servers": ["one"], "note": None}
    assert lines("lsp", {"action": action}, result) == expected


def test_two_hovers_are_told_apart() -> None:
    items = [{"server": "one", "text": "a"}, {"server": "two", "text": "b"}]
    assert lines("lsp", {"action": "hover"}, {"items": items, "complete": True, "servers": [], "note": None}) == [
        "one",
        "a",
        "",
        "two",
        "b",
    ]


def test_D10_an_incomplete_answer_says_so() -> None:
    result = {"items": [], "complete": False, "servers": ["one"], "note": "one was still indexing."}
    assert lines("lsp", {"action": "references"}, result) == [
        "Nothing found. Asked: one.",
        "not complete: one was still indexing.",
    ]


def test_an_operation_without_a_rendering_is_shown_whole() -> None:
    assert lines("some_day", {}, {"symbols": [{"name": "ü"}]}) == [
        '{\n  "symbols": [\n    {\n      "name": "ü"\n    }\n  ]\n}'
    ]


def test_candidates_are_shown_with_their_lines() -> None:
    data = {"candidates": [{"line": 9, "text": "a\nb"}, "pkg#f"]}
    assert list(candidates(data)) == ["      9  a", "     10  b", "  pkg#f"]
    assert list(candidates({})) == []


def test_status_has_a_reason_for_every_absence() -> None:
    result = {
        "servers": [
            {"name": "one", "state": "missing_binary", "languages": ["x"], "reason": "one is not on PATH: get it."},
        ],
        "trust": {"root": "/srv/x", "state": "unasked"},
        "problems": ["ombud.toml: idleMinutes must be a number."],
        "survey": "The survey stopped after 3 files.",
    }
    text = "\n".join(lines("status", {}, result))
    assert "missing binary" in text
    assert "one is not on PATH: get it." in text
    assert "idleMinutes" in text
    assert "The survey stopped" in text


def test_words() -> None:
    assert [listed(list(names)) for names in ("", "a", "ab", "abc")] == ["", "a", "a and b", "a, b and c"]
    assert [counted(number, "file") for number in (0, 1, 2)] == ["0 files", "1 file", "2 files"]


def test_colours_change_no_letter() -> None:
    import re

    painted = "".join(diagnostic_lines(diagnostic(), Screen(80, True)))
    assert "\x1b[31m" in painted
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == "".join(diagnostic_lines(diagnostic(), PLAIN))
