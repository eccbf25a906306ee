"""A session's debugger: the breakpoints it has staged, the one debug session it may have, and what is left of the last.

One session a connection (decision 15). The end of the connection, of the hub, of its idle limit or of its time to live
ends it.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from ombud.debug.breakpoints import Breakpoints
from ombud.debug.catalogue import Entry, with_users
from ombud.debug.finding import Found, Place, find, markers
from ombud.debug.session import Limits
from ombud.errors import Refused

if TYPE_CHECKING:
    from ombud.debug.launching import Wish
    from ombud.debug.session import Session as Debugged
    from ombud.operations.session import Session

_NUMBERS = itertools.count(1)


class Desk:
    """One for a session of the hub's, made at the first need."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.breakpoints = Breakpoints()
        self.current: Debugged | None = None
        self.last: Debugged | None = None
        self.launched: tuple[Entry, Wish] | None = None
        """What `restart` launches again."""
        self.is_busy = False
        """Whether a launch is under way."""

    @property
    def limits(self) -> Limits:
        options = self._session.configuration.debug
        return Limits(options.idle_minutes * 60, options.ttl_minutes * 60)

    def free(self) -> None:
        """Raises `Refused` (``session_active``) where there is a session already."""
        known = self.current
        if self.is_busy or (known is not None and known.state != "exited"):
            name = "another one is starting" if known is None else f"{known.id} of {known.ready.name} is {known.state}"
            raise Refused(
                f"There can be one debug session at a time, and {name}. End it with op “terminate”, then launch.",
                kind="session_active",
                sessionId=known.id if known is not None else None,
            )

    def over(self, debugged: Debugged) -> None:
        """A session has ended. Its last output stays readable."""
        if self.current is debugged:
            self.last, self.current = debugged, None

    def need(self) -> Debugged:
        """The session. Raises `Refused` (``no_session``)."""
        if self.current is not None:
            self.current.touch()
            return self.current
        if self.last is not None:
            raise Refused(
                f"The debug session {self.last.id} is over{self.last.epitaph()}. Launch the program again.",
                kind="no_session",
            )
        raise Refused("There is no debug session. Begin one with op “launch” or “attach”.", kind="no_session")

    def latest(self) -> Debugged:
        """The session, or the one before. Raises `Refused` (``no_session``)."""
        return self.current or self.last or self.need()

    @staticmethod
    def new_id() -> str:
        return f"d{next(_NUMBERS)}"

    # -- adapters -------------------------------------------------------------------------------------------------

    def entries(self) -> dict[str, Entry]:
        return with_users(self._session.configuration.debug.adapters)

    def place(self) -> Place:
        return Place(self._session.fence.folders, self._session.trust, self._session.environment)

    def found(self) -> list[Found]:
        """All adapters with where they are, or why they are not. Reads the disk."""
        place = self.place()
        rows = []
        for entry in self.entries().values():
            if markers(entry, place.folders):
                rows.append(find(entry, place))
            else:
                some = ", ".join(entry.markers[:4])
                rows.append(Found(entry, None, f"Nothing in this workspace is for it ({some}, …)."))
        return rows

    def status(self) -> dict[str, Any] | None:
        """For `status`: ``{sessionId, state, expiresInSeconds}``."""
        known = self.current
        if known is None:
            return None
        return {"sessionId": known.id, "state": known.state, "expiresInSeconds": round(known.expires_in, 1)}

    async def close(self) -> None:
        if self.current is not None:
            await self.current.end("its client has gone")
