"""The guardian: its script under every shell there is, and its life beside the hub."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from ombud.errors import PeerError
from ombud.process import guardian as guardian_module
from ombud.process.guardian import DEATHS, Guardian

from tests.children import ON_LINUX, Children, lives, shell
from tests.waiting import wait_until, wait_until_sync

SCRIPT = guardian_module._script()
# In front of the script it takes the place of the shell's own command, so that a script that has lost its checks shows
# in the output what it would have done, and does it to nobody: "kill -- -1" is everybody.
RECORDING = 'kill() { echo kill "$@"; return 1; }\n'
# Every kind of shell that /bin/sh is somewhere, as far as this machine has them; /bin/sh itself always.
SHELLS = [["/bin/sh"]] + [
    [path, *options]
    for name, options in [("dash", []), ("bash", ["--posix"]), ("ksh", []), ("mksh", []), ("zsh", ["--emulate", "sh"])]
    if (path := shutil.which(name)) and os.path.realpath(path) != os.path.realpath("/bin/sh")
]


@pytest.fixture
async def children(tmp_path: Path) -> AsyncIterator[Children]:
    async with Children(tmp_path) as started:
        yield started


class Group:
    """A process group of the test's own, not marked: only its number tells it."""

    def __init__(self, code: str = "echo up; exec sleep 600", environment: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            shell(code), stdout=subprocess.PIPE, start_new_session=True, env=environment or dict(os.environ)
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"up\n"
        # Reaped the moment it dies, as init does it for an orphan: a zombie keeps its group's number in use.
        threading.Thread(target=self.process.wait, daemon=True).start()

    @property
    def number(self) -> int:
        return self.process.pid

    def end(self) -> int:
        return self.process.wait(20)


@pytest.fixture
def group() -> Iterator[type[Group]]:
    made: list[Group] = []

    class Made(Group):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            made.append(self)

    yield Made
    for one in made:
        if one.process.poll() is None:
            os.killpg(one.number, signal.SIGKILL)
        one.process.communicate()


def run(shell_: list[str], lines: bytes, mark: str = "0123abcd", script: str = SCRIPT, cwd: str | Path = "/") -> str:
    """The script under one shell with the given input to its end, which must be good; returns what it has printed."""
    process = subprocess.Popen(
        [*shell_, "-c", script, "ombud-guardian", mark],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        env={"PATH": os.environ["PATH"]},
        cwd=cwd,
    )
    try:
        output, _ = process.communicate(lines, timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0, output
    return output.decode()


def record(shell_: list[str], lines: bytes, cwd: str | Path = "/") -> str:
    """What the script would have sent to whom. Nobody gets anything."""
    return run(shell_, lines, script=RECORDING + SCRIPT, cwd=cwd)


every_shell = pytest.mark.parametrize("shell_", SHELLS, ids=" ".join)


@every_shell
def test_listed_groups_are_ended_and_others_are_not(shell_: list[str], group: type[Group]) -> None:
    listed, removed, stranger, again = group(), group(), group(), group()
    lines = f"+{listed.number}\n+{removed.number}\n+{again.number}\n-{removed.number}\n-{again.number}\n"
    lines += f"+{again.number}\n+{again.number}\n-99999\n"
    assert run(shell_, lines.encode()) == ""
    assert listed.end() == again.end() == -signal.SIGTERM
    assert removed.process.poll() is stranger.process.poll() is None


@every_shell
def test_a_group_that_ignores_the_request_is_killed(shell_: list[str], group: type[Group], tmp_path: Path) -> None:
    told = tmp_path / "told"
    polite = group(f"trap 'echo told > {told}; exit 9' TERM; echo up; while :; do sleep 0.05; done")
    stubborn = group("trap '' TERM; echo up; while :; do sleep 0.2; done")
    assert run(shell_, f"+{stubborn.number}\n+{polite.number}\n".encode()) == ""
    assert stubborn.end() == -signal.SIGKILL
    assert polite.end() == 9
    assert told.read_text() == "told\n"


@every_shell
def test_hostile_lines_do_nothing(shell_: list[str], tmp_path: Path) -> None:
    planted = tmp_path / "planted"
    lines = [
        *("", "+", "-", "+0", "+1", "-1", "+-1", "++1", "+01", "\\", "+\\", "%s%n", "+é", "+*", "+?", "+[0-9]"),
        *("+0123", "123", "x123", " +123", "+ 123", "+\t123", "+123 ", "+123;", "+123 -1", "+123 1", "+0x7b"),
        *("+$((1+122))", "+123*1", "+123.0", "+1e2", "+123\r", "+--", "+-s", "+%1", "+$$", "+$1", "+!"),
        *(f"+$(touch {planted})", f"+`touch {planted}`", f"+a[$(touch {planted})]", f";touch {planted}"),
        # Cut to 32 bits, the second and the third of these are 1 and 0.
        *("+12345678", "+4294967297", "+4294967296", "+99999999999999999999", "+" + "9" * 100_000, "-" + "x" * 100_000),
        "+123",
    ]
    # The last one is well formed but has no line end: Ombud died while it was writing, and the number may be cut.
    assert record(shell_, "\n".join(lines).encode(), tmp_path) == ""
    assert not planted.exists()


@every_shell
@pytest.mark.parametrize(
    ("lines", "listed"),
    [
        ("+9999999", {9999999}),
        ("+1234 +123 +234 +23", {1234, 123, 234, 23}),
        ("+123 +1234 -12 -34 -2 -1234", {123}),
        ("+12 +12 -12", set()),
        ("+21 +22 +23 -21 -23 +21", {21, 22}),
    ],
)
def test_the_list_is_kept_by_whole_numbers(shell_: list[str], lines: str, listed: set[int]) -> None:
    """Whoever is looked for at the end; this is also the control of the test above."""
    output = record(shell_, "".join(f"{line}\n" for line in lines.split()).encode())
    assert set(output.splitlines()) == {f"kill -s 0 -- -{number}" for number in listed}


@every_shell
def test_many_groups_are_remembered(shell_: list[str], group: type[Group]) -> None:
    kept = group()
    noise = "".join(f"+{number}\n" for number in range(5_000_000, 5_000_500))
    noise += "".join(f"-{number}\n" for number in range(5_000_000, 5_000_500))
    assert run(shell_, f"+{kept.number}\n{noise}".encode()) == ""
    assert kept.end() == -signal.SIGTERM


@every_shell
@pytest.mark.skipif(not ON_LINUX, reason="only Linux shows another process's environment")
def test_marked_processes_are_ended_wherever_they_are(shell_: list[str], group: type[Group]) -> None:
    mark = os.urandom(16).hex()
    ours = group(environment={**os.environ, "OMBUD_HUB": mark})
    stubborn = group("trap '' TERM; echo up; while :; do sleep 0.2; done", {**os.environ, "OMBUD_HUB": mark})
    theirs = group(environment={**os.environ, "OMBUD_HUB": os.urandom(16).hex()})
    assert run(shell_, b"", mark) == ""
    assert ours.end() == -signal.SIGTERM
    assert stubborn.end() == -signal.SIGKILL
    assert theirs.process.poll() is None


@every_shell
def test_with_nothing_to_do_it_ends_at_once(shell_: list[str]) -> None:
    before = time.monotonic()
    assert run(shell_, b"") == ""
    assert time.monotonic() - before < 2


# Beside the hub.


def _family() -> set[int]:
    return {process.pid for process in psutil.Process().children(recursive=True)}


async def test_nothing_runs_before_the_first_child(children: Children) -> None:
    before = _family()
    assert children.guardian.pid is None
    assert children.guardian.environment() == {"OMBUD_HUB": children.guardian.marker}
    assert _family() == before
    await children.guardian.close()
    assert _family() == before
    assert children.guardian.pid is None


async def test_it_has_a_session_of_its_own_and_holds_nothing(
    children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMBUD_HUB", "outer")
    monkeypatch.setenv("SECRET", "x")
    monkeypatch.setenv("PATH", f"relative:{os.environ['PATH']}:")
    await children.start(["/bin/cat"])
    pid = children.guardian.pid
    assert pid is not None
    assert os.getsid(pid) == pid
    if ON_LINUX:
        process = psutil.Process(pid)
        assert process.cwd() == "/"
        environment = process.environ()
        assert set(environment) - {"PWD", "OLDPWD", "SHLVL", "_"} == {"PATH", "LC_ALL"}
        assert environment["PATH"].startswith("/usr/bin:/bin:")
        assert all(entry.startswith("/") for entry in environment["PATH"].split(":"))
        assert sorted(os.listdir(f"/proc/{pid}/fd")) == ["0", "1", "2"]
        assert os.readlink(f"/proc/{pid}/fd/1") == os.readlink(f"/proc/{pid}/fd/2") == "/dev/null"
        assert process.memory_info().rss < 5_000_000


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
async def test_requests_to_end_do_not_end_it(children: Children, group: type[Group], number: signal.Signals) -> None:
    listed = group()
    children.guardian.add(listed.number)
    pid = children.guardian.pid
    assert pid is not None
    # Its ignoring is in place when its first statement has run; what it does on a line shows that it has.
    await wait_until(lambda: _ignores(pid, number), 20, "the guardian to be up")
    os.kill(pid, number)
    await children.guardian.close()
    assert listed.end() == -signal.SIGTERM
    assert children.guardian.restarts == 1  # The first start, by ``add``.


def _ignores(pid: int, number: signal.Signals) -> bool:
    if not ON_LINUX:
        return psutil.Process(pid).status() == psutil.STATUS_SLEEPING
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigIgn"))
    return bool(int(line.split()[1], 16) >> (number - 1) & 1)


async def test_a_killed_guardian_is_replaced_at_once_with_the_full_list(
    children: Children, group: type[Group], caplog: pytest.LogCaptureFixture
) -> None:
    children.guardian.ensure()
    listed, other, removed = group(), group(), group()
    for one in (listed, other, removed):
        children.guardian.add(one.number)
    children.guardian.remove(removed.number)
    first = children.guardian.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    second = await wait_until(lambda: children.guardian.pid not in (None, first) and children.guardian.pid)
    assert second != first
    assert children.guardian.restarts == 1
    assert str(first) in caplog.text
    await wait_until(lambda: not psutil.pid_exists(first), 20, "the dead guardian to be reaped")
    await children.guardian.close()
    assert listed.end() == other.end() == -signal.SIGTERM
    assert removed.process.poll() is None


async def test_a_guardian_whose_death_nobody_noticed_is_replaced_by_the_next_add(
    children: Children, group: type[Group]
) -> None:
    children.guardian.ensure()
    first = children.guardian.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    wait_until_sync(lambda: not lives(first), 20, "the guardian to die")
    listed = group()
    children.guardian.add(listed.number)  # No turn of the loop since: only the broken connection tells.
    assert children.guardian.pid not in (None, first)
    await children.guardian.close()
    assert listed.end() == -signal.SIGTERM


async def test_a_guardian_that_does_not_listen_is_replaced(children: Children, group: type[Group]) -> None:
    children.guardian.ensure()
    first = children.guardian.pid
    assert first is not None
    listed = group()
    children.guardian.add(listed.number)
    os.kill(first, signal.SIGSTOP)
    for _ in range(200_000):
        children.guardian.remove(5_000_000)
        if children.guardian.pid != first:
            break
    assert children.guardian.pid not in (None, first)
    await wait_until(lambda: not lives(first), 20, "the one that did not listen to be gone")
    await children.guardian.close()
    assert listed.end() == -signal.SIGTERM


async def test_a_guardian_that_cannot_live_is_not_started_for_ever(
    children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guardian_module, "SHELL", "/bin/false")
    children.guardian.ensure()
    await wait_until(lambda: children.guardian.restarts == DEATHS - 1 and children.guardian.pid is None, 20)
    for _ in range(10):
        await asyncio.sleep(0.01)
    assert children.guardian.restarts == DEATHS - 1
    monkeypatch.undo()
    # When it is needed it is tried again.
    kept = await children.start(["/bin/cat"])
    assert children.guardian.pid is not None
    assert lives(kept.child.pid)


async def test_without_a_guardian_no_child_is_started(children: Children, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guardian_module, "SHELL", "/nowhere/sh")
    before, descriptors = _family(), psutil.Process().num_fds()
    with pytest.raises(PeerError, match="guardian") as caught:
        await children.start(["/bin/cat"])
    assert caught.value.kind == "server_failed"
    assert _family() == before
    assert psutil.Process().num_fds() == descriptors
    children.guardian.add(5_000_000)  # Logged, not raised: the child that it is about runs already.
    assert children.guardian.pid is None


async def test_closing_is_prompt_final_and_repeatable(children: Children) -> None:
    kept = await children.start(["/bin/cat"])
    kept.child.close_stdin()
    await kept.child.gone()
    pid = children.guardian.pid
    assert pid is not None
    before = time.monotonic()
    await children.guardian.close()
    assert time.monotonic() - before < 2
    assert not psutil.pid_exists(pid)
    await children.guardian.close()
    with pytest.raises(PeerError, match="shutting down"):
        await children.start(["/bin/cat"])
    children.guardian.remove(5_000_000)
    children.guardian.add(5_000_000)
    assert children.guardian.pid is None


async def test_closing_ends_what_was_not_ended(children: Children) -> None:
    kept, family = await children.family("stubborn")
    await children.guardian.close()
    await kept.child.gone()
    expected = family if ON_LINUX else {"leader": 0, "member": 0}
    assert [name for name in expected if lives(family[name])] == []


async def test_a_guardian_that_does_not_end_is_killed(children: Children, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guardian_module, "FAREWELL", 0.1)
    children.guardian.ensure()
    pid = children.guardian.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    await children.guardian.close()
    assert not psutil.pid_exists(pid)


async def test_two_hubs_do_not_end_one_anothers_children(children: Children, tmp_path: Path) -> None:
    async with Children(tmp_path) as others:
        mine, theirs = await children.start(["/bin/cat"]), await others.start(["/bin/cat"])
        assert children.guardian.pid != others.guardian.pid
        await others.guardian.close()
        await theirs.child.wait()
        assert mine.exits == []
        mine.child.write(b"still here")
        await mine.says(b"still here")


async def test_no_descriptor_of_the_guardians_reaches_a_child(children: Children) -> None:
    first = await children.start(["/bin/cat"])
    old = children.guardian.pid
    assert old is not None
    os.kill(old, signal.SIGKILL)
    await wait_until(lambda: children.guardian.pid not in (None, old))
    second = await children.start(["/bin/cat"])
    if ON_LINUX:
        for pid in (first.child.pid, second.child.pid, children.guardian.pid):
            assert sorted(os.listdir(f"/proc/{pid}/fd")) == ["0", "1", "2"]
    # And the proof that counts: with both children alive, closing our end is the end of the guardian's input.
    await asyncio.wait_for(children.guardian.close(), 20)


@pytest.mark.parametrize("number", [1, 0, -1, -5, 10_000_000, 2**32 + 1])
def test_what_is_no_group_of_a_child_is_not_entered(number: int) -> None:
    with pytest.raises(ValueError, match="not a process group"):
        Guardian().add(number)


def test_each_hub_and_each_child_has_its_own_mark() -> None:
    one, other = Guardian(), Guardian()
    assert one.marker != other.marker
    assert len(one.marker) == 32
    assert one.new_mark() != one.new_mark()
    assert one.new_mark().startswith(one.marker)
