"""Type parameters: replacing them by what they are, and finding that out from arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ombud.graph.resolve.ecmalib import LISTS, PROMISES
from ombud.graph.resolve.values import FUN, GEN, LIB, ME, OBJ, SYM, VAR, Value, Values, join

if TYPE_CHECKING:
    from ombud.graph.resolve.ecmacalls import Called

Env = dict[str, Values]
"""What type parameters are."""
DEEPEST = 5
"""Type arguments within one another that are followed."""


def is_open(value: Value) -> bool:
    """Whether a receiver or type arguments can change a value."""
    what = value[0]
    if what in (ME, VAR, FUN, GEN):
        return True
    if what == LIB:
        return any(is_open(one) for args in value[2] for one in args)
    return what == OBJ and bool(value[3]) and any(is_open(one) for args in value[3] for one in args)


def replaced(values: Values, receiver: Value | None, env: Env, depth: int = 0) -> Values:
    """``values`` with ``this`` as the receiver and type parameters as ``env`` says."""
    if depth > DEEPEST:
        return ()
    found: list[Value] = []
    for value in values:
        what = value[0]
        if what == ME:
            found.append(receiver if receiver is not None and receiver[0] in (OBJ, ME) else value)
        elif what == VAR:
            found.extend(env.get(value[1], (value,)))
        elif what == LIB and value[2]:
            found.append((LIB, value[1], tuple(replaced(one, receiver, env, depth + 1) for one in value[2])))
        elif what == OBJ and value[3]:
            found.append((*value[:3], tuple(replaced(one, receiver, env, depth + 1) for one in value[3])))
        elif what == FUN and env:
            held = dict(value[3]) if len(value) > 3 else {}
            held = {name: replaced(one, receiver, env, depth + 1) for name, one in held.items()}
            found.append((FUN, value[1], value[2], tuple(sorted((env | held).items())), *value[4:]))
        elif what == GEN:
            found.append(
                (GEN, value[1], tuple((name, replaced(one, receiver, env, depth + 1)) for name, one in value[2]))
            )
        else:
            found.append(value)
    return tuple(dict.fromkeys(found))


def infer(on: Called, expected: Values, actual: Values, env: Env, names: set[str], depth: int) -> None:
    """What ``actual`` says of the type parameters ``names`` in ``expected``, added to ``env``."""
    if depth > DEEPEST or not actual:
        return
    others = [value for value in expected if value[0] != VAR]
    for value in expected:
        what = value[0]
        if what == VAR and value[1] in names:
            rest = tuple(one for one in actual if not any(_alike(one, other) for other in others))
            env[value[1]] = join(env.get(value[1], ()), rest)
        elif what == LIB and value[2]:
            _infer_library(on, value, actual, env, names, depth)
        elif what == OBJ and value[3]:
            _infer_class(on, value, actual, env, names, depth)
        elif what == FUN:
            given = on.result(value, -1)
            if any(is_open(one) for one in given):
                infer(
                    on,
                    given,
                    on.outcome(tuple(one for one in actual if one[0] in (FUN, SYM, GEN))),
                    env,
                    names,
                    depth + 1,
                )


def _alike(one: Value, other: Value) -> bool:
    """Whether a value is what another part of a union expects."""
    if one[0] == OBJ and other[0] == OBJ:
        return one[1:3] == other[1:3]
    return one[0] == other[0] == LIB and (one[1] == other[1] or (one[1] in LISTS and other[1] in LISTS))


def _infer_library(on: Called, value: Value, actual: Values, env: Env, names: set[str], depth: int) -> None:
    for one in actual:
        if value[1] in LISTS and value[1] != "tuple":
            infer(on, value[2][0], on.element(one), env, names, depth + 1)
        elif value[1] in PROMISES:
            infer(on, value[2][0], on.awaited(one), env, names, depth + 1)
        elif one[0] == LIB and one[1] == value[1]:
            for mine, theirs in zip(value[2], one[2], strict=False):
                infer(on, mine, theirs, env, names, depth + 1)


def _infer_class(on: Called, value: Value, actual: Values, env: Env, names: set[str], depth: int) -> None:
    view = on.view(value[1])
    parameters = on.parameters(view, view.symbols[value[2]])
    for one in actual:
        if one[0] != OBJ:
            continue
        given = on.arguments(one, value[1], value[2])
        for name, mine in zip(parameters, value[3], strict=False):
            if name in given:
                infer(on, mine, given[name], env, names, depth + 1)
