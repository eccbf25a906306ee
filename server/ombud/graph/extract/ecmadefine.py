"""JavaScript's and TypeScript's definitions: one walk over the nodes that define something, outer ones first."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ombud.graph.extract import ecmabind, ecmaclasses, ecmafunctions
from ombud.graph.extract.extraction import Nest, first
from ombud.graph.facts import (
    BLOCK_SCOPE,
    CLASS,
    CLASS_KIND,
    CLASS_SCOPE,
    CONSTANT,
    EXPORTED,
    FIELD,
    FUNCTION,
    FUNCTION_SCOPE,
    INTERFACE,
    METHOD,
    NAMESPACE,
    STATIC,
    SYMBOL,
    TO_SYMBOL,
    TYPE,
    VARIABLE,
    Export,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from ombud.graph.extract.ecma import Ecma

FUNCTIONS = {"arrow_function", "function_expression", "generator_function"}
CLASSES = {"class_declaration", "abstract_class_declaration", "class"}
WRAPPERS = {"parenthesized_expression", "as_expression", "satisfies_expression", "non_null_expression"}
_AROUND = {
    *("lexical_declaration", "variable_declaration", "export_statement", "ambient_declaration", "expression_statement"),
}
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*$")
_WORTH = {
    *("identifier", "member_expression", "call_expression", "new_expression", "object", "as_expression", "class"),
    *("await_expression", "binary_expression", "ternary_expression", "arrow_function", "function_expression", "array"),
    *("satisfies_expression", "non_null_expression", "parenthesized_expression", "generator_function"),
}
"""Values of an object's members that are kept: numbers and strings are not."""


class Around(NamedTuple):
    """What a node stands in."""

    end: int
    scope: int
    symbol: int
    node: Node | None
    """The node that opens it."""


def define(on: Ecma) -> None:
    """Symbols and scopes."""
    regions: list[tuple[int, int, int]] = []
    stack = [Around(1 << 62, 0, 0, None)]
    seen: set[int] = set()
    for node in on.ordered("scope"):
        start = node.start_byte
        while stack[-1].end <= start:
            stack.pop()
        if node.id in seen:
            continue
        seen.add(node.id)
        made = _DEFINE[node.type](on, node, stack[-1])
        if made is not None:
            begin, scope, symbol = made
            on.scopes[node.id] = scope
            regions.append((begin, node.end_byte, scope))
            stack.append(Around(node.end_byte, scope, symbol, node))
    on.inside = Nest(regions)


Opened = tuple[int, int, int] | None
"""First offset, scope and symbol of what a node opens."""


def bare(node: Node | None) -> Node | None:
    """A value without the parentheses and the type assertions around it."""
    while node is not None and node.type in WRAPPERS:
        node = first(node)
    return node


def around(node: Node) -> Node:
    """The statement that a definition is all of."""
    parent = node.parent
    while parent is not None and parent.type in _AROUND:
        if (
            parent.type.endswith("_declaration")
            and parent.named_child_count > 1
            and parent.type != "ambient_declaration"
        ):
            break
        node, parent = parent, parent.parent
    return node


def place(on: Ecma, node: Node) -> tuple[tuple[int, int, int, int], int, Node]:
    """The range of a statement behind its decorators, the offset of its first word, and the node a comment is above."""
    build = on.build
    begin = node
    if node.child_count and (head := node.child(0)) is not None and head.type == "decorator":
        begin = next((child for child in node.children if child.type not in ("decorator", "comment")), node)
    above = node
    before = node.prev_sibling if b"@" in on.source[max(0, node.start_byte - 400) : node.start_byte] else None
    while before is not None and before.type == "decorator":
        above, before = before, before.prev_sibling
    return (*build.start(begin), *build.end(node)), begin.start_byte, above


def export(on: Ecma, statement: Node, name: str, symbol: int) -> None:
    """Say that a definition is exported by the statement around it, if it is."""
    if statement.type != "export_statement":
        return
    made = on.build.symbols[symbol]
    made.flags |= EXPORTED
    scope = made.scope
    default = any(child.type == "default" for child in statement.children[:4])
    if scope == 0:
        on.build.exports.append(Export("default" if default else name, on.build.expr(SYMBOL, symbol)))


def symbol(on: Ecma, name: str, kind: int, where: Around, node: Node, at: Node, body: Node | None = None) -> int:
    """A new symbol in a scope, with its text. ``node`` is what defines it, ``at`` the node of its name."""
    build = on.build
    statement = around(node)
    spot, begin, above = place(on, statement)
    made = build.symbol(name, kind, where.symbol, where.scope, spot, build.span(at))
    new = build.symbols[made]
    on.used.add(at.start_byte)
    on.bound.add(name)
    new.signature = signature(on, begin, statement, body)
    new.doc = on.doc(above.start_point[0])
    return made


def signature(on: Ecma, begin: int, statement: Node, body: Node | None) -> str:
    if body is not None:
        return on.signature(begin, body.start_byte).removesuffix("{").rstrip().removesuffix("=>").rstrip()
    text = on.signature(begin, min(statement.end_byte, begin + 160))
    return text.partition("{")[0].rstrip().removesuffix("=").rstrip()[:120].rstrip(";")


def bind(on: Ecma, scope: int, name: str, made: int) -> None:
    on.symbol_at[scope, name] = made
    on.build.bind(scope, name, TO_SYMBOL, made)


def named(on: Ecma, node: Node | None) -> str:
    """The name of a member; empty where it is worked out when the program runs."""
    if node is None:
        return ""
    if node.type in ("property_identifier", "private_property_identifier", "identifier", "type_identifier"):
        return on.text(node)
    if node.type == "computed_property_name":
        node = first(node)
        if node is not None and node.type == "member_expression":
            text = "".join(on.text(node).split())
            return f"[{text}]" if text.startswith("Symbol.") else ""
        if node is not None and node.type == "identifier":
            return f"[{on.text(node)}]"
    if node is not None and node.type in ("string", "number"):
        return on.text(node).strip("\"'`")
    return ""


# -- blocks -----------------------------------------------------------------------------------------------------------


def _block(on: Ecma, node: Node, where: Around) -> Opened:
    """A block that binds something; the body of a function or namespace is that one's scope."""
    holder = where.node
    parent = node.parent
    if holder is not None and parent is not None and parent.id == holder.id and node.end_byte == where.end:
        return None
    own = on.open(where.scope, BLOCK_SCOPE, -1, node.start_byte, node.end_byte)
    return node.start_byte, own, where.symbol


def _loop(on: Ecma, node: Node, where: Around) -> Opened:
    field = "left" if node.type == "for_in_statement" else "initializer"
    head = node.child_by_field_name(field)
    declares = node.child_by_field_name("kind") if field == "left" else head
    if head is None or declares is None or (field != "left" and declares.type != "lexical_declaration"):
        return None
    own = on.open(where.scope, BLOCK_SCOPE, -1, node.start_byte, node.end_byte)
    if field == "left":
        for name in pattern_names(on, head):
            on.declared.setdefault(on.hoisted(own) if on.text(declares) == "var" else own, set()).add(name)
        on.locals.append((node, on.hoisted(own) if on.text(declares) == "var" else own))
    return node.start_byte, own, where.symbol


def _catch(on: Ecma, node: Node, where: Around) -> Opened:
    parameter = node.child_by_field_name("parameter")
    if parameter is None:
        return None
    own = on.open(where.scope, BLOCK_SCOPE, -1, node.start_byte, node.end_byte)
    ecmabind.pattern(on, parameter, on.instance(first(node.child_by_field_name("type"))), own)
    return node.start_byte, own, where.symbol


def _static_block(on: Ecma, node: Node, where: Around) -> Opened:
    own = on.open(where.scope, FUNCTION_SCOPE, -1, node.start_byte, node.end_byte)
    on.receivers[own] = on.build.expr(CLASS)
    return node.start_byte, own, where.symbol


# -- variables and members --------------------------------------------------------------------------------------------


def pattern_names(on: Ecma, node: Node, depth: int = 0) -> list[str]:
    """The names that a pattern binds."""
    kind = node.type
    if depth > ecmabind.PATTERNS:
        return []
    if kind in ("identifier", "shorthand_property_identifier_pattern"):
        return [on.text(node)]
    if kind == "pair_pattern":
        value = node.child_by_field_name("value")
        return pattern_names(on, value, depth + 1) if value is not None else []
    if kind in ("assignment_pattern", "object_assignment_pattern"):
        left = node.child_by_field_name("left")
        return pattern_names(on, left, depth + 1) if left is not None else []
    if kind in ("object_pattern", "array_pattern", "rest_pattern"):
        return [name for child in node.named_children for name in pattern_names(on, child, depth + 1)]
    return []


def _variable(on: Ecma, node: Node, where: Around) -> Opened:
    name, value = node.child_by_field_name("name"), bare(node.child_by_field_name("value"))
    declaration = node.parent
    if name is None or declaration is None:
        return None
    scope = where.scope
    if declaration.type == "variable_declaration":
        scope = on.hoisted(scope)
    kind = value.type if value is not None else ""
    module = scope == 0 or (
        on.build.symbols[where.symbol].kind == NAMESPACE and on.build.scope_kind(scope) == FUNCTION_SCOPE
    )
    if name.type != "identifier":
        if module and not requires(on, value):
            _destructured(on, name, where._replace(scope=scope), node)
        else:
            on.declared.setdefault(scope, set()).update(pattern_names(on, name))
        on.locals.append((node, scope))
        return None
    if value is not None and requires(on, value):
        on.declared.setdefault(scope, set()).add(on.text(name))
        on.locals.append((node, scope))
        return None
    function = kind in FUNCTIONS
    if not (module or function or kind == "class"):
        on.declared.setdefault(scope, set()).add(on.text(name))
        on.locals.append((node, scope))
        return None
    _define_variable(on, node, name, value, where._replace(scope=scope))
    return None


def requires(on: Ecma, value: Node | None) -> bool:
    """Whether a value is ``require("…")``, which makes of its variable an import."""
    if value is None or value.type != "call_expression":
        return False
    function = value.child_by_field_name("function")
    return function is not None and function.type == "identifier" and on.text(function) == "require"


def _define_variable(on: Ecma, node: Node, name: Node, value: Node | None, where: Around) -> None:
    build = on.build
    text, kind = on.text(name), value.type if value is not None else ""
    function = kind in FUNCTIONS
    earlier = on.symbol_at.get((where.scope, text), -1)
    body = value.child_by_field_name("body") if value is not None and (function or kind == "class") else None
    what = FUNCTION if function else CLASS_KIND if kind == "class" else VARIABLE
    declaration = node.parent
    if (
        what == VARIABLE
        and _CONSTANT.match(text)
        and declaration is not None
        and declaration.type == "lexical_declaration"
    ):
        what = CONSTANT
    if earlier >= 0 and build.symbols[earlier].kind in (VARIABLE, CONSTANT):
        on.used.add(name.start_byte)
        made = earlier
    else:
        made = symbol(on, text, what, where, node, name, body)
        if earlier >= 0:
            # An interface or a type of the name is here already; a value comes first where both are meant.
            build.bind(where.scope, text, TO_SYMBOL, made)
            if build.symbols[earlier].kind in (INTERFACE, TYPE):
                on.symbol_at[where.scope, text] = made
        else:
            bind(on, where.scope, text, made)
    if around(node).type != "export_statement" and declaration is not None:
        statement = declaration.parent
        if statement is not None and statement.type == "export_statement":
            export(on, statement, text, made)
    else:
        export(on, around(node), text, made)
    if value is not None and (function or kind in ("class", "object")):
        on.holder[value.id] = made
    on.variables.append((made, node))


def _destructured(on: Ecma, pattern: Node, where: Around, node: Node, depth: int = 0) -> None:
    """Each name of a pattern at the top of a module is a variable of it."""
    kind = pattern.type
    if kind in ("identifier", "shorthand_property_identifier_pattern"):
        text = on.text(pattern)
        if (where.scope, text) in on.symbol_at:
            return
        made = symbol(on, text, VARIABLE, where, node, pattern)
        bind(on, where.scope, text, made)
        export(on, around(node), text, made)
        return
    for child in pattern.named_children if depth < ecmabind.PATTERNS else ():
        if kind == "pair_pattern" and child.type == "property_identifier":
            continue
        if kind in ("assignment_pattern", "object_assignment_pattern") and child != pattern.child_by_field_name("left"):
            continue
        _destructured(on, child, where, node, depth + 1)


def member(on: Ecma, name: str, kind: int, where: Around, node: Node, at: Node, body: Node | None = None) -> int:
    """A member of a class, an interface or an object; a second declaration of its name is the same one."""
    build = on.build
    static = any(child.type == "static" for child in node.children[:4])
    earlier = on.symbol_at.get((where.scope, name), -1)
    if earlier >= 0 and bool(build.symbols[earlier].flags & STATIC) == static:
        on.used.add(at.start_byte)
        was = build.symbols[earlier]
        if body is not None and was.kind == kind and was.own >= 0 and earlier in on.bodiless:
            # The signatures above were overloads: the definition stands here.
            on.bodiless.discard(earlier)
            was.range, was.at = place(on, node)[0], build.span(at)
        return earlier
    spot, begin, above = place(on, node)
    made = build.symbol(name, kind, where.symbol, where.scope, spot, build.span(at))
    on.used.add(at.start_byte)
    on.bound.add(name)
    new = build.symbols[made]
    new.signature, new.doc = signature(on, begin, node, body), on.doc(above.start_point[0])
    new.flags = (STATIC if static else 0) | _visible(on, node, name, where)
    bind(on, where.scope, name, made)
    return made


def _visible(on: Ecma, node: Node, name: str, where: Around) -> int:
    hidden = name.startswith("#") or any(
        child.type == "accessibility_modifier" and on.text(child) != "public" for child in node.children[:4]
    )
    if hidden:
        on.hidden.add(len(on.build.symbols) - 1)
        return 0
    return on.build.symbols[where.symbol].flags & EXPORTED


def _field(on: Ecma, node: Node, where: Around) -> Opened:
    """A field of a class or an interface; one that holds a function is a method."""
    at = node.child_by_field_name("name") or node.child_by_field_name("property")
    text = named(on, at)
    if at is None or not text:
        return None
    value = bare(node.child_by_field_name("value"))
    function = value is not None and value.type in FUNCTIONS
    body = value.child_by_field_name("body") if value is not None and function else None
    if where.node is not None and where.node.type == "object_type" and where.node.id not in on.holder:
        on.used.add(at.start_byte)
        if (kind := first(node.child_by_field_name("type"))) is not None:
            on.members.append((where.scope, text, kind))
        return None
    made = member(on, text, METHOD if function else FIELD, where, node, at, body)
    if value is not None and (function or value.type in ("object", "class")):
        on.holder[value.id] = made
    on.variables.append((made, node))
    return None


def _index(on: Ecma, node: Node, where: Around) -> Opened:
    """``[key: string]: T``."""
    kind = first(node.child_by_field_name("type"))
    if kind is not None:
        on.members.append((where.scope, "<index>", kind))
    return None


def _object(on: Ecma, node: Node, where: Around) -> Opened:
    if not node.named_child_count:
        return None
    made = on.holder.get(node.id, -1)
    own = on.open(where.scope, CLASS_SCOPE, made, node.start_byte, node.end_byte)
    on.literals.add(own)
    if made >= 0:
        on.build.symbols[made].own = own
    on.objects.append((node, own))
    return node.start_byte, own, made if made >= 0 else where.symbol


def _pair(on: Ecma, node: Node, where: Around) -> Opened:
    """A member of an object: a symbol where it is a function, else what it holds."""
    at, value = node.child_by_field_name("key"), bare(node.child_by_field_name("value"))
    text = named(on, at)
    if at is None or value is None or not text:
        return None
    on.used.add(at.start_byte)
    if value.type in FUNCTIONS or value.type == "class":
        kind = CLASS_KIND if value.type == "class" else METHOD
        made = member(on, text, kind, where, node, at, value.child_by_field_name("body"))
        on.holder[value.id] = made
    elif value.type in _WORTH:
        on.pairs.append((where.scope, text, value))
    return None


def _assigned(on: Ecma, node: Node, where: Around) -> Opened:
    ecmafunctions.assigned(on, node, where)
    return None


_FUNCTION = ecmafunctions.open_function
_DEFINE: dict[str, Callable[[Ecma, Node, Around], Opened]] = {
    **dict.fromkeys(CLASSES, ecmaclasses.open_class),
    "interface_declaration": ecmaclasses.open_interface,
    "type_alias_declaration": ecmaclasses.open_alias,
    "object_type": ecmaclasses.open_object_type,
    "enum_declaration": ecmaclasses.open_enum,
    "internal_module": ecmaclasses.open_namespace,
    "module": ecmaclasses.open_namespace,
    "statement_block": _block,
    "switch_body": _block,
    "for_statement": _loop,
    "for_in_statement": _loop,
    "catch_clause": _catch,
    "class_static_block": _static_block,
    "variable_declarator": _variable,
    "public_field_definition": _field,
    "field_definition": _field,
    "property_signature": _field,
    "index_signature": _index,
    "object": _object,
    "pair": _pair,
    "assignment_expression": _assigned,
    **dict.fromkeys(
        (
            *("function_declaration", "generator_function_declaration", "function_expression", "generator_function"),
            *("arrow_function", "method_definition", "function_signature", "method_signature"),
            *(
                "abstract_method_signature",
                "call_signature",
                "construct_signature",
                "function_type",
                "constructor_type",
            ),
        ),
        _FUNCTION,
    ),
}
