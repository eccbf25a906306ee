"""The JSON-RPC 2.0 envelope: decoded alone, with params and results left as the bytes they arrived in.

`decode` looks at ``id``, ``method`` and which members are there; `params`, `result` and `error` are `msgspec.Raw`,
so a forwarded payload is never built as Python objects (architecture.md, decision 1). Lone surrogates, which are
valid JSON but no valid text, go through a slower path that still keeps the payload byte for byte (W7).
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

import msgspec
from msgspec import UNSET, Raw, UnsetType

from ombud.wire.hygiene import problem
from ombud.wire.limits import DEFAULT, Limits

Id = int | str


class Message(msgspec.Struct, omit_defaults=True, gc=False):
    """One JSON-RPC message. Absent members are ``UNSET``, which is not the same as null."""

    jsonrpc: str = ""
    id: int | str | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET

    @property
    def is_request(self) -> bool:
        return self.method is not UNSET and self.id is not UNSET

    @property
    def is_notification(self) -> bool:
        return self.method is not UNSET and self.id is UNSET

    @property
    def is_response(self) -> bool:
        return self.method is UNSET


class BodyError(Exception):
    """A body that is no JSON (-32700) or no JSON-RPC message (-32600). ``id`` is the request's, where legible."""

    def __init__(self, code: int, message: str, id: Id | None = None) -> None:  # noqa: A002  (the protocol's name)
        super().__init__(message)
        self.code = code
        self.message = message
        self.id = id


_DECODER = msgspec.json.Decoder(Message)
_ENCODER = msgspec.json.Encoder()
PARSE_ERROR, INVALID_REQUEST = -32700, -32600


def decode(body: bytes, limits: Limits | None = DEFAULT) -> Message:
    """The message in ``body``.

    ``limits=None`` leaves out the checks of `hygiene.problem`, for a peer whose depth the parser alone may bound.
    Raises `BodyError`: -32700 where the bytes are no JSON or break a limit, -32600 where they are JSON but neither
    request, notification nor response. The connection can go on after either (W3, W9).
    """
    if limits is not None and (reason := problem(body, limits)) is not None:
        raise BodyError(PARSE_ERROR, reason)
    try:
        message = _DECODER.decode(body)
    except msgspec.ValidationError as error:
        _invalid(body, str(error))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        message = _decode_slowly(body, error)
    _check(message)
    return message


def _check(message: Message) -> None:
    if message.method is UNSET:
        if message.id is UNSET or (message.result is UNSET) == (message.error is UNSET):
            known = message.id if isinstance(message.id, int | str) else None
            raise BodyError(
                INVALID_REQUEST, "The message has neither a method nor an id with one result or error.", known
            )
    elif message.id is None:
        raise BodyError(INVALID_REQUEST, "A request's id must be a number or a string, not null.")
    elif message.params is not UNSET and bytes(message.params)[:1] not in (b"{", b"[", b"n"):
        known = message.id if isinstance(message.id, int | str) else None
        raise BodyError(INVALID_REQUEST, f"The params of {message.method} must be an object or an array.", known)


def _decode_slowly(body: bytes, first: Exception) -> Message:
    """The envelope by the standard library, for bodies that msgspec cannot take; the payload bytes are sliced out."""
    try:
        text = body.decode("utf-8")
        members = _members(text)
    except (ValueError, RecursionError) as error:
        raise BodyError(PARSE_ERROR, f"The message is no valid JSON: {_short(first)}.") from error
    if members is None:
        raise BodyError(INVALID_REQUEST, "The message must be one JSON object.")
    message = Message()
    for name, (value, raw) in members.items():
        if name == "id" and (value is None or _is_id(value)):
            message.id = value
        elif name == "method" and isinstance(value, str) and _is_text(value):
            message.method = value
        elif name in ("params", "result", "error"):
            setattr(message, name, Raw(raw))
        elif name in ("id", "method"):
            known = members["id"][0] if "id" in members and _is_id(members["id"][0]) else None
            raise BodyError(INVALID_REQUEST, f"The message's {name} has the wrong type.", known)
    return message


def _is_id(value: Any) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, str) and _is_text(value))


def _is_text(value: str) -> bool:
    """Whether the string can be written as UTF-8: a lone surrogate is allowed in a payload, not in a name of ours."""
    return value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_WHITE = " \t\r\n"
_SCANNER = json.JSONDecoder(parse_constant=_refuse_constant, parse_int=str, parse_float=str)


def _members(text: str) -> dict[str, tuple[Any, bytes]] | None:
    """Each top-level member with its value and its exact bytes; None when the text is not an object."""
    at = _blank(text, 0)
    if text[at : at + 1] != "{":
        json.loads(text)
        return None
    out: dict[str, tuple[Any, bytes]] = {}
    at = _blank(text, at + 1)
    if text[at : at + 1] == "}":
        return _ended(text, at + 1, out)
    while True:
        name, at = _SCANNER.raw_decode(text, at)
        at = _blank(text, at)
        if not isinstance(name, str) or text[at : at + 1] != ":":
            raise ValueError("a member needs a name and a colon")
        start = _blank(text, at + 1)
        value, at = _SCANNER.raw_decode(text, start)
        raw = text[start:at]
        out[name] = (int(value) if name == "id" and raw.lstrip("-").isdigit() else value, raw.encode("utf-8"))
        at = _blank(text, at)
        if text[at : at + 1] == "}":
            return _ended(text, at + 1, out)
        if text[at : at + 1] != ",":
            raise ValueError("members are separated by commas")
        at = _blank(text, at + 1)


def _ended(text: str, at: int, out: dict[str, tuple[Any, bytes]]) -> dict[str, tuple[Any, bytes]]:
    if _blank(text, at) != len(text):
        raise ValueError("more text behind the object")
    return out


def _blank(text: str, at: int) -> int:
    while at < len(text) and text[at] in _WHITE:
        at += 1
    return at


def _invalid(body: bytes, reason: str) -> NoReturn:
    """A body that is JSON but no message: tell the sender which of its requests it was, if that can be read."""
    known: Id | None = None
    try:
        value = msgspec.json.decode(body)
        if isinstance(value, dict) and isinstance(value.get("id"), int | str):
            known = value["id"]
    except (msgspec.MsgspecError, RecursionError):
        pass
    raise BodyError(INVALID_REQUEST, f"The message is no JSON-RPC message: {reason}.", known)


def _short(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]


def request(id: Id, method: str, params: Any = UNSET) -> bytes:  # noqa: A002  (the protocol's name)
    """The body of a request. ``params`` is anything msgspec encodes, `Raw` included."""
    return _ENCODER.encode(_Out(id=id, method=method, params=params))


def notification(method: str, params: Any = UNSET) -> bytes:
    """The body of a notification."""
    return _ENCODER.encode(_Out(method=method, params=params))


def response(id: Id | None, result: Any) -> bytes:  # noqa: A002  (the protocol's name)
    """The body of a successful answer; ``result=None`` is sent as null."""
    return _ENCODER.encode(_Out(id=id, result=result))


def failure(id: Id | None, error: Any) -> bytes:  # noqa: A002  (the protocol's name)
    """The body of an error answer; ``error`` is ``{code, message, data?}``. ``id=None`` where it was not legible."""
    return _ENCODER.encode(_Out(id=id, error=error))


class _Out(msgspec.Struct, omit_defaults=True):
    id: int | str | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Any = UNSET
    result: Any = UNSET
    error: Any = UNSET
    jsonrpc: str | UnsetType = UNSET

    def __post_init__(self) -> None:
        self.jsonrpc = "2.0"
