"""How large the graph is, and how current: files, symbols, references, imports, exports, edges, by language.

``references`` are the sites that name something, ``edges`` the pairs of symbols that they were found to connect;
``unresolved`` counts the call sites that neither lead to a symbol here nor into a library.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ombud.operations.graph.ground import consult
from ombud.operations.graph.shapes import Answer, Consulting

if TYPE_CHECKING:
    from ombud.operations.session import Session


class Params(Consulting, frozen=True, kw_only=True):
    """Only what every question takes."""


class Result(Answer, kw_only=True):
    files: int
    symbols: int
    references: int
    imports: int
    exports: int
    edges: int
    bytes: int
    """Of the store on the disk."""
    source_bytes: int
    lines: int
    external: int
    """Call sites that lead into libraries."""
    languages: dict[str, int]
    """Files by language, most first."""
    stale_files: int
    """Files that have changed and are not yet read again."""
    skipped: dict[str, int]
    """Files that were left out, by the reason."""


async def run(session: Session, params: Params) -> Result:
    """Of all workspace folders together."""
    ground = await consult(session, params)
    found = [await root.ask(lambda reader: reader.stats()) for root in ground.roots]
    languages: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    for root, one in zip(ground.roots, found, strict=True):
        languages.update(one.languages)
        skipped.update(root.state.skipped)
        skipped.update(one.skipped)
    return Result(
        files=sum(one.files for one in found),
        symbols=sum(one.symbols for one in found),
        references=sum(one.references for one in found),
        imports=sum(one.imports for one in found),
        exports=sum(one.exports for one in found),
        edges=sum(one.edges for one in found),
        bytes=sum(one.store_bytes for one in found),
        source_bytes=sum(one.bytes for one in found),
        lines=sum(one.lines for one in found),
        external=sum(one.external for one in found),
        languages=dict(languages.most_common()),
        stale_files=ground.pending,
        skipped=dict(skipped.most_common()),
        note=ground.note(ground.about(*languages)),
        **ground.said(sum(one.unresolved for one in found)),
    )
