"""Stage a rewrite again, with the same ops on what is in the files today, as after a commit that was refused.

It gets a new editId and the old one is gone. Files of it that were committed or discarded apart stay as they are.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from ombud.errors import Refused
from ombud.operations.shapes import Arguments, Wait
from ombud.operations.structural.edit import Params as Edit
from ombud.operations.structural.edit import Result
from ombud.operations.structural.kept import wanted
from ombud.operations.structural.stage import stage

if TYPE_CHECKING:
    from ombud.operations.session import Session

__all__ = ["Params", "Result", "run"]


class Params(Arguments, frozen=True, kw_only=True):
    edit_id: Annotated[str, msgspec.Meta(description="What ast_edit answered with, or one of `staged`.")]
    check: Annotated[
        bool | None,
        msgspec.Meta(description="Ask the language servers what it would introduce; as at first without it."),
    ] = None
    wait_ms: Wait | None = None


async def run(session: Session, params: Params) -> Result:
    """Answers as ast_edit. Where nothing matches any more nothing is staged, and the old edit stays.

    Raises `Refused` (``unknown_edit``), and as ast_edit.
    """
    old = await wanted(session, params.edit_id)
    try:
        request = msgspec.json.decode(old.request, type=Edit)
    except msgspec.MsgspecError as error:
        raise Refused(
            f"{old.id} was staged by another version of Ombud; stage it anew with ast_edit.",
            kind="unknown_edit",
            editId=old.id,
        ) from error
    if params.check is not None:
        request = msgspec.structs.replace(request, check=params.check)
    if params.wait_ms is not None:
        request = msgspec.structs.replace(request, wait_ms=params.wait_ms)
    result = await stage(session, request, [Path(os.fsdecode(path)) for path in old.settled], instead=old)
    if result.edit_id is None:
        result.message += f" {old.id} is staged as before."
    else:
        result.message += f" It takes the place of {old.id}."
    return result
