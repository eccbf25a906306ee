"""Detection: which command a server is started by, what waits for trust, what it costs, what is filled in."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ombud.downstream.catalogue import load_catalogue
from ombud.downstream.detect import Detected, Detector
from ombud.downstream.fill import data_folder
from ombud.guard.commands import CommandCache
from ombud.guard.trust import Trust, TrustStore

from tests.places import MONOREPO, SERVERS, Place, named, where


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path.resolve())
    made.install(*SERVERS)
    return made


TRUST_CASES: list[tuple[bool | None, str, str]] = [
    (True, "basedpyright", "available"),
    (True, "rust-analyzer", "available"),
    (True, "eslint", "available"),
    (None, "basedpyright", "available"),
    (None, "gopls", "available"),
    (None, "rust-analyzer", "not_trusted"),
    (None, "eslint", "not_trusted"),
    (False, "basedpyright", "not_trusted"),
    (False, "gopls", "not_trusted"),
    (False, "rust-analyzer", "not_trusted"),
]


@pytest.mark.parametrize(("said", "server", "state"), TRUST_CASES)
def test_T4_what_may_start_before_trust(place: Place, said: bool | None, server: str, state: str) -> None:
    place.write(
        {"pyproject.toml": "", "Cargo.toml": "", "go.mod": "", "eslint.config.js": "", "node_modules/eslint/x": ""}
    )
    path = {"basedpyright": "a.py", "rust-analyzer": "a.rs", "gopls": "a.go", "eslint": "a.js"}[server]
    found = named(place.detector(said).for_path(place.root / path))[server]
    assert found.state == state
    if state == "not_trusted":
        assert "trust" in found.reason.lower()


def test_T4_an_alternative_that_runs_nothing_of_the_workspace_steps_in(place: Place) -> None:
    place.write({"package.json": "{}"})
    found = named(place.detector(None).for_path(place.root / "a.ts"))
    assert found["typescript-language-server"].state == "not_trusted"
    assert found["tsgo"].state == "available"
    found = named(place.detector(True).for_path(place.root / "a.ts"))
    assert (found["typescript-language-server"].state, found["tsgo"].state) == ("available", "disabled")


def test_nobody_is_asked_to_trust_what_is_not_installed(place: Place) -> None:
    place.write({"Cargo.toml": ""})
    (place.bin / "rust-analyzer").unlink()
    assert named(place.detector(None).for_path(place.root / "a.rs"))["rust-analyzer"].state == "missing_binary"


@pytest.mark.parametrize("local", [".venv/bin", "venv/bin", "node_modules/.bin"])
def test_T1_T7_the_repositorys_own_binary_waits_for_trust(place: Place, local: str) -> None:
    place.write({"pyproject.toml": ""})
    own = place.program(place.root / local / "ruff")
    found = named(place.detector(None).for_path(place.root / "a.py"))["ruff"]
    assert found.state == "available" and found.resolved is not None
    assert found.resolved.executable == place.bin / "ruff" and str(own) in found.reason, "the user's own stands in"
    (place.bin / "ruff").unlink()
    assert named(place.detector(None).for_path(place.root / "a.py"))["ruff"].state == "not_trusted"
    found = named(place.detector(True).for_path(place.root / "a.py"))["ruff"]
    assert found.resolved is not None and found.resolved.executable == own


def test_T2_a_users_command_that_leads_into_the_workspace_waits_for_trust(place: Place) -> None:
    own = place.program(place.root / "tools/mine")
    user = {"mine": {"command": [str(own), "--stdio"], "extensions": [".x"], "rootMarkers": []}}
    assert named(place.detector(None, user).for_path(place.root / "a.x"))["mine"].state == "not_trusted"
    found = named(place.detector(True, user).for_path(place.root / "a.x"))["mine"]
    assert found.resolved is not None and found.resolved.argv == (str(own), "--stdio")


def test_server_of_ones_own_without_markers(place: Place) -> None:
    user = {"mine": {"command": ["gopls"], "extensions": [".x"], "rootMarkers": []}}
    detector = place.detector(None, user)
    assert where(detector, place, "deep/down/a.x") == {"mine": "."}
    gone = {"mine": {"command": ["/opt/nothing/here"], "extensions": [".x"], "rootMarkers": ["m.toml"]}}
    found = named(place.detector(None, gone).for_path(place.root / "a.x"))["mine"]
    assert found.state == "missing_marker"
    place.write({"m.toml": ""})
    found = named(place.detector(None, gone).for_path(place.root / "a.x"))["mine"]
    assert found.state == "missing_binary" and "/opt/nothing/here" in found.reason


def test_P10_nothing_is_run_to_detect(place: Place) -> None:
    place.write(MONOREPO)
    place.program(place.root / "web/node_modules/.bin/typescript-language-server")
    detector = place.detector()
    for path in MONOREPO:
        detector.for_path(place.root / path)
    assert {one.state for one in detector.survey().detected} >= {"available", "missing_binary"}
    assert not place.trace.exists()


class Counting(CommandCache):
    """Counts the lookups that are asked of it."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def resolve(self, command: Any, **how: Any) -> Any:
        self.asked.append(command[0])
        return super().resolve(command, **how)


def test_P9_markers_first_then_one_lookup_for_each_candidate(place: Place) -> None:
    place.write({"a.py": ""})
    cache = Counting()
    detector = place.detector(cache=cache)
    detector.for_path(place.root / "a.py")
    assert cache.asked == [], "without a marker no command is looked up"
    place.write({"pyproject.toml": ""})
    detector.invalidate()
    detector.for_path(place.root / "a.py")
    assert cache.asked == ["basedpyright-langserver", "ruff"], "what an alternative already does is not looked up"
    for name in ("a.py", "b.py", "c.pyi"):
        detector.for_path(place.root / name)
    assert len(cache.asked) == 2


def test_P9_folders_are_listed_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.write(MONOREPO)
    seen: list[str] = []
    scandir = os.scandir

    def counting(path: Any) -> Any:
        seen.append(os.fspath(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", counting)
    detector = place.detector()
    for path in MONOREPO:
        detector.for_path(place.root / path)
    assert seen and len(seen) == len(set(seen))


def test_invalidate_sees_what_has_come_and_gone(place: Place) -> None:
    place.write({"a.py": ""})
    detector = place.detector()
    assert where(detector, place, "a.py") == {}
    place.write({"pyproject.toml": ""})
    assert where(detector, place, "a.py") == {}, "remembered"
    assert not detector.notice(place.root / "a.py")
    assert detector.notice(place.root / "pyproject.toml")
    assert where(detector, place, "a.py") == {"basedpyright": ".", "ruff": "."}
    (place.bin / "ruff").unlink()
    detector.invalidate()
    assert where(detector, place, "a.py") == {"basedpyright": "."}


@pytest.mark.parametrize(
    "name", ["x.csproj", "package.json", "eslint.config.mjs", "tailwind.config.ts", ".git", "go.work"]
)
def test_markers_are_noticed(place: Place, name: str) -> None:
    assert place.detector().notice(place.root / "sub" / name)


# ---- stand-ins ----------------------------------------------------------------------------------------------------


@pytest.fixture
def rustup(place: Place, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A rustup whose stand-in for rust-analyzer comes first on PATH; gives the folder of its one toolchain."""
    home = place.bin.parent / "rustup-home"
    monkeypatch.setenv("RUSTUP_HOME", str(home))
    place.write({"Cargo.toml": ""})

    def made(kind: str) -> Path:
        shims = place.bin.parent / "cargo-bin"
        tool = place.program(shims / "rustup")
        if kind == "symbolic":
            (shims / "rust-analyzer").symlink_to("rustup")
        else:
            (shims / "rust-analyzer").hardlink_to(tool)
        toolchain = home / "toolchains/stable/bin"
        toolchain.mkdir(parents=True)
        return toolchain

    return made


def through(place: Place) -> Detected:
    path = os.pathsep.join([str(place.bin.parent / "cargo-bin"), str(place.bin)])
    trust = Trust.decide(place.root, True, None)
    detector = Detector(load_catalogue(), [place.root], trust, path=path)
    return named(detector.for_path(place.root / "a.rs"))["rust-analyzer"]


@pytest.mark.parametrize("kind", ["symbolic", "hard"])
def test_P10_a_stand_in_without_its_component_is_no_server(
    place: Place, rustup: Callable[[str], Path], kind: str
) -> None:
    toolchain = rustup(kind)
    found = through(place)
    assert found.resolved is not None and found.resolved.executable == place.bin / "rust-analyzer", "the next on PATH"
    (place.bin / "rust-analyzer").unlink()
    found = through(place)
    assert found.state == "missing_binary" and "rustup component add rust-analyzer" in found.reason
    place.program(toolchain / "rust-analyzer")
    found = through(place)
    assert found.state == "available" and found.resolved is not None
    assert found.resolved.executable.parent.name == "cargo-bin"


@pytest.mark.parametrize(
    ("version", "state"), [("7.0.2", "available"), ("10.1.0", "available"), ("6.0.3", "missing_binary")]
)
def test_P10_a_compiler_that_is_too_old_is_no_server(place: Place, version: str, state: str) -> None:
    (place.bin / "tsgo").unlink()
    package = place.bin.parent / "lib/node_modules/typescript"
    place.program(package / "bin/tsc")
    (package / "package.json").write_text(f'{{"name": "typescript", "version": "{version}"}}')
    (place.bin / "tsc").symlink_to(package / "bin/tsc")
    place.write({"package.json": "{}"})
    found = named(place.detector(None).for_path(place.root / "a.ts"))["tsgo"]
    assert found.state == state
    if state == "missing_binary":
        assert "tsgo is not on PATH" in found.reason


# ---- what is filled in --------------------------------------------------------------------------------------------


def test_places_are_filled_in_for_each_root(place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    place.write({"a b/pom.xml": "", "c/pom.xml": ""})
    detector = place.detector()
    found = named(detector.for_path(place.root / "a b/X.java"))["jdtls"]
    data = data_folder("jdtls", place.root / "a b")
    assert found.resolved is not None and found.resolved.argv[1:] == ("-data", str(data))
    assert not data.is_relative_to(place.root) and data.is_relative_to(tmp_path / "cache") and not data.exists()
    assert found.entry.initialization_options["workspaceFolders"] == [(place.root / "a b").as_uri()]
    other = named(detector.for_path(place.root / "c/X.java"))["jdtls"]
    assert other.resolved is not None and other.resolved.argv != found.resolved.argv


def test_T1_the_projects_interpreter_and_typescript_need_trust(place: Place) -> None:
    place.write({"pyproject.toml": "", "sub/pyproject.toml": "", "package.json": '{"dependencies":{"astro":"1"}}'})
    place.write({"node_modules/typescript/lib/tsserver.js": ""})
    python = place.program(place.root / ".venv/bin/python")
    trusted = named(place.detector(True).for_path(place.root / "sub/a.py"))["basedpyright"].entry
    assert trusted.settings["python"] == {"pythonPath": str(python)}, "the nearest above the root counts"
    unasked = named(place.detector(None).for_path(place.root / "sub/a.py"))["basedpyright"].entry
    # Some other is named: with none at all, basedpyright looks for a .venv by itself and runs what is in it.
    assert not Path(unasked.settings["python"]["pythonPath"]).is_relative_to(place.root)
    astro = named(place.detector(True).for_path(place.root / "a.astro"))["astro"]
    assert astro.entry.initialization_options["typescript"] == {"tsdk": str(place.root / "node_modules/typescript/lib")}
    astro = named(place.detector(None).for_path(place.root / "a.astro"))["astro"]
    assert astro.state == "not_trusted" and astro.entry.initialization_options["typescript"] == {}


def test_T5_interpreter_that_stored_trust_does_not_know_is_not_named(place: Place, tmp_path: Path) -> None:
    place.write({"pyproject.toml": ""})
    python = place.program(place.root / ".venv/bin/python")
    store = TrustStore(tmp_path / "state/trust.json")

    def settings() -> Any:
        trust = Trust.decide(place.root, None, store)
        detector = Detector(load_catalogue(), [place.root], trust, path=str(place.bin))
        return named(detector.for_path(place.root / "a.py"))["basedpyright"].entry.settings["python"]

    store.grant(place.root, [])
    assert not Path(settings()["pythonPath"]).is_relative_to(place.root)
    store.grant(place.root, [python])
    assert settings() == {"pythonPath": str(python)}
    python.write_text("#!/bin/sh\nexit 1\n")
    assert not Path(settings()["pythonPath"]).is_relative_to(place.root)


def test_placeholders_of_users_and_unknown_ones(place: Place) -> None:
    user = {
        "mine": {
            "command": ["gopls", "--root=${root}"],
            "extensions": [".x"],
            "rootMarkers": [],
            "settings": {"a": ["${rootName}", "${workspaceFolder}", "${python}"], "b": {"c": "${python}"}},
        }
    }
    found = named(place.detector(True, user).for_path(place.root / "a.x"))["mine"]
    assert found.resolved is not None and found.resolved.argv[1] == f"--root={place.root}"
    assert found.entry.settings == {"a": ["ws", "${workspaceFolder}"], "b": {}}


# ---- Vue, which takes two servers ---------------------------------------------------------------------------------

VUE = {"package.json": '{"dependencies": {"vue": "3"}}'}


def vue_server(place: Place, folder: Path, version: str = "3.3.11", *, script: bool = False) -> Path:
    """npm's command for Vue's language server in ``folder``/node_modules; ``script``: as pnpm and Windows have it."""
    package = folder / "node_modules/@vue/language-server"
    program = place.program(package / "bin/vue-language-server.js")
    (package / "package.json").write_text(f'{{"name": "@vue/language-server", "version": "{version}"}}')
    command = folder / "node_modules/.bin/vue-language-server"
    if script:
        place.program(command)
    else:
        command.parent.mkdir(parents=True, exist_ok=True)
        command.symlink_to(program)
    return package


@pytest.mark.parametrize("script", [False, True], ids=["a link", "a script"])
def test_a_vue_project_has_one_typescript_server_with_the_plugin_of_its_vue_server(place: Place, script: bool) -> None:
    place.write(VUE)
    package = vue_server(place, place.root, script=script)
    for name in ("src/App.vue", "src/main.ts"):
        found = named(place.detector().for_path(place.root / name))
        assert found["vue-typescript"].state == "available", found["vue-typescript"].reason
        (plugin,) = found["vue-typescript"].entry.initialization_options["plugins"]
        assert (plugin["location"], plugin["languages"]) == (str(package), ["vue"])
    assert found["typescript-language-server"].state == "disabled"
    assert "vue" not in found


@pytest.mark.parametrize("version", [None, "2.2.12"], ids=["no vue server", "one that knows types itself"])
def test_without_a_vue_server_that_asks_typescripts_it_is_as_in_other_projects(
    place: Place, version: str | None
) -> None:
    place.write(VUE)
    if version is not None:
        vue_server(place, place.root, version)
    found = named(place.detector().for_path(place.root / "src/main.ts"))
    assert found["vue-typescript"].state == "missing_binary"
    assert "@vue/language-server" in found["vue-typescript"].reason
    assert found["typescript-language-server"].state == "available"


def test_T1_the_projects_own_plugin_needs_trust(place: Place) -> None:
    place.write(VUE)
    vue_server(place, place.root)
    found = named(place.detector(None).for_path(place.root / "src/main.ts"))
    assert found["vue-typescript"].state in ("missing_binary", "not_trusted")
    assert found["vue-typescript"].entry.initialization_options["plugins"] == [
        {"name": "@vue/typescript-plugin", "languages": ["vue"]}
    ]


def test_a_project_without_vue_is_left_alone_by_its_typescript_server(place: Place) -> None:
    place.write({"package.json": "{}"})
    vue_server(place, place.bin.parent)
    (place.bin / "vue-language-server").symlink_to(place.bin.parent / "node_modules/.bin/vue-language-server")
    found = named(place.detector().for_path(place.root / "src/main.ts"))
    assert found["vue-typescript"].state == "missing_marker"
    assert found["typescript-language-server"].state == "available"
