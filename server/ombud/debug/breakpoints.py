"""The breakpoints that a session is to have: staged before a launch, sent to each connection, and what came of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ombud.debug import lines
from ombud.errors import PeerError, UserError

if TYPE_CHECKING:
    from ombud.debug.link import Link

REACH = 200
"""Lines around a breakpoint in which one that can be bound is looked for."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A breakpoint of a source file. ``line`` is one-based."""

    line: int
    condition: str | None = None
    hit_condition: str | None = None
    log_message: str | None = None

    def arguments(self) -> dict[str, Any]:
        """As a ``SourceBreakpoint``."""
        said = {
            "line": self.line,
            "condition": self.condition,
            "hitCondition": self.hit_condition,
            "logMessage": self.log_message,
        }
        return {name: value for name, value in said.items() if value is not None}


@dataclass(slots=True)
class State:
    """What an adapter made of a breakpoint. ``line`` is where it really is."""

    wanted: Wanted
    verified: bool = False
    line: int | None = None
    message: str = ""
    id: int | None = None


@dataclass(frozen=True, slots=True)
class Unbound:
    """A breakpoint that would never be hit. ``nearest`` is the nearest line that can take one, None where unknown."""

    path: Path
    line: int
    message: str
    nearest: int | None


@dataclass(frozen=True, slots=True)
class Watch:
    """What a launch itself stops at. ``exceptions`` are filters, None for the adapter's own; ``conditions`` those of
    filters, where the adapter knows any; ``functions`` names.
    """

    exceptions: tuple[str, ...] | None = None
    conditions: Mapping[str, str] = field(default_factory=dict)
    functions: tuple[str, ...] = ()


@dataclass(slots=True)
class Breakpoints:
    """All that was asked for, and the state of the source breakpoints by file."""

    files: dict[Path, tuple[Wanted, ...]] = field(default_factory=dict)
    functions: tuple[dict[str, Any], ...] = ()
    exceptions: tuple[str, ...] | None = None
    """Filters; None takes those that the adapter has on by default."""
    data: tuple[dict[str, Any], ...] = ()
    states: dict[Path, list[State]] = field(default_factory=dict)

    def stage(self, path: Path, wanted: Sequence[Wanted]) -> None:
        """These are all of that file's, in the place of those before."""
        if wanted:
            self.files[path] = tuple(wanted)
        else:
            self.files.pop(path, None)
        self.states[path] = [State(one) for one in wanted]

    def forget(self) -> None:
        """Another session begins: none of them is bound any more."""
        self.states = {path: [State(one) for one in wanted] for path, wanted in self.files.items()}

    # -- sending --------------------------------------------------------------------------------------------------

    async def send_all(self, link: Link, capabilities: Mapping[str, Any], watch: Watch) -> None:
        """Between ``initialized`` and ``configurationDone``. What an adapter refuses leaves its breakpoints unbound."""
        for path in list(self.files):
            await self.send_file(link, capabilities, path)
        functions = [*self.functions, *({"name": name} for name in watch.functions)]
        if functions and capabilities.get("supportsFunctionBreakpoints"):
            await _tried(link, "setFunctionBreakpoints", {"breakpoints": functions})
        await self.send_exceptions(link, capabilities, watch)

    async def send_file(self, link: Link, capabilities: Mapping[str, Any], path: Path) -> None:
        """Set one file's breakpoints at one connection. Raises `UserError` for kinds that the adapter does not know."""
        wanted = self.files.get(path, ())
        _known(wanted, capabilities, link.name)
        arguments = {
            "source": {"path": str(path), "name": path.name},
            "breakpoints": [one.arguments() for one in wanted],
            "lines": [one.line for one in wanted],
            "sourceModified": False,
        }
        try:
            answer = await link.ask("setBreakpoints", arguments)
        except PeerError as error:
            if error.kind == "timeout":
                raise
            self.states[path] = [State(one, message=error.message) for one in wanted]
            return
        self._take(path, wanted, answer.get("breakpoints"))

    def _take(self, path: Path, wanted: Sequence[Wanted], answer: Any) -> None:
        rows = answer if isinstance(answer, list) else []
        before = {state.wanted: state for state in self.states.get(path, ())}
        found = []
        for number, one in enumerate(wanted):
            row = rows[number] if number < len(rows) and isinstance(rows[number], dict) else {}
            state = _state(one, row)
            known = before.get(one)
            # Of several connections, one that binds it is enough.
            found.append(known if known is not None and known.verified and not state.verified else state)
        self.states[path] = found

    async def send_exceptions(self, link: Link, capabilities: Mapping[str, Any], watch: Watch | None = None) -> None:
        """Set the exception breakpoints: those that were asked for, else those of ``watch``.

        Else the adapter's own, and what nobody catches: there the program ends, with all that could be looked at.
        """
        watch = watch or Watch()
        known = [one for one in capabilities.get("exceptionBreakpointFilters") or () if isinstance(one, dict)]
        names = [str(one.get("filter")) for one in known]
        if not names:
            return
        asked = watch.exceptions if self.exceptions is None else self.exceptions
        conditions = watch.conditions if self.exceptions is None else {}
        filters = (
            [str(one["filter"]) for one in known if one.get("default") or one["filter"] == "uncaught"]
            if asked is None
            else list(asked)
        )
        filters = [one for one in filters if one in names]
        arguments: dict[str, Any] = {"filters": filters}
        if conditions and capabilities.get("supportsExceptionFilterOptions"):
            arguments["filters"] = [one for one in filters if one not in conditions]
            arguments["filterOptions"] = [
                {"filterId": one, "condition": conditions[one]} for one in filters if one in conditions
            ]
        await _tried(link, "setExceptionBreakpoints", arguments)

    def changed(self, row: Mapping[str, Any]) -> None:
        """An adapter says that a breakpoint is another one now."""
        identity = row.get("id")
        for states in self.states.values():
            for state in states:
                if identity is not None and state.id == identity:
                    fresh = _state(state.wanted, {**row, "verified": row.get("verified", state.verified)})
                    state.verified, state.message = fresh.verified, fresh.message
                    state.line = fresh.line or state.line

    # -- what came of them ----------------------------------------------------------------------------------------

    @property
    def bound(self) -> int:
        return sum(state.verified for states in self.states.values() for state in states)

    async def unbound(self, link: Link | None, capabilities: Mapping[str, Any]) -> list[Unbound]:
        """Those that are not bound, with the nearest line that can be."""
        found = []
        for path, states in self.states.items():
            for state in states:
                if not state.verified:
                    nearest = await _nearest(link, capabilities, path, state.wanted.line)
                    message = state.message or "The adapter has not bound it yet; its file may not be loaded."
                    found.append(Unbound(path, state.wanted.line, message, nearest))
        return found


def _state(wanted: Wanted, row: Mapping[str, Any]) -> State:
    line, identity = row.get("line"), row.get("id")
    return State(
        wanted,
        bool(row.get("verified")),
        line if isinstance(line, int) else None,
        str(row.get("message") or ""),
        identity if isinstance(identity, int) else None,
    )


def _known(wanted: Sequence[Wanted], capabilities: Mapping[str, Any], name: str) -> None:
    for key, attribute, words in (
        ("supportsConditionalBreakpoints", "condition", "conditions"),
        ("supportsHitConditionalBreakpoints", "hit_condition", "hit counts"),
        ("supportsLogPoints", "log_message", "log messages"),
    ):
        if not capabilities.get(key) and any(getattr(one, attribute) for one in wanted):
            raise UserError(f"{name} knows no {words} of breakpoints; set it without.")


async def _tried(link: Link, command: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Ask for what an adapter may refuse without harm."""
    try:
        return await link.ask(command, arguments)
    except PeerError as error:
        if error.kind == "timeout" or link.over is not None:
            raise
        return {}


async def _nearest(link: Link | None, capabilities: Mapping[str, Any], path: Path, line: int) -> int | None:
    """The line next to ``line`` where a breakpoint can be, by the adapter or else by the text."""
    if link is not None and link.over is None and capabilities.get("supportsBreakpointLocationsRequest"):
        arguments = {
            "source": {"path": str(path), "name": path.name},
            "line": max(1, line - REACH),
            "endLine": line + REACH,
        }
        try:
            answer = await _tried(link, "breakpointLocations", arguments)
        except PeerError:
            # The program may end while its breakpoints are told.
            answer = {}
        rows = answer.get("breakpoints") or ()
        places: set[int] = {row["line"] for row in rows if isinstance(row, dict) and isinstance(row.get("line"), int)}
        others = sorted(places - {line})
        if others:
            return min(others, key=lambda place: (abs(place - line), -place))
    return lines.nearest(path, line)
