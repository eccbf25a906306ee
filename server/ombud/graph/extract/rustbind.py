"""What Rust's patterns and ``use`` trees bind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ombud.graph.extract.extraction import first
from ombud.graph.extract.rusttypes import comments, kind_of, value
from ombud.graph.facts import (
    DECLARED,
    ELEM,
    IMPORT,
    IMPORT_SITE,
    INSTANCE,
    PARAMETER,
    PASSED,
    REEXPORT,
    REFERENCE_SITE,
    RETURNED,
    TO_IMPORT,
    VALUE,
    Import,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from ombud.graph.extract.rustnames import Names

DEEPEST = 60
"""Patterns and ``use`` groups within one another that are followed."""
_SHELLS = (
    *("ref_pattern", "mut_pattern", "reference_pattern", "box_pattern"),
    *("or_pattern", "captured_pattern", "match_pattern"),
)
"""Patterns that match what their inner ones do. Behind the first one in a match_pattern stands a guard."""
LAST_ARGUMENT = 255


def pattern(on: Names, node: Node | None, expr: int, scope: int, start: int, what: int = VALUE, depth: int = 0) -> None:
    """Bind all names of a pattern that is matched with ``expr``, for uses from the offset ``start``."""
    if node is None or depth > DEEPEST:
        return
    kind = node.type
    if kind in ("identifier", "shorthand_field_identifier"):
        # What begins with a capital is a constant or a variant, by a convention that the compiler warns of.
        if not on.word(node)[:1].isupper():
            on.bind(scope, node, what, expr, start)
    elif kind == "tuple_struct_pattern":
        _taken(on, node, expr, scope, start, what, depth)
    elif kind == "struct_pattern":
        held = kind_of(on, node.child_by_field_name("type"))
        for one in node.named_children:
            if one.type == "field_pattern":
                _field(on, one, held, scope, start, what, depth)
    else:
        for one, part in _parts(on, node, expr):
            pattern(on, one, part, scope, start, what, depth + 1)


def _parts(on: Names, node: Node, expr: int) -> Iterator[tuple[Node, int]]:
    """The patterns within one, and what each of them is matched with."""
    kind = node.type
    if kind in ("tuple_pattern", "slice_pattern"):
        for place, one in _placed(node):
            if one.type == "remaining_field_pattern" and kind == "tuple_pattern":
                expr = 0  # How many it stands for is not known.
            number = place + 1 if kind == "tuple_pattern" else 0
            yield one, on.build.expr(ELEM, expr, number) if expr else 0
    elif kind in _SHELLS:
        inner = comments(node)
        yield from ((one, expr) for one in (inner[:1] if kind == "match_pattern" else inner))


def _placed(node: Node) -> Iterator[tuple[int, Node]]:
    """What commas part, with its place; an underscore has a place and no node."""
    place = 0
    for one in node.children:
        if one.type == ",":
            place += 1
        elif one.is_named and "comment" not in one.type:
            yield place, one


def _taken(on: Names, node: Node, expr: int, scope: int, start: int, what: int, depth: int) -> None:
    """``Some(x)``, ``Variant(a, b)``."""
    build = on.build
    kind = node.child_by_field_name("type")
    word = on.text(kind)
    held = kind_of(on, kind)
    known = True
    for place, one in _placed(node):
        if kind is not None and one.start_byte == kind.start_byte:
            continue
        part = build.attr(held, str(place)) if known else 0
        if word in ("Some", "Ok", "Err"):
            part = build.attr(expr, word)
        known = known and one.type != "remaining_field_pattern"
        pattern(on, one, part, scope, start, what, depth + 1)


def _field(on: Names, node: Node, held: int, scope: int, start: int, what: int, depth: int) -> None:
    name, inner = node.child_by_field_name("name"), node.child_by_field_name("pattern")
    if name is None:
        return
    part = on.build.attr(held, on.word(name))
    on.used.add(name.start_byte)
    if part:
        on.build.site(REFERENCE_SITE, part, scope, name)
    pattern(on, inner if inner is not None else name, part, scope, start, what, depth + 1)


def let(on: Names, node: Node) -> None:
    """``let`` and its type, which may be written with holes."""
    hint, given = node.child_by_field_name("type"), node.child_by_field_name("value")
    scope = on.inside.at(node.start_byte)
    kind = kind_of(on, hint) if hint is not None and b"_" not in on.hole(hint) else 0
    expr = on.build.expr(INSTANCE, kind) if kind else value(on, given)
    pattern(on, node.child_by_field_name("pattern"), expr, scope, node.end_byte, DECLARED if kind else VALUE)


def condition(on: Names, node: Node) -> None:
    """``if let``, ``while let``."""
    scope = on.inside.at(node.start_byte)
    pattern(on, node.child_by_field_name("pattern"), value(on, node.child_by_field_name("value")), scope, node.end_byte)


def loop(on: Names, node: Node) -> None:
    given = node.child_by_field_name("value")
    known = value(on, given)
    scope = on.inside.at(node.start_byte)
    expr = on.build.expr(ELEM, known) if known else 0
    if given is not None:
        pattern(on, node.child_by_field_name("pattern"), expr, scope, given.end_byte)


def arm(on: Names, node: Node) -> None:
    body = node.parent
    match = body.parent if body is not None else None
    taken = node.child_by_field_name("pattern")
    if match is None or taken is None:
        return
    head = first(taken)
    pattern(
        on,
        taken,
        value(on, match.child_by_field_name("value")),
        on.inside.at(node.start_byte),
        head.end_byte if head is not None else taken.end_byte,
    )


def closure(on: Names, node: Node, own: int) -> None:
    """Parameters of a closure: as declared, else as what it is given to passes them."""
    build = on.build
    call, place = _call_around(on, node)
    given = node.child_by_field_name("parameters")
    for number, one in _placed(given) if given is not None else ():
        expr = build.expr(PASSED, call, place << 4 | min(number, 15)) if call else 0
        taken = one
        if one.type == "parameter":
            taken = one.child_by_field_name("pattern") or one
            kind = kind_of(on, one.child_by_field_name("type"))
            expr = build.expr(INSTANCE, kind) if kind else expr
        pattern(on, taken, expr, own, 0, PARAMETER)
    result = kind_of(on, node.child_by_field_name("return_type"))
    body = node.child_by_field_name("body")
    expr = build.expr(INSTANCE, result) if result else value(on, body)
    if expr:
        build.bind(own, RETURNED, VALUE, expr)


def _call_around(on: Names, node: Node) -> tuple[int, int]:
    """The call that a closure is an argument of, and its place among them."""
    arguments = node.parent
    if arguments is None or arguments.type != "arguments":
        return 0, 0
    call = arguments.parent
    if call is None:
        return 0, 0
    for place, one in enumerate(comments(arguments)):
        if one.start_byte == node.start_byte:
            known = value(on, call)
            return (known, min(place, LAST_ARGUMENT)) if known else (0, 0)
    return 0, 0


# -- use --------------------------------------------------------------------------------------------------------------


def use(on: Names, node: Node) -> None:
    """All names that a ``use`` brings."""
    public = any(one.type == "visibility_modifier" for one in node.named_children)
    argument = node.child_by_field_name("argument")
    scope = on.holder(node)
    if argument is not None:
        _tree(on, argument, "", scope, REEXPORT if public else 0)


def _tree(on: Names, node: Node, above: str, scope: int, flags: int, depth: int = 0) -> None:
    if depth > DEEPEST:
        return
    kind = node.type
    if kind in ("scoped_use_list", "use_list"):
        path = node.child_by_field_name("path") if kind == "scoped_use_list" else None
        inner = _joined(above, on.text(path)) if path is not None else above
        if path is None and kind == "scoped_use_list":
            inner = "::"
        listed = node.child_by_field_name("list") if kind == "scoped_use_list" else node
        for one in listed.named_children if listed is not None else ():
            _tree(on, one, inner, scope, flags, depth + 1)
    elif kind == "use_as_clause":
        path, alias = node.child_by_field_name("path"), node.child_by_field_name("alias")
        called = on.word(alias) if alias is not None else "_"
        if path is not None:
            _leaf(on, path, above, "" if called == "_" else called, scope, flags)
    elif kind == "use_wildcard":
        path = first(node)
        _imported(on, path or node, Import(_joined(above, on.text(path)), "*", "", 0, scope, flags))
    elif kind in ("identifier", "scoped_identifier", "self", "crate", "super"):
        _leaf(on, node, above, None, scope, flags)


def _leaf(on: Names, node: Node, above: str, called: str | None, scope: int, flags: int) -> None:
    """One name; ``self`` in a group is the module that the group is of."""
    whole = _joined(above, on.text(node))
    if node.type == "self" and above:
        whole = above
    module, _, name = whole.rpartition("::")
    name = name.removeprefix("r#")
    if whole.startswith("::") and not module:
        module = "::"
    last = node.child_by_field_name("name") if node.type == "scoped_identifier" else node
    alias = name if called is None else called
    _imported(on, last or node, Import(module, name, alias, 0, scope, flags))


def _joined(above: str, path: str) -> str:
    path = "".join(path.split())
    return f"{above}::{path}" if above and above != "::" else above + path


def _imported(on: Names, name: Node, item: Import) -> None:
    build = on.build
    item.site = build.span(name)
    build.imports.append(item)
    number = len(build.imports) - 1
    if item.alias:
        build.bind(item.scope, item.alias, TO_IMPORT, number)
    build.site_at(IMPORT_SITE, build.expr(IMPORT, number), item.scope, item.site)


def crate(on: Names, node: Node) -> None:
    """``extern crate a as b``."""
    name, alias = node.child_by_field_name("name"), node.child_by_field_name("alias")
    if name is not None:
        called = on.word(alias) if alias is not None else on.word(name)
        _imported(on, name, Import("::", on.word(name), "" if called == "_" else called, 0, on.holder(node)))
