"""scripts/tools.py, with groups that are made here instead of downloaded."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "tools.py"


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module, with its pins, links and cache in the test's folder, outside CI."""
    spec = importlib.util.spec_from_file_location("ombud_tools_script", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    (tmp_path / "pins").mkdir()
    (tmp_path / "pins" / "list.txt").write_text("one==1\n")
    monkeypatch.setattr(module, "PINS", tmp_path / "pins")
    monkeypatch.setattr(module, "LINKS", tmp_path / "links")
    monkeypatch.setattr(module, "CI", False)
    monkeypatch.setattr(module.time, "sleep", lambda seconds: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return module


@pytest.fixture
def system(tools: ModuleType) -> ModuleType:
    """The part of the script that looks for the machine's own tools."""
    return sys.modules[tools.build_rust.__module__]


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def building(log: list[str], fail: bool = False) -> Callable[[Path, Any], dict[str, str]]:
    """A build function that makes one tool, `hammer`, and writes down that it was called."""

    def build(folder: Path, options: Any) -> dict[str, str]:
        log.append(folder.name)
        program(folder / "bin" / "hammer", "echo hammer 1.2")
        if fail:
            raise sys.modules["ombud_tools_script"].ToolError("the forge is cold.")
        return {"hammer": "1.2"}

    return build


def groups(tools: ModuleType, monkeypatch: pytest.MonkeyPatch, *made: Any) -> None:
    monkeypatch.setattr(tools, "GROUPS", {group.name: group for group in made})


def test_a_key_is_made_of_the_pins(tools: ModuleType, tmp_path: Path) -> None:
    group = tools.Group("a", building([]), pins=("list.txt",))
    before = group.key()
    assert group.key() == before
    assert tools.Group("a", building([]), pins=("list.txt",), recipe=2).key() != before
    assert tools.Group("b", building([]), pins=("list.txt",)).key() != before
    (tmp_path / "pins" / "list.txt").write_text("one==2\n")
    assert group.key() != before


def test_a_group_is_built_once_and_linked(tools: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []
    group = tools.Group("a", building(log), pins=("list.txt",))
    groups(tools, monkeypatch, group)
    assert tools.main([]) == 0
    assert tools.main([]) == 0
    assert len(log) == 1
    assert (tmp_path / "links" / "a" / "bin" / "hammer").exists()
    (tmp_path / "pins" / "list.txt").write_text("one==2\n")
    assert tools.main([]) == 0
    assert len(log) == 2
    assert (tmp_path / "links" / "a").resolve().name == group.folder.name == log[1]


def test_an_interrupted_build_starts_from_nothing(
    tools: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log: list[str] = []
    group = tools.Group("a", building(log))
    groups(tools, monkeypatch, group)
    program(group.folder / "bin" / "hammer", "echo half")
    (group.folder / "half").write_text("half")
    assert group.installed() is None
    assert tools.main([]) == 0
    assert len(log) == 1
    assert not (group.folder / "half").exists()


def test_a_group_whose_tool_is_gone_is_built_again(tools: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []
    group = tools.Group("a", building(log))
    groups(tools, monkeypatch, group)
    assert tools.main([]) == 0
    (group.folder / "bin" / "hammer").unlink()
    assert tools.main([]) == 0
    assert len(log) == 2


@pytest.mark.parametrize(("optional", "ci", "code"), [(False, False, 1), (True, False, 0), (True, True, 1)])
def test_a_group_that_cannot_be_installed_is_reported(
    tools: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    optional: bool,
    ci: bool,
    code: int,
) -> None:
    group = tools.Group("a", building([], fail=True), optional=optional)
    groups(tools, monkeypatch, group, tools.Group("b", building([])))
    monkeypatch.setattr(tools, "CI", ci)
    assert tools.main([]) == code
    shown = capsys.readouterr()
    assert "the forge is cold." in shown.err
    assert shown.err.startswith("a: ")
    assert "tools ready in .tools: b" in shown.out
    assert group.installed() is None


def test_what_needs_a_failed_group_is_not_tried(
    tools: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log: list[str] = []
    first, second = tools.Group("a", building([], fail=True)), tools.Group("b", building(log), needs=("a",))
    groups(tools, monkeypatch, first, second)
    assert tools.main(["--only", "b"]) == 1
    assert log == []
    assert "b: error: it needs a" in capsys.readouterr().err


def test_two_runs_at_once_build_a_group_once(tools: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []
    inside, leave = threading.Event(), threading.Event()
    quick = building(log)

    def slow(folder: Path, options: Any) -> dict[str, str]:
        inside.set()
        assert leave.wait(20)
        return quick(folder, options)

    group = tools.Group("a", slow)
    groups(tools, monkeypatch, group)
    at_the_lock, real_lock = threading.Semaphore(0), tools.locked

    def locked(name: str) -> Any:
        at_the_lock.release()
        return real_lock(name)

    monkeypatch.setattr(tools, "locked", locked)
    codes: list[int] = []
    first = threading.Thread(target=lambda: codes.append(tools.main([])))
    first.start()
    assert inside.wait(20)
    second = threading.Thread(target=lambda: codes.append(tools.main([])))
    second.start()
    assert at_the_lock.acquire(timeout=20)
    assert at_the_lock.acquire(timeout=20), "the second run went past the lock"
    leave.set()
    first.join(20)
    second.join(20)
    assert codes == [0, 0]
    assert len(log) == 1


def test_a_folder_in_the_links_place_is_left_alone(tools: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "links" / "a").mkdir(parents=True)
    (tmp_path / "links" / "a" / "mine").write_text("mine")
    with pytest.raises(tools.ToolError, match="a folder where a link belongs"):
        tools.link(tmp_path / "links" / "a", tmp_path)
    assert (tmp_path / "links" / "a" / "mine").read_text() == "mine"


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("go version go1.27.3 linux/amd64", "1.27.3"),
        ("rustc 1.95.0 (59807616e 2026-04-14)", "1.95.0"),
        ("v24.19.0", "24.19.0"),
        ("basedpyright 1.40.2, based on pyright 1.1.400", "1.40.2"),
        ("some build", "some build"),
    ],
)
def test_versions_are_found_in_what_tools_say(tools: ModuleType, tmp_path: Path, said: str, version: str) -> None:
    tool = program(tmp_path / "tool", f"echo '{said}'")
    assert tools.version_of(tool, ["--version"], {}) == version


def test_P10_a_program_that_is_found_but_does_not_run_is_passed_over(
    system: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "shim" / "rust-analyzer", "echo 'no such component' >&2; exit 1")
    real = program(tmp_path / "real" / "rust-analyzer", "echo rust-analyzer 1.0")
    monkeypatch.setenv("PATH", f"relative:{tmp_path / 'shim'}:{tmp_path / 'real'}:/usr/bin:/bin")
    assert system.running("rust-analyzer") == real
    monkeypatch.setenv("PATH", str(tmp_path / "shim"))
    assert system.running("no-such-program-anywhere") is None


def test_P10_a_shim_that_answers_for_another_is_looked_behind(
    system: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shims = tmp_path / "shims"
    toolchain = tmp_path / "toolchain"
    program(shims / "rustup", f'case "$(basename "$0")" in rustc) echo {toolchain};; *) echo from elsewhere 1.0;; esac')
    for name in ("rustc", "cargo", "rust-analyzer"):
        (shims / name).symlink_to("rustup")
    cargo = program(toolchain / "bin" / "cargo", "echo cargo 1.0")
    analyzer = program(tmp_path / "own" / "rust-analyzer", "echo rust-analyzer 1.0")
    monkeypatch.setenv("PATH", f"{shims}:{tmp_path / 'own'}:/usr/bin:/bin")
    assert system.running("cargo") == cargo
    assert system.running("rust-analyzer") == analyzer


def test_a_failing_download_is_tried_again_and_then_told(tools: ModuleType, tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    once = program(tmp_path / "once", f"echo x >> '{counter}'; test $(wc -l < '{counter}') -ge 2 && echo came")
    assert tools.run([once], what="fetching", attempts=3).strip() == "came"
    assert counter.read_text() == "x\nx\n"
    never = program(tmp_path / "never", f"echo x >> '{counter}'; echo 'no route' >&2; exit 3")
    with pytest.raises(tools.ToolError, match="fetching failed: no route"):
        tools.run([never], what="fetching", attempts=2)
    assert counter.read_text() == "x\n" * 4
    with pytest.raises(tools.ToolError, match="no end after"):
        tools.run(["sleep", "30"], what="waiting", timeout=0.1)
    with pytest.raises(tools.ToolError, match="looking failed"):
        tools.run([tmp_path / "absent"], what="looking")


def test_debian_packages_need_root(system: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system.os, "geteuid", lambda: 1000)
    with pytest.raises(system.ToolError, match="needs root and apt-get"):
        system.apt_install([("rust-web-analyzer", "rust-analyzer")])


def test_the_first_known_debian_package_is_installed(
    system: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    program(tmp_path / "bin" / "apt-get", f'echo "$*" >> \'{log}\'; test "$1" != update')
    program(tmp_path / "bin" / "apt-cache", 'test "$2" = cargo || exit 100; echo Package: cargo')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(system.os, "geteuid", lambda: 0)
    system.apt_install([("cargo-web", "cargo"), ("rustc-web", "rustc")])
    calls = log.read_text().splitlines()
    assert calls == ["update -qq"] * 3 + ["install -y -qq --no-install-recommends cargo rustc-web"]


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ("rust", r"rust-analyzer, rustc, cargo not found.*--system"),
        ("emacs", r"Emacs not found.*--system"),
        ("lldb", r"lldb-dap not found.*--system"),
    ],
)
def test_a_group_of_the_machines_own_tools_does_not_touch_the_system_unasked(
    tools: ModuleType, system: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: str, said: str
) -> None:
    monkeypatch.setattr(system, "running", lambda name: None)
    monkeypatch.setattr(system, "apt_install", lambda packages: pytest.fail("apt-get was called"))
    with pytest.raises(tools.ToolError, match=said):
        tools.GROUPS[group].build(tmp_path, tools.Options(system=False))


def test_an_emacs_without_eglot_gets_it_where_that_is_allowed(
    tools: ModuleType, system: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    has = tmp_path / "eglot"
    wants = f"case \"$*\" in *eglot*) test -e '{has}';; *) echo GNU Emacs 28.2;; esac"
    program(tmp_path / "bin" / "emacs", wants)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    asked: list[Any] = []
    monkeypatch.setattr(system, "apt_install", lambda packages: (asked.extend(packages), has.touch()))
    with pytest.raises(tools.ToolError, match="Eglot not found"):
        system.build_emacs(tmp_path / "a", tools.Options(system=False))
    (tmp_path / "b").mkdir()
    assert system.build_emacs(tmp_path / "b", tools.Options(system=True)) == {"emacs": "28.2"}
    assert asked == [("elpa-eglot",)]
    assert (tmp_path / "b" / "bin" / "emacs").resolve() == tmp_path / "bin" / "emacs"


def test_the_cache_is_the_users(tools: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert tools.cache_folder() == tmp_path / ".cache" / "ombud" / "tools"


def test_prune_deletes_what_no_pin_names(tools: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group = tools.Group("a", building([]), pins=("list.txt",))
    groups(tools, monkeypatch, group)
    assert tools.main([]) == 0
    old = group.folder
    (tmp_path / "pins" / "list.txt").write_text("one==2\n")
    assert tools.main([]) == 0
    assert tools.main(["--prune"]) == 0
    assert not old.exists()
    assert group.installed() == {"hammer": "1.2"}


def test_list_shows_versions_and_what_is_missing(
    tools: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    groups(tools, monkeypatch, tools.Group("a", building([])), tools.Group("b", building([])))
    assert tools.main(["--only", "a"]) == 0
    assert tools.main(["--list"]) == 1
    shown = capsys.readouterr().out
    assert "hammer                           1.2" in shown
    assert "b: not installed" in shown


def test_an_unknown_group_is_named(tools: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        tools.main(["--only", "python,cobol"])
    assert ended.value.code == 2
    assert "unknown group cobol" in capsys.readouterr().err


def test_the_script_needs_nothing_installed() -> None:
    done = subprocess.run([sys.executable, "-I", "-S", SCRIPT, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "--system" in done.stdout
