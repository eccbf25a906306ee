"""What a newcomer reads: the list of commands, each one's help, and what bad words are answered with."""

from __future__ import annotations

import logging
import re
import shlex
from collections.abc import Iterator
from importlib import import_module

import pytest
from ombud.faces.cli import main
from ombud.faces.cli.context import Usage
from ombud.faces.cli.help import commands, nearest, operation_parser, operations, overview, parser_of, words_of
from ombud.faces.cli.options import intermixed, joined, options_of, params_of
from ombud.faces.cli.terminal import Screen
from ombud.faces.cli.words import COMMANDS, GROUPS, option_words
from ombud.operations import registry
from ombud.operations.table import OPERATIONS

NARROW = Screen(80)


@pytest.fixture(autouse=True)
def _log_as_before() -> Iterator[None]:
    """A command decides where the product's log goes, for its whole process."""
    logger = logging.getLogger("ombud")
    before = logger.handlers[:], logger.propagate, logger.level
    yield
    logger.handlers[:], logger.propagate = before[0], before[1]
    logger.setLevel(before[2])


def serve(address: str | None, _linger: float | None) -> int:
    raise AssertionError(f"nothing is served by these tests: {address}")


def run(*argv: str) -> int:
    return main.run(argv, serve)


def test_every_operation_is_a_command() -> None:
    assert set(operations().values()) == set(OPERATIONS)
    assert all(re.fullmatch(r"[a-z][a-z0-9-]*", command) for command in commands())


def test_the_overview_lists_each_command_once_in_a_group() -> None:
    text = overview(NARROW)
    for group in GROUPS:
        assert f"\n{group}\n" in text
    for command in commands():
        assert len(re.findall(rf"^  {command} ", text, re.MULTILINE)) == 1, command
    assert {words_of(command).group for command in commands()} <= set(GROUPS)
    assert text.count("ombud ") >= 3


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_overview_fits(width: int) -> None:
    lines = overview(Screen(width)).splitlines()
    examples = {line for line in lines if line.startswith("  ombud ")}
    assert [line for line in lines if len(line) > width and line not in examples] == []


def test_an_operation_without_words_of_its_own_has_the_registrys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ombud.faces.cli.help.COMMANDS", {})
    words = words_of("write")
    assert words.text == registry.operation("write").description
    assert words.line[0].islower()
    assert words.group == "Change"


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_option_has_help(name: str) -> None:
    """A new param needs a description in its schema or a line in words.py."""
    words = option_words(name)
    for option in options_of(registry.operation(name).schema):
        assert words.get(option.key) or option.description, f"{name}: {option.flag}"


@pytest.mark.parametrize("name", [name for name in OPERATIONS if name.startswith("graph_")])
def test_a_symbol_of_the_graph_may_be_named_without_a_place(name: str) -> None:
    options = {option.key for option in options_of(registry.operation(name).schema)}
    words = option_words(name)["symbol"]
    if "symbol" in options:
        assert words.startswith("an id (path#Class.method), a qualified name or a bare name; with --path and --line")


@pytest.mark.parametrize("name", OPERATIONS)
def test_no_option_names_two_defaults(name: str) -> None:
    words = option_words(name)
    for option in options_of(registry.operation(name).schema):
        if option.default is not None:
            assert "(default" not in words.get(option.key, option.description), f"{name}: {option.flag}"


@pytest.mark.parametrize("name", OPERATIONS)
def test_no_option_takes_the_place_of_a_common_one(name: str) -> None:
    flags = {option.flag for option in options_of(registry.operation(name).schema)}
    assert not flags & {"--json", "--root", "--quiet", "--verbose", "--help"}


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_a_commands_help_shows_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command, "--help") == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"usage: ombud {command} ")
    assert all(example in out for example in COMMANDS[command].examples)
    assert "(see docs/protocol.md)" not in out
    assert err == ""


def own_face(command: str, words: list[str]) -> None:
    """Parse the words of a command that has options of its own. Raises `Usage`."""
    module = import_module(f"ombud.faces.cli.{command}")
    parser = parser_of(command, NARROW)
    module.fill(parser)
    arguments = intermixed(parser, words) if hasattr(module, "settle") else parser.parse_args(words)
    if hasattr(module, "settle"):
        module.settle(arguments)


@pytest.mark.parametrize("command", ["grep", "rewrite", "scan"])
def test_the_examples_of_commands_for_shapes_are_good_usage(command: str) -> None:
    for example in words_of(command).examples:
        own_face(command, shlex.split(example)[2:])
    with pytest.raises(Usage):
        own_face(command, ["--no-such-option"])


@pytest.mark.parametrize("command", sorted(operations()))
def test_the_examples_of_operations_are_good_usage(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ombud.faces.cli.options._stdin", lambda: '[{"oldText": "a", "newText": "b"}]')
    found = registry.operation(operations()[command])
    options = options_of(found.schema)
    for example in words_of(command).examples:
        words = shlex.split(example.partition(" < ")[0])
        assert words[:2] == ["ombud", command]
        if command in main.OWN_FACE:
            own_face(command, words[2:])
            continue
        parser = operation_parser(command, options, NARROW)
        registry.parse(found, params_of(parser.parse_args(joined(words[2:], parser)), options))


def test_an_example_that_is_bad_usage_would_be_seen() -> None:
    options = options_of(registry.operation("lsp").schema)
    parser = operation_parser("lsp", options, NARROW)
    with pytest.raises(Usage, match="--symbl"):
        parser.parse_args(["hover", "--symbl", "x"])


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    assert "Set up" in capsys.readouterr().out
    assert run("help", "lsp") == 0
    assert capsys.readouterr().out.startswith("usage: ombud lsp ")
    assert run("help") == 0
    assert "Set up" in capsys.readouterr().out
    assert run("--version") == 0
    assert re.fullmatch(r"ombud \d+\.\d+\.\d+\n", capsys.readouterr().out)


def test_no_command_is_bad_usage_and_shows_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Set up" in err


@pytest.mark.parametrize(
    ("word", "meant"),
    [("docter", "doctor"), ("Status", "status"), ("chek", "check"), ("diagnostic", "diagnostics"), ("serv", "serve")],
)
def test_an_unknown_command_names_the_nearest(word: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(word) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"There is no command {word!r}. Did you mean “{meant}”?" in err


def test_a_command_like_no_other_names_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert nearest("zzzz", commands()) is None
    assert run("zzzz") == 2
    assert "Did you mean" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--bogus"], "--bogus"),
        (["doctor", "--bogus"], "ombud doctor --help"),
        (["lsp"], "ACTION is missing"),
        (["lsp", "hovr"], "Did you mean hover?"),
        (["lsp", "hover", "--line", "x"], "--line"),
        (["lsp", "hover", "--path", "a", "--line", "0"], "line"),
        (["diagnostics"], "PATH is missing"),
        (["diagnostics", "a", "--severity", "loud"], "loud"),
        (["write", "a"], "--content is missing"),
        (["write", "a", "--content"], "--content"),
        (["write"], "PATH and --content are missing"),
        (["write", "a", "--path", "b", "--content", "c"], "twice"),
        (["edit", "a", "--edits", "no"], "--edits must be JSON"),
        (["edit", "a", "--edits", "[]"], "edits"),
        (["edit", "a", "--edits", '[{"oldText": "x"}]'], "newText"),
        (["serve", "--listen", "nonsense"], "HOST:PORT"),
        (["serve", "--listen", "unix:"], "unix:PATH"),
        (["serve", "--listen", f"unix:/tmp/{'x' * 120}"], "choose a shorter one"),
        (["serve", "--linger", "3"], "--listen"),
        (["serve", "--listen", "unix:x", "--linger", "-3"], "seconds"),
        (["attach", "nonsense"], "HOST:PORT"),
        (["attach", "unix:x", "--root", "."], "give one of them"),
        (["attach", "--root", "/nowhere/at/all"], "no such folder"),
        (["attach", "--linger", "nan"], "seconds"),
        (["trust", "--list", "--revoke"], "--revoke"),
        (["trust", "--list", "x"], "--list takes no PATH"),
        (["check", "--severity", "x"], "--severity"),
        (["--root", "/nowhere/at/all", "status"], "no such folder"),
        (["demo", "/nowhere/at/all"], "not a folder"),
    ],
)
def test_bad_usage_exits_2_and_says_what_is_wrong(
    argv: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("ombud: ")
    assert words in err
    assert "Traceback" not in err


def test_serve_is_given_the_address() -> None:
    seen: list[tuple[str | None, float | None]] = []

    def take(address: str | None, linger: float | None) -> int:
        seen.append((address, linger))
        return 5

    assert main.run(["serve", "--listen", "127.0.0.1:0"], take) == 5
    assert main.run(["serve", "--listen=[::1]:7000"], take) == 5
    assert main.run(["--verbose", "serve"], take) == 5
    assert main.run(["serve", "--listen", "unix:hub.sock", "--linger", "1.5"], take) == 5
    assert seen == [("127.0.0.1:0", None), ("[::1]:7000", None), (None, None), ("unix:hub.sock", 1.5)]


def test_common_options_may_stand_on_both_sides() -> None:
    parser = parser_of("status", NARROW)
    assert parser.parse_args(["--root", "x", "-q"]).root == "x"
    assert not hasattr(parser.parse_args([]), "root")


def test_a_fault_of_ours_ends_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> int:
        raise RuntimeError("boom")

    monkeypatch.setattr(main, "_serve", broken)
    assert run("serve") == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("internal: ")
    assert "Traceback" not in err
