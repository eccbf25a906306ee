"""Small payloads for two servers at once: each has something that both say, and something of its own.

``alpha`` and ``beta`` are the names that these payloads know; any other server answers as beta does.
"""

from __future__ import annotations

from tests.peers.conformance.answers.ask import markdown, position, span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tests.peers.conformance.answers.ask import Ask, Json, Payload


def _shared_command(ask: Ask) -> Json:
    """A command whose name the other server has, too."""
    return {"title": f"shared by {ask.name}", "command": "conformance.shared", "arguments": [ask.name]}


def _hover(ask: Ask) -> Json:
    if ask.name == "alpha":
        return {"contents": markdown("**alpha**"), "range": span(0, 0, 5)}
    return {"contents": [f"{ask.name} says", {"language": "x", "value": "def b()"}], "range": span(0, 0, 3)}


def _completion(ask: Ask) -> Any:
    if ask.name == "alpha":
        defaults = {"commitCharacters": [";"], "editRange": span(0, 0, 2), "insertTextFormat": 2, "data": ask.data()}
        own = {"label": "alpha_own", "commitCharacters": ["!"], "data": ask.data(item="own")}
        return {
            "isIncomplete": False,
            "itemDefaults": defaults,
            "items": [{"label": "alpha_default", "textEditText": "$1"}, own],
        }
    return {
        "isIncomplete": True,
        "items": [{"label": "beta", "data": ask.data(), "command": _shared_command(ask)}, {"label": "beta_bare"}],
    }


def _references(ask: Ask) -> list[Json]:
    where = span(0, 2, 9)
    shared = {"uri": ask.other, "range": where}
    own = {"uri": ask.uri, "range": span(ask.own_line)}
    # The same place, written in another order of keys.
    again = {"range": {"end": where["end"], "start": where["start"]}, "uri": ask.other}
    return [shared, own] if ask.name == "alpha" else [again, own]


def _actions(ask: Ask) -> list[Json]:
    late = {"title": f"{ask.name} late", "kind": "quickfix", "data": ask.data(), "command": _shared_command(ask)}
    bare = {"title": f"{ask.name} bare", "kind": "quickfix"}
    return [_shared_command(ask), ask.command("own"), late, bare]


def _lenses(ask: Ask) -> list[Json]:
    return [{"range": span(ask.own_line), "command": _shared_command(ask)}, {"range": span(9), "data": ask.data()}]


def _links(ask: Ask) -> list[Json]:
    shared = {"range": span(0), "target": "https://example.com/"}
    return [shared, {"range": span(ask.own_line), "data": ask.data()}]


def _hints(ask: Ask) -> list[Json]:
    part = {"value": f": {ask.name}", "command": _shared_command(ask)}
    return [
        {"position": position(ask.own_line), "label": [part], "data": ask.data()},
        {"position": position(9), "label": ask.name},
    ]


def _colors(ask: Ask) -> list[Json]:
    red = {"red": 1.0, "green": 0, "blue": 0, "alpha": 1}
    return [{"range": span(0), "color": red}, {"range": span(ask.own_line), "color": red}]


def _symbols(ask: Ask) -> list[Json]:
    shared = {"name": "shared", "kind": 5, "location": {"uri": ask.other, "range": span(0)}}
    return [shared, {"name": f"{ask.name} late", "kind": 5, "location": {"uri": ask.other}, "data": ask.data()}]


def _values(ask: Ask) -> list[Json]:
    return [{"range": span(ask.own_line), "text": ask.name}]


def _moved(ask: Ask) -> Json:
    """The same edit of one file from both, and one of each server's own."""
    shared = [{"range": span(5), "newText": "moved"}]
    own = {"range": span(ask.own_line), "newText": ask.name}
    return {"changes": {ask.other: shared, ask.params["files"][0].get("oldUri", ask.uri): [own]}}


ANSWERS: dict[str, dict[str, Payload]] = {
    "textDocument/hover": {"pair": _hover},
    "textDocument/completion": {"pair": _completion},
    "textDocument/references": {"pair": _references},
    "textDocument/codeAction": {"pair": _actions},
    "textDocument/codeLens": {"pair": _lenses},
    "textDocument/documentLink": {"pair": _links},
    "textDocument/inlayHint": {"pair": _hints},
    "textDocument/documentColor": {"pair": _colors},
    "textDocument/inlineValue": {"pair": _values},
    "workspace/symbol": {"pair": _symbols},
    "workspace/willRenameFiles": {"pair": _moved},
    "workspace/willCreateFiles": {"pair": _moved},
    "workspace/willDeleteFiles": {"pair": _moved},
}
