"""Which of a session's folders may run their own programs, and the one question to the client's user about it.

Trust is bound to the folder it was given for (T5), so a session with several folders may trust some of them only.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Raw

from ombud.errors import OmbudError
from ombud.guard.trust import Trust, TrustStore
from ombud.wire.values import load_any

if TYPE_CHECKING:
    from ombud.operations.session import Session

YES, NO = "Trust this folder", "Not now"


class Trusting:
    """The trust of one session's folders: what the client said, what is stored, and what its user was asked."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._store = TrustStore()
        self._asked: set[Path] = set()
        """The real folders about which the client's user was asked."""
        self._granted: set[Path] = set()
        """Those that it then trusted."""

    def of(self, folder: Path) -> Trust:
        """What may run for the files of one workspace folder."""
        said = True if Path(os.path.realpath(folder)) in self._granted else self._session.configuration.trusted
        return Trust.decide(folder, said, self._store)

    def ask(self, folder: Path | None) -> None:
        """Ask the client's user once whether a folder's own programs may run (protocol.md, "Trust")."""
        if folder is None or folder in self._asked or self.of(folder).state != "unasked":
            return
        self._asked.add(folder)
        session = self._session

        def answered(result: Raw | None, _error: Raw | None) -> None:
            choice = load_any(result) if result is not None else None
            if isinstance(choice, dict) and choice.get("title") == YES:
                self._granted.add(folder)
                session.redetect()
                session.hub.spawn(self._keep(folder))

        session.front.ask(
            "window/showMessageRequest",
            {
                "type": 2,
                "message": f"Some language servers for {folder.name} run programs from the folder itself (build "
                "scripts, plugins, node_modules). Do you trust it?",
                "actions": [{"title": YES}, {"title": NO}],
            },
            answered,
        )

    async def _keep(self, root: Path) -> None:
        """Remember that the user trusts the folder, with the programs that are in it now (T5)."""
        from ombud.downstream.executables import local_executables

        found = await asyncio.to_thread(local_executables, self._session.catalogue, [root])
        try:
            await asyncio.to_thread(self._store.grant, root, [one.path for one in found])
        except OmbudError as error:
            self._session.tell("window/showMessage", {"type": 2, "message": error.message})
