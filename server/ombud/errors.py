"""The errors a caller of Ombud can see.

Every one of them carries what the wire contract asks of an error: a JSON-RPC ``code``, a stable ``kind`` word,
and a ``message`` of one or two sentences that says what happened and what to do next. Faces translate them; no
traceback ever reaches a reader.
"""

from __future__ import annotations

from typing import Any

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
SERVER_NOT_INITIALIZED = -32002
REQUEST_CANCELLED = -32800
CONTENT_MODIFIED = -32801
SERVER_CANCELLED = -32802
REQUEST_FAILED = -32803


class OmbudError(Exception):
    """What the caller is told when a request cannot be done.

    ``kind`` is one of the contract's lower_snake words; ``data`` is sent along as further keys of ``error.data``.
    """

    code: int = REQUEST_FAILED

    def __init__(self, message: str, *, kind: str, **data: Any) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.data: dict[str, Any] = data

    def payload(self) -> dict[str, Any]:
        """The JSON-RPC error object: ``{code, message, data: {kind, …}}``."""
        return {"code": self.code, "message": self.message, "data": {"kind": self.kind, **self.data}}


class UserError(OmbudError):
    """A bad argument (``InvalidParams``): the caller can mend it and call again."""

    code = INVALID_PARAMS

    def __init__(self, message: str, *, kind: str = "invalid_params", **data: Any) -> None:
        super().__init__(message, kind=kind, **data)


class Refused(OmbudError):
    """Policy or state says no: outside the workspace, sensitive, not trusted, a conflict, a file that is gone."""


class PeerError(OmbudError):
    """A language server or adapter misbehaved: it did not start, crashed, hung or broke the protocol."""


class ContentModified(OmbudError):
    """The document changed between the question and the answer (LSP ``ContentModified``): ask again."""

    code = CONTENT_MODIFIED

    def __init__(self, message: str, **data: Any) -> None:
        super().__init__(message, kind="content_modified", **data)


class Cancelled(OmbudError):
    """The caller cancelled the request (LSP ``RequestCancelled``)."""

    code = REQUEST_CANCELLED

    def __init__(self, message: str = "The request was cancelled.") -> None:
        super().__init__(message, kind="cancelled")
