"""The words by which users pick what a server is asked for: ``onlyFeatures`` and ``exceptFeatures``.

A feature is a capability of LSP 3.17 without its ``Provider`` (``hover``, ``completion``, ``rename``), so one word
covers a request and its follow-ups (``completionItem/resolve`` belongs to ``completion``).
"""

from __future__ import annotations

from ombud.downstream.capabilities import PROVIDERS

_RENAMED: dict[str, str | None] = {
    "color": "documentColor",
    "diagnostic": "diagnostics",
    "documentFormatting": "formatting",
    "documentRangeFormatting": "rangeFormatting",
    "documentOnTypeFormatting": "onTypeFormatting",
    "workspace": "fileOperations",
    "textDocumentSync": None,
}
_UNASKED = {"textDocument/publishDiagnostics": "diagnostics"}


def feature_of(method: str) -> str | None:
    """The feature that a method belongs to; None for one that users cannot switch (synchronisation, vendor methods)."""
    provider = PROVIDERS.get(method)
    if provider is None:
        return _UNASKED.get(method)
    name = provider.partition(".")[0].removesuffix("Provider")
    return _RENAMED.get(name, name)


FEATURES: frozenset[str] = frozenset(name for method in PROVIDERS if (name := feature_of(method)))
"""Every word that ``onlyFeatures`` and ``exceptFeatures`` may hold."""
