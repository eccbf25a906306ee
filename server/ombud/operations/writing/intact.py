"""A server's edit must leave what parses as something that parses (C7).

Servers have cut nested markup in two and put a symbol's new body into the middle of the old one. What a caller writes
in its own words is the caller's, broken or not; what a server makes of a wish is looked at before it is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ombud.errors import Refused
from ombud.guard.redact import clean, redact
from ombud.operations.targets import language
from ombud.syntax.apart import Texts, faults
from ombud.syntax.parse import Fault

if TYPE_CHECKING:
    from ombud.operations.session import Session
    from ombud.operations.writing.plan import Edition

INSTEAD = (
    "Make the change in your own words, with edit or apply_patch; a rename with apply: false tells what its edits are."
)
NAMED = 5
"""So many files are named in a note."""


async def intact(session: Session, editions: Sequence[Edition], author: str, instead: str = INSTEAD) -> str | None:
    """Check what ``author`` wants to make of the files; a sentence on those that could not be checked.

    ``instead`` is what a reader is told to do where it is refused.

    Raises `Refused` (``conflict``, with ``server``, ``path``, ``line`` and ``places``) where a text that parses would
    not any more. A new file has no text that did, and a file that had errors before may have other ones.
    """
    changed = [one for one in editions if one.old is not None and one.new is not None and one.old != one.new]
    texts = await asyncio.to_thread(_texts, session, changed)
    if not any(one.judged for one in texts):
        return None
    found = await faults(texts, session.hub.supervisor.guardian())
    broken = [(edition, one) for edition, one in zip(changed, found, strict=True) if isinstance(one, Fault)]
    if broken:
        raise _refusal(broken, author, instead)
    unknown = [(edition, one) for edition, one in zip(changed, found, strict=True) if isinstance(one, str)]
    if not unknown:
        return None
    names = ", ".join(f"{edition.target.relative} ({why})" for edition, why in unknown[:NAMED])
    more = f" and {len(unknown) - NAMED} more" if len(unknown) > NAMED else ""
    return f"Whether the edit of {author} has broken the syntax was not checked for {names}{more}."


def _texts(session: Session, editions: Sequence[Edition]) -> list[Texts]:
    """Blocks: languages of some files are told by their first lines."""
    out = []
    for one in editions:
        was, now = language(session, one.inside), language(session, one.target)
        # Nothing but its first line may tell what it is, and it is not at its new place yet.
        out.append(Texts(was, one.old or "", was if now == "plaintext" else now, one.new or ""))
    return out


def _refusal(broken: Sequence[tuple[Edition, Fault]], author: str, instead: str) -> Refused:
    edition, fault = broken[0]
    path = edition.target.relative
    words = clean(redact(fault.what), 100)
    what = f" ({words})" if words else ""
    more = f", and so would {len(broken) - 1} more" if len(broken) > 1 else ""
    return Refused(
        f"Nothing of the edit of {author} was written: {path} parses now and would not any more, for a syntax error on "
        f"line {fault.line} of its new text{what}{more}. {instead}",
        kind="conflict",
        server=author,
        path=path,
        line=fault.line,
        places=[{"path": one.target.relative, "line": found.line} for one, found in broken[:50]],
    )
