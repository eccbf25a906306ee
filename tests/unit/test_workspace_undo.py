"""The way back over several writes: what comes back, what is refused, and what is left out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from ombud.errors import Refused
from ombud.guard.fence import Fence
from ombud.guard.sensitive import SensitivePaths
from ombud.workspace.undo import assess, net

from tests.commits import of_every_kind, snapshot
from tests.keeping import Bench, ids


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path.resolve())


def test_back_over_a_write_of_every_kind_and_over_the_way_back(bench: Bench) -> None:
    changes = of_every_kind(bench.scene)
    before = snapshot(bench.root)
    made = bench.write(*changes)
    after = snapshot(bench.root)
    assert bench.back(made) == []
    assert snapshot(bench.root) == before, "bytes, permissions, folders, and which names are one file"
    again = ids(bench.store.records())[-1]
    assert bench.back(again) == []
    now = snapshot(bench.root)
    assert now == after
    assert bench.back(made) == []
    assert snapshot(bench.root) == before


Step = Callable[[Bench], object]


def saves(name: str, text: str, mode: int | None = None) -> Step:
    return lambda bench: bench.save(name, text, mode)


def moves(name: str, to: str, text: str | None = None) -> Step:
    data = None if text is None else text.encode()
    return lambda bench: bench.write(bench.scene.rename(name, to, data))


def deletes(name: str) -> Step:
    return lambda bench: bench.write(bench.scene.delete(name))


SERIES: dict[str, list[Step]] = {
    "changed twice": [saves("a.py", "2"), saves("a.py", "3")],
    "created and deleted": [saves("n.py", "new"), deletes("n.py")],
    "deleted and created anew": [deletes("a.py"), saves("a.py", "other")],
    "moved on and on": [moves("a.py", "x.py"), moves("x.py", "new/y.py"), saves("new/y.py", "2")],
    "there and back": [moves("a.py", "x.py"), moves("x.py", "a.py")],
    "moved, and another in its place": [moves("a.py", "x.py"), saves("a.py", "2")],
    "moved onto a deleted one": [deletes("b.py"), moves("a.py", "b.py")],
    "exchanged": [moves("a.py", "t"), moves("b.py", "a.py"), moves("t", "b.py")],
    "edited on the way": [saves("a.py", "2"), moves("a.py", "x.py", "3"), saves("x.py", "4", 0o700)],
    "moved and deleted": [moves("a.py", "x.py"), deletes("x.py")],
    "created, moved, edited": [saves("n.py", "n"), moves("n.py", "m/n.py"), saves("m/n.py", "n2")],
    "permissions": [saves("a.py", "a\n", 0o755), saves("a.py", "2"), saves("a.py", "2", 0o600)],
    "deep folders": [saves("p/q/r.py", "1"), saves("p/s.py", "2")],
}


@pytest.mark.parametrize("name", SERIES)
def test_back_over_a_series(bench: Bench, name: str) -> None:
    bench.scene.file("a.py", b"a\n", 0o640)
    bench.scene.file("b.py", b"b\r\n", 0o755)
    states = [snapshot(bench.root)]
    for step in SERIES[name]:
        step(bench)
        states.append(snapshot(bench.root))
    made = ids(bench.store.records())
    for number in reversed(range(len(made))):
        assert bench.back(made[number]) == []
        assert without_twins(snapshot(bench.root)) == without_twins(states[number])


def without_twins(state: dict[str, tuple[object, ...]]) -> dict[str, tuple[object, ...]]:
    """Bytes and permissions alone; a deleted file that comes back is another file."""
    return {name: value[:2] for name, value in state.items()}


def others(name: str, text: str | None, mode: int | None = None) -> Step:
    """Somebody else writes, or deletes, or sets permissions."""

    def do(bench: Bench) -> None:
        path = bench.root / name
        if text is None and mode is None:
            path.unlink()
        if text is not None:
            path.write_text(text)
        if mode is not None:
            path.chmod(mode)

    return do


def links(name: str, to: str) -> Step:
    def do(bench: Bench) -> None:
        (bench.root / name).unlink()
        (bench.root / name).symlink_to(to)

    return do


def folder(name: str) -> Step:
    def do(bench: Bench) -> None:
        (bench.root / name).unlink()
        (bench.root / name).mkdir()

    return do


REFUSED: dict[str, tuple[list[Step], list[str]]] = {
    "changed since": ([saves("a.py", "2"), others("a.py", "theirs")], ["a.py"]),
    "changed in between": ([saves("a.py", "2"), others("a.py", "theirs"), saves("a.py", "3")], ["a.py"]),
    "deleted since": ([saves("a.py", "2"), others("a.py", None)], ["a.py"]),
    "made where one was deleted": ([deletes("a.py"), others("a.py", "theirs")], ["a.py"]),
    "a new one changed": ([saves("n.py", "n"), others("n.py", "theirs")], ["n.py"]),
    "made at the old place": ([moves("a.py", "x.py"), others("a.py", "theirs")], ["a.py"]),
    "changed at the new place": ([moves("a.py", "x.py"), others("x.py", "theirs")], ["x.py"]),
    "changed and then moved": ([saves("a.py", "2"), others("a.py", "3"), moves("a.py", "x.py")], ["x.py"]),
    "one of two": ([saves("a.py", "2"), saves("b.py", "2"), others("b.py", "theirs")], ["b.py"]),
    "both": ([saves("a.py", "2"), saves("b.py", "2"), others("b.py", "x"), others("a.py", "x")], ["a.py", "b.py"]),
    "permissions that we set": ([saves("a.py", "2", 0o755), others("a.py", None, 0o600)], ["a.py"]),
    "a link in its place": ([saves("a.py", "2"), links("a.py", "b.py")], ["a.py"]),
    "a link to the same text": ([saves("a.py", "2"), others("z.py", "2"), links("a.py", "z.py")], ["a.py"]),
    "a link that leads out": ([saves("a.py", "2"), links("a.py", "/etc/hostname")], ["a.py"]),
    "a folder in its place": ([saves("a.py", "2"), folder("a.py")], ["a.py"]),
    "longer than anything of ours": ([saves("a.py", "2"), others("a.py", "x" * (64 << 20) + "x")], ["a.py"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_somebody_else_changed_is_not_lost(bench: Bench, name: str) -> None:
    bench.scene.file("a.py", b"a\n", 0o640)
    bench.scene.file("b.py", b"b\n")
    steps, changed = REFUSED[name]
    for step in steps:
        step(bench)
    before = snapshot(bench.root)
    assert bench.back("c1") == changed
    assert snapshot(bench.root) == before


LEFT_OUT: dict[str, list[Step]] = {
    "brought back by hand": [saves("a.py", "2"), others("a.py", "a\n")],
    "deleted by hand": [saves("n.py", "n"), others("n.py", None)],
    "changed by somebody in between, and brought back": [
        *(saves("a.py", "2"), others("a.py", "3"), saves("a.py", "4"), others("a.py", "a\n")),
    ],
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_is_as_it_was_is_left_out(bench: Bench, name: str) -> None:
    bench.scene.file("a.py", b"a\n", 0o640)
    bench.save("b.py", "b")
    for step in LEFT_OUT[name]:
        step(bench)
    assert bench.back("c1") == []
    assert without_twins(snapshot(bench.root)) == {"a.py": (b"a\n", 0o640)}


def test_permissions_that_others_set_are_kept(bench: Bench) -> None:
    bench.scene.file("a.py", b"a\n", 0o644)
    bench.save("a.py", "2")
    (bench.root / "a.py").chmod(0o755)
    assert bench.back("c1") == []
    assert snapshot(bench.root) == {"a.py": (b"a\n", 0o755, "a.py")}


def test_a_folder_in_which_somebody_else_put_a_file_stays(bench: Bench) -> None:
    bench.save("p/q/r.py", "1")
    (bench.root / "p" / "theirs.txt").write_text("theirs")
    assert bench.back("c1") == []
    assert set(snapshot(bench.root)) == {"p", "p/theirs.txt"}


def test_F2_a_folder_that_became_a_link_is_not_gone_through(bench: Bench, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    bench.scene.file("p/a.py", b"a\n")
    bench.save("p/a.py", "2")
    (outside / "a.py").write_text("2")
    (bench.root / "p" / "a.py").unlink()
    (bench.root / "p").rmdir()
    (bench.root / "p").symlink_to(outside)
    assert bench.back("c1") == ["p/a.py"]
    assert (outside / "a.py").read_text() == "2"


def test_a_file_of_a_folder_that_left_the_workspace_is_refused(bench: Bench) -> None:
    bench.save("p/a.py", "1")
    narrower = Fence([bench.root / "p"], SensitivePaths())
    bench.save("b.py", "1")
    with pytest.raises(Refused) as error:
        assess(net(bench.store.records()), narrower, bench.store.bytes_of)
    assert error.value.kind == "outside_workspace"
