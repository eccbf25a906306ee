"""What of Python's own library the rules know: builtins, and what the usual containers give back."""

from __future__ import annotations

from ombud.graph.resolve.values import EXT, LIB, UNKNOWN, Value, Values

BUILTINS = frozenset(
    [
        "ArithmeticError",
        "AssertionError",
        "AttributeError",
        "BaseException",
        "BaseExceptionGroup",
        "BlockingIOError",
        "BrokenPipeError",
        "BufferError",
        "BytesWarning",
        "ChildProcessError",
        "ConnectionAbortedError",
        "ConnectionError",
        "ConnectionRefusedError",
        "ConnectionResetError",
        "DeprecationWarning",
        "EOFError",
        "Ellipsis",
        "EncodingWarning",
        "EnvironmentError",
        "Exception",
        "ExceptionGroup",
        "False",
        "FileExistsError",
        "FileNotFoundError",
        "FloatingPointError",
        "FutureWarning",
        "GeneratorExit",
        "IOError",
        "ImportError",
        "ImportWarning",
        "IndentationError",
        "IndexError",
        "InterruptedError",
        "IsADirectoryError",
        "KeyError",
        "KeyboardInterrupt",
        "LookupError",
        "MemoryError",
        "ModuleNotFoundError",
        "NameError",
        "None",
        "NotADirectoryError",
        "NotImplemented",
        "NotImplementedError",
        "OSError",
        "OverflowError",
        "PendingDeprecationWarning",
        "PermissionError",
        "ProcessLookupError",
        "RecursionError",
        "ReferenceError",
        "ResourceWarning",
        "RuntimeError",
        "RuntimeWarning",
        "StopAsyncIteration",
        "StopIteration",
        "SyntaxError",
        "SyntaxWarning",
        "SystemError",
        "SystemExit",
        "TabError",
        "TimeoutError",
        "True",
        "TypeError",
        "UnboundLocalError",
        "UnicodeDecodeError",
        "UnicodeEncodeError",
        "UnicodeError",
        "UnicodeTranslateError",
        "UnicodeWarning",
        "UserWarning",
        "ValueError",
        "Warning",
        "WindowsError",
        "ZeroDivisionError",
        "__build_class__",
        "__debug__",
        "__doc__",
        "__import__",
        "__loader__",
        "__name__",
        "__package__",
        "__spec__",
        "__file__",
        "__builtins__",
        "__path__",
        "abs",
        "aiter",
        "all",
        "anext",
        "any",
        "ascii",
        "bin",
        "bool",
        "breakpoint",
        "bytearray",
        "bytes",
        "callable",
        "chr",
        "classmethod",
        "compile",
        "complex",
        "copyright",
        "credits",
        "delattr",
        "dict",
        "dir",
        "divmod",
        "enumerate",
        "eval",
        "exec",
        "exit",
        "filter",
        "float",
        "format",
        "frozenset",
        "getattr",
        "globals",
        "hasattr",
        "hash",
        "help",
        "hex",
        "id",
        "input",
        "int",
        "isinstance",
        "issubclass",
        "iter",
        "len",
        "license",
        "list",
        "locals",
        "map",
        "max",
        "memoryview",
        "min",
        "next",
        "object",
        "oct",
        "open",
        "ord",
        "pow",
        "print",
        "property",
        "quit",
        "range",
        "repr",
        "reversed",
        "round",
        "set",
        "setattr",
        "slice",
        "sorted",
        "staticmethod",
        "str",
        "sum",
        "super",
        "tuple",
        "type",
        "vars",
        "zip",
        "reveal_type",
        "unicode",
        "xrange",
        "basestring",
        "long",
        "reduce",
        "cmp",
        "raw_input",
        "unichr",
        "execfile",
    ]
)

MAPPINGS = frozenset(
    ("dict", "Dict", "Mapping", "MutableMapping", "defaultdict", "DefaultDict", "OrderedDict", "WeakValueDictionary")
)
CONTEXTS = frozenset(("contextmanager", "asynccontextmanager"))
PASSED = frozenset(
    ("property", "staticmethod", "classmethod", "cached_property", "abstractmethod", "overload", "override")
)
"""Decorators that leave what a call gives as it is."""

_ITEMS = frozenset(("get", "pop", "setdefault", "__getitem__"))
_FIRST = frozenset(
    ("pop", "popleft", "__getitem__", "get", "get_nowait", "__enter__", "__aenter__", "__next__", "union")
)
_SAME = frozenset(("copy", "__iter__", "__reversed__", "union", "intersection", "difference", "__aiter__"))
_TEXT = frozenset(("str", "bytes", "int", "float", "bool"))


def library_call(value: Value, name: str) -> Values:
    """What method ``name`` of an instance of a library's type gives."""
    if value[0] != LIB:
        return ((EXT, ""),)
    kind, args = value[1], value[2]
    if kind in MAPPINGS and len(args) > 1:
        if name in _ITEMS:
            return args[1]  # type: ignore[no-any-return]
        if name == "values":
            return ((LIB, "list", (args[1],)),)
        if name == "keys":
            return ((LIB, "list", (args[0],)),)
        if name in ("items", "popitem"):
            pair = ((LIB, "tuple", (args[0], args[1])),)
            return pair if name == "popitem" else ((LIB, "list", (pair,)),)
        if name == "copy":
            return (value,)
    elif kind in _TEXT:
        return ((LIB, kind, ()),)
    elif args:
        if name in _SAME:
            return (value,)
        if name in _FIRST:
            return args[0]  # type: ignore[no-any-return]
    return ((EXT, ""),)


__all__ = ["BUILTINS", "CONTEXTS", "MAPPINGS", "PASSED", "UNKNOWN", "library_call"]
