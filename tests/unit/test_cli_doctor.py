"""``ombud doctor``: which servers get a row, what is run for a version, and what a version looks like."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ombud.downstream.catalogue import load_catalogue
from ombud.downstream.detect import Detected
from ombud.faces.cli.doctor import Finding, Start, worth_a_row
from ombud.faces.cli.versions import command_of, package_version, told
from ombud.guard.commands import Resolved

RESOLVED = Resolved(("/opt/bin/x", "--stdio"), Path("/opt/bin/x"), Path("/opt/bin/x"), False)


def detected(name: str, state: Any = "available", **changes: Any) -> Detected:
    entry = load_catalogue().get(name)
    assert entry is not None
    resolved = RESOLVED if state == "available" else None
    return Detected(entry.changed(**changes), Path("/srv/x"), "marker", resolved, state, "It is so.")


def finding(name: str, state: Any = "available", languages: tuple[str, ...] = ("python",), **changes: Any) -> Finding:
    return Finding(detected(name, state, **changes), list(languages))


@pytest.mark.parametrize(
    ("one", "others", "row"),
    [
        (finding("basedpyright"), [], True),
        (finding("basedpyright", "not_trusted"), [], True),
        (finding("basedpyright", "missing_binary"), [finding("ruff")], True),
        (finding("ty", "disabled"), [finding("basedpyright")], False),
        (finding("ty", "disabled", disabled=True), [finding("basedpyright")], True),
        (finding("gopls", "missing_marker", ("go",)), [], True),
        (finding("gopls", "missing_marker", ("go",)), [finding("basedpyright")], True),
        (finding("gopls", "missing_marker", ("go",)), [finding("golangci-lint-langserver", languages=("go",))], False),
        (finding("harper", "missing_marker", ("markdown",)), [], False),
        (finding("harper", "missing_marker", ("markdown",), from_user=True), [], True),
    ],
)
def test_what_a_reader_wants_to_see(one: Finding, others: list[Finding], row: bool) -> None:
    assert worth_a_row(one, [one, *others]) is row


@pytest.mark.parametrize(
    ("start", "state"), [(None, "would start"), (Start(True, 1.0), "started"), (Start(False, 1.0), "failed")]
)
def test_a_real_start_is_worth_more_than_a_guess(start: Start | None, state: str) -> None:
    assert Finding(detected("ruff"), ["python"], start=start).state == state


def test_only_what_would_start_is_asked_for_its_version() -> None:
    assert command_of(detected("ruff")) == ("/opt/bin/x", "--version")
    assert command_of(detected("gopls")) == ("/opt/bin/x", "version")
    for state in ("not_trusted", "missing_binary", "missing_marker", "disabled"):
        assert command_of(detected("ruff", state)) is None
    assert command_of(detected("jdtls")) is None, "asking it would start the real thing"
    assert command_of(detected("ruff", from_user=True)) is None


def test_T1_a_server_that_waits_for_trust_is_not_asked_although_it_was_found() -> None:
    one = detected("ruff")
    waiting = Detected(one.entry, one.root, one.marker, RESOLVED, "not_trusted", "It waits.")
    assert command_of(waiting) is None


def installed(program: Path) -> Detected:
    program.parent.mkdir(parents=True, exist_ok=True)
    program.touch()
    one = detected("ruff")
    return Detected(one.entry, one.root, None, Resolved((str(program),), program, program, False), "available", "")


@pytest.mark.parametrize("name", ["pyright", "@scope/pyright"])
def test_an_npm_package_tells_its_version(tmp_path: Path, name: str) -> None:
    package = tmp_path / "node_modules" / name
    one = installed(package / "dist/bin/server.js")
    assert package_version(one) is None
    (package / "package.json").write_text('{"name": "x", "version": "1.2.3"}')
    (tmp_path / "package.json").write_text('{"name": "the project", "version": "9.9.9"}')
    assert package_version(one) == "1.2.3"
    (package / "package.json").write_text("[" * 100_000)
    assert package_version(one) is None


def test_a_python_package_tells_its_version(tmp_path: Path) -> None:
    one = installed(tmp_path / "bin/x-langserver")
    site = tmp_path / "lib/python3.11/site-packages"
    for name, script, version in (("other", "x", "9.9"), ("right", "x-langserver", "1.40.2")):
        metadata = site / f"{name}.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "entry_points.txt").write_text(f"[console_scripts]\n{script} = a:b\n")
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    assert package_version(one) == "1.40.2"
    waiting = Detected(one.entry, one.root, None, one.resolved, "not_trusted", "")
    assert package_version(waiting) is None


@pytest.mark.parametrize(
    ("output", "errors", "version"),
    [
        ("ruff 0.14.2\n", "", "0.14.2"),
        ("clangd version 22.1.0 (https://example.invalid 1234)\nFeatures: linux", "", "22.1.0"),
        ("golang.org/x/tools/gopls v0.21.0\n", "", "0.21.0"),
        ("", "Version: 5.1-beta+3", "5.1-beta+3"),
        ("rust-analyzer 1.91.0 (abc 2026-01-01)", "", "1.91.0"),
        ("\x1b[32m4.3.3\x1b[0m", "", "4.3.3"),
        ("usage: x [options]", "", None),
        ("", "", None),
        ("9." + "9" * 500, "", ("9." + "9" * 500)[:60]),
    ],
)
def test_versions(output: str, errors: str, version: str | None) -> None:
    assert told(output, errors) == version
