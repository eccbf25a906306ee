"""Rows F1 to F9: nothing outside the workspace is read, written, made or changed through the fence."""

from __future__ import annotations

import os
import random
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ombud.errors import OmbudError, Refused, UserError
from ombud.guard import handles
from ombud.guard.fence import Fence, Inside, Intent
from ombud.guard.sensitive import SensitivePaths

INTENTS: tuple[Intent, ...] = ("read", "write", "create", "delete")
SECRET = b"the outside\n"
OWN = b"inside\n"


class Place:
    """A workspace, a folder outside it with a secret, and the fence between."""

    def __init__(self, base: Path) -> None:
        self.root = base / "ws"
        self.outside = base / "outside"
        self.evil = base / "ws-evil"
        for folder in (self.root, self.outside, self.evil):
            folder.mkdir()
            (folder / "secret.txt").write_bytes(SECRET)
        (self.root / "src").mkdir()
        (self.root / "src" / "a.py").write_bytes(OWN)
        self.fence = Fence([self.root], SensitivePaths())

    def refused(self, path: str, intent: Intent = "read") -> Refused:
        with pytest.raises(Refused) as caught:
            self.fence.resolve(path, intent=intent)
        return caught.value


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(Path(os.path.realpath(tmp_path)))


# --- F1 ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intent", INTENTS)
def test_F1_prefix_is_not_containment(place: Place, intent: Intent) -> None:
    assert str(place.evil).startswith(str(place.root))
    assert place.refused(f"{place.evil}/secret.txt", intent).kind == "outside_workspace"
    assert place.refused("../ws-evil/secret.txt", intent).kind == "outside_workspace"
    assert not place.fence.contains(place.evil / "secret.txt")
    assert place.fence.contains(place.root / "secret.txt")
    assert place.fence.contains(place.root)


def test_F1_contains_refuses_what_is_not_a_real_path(place: Place) -> None:
    assert not place.fence.contains(Path("src/a.py"))
    assert not place.fence.contains(place.root / ".." / "outside" / "secret.txt")


# --- F2 ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intent", INTENTS)
def test_F2_link_that_leads_outside_is_refused(place: Place, intent: Intent) -> None:
    (place.root / "file").symlink_to(place.outside / "secret.txt")
    (place.root / "folder").symlink_to(place.outside)
    (place.root / "relative").symlink_to("../outside")
    for path in (
        "file",
        "folder/secret.txt",
        "folder/new.txt",
        "relative/secret.txt",
        "folder",
        "src/../folder/secret.txt",
    ):
        assert place.refused(path, intent).kind == "outside_workspace", path


def test_F2_link_that_stays_inside_is_followed(place: Place) -> None:
    (place.root / "alias").symlink_to("src")
    inside = place.fence.resolve("alias/a.py", intent="write")
    assert inside.path == place.root / "src" / "a.py"
    assert inside.relative == "src/a.py"
    assert place.fence.read(inside, 100).data == OWN


def test_F2_opened_file_is_contained_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where folder handles are missing, the file is opened by path: the link is found on what was opened."""
    inside = place.fence.resolve("src/a.py", intent="read")
    monkeypatch.setattr(handles, "SUPPORTED", False)
    assert place.fence.read(inside, 100).data == OWN
    (place.root / "src").rename(place.root / "old")
    (place.outside / "a.py").write_bytes(SECRET)
    (place.root / "src").symlink_to(place.outside)
    with pytest.raises(Refused) as caught:
        place.fence.read(inside, 100)
    assert caught.value.kind == "outside_workspace"


def test_F2_containment_without_the_systems_word(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """As above on a system that does not tell an opened file's path: the path is resolved once more."""
    inside = place.fence.resolve("src/a.py", intent="read")
    monkeypatch.setattr(handles, "SUPPORTED", False)
    monkeypatch.setattr(handles, "opened_path", lambda _fd: None)
    assert place.fence.read(inside, 100).data == OWN
    (place.root / "src").rename(place.root / "old")
    (place.outside / "a.py").write_bytes(SECRET)
    (place.root / "src").symlink_to(place.outside)
    with pytest.raises(Refused) as caught:
        place.fence.read(inside, 100)
    assert caught.value.kind == "outside_workspace"


def test_F2_another_file_at_the_path_is_not_confirmed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handles, "opened_path", lambda _fd: None)
    inside = place.fence.resolve("src/a.py", intent="read")
    fd = os.open(place.outside / "secret.txt", os.O_RDONLY)
    try:
        with pytest.raises(Refused) as caught:
            place.fence.confirm(fd, inside)
    finally:
        os.close(fd)
    assert caught.value.kind == "outside_workspace"


# --- F3 ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intent", INTENTS)
def test_F3_any_error_of_the_system_denies(place: Place, intent: Intent) -> None:
    (place.root / "loop").symlink_to("loop")
    (place.root / "ping").symlink_to("pong")
    (place.root / "pong").symlink_to("ping")
    long_name = "n" * 300
    long_path = "/".join(["d" * 200] * 40)
    for path in ("loop", "loop/a.py", "ping", long_name, f"src/{long_name}/x", long_path, "x" * 100_000):
        assert place.refused(path, intent).kind == "outside_workspace", path[:40]


def test_F3_path_that_only_resolves_beyond_path_max_is_denied(place: Place) -> None:
    """Short links to deep folders: Python's resolution gets through, the kernel's does not (CVE-2025-4517)."""
    deep = place.root
    fd = os.open(deep, os.O_RDONLY)
    steps = 0
    try:
        for _ in range(25):
            os.mkdir("d" * 200, dir_fd=fd)
            below = os.open("d" * 200, os.O_RDONLY, dir_fd=fd)
            os.close(fd)
            fd = below
            steps += 1
        out = os.open("escape.txt", os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=fd)
        os.close(out)
    finally:
        os.close(fd)
    path = "/".join(["d" * 200] * steps) + "/escape.txt"
    assert len(path) > 4096
    for intent in INTENTS:
        assert place.refused(path, intent).kind == "outside_workspace"
        assert (
            place.refused(path + "/" + "../" * (steps + 1) + "outside/secret.txt", intent).kind == "outside_workspace"
        )


@pytest.mark.parametrize("links", [60, 3000])
def test_F3_more_links_than_the_kernel_follows_are_denied(place: Place, links: int) -> None:
    """``realpath`` follows any number (until Python's recursion ends), the kernel 40: that is a disagreement."""
    target = "src/a.py"
    for number in range(links):
        name = f"l{number}"
        (place.root / name).symlink_to(target)
        target = name
    assert place.refused(target).kind == "outside_workspace"


def test_F3_resolution_is_denied_when_the_kernel_disagrees(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    other = place.root / "secret.txt"
    monkeypatch.setattr(os.path, "realpath", lambda _path, strict=False: str(other))
    refusal = place.refused("src/a.py")
    assert refusal.kind == "outside_workspace"


# --- F4 ---------------------------------------------------------------------------------------------------------------


def test_F4_folder_swapped_for_a_link_after_the_check(place: Place) -> None:
    (place.outside / "a.py").write_bytes(SECRET)
    inside = place.fence.resolve("src/a.py", intent="write")
    (place.root / "src").rename(place.root / "kept")
    (place.root / "src").symlink_to(place.outside)
    with pytest.raises(Refused) as read:
        place.fence.read(inside, 100)
    with pytest.raises(Refused) as opened, place.fence.directory(inside):
        pass
    with pytest.raises(Refused) as made, place.fence.directory(inside, create=True):
        pass
    assert read.value.kind == opened.value.kind == made.value.kind == "outside_workspace"
    assert "link" in read.value.message


def test_F4_file_swapped_for_a_link_after_the_check(place: Place) -> None:
    inside = place.fence.resolve("src/a.py", intent="read")
    inside.path.unlink()
    inside.path.symlink_to(place.outside / "secret.txt")
    with pytest.raises(Refused) as caught:
        place.fence.read(inside, 100)
    assert caught.value.kind == "outside_workspace"


def test_F4_root_swapped_for_a_link_after_the_check(place: Place) -> None:
    inside = place.fence.resolve("secret.txt", intent="read")
    place.root.rename(place.root.parent / "moved")
    place.root.symlink_to(place.outside)
    with pytest.raises(Refused):
        place.fence.read(inside, 100)


def test_F4_inner_folder_is_reached_through_the_outer_one(tmp_path: Path) -> None:
    """A workspace folder within another could be swapped by a write into that one."""
    base = Path(os.path.realpath(tmp_path))
    place = Place(base)
    inner = place.root / "src" / "inner"
    inner.mkdir()
    (inner / "a.py").write_bytes(OWN)
    fence = Fence([place.root, inner], SensitivePaths())
    inside = fence.resolve(str(inner / "a.py"), intent="read")
    assert inside.folder == inner
    (place.outside / "inner").mkdir()
    (place.outside / "inner" / "a.py").write_bytes(SECRET)
    (place.root / "src").rename(place.root / "kept")
    (place.root / "src").symlink_to(place.outside)
    with pytest.raises(Refused):
        fence.read(inside, 100)
    with pytest.raises(Refused), fence.directory(inside):
        pass


def test_F4_what_is_done_through_the_handle_stays_inside(place: Place) -> None:
    """The folder is swapped while it is held: the new file lands in the folder that was checked."""
    inside = place.fence.resolve("src/new.txt", intent="create")
    with place.fence.directory(inside) as folder:
        (place.root / "src").rename(place.root / "kept")
        (place.root / "src").symlink_to(place.outside)
        fd = os.open("new.txt", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644, dir_fd=folder)
        os.close(fd)
    assert (place.root / "kept" / "new.txt").exists()
    assert not (place.outside / "new.txt").exists()


class Swapper:
    """Swaps ``src`` between the real folder and a link to the outside, until told to stop."""

    def __init__(self, place: Place) -> None:
        self.real, self.link, self.name = place.root / "real", place.root / "link", place.root / "src"
        self.link.symlink_to(place.outside)
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.rounds = self.made = 0

    def _run(self) -> None:
        while not self.stop.is_set() and self.rounds < 200_000:
            os.rename(self.name, self.real)
            self._put(self.link)
            os.rename(self.name, self.link)
            self._put(self.real)
            self.rounds += 1

    def _put(self, what: Path) -> None:
        """Move to the name, and out of the way what a creation has made there in the meantime."""
        for _ in range(1000):
            try:
                os.rename(what, self.name)
            except OSError:
                os.rename(self.name, self.name.with_name(f"made{self.made}"))
                self.made += 1
            else:
                return
        raise AssertionError("the name was never free")

    def __enter__(self) -> Swapper:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.thread.join(30)
        assert not self.thread.is_alive()


def test_F4_race_of_reading_and_swapping(place: Place) -> None:
    (place.outside / "a.py").write_bytes(SECRET)
    got = 0
    with Swapper(place) as swapper:
        for _ in range(3000):
            try:
                inside = place.fence.resolve("src/a.py", intent="read")
                data = place.fence.read(inside, 100).data
            except Refused as refusal:
                assert refusal.kind in ("outside_workspace", "not_found")
            else:
                assert data == OWN
                got += 1
    assert swapper.rounds > 10
    assert got > 0


def test_F4_race_of_creating_and_swapping(place: Place) -> None:
    made = 0
    before = set(place.outside.rglob("*"))
    with Swapper(place) as swapper:
        for number in range(1500):
            path = f"src/d{number}/new.txt"
            try:
                inside = place.fence.resolve(path, intent="create")
                with place.fence.directory(inside, create=True) as folder:
                    os.close(os.open("new.txt", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644, dir_fd=folder))
            except Refused as refusal:
                assert refusal.kind in ("outside_workspace", "not_found")
            else:
                made += 1
    assert set(place.outside.rglob("*")) == before
    assert swapper.rounds > 10
    assert made > 0
    assert sum(files.count("new.txt") for _folder, _folders, files in os.walk(place.root)) == made


# --- F5, F6, F7 -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intent", INTENTS)
def test_F5_deny_rules_match_the_link_and_its_target(place: Place, intent: Intent) -> None:
    (place.root / ".env").write_text("TOKEN=1")
    (place.root / ".git").mkdir()
    (place.root / ".git" / "config").write_text("[core]")
    (place.root / "notes.txt").symlink_to(".env")
    (place.root / "docs").symlink_to(".git")
    (place.root / "server.pem").symlink_to("src/a.py")
    for path in (".env", "notes.txt", "docs/config", ".git/config", "server.pem", "docs"):
        assert place.refused(path, intent).kind == "sensitive_path", path


@pytest.mark.parametrize("intent", ["write", "create"])
def test_F6_protected_file_that_does_not_exist_yet(place: Place, intent: Intent) -> None:
    for path in (".env", ".git/hooks/pre-commit", "deep/er/.ssh/authorized_keys", ".npmrc", "src/id_rsa", ".git"):
        assert place.refused(path, intent).kind == "sensitive_path", path
        assert not (place.root / path).exists()


def test_F6_rename_is_a_delete_and_a_create(place: Place) -> None:
    place.fence.resolve("src/a.py", intent="delete")
    assert place.refused("src/.env", "create").kind == "sensitive_path"


@pytest.mark.parametrize("intent", ["write", "create"])
def test_F6_link_to_nothing_creates_nothing(place: Place, intent: Intent) -> None:
    (place.root / "out").symlink_to(place.outside / "new.txt")
    (place.root / "protected").symlink_to(".env")
    (place.root / "in").symlink_to("src/new.py")
    (place.root / "folder").symlink_to(place.outside / "nowhere")
    assert place.refused("out", intent).kind == "outside_workspace"
    assert place.refused("folder/x", intent).kind == "outside_workspace"
    assert place.refused("protected", intent).kind in ("not_found", "sensitive_path")
    assert place.refused("in", intent).kind == "not_found"


@pytest.mark.parametrize(
    "name",
    [".Git/config", ".GIT/hooks/x", ".Env", "Credentials.JSON", "ID_RSA", "x.PEM", ".SSH/config", "KubeConfig"],
)
def test_F7_case_of_letters_does_not_matter(place: Place, name: str) -> None:
    for intent in ("write", "create"):
        assert place.refused(name, intent).kind == "sensitive_path"


def test_F7_folder_known_by_identity_on_a_disk_without_case(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """macOS keeps the caller's letters in ``realpath``; the folder is then known by device and inode, not by text."""
    from ombud.guard import fence as module

    known = module._identity
    shouted = place.root.parent / "WS"

    def identity(path: Path) -> tuple[int, int] | None:
        return known(place.root) if path == shouted else known(path)

    monkeypatch.setattr(module, "_identity", identity)
    shouted.mkdir()
    (shouted / "b.py").write_bytes(OWN)
    inside = place.fence.resolve(str(shouted / "b.py"), intent="read")
    assert inside.path == place.root / "b.py"
    assert inside.relative == "b.py"


# --- F8 ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("intent", INTENTS)
def test_F8_dots_lead_nowhere(place: Place, intent: Intent) -> None:
    for path in (
        "..",
        "../..",
        "../../etc/passwd",
        "src/../../outside/secret.txt",
        "missing/../../outside/secret.txt",
        "missing/../../../etc/passwd",
        f"file://{place.root}/../outside/secret.txt",
        f"file://{place.root}/%2e%2e/outside/secret.txt",
        f"file://{place.root}/..%2Foutside%2Fsecret.txt",
        "/etc/passwd",
        "/",
        "/proc/self/environ",
        "/dev/null",
    ):
        assert place.refused(path, intent).kind == "outside_workspace", path


def test_F8_dots_that_stay_inside_are_resolved(place: Place) -> None:
    assert place.fence.resolve("src/../src/./a.py", intent="read").relative == "src/a.py"
    assert place.refused("missing/../src/a.py", "write").kind == "not_found"


@pytest.mark.parametrize(
    "text", ["", "a\0b", "\0", "src/a.py\0.txt", "file:///ws/%00", "https://host/x", "untitled:Untitled-1"]
)
def test_F8_text_that_is_no_path(place: Place, text: str) -> None:
    for intent in INTENTS:
        with pytest.raises(UserError) as caught:
            place.fence.resolve(text, intent=intent)
        assert caught.value.kind == "invalid_params"


def test_F8_lone_surrogate_is_no_path(place: Place) -> None:
    with pytest.raises(UserError):
        place.fence.resolve("a\ud83d.py", intent="create")


def test_F8_leading_dash_cannot_become_an_option(place: Place) -> None:
    """What the fence hands on is absolute, so no tool reads it as an option, whatever the name."""
    for name in ("-rf", "--help", "--output=x", "-"):
        inside = place.fence.resolve(name, intent="create")
        assert str(inside.path).startswith("/")
        assert inside.path == place.root / name


def test_F8_devices_and_streams_on_windows(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    from ombud.guard import fence as module

    monkeypatch.setattr(module, "_WINDOWS", True)
    for name in ("NUL", "con.txt", "src/COM1", "a.py:stream", "a.py.", "src /a.py", "lpt9.log", "a?b"):
        assert place.refused(name, "create").kind == "outside_workspace", name
    assert place.fence.resolve("console.py", intent="create").relative == "console.py"


def test_F8_only_ordinary_files_are_read(place: Place) -> None:
    """Opening a pipe without a writer would wait for ever; a folder or socket is no text."""
    import socket

    os.mkfifo(place.root / "pipe")
    here = socket.socket(socket.AF_UNIX)
    try:
        old = os.getcwd()
        os.chdir(place.root)
        try:
            here.bind("sock")
        finally:
            os.chdir(old)
        for name in ("pipe", "sock", "src", "."):
            inside = place.fence.resolve(name, intent="read")
            with pytest.raises(Refused) as caught:
                place.fence.read(inside, 100)
            assert caught.value.kind == "not_text", name
    finally:
        here.close()


# --- F9 ---------------------------------------------------------------------------------------------------------------


def test_F9_chmod_does_not_follow_a_link(place: Place) -> None:
    inside = place.fence.resolve("src/a.py", intent="write")
    place.fence.chmod(inside, 0o755)
    assert stat.S_IMODE(inside.path.stat().st_mode) == 0o755
    target = place.outside / "secret.txt"
    target.chmod(0o600)
    inside.path.unlink()
    inside.path.symlink_to(target)
    with pytest.raises(Refused) as caught:
        place.fence.chmod(inside, 0o777)
    assert caught.value.kind == "outside_workspace"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_F9_chmod_acts_on_the_file_that_was_opened(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is swapped for a link after it was opened and before its mode is set."""
    inside = place.fence.resolve("src/a.py", intent="write")
    target = place.outside / "secret.txt"
    target.chmod(0o600)
    confirm = place.fence.confirm

    def confirm_and_swap(fd: int, what: Inside) -> None:
        confirm(fd, what)
        inside.path.rename(place.root / "kept.py")
        inside.path.symlink_to(target)

    monkeypatch.setattr(place.fence, "confirm", confirm_and_swap)
    place.fence.chmod(inside, 0o711)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert stat.S_IMODE((place.root / "kept.py").stat().st_mode) == 0o711


def test_F9_chmod_keeps_to_permission_bits(place: Place) -> None:
    inside = place.fence.resolve("src/a.py", intent="write")
    place.fence.chmod(inside, stat.S_IFDIR | 0o640)
    assert stat.S_IMODE(inside.path.stat().st_mode) == 0o640


# --- any path at all --------------------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        "..",
        ".",
        "",
        "src",
        "a.py",
        "ws",
        "ws-evil",
        "outside",
        "secret.txt",
        "up",
        "self",
        "out",
        "new",
        ".git",
        "-",
        "~",
        "%2e%2e",
    ]
)
PATHS = st.one_of(
    st.lists(PIECES, max_size=8).map("/".join),
    st.lists(PIECES, max_size=8).map(lambda parts: "/" + "/".join(parts)),
    st.lists(PIECES, max_size=6).map(lambda parts: "ROOT/" + "/".join(parts)),
    st.lists(PIECES, max_size=6).map(lambda parts: "file://ROOT/" + "/".join(parts)),
    st.text(max_size=40),
)


@pytest.fixture(scope="module")
def mazes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    place = Place(Path(os.path.realpath(tmp_path_factory.mktemp("maze"))))
    (place.root / "up").symlink_to("..")
    (place.root / "self").symlink_to(".")
    (place.root / "out").symlink_to("../outside")
    (place.root / "src" / "up").symlink_to("../..")
    (place.outside / "in").symlink_to("../ws")
    yield place


@given(path=PATHS, intent=st.sampled_from(INTENTS))
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_F1_F2_F8_whatever_passes_lies_inside(mazes: Place, path: str, intent: Intent) -> None:
    """An independent oracle, the kernel: what passed, or its nearest existing folder, opens to a path in the root."""
    path = path.replace("ROOT", str(mazes.root))
    try:
        inside = mazes.fence.resolve(path, intent=intent)
    except OmbudError as error:
        assert error.message
        return
    assert isinstance(inside, Inside)
    at = inside.path
    assert ".." not in at.parts
    while not at.exists():
        at = at.parent
    fd = os.open(at, os.O_RDONLY)
    try:
        real = os.readlink(f"/proc/self/fd/{fd}") if os.path.exists("/proc/self/fd") else os.path.realpath(at)
    finally:
        os.close(fd)
    assert os.path.commonpath([real, str(mazes.root)]) == str(mazes.root)
    assert not at.is_symlink()


@given(seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_F2_random_link_graphs_never_read_the_outside(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """Folders and links at random; every name in them is read, and only files of the inside come back."""
    rng = random.Random(seed)
    place = Place(Path(os.path.realpath(tmp_path_factory.mktemp("graph"))))
    folders = [place.root, place.root / "src"]
    targets = [
        "..",
        "../..",
        "src",
        "src/a.py",
        "../outside",
        "../outside/secret.txt",
        str(place.outside),
        "l0",
        "l1",
        ".",
    ]
    names = []
    for number in range(6):
        where = rng.choice(folders) / f"l{number}"
        where.symlink_to(rng.choice(targets))
        names.append(where)
    for name in names:
        for tail in ("", "/secret.txt", "/a.py", "/src/a.py", "/l0", "/l1/secret.txt"):
            try:
                inside = place.fence.resolve(f"{name}{tail}", intent="read")
                data = place.fence.read(inside, 100).data
            except Refused:
                continue
            assert inside.path in (place.root / "secret.txt", place.root / "src" / "a.py")
            assert data == inside.path.read_bytes()
