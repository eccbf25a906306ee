"""The store of staged rewrites: what it keeps, for how long, and what it says of what is gone."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from ombud.errors import Refused
from ombud.structural import staging
from ombud.structural.staging import Change, Staged, Staging


class Bench:
    """A workspace's store, and the short way to stage in it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "ws"
        self.store = Staging(folder / "state" / "staged" / "ws")

    def change(self, name: str, before: bytes = b"old\n", after: bytes = b"new\n") -> Change:
        return Change(self.root, self.root / name, name, before, after, 1, 1, 1)

    def add(self, *names: str, size: int = 0) -> Staged:
        return self.add_all([self.change(name, b"o" * (size or 3), b"n" * (size or 3)) for name in names])

    def add_all(self, changes: Sequence[Change]) -> Staged:
        return self.store.add(changes, session="s", client="tests", summary="old → new", request=b"{}")[0]

    def ids(self) -> list[str]:
        return [one.id for one in Staging(self.store.folder).all()]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_C1_another_process_reads_back_exactly_what_was_staged(bench: Bench) -> None:
    texts = [(b"", b"x"), (b"\xff\x00\xfe", b""), (b"a\r\n" * 5000, b"\xef\xbb\xbfb\r\n" * 5000)]
    changes = [bench.change(f"d/f{number}.py", *pair) for number, pair in enumerate(texts)]
    made = bench.add_all(changes)
    other = Staging(bench.store.folder)
    found = other.get(made.id)
    assert found == made
    assert [(before, after) for _, before, after in other.texts(found, found.files)] == texts
    assert [file.path for file in found.files] == [change.path for change in changes]
    assert next(other.texts(found, found.files[2:]))[1:] == texts[2]


def test_nobody_else_may_read_it(bench: Bench) -> None:
    bench.add("a.py")
    assert stat.S_IMODE(bench.store.folder.stat().st_mode) == 0o700
    assert {path.stat().st_mode & 0o077 for path in bench.store.folder.iterdir()} == {0}


def test_an_id_is_given_once_also_after_it_is_gone(bench: Bench) -> None:
    first, second = bench.add("a.py"), bench.add("b.py")
    assert (first.id, second.id) == ("e1", "e2")
    bench.store.drop(second.number, "was discarded")
    bench.store.drop(first.number, "was discarded")
    assert bench.add("a.py").id == "e3"
    assert bench.ids() == ["e3"]


def test_what_became_of_an_edit_is_remembered(bench: Bench) -> None:
    made = bench.add("a.py")
    bench.store.settle(made, made.files, "was committed as w1")
    assert bench.store.get("e1") is None
    assert bench.store.what_became("e1") == "was committed as w1"
    assert bench.store.what_became("e2") is None
    assert list(bench.store.folder.glob("e1.*")) == []


def test_files_are_settled_one_by_one_and_the_edit_goes_with_the_last(bench: Bench) -> None:
    made = bench.add("a.py", "b.py", "c.py")
    rest = bench.store.settle(made, made.files[1:2], "was committed")
    assert rest is not None
    assert [file.shown for file in rest.files] == ["a.py", "c.py"]
    # From what was read before: two who settle different files at once both count.
    rest = bench.store.settle(made, made.files[:1], "was committed")
    assert rest is not None
    assert [file.shown for file in rest.files] == ["c.py"]
    assert rest.settled == tuple(os.fsencode(bench.root / name) for name in ("b.py", "a.py"))
    assert bench.store.settle(rest, rest.files, "was discarded") is None
    assert bench.ids() == []


def test_edits_with_a_file_in_common_conflict(bench: Bench) -> None:
    first, second, third = bench.add("a.py", "b.py"), bench.add("b.py", "c.py"), bench.add("d.py")
    assert bench.store.conflicts(first) == ["e2"]
    assert bench.store.conflicts(second) == ["e1"]
    assert bench.store.conflicts(third) == []
    rest = bench.store.settle(first, first.files[1:], "was committed")
    assert rest is not None
    assert bench.store.conflicts(second) == []


def test_an_edit_expires_and_is_said_to_have(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.add("a.py")
    monkeypatch.setattr(staging, "TTL_SECONDS", 0.0)
    assert bench.store.get("e1") is None
    assert bench.ids() == []
    said = bench.store.what_became("e1")
    assert said is not None and said.startswith("has expired")
    assert [one.number for one in bench.store.gone()] == [1]
    # With the next edit it goes from the disk as well, and is still known.
    bench.add("b.py")
    assert not (bench.store.folder / "e1.staged").exists()
    assert (bench.store.what_became("e1") or "").startswith("has expired")
    assert [one.number for one in bench.store.gone()] == [1, 2]


@pytest.mark.parametrize(("limit", "value"), [("MOST_EDITS", 3), ("MOST_BYTES", 1000)])
def test_the_oldest_go_beyond_the_limits_but_never_the_newest(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(staging, limit, value)
    for number in range(6):
        bench.add(f"f{number}.py", size=150)
    assert bench.ids() == ["e4", "e5", "e6"]
    assert (bench.store.what_became("e1") or "").startswith("made room for newer ones")
    with pytest.raises(Refused) as refused:
        monkeypatch.setattr(staging, "MOST_BYTES", 10)
        bench.add("large.py", size=6)
    assert refused.value.kind == "too_large"
    monkeypatch.setattr(staging, "MOST_BYTES", 300)
    bench.add("large.py", size=150)
    assert bench.ids() == ["e7"]


def test_what_made_room_is_told_to_whom_it_made_room_for(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "MOST_EDITS", 1)
    bench.add("a.py")
    _, gone = bench.store.add([bench.change("b.py")], session="s", client="c", summary="", request=b"")
    assert [(one.number, one.why.split(":")[0]) for one in gone] == [(1, "made room for newer ones")]


@pytest.mark.parametrize("where", ["staged", "bytes", "cut", "gone"])
def test_torn_files_are_never_taken_for_what_was_staged(bench: Bench, where: str) -> None:
    made = bench.add("a.py")
    path = bench.store.folder / f"e1.{'bytes' if where in ('cut', 'gone') else where}"
    if where == "gone":
        path.unlink()
    elif where == "cut":
        path.write_bytes(path.read_bytes()[:-1])
    else:
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
    if where == "staged":
        assert bench.store.get("e1") is None
        assert bench.store.what_became("e1") == "is damaged, as by a power cut"
        assert bench.add("b.py").id == "e2"
        assert not path.exists()
        return
    with pytest.raises(Refused) as refused:
        list(bench.store.texts(made, made.files))
    assert (refused.value.kind, refused.value.data["editId"]) == ("unknown_edit", "e1")


def test_a_torn_memory_gives_no_id_twice_that_waits(bench: Bench) -> None:
    bench.add("a.py"), bench.add("b.py")
    (bench.store.folder / "gone").write_bytes(b"torn")
    assert bench.add("c.py").id == "e3"
    assert bench.ids() == ["e1", "e2", "e3"]


def test_what_a_process_that_died_left_behind_goes_with_the_next_edit(bench: Bench) -> None:
    bench.add("a.py")
    (bench.store.folder / "e9.bytes").write_bytes(b"no head")
    (bench.store.folder / "e2.staged.new").write_bytes(b"half")
    bench.add("b.py")
    assert sorted(path.name for path in bench.store.folder.iterdir() if path.name.startswith("e")) == [
        *("e1.bytes", "e1.staged", "e2.bytes", "e2.staged")
    ]


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.store.folder.parent.mkdir(parents=True)
    bench.store.folder.write_text("in the way")
    with pytest.raises(Refused) as refused:
        bench.add("a.py")
    assert refused.value.kind == "write_failed"
    assert str(bench.store.folder) in refused.value.message


@pytest.mark.parametrize("edit", ["", "e0", "e", "e01", "E1", "e1 ", "../e1", "e1\n", "e" + "9" * 40, "e1\0", "é1"])
def test_what_is_no_id_is_nobodys(bench: Bench, edit: str) -> None:
    bench.add("a.py")
    assert bench.store.get(edit) is None
    assert bench.store.what_became(edit) is None


def test_many_at_once_get_ids_of_their_own(bench: Bench) -> None:
    made: list[str] = []
    threads = [threading.Thread(target=lambda n=n: made.append(bench.add(f"f{n}.py").id)) for n in range(12)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert sorted(made) == sorted(f"e{number}" for number in range(1, 13))
    assert len(bench.ids()) == 12
