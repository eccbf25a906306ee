"""Resolving a command: where it is looked for, in which order, and what is said when it is not there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from ombud.guard import commands
from ombud.guard.commands import CommandCache, Resolved, Unresolved, resolve_command
from ombud.guard.trust import Trust, TrustStore


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\nexit 0\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def base(tmp_path: Path) -> Path:
    real = Path(os.path.realpath(tmp_path))
    (real / "ws" / "packages" / "a").mkdir(parents=True)
    (real / "bin").mkdir()
    return real


def find(base: Path, *command: str, said: bool | None = True, path: str | None = None) -> Resolved | Unresolved:
    root = base / "ws" / "packages" / "a"
    return resolve_command(
        command,
        root=root,
        folders=[base / "ws"],
        trust=Trust.decide(root, said, None),
        path=str(base / "bin") if path is None else path,
    )


def executable(answer: Resolved | Unresolved) -> Path:
    assert isinstance(answer, Resolved), answer
    return answer.executable


def reason(answer: Resolved | Unresolved) -> str:
    assert isinstance(answer, Unresolved), answer
    return answer.reason


def test_nearest_pinned_tool_wins(base: Path) -> None:
    program(base / "node_modules" / ".bin" / "eslint")
    outer = program(base / "ws" / "node_modules" / ".bin" / "eslint")
    assert executable(find(base, "eslint")) == outer
    inner = program(base / "ws" / "packages" / "a" / "node_modules" / ".bin" / "eslint")
    assert executable(find(base, "eslint")) == inner
    assert executable(find(base, "node_modules/.bin/eslint")) == inner


def test_search_stops_at_the_workspace_folder(base: Path) -> None:
    program(base / "node_modules" / ".bin" / "eslint")
    program(base / ".venv" / "bin" / "eslint")
    assert "not on PATH" in reason(find(base, "eslint"))
    assert "or above it" in reason(find(base, "node_modules/.bin/eslint"))


def test_root_outside_every_folder_is_searched_alone(base: Path) -> None:
    root = base / "lone"
    program(base / ".venv" / "bin" / "tool")
    own = program(root / ".venv" / "bin" / "tool")
    for said, expected in ((True, own), (None, None)):
        answer = resolve_command(
            ["tool"], root=root, folders=[base / "ws"], trust=Trust.decide(root, said, None), path=str(base / "bin")
        )
        if expected:
            assert executable(answer) == expected
            assert isinstance(answer, Resolved)
            assert answer.local
        else:
            assert isinstance(answer, Unresolved)
            assert answer.not_trusted


def test_first_entry_of_path_wins(base: Path) -> None:
    second = program(base / "second" / "tool")
    path = os.pathsep.join([str(base / "bin"), str(base / "missing"), str(base / "second")])
    assert executable(find(base, "tool", path=path)) == second
    first = program(base / "bin" / "tool")
    assert executable(find(base, "tool", path=path)) == first


def test_environment_path_is_the_default(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = program(base / "bin" / "tool")
    monkeypatch.setenv("PATH", str(base / "bin"))
    answer = resolve_command(["tool"], root=base / "ws", folders=[base / "ws"], trust=Trust.decide(base, None, None))
    assert executable(answer) == tool


def test_home_expands(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = program(base / "home" / "bin" / "tool")
    monkeypatch.setenv("HOME", str(base / "home"))
    assert executable(find(base, "~/bin/tool")) == tool
    assert "does not exist" in reason(find(base, "~/bin/missing"))
    assert "does not exist" in reason(find(base, "~nobody-of-that-name/x"))


def test_link_keeps_its_name(base: Path) -> None:
    real = program(base / "lib" / "multi")
    (base / "bin" / "python3").symlink_to(real)
    answer = find(base, "python3", "-m", "x")
    assert isinstance(answer, Resolved)
    assert answer.argv == (str(base / "bin" / "python3"), "-m", "x")
    assert answer.real == real
    assert not answer.local
    assert answer.note == ""


def test_reasons(base: Path) -> None:
    (base / "bin" / "folder").mkdir()
    (base / "bin" / "dangling").symlink_to(base / "nothing")
    (base / "bin" / "loop").symlink_to("loop")
    (base / "bin" / "plain").write_text("data")
    os.mkfifo(base / "bin" / "pipe")
    for word, words in (
        ("missing", "missing is not on PATH."),
        ("folder", "is a folder"),
        ("dangling", "is a link to nothing"),
        ("loop", "cannot be looked at"),
        ("plain", "is not executable"),
        ("pipe", "is not an ordinary file"),
        (str(base / "absent"), "does not exist"),
        (str(base / "bin" / "plain"), "is not executable"),
    ):
        assert words in reason(find(base, word)), word
        assert reason(find(base, word)).endswith(".")


def test_what_cannot_run_is_passed_over_and_said(base: Path) -> None:
    broken = base / "ws" / ".venv" / "bin" / "ruff"
    broken.parent.mkdir(parents=True)
    broken.symlink_to(base / "gone")
    system = program(base / "bin" / "ruff")
    answer = find(base, "ruff")
    assert executable(answer) == system
    assert isinstance(answer, Resolved)
    assert str(broken) in answer.note


MALFORMED: list[Any] = [
    [],
    [""],
    [" "],
    ["-c"],
    ["a\0b"],
    ["a", "b\0"],
    ["../x"],
    ["a/../../x"],
    ["..\\x"],
    "ruff",
    [1],
    ["a", None],
]


@pytest.mark.parametrize("command", MALFORMED)
def test_malformed_commands_are_unresolved(base: Path, command: list[str]) -> None:
    for said in (True, None, False):
        trust = Trust.decide(base / "ws", said, None)
        answer = resolve_command(command, root=base / "ws", folders=[base / "ws"], trust=trust, path="")
        assert isinstance(answer, Unresolved)
        assert not answer.not_trusted


def test_words_for_a_command_of_the_users(base: Path) -> None:
    answer = resolve_command(
        ["mine"],
        root=base / "ws",
        folders=[base / "ws"],
        trust=Trust.decide(base / "ws", None, None),
        path="",
        from_user_configuration=True,
    )
    assert "in your configuration" in reason(answer)


def test_P9_one_lookup_per_candidate(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Path] = []
    examine = commands._examine

    def counted(path: Path) -> str:
        looked.append(path)
        return examine(path)

    monkeypatch.setattr(commands, "_examine", counted)
    cache = CommandCache()
    tool = program(base / "bin" / "tool")
    path = os.pathsep.join([str(base / "bin"), str(base / "bin"), str(base / "other")])
    root = base / "ws" / "packages" / "a"
    trust = Trust.decide(root, None, None)

    def ask(*command: str) -> Resolved | Unresolved:
        return cache.resolve(command, root=root, folders=[base / "ws"], trust=trust, path=path)

    assert isinstance(ask("missing"), Unresolved)
    assert len(looked) == len(set(looked)) == 3 * 3 + 2
    looked.clear()
    assert isinstance(ask("missing", "--other"), Unresolved)
    assert looked == []
    assert executable(ask("tool")) == tool
    looked.clear()
    again = ask("tool", "--stdio")
    assert isinstance(again, Resolved)
    assert again.argv == (str(tool), "--stdio")
    assert looked == [tool]


def test_cache_forgets_what_is_gone_and_what_it_is_told_to(base: Path) -> None:
    cache = CommandCache()
    root = base / "ws"

    def ask(said: bool | None = None) -> Resolved | Unresolved:
        trust = Trust.decide(root, said, None)
        return cache.resolve(["tool"], root=root, folders=[root], trust=trust, path=str(base / "bin"))

    assert isinstance(ask(), Unresolved)
    tool = program(base / "bin" / "tool")
    assert isinstance(ask(), Unresolved)
    cache.clear()
    assert executable(ask()) == tool
    tool.unlink()
    assert isinstance(ask(), Unresolved)
    own = program(base / "ws" / ".venv" / "bin" / "tool")
    assert executable(ask(said=True)) == own
    untrusted = ask(said=False)
    assert isinstance(untrusted, Unresolved)
    assert untrusted.not_trusted
    assert "list of words" in reason(
        cache.resolve([], root=root, folders=[root], trust=Trust.decide(root, None, None), path="")
    )


def test_T5_cache_compares_again(base: Path) -> None:
    root = base / "ws"
    store = TrustStore(base / "state" / "trust.json")
    tool = program(root / ".venv" / "bin" / "tool")
    store.grant(root, [tool])
    cache = CommandCache()

    def ask() -> Resolved | Unresolved:
        return cache.resolve(["tool"], root=root, folders=[root], trust=Trust.decide(root, None, store), path="")

    assert executable(ask()) == tool
    assert executable(ask()) == tool
    tool.write_text("#!/bin/sh\nexit 1\n")
    changed = ask()
    assert isinstance(changed, Unresolved)
    assert changed.not_trusted
