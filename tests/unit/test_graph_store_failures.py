"""Stores that are damaged, old, full, locked or not there: said in a sentence, and built anew where that helps."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from ombud.errors import Cancelled
from ombud.graph import facts
from ombud.graph.store import Busy, Damaged, Missing, Unwritable, open_reader, open_writer, place

from tests.graphstore import ROOT, Source, Sources, export, opened, stored, the, write

ONE: Sources = {"a.py": Source(["def tax"]), "b.py": Source(["def pay"], [("call", "pay", "a.py#tax", 3)])}


def sql(statement: str) -> Callable[[Path], None]:
    def run(file: Path) -> None:
        with closing(sqlite3.connect(file)) as raw, raw:
            raw.execute(statement)

    return run


def garbage(file: Path) -> None:
    file.write_bytes(os.urandom(5000))


def cut(file: Path) -> None:
    os.truncate(file, 5000)


def head(file: Path) -> None:
    with file.open("r+b") as opened_file:
        opened_file.write(b"x" * 64)


def pages(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    file.write_bytes(data)


def marked(file: Path) -> None:
    file.with_name("graph.damaged").touch()


DAMAGES = [
    (garbage, "the store was damaged"),
    (cut, "the store was damaged"),
    (head, "the store was damaged"),
    (pages, "the store was damaged"),
    (marked, "the store was damaged"),
    (sql("DROP TABLE links"), "the store was damaged"),
    (sql("PRAGMA user_version = 99"), "another version of Ombud"),
    (sql("PRAGMA application_id = 7"), "another version of Ombud"),
    (sql(f"UPDATE meta SET value = '{facts.VERSION + 1}' WHERE key = 'facts'"), "another version of Ombud"),
    (sql("UPDATE meta SET value = '/srv/elsewhere' WHERE key = 'root'"), "another folder"),
]


@pytest.mark.parametrize(("damage", "said"), DAMAGES)
def test_what_cannot_be_used_is_built_anew(tmp_path: Path, damage: Callable[[Path], None], said: str) -> None:
    stored(tmp_path, ONE).close()
    damage(tmp_path / "graph.db")
    with closing(opened(tmp_path)) as writer, closing(open_reader(tmp_path)) as reader:
        assert said in writer.said
        assert writer.known() == {}
        write(writer, ONE)
        assert the(reader, "tax").fan == 1
    with closing(opened(tmp_path)) as writer:
        assert writer.said == ""


def test_another_version_of_the_facts_is_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(tmp_path, ONE).close()
    monkeypatch.setattr(facts, "VERSION", facts.VERSION + 1)
    with closing(opened(tmp_path)) as writer:
        assert "another version" in writer.said


def test_a_reader_that_finds_damage_leaves_word(tmp_path: Path) -> None:
    with closing(stored(tmp_path, ONE)) as reader, closing(opened(tmp_path)) as writer:
        sql("UPDATE texts SET data = x'00112233'")(tmp_path / "graph.db")
        with pytest.raises(Damaged, match=r"graph\.db is damaged"):
            reader.find("tax")
        with pytest.raises(Damaged):
            writer.begin()
    with closing(opened(tmp_path)) as writer, closing(open_reader(tmp_path)) as reader:
        assert "damaged" in writer.said
        write(writer, ONE)
        assert len(reader.find("tax")) == 1


def test_damaged_facts_are_damage(tmp_path: Path) -> None:
    stored(tmp_path, ONE).close()
    sql("UPDATE facts SET data = x'00112233'")(tmp_path / "graph.db")
    with closing(opened(tmp_path)) as writer, pytest.raises(Damaged):
        writer.facts(writer.paths()["a.py"])


def test_a_reader_goes_on_to_the_store_that_was_made_anew(tmp_path: Path) -> None:
    with closing(stored(tmp_path, ONE)) as reader:
        assert len(reader.find("tax")) == 1
        with closing(open_writer(tmp_path, ROOT, anew="it was asked for")) as writer:
            assert writer.said == "The code graph is built anew: it was asked for."
            assert reader.find("tax") == []
            write(writer, {"c.py": Source(["def tax"])})
            assert the(reader, "tax").path == "c.py"


def test_what_is_not_there_is_missing(tmp_path: Path) -> None:
    with closing(open_reader(tmp_path)) as reader:
        with pytest.raises(Missing, match="Run graph_index"):
            reader.find("tax")
        (tmp_path / "graph.db").touch()
        with pytest.raises(Missing):
            reader.stats()
        (tmp_path / "graph.db").unlink()
        with closing(opened(tmp_path)):
            assert reader.stats().files == 0


def test_one_process_writes(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as writer:
        with pytest.raises(Busy, match="Another Ombud process"):
            opened(tmp_path)
        code = "import sys; from tests.graphstore import opened; from pathlib import Path; opened(Path(sys.argv[1]))"
        other = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=False)
        assert "Busy" in other.stderr
        write(writer, ONE)
    opened(tmp_path).close()


def test_the_lock_ends_with_its_process(tmp_path: Path) -> None:
    code = (
        "import sys, time; from tests.graphstore import *\n"
        "writer = opened(Path(sys.argv[1])); write(writer, {'a.py': Source(['def tax'])})\n"
        "writer.begin(); put(writer, 'b.py', Source(['def half'])); print('ready', flush=True); time.sleep(600)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
    finally:
        child.kill()
        child.wait(20)
        child.stdout.close() if child.stdout else None
    with closing(opened(tmp_path)) as writer, closing(open_reader(tmp_path)) as reader:
        assert writer.said == ""
        assert len(reader.find("tax")) == 1
        assert reader.find("half") == []


def test_a_full_disk_is_said_and_costs_nothing_that_is_stored(tmp_path: Path) -> None:
    with closing(stored(tmp_path, ONE)) as reader, closing(opened(tmp_path)) as writer:
        before = export(reader)
        writer._connection.execute("PRAGMA max_page_count = 1")
        many = {f"{number}.py": Source([f"def f{number}_{one}" for one in range(100)]) for number in range(50)}
        with pytest.raises(Unwritable, match="the disk is full") as caught:
            write(writer, many)
        assert caught.value.kind == "permission_denied"
        writer.rollback()
        assert export(reader) == before
        writer._connection.execute("PRAGMA max_page_count = 1000000")
        write(writer, many)
        assert len(reader.files()) == 52


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unwritable, match=r"Make the folder writable, or name another place in index\.store"):
        opened(tmp_path / "file" / "graph")


def test_a_store_that_cannot_be_written_any_more_is_read(tmp_path: Path) -> None:
    stored(tmp_path, ONE).close()
    file = tmp_path / "graph.db"
    (tmp_path / "graph.lock").unlink()
    file.chmod(0o400)
    tmp_path.chmod(0o500)
    try:
        with closing(open_reader(tmp_path)) as reader:
            assert len(reader.find("tax")) == 1
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.skipif(os.name != "posix", reason="Windows has no modes")
def test_it_is_for_its_user_only(tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    with closing(opened(folder)) as writer:
        write(writer, ONE)
        for path in (folder, *folder.iterdir()):
            assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path == folder else 0o600), path


def test_a_root_has_one_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "root").mkdir()
    (tmp_path / "link").symlink_to("root")
    one = place(tmp_path / "root")
    assert one == place(tmp_path / "link") != place(tmp_path)
    if sys.platform == "linux":
        assert one.parent == tmp_path / "cache" / "ombud" / "graph"
    assert place(tmp_path / "root", str(tmp_path / "x")).parent == tmp_path / "x"
    assert place(tmp_path / "link", ".cache").parent == tmp_path / "root" / ".cache"


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


def test_a_query_that_is_interrupted_is_cancelled(tmp_path: Path) -> None:
    def from_within() -> int:
        reader.interrupt()
        return 0

    with closing(stored(tmp_path, ONE)) as reader:
        with pytest.raises(Cancelled), reader.reading() as connection:
            connection.set_progress_handler(from_within, 100)
            try:
                connection.execute(ENDLESS)
            finally:
                connection.set_progress_handler(None, 0)
        assert len(reader.find("tax")) == 1


def test_a_mistake_of_ours_stays_one(tmp_path: Path) -> None:
    with (
        closing(stored(tmp_path, ONE)) as reader,
        pytest.raises(sqlite3.OperationalError, match="no such table"),
        reader.reading() as connection,
    ):
        connection.execute("SELECT * FROM neverland")
