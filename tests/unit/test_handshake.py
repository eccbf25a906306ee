"""What a server is told of its client: the client's own word, and Ombud's where it does the work."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from ombud.downstream.handshake import UNSAID, capabilities

from tests.profiles import AGENT, NEOVIM, VSCODE

Json = dict[str, Any]
PROFILES = pytest.mark.parametrize("client", [VSCODE, NEOVIM, AGENT], ids=["vscode", "neovim", "agent"])
REFRESHED = ("codeLens", "semanticTokens", "inlayHint", "inlineValue", "foldingRange", "diagnostics")


def dig(tree: Any, path: str) -> Any:
    for name in path.split("."):
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree


def leaves(tree: Any, at: str = "") -> dict[str, Any]:
    """Dotted path → value, for everything that is no object."""
    if not isinstance(tree, dict) or not tree:
        return {at: tree}
    return {
        path: value for name, one in tree.items() for path, value in leaves(one, f"{at}.{name}".lstrip(".")).items()
    }


@PROFILES
def test_what_ombud_does_itself_is_claimed_whatever_the_client_can(client: Json) -> None:
    told = capabilities(client)
    for path, value in {
        "general.positionEncodings": ["utf-16"],
        "window.workDoneProgress": True,
        "workspace.configuration": True,
        "workspace.workspaceFolders": True,
        "workspace.didChangeConfiguration.dynamicRegistration": True,
        "workspace.didChangeWatchedFiles.dynamicRegistration": True,
        "workspace.didChangeWatchedFiles.relativePatternSupport": True,
        "textDocument.diagnostic.dynamicRegistration": True,
        "textDocument.diagnostic.relatedDocumentSupport": True,
        "textDocument.publishDiagnostics.versionSupport": True,
        "textDocument.synchronization.didSave": True,
        **{f"workspace.{name}.refreshSupport": True for name in REFRESHED},
    }.items():
        assert dig(told, path) == value, path


@pytest.mark.parametrize("client", [VSCODE, NEOVIM], ids=["vscode", "neovim"])
def test_everything_else_is_what_the_client_says(client: Json) -> None:
    before = deepcopy(client)
    said, told = leaves(client), leaves(capabilities(client))
    assert client == before, "the client's own must not be changed"
    ours = {
        "general.positionEncodings",
        "textDocument.publishDiagnostics.versionSupport",
        "textDocument.diagnostic.relatedDocumentSupport",
    }
    changed = {path for path in said if told.get(path) != said[path]}
    assert {path for path in changed if not path.endswith(".dynamicRegistration")} <= ours
    added = {path for path in told if path not in said}
    assert all(path.endswith((".dynamicRegistration", ".refreshSupport")) or path in ours for path in added), added


@PROFILES
def test_servers_are_to_announce_at_once_what_they_can(client: Json) -> None:
    taken = {path for path, value in leaves(capabilities(client)).items() if "dynamicRegistration" in path and value}
    assert taken == {
        "textDocument.diagnostic.dynamicRegistration",
        "workspace.didChangeConfiguration.dynamicRegistration",
        "workspace.didChangeWatchedFiles.dynamicRegistration",
    }


@PROFILES
def test_that_a_feature_is_not_registered_is_said_in_so_many_words(client: Json) -> None:
    """biome offers formatting only to those who say so."""
    features = capabilities(client)["textDocument"]
    assert {name for name, value in features.items() if "dynamicRegistration" not in value} == {"publishDiagnostics"}


def test_a_client_that_says_nothing_is_answered_richly() -> None:
    told = capabilities({})
    for group, entries in UNSAID.items():
        assert entries.keys() <= told[group].keys()
    assert dig(told, "textDocument.documentSymbol.hierarchicalDocumentSymbolSupport") is True
    assert dig(told, "textDocument.semanticTokens.tokenTypes")
    # Nobody has said that snippets would be understood.
    assert dig(told, "textDocument.completion.completionItem.snippetSupport") is None


@pytest.mark.parametrize(
    "path",
    [
        "textDocument.definition.linkSupport",
        "textDocument.hover.contentFormat",
        "textDocument.completion.completionItem.labelDetailsSupport",
        "textDocument.documentSymbol.hierarchicalDocumentSymbolSupport",
        "textDocument.codeAction.codeActionLiteralSupport",
        "textDocument.rename.prepareSupport",
        "textDocument.publishDiagnostics.relatedInformation",
        "workspace.workspaceEdit.documentChanges",
        "workspace.applyEdit",
    ],
)
def test_what_a_client_leaves_out_it_cannot(path: str) -> None:
    group = path.partition(".")[0]
    assert dig(capabilities({group: {}}), path) is None
    assert dig(capabilities({}), path), "an agent reads what it understands"


def test_only_one_encoding_of_positions_is_spoken() -> None:
    told = capabilities({"offsetEncoding": ["utf-8", "utf-16"], "general": {"positionEncodings": ["utf-8"]}})
    assert told["offsetEncoding"] == told["general"]["positionEncodings"] == ["utf-16"]
    assert "offsetEncoding" not in capabilities({})


def test_a_clients_experiments_are_its_servers_business_but_for_those_that_spoil_files() -> None:
    told = capabilities({"experimental": {"serverStatusNotification": True, "snippetTextEdit": True, "ombud": {}}})
    assert told["experimental"] == {"serverStatusNotification": True}
    assert "experimental" not in capabilities({})


@pytest.mark.parametrize("odd", [None, 5, [], "x", True], ids=str)
def test_odd_groups_count_as_unsaid(odd: Any) -> None:
    told = capabilities(dict.fromkeys(UNSAID, odd))
    assert told["textDocument"] == capabilities({})["textDocument"]
