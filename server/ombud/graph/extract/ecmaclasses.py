"""JavaScript's and TypeScript's classes, interfaces, type aliases, enums and namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ombud.graph.extract import ecmadefine
from ombud.graph.extract.extraction import first
from ombud.graph.facts import (
    ABSTRACT,
    ALIAS,
    CLASS,
    CLASS_KIND,
    CLASS_SCOPE,
    ENUM,
    ENUM_MEMBER,
    EXPORTED,
    FUNCTION_SCOPE,
    INTERFACE,
    NAMESPACE,
    STATIC,
    SYMBOL,
    TO_SYMBOL,
    TYPE,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from ombud.graph.extract.ecma import Ecma
    from ombud.graph.extract.ecmadefine import Around, Opened


# -- classes and types ------------------------------------------------------------------------------------------------


def open_class(on: Ecma, node: Node, where: Around) -> Opened:
    build = on.build
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    made = on.holder.get(node.id, -1)
    text = on.text(name) if name is not None else ""
    if made < 0:
        if node.type == "class" or name is None:
            text = text or _default(node) or "<class>"
        earlier = on.symbol_at.get((where.scope, text), -1)
        if earlier >= 0 and build.symbols[earlier].kind == INTERFACE and node.type != "class":
            made = earlier
            build.symbols[made].kind = CLASS_KIND
            if name is not None:
                on.used.add(name.start_byte)
        else:
            made = ecmadefine.symbol(on, text, CLASS_KIND, where, node, name or node, body)
            if node.type != "class":
                ecmadefine.bind(on, where.scope, text, made)
        ecmadefine.export(on, ecmadefine.around(node), text, made)
    elif name is not None:
        on.used.add(name.start_byte)
    new = build.symbols[made]
    if node.type == "abstract_class_declaration":
        new.flags |= ABSTRACT
    own = new.own
    if own < 0:
        own = new.own = on.open(where.scope, CLASS_SCOPE, made, node.start_byte, node.end_byte)
    generics(on, node, made, own)
    return (name.end_byte if name is not None else node.start_byte + 5), own, made


def _default(node: Node) -> str:
    parent = node.parent
    return "default" if parent is not None and parent.type == "export_statement" else ""


def generics(on: Ecma, node: Node, made: int, own: int) -> None:
    """Type parameters, and the bounds of those that have one."""
    given = node.child_by_field_name("type_parameters")
    if given is None:
        return
    names = []
    for one in given.named_children:
        name, bound = one.child_by_field_name("name"), one.child_by_field_name("constraint")
        if name is None:
            continue
        names.append(on.text(name))
        if (inner := first(bound)) is not None:
            on.members.append((own, f"<{names[-1]}>", inner))
    if made >= 0 and not on.build.symbols[made].generics:
        on.build.symbols[made].generics = names


def open_interface(on: Ecma, node: Node, where: Around) -> Opened:
    build = on.build
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None or body is None:
        return None
    text = on.text(name)
    made = on.symbol_at.get((where.scope, text), -1)
    if made < 0 or build.symbols[made].kind not in (INTERFACE, CLASS_KIND):
        made = ecmadefine.symbol(on, text, INTERFACE, where, node, name, body)
        if (where.scope, text) not in on.symbol_at:
            ecmadefine.bind(on, where.scope, text, made)
        else:
            # A value has the name already: the type beside it is found by its own one.
            build.bind(where.scope, text, TO_SYMBOL, made)
    on.used.add(name.start_byte)
    ecmadefine.export(on, ecmadefine.around(node), text, made)
    own = build.symbols[made].own
    if own < 0:
        own = build.symbols[made].own = on.open(where.scope, CLASS_SCOPE, made, node.start_byte, node.end_byte)
    generics(on, node, made, own)
    return name.end_byte, own, made


def open_alias(on: Ecma, node: Node, where: Around) -> Opened:
    build = on.build
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is None or value is None:
        return None
    text = on.text(name)
    made = ecmadefine.symbol(on, text, TYPE, where, node, name, value if value.type == "object_type" else None)
    if (where.scope, text) in on.symbol_at:
        build.bind(where.scope, text, TO_SYMBOL, made)
    else:
        ecmadefine.bind(on, where.scope, text, made)
    ecmadefine.export(on, ecmadefine.around(node), text, made)
    on.aliases.append((made, value))
    own = on.open(where.scope, CLASS_SCOPE, made, node.start_byte, node.end_byte)
    build.symbols[made].own = own
    if value.type == "object_type":
        on.holder[value.id] = made
    else:
        build.symbols[made].flags |= ALIAS
    generics(on, node, made, own)
    return name.end_byte, own, made


def open_object_type(on: Ecma, node: Node, where: Around) -> Opened:
    made = on.holder.get(node.id, -1)
    if made >= 0:
        return node.start_byte, on.build.symbols[made].own, made
    own = on.open(where.scope, CLASS_SCOPE, -1, node.start_byte, node.end_byte)
    return node.start_byte, own, where.symbol


def open_enum(on: Ecma, node: Node, where: Around) -> Opened:
    build = on.build
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None or body is None:
        return None
    text = on.text(name)
    made = on.symbol_at.get((where.scope, text), -1)
    if made < 0 or build.symbols[made].kind != ENUM:
        made = ecmadefine.symbol(on, text, ENUM, where, node, name, body)
        ecmadefine.bind(on, where.scope, text, made)
        build.symbols[made].own = on.open(where.scope, CLASS_SCOPE, made, node.start_byte, node.end_byte)
    on.used.add(name.start_byte)
    ecmadefine.export(on, ecmadefine.around(node), text, made)
    own = build.symbols[made].own
    for child in body.named_children:
        at = child.child_by_field_name("name") if child.type == "enum_assignment" else child
        word = ecmadefine.named(on, at)
        if not word or at is None:
            continue
        member = build.symbol(word, ENUM_MEMBER, made, own, (*build.start(child), *build.end(child)), build.span(at))
        on.used.add(at.start_byte)
        on.bound.add(word)
        new = build.symbols[member]
        new.flags = STATIC | (build.symbols[made].flags & EXPORTED)
        new.signature, new.doc = on.signature(child.start_byte, child.end_byte)[:120], on.doc(child.start_point[0])
        new.type = build.expr(CLASS)
        ecmadefine.bind(on, own, word, member)
    return body.start_byte, own, made


def open_namespace(on: Ecma, node: Node, where: Around) -> Opened:
    build = on.build
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None or body is None:
        return None
    words = [name]
    while (head := words[0]).type == "nested_identifier":
        left, right = head.child_by_field_name("object"), head.child_by_field_name("property")
        if left is None or right is None:
            return None
        words[:1] = [left, right]
    own, made = where.scope, where.symbol
    for word in words:
        text = on.text(word).strip("\"'")
        inner = ecmadefine.Around(where.end, own, made, None if own == where.scope else where.node)
        made = on.symbol_at.get((own, text), -1)
        if made < 0 or build.symbols[made].kind != NAMESPACE:
            beside = made
            made = ecmadefine.symbol(on, text, NAMESPACE, inner, node, word, body)
            if beside >= 0:
                # It adds to the function, class or enum of its name.
                build.symbols[made].owner = build.expr(SYMBOL, beside)
            else:
                ecmadefine.bind(on, own, text, made)
            build.symbols[made].own = on.open(own, FUNCTION_SCOPE, made, node.start_byte, node.end_byte)
        on.used.add(word.start_byte)
        ecmadefine.export(on, ecmadefine.around(node), text, made)
        own = build.symbols[made].own
    return body.start_byte, own, made
