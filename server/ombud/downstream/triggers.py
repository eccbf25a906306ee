"""Requests that a typed character sets off, and the servers that are meant by it (LSP 3.17).

The client was announced the characters of all servers. A server that is asked at a character which is none of its own
may answer all the same, and its items would then pop up in the middle of a word. So it is passed over.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Raw

from ombud.downstream.capabilities import Capabilities
from ombud.downstream.profiles import COMPLETION, SIGNATURE, TYPING, triggers
from ombud.wire.values import load

_FEATURES = {feature[1]: feature for feature in (COMPLETION, SIGNATURE, TYPING)}
_BY_CHARACTER = 2
"""``triggerKind`` of a completion or a signature that a character has set off."""


class _Context(msgspec.Struct):
    triggerKind: int = 1  # noqa: N815  (the protocol's name)
    triggerCharacter: str | None = None  # noqa: N815
    isRetrigger: bool = False  # noqa: N815


class _Params(msgspec.Struct):
    context: _Context | None = None


class _Typed(msgspec.Struct):
    ch: str | None = None


def meant(method: str, params: Raw) -> Callable[[Capabilities], bool] | None:
    """Which servers a request is for, by the character that set it off; None where it is for all that can."""
    feature = _FEATURES.get(method)
    if feature is None:
        return None
    try:
        character = load(params, _Typed).ch if feature is TYPING else _character(params)
    except msgspec.ValidationError:
        # Its servers will say what they think of it.
        return None
    if character is None:
        return None
    return lambda capabilities: character in triggers(capabilities, feature)


def _character(params: Raw) -> str | None:
    """What set off a completion or a signature. One that is shown already follows the cursor at any character."""
    context = load(params, _Params).context
    if context is None or context.triggerKind != _BY_CHARACTER or context.isRetrigger:
        return None
    return context.triggerCharacter
