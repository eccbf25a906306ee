"""Notebooks with real servers: what they find in the cells, at once and after a change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.client import Client
from tests.conftest import OmbudFactory, Workspace
from tests.connection import Json
from tests.profiles import NEOVIM, VSCODE
from tests.real.editor import PATIENCE
from tests.toolbox import require
from tests.waiting import wait_until

pytestmark = pytest.mark.real

CELLS = ("import os\n\nberths = 3\n", "# Harbour\n", "free = berths + 'x'\n")
SERVERS: Json = {
    **{name: {"disabled": True} for name in ("ty", "pyrefly", "zuban")},
    # Asked about a cell, this basedpyright answers that it is not open; what it says by itself is right.
    "basedpyright": {
        "settings": {"basedpyright.analysis.typeCheckingMode": "standard"},
        "initializationOptions": {"disablePullDiagnostics": True},
    },
}
PUBLISH = "textDocument/publishDiagnostics"


def on_disk() -> Json:
    """The file, which some servers read beside what they are told."""
    kinds = ("code", "markdown", "code")
    cells: list[Json] = [{"cell_type": kind, "metadata": {}, "source": CELLS[at]} for at, kind in enumerate(kinds)]
    for cell in cells:
        if cell["cell_type"] == "code":
            cell |= {"execution_count": None, "outputs": []}
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


class Notebook:
    """A notebook of three cells: code, prose, code."""

    def __init__(self, client: Client, root: Path) -> None:
        self.client = client
        self.uri = (root / "plan.ipynb").as_uri()
        self.version = 1

    def cell(self, number: int) -> str:
        return f"vscode-notebook-cell:{self.uri.removeprefix('file:')}#W{number}sZmlsZQ%3D%3D"

    def open(self) -> None:
        languages = ("python", "markdown", "python")
        cells = [
            {"kind": 2 if language == "python" else 1, "document": self.cell(at)}
            for at, language in enumerate(languages)
        ]
        texts = [
            {"uri": self.cell(at), "languageId": language, "version": 1, "text": CELLS[at]}
            for at, language in enumerate(languages)
        ]
        document = {"uri": self.uri, "notebookType": "jupyter-notebook", "version": 1, "cells": cells}
        self.client.notify("notebookDocument/didOpen", {"notebookDocument": document, "cellTextDocuments": texts})

    def write(self, number: int, text: str) -> None:
        self.version += 1
        document = {"uri": self.cell(number), "version": self.version}
        change = {"cells": {"textContent": [{"document": document, "changes": [{"text": text}]}]}}
        named = {"uri": self.uri, "version": self.version}
        self.client.notify("notebookDocument/didChange", {"notebookDocument": named, "change": change})

    async def shows(self, number: int, *wanted: tuple[str, str]) -> list[Json]:
        """Wait until the last word on a cell is this: the sources and codes of what is no mere hint."""

        def found() -> list[Json]:
            published = [one.params for one in self.client.notifications if one.method == PUBLISH]
            of_cell = [params["diagnostics"] for params in published if params["uri"] == self.cell(number)]
            return (
                [one for one in of_cell[-1] if one["severity"] < 4] if of_cell else [{"source": "", "code": "none yet"}]
            )

        def fits() -> bool:
            return sorted((one["source"].lower(), str(one["code"])) for one in found()) == sorted(wanted)

        await wait_until(fits, PATIENCE, f"cell {number} shows {wanted}")
        return found()


@pytest.mark.parametrize("capabilities", [VSCODE, NEOVIM], ids=["vscode", "neovim"])
async def test_ruff_and_basedpyright_find_what_is_wrong_in_the_cells(
    ombud: OmbudFactory, workspace: Workspace, capabilities: Json
) -> None:
    require("ruff")
    require("basedpyright-langserver")
    root = workspace({"pyproject.toml": "", "plan.ipynb": json.dumps(on_disk())})
    synchronization = {"notebookDocument": {"synchronization": {"dynamicRegistration": False}}}
    async with ombud(cwd=root) as client:
        options = {"ombud": {"trusted": True, "servers": SERVERS}}
        await client.initialize(root, options, {**capabilities, **synchronization})
        book = Notebook(client, root)
        book.open()
        await book.shows(0, ("ruff", "F401"))
        (wrong,) = await book.shows(2, ("basedpyright", "reportOperatorIssue"))
        assert wrong["range"]["start"] == {"line": 0, "character": 7}
        # What a cell means for those behind it, and what one says of itself.
        book.write(0, "berths = 'three'\n")
        await book.shows(2)
        await book.shows(0)
        hover = await client.request(
            "textDocument/hover",
            {"textDocument": {"uri": book.cell(2)}, "position": {"line": 0, "character": 8}},
            PATIENCE,
        )
        assert "str" in str(hover)
        book.write(2, "import sys\n\nfree = berths + 1\n")
        await book.shows(2, ("ruff", "F401"), ("basedpyright", "reportOperatorIssue"))
        # Servers that start anew know the notebook as it is now.
        await client.request("ombud/reload", {}, PATIENCE)
        book.write(2, "free = berths + 1\n")
        await book.shows(2, ("basedpyright", "reportOperatorIssue"))
