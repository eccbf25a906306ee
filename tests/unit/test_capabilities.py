"""What a server can be asked: by what it announced, and by registrations that come and go."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from ombud.downstream.capabilities import PROVIDERS, Capabilities, dig
from ombud.downstream.features import FEATURES, feature_of, features_named
from ombud.downstream.fileops import wants
from ombud.downstream.server import Server


@pytest.mark.parametrize(
    ("method", "registered", "options"),
    [
        ("textDocument/hover", "textDocument/hover", {}),
        ("completionItem/resolve", "textDocument/completion", {"resolveProvider": True}),
        ("callHierarchy/incomingCalls", "textDocument/prepareCallHierarchy", {}),
        ("textDocument/semanticTokens/full/delta", "textDocument/semanticTokens", {"full": {"delta": True}}),
        ("workspace/diagnostic", "textDocument/diagnostic", {"workspaceDiagnostics": True}),
    ],
)
def test_a_registration_counts_from_its_coming_until_its_going(
    method: str, registered: str, options: dict[str, Any]
) -> None:
    capabilities = Capabilities({"definitionProvider": True})
    for _ in range(2):
        assert not capabilities.supports(method)
        capabilities.register("r1", registered, options)
        assert capabilities.supports(method)
        capabilities.register("r2", registered, options)
        capabilities.unregister("r1")
        assert capabilities.supports(method)
        # The same id again replaces what it stood for.
        capabilities.register("r2", "textDocument/moniker", None)
        assert not capabilities.supports(method)
        capabilities.unregister("r2")
    assert capabilities.supports("textDocument/definition")


def test_methods_of_vendors_are_always_worth_asking_and_not_remembered() -> None:
    capabilities = Capabilities()
    assert all(capabilities.supports(f"vendor/{number}") for number in range(100))
    assert not any("vendor" in str(value) for value in vars(capabilities).values())


@pytest.mark.parametrize(
    ("path", "value"),
    [("a", {"b": {"c": 1}}), ("a.b.c", 1), ("a.b.c.d", None), ("x", None), ("x.y", None), ("t", True), ("t.u", None)],
)
def test_a_dotted_path(path: str, value: Any) -> None:
    assert dig({"a": {"b": {"c": 1}}, "t": True}, path) == value


def test_every_method_with_a_capability_has_a_feature_or_cannot_be_switched() -> None:
    found = {method: feature_of(method) for method in PROVIDERS}
    assert {method for method, feature in found.items() if feature is None} == {
        "textDocument/willSave",
        "textDocument/willSaveWaitUntil",
    }
    assert found["completionItem/resolve"] == found["textDocument/completion"] == "completion"
    assert feature_of("textDocument/publishDiagnostics") == feature_of("textDocument/diagnostic") == "diagnostics"
    assert feature_of("vendor/method") is None
    assert set(found.values()) - {None} == FEATURES


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        *(("hover", "hover"), ("completion", "completion"), ("diagnostics", "diagnostics"), ("inlayHint", "inlayHint")),
        *(("goto-declaration", "declaration"), ("goto-definition", "definition"), ("goto-reference", "references")),
        *(("goto-type-definition", "typeDefinition"), ("goto-implementation", "implementation")),
        *(("signature-help", "signatureHelp"), ("document-highlight", "documentHighlight")),
        *(("code-action", "codeAction"), ("workspace-command", "executeCommand"), ("inlay-hints", "inlayHint")),
        *(("document-symbols", "documentSymbol"), ("workspace-symbols", "workspaceSymbol")),
        *(("rename-symbol", "rename"), ("document-colors", "documentColor"), ("document-links", "documentLink")),
        *(("pull-diagnostics", "diagnostics"), ("call-hierarchy", "callHierarchy"), ("code-lens", "codeLens")),
        *(("format", "formatting rangeFormatting onTypeFormatting"), ("textDocument/codeLens", "codeLens")),
        *(("hoover", ""), ("", ""), ("-", ""), ("textDocument/didOpen", ""), ("goto", "")),
    ],
)
def test_features_go_by_helix_words_too(word: str, wanted: str) -> None:
    assert features_named(word) == set(wanted.split())


@pytest.mark.parametrize(
    ("name", "matches", "wanted"),
    [
        ("here.x", "file", True),
        ("here.x", "folder", False),
        ("inside", "folder", True),
        ("inside", "file", False),
        ("gone.x", "file", True),
        ("gone.x", "folder", True),
        # Longer than a file system takes: nothing is known of it, and it is nobody's fault.
        ("long" * 2000, "file", True),
    ],
)
def test_a_filter_for_files_or_folders_goes_by_what_is_there(
    tmp_path: Path, name: str, matches: str, wanted: bool
) -> None:
    (tmp_path / "here.x").write_text("")
    (tmp_path / "inside").mkdir()
    filters = {"filters": [{"scheme": "file", "pattern": {"glob": "**", "matches": matches}}]}
    capabilities = Capabilities({"workspace": {"fileOperations": {"willRename": filters}}})
    server = cast("Server", SimpleNamespace(capabilities=capabilities))
    uri = "file://" + os.fspath(tmp_path / name)
    assert wants(server, "workspace/willRenameFiles", {"oldUri": uri, "newUri": uri}) is wanted
