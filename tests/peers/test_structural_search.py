"""Structural search over LSP: what is answered, where it looks, what is left out and why, errors, trust and the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.client import Client
from tests.conftest import OmbudFactory, Workspace
from tests.peers.road import Json, entry, failure, serving
from tests.peers.script import Script
from tests.profiles import AGENT, VSCODE
from tests.waiting import wait_until

FILES = {
    "app.py": "import os\n\n\ndef main(path):\n    '😀'; log(os.path.join(path, 'a'), retries=3)\n    log(path)\n",
    "lib/util.py": 'def util():\n    """log(never)"""\n    # log(never)\n    return log(\n        "x",\n    )\n',
    "lib/page.ts": "export function page() {\n  log(1);\n  return other(2);\n}\n",
    "lib/view.tsx": "export const View = () => <b>{log(3)}</b>;\n",
    "go/main.go": "package main\n\nfunc main() {\n\tlog(4)\n}\n",
}


async def grep(client: Client, pattern: str | None = None, **params: Any) -> Json:
    said = {"pattern": pattern, **params} if pattern is not None else params
    found: Json = await client.request("ombud/astGrep", said)
    return found


async def refused(client: Client, **params: Any) -> Any:
    return await failure(client.start_request("ombud/astGrep", params), client)


def places(found: Json) -> list[tuple[str, int]]:
    return [(one["path"], one["line"]) for one in found["matches"]]


def reasons(found: Json) -> dict[str, str]:
    return {one["path"]: one["reason"] for one in found["filesSkipped"]}


async def test_a_match_says_where_it_is_and_what_was_captured(ombud: OmbudFactory, workspace: Workspace) -> None:
    async with serving(ombud, workspace(FILES), {}, capabilities=AGENT) as client:
        found = await grep(client, "log($X, $$$REST)", language="python", path="app.py")
        first = found["matches"][0]
        assert first == {
            "path": "app.py",
            "line": 5,
            "endLine": 5,
            "range": {"start": {"line": 4, "character": 10}, "end": {"line": 4, "character": 49}},
            "text": "log(os.path.join(path, 'a'), retries=3)",
            "captures": {
                "X": {
                    "text": "os.path.join(path, 'a')",
                    "range": {"start": {"line": 4, "character": 14}, "end": {"line": 4, "character": 37}},
                },
                "REST": [
                    {
                        "text": "retries=3",
                        "range": {"start": {"line": 4, "character": 39}, "end": {"line": 4, "character": 48}},
                    }
                ],
            },
            "kind": "call",
        }
        assert found["matches"][1]["captures"]["REST"] == []
        assert {name: value for name, value in found.items() if name != "matches"} == {
            "filesSearched": 1,
            "filesSkipped": [],
            "truncated": False,
            "parsedAs": found["parsedAs"],
            "alsoParsesAs": found["alsoParsesAs"],
            "parseErrors": [],
            "languages": [{"language": "python", "parsedAs": found["parsedAs"], "files": 1, "matches": 2}],
            "total": 2,
            "note": None,
        }
        assert found["parsedAs"] in ("expression", "statement")


async def test_every_language_that_can_read_the_pattern_is_searched_and_named(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    async with serving(ombud, workspace(FILES), {}, capabilities=AGENT) as client:
        found = await grep(client, "log($X)")
        assert places(found) == [
            ("app.py", 6),
            ("go/main.go", 4),
            ("lib/page.ts", 2),
            ("lib/util.py", 4),
            ("lib/view.tsx", 1),
        ]
        assert {one["language"]: (one["files"], one["matches"]) for one in found["languages"]} == {
            "python": (2, 2),
            "typescript": (1, 1),
            "typescriptreact": (1, 1),
            "go": (1, 1),
        }
        # A pattern that only one of them can read.
        only = await grep(client, "def $F($$$): $$$BODY")
        assert places(only) == [("app.py", 4), ("lib/util.py", 1)]
        unread = {one["language"] for one in only["languages"] if one["parsedAs"] is None}
        assert "python" not in unread
        for name, expected in (("python", 2), ("py", 2), ("ts", 1), ("Go", 1)):
            assert len((await grep(client, "log($X)", language=name))["matches"]) == expected


async def test_path_and_globs_narrow_it(ombud: OmbudFactory, workspace: Workspace, tmp_path: Path) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {}, capabilities=AGENT) as client:
        cases: list[tuple[Json, list[tuple[str, int]]]] = [
            ({"path": "lib"}, [("lib/page.ts", 2), ("lib/util.py", 4), ("lib/view.tsx", 1)]),
            ({"path": str(root / "lib" / "util.py")}, [("lib/util.py", 4)]),
            ({"path": (root / "lib" / "util.py").as_uri()}, [("lib/util.py", 4)]),
            ({"path": "lib", "globs": ["*.py"]}, [("lib/util.py", 4)]),
            ({"globs": ["*.py", "!lib/"]}, [("app.py", 6)]),
            ({"globs": ["!*.py", "!*.go"]}, [("lib/page.ts", 2), ("lib/view.tsx", 1)]),
            ({"globs": ["**/lib/*.{ts,tsx}"]}, [("lib/page.ts", 2), ("lib/view.tsx", 1)]),
        ]
        for params, expected in cases:
            assert places(await grep(client, "log($X)", **params)) == expected, params
        (tmp_path / "outside.py").write_text("log(1)\n")
        (root / ".env").write_text("log(1)\n")
        for path, kind in (
            ("../outside.py", "outside_workspace"),
            (str(tmp_path), "outside_workspace"),
            ("none.py", "not_found"),
            (".env", "sensitive_path"),
        ):
            error = await refused(client, pattern="log($X)", path=path)
            assert error.data["kind"] == kind, path


async def test_a_named_file_is_searched_whatever_it_is(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(
        {
            ".gitignore": "built/\n",
            "built/a.py": "log(1)\n",
            "node_modules/p/b.js": "log(2)\n",
            "script.txt": "log(3)\n",
            "tool": "#!/usr/bin/env python3\nlog(4)\n",
        }
    )
    async with serving(ombud, root, {}, capabilities=AGENT) as client:
        found = await grep(client, "log($X)")
        assert places(found) == [("tool", 2)]
        assert reasons(found) == {"node_modules": "vendored"}
        for params, expected in (
            ({"path": "built/a.py"}, ("built/a.py", 1)),
            ({"path": "built"}, ("built/a.py", 1)),
            ({"path": "node_modules/p"}, ("node_modules/p/b.js", 1)),
            ({"path": "script.txt", "language": "python"}, ("script.txt", 1)),
        ):
            assert places(await grep(client, "log($X)", **params)) == [expected], params


async def test_what_is_left_out_is_told_with_its_reason(ombud: OmbudFactory, workspace: Workspace) -> None:
    squeezed = "log(1);" * 2000
    root = workspace(
        {
            "ok.py": "log(1)\n",
            "broken.py": "log(2)\ndef (((:\n    log(3)\n",
            "binary.py": b"log(1)\n\0",
            "huge.py": b"log(1)\n" + b"# x\n" * 600_000,
            "jquery.min.js": "log(1)",
            "squeezed.js": squeezed,
            "vendor/v.go": "package v\n",
            "go.mod": "module x\n",
            "latin.py": "é = log(5)\n".encode("latin-1"),
            "wide.py": "log('é')\n".encode("utf-16"),
            ".ssh/key.py": "log(1)\n",
        }
    )
    (root / "link.py").symlink_to(root / "ok.py")
    async with serving(ombud, root, {}, capabilities=AGENT) as client:
        found = await grep(client, "log($X)")
        assert reasons(found) == {
            "binary.py": "binary",
            "huge.py": "larger than 2 MB",
            "jquery.min.js": "minified",
            "squeezed.js": "minified",
            "vendor": "vendored",
            ".ssh/key.py": "sensitive",
        }
        assert places(found)[0] == ("broken.py", 1)
        assert {"latin.py", "ok.py", "wide.py"} <= {path for path, _ in places(found)}
        assert found["parseErrors"] == ["broken.py"]
        assert found["filesSearched"] == 4


async def test_lines_around_are_shown_when_asked_for(ombud: OmbudFactory, workspace: Workspace) -> None:
    async with serving(ombud, workspace(FILES), {}, capabilities=AGENT) as client:
        (one,) = (await grep(client, "log($X)", path="lib/util.py", context=2))["matches"]
        assert (one["before"], one["after"]) == (['    """log(never)"""', "    # log(never)"], [])
        assert (one["line"], one["endLine"], one["text"]) == (4, 6, 'log(\n        "x",\n    )')
        assert "before" not in (await grep(client, "log($X)", path="lib/util.py"))["matches"][0]


async def test_a_page_is_cut_and_says_so(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({f"f{n:03}.py": "log(1)\n" * 3 for n in range(100)})
    async with serving(ombud, root, {}, capabilities=AGENT) as client:
        found = await grep(client, "log($X)")
        assert (len(found["matches"]), found["truncated"]) == (50, True)
        assert "maxResults" in found["note"]
        assert places(found)[0] == ("f000.py", 1)

        async def total() -> bool:
            found = await grep(client, "log($X)")
            return bool(found["total"] == 300)

        for _ in range(5000):
            if await total():
                break
        else:
            pytest.fail("nobody went on counting")
        whole = await grep(client, "log($X)", maxResults=300)
        assert (len(whole["matches"]), whole["truncated"], whole["total"]) == (300, False, 300)
        assert places(whole)[:50] == places(found)


async def test_a_long_match_is_cut(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({"a.py": "log('''" + ("é" * 59 + "\n") * 50 + "''')\n"})
    async with serving(ombud, root, {}, capabilities=AGENT) as client:
        (one,) = (await grep(client, "log($X)"))["matches"]
        assert one["text"] == ("log('''" + ("é" * 59 + "\n") * 50)[:2000]
        assert one["range"]["end"] == {"line": 50, "character": 4}


async def test_open_buffers_are_searched_as_they_are(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES | {"build/x.py": "pass\n", ".gitignore": "build/\n"})
    async with serving(ombud, root, {}, capabilities=VSCODE) as client:
        client.open("app.py", "x = 1\nlog('typed')\n")
        client.open("fresh.py", "log('new')\n", language="python")
        client.open("build/x.py", "log('ignored')\n")
        assert places(await grep(client, "log($X)", language="python")) == [
            ("app.py", 2),
            ("fresh.py", 1),
            ("lib/util.py", 4),
        ]
        client.change("app.py", "log('again')\n")
        assert places(await grep(client, "log($X)", path="app.py")) == [("app.py", 1)]
        client.close("app.py")
        client.close("fresh.py")
        assert places(await grep(client, "log($X)", language="python")) == [("app.py", 6), ("lib/util.py", 4)]


async def test_a_pattern_that_finds_nothing_is_read_in_other_ways(ombud: OmbudFactory, workspace: Workspace) -> None:
    """A fragment that ends in neither ``}`` nor ``;`` is a statement first; only then may it be an argument."""
    root = workspace({"a.py": "call(timeout=3)\n"})
    async with serving(ombud, root, {}, capabilities=AGENT) as client:
        found = await grep(client, "timeout = $T", language="python")
        assert places(found) == [("a.py", 1)]
        assert found["parsedAs"] not in ("statement", "expression")
        (root / "b.py").write_text("timeout = 4\n")
        found = await grep(client, "timeout = $T", language="python")
        assert places(found) == [("b.py", 1)]
        assert found["alsoParsesAs"]


ERRORS: dict[str, tuple[Json, str, str]] = {
    "an unknown language": ({"pattern": "f()", "language": "pyton"}, "unknown_language", "python"),
    "a language without a grammar": ({"pattern": "f()", "language": "markdown"}, "unknown_language", "no grammar"),
    "nothing to look for": ({}, "invalid_params", "pattern"),
    "an empty pattern": ({"pattern": "  "}, "invalid_params", "empty"),
    "two things at once": ({"pattern": "f()", "any": ["g()"]}, "invalid_params", "not both"),
    "no code": ({"pattern": "def (((", "language": "python"}, "unparseable_pattern", ""),
    "no code in any language": ({"pattern": "\u0001((("}, "unparseable_pattern", ""),
    "a bad expression": ({"pattern": "f($X)", "where": {"X": {"regex": "("}}}, "invalid_params", "regex"),
    "an unbound variable": ({"pattern": "f($X)", "where": {"Y": {"regex": "a"}}}, "invalid_params", "Y"),
    "an unknown condition": ({"pattern": "f($X)", "where": {"X": {"regx": "a"}}}, "invalid_params", "regx"),
    "an unknown kind": ({"kind": "no_such_kind", "language": "python"}, "invalid_params", "no_such_kind"),
    "too many results": ({"pattern": "f()", "maxResults": 1_000_000}, "invalid_params", "maxResults"),
    "none of them": ({"pattern": "f()", "maxResults": 0}, "invalid_params", "maxResults"),
    "an unknown param": ({"pattern": "f()", "lang": "python"}, "invalid_params", "language"),
    "a type within a not": ({"pattern": "f($X)", "where": {"X": {"not": {"type": "A"}}}}, "invalid_params", "type"),
}


@pytest.mark.parametrize("what", ERRORS)
async def test_errors_say_what_is_wrong(ombud: OmbudFactory, workspace: Workspace, what: str) -> None:
    params, kind, word = ERRORS[what]
    async with serving(ombud, workspace(FILES), {}, capabilities=AGENT) as client:
        error = await refused(client, **params)
        assert error.data["kind"] == kind
        assert error.code == -32602
        assert word in error.message
        if kind == "unparseable_pattern":
            assert error.data["rungs"]
            assert all(one["as"] and one["complaint"] for one in error.data["rungs"])


async def test_without_trust_it_works_without_a_process(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES | {"large.py": "log(1)\n" * 40_000})
    async with serving(ombud, root, {}, capabilities=AGENT, trusted=False) as client:
        found = await grep(client, "log($X)")
        assert len(found["matches"]) == 5
        assert reasons(found) == {"large.py": "larger than 200 KB"}
        assert client.child_processes() == []


async def test_trust_that_is_taken_back_ends_the_workers(ombud: OmbudFactory, workspace: Workspace) -> None:
    async with serving(ombud, workspace(FILES), {}, capabilities=AGENT) as client:
        await grep(client, "log($X)")
        assert _workers(client)
        client.notify("workspace/didChangeConfiguration", {"settings": {"ombud": {"trusted": False}}})
        await wait_until(lambda: not _workers(client), 30, "the workers end")
        assert len((await grep(client, "log($X)"))["matches"]) == 5
        assert not _workers(client)


async def test_workers_end_when_nobody_asks(ombud: OmbudFactory, workspace: Workspace) -> None:
    async with serving(ombud, workspace(FILES), {}, capabilities=AGENT, idleMinutes=0.01) as client:
        await grep(client, "log($X)")
        await wait_until(lambda: not _workers(client), 30, "the workers end")
        assert len((await grep(client, "log($X)"))["matches"]) == 5


async def test_a_cancelled_search_leaves_the_workers_alive(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({f"f{n:04}.py": "log(1)\nif x:\n    y = [1, 2, 3]\n" * 200 for n in range(300)})
    async with serving(ombud, root, {}, capabilities=AGENT) as client:
        await grep(client, "nothing_of_it($X)")
        pids = _workers(client)
        pending = client.start_request("ombud/astGrep", {"pattern": "log($X)", "maxResults": 10_000})
        client.notify("$/cancelRequest", {"id": pending.id})
        error = await failure(pending, client)
        assert error.code == -32800
        assert len((await grep(client, "log($X)", path="f0000.py", maxResults=1000))["matches"]) == 200
        assert _workers(client) == pids


async def test_several_folders_are_searched_and_their_paths_told(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    other = workspace({"more.py": "log(9)\n", ".ssh/key.py": "log(10)\n"}, name="other")
    async with serving(ombud, root, {}, capabilities=VSCODE) as client:
        added = [{"uri": other.as_uri(), "name": "other"}]
        client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": added, "removed": []}})
        found = await grep(client, "log($X)", language="python")
        assert places(found) == [("app.py", 6), ("lib/util.py", 4), (str(other / "more.py"), 1)]
        assert reasons(found) == {str(other / ".ssh/key.py"): "sensitive"}


async def test_a_type_is_asked_of_the_language_server(ombud: OmbudFactory, workspace: Workspace) -> None:
    """The scripted server's hover is the line's text, so that a comment says what type it is."""
    files = {"x.toml": "", "a.py": "log(one)  # Clock\nlog(two)  # ClockWork\nlog(three)  # Clock\n"}
    servers = {"types": entry(Script("types"), extensions=[".py"])}
    async with serving(ombud, workspace(files), servers, capabilities=AGENT) as client:
        wanted = {"X": {"type": "Clock"}}
        found = await grep(client, "log($X)", where=wanted)
        assert (places(found), found["total"], found["truncated"]) == ([("a.py", 1), ("a.py", 3)], 2, False)
        found = await grep(client, "log($X)", where=wanted, maxResults=1)
        assert (places(found), found["truncated"]) == ([("a.py", 1)], True)
        both = {"X": {"type": "Clock", "regex": "^t"}}
        assert places(await grep(client, "log($X)", where=both)) == [("a.py", 3)]


async def test_a_type_that_nobody_can_tell_is_no_match_and_said_to_be(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    async with serving(ombud, workspace({"a.lua": "log(one)\n"}), {}, capabilities=AGENT) as client:
        found = await grep(client, "log($X)", where={"X": {"type": "Clock"}})
        assert found["matches"] == []
        assert "a.lua" in found["note"]


def _workers(client: Client) -> list[int]:
    return sorted(one.pid for one in client.child_processes() if "structural.worker" in " ".join(one.cmdline()))
