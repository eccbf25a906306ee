"""The whole moment in one answer: why the program stands, the top frames with source, arguments and locals, what was
raised. Within a budget of tokens: frames further out lose their values first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ombud.debug import lines
from ombud.debug.moment import Frame, Variable
from ombud.debug.parameters import parameters
from ombud.errors import OmbudError

if TYPE_CHECKING:
    from ombud.debug.session import Session

FRAMES = 5
TOKENS = 2000
CHARACTERS = 4
"""About, of one token."""
LONGEST = 160
"""Characters of a value."""
REACH = 3
LEAST = 300
"""Characters of what is given in any case: where, and why."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A frame of a snapshot. ``left_out`` counts variables for which there was no room."""

    frame: Frame
    source: str
    arguments: tuple[Variable, ...]
    locals: tuple[Variable, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """``exception`` has ``type``, ``message`` and ``details``. ``truncated``: there was more than was asked for."""

    reason: str
    description: str
    exception: dict[str, str] | None
    frames: tuple[Shown, ...]
    total: int
    truncated: bool


async def snapshot(session: Session, frames: int = FRAMES, tokens: int = TOKENS) -> Snapshot:
    """Raises `Refused` while the program runs, `PeerError` where the adapter fails."""
    stop = session.need_stop()
    moment = session.moment
    left = max(LEAST, tokens * CHARACTERS)
    exception = await moment.exception(stop)
    if exception is not None:
        exception = {name: value[: left // 4] for name, value in exception.items()}
        left -= sum(map(len, exception.values()))
    stack = await moment.stack(limit=frames)
    shown: list[Shown] = []
    cut = stack.total > len(stack.frames)
    for number, frame in enumerate(stack.frames):
        reach = REACH if number == 0 else 1
        source = lines.around(frame.path, frame.line, reach) if frame.path is not None else ""
        left -= len(source) + len(frame.name) + 40
        if left < 0 and shown:
            cut = True
            break
        share = left // 2 if number == 0 else left // 3
        one = await _values(session, frame, source, share)
        left -= sum(_size(value) for value in (*one.arguments, *one.locals))
        cut = cut or bool(one.left_out)
        shown.append(one)
    return Snapshot(stop.reason, stop.description or stop.text, exception, tuple(shown), stack.total, cut)


async def _values(session: Session, frame: Frame, source: str, room: int) -> Shown:
    """A frame with its values, as many as there is room for."""
    arguments: list[Variable] = []
    others: list[Variable] = []
    try:
        scopes = await session.moment.scopes(frame.id)
        for scope in scopes:
            kind = scope.hint or scope.name.lower()
            if scope.expensive or kind in ("globals", "global", "registers", "static", "statics"):
                continue
            found, _ = await session.moment.variables(scope.variables_reference, limit=200, longest=LONGEST)
            (arguments if kind.startswith("argument") else others).extend(found)
            if kind.startswith(("local", "block")) and others:
                # Scopes further out (a closure, a module) say little of the moment.
                break
    except OmbudError:
        # A frame without values is better than no snapshot.
        pass
    if not arguments and frame.path is not None:
        names = await parameters(frame.path, frame.line)
        arguments = [one for name in names for one in others if one.name == name]
    mine = {id(one) for one in arguments}
    others = [one for one in others if id(one) not in mine and not _is_noise(one)]
    kept: list[Variable] = []
    for one in (*arguments, *others):
        room -= _size(one)
        if room < 0:
            break
        kept.append(one)
    return Shown(
        frame,
        source,
        tuple(one for one in kept if id(one) in mine),
        tuple(one for one in kept if id(one) not in mine),
        len(arguments) + len(others) - len(kept),
    )


def _size(one: Variable) -> int:
    return len(one.name) + len(one.value) + len(one.type) + 30


def _is_noise(one: Variable) -> bool:
    """What adapters list beside the variables of a frame."""
    return (
        one.name.startswith("@py_")
        or one.name in ("special variables", "function variables", "class variables")
        or (one.name.startswith("(return)") and not one.value)
    )
