"""A question to the conformance server, and the small pieces that its payloads are made of."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Json = dict[str, Any]
    Payload = Callable[["Ask"], Any]

LONE = "\ud83d"
"""Half of a surrogate pair: legal in JSON, and no Unicode text."""
UNKNOWN: Json = {
    "ünknown": {"float": 1.0, "tiny": 1e-7, "huge": 123456789012345678901234567890, "null": None, "nested": [[], {}]}
}
"""Fields that no version of the specification has. Whoever does not know them must leave them alone."""


class Ask:
    """``name`` is the server's own, ``uri`` the document's (or one in the root), ``params`` what was sent.

    ``version`` is the document's as the server knows it, None where it is not open.
    """

    def __init__(self, name: str, uri: str, params: Any, variant: str, version: int | None) -> None:
        self.name = name
        self.uri = uri
        self.version = version
        self.params = params
        self.variant = variant

    @property
    def folder(self) -> str:
        return self.uri.rpartition("/")[0]

    @property
    def other(self) -> str:
        """Another document than the one that was asked about, with characters that URIs escape."""
        return f"{self.folder}/%C3%BCber%20b.x"

    @property
    def own_line(self) -> int:
        """A line of this server's alone; line 0 is everybody's."""
        return {"alpha": 1, "beta": 2}.get(self.name, 3)

    def data(self, **more: Any) -> Json:
        """The ``data`` of an item, by which its maker knows it again."""
        return {"server": self.name, "variant": self.variant, "uri": self.uri, "deep": [{"ä": None}, 1.0], **more}

    def command(self, word: str = "own", *arguments: Any) -> Json:
        """A command of this server's own name."""
        return {"title": f"{self.name} {word}", "command": f"{self.name}.{word}", "arguments": list(arguments)}


def position(line: int, character: int = 0) -> Json:
    return {"line": line, "character": character}


def span(line: int, start: int = 0, end: int = 4, last: int | None = None) -> Json:
    return {"start": position(line, start), "end": position(line if last is None else last, end)}


def markdown(text: str) -> Json:
    return {"kind": "markdown", "value": text}


def null(ask: Ask) -> None:
    return None


def empty(ask: Ask) -> list[Any]:
    return []
