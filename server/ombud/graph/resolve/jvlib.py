"""What is known of the libraries of Java, C# and Kotlin: containers and functional types, and how values widen."""

from __future__ import annotations

from ombud.graph.resolve.values import LIB, UNKNOWN, Value, Values

PRIMITIVES = frozenset(
    (
        *("byte", "short", "int", "long", "float", "double", "char", "boolean", "bool", "decimal"),
        *("sbyte", "ushort", "uint", "ulong", "nint", "nuint"),
    )
)
_WIDENS = {
    "byte": ("short", "int", "long", "float", "double"),
    "short": ("int", "long", "float", "double"),
    "char": ("int", "long", "float", "double"),
    "int": ("long", "float", "double", "decimal"),
    "long": ("float", "double", "decimal"),
    "float": ("double",),
}
_BOXED = {
    "int": "Integer",
    "char": "Character",
    "boolean": "Boolean",
    "long": "Long",
    "byte": "Byte",
    "short": "Short",
    "float": "Float",
    "double": "Double",
}
_UNBOXED = {boxed: plain for plain, boxed in _BOXED.items()}
WIDER = {
    "String": ("CharSequence", "Comparable", "Serializable"),
    "string": ("IEnumerable", "IComparable"),
    "Integer": ("Number", "Comparable"),
    "Long": ("Number", "Comparable"),
    "Double": ("Number", "Comparable"),
    "Int": ("Number", "Comparable"),
    "Boolean": ("Comparable",),
    "ArrayList": ("List", "Collection", "Iterable"),
    "LinkedList": ("List", "Deque", "Queue", "Collection", "Iterable"),
    "List": ("Collection", "Iterable", "IList", "ICollection", "IEnumerable", "IReadOnlyList", "IReadOnlyCollection"),
    "MutableList": ("List", "Collection", "Iterable", "MutableCollection"),
    "Set": ("Collection", "Iterable"),
    "HashSet": ("Set", "Collection", "Iterable", "ISet", "IEnumerable", "ICollection"),
    "LinkedHashSet": ("Set", "HashSet", "Collection", "Iterable"),
    "TreeSet": ("Set", "SortedSet", "Collection", "Iterable"),
    "Collection": ("Iterable",),
    "HashMap": ("Map", "AbstractMap"),
    "LinkedHashMap": ("Map", "HashMap"),
    "TreeMap": ("Map", "SortedMap"),
    "MutableMap": ("Map",),
    "Dictionary": ("IDictionary", "IReadOnlyDictionary", "IEnumerable"),
    "IList": ("ICollection", "IEnumerable"),
    "ICollection": ("IEnumerable",),
    "IReadOnlyList": ("IReadOnlyCollection", "IEnumerable"),
    "[]": ("IEnumerable", "IList", "ICollection", "IReadOnlyList", "Array"),
    "StringBuilder": ("CharSequence", "Appendable"),
    "Path": ("Comparable", "Iterable"),
}
"""Types of the libraries → those that their instances are as well, as far as that is needed here."""


def is_object(name: str) -> bool:
    return name in ("Object", "object", "Any", "dynamic")


def narrower(name: str, other: str) -> float | None:
    """How well an instance of one library's type fits another: None for not at all, 0 where that is not known."""
    if name in PRIMITIVES:
        if other in PRIMITIVES:
            widens = _WIDENS.get(name, ())
            return 2.0 - widens.index(other) / 10 if other in widens else None
        if other == _BOXED.get(name):
            return 1.5
        return 0.5 if other in ("Number", "Comparable", "Serializable", "Constable") else None
    if other in PRIMITIVES:
        plain = _UNBOXED.get(name)
        if plain is None:
            return None if name in _CLOSED or name in WIDER else 0.0
        return 1.5 if plain == other else 1.0 if other in _WIDENS.get(plain, ()) else None
    if name.endswith(THROWN):
        return 1.0 if other in ("Throwable", "Exception") or other.endswith(THROWN) else None
    if other.endswith(THROWN):
        return None
    wider = WIDER.get(name)
    if wider is not None:
        if other in wider:
            return 2.0 - wider.index(other) / 10
        return None if other in WIDER or other in _CLOSED or name in _CLOSED else 0.0
    return None if (name in _CLOSED and other in WIDER) or (name == "[]") != (other == "[]") else 0.0


THROWN = ("Exception", "Error", "Throwable")
"""How names of types end that are thrown."""
_CLOSED = frozenset(
    (
        *("String", "string", "Integer", "Long", "Double", "Float", "Boolean", "Character", "Byte", "Short", "Class"),
        "[]",
    )
)
"""Types that nothing is derived from."""

ARROW = "->"
_FUNCTIONAL: dict[str, tuple[tuple[int, ...], int]] = {
    "Runnable": ((), -1),
    "Supplier": ((), 0),
    "Callable": ((), 0),
    "Consumer": ((0,), -1),
    "BiConsumer": ((0, 1), -1),
    "Function": ((0,), 1),
    "BiFunction": ((0, 1), 2),
    "UnaryOperator": ((0,), 0),
    "BinaryOperator": ((0, 0), 0),
    "Predicate": ((0,), -1),
    "BiPredicate": ((0, 1), -1),
    "Comparator": ((0, 0), -1),
    "ToIntFunction": ((0,), -1),
    "ToLongFunction": ((0,), -1),
    "ToDoubleFunction": ((0,), -1),
    "IntFunction": ((-1,), 0),
    "Comparison": ((0, 0), -1),
    "Converter": ((0,), 1),
    "EventHandler": ((-1, 0), -1),
    "PrivilegedAction": ((), 0),
    "PrivilegedExceptionAction": ((), 0),
}
"""Functional types → the type arguments that their parameters are, and that of the result (-1 for none of them)."""


def functional(value: Value) -> tuple[list[Values], Values, Values] | None:
    """What a functional type of a library takes, what it gives, and its receiver; None where that is not known."""
    name, args = value[1], value[2]

    def at(place: int) -> Values:
        return args[place] if 0 <= place < len(args) else UNKNOWN

    if name == ARROW:
        return list(args[2:]), at(1), at(0)
    if name == "Action":
        return list(args), UNKNOWN, UNKNOWN
    if name == "Func":
        return list(args[:-1]), at(len(args) - 1), UNKNOWN
    if name == "Expression" and args and args[0] and args[0][0][0] == LIB:
        return functional(args[0][0])
    shape = _FUNCTIONAL.get(name)
    if shape is None:
        return None
    return [at(place) for place in shape[0]], at(shape[1]), UNKNOWN


# -- what methods of containers give ----------------------------------------------------------------------------------

MAPS = frozenset(
    (
        *("Map", "HashMap", "LinkedHashMap", "TreeMap", "ConcurrentHashMap", "ConcurrentMap", "SortedMap", "EnumMap"),
        *(
            "NavigableMap",
            "IdentityHashMap",
            "WeakHashMap",
            "MutableMap",
            "Dictionary",
            "IDictionary",
            "SortedDictionary",
        ),
        *("IReadOnlyDictionary", "ConcurrentDictionary"),
    )
)
_ITEM = frozenset(
    (
        *(
            "get",
            "getFirst",
            "getLast",
            "next",
            "previous",
            "first",
            "last",
            "remove",
            "removeFirst",
            "removeLast",
            "poll",
        ),
        *(
            "pollFirst",
            "pollLast",
            "peek",
            "peekFirst",
            "peekLast",
            "pop",
            "element",
            "take",
            "join",
            "orElse",
            "orElseGet",
        ),
        *(
            "orElseThrow",
            "getAsInt",
            "elementAt",
            "single",
            "First",
            "FirstOrDefault",
            "Last",
            "LastOrDefault",
            "Single",
        ),
        *(
            "SingleOrDefault",
            "ElementAt",
            "Pop",
            "Peek",
            "Dequeue",
            "firstOrNull",
            "lastOrNull",
            "singleOrNull",
            "find",
        ),
        *("removeAt", "maxBy", "minBy", "maxByOrNull", "minByOrNull", "getOrNull", "random", "Find", "Result", "Value"),
        *("set", "getOrThrow", "await", "component1", "randomOrNull", "resultNow", "ElementAtOrDefault", "getValue"),
    )
)
_SAME = frozenset(
    (
        *(
            "filter",
            "sorted",
            "limit",
            "skip",
            "distinct",
            "stream",
            "parallelStream",
            "iterator",
            "listIterator",
            "subList",
        ),
        *("reversed", "takeWhile", "dropWhile", "onClose", "parallel", "sequential", "boxed", "or", "clone", "toList"),
        *(
            "collect",
            "Where",
            "OrderBy",
            "OrderByDescending",
            "ThenBy",
            "Take",
            "Skip",
            "ToList",
            "ToArray",
            "Distinct",
        ),
        *("Reverse", "AsEnumerable", "Concat", "Union", "Except", "ThenByDescending", "ConfigureAwait", "ToHashSet"),
        *(
            "filterNot",
            "filterNotNull",
            "sortedBy",
            "sortedWith",
            "drop",
            "toSet",
            "toMutableList",
            "asSequence",
            "plus",
        ),
        *("asReversed", "distinctBy", "onEach", "AsReadOnly", "descendingIterator", "Append", "Prepend", "asIterable"),
        *("sortedByDescending", "takeLast", "dropLast", "spliterator", "whenComplete", "tailSet", "headSet", "minus"),
    )
)
_MAPPED = frozenset(
    (
        *(
            "map",
            "mapToObj",
            "thenApply",
            "thenApplyAsync",
            "Select",
            "mapNotNull",
            "mapIndexed",
            "handle",
            "flatMapped",
        ),
        *("supplyAsync", "mapTo", "associateWithed"),
    )
)
_FLAT = frozenset(("flatMap", "SelectMany", "thenCompose"))
_MAYBE = frozenset(("findFirst", "findAny", "max", "min", "reduce"))


_FACTORIES = {
    "List": ("of", "copyOf"),
    "Set": ("of", "copyOf"),
    "Arrays": ("asList", "stream", "copyOf", "copyOfRange"),
    "Stream": ("of",),
    "Optional": ("of", "ofNullable"),
    "CompletableFuture": ("completedFuture",),
    "Collections": ("singletonList", "singleton", "unmodifiableList", "unmodifiableSet", "unmodifiableCollection"),
    "Task": ("FromResult",),
}
_MADE = {"Arrays": "List", "Collections": "List"}
_TEXTS = frozenset(("valueOf", "format", "join", "Format", "Join", "Concat"))
_NAMED = {
    **dict.fromkeys(
        ("toString", "ToString", "trim", "substring", "getMessage", "toLowerCase", "toUpperCase"), "String"
    ),
    **dict.fromkeys(("hashCode", "size", "length", "intValue", "indexOf", "remaining", "position", "limit"), "int"),
    **dict.fromkeys(("equals", "isEmpty", "contains", "containsKey", "startsWith", "endsWith", "hasNext"), "boolean"),
}
"""Methods of the libraries that give the same nearly everywhere."""


def made(kind: str, name: str, args: tuple[Values, ...]) -> Values:
    """What a static method of a library's type gives."""
    if name in _FACTORIES.get(kind, ()):
        first = args[0] if args else UNKNOWN
        if _MADE.get(kind) and first and first[0][0] == LIB and first[0][2]:
            first = first[0][2][0]
        return ((LIB, _MADE.get(kind, kind), (first,)),)
    if kind in ("String", "string") and name in _TEXTS:
        return ((LIB, kind, ()),)
    if kind in ("Objects", "Preconditions") and name.startswith(("requireNonNull", "checkNotNull")):
        return args[0] if args else UNKNOWN
    return ((LIB, "int", ()),) if name in ("parseInt", "compare") else UNKNOWN


def gives(value: Value, name: str, results: Values) -> Values:
    """What method ``name`` of an instance of a library's type gives; ``results`` are those of closures it is given."""
    found = _gives(value, name, results)
    if not found and (plain := _NAMED.get(name)):
        return ((LIB, plain, ()),)
    return found


def _gives(value: Value, name: str, results: Values) -> Values:
    kind, args = value[1], value[2]
    if kind in MAPS and len(args) == 2:
        return _map(args, name, results)
    if kind in ("Entry", "KeyValuePair") and len(args) == 2:
        return (
            args[0]
            if name in ("getKey", "Key", "key")
            else args[1]
            if name in ("getValue", "Value", "value")
            else UNKNOWN
        )
    if kind in ("tuple", "Pair", "Triple") and name in _PLACES:
        place = _PLACES[name]
        return args[place] if place < len(args) else UNKNOWN
    if kind in ("Class", "KClass") and args and name in ("newInstance", "cast", "java"):
        return args[0] if name != "java" else (value,)
    if not args:
        return UNKNOWN
    if name in _MAPPED:
        return ((LIB, kind, (results,)),) if results else UNKNOWN
    if name in _FLAT:
        inner = tuple(one for some in results if some[0] == LIB and some[2] for one in some[2][0])
        return ((LIB, kind, (inner,)),) if inner else UNKNOWN
    if name in _SAME:
        return (value,)
    if kind == "Stream" and name in _MAYBE:
        return ((LIB, "Optional", args),)
    shape = functional(value)
    if shape is not None and name in ("apply", "get", "call", "invoke", "Invoke"):
        return shape[1]
    return args[0] if name in _ITEM or (name in _MAYBE and kind != "Optional") else UNKNOWN


_PLACES = {
    **{f"Item{number}": number - 1 for number in range(1, 9)},
    **{f"component{number}": number - 1 for number in range(1, 4)},
    "first": 0,
    "second": 1,
    "third": 2,
}


def _map(args: tuple[Values, ...], name: str, results: Values) -> Values:
    if name in ("keySet", "Keys", "keys", "navigableKeySet", "descendingKeySet"):
        return ((LIB, "Set", (args[0],)),)
    if name in ("values", "Values"):
        return ((LIB, "Collection", (args[1],)),)
    if name in ("entrySet", "entries"):
        return ((LIB, "Set", (((LIB, "Entry", args),),)),)
    if name in ("firstKey", "lastKey", "ceilingKey", "floorKey", "higherKey", "lowerKey"):
        return args[0]
    if name in ("firstEntry", "lastEntry", "floorEntry", "ceilingEntry", "pollFirstEntry"):
        return ((LIB, "Entry", args),)
    if name in ("map", "flatMap", "mapNotNull"):
        return ((LIB, "List", (results,)),) if results else UNKNOWN
    if name in _GOT:
        return args[1]
    return UNKNOWN


_GOT = frozenset(
    (
        *(
            "get",
            "getOrDefault",
            "put",
            "remove",
            "computeIfAbsent",
            "computeIfPresent",
            "compute",
            "merge",
            "putIfAbsent",
        ),
        *("getValue", "getOrPut", "getOrElse", "GetValueOrDefault", "GetOrAdd", "AddOrUpdate", "replace"),
    )
)
