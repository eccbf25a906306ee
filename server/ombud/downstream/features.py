"""The words by which users pick what a server is asked for: ``onlyFeatures`` and ``exceptFeatures``.

A feature is a capability of LSP 3.17 without its ``Provider`` (``hover``, ``completion``, ``rename``), so one word
covers a request and its follow-ups (``completionItem/resolve`` belongs to ``completion``). The words of Helix's
``only-features`` and ``except-features`` mean what they mean there, and a method stands for its feature.
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


def _feature(provider: str) -> str | None:
    name = provider.partition(".")[0].removesuffix("Provider")
    return _RENAMED.get(name, name)


_FEATURES = {**{method: _feature(provider) for method, provider in PROVIDERS.items()}, **_UNASKED}


def feature_of(method: str) -> str | None:
    """The feature that a method belongs to; None for one that users cannot switch (synchronisation, vendor methods)."""
    return _FEATURES.get(method)


FEATURES: frozenset[str] = frozenset(name for name in _FEATURES.values() if name)
"""Every feature, by the word that this page and all messages use."""

_HELIX: dict[str, tuple[str, ...]] = {
    "format": ("formatting", "rangeFormatting", "onTypeFormatting"),
    "goto-declaration": ("declaration",),
    "goto-definition": ("definition",),
    "goto-type-definition": ("typeDefinition",),
    "goto-reference": ("references",),
    "goto-implementation": ("implementation",),
    "workspace-command": ("executeCommand",),
    "document-symbols": ("documentSymbol",),
    "workspace-symbols": ("workspaceSymbol",),
    "pull-diagnostics": ("diagnostics",),
    "rename-symbol": ("rename",),
    "inlay-hints": ("inlayHint",),
    "document-links": ("documentLink",),
    "document-colors": ("documentColor",),
}
"""The words of Helix that are not just ours with hyphens (its book, "Configuring Language Servers")."""


def features_named(word: str) -> frozenset[str]:
    """The features that a word of ``onlyFeatures`` or ``exceptFeatures`` is about; none where it is no such word."""
    if word in _HELIX:
        return frozenset(_HELIX[word])
    first, *others = word.split("-")
    name = feature_of(word) or first + "".join(other.capitalize() for other in others)
    return frozenset({name}) & FEATURES
