"""Structural search for all sessions: one set of workers for the hub, as large as any session wants it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ombud.operations.hub import Hub
    from ombud.structural.search import Options, Searcher


class Searches:
    """See the module. Nothing is imported or started before the first search."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._searcher: Searcher | None = None

    @property
    def searcher(self) -> Searcher:
        if self._searcher is None:
            from ombud.structural.search import Searcher

            self._searcher = Searcher(self._hub.supervisor.guardian, self._options)
        return self._searcher

    def _options(self) -> Options:
        """The widest that any session has, so that none narrows another's."""
        from ombud.structural.search import Options
        from ombud.workspace.configuration import Configuration

        known = [found for session in self._hub.sessions if (found := session.known_configuration) is not None]
        known = known or [Configuration()]
        return Options(
            max(one.search.cache_mb for one in known) * 1_000_000,
            max(one.idle_minutes for one in known),
        )

    def leave(self) -> None:
        """Where every client says no to all processes, none is left."""
        if self._searcher is not None and all(session.said_no for session in self._hub.sessions):
            self._searcher.leave()

    async def close(self) -> None:
        """End every worker."""
        if self._searcher is not None:
            await self._searcher.close()
