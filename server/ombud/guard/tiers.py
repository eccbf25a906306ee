"""Tiers: what a connection may ask for. ``read`` looks, ``write`` changes files, ``exec`` runs the project's code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from ombud.errors import Refused, UserError
from ombud.guard.trust import Trust

Tier = Literal["read", "write", "exec"]
ALL: frozenset[Tier] = frozenset(get_args(Tier))


@dataclass(frozen=True, slots=True)
class Tiers:
    """The tiers of one session; all three unless the client or the user says otherwise."""

    granted: frozenset[Tier] = ALL

    def __contains__(self, tier: object) -> bool:
        return tier in self.granted

    def __and__(self, other: Tiers) -> Tiers:
        """The tiers that both grant: how a second source narrows, and why none can widen."""
        return Tiers(self.granted & other.granted)

    def require(self, tier: Tier, trust: Trust, operation: str) -> None:
        """Let the operation pass or raise ``Refused``.

        ``permission_denied``: the session was not given the tier. ``not_trusted``: tier ``exec`` runs the
        workspace's own code and needs a trusted workspace as well (contract, "Trust"; T4). Writing needs its tier,
        not trust.
        """
        if tier not in self.granted:
            raise Refused(
                f"{operation} needs the tier “{tier}”, which this session does not have. "
                "Start the session with it in initializationOptions.ombud.tiers.",
                kind="permission_denied",
                tier=tier,
                operation=operation,
            )
        if tier == "exec" and not trust.allows_workspace_code:
            raise Refused(
                f"{operation} runs code of the workspace: {trust.explanation}",
                kind="not_trusted",
                tier=tier,
                operation=operation,
            )


def parse(words: object) -> Tiers:
    """Read the contract's ``tiers`` list; raises ``UserError`` that names a word it does not know."""
    if isinstance(words, str) or not isinstance(words, Iterable):
        raise UserError(f"tiers must be a list of {_KNOWN}, not {type(words).__name__}.")
    granted: set[Tier] = set()
    for word in words:
        for tier in get_args(Tier):
            if word == tier:
                granted.add(tier)
                break
        else:
            raise UserError(f"{word!r} is not a tier. The tiers are {_KNOWN}.")
    return Tiers(frozenset(granted))


_KNOWN = ", ".join(f"“{tier}”" for tier in get_args(Tier))
