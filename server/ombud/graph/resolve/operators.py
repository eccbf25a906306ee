"""What each kind of expression but names gives: one function an operator, ``(engine, view, a, b, scope, pos)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ombud.graph.facts import (
    AWAIT,
    CALL,
    CLASS,
    CLASS_SCOPE,
    CLOSURE,
    ELEM,
    GIVEN,
    IMPORT,
    INDEX,
    INSTANCE,
    LITERAL,
    SELF,
    SUPER,
    SYMBOL,
    TUPLE,
    TYPE_OF,
    UNION,
    UNWRAP,
    WITHIN,
)
from ombud.graph.resolve.values import FUN, LIB, ME, OBJ, SYM, UNKNOWN, UP, Values, join

if TYPE_CHECKING:
    from ombud.graph.resolve.engine import Engine
    from ombud.graph.resolve.view import View


def _class_around(view: View, scope: int) -> int:
    """The symbol of the class around a scope, -1 where there is none."""
    while scope >= 0:
        if view.kind(scope) == CLASS_SCOPE:
            return view.owner(scope)
        scope = view.parent(scope)
    return -1


def _call(on: Engine, view: View, a: int, b: int, scope: int, pos: int) -> Values:
    called = on.denote(view, a, scope, pos)
    return join(*(on.result(value, b) for value in called)) if called else UNKNOWN


def _given(on: Engine, view: View, a: int, b: int, scope: int, pos: int) -> Values:
    return on.given(view, a, b, scope, pos)


def _index(on: Engine, view: View, a: int, b: int, scope: int, pos: int) -> Values:
    return on.subscript(view, a, b, scope, pos)


def _elem(on: Engine, view: View, a: int, b: int, scope: int, pos: int) -> Values:
    values = on.eval(view, a, scope, pos)
    if b:
        return join(*(on.part(value, b) for value in values))
    return join(*(on.element(value) for value in values))


def _await(on: Engine, view: View, a: int, b: int, scope: int, pos: int) -> Values:
    del b
    return join(*(on.awaited(value) for value in on.eval(view, a, scope, pos)))


def _union(on: Engine, view: View, a: int, b: int, scope: int, pos: int) -> Values:
    return join(on.eval(view, a, scope, pos), on.eval(view, b, scope, pos))


def _tuple(on: Engine, view: View, a: int, b: int, scope: int, pos: int) -> Values:
    del b
    return ((LIB, "tuple", tuple(on.items(view, a, scope, pos))),)


def _literal(on: Engine, view: View, a: int, b: int, scope: int, pos: int) -> Values:
    return ((LIB, view.names[a], tuple(on.items(view, b, scope, pos))),)


def _instance(on: Engine, view: View, a: int, b: int, scope: int, pos: int) -> Values:
    del b, pos
    return on.instances(view, a, scope)


def _self(on: Engine, view: View, a: int, b: int, scope: int, pos: int) -> Values:
    del on, a, b, pos
    found = _class_around(view, scope)
    return ((ME, view.file, found),) if found >= 0 else UNKNOWN


def _class(on: Engine, view: View, a: int, b: int, scope: int, pos: int) -> Values:
    del on, a, b, pos
    found = _class_around(view, scope)
    return ((SYM, view.file, found, (ME, view.file, found)),) if found >= 0 else UNKNOWN


def _super(on: Engine, view: View, a: int, b: int, scope: int, pos: int) -> Values:
    del on, a, b, pos
    found = _class_around(view, scope)
    return ((UP, view.file, found),) if found >= 0 else UNKNOWN


def _closure(on: Engine, view: View, a: int, b: int, scope: int, pos: int) -> Values:
    del on, b, scope, pos
    return ((FUN, view.file, a),)


def _symbol(on: Engine, view: View, a: int, b: int, scope: int, pos: int) -> Values:
    del b, scope, pos
    return on.contents(((SYM, view.file, a, None),))


def _import(on: Engine, view: View, a: int, b: int, scope: int, pos: int) -> Values:
    del b, scope, pos
    return on.once(("import", view.file, a), on.imported, view, a)


def _unwrap(on: Engine, view: View, a: int, b: int, scope: int, pos: int) -> Values:
    del b
    return join(*(on.unwrapped(value) for value in on.eval(view, a, scope, pos)))


def _type_of(on: Engine, view: View, a: int, b: int, scope: int, pos: int) -> Values:
    del b
    return tuple(
        (SYM, value[1], value[2], value if value[0] == ME else None)
        for value in on.eval(view, a, scope, pos)
        if value[0] in (OBJ, ME)
    )


def _within(on: Engine, view: View, a: int, b: int, scope: int, pos: int) -> Values:
    del scope
    return on.eval(view, b, a, pos)


OPERATORS: dict[int, Callable[[Engine, View, int, int, int, int], Values]] = {
    AWAIT: _await,
    CALL: _call,
    CLASS: _class,
    CLOSURE: _closure,
    ELEM: _elem,
    GIVEN: _given,
    IMPORT: _import,
    INDEX: _index,
    INSTANCE: _instance,
    LITERAL: _literal,
    SELF: _self,
    SUPER: _super,
    SYMBOL: _symbol,
    TUPLE: _tuple,
    TYPE_OF: _type_of,
    UNION: _union,
    UNWRAP: _unwrap,
    WITHIN: _within,
}
