"""The table of pattern cases: one TOML file a language under `cases/`.

A case has a `name`, the keys of a query (`pattern`, `where`, `inside`, …) and a `source`, in which « and » enclose what
must be found, or an `error`. `captures` lists, a match each, what its metavariables must hold: a text, or a list of
texts for `$$$NAME`. `as` names the rung of the ladder that must have read the pattern.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from ombud.structural.query import Query

FOLDER = Path(__file__).with_name("cases")
OWN_KEYS = ("name", "source", "captures", "error", "as")


@dataclass(frozen=True)
class Case:
    """One row: `spans` are byte offsets into `source`, by position, the outer of two at one start first."""

    language: str
    name: str
    query: Query
    source: bytes
    spans: list[tuple[int, int]]
    captures: list[dict[str, str | list[str]]] = field(default_factory=list)
    error: str | None = None
    parsed_as: str | None = None

    def __str__(self) -> str:
        return f"{self.language}: {self.name}"


def read(language: str) -> list[Case]:
    """The cases of one language. Raises where a file is not of this form."""
    rows: list[dict[str, Any]] = tomllib.loads(FOLDER.joinpath(f"{language}.toml").read_text("utf-8"))["case"]
    return [_case(language, row) for row in rows]


def languages() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def _case(language: str, row: dict[str, Any]) -> Case:
    source, spans = unmark(row["source"])
    query = msgspec.convert({key: value for key, value in row.items() if key not in OWN_KEYS}, Query)
    captures = row.get("captures", [])
    error = row.get("error")
    if error and spans:
        raise ValueError(f"{row['name']}: an error finds nothing")
    if captures and len(captures) != len(spans):
        raise ValueError(f"{row['name']}: {len(spans)} matches, captures of {len(captures)}")
    return Case(language, row["name"], query, source, spans, captures, error, row.get("as"))


def unmark(marked: str) -> tuple[bytes, list[tuple[int, int]]]:
    """The source without its marks, and the marked spans by position."""
    source = bytearray()
    opened: list[int] = []
    spans: list[tuple[int, int]] = []
    for letter in marked:
        if letter == "«":
            opened.append(len(source))
        elif letter == "»":
            spans.append((opened.pop(), len(source)))
        else:
            source += letter.encode()
    if opened:
        raise ValueError(f"a « is not closed in {marked!r}")
    return bytes(source), sorted(spans, key=lambda span: (span[0], -span[1]))
