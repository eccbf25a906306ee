"""Fixtures for all tests: workspaces, an isolated Ombud, transcripts of failures, and a check for leaked processes."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pytest
from hypothesis import settings

from tests import leaks, transcript
from tests.client import MARKER, Client
from tests.isolation import basics, isolated

# With -P a module of the workspace that is the current folder cannot take the place of one of ours.
OMBUD = (sys.executable, "-P", "-m", "ombud")

# How long an example takes depends on the machine, which may be busy with another worker's servers.
settings.register_profile("ombud", deadline=None)
settings.load_profile("ombud")

_NUMBERS = itertools.count(1)
_NODES: dict[str, str] = {}
_PRINTED = pytest.StashKey[bool]()

Files = Mapping[str, str | bytes]


# -- transcripts of failed tests


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    transcript.CURRENT.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and not item.stash.get(_PRINTED, False):
        item.stash[_PRINTED] = True
        report.sections += [(f"transcript of {one.name}", str(one)) for one in transcript.CURRENT]
    return report


# -- several workers


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests that share a session stay in one worker, or each would start the servers anew (`tests.together`)."""
    if config.getvalue("dist") != "load":
        return None
    from tests.together import Together

    return Together(config, log)


# -- leaked processes


@pytest.fixture(scope="session", autouse=True)
def _no_process_left_by_the_run() -> Iterator[None]:
    """What starts outside of any one test (fixtures of modules) carries the marker of number 0."""
    os.environ[MARKER] = leaks.marker_of(0)
    yield
    os.environ.pop(MARKER, None)
    remaining = leaks.left_after_grace(leaks.RUN)
    if remaining:
        found = leaks.describe(remaining)
        tests = {_NODES.get(one.environ().get(MARKER, ""), "a fixture") for one in remaining if one.is_running()}
        leaks.kill(remaining)
        pytest.fail(f"processes outlived the run, started by {sorted(tests)}:\n{found}", pytrace=False)


@pytest.fixture(autouse=True)
def _no_process_left(request: pytest.FixtureRequest, _no_process_left_by_the_run: None) -> Iterator[None]:
    """Set up before and torn down after every other fixture of a test: nothing it started may outlive it."""
    marker = leaks.marker_of(next(_NUMBERS))
    _NODES[marker] = request.node.nodeid
    outside = os.environ[MARKER]
    before = leaks.STARTS.begin()
    os.environ[MARKER] = marker
    yield
    os.environ[MARKER] = outside
    if not leaks.STARTS.seen:
        return
    remaining = leaks.left_after_grace(marker, before)
    if remaining:
        found = leaks.describe(remaining)
        leaks.kill(remaining)
        pytest.fail(f"this test left processes behind (they have been killed):\n{found}", pytrace=False)


# -- folders


class Workspace(Protocol):
    def __call__(self, files: Files = ..., *, name: str = ...) -> Path: ...


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """``workspace({"a.py": "…", "sub/b.bin": b"…"}, name="ws")`` writes files as they are given and returns the folder.

    It is resolved and inside no repository. Called again with the same name it adds files.
    """

    def build(files: Files = {}, *, name: str = "ws") -> Path:  # noqa: B006  # it is only read
        root = tmp_path.resolve() / name
        root.mkdir(parents=True, exist_ok=True)
        for relative, content in files.items():
            path = root / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return root

    return build


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The user's home folder for whatever ``ombud`` and ``client_factory`` start."""
    folder = tmp_path.resolve() / "home"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """A folder that comes first in their PATH: the place for programs that a test makes."""
    folder = tmp_path.resolve() / "bin"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def environment(request: pytest.FixtureRequest, home: Path, bin_folder: Path, tmp_path: Path) -> dict[str, str]:
    """The environment of whatever ``ombud`` and ``client_factory`` start; a test may change it beforehand.

    PATH is ``bin_folder`` and the basic programs of a POSIX system, in which no language server is to be found;
    for tests marked ``real`` it is ``bin_folder`` and the pinned tools.
    """
    if request.node.get_closest_marker("real") is not None:
        from tests.toolbox import tool_path

        return isolated(home, [bin_folder, *tool_path().split(os.pathsep)])
    return isolated(home, [bin_folder, basics(tmp_path.resolve() / "basics")])


# -- clients


class ClientFactory(Protocol):
    def __call__(
        self,
        argv: Sequence[str | os.PathLike[str]],
        *,
        cwd: Path | None = ...,
        env: Mapping[str, str] | None = ...,
        name: str = ...,
        strict: bool = ...,
    ) -> Client: ...


class OmbudFactory(Protocol):
    def __call__(
        self,
        *arguments: str,
        cwd: Path | None = ...,
        env: Mapping[str, str] | None = ...,
        name: str = ...,
        strict: bool = ...,
    ) -> Client: ...


@pytest.fixture
async def client_factory(environment: dict[str, str], _no_process_left: None) -> AsyncIterator[ClientFactory]:
    """``async with client_factory([…argv]) as client``: any server, in the isolated environment.

    ``env`` is laid over that environment. A client that the test entered and never left is ended with the test.
    """
    made: list[Client] = []

    def make(
        argv: Sequence[str | os.PathLike[str]],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        name: str = "client",
        strict: bool = True,
    ) -> Client:
        whole = {**environment, **(env or {})}
        made.append(Client.stdio(argv, cwd=cwd, env=whole, name=name, strict=strict))
        return made[-1]

    yield make
    for client in made:
        await client.link.close()


@pytest.fixture
def ombud(client_factory: ClientFactory) -> OmbudFactory:
    """``async with ombud() as client``: ``ombud serve`` of this checkout; ``arguments`` follow ``serve``."""

    def make(
        *arguments: str,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        name: str = "ombud",
        strict: bool = True,
    ) -> Client:
        argv = [*OMBUD, "serve", *arguments]
        return client_factory(argv, cwd=cwd, env=env, name=name, strict=strict)

    return make


@pytest.fixture
def ombud_command(environment: dict[str, str]) -> Callable[..., list[str]]:
    """``ombud_command("doctor", "--json")``: the argv of a command line of this checkout; for ``environment``."""
    return lambda *arguments: [*OMBUD, *arguments]
