"""The diagnostics of the scripted server: one rule, several channels.

The rule: ``ERROR(code): message`` anywhere in a line is a diagnostic from there to the end of the line, or to the
next such mark. ``WARNING``, ``INFORMATION`` and ``HINT`` work alike. An empty ``()`` means no code; a message may be
empty. A code that begins with ``syntax`` is one that a two-stage server knows first.

With ``project`` a line ``USES(file word)`` is an error of code ``missing`` where that file, as it is open or else on
disk, has no such word: then a change of one file breaks another, and who pushes publishes that other one again, too.

The channels are those that real servers show: ``push`` never announces anything; ``pull`` announces statically and
``pullDynamic`` by registration (statically to a client that cannot register); ``auto`` pulls, dynamically where the
client can, from clients that declare it and pushes to all others, as basedpyright does; ``both`` does both at once,
as rust-analyzer does (``pushCodes`` splits the codes between the channels); ``none`` has no diagnostics.
"""

from __future__ import annotations

import re

from tests.peers.scripted.wire import LONE_SURROGATE
from tests.positions import Lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tests.peers.scripted.documents import Document, Documents
    from tests.peers.scripted.timers import Timers

_SEVERITY = {"ERROR": 1, "WARNING": 2, "INFORMATION": 3, "HINT": 4}
_MARK = re.compile(r"(ERROR|WARNING|INFORMATION|HINT)\(([^)\r\n]*)\):")
_USES = re.compile(r"USES\(([\w.]+) (\w+)\)")
_END_OF_LINE = re.compile(r"[\r\n]")
REGISTRATION = "scripted-pull-diagnostics"


class Refused(Exception):
    """A pull that is answered with the JSON-RPC error ``error``."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.error = error


class _Gone:
    """A file that is not there any more."""

    def __init__(self, uri: str) -> None:
        self.uri = uri


class Diagnostics:
    def __init__(
        self,
        script: dict[str, Any],
        documents: Documents,
        timers: Timers,
        notify: Callable[[str, dict[str, Any]], None],
    ) -> None:
        self._script = script
        self._documents = documents
        self._timers = timers
        self._notify = notify
        self._refusals = (script["pullError"] or {}).get("times", 1) if script["pullError"] else 0
        self._awaiting_configuration = bool(script["nullConfigurationSilent"])
        self._silenced = False
        self._postponed: list[tuple[str, str]] = []
        self._published: dict[str, list[dict[str, Any]]] = {}
        self.pushes = script["diagnostics"] in ("push", "both")
        self.pulls = script["diagnostics"] in ("pull", "pullDynamic", "both")
        self.dynamic = False

    def meet(self, capabilities: dict[str, Any]) -> dict[str, Any] | None:
        """Chooses the channel for a client and returns the static ``diagnosticProvider``, if there is one."""
        channel = self._script["diagnostics"]
        declared = (capabilities.get("textDocument") or {}).get("diagnostic")
        if channel == "auto":
            self.pulls, self.pushes = declared is not None, declared is None
        self.dynamic = bool(channel in ("pullDynamic", "auto") and declared and declared.get("dynamicRegistration"))
        return self.provider() if self.pulls and not self.dynamic else None

    def provider(self) -> dict[str, Any]:
        return {
            "identifier": self._script["name"],
            "interFileDependencies": False,
            "workspaceDiagnostics": bool(self._script["workspacePull"]),
        }

    def registration(self) -> dict[str, Any]:
        options = {"documentSelector": None, **self.provider()}
        return {"id": REGISTRATION, "method": "textDocument/diagnostic", "registerOptions": options}

    def configured(self, answers: list[Any]) -> None:
        """An answer to ``workspace/configuration``: the silent kind starts to speak, or never will."""
        if not self._awaiting_configuration:
            return
        self._awaiting_configuration = False
        self._silenced = not answers or any(answer is None for answer in answers)
        postponed, self._postponed = self._postponed, []
        for uri, why in postponed:
            document = self._documents.open.get(uri)
            if document is not None:
                self.touched(document, why)

    def of(self, uri: str, text: str, channel: str) -> list[dict[str, Any]]:
        """The diagnostics of ``text`` that go over ``channel`` (``push`` or ``pull``)."""
        lines = Lines(text)
        marks = list(_MARK.finditer(text))
        found = []
        for mark, following in zip(marks, [*marks[1:], None], strict=False):
            rest = _END_OF_LINE.search(text, mark.end())
            end = rest.start() if rest else len(text)
            if following is not None:
                end = min(end, following.start())
            message = text[mark.end() : end].strip()
            diagnostic = {
                "range": lines.range(mark.start(), mark.start() + len(text[mark.start() : end].rstrip())),
                "severity": _SEVERITY[mark.group(1)],
                "source": self._script["source"] or self._script["name"],
                "message": message + (LONE_SURROGATE if self._script["surrogates"] else ""),
            }
            if mark.group(2):
                diagnostic["code"] = mark.group(2)
            found.append(diagnostic)
        if self._script["project"] is not None:
            found += self._missing(uri, text, lines)
        split = self._script["pushCodes"]
        if split is None or self._script["diagnostics"] != "both":
            return found
        return [one for one in found if (one.get("code") in split) == (channel == "push")]

    def _missing(self, uri: str, text: str, lines: Lines) -> list[dict[str, Any]]:
        """What ``text`` uses of other files that is not there."""
        found = []
        for use in _USES.finditer(text):
            other = self._documents.find(uri.rpartition("/")[0] + "/" + use.group(1))
            if other is None or use.group(2) not in other.words():
                found.append(
                    {
                        "range": lines.range(use.start(), use.end()),
                        "severity": 1,
                        "source": self._script["source"] or self._script["name"],
                        "message": f"{use.group(1)} has no {use.group(2)}",
                        "code": "missing",
                    }
                )
        return found

    def touched(self, document: Document, why: str) -> None:
        """As `_touched`; with ``project`` the other files are published where they have changed by that."""
        self._touched(document, why)
        if self._script["project"] is not None and self.pushes:
            folder = document.uri.rpartition("/")[0]
            spoken = "" if why == "watched" else document.uri
            self._timers.after(self._script["projectDelayMs"], lambda: self._republish(folder, spoken))

    def _republish(self, folder: str, touched: str) -> None:
        uris = [*self._documents.open, *(f"{folder}/{name}" for name in self._script["project"])]
        for uri in dict.fromkeys(uris):
            other = self._documents.find(uri)
            found = [] if other is None else self.of(uri, other.text, "push")
            if uri != touched and found != self._published.get(uri, []):
                self._publish(other or _Gone(uri), other.version if other else None, found)

    def _touched(self, document: Document, why: str) -> None:
        """A document was opened, changed, saved, closed or changed on disk: publish if this server does that then."""
        if not self.pushes or why not in self._script["publishOn"] or self._silenced:
            return
        if self._awaiting_configuration:
            self._postponed.append((document.uri, why))
            return
        found = [] if why == "close" else self.of(document.uri, document.text, "push")
        if self._script["silentWhenClean"] and not found and why != "close":
            return
        version, delay = document.version, self._script["delayMs"]
        if self._script["publishes"] > 1 and why != "close":
            first = [one for one in found if str(one.get("code", "")).startswith("syntax")]
            self._publish(document, version, first)
        elif not delay:
            self._publish(document, version, found)
            return
        self._timers.after(delay, lambda: self._publish_later(document, version, found))

    def _publish_later(self, document: Document, version: int | None, found: list[dict[str, Any]]) -> None:
        """A well-behaved server drops what it found out about a text that is no longer the newest, or closed."""
        current = self._documents.open.get(document.uri, document if version is None else None)
        if self._script["stale"] or (current is document and document.version == version):
            self._publish(document, version, found)

    def _publish(self, document: Document | _Gone, version: int | None, found: list[dict[str, Any]]) -> None:
        params: dict[str, Any] = {"uri": document.uri, "diagnostics": found}
        self._published[document.uri] = found
        if self._script["versioned"] and version is not None:
            params["version"] = version
        self._notify("textDocument/publishDiagnostics", params)

    def pull(self, params: dict[str, Any]) -> dict[str, Any]:
        """``textDocument/diagnostic``. Raises ``Refused`` while the script says so."""
        if self._refusals > 0:
            self._refusals -= 1
            error = self._script["pullError"]
            raise Refused({key: error[key] for key in ("code", "message", "data") if key in error})
        document = self._documents.find(params["textDocument"]["uri"])
        return self._report(document, params.get("previousResultId"))

    def _report(self, document: Document | None, previous: str | None) -> dict[str, Any]:
        if document is None or self._silenced or self._awaiting_configuration:
            return {"kind": "full", "items": []}
        items = self.of(document.uri, document.text, "pull")
        result = f"{self._script['name']}:{_fingerprint(items)}"
        if result == previous:
            return {"kind": "unchanged", "resultId": result}
        return {"kind": "full", "resultId": result, "items": items}

    def pull_workspace(self, params: dict[str, Any]) -> dict[str, Any]:
        """``workspace/diagnostic`` over the open documents."""
        known = {entry["uri"]: entry["value"] for entry in params.get("previousResultIds", [])}
        return {
            "items": [
                {
                    "uri": document.uri,
                    "version": document.version,
                    **self._report(document, known.get(document.uri)),
                }
                for document in self._documents.open.values()
            ]
        }


def _fingerprint(items: list[dict[str, Any]]) -> str:
    """Equal for equal reports, also in another process: a result id may outlive a restart."""
    import zlib

    return f"{zlib.crc32(repr(items).encode('utf-8', 'surrogatepass')):08x}"
