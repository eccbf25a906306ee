"""What the scripted server answers: simple rules over the words of the documents it knows.

Every answer depends on the text that the server has at the moment the request arrives, so that a test can tell from
it which version of a document the server knew.
"""

from __future__ import annotations

import re

from tests.positions import utf16_length

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tests.peers.scripted.documents import Document, Documents

_DEFINITION = re.compile(r"^[ \t]*(?P<sort>def|class|function|func|fn)[ \t]+(?P<name>\w+)", re.MULTILINE)
_SYMBOL_KIND = {"class": 5, "def": 12, "function": 12, "func": 12, "fn": 12}
_CALL = re.compile(r"(\w+)\(([^()\r\n]*)$")
TOKEN_TYPES = ["variable", "number"]

# word of the script -> (server capability, its value, the methods that it allows)
FEATURES: dict[str, tuple[str, Any, tuple[str, ...]]] = {
    "hover": ("hoverProvider", True, ("textDocument/hover",)),
    "definition": ("definitionProvider", True, ("textDocument/definition",)),
    "references": ("referencesProvider", True, ("textDocument/references",)),
    "completion": (
        "completionProvider",
        {"resolveProvider": True, "triggerCharacters": ["."]},
        ("textDocument/completion", "completionItem/resolve"),
    ),
    "documentSymbol": ("documentSymbolProvider", True, ("textDocument/documentSymbol",)),
    "rename": (
        "renameProvider",
        {"prepareProvider": True},
        ("textDocument/rename", "textDocument/prepareRename"),
    ),
    "formatting": ("documentFormattingProvider", True, ("textDocument/formatting",)),
    "codeAction": (
        "codeActionProvider",
        {"codeActionKinds": ["quickfix"], "resolveProvider": True},
        ("textDocument/codeAction", "codeAction/resolve"),
    ),
    "signatureHelp": (
        "signatureHelpProvider",
        {"triggerCharacters": ["(", ","]},
        ("textDocument/signatureHelp",),
    ),
    "workspaceSymbol": ("workspaceSymbolProvider", True, ("workspace/symbol",)),
    "executeCommand": ("executeCommandProvider", {}, ("workspace/executeCommand",)),
    # -- not announced unless asked for
    "declaration": ("declarationProvider", True, ("textDocument/declaration",)),
    "typeDefinition": ("typeDefinitionProvider", True, ("textDocument/typeDefinition",)),
    "implementation": ("implementationProvider", True, ("textDocument/implementation",)),
    "documentHighlight": ("documentHighlightProvider", True, ("textDocument/documentHighlight",)),
    "foldingRange": ("foldingRangeProvider", True, ("textDocument/foldingRange",)),
    "inlayHint": ("inlayHintProvider", True, ("textDocument/inlayHint",)),
    "codeLens": (
        "codeLensProvider",
        {"resolveProvider": True},
        ("textDocument/codeLens", "codeLens/resolve"),
    ),
    "semanticTokens": (
        "semanticTokensProvider",
        {"legend": {"tokenTypes": TOKEN_TYPES, "tokenModifiers": []}, "full": True},
        ("textDocument/semanticTokens/full",),
    ),
    "callHierarchy": (
        "callHierarchyProvider",
        True,
        ("textDocument/prepareCallHierarchy", "callHierarchy/incomingCalls", "callHierarchy/outgoingCalls"),
    ),
}
DEFAULT = tuple(FEATURES)[:11]


class InvalidParams(Exception):
    """Answered with -32602."""


class Features:
    def __init__(self, script: dict[str, Any], documents: Documents) -> None:
        self._script = script
        self._name: str = script["name"]
        self._documents = documents
        chosen = script["features"]
        self.words = tuple(DEFAULT if chosen is None else FEATURES if chosen == "all" else chosen)
        self.methods = {method for word in self.words for method in FEATURES[word][2]}
        given = script["commands"]
        self.commands: list[str] = (
            [f"{self._name}.{word}" for word in ("state", "echo", "applyEdit")] if given is None else given
        )
        self._answers = self._table()

    def _table(self) -> dict[str, Callable[[dict[str, Any]], Any]]:
        return {
            "textDocument/hover": self._hover,
            "textDocument/definition": self._definition,
            "textDocument/declaration": self._definition,
            "textDocument/typeDefinition": self._definition,
            "textDocument/implementation": self._definition,
            "textDocument/references": self._references,
            "textDocument/documentHighlight": self._highlights,
            "textDocument/completion": self._completion,
            "completionItem/resolve": self._resolve,
            "textDocument/documentSymbol": self._document_symbols,
            "textDocument/rename": self._rename,
            "textDocument/prepareRename": self._prepare_rename,
            "textDocument/formatting": self._formatting,
            "textDocument/codeAction": self._code_actions,
            "codeAction/resolve": self._resolve,
            "textDocument/signatureHelp": self._signature,
            "workspace/symbol": self._workspace_symbols,
            "textDocument/foldingRange": self._folds,
            "textDocument/inlayHint": self._inlay_hints,
            "textDocument/codeLens": self._lenses,
            "codeLens/resolve": self._resolve,
            "textDocument/semanticTokens/full": self._semantic_tokens,
            "textDocument/prepareCallHierarchy": self._prepare_calls,
            "callHierarchy/incomingCalls": self._incoming,
            "callHierarchy/outgoingCalls": self._outgoing,
        }

    def capabilities(self) -> dict[str, Any]:
        announced = {FEATURES[word][0]: FEATURES[word][1] for word in self.words}
        if "executeCommand" in self.words:
            announced["executeCommandProvider"] = {"commands": self.commands}
        save = self._script["save"]
        announced["textDocumentSync"] = {
            "openClose": True,
            "change": self._script["sync"],
            "save": {"includeText": True} if save == "text" else bool(save),
        }
        return announced

    def answer(self, method: str, params: dict[str, Any]) -> Any:
        """The result of an announced method. Raises ``InvalidParams``, and ``KeyError`` for malformed params."""
        return self._answers[method](params)

    def _document(self, params: dict[str, Any]) -> Document | None:
        return self._documents.find(params["textDocument"]["uri"])

    def _word(self, params: dict[str, Any]) -> tuple[Document, str, int, int] | None:
        document = self._document(params)
        word = document.word(params["position"]) if document else None
        return (document, *word) if document and word else None

    def _hover(self, params: dict[str, Any]) -> Any:
        document = self._document(params)
        if document is None:
            return None
        number = params["position"]["line"]
        line = document.line(number)
        return {
            "contents": f"{self._name}: line {number}: {line}",
            "range": {
                "start": {"line": number, "character": 0},
                "end": {"line": number, "character": utf16_length(line)},
            },
            "version": document.version,
        }

    def _everywhere(self, params: dict[str, Any]) -> list[dict[str, Any]]:
        found = self._word(params)
        if found is None:
            return []
        return [
            place
            for document in self._documents.from_here(params["textDocument"]["uri"])
            for place in document.occurrences(found[1])
        ]

    def _definition(self, params: dict[str, Any]) -> Any:
        return self._everywhere(params)[:1]

    def _references(self, params: dict[str, Any]) -> Any:
        places = self._everywhere(params)
        return places if params.get("context", {}).get("includeDeclaration", True) else places[1:]

    def _highlights(self, params: dict[str, Any]) -> Any:
        here = params["textDocument"]["uri"]
        return [{"range": place["range"], "kind": 1} for place in self._everywhere(params) if place["uri"] == here]

    def _completion(self, params: dict[str, Any]) -> Any:
        found = self._word(params)
        position, prefix = params["position"], ""
        if found is not None:
            document, word, start, _ = found
            prefix = word[: document.lines.offset(position) - start]
        words = set(self._script["completions"])
        for document in self._documents.from_here(params["textDocument"]["uri"]):
            words |= document.words()
        items = [
            {"label": word, "kind": 1, "data": {"server": self._name, "word": word}}
            for word in sorted(words)
            if word.startswith(prefix)
        ]
        return {"isIncomplete": False, "items": items}

    def _resolve(self, item: dict[str, Any]) -> Any:
        """Completion items, code actions and lenses: only one's own, recognised by ``data``."""
        if (item.get("data") or {}).get("server") != self._name:
            raise InvalidParams(f"{self._name} did not make this item: {item.get('data')!r}")
        if "label" in item:
            return {**item, "detail": f"resolved by {self._name}", "documentation": item["data"]["word"]}
        if "title" in item:
            return {**item, "edit": item["data"]["edit"]}
        return {
            **item,
            "command": {"title": f"{self._name} lens", "command": f"{self._name}.echo", "arguments": []},
        }

    def _definitions(self, document: Document) -> list[tuple[str, str, int, int, int, int]]:
        """``(sort, name, start, end, name start, name end)``: each reaches to the next one or the end."""
        marks = list(_DEFINITION.finditer(document.text))
        ends = [*(mark.start() for mark in marks[1:]), len(document.text)][: len(marks)]
        return [
            (mark["sort"], mark["name"], mark.start(), end, mark.start("name"), mark.end("name"))
            for mark, end in zip(marks, ends, strict=True)
        ]

    def _document_symbols(self, params: dict[str, Any]) -> Any:
        document = self._document(params)
        return [
            {
                "name": name,
                "detail": self._name,
                "kind": _SYMBOL_KIND[sort],
                "range": document.lines.range(start, end),
                "selectionRange": document.lines.range(name_start, name_end),
            }
            for sort, name, start, end, name_start, name_end in (self._definitions(document) if document else [])
            if document
        ]

    def _workspace_symbols(self, params: dict[str, Any]) -> Any:
        return [
            {
                "name": name,
                "kind": _SYMBOL_KIND[sort],
                "containerName": self._name,
                "location": {"uri": document.uri, "range": document.lines.range(name_start, name_end)},
            }
            for document in self._documents.open.values()
            for sort, name, _, _, name_start, name_end in self._definitions(document)
            if params["query"] in name
        ]

    def _rename(self, params: dict[str, Any]) -> Any:
        changes: dict[str, list[dict[str, Any]]] = {}
        for place in self._everywhere(params):
            edit = {"range": place["range"], "newText": params["newName"]}
            changes.setdefault(place["uri"], []).append(edit)
        return {"changes": changes} if changes else None

    def _prepare_rename(self, params: dict[str, Any]) -> Any:
        found = self._word(params)
        if found is None:
            return None
        document, word, start, end = found
        return {"range": document.lines.range(start, end), "placeholder": word}

    def _formatting(self, params: dict[str, Any]) -> Any:
        """Takes blanks off the ends of lines and sees to a line end at the end of the text."""
        document = self._document(params)
        if document is None:
            return None
        blanks = re.compile(r"[ \t]+(?=\r|\n|\Z)")
        edits = [
            {"range": document.lines.range(match.start(), match.end()), "newText": ""}
            for match in blanks.finditer(document.text)
        ]
        if document.text and document.text[-1] not in "\r\n":
            end = document.lines.position(len(document.text))
            edits.append({"range": {"start": end, "end": end}, "newText": "\n"})
        return edits

    def _code_actions(self, params: dict[str, Any]) -> Any:
        """One quick fix a diagnostic of the context, which takes the diagnostic's text away; its edit comes late."""
        uri = params["textDocument"]["uri"]
        return [
            {
                "title": f"{self._name}: remove {diagnostic.get('code', 'it')}",
                "kind": "quickfix",
                "diagnostics": [diagnostic],
                "data": {
                    "server": self._name,
                    "edit": {"changes": {uri: [{"range": diagnostic["range"], "newText": ""}]}},
                },
            }
            for diagnostic in params["context"]["diagnostics"]
        ]

    def _signature(self, params: dict[str, Any]) -> Any:
        document = self._document(params)
        if document is None:
            return None
        start = document.lines.offset({"line": params["position"]["line"], "character": 0})
        call = _CALL.search(document.text[start : document.lines.offset(params["position"])])
        if call is None:
            return None
        label = f"{call.group(1)}(…) by {self._name}"
        return {
            "signatures": [{"label": label}],
            "activeSignature": 0,
            "activeParameter": call.group(2).count(","),
        }

    def _folds(self, params: dict[str, Any]) -> Any:
        document = self._document(params)
        if document is None:
            return None
        spans = [document.lines.range(start, end) for _, _, start, end, _, _ in self._definitions(document)]
        return [{"startLine": span["start"]["line"], "endLine": span["end"]["line"]} for span in spans]

    def _inlay_hints(self, params: dict[str, Any]) -> Any:
        document = self._document(params)
        return [
            {"position": document.lines.position(name_end), "label": f": {self._name}"}
            for _, _, _, _, _, name_end in (self._definitions(document) if document else [])
            if document
        ]

    def _lenses(self, params: dict[str, Any]) -> Any:
        document = self._document(params)
        return [
            {"range": document.lines.range(start, end), "data": {"server": self._name}}
            for _, _, _, _, start, end in (self._definitions(document) if document else [])
            if document
        ]

    def _semantic_tokens(self, params: dict[str, Any]) -> Any:
        """One token a word, encoded relative to the one before (LSP 3.17, "Semantic Tokens")."""
        document = self._document(params)
        data: list[int] = []
        line = character = 0
        for match in re.finditer(r"\w+", document.text) if document else ():
            place = document.lines.position(match.start()) if document else {"line": 0, "character": 0}
            down = place["line"] - line
            right = place["character"] - (0 if down else character)
            line, character = place["line"], place["character"]
            data += [down, right, utf16_length(match.group()), int(match.group().isdigit()), 0]
        return {"data": data}

    def _call_item(self, document: Document, definition: tuple[str, str, int, int, int, int]) -> dict[str, Any]:
        sort, name, start, end, name_start, name_end = definition
        return {
            "name": name,
            "kind": _SYMBOL_KIND[sort],
            "uri": document.uri,
            "range": document.lines.range(start, end),
            "selectionRange": document.lines.range(name_start, name_end),
            "data": {"server": self._name, "name": name},
        }

    def _all_definitions(self) -> list[tuple[Document, tuple[str, str, int, int, int, int]]]:
        documents = self._documents.open.values()
        return [(document, found) for document in documents for found in self._definitions(document)]

    def _prepare_calls(self, params: dict[str, Any]) -> Any:
        found = self._word(params)
        name = found[1] if found else None
        return [self._call_item(*one) for one in self._all_definitions() if one[1][1] == name] or None

    def _calls(self, document: Document, caller: tuple[str, str, int, int, int, int], name: str) -> list[Any]:
        """Ranges in ``caller`` where ``name`` stands before a parenthesis, its own head left out."""
        _, _, _, end, _, head = caller
        pattern = re.compile(rf"(?<!\w){re.escape(name)}(?=\()")
        return [
            document.lines.range(match.start(), match.end()) for match in pattern.finditer(document.text, head, end)
        ]

    def _incoming(self, params: dict[str, Any]) -> Any:
        name = self._own_call_item(params)["name"]
        calls = [(one, self._calls(*one, name)) for one in self._all_definitions()]
        return [{"from": self._call_item(*one), "fromRanges": ranges} for one, ranges in calls if ranges]

    def _outgoing(self, params: dict[str, Any]) -> Any:
        name = self._own_call_item(params)["name"]
        everything = self._all_definitions()
        callers = [one for one in everything if one[1][1] == name]
        calls = [
            (callee, [span for caller in callers for span in self._calls(*caller, callee[1][1])])
            for callee in everything
        ]
        return [{"to": self._call_item(*callee), "fromRanges": ranges} for callee, ranges in calls if ranges]

    def _own_call_item(self, params: dict[str, Any]) -> dict[str, Any]:
        item: dict[str, Any] = params["item"]
        if (item.get("data") or {}).get("server") != self._name:
            raise InvalidParams(f"{self._name} did not make this item: {item.get('data')!r}")
        return item
