"""JSON values in and out, also where they hold lone surrogates, which msgspec cannot take (incident W7)."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from ombud.wire.surrogates import escape, mark, restore

T = TypeVar("T")
NULL = Raw(b"null")


def load(raw: Raw | bytes, kind: type[T]) -> T:
    """``raw`` as a ``kind`` (a msgspec type); strings may hold lone surrogates, `Raw` fields keep their bytes.

    Raises `msgspec.ValidationError` where the shape is another one, where ``raw`` is no JSON, or where it is nested
    deeper than Python's stack.
    """
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, RecursionError) as error:
        first = error
    if isinstance(first, RecursionError) or (marked := mark(bytes(raw))) is None:
        raise msgspec.ValidationError(str(first)) from first
    try:
        value: T = restore(msgspec.json.decode(marked, type=kind))
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, RecursionError) as error:
        raise msgspec.ValidationError(str(error)) from error
    return value


def load_any(raw: Raw | bytes) -> Any:
    """``raw`` as plain Python values. Raises `msgspec.ValidationError` where it is no JSON."""
    anything: Any = Any
    return load(raw, anything)


def dump(value: Any) -> bytes:
    """``value`` as JSON bytes; lone surrogates leave as escapes, `Raw` as it is."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(escape(msgspec.to_builtins(value, builtin_types=(Raw,))))


def null(raw: Raw | None) -> bool:
    """Whether an answer is nothing: absent or null."""
    return raw is None or bytes(memoryview(raw)[:5]) == b"null"


def begins(raw: Raw | None) -> bytes:
    """The first byte of a value, which tells its kind: ``{``, ``[``, ``"``, ``n``, …; nothing where there is none."""
    return b"" if raw is None else bytes(memoryview(raw)[:1])
