"""What the user, the workspace and the client have configured, as one typed value.

The keys are those of ``initializationOptions.ombud`` in the wire contract. Three sources give them, the later one
winning key by key (inside ``servers`` per server and key; ``settings``, ``initializationOptions``, ``diagnostics``
and ``env`` are merged):

1. ``.ombud.toml`` in the first workspace folder. It comes with the repository, so it is the weakest: it can never
   grant or withhold trust, widen tiers, raise a limit, name a command or an environment, or say where Ombud keeps
   things (T2, T3). What it sets for a server's ``settings`` and ``initializationOptions`` can name programs as well,
   so that part counts in a trusted workspace only (`Configuration.server_rows`).
2. ``ombud.toml`` in the user's config folder: the user's own word, for all workspaces.
3. The client's options: the user's word, for this session.

``tiers`` is the exception to "the later wins": each source can only narrow, so that a user's file holds for every
client. Nothing raises: what cannot be used is left out and becomes a sentence in `Configuration.problems`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ombud.errors import OmbudError
from ombud.guard.redact import clean
from ombud.guard.tiers import Tiers
from ombud.workspace.keys import CLIENT, KEYS, LOWER, NARROW, SERVERS, USER, WORKSPACE, Bad, Key

WORKSPACE_FILE = ".ombud.toml"
USER_FILE = "ombud.toml"
FILE_LIMIT = 262_144
"""Bytes of a configuration file; larger ones are refused."""
_TOO_LARGE = f"It is larger than {FILE_LIMIT:,} bytes and was ignored."
MOST_PROBLEMS = 50
"""Sentences that are kept; a hostile file could cause any number of them."""

FREE_SERVER_KEYS = frozenset(
    {
        "disabled",
        "languages",
        "extensions",
        "filenames",
        "rootMarkers",
        "priority",
        "role",
        "diagnostics",
        "onlyFeatures",
        "exceptFeatures",
        "completionTriggers",
        "requestTimeoutMs",
        "readyTimeoutMs",
    }
)
"""What a workspace may say about a server at any time. None of it can name a program or pass for trust."""
HELD_SERVER_KEYS = frozenset({"settings", "initializationOptions"})
"""What counts from a workspace once it is trusted: servers take paths of programs and compilers from them."""
_MERGED = frozenset({"settings", "initializationOptions", "diagnostics", "env"})

Rows = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class DiagnosticsOptions:
    """``diagnostics``: how long a write waits (ms), whether late ones are notified, how many dependents are checked."""

    wait_ms: int = 5000
    notify: bool = True
    dependents: int = 20


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """``index``: whether the code graph is built, and where it is kept (None: the user's cache folder)."""

    enabled: bool = True
    store: str | None = None


@dataclass(frozen=True, slots=True)
class DebugOptions:
    """``debug``: the lives of a debug session, in minutes."""

    ttl_minutes: float = 30.0
    idle_minutes: float = 10.0


@dataclass(frozen=True, slots=True)
class Configuration:
    """Every key of the contract, with its default.

    ``trusted`` is None when neither client nor user said. ``sensitive_add`` and ``sensitive_allow`` are the user's
    ``sensitivePaths``. ``problems`` are sentences for status, doctor and the log.
    """

    trusted: bool | None = None
    tiers: Tiers = Tiers()  # noqa: RUF009 - it is frozen
    idle_minutes: float = 10.0
    max_servers: int = 8
    max_server_rss_mb: int = 4096
    diagnostics: DiagnosticsOptions = DiagnosticsOptions()
    index: IndexOptions = IndexOptions()
    debug: DebugOptions = DebugOptions()
    sensitive_add: tuple[str, ...] = ()
    sensitive_allow: tuple[str, ...] = ()
    token: str | None = None
    status_notifications: bool = False
    problems: tuple[str, ...] = ()
    rows: Rows = field(default_factory=dict)
    held_rows: Rows = field(default_factory=dict)

    def server_rows(self, trusted: bool) -> Rows:
        """``servers`` in the contract's camelCase, for `Catalogue.adjusted`.

        ``trusted``: whether the workspace's own code may run (``Trust.allows_workspace_code``); only then the settings
        that the workspace gives to servers are among them, beneath the user's.
        """
        return merge_rows(self.held_rows, self.rows) if trusted else self.rows


def load_configuration(root: Path | None, client: object = None, *, user_folder: Path | None = None) -> Configuration:
    """Read the two files and the client's options (the value of ``initializationOptions.ombud``, decoded).

    ``root`` is the first workspace folder, None when there is none. ``user_folder`` defaults to the user's config
    folder for Ombud. Never raises for anything in the three sources.
    """
    problems = _Problems()
    given = _Gathered(problems)
    if root is not None:
        given.take(WORKSPACE, WORKSPACE_FILE, _workspace_tree(root, problems))
    path, scope = _user_file(root, user_folder, problems)
    given.take(scope, str(path), _user_tree(path, problems))
    if client is not None:
        given.take(CLIENT, "initializationOptions.ombud", client)
    return given.configuration()


def deep_merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """A new tree: mappings are merged key by key, everything else of ``above`` replaces what ``below`` has."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = deep_merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def merge_rows(below: Rows, above: Rows) -> dict[str, dict[str, Any]]:
    """Lay the rows of ``servers`` of one source over those of another, by server and key."""
    merged = {name: dict(row) for name, row in below.items()}
    for name, row in above.items():
        mine = merged.setdefault(name, {})
        for key, value in row.items():
            old = mine.get(key)
            whole = key in _MERGED and isinstance(old, Mapping) and isinstance(value, Mapping)
            mine[key] = deep_merge(old, value) if whole else value  # type: ignore[arg-type]
    return merged


class _Problems:
    """Sentences, each once, at most `MOST_PROBLEMS` of them."""

    def __init__(self) -> None:
        self._said: dict[str, None] = {}

    def add(self, source: str, sentence: str) -> None:
        if len(self._said) < MOST_PROBLEMS:
            self._said[f"{source}: {sentence}"] = None
        else:
            self._said["There are more problems in the configuration; mend these first."] = None

    def __iter__(self) -> Iterator[str]:
        return iter(self._said)


class _Gathered:
    """What the sources have said so far, the weakest source first."""

    def __init__(self, problems: _Problems) -> None:
        self._problems = problems
        self._values: dict[str, Any] = {}
        self._tiers = Tiers()
        self._rows: Rows = {}
        self._held: Rows = {}

    def take(self, scope: str, source: str, tree: object) -> None:
        """Take what ``source`` may say of ``tree``. ``scope`` is `WORKSPACE`, `USER` or `CLIENT`."""
        if not isinstance(tree, Mapping):
            self._problems.add(source, f"It must be an object with keys, not {_kind(tree)}; all of it was ignored.")
            return
        for dotted, value in _leaves(tree):
            if value is None:
                continue
            if dotted == SERVERS:
                self._take_servers(scope, source, value)
            elif (key := KEYS.get(dotted)) is not None:
                self._take_value(scope, source, dotted, key, value)
            else:
                self._problems.add(source, _unknown(dotted, KEYS))

    def _take_value(self, scope: str, source: str, dotted: str, key: Key, value: Any) -> None:
        if scope not in key.scopes:
            self._problems.add(source, f"{dotted} {_whose(key)}; it was ignored here.")
            return
        try:
            checked = key.check(value)
        except Bad as bad:
            rest = "it was ignored" if bad.kept is None else "only what is right of it counts"
            self._problems.add(source, f"{dotted} must be {bad.expected}, not {_kind(value)}; {rest}.")
            if bad.kept is None:
                return
            checked = bad.kept
        if key.rule == NARROW:
            self._tiers = self._tiers & checked
        elif key.rule == LOWER and scope == WORKSPACE and checked > key.default:
            self._problems.add(source, f"{dotted} may be lowered here but not raised above {key.default:g}; ignored.")
        else:
            self._values[key.attribute] = checked

    def _take_servers(self, scope: str, source: str, value: object) -> None:
        if not isinstance(value, Mapping):
            self._problems.add(source, f"servers must be an object of objects, not {_kind(value)}; it was ignored.")
            return
        rows: dict[str, dict[str, Any]] = {}
        held: dict[str, dict[str, Any]] = {}
        for name, row in value.items():
            if not isinstance(row, Mapping):
                self._problems.add(source, f"servers.{_shown(name)} must be an object, not {_kind(row)}; ignored.")
                continue
            said = {str(key): part for key, part in row.items() if part is not None}
            if scope == WORKSPACE:
                self._refuse(source, name, said)
                held[str(name)] = {key: part for key, part in said.items() if key in HELD_SERVER_KEYS}
                said = {key: part for key, part in said.items() if key in FREE_SERVER_KEYS}
            rows[str(name)] = said
        self._rows = merge_rows(self._rows, rows)
        self._held = merge_rows(self._held, held)

    def _refuse(self, source: str, name: object, said: Mapping[str, Any]) -> None:
        for key in said:
            if key not in FREE_SERVER_KEYS and key not in HELD_SERVER_KEYS:
                self._problems.add(
                    source,
                    f"A workspace cannot set servers.{_shown(name)}.{_shown(key)}; it was ignored. "
                    "Put it into your own ombud.toml or your client's options.",
                )

    def configuration(self) -> Configuration:
        def part(prefix: str) -> dict[str, Any]:
            return {name.removeprefix(prefix): value for name, value in self._values.items() if name.startswith(prefix)}

        plain = {name: value for name, value in self._values.items() if "." not in name}
        return Configuration(
            **plain,
            tiers=self._tiers,
            diagnostics=DiagnosticsOptions(**part("diagnostics.")),
            index=IndexOptions(**part("index.")),
            debug=DebugOptions(**part("debug.")),
            rows=self._rows,
            held_rows={name: row for name, row in self._held.items() if row},
            problems=tuple(self._problems),
        )


def _leaves(tree: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """Dotted names and values; only the groups that the contract knows are opened."""
    groups = {dotted.partition(".")[0] for dotted in KEYS if "." in dotted}
    for name, value in tree.items():
        if name in groups and isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", part) for inner, part in value.items())
        else:
            yield str(name), value


def _unknown(dotted: str, known: Mapping[str, Key]) -> str:
    import difflib

    near = difflib.get_close_matches(dotted, [*known, SERVERS], n=1, cutoff=0.7)
    hint = f" Did you mean {near[0]}?" if near else ""
    return f"{_shown(dotted)} is not a key that Ombud knows; it was ignored.{hint}"


def _whose(key: Key) -> str:
    if key.scopes == frozenset({CLIENT}):
        return "is for the client's options only"
    if key.scopes == frozenset({USER}):
        return "is for the user's own ombud.toml only"
    return "is for the user and the client to say, not for a workspace"


def _shown(name: object) -> str:
    return clean(str(name), 60)


def _kind(value: object) -> str:
    """What a value is, in words for a person; the value itself may be a secret and is never shown."""
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, Mapping):
        return "an object"
    names: tuple[tuple[type, str], ...] = (
        (str, "a text"),
        (int, "this number"),
        (float, "this number"),
        (list, "a list"),
    )
    return next((words for kind, words in names if isinstance(value, kind)), "this kind of value")


def _workspace_tree(root: Path, problems: _Problems) -> Mapping[str, Any]:
    """``.ombud.toml``, read through the fence: a link out of the workspace, a pipe or a huge file is none."""
    from ombud.guard.fence import Fence
    from ombud.guard.sensitive import SensitivePaths

    try:
        fence = Fence([root], SensitivePaths())
        data = fence.read(fence.resolve(WORKSPACE_FILE, intent="read"), FILE_LIMIT).data
    except OmbudError as error:
        if error.kind != "not_found":
            sentence = _TOO_LARGE if error.kind == "too_large" else f"It was ignored. {error.message}"
            problems.add(WORKSPACE_FILE, sentence)
        return {}
    return _parse(WORKSPACE_FILE, data, problems)


def _user_file(root: Path | None, folder: Path | None, problems: _Problems) -> tuple[Path, str]:
    """Where the user's file is, and whose word it is.

    Inside the workspace it can be written by whoever writes there, so it counts as the workspace's (T2, T3). A
    relative folder from the environment would be looked up in whatever folder the process stands in; the XDG rules
    say to ignore it, and so does T3.
    """
    if folder is None:
        import platformdirs

        folder = Path(platformdirs.user_config_dir("ombud", appauthor=False))
        if not folder.is_absolute():
            folder = Path.home() / ".config" / "ombud"
    path = folder / USER_FILE
    if root is not None and Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)) and path.exists():
        problems.add(str(path), "It lies in the workspace, so it can say only what a workspace may.")
        return path, WORKSPACE
    return path, USER


def _user_tree(path: Path, problems: _Problems) -> Mapping[str, Any]:
    """The user's file; a link is the user's own business, anything but an ordinary file of bounded size is not."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        return {}
    except OSError as error:
        problems.add(str(path), f"It cannot be opened: {error.strerror}.")
        return {}
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            problems.add(str(path), "It is not an ordinary file and was ignored.")
            return {}
        with os.fdopen(handle, "rb", closefd=False) as file:
            data = file.read(FILE_LIMIT + 1)
    finally:
        os.close(handle)
    if len(data) > FILE_LIMIT:
        problems.add(str(path), _TOO_LARGE)
        return {}
    return _parse(str(path), data, problems)


def _parse(source: str, data: bytes, problems: _Problems) -> Mapping[str, Any]:
    import tomllib

    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        problems.add(source, "It is not UTF-8 text and was ignored.")
    except RecursionError:
        problems.add(source, "It is nested too deeply and was ignored.")
    except tomllib.TOMLDecodeError as error:
        problems.add(source, f"It is not valid TOML and was ignored: {clean(str(error), 120)}.")
    return {}
