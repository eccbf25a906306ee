"""What is staged, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ombud.faces.cli.shapes import diff_lines
from ombud.faces.cli.terminal import Row, Screen, table
from ombud.guard.redact import clean

Result = Mapping[str, Any]
_FILES = 8


def plain(value: object) -> str:
    return clean(str(value), 1000)


def lines(params: Result, result: Result, screen: Screen) -> Iterator[str]:
    """The edits that wait, or one of them with its diffs; then what became of the last ones."""
    if params.get("editId"):
        for one in result["staged"]:
            yield from _whole(one, screen)
        return
    rows = [
        Row([plain(one["editId"]), _age(one["ageSeconds"]), plain(one["summary"])], below=_below(one))
        for one in result["staged"]
    ]
    if rows:
        yield from table(screen, ["EDIT", "AGE", "REWRITE"], rows)
        yield "“ombud resolve EDIT --action commit” writes one, “--action discard” forgets it."
    else:
        yield "Nothing is staged."
    for one in result["gone"]:
        yield screen.paint(f"{plain(one['editId'])} {plain(one['reason'])}.", "dim")


def _below(one: Result) -> list[str]:
    names = [plain(file["path"]) for file in one["files"][:_FILES]]
    more = f" and {one['fileCount'] - len(names)} more" if one["fileCount"] > len(names) else ""
    found = [f"{', '.join(names)}{more}", f"by {plain(one['client'])}, kept for {_age(one['expiresInSeconds'])} more"]
    if one["conflictsWith"]:
        found.append(f"changes some of the same files as {', '.join(map(plain, one['conflictsWith']))}")
    return found


def _whole(one: Result, screen: Screen) -> Iterator[str]:
    for file in one["files"]:
        yield from diff_lines(file["diff"], screen)
        if file.get("truncated"):
            yield "(the rest of this diff is not shown)"
    changed = [plain(file["path"]) for file in one["files"] if file.get("changed")]
    if changed:
        yield from screen.wrap(
            f"Not as at staging any more: {', '.join(changed[:_FILES])}{' and more' if len(changed) > _FILES else ''}. "
            f"“ombud restage {plain(one['editId'])}” stages the same on what is there now."
        )


def _age(seconds: int) -> str:
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
