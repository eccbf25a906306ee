"""Whose diagnostics are those that a client sends along with ``textDocument/codeAction``?

A client shows the diagnostics of all servers of a document and sends those under the cursor to whoever answers for
code actions. A server knows what to do with its own ones alone: some answer foreign ones with an error, others offer
fixes for them that their maker offers too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from ombud.diagnostics.store import Store
from ombud.downstream.server import Server
from ombud.wire.values import dump, load

Key = tuple[str | None, str | None, bytes]


class _Named(msgspec.Struct):
    message: Raw
    source: str | None = None
    code: int | str | None = None


class _Context(msgspec.Struct):
    diagnostics: list[Raw] = []


class _Params(msgspec.Struct):
    context: _Context = msgspec.field(default_factory=_Context)


def key_of(raw: Raw) -> Key | None:
    """By what a diagnostic is recognized: source, code and message. None for what has no shape of the specification.

    Its place is no part of that, since clients move diagnostics along with the text; nor are its bytes, since clients
    write them anew.
    """
    try:
        named = load(raw, _Named)
        message = dump(load(named.message, str | dict[str, Any]))  # type: ignore[arg-type]
    except (msgspec.ValidationError, ValueError):
        return None
    return (named.source, None if named.code is None else str(named.code), message)


def keys_of(raws: Iterable[Raw]) -> set[Key]:
    """The keys of all of them that have one."""
    return {key for raw in raws if (key := key_of(raw)) is not None}


def diagnostics_of(store: Store, server: Server, key: str) -> set[Key]:
    """What ``server`` has said of the document, in the form of `key_of`."""
    track = store.tracks(key).get(server)
    return set() if track is None else keys_of(track.joined())


def given(store: Store, server: Server, key: str, params: Raw) -> Raw:
    """The params of a code action for one of a document's servers: without the diagnostics that only others made.

    What nobody is known to have made stays. The same bytes come back where nothing is left out.
    """
    try:
        sent = load(params, _Params).context.diagnostics
    except (msgspec.ValidationError, ValueError):
        return params
    if not sent:
        return params
    others: set[Key] = set()
    for other in store.tracks(key):
        if other is not server:
            others |= diagnostics_of(store, other, key)
    foreign = others - diagnostics_of(store, server, key)
    kept = [raw for raw in sent if key_of(raw) not in foreign]
    return params if len(kept) == len(sent) else _with(params, kept)


def _with(params: Raw, diagnostics: list[Raw]) -> Raw:
    fields: Mapping[str, Raw] = load(params, dict[str, Raw])
    context = {**load(fields["context"], dict[str, Raw]), "diagnostics": diagnostics}
    return Raw(dump({**fields, "context": context}))
