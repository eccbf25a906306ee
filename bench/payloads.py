"""Answers of a language server in the sizes that were recorded from real ones; the same bytes in every run.

Only `msgspec.Raw`-like handling can be fast on all of them: many short strings (completion), deep nesting
(documentSymbol), nothing but numbers (semanticTokens), and text beyond ASCII (the completion of 704 KB).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Kind:
    """One kind of request: its method, the line by which the server knows which size is meant, and its share."""

    name: str
    method: str
    line: int
    size: int
    """Bytes of the result, at least; the last item may make it a little longer."""
    count: int
    """How often it is asked in a round."""
    make: Callable[[int], Any]

    def result(self) -> bytes:
        """The JSON of the result, as compact as servers write it."""
        return json.dumps(self.make(self.size), separators=(",", ":"), ensure_ascii=False).encode()


def _until(size: int, item: Callable[[int], Any]) -> list[Any]:
    """As many items as make ``size`` bytes."""
    items: list[Any] = []
    length = 0
    while length < size:
        items.append(item(len(items)))
        length += len(json.dumps(items[-1], separators=(",", ":"), ensure_ascii=False).encode()) + 1
    return items


def _range(line: int) -> dict[str, Any]:
    return {"start": {"line": line, "character": 4}, "end": {"line": line, "character": 29}}


def _hover(size: int) -> Any:
    text = "```python\n(method) def total(self: Self@Invoice, currency: Currency = EUR) -> Decimal\n```\n---\n"
    text += "The sum of all lines, rounded once.  \n" * (size // 40)
    return {"contents": {"kind": "markdown", "value": text[: size - 120]}, "range": _range(12)}


def _completion(size: int) -> Any:
    def item(number: int) -> Any:
        name = f"member_{number:05d}"
        return {
            "label": name,
            "kind": 5,
            "sortText": f"09.9999.{name}",
            "data": {"uri": "file:///demo/project/a.x", "position": {"line": 12, "character": 9}, "symbolLabel": name},
        }

    return {"isIncomplete": False, "items": _until(size, item)}


def _auto_import(size: int) -> Any:
    def item(number: int) -> Any:
        name = f"Größe_{number:05d}"
        return {
            "label": name,
            "kind": 7,
            "labelDetails": {"description": f"package.module_{number % 97}"},
            "sortText": f"11.9999.{name}.package.module_{number % 97}",
            "documentation": {"kind": "markdown", "value": f"```python\nfrom package import {name}\n```\n— “{name}” …"},
            "additionalTextEdits": [{"range": _range(0), "newText": f"from package import {name}\n"}],
            "data": {"uri": "file:///demo/project/a.x", "position": {"line": 1, "character": 2}, "autoImport": name},
        }

    return {"isIncomplete": True, "items": _until(size, item)}


def _symbols(size: int) -> Any:
    def item(number: int) -> Any:
        def symbol(name: str, kind: int, children: list[Any]) -> Any:
            place = {"range": _range(number), "selectionRange": _range(number)}
            return {"name": name, "kind": kind, **place, "children": children}

        methods = [symbol(f"method_{number}_{index}", 6, [symbol("self", 13, [])]) for index in range(5)]
        return symbol(f"Class{number}", 5, methods)

    return _until(size, item)


def _tokens(size: int) -> Any:
    numbers: list[int] = []
    length = 0
    while length < size:
        token = [len(numbers) % 7, len(numbers) * 31 % 83, 3 + len(numbers) % 19, len(numbers) % 12, len(numbers) % 300]
        numbers += token
        length += sum(len(str(number)) + 1 for number in token)
    return {"data": numbers}


KINDS = (
    Kind("hover", "textDocument/hover", 0, 385, 60, _hover),
    Kind("completion 79 KB", "textDocument/completion", 0, 79_000, 20, _completion),
    Kind("completion 704 KB", "textDocument/completion", 1, 704_000, 6, _auto_import),
    Kind("completion 2.8 MB", "textDocument/completion", 2, 2_800_000, 4, _completion),
    Kind("documentSymbol 378 KB", "textDocument/documentSymbol", 0, 378_000, 8, _symbols),
    Kind("semanticTokens 173 KB", "textDocument/semanticTokens/full", 0, 173_000, 8, _tokens),
)
"""The workload of one round."""
