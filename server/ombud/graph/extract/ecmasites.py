"""JavaScript's and TypeScript's sites: calls, components, references, bases; and what functions give."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from ombud.graph.extract import ecmabind, ecmadefine, ecmafunctions
from ombud.graph.extract.extraction import first
from ombud.graph.facts import (
    ATTR,
    CALL_SITE,
    GENERATOR,
    INDEX,
    INHERIT_SITE,
    REFERENCE_SITE,
    RETURNED,
    VALUE,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from ombud.graph.extract.ecma import Ecma

MOST_RETURNS = 8
_START = attrgetter("start_byte")


def results(on: Ecma) -> None:
    """What functions give, by their ``return`` and ``yield``."""
    build = on.build
    for node in on.ordered("return"):
        _result(on, node)
    for node in on.ordered("yield"):
        scope = on.inside.at(node.start_byte)
        holder = on.owner(on.function_of(scope))
        if holder > 0 and build.symbols[holder].flags & GENERATOR:
            delegated = any(child.type == "*" for child in node.children)
            known = 0 if delegated else on.value(first(node))
            if known and len(build.symbols[holder].returns) < MOST_RETURNS:
                build.symbols[holder].returns.append(on.within(scope, known))
    for scope, given in on.anonymous.items():
        if known := build.union(given):
            build.bind(scope, RETURNED, VALUE, known)


def _result(on: Ecma, node: Node) -> None:
    build = on.build
    if node.type == "comment":
        return
    scope = on.inside.at(node.start_byte - 1)
    own = on.function_of(scope)
    holder = on.owner(own)
    known = on.value(node)
    if not known or not own:
        return
    known = on.within(scope, known) if scope != own else known
    if holder < 0:
        opener = on.openers.get(own)
        if opener is not None and len(found := on.anonymous.setdefault(own, [])) < MOST_RETURNS:
            found.append(ecmafunctions.promised(on, opener, known))
        return
    symbol = build.symbols[holder]
    if not symbol.flags & GENERATOR and len(symbol.returns) < MOST_RETURNS:
        symbol.returns.append(known)


def sites(on: Ecma) -> None:
    """One site a name at most: what inherits first, then calls, members, and names that are left."""
    for node in on.ordered("heritage"):
        _heritage(on, node)
    for node in on.ordered("decorator"):
        inner = first(node)
        if inner is not None and inner.type in ("identifier", "member_expression"):
            _site(on, CALL_SITE, inner)
    _elements(on)
    for node in on.ordered("call"):
        function = node.child_by_field_name("function")
        if function is not None:
            ecmabind.guard(on, node, function)
            _called(on, function)
    for node in on.ordered("new"):
        named = node.child_by_field_name("constructor")
        if named is not None:
            _called(on, named)
    for node in on.ordered("member"):
        _site(on, REFERENCE_SITE, node)
    for node in on.ordered("nested"):
        _nested(on, node)
    _names(on)


def _elements(on: Ecma) -> None:
    """A component is called where its element opens; elements in lower case are the platform's."""
    for node in on.ordered("element"):
        if node.type == "member_expression" or not on.text(node)[:1].islower():
            _site(on, CALL_SITE, node)
        else:
            on.used.add(node.start_byte)
    for node in on.nodes.get("closing", ()):
        _use(on, node)


def _called(on: Ecma, node: Node) -> None:
    function = ecmadefine.bare(node)
    if function is not None and function.type == "instantiation_expression":
        function = first(function)
    if function is None:
        return
    if function.type == "super":
        build = on.build
        expr = build.attr(on.value(function), "constructor")
        build.site(CALL_SITE, expr, on.inside.at(function.start_byte), function)
    elif function.type in ("identifier", "member_expression"):
        _site(on, CALL_SITE, function)


def _use(on: Ecma, node: Node) -> None:
    """A name that is no site of its own."""
    while node.type == "member_expression":
        name, base = node.child_by_field_name("property"), node.child_by_field_name("object")
        if name is not None:
            on.used.add(name.start_byte)
        if base is None:
            return
        node = base
    on.used.add(node.start_byte)


def _site(on: Ecma, kind: int, node: Node) -> None:
    name = node
    if node.type == "member_expression":
        found = node.child_by_field_name("property")
        if found is None:
            return
        name = found
    start = name.start_byte
    if start in on.used:
        return
    on.used.add(start)
    build = on.build
    expr = on.member_of(node) if node is not name else on.value(node)
    if not expr and kind == CALL_SITE:
        # What it is called on is not known; its name still is.
        expr = build.expr(ATTR, 0, build.name(on.text(name))) if node is not name else build.named(on.text(name))
    if expr:
        build.site(kind, expr, on.inside.at(start), name)


def _nested(on: Ecma, node: Node) -> None:
    """``a.B`` in a type: a reference of B, and of a by its name."""
    name = node.child_by_field_name("name")
    if name is None or name.start_byte in on.used:
        return
    on.used.add(name.start_byte)
    expr = on.kind_of(node)
    if expr:
        on.build.site(REFERENCE_SITE, expr, on.inside.at(name.start_byte), name)


def _names(on: Ecma) -> None:
    build, used, source = on.build, on.used, on.source
    words = {word.encode() for word in on.bound}
    for node in sorted(on.nodes.get("name", ()), key=_START):
        start = node.start_byte
        if start in used:
            continue
        word = source[start : node.end_byte]
        if word in words:
            used.add(start)
            build.site(REFERENCE_SITE, build.named(word.decode("utf-8", "replace")), on.inside.at(start), node)


# -- what inherits ----------------------------------------------------------------------------------------------------


def _heritage(on: Ecma, node: Node) -> None:
    """``extends`` and ``implements``: sites of both; only the former are bases that members come from."""
    holder = node.parent
    scope = on.scopes.get(holder.id) if holder is not None else None
    if scope is None:
        return
    made = on.owner(scope)
    if made < 0:
        return
    if node.type == "extends_type_clause":
        for child in node.named_children:
            _base(on, made, child, scope, on.kind_of(child))
        return
    clauses = node.named_children
    if clauses and clauses[0].type not in ("extends_clause", "implements_clause"):
        _base(on, made, clauses[0], scope, on.value(clauses[0]))
        return
    for clause in clauses:
        if clause.type == "implements_clause":
            for child in clause.named_children:
                _base(on, -1, child, scope, 0)
            continue
        value = clause.child_by_field_name("value")
        types = clause.child_by_field_name("type_arguments")
        if value is None:
            continue
        known = on.value(value)
        if known and types is not None:
            kinds = [on.kind_of(one) for one in types.named_children]
            known = on.build.expr(INDEX, known, on.build.cons(kinds)) if any(kinds) else known
        _base(on, made, value, scope, known)


def _base(on: Ecma, made: int, node: Node, scope: int, known: int) -> None:
    build = on.build
    if made >= 0 and known:
        build.symbols[made].bases.append(known)
    if node.type == "generic_type":
        node = node.child_by_field_name("name") or node
    name, expr = node, 0
    if node.type in ("identifier", "type_identifier"):
        expr = build.named(on.text(node))
    elif node.type in ("member_expression", "nested_type_identifier"):
        found = node.child_by_field_name("property") or node.child_by_field_name("name")
        if found is None:
            return
        name = found
        expr = on.value(node) if node.type == "member_expression" else on.kind_of(node)
    if expr and name.start_byte not in on.used:
        on.used.add(name.start_byte)
        build.site(INHERIT_SITE, expr, scope, name)
