"""The language servers that Ombud knows, as rows of ``catalogue.toml``, and the user's changes to them.

A row says what a server is for, how it is started, what marks its root, whether it runs code of the workspace and
what its diagnostics are like. Rows are data: nothing here looks at a workspace (that is `detect`) or starts
anything. The user's own entries, in the camelCase of the wire contract, are laid over the rows by `overrides`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any, Literal

import msgspec

Role = Literal["types", "linter", "formatter", "syntax", "spelling"]
Channel = Literal["pull", "push", "both"]

ANY_LANGUAGE = "*"
REQUEST_TIMEOUT_MS = 30_000
READY_TIMEOUT_MS = 60_000
"""Both from the wire contract, "Starting and failing"."""
USER_PRIORITY = 40
"""Of a server that the user adds without one: after the type servers, before the linters."""


class DiagnosticsProfile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a server's diagnostics are like with a client that can pull (architecture.md, decisions 8 and 9).

    ``versioned``: a push carries the version of the document it speaks of, which alone makes it fresh. ``settle_ms``:
    how long nothing may have come after the last push until that counts as the full answer; 0 when the version (or
    the pull's answer) settles it. ``silent_when_clean``: silence about a file without problems is usual.
    ``on_save``: the server looks at saved files only. ``confirm``: the request of its own by which a silent server can
    be asked whether a file is clean (see `ombud.diagnostics.confirm`). ``check_progress``: how the progress tokens of
    its checker begin, whose end says that the pushes after a save are complete; ``check_request``: the notification
    that starts it, for a save that it missed. ``shared_debounce``: of several documents opened at once it reports on
    the last alone, so they are asked about one after the other. ``project_ms``: it reports on files that nobody has
    open, and has done so once it was quiet for as long; 0 for one that does not. ``settings_ms``: how long after a
    change of a settings file it may go on by the old settings; sooner, where ``settings_told``, if it publishes or asks
    for a refresh. ``file_status``: its notification ``{uri, state}`` of what it does with a file, whose state ``idle``
    says that it has done; versions alone do not, since it may speak of a new text by what an old header said.
    ``overlays``: what is open in it and not on the disk can be imported by others, as a preview of a new file needs.
    ``refreshes_idly``: it asks for refreshes by itself some time after each change, though nothing has changed since.
    ``reopened``: to speak anew of a document that has not changed it needs to have it closed and opened.
    ``rebuild``: the param of its own by which ``didChange`` has it read anew what the document is made of. Without it
    clangd takes a header that has changed for the same if its length and the second of its change are the same.
    """

    channel: Channel = "push"
    versioned: bool = False
    settle_ms: int = 1000
    silent_when_clean: bool = False
    on_save: bool = False
    confirm: Literal["", "tsserver"] = ""
    check_progress: str = ""
    check_request: str = ""
    shared_debounce: bool = False
    project_ms: int = 0
    settings_ms: int = 2000
    settings_told: bool = True
    file_status: str = ""
    overlays: bool = False
    refreshes_idly: bool = False
    reopened: bool = False
    rebuild: str = ""


class Climb(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A step from a package's root to the root of the workspace that encloses it; ``to`` are markers."""

    to: tuple[str, ...]
    farthest: bool = False


class ServerEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of the catalogue; the head of ``catalogue.toml`` explains each field.

    ``disabled`` is None when nobody said anything; False means that the user asked for the server explicitly, which
    also brings it beside the winner of its ``alternatives``. ``from_user``: the command is the user's own (T2).
    Times are in milliseconds.
    """

    name: str = ""
    languages: tuple[str, ...]
    role: Role
    priority: int
    commands: tuple[tuple[str, ...], ...]
    markers: tuple[str, ...]
    weak_markers: tuple[str, ...]
    install: str
    runs_workspace_code: bool
    configured_first: bool = False
    diagnostics: DiagnosticsProfile
    completion_triggers: tuple[str, ...]
    extensions: tuple[str, ...] = ()
    filenames: tuple[str, ...] = ()
    alternatives: str | None = None
    exclude_markers: tuple[str, ...] = ()
    exclude_nearer: tuple[str, ...] = ()
    root_climbs: tuple[Climb, ...] = ()
    requires: tuple[str, ...] = ()
    must_fill: tuple[str, ...] = ()
    shim: str | None = None
    least_major: dict[str, int] = msgspec.field(default_factory=dict)
    note: str = ""
    initialization_options: dict[str, Any] = msgspec.field(default_factory=dict)
    settings: dict[str, Any] = msgspec.field(default_factory=dict)
    env: dict[str, str] = msgspec.field(default_factory=dict)
    indexed_log: tuple[str, ...] = ()
    indexes_silently: bool = False
    watched: tuple[str, ...] = ()
    rechecks_on_save: bool = False
    uncancelled: tuple[str, ...] = ()
    version_args: tuple[str, ...] = ("--version",)
    request_timeout_ms: int = REQUEST_TIMEOUT_MS
    ready_timeout_ms: int = READY_TIMEOUT_MS
    only_features: frozenset[str] = frozenset()
    except_features: frozenset[str] = frozenset()
    disabled: bool | None = None
    from_user: bool = False

    def serves(self, feature: str | None) -> bool:
        """Whether the user lets this server answer for a feature (see `features`); None is what nobody can switch."""
        if feature is None:
            return True
        return feature not in self.except_features and (not self.only_features or feature in self.only_features)

    def claims(self, language: str | None, name: str) -> bool:
        """Whether a file of this language and name is the server's business."""
        if language is not None and (language in self.languages or ANY_LANGUAGE in self.languages):
            return True
        return name in self.filenames or any(name.endswith(extension) for extension in self.extensions)

    def language_id(self, language: str | None, path: PurePath) -> str:
        """The ``languageId`` to open a document with: the file's language, or what a server of one's own calls it."""
        if language is not None and (language in self.languages or ANY_LANGUAGE in self.languages):
            return language
        if self.languages and self.languages[0] != ANY_LANGUAGE:
            return self.languages[0]
        return language or path.suffix.removeprefix(".") or "plaintext"

    def changed(self, **fields: Any) -> ServerEntry:
        """A copy with some fields replaced."""
        return msgspec.structs.replace(self, **fields)


class Catalogue:
    """All entries, by name. Immutable; `with_overrides` and `adjusted` make another one."""

    def __init__(self, entries: Mapping[str, ServerEntry]) -> None:
        ranked = sorted(entries.values(), key=lambda entry: entry.priority)
        self.entries: Mapping[str, ServerEntry] = {entry.name: entry for entry in ranked}
        self._by_language: dict[str, list[ServerEntry]] = {}
        self._by_name: list[ServerEntry] = []
        for entry in ranked:
            for language in entry.languages:
                self._by_language.setdefault(language, []).append(entry)
            if entry.extensions or entry.filenames:
                self._by_name.append(entry)
        self._rank = {entry.name: place for place, entry in enumerate(ranked)}

    def __iter__(self) -> Iterator[ServerEntry]:
        return iter(self.entries.values())

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def get(self, name: str) -> ServerEntry | None:
        """The entry of that name."""
        return self.entries.get(name)

    def speaks(self, language: str) -> bool:
        """Whether an entry names this language."""
        return language in self._by_language

    def claiming(self, language: str | None, name: str) -> tuple[ServerEntry, ...]:
        """The entries that claim a file of this language and name, by priority."""
        found: dict[str, ServerEntry] = {}
        if language is not None:
            for key in (language, ANY_LANGUAGE):
                found.update((entry.name, entry) for entry in self._by_language.get(key, ()))
        found.update((entry.name, entry) for entry in self._by_name if entry.claims(None, name))
        return tuple(sorted(found.values(), key=lambda entry: self._rank[entry.name]))

    def with_overrides(self, user: Mapping[str, Any]) -> Catalogue:
        """The catalogue with the user's ``servers`` laid over it.

        Keys and values are those of the wire contract (camelCase). Raises `UserError` with ``server`` and ``key`` in
        its data at the first thing that is wrong.
        """
        from ombud.downstream.overrides import strictly

        return strictly(self, user)

    def adjusted(self, user: Mapping[str, Any]) -> tuple[Catalogue, tuple[str, ...]]:
        """As `with_overrides`, but never raises: what is wrong is left out, and said in one sentence each."""
        from ombud.downstream.overrides import leniently

        return leniently(self, user)


def read_rows(text: str) -> dict[str, ServerEntry]:
    """The rows of a catalogue in TOML. Raises ``tomllib.TOMLDecodeError`` or ``msgspec.ValidationError``."""
    import tomllib

    rows = msgspec.convert(tomllib.loads(text), dict[str, ServerEntry])
    return {name: row.changed(name=name) for name, row in rows.items()}


@lru_cache(maxsize=1)
def load_catalogue() -> Catalogue:
    """The package's own catalogue. Read at the first call (about 20 ms), then kept."""
    return Catalogue(read_rows(Path(__file__).with_name("catalogue.toml").read_text("utf-8")))
