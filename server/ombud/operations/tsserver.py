"""Vue's language server and the TypeScript server that answers it.

From version 3 on Vue's server sends ``tsserver/request`` to its client, with ``[[id, command, arguments]]``, and keeps
what it was asked itself until ``tsserver/response`` with ``[[id, body]]`` has come (vuejs/language-tools, discussion
5456). The client is to carry the command to a TypeScript server with Vue's plugin, as ``typescript.tsserverRequest``.
No client of Ombud's can do that, since it sees neither server, so it is done here. Every question is answered, with
null where there is nobody to ask, or the rest of what the Vue server can do would wait for ever.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw

from ombud.downstream.link import Outcome, ServerError
from ombud.downstream.server import Server
from ombud.errors import OmbudError
from ombud.guard.uris import path_to_uri
from ombud.wire.values import NULL, dump, load, load_any

if TYPE_CHECKING:
    from ombud.operations.hub import Hub

LOG = logging.getLogger("ombud.tsserver")

REQUEST = "tsserver/request"
RESPONSE = "tsserver/response"
COMMAND = "typescript.tsserverRequest"


class _Asked(msgspec.Struct, array_like=True):
    id: int | str
    command: str
    arguments: Raw = NULL


class _Answered(msgspec.Struct):
    body: Raw = NULL


def carry(hub: Hub, vue: Server, params: Raw) -> None:
    """Take a ``tsserver/request`` of ``vue`` to the TypeScript server of its file, and the answer back.

    The servers' queues keep the order: a command never comes before the document it is about. Raises
    `msgspec.ValidationError` for other params than those in the module's text.
    """
    asked = _asked(params)
    process = vue.child

    def answer(body: Raw) -> None:
        # An answer is for the process that asked; another one counts its questions from the beginning.
        if vue.child is process:
            vue.notify(RESPONSE, [[asked.id, body]])

    def settle(outcome: Outcome) -> None:
        if isinstance(outcome, OmbudError | ServerError):
            LOG.debug("%s was not answered for %s: %s", vue.name, asked.command, outcome.message)
            answer(NULL)
        else:
            answer(_body(outcome))

    typescript = _typescript(hub, vue, _file(asked.arguments))
    if typescript is None:
        answer(NULL)
        return
    call = {"command": COMMAND, "arguments": [asked.command, asked.arguments]}
    try:
        typescript.need()
    except OmbudError as error:
        settle(error)
    else:
        typescript.request("workspace/executeCommand", Raw(dump(call)), settle)


def _asked(params: Raw) -> _Asked:
    """The question, which vscode-jsonrpc wraps in a list of positional params."""
    try:
        (one,) = load(params, tuple[_Asked])
    except msgspec.ValidationError:
        one = load(params, _Asked)
    return _Asked(one.id, one.command, Raw(bytes(one.arguments)))


def _body(outcome: Raw) -> Raw:
    """tsserver's answer is a message of its own, of which the asker wants the body alone."""
    try:
        return Raw(bytes(load(outcome, _Answered).body))
    except msgspec.ValidationError:
        return NULL


def _file(arguments: Raw) -> str | None:
    """The path that a command is about: its ``file``, or the first of its positional arguments."""
    found = load_any(arguments)
    first = found.get("file") if isinstance(found, dict) else found[0] if isinstance(found, list) and found else None
    return first if isinstance(first, str) else None


def _typescript(hub: Hub, vue: Server, file: str | None) -> Server | None:
    """The TypeScript server that has the file open, else one that reads Vue files at the same root."""
    try:
        attached = hub.servers_of(path_to_uri(file)) if file is not None else []
    except (OmbudError, ValueError):
        attached = []
    others = [one for one in hub.supervisor.all() if one.root == vue.root]
    return next((one for one in (*attached, *others) if _reads_vue(one)), None)


def _reads_vue(server: Server) -> bool:
    """Whether it is tsserver behind a language server, with Vue's plugin."""
    return server.entry.diagnostics.confirm == "tsserver" and "vue" in server.entry.languages
