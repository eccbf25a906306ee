"""What servers will announce, known before they run: profiles, measured ones from the package and learned ones.

``initialize`` is answered before any server is started (protocol.md), yet a client asks only for what it was announced.
A `Profile` holds the parts of a server's capabilities that a client must know in advance, since no plain ``true``
stands for them: the characters that trigger a request, the words of its semantic tokens, its commands.

``profiles.json`` is made by ``scripts/profiles.py`` from the catalogue and from servers that were really started, so
that nothing but msgspec and one small file stands between a client and its answer. What a server announced on this
machine is kept by `ombud.downstream.learned` and comes first.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from ombud.downstream.capabilities import Capabilities

MOST_WORDS = 400
"""Words of one kind that are taken from one server; gopls has 60 commands."""
LONGEST_WORD = 200
MOST_NOTEBOOKS = 16
MOST_FOLDERS = 8
"""Workspace folders that are glanced at before ``initialize`` is answered."""
MOST_NAMES = 2000
"""Names of one folder that are glanced at."""


class Profile(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, rename="camel"
):
    """The announced parts of one server, or of several joined. Characters and words are in the server's own order.

    ``completion``, ``signature``, ``signature_again`` and ``typing`` are trigger characters (``typing``: of formatting
    on type, the first one first); ``commit`` are ``allCommitCharacters``. ``token_types`` and ``token_modifiers`` are
    the legend of its semantic tokens, which may name a type twice. ``notebooks`` are its ``notebookSelector``.
    ``version`` is that of the server which was asked.
    """

    version: str | None = None
    completes: bool = False
    completion: tuple[str, ...] = ()
    commit: tuple[str, ...] = ()
    signature: tuple[str, ...] = ()
    signature_again: tuple[str, ...] = ()
    typing: tuple[str, ...] = ()
    token_types: tuple[str, ...] = ()
    token_modifiers: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    action_kinds: tuple[str, ...] = ()
    will_save: bool = False
    will_save_wait_until: bool = False
    notebooks: tuple[dict[str, Any], ...] = ()


class Book(msgspec.Struct, frozen=True):
    """``profiles.json``. ``marks``: name of a root marker → the servers it is a sign of; ``suffixes``: of a file."""

    servers: dict[str, Profile]
    marks: dict[str, tuple[str, ...]]
    suffixes: dict[str, tuple[str, ...]]


@lru_cache(maxsize=1)
def book() -> Book:
    """The package's own profiles, read at the first call (about 1 ms), then kept."""
    return msgspec.json.decode(Path(__file__).with_name("profiles.json").read_bytes(), type=Book)


def profile_of(capabilities: Capabilities, version: str | None = None) -> Profile:
    """The profile of a server that has announced ``capabilities``, what it registered included.

    Whatever has another shape than the specification's is left out; nothing is raised.
    """
    found = capabilities
    completion, signature = _options(found, *COMPLETION), _options(found, *SIGNATURE)
    tokens = [_mapping(one.get("legend")) for one in _options(found, *SEMANTIC)]
    sync = [_mapping(found.announced.get("textDocumentSync"))]
    return Profile(
        version=version,
        completes=found.supports("textDocument/completion"),
        completion=triggers(found, COMPLETION),
        commit=_words(completion, "allCommitCharacters"),
        signature=triggers(found, SIGNATURE),
        signature_again=_words(signature, "retriggerCharacters"),
        typing=triggers(found, TYPING),
        token_types=_legend(tokens, "tokenTypes"),
        token_modifiers=_legend(tokens, "tokenModifiers"),
        commands=tuple(_usable(found.commands)),
        action_kinds=_words(_options(found, "codeActionProvider", "textDocument/codeAction"), "codeActionKinds"),
        will_save=any(one.get("willSave") is True for one in sync)
        or bool(found.registrations("textDocument/willSave")),
        will_save_wait_until=found.supports("textDocument/willSaveWaitUntil"),
        notebooks=_notebooks(_options(found, "notebookDocumentSync", "notebookDocument/sync")),
    )


COMPLETION = ("completionProvider", "textDocument/completion")
SIGNATURE = ("signatureHelpProvider", "textDocument/signatureHelp")
TYPING = ("documentOnTypeFormattingProvider", "textDocument/onTypeFormatting")
SEMANTIC = ("semanticTokensProvider", "textDocument/semanticTokens")
"""Features: the capability, and the method that it is registered by."""


def triggers(capabilities: Capabilities, feature: tuple[str, str]) -> tuple[str, ...]:
    """The characters that set off ``feature``, one of those above."""
    options = _options(capabilities, *feature)
    if feature is TYPING:
        return _unique([*_first(options), *_words(options, "moreTriggerCharacter")])
    return _words(options, "triggerCharacters")


def _options(capabilities: Capabilities, provider: str, method: str) -> list[Mapping[str, Any]]:
    """The options of a feature: those of ``initialize``, then those of each registration."""
    return [_mapping(capabilities.announced.get(provider)), *map(_mapping, capabilities.registrations(method))]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _usable(words: Any) -> Iterator[str]:
    for word in words[:MOST_WORDS] if isinstance(words, list) else ():
        if isinstance(word, str) and len(word) <= LONGEST_WORD:
            yield word


def _unique(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))


def _words(options: Sequence[Mapping[str, Any]], key: str) -> tuple[str, ...]:
    return _unique(word for one in options for word in _usable(one.get(key)))


def _first(options: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for one in options:
        yield from _usable([one.get("firstTriggerCharacter")])


def _legend(tokens: Sequence[Mapping[str, Any]], key: str) -> tuple[str, ...]:
    """The words of the legend that counts: the last registered one, in its own order and with its repetitions."""
    legends = [words for one in tokens if (words := tuple(_usable(one.get(key))))]
    return legends[-1] if legends else ()


def _notebooks(options: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    selectors = [one.get("notebookSelector") for one in options]
    found = [one for selector in selectors if isinstance(selector, list) for one in selector if isinstance(one, dict)]
    return tuple(found[:MOST_NOTEBOOKS])


def join(profiles: Iterable[Profile]) -> Profile:
    """One profile for several servers: everything that any of them has, in the order of ``profiles``.

    ``allCommitCharacters`` count for every item that has none of its own, whichever server it is from. So only those
    stay that all completing servers have; one server's own would accept another's items in mid-word.
    """
    known = list(profiles)
    commits = [one.commit for one in known if one.completes]
    return Profile(
        completes=bool(commits),
        completion=_unique(word for one in known for word in one.completion),
        commit=tuple(word for word in commits[0] if all(word in other for other in commits)) if commits else (),
        signature=_unique(word for one in known for word in one.signature),
        signature_again=_unique(word for one in known for word in one.signature_again),
        typing=_unique(word for one in known for word in one.typing),
        token_types=_unique(word for one in known for word in one.token_types),
        token_modifiers=_unique(word for one in known for word in one.token_modifiers),
        commands=_unique(word for one in known for word in one.commands),
        action_kinds=_unique(word for one in known for word in one.action_kinds),
        will_save=any(one.will_save for one in known),
        will_save_wait_until=any(one.will_save_wait_until for one in known),
        notebooks=_apart(one for profile in known for one in profile.notebooks),
    )


def _apart(selectors: Iterable[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Each notebook selector once."""
    return tuple({msgspec.json.encode(one, order="sorted"): one for one in selectors}.values())


def glance(folders: Sequence[Path]) -> dict[str, None]:
    """The servers of the catalogue whose markers or files lie directly in ``folders``: names, by priority.

    One listing each and no look at what is below or inside, so that ``initialize`` is not held up. It decides what is
    announced, never what is started: `detect` does that, by its own rules.
    """
    known = book()
    found: set[str] = set()
    for folder in folders[:MOST_FOLDERS]:
        try:
            with os.scandir(folder) as entries:
                names = [entry.name for entry, _ in zip(entries, range(MOST_NAMES), strict=False)]
        except (OSError, ValueError):
            continue
        for name in names:
            found.update(known.marks.get(name, ()))
        for suffix in {os.path.splitext(name)[1] for name in names}:  # noqa: PTH122  (thousands of names, no objects)
            found.update(known.suffixes.get(suffix, ()))
    return {name: None for name in known.servers if name in found}
