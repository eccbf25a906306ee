"""The answer to ``initialize``: everything that any server may turn out to have, and for whom."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ombud.downstream.learned import Learned
from ombud.downstream.profiles import Profile, book
from ombud.downstream.registering import can_register
from ombud.downstream.semantic import MODIFIERS, MOST_MODIFIERS, TYPES
from ombud.faces.lsp.welcome import COMPLETION_TRIGGERS, FILE_OPERATIONS, SIGNATURE_TRIGGERS, TOKENS_ID
from ombud.faces.lsp.welcome import initialize_result as welcome

from tests.profiles import AGENT, NEOVIM, VSCODE

Json = dict[str, Any]
CLIENTS = pytest.mark.parametrize("client", [VSCODE, NEOVIM, AGENT], ids=["vscode", "neovim", "agent"])
CAN = (
    *("hover", "declaration", "definition", "typeDefinition", "implementation", "references", "documentHighlight"),
    *("documentSymbol", "completion", "signatureHelp", "codeAction", "codeLens", "documentLink", "color"),
    *("documentFormatting", "documentRangeFormatting", "rename", "foldingRange", "selectionRange"),
    *("linkedEditingRange", "callHierarchy", "typeHierarchy", "inlayHint", "moniker", "semanticTokens"),
    *("workspaceSymbol", "executeCommand"),
)
RESOLVE = ("completion", "codeAction", "codeLens", "documentLink", "inlayHint", "workspaceSymbol")


@pytest.fixture
def learned(tmp_path: Path) -> Learned:
    return Learned(tmp_path / "cache")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def told(client: Json, learned: Learned, *folders: Path) -> Json:
    result: Json = json.loads(json.dumps(welcome(client, folders, learned)))
    found: Json = result["capabilities"]
    return found


def commands(capabilities: Json) -> list[str]:
    return [name for name in capabilities["executeCommandProvider"]["commands"] if not name.startswith("ombud.")]


def typing(capabilities: Json) -> list[str]:
    options = capabilities.get("documentOnTypeFormattingProvider")
    return [options["firstTriggerCharacter"], *options["moreTriggerCharacter"]] if options else []


@CLIENTS
@pytest.mark.parametrize("marker", [None, "go.mod", "pyproject.toml", "package.json"])
def test_it_is_a_superset_for_every_client_and_folder(
    client: Json, marker: str | None, learned: Learned, project: Path
) -> None:
    if marker is not None:
        (project / marker).write_text("")
    found = told(client, learned, project)
    assert [name for name in CAN if not found.get(f"{name}Provider")] == []
    assert [name for name in RESOLVE if found[f"{name}Provider"].get("resolveProvider") is not True] == []
    assert found["renameProvider"] == {"prepareProvider": True}
    assert set(COMPLETION_TRIGGERS) <= set(found["completionProvider"]["triggerCharacters"])
    assert set(SIGNATURE_TRIGGERS) <= set(found["signatureHelpProvider"]["triggerCharacters"])
    kinds = found["codeActionProvider"]["codeActionKinds"]
    # VS Code leaves out a provider that announces kinds when another one is asked for; the empty one is in all.
    assert "" in kinds and {"quickfix", "refactor", "source.organizeImports", "source.fixAll"} <= set(kinds)
    assert found["semanticTokensProvider"]["full"] == {"delta": True} and found["semanticTokensProvider"]["range"]
    files = found["workspace"]["fileOperations"]
    assert files == {name: {"filters": [{"pattern": {"glob": "**"}}]} for name in FILE_OPERATIONS}
    assert {"ombud.status", "ombud.write"} <= set(found["executeCommandProvider"]["commands"])
    assert found["textDocumentSync"] | {"openClose": True, "change": 2} == found["textDocumentSync"]


@CLIENTS
def test_the_legend_begins_with_the_standard_and_fits_into_a_number(
    client: Json, learned: Learned, project: Path
) -> None:
    (project / "Cargo.toml").write_text("")
    legend = told(client, learned, project)["semanticTokensProvider"]["legend"]
    assert tuple(legend["tokenTypes"][: len(TYPES)]) == TYPES
    assert tuple(legend["tokenModifiers"][: len(MODIFIERS)]) == MODIFIERS
    assert len(legend["tokenModifiers"]) == len(set(legend["tokenModifiers"])) == MOST_MODIFIERS
    assert len(legend["tokenTypes"]) == len(set(legend["tokenTypes"]))
    rust = book().servers["rust-analyzer"]
    assert set(rust.token_types) | set(rust.token_modifiers) <= {*legend["tokenTypes"], *legend["tokenModifiers"]}


def test_only_a_client_that_takes_registrations_has_an_id_for_its_tokens(learned: Learned) -> None:
    assert told(VSCODE, learned)["semanticTokensProvider"]["id"] == TOKENS_ID
    assert "id" not in told(NEOVIM, learned)["semanticTokensProvider"]


@pytest.mark.parametrize(
    ("client", "listed"), [(VSCODE, False), (NEOVIM, True), (AGENT, True)], ids=["vscode", "neovim", "agent"]
)
def test_commands_are_listed_for_clients_that_cannot_be_told_later(
    client: Json, listed: bool, learned: Learned, project: Path
) -> None:
    found = commands(told(client, learned, project))
    assert ("gopls.tidy" in found and "ruff.applyAutofix" in found) is listed
    assert bool(found) is listed


def test_inline_values_are_left_to_an_editor_until_a_server_has_them(learned: Learned) -> None:
    assert "inlineValueProvider" not in told(VSCODE, learned)
    assert told(AGENT, learned)["inlineValueProvider"] is True


def test_triggers_are_those_of_the_servers_at_hand(learned: Learned, project: Path) -> None:
    everywhere = told(VSCODE, learned, project)["completionProvider"]["triggerCharacters"]
    assert "[" in everywhere and "`" in everywhere
    assert not any(one.isspace() or one.isalnum() for one in everywhere), "each word would be a request"
    (project / "pyproject.toml").write_text("")
    python = told(VSCODE, learned, project)["completionProvider"]["triggerCharacters"]
    assert "[" in python and "`" not in python
    (project / "Dockerfile").write_text("")
    assert " " in told(VSCODE, learned, project)["completionProvider"]["triggerCharacters"]


@pytest.mark.parametrize(
    ("marker", "client", "expected"),
    [
        ("compile_commands.json", VSCODE, {"\n"}),
        ("Cargo.toml", NEOVIM, {".", "="}),
        ("go.mod", AGENT, {"\n", "}", ";"}),
    ],
)
def test_formatting_on_type_has_its_characters(
    marker: str, client: Json, expected: set[str], learned: Learned, project: Path
) -> None:
    (project / marker).write_text("")
    assert expected <= set(typing(told(client, learned, project)))


def test_formatting_on_type_waits_for_its_server_where_none_is_at_hand(learned: Learned, project: Path) -> None:
    (project / "go.mod").write_text("")
    assert typing(told(VSCODE, learned, project)) == []


MINE = Profile(
    version="1",
    completes=True,
    completion=("~", " "),
    signature=("{",),
    typing=("§",),
    token_types=("spell",),
    token_modifiers=("loud",),
    commands=("mine.do",),
    action_kinds=("mine.kind",),
    will_save=True,
    will_save_wait_until=True,
)


def test_what_ran_here_before_is_announced(learned: Learned, project: Path, tmp_path: Path) -> None:
    learned.learn("mine", sys.executable, MINE, [project])
    found = told(AGENT, learned, project)
    assert {"~", " "} <= set(found["completionProvider"]["triggerCharacters"])
    assert "{" in found["signatureHelpProvider"]["triggerCharacters"]
    assert typing(found) == ["§"]
    assert "spell" in found["semanticTokensProvider"]["legend"]["tokenTypes"]
    assert "loud" in found["semanticTokensProvider"]["legend"]["tokenModifiers"]
    assert "mine.do" in commands(found)
    assert "mine.kind" in found["codeActionProvider"]["codeActionKinds"]
    assert found["textDocumentSync"]["willSave"] is found["textDocumentSync"]["willSaveWaitUntil"] is True
    elsewhere = told(AGENT, learned, tmp_path)
    assert "mine.do" not in commands(elsewhere) and "willSaveWaitUntil" not in elsewhere["textDocumentSync"]


def test_a_learned_profile_counts_more_than_the_measured_one(learned: Learned, project: Path, tmp_path: Path) -> None:
    (project / "compile_commands.json").write_text("")
    executable = tmp_path / "clangd"
    executable.write_text("1")
    learned.learn("clangd", str(executable), MINE, [project])
    assert typing(told(VSCODE, learned, project))[0] == "§"
    assert "\n" not in typing(told(VSCODE, learned, project)), "what was measured of clangd counts no more"
    executable.write_text("other")
    # Nobody knows what the new one can: what the old one and the measured one could.
    assert set(typing(told(VSCODE, learned, project))) >= {"§", "\n"}


def test_characters_that_accept_an_item_are_those_of_all(learned: Learned, project: Path, tmp_path: Path) -> None:
    learned.learn("one", sys.executable, Profile(version="1", completes=True, commit=(";", "(")), [project])
    assert told(AGENT, learned, project)["completionProvider"]["allCommitCharacters"] == [";", "("]
    learned.learn("two", sys.executable, Profile(version="1", completes=True), [project])
    assert "allCommitCharacters" not in told(AGENT, learned, project)["completionProvider"]
    assert "allCommitCharacters" not in told(AGENT, learned, tmp_path)["completionProvider"]


@pytest.mark.parametrize("client", [{"textDocument": None}, {"textDocument": {"semanticTokens": 5}}, {"workspace": []}])
def test_odd_capabilities_are_survived(client: Json, learned: Learned) -> None:
    assert told(client, learned)["hoverProvider"] is True


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("workspace/executeCommand", True),
        ("textDocument/documentColor", True),
        ("textDocument/prepareCallHierarchy", True),
        ("textDocument/willSaveWaitUntil", True),
        ("workspace/willRenameFiles", True),
        ("notebookDocument/sync", True),
        ("textDocument/inlineCompletion", False),
        ("vendor/thing", False),
        ("$/odd", False),
    ],
)
def test_whether_a_method_can_be_registered(method: str, expected: bool) -> None:
    assert can_register(VSCODE, method) is expected
    assert can_register(AGENT, method) is False
    assert can_register({"vendor": {"thing": {"dynamicRegistration": True}}}, "vendor/thing") is True


def test_nothing_heavy_is_imported_for_it(project: Path) -> None:
    """Reading the catalogue alone would cost as much as all the rest of the start."""
    script = (
        "import sys; from pathlib import Path; from ombud.faces.lsp.welcome import initialize_result;"
        "initialize_result({}, [Path(sys.argv[1])]);"
        "print([name for name in ('tomllib', 'platformdirs', 'pygls', 'ombud.downstream.catalogue',"
        " 'ombud.downstream.server', 'ombud.operations.hub', 'subprocess') if name in sys.modules])"
    )
    argv = [sys.executable, "-c", script, str(project)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
