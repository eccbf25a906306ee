"""Calls in a Ruby class's body that define something: attributes, aliases, mixins, delegation, ``require``."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import TYPE_CHECKING

from ombud.graph.extract.extraction import first
from ombud.graph.extract.rubyvalues import EACH, HANDED, OF_CLASS
from ombud.graph.facts import (
    ALIAS,
    ATTR,
    CALL,
    CALL_SITE,
    ELEM,
    EXPORTED,
    FUNCTION,
    IMPORT,
    IMPORT_SITE,
    METHOD,
    NAMESPACE,
    PROPERTY,
    REFERENCE_SITE,
    SELF,
    STATIC,
    STRUCT,
    TO_SYMBOL,
    Import,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from ombud.graph.extract.ruby import Ruby

MIXINS = {"include": 1, "prepend": 2, "extend": 3, "extended by": 4}
"""How something is mixed in. ``extended by`` is said of a module: what includes it is extended by that."""
HOOKS = frozenset(("included", "prepended", "inherited", "extended"))


def mixed(on: Ruby, expr: int, how: str) -> int:
    """The base that stands for a module that is mixed in."""
    return on.build.expr(ELEM, expr, MIXINS[how])


def arguments(call: Node) -> list[Node]:
    given = call.child_by_field_name("arguments")
    return [one for one in given.named_children if one.type != "comment"] if given is not None else []


def option(on: Ruby, given: list[Node], key: str) -> Node | None:
    """The value of ``key:`` among arguments."""
    for one in given:
        name = one.child_by_field_name("key") if one.type == "pair" else None
        if name is not None and on.text(name).strip(":\"'") == key:
            return one.child_by_field_name("value")
    return None


def macro(on: Ruby, node: Node) -> None:
    """Read a call that may define something."""
    method = node.child_by_field_name("method")
    how = _MACROS.get(on.text(method)) if method is not None and method.end_byte - method.start_byte < 24 else None
    if how is not None:
        how(on, node, on.text(method))


def _own(on: Ruby, node: Node) -> bool:
    """Whether a call is of the class that it stands in."""
    receiver = node.child_by_field_name("receiver")
    around = on.around[on.inside.at(node.start_byte)]
    return bool(around.symbol) and around.level == OF_CLASS and (receiver is None or receiver.type == "self")


def attribute(on: Ruby, node: Node, text: str, at: tuple[int, int, int], own: int, reads: bool, writes: bool) -> int:
    """A method that reads or writes a variable of the object, or both."""
    build = on.build
    around = on.around[own]
    prefix = "." if around.singleton else ""
    made = on.symbol(text if reads else f"{text}=", PROPERTY, around.symbol, around.scope, node, at)
    symbol = build.symbols[made]
    symbol.flags |= STATIC if around.singleton else 0
    symbol.signature = on.signature(node.start_byte, node.end_byte)[:120]
    if reads:
        build.bind(around.scope, prefix + text, TO_SYMBOL, made)
    if writes:
        build.bind(around.scope, f"{prefix}{text}=", TO_SYMBOL, made)
    symbol.value = build.named(f"<@{text}>" if prefix else f"@{text}")
    return made


def _attributes(on: Ruby, node: Node, word: str) -> None:
    if not _own(on, node):
        return
    own = on.inside.at(node.start_byte)
    reads, writes = not word.endswith("writer"), not word.endswith("reader") and word != "attr"
    shared = word[0] in "mc"
    doc = on.comment_above(node)
    private = _is_private(on, node)
    for one in arguments(node):
        text, at = on.word(one)
        if not text:
            continue
        on.used.add(one.start_byte)
        made = attribute(on, one, text, at, own, reads, writes)
        symbol = on.build.symbols[made]
        symbol.signature, symbol.doc = f"{word} :{text}", doc
        if private:
            symbol.flags &= ~EXPORTED
        if shared:
            around = on.around[own]
            symbol.value = on.build.named(f"@@{text}")
            for name in ((text,) if reads else ()) + ((f"{text}=",) if writes else ()):
                on.build.bind(around.scope, f".{name}", TO_SYMBOL, made)


def _is_private(on: Ruby, node: Node) -> bool:
    """Whether ``private`` holds at a place."""
    parent = node.parent
    if parent is not None and parent.type == "argument_list" and parent.parent is not None:
        method = parent.parent.child_by_field_name("method")
        return method is not None and on.text(method) in ("private", "protected")
    return on.visibility(on.inside.at(node.start_byte), node.start_byte) in ("private", "protected")


def _mixin(on: Ruby, node: Node, word: str) -> None:
    build = on.build
    scope = on.inside.at(node.start_byte)
    around = on.around[scope]
    receiver = node.child_by_field_name("receiver")
    if receiver is not None and receiver.type == "identifier":
        _hook(on, node, word, scope, receiver)
        return
    if not _own(on, node):
        return
    symbol = build.symbols[around.symbol]
    inside = _concern(on, node)
    for one in reversed(arguments(node)):
        how = "extend" if around.singleton and word == "include" else word
        if inside and how == "extend":
            how = "extended by"
        expr = on.value(one) if one.type != "self" else build.expr(SELF)
        symbol.bases.append(mixed(on, expr, how))
        on.inherits(one, expr, around.scope)


def _concern(on: Ruby, node: Node) -> bool:
    """Whether a call stands in the ``included do … end`` of a module."""
    scope = on.inside.at(node.start_byte)
    return scope in on.hooks


def _hook(on: Ruby, node: Node, word: str, scope: int, receiver: Node) -> None:
    """``def self.included(base) = base.extend(M)``."""
    build = on.build
    around = on.around[scope]
    hook = build.symbols[build.symbol_of(scope)]
    if hook.name in HOOKS and around.symbol and hook.params and on.text(receiver) == hook.params[0]:
        for one in arguments(node):
            expr = on.value(one)
            how = "extended by" if word == "extend" else word
            if expr and one.type in ("constant", "scope_resolution") and hook.name in ("included", "prepended"):
                build.symbols[around.symbol].bases.append(mixed(on, expr, how))


def _aliased(on: Ruby, node: Node, word: str) -> None:
    del word
    given = arguments(node)
    if _own(on, node) and len(given) >= 2:
        _alias(on, node, given[0], given[1])


def alias(on: Ruby, node: Node) -> None:
    """``alias a b``."""
    new, old = node.child_by_field_name("name"), node.child_by_field_name("alias")
    if new is not None and old is not None:
        _alias(on, node, new, old)


def _alias(on: Ruby, node: Node, new: Node, old: Node) -> None:
    build = on.build
    scope = on.inside.at(node.start_byte)
    around = on.around[scope]
    (name, at), (other, old_at) = on.word(new), on.word(old)
    if not name or not other or name.startswith("$"):
        return
    on.used.update((new.start_byte, old.start_byte))
    static = around.singleton
    made = on.symbol(name, METHOD if around.symbol else FUNCTION, around.symbol, around.scope, node, at)
    symbol = build.symbols[made]
    symbol.signature = on.signature(node.start_byte, node.end_byte)
    symbol.flags |= ALIAS | (STATIC if static else 0)
    base = on.self_of(scope) if static or not around.symbol else build.expr(SELF)
    target = build.attr(base, other)
    symbol.returns = [build.expr(CALL, target, -1)]
    build.bind(around.scope, f".{name}" if static else name, TO_SYMBOL, made)
    build.site_at(REFERENCE_SITE, target, scope, old_at)


def _delegate(on: Ruby, node: Node, word: str) -> None:
    """``delegate :a, to: :b``; ``def_delegators :b, :a``; ``def_delegator :b, :a, :c``."""
    if not _own(on, node):
        return
    given = arguments(node)
    if word == "delegate":
        target, names = option(on, given, "to"), given
        if option(on, given, "prefix") is not None:
            return
    else:
        target, names = (given[0], given[1:]) if given else (None, [])
    if target is None:
        return
    text, _ = on.word(target)
    build = on.build
    base = build.named(text) if text.startswith("@") else build.attr(build.expr(SELF), text)
    base = base if text.startswith("@") else build.expr(CALL, base, 0)
    if text == "class":
        base = 0
    renamed = word in ("def_delegator", "def_instance_delegator") and len(names) > 1
    for one in names[1:2] if renamed else names:
        name, at = on.word(one)
        if not name or one.type == "pair":
            continue
        on.used.add(one.start_byte)
        around = on.around[on.inside.at(node.start_byte)]
        made = on.symbol(name, METHOD, around.symbol, around.scope, node, at)
        symbol = build.symbols[made]
        symbol.signature = on.signature(node.start_byte, node.end_byte)[:120]
        member = on.word(names[0])[0] if renamed else name
        symbol.flags |= ALIAS
        symbol.returns = [build.expr(CALL, build.attr(base, member), -1)] if base else []
        build.bind(around.scope, name, TO_SYMBOL, made)


def _hide(on: Ruby, node: Node, word: str) -> None:
    """``private :a, :b``; ``module_function :a``."""
    build = on.build
    around = on.around[on.inside.at(node.start_byte)]
    if not _own(on, node):
        return
    static = around.singleton or word == "private_class_method"
    for one in arguments(node):
        name = on.word(one)[0]
        if one.type in ("method", "singleton_method"):
            name = on.text(one.child_by_field_name("name"))
        for symbol in build.symbols if name else ():
            if symbol.name == name and symbol.parent == around.symbol and bool(symbol.flags & STATIC) == static:
                if word == "module_function":
                    build.bind(around.scope, f".{name}", TO_SYMBOL, build.symbols.index(symbol))
                elif word == "public":
                    symbol.flags |= EXPORTED
                else:
                    symbol.flags &= ~EXPORTED


# -- classes that a call makes ----------------------------------------------------------------------------------------


def form(on: Ruby, made: int, own: int, call: Node, kind: int) -> None:
    """What ``Class.new(B)`` and ``Struct.new(:a)`` say of the class."""
    build = on.build
    symbol = build.symbols[made]
    if kind == STRUCT:
        members(on, made, own, call)
        symbol.bases.insert(0, on.value(call.child_by_field_name("receiver")))
    elif kind != NAMESPACE:
        for one in arguments(call)[:1]:
            expr = on.value(one)
            symbol.bases.insert(0, expr)
            on.inherits(one, expr, own)


def members(on: Ruby, made: int, own: int, call: Node) -> None:
    """The attributes of a Struct or a Data."""
    del made
    receiver = call.child_by_field_name("receiver")
    word = on.text(receiver).removeprefix("::") if receiver is not None else ""
    if word not in ("Struct", "Data"):
        return
    for one in arguments(call):
        if one.type == "simple_symbol":
            text, at = on.word(one)
            on.used.add(one.start_byte)
            attribute(on, one, text, at, own, True, word == "Struct")


# -- names of methods as symbols --------------------------------------------------------------------------------------

_SENDS = frozenset(("send", "public_send", "__send__", "try", "try!"))
_ASKS = frozenset(("method", "public_method", "respond_to?", "instance_method", "public_instance_method"))


def quoted(on: Ruby, node: Node) -> None:
    """``:a`` where it names a method."""
    start = node.start_byte
    holder = node.parent
    if start in on.used or holder is None:
        return
    build = on.build
    call = holder.parent if holder.type == "argument_list" else holder.parent.parent if holder.parent else None
    if call is None or call.type != "call":
        return
    name, at = on.word(node)
    scope = on.inside.at(start)
    receiver = call.child_by_field_name("receiver")
    word = on.text(call.child_by_field_name("method"))
    base = on.value(receiver) if receiver is not None else on.self_of(scope)
    kind = CALL_SITE
    if holder.type == "block_argument":
        if word in EACH:
            base = build.expr(ELEM, base) if base else 0
        elif word not in HANDED:
            base = 0
    elif word in _SENDS or word in _ASKS:
        if node.prev_named_sibling is not None:
            return
        kind = CALL_SITE if word in _SENDS else REFERENCE_SITE
        base = 0 if word.endswith("instance_method") else base
    elif receiver is None and on.around[scope].level == OF_CLASS:
        kind, base = REFERENCE_SITE, build.expr(SELF)
    else:
        return
    if not base and kind != CALL_SITE:
        return
    on.used.add(start)
    build.site_at(kind, build.expr(ATTR, base, build.name(name)), scope, at)


# -- imports ----------------------------------------------------------------------------------------------------------


def _require(on: Ruby, node: Node, word: str) -> None:
    receiver = node.child_by_field_name("receiver")
    if receiver is not None and on.text(receiver) not in ("Kernel", "self"):
        return
    given = arguments(node)
    argument = given[1] if word == "autoload" and len(given) > 1 else given[0] if given else None
    if argument is None:
        return
    level = 1 if word == "require_relative" else 0
    path, place, above = _path_of(on, argument)
    if not path or place is None:
        return
    level = level or above or (1 if path.startswith("./") else 0)
    build = on.build
    scope = on.inside.at(node.start_byte)
    flags = 0
    item = Import(posixpath.normpath(path).removesuffix(".rb"), "", "", level, scope, flags, build.span(place))
    build.imports.append(item)
    build.site_at(IMPORT_SITE, build.expr(IMPORT, len(build.imports) - 1), scope, item.site)


def _path_of(on: Ruby, node: Node) -> tuple[str, Node | None, int]:
    """The path that an argument of ``require`` is, where it stands, and whether it is relative to the file."""
    if node.type == "string":
        parts = node.named_children
        if len(parts) == 1 and parts[0].type == "string_content":
            return on.text(parts[0]), parts[0], 0
        if len(parts) == 2 and on.text(parts[0]) == "#{__dir__}" and parts[1].type == "string_content":
            return on.text(parts[1]).lstrip("/"), parts[1], 1
    if node.type != "call":
        return "", None, 0
    word = on.text(node.child_by_field_name("method"))
    given = arguments(node)
    texts = [one for one in given if one.type == "string"]
    base = next((on.text(one) for one in given if one.type != "string"), "")
    if word == "join" and texts and base in ("__dir__", "File.dirname(__FILE__)") and given[0].type != "string":
        words = [_path_of(on, one)[0] for one in texts]
        return ("/".join(words) if all(words) else ""), first(texts[-1]), 1
    if word == "expand_path" and len(given) == 2 and len(texts) == 1:
        path, place, _ = _path_of(on, texts[0])
        if base == "__FILE__":
            return posixpath.normpath(f"x/{path}"), place, 1
        if base in ("__dir__", "File.dirname(__FILE__)"):
            return path, place, 1
    return "", None, 0


_MACROS: dict[str, Callable[[Ruby, Node, str], None]] = {
    **dict.fromkeys(("attr", "attr_reader", "attr_writer", "attr_accessor"), _attributes),
    **dict.fromkeys(("mattr_reader", "mattr_writer", "mattr_accessor", "class_attribute"), _attributes),
    **dict.fromkeys(("cattr_reader", "cattr_writer", "cattr_accessor"), _attributes),
    **dict.fromkeys(("include", "extend", "prepend"), _mixin),
    "alias_method": _aliased,
    **dict.fromkeys(("delegate", "def_delegator", "def_delegators"), _delegate),
    **dict.fromkeys(("def_instance_delegator", "def_instance_delegators"), _delegate),
    **dict.fromkeys(("private", "protected", "public", "private_class_method", "module_function"), _hide),
    **dict.fromkeys(("require", "require_relative", "load", "autoload"), _require),
}
