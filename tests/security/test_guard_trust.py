"""Rows T1 to T8: before it is trusted, nothing of a workspace runs, and trust cannot come from the workspace."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Literal

import platformdirs
import pytest
from ombud.errors import Refused, UserError
from ombud.guard import commands
from ombud.guard.commands import GIT_ENVIRONMENT, Resolved, Unresolved, git_command, resolve_command
from ombud.guard.tiers import Tiers
from ombud.guard.trust import Trust, TrustStore


def program(path: Path, text: str = "#!/bin/sh\nexit 0\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


class Place:
    """A workspace ``ws``, a system folder ``bin`` on PATH, and a store of trust outside both."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.root = base / "ws"
        self.bin = base / "bin"
        self.root.mkdir()
        self.bin.mkdir()
        self.store = TrustStore(base / "state" / "trust.json")

    def trust(self, said: bool | None = None) -> Trust:
        return Trust.decide(self.root, said, self.store)

    def find(
        self, *command: str, trust: Trust, path: str | None = None, root: Path | None = None, user: bool = False
    ) -> Resolved | Unresolved:
        return resolve_command(
            command,
            root=root or self.root,
            folders=[self.root],
            trust=trust,
            path=str(self.bin) if path is None else path,
            from_user_configuration=user,
        )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(Path(os.path.realpath(tmp_path)))


LOCAL = [".venv/bin", "venv/bin", "node_modules/.bin"]


@pytest.mark.parametrize("folder", [*LOCAL, "vendor/bin"])
def test_T1_nothing_of_the_workspace_unless_trusted(place: Place, folder: str) -> None:
    tool = program(place.root / folder / "linter")
    named = place.find(f"{folder}/linter", trust=place.trust())
    assert isinstance(named, Unresolved)
    assert named.not_trusted
    assert str(tool) in named.reason
    found = place.find(f"{folder}/linter", "--stdio", trust=place.trust(said=True))
    assert isinstance(found, Resolved)
    assert found.argv == (str(tool), "--stdio")
    assert found.local


@pytest.mark.parametrize("folder", LOCAL)
def test_T1_pinned_tool_wins_only_when_trusted(place: Place, folder: str) -> None:
    own, system = program(place.root / folder / "ruff"), program(place.bin / "ruff")
    unasked = place.find("ruff", "server", trust=place.trust())
    assert isinstance(unasked, Resolved)
    assert (unasked.executable, unasked.local) == (system, False)
    assert str(own) in unasked.note
    trusted = place.find("ruff", "server", trust=place.trust(said=True))
    assert isinstance(trusted, Resolved)
    assert (trusted.executable, trusted.local) == (own, True)


@pytest.mark.parametrize("user", [False, True])
def test_T2_no_spelling_makes_a_file_of_the_repository_the_users(place: Place, user: bool) -> None:
    """Whoever wrote the command, and however it reaches into the workspace: it waits for trust."""
    tool = program(place.root / "tools" / "server")
    (place.bin / "linked").symlink_to(tool)
    (place.base / "elsewhere").symlink_to(place.root / "tools")
    (place.root / "hop").symlink_to("/bin/sh")
    (place.bin / "through").symlink_to(place.root / "hop")
    words = (
        str(tool),
        "./tools/server",
        "linked",
        str(place.base / "elsewhere" / "server"),
        str(place.bin / "linked"),
        str(place.root / "hop"),
        "through",
    )
    for word in words:
        answer = place.find(word, trust=place.trust(), user=user)
        assert isinstance(answer, Unresolved), word
        assert answer.not_trusted, word
        trusted = place.find(word, trust=place.trust(said=True), user=user)
        assert isinstance(trusted, Resolved)
        assert trusted.local


def test_T3_store_is_never_looked_for_in_the_workspace(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    home = place.base / "home"
    home.mkdir()
    (place.root / ".env").write_text("XDG_STATE_HOME=./.state\nHOME=.\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.chdir(place.root)
    expected = TrustStore().path
    assert expected.is_relative_to(home)
    monkeypatch.setenv("XDG_STATE_HOME", ".state")
    assert TrustStore().path.is_relative_to(home)
    # Whatever the library makes of a relative folder, in any version of it.
    monkeypatch.setattr(platformdirs, "user_state_dir", lambda *_names, **_options: ".state/ombud")
    assert TrustStore().path.is_relative_to(home)


def test_T3_store_inside_a_root_does_not_vouch_for_it(place: Place) -> None:
    inner = place.root / ".state" / "trust.json"
    status = place.root.stat()
    inner.parent.mkdir()
    root = {"path": str(place.root), "dev": status.st_dev, "ino": status.st_ino}
    inner.write_text(json.dumps({"version": 1, "roots": [root]}))
    inner.chmod(0o600)
    store = TrustStore(inner)
    assert store.problems == ()
    assert [entry.path for entry in store.entries()] == [str(place.root)]
    assert store.state(place.root) == "unknown"
    (place.root / "sub").mkdir()
    assert store.state(place.root / "sub") == "unknown"
    with pytest.raises(UserError):
        store.grant(place.root)


def test_T4_before_the_question_nothing_of_the_workspace_runs(place: Place) -> None:
    unasked = place.trust()
    assert unasked.state == "unasked"
    assert unasked.allows_children
    assert not unasked.allows_workspace_code
    assert not unasked.allows_local(program(place.root / "x"))
    with pytest.raises(Refused) as caught:
        Tiers().require("exec", unasked, "debug")
    assert caught.value.kind == "not_trusted"


def test_T4_untrusted_starts_no_child_at_all(place: Place) -> None:
    program(place.bin / "clangd")
    untrusted = place.trust(said=False)
    assert not untrusted.allows_children
    for word in ("clangd", str(place.bin / "clangd"), "missing"):
        answer = place.find(word, trust=untrusted)
        assert isinstance(answer, Unresolved)
        assert answer.not_trusted


def test_T4_a_clients_no_wins_over_stored_trust(place: Place) -> None:
    place.store.grant(place.root)
    assert place.trust().state == "trusted"
    assert place.trust(said=False).state == "untrusted"


def test_T5_trust_is_bound_to_the_content_of_executables(place: Place) -> None:
    tool = program(place.root / "node_modules" / ".bin" / "eslint", "#!/bin/sh\necho good\n")
    place.store.grant(place.root, [tool])
    assert isinstance(place.find("eslint", trust=place.trust()), Resolved)
    times = tool.stat()
    tool.write_text("#!/bin/sh\necho evil\n")
    os.utime(tool, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert tool.stat().st_size == times.st_size
    changed = place.find("eslint", trust=place.trust())
    assert isinstance(changed, Unresolved)
    assert changed.not_trusted
    assert "changed" in changed.reason
    place.store.grant(place.root, [tool])
    assert isinstance(place.find("eslint", trust=place.trust()), Resolved)


def test_T5_executable_that_came_later_was_not_trusted(place: Place) -> None:
    place.store.grant(place.root)
    program(place.root / ".venv" / "bin" / "ruff")
    answer = place.find("ruff", trust=place.trust())
    assert isinstance(answer, Unresolved)
    assert answer.not_trusted
    assert "was not there" in answer.reason


def test_T5_link_to_another_executable_is_another_executable(place: Place) -> None:
    """``.venv/bin/python`` leads out of the repository: where it leads is what was trusted."""
    python, other = program(place.bin / "python3"), program(place.bin / "other")
    link = place.root / ".venv" / "bin" / "python"
    link.parent.mkdir(parents=True)
    link.symlink_to(python)
    place.store.grant(place.root, [link])
    found = place.find("python", trust=place.trust(), path="")
    assert isinstance(found, Resolved)
    assert (found.executable, found.real, found.local) == (link, python, True)
    link.unlink()
    link.symlink_to(other)
    assert isinstance(place.find("python", trust=place.trust(), path=""), Unresolved)


def test_T5_trust_is_bound_to_the_folder_and_not_to_its_name(place: Place) -> None:
    place.store.grant(place.root)
    assert place.store.state(place.root) == "trusted"
    place.root.rename(place.base / "moved")
    place.root.mkdir()
    assert place.store.state(place.root) == "unknown"
    assert place.store.state(place.base / "moved") == "unknown"
    place.root.rmdir()
    place.root.symlink_to(place.base / "moved")
    assert place.store.state(place.root) == "unknown"


def test_T5_trust_reaches_down_by_components_only(place: Place) -> None:
    place.store.grant(place.root)
    (place.root / "packages" / "a").mkdir(parents=True)
    evil = place.base / "ws-evil"
    evil.mkdir()
    outside = place.base / "outside"
    outside.mkdir()
    (place.root / "link").symlink_to(outside)
    assert place.store.state(place.root / "packages" / "a") == "trusted"
    assert place.store.state(evil) == "unknown"
    assert place.store.state(place.root / ".." / "ws-evil") == "unknown"
    assert place.store.state(place.root / "link") == "unknown"
    assert place.store.state(place.base) == "unknown"


def repository(place: Place, *, monitor: str) -> Path:
    git = shutil.which("git")
    assert git, "git is needed for the tests"
    environment = {"HOME": str(place.base), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run([git, "init", "-q"], cwd=place.root, env=environment, check=True)
    subprocess.run([git, "config", "core.fsmonitor", monitor], cwd=place.root, env=environment, check=True)
    (place.root / "a.txt").write_text("a")
    return Path(git)


def test_T6_untrusted_no_git_and_trusted_without_its_programs(place: Place) -> None:
    marker = place.base / "ran"
    monitor = program(place.base / "monitor", f"#!/bin/sh\ntouch {marker}\nexit 1\n")
    git = repository(place, monitor=str(monitor))
    environment = {"HOME": str(place.base), "PATH": os.environ["PATH"], **GIT_ENVIRONMENT}
    resolved = place.find(str(git), trust=place.trust(said=True))
    assert isinstance(resolved, Resolved)
    for trust in (place.trust(), place.trust(said=False)):
        with pytest.raises(Refused) as caught:
            git_command(resolved, ["status"], trust)
        assert caught.value.kind == "not_trusted"

    def run(argv: tuple[str, ...]) -> str:
        done = subprocess.run(argv, cwd=place.root, env=environment, stdout=subprocess.PIPE, check=True, timeout=60)
        return done.stdout.decode()

    run((str(git), "status", "--porcelain"))
    assert marker.exists(), "this git runs no monitor, so the test shows nothing"
    marker.unlink()
    listed = run(git_command(resolved, ["ls-files", "-co", "--exclude-standard"], place.trust(said=True)))
    assert listed == "a.txt\n"
    run(git_command(resolved, ["status", "--porcelain"], place.trust(said=True)))
    assert not marker.exists()


def test_T6_hooks_do_not_run(place: Place) -> None:
    marker = place.base / "hooked"
    git = repository(place, monitor="false")
    program(place.root / ".git" / "hooks" / "post-index-change", f"#!/bin/sh\ntouch {marker}\n")
    environment = {"HOME": str(place.base), "PATH": os.environ["PATH"], **GIT_ENVIRONMENT}
    resolved = place.find(str(git), trust=place.trust(said=True))
    assert isinstance(resolved, Resolved)
    for argv, ran in (
        ((str(git), "add", "a.txt"), True),
        (git_command(resolved, ["rm", "--cached", "-q", "a.txt"], place.trust(said=True)), False),
    ):
        marker.unlink(missing_ok=True)
        subprocess.run(argv, cwd=place.root, env=environment, check=True, timeout=60)
        assert marker.exists() is ran


def test_T7_folder_of_the_workspace_on_path(place: Place) -> None:
    """A shell that puts ``./bin`` or the project's tools on PATH does not make them the user's."""
    program(place.root / "bin" / "server")
    (place.base / "alias").symlink_to(place.root / "bin")
    (place.root / "bin" / "shell").symlink_to("/bin/sh")
    for entry in (place.root / "bin", place.base / "alias"):
        for word in ("server", "shell"):
            answer = place.find(word, trust=place.trust(), path=f"{entry}{os.pathsep}{place.bin}")
            assert isinstance(answer, Unresolved)
            assert answer.not_trusted
    system = program(place.bin / "server")
    found = place.find("server", trust=place.trust(), path=f"{place.root / 'bin'}{os.pathsep}{place.bin}")
    assert isinstance(found, Resolved)
    assert found.executable == system
    trusted = place.find("server", trust=place.trust(said=True), path=str(place.root / "bin"))
    assert isinstance(trusted, Resolved)
    assert trusted.local


@pytest.mark.parametrize("said", [None, True])
def test_T8_current_folder_is_never_searched(
    place: Place, monkeypatch: pytest.MonkeyPatch, said: Literal[True] | None
) -> None:
    program(place.root / "server")
    program(place.root / "sub" / "server")
    monkeypatch.chdir(place.root)
    for path in ("", ".", os.pathsep, f"{os.pathsep}sub", "./sub", f"{place.bin}{os.pathsep}{os.pathsep}"):
        answer = place.find("server", trust=place.trust(said), path=path)
        assert isinstance(answer, Unresolved), path


def test_T8_executable_is_absolute_and_arguments_are_left_alone(place: Place) -> None:
    tool = program(place.bin / "server")
    arguments = ("--stdio", "$(touch x)", "; rm -rf .", "*", "a b")
    found = place.find("server", *arguments, trust=place.trust())
    assert isinstance(found, Resolved)
    assert found.argv == (str(tool), *arguments)
    assert Path(found.argv[0]).is_absolute()


def test_T8_batch_files_get_no_arguments_that_cmd_reads(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """CVE-2024-27980: a batch file is started through cmd.exe, which reads more than was quoted."""
    tool = program(place.bin / "server.cmd")
    monkeypatch.setattr(commands, "_WINDOWS", True)
    found = place.find(str(tool), "--stdio", trust=place.trust())
    assert isinstance(found, Resolved)
    for argument in ('" & calc', "%PATH%", "a|b", "a\nb", "^", "x>y"):
        answer = place.find(str(tool), argument, trust=place.trust())
        assert isinstance(answer, Unresolved), argument
        assert "batch file" in answer.reason


def test_T8_windows_looks_for_programs_by_their_suffixes() -> None:
    spelled = [path.name for path in commands._spellings(Path("/x/tsserver"), windows=True)]
    assert spelled == ["tsserver.exe", "tsserver.com", "tsserver.cmd", "tsserver.bat"]
    assert [path.name for path in commands._spellings(Path("/x/a.EXE"), windows=True)] == ["a.EXE"]
    assert [path.name for path in commands._spellings(Path("/x/ruff"), windows=False)] == ["ruff"]


def test_T4_own_interpreter_is_not_the_workspaces(place: Place) -> None:
    """The control of the others: what lies outside runs, also by absolute path and without trust."""
    found = place.find(sys.executable, "-V", trust=place.trust())
    assert isinstance(found, Resolved)
    assert not found.local
