"""Options made from JSON Schemas, and the params that come out of the words of a command line."""

from __future__ import annotations

import io
import sys
from typing import Any

import msgspec
import pytest
from ombud.errors import UserError
from ombud.faces.cli.context import Usage
from ombud.faces.cli.help import Parser
from ombud.faces.cli.options import Option, add_options, joined, kebab, options_of, params_of, positional
from ombud.operations.shapes import Arguments


class Inner(Arguments, frozen=True):
    """Says nothing about what it is for."""

    x: int


class Plain(Arguments, frozen=True):
    """The kinds of params that the contract's operations have."""

    pattern: str
    path: str
    ops: list[Inner] | None = None
    where: Inner | None = None
    force: bool = False
    apply: bool = True
    check: bool | None = None
    max_results: int = 50
    ratio: float | None = None
    kind: str | int | None = None
    content: str | None = None


def options() -> list[Option]:
    return options_of(msgspec.json.schema(Plain))


def parsed(*argv: str) -> dict[str, Any]:
    found = options()
    parser = Parser(prog="x", allow_abbrev=False)
    add_options(parser, found, {})
    return params_of(parser.parse_args(joined(argv, parser)), found)


def test_names_are_kebab_case() -> None:
    assert [option.flag for option in options()] == [
        *("--pattern", "--path", "--ops", "--where", "--force", "--apply", "--check", "--max-results", "--ratio"),
        *("--kind", "--content"),
    ]
    assert [kebab(name) for name in ("waitMs", "wait_ms", "aB2C", "x")] == ["wait-ms", "wait-ms", "a-b2-c", "x"]


def test_kinds_follow_the_schema() -> None:
    kinds = {option.key: option.kind for option in options()}
    assert kinds == {
        "pattern": "text",
        "path": "text",
        "ops": "json",
        "where": "json",
        "force": "flag",
        "apply": "flag",
        "check": "flag",
        "maxResults": "integer",
        "ratio": "number",
        "kind": "json",
        "content": "text",
    }


def test_the_first_required_string_may_be_positional() -> None:
    bare = positional(options())
    assert bare is not None
    assert bare.key == "pattern"
    assert parsed("a", "--path", "b") == {"pattern": "a", "path": "b"}
    assert parsed("--pattern", "a", "--path", "b") == {"pattern": "a", "path": "b"}
    assert parsed("--path", "b", "a") == {"pattern": "a", "path": "b"}


def test_only_what_was_given_is_passed_on() -> None:
    assert parsed("a", "--path", "b", "--max-results", "3") == {"pattern": "a", "path": "b", "maxResults": 3}


@pytest.mark.parametrize(
    ("words", "key", "value"),
    [
        (["--force"], "force", True),
        (["--apply"], "apply", True),
        (["--no-apply"], "apply", False),
        (["--check"], "check", True),
        (["--no-check"], "check", False),
        (["--ratio", "0.5"], "ratio", 0.5),
        (["--ops", '[{"x": 1}]'], "ops", [{"x": 1}]),
        (["--where", '{"x": 1}'], "where", {"x": 1}),
        (["--kind", "3"], "kind", 3),
        (["--kind", '"f"'], "kind", "f"),
        (["--content", "-x"], "content", "-x"),
        (["--content", "--"], "content", "--"),
        (["--content", "--- a/b"], "content", "--- a/b"),
        (["--content=-"], "content", "from standard input"),
        (["--content", "-"], "content", "from standard input"),
        (["--content", ""], "content", ""),
        (["--max-results", "-1"], "maxResults", -1),
    ],
)
def test_values(words: list[str], key: str, value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ombud.faces.cli.options._stdin", lambda: "from standard input")
    assert parsed("a", "--path", "b", *words)[key] == value


def test_a_value_never_swallows_a_known_option() -> None:
    with pytest.raises(Usage, match="--content"):
        parsed("a", "--path", "b", "--content", "--force")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], "PATTERN and --path are missing"),
        (["a"], "--path is missing"),
        (["a", "--pattern", "b", "--path", "c"], "twice"),
        (["a", "--path", "c", "--ops", "{"], "--ops must be JSON"),
        (["a", "--path", "c", "--where", "[" * 100_000], "--where must be JSON"),
    ],
)
def test_what_is_wrong_is_said(argv: list[str], words: str) -> None:
    with pytest.raises(UserError) as raised:
        parsed(*argv)
    assert words in raised.value.message


@pytest.mark.parametrize("argv", [["a", "b"], ["a", "--pat", "b"], ["a", "--max-results", "many"]])
def test_argparse_leaves_nothing_to_itself(argv: list[str]) -> None:
    with pytest.raises(Usage):
        parsed(*argv)


class _Stdin:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


def test_standard_input_is_taken_to_the_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", _Stdin("a\r\nü\n\n".encode()))
    assert parsed("a", "--path", "b", "--content", "-")["content"] == "a\r\nü\n\n"
    monkeypatch.setattr(sys, "stdin", _Stdin(b'[{"x": 2}]'))
    assert parsed("a", "--path", "b", "--ops", "-")["ops"] == [{"x": 2}]


@pytest.mark.parametrize(("data", "words"), [(b"\xff\xfe", "not UTF-8"), (b"x" * 65, "more than")])
def test_standard_input_that_cannot_be_taken(data: bytes, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ombud.faces.cli.options.STDIN_LIMIT", 64)
    monkeypatch.setattr(sys, "stdin", _Stdin(data))
    with pytest.raises(UserError) as raised:
        parsed("a", "--path", "b", "--content", "-")
    assert words in raised.value.message


def test_help_shows_choices_and_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    schema = {
        "type": "object",
        "properties": {
            "action": {"enum": ["a", "b", "c", "d", "hover"]},
            "severity": {"anyOf": [{"enum": ["hint"]}, {"type": "null"}], "default": None},
            "limit": {"type": "integer", "default": 200, "description": "100 % of what there is."},
        },
        "required": ["action"],
    }
    parser = Parser(prog="x")
    add_options(parser, options_of(schema), {"action": "what to ask."})
    parser.print_help()
    out = " ".join(capsys.readouterr().out.split())
    assert "ACTION what to ask: a, b, c, d, hover" in out, "too many for the usage line"
    assert "--severity {hint}" in out
    assert "100 % of what there is. (default: 200)" in out
