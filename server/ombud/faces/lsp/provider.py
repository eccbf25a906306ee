"""What is announced of diagnostics: to a client that can pull them, that it may."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def diagnostic_provider(client: Mapping[str, Any]) -> dict[str, Any]:
    """The part of ``ServerCapabilities`` for pull diagnostics, by the client's own capabilities; empty for one that
    does not know them, to which they are pushed.

    ``interFileDependencies`` holds as soon as it holds for one server.
    """
    document = client.get("textDocument")
    if not isinstance(document, Mapping) or not isinstance(document.get("diagnostic"), Mapping):
        return {}
    return {
        "diagnosticProvider": {
            "identifier": "ombud",
            "interFileDependencies": True,
            "workspaceDiagnostics": True,
        }
    }
