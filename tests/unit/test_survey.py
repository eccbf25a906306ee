"""The survey: what is in a checkout, and every server that could be for it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ombud.downstream.survey import SurveyLimits

from tests.places import MONOREPO, SERVERS, Place, named


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path.resolve())
    made.install(*SERVERS)
    return made


def test_languages_and_servers_of_a_monorepo(place: Place) -> None:
    place.write(MONOREPO)
    survey = place.detector().survey()
    assert survey.complete and survey.note is None
    assert survey.languages["python"] == 4 and survey.languages["go"] == 3 and survey.languages["shellscript"] == 2
    assert list(survey.languages.values()) == sorted(survey.languages.values(), reverse=True)
    roots = sorted(
        (one.entry.name, one.root.relative_to(place.root).as_posix())
        for one in survey.detected
        if one.state == "available"
    )
    assert roots == [
        ("basedpyright", "backend"),
        ("basedpyright", "backend/libs/core"),
        ("bash-language-server", "."),
        ("eslint", "web"),
        ("gopls", "services/api"),
        ("gopls", "services/jobs"),
        ("ruff", "backend"),
        ("typescript-language-server", "web"),
        ("vscode-json", "."),
    ]


def test_every_absence_has_its_reason_once(place: Place) -> None:
    place.write(
        {"a.go": "", "sub/b.go": "", "x/pyproject.toml": "", "x/a.py": "", "y/pyproject.toml": "", "y/a.py": ""}
    )
    (place.bin / "ruff").unlink()
    detected = place.detector().survey().detected
    names = [one.entry.name for one in detected if one.state != "available"]
    assert len(names) == len(set(names))
    found = named(detected)
    assert found["gopls"].reason == "There is no go.work or go.mod above any go file."
    assert found["ruff"].reason == "ruff is not on PATH: pip install ruff."
    assert found["ty"].state == "disabled"
    assert all(one.reason.endswith(".") for one in detected)
    priorities = [one.entry.priority for one in detected]
    assert priorities == sorted(priorities)


def test_no_server_of_a_language_that_is_not_there(place: Place) -> None:
    place.write({"a.py": ""})
    names = {one.entry.name for one in place.detector().survey().detected}
    assert "gopls" not in names and "basedpyright" in names


def test_generated_and_foreign_files_are_left_out(place: Place) -> None:
    skipped = ("node_modules", ".git", "target", "build", ".venv")
    place.write({f"{name}/deep/x.rs": "" for name in skipped} | {"env/pyvenv.cfg": "", "env/lib/x.rb": "", "a.py": ""})
    (place.root / "loop").symlink_to(place.root)
    survey = place.detector().survey()
    assert dict(survey.languages) == {"python": 1} and survey.files == 1


def test_limits_stop_the_walk_and_say_so(place: Place) -> None:
    place.write({f"d{folder}/f{file}.py": "" for folder in range(5) for file in range(10)})
    place.write({"a/b/c/d.go": ""})
    detector = place.detector()
    survey = detector.survey(SurveyLimits(files=7))
    assert survey.files == 7 and not survey.complete and "7 files" in (survey.note or "")
    survey = detector.survey(SurveyLimits(folders=2))
    assert "2 folders" in (survey.note or "")
    survey = detector.survey(SurveyLimits(seconds=0))
    assert "0 s" in (survey.note or "")
    survey = detector.survey(SurveyLimits(depth=2))
    assert "go" not in survey.languages and survey.complete, "what is deeper than a checkout goes is no news"


def test_folders_near_the_top_are_seen_before_deep_ones(place: Place) -> None:
    place.write({f"a/b/f{file}.py": "" for file in range(50)} | {"z/x.go": ""})
    assert "go" in place.detector().survey(SurveyLimits(files=10)).languages


def test_first_lines_are_read_within_a_limit(place: Place) -> None:
    place.write({f"tool{number}": "#!/bin/sh\n" for number in range(6)})
    os.mkfifo(place.root / "a-pipe")
    assert place.detector().survey(SurveyLimits(peeks=4)).languages == {"shellscript": 4}


def test_several_folders_are_each_walked_once(place: Place) -> None:
    place.write({"a/pyproject.toml": "", "a/x.py": "", "a/b/y.py": ""})
    survey = place.detector(folders=("a", "a/b")).survey()
    assert survey.languages["python"] == 2
    assert named(survey.detected)["basedpyright"].root == place.root / "a"


def test_a_folder_that_is_gone_is_empty(place: Place) -> None:
    detector = place.detector(folders=("gone",))
    assert detector.survey().detected == ()


def test_untrusted_survey_starts_nothing_and_reads_on(place: Place) -> None:
    place.write(MONOREPO)
    states = {one.state for one in place.detector(False).survey().detected}
    assert "available" not in states and "not_trusted" in states
    assert not place.trace.exists()
