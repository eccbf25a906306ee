"""Row C7: what a server makes of a file that parses must parse, in every way in which a server's edit comes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.client import Client
from tests.commits import portrait
from tests.conftest import OmbudFactory, Workspace
from tests.peers.road import entry, failure, serving
from tests.peers.script import Script
from tests.peers.ways import WRITING, Answer, Way, Wish, uri_of
from tests.profiles import AGENT

Json = dict[str, Any]

TRIGGER = "trigger.x"
PLACE = {"path": TRIGGER, "line": 1, "symbol": "trigger"}
BASE = {"x.toml": "", TRIGGER: "trigger\n"}
MOVES = {"workspace": {"fileOperations": {"willRename": {"filters": [{"pattern": {"glob": "**/*"}}]}}}}
EXTENSIONS = [".x", ".py", ".tsx", ".ts", ".vue", ".yaml"]

TSX = """export const A = () => (
  <ul>
    {items.map((one) => (
      <li key={one.id}>{one.open ? <b>{one.name}</b> : <i/>}</li>
    ))}
  </ul>
);
"""
PY = "def f():\n    x = 1\n    return x\n"


def replaced(root: Path, path: str, old: str, new: str) -> Json:
    """The change of a whole file's text."""
    end = {"line": old.count("\n"), "character": 0}
    edits = [{"range": {"start": {"line": 0, "character": 0}, "end": end}, "newText": new}]
    return {"textDocument": {"uri": uri_of(root, path), "version": None}, "edits": edits}


async def _action(client: Client, _root: Path, _wish: Wish, more: Json) -> Any:
    return await client.request("ombud/lsp", {"action": "code_actions", **PLACE, "apply": "do it", **more})


async def _command(client: Client, _root: Path, _wish: Wish, more: Json) -> Any:
    return await client.request("ombud/lsp", {"action": "code_actions", **PLACE, "apply": "run it", **more})


async def _unasked(client: Client, root: Path, wish: Wish, _more: Json) -> Any:
    params = {"command": "one.applyEdit", "arguments": [{"documentChanges": [replaced_of(root, wish)]}]}
    return await client.request("workspace/executeCommand", params)


async def _rename(client: Client, _root: Path, _wish: Wish, more: Json) -> Any:
    return await client.request("ombud/rename", {**PLACE, "newName": "other", **more})


async def _move(client: Client, _root: Path, _wish: Wish, more: Json) -> Any:
    return await client.request("ombud/rename", {"path": TRIGGER, "newPath": "moved.x", **more})


def replaced_of(root: Path, wish: Wish) -> Json:
    return replaced(root, wish.path, wish.old or "", wish.new)


def _any(_wish: Wish) -> bool:
    return True


WAYS = [
    Way("code action", _any, _action),
    Way("command of a code action", _any, _command, previews=False),
    Way("applyEdit", _any, _unasked, previews=False),
    Way("rename", _any, _rename),
    Way("move with its imports", _any, _move),
]


def making(root: Path, wishes: Sequence[Wish], *, before: Sequence[Json] = ()) -> Json:
    """The entry of a server that makes one edit of all the wishes, whatever it is asked for."""
    edit = {"documentChanges": [*before, *(replaced_of(root, wish) for wish in wishes)]}
    command = {"title": "run it", "command": "one.applyEdit", "arguments": [edit]}
    answers = {
        "textDocument/codeAction": [
            {"title": "do it", "kind": "quickfix", "edit": edit},
            {"title": "run it", "kind": "quickfix", "command": command},
        ],
        "textDocument/rename": edit,
        "workspace/willRenameFiles": edit,
    }
    capabilities = {"codeActionProvider": True, **MOVES}
    return entry(Script("one", capabilities=capabilities, answers=answers), extensions=EXTENSIONS)


async def asked(
    ombud: OmbudFactory, root: Path, wish: Wish, server: Json, ways: Sequence[Way] = WAYS
) -> AsyncIterator[tuple[Way, Answer]]:
    """What becomes of it in each way, with the files as they were before."""
    before = portrait(root)
    async with serving(ombud, root, {"one": server}, capabilities=AGENT) as client:
        await client.request("ombud/lsp", {"action": "symbols", "path": TRIGGER})
        for way in ways:
            answer = await way.ask(client, root, wish)
            yield way, answer
            if answer.done:
                newest = (await client.request("ombud/checkpoints", {}))["checkpoints"][0]
                await client.request("ombud/rollback", {"checkpoint": newest["checkpoint"]})
            assert portrait(root) == before, way.name


@dataclass(frozen=True)
class Case:
    """A wish that breaks a file, and the line of its error."""

    path: str
    old: str
    new: str
    line: int
    encode: Callable[[str], bytes] = field(default=str.encode)


CASES = {
    "an end of nested TSX is lost": Case("a.tsx", TSX, TSX.replace("</li>", ""), 5),
    "a brace of nested TSX is lost": Case("a.tsx", TSX, TSX.replace("<i/>}", "<i/>"), 4),
    "a template string is left open": Case("a.ts", "f(`a ${b}`);\nf();\n", "f(`a ${b}`);\nf(`${);\n", 2),
    "Python is unindented": Case("a.py", PY, PY.replace("    return", "  return"), 3),
    "a body stands in the head": Case("a.py", PY, PY.replace("f():", "f(\n    return 2\n):"), 2),
    "CRLF, a byte order mark and UTF-16": Case(
        "a.py",
        PY.replace("\n", "\r\n"),
        PY.replace("return", "  return").replace("\n", "\r\n"),
        3,
        lambda text: b"\xff\xfe" + text.encode("utf-16-le"),
    ),
}


@pytest.mark.parametrize("name", CASES)
async def test_C7_a_servers_edit_that_breaks_the_syntax_is_refused_whole(
    ombud: OmbudFactory, workspace: Workspace, name: str
) -> None:
    case = CASES[name]
    root = workspace({**BASE, "first.py": "x = 1\n", case.path: case.encode(case.old)})
    wishes = [Wish("first.py", "x = 1\n", "x = 2\n"), Wish(case.path, case.old, case.new)]
    # What comes unasked is one file here.
    async for way, answer in asked(ombud, root, wishes[1], making(root, wishes)):
        assert answer.kind in ("conflict", "refused"), (way.name, answer)
        for word in ("edit of one", f"{case.path} parses", f"line {case.line} "):
            assert word in answer.said, (way.name, word, answer)


@pytest.mark.parametrize("way", [way for way in WAYS if way.previews], ids=lambda way: way.name)
async def test_C7_the_refusal_says_where_and_what_to_do_and_a_preview_says_the_same(
    ombud: OmbudFactory, workspace: Workspace, way: Way
) -> None:
    root = workspace({**BASE, "a.py": PY, "b.tsx": TSX})
    before = portrait(root)
    wishes = [Wish("a.py", PY, PY + "  )\n"), Wish("b.tsx", TSX, TSX.replace("</li>", ""))]
    methods = {"code action": "ombud/lsp", "rename": "ombud/rename", "move with its imports": "ombud/rename"}
    params = {
        "code action": {"action": "code_actions", **PLACE, "apply": "do it"},
        "rename": {**PLACE, "newName": "other"},
        "move with its imports": {"path": TRIGGER, "newPath": "moved.x"},
    }[way.name]
    async with serving(ombud, root, {"one": making(root, wishes)}, capabilities=AGENT) as client:
        for preview in (False, True):
            sent = client.start_request(methods[way.name], {**params, "preview": preview})
            error = await failure(sent, client)
            assert (error.kind, error.data["server"], error.data["path"]) == ("conflict", "one", "a.py")
            assert error.data["places"] == [{"path": "a.py", "line": 4}, {"path": "b.tsx", "line": 5}]
            assert error.data["line"] == 4 and "1 more" in error.message and "apply_patch" in error.message
            assert portrait(root) == before
        # The advice can be followed.
        if way.name != "code action":
            told = await client.request(methods[way.name], {**params, "apply": False})
            assert {"a.py", "b.tsx"} <= {one["path"] for one in told["files"]}
        patch = f"--- a/a.py\n+++ b/a.py\n@@ -3 +3,2 @@\n{' ' + PY.splitlines()[2]}\n+  )\n"
        assert (await client.request("ombud/applyPatch", {"patch": patch}))["applied"] is True
        assert (root / "a.py").read_text() == PY + "  )\n"


PASSING = {
    "it had an error before": ("a.tsx", TSX.replace("</ul>", ""), TSX.replace("</ul>", "").replace("<i/>", "<")),
    "it is mended": ("a.tsx", TSX.replace("</ul>", ""), TSX),
    "a name is another": ("a.tsx", TSX, TSX.replace("items", "things")),
    "nobody can judge it": ("a.vue", "<template><a></a></template>\n", "<template><a></\n"),
    "nobody knows the language": ("a.x", "f(\n", "f((\n"),
    "the grammar does not know what is right": ("a.ts", "let x: B<A>;\n", 'let x: import("./b").B<A>;\n'),
}


@pytest.mark.parametrize("name", PASSING)
async def test_C7_other_edits_are_made(ombud: OmbudFactory, workspace: Workspace, name: str) -> None:
    path, old, new = PASSING[name]
    root = workspace({**BASE, path: old})
    async for way, answer in asked(ombud, root, Wish(path, old, new), making(root, [Wish(path, old, new)])):
        assert answer.done, (way.name, answer)
        assert (root / path).read_text() == new, way.name
        assert "not checked" not in answer.said, (way.name, answer)


async def test_C7_a_callers_own_words_are_written_as_they_are(ombud: OmbudFactory, workspace: Workspace) -> None:
    ways = [way for way in WRITING if way.name in ("write", "edit", "applyPatch")]
    assert len(ways) == 3
    root = workspace({**BASE, **{f"{way.name}/a.py": PY for way in ways}})
    async with serving(ombud, root, {}, capabilities=AGENT) as client:
        for way in ways:
            answer = await way.ask(client, root, Wish(f"{way.name}/a.py", PY, PY + "  )\n"))
            assert answer.done, (way.name, answer)
            assert (root / f"{way.name}/a.py").read_text() == PY + "  )\n"


FOLLOWING: dict[str, tuple[Callable[[Path], list[Json]], bool]] = {
    "edited, then renamed": (
        lambda root: [replaced(root, "a.py", PY, PY + "  )\n"), moved(root, "a.py", "b.py")],
        False,
    ),
    "renamed, then edited": (
        lambda root: [moved(root, "a.py", "b.py"), replaced(root, "b.py", PY, PY + "  )\n")],
        False,
    ),
    "overwritten": (
        lambda root: [created(root, "a.py", overwrite=True), replaced(root, "a.py", "", "def f(:\n")],
        False,
    ),
    "renamed to a kind that nobody knows": (
        lambda root: [moved(root, "a.py", "a.x"), replaced(root, "a.x", PY, PY + "  )\n")],
        False,
    ),
    "only renamed": (lambda root: [moved(root, "a.py", "b.tsx")], True),
    "deleted": (lambda root: [{"kind": "delete", "uri": uri_of(root, "a.py")}], True),
    "created": (lambda root: [created(root, "b.py"), replaced(root, "b.py", "", "def f(:\n")], True),
}


def moved(root: Path, old: str, new: str) -> Json:
    return {"kind": "rename", "oldUri": uri_of(root, old), "newUri": uri_of(root, new)}


def created(root: Path, path: str, **options: bool) -> Json:
    return {"kind": "create", "uri": uri_of(root, path), "options": options}


@pytest.mark.parametrize("name", FOLLOWING)
async def test_C7_what_is_left_of_a_file_in_the_end_is_what_counts(
    ombud: OmbudFactory, workspace: Workspace, name: str
) -> None:
    steps, done = FOLLOWING[name]
    root = workspace({**BASE, "a.py": PY})
    server = making(root, [], before=steps(root))
    async for _, answer in asked(ombud, root, Wish("a.py"), server, WAYS[:1]):
        assert answer.done == done, answer


async def test_C7_the_language_is_the_one_that_a_client_has_said(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({**BASE, "a.x": PY})
    wish = Wish("a.x", PY, PY + "  )\n")
    async with serving(ombud, root, {"one": making(root, [wish])}, capabilities=AGENT) as client:
        client.open("a.x", language="python")
        answer = await WAYS[0].ask(client, root, wish)
        assert answer.kind == "conflict" and "line 4 " in answer.said
        client.close("a.x")
        assert (await WAYS[0].ask(client, root, wish)).done


async def test_C7_a_text_that_cannot_be_parsed_is_written_and_told(ombud: OmbudFactory, workspace: Workspace) -> None:
    """YAML's parser crashes over it, which nobody but it may feel."""
    deep = "".join(" " * depth + "if a:\n" for depth in range(2000))
    root = workspace({**BASE, "a.yaml": deep + "# end\n", "b.py": PY})
    start = {"line": 2000, "character": 0}
    edits = [{"range": {"start": start, "end": start}, "newText": "# the "}]
    change = {"textDocument": {"uri": uri_of(root, "a.yaml"), "version": None}, "edits": edits}
    wish = Wish("b.py", PY, PY + "f()\n")
    async for _, answer in asked(ombud, root, wish, making(root, [wish], before=[change]), WAYS[:1]):
        assert answer.done, answer
        assert "was not checked for a.yaml (its parser failed)" in answer.said
        assert (root / "a.yaml").read_text() == deep + "# the # end\n"
        assert (root / "b.py").read_text() == wish.new


async def test_C7_nothing_of_a_check_is_left_running(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({**BASE, "a.py": PY})
    wish = Wish("a.py", PY, PY + "  )\n")
    async with serving(ombud, root, {"one": making(root, [wish])}, capabilities=AGENT) as client:
        await client.request("ombud/lsp", {"action": "symbols", "path": TRIGGER})
        family = psutil.Process(client.link.pid)
        before = {child.pid for child in family.children(recursive=True)}
        for way in WAYS:
            assert not (await way.ask(client, root, wish)).done
        assert {child.pid for child in family.children(recursive=True)} == before


async def test_C7_a_formatter_that_breaks_what_it_formats_is_refused(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({**BASE, "a.py": PY})
    end = {"line": 2, "character": 0}
    answers = {"textDocument/formatting": [{"range": {"start": end, "end": end}, "newText": "  "}]}
    server = entry(Script("one", answers=answers), extensions=EXTENSIONS)
    async with serving(ombud, root, {"one": server}, capabilities=AGENT) as client:
        params = {"path": "a.py", "content": PY + "f()\n", "format": True}
        error = await failure(client.start_request("ombud/write", params), client)
        assert (error.kind, error.data["server"], error.data["line"]) == ("conflict", "one", 3)
        assert "without format" in error.message
        assert (root / "a.py").read_text() == PY
        # A text that does not parse is formatted as well as may be.
        params["content"] = "def f(:\n    y\n    x\n"
        assert (await client.request("ombud/write", params))["applied"] is True
        assert (root / "a.py").read_text() == "def f(:\n    y\n      x\n"
