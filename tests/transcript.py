"""What a client and a server said to each other, kept for the moment a test fails."""

from __future__ import annotations

import time
from collections import deque

_ENTRIES = 400
_CHARACTERS = 2_000

# Every transcript of the running test, in the order of creation; tests/conftest.py empties it before each test.
CURRENT: list[Transcript] = []


class Transcript:
    """The last ``_ENTRIES`` messages of one connection, both directions, with seconds since its start."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._started = time.monotonic()
        self._entries: deque[tuple[float, str, str]] = deque(maxlen=_ENTRIES)
        self._dropped = 0
        self._endings: list[str] = []
        CURRENT.append(self)

    def sent(self, body: bytes) -> None:
        self._add("→", body)

    def received(self, body: bytes) -> None:
        self._add("←", body)

    def note(self, text: str) -> None:
        self._add("·", text.encode("utf-8", "backslashreplace"))

    def ending(self, text: str) -> None:
        """Kept after the entries: stderr, an exit code, violations."""
        self._endings.append(text)

    def _add(self, direction: str, body: bytes) -> None:
        if len(self._entries) == _ENTRIES:
            self._dropped += 1
        text = body[:_CHARACTERS].decode("utf-8", "backslashreplace")
        if len(body) > _CHARACTERS:
            text += f"… ({len(body)} bytes)"
        self._entries.append((time.monotonic() - self._started, direction, text))

    def __str__(self) -> str:
        lines = [f"({self._dropped} earlier messages dropped)"] if self._dropped else []
        lines += [f"{seconds:9.3f} {direction} {text}" for seconds, direction, text in self._entries]
        return "\n".join(lines + self._endings)
