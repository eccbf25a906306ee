"""The registry: an operation by name, with its schema, called with JSON and answering JSON.

An operation's module defines ``Params`` and ``Result`` (msgspec structs, camelCase on the wire, unknown keys
forbidden) and ``async def run(session, params) -> Result``. The first paragraph of the module's docstring is the
operation's description. Faces call `call`; the generated docs read `describe`.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from ombud.errors import UserError
from ombud.guard.redact import clean
from ombud.operations.grouping import kind_of
from ombud.operations.table import OPERATIONS, Tier, camel
from ombud.wire.surrogates import has_lone

if TYPE_CHECKING:
    from ombud.operations.session import Session

MOST_WORDS = 300
"""Characters of what is said of a wrong value."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: ``params`` and ``result`` are msgspec types, ``run`` the handler."""

    name: str
    tier: Tier
    description: str
    params: type[msgspec.Struct]
    result: type[msgspec.Struct]
    run: Any

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the params."""
        return msgspec.json.schema(self.params)

    @property
    def result_schema(self) -> dict[str, Any]:
        return msgspec.json.schema(self.result)


@cache
def operation(name: str) -> Operation:
    """The operation of that snake_case name. Raises `UserError` for an unknown one, with the nearest."""
    place = OPERATIONS.get(name)
    if place is None:
        near = get_close_matches(name, OPERATIONS, 1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UserError(f"There is no operation {name!r}.{hint}", kind="not_found")
    module = import_module(f"ombud.operations.{place.module}")
    text = (inspect.getdoc(module) or "").split("\n\n")[0].replace("\n", " ")
    return Operation(name, place.tier, text, module.Params, module.Result, module.run)


async def call(session: Session, name: str, params: Any) -> dict[str, Any]:
    """Run an operation with JSON-like ``params`` for a session; the result as builtins with camelCase keys.

    Raises `OmbudError`: `UserError` for bad params, `Refused` where tier or trust do not allow it. Within a
    transaction a write that fails, for bad params too, takes back everything since the begin.
    """
    found = operation(name)
    session.tiers.require(found.tier, session.trust, name)
    session.hub.ahead.heard()
    async with session.transaction.turn(kind_of(name, found.tier, params)):
        result = await _run(found, session, params)
    built = msgspec.to_builtins(result)
    assert isinstance(built, dict)
    return built


async def _run(found: Operation, session: Session, params: Any) -> msgspec.Struct:
    """The operation's result. A text that no encoding takes is a bad argument, wherever it is first met."""
    try:
        done: msgspec.Struct = await found.run(session, parse(found, params))
    except UnicodeEncodeError as error:
        if not has_lone(error.object):
            raise
        raise _halved(found) from error
    return done


def _halved(found: Operation) -> UserError:
    return UserError(
        f"{camel(found.name)} was given half of a surrogate pair, which is no character. Send whole characters."
    )


def parse(found: Operation, params: Any) -> msgspec.Struct:
    """``params`` checked against the operation's type. Raises `UserError` that names what is wrong with which key."""
    value = {} if params is None else params
    if not isinstance(value, dict):
        raise UserError(f"The params of {camel(found.name)} must be an object.")
    known = {field.encode_name for field in msgspec.structs.fields(found.params)}
    unknown = [key for key in value if key not in known]
    if unknown:
        near = get_close_matches(str(unknown[0]), known, 1)
        hint = f" Did you mean {near[0]!r}?" if near else f" It takes {', '.join(sorted(known)) or 'none'}."
        raise UserError(
            f"{camel(found.name)} does not know the parameter {', '.join(map(repr, unknown))}.{hint}", unknown=unknown
        )
    try:
        return msgspec.convert(value, found.params)
    except msgspec.ValidationError as error:
        said = clean(str(error), len(str(error)))
        # What is wrong stands at the beginning, and where at the end.
        said = said if len(said) <= MOST_WORDS else f"{said[: MOST_WORDS // 2]}…{said[-MOST_WORDS // 2 :]}"
        raise UserError(f"Bad params for {camel(found.name)}: {said}.{_hint(found, str(error))}") from None
    except UnicodeEncodeError:
        # What msgspec would have shown of it is no text either.
        raise _halved(found) from None


def _hint(found: Operation, problem: str) -> str:
    """Which keys an inner object takes, for an error about one of them."""
    place = re.search(r"(?:unknown field|missing required field) .*\$\.(\w+)", problem)
    if place is None:
        return ""
    for one in msgspec.structs.fields(found.params):
        inner: Any = msgspec.inspect.type_info(one.type)
        while hasattr(inner, "item_type") or hasattr(inner, "type"):
            inner = getattr(inner, "item_type", None) or inner.type
        if one.encode_name == place.group(1) and isinstance(inner, msgspec.inspect.StructType):
            keys = ", ".join(field.encode_name for field in msgspec.structs.fields(inner.cls))
            return f" Each of {one.encode_name} takes {keys}."
    return ""
