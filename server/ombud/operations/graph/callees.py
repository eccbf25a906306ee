"""What a symbol calls in this workspace, with the call sites; calls into libraries are not listed.

Edges of ``inferred`` and ``ambiguous`` confidence, guesses by name alone, are listed only when asked for and counted in
``others`` else.
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
    return await traced(session, params, "dst")
