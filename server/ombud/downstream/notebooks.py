"""Which notebooks and which of their cells a server wants: its ``notebookDocumentSync`` (LSP 3.17)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ombud.downstream.capabilities import Capabilities
from ombud.downstream.watched import expression
from ombud.guard.uris import path_or_none
from ombud.workspace.notebook import Notebook

REGISTERED = "notebookDocument/sync"


def view(notebook: Notebook, capabilities: Capabilities) -> Notebook | None:
    """The notebook as a server is to see it, with the cells of the languages that it asked for; None for not at all."""
    wanted = [selector for selector in _selectors(capabilities) if _matches(selector.get("notebook"), notebook)]
    if not wanted:
        return None
    languages: set[str] = set()
    for selector in wanted:
        cells = selector.get("cells")
        if not isinstance(cells, list) or not cells:
            return notebook
        languages.update(str(cell.get("language")) for cell in cells if isinstance(cell, Mapping))
    if "*" in languages:
        return notebook
    cells = tuple(cell for cell in notebook.cells if cell.language in languages)
    return notebook if len(cells) == len(notebook.cells) else msgspec.structs.replace(notebook, cells=cells)


def wants(capabilities: Capabilities) -> bool:
    """Whether a server takes notebooks at all."""
    return any(True for _ in _options(capabilities))


def wants_saves(capabilities: Capabilities) -> bool:
    """Whether a server wants ``notebookDocument/didSave``."""
    return any(options.get("save") is True for options in _options(capabilities))


def _options(capabilities: Capabilities) -> Iterator[Mapping[str, Any]]:
    announced = capabilities.announced.get("notebookDocumentSync")
    if isinstance(announced, Mapping):
        yield announced
    yield from capabilities.registrations(REGISTERED)


def _selectors(capabilities: Capabilities) -> Iterator[Mapping[str, Any]]:
    for options in _options(capabilities):
        selectors = options.get("notebookSelector")
        yield from (one for one in selectors if isinstance(one, Mapping)) if isinstance(selectors, list) else ()


def _matches(wanted: Any, notebook: Notebook) -> bool:
    """Whether a notebook fits a ``NotebookDocumentFilter``, a notebook's type, or nothing that was asked for."""
    if wanted is None or isinstance(wanted, str):
        return wanted in (None, "*", notebook.kind)
    if not isinstance(wanted, Mapping):
        return False
    kind, scheme, pattern = (wanted.get(name) for name in ("notebookType", "scheme", "pattern"))
    if kind not in (None, "*", notebook.kind) or scheme not in (None, notebook.uri.partition(":")[0]):
        return False
    return pattern is None or (isinstance(pattern, str) and _fits(pattern, notebook.uri))


def _fits(pattern: str, uri: str) -> bool:
    found = path_or_none(uri)
    path = found.as_posix() if found is not None else uri.partition(":")[2]
    # A pattern may be absolute, or be meant for the end of the path.
    short = path.rpartition("/")[2]
    compiled = re.compile(expression(pattern.strip("/")))
    return any(compiled.fullmatch(f"{text}/") is not None for text in (path.strip("/"), short))
