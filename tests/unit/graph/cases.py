"""Cases of a table that is a file: ``=== name``, then sections ``--- title`` with their lines."""

from __future__ import annotations

from pathlib import Path

FIXTURES = Path(__file__).parents[3] / "fixtures" / "graph"


def cases(path: str) -> dict[str, dict[str, str]]:
    """Name → title → text, of a file under ``fixtures/graph``."""
    found: dict[str, dict[str, str]] = {}
    for part in ("\n" + FIXTURES.joinpath(path).read_text("utf-8")).split("\n=== ")[1:]:
        name, _, body = part.partition("\n")
        sections = ("\n" + body.rstrip("\n")).split("\n--- ")[1:]
        found[name] = {title: text for title, _, text in (section.partition("\n") for section in sections)}
    assert found, path
    return found
