"""A file as a source: bytes that parsers read, or the reason why not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ombud.syntax import source as sources
from ombud.text.buffer import decode

LONG_AGO = 1_600_000_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path.resolve()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"x = 1\n", b"x = 1\n"),
        ("é\r\n".encode(), "é\r\n".encode()),
        (b"\xef\xbb\xbfx = 1\r\n", b"x = 1\r\n"),
        ("x = 'é'\n".encode("utf-16"), "x = 'é'\n".encode()),
        ("x = 1\n".encode("utf-32"), b"x = 1\n"),
        ("é = 1\n".encode("latin-1"), "é = 1\n".encode()),
        (b"a\0b", None),
        (b"\xff\xfea", None),
        (b"", b""),
    ],
)
def test_text_is_utf8_without_a_mark(data: bytes, expected: bytes | None) -> None:
    assert sources.source(data) == expected
    if expected is not None:
        assert decode(data).text.encode() == expected


def test_a_file_is_read_with_its_stamp(root: Path) -> None:
    (root / "a.py").write_bytes(b"x = 1\n")
    young = sources.read(str(root), "a.py")
    assert (young.data, young.reason, young.sure) == (b"x = 1\n", "", False)
    status = (root / "a.py").stat()
    assert young.stamp == (status.st_mtime_ns, status.st_size, status.st_ctime_ns, status.st_ino)


def test_what_is_wrong_with_a_file_is_the_reason(root: Path) -> None:
    (root / "large.py").write_bytes(b"x" * 11)
    (root / "folder.py").mkdir()
    os.mkfifo(root / "pipe.py")
    (root / "link.py").symlink_to(root / "large.py")
    reasons = {name: sources.read(str(root), name, 10).reason for name in sorted(os.listdir(root))}
    assert reasons == {
        "large.py": sources.HUGE,
        "folder.py": sources.UNTYPICAL,
        "pipe.py": sources.UNTYPICAL,
        "link.py": sources.UNTYPICAL,
    }
    assert sources.read(str(root), "none.py").reason == sources.GONE
    assert sources.read(str(root), "large.py", 11).data == b"x" * 11


def test_a_folder_that_became_a_link_leads_nowhere(root: Path) -> None:
    (root / "outside").mkdir()
    (root / "outside" / "a.py").write_bytes(b"secret")
    (root / "inside").mkdir()
    (root / "inside" / "sub").symlink_to(root / "outside")
    found = sources.read(str(root / "inside"), "sub/a.py")
    assert (found.data, found.reason) == (b"", sources.UNTYPICAL)


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        (b"a=1;" * 2000, "javascript", True),
        (b"x = 1\n" * 2000, "javascript", False),
        (b"x = 1\n" * 200_000 + b"y" * 20_001, "javascript", True),
        (b"x = 1\n" * 200_000 + b"y" * 20_001, "python", False),
        (b"y" * 4000, "javascript", False),
    ],
)
def test_squeezed_files_are_known_by_their_lines(text: bytes, language: str, expected: bool) -> None:
    assert sources.is_minified(text, language) is expected
