"""``ombud check``: its exit code, and the sentences about who has answered."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from ombud.faces.cli.check import Choice, Report, as_data, summary, verdict
from ombud.faces.cli.terminal import Screen

SCREEN = Screen(100)


def found(*severities: str) -> list[dict[str, Any]]:
    return [{"severity": severity} for severity in severities]


@pytest.mark.parametrize(
    ("severities", "threshold", "code"),
    [
        ([], "error", 0),
        (["warning", "hint"], "error", 0),
        (["error"], "error", 1),
        (["warning"], "warning", 1),
        (["information"], "warning", 0),
        (["information"], "information", 1),
        (["hint"], "information", 0),
        (["hint"], "hint", 1),
        (["error", "hint"], "hint", 1),
    ],
)
def test_the_threshold_decides(severities: list[str], threshold: str, code: int) -> None:
    report = Report(files=1, diagnostics=list(found(*severities)), fresh=Counter(one=1))
    assert verdict(Choice(files=["a.py"]), report, threshold) == code


@pytest.mark.parametrize(
    ("choice", "report"),
    [
        (Choice(), Report()),
        (Choice(files=["a"]), Report(files=1, missing=[("one", "a", "It was asleep.")])),
        (Choice(files=["a"]), Report(missing=[("", "a", "It is no text.")])),
        (Choice(files=["a"], unclaimed=[("b", "Nobody is for b.")]), Report(files=1, fresh=Counter(one=1))),
        (Choice(files=["a"], note="Only the first were checked."), Report(files=1, fresh=Counter(one=1))),
    ],
)
def test_D4_what_is_not_known_is_not_clean(choice: Choice, report: Report) -> None:
    assert verdict(choice, report, "error") == 3
    text = " ".join(summary(SCREEN, choice, report))
    assert "Nothing found in" not in text or choice.unclaimed or choice.note
    report.diagnostics += found("error")
    assert verdict(choice, report, "error") == 1


def test_files_that_nobody_was_asked_about_by_name_do_not_fail_a_check() -> None:
    skipped = Counter(
        {("go", "gopls: it is not on PATH."): 2, ("json", "vscode-json: it waits."): 1, ("go", "x: no."): 1}
    )
    choice = Choice(files=["a.py"], skipped=skipped)
    report = Report(files=1, fresh=Counter(one=1))
    assert verdict(choice, report, "error") == 0
    assert "Not checked: 3 go files and 1 json file, since no server for them can start." in " ".join(
        summary(SCREEN, choice, report)
    )
    choice.files.clear()
    assert verdict(choice, Report(), "error") == 3
    assert list(summary(SCREEN, choice, Report())) == [
        "Not checked: 2 go files. gopls: it is not on PATH.",
        "Not checked: 1 json file. vscode-json: it waits.",
        "Not checked: 1 go file. x: no.",
    ]


@pytest.mark.parametrize(
    ("files", "fresh", "expected"),
    [
        (1, {"one": 1}, "Nothing found in 1 file. one answered for the file."),
        (
            3,
            {"ruff": 3, "basedpyright": 3},
            "Nothing found in 3 files. basedpyright and ruff answered for all 3 files.",
        ),
        (5, {"a": 3, "b": 3, "c": 2}, "Nothing found in 5 files. a and b answered for 3 files each, c for 2 files."),
        (2, {"a": 2, "b": 1}, "Nothing found in 2 files. a answered for 2 files, b for 1 file."),
    ],
)
def test_who_answered(files: int, fresh: dict[str, int], expected: str) -> None:
    assert list(summary(SCREEN, Choice(files=["x"] * files), Report(files=files, fresh=Counter(fresh)))) == [expected]


def test_how_much_was_found() -> None:
    report = Report(
        files=2, diagnostics=list(found("error", "warning", "error", "information", "hint")), fresh=Counter(one=2)
    )
    assert list(summary(SCREEN, Choice(files=["a", "b"]), report)) == [
        "2 errors, 1 warning, 1 remark and 1 hint in 2 files. one answered for all 2 files."
    ]


def test_absences_are_joined_and_bounded() -> None:
    missing = [("one", f"{number}.py", "It was asleep.") for number in range(7)]
    text = " ".join(summary(SCREEN, Choice(files=["x"] * 7), Report(files=7, missing=missing)))
    assert "one did not answer for 7 files (0.py, 1.py, 2.py, 3.py, 4.py and 2 more). It was asleep." in text


def test_nothing_at_all_is_said() -> None:
    assert list(summary(SCREEN, Choice(), Report())) == [
        "Nothing was checked: no language server is for any of these files."
    ]


def test_the_same_as_data() -> None:
    choice = Choice(
        files=["a.py", "b.py"], unclaimed=[("c.zz", "Nobody.")], skipped=Counter({("go", "x: why."): 2}), note="N."
    )
    report = Report(
        files=2, diagnostics=list(found("error")), fresh=Counter(one=2, two=1), missing=[("two", "b.py", "Late.")]
    )
    assert as_data(choice, report, 1) == {
        "files": 2,
        "diagnostics": [{"severity": "error"}],
        "servers": [{"name": "one", "files": 2}, {"name": "two", "files": 1}],
        "missing": [
            {"path": "b.py", "server": "two", "reason": "Late."},
            {"path": "c.zz", "reason": "Nobody."},
        ],
        "skipped": [{"language": "go", "files": 2, "reason": "x: why."}],
        "note": "N.",
        "exitCode": 1,
    }
