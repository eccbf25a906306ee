"""What the operations on the graph take and answer: symbols, edges, and what every answer says of itself.

Ids are ``path#Qualified.name``, a file's module is ``path#``. ``line`` and ``endLine`` are one-based, ``range`` is
LSP's.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from ombud.operations.shapes import Arguments, Shape
from ombud.text.ranges import Position, Range

Confidence = Literal["exact", "confirmed", "inferred", "ambiguous"]
EdgeKind = Literal["call", "import", "inherit", "reference"]

DEPTH_LIMIT = 50
LIMIT = 200
WAIT_MS = 30_000


class Consulting(Arguments, frozen=True):
    """What every question to the graph takes."""

    wait_ms: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            le=3_600_000,
            description="How long to wait for the first index of a folder, in milliseconds; after that the answer is "
            "that of the files read so far.",
        ),
    ] = WAIT_MS


class Listing(Consulting, frozen=True):
    """What every question takes whose answer is a list."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=100_000, description="How many entries a list has at the most.")] = (
        LIMIT
    )
    tokens: (
        Annotated[
            int,
            msgspec.Meta(
                ge=1,
                description="A budget for the whole answer, in tokens of about four characters of its JSON; lists are "
                "cut to fit it.",
            ),
        ]
        | None
    ) = None


Path = Annotated[str, msgspec.Meta(description="The file.")]
Line = Annotated[int, msgspec.Meta(ge=1, description="The line, counted from one; goes with path and symbol.")]
Named = Annotated[
    str,
    msgspec.Meta(
        description="A symbol by its id (path#Qualified.name), its qualified name (Class.method) or its bare name; "
        "with line, a name on that line of path (name#2 is the second).",
        extra_json_schema={"x-bare": True},
    ),
]
At = Annotated[Position, msgspec.Meta(description="An LSP position in path, instead of line and symbol.")]
Least = Annotated[
    Confidence,
    msgspec.Meta(
        description="The least to include: exact (bound by scope or import), confirmed (a language server agreed), "
        "inferred (the only one of that name), ambiguous (one of several of that name)."
    ),
]


class Pointing(Listing, frozen=True):
    """A question about one symbol: by name, or by a place in a file."""

    symbol: Named | None = None
    path: Path | None = None
    line: Line | None = None
    position: At | None = None


class Tracing(Pointing, frozen=True):
    """A question about what leads to a symbol, or from it."""

    confidence: Least = "confirmed"
    confirm: Annotated[
        bool,
        msgspec.Meta(
            description="Ask the language server of each file about the edges that are not exact: those it agrees "
            "with become confirmed, those it does not are left out."
        ),
    ] = False


class Answer(Shape, kw_only=True):
    """What every answer says of itself."""

    complete: bool = True
    """Whether everything was read: false while a folder is indexed for the first time."""
    pending: int = 0
    """Files that are still to be read."""
    unresolved: int = 0
    """Call sites that could belong to the answer, and of which the graph does not know what they call."""
    note: str | None = None


class Listed(Answer, kw_only=True):
    """An answer with lists."""

    truncated: bool = False
    """Whether a list was cut, by ``limit``, by ``tokens`` or by the bounds of the search; the note says how much."""


class SymbolShape(Shape):
    id: str
    kind: str
    name: str
    qualified_name: str
    path: str
    line: int
    end_line: int
    range: Range
    signature: str
    exported: bool
    container: str | None
    """The qualified name of what it is defined in, null at the top of its file."""


class EdgeShape(Shape):
    src: str
    dst: str
    kind: EdgeKind
    path: str
    """The file of the site: where ``src`` names ``dst``."""
    line: int
    end_line: int
    range: Range
    confidence: Confidence
    depth: int = 1
    text: str = ""
    """The first source line of the site."""


class Others(Shape):
    """How many further call sites may be meant, by name alone, and are not listed."""

    inferred: int = 0
    ambiguous: int = 0


class Factor(Shape, kw_only=True):
    name: str
    value: float
    points: float
    """What it adds to the score."""


class Risk(Shape, kw_only=True):
    level: Literal["low", "medium", "high", "critical"]
    score: int
    """From 0 to 100: the sum of the factors' points."""
    factors: list[Factor]


Rows = list[dict[str, Any]]
