"""What one file says: its symbols, scopes, bindings, imports, and the sites that name something.

Facts are made from the text alone (`ombud.graph.extract`) and kept; which symbol a site means is worked out from the
facts of all files (`ombud.graph.resolve`) and can be worked out again without parsing. Nothing here depends on where
the file lies, so equal texts have equal facts.

Rows of numbers are kept as bytes of 32-bit integers, which cost a tenth of what lists of them would in memory:
read them with `rows`. An *expression* is the index of a row of ``exprs``; 0 is the unknown one. A *name* in a row is an
index into ``names``. Lines and characters are zero-based, characters in UTF-16 units.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import msgspec

VERSION = 6
"""Raised whenever facts of the same text change: stores of another version are built anew."""

# -- expressions: rows (op, a, b), each row once in a file ------------------------------------------------------------

UNKNOWN = 0
NAME = 1
"""``a`` a name, looked up from the scope of the site or binding that holds the expression."""
ATTR = 2
"""``b`` a name, a member of the value of expression ``a`` (also ``a::b``, ``a->b``)."""
CALL = 3
"""The value of a call of ``a``; ``b`` is the number of arguments, -1 where a spread makes it unknown."""
INDEX = 4
"""``a[b]``: a subscript, or a generic type with arguments. ``b`` is an expression or a CONS list."""
ELEM = 5
"""What iterating over ``a`` gives; ``b`` the place in an unpacked tuple, counted from 1, or 0 for the whole."""
AWAIT = 6
CONS = 7
"""A list: head ``a``, tail ``b`` (0 ends it)."""
UNION = 8
"""One of ``a`` and ``b``: a union type, a conditional expression, ``a or b``."""
TUPLE = 9
"""A tuple of the CONS list ``a``."""
LITERAL = 10
"""An instance of the built-in type named ``a`` (`str`, `list`, …) with type arguments ``b`` (a CONS list or 0)."""
INSTANCE = 11
"""An instance of the type that expression ``a`` names: what an annotation says of a variable; ``new T``."""
SELF = 12
"""``self`` or ``this``: an instance of the class around the scope."""
CLASS = 13
"""The class around the scope itself (``cls``, ``Self``, ``static``)."""
SUPER = 14
"""The instance, seen from the class above the one around the scope."""
CLOSURE = 15
"""A function without a name whose scope is ``a``; calling it gives what it returns."""
SYMBOL = 16
"""The symbol ``a`` of this file."""
IMPORT = 17
"""What import ``a`` of this file brings."""
UNWRAP = 18
"""``a`` without its optional or error part (``x!``, ``x!!``, ``x?``, ``.unwrap()``)."""
GIVEN = 19
"""The call ``a`` with ``b`` as its first argument, where what it gives may depend on it."""
TYPE_OF = 20
"""The class of the value ``a``."""
WITHIN = 21
"""``b``, read in scope ``a`` whatever scope it is asked from."""
PASSED = 22
"""What a closure is given that is an argument of the call ``a``, or that stands for a value ``a`` of a functional type:
``b`` is 16 times the argument's place plus the parameter's, both counted from 0; parameter 15 is the receiver."""
RETURNED = "<return>"
"""The name that what a closure returns is bound to, in the closure's scope."""

# -- scopes: rows (parent, kind, symbol, start, end) ------------------------------------------------------------------

SCOPE_WIDTH = 5
MODULE_SCOPE, CLASS_SCOPE, FUNCTION_SCOPE, BLOCK_SCOPE = range(4)
"""Scope 0 is the module's. ``symbol`` is the symbol that the scope belongs to, -1 for blocks and closures."""

# -- bindings: rows (scope, name, what, value, start, end) ------------------------------------------------------------

BINDING_WIDTH = 6
"""A binding holds for uses from ``start`` to ``end``, which are places (`place`). Behind its ``end``, the end of the
block that may not have run, it is one of several possibilities; a NARROWED one holds nowhere else."""
LAST = 2**31 - 1


def place(line: int, character: int) -> int:
    """Where something stands in its file as one number, to be compared with others."""
    return min(line, 0x7FFFE) << 12 | min(character, 0xFFF)


VALUE, DECLARED, PARAMETER, TO_SYMBOL, TO_IMPORT, OUTER, NARROWED = range(7)
"""``value`` is an expression (VALUE, DECLARED by an annotation, PARAMETER with its annotation or default, NARROWED by a
test such as isinstance), a symbol (TO_SYMBOL), an import (TO_IMPORT), or, for OUTER (``global``, ``nonlocal``), the
scope to look in."""

# -- sites: rows (kind, expression, scope, line, character, length) ---------------------------------------------------

SITE_WIDTH = 6
CALL_SITE, REFERENCE_SITE, INHERIT_SITE, IMPORT_SITE = range(4)
"""The range is that of the name that is meant: in ``a.b.c()`` that of ``c``. A decorator is a CALL_SITE. The expression
of a call site is what is called (not the CALL). Kinds of sites are kinds of edges."""
SITE_KINDS = ("call", "reference", "inherit", "import")

# -- confidence of an edge --------------------------------------------------------------------------------------------

EXACT, CONFIRMED, INFERRED, AMBIGUOUS = range(4)
CONFIDENCES = ("exact", "confirmed", "inferred", "ambiguous")

# -- symbols ----------------------------------------------------------------------------------------------------------

KINDS = (
    *("module", "namespace", "class", "interface", "enum", "struct", "trait", "type", "function", "method"),
    *("constructor", "property", "field", "enumMember", "constant", "variable", "macro"),
)
"""What a symbol is; `Symbol.kind` is an index into it. Append only."""
MODULE, NAMESPACE, CLASS_KIND, INTERFACE, ENUM, STRUCT, TRAIT, TYPE, FUNCTION, METHOD = range(10)
CONSTRUCTOR, PROPERTY, FIELD, ENUM_MEMBER, CONSTANT, VARIABLE, MACRO = range(10, 17)

EXPORTED = 1
"""Other files may use it: public, exported, not marked private by the language's rule."""
STATIC = 2
"""Belongs to the class, not to its instances."""
CLASS_METHOD = 4
ASYNC = 8
"""A call gives something to be awaited."""
GENERATOR = 16
"""A call gives something to be iterated over."""
ABSTRACT = 32
TEST = 64
"""A test of a known test runner."""
OVERLOAD = 128
ALIAS = 256
"""A name for another type or value: `Symbol.value` says which."""
PRIVATE = 512
"""Marked private: no class that is derived from its own has it."""


class Symbol(msgspec.Struct, array_like=True, gc=False):
    """One definition. Lists are of expressions, read in the scope ``scope`` (``returns`` in ``own``)."""

    name: str
    qualified: str
    """Unique in the file: the names of the definitions around it and its own, joined by ``.``; a second one of the
    same name has ``~2`` behind it."""
    kind: int
    parent: int
    """The symbol it is defined in; 0, the module, for what stands at the top."""
    scope: int
    """The scope that its name is bound in."""
    own: int
    """The scope it opens, -1 where it opens none."""
    range: tuple[int, int, int, int]
    """Line and character of its start (behind decorators and annotations) and of its end."""
    at: tuple[int, int, int]
    """Line, character and length of its name."""
    flags: int = 0
    signature: str = ""
    """One line, as written, without the body."""
    doc: str = ""
    type: int = 0
    """Declared type of a variable, field or property; declared result of a function. Not an INSTANCE of it."""
    value: int = 0
    """What a variable, field or alias is first given."""
    owner: int = 0
    """The type it belongs to, for a member that is defined outside of its type (Go, Rust, C++, Kotlin extensions)."""
    bases: list[int] = []
    returns: list[int] = []
    decorators: list[int] = []
    params: list[str] = []
    """Names of the parameters, without the receiver."""
    arity: tuple[int, int] = (0, -1)
    """Least and most positional arguments, -1 for any number."""
    generics: list[str] = []
    """Names of its type parameters."""


class Import(msgspec.Struct, array_like=True, gc=False):
    """One imported name.

    ``import a.b as c`` has module ``a.b`` and name ``""``, ``from a import b`` has module ``a`` and name ``b``.
    """

    module: str
    name: str
    """The name within the module, ``""`` for the module itself, ``*`` for all it exports."""
    alias: str
    """What it is called here; ``""`` where nothing is bound."""
    level: int = 0
    """Leading dots of a relative import."""
    scope: int = 0
    flags: int = 0
    site: tuple[int, int, int] = (0, 0, 0)
    """Line, character and length of the name that is imported (of the module, where no name is)."""


REEXPORT = 1
TYPE_ONLY = 2
ROOT = 4
"""Binds the first part of the module's name (Python's ``import a.b``)."""
STATIC_IMPORT = 8
SYSTEM = 16
"""``#include <…>``."""
GLOBAL_IMPORT = 32
"""Holds for other files, too (C#'s ``global using``)."""
DECLARES = 64
"""Declares a module that is a file (Rust's ``mod a;``); ``name`` is its path where an attribute gives one."""
FUNCTION_IMPORT = 128
"""Brings functions only (PHP's ``use function``)."""
CONSTANT_IMPORT = 256
"""Brings constants only (PHP's ``use const``)."""


class Export(msgspec.Struct, array_like=True, gc=False):
    """A name that others see, where that takes a statement of its own (JavaScript's ``export { a as b } from "c"``)."""

    name: str
    """As others see it; ``default``; ``*`` for all of ``module``."""
    local: int = 0
    """The expression it stands for, read in the module's scope, where ``module`` is empty."""
    module: str = ""
    source: str = ""
    """The name within ``module``; ``""`` for the module as a namespace."""


class Facts(msgspec.Struct, array_like=True, gc=False):
    """See the module."""

    language: str
    package: str
    """What the file says it belongs to: Go's, Java's and Kotlin's package, PHP's and C#'s namespace. Else empty."""
    names: list[str]
    scopes: bytes
    symbols: list[Symbol]
    exprs: bytes
    bindings: bytes
    imports: list[Import]
    exports: list[Export]
    sites: bytes
    all: list[str] | None = None
    """What ``__all__`` (or its like) lists, None where there is none."""
    lines: int = 0
    errors: int = 0
    """Places the parser could not read."""


def rows(data: bytes) -> array[int]:
    """The numbers of a column."""
    column = array("i")
    column.frombytes(data)
    return column


def each(data: bytes, width: int) -> Iterator[tuple[int, ...]]:
    """The rows of a column."""
    column = iter(rows(data))
    return zip(*[column] * width, strict=True)
