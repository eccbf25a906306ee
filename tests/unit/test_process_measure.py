"""What a child costs, its descendants included."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest
from ombud.process.measure import usage

from tests.children import python
from tests.waiting import wait_until_sync

# One parent with two children of ten megabytes each, and a parent that has waited for a third, busy one.
PARENT = """
import os, subprocess, sys, time
HOLD = "data = bytearray(b'x' * 10_000_000); print('up', flush=True); import time; time.sleep(600)"
BUSY = "import time\\nwhile time.process_time() < 0.3: pass"
subprocess.run([sys.executable, '-I', '-S', '-c', BUSY])
held = [subprocess.Popen([sys.executable, '-I', '-S', '-c', HOLD], stdout=subprocess.PIPE) for _ in range(2)]
for one in held: one.stdout.readline()
print(*[one.pid for one in held], flush=True)
sys.stdin.read()
for one in held: one.kill()
"""


@pytest.fixture
def parent() -> Iterator[tuple[subprocess.Popen[bytes], list[int]]]:
    process = subprocess.Popen(python(PARENT), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    helpers = [int(word) for word in process.stdout.readline().split()]
    held = [psutil.Process(pid) for pid in helpers]
    yield process, helpers
    for one in held:
        if one.is_running():
            one.kill()
    process.kill()
    process.communicate()


def test_a_family_is_measured_as_one(parent: tuple[subprocess.Popen[bytes], list[int]]) -> None:
    process, helpers = parent
    cost = usage(process.pid)
    assert cost is not None
    assert cost.processes == 3
    alone = [usage(pid) for pid in helpers]
    assert all(one is not None and one.processes == 1 and one.rss_bytes > 10_000_000 for one in alone)
    assert cost.rss_bytes > 20_000_000
    if sys.platform == "linux":
        assert cost.cpu_seconds >= 0.3


def test_a_process_that_is_gone_has_no_cost() -> None:
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", ""])
    # Not reaped yet: a zombie costs nothing either.
    wait_until_sync(lambda: psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE, 20, "the process to end")
    assert usage(process.pid) is None
    process.wait()
    assert usage(process.pid) is None


@pytest.mark.parametrize("pid", [-1, 2**31 - 1, 2**80])
def test_nonsense_has_no_cost(pid: int) -> None:
    assert usage(pid) is None


@pytest.mark.parametrize("error", [psutil.NoSuchProcess(1), psutil.AccessDenied(1), ProcessLookupError()])
def test_members_that_vanish_while_measured_are_left_out(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """The process is there when the family is listed and gone when its turn comes."""
    looks = 0

    def vanish(_: psutil.Process) -> str:
        nonlocal looks
        looks += 1
        if looks > 1:
            raise error
        return "sleeping"

    monkeypatch.setattr(psutil.Process, "status", vanish)
    assert usage(os.getpid()) is None
    assert looks > 1
