"""Which files the graph reads, which it leaves out and why, and what it notices of changes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from ombud.graph import sources
from ombud.graph.census import Census, Protected
from ombud.graph.extract import LANGUAGES
from ombud.graph.glance import CONFIGURATION
from ombud.guard import handles

OLD = 1_500_000_000
"""A time so long ago that a stamp is believed."""


def lay(root: Path, files: dict[str, str | bytes]) -> None:
    """Files with old stamps."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def census(root: Path, **rules: list[str]) -> Census:
    return Census(root.resolve(), Protected(**rules), LANGUAGES)


def settled(root: Path) -> Census:
    """A census that has seen everything, and believes its stamps."""
    found = census(root)
    found.walk()
    for path in found.languages_of:
        stamp = found.stamp(path)
        found.settle(path, stamp[1], stamp[0])
    return found


# -- names ------------------------------------------------------------------------------------------------------

PY = "python"
LAID: list[tuple[dict[str, str | bytes], dict[str, str], dict[str, int]]] = [
    ({"a.py": "", "b.TS": "", "c.md": "", "Makefile": ""}, {"a.py": PY, "b.TS": "typescript"}, {}),
    ({"tool": "#!/usr/bin/env python3\n", "LICENSE": "free"}, {"tool": PY}, {}),
    ({"tsconfig.base.json": "{}", "x.json": "{}"}, {"tsconfig.base.json": CONFIGURATION}, {}),
    ({".gitignore": "out/\n*.gen.py\n", "out/a.py": "", "b.gen.py": "", "c.py": ""}, {"c.py": PY}, {}),
    ({".gitignore": "*.py\n!keep.py\n", "x/keep.py": "", "x/a.py": ""}, {"x/keep.py": PY}, {}),
    ({"x/.gitignore": "/a.py\n", "x/a.py": "", "x/y/a.py": "", "a.py": ""}, {"x/y/a.py": PY, "a.py": PY}, {}),
    ({".git/info/exclude": "mine.py\n", "mine.py": "", "a.py": ""}, {"a.py": PY}, {}),
    ({"node_modules/p/i.js": "", "node_modules/p/r.md": "", "a.js": ""}, {"a.js": "javascript"}, {"vendored": 1}),
    ({"go.mod": "module x", "vendor/v.go": "", "a.go": ""}, {"a.go": "go", "go.mod": CONFIGURATION}, {"vendored": 1}),
    ({"vendor/v.py": ""}, {"vendor/v.py": PY}, {}),
    ({"build/lib.py": "", "dist/x.py": ""}, {"build/lib.py": PY, "dist/x.py": PY}, {}),
    ({"target/CACHEDIR.TAG": "", "target/a.rs": "", "a.rs": ""}, {"a.rs": "rust"}, {}),
    ({"env/pyvenv.cfg": "", "env/lib/x.py": "", "a.py": ""}, {"a.py": PY}, {}),
    ({"jquery.min.js": "", "a-min.js": "", "admin.js": ""}, {"admin.js": "javascript"}, {"minified": 2}),
    ({"id_rsa.py": "", ".ssh/x.py": "", "src/idle.py": ""}, {"src/idle.py": PY}, {"sensitive": 2}),
    ({"id_dir/a.py": ""}, {"id_dir/a.py": PY}, {}),
    ({"__pycache__/a.py": "", ".tox/a.py": "", ".git/hooks/a.py": ""}, {}, {}),
]


@pytest.mark.parametrize(("files", "indexed", "skipped"), LAID)
def test_names(tmp_path: Path, files: dict[str, str | bytes], indexed: dict[str, str], skipped: dict[str, int]) -> None:
    lay(tmp_path, files)
    found = census(tmp_path)
    found.walk()
    assert found.languages_of == indexed
    assert dict(found.skipped()) == skipped
    assert all(found.language(path) == language for path, language in indexed.items())


def test_ignore_files_above_the_root(tmp_path: Path) -> None:
    """A root that is a part of a repository: what the repository leaves out is left out of it."""
    lay(tmp_path, {".git/HEAD": "", ".gitignore": "*.out.py\n/part/no.py\n"})
    lay(tmp_path / "part", {"a.out.py": "", "no.py": "", "a.py": ""})
    found = census(tmp_path / "part")
    found.walk()
    assert set(found.languages_of) == {"a.py"}


def test_root_that_is_ignored_itself(tmp_path: Path) -> None:
    lay(tmp_path, {".git/HEAD": "", ".gitignore": "/part/\n*.py\n", "part/a.py": ""})
    found = census(tmp_path / "part")
    found.walk()
    assert set(found.languages_of) == {"a.py"}


def test_the_users_own_protected_names(tmp_path: Path) -> None:
    lay(tmp_path, {"secret/a.py": "", "id_map.py": "", "b.py": ""})
    found = census(tmp_path, add=["secret/"], allow=["id_map.py"])
    found.walk()
    assert set(found.languages_of) == {"id_map.py", "b.py"}


def test_links_pipes_and_names_that_are_no_text(tmp_path: Path) -> None:
    lay(tmp_path, {"a/b.py": "x = 1\n"})
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "c.py").symlink_to(tmp_path / "a" / "b.py")
    os.mkfifo(tmp_path / "pipe.py")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/n\xff.py")).touch()
    found = census(tmp_path)
    found.walk()
    assert set(found.languages_of) == {"a/b.py"}
    assert dict(found.skipped()) == {sources.UNTYPICAL: 1, sources.UNNAMEABLE: 1}


# -- changes ----------------------------------------------------------------------------------------------------


def replaced(root: Path) -> None:
    """In place, of the same size, with the time that it had."""
    path = root / "a.py"
    before = path.stat()
    path.write_text("b = 2\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def moved(root: Path) -> None:
    (root / "x").rename(root / "z")


CHANGES: list[tuple[str, Callable[[Path], object], set[str], set[str]]] = [
    ("nothing", lambda root: None, set(), set()),
    ("edited", lambda root: (root / "a.py").write_text("b = 3\nc = 4\n"), {"a.py"}, set()),
    ("edited in secret", replaced, {"a.py"}, set()),
    ("new", lambda root: (root / "x" / "n.py").touch(), {"x/n.py"}, set()),
    ("gone", lambda root: (root / "x" / "y" / "c.py").unlink(), {"x/y/c.py"}, {"x/y/c.py"}),
    ("new folders", lambda root: lay(root, {"p/q/r.py": ""}), {"p/q/r.py"}, set()),
    ("folder moved", moved, {"x/b.py", "x/y/c.py", "z/b.py", "z/y/c.py"}, {"x/b.py", "x/y/c.py"}),
    ("ignored", lambda root: lay(root, {".gitignore": "x/\n"}), {"x/b.py", "x/y/c.py"}, {"x/b.py", "x/y/c.py"}),
    ("marked", lambda root: lay(root, {"x/pyvenv.cfg": ""}), {"x/b.py", "x/y/c.py"}, {"x/b.py", "x/y/c.py"}),
    ("a shebang", lambda root: lay(root, {"tool": "#!/bin/sh\n"}), {"tool"}, set()),
]  # fmt: skip


@pytest.mark.parametrize("told", [False, True], ids=["swept", "told"])
@pytest.mark.parametrize(("change", "changed", "gone"), [row[1:] for row in CHANGES], ids=[row[0] for row in CHANGES])
def test_changes(
    tmp_path: Path, change: Callable[[Path], object], changed: set[str], gone: set[str], *, told: bool
) -> None:
    lay(tmp_path, {"a.py": "a = 1\n", "x/b.py": "", "x/y/c.py": ""})
    for path in [*tmp_path.rglob("*"), tmp_path]:
        os.utime(path, (OLD, OLD))
    found = settled(tmp_path)
    before = set(found.languages_of)
    change(tmp_path)
    news = found.told(changed | {".gitignore", "x/pyvenv.cfg"}) if told else found.look()
    assert {path for path in news if path in before or path in found.languages_of} >= changed
    assert before - set(found.languages_of) == gone
    # As somebody would see it who had not seen it before.
    fresh = census(tmp_path)
    fresh.walk()
    assert found.languages_of == fresh.languages_of
    assert all(found.stamp(path) == fresh.stamp(path) for path in fresh.languages_of)


def test_young_stamps_are_not_believed(tmp_path: Path) -> None:
    lay(tmp_path, {"a.py": "a = 1\n"})
    found = census(tmp_path)
    found.walk()
    assert found.look() == {"a.py"}, "it may have changed within the tick of its stamp"
    stamp = found.stamp("a.py")
    found.settle("a.py", stamp[1], stamp[0])
    assert found.look() == set()


# -- texts ------------------------------------------------------------------------------------------------------

TEXTS: list[tuple[str, bytes, str, tuple[str, ...]]] = [
    ("python", b"a = 1\n", "", ()),
    ("python", b"\xef\xbb\xbfa = 1\n", "", ()),
    ("python", b"a = '\xff'\n", "", (sources.INVALID_UTF8,)),
    ("python", "a = 1\n".encode("utf-16"), "", (sources.UTF16,)),
    ("python", b"\xff\xfea", sources.BINARY, ()),
    ("python", b"a\0b", sources.BINARY, ()),
    ("python", b"x" * 9000 + b"\0", sources.MINIFIED, ()),
    ("python", b"[" * 100_000, sources.MINIFIED, ()),
    ("python", b"x = 1\n" * 900 + b"y = '" + b"z" * 30_000 + b"'\n" + b"x = 1\n" * 9000, "", ()),
    ("javascript", b"x = 1\n" * 900 + b"y = '" + b"z" * 30_000 + b"'\n" + b"x = 1\n" * 9000, sources.MINIFIED, ()),
    ("javascript", b"var a=" + b"1+" * 900, "", ()),
    ("go", b"// Code generated by x. DO NOT EDIT.\npackage a\n", "", (sources.GENERATED,)),
]


@pytest.mark.parametrize(("language", "data", "reason", "notes"), TEXTS)
def test_texts(language: str, data: bytes, reason: str, notes: tuple[str, ...]) -> None:
    found = sources.source("x", language, data, LANGUAGES)
    assert found is not None
    assert (found.language, found.reason, found.notes) == (language, reason, notes)
    assert not found.text.startswith(b"\xef\xbb\xbf")
    found.text.decode()


def test_a_first_line_that_says_nothing() -> None:
    assert sources.source("x", "", b"hello", LANGUAGES) is None


def test_reading(tmp_path: Path) -> None:
    lay(tmp_path, {"a.py": "a = 1\n"})
    with (tmp_path / "huge.py").open("wb") as file:
        file.truncate(50 << 20)
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "link.py").symlink_to("a.py")
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    lay(outside, {"b.py": "secret"})
    (tmp_path / "way").symlink_to(outside)
    assert sources.read(tmp_path, "a.py").data == b"a = 1\n"
    reasons = {name: sources.read(tmp_path, name) for name in ("huge.py", "pipe.py", "link.py", "way/b.py")}
    assert {name: (one.reason, one.data) for name, one in reasons.items()} == {
        "huge.py": (sources.HUGE, b""),
        **dict.fromkeys(("pipe.py", "link.py", "way/b.py"), (sources.UNTYPICAL, b"")),
    }
    with pytest.raises(FileNotFoundError):
        sources.read(tmp_path, "none.py")


@pytest.mark.parametrize(("times", "reason"), [(1, ""), (9, sources.UNSTEADY)])
def test_a_file_that_changes_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int, reason: str
) -> None:
    path = tmp_path / "a.py"
    path.write_text("a = 1\n")
    whole, left = handles.read_all, [times]

    def meddled(fd: int, limit: int, shown: str, expected: int) -> bytes:
        data = whole(fd, limit, shown, expected)
        if left[0]:
            left[0] -= 1
            writer = threading.Thread(target=lambda: path.open("a").write("b = 2\n"))
            writer.start()
            writer.join(20)
        return data

    monkeypatch.setattr(sources, "read_all", meddled)
    found = sources.read(tmp_path, "a.py")
    assert (found.reason, found.data) == (reason, b"" if reason else b"a = 1\nb = 2\n")


def test_a_young_file_has_no_time(tmp_path: Path) -> None:
    lay(tmp_path, {"a.py": ""})
    assert sources.read(tmp_path, "a.py").mtime_ns == 0
