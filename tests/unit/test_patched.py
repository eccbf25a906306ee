"""What a patch over several files leaves: in order, all or nothing, one edition for each path; and as git does it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from ombud.errors import OmbudError
from ombud.operations.writing.patched import Patched
from ombud.operations.writing.plan import Edition
from ombud.text.patch import parse
from ombud.workspace.commit import commit

from tests.commits import Scene, left_over, scene, snapshot

Tree = dict[str, tuple[bytes, int]]
ABC = "a\nb\nc\n"
C = "@@ -3 +3 @@\n-c\n+C\n"


@pytest.fixture
def made(tmp_path: Path) -> Scene:
    ready = scene(tmp_path)
    ready.file("x", ABC.encode())
    ready.file("y", b"other\n")
    ready.file("tool", b"run\n", 0o755)
    ready.file("bin", b"\0\1\2")
    ready.file("empty", b"")
    ready.file("d/z", ABC.encode())
    ready.file(".env", b"SECRET=1\n")
    (ready.root / "link").symlink_to("x")
    return ready


def editions(made: Scene, patch: str) -> tuple[Edition, ...]:
    session: Any = SimpleNamespace(fence=made.fence)
    return Patched(session).carry_out(parse(patch))


def applied(made: Scene, patch: str) -> list[tuple[str, str]]:
    """Commits a patch; answers ``(kind, path)`` of what was done."""
    done = editions(made, patch)
    commit(made.fence, [edition.change for edition in done], made.journals)
    assert left_over(made) == []
    return [(edition.kind, edition.target.relative) for edition in done]


def changed(made: Scene, before: dict[str, Any]) -> dict[str, str | None]:
    """The files that are not what they were, as text; None for those that are gone."""
    after = snapshot(made.root)
    paths = [path for path in {**before, **after} if before.get(path) != after.get(path)]
    files = [path for path in paths if "folder" not in (before.get(path) or after[path])]
    return {path: after[path][0].decode() if path in after else None for path in files}


def git(old: str, new: str, *lines: str) -> str:
    return "".join(f"{line}\n" for line in (f"diff --git a/{old} b/{new}", *lines))


def edit(path: str) -> str:
    return f"--- a/{path}\n+++ b/{path}\n{C}"


def new(path: str, text: str = "new") -> str:
    return f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{text}\n"


def gone(path: str) -> str:
    return f"--- a/{path}\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-a\n-b\n-c\n"


def move(old: str, to: str, *more: str) -> str:
    return git(old, to, "similarity index 90%", f"rename from {old}", f"rename to {to}", *more)


CHANGED = "a\nb\nC\n"


@pytest.mark.parametrize(
    ("patch", "done", "files"),
    [
        (edit("x"), [("modify", "x")], {"x": CHANGED}),
        (new("n/e/w"), [("create", "n/e/w")], {"n/e/w": "new\n"}),
        (gone("x"), [("delete", "x")], {"x": None, "link": None}),
        (git("n", "n", "new file mode 100644"), [("create", "n")], {"n": ""}),
        (git("empty", "empty", "deleted file mode 100644"), [("delete", "empty")], {"empty": None}),
        (move("x", "n/w"), [("rename", "n/w")], {"x": None, "n/w": ABC}),
        (move("x", "w", "--- a/x", "+++ b/w") + C, [("rename", "w")], {"x": None, "w": CHANGED}),
        (f"--- a/x\n+++ b/w\n{C}", [("rename", "w")], {"x": None, "w": CHANGED}),
        (git("x", "w", "copy from x", "copy to w", "--- a/x", "+++ b/w") + C, [("create", "w")], {"w": CHANGED}),
        (move("bin", "w"), [("rename", "w")], {"bin": None, "w": "\0\1\2"}),
        (git("bin", "w", "copy from bin", "copy to w"), [("create", "w")], {"w": "\0\1\2"}),
        # Both the file and its name as written without prefixes.
        (f"--- d/z\n+++ d/z\n{C}", [("modify", "d/z")], {"d/z": CHANGED}),
        (f"--- a/x\n+++ a/x\n{C}", [("modify", "x")], {"x": CHANGED}),
        (f"--- x.orig\n+++ x\n{C}", [("modify", "x")], {"x": CHANGED}),
        (f"--- old/d/z\n+++ new/d/z\n{C}", [("modify", "d/z")], {"d/z": CHANGED}),
        # A new file, whatever its first line says.
        ("--- a/n\n+++ b/n\n@@ -0,0 +1 @@\n+new\n", [("create", "n")], {"n": "new\n"}),
        ("--- a/empty\n+++ b/empty\n@@ -0,0 +1 @@\n+new\n", [("modify", "empty")], {"empty": "new\n"}),
    ],
)
def test_each_kind_of_change(
    made: Scene, patch: str, done: list[tuple[str, str]], files: dict[str, str | None]
) -> None:
    before = snapshot(made.root)
    assert applied(made, patch) == done
    # The link shows what it leads to only as its own target.
    assert {path: text for path, text in changed(made, before).items() if path != "link"} == {
        path: text for path, text in files.items() if path != "link"
    }


@pytest.mark.parametrize(
    ("patch", "done", "files"),
    [
        (move("x", "w") + edit("w"), [("rename", "w")], {"x": None, "w": CHANGED}),
        (edit("x") + move("x", "w"), [("rename", "w")], {"x": None, "w": CHANGED}),
        (move("x", "w") + move("w", "v"), [("rename", "v")], {"x": None, "v": ABC}),
        (edit("x") + "--- a/x\n+++ b/x\n@@ -3 +3 @@\n-C\n+D\n", [("modify", "x")], {"x": "a\nb\nD\n"}),
        (new("w", "c") + "--- a/w\n+++ b/w\n@@ -1 +1 @@\n-c\n+C\n", [("create", "w")], {"w": "C\n"}),
        (gone("x") + new("x"), [("modify", "x")], {"x": "new\n"}),
        (move("x", "w") + new("x"), [("modify", "x"), ("create", "w")], {"x": "new\n", "w": ABC}),
        (new("w") + move("w", "v"), [("create", "v")], {"v": "new\n"}),
        (gone("x") + move("y", "x"), [("modify", "x"), ("delete", "y")], {"x": "other\n", "y": None}),
        # Two files change places.
        (
            move("x", "w") + move("y", "x") + move("w", "y"),
            [("modify", "x"), ("modify", "y")],
            {"x": "other\n", "y": ABC},
        ),
        (
            git("x", "w", "copy from x", "copy to w") + edit("x"),
            [("modify", "x"), ("create", "w")],
            {"x": CHANGED, "w": ABC},
        ),
        (new("w") + "--- a/w\n+++ /dev/null\n@@ -1 +0,0 @@\n-new\n" + edit("x"), [("modify", "x")], {"x": CHANGED}),
        # Git's parts know no order: a place may be taken before it is free, a copy is of the original.
        (move("x", "y") + move("y", "x"), [("modify", "x"), ("modify", "y")], {"x": "other\n", "y": ABC}),
        (
            git("x", "x", "--- a/x", "+++ b/x") + C + git("x", "w", "copy from x", "copy to w"),
            [("modify", "x"), ("create", "w")],
            {"x": CHANGED, "w": ABC},
        ),
        # Two names of one file: the second hunk sees what the first one left.
        (edit("x") + "--- a/link\n+++ b/link\n@@ -3 +3 @@\n-C\n+D\n", [("modify", "x")], {"x": "a\nb\nD\n"}),
    ],
)
def test_C5_parts_of_one_patch_follow_each_other(
    made: Scene, patch: str, done: list[tuple[str, str]], files: dict[str, str | None]
) -> None:
    before = snapshot(made.root)
    assert applied(made, patch) == done
    assert changed(made, before) == files
    assert (made.root / "link").is_symlink()


@pytest.mark.parametrize(
    ("patch", "kind", "words"),
    [
        (edit("k"), "not_found", "k does not exist"),
        (gone("k"), "not_found", "k does not exist"),
        (move("k", "w"), "not_found", "k does not exist"),
        (gone("x") + edit("x"), "not_found", "not there any more"),
        (move("x", "w") + edit("x"), "not_found", "not there any more"),
        (new("y"), "conflict", "y exists already"),
        (new("empty"), "conflict", "empty exists already"),
        (new("d"), "conflict", "d exists already"),
        (move("x", "y"), "conflict", "y exists already"),
        (move("x", "link"), "conflict", "x exists already"),
        (git("x", "y", "copy from x", "copy to y"), "conflict", "y exists already"),
        (new("w") + move("x", "w"), "conflict", "w exists already"),
        (new("w") + new("w/v"), "conflict", "cannot both be files"),
        (new("x/v"), "not_found", "as if it were a folder"),
        ("--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n", "conflict", "holds more"),
        ("--- a/x\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-a\n-b\n-k\n", "conflict", "does not fit"),
        (git("x", "x", "deleted file mode 100644"), "conflict", "holds more"),
        (git("bin", "bin", "deleted file mode 100644"), "not_text", "bin is not a text file"),
        (edit("bin"), "not_text", "bin is not a text file"),
        (edit("d"), "not_text", "d is a folder"),
        ("--- a/link\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-a\n-b\n-c\n", "conflict", "symbolic link"),
        (move("link", "w"), "conflict", "symbolic link"),
        (new("w") + "--- a/w\n+++ /dev/null\n@@ -1 +0,0 @@\n-new\n", "invalid_params", "nothing to write"),
        # Where the second file's hunk does not fit, nor does the first one's count.
        (edit("x") + edit("y"), "conflict", "hunk of y"),
    ],
)
def test_what_cannot_be_done_is_refused_whole(made: Scene, patch: str, kind: str, words: str) -> None:
    before = snapshot(made.root)
    with pytest.raises(OmbudError, match=words) as caught:
        applied(made, edit("d/z") + patch if "nothing to write" not in words else patch)
    assert caught.value.kind == kind
    assert snapshot(made.root) == before


def paths_of(path: str) -> list[str]:
    return [edit(path), new(path), move("x", path), move(path, "w"), git("x", "x", "copy from x", f"copy to {path}")]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (".env", "sensitive_path"),
        (".ENV.local", "sensitive_path"),
        ("d/.git/config", "sensitive_path"),
        ("../outside", "outside_workspace"),
        ("d/../../outside", "outside_workspace"),
        ("/etc/hosts", "outside_workspace"),
        ("out/x", "outside_workspace"),
    ],
)
@pytest.mark.parametrize("which", range(5), ids=["modify", "create", "rename to", "rename from", "copy to"])
def test_F6_both_sides_of_every_part_pass_the_fence(made: Scene, path: str, kind: str, which: int) -> None:
    (made.root.parent / "outside").write_bytes(ABC.encode())
    (made.root / "out").symlink_to(made.root.parent)
    before = snapshot(made.root)
    with pytest.raises(OmbudError) as caught:
        applied(made, edit("d/z") + paths_of(path)[which])
    assert caught.value.kind == kind
    assert snapshot(made.root) == before


def test_F8_a_leading_dash_is_only_a_name(made: Scene) -> None:
    assert applied(made, new("-rf") + new("--output=x")) == [("create", "-rf"), ("create", "--output=x")]
    assert (made.root / "-rf").read_bytes() == b"new\n"


# -- bytes and modes


@pytest.mark.parametrize(
    ("data", "after"),
    [
        (b"\xef\xbb\xbfa\r\nb\r\nc\r\n", b"\xef\xbb\xbfa\r\nb\r\nC\r\n"),
        ("\ufeffa\nb\nc\n".encode("utf-16-le"), "\ufeffa\nb\nC\n".encode("utf-16-le")),
        ("\ufeffa\r\nb\r\nc\r\n".encode("utf-16-be"), "\ufeffa\r\nb\r\nC\r\n".encode("utf-16-be")),
        (b"\xe4\nb\nc\n", b"\xe4\nb\nC\n"),
    ],
)
def test_C6_encoding_mark_and_line_ends_stay(made: Scene, data: bytes, after: bytes) -> None:
    made.file("m", data)
    applied(made, edit("m"))
    assert (made.root / "m").read_bytes() == after


@pytest.mark.parametrize(
    ("data", "hunk", "after"),
    [
        (b"\xef\xbb\xbfa\nb\n", "@@ -1,2 +1,2 @@\n-a\n+A\n b\n", b"\xef\xbb\xbfA\nb\n"),
        (b"\xef\xbb\xbfa\nb\n", "@@ -1,2 +1,2 @@\n-\ufeffa\n+\ufeffA\n b\n", b"\xef\xbb\xbfA\nb\n"),
        (b"\xef\xbb\xbfa\nb\n", "@@ -1,2 +1,2 @@\n \ufeffa\n-b\n+B\n", b"\xef\xbb\xbfa\nB\n"),
        (b"\xef\xbb\xbfa\nb\n", "@@ -1,2 +1,2 @@\n-\ufeffa\n+a\n b\n", b"a\nb\n"),
        (b"a\nb\n", "@@ -1,2 +1,2 @@\n-a\n+\ufeffa\n b\n", b"\xef\xbb\xbfa\nb\n"),
    ],
)
def test_C6_a_byte_order_mark_in_the_patch(made: Scene, data: bytes, hunk: str, after: bytes) -> None:
    made.file("m", data)
    (edition,) = editions(made, f"--- a/m\n+++ b/m\n{hunk}")
    assert edition.after == after
    assert edition.new is not None and not edition.new.startswith("\ufeff")


def test_C6_what_an_encoding_cannot_hold_is_refused(made: Scene) -> None:
    made.file("m", b"\xe4\nb\nc\n")
    with pytest.raises(OmbudError) as caught:
        applied(made, edit("m").replace("+C", "+→"))
    assert caught.value.kind == "not_text"
    assert (made.root / "m").read_bytes() == b"\xe4\nb\nc\n"


def mode_of(made: Scene, path: str) -> int:
    return (made.root / path).stat().st_mode & 0o777


MODE = ("old mode 100644", "new mode 100755")


@pytest.mark.parametrize(
    ("patch", "path", "mode"),
    [
        (git("x", "x", *MODE), "x", 0o755),
        (git("x", "x", *MODE, "--- a/x", "+++ b/x") + C, "x", 0o755),
        (git("bin", "bin", *MODE), "bin", 0o755),
        (git("tool", "tool", "old mode 100755", "new mode 100644"), "tool", 0o644),
        (git("n", "n", "new file mode 100755"), "n", 0o755),
        (git("x", "w", *MODE, "rename from x", "rename to w"), "w", 0o755),
        (git("x", "x", *MODE) + edit("x"), "x", 0o755),
        # Nothing said of it: it stays, also where the file moves.
        ("--- a/tool\n+++ b/tool\n@@ -1 +1 @@\n-run\n+walk\n", "tool", 0o755),
        (move("tool", "w"), "w", 0o755),
        (git("tool", "w", "copy from tool", "copy to w"), "w", 0o755),
        (move("tool", "w") + new("tool"), "w", 0o755),
        (gone("x") + move("tool", "x"), "x", 0o755),
    ],
)
def test_C8_modes_are_kept_or_set(made: Scene, patch: str, path: str, mode: int) -> None:
    applied(made, patch)
    assert mode_of(made, path) == mode


def test_C8_links_stay_links_and_names_stay_together(made: Scene) -> None:
    os.link(made.root / "d/z", made.root / "twin")
    applied(made, edit("link") + edit("twin"))
    assert (made.root / "link").is_symlink()
    assert (made.root / "x").read_text() == CHANGED
    assert (made.root / "d/z").read_text() == CHANGED
    assert (made.root / "d/z").samefile(made.root / "twin")


# -- git

ENVIRONMENT = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
TEXTS = st.lists(st.sampled_from(["one", "two", "three", "four", "", "-- x"]), min_size=1, max_size=12).map(
    lambda lines: "".join(f"{line}\n" for line in lines).encode()
)
NAMES = ["a/x.py", "b/x.py", "a b/c d", "ä/ö.txt", 'q"uote', "plain", "-dash"]
TREES = st.dictionaries(st.sampled_from(NAMES), st.tuples(TEXTS, st.sampled_from([0o644, 0o755])), max_size=5)


def write_tree(folder: Path, tree: Tree) -> str:
    """Puts the files of a tree in place of all others in a repository; answers git's name for it."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if ".git" not in path.relative_to(folder).parts:
            path.rmdir() if path.is_dir() else path.unlink()
    for name, (data, mode) in tree.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
        (folder / name).chmod(mode)
    run_git(folder, "add", "-A")
    return run_git(folder, "write-tree").decode().strip()


def run_git(folder: Path, *arguments: str) -> bytes:
    return subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, check=True, env=ENVIRONMENT, timeout=60
    ).stdout


def read_tree(folder: Path) -> Tree:
    files = [path for path in folder.rglob("*") if path.is_file() and ".git" not in path.relative_to(folder).parts]
    return {path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mode & 0o777) for path in files}


@settings(max_examples=25)
@given(
    before=TREES,
    after=TREES,
    keep=st.dictionaries(st.sampled_from(NAMES), st.sampled_from(NAMES)),
    flags=st.sampled_from([[], ["--no-prefix"], ["-U1"], ["--src-prefix=i/", "--dst-prefix=w/"], ["-B"]]),
)
def test_a_patch_of_gits_makes_the_tree_that_git_made_it_of(
    tmp_path_factory: pytest.TempPathFactory, before: Tree, after: Tree, keep: dict[str, str], flags: list[str]
) -> None:
    # Some files go on under other names, so that git sees renames and copies.
    after = {**after, **{to: before[name] for name, to in keep.items() if name in before}}
    assume(before != after)
    made = scene(tmp_path_factory.mktemp("git"))
    run_git(made.root, "init", "-q")
    there = write_tree(made.root, after)
    here = write_tree(made.root, before)
    patch = run_git(made.root, "diff-tree", "-r", "-p", "-M", "-C", "--find-copies-harder", *flags, here, there)
    applied(made, patch.decode())
    assert read_tree(made.root) == after
