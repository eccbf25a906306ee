"""Deciding on what is staged, in a hub of this process: what only a stubborn system or a gone store shows."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from ombud.errors import OmbudError
from ombud.operations import registry
from ombud.operations.session import Session
from ombud.operations.structural.kept import store
from ombud.operations.structural.previewed import near
from ombud.operations.structural.stage import operations
from ombud.structural.staging import Change
from ombud.workspace import commit

from tests import hosted
from tests.commits import snapshot

OLD = dict.fromkeys(("a.py", "b.py", "c.py"), b"old()\n")


@pytest.fixture
async def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Session]:
    """A session with three files and a rewrite of them that is staged as ``e1``."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    root = tmp_path.resolve() / "ws"
    root.mkdir()
    for name, data in OLD.items():
        (root / name).write_bytes(data)
    changes = [Change(root, root / name, name, data, b"new()\n", 1, 1, 1) for name, data in OLD.items()]
    async with hosted.session(root, os.environ) as made:
        store(made).add(changes, session="s", client="c", summary="old → new", request=b"{}")
        yield made


async def resolve(session: Session, **more: Any) -> dict[str, Any]:
    params = {"editId": "e1", "action": "commit", "diagnostics": "none", **more}
    return await registry.call(session, "resolve", params)


async def refused(session: Session, **more: Any) -> OmbudError:
    """The error of a decision that must have changed no file."""
    assert session.root is not None
    before = snapshot(session.root)
    with pytest.raises(OmbudError) as raised:
        await resolve(session, **more)
    assert snapshot(session.root) == before
    return raised.value


async def test_a_write_protected_file_refuses_all(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.access
    # The superuser, who may run this, may write everything.
    with monkeypatch.context() as denied:
        denied.setattr(os, "access", lambda name, how, **more: name != "b.py" and real(name, how, **more))
        error = await refused(session)
    assert (error.kind, "b.py" in error.message) == ("permission_denied", True)
    assert store(session).get("e1") is not None
    assert (await resolve(session))["applied"]


async def test_torn_bytes_are_never_written(session: Session) -> None:
    path = store(session).folder / "e1.bytes"
    data = bytearray(path.read_bytes())
    # In the last file: the others were read before it.
    data[-2] ^= 1
    path.write_bytes(data)
    error = await refused(session)
    assert (error.kind, error.data["editId"]) == ("unknown_edit", "e1")


async def test_a_commit_whose_caller_gives_up_counts_where_it_was_made(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, begun = commit.commit, asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow(*args: Any) -> Any:
        made = real(*args)
        loop.call_soon_threadsafe(begun.set)
        return made

    monkeypatch.setattr(commit, "commit", slow)
    task = asyncio.create_task(resolve(session))
    await asyncio.wait_for(begun.wait(), 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert session.root is not None
    assert {path.read_bytes() for path in session.root.iterdir()} == {b"new()\n"}
    assert store(session).what_became("e1") == "was committed"


async def test_a_commit_whose_caller_gives_up_before_it_leaves_it_staged(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cancelled(*_args: Any) -> Any:
        raise asyncio.CancelledError

    monkeypatch.setattr(commit, "commit", cancelled)
    with pytest.raises(asyncio.CancelledError):
        await resolve(session)
    assert store(session).get("e1") is not None


async def test_what_cannot_be_noted_is_said_and_is_not_written_twice(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_args: Any) -> Any:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as stubborn:
        stubborn.setattr("ombud.structural.staging.Staging.settle", full)
        result = await resolve(session)
        assert result["applied"]
        assert "e1 is still listed" in result["message"]
        assert result["remaining"] == list(OLD)
        error = await refused(session, action="discard")
        assert error.kind == "write_failed"
    error = await refused(session)
    assert (error.kind, error.data["paths"]) == ("file_changed", list(OLD))
    assert "holds the staged text already" in error.message
    assert (await resolve(session, action="discard"))["discarded"] == list(OLD)


async def test_a_folder_that_left_the_workspace_is_refused(session: Session, tmp_path: Path) -> None:
    other = tmp_path.resolve() / "other"
    other.mkdir()
    (other / "d.py").write_text("old()\n")
    assert session.root is not None
    first = Change(session.root, session.root / "a.py", "a.py", OLD["a.py"], b"new()\n")
    second = Change(other, other / "d.py", str(other / "d.py"), b"old()\n", b"new()\n")
    store(session).add([first, second], session="s", client="c", summary="", request=b"{}")
    error = await refused(session, editId="e2")
    assert error.kind == "outside_workspace"
    session.set_folders([session.root, other])
    assert (await resolve(session, editId="e2"))["applied"]
    assert (other / "d.py").read_text() == "new()\n"


async def test_a_restage_of_what_another_version_staged_says_so(session: Session) -> None:
    head, _ = store(session).add([], session="s", client="c", summary="", request=b'{"unknown": 1}')
    with pytest.raises(OmbudError) as raised:
        await registry.call(session, "restage", {"editId": head.id})
    assert raised.value.kind == "unknown_edit"
    assert "ast_edit" in raised.value.message


@pytest.mark.parametrize(
    ("old", "new", "wanted", "made"),
    [
        # What the rewrite has not touched stays, however the formatter wants it.
        ("a  =  1\nf(1)\n", "a  =  1\ng( 1 )\n", "a = 1\ng(1)\n", "a  =  1\ng(1)\n"),
        ("f(1)\n\n\n\nb  = 2\n", "g(1,2)\n\n\n\nb  = 2\n", "g(1, 2)\n\nb = 2\n", "g(1, 2)\n\n\n\nb  = 2\n"),
        ("f(1)\nx\n", "g(1,\n2)\nx\n", "g(1, 2)\nx\n", "g(1, 2)\nx\n"),
        ("f(1)\r\nx  = 1\r\n", "g( 1)\r\nx  = 1\r\n", "g(1)\r\nx = 1\r\n", "g(1)\r\nx  = 1\r\n"),
        ("f(1)\nx\n", "x\n", "x \n", "x\n"),
        ("", "f( )", "f()", "f()"),
    ],
)
def test_only_lines_that_the_rewrite_changed_are_formatted(old: str, new: str, wanted: str, made: str) -> None:
    assert near(old, new, wanted) == made


def test_ops_take_what_they_have_not_from_the_call() -> None:
    found = registry.parse(
        registry.operation("ast_edit"),
        {
            "ops": [
                {"pattern": "f($X)", "rewrite": "g($X)"},
                {"pattern": "h($Y)", "rewrite": "", "where": {"Y": {"regex": "b"}}, "addImports": ["import own"]},
            ],
            "where": {"X": {"regex": "a"}},
            "inside": "class $C: $$$",
            "addImports": ["import g"],
        },
    )
    first, second = operations(found)  # type: ignore[arg-type]
    assert (first.query.where["X"].regex, first.query.inside) == ("a", "class $C: $$$")
    assert (list(second.query.where), second.query.inside) == (["Y"], "class $C: $$$")
    assert (first.add_imports, second.add_imports) == (["import g"], ["import g", "import own"])
