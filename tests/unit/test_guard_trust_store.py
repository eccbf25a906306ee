"""The trust store's file and the decision that is made from it; tiers, which need it."""

from __future__ import annotations

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from ombud.errors import Refused, UserError
from ombud.guard import store as store_module
from ombud.guard.tiers import ALL, Tier, Tiers, parse
from ombud.guard.trust import Trust, TrustStore


@pytest.fixture
def base(tmp_path: Path) -> Path:
    real = Path(os.path.realpath(tmp_path))
    for name in ("a", "b", "c"):
        (real / name).mkdir()
    return real


@pytest.fixture
def file(base: Path) -> Path:
    return base / "state" / "ombud" / "trust.json"


def test_missing_file_is_an_empty_store(file: Path) -> None:
    store = TrustStore(file)
    assert store.entries() == ()
    assert store.problems == ()
    assert not file.exists()


def test_grant_is_kept_and_seen_by_others(base: Path, file: Path) -> None:
    other = TrustStore(file)
    assert other.state(base / "a") == "unknown"
    entry = TrustStore(file).grant(base / "a")
    status = (base / "a").stat()
    assert (entry.path, entry.dev, entry.ino) == (str(base / "a"), status.st_dev, status.st_ino)
    assert other.state(base / "a") == "trusted"
    assert other.entries() == (entry,)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert json.loads(file.read_text())["roots"][0]["path"] == str(base / "a")
    assert sorted(path.name for path in file.parent.iterdir()) == ["trust.json", "trust.json.lock"]


def test_granting_again_replaces(base: Path, file: Path) -> None:
    tool = base / "a" / "tool"
    tool.write_text("x")
    store = TrustStore(file)
    store.grant(base / "a", [tool])
    assert store.executable_ok(base / "a", tool)
    store.grant(base / "a")
    assert len(store.entries()) == 1
    verdict = store.executable_ok(base / "a", tool)
    assert not verdict
    assert "trust it again" in verdict.reason


def test_executable_of_an_inner_grant(base: Path, file: Path) -> None:
    tool = base / "a" / "in" / "tool"
    tool.parent.mkdir()
    tool.write_text("x")
    store = TrustStore(file)
    store.grant(base / "a")
    store.grant(base / "a" / "in", [tool])
    assert store.executable_ok(base / "a" / "in", tool)
    assert not store.executable_ok(base / "a", tool)
    assert not store.executable_ok(base / "b", tool)
    assert not store.executable_ok(base / "a" / "in", base / "a" / "in" / "missing")


def test_revoke(base: Path, file: Path) -> None:
    store = TrustStore(file)
    assert not store.revoke(base / "a")
    store.grant(base / "a")
    store.grant(base / "b")
    (base / "a" / "sub").mkdir()
    with pytest.raises(UserError) as caught:
        store.revoke(base / "a" / "sub")
    assert str(base / "a") in caught.value.message
    assert store.revoke(base / "a")
    assert store.state(base / "a") == "unknown"
    assert store.state(base / "b") == "trusted"
    (base / "b").rmdir()
    assert store.revoke(base / "b")
    assert store.entries() == ()


def test_link_to_a_root_means_the_root(base: Path, file: Path) -> None:
    (base / "link").symlink_to("a")
    store = TrustStore(file)
    store.grant(base / "link")
    assert store.entries()[0].path == str(base / "a")
    assert store.state(base / "a") == store.state(base / "link") == "trusted"
    assert store.revoke(base / "link")


@pytest.mark.parametrize("root", ["missing", "a/file", "/", "", "state"])
def test_roots_that_cannot_be_trusted(base: Path, file: Path, root: str) -> None:
    (base / "a" / "file").write_text("x")
    file.parent.mkdir(parents=True)
    with pytest.raises(UserError):
        TrustStore(file).grant(base / root if root else base)
    assert not file.exists()


def test_executable_that_is_not_there_is_an_error(base: Path, file: Path) -> None:
    with pytest.raises(UserError):
        TrustStore(file).grant(base / "a", [base / "a" / "missing"])
    with pytest.raises(UserError):
        TrustStore(file).grant(base / "a", [base / "a"])


DAMAGED = [
    b"",
    b"{",
    b"[]",
    b"\xff\xfe",
    b'{"version": 2, "roots": []}',
    b'{"version": 1, "roots": [{"path": 3}]}',
    b"[" * 5000,
]


@pytest.mark.parametrize("content", DAMAGED)
def test_damaged_file_is_empty_and_says_so(base: Path, file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    file.chmod(0o600)
    store = TrustStore(file)
    assert store.entries() == ()
    assert len(store.problems) == 1
    assert str(file) in store.problems[0]
    store.grant(base / "a")
    assert store.problems == ()
    assert store.state(base / "a") == "trusted"
    assert file.with_name("trust.json.damaged").read_bytes() == content


def test_file_that_others_can_write_does_not_count(base: Path, file: Path) -> None:
    store = TrustStore(file)
    store.grant(base / "a")
    for mode in (0o620, 0o602):
        file.chmod(mode)
        assert store.state(base / "a") == "unknown"
        assert "written by others" in store.problems[0]
    file.chmod(0o600)
    assert store.state(base / "a") == "trusted"


def test_store_that_is_a_folder_is_a_problem(base: Path, file: Path) -> None:
    file.mkdir(parents=True, mode=0o700)
    file.chmod(0o700)
    store = TrustStore(file)
    assert store.entries() == ()
    assert store.problems


def test_store_that_cannot_be_written_is_refused(base: Path) -> None:
    blocker = base / "blocker"
    blocker.write_text("")
    with pytest.raises(Refused) as caught:
        TrustStore(blocker / "trust.json").grant(base / "a")
    assert caught.value.kind == "permission_denied"


def test_failed_write_leaves_the_old_file(base: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = TrustStore(file)
    store.grant(base / "a")
    before = file.read_bytes()

    def full(_fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store_module.os, "fsync", full)
    with pytest.raises(Refused) as caught:
        store.grant(base / "b")
    assert "No space left" in caught.value.message
    assert file.read_bytes() == before
    assert sorted(path.name for path in file.parent.iterdir()) == ["trust.json", "trust.json.lock"]
    assert store.state(base / "a") == "trusted"


def test_store_that_is_a_link_stays_one(base: Path) -> None:
    (base / "dotfiles").mkdir()
    target = base / "dotfiles" / "trust.json"
    link = base / "c" / "trust.json"
    link.symlink_to(target)
    TrustStore(link).grant(base / "a")
    assert link.is_symlink()
    assert TrustStore(target).state(base / "a") == "trusted"


def test_grants_at_the_same_time_are_all_kept(base: Path, file: Path) -> None:
    roots = []
    for number in range(24):
        root = base / f"r{number}"
        root.mkdir()
        roots.append(root)
    # The lock belongs to the opened file, so two stores in one process exclude one another as two processes do.
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda root: TrustStore(file).grant(root), roots, timeout=30))
    assert {entry.path for entry in TrustStore(file).entries()} == {str(root) for root in roots}


# --- the decision -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "stored", "state", "source", "children", "code"),
    [
        (True, False, "trusted", "client", True, True),
        (True, True, "trusted", "client", True, True),
        (False, True, "untrusted", "client", False, False),
        (False, False, "untrusted", "client", False, False),
        (None, True, "trusted", "store", True, True),
        (None, False, "unasked", "nobody", True, False),
    ],
)
def test_decision(
    base: Path, file: Path, said: bool | None, stored: bool, state: str, source: str, children: bool, code: bool
) -> None:
    tool = base / "a" / "tool"
    tool.write_text("x")
    store = TrustStore(file)
    if stored:
        store.grant(base / "a", [tool])
    trust = Trust.decide(base / "a", said, store)
    assert (trust.state, trust.source) == (state, source)
    assert trust.allows_children is children
    assert trust.allows_workspace_code is code
    assert bool(trust.allows_local(tool)) is code
    assert str(base / "a") in trust.explanation
    if not code:
        assert trust.explanation in trust.allows_local(tool).reason
        assert Trust.decide(base / "a", said, None).state == state


def test_client_vouches_for_every_local_executable(base: Path, file: Path) -> None:
    store = TrustStore(file)
    store.grant(base / "a")
    tool = base / "a" / "later"
    tool.write_text("x")
    assert Trust.decide(base / "a", True, store).allows_local(tool)
    assert not Trust.decide(base / "a", None, store).allows_local(tool)


# --- tiers ------------------------------------------------------------------------------------------------------------


def test_default_is_all_three() -> None:
    assert Tiers().granted == ALL == {"read", "write", "exec"}


@pytest.mark.parametrize("tier", ["read", "write", "exec"])
def test_tier_that_is_not_granted(base: Path, tier: Tier) -> None:
    trust = Trust.decide(base, True, None)
    Tiers(frozenset({tier})).require(tier, trust, "op")
    with pytest.raises(Refused) as caught:
        Tiers(ALL - {tier}).require(tier, trust, "op")
    assert caught.value.kind == "permission_denied"
    assert caught.value.data == {"tier": tier, "operation": "op"}


@pytest.mark.parametrize("said", [None, False])
def test_only_exec_needs_trust(base: Path, said: bool | None) -> None:
    trust = Trust.decide(base, said, None)
    Tiers().require("read", trust, "status")
    Tiers().require("write", trust, "edit")
    with pytest.raises(Refused) as caught:
        Tiers().require("exec", trust, "debug")
    assert caught.value.kind == "not_trusted"
    with pytest.raises(Refused) as denied:
        Tiers(frozenset({"read"})).require("exec", trust, "debug")
    assert denied.value.kind == "permission_denied"


def test_parse() -> None:
    assert parse(["read", "exec", "read"]) == Tiers(frozenset({"read", "exec"}))
    assert parse([]) == Tiers(frozenset())
    assert "read" in parse(["read"])
    assert "write" not in parse(["read"])


@pytest.mark.parametrize("words", [["admin"], ["Read"], ["read", 1], "read", None, 3, [["read"]]])
def test_parse_names_what_it_does_not_know(words: Any) -> None:
    with pytest.raises(UserError) as caught:
        parse(words)
    assert "read" in caught.value.message


def test_two_sources_narrow_and_never_widen() -> None:
    assert parse(["read"]) & Tiers() == parse(["read"])
    assert parse(["read", "write"]) & parse(["write", "exec"]) == parse(["write"])
