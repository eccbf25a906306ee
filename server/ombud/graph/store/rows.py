"""What readers answer. Lines and characters are zero-based, kinds and confidences those of `ombud.graph.facts`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ombud.graph.facts import CONFIDENCES, EXPORTED, KINDS, SITE_KINDS
from ombud.graph.store.schema import STATES


@dataclass(frozen=True, slots=True)
class File:
    """A file that was looked at. ``state`` is one of `STATES`; ``reason`` says why it was skipped."""

    id: int
    path: str
    language: str
    package: str
    state: int
    reason: str
    notes: tuple[str, ...]
    test: bool
    size: int
    lines: int
    symbols: int
    sites: int
    external: int
    unresolved: int
    """Call sites that leave the root, and those of which nothing is known."""
    resolved: bool
    """Whether its edges are worked out."""

    @property
    def state_name(self) -> str:
        return STATES[self.state]


@dataclass(frozen=True, slots=True)
class Definition:
    """A symbol. ``container`` is the id of what it is defined in, None for a module."""

    id: int
    file: int
    path: str
    language: str
    test: bool
    """Whether it is a test, or stands in a file of tests."""
    name: str
    qualified: str
    kind: int
    container: int | None
    flags: int
    fan: int
    """How many symbols lead to it, once for each kind of edge."""
    range: tuple[int, int, int, int]
    at: tuple[int, int, int]
    """Line, character and length of its name."""
    signature: str

    @property
    def key(self) -> str:
        """Its id for the outside: ``path#Qualified.name``, ``path#`` for a module."""
        return f"{self.path}#{self.qualified}"

    @property
    def kind_name(self) -> str:
        return KINDS[self.kind]

    @property
    def exported(self) -> bool:
        return bool(self.flags & EXPORTED)


@dataclass(frozen=True, slots=True)
class Edge:
    """One site: ``src`` names ``dst`` at a place in ``path``, the file of ``src``."""

    src: int
    dst: int
    kind: int
    confidence: int
    path: str
    line: int
    character: int
    length: int
    depth: int = 1
    """How many steps the edge is away from what was asked about, counted from 1."""

    @property
    def kind_name(self) -> str:
        return SITE_KINDS[self.kind]

    @property
    def confidence_name(self) -> str:
        return CONFIDENCES[self.confidence]


@dataclass(frozen=True, slots=True)
class Site:
    """A call of which only the name is known."""

    src: int
    name: str
    path: str
    line: int
    character: int
    length: int


@dataclass(slots=True)
class Traced:
    """Edges by depth, then by place. ``truncated``: there are more than were asked for or could be followed.

    ``inferred`` and ``ambiguous`` count the direct sites that may belong here by their name, and are not among
    ``edges``; ``total`` counts pairs of symbols, also those that were left out.
    """

    edges: list[Edge] = field(default_factory=list)
    total: int = 0
    truncated: bool = False
    inferred: int = 0
    ambiguous: int = 0


@dataclass(frozen=True, slots=True)
class Node:
    """A symbol of an outline with what is defined in it, in the order of the text."""

    definition: Definition
    children: Sequence[Node]


@dataclass(frozen=True, slots=True)
class Stats:
    files: int
    symbols: int
    references: int
    imports: int
    exports: int
    edges: int
    bytes: int
    """Of the indexed files."""
    store_bytes: int
    lines: int
    external: int
    unresolved: int
    languages: dict[str, int]
    """Files by language, most first."""
    skipped: dict[str, int]
    """Files by the reason they were skipped for."""
    notes: dict[str, int]
    pending: int
    complete: bool


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found, best first. ``truncated``: there may be more."""

    symbols: list[Definition]
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Reached:
    """A symbol that depends on what was asked about: it has an edge to ``to``, which is one step nearer."""

    id: int
    depth: int
    to: int
    kind: int
    confidence: int
    path: str
    test: bool
    """Whether it is a test, or stands in a file of tests."""


@dataclass(frozen=True, slots=True)
class Impact:
    """All that depends on some symbols, nearest first, then by path and place. ``truncated``: a bound was reached."""

    reached: list[Reached]
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Dependent:
    """A file that depends on another, by how many steps."""

    path: str
    depth: int
    test: bool


@dataclass(frozen=True, slots=True)
class Links:
    """What a file depends on and what depends on it: files, by path; dependents by steps, then by path."""

    imports: list[str]
    uses: list[str]
    """Files that it has an edge of any kind to."""
    imported_by: list[str]
    direct: list[Dependent]
    indirect: list[Dependent]
    truncated: bool = False
