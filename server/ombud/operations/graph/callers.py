"""Who calls a symbol: the call sites of a function, method or class, each with the definition that it stands in.

Calls of a class count as calls of its constructor. Edges of ``inferred`` and ``ambiguous`` confidence, guesses by name
alone, are listed only when asked for and counted in ``others`` else. The ``src`` of a call is the innermost named
definition around it, or the module of its file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ombud.operations.graph.traced import Params, Result
from ombud.operations.graph.traced import run as traced

if TYPE_CHECKING:
    from ombud.operations.session import Session

__all__ = ["Params", "Result", "run"]


async def run(session: Session, params: Params) -> Result:
    """Raises `UserError` for a name that several symbols have, with ``candidates``, and for a place that is not there;
    `Refused` (``not_found``, with the nearest names; the fence's kinds)."""
    return await traced(session, params, "src")
