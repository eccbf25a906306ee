"""Reports of pulls, result ids of several servers in one, and whose diagnostics a server is given for code actions."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from msgspec import Raw
from ombud.diagnostics.given import diagnostics_of, given, key_of
from ombud.diagnostics.pull import note
from ombud.diagnostics.report import Report, bundle, digest, full, read, read_workspace, unbundle, unchanged
from ombud.diagnostics.store import Store
from ombud.downstream.server import Server
from ombud.faces.lsp.provider import diagnostic_provider

KEY = "file:///ws/a.py"


def server(name: str, priority: int) -> Server:
    """As far as a store looks at one."""
    profile = SimpleNamespace(refreshes_idly=False)
    double = SimpleNamespace(name=name, entry=SimpleNamespace(priority=priority, diagnostics=profile))
    return cast("Server", _Hashable(double))


class _Hashable:
    def __init__(self, double: SimpleNamespace) -> None:
        self.name, self.entry = double.name, double.entry


def diagnostic(source: str | None, code: Any, message: Any, line: int = 0, **more: Any) -> dict[str, Any]:
    span = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 1}}
    named = {"source": source, "code": code, "message": message}
    return {"range": span, **{name: value for name, value in named.items() if value is not None}, **more}


def raws(*diagnostics: dict[str, Any]) -> tuple[Raw, ...]:
    return tuple(Raw(json.dumps(one).encode()) for one in diagnostics)


UNUSED = diagnostic("Ruff", "F401", "`os` imported but unused", data={"edits": [1]})
UNDEFINED = diagnostic("basedpyright", "reportUndefinedVariable", '"x" is not defined')
BOTH = diagnostic(None, 7, "the same words")
UNKNOWN = diagnostic("spelling", None, "a word")


@pytest.fixture
def scene() -> tuple[Store, Server, Server]:
    store = Store(lambda _: None)
    types, lint = server("basedpyright", 1), server("ruff", 2)
    store.push(types, KEY, 1, raws(UNDEFINED, BOTH))
    store.pull(lint, KEY, 1, raws(UNUSED, BOTH), None)
    return store, types, lint


def sent(*diagnostics: dict[str, Any], **more: Any) -> Raw:
    return Raw(json.dumps({"textDocument": {"uri": KEY}, "context": {"diagnostics": diagnostics, **more}}).encode())


def received(store: Store, to: Server, params: Raw) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(bytes(given(store, to, KEY, params)))["context"]["diagnostics"]
    return found


def test_each_server_is_given_its_own_diagnostics_and_those_that_nobody_knows(
    scene: tuple[Store, Server, Server],
) -> None:
    store, types, lint = scene
    params = sent(UNUSED, UNDEFINED, BOTH, UNKNOWN)
    assert received(store, lint, params) == [UNUSED, BOTH, UNKNOWN]
    assert received(store, types, params) == [UNDEFINED, BOTH, UNKNOWN]
    assert received(store, server("third", 3), params) == [UNKNOWN]
    assert len(diagnostics_of(store, lint, KEY)) == 2
    assert diagnostics_of(store, lint, "file:///ws/other.py") == set()


def test_what_the_client_has_moved_or_written_anew_is_recognized(scene: tuple[Store, Server, Server]) -> None:
    store, types, lint = scene
    moved = {**diagnostic("Ruff", "F401", "`os` imported but unused", line=40), "severity": 2}
    text = '{"message":"\\"x\\" is not \\u0064efined", "code" : "reportUndefinedVariable", "source":"basedpyright"}'
    params = Raw(b'{"context":{"diagnostics":[%s,%s]}}' % (json.dumps(moved).encode(), text.encode()))
    assert received(store, lint, params) == [moved]
    assert received(store, types, params) == [json.loads(text)]


def test_the_rest_of_the_params_and_every_byte_of_what_is_kept_stay(scene: tuple[Store, Server, Server]) -> None:
    store, types, lint = scene
    own = b'{ "message":"`os` imported but unused","code":"F401" , "source":"Ruff","data":{"n":1.50,"s":"\\ud83d"} }'
    params = Raw(
        b'{"a": 1.0,"context":{"only":["q"],"diagnostics":[%s,%s],"triggerKind" : 1}}' % (own, raws(UNDEFINED)[0])
    )
    out = bytes(given(store, lint, KEY, params))
    assert own in out
    assert b"1.0" in out
    assert json.loads(out)["context"]["triggerKind"] == 1
    assert b"reportUndefinedVariable" not in out
    alone = sent(UNUSED, UNKNOWN)
    assert given(store, lint, KEY, alone) is alone
    assert given(store, types, KEY, sent()) == sent()


@pytest.mark.parametrize("params", [b"5", b"null", b'{"context":5}', b'{"context":{"diagnostics":5}}', b"{}"])
def test_params_of_another_shape_are_left_to_the_server(scene: tuple[Store, Server, Server], params: bytes) -> None:
    assert bytes(given(scene[0], scene[1], KEY, Raw(params))) == params


@pytest.mark.parametrize("odd", [b"5", b"{}", b'{"message":7}', b'{"message":"m","code":[]}'])
def test_a_diagnostic_of_another_shape_is_kept(scene: tuple[Store, Server, Server], odd: bytes) -> None:
    store, types, _ = scene
    assert key_of(Raw(odd)) is None
    params = Raw(b'{"context":{"diagnostics":[%s,%s]}}' % (odd, raws(UNUSED)[0]))
    assert received(store, types, params) == [json.loads(odd)]


def test_result_ids_of_several_servers_travel_as_one() -> None:
    ids = [("ruff", 'a"b'), ("basedpyright-2", ""), ("x", "\u00e9\U0001f600")]
    value = bundle(ids)
    assert value is not None
    assert unbundle(value) == dict(ids)
    assert bundle([]) is None
    assert unbundle("a server's own") is None
    assert [unbundle(f"ombud:{rest}") for rest in ("", "[", "{}", '[["a"]]', "[[1,2]]", "\ud83d")] == [{}] * 6


def test_reports_are_read_with_their_bytes_and_told_apart() -> None:
    report = read(
        Raw(b'{"items":[{"a" : 1.0}],"kind":"full","resultId":null,"relatedDocuments":{"u":{"kind":"unchanged"}}}')
    )
    assert report.diagnostics is not None
    assert [bytes(raw) for raw in report.diagnostics] == [b'{"a" : 1.0}']
    assert report.relatedDocuments is not None
    assert report.relatedDocuments["u"].diagnostics is None
    assert read(unchanged("7")).diagnostics is None
    again = read(full("7", report.diagnostics, {"v": raws(UNUSED)}))
    assert again.diagnostics == report.diagnostics
    assert again.resultId == "7"
    assert again.relatedDocuments is not None
    assert again.relatedDocuments["v"].diagnostics == raws(UNUSED)
    one, two = raws(UNUSED, BOTH)
    assert digest([one, two]) == digest(raws(UNUSED, BOTH)) != digest([two, one])
    with pytest.raises(msgspec.ValidationError):
        read(Raw(b'{"items":5}'))
    with pytest.raises(msgspec.ValidationError):
        read_workspace(Raw(b'{"items":[{"kind":"full"}]}'))


def test_an_answer_that_was_overtaken_or_refreshed_is_no_evidence() -> None:
    told: list[str] = []
    store, one = Store(told.append), server("one", 1)
    note(store, one, KEY, 2, 0, Report(items=list(raws(UNUSED))))
    assert store.track(one, KEY).pull_version == 2
    note(store, one, KEY, 1, 0, Report(items=list(raws(BOTH))))
    assert store.joined(KEY) == list(raws(UNUSED))
    store.refreshed(one, KEY)
    assert store.track(one, KEY).pull_version is None
    note(store, one, KEY, 2, 0, Report(items=list(raws(BOTH)), resultId="r"))
    assert store.track(one, KEY).pull_version is None
    assert store.joined(KEY) == list(raws(BOTH))
    note(store, one, KEY, 2, 1, Report(kind="unchanged", resultId="r"))
    assert store.track(one, KEY).pull_version == 2
    assert store.joined(KEY) == list(raws(BOTH))


def test_what_a_pull_says_of_another_document_is_kept_for_that_one() -> None:
    told: list[str] = []
    store, one = Store(told.append), server("one", 1)
    other = "file:///ws/b.py"
    related = {other: Report(items=list(raws(UNUSED))), "file:///ws/c.py": Report(kind="unchanged", resultId="1")}
    note(store, one, KEY, 1, 0, Report(items=[], relatedDocuments=related))
    assert told == [KEY, other]
    assert store.joined(other) == list(raws(UNUSED))
    assert store.track(one, other).pull_version is None
    store.forget_server(one)
    assert store.joined(other) == []
    assert told == [KEY, other, other]


@pytest.mark.parametrize("end", ["closed", "forgotten"])
def test_nothing_is_kept_of_a_document_that_nobody_speaks_of_any_more(end: str) -> None:
    store, one = Store(lambda _: None), server("one", 1)
    store.sent(one, KEY, 1)
    store.pull(one, KEY, 1, raws(UNUSED), "r1")
    assert store.known() == [KEY]
    with store.watch(KEY) as changes:
        store.closed(one, KEY) if end == "closed" else store.forget_server(one)
        # Whoever waits is still told of what comes.
        changes.clear()
        store.push(one, KEY, 2, raws(UNKNOWN))
        assert changes.is_set()
    store.closed(one, KEY)
    assert store.joined(KEY) == list(raws(UNKNOWN))
    store.forget_server(one)
    assert store.known() == []


@pytest.mark.parametrize(
    "client", [{}, {"textDocument": {}}, {"textDocument": None}, {"textDocument": {"diagnostic": None}}]
)
def test_no_provider_for_a_client_that_does_not_pull(client: dict[str, Any]) -> None:
    assert diagnostic_provider(client) == {}


@pytest.mark.parametrize(
    ("workspace", "pushed_to", "announced"),
    [
        ({}, True, False),
        (None, True, False),
        ({"diagnostics": None}, True, False),
        ({"diagnostics": {"refreshSupport": False}}, True, False),
        ({"diagnostics": {"refreshSupport": True}}, True, True),
        ({"diagnostics": {"refreshSupport": True}}, False, True),
        # One that takes no pushes has nothing else.
        ({}, False, True),
    ],
)
def test_a_client_that_cannot_be_told_to_pull_again_is_pushed_to(
    workspace: Any, pushed_to: bool, announced: bool
) -> None:
    document = {"diagnostic": {}, **({"publishDiagnostics": {}} if pushed_to else {})}
    assert bool(diagnostic_provider({"textDocument": document, "workspace": workspace})) == announced
