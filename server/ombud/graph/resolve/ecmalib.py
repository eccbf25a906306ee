"""What JavaScript's own types hold and give (ECMA-262, sections 20 to 27), where values of a program go through them.

A type of the language is ``(LIB, name, args)``; its constructor ``(LIB, "typeof name", ())``. ``<callback>`` is the
type of a function that a method of the language calls: its ``args`` are what it calls it with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ombud.graph.resolve.values import EXT, LIB, UNKNOWN, Value, Values, join

if TYPE_CHECKING:
    from ombud.graph.resolve.ecma import Ecma

CONSTRUCTORS = frozenset(
    (
        *("Array", "Object", "Map", "Set", "WeakMap", "WeakSet", "WeakRef", "Promise", "String", "Number", "Boolean"),
        *("ReadonlyArray", "ReadonlyMap", "ReadonlySet", "Iterable", "Iterator", "IterableIterator", "Generator"),
        *("AsyncIterable", "AsyncIterator", "AsyncIterableIterator", "AsyncGenerator", "PromiseLike", "ArrayLike"),
        *("Record", "Function", "RegExp", "Awaited", "ConcatArray", "Error", "Date", "Symbol", "Reflect", "Proxy"),
    )
)
"""Names of the language whose members give something that is known here."""
PRIMITIVES = frozenset(("string", "number", "boolean", "bigint", "symbol"))
GLOBALS = frozenset(
    (
        *("console", "window", "document", "globalThis", "process", "module", "exports", "require", "JSON", "Math"),
        *("Intl", "Atomics", "Buffer", "URL", "URLSearchParams", "fetch", "setTimeout", "clearTimeout", "setInterval"),
        *("clearInterval", "setImmediate", "clearImmediate", "queueMicrotask", "structuredClone", "parseInt"),
        *("parseFloat", "isNaN", "isFinite", "encodeURIComponent", "decodeURIComponent", "encodeURI", "decodeURI"),
        *("eval", "alert", "navigator", "location", "performance", "crypto", "TextEncoder", "TextDecoder", "Event"),
        *(
            "EventTarget",
            "AbortController",
            "AbortSignal",
            "Headers",
            "Request",
            "Response",
            "FormData",
            "Blob",
            "File",
        ),
        *("FileReader", "ReadableStream", "WritableStream", "TransformStream", "WebSocket", "Worker", "MessageChannel"),
        *("TypeError", "RangeError", "SyntaxError", "ReferenceError", "EvalError", "URIError", "AggregateError"),
        *("DataView", "ArrayBuffer", "SharedArrayBuffer", "BigInt", "Uint8Array", "Int8Array", "Uint16Array"),
        *("Int16Array", "Uint32Array", "Int32Array", "Float32Array", "Float64Array", "Uint8ClampedArray"),
        *("BigInt64Array", "BigUint64Array", "FinalizationRegistry", "requestAnimationFrame", "cancelAnimationFrame"),
        *("localStorage", "sessionStorage", "history", "XMLHttpRequest", "MutationObserver", "Element", "HTMLElement"),
        *("Node", "Document", "Window", "escape", "unescape", "describe", "it", "test", "expect", "beforeEach"),
        *("afterEach", "beforeAll", "afterAll", "jest", "vi", "NaN", "Infinity", "import", "__dirname", "__filename"),
        *("DOMException", "CustomEvent", "MessageEvent", "Image", "Option", "Audio", "self", "global", "atob", "btoa"),
    )
)
OBJECT = frozenset(("hasOwnProperty", "toString", "toLocaleString", "valueOf", "isPrototypeOf", "propertyIsEnumerable"))
"""Methods that each object has from the language."""
FUNCTION = frozenset(("call", "apply", "bind"))
LISTS = frozenset(
    (
        *("Array", "ReadonlyArray", "Set", "ReadonlySet", "WeakSet", "Iterable", "Iterator", "IterableIterator"),
        *(
            "Generator",
            "AsyncIterable",
            "AsyncIterator",
            "AsyncIterableIterator",
            "AsyncGenerator",
            "ArrayLike",
            "tuple",
        ),
        *("ConcatArray", "NodeListOf", "ArrayIterator", "SetIterator"),
    )
)
"""Types that give their first argument when they are iterated over."""
MAPS = frozenset(("Map", "ReadonlyMap", "WeakMap"))
PROMISES = frozenset(("Promise", "PromiseLike", "Awaited"))

NOTHING: Values = ((EXT, ""),)
STRING: Values = ((LIB, "string", ()),)
NUMBER: Values = ((LIB, "number", ()),)
TRUTH: Values = ((LIB, "boolean", ()),)

_SAME = frozenset(
    (
        *(
            "filter",
            "slice",
            "concat",
            "reverse",
            "sort",
            "splice",
            "toSorted",
            "toReversed",
            "toSpliced",
            "fill",
            "with",
        ),
        *("copyWithin",),
    )
)
_ONE = frozenset(("find", "findLast", "pop", "shift", "at"))
_CALLBACKS = frozenset(
    (
        *("map", "filter", "forEach", "find", "findIndex", "findLast", "findLastIndex", "some", "every", "flatMap"),
        *("reduce", "reduceRight", "sort", "toSorted"),
    )
)
_TEXT = frozenset(
    (
        *("trim", "trimStart", "trimEnd", "toLowerCase", "toUpperCase", "slice", "substring", "substr", "replace"),
        *("replaceAll", "padStart", "padEnd", "repeat", "charAt", "normalize", "concat", "toString"),
    )
)

Arguments = Sequence[Callable[[], Values]]
"""What a call is given: each is worked out when it is asked for."""


def argument(given: Arguments, place: int) -> Values:
    return given[place]() if place < len(given) else UNKNOWN


def listed(element: Values, name: str = "Array") -> Values:
    return ((LIB, name, (element,)),)


def called(on: Ecma, value: Value, name: str, given: Arguments) -> Values:
    """What calling method ``name`` of a value of the language gives."""
    kind, args = value[1], value[2]
    if kind.startswith("typeof "):
        return _static(on, kind[7:], name, given)
    if kind == "Function":
        return _function(on, args[0] if args else UNKNOWN, name)
    if kind in PROMISES:
        return _promise(on, args, name, given)
    if kind in MAPS:
        return _map(args, name, value)
    if kind in LISTS:
        return _list(on, value, name, given)
    if kind == "string":
        return listed(STRING) if name in ("split", "match") else STRING if name in _TEXT else NUMBER
    if kind == "number":
        return STRING if name.startswith("to") else NUMBER
    if kind == "Record" and len(args) > 1:
        return join(*(on.result(one, len(given)) for one in args[1]))
    if kind == "WeakRef" and name == "deref":
        return args[0] if args else UNKNOWN
    return NOTHING


def _list(on: Ecma, value: Value, name: str, given: Arguments) -> Values:
    element = on.element(value)
    if name in _SAME:
        return listed(element)
    if name in _ONE:
        return element
    if name in ("map", "flatMap"):
        made = on.outcome(argument(given, 0))
        return listed(join(*(on.element(one) for one in made)) if name == "flatMap" else made)
    if name in ("reduce", "reduceRight"):
        return argument(given, 1) or join(element, on.outcome(argument(given, 0)))
    if name in ("values", "[Symbol.iterator]"):
        return listed(element, "Iterable")
    if name == "entries":
        first = element if value[1] in ("Set", "ReadonlySet") else NUMBER
        return listed(((LIB, "tuple", (first, element)),), "Iterable")
    if name == "next":
        return ((LIB, "<next>", (element,)),)
    if name == "flat":
        return listed(join(*(on.element(one) if one[0] == LIB and one[1] in LISTS else (one,) for one in element)))
    if name in ("join", "toString"):
        return STRING
    if name == "add":
        return (value,)
    return TRUTH if name in ("some", "every", "includes", "has", "delete") else NUMBER


def _map(args: tuple[Values, ...], name: str, value: Value) -> Values:
    key, held = (args[0], args[1]) if len(args) > 1 else (UNKNOWN, UNKNOWN)
    if name == "get":
        return held
    if name == "set":
        return (value,)
    if name == "values":
        return listed(held, "Iterable")
    if name == "keys":
        return listed(key, "Iterable")
    if name in ("entries", "[Symbol.iterator]"):
        return listed(((LIB, "tuple", (key, held)),), "Iterable")
    return TRUTH


def _promise(on: Ecma, args: tuple[Values, ...], name: str, given: Arguments) -> Values:
    held = args[0] if args else UNKNOWN
    if name == "then":
        made = on.outcome(argument(given, 0)) if given else held
        return listed(join(*(on.awaited(one) for one in made)), "Promise")
    if name == "catch":
        made = on.outcome(argument(given, 0))
        return listed(join(held, *(on.awaited(one) for one in made)), "Promise")
    return listed(held, "Promise")


def _function(on: Ecma, functions: Values, name: str) -> Values:
    if name == "bind":
        return functions
    return join(*(on.result(one, -1) for one in functions))


def _static(on: Ecma, kind: str, name: str, given: Arguments) -> Values:
    """What a function of a constructor gives, or the constructor itself (``<new>``)."""
    if name == "<new>":
        return _made(on, kind, given)
    if kind == "Promise":
        return _combined(on, name, given)
    if kind == "Array":
        if name == "from":
            if len(given) > 1:
                return listed(on.outcome(argument(given, 1)))
            return listed(join(*(on.element(one) for one in argument(given, 0))))
        if name == "of":
            return listed(join(*(one() for one in given)))
        return TRUTH
    if kind == "Object":
        return _object(on, name, given)
    if kind in ("String", "Symbol"):
        return STRING
    if kind == "Reflect":
        return UNKNOWN if name in ("get", "apply", "construct") else TRUTH
    return NOTHING


def _object(on: Ecma, name: str, given: Arguments) -> Values:
    if name in (
        "freeze",
        "seal",
        "preventExtensions",
        "create",
        "setPrototypeOf",
        "defineProperty",
        "defineProperties",
    ):
        return argument(given, 0)
    if name == "assign":
        return join(*(one() for one in given))
    if name == "keys":
        return listed(STRING)
    if name in ("values", "entries"):
        held = join(*(on.item(one) for one in argument(given, 0)))
        return listed(held if name == "values" else ((LIB, "tuple", (STRING, held)),))
    return UNKNOWN


def _combined(on: Ecma, name: str, given: Arguments) -> Values:
    """`Promise.all` and its like."""
    first = argument(given, 0)
    if name == "resolve":
        return listed(join(*(on.awaited(one) for one in first)), "Promise")
    if name == "all":
        parts: list[Value] = []
        for one in first:
            if one[0] == LIB and one[1] == "tuple":
                parts.append((LIB, "tuple", tuple(join(*(on.awaited(item) for item in held)) for held in one[2])))
            else:
                parts.append((LIB, "Array", (join(*(on.awaited(item) for item in on.element(one))),)))
        return listed(tuple(parts), "Promise")
    if name in ("race", "any"):
        return listed(join(*(on.awaited(item) for one in first for item in on.element(one))), "Promise")
    return NOTHING


def _made(on: Ecma, kind: str, given: Arguments) -> Values:
    first = argument(given, 0) if given else UNKNOWN
    if kind in ("Set", "WeakSet"):
        return listed(join(*(on.element(one) for one in first)), kind)
    if kind in MAPS:
        pairs = [pair for one in first for pair in on.element(one)]
        return ((LIB, kind, (join(*(on.part(one, 1) for one in pairs)), join(*(on.part(one, 2) for one in pairs)))),)
    if kind == "WeakRef":
        return listed(first, kind)
    if kind == "Proxy":
        return first
    return ((LIB, kind, ()),)


def expected(on: Ecma, value: Value, name: str, place: int) -> Values:
    """What a method of the language calls its argument at ``place`` with: a ``<callback>``."""
    kind, args = value[1], value[2]
    if kind == "typeof Promise" and name == "<new>" and not place:
        return ()
    if kind == "typeof Array" and name == "from" and place == 1:
        return ()
    if kind in PROMISES and name == "then" and not place:
        return ((LIB, "<callback>", (args[0] if args else UNKNOWN,)),)
    if kind in MAPS and name == "forEach":
        key, held = (args[0], args[1]) if len(args) > 1 else (UNKNOWN, UNKNOWN)
        return ((LIB, "<callback>", (held, key, (value,))),)
    if kind in LISTS:
        element = on.element(value)
        if name in ("reduce", "reduceRight"):
            return ((LIB, "<callback>", (element, element, NUMBER)),) if not place else UNKNOWN
        if name in ("sort", "toSorted"):
            return ((LIB, "<callback>", (element, element)),)
        if name in _CALLBACKS and not place:
            return ((LIB, "<callback>", (element, NUMBER, listed(element))),)
        if name in ("push", "unshift", "add", "includes", "indexOf", "fill"):
            return element
    if kind in MAPS and name == "set" and place == 1:
        return args[1] if len(args) > 1 else UNKNOWN
    return UNKNOWN
