"""Every method of LSP 3.17 over two servers at once: what a client of both is answered, written down.

``alpha`` comes before ``beta`` by priority. Both have everything unless a test says otherwise, and both are strict:
an item that does not come back to its maker exactly as it was fails the test (``well_behaved`` in `talks`).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.client import LspError
from tests.peers.conformance.answers import ANSWERS
from tests.peers.conformance.answers.ask import position, span
from tests.peers.conformance.items import FOLLOWED, RESOLVED
from tests.peers.conformance.pair import (
    Json,
    Start,
    bare,
    items_of,
    of,
    ready,
    request,
    shared,
    start,
)
from tests.peers.conformance.requests import ask as ask_for
from tests.peers.conformance.requests import chosen, meaning, params_of
from tests.peers.conformance.talks import Talk

__all__ = ["start"]


# -- all, joined


async def test_hover_shows_both(start: Start) -> None:
    async with start() as talk:
        await ready(talk)
        assert await request(talk, "textDocument/hover") == {
            "contents": {
                "kind": "markdown",
                "value": "**alpha**\n\n---\n\nbeta says\n\n```x\ndef b()\n```",
            },
            "range": span(0, 0, 5),
        }
        for silent, speaks in (("alpha", "beta"), ("beta", "alpha")):
            for nothing in ("null", "emptyList"):
                found = await request(talk, "textDocument/hover", {silent: nothing, speaks: "string"})
                assert found == {"contents": f"{speaks} alone"}
        both = await request(talk, "textDocument/hover", {"alpha": "plaintext", "beta": "plaintext"})
        assert both == {"contents": {"kind": "plaintext", "value": "alpha\n\nbeta"}}


async def test_completion_joins_items_and_resolves_each_by_its_maker(start: Start) -> None:
    """The defaults of a list are written into its own items; a plain array counts as a complete list."""
    async with start() as talk:
        await ready(talk)
        found = await request(talk, "textDocument/completion")
        assert found["isIncomplete"] is True
        assert bare(found["items"]) == [
            {
                "label": "alpha_default",
                "commitCharacters": [";"],
                "textEdit": {"range": span(0, 0, 2), "newText": "$1"},
                "insertTextFormat": 2,
            },
            {
                "label": "alpha_own",
                "commitCharacters": ["!"],
                "textEdit": {"range": span(0, 0, 2), "newText": "alpha_own"},
                "insertTextFormat": 2,
            },
            {"label": "beta", "command": shared(talk, "beta")},
            {"label": "beta_bare"},
        ]
        for item in found["items"][:3]:
            resolved = await talk.client.request("completionItem/resolve", item)
            assert resolved["detail"] == f"resolved by {item['label'].partition('_')[0]}"
            assert {key: resolved[key] for key in ("label", "data")} == {key: item[key] for key in ("label", "data")}
        arrays = await request(talk, "textDocument/completion", "array")
        assert arrays["isIncomplete"] is False
        assert [item["label"] for item in arrays["items"]] == [
            *("alpha_full", "replace", "bare", "falsy"),
            *("beta_full", "replace", "bare", "falsy"),
        ]
        incomplete = await request(talk, "textDocument/completion", {"alpha": "array", "beta": "emptyList"})
        assert incomplete["isIncomplete"] is True


@pytest.mark.parametrize(
    "method", [f"textDocument/{word}" for word in ("completion", "codeAction", "codeLens", "inlayHint", "inlineValue")]
)
async def test_joined_items_keep_every_field(start: Start, method: str) -> None:
    """Also those that nobody knows, numbers as they were written, and halves of surrogate pairs."""
    full = next(iter(ANSWERS[method]))
    async with start() as talk:
        await ready(talk)
        params = chosen(params_of(method, talk.uri), full)
        answer = await ask_for(talk.client, method, params)
        parts = [items_of(of(name, talk, method, full)) for name in ("alpha", "beta")]
        assert bare(items_of(answer.result)) == bare([*parts[0], *parts[1]])
        for number in ("1e-07", "123456789012345678901234567890"):
            assert answer.raw.count(number) == 2 * str(parts[0]).count(number)


async def test_references_are_given_once(start: Start) -> None:
    """A place that both name is the first server's; what one server says twice is its own business."""
    async with start() as talk:
        await ready(talk)
        other = of("alpha", talk, "textDocument/references", "pair")[0]["uri"]
        assert await request(talk, "textDocument/references") == [
            # Without the mark that items get which come back: a place does not.
            {"uri": other, "range": span(0, 2, 9)},
            {"uri": talk.uri, "range": span(1)},
            {"uri": talk.uri, "range": span(2)},
        ]


async def test_code_actions_and_their_commands_go_back_to_their_maker(start: Start) -> None:
    async with start() as talk:
        await ready(talk)
        assert talk.first == "alpha", "the first by priority goes by the plain name"
        found = await request(talk, "textDocument/codeAction")
        expected: list[Json] = []
        for name in ("alpha", "beta"):
            expected += [
                shared(talk, name),
                {"title": f"{name} own", "command": f"{name}.own", "arguments": []},
                {"title": f"{name} late", "kind": "quickfix", "command": shared(talk, name)},
                {"title": f"{name} bare", "kind": "quickfix"},
            ]
        assert bare(found) == expected
        for action in found:
            name = action["title"].removeprefix("shared by ").partition(" ")[0]
            if action["title"].endswith("late"):
                resolved = await talk.client.request("codeAction/resolve", action)
                assert resolved["command"]["arguments"] == [f"resolved by {name}"]
            command = action if isinstance(action.get("command"), str) else action.get("command")
            if command is not None:
                assert (await talk.command(command["command"], *command["arguments"]))["by"] == name


LISTED: dict[str, Callable[[Talk, str], list[Json]]] = {
    "textDocument/codeLens": lambda talk, name: [
        {"range": span(1 if name == "alpha" else 2), "command": shared(talk, name)},
        {"range": span(9)},
    ],
    "textDocument/inlayHint": lambda talk, name: [
        {
            "position": position(1 if name == "alpha" else 2),
            "label": [{"value": f": {name}", "command": shared(talk, name)}],
        },
        {"position": position(9), "label": name},
    ],
    "textDocument/documentLink": lambda talk, name: [
        *([{"range": span(0), "target": "https://example.com/"}] if name == "alpha" else []),
        {"range": span(1 if name == "alpha" else 2)},
    ],
    "textDocument/documentColor": lambda talk, name: [
        {"range": span(line), "color": {"red": 1.0, "green": 0, "blue": 0, "alpha": 1}}
        for line in ([0, 1] if name == "alpha" else [2])
    ],
    "textDocument/inlineValue": lambda talk, name: [{"range": span(1 if name == "alpha" else 2), "text": name}],
    "workspace/symbol": lambda talk, name: [
        *(
            [{"name": "shared", "kind": 5, "location": {"uri": _other(talk), "range": span(0)}}]
            if name == "alpha"
            else []
        ),
        {"name": f"{name} late", "kind": 5, "location": {"uri": _other(talk)}},
    ],
}
"""Joined lists: what each server's part is for the client, that of beta without what alpha has said already."""


def _other(talk: Talk) -> str:
    return f"{talk.root.as_uri()}/%C3%BCber%20b.x"


@pytest.mark.parametrize("method", LISTED)
async def test_lists_are_joined_in_order_of_priority_and_resolved_by_their_makers(start: Start, method: str) -> None:
    async with start() as talk:
        await ready(talk)
        found = await request(talk, method)
        joined = [*LISTED[method](talk, "alpha"), *LISTED[method](talk, "beta")]
        assert (bare(found) if method in RESOLVED else found) == joined
        if method in RESOLVED:
            late = [item for item in found if "data" in item and isinstance(item["data"], dict)]
            makers = [_maker(await talk.client.request(RESOLVED[method], item)) for item in late if _made(item)]
            assert makers == ["alpha", "beta"]
        (first, *_) = await request(talk, method, {"alpha": "empty", "beta": "pair"})
        alone = bare(of("beta", talk, method, "pair"))[0]
        if "command" in str(alone):
            # The name of a command does not depend on who else has something to say.
            alone = LISTED[method](talk, "beta")[0]
        assert (bare([first])[0] if method in RESOLVED else first) == alone


def _made(item: Json) -> bool:
    """Whether the item's own server put something into ``data``, which Ombud may have wrapped."""
    data = item["data"]
    return "server" in data or "server" in (data.get("data") or {})


def _maker(item: Json) -> str:
    """The server that resolved an item, by what each kind of resolve adds."""
    text = str(item)
    (name,) = [name for name in ("alpha", "beta") if f"resolved by {name}" in text or f"/resolved/by/{name}" in text]
    return name


@pytest.mark.parametrize("what", ["Create", "Rename", "Delete"])
async def test_edits_before_file_operations_are_joined(start: Start, what: str) -> None:
    method = f"workspace/will{what}Files"
    async with start() as talk:
        await ready(talk)
        own = {"range": span(1), "newText": "alpha"}, {"range": span(2), "newText": "beta"}
        both = [{"range": span(5), "newText": "moved"}]
        assert await request(talk, method) == {"changes": {_other(talk): both, talk.uri: list(own)}}
        assert await request(talk, method, {"alpha": "null", "beta": "pair"}) == of("beta", talk, method, "pair")
        # Two insertions at one place do not contradict each other: the first server's come first.
        inserts = [of(name, talk, method, "changes")["changes"] for name in ("alpha", "beta")]
        assert await request(talk, method, "changes") == {
            "changes": {uri: [*edits, *inserts[1][uri]] for uri, edits in inserts[0].items()}
        }
        mixed = await request(talk, method, {"alpha": "documentChanges", "beta": "pair"})
        alpha = of("alpha", talk, method, "documentChanges")
        changes = mixed["documentChanges"]
        assert changes[: len(alpha["documentChanges"])] == alpha["documentChanges"]
        assert mixed["changeAnnotations"] == alpha["changeAnnotations"]
        assert own[1] in [edit for one in changes if "edits" in one for edit in one["edits"]]


# -- one of them


FOUND = [
    *(f"textDocument/{word}" for word in ("definition", "declaration", "typeDefinition", "implementation")),
    *(f"textDocument/{word}" for word in ("documentHighlight", "signatureHelp", "linkedEditingRange", "moniker")),
    *(f"textDocument/{word}" for word in ("prepareCallHierarchy", "prepareTypeHierarchy", "documentSymbol")),
    *(f"textDocument/{word}" for word in ("foldingRange", "selectionRange", "colorPresentation")),
]
"""The first server that finds something."""


@pytest.mark.parametrize("method", FOUND)
async def test_the_first_server_that_finds_something_answers(start: Start, method: str) -> None:
    full = next(iter(ANSWERS[method]))
    async with start() as talk:
        await ready(talk)
        assert await request(talk, method, full) == of("alpha", talk, method, full)
        assert talk.heard(method, "beta") == []
        for nothing in {"null", "empty"} & ANSWERS[method].keys():
            beta = await request(talk, method, {"alpha": nothing, "beta": full})
            # A hierarchy's items come back by a follow-up and carry a mark of their maker.
            hierarchy = method in FOLLOWED
            expected = of("beta", talk, method, full)
            assert (bare(beta) if hierarchy else beta) == (bare(expected) if hierarchy else expected)
            both = await request(talk, method, nothing)
            assert both == (None if nothing == "null" else [])


@pytest.mark.parametrize("method", FOUND)
async def test_a_server_that_cannot_say_hides_none_that_can(start: Start, method: str) -> None:
    full = next(iter(ANSWERS[method]))
    async with start() as talk:
        await ready(talk)
        found, alone = await request(talk, method, {"alpha": "error", "beta": full}), of("beta", talk, method, full)
        assert (bare(found) if method in FOLLOWED else found) == (bare(alone) if method in FOLLOWED else alone)
        (nothing, *_) = sorted({"null", "empty"} & ANSWERS[method].keys())
        for failing, silent in (("alpha", "beta"), ("beta", "alpha")):
            answer = await request(talk, method, {failing: "error", silent: nothing})
            assert answer == (None if nothing == "null" else [])
        with pytest.raises(LspError) as refused:
            await request(talk, method, "error")
        assert (refused.value.code, refused.value.data["kind"]) == (-32803, "made_up")


@pytest.mark.parametrize("prepare", ["textDocument/prepareCallHierarchy", "textDocument/prepareTypeHierarchy"])
async def test_a_hierarchy_is_followed_at_the_server_that_prepared_it(start: Start, prepare: str) -> None:
    async with start() as talk:
        await ready(talk)
        for name, silent in (("alpha", "beta"), ("beta", "alpha"), ("alpha", "beta")):
            (item, *_) = await request(talk, prepare, {name: "list", silent: "null"})
            assert item["detail"] == f"of {name}"
            for follower in FOLLOWED[prepare]:
                step = item
                for _ in range(3):
                    (step,) = await talk.client.request(follower, chosen({"item": step}, "list"))
                    step = step.get("from", step.get("to", step))
                    assert step["detail"] == f"of {name}"
                assert step["name"].endswith("prepared")
                assert await talk.client.request(follower, chosen({"item": item}, "null")) is None


FORMATTING = [
    f"textDocument/{word}"
    for word in ("formatting", "rangeFormatting", "rangesFormatting", "onTypeFormatting", "willSaveWaitUntil")
]


@pytest.mark.parametrize("method", FORMATTING)
async def test_the_formatter_formats(start: Start, method: str) -> None:
    """Its role counts before its priority: a formatter before a linter, a linter before a type checker."""
    for alpha, beta, owner in (
        ("types", "formatter", "beta"),
        ("linter", "formatter", "beta"),
        ("types", "linter", "beta"),
        ("types", "types", "alpha"),
        ("formatter", "formatter", "alpha"),
        ("formatter", "linter", "alpha"),
    ):
        async with start({"role": alpha}, {"role": beta}) as talk:
            await ready(talk)
            assert await request(talk, method, "list") == of(owner, talk, method, "list")
            # Nothing to change is an answer too: nobody else formats then.
            assert (
                await request(talk, method, {owner: "empty", "alpha": "list", "beta": "list"} | {owner: "empty"}) == []
            )


async def test_the_server_that_renames_also_prepares(start: Start) -> None:
    prepare, rename = "textDocument/prepareRename", "textDocument/rename"
    async with start() as talk:
        await ready(talk)
        for variant in ("placeholder", "range", "default", "null"):
            assert await request(talk, prepare, variant) == of("alpha", talk, prepare, variant)
        for variant in ("documentChanges", "changes", "newName", "nothing", "null"):
            assert await request(talk, rename, variant) == of("alpha", talk, rename, variant)
    async with start({"differently": {"lacks": ["renameProvider.prepareProvider"]}}) as talk:
        await ready(talk)
        assert await request(talk, prepare, "range") == {"defaultBehavior": True}
        assert talk.heard(prepare, "beta") == []
        assert await request(talk, rename, "newName") == of("alpha", talk, rename, "newName")
    async with start({"differently": {"lacks": ["renameProvider"]}}) as talk:
        await ready(talk)
        assert await request(talk, prepare, "placeholder") == of("beta", talk, prepare, "placeholder")
        assert await request(talk, rename, "changes") == of("beta", talk, rename, "changes")


async def test_semantic_tokens_have_one_owner(start: Start) -> None:
    """Also where it finds none: a delta is one against its own answer."""
    kinds = {"full": "tokens", "full/delta": "delta", "range": "tokens"}
    for lacking, owner in ((["alpha"], "beta"), ([], "alpha")):
        lacks = {"differently": {"lacks": ["semanticTokensProvider"]}}
        async with start(lacks if "alpha" in lacking else None) as talk:
            await ready(talk)
            for kind, variant in kinds.items():
                method = f"textDocument/semanticTokens/{kind}"
                params = chosen(params_of(method, talk.uri), variant)
                answer = meaning(talk.client, method, await ask_for(talk.client, method, params))
                assert answer.error is None
                assert answer.result["resultId"].startswith(owner)
                if kind != "full/delta":
                    assert isinstance(answer.result["data"][0], list), "no legend was announced"
                    named = [token[3:] for token in answer.result["data"]]
                    assert named == [
                        ["function"],
                        ["variable", "readonly"],
                        ["comment", "static", "deprecated"],
                        ["class", "async"],
                    ]
            assert await request(talk, "textDocument/semanticTokens/full", "null") is None
            other = "alpha" if owner == "beta" else "beta"
            assert [method for method in talk.log(other).methods() if "semanticTokens" in method] == []


async def test_a_server_that_colours_ranges_only_hides_none_that_colours_all(start: Start) -> None:
    async with start({"differently": {"lacks": ["semanticTokensProvider.full"]}}) as talk:
        await ready(talk)
        for kind in ("full", "range"):
            found = await request(talk, f"textDocument/semanticTokens/{kind}", "tokens")
            assert found["resultId"].startswith("beta"), kind
        assert [method for method in talk.log("alpha").methods() if "semanticTokens" in method] == []


async def test_diagnostics_that_are_pulled_are_joined(start: Start) -> None:
    """The result ids are Ombud's; whoever sends one back is told where nothing has changed."""
    pulls = {"differently": {"unasked": {"textDocument/diagnostic": "full", "workspace/diagnostic": "full"}}}
    async with start(pulls, pulls) as talk:
        await ready(talk)
        document = {"textDocument": {"uri": talk.uri}}
        parts = [of(name, talk, "textDocument/diagnostic", "full") for name in ("alpha", "beta")]
        report = await talk.client.request("textDocument/diagnostic", document)
        assert report["kind"] == "full"
        assert report["items"] == [*parts[0]["items"], *parts[1]["items"]]
        related = parts[0]["relatedDocuments"][_other(talk)]["items"]
        assert related[0] in report["relatedDocuments"][_other(talk)]["items"]
        again = {**document, "previousResultId": report["resultId"]}
        assert (await talk.client.request("textDocument/diagnostic", again))["kind"] == "unchanged"

        whole = await talk.client.request("workspace/diagnostic", {"previousResultIds": []})
        found: dict[str, list[Json]] = {}
        for one in whole["items"]:
            found.setdefault(one["uri"], []).extend(one["items"])
        expected: dict[str, list[Json]] = {}
        for name in ("alpha", "beta"):
            for one in of(name, talk, "workspace/diagnostic", "full", {})["items"]:
                expected.setdefault(one["uri"], []).extend(one["items"])
        assert found == expected
