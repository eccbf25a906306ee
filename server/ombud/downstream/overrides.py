"""The user's ``servers`` laid over the catalogue: changed rows and rows of the user's own (wire contract, camelCase).

Each key is checked by itself. `strictly` raises at the first wrong one; `leniently` leaves it out with a sentence,
so that one slip in a configuration does not take the other servers away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any, get_args

import msgspec

from ombud.downstream.catalogue import (
    USER_PRIORITY,
    Catalogue,
    Channel,
    DiagnosticsProfile,
    Role,
    ServerEntry,
)
from ombud.downstream.features import FEATURES, features_named
from ombud.downstream.settings import joined
from ombud.errors import UserError
from ombud.guard.redact import clean
from ombud.syntax.languages import canonical
from ombud.workspace.configuration import deep_merge

_LONGEST = 600_000
"""Milliseconds that a deadline may have."""
_DIAGNOSTICS_KEYS = {
    "channel": "channel",
    "versioned": "versioned",
    "settleMs": "settle_ms",
    "silentWhenClean": "silent_when_clean",
    "onSave": "on_save",
    "projectMs": "project_ms",
    "settingsMs": "settings_ms",
    "settingsTold": "settings_told",
    "overlays": "overlays",
}


class _Wrong(Exception):
    """What a value should have been, as the end of "must be …"."""


def strictly(catalogue: Catalogue, user: Mapping[str, Any]) -> Catalogue:
    """See `Catalogue.with_overrides`."""

    def fail(server: str, key: str, sentence: str) -> None:
        raise UserError(f"servers.{server}{'.' if key else ''}{key} {sentence}", server=server, key=key)

    return _lay(catalogue, user, fail)


def leniently(catalogue: Catalogue, user: Mapping[str, Any]) -> tuple[Catalogue, tuple[str, ...]]:
    """See `Catalogue.adjusted`."""
    problems: list[str] = []

    def note(server: str, key: str, sentence: str) -> None:
        problems.append(f"servers.{server}{'.' if key else ''}{key} {sentence}")

    return _lay(catalogue, user, note), tuple(problems)


def faults(catalogue: Catalogue, user: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """What is wrong with ``servers``: the server, the key (empty for its whole row), and the end of a sentence."""
    found: list[tuple[str, str, str]] = []
    _lay(catalogue, user, lambda server, key, sentence: found.append((server, key, sentence)))
    return found


_Report = Callable[[str, str, str], None]


def _lay(catalogue: Catalogue, user: Mapping[str, Any], report: _Report) -> Catalogue:
    entries = dict(catalogue.entries)
    for name, row in user.items():
        shown = clean(str(name), 60)
        if not isinstance(row, Mapping):
            report(shown, "", "must be an object with keys such as command and languages.")
            continue
        if not str(name).strip() or shown != name:
            report(shown, "", "is not a name for a server: it must be printable and at most 60 characters long.")
            continue
        fields = _fields(shown, row, report)
        known = entries.get(name)
        entry = _changed(known, fields) if known is not None else _new(shown, row, fields, report)
        if entry is not None:
            entries[name] = entry
    return Catalogue(entries)


def _fields(name: str, row: Mapping[str, Any], report: _Report) -> dict[str, Any]:
    """The checked values by the contract's keys; null means "not said"."""
    fields: dict[str, Any] = {}
    for key, value in row.items():
        if value is None:
            continue
        check = _CHECKS.get(str(key))
        shown = clean(str(key), 60)
        if check is None:
            report(name, shown, f"is not a key of a server{_near(shown)}. The keys are {', '.join(_CHECKS)}.")
            continue
        try:
            fields[str(key)] = check(value)
        except _Wrong as wrong:
            report(name, shown, f"must be {wrong}.")
    return fields


def _near(key: str) -> str:
    import difflib

    near = difflib.get_close_matches(key, _CHECKS, n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""


_PLAIN = {
    "disabled": "disabled",
    "languages": "languages",
    "extensions": "extensions",
    "filenames": "filenames",
    "role": "role",
    "priority": "priority",
    "env": "env",
    "runsWorkspaceCode": "runs_workspace_code",
    "requestTimeoutMs": "request_timeout_ms",
    "readyTimeoutMs": "ready_timeout_ms",
    "onlyFeatures": "only_features",
    "exceptFeatures": "except_features",
    "completionTriggers": "completion_triggers",
}


def _changed(entry: ServerEntry, fields: Mapping[str, Any]) -> ServerEntry:
    """A row of the catalogue with the user's values in it."""
    changes = {_PLAIN[key]: value for key, value in fields.items() if key in _PLAIN}
    if "env" in changes:
        changes["env"] = {**entry.env, **changes["env"]}
    if "command" in fields:
        # What the row knows of its own executables does not hold for the user's.
        changes.update(commands=(fields["command"],), from_user=True, shim=None, least_major={}, version_args=())
    if "rootMarkers" in fields:
        # All rules about roots are replaced: the user has said what marks one.
        changes.update(
            markers=fields["rootMarkers"], weak_markers=(".git",), exclude_markers=(), exclude_nearer=(), root_climbs=()
        )
    if "settings" in fields:
        changes["settings"] = joined(entry.settings, fields["settings"])
    if "initializationOptions" in fields:
        changes["initialization_options"] = deep_merge(entry.initialization_options, fields["initializationOptions"])
    if "diagnostics" in fields:
        changes["diagnostics"] = msgspec.structs.replace(entry.diagnostics, **fields["diagnostics"])
    return entry.changed(**changes)


def _new(name: str, row: Mapping[str, Any], fields: Mapping[str, Any], report: _Report) -> ServerEntry | None:
    """A server of the user's own; None when it lacks what a server needs."""
    # A key that is there but wrong has been reported already.
    missing = [key for key in ("command", "rootMarkers") if key not in fields and row.get(key) is None]
    if not any(row.get(key) is not None for key in ("extensions", "languages", "filenames")):
        missing.append("languages or extensions")
    if missing:
        report(
            name,
            "",
            f"is not in the catalogue, so it needs {' and '.join(missing)} "
            "(rootMarkers = [] for a server that needs no marker).",
        )
    if "command" not in fields or "rootMarkers" not in fields:
        return None
    if not any(fields.get(key) for key in ("extensions", "languages", "filenames")):
        return None
    blank = ServerEntry(
        name=name,
        languages=(),
        role="types",
        priority=USER_PRIORITY,
        commands=(),
        markers=(),
        weak_markers=(".git",),
        install=f"Install {clean(fields['command'][0], 120)}, or correct servers.{name}.command",
        runs_workspace_code=False,
        diagnostics=DiagnosticsProfile(),
        completion_triggers=(),
        version_args=(),
    )
    return _changed(blank, fields)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _Wrong("true or false")
    return value


def _number(least: int, most: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        number = int(value) if isinstance(value, float) and value.is_integer() else value
        if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
            raise _Wrong(f"a whole number from {least} to {most}")
        return number

    return check


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) and item for item in value):
        raise _Wrong("a list of texts")
    return tuple(value)


def _command(value: Any) -> tuple[str, ...]:
    words = value if isinstance(value, list | tuple) else ()
    if not words or not all(isinstance(word, str) for word in words) or not words[0] or any("\0" in w for w in words):
        raise _Wrong('a list of words, the executable first, such as ["my-server", "--stdio"]')
    return tuple(words)


def _languages(value: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(canonical(language) for language in _texts(value)))


def _extensions(value: Any) -> tuple[str, ...]:
    return tuple(text if text.startswith(".") else f".{text}" for text in _texts(value))


def _filenames(value: Any) -> tuple[str, ...]:
    names = _texts(value)
    if any("/" in name for name in names):
        raise _Wrong("a list of file names without folders")
    return names


def _markers(value: Any) -> tuple[str, ...]:
    markers = _texts(value)
    for marker in markers:
        path = PurePosixPath(marker.partition("#")[0])
        if path.is_absolute() or ".." in path.parts or "\\" in marker or "\0" in marker or not path.parts:
            raise _Wrong("a list of names that lie in the root itself, such as “x.toml” (without “..”)")
    return markers


def _tree(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise _Wrong("an object")
    return dict(value)


def _env(value: Any) -> dict[str, str]:
    tree = _tree(value)
    for name, text in tree.items():
        if not isinstance(text, str) or not name or "=" in name or "\0" in name + text:
            raise _Wrong("an object of texts, a variable each")
    return tree


def _features(value: Any) -> frozenset[str]:
    words = _texts(value)
    unknown = [word for word in words if not features_named(word)]
    if unknown:
        raise _Wrong(f"a list of features ({', '.join(sorted(FEATURES))}), and {clean(unknown[0], 40)!r} is none")
    return frozenset().union(*map(features_named, words))


def _one_of(words: tuple[str, ...]) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in words:
            raise _Wrong(f"one of {', '.join(words)}")
        return str(value)

    return check


def _diagnostics(value: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for key, part in _tree(value).items():
        if key not in _DIAGNOSTICS_KEYS:
            raise _Wrong(f"an object with the keys {', '.join(_DIAGNOSTICS_KEYS)}, and {clean(key, 40)!r} is none")
        try:
            fields[_DIAGNOSTICS_KEYS[key]] = _DIAGNOSTICS_CHECKS[key](part)
        except _Wrong as wrong:
            raise _Wrong(f"an object in which {key} is {wrong}") from wrong
    return fields


_DIAGNOSTICS_CHECKS: dict[str, Callable[[Any], Any]] = {
    "channel": _one_of(get_args(Channel)),
    "versioned": _flag,
    "settleMs": _number(0, 60_000),
    "silentWhenClean": _flag,
    "onSave": _flag,
    "projectMs": _number(0, 60_000),
    "settingsMs": _number(0, 60_000),
    "settingsTold": _flag,
    "overlays": _flag,
}
_CHECKS: dict[str, Callable[[Any], Any]] = {
    "disabled": _flag,
    "command": _command,
    "languages": _languages,
    "extensions": _extensions,
    "filenames": _filenames,
    "rootMarkers": _markers,
    "settings": _tree,
    "initializationOptions": _tree,
    "env": _env,
    "role": _one_of(get_args(Role)),
    "priority": _number(-1_000_000, 1_000_000),
    "requestTimeoutMs": _number(1, _LONGEST),
    "readyTimeoutMs": _number(1, _LONGEST),
    "onlyFeatures": _features,
    "exceptFeatures": _features,
    "diagnostics": _diagnostics,
    "runsWorkspaceCode": _flag,
    "completionTriggers": _texts,
}
"""Every key that a row of ``servers`` may have, and what makes its value one of the catalogue's."""
