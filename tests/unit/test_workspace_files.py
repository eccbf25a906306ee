"""Reading files for work."""

from __future__ import annotations

from pathlib import Path

import pytest
from ombud.errors import Refused
from ombud.workspace.files import read

from tests.commits import scene


def test_a_file_is_captured_with_its_text_and_what_it_is(tmp_path: Path) -> None:
    made = scene(tmp_path)
    made.file("a.py", b"\xef\xbb\xbfx = 1\r\n", 0o755)
    captured = read(made.fence, made.fence.resolve("a.py", intent="read"), 100)
    assert captured.bytes == b"\xef\xbb\xbfx = 1\r\n"
    assert captured.text == "x = 1\r\n"
    assert captured.buffer.eol == "\r\n"
    assert captured.buffer.name == "a.py"
    assert captured.stat.mode & 0o777 == 0o755
    assert captured.stat.ino == (made.root / "a.py").stat().st_ino


@pytest.mark.parametrize(("data", "kind"), [(b"\0\1", "not_text"), (b"x" * 101, "too_large")])
def test_what_is_no_text_or_too_large_is_refused_by_name(tmp_path: Path, data: bytes, kind: str) -> None:
    made = scene(tmp_path)
    made.file("pack/a.bin", data)
    with pytest.raises(Refused, match=r"pack/a\.bin") as caught:
        read(made.fence, made.fence.resolve("pack/a.bin", intent="read"), 100)
    assert caught.value.kind == kind
