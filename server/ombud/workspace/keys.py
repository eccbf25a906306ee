"""The keys of the configuration: what each may hold, who may set it, and where it goes.

``servers`` is missing here: its rows are merged in `configuration` and understood by the catalogue.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ombud.errors import UserError
from ombud.guard.sensitive import SensitivePaths
from ombud.guard.tiers import Tiers
from ombud.guard.tiers import parse as parse_tiers

WORKSPACE, USER, CLIENT = "workspace", "user", "client"
"""The three sources, weakest first."""
NARROW, LOWER, PLAIN = "narrow", "lower", "plain"
"""How a value joins those of other sources: intersected; at most the default where it comes from a workspace; as is."""
SERVERS = "servers"
UNKNOWN = "is not a key that Ombud knows"

_ANYONE = frozenset({WORKSPACE, USER, CLIENT})
_PEOPLE = frozenset({USER, CLIENT})


class Bad(Exception):
    """A value is not what its key holds; ``expected`` says what that is, as the end of a sentence.

    ``kept`` is what still counts of it: where leaving the whole value out would allow more than its author meant.
    """

    def __init__(self, expected: str, kept: Any = None) -> None:
        super().__init__(expected)
        self.expected = expected
        self.kept = kept


@dataclass(frozen=True, slots=True)
class Key:
    """``attribute``: the field of `Configuration`, dotted for its parts. ``check`` returns a value or raises `Bad`."""

    attribute: str
    check: Callable[[Any], Any]
    scopes: frozenset[str] = _ANYONE
    rule: str = PLAIN
    default: float = 0


def flag(value: Any) -> bool:
    """True or false, nothing that merely counts as one."""
    if not isinstance(value, bool):
        raise Bad("true or false")
    return value


def whole(least: int, most: int) -> Callable[[Any], int]:
    """A whole number in a range; ``10.0`` is one."""

    def check(value: Any) -> int:
        number = int(value) if isinstance(value, float) and value.is_integer() else value
        if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
            raise Bad(f"a whole number from {least} to {most}")
        return number

    return check


def minutes(value: Any) -> float:
    """Minutes, fractions allowed; more than none, at most a week."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not math.isfinite(value)
        or not 0 < value <= 10080
    ):
        raise Bad("a number of minutes above 0 and at most 10080")
    return float(value)


def text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise Bad("a text that is not empty")
    return value


def paths(value: Any) -> tuple[str, ...]:
    """A list of files or folders of the workspace; whether they are there is seen when they are needed."""
    if not isinstance(value, list) or len(value) > 100 or not all(isinstance(one, str) and one for one in value):
        raise Bad("a list of at most 100 paths")
    return tuple(value)


def objects(value: Any) -> dict[str, dict[str, Any]]:
    """An object of objects; what stands in them is understood where they are needed."""
    if not isinstance(value, dict) or not all(isinstance(one, dict) for one in value.values()):
        raise Bad("an object of objects")
    return {str(name): {str(key): part for key, part in one.items()} for name, one in value.items()}


def patterns(value: Any) -> tuple[str, ...]:
    """Globs as `SensitivePaths` takes them; the good ones of a list that has bad ones still protect."""
    if not isinstance(value, list):
        raise Bad("a list of patterns")
    good = tuple(item for item in value if isinstance(item, str) and _is_pattern(item))
    if len(good) < len(value):
        raise Bad("a list of patterns such as “*.secret” or “private/”, each of which can match something", good)
    return good


def _is_pattern(text: str) -> bool:
    try:
        SensitivePaths([text])
    except UserError:
        return False
    return True


def tiers(value: Any) -> Tiers:
    """A misspelt tier grants nothing: to ignore the list would grant everything."""
    try:
        return parse_tiers(value)
    except UserError as error:
        words = value if isinstance(value, list) else ["read"]
        known = [word for word in words if word in ("read", "write", "exec")]
        raise Bad("a list of “read”, “write”, “exec”", parse_tiers(known)) from error


KEYS: dict[str, Key] = {
    "trusted": Key("trusted", flag, _PEOPLE),
    "tiers": Key("tiers", tiers, rule=NARROW),
    "idleMinutes": Key("idle_minutes", minutes, rule=LOWER, default=10),
    "maxServers": Key("max_servers", whole(1, 1000), rule=LOWER, default=8),
    "maxServerRssMb": Key("max_server_rss_mb", whole(16, 1 << 24), rule=LOWER, default=4096),
    "diagnostics.waitMs": Key("diagnostics.wait_ms", whole(0, 600_000)),
    "diagnostics.notify": Key("diagnostics.notify", flag),
    "diagnostics.dependents": Key("diagnostics.dependents", whole(0, 1000)),
    "index.enabled": Key("index.enabled", flag),
    "index.store": Key("index.store", text, _PEOPLE),
    "search.cacheMb": Key("search.cache_mb", whole(16, 65_536), rule=LOWER, default=256),
    "rules": Key("rules", paths),
    "debug.ttlMinutes": Key("debug.ttl_minutes", minutes, rule=LOWER, default=30),
    "debug.idleMinutes": Key("debug.idle_minutes", minutes, rule=LOWER, default=10),
    "debug.adapters": Key("debug.adapters", objects, _PEOPLE),
    "sensitivePaths.add": Key("sensitive_add", patterns, frozenset({USER})),
    "sensitivePaths.allow": Key("sensitive_allow", patterns, frozenset({USER})),
    "token": Key("token", text, frozenset({CLIENT})),
    "statusNotifications": Key("status_notifications", flag, frozenset({CLIENT})),
}
"""Every key but ``servers``, dotted, in the contract's spelling."""
