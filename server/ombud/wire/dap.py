"""The envelope of the Debug Adapter Protocol ("Base Protocol"): requests, responses and events.

The framing is that of LSP (`ombud.wire.framing`). What a message carries stays the bytes that arrived until somebody
asks for it.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from ombud.wire.hygiene import not_utf8
from ombud.wire.surrogates import replaced
from ombud.wire.values import dump, load_any


class DapError(Exception):
    """A body that is no message of the protocol."""


class Message(msgspec.Struct, omit_defaults=True, gc=False):
    """One message of an adapter. ``type`` is request, response or event; members of the other two are left out.

    ``command`` and ``arguments`` belong to requests, ``event`` to events, ``request_seq``, ``success`` and ``message``
    to responses, ``body`` to responses and events.
    """

    type: str
    seq: int = 0
    command: str = ""
    arguments: Raw | UnsetType = UNSET
    event: str = ""
    request_seq: int = -1
    success: bool = False
    message: str | UnsetType | None = UNSET
    body: Raw | UnsetType = UNSET

    @property
    def content(self) -> dict[str, Any]:
        """Arguments or body as an object; empty where there is none."""
        raw = self.arguments if self.type == "request" else self.body
        value = load_any(raw) if isinstance(raw, Raw) else None
        return value if isinstance(value, dict) else {}


_DECODER = msgspec.json.Decoder(Message)
TYPES = frozenset(("request", "response", "event"))


def decode(body: bytes) -> Message:
    """The message in ``body``. What is not UTF-8 is read as U+FFFD: programs print whatever they like.

    Raises `DapError`, after which the conversation can go on.
    """
    if not_utf8(body) is not None:
        body = body.decode("utf-8", "replace").encode()
    try:
        message = _DECODER.decode(body)
    except msgspec.ValidationError as error:
        raise DapError(str(error)) from error
    except (msgspec.DecodeError, RecursionError) as error:
        try:
            message = _DECODER.decode(replaced(body))
        except (msgspec.MsgspecError, RecursionError):
            raise DapError(str(error)) from error
    if message.type not in TYPES:
        raise DapError(f"it is of no known type: {message.type[:40]!r}")
    return message


def request(seq: int, command: str, arguments: Any = None) -> bytes:
    """The body of a request."""
    message = {"seq": seq, "type": "request", "command": command}
    return dump(message if arguments is None else {**message, "arguments": arguments})


def response(seq: int, to: Message, body: Any = None, *, error: str = "") -> bytes:
    """The body of the answer to a reverse request; ``error`` makes it a refusal."""
    message = {"seq": seq, "type": "response", "request_seq": to.seq, "command": to.command, "success": not error}
    if error:
        message |= {"message": error, "body": {"error": {"id": 1, "format": error}}}
    elif body is not None:
        message["body"] = body
    return dump(message)
