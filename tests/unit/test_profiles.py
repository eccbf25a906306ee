"""Profiles: what servers will announce, from the package and from the user's cache."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import platformdirs
import pytest
from ombud.downstream import learned as learned_module
from ombud.downstream.capabilities import Capabilities
from ombud.downstream.catalogue import load_catalogue
from ombud.downstream.learned import LARGEST, MOST_FILES, Learned, cache_folder
from ombud.downstream.profiles import MOST_WORDS, Profile, book, glance, join, profile_of

PROJECT = Path(__file__).resolve().parents[2]

# -- the package's own


def test_the_file_is_what_the_catalogue_says() -> None:
    done = subprocess.run(
        [sys.executable, str(PROJECT / "scripts" / "profiles.py"), "--check"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_every_server_has_a_profile_and_many_were_measured() -> None:
    known = book().servers
    assert list(known) == [entry.name for entry in load_catalogue()]
    measured = [name for name, one in known.items() if one.version is not None]
    assert {"basedpyright", "ruff", "gopls", "clangd", "rust-analyzer", "vtsls", "vue", "eslint"} <= set(measured)
    assert len(measured) >= 25
    assert known["gopls"].token_types and "gopls.tidy" in known["gopls"].commands
    assert known["clangd"].typing == ("\n",)


@pytest.mark.parametrize(
    ("names", "some", "none"),
    [
        (["go.mod"], {"gopls"}, {"rust-analyzer", "basedpyright"}),
        (["Cargo.toml"], {"rust-analyzer"}, {"gopls"}),
        (["pyproject.toml"], {"basedpyright", "ruff"}, {"gopls", "eslint"}),
        (["main.py"], {"basedpyright", "ruff"}, {"clangd"}),
        (["a.c", "b.ts"], {"clangd", "typescript-language-server"}, {"gopls"}),
        (["Dockerfile"], {"dockerfile"}, {"gopls"}),
        (["deep/go.mod"], set(), {"gopls"}),
        ([], set(), {"gopls"}),
    ],
    ids=lambda one: ",".join(sorted(one)),
)
def test_a_glance_sees_what_lies_in_the_folder(
    tmp_path: Path, names: list[str], some: set[str], none: set[str]
) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    found = list(glance([tmp_path]))
    assert some <= set(found)
    assert not none & set(found)
    assert found == [entry.name for entry in load_catalogue() if entry.name in found], "by priority"


def test_a_glance_at_folders_that_are_none_sees_nothing(tmp_path: Path) -> None:
    file = tmp_path / "go.mod"
    file.write_text("")
    assert glance([file, tmp_path / "gone", Path("/x\0y")]) == {}


# -- from capabilities

ANNOUNCED: dict[str, Any] = {
    "completionProvider": {"triggerCharacters": [".", "."], "allCommitCharacters": [";"]},
    "signatureHelpProvider": {"triggerCharacters": ["("], "retriggerCharacters": [","]},
    "documentOnTypeFormattingProvider": {"firstTriggerCharacter": "}", "moreTriggerCharacter": [";", "}"]},
    "semanticTokensProvider": {"legend": {"tokenTypes": ["a", "a", "b"], "tokenModifiers": ["m"]}},
    "executeCommandProvider": {"commands": ["x.do"]},
    "codeActionProvider": {"codeActionKinds": ["quickfix"]},
    "textDocumentSync": {"willSave": True, "willSaveWaitUntil": True},
    "notebookDocumentSync": {"notebookSelector": [{"cells": [{"language": "python"}]}]},
}
WHOLE = Profile(
    version="1",
    completes=True,
    completion=(".",),
    commit=(";",),
    signature=("(",),
    signature_again=(",",),
    typing=("}", ";"),
    token_types=("a", "a", "b"),
    token_modifiers=("m",),
    commands=("x.do",),
    action_kinds=("quickfix",),
    will_save=True,
    will_save_wait_until=True,
    notebooks=({"cells": [{"language": "python"}]},),
)


def test_the_profile_of_what_was_announced() -> None:
    assert profile_of(Capabilities(ANNOUNCED), "1") == WHOLE
    assert profile_of(Capabilities({}), None) == Profile()


def test_what_is_registered_counts_as_what_is_announced() -> None:
    capabilities = Capabilities({"completionProvider": {"triggerCharacters": ["."]}})
    capabilities.register("1", "textDocument/completion", {"triggerCharacters": [":"]})
    capabilities.register("2", "workspace/executeCommand", {"commands": ["late"]})
    capabilities.register("3", "textDocument/willSaveWaitUntil", {})
    capabilities.register("4", "textDocument/semanticTokens", {"legend": {"tokenTypes": ["t"], "tokenModifiers": []}})
    found = profile_of(capabilities)
    assert (found.completion, found.commands, found.will_save_wait_until) == ((".", ":"), ("late",), True)
    assert found.token_types == ("t",)


@pytest.mark.parametrize("odd", [None, True, 5, "x", [], [5, None, {}], {"legend": 3}, {"commands": "x"}], ids=str)
def test_other_shapes_are_left_out(odd: Any) -> None:
    found = profile_of(Capabilities(dict.fromkeys(ANNOUNCED, odd)))
    assert msgspec.structs.replace(found, completes=False) == Profile()
    inside = {name: dict.fromkeys(one, odd) for name, one in ANNOUNCED.items() if isinstance(one, dict)}
    kept = msgspec.structs.replace(
        profile_of(Capabilities(inside)), completes=False, will_save=False, will_save_wait_until=False, notebooks=()
    )
    # A trigger may be any text, and a notebook selector any object.
    assert kept == Profile(typing=("x",) if odd == "x" else ())


def test_words_are_bounded() -> None:
    many = {"commands": ["y" * 1000, *(f"c{number}" for number in range(10_000))]}
    assert len(profile_of(Capabilities({"executeCommandProvider": many})).commands) == MOST_WORDS - 1


def test_joined_profiles_have_everything_but_what_would_commit_the_items_of_others() -> None:
    one = Profile(completes=True, completion=(".",), commit=(";", "("), commands=("a",), token_types=("x", "y"))
    two = Profile(completes=True, completion=(":", "."), commit=("(",), commands=("b",), token_types=("z", "y"))
    mute = Profile(commands=("c",), will_save=True)
    both = join([one, two, mute])
    assert (both.completion, both.commands, both.token_types) == ((".", ":"), ("a", "b", "c"), ("x", "y", "z"))
    assert (both.commit, both.will_save) == (("(",), True)
    assert join([one, two, Profile(completes=True)]).commit == ()
    assert join([]) == Profile()


# -- learned here


@pytest.fixture
def shelf(tmp_path: Path) -> Learned:
    return Learned(tmp_path / "cache")


@pytest.fixture
def executable(tmp_path: Path) -> Path:
    path = tmp_path / "server"
    path.write_text("1")
    return path


def everything(shelf: Learned) -> list[Path]:
    return sorted(path for path in shelf.folder.rglob("*") if path.is_file())


def test_what_was_learned_is_known_of_the_folder_it_ran_in(shelf: Learned, executable: Path, tmp_path: Path) -> None:
    here, there = tmp_path / "a", tmp_path / "b"
    shelf.learn("mine", str(executable), WHOLE, [here])
    shelf.learn("other", str(executable), Profile(version="1"), [here, there])
    assert shelf.known([here]) == {"mine": (WHOLE, True), "other": (Profile(version="1"), True)}
    assert list(shelf.known([there, here])) == ["other", "mine"]
    assert shelf.known([tmp_path]) == {}


def test_another_executable_makes_a_profile_inexact(shelf: Learned, executable: Path, tmp_path: Path) -> None:
    shelf.learn("mine", str(executable), WHOLE, [tmp_path])
    executable.write_text("22")
    assert shelf.known([tmp_path])["mine"] == (WHOLE, False)
    shelf.learn("mine", str(executable), Profile(version="2"), [tmp_path])
    assert shelf.known([tmp_path])["mine"] == (Profile(version="2"), True)
    executable.unlink()
    assert not shelf.known([tmp_path])["mine"].exact


def test_a_server_without_a_version_is_known_by_its_executable(
    shelf: Learned, executable: Path, tmp_path: Path
) -> None:
    nameless = Profile(completion=(".",))
    shelf.learn("mine", str(executable), nameless, [tmp_path / "a"])
    executable.write_text("22")
    shelf.learn("mine", str(executable), Profile(completion=(":",)), [tmp_path / "b"])
    assert shelf.known([tmp_path / "a"])["mine"].profile == nameless
    assert shelf.known([tmp_path / "b"])["mine"].profile.completion == (":",)


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b'{"servers": 5}',
        b'{"servers": {"mine": {}}}',
        b'{"commands": 3}',
        b" " * LARGEST + b"{}",
    ],
    ids=lambda damage: damage[:20],
)
def test_damaged_files_are_as_good_as_none(shelf: Learned, executable: Path, tmp_path: Path, damage: bytes) -> None:
    shelf.learn("mine", str(executable), WHOLE, [tmp_path])
    files = everything(shelf)
    assert len(files) == 2
    for file in files:
        whole = file.read_bytes()
        file.write_bytes(damage)
        assert shelf.known([tmp_path]) == {}
        file.write_bytes(whole)
    shelf.learn("mine", str(executable), WHOLE, [tmp_path])
    assert shelf.known([tmp_path])["mine"].profile == WHOLE


def test_a_place_leads_to_no_other_file(shelf: Learned, executable: Path, tmp_path: Path) -> None:
    shelf.learn("mine", str(executable), WHOLE, [tmp_path])
    (place,) = (shelf.folder / "places").iterdir()
    (tmp_path / "stolen.json").write_bytes(msgspec.json.encode(WHOLE))
    (profile,) = (shelf.folder / "servers").iterdir()
    text = place.read_text().replace(profile.stem, "../../../stolen")
    place.write_text(text)
    assert "stolen" in text and shelf.known([tmp_path]) == {}


def test_a_cache_that_cannot_be_written_is_done_without(executable: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    shelf = Learned(tmp_path / "file")
    shelf.learn("mine", str(executable), WHOLE, [tmp_path])
    assert shelf.known([tmp_path]) == {}


def test_a_pipe_in_the_place_of_a_file_holds_nobody_up(shelf: Learned, executable: Path, tmp_path: Path) -> None:
    shelf.learn("mine", str(executable), WHOLE, [tmp_path])
    for file in everything(shelf):
        file.unlink()
        os.mkfifo(file)
        assert shelf.known([tmp_path]) == {}
    shelf.learn("mine", str(executable), WHOLE, [tmp_path])
    assert shelf.known([tmp_path])["mine"].profile == WHOLE


def test_words_that_no_file_can_hold_are_not_kept(shelf: Learned, executable: Path, tmp_path: Path) -> None:
    for odd in (Profile(completion=("\ud800",)), Profile(version="\ud800"), Profile(notebooks=({"\udc00": 1},))):
        shelf.learn("mine", str(executable), odd, [tmp_path])
    assert shelf.known([tmp_path]) == {}


def test_the_oldest_files_go_first(shelf: Learned, executable: Path, tmp_path: Path) -> None:
    for number in range(MOST_FILES + 3):
        shelf.learn("mine", str(executable), Profile(version=str(number)), [tmp_path / str(number)])
        for kind in ("servers", "places"):
            for file in (shelf.folder / kind).iterdir():
                status = file.stat()
                os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns - 10**9))
    assert len(everything(shelf)) <= 2 * MOST_FILES
    assert shelf.known([tmp_path / "0"]) == {}
    assert list(shelf.known([tmp_path / str(MOST_FILES + 2)])) == ["mine"]


def test_only_so_many_servers_of_a_folder_are_kept(shelf: Learned, executable: Path, tmp_path: Path) -> None:
    for number in range(learned_module.MOST_SERVERS + 2):
        shelf.learn(f"s{number}", str(executable), Profile(version="1"), [tmp_path])
    found = list(shelf.known([tmp_path]))
    assert len(found) == learned_module.MOST_SERVERS
    assert found[0] == "s2"


def test_nothing_half_written_is_left(shelf: Learned, executable: Path, tmp_path: Path) -> None:
    shelf.learn("mine", str(executable), WHOLE, [tmp_path])
    before = [(file, file.read_bytes()) for file in everything(shelf)]
    shelf.learn("mine", str(executable), WHOLE, [tmp_path])
    assert [(file, file.read_bytes()) for file in everything(shelf)] == before
    assert all(file.suffix == ".json" for file, _ in before)


@pytest.mark.parametrize("said", ["absolute", "relative", ""])
def test_the_cache_folder_is_the_one_that_everybody_uses(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str
) -> None:
    value = {"absolute": str(tmp_path), "relative": "cache", "": ""}[said]
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    if said == "relative":
        assert cache_folder().is_absolute(), "it would lie in the workspace (T3)"
    else:
        assert cache_folder() == Path(platformdirs.user_cache_dir("ombud", appauthor=False))
