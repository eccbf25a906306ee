"""JavaScript's and TypeScript's imports and exports: ES modules, CommonJS, TypeScript's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ombud.graph.extract import ecmabind, ecmadefine
from ombud.graph.extract.extraction import first
from ombud.graph.facts import (
    EXPORTED,
    FUNCTION,
    IMPORT,
    IMPORT_SITE,
    METHOD,
    REEXPORT,
    TO_IMPORT,
    TYPE_ONLY,
    Export,
    Import,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from ombud.graph.extract.ecma import Ecma


# -- imports ----------------------------------------------------------------------------------------------------------


def read(on: Ecma, node: Node) -> None:
    source = node.child_by_field_name("source")
    clause = first(node)
    flags = TYPE_ONLY if any(child.type == "type" for child in node.children[:3]) else 0
    if clause is not None and clause.type == "import_require_clause":
        source = clause.child_by_field_name("source")
        name = first(clause)
        if source is not None and name is not None:
            imported(on, name, source, Import(on.text(source)[1:-1], "", on.text(name), 0, 0, flags))
        return
    if source is None:
        return
    module = on.text(source)[1:-1]
    scope = on.inside.at(node.start_byte)
    if clause is None or clause.type != "import_clause":
        imported(on, source, source, Import(module, "", "", 0, scope, flags))
        return
    for child in clause.named_children:
        if child.type == "identifier":
            imported(on, child, child, Import(module, "default", on.text(child), 0, scope, flags))
        elif child.type == "namespace_import":
            name = first(child)
            if name is not None:
                imported(on, name, source, Import(module, "", on.text(name), 0, scope, flags))
        elif child.type == "named_imports":
            for one in child.named_children:
                name, alias = one.child_by_field_name("name"), one.child_by_field_name("alias")
                if name is None:
                    continue
                called = alias if alias is not None else name
                kind = flags | (TYPE_ONLY if one.child(0) is not None and one.children[0].type == "type" else 0)
                word = on.text(name).strip("\"'")
                on.used.add(name.start_byte)
                imported(on, called, name, Import(module, word, on.text(called), 0, scope, kind))


def imported(on: Ecma, called: Node, at: Node, item: Import) -> int:
    """A new import, bound to its alias; its site is at ``at``."""
    build = on.build
    item.site = build.span(at)
    build.imports.append(item)
    number = len(build.imports) - 1
    if item.alias:
        on.used.add(called.start_byte)
        on.bound.add(item.alias)
        on.declared.setdefault(item.scope, set()).add(item.alias)
        build.bind(item.scope, item.alias, TO_IMPORT, number)
    build.site_at(IMPORT_SITE, build.expr(IMPORT, number), item.scope, item.site)
    return number


def import_alias(on: Ecma, node: Node) -> None:
    """``import A = B.C``."""
    names = node.named_children
    if len(names) < 2:
        return
    scope = on.inside.at(node.start_byte)
    ecmabind.pattern(on, names[0], on.value(names[1]), scope)
    on.bound.add(on.text(names[0]))
    parent = node.parent
    if parent is not None and parent.type == "export_statement" and scope == 0:
        on.build.exports.append(Export(on.text(names[0]), on.value(names[0])))


def required(on: Ecma) -> None:
    """``require("x")`` and ``import("x")``, wherever they are called."""
    for node in on.ordered("call"):
        function = node.child_by_field_name("function")
        if function is None or function.type not in ("identifier", "import"):
            continue
        if function.type == "identifier" and on.text(function) != "require":
            continue
        source = first(node.child_by_field_name("arguments"))
        if source is None or source.type not in ("string", "template_string"):
            continue
        text = on.text(source)[1:-1]
        if "${" in text or (
            function.type == "identifier" and on.variable(on.inside.at(node.start_byte), "require") >= 0
        ):
            continue
        on.used.add(function.start_byte)
        on.requires[node.id] = -1
        on.required.append((node, source, text))
    on.required.sort(key=lambda row: row[0].start_byte)
    for node, source, text in on.required:
        scope = on.inside.at(node.start_byte)
        on.requires[node.id] = imported(on, source, source, Import(text, "", "", 0, scope))


def require(on: Ecma, name: Node, number: int, scope: int) -> None:
    """``const x = require("y")`` and ``const { a, b: c } = require("y")``."""
    build = on.build
    brought = build.imports[number]
    if name.type == "identifier":
        text = on.text(name)
        on.used.add(name.start_byte)
        on.bound.add(text)
        brought.alias = text
        build.bind(scope, text, TO_IMPORT, number)
        return
    if name.type != "object_pattern":
        ecmabind.pattern(on, name, build.expr(IMPORT, number), scope)
        return
    for child in name.named_children:
        key = child.child_by_field_name("key") if child.type == "pair_pattern" else child
        value = child.child_by_field_name("value") if child.type == "pair_pattern" else child
        if key is None or value is None:
            continue
        if value.type not in ("identifier", "shorthand_property_identifier_pattern"):
            ecmabind.property_of(on, child, build.expr(IMPORT, number), scope, 0, 0)
            continue
        word = ecmadefine.named(on, key) or on.text(key)
        imported(on, value, key, Import(brought.module, word, on.text(value), 0, scope))


# -- exports ----------------------------------------------------------------------------------------------------------


def export(on: Ecma, node: Node) -> None:
    build = on.build
    source = node.child_by_field_name("source")
    module = on.text(source)[1:-1] if source is not None else ""
    value = node.child_by_field_name("value")
    heads = {child.type for child in node.children[:5]}
    scope = on.inside.at(node.start_byte)
    if value is not None:
        if value.id not in on.scopes or on.holder.get(value.id, -1) >= 0 or value.type == "object":
            known = on.value(value)
            on.exported.add(on.text(value) if value.type == "identifier" else "")
            if on.holder.get(value.id, -1) < 0 or value.type == "object":
                build.exports.append(Export("default", known))
        return
    for child in node.named_children:
        if child.type == "export_clause":
            for one in child.named_children:
                specifier(on, one, module, source, "type" in heads)
        elif child.type == "namespace_export" and source is not None:
            name = first(child)
            if name is not None:
                on.used.add(name.start_byte)
                build.exports.append(Export(on.text(name).strip("\"'"), 0, module, ""))
                imported(on, name, source, Import(module, "", "", 0, 0, REEXPORT))
        elif "=" in heads and scope == 0 and node.child_by_field_name("declaration") is None:
            on.exported.add(on.text(child) if child.type == "identifier" else "")
            build.exports.append(Export("=", on.value(child)))
    if source is not None and "*" in heads:
        build.exports.append(Export("*", 0, module))
        imported(on, source, source, Import(module, "*", "", 0, 0, REEXPORT))


def specifier(on: Ecma, node: Node, module: str, source: Node | None, typed: bool) -> None:
    build = on.build
    name, alias = node.child_by_field_name("name"), node.child_by_field_name("alias")
    if name is None:
        return
    word = on.text(name).strip("\"'")
    called = on.text(alias).strip("\"'") if alias is not None else word
    if alias is not None:
        on.used.add(alias.start_byte)
    if source is None:
        on.exported.add(word)
        build.exports.append(Export(called, build.named(word)))
        return
    on.used.add(name.start_byte)
    build.exports.append(Export(called, 0, module, word))
    imported(on, name, name, Import(module, word, "", 0, 0, REEXPORT | (TYPE_ONLY if typed else 0)))


def listed(on: Ecma, value: Node) -> list[str]:
    """The names of this module in what CommonJS exports."""
    if value.type == "identifier":
        return [on.text(value)]
    if value.type != "object":
        return []
    parts = [child.child_by_field_name("value") if child.type == "pair" else child for child in value.named_children]
    words = ("identifier", "shorthand_property_identifier")
    return [on.text(part) for part in parts if part is not None and part.type in words]


def mark_exported(on: Ecma) -> None:
    """What a statement of its own exports is exported, and with a class its members."""
    build = on.build
    marked: set[int] = set()
    for name in on.exported:
        symbol = on.symbol_at.get((0, name), -1)
        if symbol >= 0 and not build.symbols[symbol].flags & EXPORTED:
            build.symbols[symbol].flags |= EXPORTED
            marked.add(symbol)
    if marked:
        for number, member in enumerate(build.symbols):
            holder = build.symbols[member.parent]
            seen = number not in on.hidden and holder.kind not in (FUNCTION, METHOD)
            if member.parent in marked and seen and holder.own == member.scope:
                member.flags |= EXPORTED
                marked.add(number)
