"""The answer to ``initialize``: announced before any server runs and before anything heavy is imported.

A client asks only for what it was announced, so this is a superset: what plain ``true`` stands for is announced
always, since a method that a file's servers lack is answered with null at once. Trigger characters, words of semantic
tokens and commands are those of the servers that ran in these folders before, or whose files lie there
(`downstream.profiles`); where nothing is known, those of all. What is missing then is registered when its server is
ready (`operations.registrations`), at clients that take registrations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ombud import __version__
from ombud.downstream.learned import Learned
from ombud.downstream.profiles import Profile, book, glance, join
from ombud.downstream.registering import can_register
from ombud.downstream.semantic import STANDARD, Legend
from ombud.faces.lsp.provider import diagnostic_provider
from ombud.operations.table import OPERATIONS, camel

COMPLETION_TRIGGERS = [".", '"', "'", "/", "<", ":", ">", "@", "$", "-", "#"]
SIGNATURE_TRIGGERS = ["(", ",", "<"]
ACTION_KINDS = [
    *("", "quickfix", "refactor", "refactor.extract", "refactor.inline", "refactor.rewrite", "source"),
    *("source.organizeImports", "source.fixAll"),
]
"""The empty kind stands for every kind, so that no server's own is missed; the others are for clients' menus."""
FILE_OPERATIONS = ("didCreate", "willCreate", "didRename", "willRename", "didDelete", "willDelete")
TOKENS_ID = "ombud/semanticTokens"
"""The id under which semantic tokens are announced to a client at which they can be registered anew."""


_RESOLVED: dict[str, Any] = {"resolveProvider": True}
ALWAYS: dict[str, Any] = {
    "positionEncoding": "utf-16",
    "hoverProvider": True,
    "declarationProvider": True,
    "definitionProvider": True,
    "typeDefinitionProvider": True,
    "implementationProvider": True,
    "referencesProvider": True,
    "documentHighlightProvider": True,
    "documentSymbolProvider": True,
    "codeLensProvider": _RESOLVED,
    "documentLinkProvider": _RESOLVED,
    "colorProvider": True,
    "documentFormattingProvider": True,
    "documentRangeFormattingProvider": True,
    "renameProvider": {"prepareProvider": True},
    "foldingRangeProvider": True,
    "selectionRangeProvider": True,
    "linkedEditingRangeProvider": True,
    "callHierarchyProvider": True,
    "typeHierarchyProvider": True,
    "inlayHintProvider": _RESOLVED,
    "monikerProvider": True,
    "workspaceSymbolProvider": _RESOLVED,
    "workspace": {
        "workspaceFolders": {"supported": True, "changeNotifications": True},
        "fileOperations": {name: {"filters": [{"pattern": {"glob": "**"}}]} for name in FILE_OPERATIONS},
    },
}
"""What needs no profile."""


def initialize_result(
    client: Mapping[str, Any], folders: Sequence[Path] = (), learned: Learned | None = None
) -> dict[str, Any]:
    """``InitializeResult`` for a client with these capabilities and workspace folders."""
    known = _of_folders(folders, learned or Learned())
    own = [f"ombud.{camel(name)}" for name in OPERATIONS]
    operations = [{"name": name, "tier": entry.tier} for name, entry in OPERATIONS.items()]
    return {
        "capabilities": {
            **ALWAYS,
            "textDocumentSync": _sync(known),
            "completionProvider": _completion(known),
            "signatureHelpProvider": _signature(known),
            "codeActionProvider": {"codeActionKinds": _kinds(known), **_RESOLVED},
            "semanticTokensProvider": _tokens(client, known),
            "executeCommandProvider": {"commands": [*own, *_commands(client, known)]},
            **_typing(client, known),
            **_inline_values(client),
            **diagnostic_provider(client),
            **_notebooks(client),
            "experimental": {"ombud": {"version": __version__, "operations": operations}},
        },
        "serverInfo": {"name": "ombud", "version": __version__},
    }


class _Known:
    """``likely``: joined profile of the servers that these folders speak for, None where they say nothing; ``every``:
    of all that Ombud knows."""

    def __init__(self, likely: Profile | None, every: Profile) -> None:
        self.likely = likely
        self.every = every
        self.best = likely if likely is not None else every


def _of_folders(folders: Sequence[Path], learned: Learned) -> _Known:
    servers = book().servers
    likely = {name: servers[name] for name in glance(folders)}
    for name, (profile, exact) in learned.known(folders).items():
        measured = servers.get(name)
        # Another version's profile only adds: what it has lost since is answered with null.
        likely[name] = profile if exact or measured is None else join([measured, profile])
    return _Known(join(likely.values()) if likely else None, join([*likely.values(), *servers.values()]))


def _distinct(*words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(word for some in words for word in some))


def _sync(known: _Known) -> dict[str, Any]:
    sync: dict[str, Any] = {"openClose": True, "change": 2, "save": {"includeText": False}}
    if known.best.will_save:
        sync["willSave"] = True
    if known.best.will_save_wait_until:
        sync["willSaveWaitUntil"] = True
    return sync


def _completion(known: _Known) -> dict[str, Any]:
    own = known.best.completion
    if known.likely is None:
        # With a blank or a letter each word would be a request, for the sake of servers that are hardly there.
        own = tuple(one for one in own if not one.isspace() and not one.isalnum())
    options: dict[str, Any] = {
        "triggerCharacters": _distinct(COMPLETION_TRIGGERS, own),
        "resolveProvider": True,
        "completionItem": {"labelDetailsSupport": True},
    }
    if known.likely is not None and known.likely.commit:
        options["allCommitCharacters"] = list(known.likely.commit)
    return options


def _signature(known: _Known) -> dict[str, Any]:
    triggers = [one for one in known.best.signature if known.likely is not None or not one.isspace()]
    return {
        "triggerCharacters": _distinct(SIGNATURE_TRIGGERS, triggers),
        "retriggerCharacters": _distinct([","], known.best.signature_again),
    }


def _kinds(known: _Known) -> list[str]:
    return _distinct(ACTION_KINDS, known.every.action_kinds)


def _typing(client: Mapping[str, Any], known: _Known) -> dict[str, Any]:
    """Formatting on type needs characters. A client that takes registrations gets those of other servers later."""
    triggers = known.best.typing
    if not triggers and not can_register(client, "textDocument/onTypeFormatting"):
        triggers = known.every.typing
    if not triggers:
        return {}
    first, *more = triggers
    return {"documentOnTypeFormattingProvider": {"firstTriggerCharacter": first, "moreTriggerCharacter": more}}


def _notebooks(client: Mapping[str, Any]) -> dict[str, Any]:
    """Every notebook with every cell: which of them a server sees is decided when it is known what it wants."""
    if not client.get("notebookDocument"):
        return {}
    return {"notebookDocumentSync": {"notebookSelector": [{"notebook": "*"}], "save": True}}


def _inline_values(client: Mapping[str, Any]) -> dict[str, Any]:
    """An editor that finds inline values by itself leaves it wherever they are announced, so this waits for a server
    that has them, if the client takes a registration."""
    return {} if can_register(client, "textDocument/inlineValue") else {"inlineValueProvider": True}


def _tokens(client: Mapping[str, Any], known: _Known) -> dict[str, Any]:
    legend = STANDARD
    for profile in (known.likely, known.every):
        if profile is not None:
            legend = legend.with_words_of(Legend(profile.token_types, profile.token_modifiers))
    options: dict[str, Any] = {"legend": legend.options(), "full": {"delta": True}, "range": True}
    if can_register(client, "textDocument/semanticTokens"):
        options |= {"id": TOKENS_ID, "documentSelector": None}
    return options


def _commands(client: Mapping[str, Any], known: _Known) -> tuple[str, ...]:
    """Servers' commands, at a client that takes no registrations: it offers only what is announced now.

    One that takes them makes each a command of the whole editor, where another extension may own the name, and would
    refuse Ombud altogether. It is told of them one by one, when their server is there.
    """
    return () if can_register(client, "workspace/executeCommand") else known.every.commands
