"""Patches read and their hunks applied: what agents and git write, what is mended in it, and what is refused."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from ombud.errors import OmbudError, Refused, UserError
from ombud.text.diff import unified
from ombud.text.hunks import SHOWN, apply
from ombud.text.patch import FilePatch, parse

ABC = "a\nb\nc\nd\ne\nf\ng\n"


def one(patch: str) -> FilePatch:
    """The only file of a patch."""
    (file,) = parse(patch)
    return file


def patched(text: str, patch: str) -> str:
    return apply(text, one(patch).hunks, "x")


def hunked(*hunks: str, eol: str = "\n") -> str:
    """A patch of ``x`` with these hunks; ``|`` stands for its line ends."""
    return "--- a/x\n+++ b/x\n".replace("\n", eol) + "".join(hunk.replace("|", eol) + eol for hunk in hunks)


# -- what is applied


@pytest.mark.parametrize(
    ("text", "patch", "expected"),
    [
        (ABC, hunked("@@ -2,3 +2,3 @@| b|-c|+C| d"), "a\nb\nC\nd\ne\nf\ng\n"),
        (ABC, hunked("@@ -1 +1,2 @@| a|+A"), "a\nA\nb\nc\nd\ne\nf\ng\n"),
        (ABC, hunked("@@ -1,2 +1 @@|-a| b", "@@ -6,2 +5,3 @@| f|+F| g"), "b\nc\nd\ne\nf\nF\ng\n"),
        ("a\nb", hunked("@@ -2 +2 @@|-b|\\ No newline at end of file|+b"), "a\nb\n"),
        ("a\nb\n", hunked("@@ -2 +2 @@|-b|+b|\\ No newline at end of file"), "a\nb"),
        ("a\nb", hunked("@@ -1,2 +1,2 @@|-a|+A| b|\\ No newline at end of file"), "A\nb"),
        ("", hunked("@@ -0,0 +1,2 @@|+a|+b"), "a\nb\n"),
        ("a\nb\n", hunked("@@ -1,2 +0,0 @@|-a|-b"), ""),
        # Lines that themselves look like a patch's, where the counts say what they are.
        ("-- a/y\nz\n", hunked("@@ -1,2 +1,2 @@|--- a/y|+++ b/y| z"), "++ b/y\nz\n"),
        ("-\n", hunked("@@ -1 +1 @@|--|++"), "+\n"),
        # No context at all: the number is all there is.
        (ABC, hunked("@@ -2,0 +3 @@|+B"), "a\nb\nB\nc\nd\ne\nf\ng\n"),
        # A form feed and U+2028 end no line; a carriage return alone does where nothing else does.
        ("a\fb\u2028c\nd\n", hunked("@@ -1,2 +1,2 @@|-a\fb\u2028c|+x| d"), "x\nd\n"),
        ("a\rb\rc\r", hunked("@@ -2 +2,2 @@|-b|+B|+BB"), "a\rB\rBB\rc\r"),
        ("a\rb\nc\n", hunked("@@ -1,2 +1,2 @@|-a\rb|+x| c"), "x\nc\n"),
    ],
)
def test_a_hunk_is_applied(text: str, patch: str, expected: str) -> None:
    assert patched(text, patch) == expected


@pytest.mark.parametrize(
    ("text", "patch", "expected"),
    [
        # Whatever the patch's own line ends, new lines get the file's.
        ("a\r\nb\r\n", hunked("@@ -1,2 +1,3 @@| a|-b|+B|+c"), "a\r\nB\r\nc\r\n"),
        ("a\nb\n", hunked("@@ -1,2 +1,3 @@| a|-b|+B|+c", eol="\r\n"), "a\nB\nc\n"),
        ("a\r\nb\r\n", hunked("@@ -1,2 +1,3 @@| a|-b|+B|+c", eol="\r\n"), "a\r\nB\r\nc\r\n"),
        ("a\r\nb\r\n", hunked("@@ -1,2 +1,3 @@| a\r|-b\r|+B|+c"), "a\r\nB\r\nc\r\n"),
        ("a\r\nb", hunked("@@ -2 +2,2 @@|-b|\\ No newline at end of file|+b|+c"), "a\r\nb\r\nc\r\n"),
        ("a\nb", hunked("@@ -2 +2,2 @@|-b|\\ No newline at end of file|+b|+c", eol="\r\n"), "a\nb\nc\n"),
        # Several kinds: those of the lines that are replaced.
        ("a\r\nb\r\nc\nd\n", hunked("@@ -3,2 +3,3 @@| c|-d|+D|+e"), "a\r\nb\r\nc\nD\ne\n"),
        ("a\nb\nc\r\nd\r\n", hunked("@@ -3,2 +3,3 @@| c|-d|+D|+e"), "a\nb\nc\r\nD\r\ne\r\n"),
        ("a\r\nb\nc\r\n", hunked("@@ -1,3 +1,4 @@| a| b|+x| c"), "a\r\nb\nx\r\nc\r\n"),
        # A patch that changes the line ends means it.
        ("a\r\nb\r\n", hunked("@@ -1,2 +1,2 @@|-a\r|-b\r|+a|+b"), "a\nb\n"),
        ("a\nb\n", hunked("@@ -1,2 +1,2 @@|-a|+a\r| b"), "a\r\nb\n"),
        # An empty context line that lost its space, also with a carriage return.
        ("a\n\nb\n", hunked("@@ -1,3 +1,3 @@| a||-b|+B"), "a\n\nB\n"),
        ("a\n\nb\n", hunked("@@ -1,3 +1,3 @@| a||-b|+B", eol="\r\n"), "a\n\nB\n"),
    ],
)
def test_C6_line_ends_are_the_files_own(text: str, patch: str, expected: str) -> None:
    assert patched(text, patch) == expected


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        # Too small, too large, absent; with what may stand behind the hunk.
        (hunked("@@ -2,1 +2,1 @@| b|-c|+C| d"), "a\nb\nC\nd\ne\nf\ng\n"),
        (hunked("@@ -2,9 +2,9 @@| b|-c|+C| d"), "a\nb\nC\nd\ne\nf\ng\n"),
        (hunked("@@ -2,9 +2,9 @@| b|-c|+C| d", "@@ -6,7 +6,7 @@| f|-g|+G"), "a\nb\nC\nd\ne\nf\nG\n"),
        (hunked("@@ -2,9 +2,9 @@| b|-c|+C| d", "", "That is all."), "a\nb\nC\nd\ne\nf\ng\n"),
        ("```diff\n" + hunked("@@ -2,9 +2,9 @@| b|-c|+C| d", "```", "- one", "+ two"), "a\nb\nC\nd\ne\nf\ng\n"),
        (hunked("@@ -2,3 +2,3 @@| b|-c|+C| d", "-- ", "2.39.5"), "a\nb\nC\nd\ne\nf\ng\n"),
        (hunked("@@ -2,4 +2,4 @@| b|-c|+C| d", "-- ", "2.39.5"), "a\nb\nC\nd\ne\nf\ng\n"),
        (hunked("@@ -2,3 +2,3 @@| b|-c|+C| d", "", "@@ -6,2 +6,2 @@| f|-g|+G"), "a\nb\nC\nd\ne\nf\nG\n"),
        # No numbers, and found once.
        (hunked("@@|-c|+C"), "a\nb\nC\nd\ne\nf\ng\n"),
        (hunked("@@ ... @@| b|-c|+C", "@@ def f():|-g|+G"), "a\nb\nC\nd\ne\nf\nG\n"),
        # Prose around it, and no last line end.
        ("Mend it:\n\n" + hunked("@@ -3 +3 @@|-c|+C").rstrip("\n"), "a\nb\nC\nd\ne\nf\ng\n"),
    ],
)
def test_what_agents_get_wrong_is_mended_where_it_is_clear(patch: str, expected: str) -> None:
    assert patched(ABC, patch) == expected


BLOCKS = "".join(f"def f{n}():\n    return 1\n\n" for n in range(5))


@pytest.mark.parametrize(
    ("text", "patch", "line"),
    [
        ("new\n" * 40 + ABC, hunked("@@ -3 +3 @@|-c|+X"), 43),
        (ABC, hunked("@@ -400 +400 @@|-c|+X"), 3),
        # At the stated line, although the same lines stand elsewhere as well.
        (BLOCKS, hunked("@@ -8 +8 @@|-    return 1|+X"), 8),
        # As far away as the hunk before, although the same lines stand elsewhere as well.
        ("# new\n" + BLOCKS, hunked("@@ -1 +1 @@|-def f0():|+Y", "@@ -8 +8 @@|-    return 1|+X"), 9),
        # Never before the hunk before.
        ("c\nk\nc\n", hunked("@@ -2 +2 @@|-k|+Y", "@@ -9 +9 @@|-c|+X"), 3),
    ],
)
def test_fuzz_is_in_position(text: str, patch: str, line: int) -> None:
    after = patched(text, patch).split("\n")
    assert after.count("X") == 1
    assert after.index("X") + 1 == line


# -- what is refused


@pytest.mark.parametrize(
    ("text", "patch", "hunk", "occurrences", "lines", "words"),
    [
        (ABC, hunked("@@ -2,3 +2,3 @@| b|-k|+C| d"), 1, 0, [2], "nearest"),
        (ABC, hunked("@@ -3 +3 @@|-c|+C", "@@ -5,2 +5,2 @@| e|-F|+x"), 2, 0, [5], "nearest"),
        ("if x:\n\treturn 1\n", hunked("@@ -2 +2 @@|-    return 1|+x"), 1, 0, [2], "white space"),
        # Context counts as much as what is removed.
        (ABC, hunked("@@ -2,3 +2,3 @@| b|-c|+C| k"), 1, 0, [2], "nearest"),
        (BLOCKS, hunked("@@ -7 +7 @@|-    return 1|+x"), 1, 5, [2, 5, 8, 11, 14], "several places"),
        ("x\n" * 40, hunked("@@ -50 +50 @@|-x|+y"), 1, SHOWN + 1, list(range(1, SHOWN + 1)), "several places"),
        # The stated line fits, and so does the one that the hunk before speaks for.
        (
            "# new\n# new\n# new\n" + BLOCKS,
            hunked("@@ -1 +1 @@|-def f0():|+Y", "@@ -8 +8 @@|-    return 1|+X"),
            *(2, 2, [8, 11], "several places"),
        ),
        # Out of order, and overlapping.
        (ABC, hunked("@@ -5 +5 @@|-e|+E", "@@ -2 +2 @@|-b|+B"), 2, 0, [2], "order"),
        (ABC, hunked("@@ -1,3 +1,3 @@|-a|+A| b| c", "@@ -3,2 +3,2 @@| c|-d|+D"), 2, 0, [3], "overlap"),
        # What the last line's end is, is content too.
        ("a\nb", hunked("@@ -2 +2 @@|-b|+B"), 1, 0, [], "has no line end"),
        ("a\nb\n", hunked("@@ -2 +2 @@|-b|\\ No newline at end of file|+B"), 1, 0, [], "has a line end"),
        ("a\nb\nc\n", hunked("@@ -2 +2 @@|-b|+b|\\ No newline at end of file"), 1, 0, [2], ""),
        # No context, and no place that can be trusted.
        (ABC, hunked("@@ -0,0 +1 @@|+A"), 1, 0, [], "empty file"),
        (ABC, hunked("@@ -8,0 +9 @@|+A"), 1, 0, [], "after line 8"),
        ("a\nb", hunked("@@ -2,0 +3 @@|+c"), 1, 0, [], "after line 2"),
        ("new\n" + ABC, hunked("@@ -1 +1 @@|-a|+A", "@@ -4,0 +5 @@|+x"), 2, 0, [], "after line 4"),
        (
            "a\nb\n",
            hunked("@@ -2 +2 @@|-b|+b|\\ No newline at end of file", "@@ -2,0 +3 @@|+c"),
            *(2, 0, [], "after line 2"),
        ),
        ("", hunked("@@ -1 +1 @@|-a|+b"), 1, 0, [], "Nothing in it is similar"),
    ],
)
def test_C4_a_hunk_that_does_not_surely_fit_is_a_conflict(
    text: str, patch: str, hunk: int, occurrences: int, lines: list[int], words: str
) -> None:
    with pytest.raises(Refused) as caught:
        patched(text, patch)
    data = caught.value.data
    assert (caught.value.kind, data["path"], data["hunk"], data["occurrences"]) == ("conflict", "x", hunk, occurrences)
    assert [candidate["line"] for candidate in data["candidates"]] == lines
    assert patch.split("\n")[data["patchLine"] - 1].startswith("@@")
    assert words in caught.value.message
    assert f"line {data['patchLine']} of the patch" in caught.value.message
    assert caught.value.message.endswith("Nothing was changed.")


@pytest.mark.parametrize(
    "patch",
    [hunked("@@|-    return 1|+x"), hunked("@@|+x"), hunked("@@ -2,3 +2,4 @@|+x")],
    ids=["twice", "none", "miscounted"],
)
def test_a_hunk_that_nothing_places_is_a_bad_argument(patch: str) -> None:
    with pytest.raises(UserError, match=r"@@ -line,count \+line,count @@") as caught:
        patched(BLOCKS, patch)
    assert caught.value.data["line"] == 3


def git(name: str, *lines: str) -> str:
    return "".join(f"{line}\n" for line in (f"diff --git a/{name} b/{name}", *lines))


@pytest.mark.parametrize(
    ("patch", "line", "words"),
    [
        ("", 1, "no file"),
        ("Only words.\n- and a list\n", 1, "no file"),
        ("*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n*** End Patch\n", 1, "no unified diff"),
        ("@@ -1 +1 @@\n-a\n+b\n", 1, "without the ---"),
        ("--- a/x\n+++ b/x\n", 1, "no change"),
        ("--- a/x\n+++ b/x\n-a\n+b\n", 1, "no change"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n", 3, "empty"),
        (hunked("@@ -1,2 +1,2 @@| a| b"), 3, "changes nothing"),
        ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", 1, "both sides"),
        ("--- /dev/null\n+++ b/x\n@@ -1 +1,2 @@\n a\n+b\n", 3, "is created"),
        ("--- a/x\n+++ /dev/null\n@@ -1,2 +1 @@\n-a\n b\n", 3, "is deleted"),
        (hunked("@@ -1,2 +1,2 @@|-a|\\ No newline at end of file|-b|+c|+d"), 3, "before the last line"),
        # A line that lost its first character, where the counts do not tell either.
        (hunked("@@ -1,9 +1,9 @@| a|b|-c|+C"), 5, "none of space"),
        (hunked("@@ -1,9 +1,9 @@| a|-b|+B||c|-d|+D"), 8, "none of space"),
        (hunked("@@ -1,9 +1,9 @@| a|-b|+B|```|-d|+D"), 7, "none of space"),
        # The next file, or a part of the hunk.
        (hunked("@@ -1,2 +1,2 @@|-a|+b|--- a/y|+++ b/y", "@@ -1 +1 @@|-c|+d"), 6, "next file"),
        (hunked("@@ -1,9 +1,9 @@|-a|+b|--- a/y|+++ b/y| z"), 6, "Mend the counts"),
        (git("x", "index 1..2 120000", "--- a/x", "+++ b/x", "@@ -1 +1 @@", "-a", "+b"), 2, "a symbolic link"),
        (git("x", "new file mode 120000", "--- /dev/null", "+++ b/x", "@@ -0,0 +1 @@", "+y"), 2, "a symbolic link"),
        (git("x", "old mode 100644", "new mode 120000"), 3, "a symbolic link"),
        (git("x", "deleted file mode 120000"), 2, "a symbolic link"),
        (git("x", "index 1..2 160000", "--- a/x", "+++ b/x", "@@ -1 +1 @@", "-a", "+b"), 2, "a submodule"),
        (git("x", "index 1..2 100644", "GIT binary patch", "literal 0"), 3, "binary"),
        (git("x", "index 1..2", "Binary files a/x and b/x differ"), 3, "binary"),
        (hunked("@@ -1 +1 @@|-a|+b", "Binary files y and z differ"), 6, "binary"),
        ("diff --cc x\n--- a/x\n+++ b/x\n@@@ -1,2 -1,2 +1,3 @@@\n  a\n++b\n  c\n", 1, "merge"),
        (git("x", "index 1..2"), 1, "no change"),
        (git("x", "rename from x"), 1, "both its"),
        (git("x", "rename from x", "copy to y"), 3, "at once"),
        (git("x", "new file mode 100644", "deleted file mode 100644"), 3, "at once"),
        (git("x", "new file mode 100644", "--- a/x", "+++ /dev/null", "@@ -1 +0,0 @@", "-a"), 3, "at once"),
        ("diff --git a/x b/y\nold mode 100644\nnew mode 100755\n", 1, "not clear which file"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(patch: str, line: int, words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        parse(patch)
    assert caught.value.data["line"] == line
    assert f"line {line}:" in caught.value.message


# -- what a file's part says

HUNK = "@@ -1 +1 @@\n-a\n+b\n"
NEW = "@@ -0,0 +1 @@\n+a\n"
GONE = "@@ -1 +0,0 @@\n-a\n"


@pytest.mark.parametrize(
    ("patch", "kind", "old", "new", "mode"),
    [
        (f"--- a/p/x.py\n+++ b/p/x.py\n{HUNK}", "modify", "p/x.py", "p/x.py", None),
        (f"--- p/x.py\n+++ p/x.py\n{HUNK}", "modify", "p/x.py", "p/x.py", None),
        (f"--- a/x\t2024-01-01 10:00:00 +0100\n+++ b/x\t2024-01-01 10:00:01 +0100\n{HUNK}", "modify", "x", "x", None),
        (f"--- a/x 2024-01-01 10:00:00\n+++ b/x 2024-01-01 10:00:01\n{HUNK}", "modify", "x", "x", None),
        (f"--- a/with space\t\n+++ b/with space\t\n{HUNK}", "modify", "with space", "with space", None),
        (f"--- a/x\n+++ x\n{HUNK}", "modify", "x", "x", None),
        (f"--- i/x\n+++ w/x\n{HUNK}", "modify", "x", "x", None),
        (f"--- /ws/x\n+++ /ws/x\n{HUNK}", "modify", "/ws/x", "/ws/x", None),
        (f"--- a/x\r\n+++ b/x\r\n{HUNK}", "modify", "x", "x", None),
        (
            f'--- "a/\\303\\244\\t\\"\\\\.py"\n+++ "b/\\303\\244\\t\\"\\\\.py"\n{HUNK}',
            "modify",
            'ä\t"\\.py',
            'ä\t"\\.py',
            None,
        ),
        (f'--- "a/\\377"\n+++ "b/\\377"\n{HUNK}', "modify", "\udcff", "\udcff", None),
        (f"--- a/ä.py\n+++ b/ä.py\n{HUNK}", "modify", "ä.py", "ä.py", None),
        (f"--- /dev/null\n+++ b/x\n{NEW}", "create", "", "x", None),
        (f"--- /dev/null\n+++ x\n{NEW}", "create", "", "x", None),
        (f"--- a/x\n+++ /dev/null\n{GONE}", "delete", "x", "", None),
        (f"--- a/x\n+++ b/y\n{HUNK}", "rename", "x", "y", None),
        (git("x", "index 1..2 100644", "--- a/x", "+++ b/x") + HUNK, "modify", "x", "x", None),
        (git("x") + HUNK, "modify", "x", "x", None),
        (git("x", "new file mode 100644", "index 0..1", "--- /dev/null", "+++ b/x") + NEW, "create", "", "x", 0o644),
        (git("x", "new file mode 100755", "index 0..e"), "create", "", "x", 0o755),
        (
            git("x", "deleted file mode 100644", "index 1..0", "--- a/x", "+++ /dev/null") + GONE,
            "delete",
            "x",
            "",
            None,
        ),
        (git("x y", "old mode 100644", "new mode 100755"), "modify", "x y", "x y", 0o755),
        (git("x", "old mode 100755", "new mode 100644", "--- a/x", "+++ b/x") + HUNK, "modify", "x", "x", 0o644),
        (git("x", "similarity index 100%", "rename from x", "rename to d/y"), "rename", "x", "d/y", None),
        (git("x", "copy from x", 'copy to "\\303\\244"'), "copy", "x", "ä", None),
        (
            git("x", "similarity index 80%", "rename from x", "rename to y", "--- a/x", "+++ b/y") + HUNK,
            *("rename", "x", "y", None),
        ),
        # Written without prefixes: a folder is really called a.
        (f"diff --git a/x a/x\n--- a/x\n+++ a/x\n{HUNK}", "modify", "a/x", "a/x", None),
        (f"diff --git b/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n{NEW}", "create", "", "b/x", 0o644),
        ("diff --git b/x b/x\nold mode 100644\nnew mode 100755\n", "modify", "b/x", "b/x", 0o755),
        ('diff --git "a/\\303\\244" "b/\\303\\244"\nold mode 100644\nnew mode 100755\n', "modify", "ä", "ä", 0o755),
    ],
)
def test_what_a_file_is_to_become(patch: str, kind: str, old: str, new: str, mode: int | None) -> None:
    file = one(patch)
    assert (file.kind, file.old, file.new, file.mode) == (kind, old, new, mode)


@pytest.mark.parametrize(
    ("patch", "others"),
    [
        (f"--- a/x\n+++ a/x\n{HUNK}", {("x", "x")}),
        (f"--- a/x\n+++ /dev/null\n{GONE}", {("a/x", "")}),
        (f"--- old/p/x\n+++ new/p/x\n{HUNK}", {("p/x", "p/x"), ("new/p/x", "new/p/x")}),
        (f"--- x.orig\n+++ x\n{HUNK}", {("x", "x")}),
        (f"--- a/x\n+++ b/x\n{HUNK}", set()),
    ],
)
def test_what_else_a_path_may_mean(patch: str, others: set[tuple[str, str]]) -> None:
    assert set(one(patch).others) == others


def test_a_mail_with_many_files() -> None:
    patch = (
        "From 0123456789 Mon Sep 17 00:00:00 2001\nSubject: [PATCH] all\n\n - a list\n---\n x | 2 +-\n\n"
        + git("x", "index 1..2 100644", "--- a/x", "+++ b/x")
        + HUNK
        + git("y", "old mode 100644", "new mode 100755")
        + git("z", "new file mode 100644", "--- /dev/null", "+++ b/z")
        + NEW
        + "-- \n2.39.5\n\n"
        + f"--- a/k\n+++ b/k\n{HUNK}"
    )
    assert [(file.kind, file.name, len(file.hunks), file.at) for file in parse(patch)] == [
        ("modify", "x", 1, 8),
        ("modify", "y", 0, 15),
        ("create", "z", 1, 18),
        ("modify", "k", 1, 27),
    ]


# -- git, and our own diffs

WORDS = ["a", "b", "c", "", "--", "++", "- a/x", "@@ -1 +1 @@", "diff --git a/x b/x", "\\", "é\u2028", "\f", " d"]
LINES = st.lists(st.sampled_from(WORDS), max_size=14)


def joined(eol: str) -> Callable[[tuple[list[str], bool]], str]:
    """Lines to a text; the last one may have no line end."""
    return lambda drawn: "".join(line + eol for line in drawn[0]).removesuffix(eol if drawn[1] else "\0")


def texts(eol: str = "\n") -> st.SearchStrategy[str]:
    return st.tuples(LINES, st.booleans()).map(joined(eol))


@given(texts(), texts(), st.integers(0, 3))
def test_our_own_diffs_apply(old: str, new: str, context: int) -> None:
    assume(old != new)
    patch = unified(old, new, "x", context=context)
    if old and "\n@@ -0,0 " in patch:
        # Without context it cannot be told from a file that was empty; git refuses it as well.
        with pytest.raises(Refused, match="empty file"):
            patched(old, patch)
    else:
        assert patched(old, patch) == new


@given(texts("\r\n"), texts("\r\n"), st.booleans())
def test_C6_our_own_diffs_apply_with_either_line_end(old: str, new: str, bare: bool) -> None:
    assume(old != new and old)
    patch = unified(old, new, "x")
    assume("\r" in old)
    assert patched(old, patch.replace("\r", "") if bare else patch) == new


COUNTS = re.compile(r"^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@", re.MULTILINE)


@given(st.lists(st.tuples(texts(), texts()), min_size=1, max_size=3), st.integers(1, 3), st.data())
def test_wrong_counts_never_make_another_change(
    pairs: list[tuple[str, str]], context: int, data: st.DataObject
) -> None:
    """Whatever the headers count, the patch does what its lines say, to all of its files, or is refused."""
    assume(all(old != new for old, new in pairs))
    patch = "".join(unified(old, new, f"x{n}", context=context) for n, (old, new) in enumerate(pairs))
    counted = st.integers(0, 9)
    if data.draw(st.booleans()):
        patch = re.sub(r"^ $", "", patch, flags=re.MULTILINE)
    miscounted = COUNTS.sub(lambda m: f"@@ -{m[1]},{data.draw(counted)} +{m[2]},{data.draw(counted)} @@", patch)
    try:
        files = parse(miscounted)
        after = {file.name: apply(pairs[int(file.name[1:])][0], file.hunks, file.name) for file in files}
    except OmbudError:
        return
    assert after == {f"x{n}": new for n, (_, new) in enumerate(pairs)}


ENVIRONMENT = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}


def run_git(folder: Path, *arguments: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["git", *arguments], cwd=folder, input=data, capture_output=True, check=False, env=ENVIRONMENT, timeout=60
    )


def git_diff(folder: Path, old: str, new: str, context: int) -> str:
    (folder / "a").write_bytes(old.encode())
    (folder / "b").write_bytes(new.encode())
    found = run_git(folder, "diff", "--no-index", f"-U{context}", "--no-prefix", "a", "b")
    assert found.returncode in (0, 1), found.stderr
    head, _, rest = found.stdout.decode().partition("+++ b\n")
    return "--- a/x\n+++ b/x\n" + rest if head else ""


def git_apply(folder: Path, text: str, patch: str) -> str | None:
    (folder / "x").write_bytes(text.encode())
    done = run_git(folder, "apply", "--whitespace=nowarn", "-", data=patch.encode())
    return (folder / "x").read_bytes().decode() if done.returncode == 0 else None


def ends(text: str) -> set[str]:
    return {"\r\n" if line.endswith("\r") else "\n" for line in text.split("\n")[:-1]}


MIXED = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(["\n", "\r\n"])), max_size=10).map(
    lambda drawn: "".join(line + end for line, end in drawn)
)


@settings(max_examples=60)
@given(old=st.one_of(texts(), MIXED), new=st.one_of(texts(), MIXED), context=st.integers(1, 3))
def test_what_git_applies_we_apply_to_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, old: str, new: str, context: int
) -> None:
    # In a file with one kind of line end `\n` stands for that, also where git would mix another in.
    assume(old and new and old != new and (len(ends(old)) == 2 or ends(new) <= (ends(old) or {"\n"})))
    folder = tmp_path_factory.mktemp("git")
    patch = git_diff(folder, old, new, context)
    expected = git_apply(folder, old, patch)
    assert expected == new
    assert patched(old, patch) == new


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=8, unique=True),
    st.integers(0, 12),
    st.lists(st.integers(0, 60), max_size=2),
    st.integers(1, 3),
)
def test_what_git_applies_elsewhere_we_apply_there(
    tmp_path_factory: pytest.TempPathFactory, edited: list[int], above: int, spoilt: list[int], context: int
) -> None:
    folder = tmp_path_factory.mktemp("git")
    lines = [f"line {n}\n" for n in range(61)]
    new = [f"new {n}\n{line}" if n in edited and n % 3 else "" if n in edited else line for n, line in enumerate(lines)]
    patch = git_diff(folder, "".join(lines), "".join(new), context)
    moved = "above\n" * above + "".join("spoilt\n" if n in spoilt else line for n, line in enumerate(lines))
    expected = git_apply(folder, moved, patch)
    ours: str | None = None
    try:
        ours = patched(moved, patch)
    except Refused as refused:
        assert refused.kind == "conflict"
    if expected is not None:
        assert ours == expected
    # With lines of their own nothing is ever put elsewhere.
    if ours is not None:
        assert ours == "above\n" * above + "".join("spoilt\n" if n in spoilt else line for n, line in enumerate(new))


@given(st.text(alphabet='ab \n\r+-@\\"/0123456789,diff git`', max_size=300))
def test_no_text_breaks_the_reader(text: str) -> None:
    try:
        for file in parse(f"--- a/x\n+++ b/x\n{text}"):
            apply(ABC, file.hunks, "x")
    except OmbudError as error:
        assert error.message.endswith(".")
