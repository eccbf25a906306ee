"""What was there before each write: what is kept of it, for how long, beside whom, and the way back over several."""

from __future__ import annotations

import errno
import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from ombud.errors import Refused
from ombud.workspace import checkpoints
from ombud.workspace.abandoned import recover, take_back
from ombud.workspace.checkpoints import Checkpoints
from ombud.workspace.commit import commit
from ombud.workspace.journal import GATE
from ombud.workspace.locks import lock
from ombud.workspace.pruning import Limits, prune
from ombud.workspace.record import unpack

from tests.commits import Counter, failing, interposed
from tests.keeping import Bench, ids


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path.resolve())


# -- what is kept


def test_a_checkpoint_names_the_state_before_and_what_was_left(bench: Bench) -> None:
    bench.scene.file("a.py", b"old\r\n", 0o755)
    made = bench.save("a.py", "new\n")
    (record,) = bench.store.records()
    (step,) = record.steps
    assert (record.id, made, record.session, record.summary) == ("c1", "c1", bench.store.session, "a write")
    assert step.path == bench.root / "a.py"
    assert step.before is not None and step.after is not None
    assert (step.before.mode, step.after.mode, step.after.size) == (0o755, 0o755, 4)
    assert bench.store.bytes_of(step.before.sha256) == b"old\r\n"
    assert abs(record.time - time.time()) < 60


def test_the_same_text_is_kept_once_and_nothing_is_for_others_to_read(bench: Bench) -> None:
    for name in ("a.py", "b.py"):
        bench.scene.file(name, b"the same\n")
        bench.save(name, "other\n")
    bench.save("a.py", "the same\n")
    bench.save("a.py", "another\n")
    assert bench.blobs() == {b"the same\n", b"other\n"}
    assert {path.name for path in bench.folder.rglob("*") if path.stat().st_mode & 0o077} == set()
    assert stat.S_IMODE(bench.folder.stat().st_mode) == 0o700


def test_a_write_that_failed_leaves_none(bench: Bench) -> None:
    bench.scene.file("a.py", b"old\n")
    change = bench.scene.modify("a.py", b"new\n")
    bench.store.begin([change], "a write").drop()
    assert bench.store.records() == []
    assert bench.save("a.py", "new\n") == "c2", "an id is never given twice"


def test_one_that_is_under_way_is_not_listed(bench: Bench) -> None:
    bench.scene.file("a.py", b"old\n")
    pending = bench.store.begin([bench.scene.modify("a.py", b"new\n")], "a write")
    assert bench.store.records() == []
    assert pending.done() == ("c1", None)
    assert ids(bench.store.records()) == ["c1"]


def test_what_changes_nothing_is_no_step(bench: Bench) -> None:
    bench.scene.file("a.py", b"same\n")
    bench.save("a.py", "same\n")
    assert [record.steps for record in bench.store.records()] == [()]


def test_names_that_are_no_text_are_kept(bench: Bench) -> None:
    name = os.fsdecode(b"b\xff\xfe.py")
    bench.scene.file(name, b"old\n")
    made = bench.save(name, "new\n")
    assert bench.back(made) == []
    assert (bench.root / name).read_bytes() == b"old\n"


@pytest.mark.parametrize("onwards", [False, True])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_C2_where_nothing_can_be_kept_the_write_goes_on_and_it_is_said(
    bench: Bench, number: int, onwards: bool
) -> None:
    """At whatever call it fails: the write is made, its answer has no id and the reason."""
    bench.scene.file("a.py", b"old\n")
    change = bench.scene.modify("a.py", b"new\n")
    counter = Counter(0, failing(number))
    bench.folder.mkdir(parents=True)
    with interposed(counter):
        Checkpoints(bench.folder / "other").begin([change], "a write")
    assert counter.count >= 4
    for at in range(1, counter.count + 1):
        store = Checkpoints(bench.folder / f"at{at}")
        with interposed(Counter(at, failing(number), onwards=onwards)):
            pending = store.begin([change], "a write")
        made, problem = pending.done()
        assert made is None
        assert problem is not None and os.strerror(number) in problem, f"at {counter.names[at - 1]}"
        assert store.records() == []
        left = list(store.folder.rglob("*.pending"))
        assert [unpack(path) for path in left] == ([None] * len(left) if onwards else [])
        # And once there is room again, all is well.
        assert store.begin([change], "a write").done()[0] is not None


# -- two at once


def test_two_ombuds_never_share_an_id(bench: Bench) -> None:
    bench.scene.file("a.py", b"old\n")
    change = bench.scene.modify("a.py", b"new\n")
    made: list[str | None] = []

    def work() -> None:
        store = Checkpoints(bench.folder)
        made.extend(store.begin([change], "a write").done()[0] for _ in range(40))
        store.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(int(one[1:]) for one in made if one) == list(range(1, 161))
    assert len(bench.store.records(lambda _record: True)) == 160


def test_nothing_is_changed_outside_of_the_gate(bench: Bench) -> None:
    """Whatever a process does to the folder, no other does anything to it meanwhile."""
    bench.scene.file("a.py", b"old\n")
    change = bench.scene.modify("a.py", b"new\n")
    bench.store.begin([change], "makes the folder").drop()
    alone: list[tuple[str, bool]] = []

    def look(name: str, real: Callable[..., object], args: tuple[object, ...], named: dict[str, object]) -> object:
        fd = os.open(bench.folder / GATE, os.O_RDWR)
        alone.append((name, not lock(fd, wait=False)))
        os.close(fd)
        return real(*args, **named)

    for blob in (bench.folder / "blobs").iterdir():
        blob.unlink()
    with interposed(Counter(1, look, onwards=True)):
        bench.store.begin([change], "a write")
        bench.store.open_transaction()
    assert {name for name, _ in alone} >= {"write", "replace", "open"}
    assert {held for _, held in alone} == {True}


def test_each_session_sees_its_own(bench: Bench) -> None:
    other = Checkpoints(bench.folder)
    bench.save("a.py", "one\n")
    bench.save("b.py", "two\n", store=other)
    bench.save("c.py", "three\n")
    assert ids(bench.store.records()) == ["c1", "c3"]
    assert ids(other.records()) == ["c2"]
    assert ids(other.records(lambda _record: True)) == ["c1", "c2", "c3"]


@pytest.mark.parametrize("content", [None, b"", b"x", b"0\n"])
def test_an_id_is_new_even_when_the_counter_is_lost(bench: Bench, content: bytes | None) -> None:
    bench.save("a.py", "1\n")
    bench.save("a.py", "2\n")
    counter = bench.folder / "counter"
    if content is None:
        counter.unlink()
    else:
        counter.write_bytes(content)
    assert bench.save("a.py", "3\n") == "c3"


def test_one_that_was_torn_is_no_checkpoint(bench: Bench) -> None:
    bench.save("a.py", "1\n")
    bench.save("a.py", "2\n")
    (torn,) = bench.folder.glob("c1.*")
    torn.write_bytes(torn.read_bytes()[:-1])
    assert ids(bench.store.records()) == ["c2"]


def test_damaged_bytes_are_not_brought_back(bench: Bench) -> None:
    bench.scene.file("a.py", b"old\n")
    made = bench.save("a.py", "new\n")
    for blob in (bench.folder / "blobs").iterdir():
        blob.write_bytes(b"0ld\n")
    assert bench.back(made) == ["a.py"]
    assert (bench.root / "a.py").read_bytes() == b"new\n"


# -- limits


def paths(folder: Path) -> list[str]:
    return sorted(
        (path.name for path in folder.glob("c*.*") if path.suffix != ".new"),
        key=lambda name: int(name[1 : name.index(".")]),
    )


def test_the_oldest_go_when_there_are_too_many(bench: Bench) -> None:
    for number in range(30):
        bench.save("a.py", f"{number}\n")
    prune(bench.folder, Limits(30, 1 << 20, 1e6))
    assert len(paths(bench.folder)) == 30
    prune(bench.folder, Limits(20, 1 << 20, 1e6))
    assert paths(bench.folder)[0] == "c13.checkpoint"
    assert len(paths(bench.folder)) == 18
    # c13 is the write of "12", which found "11".
    assert bench.blobs() == {f"{number}\n".encode() for number in range(11, 29)}


def test_the_oldest_go_when_they_hold_too_much(bench: Bench) -> None:
    for number in range(10):
        bench.save("a.py", f"{number}" * 1000)
    prune(bench.folder, Limits(500, 5000, 1e6))
    assert sum(map(len, bench.blobs())) <= 5000
    assert len(bench.blobs()) == 4
    assert paths(bench.folder)[-1] == "c10.checkpoint"


def test_what_two_checkpoints_need_stays_until_both_are_gone(bench: Bench) -> None:
    bench.scene.file("a.py", b"shared" * 100)
    bench.scene.file("b.py", b"shared" * 100)
    bench.save("a.py", "x")
    bench.save("b.py", "y")
    prune(bench.folder, Limits(1, 1 << 20, 1e6), newest=2)
    assert paths(bench.folder) == ["c2.checkpoint"]
    assert bench.blobs() == {b"shared" * 100}


def test_the_old_go_after_their_time(bench: Bench) -> None:
    for number in range(3):
        bench.save("a.py", f"{number}\n")
    for name in ("c1.checkpoint", "c2.checkpoint"):
        os.utime(bench.folder / name, (1, 1))
    prune(bench.folder, Limits(500, 1 << 20, 3600))
    assert paths(bench.folder) == ["c3.checkpoint"]


def test_an_open_transaction_keeps_its_way_back_whatever_it_needs(bench: Bench) -> None:
    bench.save("a.py", "before\n")
    bench.store.open_transaction()
    made = [bench.save("a.py", f"{number}\n") for number in range(6)]
    other = Checkpoints(bench.folder)
    last = bench.save("b.py", "of another session\n", store=other)
    prune(bench.folder, Limits(1, 1, 1e6), newest=int(last[1:]))
    assert ids(bench.store.since_begin()) == made
    assert all(
        bench.store.bytes_of(step.before.sha256)
        for one in bench.store.since_begin()
        for step in one.steps
        if step.before
    )
    bench.store.close_transaction()
    prune(bench.folder, Limits(1, 1, 1e6), newest=int(last[1:]))
    assert paths(bench.folder) == [f"{last}.checkpoint"]


def test_a_session_looks_at_the_limits_by_itself(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "LIMITS", Limits(10, 1 << 20, 1e6))
    for number in range(60):
        bench.save("a.py", f"{number}\n")
    assert len(paths(bench.folder)) <= 10 + checkpoints.LOOK_EVERY
    assert paths(bench.folder)[-1] == "c60.checkpoint"


# -- what is left behind


def test_a_transaction_that_is_left_is_taken_back_but_for_what_others_changed(bench: Bench) -> None:
    bench.scene.file("a.py", b"a\n")
    bench.scene.file("b.py", b"b\n")
    bench.save("c.py", "before the begin")
    bench.store.open_transaction()
    for name in ("a.py", "b.py", "n/new.py"):
        bench.save(name, "2")
    (bench.root / "b.py").write_text("theirs")
    taken = take_back(bench.store, bench.store.since_begin(), bench.scene.fence, bench.scene.journals)
    assert taken.left == ("b.py",)
    now = {name: path.read_text() for name in ("a.py", "b.py", "c.py") if (path := bench.root / name).exists()}
    assert now == {"a.py": "a\n", "b.py": "theirs", "c.py": "before the begin"}
    assert not (bench.root / "n").exists()
    (kept,) = [step for one in bench.store.since_begin() for step in one.steps if step.path.name == "b.py"]
    assert kept.before is not None
    assert bench.store.bytes_of(kept.before.sha256) == b"b\n"


def test_the_living_are_left_alone(bench: Bench) -> None:
    bench.scene.file("a.py", b"a\n")
    bench.store.open_transaction()
    bench.save("a.py", "2")
    pending = bench.store.begin([bench.scene.modify("a.py", b"3\n")], "under way")
    assert recover(bench.folder.parent, bench.scene.journals) == []
    assert (bench.root / "a.py").read_text() == "2"
    assert pending.done()[0] == "c3"


def dies(store: Checkpoints) -> None:
    """What the system does for a process that is killed: its locks go."""
    alive = store._alive
    assert alive is not None
    os.close(alive)


@pytest.mark.parametrize("landed", [True, False])
def test_a_write_whose_process_died_is_kept_if_it_was_made(bench: Bench, landed: bool) -> None:
    bench.scene.file("a.py", b"a\n")
    change = bench.scene.modify("a.py", b"2\n")
    bench.store.begin([change], "cut short")
    (bench.folder / "c7.pending").write_bytes(b"torn")
    if landed:
        commit(bench.scene.fence, [change], bench.scene.journals)
    dies(bench.store)
    assert recover(bench.folder.parent, bench.scene.journals) == []
    assert paths(bench.folder) == (["c1.checkpoint"] if landed else [])
    assert list((bench.folder / "sessions").iterdir()) == []
    assert (bench.root / "a.py").read_text() == ("2\n" if landed else "a\n"), "a plain write is not taken back"


def test_a_dead_transaction_waits_for_a_folder_that_is_away(bench: Bench) -> None:
    bench.scene.file("a.py", b"a\n")
    bench.store.open_transaction()
    bench.save("a.py", "2")
    dies(bench.store)
    away = bench.root.with_name("away")
    bench.root.rename(away)
    (told,) = recover(bench.folder.parent, bench.scene.journals)
    assert told.state == "waiting"
    away.rename(bench.root)
    (told,) = recover(bench.folder.parent, bench.scene.journals)
    assert told.state == "restored"
    assert (bench.root / "a.py").read_text() == "a\n"
    assert recover(bench.folder.parent, bench.scene.journals) == []
    assert list((bench.folder / "sessions").iterdir()) == []


def test_a_record_says_whether_it_is_whole(bench: Bench) -> None:
    bench.save("a.py", "1")
    (path,) = bench.folder.glob("c1.*")
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert unpack(path) is None
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert unpack(path) is None


def test_a_transaction_needs_what_it_could_not_be_taken_back_without(bench: Bench) -> None:
    bench.scene.file("a.py", b"a\n")
    change = bench.scene.modify("a.py", b"2\n")
    bench.store.open_transaction()
    with interposed(Counter(1, failing(errno.ENOSPC), onwards=True)), pytest.raises(Refused) as error:
        bench.store.begin([change], "a write")
    assert error.value.kind == "write_failed"
    assert "transaction" in error.value.message
