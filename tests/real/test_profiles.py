"""Ombud with basedpyright and ruff, for clients that declare what VS Code, Neovim and Emacs declare.

The client is pytest-lsp's: it knows the capabilities of released editors, and warns where a server sends what its
client has not declared. Such a warning fails a test here, but for one: basedpyright sends a client that declares no
format of documentation plain text all the same, as an object. Emacs shows it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities, make_test_lsp_client

from tests.conftest import OMBUD
from tests.edits import operations
from tests.isolation import isolated
from tests.markers import CURSOR
from tests.positions import apply_edits
from tests.real.conftest import OFFLINE
from tests.real.editor import PATIENCE
from tests.toolbox import copy_project, require, tool_path

pytestmark = [
    pytest.mark.real,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.filterwarnings(
        "error::pytest_lsp.LspSpecificationWarning",
        "ignore:Client does not support documentation format 'plaintext':pytest_lsp.LspSpecificationWarning",
    ),
]

PROFILES = ("visual-studio-code", "neovim@v0.11", "emacs")
WRONG = '''"""How a ship is made fast."""

import os

from harbour.berths import Ship, fits


def moor(ship: Ship) -> str:
    return "yes" if fits(ship, "40") else "no"
'''
PATH = "harbour/moor.py"


@dataclass
class Session:
    """A client of Ombud, with what it was told and what it was asked. ``text`` is that of its one open document."""

    client: LanguageClient
    root: Path
    result: types.InitializeResult
    registered: list[types.Registration] = field(default_factory=list)
    applied: list[types.WorkspaceEdit] = field(default_factory=list)
    text: str = WRONG
    version: int = 1

    @property
    def uri(self) -> str:
        return (self.root / PATH).as_uri()

    @property
    def document(self) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(self.uri)

    def place(self, piece: str) -> types.Position:
        """The position of the cursor in a piece of the text that stands in it once. The text is ASCII."""
        plain = piece.replace(CURSOR, "")
        assert self.text.count(plain) == 1
        before = self.text[: self.text.index(plain) + piece.index(CURSOR)]
        return types.Position(before.count("\n"), len(before) - before.rfind("\n") - 1)

    def change(self, text: str) -> None:
        self.text = text
        self.version += 1
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(self.version, self.uri),
                [types.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    @property
    def pulls(self) -> bool:
        """Whether this client and Ombud have agreed that the client asks for diagnostics."""
        methods = {one.method for one in self.registered}
        return self.result.capabilities.diagnostic_provider is not None or "textDocument/diagnostic" in methods

    async def diagnostics(self) -> Sequence[types.Diagnostic]:
        """The diagnostics that the client has been given, or is given when it asks."""
        if not self.pulls:
            return self.client.diagnostics.get(self.uri, ())
        report = await self.client.text_document_diagnostic_async(types.DocumentDiagnosticParams(self.document))
        assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
        return report.items

    async def diagnosed(self, *wanted: tuple[str, str]) -> Sequence[types.Diagnostic]:
        """Wait until the client has diagnostics of these sources and codes; all that it has then."""
        async with asyncio.timeout(PATIENCE):
            while True:
                found = await self.diagnostics()
                if set(wanted) <= {(one.source, one.code) for one in found}:
                    return found
                if self.pulls:
                    # What it was not told yet it is told at another time; an editor asks again as it likes.
                    await asyncio.sleep(0.2)
                else:
                    await self.client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)

    def edited(self, edit: types.WorkspaceEdit) -> str:
        """The document's text after an edit, which must be about this document alone."""
        plain = self.client.protocol._converter.unstructure(edit)
        (one,) = operations(plain)
        assert one["textDocument"]["uri"] == self.uri
        return apply_edits(self.text, one["edits"])


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=PROFILES)
async def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Session]:
    for tool in ("basedpyright-langserver", "ruff"):
        require(tool)
    folder = tmp_path_factory.mktemp("profile").resolve()
    root = copy_project("python", folder)
    (root / PATH).write_text(WRONG, encoding="utf-8")
    environment = {**os.environ, **isolated(folder / "home", tool_path().split(os.pathsep)), **OFFLINE}
    client = await ClientServerConfig([*OMBUD, "serve"], make_test_lsp_client, environment).start()
    assert isinstance(client, LanguageClient)
    registered: list[types.Registration] = []
    applied: list[types.WorkspaceEdit] = []

    @client.feature(types.CLIENT_REGISTER_CAPABILITY)
    def register(params: types.RegistrationParams) -> None:
        registered.extend(params.registrations)

    @client.feature(types.CLIENT_UNREGISTER_CAPABILITY)
    def unregister(params: types.UnregistrationParams) -> None:
        gone = {one.id for one in params.unregisterations}
        registered[:] = [one for one in registered if one.id not in gone]

    @client.feature(types.WORKSPACE_APPLY_EDIT)
    def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        applied.append(params.edit)
        return types.ApplyWorkspaceEditResult(applied=True)

    try:
        async with asyncio.timeout(PATIENCE):
            result = await client.initialize_session(
                types.InitializeParams(
                    capabilities=client_capabilities(request.param),
                    root_uri=root.as_uri(),
                    workspace_folders=[types.WorkspaceFolder(root.as_uri(), root.name)],
                    initialization_options={"ombud": {"trusted": True}},
                )
            )
        made = Session(client, root, result, registered, applied)
        item = types.TextDocumentItem(made.uri, "python", 1, WRONG)
        client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        yield made
        async with asyncio.timeout(PATIENCE):
            await client.shutdown_session()
        assert client.error is None
    finally:
        await client.stop()


async def test_it_is_told_what_it_can_ask(session: Session) -> None:
    told = session.result.capabilities
    assert told.position_encoding in (None, types.PositionEncodingKind.Utf16)
    assert told.hover_provider and told.definition_provider and told.rename_provider and told.code_action_provider
    assert told.completion_provider is not None and "." in (told.completion_provider.trigger_characters or ())


async def test_diagnostics_of_both_servers_come(session: Session) -> None:
    await session.diagnosed(("Ruff", "F401"), ("basedpyright", "reportArgumentType"))


async def test_hover(session: Session) -> None:
    params = types.HoverParams(session.document, session.place("if fi<|>ts("))
    hover = await session.client.text_document_hover_async(params)
    assert hover is not None and "Whether a ship fits a berth" in str(hover.contents)


async def test_definition(session: Session) -> None:
    params = types.DefinitionParams(session.document, session.place("if fi<|>ts("))
    found = await session.client.text_document_definition_async(params)
    assert isinstance(found, list)
    places = {one.target_uri if isinstance(one, types.LocationLink) else one.uri for one in found}
    assert places == {(session.root / "harbour" / "berths.py").as_uri()}


async def test_completion_and_its_documentation(session: Session) -> None:
    session.change(WRONG + "\n\ndef name(ship: Ship) -> int:\n    return ship.len\n")
    params = types.CompletionParams(session.document, session.place("return ship.len<|>"))
    found = await session.client.text_document_completion_async(params)
    assert found is not None
    items = found.items if isinstance(found, types.CompletionList) else found
    item = await session.client.completion_item_resolve_async(next(one for one in items if one.label == "length"))
    assert "length: int" in str(item.documentation)
    session.change(WRONG)


async def test_rename(session: Session) -> None:
    params = types.RenameParams(session.document, session.place("def mo<|>or("), "berth")
    edit = await session.client.text_document_rename_async(params)
    assert edit is not None
    assert session.edited(edit) == WRONG.replace("def moor(", "def berth(")


async def test_code_actions_and_what_they_lead_to(session: Session) -> None:
    found = await session.diagnosed(("Ruff", "F401"), ("basedpyright", "reportUnusedImport"))
    start = session.place("<|>import os")
    span = types.Range(start, types.Position(start.line, start.character + len("import os")))
    shown = [one for one in found if one.range.start.line == start.line]
    params = types.CodeActionParams(session.document, span, types.CodeActionContext(shown))
    offered = {one.title: one for one in await session.client.text_document_code_action_async(params) or ()}
    fix = offered["Ruff (F401): Remove unused import: `os`"]
    ignore = offered["Add `# pyright: ignore[reportUnusedImport]`"]
    assert isinstance(fix, types.CodeAction) and isinstance(ignore, types.CodeAction)
    if fix.edit is None:
        fix = await session.client.code_action_resolve_async(fix)
    assert fix.edit is not None
    assert session.edited(fix.edit) == WRONG.replace("import os\n", "")
    assert ignore.edit is not None
    assert "import os  # pyright: ignore[reportUnusedImport]\n" in session.edited(ignore.edit)


async def test_a_servers_command_comes_back_as_an_edit(session: Session) -> None:
    session.change(WRONG.replace("import os\n", "import sys\nimport os\n"))
    argument = {"uri": session.uri, "version": session.version}
    params = types.ExecuteCommandParams("ruff.applyOrganizeImports", [argument])
    await session.client.workspace_execute_command_async(params)
    async with asyncio.timeout(PATIENCE):
        while not session.applied:
            await asyncio.sleep(0.05)
    assert "import os\nimport sys\n" in session.edited(session.applied[-1])
    session.change(WRONG)
