"""What an expression may be, as far as that is known: a tuple of possibilities, empty where nothing is.

A possibility is a tuple whose first item says what it is:

* ``(SYM, file, symbol, receiver)`` - a definition itself; ``receiver`` is what it was found on, or None
* ``(OBJ, file, symbol, args)`` - an instance of a class; ``args`` are values of its type arguments, or None
* ``(ME, file, symbol)`` - ``self``: an instance of a class, or of one derived from it
* ``(UP, file, symbol)`` - ``super()``
* ``(MOD, file)`` - a module; ``(PKG, name)`` - a package or namespace that is no file
* ``(FUN, file, scope)`` - a function without a name
* ``(VAR, name)`` - a type parameter
* ``(EXT, name)`` - something of a library; ``(LIB, name, args)`` - an instance of a library's or the language's type
* ``(BOUND, value, name)`` - a member of a LIB
* ``(GEN, value, env)`` - a generic function or class with what its type parameters are (see `ecmavalues`)
"""

from __future__ import annotations

from typing import Any

SYM, OBJ, ME, UP, MOD, PKG, FUN, VAR, EXT, LIB, BOUND, GEN = range(12)

Value = tuple[Any, ...]
Values = tuple[Value, ...]

UNKNOWN: Values = ()
MOST = 12
"""Possibilities that are followed; more than that is as good as unknown."""


def join(*some: Values) -> Values:
    """All possibilities, each once, in order."""
    found = dict.fromkeys(value for values in some for value in values)
    return tuple(found) if len(found) <= MOST else UNKNOWN
