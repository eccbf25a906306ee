"""One refresh of a client at a time, whatever asks for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from ombud.operations.refresh import Refresh
from ombud.operations.session import Session

METHOD = "workspace/codeLens/refresh"


class Asked:
    """A session as far as a refresh looks at it; its client answers when told to."""

    def __init__(self, can: bool = True) -> None:
        self._can = can
        self.open: list[Callable[[Any, Any], None]] = []
        self.methods: list[str] = []

    def can(self, capability: str) -> bool:
        return self._can and capability == "workspace.codeLens.refreshSupport"

    def ask_client(self, method: str, _params: Any, answered: Callable[[Any, Any], None]) -> str:
        self.methods.append(method)
        self.open.append(answered)
        return "ombud-1"

    def refresh(self) -> Refresh:
        return Refresh(cast(Session, self), METHOD)


def test_what_comes_up_while_one_is_open_becomes_one_more() -> None:
    asked = Asked()
    refresh = asked.refresh()
    for _ in range(3):
        refresh.want()
    assert asked.methods == [METHOD]
    asked.open.pop()(None, None)
    assert asked.methods == [METHOD, METHOD]
    asked.open.pop()(None, None)
    assert asked.methods == [METHOD, METHOD]


@pytest.mark.parametrize("closed", [False, True])
def test_a_client_that_cannot_or_is_gone_is_not_asked(closed: bool) -> None:
    asked = Asked(can=closed)
    refresh = asked.refresh()
    if closed:
        refresh.close()
    refresh.want()
    assert asked.methods == []
