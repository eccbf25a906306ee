"""Rows C1 and F4: what others do to the files between capture, check and change; nothing of theirs is ever lost."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ombud.errors import Refused
from ombud.workspace.change import Change
from ombud.workspace.commit import commit
from ombud.workspace.recover import recover

from tests.commits import Counter, Scene, failing, interposed, left_over, portrait, scene

THEIRS = b"a person's, saved at that moment\n"


@pytest.fixture
def made(tmp_path: Path) -> Scene:
    return prepared(tmp_path)


def prepared(folder: Path) -> Scene:
    built = scene(folder)
    for name in ("a.py", "sub/b.py", "sub/c.py", "d.py"):
        built.file(name, b"old " + name.encode() + b"\n")
    built.file("twin.py", b"old twin\n" * 9)
    os.link(built.root / "twin.py", built.root / "other-twin.py")
    return built


def changes_of(made: Scene) -> list[Change]:
    return [
        made.modify("a.py", b"new a\n"),
        made.modify("sub/b.py", b"new b\n"),
        made.delete("sub/c.py"),
        made.rename("d.py", "e.py", b"new d\n"),
        made.modify("twin.py", b"new twin\n" * 20),
        made.create("fresh/f.py", b"new f\n"),
    ]


def save_by_renaming(path: Path) -> None:
    """As most editors save: a new file takes the name."""
    other = path.with_name("theirs.tmp")
    other.write_bytes(THEIRS)
    other.rename(path)


def save_in_place(path: Path) -> None:
    path.write_bytes(THEIRS)


def remove(path: Path) -> None:
    path.unlink()


def link_away(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.parents[2] / "outside.py")


def make_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


MEDDLING: list[Callable[[Path], None]] = [save_by_renaming, save_in_place, remove, link_away, make_a_folder]


def meddled(made: Scene, path: Path, meddle: Callable[[Path], None], when: Callable[[str, Any], bool]) -> Refused:
    """The refusal of a commit during which ``meddle`` was done, once, right before the first call that is ``when``."""
    outside = made.root.parent / "outside.py"
    outside.write_bytes(b"outside\n")
    changes = changes_of(made)
    before = portrait(made.root)
    theirs: list[Any] = []

    def act(name: str, real: Any, args: Any, named: Any) -> Any:
        if not theirs and when(name, args):
            theirs.append(None)
            meddle(path)
            theirs[0] = portrait(made.root).get(path.relative_to(made.root).as_posix())
        return real(*args, **named)

    with interposed(act), pytest.raises(Refused) as caught:
        commit(made.fence, changes, made.journals)
    assert theirs, "the commit never came to that call"
    name = path.relative_to(made.root).as_posix()
    now = portrait(made.root)
    assert now.pop(name, None) == theirs[0], "what the other did stands"
    before.pop(name)
    assert now == before, "and all else is as it was"
    assert left_over(made) == [] and outside.read_bytes() == b"outside\n"
    return caught.value


@pytest.mark.parametrize("meddle", MEDDLING)
@pytest.mark.parametrize("name", ["a.py", "sub/b.py", "sub/c.py", "d.py"])
def test_C1_a_file_changed_between_the_look_at_it_and_the_change_is_left_to_its_owner(
    made: Scene, name: str, meddle: Callable[[Path], None]
) -> None:
    """The temporaries are written by then, and the first file is about to be changed."""
    refused = meddled(made, made.root / name, meddle, lambda call, args: call == "link" and args[0] == "a.py")
    assert refused.kind in ("file_changed", "outside_workspace")


@pytest.mark.parametrize("meddle", [save_by_renaming, save_in_place])
@pytest.mark.parametrize(
    ("name", "call"), [("a.py", "link"), ("sub/b.py", "link"), ("sub/c.py", "replace"), ("d.py", "replace")]
)
def test_C1_a_file_saved_between_the_last_check_and_the_change_itself_is_left_to_its_owner(
    made: Scene, name: str, call: str, meddle: Callable[[Path], None]
) -> None:
    path = made.root / name
    refused = meddled(made, path, meddle, lambda one, args: one == call and args[0] == path.name)
    assert (refused.kind, refused.data["paths"]) == ("file_changed", [name])


@pytest.mark.parametrize("vanish", ["removed", "renamed", "became a link"])
def test_C1_a_folder_that_vanishes_at_any_moment_leaves_all_the_rest_whole(tmp_path: Path, vanish: str) -> None:
    whole = prepared(tmp_path / "whole")
    counter = Counter(0, failing(5))
    with interposed(counter):
        commit(whole.fence, changes_of(whole), whole.journals)
    after = portrait(whole.root)
    kinds = set()
    for at in range(1, counter.count + 1):
        made = prepared(tmp_path / str(at))
        changes = changes_of(made)
        before = portrait(made.root)
        outside = tmp_path / f"outside-{at}"
        shutil.copytree(made.root / "sub", outside)

        def act(_name: str, real: Any, args: Any, named: Any, made: Scene = made, outside: Path = outside) -> Any:
            if vanish == "removed":
                shutil.rmtree(made.root / "sub")
            else:
                (made.root / "sub").rename(made.root.parent / "was-sub")
            if vanish == "became a link":
                (made.root / "sub").symlink_to(outside)
            return real(*args, **named)

        with interposed(Counter(at, act)):
            try:
                commit(made.fence, changes, made.journals)
                kinds.add("written")
            except Refused as refused:
                kinds.add(refused.kind)
        if list(made.journals.glob("*.journal")):
            recover(made.journals)
        now = {name: facts for name, facts in portrait(made.root).items() if not name.startswith("sub")}
        assert now in [
            {name: facts for name, facts in state.items() if not name.startswith("sub")} for state in (before, after)
        ], (at, counter.names[at - 1], kinds)
        assert list(made.journals.glob("*.journal")) == []
        assert portrait(outside).keys() == {"b.py", "c.py"} and (outside / "b.py").read_bytes() == b"old sub/b.py\n"
        if vanish != "removed":
            assert (made.root.parent / "was-sub/b.py").read_bytes() == b"new b\n"
    # A folder that was only moved is written where it is now, as if the move had come afterwards.
    assert (len(kinds) > 1) == (vanish == "removed") and "written" in kinds


@pytest.mark.parametrize("name", ["a.py", "sub/b.py", "sub/c.py", "d.py", "twin.py"])
@pytest.mark.parametrize("meddle", MEDDLING)
def test_C1_a_file_changed_since_it_was_read_refuses_all_before_anything_is_written(
    made: Scene, name: str, meddle: Callable[[Path], None]
) -> None:
    changes = changes_of(made)
    meddle(made.root / name)
    before = portrait(made.root)
    with pytest.raises(Refused) as caught:
        commit(made.fence, changes, made.journals)
    assert (caught.value.kind, caught.value.data["paths"]) == ("file_changed", [name])
    assert portrait(made.root) == before
    assert not made.journals.exists()


def test_F4_a_folder_that_became_a_link_on_the_way_leads_nowhere(made: Scene, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    shutil.copytree(made.root / "sub", outside)
    there = portrait(outside)
    changes = changes_of(made)

    def act(name: str, real: Any, args: Any, named: Any) -> Any:
        if name == "replace" and args[1] == "a.py":
            (made.root / "sub").rename(made.root / "was-sub")
            (made.root / "sub").symlink_to(outside)
        return real(*args, **named)

    with interposed(act):
        # The folder was opened before, so the change is made in it, wherever it is now: never through the link.
        commit(made.fence, changes, made.journals)
    assert portrait(outside) == there
    assert (made.root / "was-sub/b.py").read_bytes() == b"new b\n"
    assert not (made.root / "was-sub/c.py").exists()
