"""Expressions and types of C and C++. Pointers and references are stripped: a member of either is found the same way.

``p->m`` and ``*p`` are an UNWRAP of ``p``, which matters for smart pointers and iterators. ``char*`` keeps its star,
as a name of its own, because overloads are told apart by it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ombud.graph.extract.extraction import first
from ombud.graph.extract.jvmish import Typed, arguments, inner, sole
from ombud.graph.facts import CALL, CLOSURE, INDEX, INSTANCE, SYMBOL, TYPE_OF, UNWRAP, WITHIN

if TYPE_CHECKING:
    from tree_sitter import Node

CHARS = "char*"
_DEEP = 60
_TRUTH = frozenset(("&&", "||", "==", "!=", "<", ">", "<=", ">=", "and", "or", "not_eq"))
_CASTS = frozenset(("static_cast", "dynamic_cast", "reinterpret_cast", "const_cast"))
WORDS = frozenset(
    b"typeid sizeof defined alignof decltype __typeof__ typeof __attribute__ __declspec __asm__ asm "
    b"_Static_assert static_assert NULL nullptr true false this int char void short long unsigned signed float "
    b"double bool const volatile auto static extern inline register struct union enum class typename template "
    b"operator return if else for while do switch case default break continue goto typedef __has_include "
    b"__has_attribute __has_builtin __has_feature __func__ __FILE__ __LINE__ __FUNCTION__ __cplusplus "
    b"__VA_ARGS__ __VA_OPT__ va_start va_end va_arg va_copy offsetof noexcept restrict __restrict".split()
)
"""What the grammar may take for a name and is none."""


def _identifier(on: Typed, node: Node) -> int:
    return on.build.named(on.text(node))


def _this(on: Typed, node: Node) -> int:
    del node
    return on.build.named("this")


def field_base(on: Typed, node: Node) -> int:
    """The value that a field's expression is taken from, the pointer followed."""
    base, operator = node.child_by_field_name("argument"), node.child_by_field_name("operator")
    known = on.value(base)
    if not known or base is None or base.type == "this":
        return known
    return on.build.expr(UNWRAP, known) if operator is not None and operator.type == "->" else known


def _field(on: Typed, node: Node) -> int:
    name = last_name(node.child_by_field_name("field"))
    return on.build.attr(field_base(on, node), on.text(name)) if name is not None else 0


def last_name(node: Node | None) -> Node | None:
    """The token at which something is named: of ``a::b<c>`` it is ``b``."""
    while node is not None:
        kind = node.type
        if kind in _NAMES:
            return node
        if kind in ("qualified_identifier", "template_function", "template_method", "template_type"):
            node = node.child_by_field_name("name")
        elif kind in ("dependent_name", "dependent_type"):
            node = first(node)
        else:
            return None
    return None


_NAMES = frozenset(
    ("identifier", "field_identifier", "type_identifier", "destructor_name", "operator_name", "namespace_identifier")
)


def named(on: Typed, node: Node | None) -> int:
    """What a name with scopes and template arguments means: NAMEs, ATTRs and INDEXes."""
    build = on.build
    if node is None:
        return 0
    kind = node.type
    if kind in _NAMES:
        return build.named(plain(on.text(node)))
    if kind in ("template_type", "template_function"):
        return on.generic(named(on, node.child_by_field_name("name")), template_arguments(on, node))
    if kind == "qualified_identifier":
        return _qualified(on, node)
    if kind in ("dependent_name", "dependent_type"):
        return named(on, first(node))
    if kind == "decltype":
        return kind_of(on, node)
    return 0


def _qualified(on: Typed, node: Node) -> int:
    """``a::b::c``: the grammar nests it to the right."""
    build = on.build
    scope = node.child_by_field_name("scope")
    expr = named(on, scope) if scope is not None else 0
    start = scope is None
    here = node.child_by_field_name("name")
    for _ in range(_DEEP):
        if here is None or (not expr and not start):
            return 0
        part = here.child_by_field_name("scope") if here.type == "qualified_identifier" else here
        args: list[int] = []
        if part is not None and part.type in ("template_type", "template_function"):
            args = template_arguments(on, part)
            part = part.child_by_field_name("name")
        elif part is not None and part.type in ("dependent_name", "dependent_type"):
            part = last_name(part)
        if part is None or part.type not in _NAMES:
            return 0
        text = plain(on.text(part))
        expr = build.expr(WITHIN, 0, build.named(text)) if start else build.attr(expr, text)
        start = False
        expr = on.generic(expr, args)
        if here.type != "qualified_identifier":
            return expr
        here = here.child_by_field_name("name")
    return 0


def plain(text: str) -> str:
    """A name without blanks: ``operator ()``, ``~ A``."""
    return text if text.isidentifier() else "".join(text.split())


def template_arguments(on: Typed, node: Node) -> list[int]:
    return [kind_of(on, one) for one in arguments(node.child_by_field_name("arguments"))]


def call(on: Typed, node: Node) -> int:
    """A call, and the casts and constructions that look like one."""
    function, given = node.child_by_field_name("function"), arguments(node.child_by_field_name("arguments"))
    while function is not None and function.type == "parenthesized_expression":
        function = first(function)
    if function is None:
        return 0
    if function.type == "template_function" and on.text(function.child_by_field_name("name")) in _CASTS:
        types = template_arguments(on, function)
        return on.build.expr(INSTANCE, types[0]) if types and types[0] else 0
    if function.type == "primitive_type":
        return on.literal(on.text(function))
    if function.type == "pointer_expression":
        function = function.child_by_field_name("argument")
    callee = _callee(on, function)
    if any(one.type == "parameter_pack_expansion" for one in given):
        return on.build.expr(CALL, callee, -1) if callee else 0
    return on.call(callee, given)


def _callee(on: Typed, node: Node | None) -> int:
    if node is None or node.type != "field_expression":
        return on.value(node)
    method = node.child_by_field_name("field")
    while method is not None and method.type == "dependent_name":
        method = first(method)
    callee = _field(on, node)
    if callee and method is not None and method.type == "template_method":
        return on.generic(callee, template_arguments(on, method))
    return callee


def _new(on: Typed, node: Node) -> int:
    return on.instance(node.child_by_field_name("type"))


def _pointer(on: Typed, node: Node) -> int:
    operator = node.child_by_field_name("operator")
    known = on.value(node.child_by_field_name("argument"))
    return on.build.expr(UNWRAP, known) if known and operator is not None and operator.type == "*" else known


def _subscript(on: Typed, node: Node) -> int:
    known = on.value(node.child_by_field_name("argument"))
    return on.build.expr(INDEX, known, 0) if known else 0


def _either(on: Typed, node: Node) -> int:
    sides = (node.child_by_field_name("consequence"), node.child_by_field_name("alternative"))
    return on.build.union(on.value(one) for one in sides)


def _assigned(on: Typed, node: Node) -> int:
    return on.value(node.child_by_field_name("left"))


def _binary(on: Typed, node: Node) -> int:
    operator = node.child_by_field_name("operator")
    if operator is not None and operator.type in _TRUTH:
        return on.literal("bool")
    return 0


def _unary(on: Typed, node: Node) -> int:
    operator = node.child_by_field_name("operator")
    if operator is not None and operator.type in ("!", "not"):
        return on.literal("bool")
    return on.value(node.child_by_field_name("argument"))


def _argument(on: Typed, node: Node) -> int:
    return on.value(node.child_by_field_name("argument"))


def _last(on: Typed, node: Node) -> int:
    return on.value(node.child_by_field_name("right"))


def _lambda(on: Typed, node: Node) -> int:
    own = on.scopes.get(node.id)
    return on.build.expr(CLOSURE, own) if own is not None else 0


def _number(on: Typed, node: Node) -> int:
    text = on.source[node.start_byte : node.end_byte].lower()
    hexadecimal = text.startswith(b"0x")
    return on.literal("double" if b"." in text or (b"e" in text and not hexadecimal) else "int")


VALUES: dict[str, Callable[[Typed, Node], int]] = {
    "identifier": _identifier,
    "this": _this,
    "field_expression": _field,
    "qualified_identifier": named,
    "template_function": named,
    "call_expression": call,
    "new_expression": _new,
    "cast_expression": lambda on, node: described(on, node.child_by_field_name("type")),
    "compound_literal_expression": lambda on, node: described(on, node.child_by_field_name("type")),
    "pointer_expression": _pointer,
    "subscript_expression": _subscript,
    "parenthesized_expression": inner,
    "conditional_expression": _either,
    "assignment_expression": _assigned,
    "binary_expression": _binary,
    "unary_expression": _unary,
    "update_expression": _argument,
    "co_await_expression": _argument,
    "comma_expression": _last,
    "lambda_expression": _lambda,
    "string_literal": sole(CHARS),
    "raw_string_literal": sole(CHARS),
    "concatenated_string": sole(CHARS),
    "char_literal": sole("char"),
    "number_literal": _number,
    "true": sole("bool"),
    "false": sole("bool"),
    "null": sole("nullptr"),
    "sizeof_expression": sole("int"),
}


# -- types ------------------------------------------------------------------------------------------------------------


def described(on: Typed, node: Node | None) -> int:
    """An INSTANCE of a type as a descriptor writes it."""
    kind = kind_of(on, node)
    return on.build.expr(INSTANCE, kind) if kind else 0


def kind_of(on: Typed, node: Node | None) -> int:
    """The expression of a type; 0 for ``auto`` and ``void``."""
    if node is None:
        return 0
    found = on.kinds.get(node.id)
    if found is None:
        how = _KINDS.get(node.type)
        if how is None or on.depth > _DEEP:
            return 0
        on.depth += 1
        found = on.kinds[node.id] = how(on, node)
        on.depth -= 1
    return found


def starred(on: Typed, kind: int, declarator: Node | None) -> int:
    """A type with its declarator: ``char`` and a star are a type of its own."""
    if declarator is None or ("pointer" not in declarator.type and "array" not in declarator.type):
        return kind
    return on.build.named(CHARS) if kind and kind == on.build.named("char") else kind


def _descriptor(on: Typed, node: Node) -> int:
    return starred(on, kind_of(on, node.child_by_field_name("type")), node.child_by_field_name("declarator"))


def _primitive(on: Typed, node: Node) -> int:
    text = on.text(node)
    return 0 if text == "void" else on.build.named(text)


def _sized(on: Typed, node: Node) -> int:
    text = on.source[node.start_byte : node.end_byte]
    return on.build.named("char" if b"char" in text else "double" if b"double" in text else "int")


def _tagged(on: Typed, node: Node) -> int:
    """``struct x``, with a body or without."""
    made = on.tagged.get(node.id)  # type: ignore[attr-defined]
    if made is not None:
        return on.build.expr(SYMBOL, made)
    return named(on, node.child_by_field_name("name"))


def _decltype(on: Typed, node: Node) -> int:
    known = on.value(first(node))
    return on.build.expr(TYPE_OF, known) if known else 0


_KINDS: dict[str, Callable[[Typed, Node], int]] = {
    "type_identifier": _identifier,
    "identifier": _identifier,
    "primitive_type": _primitive,
    "sized_type_specifier": _sized,
    "struct_specifier": _tagged,
    "union_specifier": _tagged,
    "enum_specifier": _tagged,
    "class_specifier": _tagged,
    "qualified_identifier": named,
    "template_type": named,
    "dependent_type": lambda on, node: kind_of(on, first(node)),
    "type_descriptor": _descriptor,
    "decltype": _decltype,
}
