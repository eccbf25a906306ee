"""What the user, the workspace and the client have configured, as one typed value.

The keys are those of ``initializationOptions.ombud`` in the wire contract. Three sources give them, the later one
winning key by key (inside ``servers`` per server and key; ``settings``, ``initializationOptions``, ``diagnostics``
and ``env`` are merged):

1. ``.ombud.toml`` in each workspace folder. It comes with the repository, so it is the weakest: it can never grant or
   withhold trust, widen tiers, raise a limit, name a command or an environment, or say where Ombud keeps things (T2,
   T3). What it sets for a server's ``settings`` and ``initializationOptions`` can name programs as well, so that part
   counts in a trusted folder only (`Configuration.server_rows`). What it says of servers holds for the files of its
   own folder; of its other keys the lowest limit and the narrowest tiers count, and else the first folder's.
2. ``ombud.toml`` in the user's config folder: the user's own word, for all workspaces.
3. The client: its options in ``initialize``, and over them the ``ombud`` section of its settings, which it may change
   at any time (``workspace/didChangeConfiguration``). Both are the user's word, for this session.

``tiers`` is the exception to "the later wins": each source can only narrow, so that a user's file holds for every
client, and what a session was limited to when it began holds until it ends. Nothing raises: what cannot be used is
left out and becomes a sentence in `Configuration.problems`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ombud.guard.redact import clean
from ombud.guard.tiers import Tiers
from ombud.workspace.keys import CLIENT, KEYS, LOWER, NARROW, SERVERS, UNKNOWN, USER, WORKSPACE, Bad, Key
from ombud.workspace.sources import WORKSPACE_FILE, Files, Memory, Problems, user_file

OPTIONS = "initializationOptions.ombud"
SETTINGS = "settings.ombud"
"""What sentences call the two sources that are the client's."""

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
class SearchOptions:
    """``search``: how much of the sources and their trees structural search keeps in memory, in all (MB)."""

    cache_mb: int = 256


@dataclass(frozen=True, slots=True)
class DebugOptions:
    """``debug``: the lives of a debug session, in minutes, and the user's own adapters."""

    ttl_minutes: float = 30.0
    idle_minutes: float = 10.0
    adapters: Rows = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Configuration:
    """Every key of the contract, with its default.

    ``trusted`` is None when neither client nor user said. ``sensitive_add`` and ``sensitive_allow`` are the user's
    ``sensitivePaths``. ``problems`` are sentences for status, doctor and the log. ``people`` are the rows of
    ``servers`` that the user and the client gave; ``rules`` are files or folders of rules, besides those of the default
    folder; ``folders`` has the free and the held rows of each further folder.
    """

    trusted: bool | None = None
    tiers: Tiers = Tiers()  # noqa: RUF009 - it is frozen
    idle_minutes: float = 10.0
    max_servers: int = 8
    max_server_rss_mb: int = 4096
    diagnostics: DiagnosticsOptions = DiagnosticsOptions()
    index: IndexOptions = IndexOptions()
    search: SearchOptions = SearchOptions()
    debug: DebugOptions = DebugOptions()
    rules: tuple[str, ...] = ()
    sensitive_add: tuple[str, ...] = ()
    sensitive_allow: tuple[str, ...] = ()
    token: str | None = None
    status_notifications: bool = False
    problems: tuple[str, ...] = ()
    rows: Rows = field(default_factory=dict)
    held_rows: Rows = field(default_factory=dict)
    people: Rows = field(default_factory=dict, compare=False)
    folders: Mapping[Path, tuple[Rows, Rows]] = field(default_factory=dict)

    def server_rows(self, trusted: bool, folder: Path | None = None) -> Rows:
        """``servers`` in the contract's camelCase, for `Catalogue.adjusted`.

        ``trusted``: whether the workspace's own code may run (``Trust.allows_workspace_code``); only then the settings
        that the workspace gives to servers are among them, beneath the user's. ``folder``: one of the further folders;
        None for the first.
        """
        free, held = self.folders.get(folder, ({}, {})) if folder is not None else (self.rows, self.held_rows)
        mine = merge_rows(held, free) if trusted else free
        return merge_rows(mine, self.people) if folder is not None else mine


def load_configuration(
    root: Path | None,
    client: object = None,
    *,
    user_folder: Path | None = None,
    more: Sequence[Path] = (),
    settings: object = None,
    memory: Memory | None = None,
) -> Configuration:
    """Read the files and the client's options (the value of ``initializationOptions.ombud``, decoded).

    ``root`` is the first workspace folder, None when there is none; ``more`` are the further ones. ``user_folder``
    defaults to the user's config folder for Ombud. ``settings`` are the client's of this moment, as `settled` gives
    them. ``memory`` has what files said when they could last be read. Never raises for anything in the sources.
    """
    problems = Problems()
    files = Files(problems, memory)
    given = _Gathered(problems)
    roots = (*more, root) if root is not None else tuple(more)
    for folder in reversed(more):
        # The first folder comes last, so that its word counts where only one can.
        name = str(folder / WORKSPACE_FILE)
        given.take(WORKSPACE, name, files.workspace(folder, name), folder)
    if root is not None:
        given.take(WORKSPACE, WORKSPACE_FILE, files.workspace(root, WORKSPACE_FILE))
    path, scope = user_file(roots, user_folder)
    if scope == WORKSPACE:
        problems.add(str(path), "It lies in the workspace, so it can say only what a workspace may.")
    given.take(scope, str(path), files.user(path))
    if client is not None:
        given.take(CLIENT, OPTIONS, client)
    if settings is not None:
        given.take(CLIENT, SETTINGS, settings)
    return given.configuration()


def settled(said: object, former: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The client's new settings, with the ``former`` value of every key whose new one is wrong, and what is wrong.

    Both trees have dotted names for the keys of groups (``diagnostics.waitMs``). The rows of ``servers`` are only
    looked at as far as this room knows them.
    """
    problems = Problems()
    given = _Gathered(problems)
    given.take(CLIENT, SETTINGS, said)
    if not isinstance(said, Mapping):
        return dict(former), tuple(problems)
    kept = {dotted: value for dotted, value in _leaves(said) if dotted not in given.bad and value is not None}
    kept |= {dotted: former[dotted] for dotted in given.bad if dotted in former}
    return kept, tuple(problems)


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


class _Gathered:
    """What the sources have said so far, the weakest source first."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._values: dict[str, Any] = {}
        self._tiers = Tiers()
        self._people: Rows = {}
        self._free: dict[Path | None, Rows] = {}
        self._held: dict[Path | None, Rows] = {}
        self.bad: set[str] = set()
        """The dotted names of known keys whose value was wrong and of which nothing counts."""

    def take(self, scope: str, source: str, tree: object, folder: Path | None = None) -> None:
        """Take what ``source`` may say of ``tree``. ``scope`` is `WORKSPACE`, `USER` or `CLIENT`.

        ``folder`` is the further workspace folder whose file it is; None for the first folder and for people.
        """
        if not isinstance(tree, Mapping):
            self._problems.add(source, f"It must be an object with keys, not {_kind(tree)}; all of it was ignored.")
            return
        for dotted, value in _leaves(tree):
            if value is None:
                continue
            if dotted == SERVERS:
                self._take_servers(scope, source, value, folder)
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
                self.bad.add(dotted)
                return
            checked = bad.kept
        if key.rule == NARROW:
            self._tiers = self._tiers & checked
        elif key.rule == LOWER and scope == WORKSPACE and checked > key.default:
            self._problems.add(source, f"{dotted} may be lowered here but not raised above {key.default:g}; ignored.")
        elif key.rule == LOWER and scope == WORKSPACE:
            self._values[key.attribute] = min(checked, self._values.get(key.attribute, checked))
        else:
            self._values[key.attribute] = checked

    def _take_servers(self, scope: str, source: str, value: object, folder: Path | None) -> None:
        if not isinstance(value, Mapping):
            self.bad.add(SERVERS)
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
        if scope == WORKSPACE:
            self._free[folder] = merge_rows(self._free.get(folder, {}), rows)
            self._held[folder] = merge_rows(self._held.get(folder, {}), held)
        else:
            self._people = merge_rows(self._people, rows)

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
            search=SearchOptions(**part("search.")),
            debug=DebugOptions(**part("debug.")),
            rows=merge_rows(self._free.get(None, {}), self._people),
            held_rows=_filled(self._held.get(None, {})),
            people=self._people,
            folders={
                folder: (free, _filled(self._held[folder])) for folder, free in self._free.items() if folder is not None
            },
            problems=tuple(self._problems),
        )


def _filled(rows: Rows) -> Rows:
    return {name: row for name, row in rows.items() if row}


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
    return f"{_shown(dotted)} {UNKNOWN}; it was ignored.{hint}"


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
