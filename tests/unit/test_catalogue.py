"""The catalogue of language servers: every row complete, and the user's changes to it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ombud.downstream.capabilities import PROVIDERS
from ombud.downstream.catalogue import ANY_LANGUAGE, Catalogue, ServerEntry, load_catalogue
from ombud.downstream.features import FEATURES, feature_of
from ombud.downstream.fill import NAMES
from ombud.errors import UserError
from ombud.syntax.languages import is_known

CATALOGUE = load_catalogue()
ROWS = pytest.mark.parametrize("entry", list(CATALOGUE), ids=lambda entry: entry.name)
MINE = {"command": ["my-server", "--stdio"], "languages": ["mine"], "rootMarkers": ["mine.toml"]}

WELL_KNOWN = re.findall(
    r"\S+",
    """
    basedpyright pyright ty pyrefly zuban ruff jedi-language-server pylsp typescript-language-server
    vtsls tsgo biome oxlint eslint deno rust-analyzer gopls golangci-lint-langserver clangd ccls jdtls
    kotlin-lsp lua-language-server zls bash-language-server fish-lsp yaml-language-server vscode-json
    vscode-html vscode-css tailwindcss svelte vue astro elm graphql prisma dockerfile intelephense
    phpactor ruby-lsp solargraph terraform-ls texlab taplo marksman nixd haskell-language-server
    ocamllsp elixir-ls erlang-ls elp clojure-lsp metals roslyn fsautocomplete sourcekit-lsp dart
    r-languageserver perl-languageserver julia buf fortls cmake-language-server
    """,
)


def test_the_servers_that_people_expect_are_there() -> None:
    assert len(CATALOGUE) >= 60
    assert [name for name in WELL_KNOWN if name not in CATALOGUE] == []


@ROWS
def test_row_is_complete(entry: ServerEntry) -> None:
    assert entry.languages
    assert [name for name in entry.languages if not is_known(name) and name != ANY_LANGUAGE] == []
    assert entry.commands and all(command and all(command) for command in entry.commands)
    assert not any(command[0].startswith(("/", "~")) for command in entry.commands), "no row knows a user's machine"
    assert entry.weak_markers, "without a marker a checkout would not be the root"
    assert entry.install and "\n" not in entry.install
    assert entry.diagnostics.settle_ms >= 0
    assert entry.priority > 0
    assert not entry.from_user and entry.disabled is None and entry.env == {}
    assert entry.ready_timeout_ms >= 60_000 and entry.request_timeout_ms == 30_000
    assert entry.markers or not entry.root_climbs, "a climb begins at a strong marker"
    assert all(extension.startswith(".") for extension in entry.extensions)
    assert set(entry.least_major) <= {command[0] for command in entry.commands}


@ROWS
def test_row_that_pushes_without_version_has_a_quiet_time(entry: ServerEntry) -> None:
    profile = entry.diagnostics
    if profile.channel != "pull" and not profile.versioned:
        assert profile.settle_ms > 0, (
            "nothing else could make an unversioned push evidence (architecture.md, decision 9)"
        )


@ROWS
def test_row_uses_only_placeholders_that_are_filled_in(entry: ServerEntry) -> None:
    text = repr((entry.commands, entry.settings, entry.initialization_options))
    assert set(re.findall(r"\$\{([^}]*)\}", text)) <= set(NAMES)


@ROWS
def test_T1_row_that_loads_the_projects_own_code_needs_trust(entry: ServerEntry) -> None:
    """What a server drives out of node_modules, or is told of as the project's TypeScript, is workspace code."""
    text = repr((entry.commands, entry.settings, entry.initialization_options))
    if any("node_modules" in name for name in entry.requires) or "${tsdk}" in text:
        assert entry.runs_workspace_code


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        *((name, True) for name in ("rust-analyzer", "eslint", "typescript-language-server", "jdtls", "pyrefly")),
        *((name, True) for name in ("pylsp", "tailwindcss", "jedi-language-server", "metals", "svelte")),
        *((name, False) for name in ("basedpyright", "pyright", "ruff", "ty", "clangd", "gopls", "tsgo", "vscode-css")),
        *((name, False) for name in ("vscode-json", "vscode-html", "yaml-language-server", "bash-language-server")),
    ],
)
def test_T4_who_runs_workspace_code(name: str, runs: bool) -> None:
    assert CATALOGUE.entries[name].runs_workspace_code is runs


@pytest.mark.parametrize(
    ("name", "channel", "versioned"),
    [
        ("basedpyright", "pull", True),
        ("ruff", "pull", True),
        ("tsgo", "pull", True),
        ("eslint", "pull", True),
        ("vscode-css", "pull", True),
        ("rust-analyzer", "both", False),
        ("typescript-language-server", "push", False),
        ("vtsls", "push", False),
        ("yaml-language-server", "push", False),
        ("clangd", "push", True),
        ("pyrefly", "push", True),
        ("bash-language-server", "push", True),
    ],
)
def test_diagnostics_profiles_agree_with_what_was_measured(name: str, channel: str, versioned: bool) -> None:
    profile = CATALOGUE.entries[name].diagnostics
    assert (profile.channel, profile.versioned) == (channel, versioned)


def test_servers_that_are_silent_about_clean_files_are_marked() -> None:
    assert CATALOGUE.entries["vtsls"].diagnostics.silent_when_clean
    assert CATALOGUE.entries["svelte"].diagnostics.silent_when_clean


def test_settings_without_which_servers_misbehave() -> None:
    assert CATALOGUE.entries["vscode-css"].settings["css"] == {"validate": True}
    eslint = CATALOGUE.entries["eslint"].settings
    assert {
        "validate",
        "run",
        "nodePath",
        "workingDirectory",
        "rulesCustomizations",
        "problems",
        "experimental",
    } <= set(eslint)
    assert CATALOGUE.entries["yaml-language-server"].settings["redhat"]["telemetry"]["enabled"] is False
    assert CATALOGUE.entries["basedpyright"].settings["basedpyright"]["analysis"]["diagnosticMode"] == "openFilesOnly"


def test_alternatives_have_distinct_priorities_and_share_a_language() -> None:
    groups: dict[str, list[ServerEntry]] = {}
    for entry in CATALOGUE:
        if entry.alternatives:
            groups.setdefault(entry.alternatives, []).append(entry)
    for name, entries in groups.items():
        assert len(entries) > 1, f"{name} is a group of one"
        assert len({entry.priority for entry in entries}) == len(entries), name
        assert set.intersection(*(set(entry.languages) for entry in entries)), name
    order = [entry.name for entry in CATALOGUE if entry.alternatives == "python-types"]
    assert order == ["basedpyright", "pyright", "ty", "pyrefly", "zuban", "jedi-language-server", "pylsp"]
    order = [entry.name for entry in CATALOGUE if entry.alternatives == "typescript"]
    assert order == ["vue-typescript", "typescript-language-server", "vtsls", "tsgo"]


def test_types_come_before_linters_and_spelling() -> None:
    names = [entry.name for entry in CATALOGUE.claiming("python", "a.py")]
    assert names[0] == "basedpyright" and names.index("ruff") > names.index("pylsp") and names[-1] == "typos"
    for entry in CATALOGUE:
        limit = {"types": range(1, 40), "syntax": range(1, 40), "linter": range(20, 80)}.get(entry.role)
        assert limit is None or entry.priority in limit, entry.name


def test_a_file_may_be_claimed_by_name_beside_its_language() -> None:
    assert [entry.name for entry in CATALOGUE.claiming("verilog", "x.v")] == [
        "v-analyzer",
        "verible",
        "ast-grep",
        "typos",
    ]
    assert CATALOGUE.claiming(None, "x.unheard-of") == ()
    assert CATALOGUE.claiming("mine", "x.mine") == CATALOGUE.claiming(None, "x") + tuple(
        entry for entry in CATALOGUE if ANY_LANGUAGE in entry.languages
    )


# ---- the user's changes -------------------------------------------------------------------------------------------


def test_row_is_changed_key_by_key() -> None:
    entry = CATALOGUE.with_overrides(
        {
            "basedpyright": {
                "settings": {"basedpyright": {"analysis": {"typeCheckingMode": "strict"}}, "x": 1},
                "initializationOptions": {"a": {"b": 1}},
                "requestTimeoutMs": 1000,
                "readyTimeoutMs": 2000,
                "priority": 3,
                "onlyFeatures": ["hover", "completion", "goto-definition"],
                "exceptFeatures": ["hover"],
                "diagnostics": {"channel": "push", "settleMs": 50, "projectMs": 70, "settingsMs": 0, "overlays": True},
                "env": {"A": "b"},
                "role": "linter",
                "extensions": ["tac"],
                "filenames": ["Special"],
                "runsWorkspaceCode": True,
                "completionTriggers": ["!"],
            }
        }
    ).entries["basedpyright"]
    analysis = {**CATALOGUE.entries["basedpyright"].settings["basedpyright"]["analysis"], "typeCheckingMode": "strict"}
    assert entry.settings == {"python": {"pythonPath": "${python}"}, "basedpyright": {"analysis": analysis}, "x": 1}
    assert entry.initialization_options == {"a": {"b": 1}}
    assert (entry.request_timeout_ms, entry.ready_timeout_ms, entry.priority) == (1000, 2000, 3)
    assert entry.serves("completion") and not entry.serves("hover") and not entry.serves("rename")
    assert entry.serves("definition"), "Helix calls it goto-definition"
    assert entry.serves(None), "synchronisation is nobody's to switch"
    assert (entry.diagnostics.channel, entry.diagnostics.settle_ms, entry.diagnostics.versioned) == ("push", 50, True)
    assert (entry.diagnostics.project_ms, entry.diagnostics.settings_ms, entry.diagnostics.overlays) == (70, 0, True)
    assert (entry.env, entry.role, entry.runs_workspace_code) == ({"A": "b"}, "linter", True)
    assert (entry.extensions, entry.filenames) == ((".tac",), ("Special",))
    assert entry.completion_triggers == ("!",)
    assert not entry.from_user and entry.commands == CATALOGUE.entries["basedpyright"].commands


def test_the_packages_own_rows_are_untouched_by_overrides() -> None:
    before = repr(CATALOGUE.entries["eslint"])
    CATALOGUE.with_overrides({"eslint": {"settings": {"problems": {"shortenToSingleLine": True}}, "env": {"A": "1"}}})
    assert repr(load_catalogue().entries["eslint"]) == before


def test_T2_a_command_of_the_users_own_is_marked_as_such() -> None:
    entry = CATALOGUE.with_overrides({"rust-analyzer": {"command": ["/opt/ra", "--x"]}}).entries["rust-analyzer"]
    assert entry.from_user and entry.commands == (("/opt/ra", "--x"),)
    assert entry.shim is None and entry.version_args == (), "what the row knows of its own executable no longer holds"
    assert entry.runs_workspace_code, "another command does not make the server harmless"


def test_markers_of_the_user_replace_all_rules_about_roots() -> None:
    entry = CATALOGUE.with_overrides({"typescript-language-server": {"rootMarkers": ["x.json"]}}).entries[
        "typescript-language-server"
    ]
    assert entry.markers == ("x.json",) and entry.weak_markers == (".git",)
    assert not (entry.exclude_markers or entry.exclude_nearer or entry.root_climbs)


def test_server_of_ones_own() -> None:
    catalogue = CATALOGUE.with_overrides({"mine": {**MINE, "extensions": [".x", "y"], "settings": {"a": 1}}})
    entry = catalogue.entries["mine"]
    assert entry.from_user and not entry.runs_workspace_code and entry.alternatives is None
    assert (entry.request_timeout_ms, entry.ready_timeout_ms) == (30_000, 60_000)
    assert entry.extensions == (".x", ".y") and entry.settings == {"a": 1}
    assert [one.name for one in catalogue.claiming(None, "f.x")] == ["mine"]
    assert catalogue.claiming("mine", "f")[0] is entry
    assert "mine" not in load_catalogue()


def test_server_of_ones_own_for_a_language_of_the_catalogue_stands_beside_the_others() -> None:
    catalogue = CATALOGUE.with_overrides({"mine": {**MINE, "languages": ["py", "python"]}})
    assert catalogue.entries["mine"].languages == ("python",), "spellings are folded into one id"
    names = [entry.name for entry in catalogue.claiming("python", "a.py")]
    assert "basedpyright" in names and names.index("pylsp") < names.index("mine") < names.index("ruff")


@pytest.mark.parametrize("markers", [[], ["a.toml", "*.b"], ["sub/a.toml"], ["package.json#mine"]])
def test_markers_of_ones_own_server(markers: list[str]) -> None:
    assert CATALOGUE.with_overrides({"mine": {**MINE, "rootMarkers": markers}}).entries["mine"].markers == tuple(
        markers
    )


def test_language_id_that_a_document_is_opened_with() -> None:
    from pathlib import PurePosixPath

    catalogue = CATALOGUE.with_overrides(
        {
            "mine": {**MINE, "languages": ["my-language"], "extensions": [".x"]},
            "bare": {"command": ["b"], "extensions": [".zz"], "rootMarkers": []},
        }
    )
    mine, bare, ruff = (catalogue.entries[name] for name in ("mine", "bare", "ruff"))
    assert mine.language_id(None, PurePosixPath("a.x")) == "my-language"
    assert bare.language_id(None, PurePosixPath("a.zz")) == "zz"
    assert bare.language_id("python", PurePosixPath("a.py")) == "python"
    assert ruff.language_id("python", PurePosixPath("a.py")) == "python"


def test_null_is_not_said() -> None:
    catalogue = CATALOGUE.with_overrides({"ruff": {"disabled": None, "command": None, "settings": None}})
    assert catalogue.entries["ruff"] == CATALOGUE.entries["ruff"]


WRONG: list[tuple[dict[str, Any], str, str, str]] = [
    ({"ruff": {"disbaled": True}}, "ruff", "disbaled", "did you mean disabled"),
    ({"ruff": {"disabled": "yes"}}, "ruff", "disabled", "true or false"),
    ({"ruff": {"command": "ruff server"}}, "ruff", "command", "a list of words"),
    ({"ruff": {"command": []}}, "ruff", "command", "a list of words"),
    ({"ruff": {"command": ["ruff\0"]}}, "ruff", "command", "a list of words"),
    ({"ruff": {"languages": "python"}}, "ruff", "languages", "a list of texts"),
    ({"ruff": {"filenames": ["a/b"]}}, "ruff", "filenames", "without folders"),
    ({"ruff": {"rootMarkers": ["../x"]}}, "ruff", "rootMarkers", "in the root itself"),
    ({"ruff": {"rootMarkers": ["/etc/passwd"]}}, "ruff", "rootMarkers", "in the root itself"),
    ({"ruff": {"settings": []}}, "ruff", "settings", "an object"),
    ({"ruff": {"initializationOptions": 1}}, "ruff", "initializationOptions", "an object"),
    ({"ruff": {"env": {"A": 1}}}, "ruff", "env", "an object of texts"),
    ({"ruff": {"env": {"A=B": "1"}}}, "ruff", "env", "an object of texts"),
    ({"ruff": {"role": "boss"}}, "ruff", "role", "one of types"),
    ({"ruff": {"priority": 1.5}}, "ruff", "priority", "a whole number"),
    ({"ruff": {"priority": True}}, "ruff", "priority", "a whole number"),
    ({"ruff": {"requestTimeoutMs": 0}}, "ruff", "requestTimeoutMs", "from 1 to"),
    ({"ruff": {"readyTimeoutMs": "60"}}, "ruff", "readyTimeoutMs", "a whole number"),
    ({"ruff": {"onlyFeatures": ["hoover"]}}, "ruff", "onlyFeatures", "'hoover' is none"),
    ({"ruff": {"diagnostics": {"channel": "pidgeon"}}}, "ruff", "diagnostics", "channel is one of pull"),
    ({"ruff": {"diagnostics": {"settle": 1}}}, "ruff", "diagnostics", "'settle' is none"),
    ({"ruff": True}, "ruff", "", "must be an object"),
    ({"": MINE}, "", "", "not a name"),
    ({"a\x1b[31m": MINE}, "a", "", "not a name"),
    ({"mine": {"languages": ["x"]}}, "mine", "", "it needs command and rootMarkers"),
    ({"mine": {"command": ["x"], "rootMarkers": []}}, "mine", "", "it needs languages or extensions"),
]


@pytest.mark.parametrize(("user", "server", "key", "words"), WRONG)
def test_wrong_configuration_names_server_and_key(user: dict[str, Any], server: str, key: str, words: str) -> None:
    with pytest.raises(UserError) as caught:
        CATALOGUE.with_overrides(user)
    assert words in caught.value.message
    assert caught.value.data == {"server": server, "key": key}
    assert caught.value.code == -32602


@pytest.mark.parametrize(("user", "server", "key", "words"), WRONG)
def test_wrong_configuration_of_one_key_leaves_the_rest(
    user: dict[str, Any], server: str, key: str, words: str
) -> None:
    catalogue, problems = CATALOGUE.adjusted({**user, "gopls": {"priority": 5}})
    assert len(problems) == 1 and words in problems[0] and f"servers.{server}" in problems[0]
    assert catalogue.entries["gopls"].priority == 5
    assert catalogue.entries["ruff"] == CATALOGUE.entries["ruff"]
    assert set(catalogue.entries) == set(CATALOGUE.entries)


def test_a_bad_key_beside_good_ones_costs_only_itself() -> None:
    catalogue, problems = CATALOGUE.adjusted({"ruff": {"priority": "high", "requestTimeoutMs": 5}})
    assert len(problems) == 1
    assert (catalogue.entries["ruff"].priority, catalogue.entries["ruff"].request_timeout_ms) == (50, 5)


def test_a_server_of_ones_own_with_a_bad_command_is_left_out_with_one_sentence() -> None:
    catalogue, problems = CATALOGUE.adjusted({"mine": {**MINE, "command": "x"}})
    assert "mine" not in catalogue
    assert len(problems) == 1 and "servers.mine.command must be" in problems[0]


def test_features_are_the_words_of_the_capabilities() -> None:
    assert feature_of("textDocument/hover") == "hover"
    assert feature_of("completionItem/resolve") == "completion"
    assert feature_of("textDocument/formatting") == "formatting"
    assert feature_of("textDocument/publishDiagnostics") == feature_of("textDocument/diagnostic") == "diagnostics"
    assert feature_of("callHierarchy/incomingCalls") == "callHierarchy"
    assert feature_of("textDocument/didOpen") is None and feature_of("vendor/x") is None
    # What is synchronization and no question cannot be switched.
    assert {method for method in PROVIDERS if feature_of(method) not in FEATURES} == {
        "textDocument/willSave",
        "textDocument/willSaveWaitUntil",
    }
    assert not any("Provider" in name or "." in name for name in FEATURES)


def test_an_entry_is_immutable() -> None:
    with pytest.raises(AttributeError):
        CATALOGUE.entries["ruff"].priority = 1  # type: ignore[misc]
    assert isinstance(CATALOGUE, Catalogue) and load_catalogue() is CATALOGUE
