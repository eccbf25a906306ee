"""The JSON-RPC 2.0 envelope: decoded alone, with params and results left as the bytes they arrived in.

`decode` looks at ``id``, ``method`` and which members are there; `params`, `result` and `error` are `msgspec.Raw`,
so a forwarded payload is never built as Python objects (architecture.md, decision 1). Lone surrogates, which are
valid JSON but no valid text, take a detour that still keeps the payload byte for byte (W7).
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

import msgspec
from msgspec import UNSET, Raw, UnsetType

from ombud.wire.hygiene import not_utf8, problem
from ombud.wire.limits import DEFAULT, Limits
from ombud.wire.surrogates import has_lone, mark, restore_bytes, restore_text
from ombud.wire.values import dump

Id = int | str


class Message(msgspec.Struct, omit_defaults=True, gc=False):
    """One JSON-RPC message. Absent members are ``UNSET``, which is not the same as null.

    Of a member that occurs twice the last one counts, and members that JSON-RPC does not know are left out, so what is
    sent on from here can be read in one way only. ``jsonrpc`` is not compared: peers that omit it are understood.
    """

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
    """A body that is no JSON (-32700) or no JSON-RPC message (-32600).

    ``id`` is that of the request which the body tried to be, and ``answers`` that of the request which it tried to
    answer; each is None where it was not legible. They are apart because both sides may use the same ids: a reply to
    a broken *answer* under its id would answer another request.
    """

    def __init__(self, code: int, message: str, id: Id | None = None, answers: Id | None = None) -> None:  # noqa: A002  (the protocol's name)
        super().__init__(message)
        self.code = code
        self.message = message
        self.id = id
        self.answers = answers


class _Sender(msgspec.Struct):
    id: Raw | UnsetType = UNSET
    method: Raw | UnsetType = UNSET


_DECODER = msgspec.json.Decoder(Message)
_SENDER = msgspec.json.Decoder(_Sender)
_ID = msgspec.json.Decoder(int | str)
PARSE_ERROR, INVALID_REQUEST = -32700, -32600

_W = rb"[ \t\r\n]*"
_HEAD = re.compile(
    rb"%b\{%b(?:\"jsonrpc\"%b:%b\"2\.0\"%b,%b|\"id\"%b:%b(-?(?:0|[1-9][0-9]{0,18})|\"[ !#-\[\]-~]{0,128}\")%b,%b){1,2}"
    rb"\"(method|result|error)\"%b:" % ((_W,) * 11)
)
"""The members that most peers write first, for a body that must not or cannot be parsed."""


def decode(body: bytes, limits: Limits | None = DEFAULT, *, repair: bool = False) -> Message:
    """The message in ``body``.

    ``limits=None`` leaves out the checks of `hygiene.problem`, for a peer whose depth the parser alone may bound; the
    text must be UTF-8 in any case, since it is passed on. ``repair`` reads what is not UTF-8 as U+FFFD, as editors do,
    instead of refusing it. Raises `BodyError`: -32700 where the bytes are no JSON or break a limit, -32600 where they
    are JSON but neither request, notification nor response. The connection can go on after either (W3, W9).
    """
    if repair and not_utf8(body) is not None:
        body = body.decode("utf-8", "replace").encode()
    if limits is not None:
        reason = problem(body, limits)
    else:
        at = not_utf8(body) if not repair else None
        reason = None if at is None else f"The message is not UTF-8 (byte {at})."
    if reason is not None:
        raise _unparsed(body, reason)
    try:
        message = _DECODER.decode(body)
    except msgspec.ValidationError as error:
        _invalid(body, str(error))
    except (msgspec.DecodeError, RecursionError) as error:
        message = _decode_marked(body, error)
    _check(message)
    return message


def _check(message: Message) -> None:
    known = message.id if isinstance(message.id, int | str) else None
    if message.method is UNSET:
        if message.id is not UNSET and message.result is not UNSET and message.error is not UNSET:
            _drop_the_null_one(message)
        if message.id is UNSET or (message.result is UNSET) == (message.error is UNSET):
            reason = "The message has neither a method nor an id with one result or error."
            raise BodyError(INVALID_REQUEST, reason, answers=known)
    elif message.id is None:
        raise BodyError(INVALID_REQUEST, "A request's id must be a number or a string, not null.")
    elif isinstance(message.params, Raw) and bytes(memoryview(message.params)[:1]) not in (b"{", b"[", b"n"):
        raise BodyError(INVALID_REQUEST, f"The params of {message.method} must be an object or an array.", known)


def _drop_the_null_one(message: Message) -> None:
    """Peers of the JSON-RPC 1.0 school write both members, and null where 2.0 wants none."""
    if _is_null(message.error):
        message.error = UNSET
    elif _is_null(message.result):
        message.result = UNSET


def _is_null(member: Raw | UnsetType) -> bool:
    return isinstance(member, Raw) and bytes(memoryview(member)[:5]) == b"null"


def _decode_marked(body: bytes, first: Exception) -> Message:
    """The message in a body that msgspec cannot take, if lone surrogates are the reason."""
    if isinstance(first, RecursionError) or (marked := mark(body)) is None:
        raise _unparsed(body, f"The message is no valid JSON: {_short(first)}.") from first
    try:
        message = _DECODER.decode(marked)
    except msgspec.ValidationError as error:
        _invalid(marked, str(error))
    except (msgspec.DecodeError, RecursionError) as error:
        raise _unparsed(body, f"The message is no valid JSON: {_short(error)}.") from error
    for name in ("params", "result", "error"):
        if isinstance(value := getattr(message, name), Raw):
            setattr(message, name, Raw(restore_bytes(bytes(value))))
    for name in ("id", "method"):
        if isinstance(value := getattr(message, name), str):
            setattr(message, name, _text(restore_text(value), name, marked))
    return message


def _text(value: str, name: str, marked: bytes) -> str:
    """A lone surrogate is allowed in a payload, not in a name that is looked up or sent back."""
    if has_lone(value):
        _invalid(marked, f"its {name} is not valid Unicode")
    return value


def _unparsed(body: bytes, reason: str) -> BodyError:
    """The error for a body that is not parsed, with its id if it stands where most peers write it."""
    head = _HEAD.match(body[:1024])
    if head is None or head[1] is None:
        return BodyError(PARSE_ERROR, reason)
    known: Id = msgspec.json.decode(head[1], type=Id)
    if head[2] == b"method":
        return BodyError(PARSE_ERROR, reason, known)
    return BodyError(PARSE_ERROR, reason, answers=known)


def _invalid(body: bytes, reason: str) -> NoReturn:
    """A body that is JSON but no message: tell the sender which of its requests it was, if that can be read."""
    known: Id | None = None
    method: Raw | UnsetType = UNSET
    try:
        sender = _SENDER.decode(body)
        method = sender.method
        if isinstance(sender.id, Raw) and b"\x7f" not in bytes(sender.id):
            known = _ID.decode(sender.id)
    except (msgspec.MsgspecError, RecursionError):
        pass
    text = f"The message is no JSON-RPC message: {reason}."
    if method is UNSET:
        raise BodyError(INVALID_REQUEST, text, answers=known)
    raise BodyError(INVALID_REQUEST, text, known)


def _short(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]


def request(id: Id, method: str, params: Any = UNSET) -> bytes:  # noqa: A002  (the protocol's name)
    """The body of a request. ``params`` is anything msgspec encodes, `Raw` included; lone surrogates are escaped."""
    return dump(_Out(id=id, method=method, params=params))


def notification(method: str, params: Any = UNSET) -> bytes:
    """The body of a notification."""
    return dump(_Out(method=method, params=params))


def response(id: Id | None, result: Any) -> bytes:  # noqa: A002  (the protocol's name)
    """The body of a successful answer; ``result=None`` is sent as null."""
    return dump(_Out(id=id, result=result))


def forwarded(id: Id, result: Raw) -> bytes:  # noqa: A002  (the protocol's name)
    """The frame of a successful answer whose result goes on as it came: it may be large, and is copied only once."""
    identity = dump(id)
    head, tail = b'{"id":%b,"result":' % identity, b',"jsonrpc":"2.0"}'
    length = len(head) + len(memoryview(result)) + len(tail)
    return b"".join((b"Content-Length: %d\r\n\r\n" % length, head, result, tail))


def failure(id: Id | None, error: Any) -> bytes:  # noqa: A002  (the protocol's name)
    """The body of an error answer; ``error`` is ``{code, message, data?}``. ``id=None`` where it was not legible."""
    return dump(_Out(id=id, error=error))


class _Out(msgspec.Struct, omit_defaults=True):
    id: int | str | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Any = UNSET
    result: Any = UNSET
    error: Any = UNSET
    jsonrpc: str | UnsetType = UNSET

    def __post_init__(self) -> None:
        self.jsonrpc = "2.0"
