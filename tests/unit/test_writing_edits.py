"""A server's WorkspaceEdit worked out: in order, whole or not at all (C4, C5), compared with an editor's own way."""

from __future__ import annotations

import random
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ombud.errors import OmbudError, PeerError, Refused
from ombud.guard.fence import Fence
from ombud.guard.sensitive import SensitivePaths
from ombud.guard.uris import same_uri_key
from ombud.operations.hub import Hub
from ombud.operations.writing.edits import decoded, shown, tidy, worked_out
from ombud.workspace.commit import commit

from tests.edits import NotApplicable, apply_operation, operations

Json = dict[str, Any]


@dataclass(frozen=True)
class Owner:
    """An editor, as far as messages need one."""

    client: Any = field(default_factory=lambda: SimpleNamespace(name="an editor"), hash=False)


class Bench:
    """A workspace, and a session as far as edits need one: a fence, and a hub with its documents."""

    def __init__(self, root: Path, files: Mapping[str, bytes | None]) -> None:
        self.root = root
        for name, data in files.items():
            path = root / name
            if data is None:
                path.mkdir(parents=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        self.hub = Hub()
        self.session: Any = SimpleNamespace(fence=Fence([root], SensitivePaths((), ())), hub=self.hub)

    def uri(self, name: str) -> str:
        return name if ":" in name else (self.root / name).as_uri()

    def edit(self, *changes: Json) -> Json:
        return {"documentChanges": list(changes)}

    def text(self, name: str, *edits: Json, version: int | None = None) -> Json:
        return {"textDocument": {"uri": self.uri(name), "version": version}, "edits": list(edits)}

    def create(self, name: str, **options: bool) -> Json:
        return {"kind": "create", "uri": self.uri(name), "options": options}

    def rename(self, old: str, new: str, **options: bool) -> Json:
        return {"kind": "rename", "oldUri": self.uri(old), "newUri": self.uri(new), "options": options}

    def delete(self, name: str, **options: bool) -> Json:
        return {"kind": "delete", "uri": self.uri(name), "options": options}

    async def apply(self, edit: Json, asked: Any = None) -> dict[str, str]:
        """Work it out and commit it; path → kind of what was done."""
        async with worked_out(self.session, edit, "one", asked) as worked:
            changes = [edition.change for edition in worked.editions]
            if changes:
                commit(self.session.fence, changes, self.journal)
            tidy(self.session.fence, worked.folders)
            return {edition.target.relative: edition.kind for edition in worked.editions}

    @property
    def journal(self) -> Path:
        folder = self.root.parent / "journal"
        folder.mkdir(exist_ok=True)
        return folder

    def files(self) -> dict[str, bytes]:
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file()
        }

    async def refused(self, edit: Json, asked: Any = None) -> OmbudError:
        """The refusal of an edit that leaves everything as it was."""
        before = self.files()
        with pytest.raises(OmbudError) as caught:
            await self.apply(edit, asked)
        assert self.files() == before
        assert len(caught.value.message) > 20 and caught.value.message[-1] in ".)?", caught.value.message
        return caught.value


@pytest.fixture
def bench(tmp_path: Path) -> Any:
    def make(**files: bytes | None) -> Bench:
        root = tmp_path / "ws"
        root.mkdir()
        return Bench(root.resolve(), {name.replace("__", "/").replace("_", "."): data for name, data in files.items()})

    return make


def put(text: str, line: int = 0, start: int = 0, end: int | None = None, last: int | None = None) -> Json:
    stop = {"line": line if last is None else last, "character": start if end is None else end}
    return {"range": {"start": {"line": line, "character": start}, "end": stop}, "newText": text}


# -- in order (C5) ----------------------------------------------------------------------------------------------------

CASES: dict[str, tuple[Any, dict[str, bytes], dict[str, str]]] = {
    "an edit": (
        lambda b: b.edit(b.text("a.x", put("A", 0, 0, 1))),
        {"a.x": b"Ane\n", "b.x": b"two\n"},
        {"a.x": "modify"},
    ),
    "an edit, then a rename": (
        lambda b: b.edit(b.text("a.x", put("A", 0, 0, 1)), b.rename("a.x", "n.x")),
        {"n.x": b"Ane\n", "b.x": b"two\n"},
        {"n.x": "rename"},
    ),
    "a rename, then an edit": (
        lambda b: b.edit(b.rename("a.x", "d/n.x"), b.text("d/n.x", put("A", 0, 0, 1))),
        {"d/n.x": b"Ane\n", "b.x": b"two\n"},
        {"d/n.x": "rename"},
    ),
    "an edit before and after a rename": (
        lambda b: b.edit(b.text("a.x", put("long ", 0, 0)), b.rename("a.x", "n.x"), b.text("n.x", put("S", 0, 0, 5))),
        {"n.x": b"Sone\n", "b.x": b"two\n"},
        {"n.x": "rename"},
    ),
    "a new file, filled": (
        lambda b: b.edit(b.create("n.x"), b.text("n.x", put("new\n"))),
        {"a.x": b"one\n", "b.x": b"two\n", "n.x": b"new\n"},
        {"n.x": "create"},
    ),
    "a new file that moves": (
        lambda b: b.edit(b.create("n.x"), b.text("n.x", put("new\n")), b.rename("n.x", "m.x")),
        {"a.x": b"one\n", "b.x": b"two\n", "m.x": b"new\n"},
        {"m.x": "create"},
    ),
    "a new file that goes": (
        lambda b: b.edit(b.create("n.x"), b.delete("n.x")),
        {"a.x": b"one\n", "b.x": b"two\n"},
        {},
    ),
    "another file in a deleted one's place": (
        lambda b: b.edit(b.delete("a.x"), b.create("a.x"), b.text("a.x", put("again\n"))),
        {"a.x": b"again\n", "b.x": b"two\n"},
        {"a.x": "modify"},
    ),
    "deleted and made the same": (
        lambda b: b.edit(b.delete("a.x"), b.create("a.x"), b.text("a.x", put("one\n"))),
        {"a.x": b"one\n", "b.x": b"two\n"},
        {},
    ),
    "there and back": (
        lambda b: b.edit(b.rename("a.x", "t.x"), b.rename("t.x", "a.x")),
        {"a.x": b"one\n", "b.x": b"two\n"},
        {},
    ),
    "two files that change places": (
        lambda b: b.edit(b.rename("a.x", "t.x"), b.rename("b.x", "a.x"), b.rename("t.x", "b.x")),
        {"a.x": b"two\n", "b.x": b"one\n"},
        {"a.x": "modify", "b.x": "modify"},
    ),
    "a chain of renames": (
        lambda b: b.edit(b.rename("b.x", "c.x"), b.rename("a.x", "b.x")),
        {"b.x": b"one\n", "c.x": b"two\n"},
        {"a.x": "delete", "b.x": "modify", "c.x": "create"},
    ),
    "a rename over a file": (
        lambda b: b.edit(b.rename("a.x", "b.x", overwrite=True)),
        {"b.x": b"one\n"},
        {"a.x": "delete", "b.x": "modify"},
    ),
    "a rename left out for a file": (
        lambda b: b.edit(b.rename("a.x", "b.x", ignoreIfExists=True), b.text("a.x", put("A", 0, 0, 1))),
        {"a.x": b"Ane\n", "b.x": b"two\n"},
        {"a.x": "modify"},
    ),
    "overwriting wins": (
        lambda b: b.edit(b.create("a.x", overwrite=True, ignoreIfExists=True), b.text("a.x", put("new\n"))),
        {"a.x": b"new\n", "b.x": b"two\n"},
        {"a.x": "modify"},
    ),
    "a creation left out": (
        lambda b: b.edit(b.create("a.x", ignoreIfExists=True)),
        {"a.x": b"one\n", "b.x": b"two\n"},
        {},
    ),
    "a deletion left out": (
        lambda b: b.edit(b.delete("n.x", ignoreIfNotExists=True), b.delete("b.x")),
        {"a.x": b"one\n"},
        {"b.x": "delete"},
    ),
    "edits of one version in two parts": (
        lambda b: b.edit(b.text("a.x", put("<", 0, 0)), b.text("a.x", put(">", 0, 3))),
        {"a.x": b"<one>\n", "b.x": b"two\n"},
        {"a.x": "modify"},
    ),
    "changes, as older servers answer": (
        lambda b: {"changes": {b.uri("a.x"): [put("A", 0, 0, 1)], b.uri("b.x"): [put("B", 0, 0, 1)]}},
        {"a.x": b"Ane\n", "b.x": b"Bwo\n"},
        {"a.x": "modify", "b.x": "modify"},
    ),
    "documentChanges before changes": (
        lambda b: {**b.edit(b.text("a.x", put("A", 0, 0, 1))), "changes": {b.uri("b.x"): [put("B")]}},
        {"a.x": b"Ane\n", "b.x": b"two\n"},
        {"a.x": "modify"},
    ),
    "nothing": (lambda b: {}, {"a.x": b"one\n", "b.x": b"two\n"}, {}),
}


@pytest.mark.parametrize("name", CASES)
async def test_C5_operations_are_carried_out_in_order(bench: Any, name: str) -> None:
    edit, after, kinds = CASES[name]
    b = bench(a_x=b"one\n", b_x=b"two\n")
    assert await b.apply(edit(b)) == kinds
    assert b.files() == after


async def test_C5_any_order_is_what_an_editor_makes_of_it(tmp_path: Path) -> None:
    """Random operations, against the tests' own editor, which carries each of them out on the disk at once."""
    done = 0
    for seed in range(150):
        rng = random.Random(seed)
        names = ["a.x", "b.x", "d/c.x", "d/e.x", "n.x"]
        files = {name: f"{name}\r\nline\n".encode() for name in names[:4] if rng.random() < 0.8}
        roots = [tmp_path / f"{side}{seed}" for side in ("ours", "theirs")]
        for root in roots:
            root.mkdir()
        b, other = (Bench(root, files) for root in roots)
        wished = [_random(rng, names) for _ in range(rng.randint(1, 6))]
        try:
            for change in operations(other.edit(*(make(other) for make in wished))):
                apply_operation(change, lambda _: None, lambda _, __: None)
        except (OSError, NotApplicable):
            # An editor stops half-way there. What can never be done must leave everything as it was.
            await b.refused(b.edit(*(make(b) for make in wished)))
            continue
        await b.apply(b.edit(*(make(b) for make in wished)))
        assert b.files() == other.files(), seed
        done += 1
    assert done > 40


def _random(rng: random.Random, names: list[str]) -> Any:
    one, two = rng.sample(names, 2)
    options = rng.choice([{}, {"overwrite": True}, {"ignoreIfExists": True}])
    return rng.choice(
        [
            lambda b: b.create(one, **options),
            lambda b: b.rename(one, two, **options),
            lambda b: b.rename(one, two, **options),
            lambda b: b.delete(one, ignoreIfNotExists="ignoreIfExists" in options),
        ]
    )


async def test_C5_folders_move_and_go_with_all_that_is_in_them(bench: Any) -> None:
    files = {"d__a_x": b"one\n", "d__e__b_x": b"two\n", "d__e__pic_bin": b"\0\1", "k_x": b"keep\n"}
    b = bench(**files)
    (b.root / "d" / "a.x").chmod(0o750)
    edit = b.edit(b.text("d/a.x", put("A", 0, 0, 1)), b.rename("d", "f/g"), b.text("f/g/e/b.x", put("T", 0, 0, 1)))
    kinds = await b.apply(edit)
    assert set(kinds.values()) == {"rename"}
    assert b.files() == {"f/g/a.x": b"Ane\n", "f/g/e/b.x": b"Two\n", "f/g/e/pic.bin": b"\0\1", "k.x": b"keep\n"}
    assert not (b.root / "d").exists()
    assert stat.S_IMODE((b.root / "f/g/a.x").stat().st_mode) == 0o750
    assert (await b.refused(b.edit(b.delete("f")))).kind == "conflict"
    assert await b.apply(b.edit(b.delete("f", recursive=True)))
    assert b.files() == {"k.x": b"keep\n"}
    assert not (b.root / "f").exists()


# -- refused whole ----------------------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[Any, str]] = {
    "a file outside": (lambda b: b.text("../out.x", put("A")), "outside_workspace"),
    "a new file outside": (lambda b: b.create("../new.x"), "outside_workspace"),
    "a move to the outside": (lambda b: b.rename("b.x", "../b.x"), "outside_workspace"),
    "another scheme": (lambda b: b.text("untitled:Untitled-1", put("A")), "outside_workspace"),
    "a secret": (lambda b: b.text(".env", put("A=1\n")), "sensitive_path"),
    "a file that becomes a secret": (lambda b: b.rename("b.x", ".git/config"), "sensitive_path"),
    "a file that is not there": (lambda b: b.text("no.x", put("A")), "not_found"),
    "a folder as a file": (lambda b: b.text("d", put("A")), "not_found"),
    "a binary file": (lambda b: b.text("d/pic.bin", put("A")), "not_text"),
    "a rename of nothing": (lambda b: b.rename("no.x", "n.x"), "not_found"),
    "a deletion of nothing": (lambda b: b.delete("no.x"), "not_found"),
    "a full folder": (lambda b: b.delete("d"), "conflict"),
    "a folder into itself": (lambda b: b.rename("d", "d/e"), "conflict"),
    "a file in the way": (lambda b: b.rename("a.x", "b.x"), "conflict"),
    "a file in a new one's way": (lambda b: b.create("b.x"), "conflict"),
    "a folder in the way": (lambda b: b.create("d", overwrite=True), "conflict"),
    "the workspace itself": (lambda b: b.delete("", recursive=True), "outside_workspace"),
    "a link": (lambda b: b.delete("link.x"), "conflict"),
    "overlapping edits": (lambda b: b.text("b.x", put("", 0, 0, 2), put("", 0, 1, 3)), "server_failed"),
    "a version of a file that nobody has open": (lambda b: b.text("b.x", put("A"), version=7), "conflict"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_C4_one_bad_operation_refuses_the_whole_edit(bench: Any, name: str) -> None:
    make, kind = REFUSED[name]
    b = bench(a_x=b"one\n", b_x=b"two\n", d__pic_bin=b"\0\1")
    (b.root.parent / "out.x").write_text("out\n")
    (b.root / ".env").write_text("KEY=1\n")
    (b.root / "link.x").symlink_to(b.root / "a.x")
    error = await b.refused(b.edit(b.text("a.x", put("A", 0, 0, 1)), make(b)))
    assert error.kind == kind
    assert (b.root.parent / "out.x").read_text() == "out\n"
    assert not (b.root.parent / "new.x").exists()


@pytest.mark.parametrize(
    "edit",
    [
        [],
        "edit",
        {"documentChanges": "all"},
        {"documentChanges": [{"kind": "chmod", "uri": "file:///a"}]},
        {"documentChanges": [{"kind": "rename", "oldUri": "file:///a"}]},
        {"documentChanges": [{"textDocument": {"uri": "file:///a", "version": None}, "edits": [{"newText": "x"}]}]},
        {"changes": {"file:///a": [put("x", -1)]}},
        {"changes": {"file:///a": [{**put("x"), "newText": None}]}},
        {"changes": {"file:///a": [{**put("${1:x}"), "insertTextFormat": 2}]}},
        {"changes": {"file:///a": [{"range": put("")["range"], "snippet": {"kind": "snippet", "value": "$0"}}]}},
    ],
)
def test_what_is_no_edit_is_the_servers_failure(edit: Any) -> None:
    with pytest.raises(PeerError) as caught:
        decoded(edit, "one")
    assert caught.value.kind == "server_failed"
    assert "one" in caught.value.message


def test_what_a_server_wants_confirmed_is_told() -> None:
    edit = {
        "changes": {"file:///a": [{**put("x"), "annotationId": "1"}, {**put("y"), "annotationId": "2"}]},
        "changeAnnotations": {"1": {"label": "in strings", "needsConfirmation": True}, "2": {"label": "plain"}},
    }
    assert decoded(edit, "one").unconfirmed == ("in strings",)


# -- versions (C4) ----------------------------------------------------------------------------------------------------


async def test_C4_an_edit_is_one_of_the_text_that_is_shown(bench: Any) -> None:
    b = bench(a_x=b"one\n", b_x=b"two\n")
    path = b.root / "a.x"
    document = b.hub.documents.pin(b.uri("a.x"), path, "x", "one\n")
    asked = shown(b.session)
    assert same_uri_key(b.uri("a.x")) in asked
    fine = b.text("a.x", put("A", 0, 0, 1), version=document.version)
    for stale in (document.version + 1, document.version - 1 or 99):
        edit = b.edit(b.text("b.x", put("B")), b.text("a.x", put("A", 0, 0, 1), version=stale))
        assert (await b.refused(edit, asked)).kind == "conflict"
    # The disk has moved on and nobody has told the servers.
    path.write_bytes(b"zero\none\n")
    assert (await b.refused(b.edit(fine), asked)).kind == "file_changed"
    # The servers know, but were asked before that.
    b.hub.documents.replace(document, "zero\none\n")
    for version in (None, asked[document.key][0]):
        edit = b.edit(b.text("a.x", put("A", 0, 0, 1), version=version))
        assert (await b.refused(edit, asked)).kind == "conflict"
    edit = b.edit(b.text("a.x", put("A", 1, 0, 1), version=document.version))
    assert await b.apply(edit, shown(b.session)) == {"a.x": "modify"}
    assert path.read_bytes() == b"zero\nAne\n"


async def test_an_unsaved_buffer_refuses_the_edit_and_names_its_client(bench: Any) -> None:
    b = bench(a_x=b"one\n")
    b.hub.documents.open(Owner(), b.uri("a.x"), b.root / "a.x", "x", 3, "one and more\n")
    for version in (None, b.hub.documents.get(b.uri("a.x")).version):
        error = await b.refused(b.edit(b.text("a.x", put("A"), version=version)), shown(b.session))
        assert (error.kind, error.data["clients"]) == ("conflict", ["an editor"])


# -- bytes (C6) -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"\xef\xbb\xbfone\r\ntwo\r\n", b"\xef\xbb\xbfone\r\nnew\r\nline\r\ntwo\r\n"),
        ("one\ntwo\n".encode("utf-16"), "one\nnew\nline\ntwo\n".encode("utf-16")),
        (b"caf\xe9\n\xff\n", b"caf\xe9\nnew\nline\n\xff\n"),
        (b"one\rtwo", b"one\rnew\rline\rtwo"),
    ],
)
async def test_C6_encoding_and_line_ends_are_the_files_own(bench: Any, before: bytes, after: bytes) -> None:
    b = bench(a_x=before)
    await b.apply(b.edit(b.text("a.x", put("new\nline\n", 1, 0))))
    assert b.files() == {"a.x": after}


async def test_positions_count_utf16_units(bench: Any) -> None:
    b = bench(a_x="x = '\U0001f600'; y\n".encode())
    await b.apply(b.edit(b.text("a.x", put("z", 0, 10, 11))))
    assert b.files() == {"a.x": "x = '\U0001f600'; z\n".encode()}


async def test_a_file_is_one_under_all_its_names(bench: Any) -> None:
    b = bench(a_x=b"one\n")
    (b.root / "link.x").symlink_to(b.root / "a.x")
    assert await b.apply(b.edit(b.text("a.x", put("<")), b.text("link.x", put(">", 0, 3)))) == {"a.x": "modify"}
    assert b.files()["a.x"] == b"<one>\n"
    assert (b.root / "link.x").is_symlink()


async def test_a_binary_file_changes_places_with_nobody(bench: Any) -> None:
    b = bench(a_x=b"one\n", pic_bin=b"\0\1")
    assert await b.apply(b.edit(b.rename("pic.bin", "p.bin"))) == {"p.bin": "rename"}
    error = await b.refused(b.edit(b.rename("p.bin", "a.x", overwrite=True)))
    assert isinstance(error, Refused) and error.kind == "not_text"
