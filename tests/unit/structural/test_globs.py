"""Globs of a caller: what lets in, what leaves out, and that the last one decides."""

from __future__ import annotations

import pytest
from ombud.structural.globs import Globs


@pytest.mark.parametrize(
    ("globs", "path", "expected"),
    [
        ([], "a/b.py", True),
        (["*.py"], "a/b.py", True),
        (["*.py"], "a/b.ts", False),
        (["!*.py"], "a/b.py", False),
        (["!*.py"], "a/b.ts", True),
        (["*.py", "!test_*"], "a/test_b.py", False),
        (["!test_*", "*.py"], "a/test_b.py", True),
        (["src/**/*.ts"], "src/a/b/c.ts", True),
        (["src/**/*.ts"], "src/c.ts", True),
        (["src/**/*.ts"], "other/src/c.ts", False),
        (["./src/*.ts"], "src/c.ts", True),
        (["src/"], "src/a/c.ts", True),
        (["src"], "src/a/c.ts", True),
        (["src/", "!src/gen/"], "src/gen/c.ts", False),
        (["src/", "!src/gen/", "src/gen/keep.ts"], "src/gen/keep.ts", True),
        (["!vendor"], "a/vendor/b.py", False),
        (["*.py", "!lib/"], "lib/a/b.py", False),
        (["!lib/", "*.py"], "lib/a/b.py", True),
        (["/a.py"], "a.py", True),
        (["/a.py"], "b/a.py", False),
        (["#odd.py"], "#odd.py", True),
        (["a\n!a"], "a", False),
        (["*.{py,ts}"], "a/b.py", True),
        (["*.{py,ts}"], "a/b.ts", True),
        (["!*.{py,ts}"], "a/b.ts", False),
        (["{src,lib}/**"], "lib/a.ts", True),
        ([""], "a.py", True),
        (["!"], "a.py", True),
    ],
)
def test_a_file_is_let_in(globs: list[str], path: str, expected: bool) -> None:
    assert Globs(globs).let_in(path) is expected
