"""What is announced of diagnostics: to a client that can pull them, that it may."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def diagnostic_provider(client: Mapping[str, Any]) -> dict[str, Any]:
    """The part of ``ServerCapabilities`` for pull diagnostics, by the client's own capabilities; empty for one to
    which they are pushed: it does not know pulls, or would not pull again when a fix in one file mends another.

    ``interFileDependencies`` holds as soon as it holds for one server.
    """
    document = _part(client, "textDocument")
    if not isinstance(document.get("diagnostic"), Mapping):
        return {}
    if isinstance(document.get("publishDiagnostics"), Mapping) and not _is_told_to_pull_again(client):
        # Neovim before 0.12 pulls after changes of the same file only, and no push takes back what it has pulled.
        return {}
    return {
        "diagnosticProvider": {
            "identifier": "ombud",
            "interFileDependencies": True,
            "workspaceDiagnostics": True,
        }
    }


def _is_told_to_pull_again(client: Mapping[str, Any]) -> bool:
    return _part(_part(client, "workspace"), "diagnostics").get("refreshSupport") is True


def _part(of: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = of.get(name)
    return part if isinstance(part, Mapping) else {}
