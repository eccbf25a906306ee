"""Every way in which a client, or a server, can have Ombud change a file: the same wish, said in each of them.

    async with serving(ombud, root, {"one": offering(root, wishes)}, capabilities=AGENT) as client:
        for way in WAYS:
            answer = await way.ask(client, root, wish)

A `Wish` is to put ``new`` in the place of ``old`` (None: there is no file yet). What a server makes of it is an edit of
``codeAction`` or ``workspace/applyEdit``; the scripted server offers one action for each wish.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.client import Client, LspError
from tests.peers.script import Script

Json = dict[str, Any]

TRIGGER = "trigger.x"
"""A file at which actions are offered; it must be in the workspace, with the word ``trigger`` on its first line."""
START = {"line": 0, "character": 0}


@dataclass(frozen=True)
class Wish:
    """One line of text at ``path``, as the caller spells it: relative, absolute, or with dots in it."""

    path: str
    old: str | None = None
    new: str = "new\n"


@dataclass(frozen=True)
class Answer:
    """What became of a wish: ``kind`` of the error, None where it was done; all that was said, and its words alone."""

    kind: str | None
    said: str
    message: str = ""

    @property
    def done(self) -> bool:
        return self.kind is None


@dataclass(frozen=True)
class Way:
    """``fits`` says whether a wish can be said in this way at all."""

    name: str
    fits: Callable[[Wish], bool]
    send: Callable[[Client, Path, Wish, Json], Awaitable[Any]]
    previews: bool = True

    async def ask(self, client: Client, root: Path, wish: Wish, **more: Any) -> Answer:
        try:
            result = await self.send(client, root, wish, more)
        except LspError as error:
            return Answer(error.kind or "error", f"{error.message} {error.data}", error.message)
        if isinstance(result, dict) and "answer" in result:  # of the scripted server's own command
            told = result["answer"]["result"]
            return Answer(None if told["applied"] else "refused", str(told), str(told))
        return Answer(None, str(result), str(result["message"]))


def uri_of(root: Path, path: str) -> str:
    """The URI of a path as it is spelled: dots stay in it."""
    return "file://" + quote(path if path.startswith("/") else f"{root}/{path}", safe="/")


def edit_of(root: Path, wish: Wish) -> Json:
    """The ``WorkspaceEdit`` of a wish."""
    uri = uri_of(root, wish.path)
    document = {"uri": uri, "version": None}
    if wish.old is None:
        text = {"range": {"start": START, "end": START}, "newText": wish.new}
        return {"documentChanges": [{"kind": "create", "uri": uri}, {"textDocument": document, "edits": [text]}]}
    end = {"line": wish.old.count("\n"), "character": 0}
    text = {"range": {"start": START, "end": end}, "newText": wish.new}
    return {"documentChanges": [{"textDocument": document, "edits": [text]}]}


def delete_of(root: Path, wish: Wish) -> Json:
    return {"documentChanges": [{"kind": "delete", "uri": uri_of(root, wish.path)}]}


def patch_of(wish: Wish) -> str:
    """A patch in git's format. Paths that are not plain are quoted as git does."""
    new = "".join(f"+{line}\n" for line in wish.new.splitlines())
    after = _named("b", wish.path)
    if wish.old is None:
        return f"--- /dev/null\n+++ {after}\n@@ -0,0 +1,{wish.new.count(chr(10))} @@\n{new}"
    old = "".join(f"-{line}\n" for line in wish.old.splitlines())
    counts = f"-1,{wish.old.count(chr(10))} +1,{wish.new.count(chr(10))}"
    return f"--- {_named('a', wish.path)}\n+++ {after}\n@@ {counts} @@\n{old}{new}"


def _named(side: str, path: str) -> str:
    return path if path.startswith("/") else f"{side}/{path}"


def _title(what: str, wish: Wish) -> str:
    return f"{what} {hashlib.sha256(repr(wish).encode()).hexdigest()[:12]}"


_ACTIONS: dict[str, Callable[[Path, Wish], Json]] = {"edit": edit_of, "delete": delete_of}


def offering(root: Path, wishes: Sequence[Wish], name: str = "one", **keys: Any) -> Script:
    """A server that offers actions for each wish."""
    actions = [
        {"title": _title(what, wish), "kind": "quickfix", "edit": make(root, wish)}
        for wish in wishes
        for what, make in _ACTIONS.items()
    ]
    return Script(name, answers={"textDocument/codeAction": actions}, **keys)


def _plain(operation: str, params: Callable[[Wish], Json]) -> Callable[[Client, Path, Wish, Json], Awaitable[Any]]:
    async def send(client: Client, _root: Path, wish: Wish, more: Json) -> Any:
        return await client.request(f"ombud/{operation}", {**params(wish), **more})

    return send


def _action(what: str) -> Callable[[Client, Path, Wish, Json], Awaitable[Any]]:
    async def send(client: Client, _root: Path, wish: Wish, more: Json) -> Any:
        place = {"action": "code_actions", "path": TRIGGER, "line": 1, "symbol": "trigger"}
        return await client.request("ombud/lsp", {**place, "apply": _title(what, wish), **more})

    return send


async def _apply_edit(client: Client, root: Path, wish: Wish, _more: Json) -> Any:
    # A question about a file of its own starts the server.
    await client.request("ombud/lsp", {"action": "symbols", "path": TRIGGER})
    params = {"command": "one.applyEdit", "arguments": [edit_of(root, wish)]}
    return await client.request("workspace/executeCommand", params)


def _any(_wish: Wish) -> bool:
    return True


def _there(wish: Wish) -> bool:
    return wish.old is not None


def _missing(wish: Wish) -> bool:
    return wish.old is None


WRITING = [
    Way("write", _any, _plain("write", lambda wish: {"path": wish.path, "content": wish.new})),
    Way(
        "edit",
        _there,
        _plain("edit", lambda wish: {"path": wish.path, "edits": [{"oldText": wish.old, "newText": wish.new}]}),
    ),
    Way("applyPatch", _any, _plain("applyPatch", lambda wish: {"patch": patch_of(wish)})),
    Way("code action", _any, _action("edit")),
    Way("applyEdit", _any, _apply_edit, previews=False),
]
"""The ways that put the new text there: a wish that is allowed has the same outcome in all of them."""

MOVING = [
    Way("rename to", _missing, _plain("rename", lambda wish: {"path": "inner.x", "newPath": wish.path})),
    Way("rename from", _there, _plain("rename", lambda wish: {"path": wish.path, "newPath": "elsewhere.x"})),
    Way("delete by a code action", _there, _action("delete")),
    Way(
        "delete by applyPatch",
        _there,
        _plain(
            "applyPatch",
            lambda wish: {"patch": f"--- {_named('a', wish.path)}\n+++ /dev/null\n@@ -1 +0,0 @@\n-{wish.old}"},
        ),
    ),
    Way(
        "move by applyPatch to",
        _missing,
        _plain("applyPatch", lambda wish: {"patch": _moving("inner.x", wish.path)}),
    ),
    Way(
        "move by applyPatch from",
        _there,
        _plain("applyPatch", lambda wish: {"patch": _moving(wish.path, "elsewhere.x")}),
    ),
    Way(
        "mode by applyPatch",
        _there,
        _plain("applyPatch", lambda wish: {"patch": mode_of(wish.path)}),
    ),
]
"""The ways that move, delete or change the mode. ``inner.x`` must be in the workspace."""

WAYS = WRITING + MOVING


def _moving(old: str, new: str) -> str:
    head = f"diff --git {_named('a', old)} {_named('b', new)}\nsimilarity index 100%\n"
    return f"{head}rename from {old}\nrename to {new}\n"


def mode_of(path: str) -> str:
    """A patch that makes a file executable and changes nothing else."""
    return f"diff --git {_named('a', path)} {_named('b', path)}\nold mode 100644\nnew mode 100755\n"
