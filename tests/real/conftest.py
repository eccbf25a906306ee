"""Real servers in an environment of their own: no network, and folders whose names are short enough for sockets."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import transcript

pytest.register_assert_rewrite("tests.real.editor", "tests.real.desk")

OFFLINE = {"CARGO_NET_OFFLINE": "true", "GOPROXY": "off", "GOTOOLCHAIN": "local"}


@pytest.fixture(autouse=True)
def _own_environment(request: pytest.FixtureRequest) -> Iterator[None]:
    """What servers would look up on the network is not what these tests are about.

    biome binds a socket in the user's cache, and a socket's path has 107 bytes at most: too few for pytest's folders.
    """
    if "environment" not in request.fixturenames:
        yield
        return
    short = Path(tempfile.mkdtemp(prefix="ombud-"))
    environment = request.getfixturevalue("environment")
    environment.update(OFFLINE, XDG_CACHE_HOME=str(short / "cache"), XDG_RUNTIME_DIR=str(short / "run"))
    (short / "run").mkdir(mode=0o700)
    yield
    shutil.rmtree(short, ignore_errors=True)


SHARED: list[transcript.Transcript] = []
"""The transcripts of sessions that several tests share (`tests.real.desk`)."""


@pytest.fixture(autouse=True)
def _transcripts_of_shared_sessions() -> None:
    """A failing test shows them too, though they began before it did."""
    transcript.CURRENT.extend(one for one in SHARED if one not in transcript.CURRENT)
