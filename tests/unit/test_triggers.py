"""A typed character asks the servers that announced it, and no other."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import Raw
from ombud.downstream.capabilities import Capabilities
from ombud.downstream.triggers import meant

SERVER = Capabilities(
    {
        "completionProvider": {"triggerCharacters": [".", "\U0001f600"]},
        "signatureHelpProvider": {"triggerCharacters": ["("], "retriggerCharacters": [","]},
        "documentOnTypeFormattingProvider": {"firstTriggerCharacter": "}", "moreTriggerCharacter": [";"]},
    }
)


def by(character: str | None, kind: int = 2, **more: Any) -> dict[str, Any]:
    return {"context": {"triggerKind": kind, "triggerCharacter": character, **more}}


@pytest.mark.parametrize(
    ("name", "params", "expected"),
    [
        ("completion", by("."), True),
        ("completion", by("\U0001f600"), True),
        ("completion", by("("), False),
        ("completion", by(".."), False),
        ("completion", by("(", kind=1), None),
        ("completion", by("(", kind=3), None),
        ("completion", by(None), None),
        ("completion", {}, None),
        ("completion", {"context": None}, None),
        ("completion", {"context": 5}, None),
        ("completion", {"ch": "("}, None),
        ("signatureHelp", by("("), True),
        ("signatureHelp", by(","), False),
        ("signatureHelp", by(",", isRetrigger=True), None),
        ("signatureHelp", by("x", kind=3), None),
        ("onTypeFormatting", {"ch": "}"}, True),
        ("onTypeFormatting", {"ch": ";"}, True),
        ("onTypeFormatting", {"ch": "\n"}, False),
        ("onTypeFormatting", {"ch": 5}, None),
        ("hover", by("("), None),
    ],
    ids=str,
)
def test_who_is_meant(name: str, params: dict[str, Any], expected: bool | None) -> None:
    asks = meant(f"textDocument/{name}", Raw(msgspec.json.encode(params)))
    assert (None if asks is None else asks(SERVER)) is expected


def test_what_was_registered_counts() -> None:
    later = Capabilities({})
    asks = meant("textDocument/completion", Raw(msgspec.json.encode(by("."))))
    assert asks is not None and not asks(later)
    later.register("1", "textDocument/completion", {"triggerCharacters": ["."]})
    assert asks(later)
