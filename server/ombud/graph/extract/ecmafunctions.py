"""JavaScript's and TypeScript's functions: scopes, parameters and results, and those that are assigned to something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ombud.graph.extract import ecmabind, ecmaclasses, ecmadefine
from ombud.graph.extract.extraction import first
from ombud.graph.facts import (
    ABSTRACT,
    ASYNC,
    CLASS,
    CLASS_KIND,
    CLASS_SCOPE,
    CLOSURE,
    CONSTRUCTOR,
    DECLARED,
    EXPORTED,
    FIELD,
    FUNCTION,
    FUNCTION_SCOPE,
    GENERATOR,
    INSTANCE,
    LITERAL,
    METHOD,
    PARAMETER,
    PROPERTY,
    RETURNED,
    SELF,
    STATIC,
    SYMBOL,
    VALUE,
    VARIABLE,
    Export,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from ombud.graph.extract.ecma import Ecma
    from ombud.graph.extract.ecmadefine import Around, Opened

_DECLARATIONS = {"function_declaration", "generator_function_declaration", "function_signature"}
_EXPRESSIONS = {"function_expression", "generator_function"}
_METHODS = {"method_definition", "method_signature", "abstract_method_signature"}
_TYPES = {"function_type", "constructor_type", "call_signature", "construct_signature"}
_PARAMETERS = {
    *("required_parameter", "optional_parameter", "identifier", "assignment_pattern", "object_pattern"),
    *("array_pattern", "rest_pattern"),
}


def open_function(on: Ecma, node: Node, where: Around) -> Opened:
    """The symbol of a function, if it has a name, and its scope."""
    build = on.build
    kind = node.type
    made = on.holder.get(node.id, -1)
    name = node.child_by_field_name("name") if kind not in _TYPES else None
    body = node.child_by_field_name("body")
    if kind in _DECLARATIONS and name is not None:
        made = _declared(on, node, name, body, where)
    elif kind in _METHODS:
        made = _method(on, node, name, body, where)
    elif made < 0 and kind not in _TYPES and (parent := node.parent) is not None:
        made = _exported(on, node, name, body, where, parent)
    start = name.end_byte if name is not None and kind in (*_DECLARATIONS, *_METHODS) else node.start_byte
    own = on.open(where.scope, FUNCTION_SCOPE, made, start, node.end_byte)
    if made >= 0:
        symbol = build.symbols[made]
        if symbol.own < 0 or (body is not None and made not in on.bodiless):
            symbol.own = own
        if kind in _DECLARATIONS or kind in _METHODS:
            (on.bodiless.discard if body is not None else on.bodiless.add)(made)
        symbol.flags |= (ABSTRACT if kind == "abstract_method_signature" else 0) | _marks(node)
        if name is not None and kind in _EXPRESSIONS and on.text(name) != symbol.name:
            # It sees its own name, too, which is another one (ECMA-262, 15.2.5).
            on.used.add(name.start_byte)
            build.bind(own, on.text(name), VALUE, build.expr(SYMBOL, made))
    elif name is not None and kind not in _TYPES:
        # A function expression sees its own name.
        on.used.add(name.start_byte)
        build.bind(own, on.text(name), VALUE, build.expr(CLOSURE, own))
    if kind != "arrow_function" and kind not in _TYPES:
        on.receivers[own] = _receiver(on, node, made, where)
    on.openers[own] = node
    on.later.append((node, made, own))
    return start, own, made if made >= 0 else where.symbol


def _marks(node: Node) -> int:
    flags = 0
    for child in node.children[:5]:
        if child.type == "async":
            flags |= ASYNC
        elif child.type == "*":
            flags |= GENERATOR
    return flags | (GENERATOR if node.type.startswith("generator_function") else 0)


def _declared(on: Ecma, node: Node, name: Node, body: Node | None, where: Around) -> int:
    """A function declaration; all signatures of its name are one symbol."""
    build = on.build
    text = on.text(name)
    earlier = on.symbol_at.get((where.scope, text), -1)
    if earlier >= 0 and build.symbols[earlier].kind == FUNCTION and (earlier in on.bodiless or body is None):
        on.used.add(name.start_byte)
        if body is not None:
            was = build.symbols[earlier]
            spot, begin, _ = ecmadefine.place(on, ecmadefine.around(node))
            was.range, was.at = spot, build.span(name)
            was.signature = on.signature(begin, body.start_byte)
            on.bodiless.discard(earlier)
            was.own = -1
            was.params = []
        return earlier
    made = ecmadefine.symbol(on, text, FUNCTION, where, node, name, body)
    ecmadefine.bind(on, where.scope, text, made)
    ecmadefine.export(on, ecmadefine.around(node), text, made)
    return made


def _exported(on: Ecma, node: Node, name: Node | None, body: Node | None, where: Around, parent: Node) -> int:
    """``export default function () {}``."""
    if parent.type != "export_statement":
        return -1
    text = on.text(name) if name is not None else "default"
    made = ecmadefine.symbol(on, text, FUNCTION, where, node, name or node, body)
    if name is not None:
        ecmadefine.bind(on, where.scope, text, made)
    else:
        line, character, _ = on.build.symbols[made].at
        on.build.symbols[made].at = (line, character, 0)
    ecmadefine.export(on, parent, text, made)
    return made


def _method(on: Ecma, node: Node, name: Node | None, body: Node | None, where: Around) -> int:
    text = ecmadefine.named(on, name)
    if name is None or not text:
        return -1
    heads = {child.type for child in node.children[:6]}
    in_object = where.node is not None and where.node.type == "object"
    kind = PROPERTY if "get" in heads or "set" in heads else METHOD
    if text == "constructor" and not in_object:
        kind = CONSTRUCTOR
    elif kind == PROPERTY and any(
        child.end_byte >= name.start_byte for child in node.children if child.type in ("get", "set")
    ):
        kind = METHOD
    return ecmadefine.member(on, text, kind, where, node, name, body)


def _receiver(on: Ecma, node: Node, made: int, where: Around) -> int:
    """The expression of ``this`` in a function that is no arrow function."""
    build = on.build
    if node.type in _METHODS:
        if where.node is not None and where.node.type == "object":
            return build.expr(CLOSURE, where.scope)
        if made >= 0:
            return build.expr(CLASS if build.symbols[made].flags & STATIC else SELF)
        return build.expr(CLASS if any(child.type == "static" for child in node.children[:3]) else SELF)
    if made < 0:
        return 0
    symbol = build.symbols[made]
    if symbol.kind == METHOD:
        if symbol.owner:
            return symbol.owner if symbol.flags & STATIC else build.expr(INSTANCE, symbol.owner)
        if build.scope_kind(symbol.scope) == CLASS_SCOPE:
            if where.node is not None and where.node.type == "object":
                return build.expr(CLOSURE, where.scope)
            return build.expr(CLASS if symbol.flags & STATIC else SELF)
    if symbol.name[:1].isupper():
        return build.expr(INSTANCE, build.expr(SYMBOL, made))
    return 0


# -- parameters and results -------------------------------------------------------------------------------------------


def function(on: Ecma, node: Node, made: int, own: int) -> None:
    """Parameters, the declared result, and what an arrow function gives."""
    build = on.build
    names = _parameters(on, node, own)
    if on.receivers.get(own) == 0 and made < 0 and node.type == "function_expression":
        on.receivers[own] = _given_receiver(on, node)
    ecmaclasses.generics(on, node, made, own)
    result = node.child_by_field_name("return_type") or node.child_by_field_name("type")
    declared = _result(on, result, own) if result is not None else 0
    body = node.child_by_field_name("body")
    arrow = node.type == "arrow_function" and body is not None and body.type != "statement_block"
    if made < 0:
        if node.type in _TYPES:
            _signature(on, node, own, declared)
        elif declared:
            build.bind(own, RETURNED, DECLARED, build.expr(INSTANCE, declared))
        elif arrow and (given := on.value(body)):
            build.bind(own, RETURNED, VALUE, promised(on, node, given))
        return
    symbol = build.symbols[made]
    if symbol.kind == PROPERTY:
        # A setter takes what the getter gives.
        symbol.type = symbol.type or declared or names[3]
        return
    _named_result(on, node, made, declared)
    if arrow and not declared and (given := on.value(body)):
        symbol.returns.append(given)
    if not symbol.params or symbol.own == own:
        symbol.params = names[0]
        symbol.arity = (names[1], names[2])


def _given_receiver(on: Ecma, node: Node) -> int:
    """``this`` in a function without a name: what it is assigned to a member of, else what its place says."""
    parent = node.parent
    left = parent.child_by_field_name("left") if parent is not None and parent.type == "assignment_expression" else None
    if left is not None and left.type in ("member_expression", "subscript_expression"):
        return on.value(left.child_by_field_name("object"))
    return on.build.attr(ecmabind.context(on, node), "<this>")


def _named_result(on: Ecma, node: Node, made: int, declared: int) -> None:
    """The declared result of a function with a name: of all its signatures, where it has several."""
    symbol = on.build.symbols[made]
    if declared:
        if made not in on.overloaded:
            symbol.type = declared
        elif node.child_by_field_name("body") is None:
            # What each of the signatures says; the implementation's own result is wider.
            symbol.type = on.build.union((symbol.type, declared))
        if node.type in ("function_signature", "method_signature", "abstract_method_signature"):
            on.overloaded.add(made)


def promised(on: Ecma, node: Node, given: int) -> int:
    """What a call gives of an async closure that ends in ``given``."""
    build = on.build
    return build.expr(LITERAL, build.name("Promise"), build.cons((given,))) if _marks(node) & ASYNC else given


def _signature(on: Ecma, node: Node, own: int, declared: int) -> None:
    """A type that can be called."""
    build = on.build
    result = build.expr(INSTANCE, declared) if declared else 0
    if node.type in ("function_type", "constructor_type"):
        build.bind(own, RETURNED if node.type == "function_type" else "<new>", DECLARED, result)
        return
    build.bind(own, RETURNED, DECLARED, result)
    around = build.parent_scope(own)
    if node.type == "construct_signature":
        if declared:
            build.bind(around, "<new>", DECLARED, build.expr(CLOSURE, own))
    else:
        build.bind(around, "<call>", DECLARED, build.expr(CLOSURE, own))


def _result(on: Ecma, node: Node, own: int) -> int:
    """A declared result; of a type guard also what it guards."""
    build = on.build
    if node.type in ("type_predicate_annotation", "asserts_annotation"):
        inner = first(node)
        if inner is not None and inner.type == "asserts":
            inner = first(inner)
        if inner is None or inner.type != "type_predicate":
            return 0
        kind = on.kind_of(inner.child_by_field_name("type"))
        if kind:
            build.bind(own, "<is>", DECLARED, build.expr(INSTANCE, kind))
        return build.named("boolean")
    if node.type == "type_annotation":
        found = first(node)
        return on.kind_of(found)
    if node.type == "type_predicate":
        kind = on.kind_of(node.child_by_field_name("type"))
        if kind:
            build.bind(own, "<is>", DECLARED, build.expr(INSTANCE, kind))
        return build.named("boolean")
    return on.kind_of(node)


def _parameters(on: Ecma, node: Node, own: int) -> tuple[list[str], int, int, int]:
    """Names, the least and most arguments, and the type of the first one."""
    build = on.build
    names: list[str] = []
    least = most = kind_of_first = 0
    holder = node.child_by_field_name("parameters")
    single = node.child_by_field_name("parameter")
    given = [single] if single is not None else holder.named_children if holder is not None else []
    expected: int | None = None
    for parameter in given:
        if parameter.type not in _PARAMETERS:
            continue
        pattern, hint, value = _parts(parameter)
        if pattern.type == "this":
            if hint is not None:
                on.receivers[own] = on.instance(first(hint))
                build.bind(own, "<this>", DECLARED, on.receivers[own])
            continue
        rest = pattern.type == "rest_pattern"
        if rest:
            pattern = first(pattern) or pattern
        kind = on.kind_of(first(hint)) if hint is not None else 0
        expr = build.expr(INSTANCE, kind) if kind else 0
        place = len(names)
        if not place:
            kind_of_first = kind
        if hint is None and value is not None:
            expr = on.value(value)
        if not expr and hint is None:
            if expected is None:
                expected = ecmabind.context(on, node)
            expr = build.attr(expected, f"<{place}>")
        least += not (rest or value is not None or parameter.type == "optional_parameter")
        most = -1 if rest else most + 1
        names.append(on.text(pattern) if pattern.type == "identifier" else f"<{place}>")
        if rest:
            build.bind(own, "<rest>", VALUE, 0)
        _bind_parameter(on, parameter, pattern, expr, own, names[-1])
    return names, least, most, kind_of_first


def _parts(parameter: Node) -> tuple[Node, Node | None, Node | None]:
    """Pattern, annotation and default."""
    if parameter.type in ("required_parameter", "optional_parameter"):
        hint, value = parameter.child_by_field_name("type"), parameter.child_by_field_name("value")
        return parameter.child_by_field_name("pattern") or parameter, hint, value
    if parameter.type == "assignment_pattern":
        return parameter.child_by_field_name("left") or parameter, None, parameter.child_by_field_name("right")
    return parameter, None, None


def _bind_parameter(on: Ecma, parameter: Node, pattern: Node, expr: int, own: int, name: str) -> None:
    build = on.build
    if pattern.type != "identifier":
        build.bind(own, name, PARAMETER, expr)
        ecmabind.pattern(on, pattern, expr, own)
        return
    on.used.add(pattern.start_byte)
    build.bind(own, name, PARAMETER, expr)
    on.declared.setdefault(own, set()).add(name)
    head = parameter.child(0) if parameter.child_count else None
    if head is None or parameter.type not in ("required_parameter", "optional_parameter"):
        return
    if head.type in ("accessibility_modifier", "readonly", "override_modifier"):
        _parameter_property(on, parameter, pattern, own)


def _parameter_property(on: Ecma, parameter: Node, pattern: Node, own: int) -> None:
    """``constructor(private x: X)`` declares a field."""
    build = on.build
    scope = build.parent_scope(own)
    parent = build.symbol_of(scope)
    name = on.text(pattern)
    if (scope, name) in on.symbol_at:
        return
    made = build.symbol(
        name, FIELD, parent, scope, (*build.start(parameter), *build.end(parameter)), build.span(pattern)
    )
    symbol = build.symbols[made]
    symbol.signature = on.signature(parameter.start_byte, parameter.end_byte)[:120]
    words = [on.text(child) for child in parameter.children if child.type == "accessibility_modifier"]
    symbol.flags = build.symbols[parent].flags & EXPORTED if "private" not in words and "protected" not in words else 0
    hint, value = parameter.child_by_field_name("type"), parameter.child_by_field_name("value")
    symbol.type = on.kind_of(first(hint)) if hint is not None else 0
    symbol.value = on.value(value) if value is not None and not symbol.type else 0
    on.bound.add(name)
    ecmadefine.bind(on, scope, name, made)


# -- what is assigned -------------------------------------------------------------------------------------------------


def assigned(on: Ecma, node: Node, where: Around) -> None:
    """``exports.x = …``, ``X.prototype.y = …``, ``X.y = …``, and ``this.x = …``, which define something."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None or left.type != "member_expression":
        return
    base, name = left.child_by_field_name("object"), left.child_by_field_name("property")
    if base is None or name is None:
        return
    words = on.source[base.start_byte : base.end_byte]
    if words in (b"exports", b"module.exports"):
        if where.scope == 0 or on.variable(where.scope, "exports") < 0:
            _export_of(on, node, name, on.text(name), right, where)
    elif words == b"module" and on.source[name.start_byte : name.end_byte] == b"exports":
        _export_of(on, node, name, "=", right, where)
    elif base.type == "this":
        _own_field(on, node, where)
    elif base.type == "member_expression" and words.endswith(b".prototype"):
        holder = base.child_by_field_name("object")
        if holder is not None and holder.type == "identifier":
            _outside(on, node, holder, name, right, where, static=False)
    elif base.type == "identifier":
        _outside(on, node, base, name, right, where, static=True)


def _export_of(on: Ecma, node: Node, name: Node, word: str, right: Node, where: Around) -> None:
    """CommonJS. ``=`` is the name of what a module is as a whole."""
    build = on.build
    on.assigned = True
    value = right
    while value.type == "assignment_expression":
        value = value.child_by_field_name("right") or value
    on.used.add(name.start_byte)
    inner = ecmadefine.bare(value)
    if inner is not None and inner.type in (*ecmadefine.FUNCTIONS, "class"):
        own = inner.child_by_field_name("name")
        text = on.text(own) if own is not None and word == "=" else "exports" if word == "=" else word
        kind = CLASS_KIND if inner.type == "class" else FUNCTION
        at = own if own is not None and word == "=" else name
        made = ecmadefine.symbol(on, text, kind, where._replace(scope=0), node, at, inner.child_by_field_name("body"))
        build.symbols[made].flags |= EXPORTED
        on.holder[inner.id] = made
        build.exports.append(Export(word, build.expr(SYMBOL, made)))
    elif inner is not None:
        on.late_exports.append((word, inner))


def _own_field(on: Ecma, node: Node, where: Around) -> None:
    """``this.x = …`` in a class: of JavaScript it defines a field where no declaration does."""
    build = on.build
    own = on.receiver_scope(where.scope)
    if own < 0:
        return
    scope = build.parent_scope(own) if build.scope_kind(own) == FUNCTION_SCOPE else own
    if build.scope_kind(scope) != CLASS_SCOPE:
        return
    holder = build.symbols[build.symbol_of(scope)]
    if holder.own == scope and holder.kind == CLASS_KIND:
        on.fields.append((node, scope, own))


def own_fields(on: Ecma) -> None:
    """The fields that assignments define, once all declarations are known."""
    build = on.build
    for node, scope, own in on.fields:
        left = node.child_by_field_name("left")
        name = left.child_by_field_name("property") if left is not None else None
        right = ecmadefine.bare(node.child_by_field_name("right"))
        if name is None:
            continue
        text = on.text(name)
        static = STATIC if own in on.receivers and on.receivers[own] == build.expr(CLASS) else 0
        if on.receivers.get(own) not in on.own_receivers and build.scope_kind(own) == FUNCTION_SCOPE:
            continue
        if (scope, text) not in on.symbol_at:
            if on.declares_fields:
                continue
            parent = build.symbol_of(scope)
            where = (*build.start(node), *build.end(node))
            made = build.symbol(text, FIELD, parent, scope, where, build.span(name))
            symbol = build.symbols[made]
            symbol.flags = static | (0 if text.startswith(("#", "_")) else build.symbols[parent].flags & EXPORTED)
            symbol.signature = on.signature(node.start_byte, node.end_byte)[:120]
            on.used.add(name.start_byte)
            on.bound.add(text)
            ecmadefine.bind(on, scope, text, made)
        made = on.symbol_at[scope, text]
        if build.symbols[made].type or build.symbols[made].kind != FIELD:
            continue
        within = on.within(on.inside.at(node.start_byte), on.value(right))
        if within:
            build.bind(scope, text, VALUE, within, node.start_byte)


def _outside(on: Ecma, node: Node, base: Node, name: Node, right: Node, where: Around, static: bool) -> None:
    """A member that is given to a function or a class behind its definition."""
    build = on.build
    value = ecmadefine.bare(right)
    holder = on.found(where.scope, on.text(base))
    if holder < 0 or value is None or (where.node is not None and where.scope != build.symbols[holder].scope):
        return
    function = value.type in ecmadefine.FUNCTIONS
    of = build.symbols[holder]
    if of.kind not in (FUNCTION, CLASS_KIND) and not (function and of.kind == VARIABLE):
        return
    if not function and of.kind not in (FUNCTION, CLASS_KIND):
        return
    text = on.text(name)
    if of.own >= 0 and (of.own, text) in on.symbol_at:
        return
    spot = (*build.start(node), *build.end(node))
    made = build.symbol(text, METHOD if function else FIELD, holder, where.scope, spot, build.span(name))
    symbol = build.symbols[made]
    body = value.child_by_field_name("body") if function else None
    symbol.owner = build.expr(SYMBOL, holder)
    symbol.flags = (STATIC if static else 0) | (of.flags & EXPORTED)
    symbol.signature = ecmadefine.signature(on, node.start_byte, node, body)
    symbol.doc = on.doc(node.start_point[0])
    on.used.add(name.start_byte)
    on.bound.add(text)
    if function or value.type == "object":
        on.holder[value.id] = made
    on.variables.append((made, node))
