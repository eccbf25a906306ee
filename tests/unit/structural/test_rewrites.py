"""The table of rewrites (``rewrites/*.toml``): each file's bytes before and after, or why nothing is changed."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec
import pytest
from ombud.errors import UserError
from ombud.structural.compiled import compile_query
from ombud.structural.query import Query
from ombud.structural.rewriting import Op, Rewritten, apply, compile_ops, rewrite
from ombud.syntax.grammars import GRAMMARS, parser

HERE = Path(__file__).parent
PACKAGE = HERE.parents[2] / "server" / "ombud"


class Case(msgspec.Struct, forbid_unknown_fields=True):
    """A row: ``ops`` are pairs of pattern and rewrite; a row without ``expected`` changes nothing."""

    name: str
    language: str
    source: str
    expected: str = ""
    pattern: str = ""
    rewrite: str = ""
    kind: str = ""
    ops: list[tuple[str, str]] = []
    imports: list[str] = []
    replacements: int | None = None
    overlapping: int = 0
    lost: list[str] = []
    refused: str = ""
    error: str = ""


def cases() -> list[Case]:
    found = []
    for path in sorted((HERE / "rewrites").glob("*.toml")):
        found += msgspec.convert(tomllib.loads(path.read_text("utf-8"))["case"], list[Case])
    return found


CASES = cases()


def run(language: str, source: bytes, ops: list[Op]) -> Rewritten:
    """Rewrite with the first reading of each pattern that matches something, as the driver does."""
    plan = compile_ops(ops, language)
    tree = parser(GRAMMARS[language]).parse(source)
    rungs = []
    for one in ops:
        readings = compile_query(one.query, language).rungs
        hits = (number for number, rung in enumerate(readings) if rung.search(source, tree, 1)[0])
        rungs.append(next(hits, 0))
    return rewrite(source, tree, plan, rungs)


def op(case: Case, pattern: str, text: str) -> Op:
    return Op(Query(pattern=pattern or None, kind=case.kind or None), text, tuple(case.imports))


@pytest.mark.parametrize("case", CASES, ids=[f"{case.language}-{case.name}" for case in CASES])
def test_rewrite(case: Case) -> None:
    source = case.source.encode()
    ops = [op(case, *pair) for pair in (case.ops or [(case.pattern, case.rewrite)])]
    if case.error:
        with pytest.raises(UserError, match=case.error):
            run(case.language, source, ops)
        return
    done = run(case.language, source, ops)
    if case.refused:
        assert case.refused in (done.refused or "")
        assert (done.new, done.edits, done.replacements) == (source, [], 0)
        return
    assert done.refused is None
    assert done.new.decode() == (case.source if case.lost and not case.expected else case.expected)
    assert apply(source, done.edits) == done.new
    assert done.overlapping == case.overlapping
    assert [text for _, text in done.lost] == case.lost
    if case.replacements is not None:
        assert done.replacements == case.replacements


def test_there_are_enough_rows_and_none_twice() -> None:
    assert len(CASES) >= 80
    assert len({(case.language, case.name) for case in CASES}) == len(CASES)


FILES = sorted(PACKAGE.rglob("*.py"), key=lambda path: path.stat().st_size)[-40:]
SCRIPTS = sorted((PACKAGE.parents[1] / "fixtures").rglob("*.ts"))[:40]


def real() -> list[tuple[str, Path]]:
    return [("python", path) for path in FILES] + [("typescript", path) for path in SCRIPTS]


@pytest.mark.parametrize("pattern", ["$F($$$A)", "$A = $B", "$A.$B", "if $C: $$$B", "return $X"])
def test_a_rewrite_to_itself_changes_nothing(pattern: str) -> None:
    seen = 0
    for path in FILES:
        source = path.read_bytes()
        done = run("python", source, [Op(Query(pattern=pattern), pattern)])
        assert (done.new, done.edits, done.refused) == (source, [], None), path
        seen += len(done.matches)
    assert seen > 10


@pytest.mark.parametrize(
    ("language", "pattern", "text"),
    [
        ("python", "$F($$$A)", "$F( $$$A )"),
        ("python", "$A.$B", "$A . $B"),
        ("python", "$A = $B", "$A  =  $B"),
        ("python", "if $C: $$$B", "if $C:\n    $$$B"),
        ("typescript", "$F($$$A)", "$F( $$$A )"),
        ("typescript", "$A.$B", "$A . $B"),
    ],
)
def test_a_rewrite_of_white_space_keeps_everything_else(language: str, pattern: str, text: str) -> None:
    """Nested matches, comments, literals and bodies of real files all come through; and the edits are what is new."""
    seen = 0
    for path in (path for name, path in real() if name == language):
        source = path.read_bytes()
        done = run(language, source, [Op(Query(pattern=pattern), text)])
        assert done.refused is None, path
        assert apply(source, done.edits) == done.new
        assert _bare(done.new) == _bare(source), path
        assert all(a[1] <= b[0] for a, b in zip(done.edits, done.edits[1:], strict=False))
        seen += len(done.matches)
    assert seen > 10


def _bare(text: bytes) -> bytes:
    """Text without white space, and without commas before closing brackets."""
    plain = b"".join(text.split())
    for closing in (b")", b"]", b"}"):
        plain = plain.replace(b"," + closing, closing)
    return plain
