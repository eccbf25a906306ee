"""Rules of a workspace: what ``scan`` answers, and what an editor is shown and offered of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.client import Client, LspError
from tests.conftest import OmbudFactory, Workspace
from tests.peers.road import Json, serving
from tests.peers.script import PeerLog, Script
from tests.profiles import AGENT, NEOVIM, VSCODE

NO_PRINT = """\
id: no-print
language: python
pattern: print($$$ARGS)
message: Use the log for $$$ARGS.
severity: error
fix: log.info($$$ARGS)
"""
NONE = "id: none\nlanguage: python\npattern: $X == None\nfix: $X is None\nmessage: Compare $X with is.\n"
APP = 'def f(x):\n    print("é", x)\n    if x == None:\n        return 1\n'
FILES = {
    "x.toml": "",
    ".ombud/rules/print.yml": NO_PRINT,
    ".ombud/rules/deep/none.yaml": NONE,
    "app.py": APP,
    "lib/more.py": "print(1)  # ombud-ignore: no-print\nprint(2)\n",
    "web/a.js": "print(3);\n",
}


def found(result: Json) -> list[tuple[str, str, int, str]]:
    return [(one["ruleId"], one["path"], one["line"], one["severity"]) for one in result["findings"]]


async def scan(client: Client, **params: Any) -> Json:
    result: Json = await client.request("ombud/scan", params, 60)
    return result


async def test_scan_answers_with_findings_and_fixes(ombud: OmbudFactory, workspace: Workspace) -> None:
    async with serving(ombud, workspace(FILES), {}, capabilities=AGENT) as client:
        result = await scan(client)
        assert found(result) == [
            ("no-print", "app.py", 2, "error"),
            ("none", "app.py", 3, "warning"),
            ("no-print", "lib/more.py", 2, "error"),
        ]
        first = result["findings"][0]
        assert first["message"] == 'Use the log for "é", x.'
        assert first["text"] == 'print("é", x)'
        assert (first["line"], first["endLine"]) == (2, 2)
        where = {"start": {"line": 1, "character": 4}, "end": {"line": 1, "character": 17}}
        assert first["range"] == where
        assert applied(APP, first["fix"]["edits"]) == APP.replace("print(", "log.info(")
        assert (result["rules"], result["suppressed"], result["problems"], result["truncated"]) == (2, 1, [], False)
        assert result["filesSearched"] == 2


def applied(text: str, edits: list[Json]) -> str:
    """The text with LSP edits made; the test's texts hold nothing beyond the basic plane."""
    lines = text.splitlines(keepends=True)

    def offset(place: Json) -> int:
        return sum(map(len, lines[: place["line"]])) + int(place["character"])

    for edit in sorted(edits, key=lambda one: -offset(one["range"]["start"])):
        start, end = offset(edit["range"]["start"]), offset(edit["range"]["end"])
        text = text[:start] + edit["newText"] + text[end:]
    return text


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"path": "lib"}, ["no-print"]),
        ({"path": ["lib", "app.py", "app.py", "."]}, ["no-print", "none", "no-print"]),
        ({"path": "app.py", "rules": "none"}, ["none"]),
        ({"rules": ["none"]}, ["none"]),
        ({"rules": ".ombud/rules/deep"}, ["none"]),
        ({"rules": [".ombud/rules/print.yml", "none"], "path": "app.py"}, ["no-print", "none"]),
        ({"rules": [{"id": "here", "pattern": "print($X)"}]}, ["here", "here", "here"]),
        ({"rules": [{"pattern": "print($X)", "languages": ["js"]}]}, ["rule-1"]),
        ({"rules": [{"pattern": "print($X)", "files": ["web/**"]}]}, ["rule-1"]),
        ({"rules": [{"pattern": "print($X)", "files": ["web/**"]}], "path": "lib/more.py"}, []),
        ({"rules": [{"pattern": "print($X)", "ignores": ["lib/", "*.js"]}]}, []),
        ({"maxResults": 1}, ["no-print"]),
    ],
)
async def test_scan_is_told_where_and_by_which_rules(
    ombud: OmbudFactory, workspace: Workspace, params: Json, expected: list[str]
) -> None:
    async with serving(ombud, workspace(FILES), {}, capabilities=AGENT) as client:
        result = await scan(client, **params)
        assert [one["ruleId"] for one in result["findings"]] == expected
        assert result["truncated"] == ("maxResults" in params)


@pytest.mark.parametrize(
    ("params", "kind", "words"),
    [
        ({"path": "../x"}, "outside_workspace", "outside"),
        ({"path": "missing"}, "not_found", "missing"),
        ({"path": []}, "invalid_params", "empty"),
        ({"rules": "nono"}, "invalid_params", "Did you mean the rule none?"),
        ({"rules": "../rules"}, "outside_workspace", "outside"),
        ({"rule": "none"}, "invalid_params", "Did you mean 'rules'"),
        ({"rules": 7}, "invalid_params", "rules"),
    ],
)
async def test_scan_refuses_what_it_cannot_do(
    ombud: OmbudFactory, workspace: Workspace, params: Json, kind: str, words: str
) -> None:
    async with serving(ombud, workspace(FILES), {}, capabilities=AGENT) as client:
        with pytest.raises(LspError) as refused:
            await scan(client, **params)
        assert refused.value.data["kind"] == kind
        assert words in refused.value.message


async def test_what_is_wrong_with_rules_is_listed_and_the_others_run(ombud: OmbudFactory, workspace: Workspace) -> None:
    wrong = {
        ".ombud/rules/a.yml": "id: bad\npattern: [\n",
        ".ombud/rules/b.yml": "id: unreadable\nlanguage: python\npattern: 'def ('\n",
        ".ombud/rules/c.yml": "id: regex\nlanguage: python\npattern: f($X)\nwhere: {X: {regex: '('}}\n",
        ".ombud/rules/d.yml": "id: kind\nlanguage: python\nkind: no_such_kind\n",
        ".ombud/rules/e.yml": "id: fixless\nlanguage: python\npattern: print($$$A)\nfix: log($OTHER)\n",
        ".ombud/rules/readme.md": "no rule at all",
    }
    async with serving(ombud, workspace({**FILES, **wrong}), {}, capabilities=AGENT) as client:
        result = await scan(client, path="app.py")
        assert [one[0] for one in found(result)] == ["fixless", "no-print", "none"]
        assert "fix" not in result["findings"][0]
        problems = {one.get("rule", one["path"]): one["message"] for one in result["problems"]}
        assert set(problems) == {".ombud/rules/a.yml", "unreadable", "regex", "kind", "fixless"}
        assert "no_such_kind" in problems["kind"]
        assert "OTHER" in problems["fixless"]


async def test_a_rule_does_not_turn_to_another_reading_when_it_finds_nothing_more(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    """Mending the last assignment must not make the rule complain of keyword arguments."""
    rule = "id: unset\nlanguage: python\npattern: $X = None\n"
    files = {"x.toml": "", ".ombud/rules/a.yml": rule, "a.py": "a = None\nf(b=None)\n"}
    root = workspace(files)
    async with serving(ombud, root, {}, capabilities=AGENT) as client:
        assert [one["line"] for one in (await scan(client))["findings"]] == [1]
        (root / "a.py").write_text("f(b=None)\n")
        result = await scan(client)
        assert result["findings"] == []
        assert "as: argument" in result["note"]
        (root / ".ombud/rules/a.yml").write_text(rule + "as: argument\n")
        assert [one["text"] for one in (await scan(client))["findings"]] == ["b=None"]
        (root / ".ombud/rules/a.yml").write_text(rule + "as: paragraph\n")
        result = await scan(client)
        assert "cannot be read as 'paragraph'" in result["problems"][0]["message"]


AST_GREP = """\
id: loop
language: TypeScript
message: A call of $F in a loop
rule:
  pattern: $F($$$)
  kind: call_expression
  regex: ^log
  any:
  - inside: {kind: for_statement, stopBy: end}
  - inside: {kind: while_statement, stopBy: end}
  not: {has: {pattern: skip, stopBy: end}}
constraints:
  F: {not: {regex: ^logger}}
"""


async def test_a_rule_of_ast_greps_finds_what_it_says(ombud: OmbudFactory, workspace: Workspace) -> None:
    text = (
        "log(0);\n"
        "for (;;) { log(1); logger(2); other(3); log(skip); }\n"
        "while (a) { log(4); b(() => log(5)); }  // ast-grep-ignore: loop\n"
        "do { log(6); } while (b);\n"
        "for (;;) { while (c) { log(7); } }\n"
    )
    files = {"x.toml": "", ".ombud/rules/a.yml": AST_GREP, "a.ts": text}
    async with serving(ombud, workspace(files), {}, capabilities=AGENT) as client:
        result = await scan(client)
        assert result["problems"] == []
        assert [one["text"] for one in result["findings"]] == ["log(1)", "log(7)"]
        assert result["suppressed"] == 2
        assert {one["severity"] for one in result["findings"]} == {"hint"}


# -- the editor ----------------------------------------------------------------------------------------------------


def own(items: list[Json]) -> list[tuple[Any, ...]]:
    return [(one["code"], one["range"]["start"]["line"]) for one in items if one.get("source") == "ombud"]


async def shown(client: Client, where: str, expected: list[tuple[str, int]]) -> list[Json]:
    return await client.wait_diagnostics(where, lambda items: own(items) == expected)


@pytest.mark.parametrize("capabilities", [VSCODE, NEOVIM], ids=["vscode", "neovim"])
async def test_an_editor_is_shown_what_rules_find(
    ombud: OmbudFactory, workspace: Workspace, capabilities: Json
) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {}, capabilities=capabilities) as client:
        client.open("app.py")
        items = await shown(client, "app.py", [("no-print", 1), ("none", 2)])
        assert items[0] == {
            "range": {"start": {"line": 1, "character": 4}, "end": {"line": 1, "character": 17}},
            "severity": 1,
            "code": "no-print",
            "source": "ombud",
            "message": 'Use the log for "é", x.',
        }
        client.change("app.py", "def f(x):\n    return x == None\n")
        await shown(client, "app.py", [("none", 1)])
        client.change("app.py", "def f(x):\n    return x is None\n")
        await shown(client, "app.py", [])
        client.change("app.py", "print(f)\n")
        await shown(client, "app.py", [("no-print", 0)])
        client.close("app.py")
        await shown(client, "app.py", [])


async def test_rules_that_change_are_read_again(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({"x.toml": "", "app.py": "print(1)\n"})
    rules = root / ".ombud/rules/a.yml"
    async with serving(ombud, root, {}) as client:
        client.open("app.py")
        rules.parent.mkdir(parents=True)
        rules.write_text(NO_PRINT)
        client.open(".ombud/rules/a.yml")
        client.save(".ombud/rules/a.yml")
        await shown(client, "app.py", [("no-print", 0)])
        client.change(".ombud/rules/a.yml", NO_PRINT.replace("no-print", "printing"))
        client.save(".ombud/rules/a.yml")
        await shown(client, "app.py", [("printing", 0)])
        client.change(".ombud/rules/a.yml", "id: broken\n")
        client.save(".ombud/rules/a.yml")
        await shown(client, "app.py", [])
        problems = (await client.request("ombud/status", {}))["problems"]
        assert any("broken" in one and "needs a pattern" in one for one in problems)


def peer(**keys: Any) -> Json:
    return Script("one", **keys).entry([".py"], ["python"])


@pytest.mark.parametrize("channel", ["push", "pull"])
async def test_they_stand_beside_those_of_a_server(ombud: OmbudFactory, workspace: Workspace, channel: str) -> None:
    """Ours reach the client once: pushed, also where it pulls those of the server."""
    root = workspace({**FILES, "app.py": "# ERROR(e1): bad\nprint(1)\n"})
    async with serving(ombud, root, {"one": peer(diagnostics=channel)}) as client:
        uri = client.open("app.py")
        expected = [("no-print", 1)]
        if channel == "push":
            items = await client.wait_diagnostics("app.py", lambda items: own(items) == expected and len(items) == 2)
            assert {one["source"] for one in items} == {"one", "ombud"}
        else:
            await shown(client, "app.py", expected)
            pulled = await client.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
            assert [one["source"] for one in pulled["items"]] == ["one"]
            client.change("app.py", "# ERROR(e1): bad\nprint(1)\nprint(2)\n")
            items = await shown(client, "app.py", [("no-print", 1), ("no-print", 2)])
            assert {one["source"] for one in items} == {"ombud"}


def titles(actions: list[Json]) -> list[str]:
    return [one["title"] for one in actions]


async def actions(client: Client, where: str, line: int, **context: Any) -> list[Json]:
    place = {"line": line, "character": 6}
    params = {
        "textDocument": {"uri": client.uri(where)},
        "range": {"start": place, "end": place},
        "context": {"diagnostics": [], **context},
    }
    return await client.request("textDocument/codeAction", params, 60) or []


async def test_quick_fixes_are_offered_and_mend(ombud: OmbudFactory, workspace: Workspace) -> None:
    text = APP + "    print(2)\n"
    root = workspace({**FILES, "app.py": text})
    async with serving(ombud, root, {}) as client:
        uri = client.open("app.py")
        items = await shown(client, "app.py", [("no-print", 1), ("none", 2), ("no-print", 4)])
        offered = await actions(client, "app.py", 1, diagnostics=items[:1])
        assert titles(offered) == ['Fix: Use the log for "é", x. (no-print)', "Fix all 2 of no-print in this file"]
        assert [one["kind"] for one in offered] == ["quickfix", "quickfix"]
        assert offered[0]["isPreferred"] is True
        assert offered[0]["diagnostics"] == items[:1]
        assert applied(text, offered[0]["edit"]["changes"][uri]) == text.replace('print("é"', 'log.info("é"')
        assert applied(text, offered[1]["edit"]["changes"][uri]) == text.replace("print(", "log.info(")
        assert await client.request("codeAction/resolve", offered[0]) == offered[0]
        assert await actions(client, "app.py", 3) == []
        assert await actions(client, "app.py", 1, only=["refactor"]) == []
        assert len(await actions(client, "app.py", 1, only=["quickfix"])) == 2
        # The text is another one now, and nobody has looked at it yet.
        client.change("app.py", "\n\n\n" + text)
        moved = await actions(client, "app.py", 4)
        assert applied("\n\n\n" + text, moved[0]["edit"]["changes"][uri]) == "\n\n\n" + text.replace(
            'print("é"', 'log.info("é"'
        )


async def test_a_server_keeps_its_actions_and_is_not_told_of_ours(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({**FILES, "app.py": "print(1)\n"})
    theirs = {"title": "Theirs", "kind": "quickfix"}
    one = peer(log=peer_log, capabilities={"codeActionProvider": True}, answers={"textDocument/codeAction": [theirs]})
    async with serving(ombud, root, {"one": one}) as client:
        client.open("app.py")
        items = await shown(client, "app.py", [("no-print", 0)])
        foreign = {**items[0], "source": "else", "message": "m"}
        offered = await actions(client, "app.py", 0, diagnostics=[*items, foreign])
        assert titles(offered) == ["Theirs", "Fix: Use the log for 1. (no-print)"]
        (question,) = peer_log.received("textDocument/codeAction")
        assert question["params"]["context"]["diagnostics"] == [foreign]


async def test_T1_rules_work_without_any_process(ombud: OmbudFactory, workspace: Workspace) -> None:
    """A workspace that the client does not trust: no child process at all, and rules find what they find."""
    import psutil

    root = workspace(FILES)
    async with serving(ombud, root, {}, trusted=False) as client:
        client.open("app.py")
        await shown(client, "app.py", [("no-print", 1), ("none", 2)])
        assert len((await scan(client))["findings"]) == 3
        # Nobody could end an expression that never comes to an end, and it is the workspace's own.
        (root / ".ombud/rules/evil.yml").write_text(EVIL)
        result = await scan(client)
        assert len(result["findings"]) == 3
        assert [(one["rule"], "process of its own" in one["message"]) for one in result["problems"]] == [("evil", True)]
        assert psutil.Process(client.pid).children(recursive=True) == []


async def test_configured_rules_and_those_outside(ombud: OmbudFactory, workspace: Workspace) -> None:
    files = {"x.toml": "", "app.py": "print(1)\n", "lint/a.yml": NO_PRINT}
    root = workspace(files)
    async with serving(ombud, root, {}, rules=["lint", "gone", "../out"]) as client:
        client.open("app.py")
        await shown(client, "app.py", [("no-print", 0)])
        result = await scan(client)
        assert [one[0] for one in found(result)] == ["no-print"]
        assert [("gone" in one["path"], "out" in one["path"]) for one in result["problems"]] == [
            (True, False),
            (False, True),
        ]


async def test_a_workspace_without_rules_reads_and_starts_nothing(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path
) -> None:
    import psutil

    async with serving(
        ombud, workspace({"x.toml": "", "app.py": "print(1)\n"}), {}, index={"enabled": False}
    ) as client:
        client.open("app.py")
        client.change("app.py", "print(2)\n")
        result = await scan(client)
        assert (result["findings"], result["rules"]) == ([], 0)
        assert ".ombud/rules" in result["note"]
        assert [
            one
            for one in psutil.Process(client.pid).children(recursive=True)
            if "structural" in " ".join(one.cmdline())
        ] == []


EVIL = json.dumps({"id": "evil", "language": "python", "pattern": "f($X)", "where": {"X": {"regex": "(a+)+$"}}})


async def test_a_rule_that_would_never_end_stops_nothing(ombud: OmbudFactory, workspace: Workspace) -> None:
    """An expression that backtracks for ever, from a workspace that nobody has looked at: the hub goes on answering."""
    files = {"x.toml": "", ".ombud/rules/evil.yml": EVIL, "a.py": f"f('{'a' * 60}!')\n"}
    async with serving(ombud, workspace(files), {}) as client:
        client.open("a.py")
        pending = client.start_request("ombud/scan", {})
        assert (await client.request("ombud/status", {}, 20))["servers"] is not None
        client.notify("$/cancelRequest", {"id": pending.id})
        with pytest.raises(LspError):
            await client.answer(pending, 30)


@pytest.mark.slow
async def test_a_rule_that_never_ends_is_left_out_and_the_others_are_not(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    files = {"x.toml": "", ".ombud/rules/evil.yml": EVIL, ".ombud/rules/z.yml": NO_PRINT, "a.py": f"f('{'a' * 60}!')\n"}
    root = workspace(files)
    async with serving(ombud, root, {}) as client:
        client.open("a.py", f"f('{'a' * 60}!')\nprint(1)\n")
        await client.wait_diagnostics("a.py", lambda items: own(items) == [("no-print", 1)], 120)
        problems = (await client.request("ombud/status", {}))["problems"]
        assert any("evil" in one and "too long" in one for one in problems)
