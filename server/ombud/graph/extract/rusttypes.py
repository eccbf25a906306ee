"""Rust's expressions and types.

References and pointers are as good as what they point to; slices and arrays are an INDEX of ``[]``, functions one of
``fn`` (the result first, then the parameters). Paths begin with the names ``crate::``, ``self::``, ``super::`` or
``::``, which are no names of Rust; ``a::b`` is an ATTR like ``a.b``. ``name!`` is a macro. What a pattern takes from a
value ``Some``, ``Ok`` or ``Err`` is an ATTR of that name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ombud.graph.extract.extraction import first
from ombud.graph.facts import (
    AWAIT,
    CALL,
    CLOSURE,
    GIVEN,
    INDEX,
    INSTANCE,
    LITERAL,
    NAME,
    TUPLE,
    UNWRAP,
    WITHIN,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from ombud.graph.extract.rustnames import Names

DEEPEST = 120
"""Expressions within one another that are followed."""
ARMS = 8
"""Branches of an expression that are looked at."""
GIVING = frozenset(
    [
        "new",
        "clone",
        "map",
        "and_then",
        "then",
        "then_some",
        "filter_map",
        "flat_map",
        "fold",
        "zip",
        "map_or",
        "map_or_else",
        "map_err",
        "Some",
        "Ok",
        "Err",
        "chain",
        "once",
        "repeat",
        "unwrap_or_else",
        "or_insert_with",
        "get_or_insert_with",
        "pin",
        "ok_or",
        "from_fn",
        "successors",
        "scan",
        "take",
        "replace",
        "min_by_key",
        "max_by_key",
        "Borrowed",
        "Owned",
        "into_iter",
    ]
)
"""Functions of the standard library whose result depends on what they are given."""
PRIMITIVE = frozenset(
    [
        "bool",
        "char",
        "str",
        "u8",
        "u16",
        "u32",
        "u64",
        "u128",
        "usize",
        "i8",
        "i16",
        "i32",
        "i64",
        "i128",
        "isize",
        "f32",
        "f64",
        "Self",
        "_",
    ]
)


def comments(node: Node) -> list[Node]:
    """The named children that are no comments."""
    return [one for one in node.named_children if "comment" not in one.type]


# -- values -----------------------------------------------------------------------------------------------------------


def value(on: Names, node: Node | None) -> int:
    """The expression of a node, 0 where nothing can be said of it."""
    if node is None:
        return 0
    key = node.id
    found = on.known.get(key)
    if found is None:
        how = VALUES.get(node.type)
        if how is None or on.depth > DEEPEST:
            return 0
        on.depth += 1
        found = on.known[key] = how(on, node)
        on.depth -= 1
    return found


def _identifier(on: Names, node: Node) -> int:
    return on.build.expr(NAME, on.build.name(on.word(node)))


def _start(word: str) -> Callable[[Names, Node], int]:
    def made(on: Names, node: Node) -> int:
        del node
        return on.build.named(word)

    return made


def path(on: Names, node: Node | None) -> int:
    """What stands before ``::``."""
    if node is None:
        return on.build.named("::")
    if node.type in ("self", "super", "crate"):
        return on.build.named(f"{node.type}::")
    return value(on, node) if node.type in ("identifier", "scoped_identifier") else kind_of(on, node)


def _scoped(on: Names, node: Node) -> int:
    name = node.child_by_field_name("name")
    if name is None:
        return 0
    base = path(on, node.child_by_field_name("path"))
    return on.build.attr(base, f"{name.type}::" if name.type in ("super", "self") else on.word(name))


def _field(on: Names, node: Node) -> int:
    base, name = node.child_by_field_name("value"), node.child_by_field_name("field")
    return on.build.attr(value(on, base), on.word(name)) if base is not None and name is not None else 0


def _call(on: Names, node: Node) -> int:
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None:
        return 0
    build = on.build
    given = comments(arguments) if arguments is not None else []
    called = value(on, function)
    if not called:
        return 0
    found = build.expr(CALL, called, len(given))
    if given:
        last = function
        while last.type == "generic_function":
            last = last.child_by_field_name("function") or function
            if last is function:
                break
        name = last.child_by_field_name("field") or last.child_by_field_name("name") or last
        if on.text(name) in GIVING:
            expr = value(on, given[-1] if on.text(name) in ("fold", "map_or", "map_or_else") else given[0])
            return build.expr(GIVEN, found, expr) if expr else found
    return found


def _generic_function(on: Names, node: Node) -> int:
    base, args = node.child_by_field_name("function"), node.child_by_field_name("type_arguments")
    known = value(on, base)
    kinds = _arguments(on, args)
    return on.build.expr(INDEX, known, on.build.cons(kinds)) if known and any(kinds) else known


def _index(on: Names, node: Node) -> int:
    parts = comments(node)
    known = value(on, parts[0]) if parts else 0
    if len(parts) > 1 and parts[1].type == "range_expression":
        return known
    return on.build.expr(INDEX, known, 0) if known else 0


def _inner(on: Names, node: Node) -> int:
    parts = comments(node)
    return value(on, parts[-1]) if parts else 0


def _operand(on: Names, node: Node) -> int:
    return value(on, node.child_by_field_name("value"))


def _unary(on: Names, node: Node) -> int:
    return _inner(on, node) if on.source[node.start_byte : node.start_byte + 1] == b"*" else 0


def _wrapped(op: int) -> Callable[[Names, Node], int]:
    def made(on: Names, node: Node) -> int:
        known = _inner(on, node)
        return on.build.expr(op, known) if known else 0

    return made


def _struct(on: Names, node: Node) -> int:
    name = node.child_by_field_name("name")
    return instance(on, name) if name is not None else 0


def _cast(on: Names, node: Node) -> int:
    kind = node.child_by_field_name("type")
    return instance(on, kind) if kind is not None else 0


def _tuple(on: Names, node: Node) -> int:
    parts = [value(on, one) for one in comments(node)]
    return on.build.expr(TUPLE, on.build.cons(parts)) if any(parts) else 0


def _array(on: Names, node: Node) -> int:
    parts = comments(node)
    known = value(on, parts[0]) if parts else 0
    return on.build.expr(LITERAL, on.build.name("[]"), on.build.cons((known,)) if known else 0)


def _closure(on: Names, node: Node) -> int:
    scope = on.scopes.get(node.id)
    return on.build.expr(CLOSURE, scope) if scope is not None else 0


def _macro(on: Names, node: Node) -> int:
    name = on.text(node.child_by_field_name("macro"))
    build = on.build
    if name == "vec":
        known = 0
        for one in node.named_children:
            if one.type == "token_tree":
                known = on.tokens.get(one.id, 0)
        return build.expr(LITERAL, build.name("Vec"), build.cons((known,)) if known else 0)
    return build.expr(LITERAL, build.name("String")) if name == "format" else 0


def inside(on: Names, node: Node | None, outer: Node) -> int:
    """The value of a node, read in the scope that it stands in."""
    known = value(on, node)
    if not known or node is None:
        return 0
    scope = on.inside.at(node.start_byte)
    return on.build.expr(WITHIN, scope, known) if scope >= 0 and scope != on.inside.at(outer.start_byte - 1) else known


def _block(on: Names, node: Node) -> int:
    parts = comments(node)
    last = parts[-1] if parts else None
    if last is not None and last.type == "expression_statement" and not on.text(last).endswith(";"):
        last = first(last)
    return inside(on, last, node)


def _if(on: Names, node: Node) -> int:
    then, other = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
    parts = [inside(on, then, node)]
    depth = 0
    while other is not None and depth < ARMS:
        depth += 1
        branch = first(other)
        if branch is None or branch.type != "if_expression":
            parts.append(inside(on, branch, node))
            break
        parts.append(inside(on, branch.child_by_field_name("consequence"), node))
        other = branch.child_by_field_name("alternative")
    return on.build.union(parts)


def _match(on: Names, node: Node) -> int:
    body = node.child_by_field_name("body")
    arms = [one for one in body.named_children if one.type == "match_arm"] if body is not None else []
    return on.build.union(inside(on, one.child_by_field_name("value"), node) for one in arms[:ARMS])


def _literal(name: str) -> Callable[[Names, Node], int]:
    def made(on: Names, node: Node) -> int:
        del node
        return on.build.expr(LITERAL, on.build.name(name))

    return made


VALUES: dict[str, Callable[[Names, Node], int]] = {
    "identifier": _identifier,
    "shorthand_field_identifier": _identifier,
    "self": _start("self"),
    "crate": _start("crate::"),
    "scoped_identifier": _scoped,
    "field_expression": _field,
    "call_expression": _call,
    "generic_function": _generic_function,
    "index_expression": _index,
    "parenthesized_expression": _inner,
    "reference_expression": _operand,
    "unary_expression": _unary,
    "try_expression": _wrapped(UNWRAP),
    "await_expression": _wrapped(AWAIT),
    "struct_expression": _struct,
    "type_cast_expression": _cast,
    "tuple_expression": _tuple,
    "array_expression": _array,
    "closure_expression": _closure,
    "macro_invocation": _macro,
    "block": _block,
    "unsafe_block": _inner,
    "const_block": lambda on, node: value(on, node.child_by_field_name("body")),
    "if_expression": _if,
    "match_expression": _match,
    "string_literal": _literal("str"),
    "raw_string_literal": _literal("str"),
    "char_literal": _literal("char"),
    "boolean_literal": _literal("bool"),
    "integer_literal": _literal("i32"),
    "float_literal": _literal("f64"),
    "range_expression": _literal("Range"),
}


# -- types ------------------------------------------------------------------------------------------------------------


def instance(on: Names, node: Node | None) -> int:
    """An INSTANCE of the type that is written there."""
    kind = kind_of(on, node)
    return on.build.expr(INSTANCE, kind) if kind else 0


def kind_of(on: Names, node: Node | None) -> int:
    """The expression of a written type."""
    if node is None:
        return 0
    how = KINDS.get(node.type)
    if how is None or on.depth > DEEPEST:
        return 0
    on.depth += 1
    found = how(on, node)
    on.depth -= 1
    return found


def _arguments(on: Names, node: Node | None) -> list[int]:
    """Type arguments; of ``Item = T`` the T. Lifetimes are none."""
    found = []
    for one in node.named_children if node is not None else ():
        given = one.child_by_field_name("type") if one.type == "type_binding" else one
        if given is not None and given.type != "lifetime" and "comment" not in given.type:
            found.append(kind_of(on, given))
    return found


def _generic(on: Names, node: Node) -> int:
    known = kind_of(on, node.child_by_field_name("type"))
    args = _arguments(on, node.child_by_field_name("type_arguments"))
    return on.build.expr(INDEX, known, on.build.cons(args)) if known and args else known


def _pointed(on: Names, node: Node) -> int:
    return kind_of(on, node.child_by_field_name("type") or node.child_by_field_name("trait") or first(node))


def _tuple_type(on: Names, node: Node) -> int:
    parts = [kind_of(on, one) for one in comments(node)]
    return on.build.expr(TUPLE, on.build.cons(parts)) if any(parts) else 0


def _list(on: Names, node: Node) -> int:
    build = on.build
    return build.expr(INDEX, build.named("[]"), build.cons((kind_of(on, node.child_by_field_name("element")),)))


def _bounded(on: Names, node: Node) -> int:
    return on.build.union(kind_of(on, one) for one in node.named_children if one.type != "lifetime")


def _function(on: Names, node: Node) -> int:
    build = on.build
    given = node.child_by_field_name("parameters")
    kinds = [
        kind_of(on, one.child_by_field_name("type") if one.type == "parameter" else one)
        for one in (given.named_children if given is not None else ())
    ]
    return build.expr(
        INDEX, build.named("fn"), build.cons([kind_of(on, node.child_by_field_name("return_type")), *kinds])
    )


def _projected(on: Names, node: Node) -> int:
    """``<T as Trait>``: the type, unless it is none of its own."""
    return kind_of(on, node.child_by_field_name("type"))


def bounds(on: Names, nodes: Sequence[Node | None]) -> int:
    """A UNION of trait bounds."""
    return on.build.union(_bounded(on, node) for node in nodes if node is not None)


KINDS: dict[str, Callable[[Names, Node], int]] = {
    "identifier": _identifier,
    "type_identifier": _identifier,
    "primitive_type": _identifier,
    "self": _start("self::"),
    "super": _start("super::"),
    "crate": _start("crate::"),
    "scoped_type_identifier": _scoped,
    "scoped_identifier": _scoped,
    "generic_type": _generic,
    "generic_type_with_turbofish": _generic,
    "reference_type": _pointed,
    "pointer_type": _pointed,
    "dynamic_type": _pointed,
    "abstract_type": _pointed,
    "higher_ranked_trait_bound": _pointed,
    "bracketed_type": _pointed,
    "qualified_type": _projected,
    "tuple_type": _tuple_type,
    "array_type": _list,
    "slice_type": _list,
    "bounded_type": _bounded,
    "trait_bounds": _bounded,
    "function_type": _function,
}
