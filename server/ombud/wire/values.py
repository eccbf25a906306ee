"""JSON values in and out, also where they hold lone surrogates, which msgspec cannot take (incident W7)."""

from __future__ import annotations

import json
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

T = TypeVar("T")


def load(raw: Raw | bytes, kind: type[T]) -> T:
    """``raw`` as a ``kind`` (a msgspec type). Raises `msgspec.ValidationError` where the shape is another one."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        return msgspec.convert(_plain(raw), kind)


def _plain(raw: Raw | bytes) -> Any:
    try:
        return json.loads(bytes(raw))
    except (ValueError, RecursionError) as error:
        raise msgspec.ValidationError(str(error)) from error


def dump(value: Any) -> bytes:
    """``value`` as JSON bytes; lone surrogates leave as escapes."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value, enc_hook=_embed), separators=(",", ":")).encode()


def _embed(value: Any) -> Any:
    if isinstance(value, Raw):
        return json.loads(bytes(value))
    raise TypeError(f"{type(value).__name__} is no JSON value")


def null(raw: Raw | None) -> bool:
    """Whether an answer is nothing: absent or null."""
    return raw is None or bytes(raw) == b"null"
