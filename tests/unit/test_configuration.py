"""Configuration: three sources, who may say what, and problems instead of exceptions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ombud.downstream.catalogue import load_catalogue
from ombud.guard.tiers import ALL
from ombud.workspace.configuration import (
    FREE_SERVER_KEYS,
    HELD_SERVER_KEYS,
    Configuration,
    deep_merge,
    load_configuration,
    settled,
)
from ombud.workspace.keys import KEYS
from ombud.workspace.sources import MOST_PROBLEMS


class Sources:
    """A workspace and a user's config folder, both empty at first."""

    def __init__(self, base: Path) -> None:
        self.root = base / "ws"
        self.root.mkdir()
        self.user = base / "config"
        self.user.mkdir()

    def load(self, workspace: str = "", user: str = "", client: object = None) -> Configuration:
        (self.root / ".ombud.toml").write_text(workspace)
        (self.user / "ombud.toml").write_text(user)
        return load_configuration(self.root, client, user_folder=self.user)


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    return Sources(tmp_path.resolve())


def test_nothing_said_is_the_contracts_defaults(tmp_path: Path) -> None:
    found = load_configuration(None, None, user_folder=tmp_path)
    assert found == Configuration()
    assert found.trusted is None and found.tiers.granted == ALL
    assert (found.idle_minutes, found.max_servers, found.max_server_rss_mb) == (10, 8, 4096)
    assert (found.diagnostics.wait_ms, found.diagnostics.notify, found.diagnostics.dependents) == (5000, True, 20)
    assert (found.index.enabled, found.index.store) == (True, None)
    assert (found.debug.ttl_minutes, found.debug.idle_minutes) == (30, 10)
    assert found.problems == ()


def test_every_key_of_the_contract_from_the_client(sources: Sources) -> None:
    found = sources.load(
        client={
            "trusted": True,
            "tiers": ["read", "write"],
            "servers": {"ruff": {"disabled": True, "command": ["/opt/ruff", "server"]}},
            "idleMinutes": 0.05,
            "maxServers": 20,
            "maxServerRssMb": 9000,
            "diagnostics": {"waitMs": 1, "notify": False, "dependents": 0},
            "index": {"enabled": False, "store": "/srv/index"},
            "search": {"cacheMb": 1024},
            "debug": {"ttlMinutes": 60, "idleMinutes": 1.5},
            "token": "secret",
            "statusNotifications": True,
        }
    )
    assert found.problems == ()
    assert found.trusted is True and found.tiers.granted == {"read", "write"}
    assert (found.idle_minutes, found.max_servers, found.max_server_rss_mb) == (0.05, 20, 9000)
    assert (found.diagnostics.wait_ms, found.diagnostics.notify, found.diagnostics.dependents) == (1, False, 0)
    assert (found.index.enabled, found.index.store) == (False, "/srv/index")
    assert found.search.cache_mb == 1024
    assert (found.debug.ttl_minutes, found.debug.idle_minutes) == (60, 1.5)
    assert (found.token, found.status_notifications) == ("secret", True)
    assert found.rows == {"ruff": {"disabled": True, "command": ["/opt/ruff", "server"]}}


def test_workspace_is_weaker_than_user_and_user_than_client(sources: Sources) -> None:
    workspace = "idleMinutes = 1\nmaxServers = 1\n[diagnostics]\nwaitMs = 1\nnotify = false\n"
    user = "maxServers = 2\n[diagnostics]\nwaitMs = 2\n"
    found = sources.load(workspace, user, {"diagnostics": {"waitMs": 3}})
    assert (found.idle_minutes, found.max_servers) == (1, 2)
    assert (found.diagnostics.wait_ms, found.diagnostics.notify) == (3, False)
    assert found.problems == ()


def test_server_rows_are_merged_by_server_and_key(sources: Sources) -> None:
    workspace = (
        "[servers.ruff]\npriority = 1\ndisabled = true\n[servers.gopls.diagnostics]\nsettleMs = 1\nonSave = true\n"
    )
    user = '[servers.ruff]\ndisabled = false\ncommand = ["/opt/ruff"]\n[servers.ruff.settings.a]\nx = 1\ny = [1]\n'
    client = {
        "servers": {"ruff": {"settings": {"a": {"y": [2]}}, "command": None}, "gopls": {"diagnostics": {"settleMs": 2}}}
    }
    rows = sources.load(workspace, user, client).server_rows(trusted=False)
    assert rows["ruff"] == {
        "priority": 1,
        "disabled": False,
        "command": ["/opt/ruff"],
        "settings": {"a": {"x": 1, "y": [2]}},
    }
    assert rows["gopls"] == {"diagnostics": {"settleMs": 2, "onSave": True}}


# ---- what a repository cannot say ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("trusted = true", "trusted"),
        ("trusted = false", "trusted"),
        ('token = "x"', "token"),
        ("statusNotifications = true", "statusNotifications"),
        ('[index]\nstore = "/tmp/elsewhere"', "index.store"),
        ('[sensitivePaths]\nallow = [".env"]', "sensitivePaths.allow"),
        ('[sensitivePaths]\nadd = ["x"]', "sensitivePaths.add"),
        ('[servers.ruff]\ncommand = ["./evil"]', "servers.ruff.command"),
        ('[servers.ruff.env]\nLD_PRELOAD = "./evil.so"', "servers.ruff.env"),
        ("[servers.rust-analyzer]\nrunsWorkspaceCode = false", "servers.rust-analyzer.runsWorkspaceCode"),
        ("[servers.ruff]\nwhatever = 1", "servers.ruff.whatever"),
        ("idleMinutes = 10000", "idleMinutes"),
        ("maxServers = 900", "maxServers"),
        ("maxServerRssMb = 1000000", "maxServerRssMb"),
        ("[debug]\nttlMinutes = 10000", "debug.ttlMinutes"),
        ("[search]\ncacheMb = 4096", "search.cacheMb"),
    ],
)
def test_T2_a_workspace_cannot_say(sources: Sources, text: str, key: str) -> None:
    found = sources.load(text)
    assert len(found.problems) == 1
    assert found.problems[0].startswith(".ombud.toml: ") and key in found.problems[0]
    rest: dict[str, dict[str, Any]] = {"ruff": {}, "rust-analyzer": {}}
    assert found.server_rows(trusted=True) == {name: rest[name] for name in found.rows}
    assert found == Configuration(problems=found.problems, rows=found.rows)


def test_T2_no_command_of_a_workspace_reaches_the_catalogue(sources: Sources) -> None:
    text = (
        '[servers.ruff]\ncommand = ["./evil"]\n'
        '[servers.evil]\ncommand = ["./evil"]\nextensions = [".py"]\nrootMarkers = []\n'
    )
    found = sources.load(text)
    for trusted in (True, False):
        catalogue, problems = load_catalogue().adjusted(found.server_rows(trusted))
        assert catalogue.entries["ruff"] == load_catalogue().entries["ruff"]
        assert "evil" not in catalogue and any("servers.evil" in problem for problem in problems)


def test_T2_settings_of_a_workspace_count_only_when_it_is_trusted(sources: Sources) -> None:
    workspace = '[servers.bash-language-server.settings.bashIde]\nshellcheckPath = "./evil"\nglobPattern = "*.sh"\n'
    user = '[servers.bash-language-server.settings.bashIde]\nglobPattern = "**/*.sh"\n'
    found = sources.load(workspace, user)
    assert found.problems == ()
    settings = found.server_rows(trusted=False)["bash-language-server"]["settings"]
    assert settings == {"bashIde": {"globPattern": "**/*.sh"}}
    settings = found.server_rows(trusted=True)["bash-language-server"]["settings"]
    assert settings == {"bashIde": {"globPattern": "**/*.sh", "shellcheckPath": "./evil"}}, "the user's word still wins"


def test_what_a_workspace_may_say(sources: Sources) -> None:
    found = sources.load(
        'tiers = ["read"]\nidleMinutes = 2\nmaxServers = 3\nmaxServerRssMb = 512\n[diagnostics]\nwaitMs = 20000\n'
        "[index]\nenabled = false\n[debug]\nttlMinutes = 5\n"
        "[servers.ty]\ndisabled = false\n"
        '[servers.gopls]\nrootMarkers = ["x"]\nextensions = [".gox"]\nexceptFeatures = ["hover"]\n'
    )
    assert found.problems == ()
    assert (found.idle_minutes, found.max_servers, found.max_server_rss_mb) == (2, 3, 512)
    assert found.diagnostics.wait_ms == 20000 and not found.index.enabled and found.debug.ttl_minutes == 5
    catalogue, problems = load_catalogue().adjusted(found.server_rows(trusted=False))
    assert problems == ()
    assert catalogue.entries["ty"].disabled is False and catalogue.entries["gopls"].markers == ("x",)


def test_keys_of_a_workspace_are_keys_of_the_catalogue() -> None:
    from ombud.downstream.overrides import _CHECKS

    assert set(_CHECKS) >= FREE_SERVER_KEYS | HELD_SERVER_KEYS
    assert set(_CHECKS) - FREE_SERVER_KEYS - HELD_SERVER_KEYS == {"command", "env", "runsWorkspaceCode"}


@pytest.mark.parametrize(
    ("workspace", "user", "client", "granted"),
    [
        ("", "", None, ALL),
        ('tiers = ["read"]', "", {"tiers": ["read", "write", "exec"]}, {"read"}),
        ("", 'tiers = ["read", "write"]', {"tiers": ["write", "exec"]}, {"write"}),
        ('tiers = ["read", "write", "exec"]', 'tiers = ["read"]', None, {"read"}),
        ("", "", {"tiers": []}, set()),
    ],
)
def test_tiers_only_ever_narrow(sources: Sources, workspace: str, user: str, client: object, granted: set[str]) -> None:
    found = sources.load(workspace, user, client)
    assert found.tiers.granted == granted and found.problems == ()


@pytest.mark.parametrize(
    ("said", "granted"), [(["reed"], set()), (["read", "wrote"], {"read"}), ("write", {"read"}), (7, {"read"})]
)
def test_misspelt_tiers_grant_nothing_in_their_place(sources: Sources, said: object, granted: set[str]) -> None:
    found = sources.load(client={"tiers": said})
    assert found.tiers.granted == granted
    assert len(found.problems) == 1 and "tiers must be" in found.problems[0]


def test_good_patterns_protect_beside_a_bad_one(sources: Sources) -> None:
    found = sources.load(user='[sensitivePaths]\nadd = ["*.secret", "", "!x"]\nallow = [".env.test"]\n')
    assert found.sensitive_add == ("*.secret",) and found.sensitive_allow == (".env.test",)
    assert len(found.problems) == 1 and "sensitivePaths.add" in found.problems[0]


@pytest.mark.parametrize("source", ["client", "workspace"])
def test_sensitive_paths_are_the_users_own(sources: Sources, source: str) -> None:
    text = '[sensitivePaths]\nallow = [".env"]'
    found = (
        sources.load(text) if source == "workspace" else sources.load(client={"sensitivePaths": {"allow": [".env"]}})
    )
    assert found.sensitive_allow == () and "user's own ombud.toml" in found.problems[0]


# ---- wrong values, unreadable files -------------------------------------------------------------------------------

WRONG: list[tuple[str, Any]] = [
    ("trusted", "yes"),
    ("trusted", 1),
    ("idleMinutes", 0),
    ("idleMinutes", -1),
    ("idleMinutes", float("inf")),
    ("idleMinutes", float("nan")),
    ("idleMinutes", True),
    ("idleMinutes", "10"),
    ("maxServers", 0),
    ("maxServers", 2.5),
    ("maxServers", True),
    ("maxServerRssMb", -5),
    ("diagnostics", 5),
    ("diagnostics.waitMs", -1),
    ("diagnostics.waitMs", "1s"),
    ("diagnostics.notify", 0),
    ("diagnostics.dependents", []),
    ("index.enabled", None.__class__),
    ("index.store", 1),
    ("index.store", ""),
    ("debug.ttlMinutes", {}),
    ("search.cacheMb", 8),
    ("token", 5),
    ("statusNotifications", "no"),
    ("servers", []),
    ("servers", {"ruff": 5}),
]


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_wrong_value_is_a_problem_that_names_source_and_key(sources: Sources, key: str, value: Any) -> None:
    outer, _, inner = key.partition(".")
    found = sources.load(
        client={outer: {inner: value} if inner else value, "maxServers" if outer != "maxServers" else "x": 3}
    )
    assert found.problems[0].startswith("initializationOptions.ombud: ")
    assert key in found.problems[0]
    if outer != "maxServers":
        assert len(found.problems) == 1
        assert found == Configuration(max_servers=3, problems=found.problems), "the rest still counts"


def test_values_of_problems_are_not_repeated(sources: Sources) -> None:
    found = sources.load(client={"token": ["hunter2"], "idleMinutes": "hunter2"})
    assert len(found.problems) == 2 and "hunter2" not in str(found.problems)


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("idelMinutes", "Did you mean idleMinutes?"),
        ("diagnostics.wait", ""),
        ("diagnostics.waitMS", "diagnostics.waitMs"),
    ],
)
def test_unknown_keys_are_named(sources: Sources, key: str, hint: str) -> None:
    outer, _, inner = key.partition(".")
    found = sources.load(client={outer: {inner: 1} if inner else 1})
    assert len(found.problems) == 1 and key in found.problems[0] and hint in found.problems[0]


@pytest.mark.parametrize("client", [[], "x", 5, True])
def test_client_options_that_are_no_object(sources: Sources, client: object) -> None:
    found = sources.load(client=client)
    assert found == Configuration(problems=found.problems) and len(found.problems) == 1


def test_null_is_not_said(sources: Sources) -> None:
    assert sources.load(client=dict.fromkeys(["trusted", "tiers", "servers", "diagnostics", "x"])) == Configuration()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"a = [", "not valid TOML"),
        (b"\xff\xfe", "not UTF-8"),
        (b"a = " + b"[" * 20_000, "nested too deeply"),
        (b"servers.ruff.settings." + b"a." * 5_000 + b"a = 1", "nested too deeply"),
        (b"#" * 300_000, "larger than 262,144 bytes"),
    ],
)
@pytest.mark.parametrize("who", ["workspace", "user"])
def test_files_that_cannot_be_read_cost_only_themselves(sources: Sources, data: bytes, words: str, who: str) -> None:
    sources.load(workspace="maxServers = 3", user="idleMinutes = 3")
    path = sources.root / ".ombud.toml" if who == "workspace" else sources.user / "ombud.toml"
    path.write_bytes(data)
    found = load_configuration(sources.root, {"diagnostics": {"waitMs": 1}}, user_folder=sources.user)
    assert len(found.problems) == 1 and words in found.problems[0] and path.name in found.problems[0]
    assert found.diagnostics.wait_ms == 1
    assert (found.max_servers, found.idle_minutes) == ((8, 3) if who == "workspace" else (3, 10))


def test_byte_order_mark_is_no_error(sources: Sources) -> None:
    sources.load()
    (sources.user / "ombud.toml").write_bytes(b"\xef\xbb\xbfmaxServers = 3\n")
    found = load_configuration(sources.root, None, user_folder=sources.user)
    assert found.max_servers == 3 and found.problems == ()


@pytest.mark.parametrize("who", ["workspace", "user"])
def test_pipes_and_folders_are_no_configuration(sources: Sources, who: str) -> None:
    path = sources.root / ".ombud.toml" if who == "workspace" else sources.user / "ombud.toml"
    os.mkfifo(path)
    found = load_configuration(sources.root, None, user_folder=sources.user)
    assert len(found.problems) == 1
    path.unlink()
    path.mkdir()
    found = load_configuration(sources.root, None, user_folder=sources.user)
    assert len(found.problems) == 1


def test_F2_a_link_out_of_the_workspace_is_not_followed(sources: Sources, tmp_path: Path) -> None:
    outside = tmp_path / "outside.toml"
    outside.write_text("maxServers = 3\n")
    (sources.root / ".ombud.toml").symlink_to(outside)
    found = load_configuration(sources.root, None, user_folder=sources.user)
    assert found.max_servers == 8 and len(found.problems) == 1


def test_T3_a_users_file_that_lies_in_the_workspace_counts_as_the_workspaces(sources: Sources) -> None:
    inside = sources.root / "config"
    inside.mkdir()
    (inside / "ombud.toml").write_text('trusted = true\nmaxServers = 3\n[servers.ruff]\ncommand = ["./evil"]\n')
    found = load_configuration(sources.root, None, user_folder=inside)
    assert found.trusted is None and found.max_servers == 3 and found.rows == {"ruff": {}}
    assert any("lies in the workspace" in problem for problem in found.problems)
    (sources.user / "ombud.toml").symlink_to(inside / "ombud.toml")
    assert load_configuration(sources.root, None, user_folder=sources.user).trusted is None


def test_T3_a_relative_config_folder_is_not_looked_up_in_the_workspace(
    sources: Sources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (sources.root / "here/ombud").mkdir(parents=True)
    (sources.root / "here/ombud/ombud.toml").write_text("maxServers = 3\n")
    monkeypatch.chdir(sources.root)
    monkeypatch.setenv("XDG_CONFIG_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    assert load_configuration(sources.root).max_servers == 8


def test_users_own_folder_is_the_platforms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import platformdirs

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = Path(platformdirs.user_config_dir("ombud", appauthor=False))
    assert folder.is_relative_to(tmp_path)
    folder.mkdir(parents=True)
    (folder / "ombud.toml").write_text("maxServers = 3\ntrusted = false\n")
    found = load_configuration(None)
    assert (found.max_servers, found.trusted, found.problems) == (3, False, ())


def test_a_workspace_that_is_gone_has_no_configuration(tmp_path: Path) -> None:
    assert load_configuration(tmp_path / "gone", {"maxServers": 2}, user_folder=tmp_path).max_servers == 2


def test_problems_are_bounded_and_clean(sources: Sources) -> None:
    keys = "".join(f"k{number} = 1\n" for number in range(500))
    found = sources.load(keys + '"\\u001b[31m\\u202eevil' + "x" * 3000 + '" = 1\n')
    assert len(found.problems) == MOST_PROBLEMS + 1 and "more problems" in found.problems[-1]
    found = sources.load('"\\u001b[31m\\u202eevil' + "x" * 3000 + '" = 1\n')
    assert len(found.problems[0]) < 200 and found.problems[0].isprintable()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEY = st.sampled_from([*{name.partition(".")[0] for name in KEYS}, "servers", "x"])


@given(st.dictionaries(KEY, JSON, max_size=5))
def test_anything_from_a_client_is_survived(options: dict[str, Any]) -> None:
    found = load_configuration(None, options, user_folder=Path("/nowhere/at/all"))
    assert found.tiers.granted <= ALL and 0 < found.idle_minutes <= 10080
    assert all(isinstance(problem, str) and len(problem) < 400 for problem in found.problems)
    load_catalogue().adjusted(found.server_rows(trusted=True))


TREE = st.recursive(
    st.integers(), lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=6
)
TREES = st.dictionaries(st.sampled_from("abc"), TREE, max_size=3)


@given(TREES, TREES, TREES)
def test_merging_is_associative_and_changes_neither_side(
    a: dict[str, Any], b: dict[str, Any], c: dict[str, Any]
) -> None:
    before = repr((a, b, c))
    assert deep_merge(a, {}) == a == deep_merge({}, a) == deep_merge(a, a)
    merged = deep_merge(a, b)
    assert set(merged) == set(a) | set(b)
    assert all(merged[key] == value for key, value in b.items() if not isinstance(value, dict))
    if all(isinstance(x, dict) == isinstance(y, dict) for x, y in _pairs(a, b) + _pairs(b, c) + _pairs(a, c)):
        assert deep_merge(deep_merge(a, b), c) == deep_merge(a, deep_merge(b, c))
    assert repr((a, b, c)) == before


def _pairs(a: dict[str, Any], b: dict[str, Any]) -> list[tuple[Any, Any]]:
    """The values of the keys that both trees have, at every depth."""
    out = []
    for key in set(a) & set(b):
        out.append((a[key], b[key]))
        if isinstance(a[key], dict) and isinstance(b[key], dict):
            out += _pairs(a[key], b[key])
    return out


def test_importing_loads_nothing_heavy() -> None:
    code = "import sys, ombud.workspace.configuration; print({'tomllib', 'platformdirs', 'psutil'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert out.stdout.strip() == "set()"


# ---- several folders, and changes while it works ---------------------------------------------------------------------


def test_each_folders_file_counts_for_its_own_servers(sources: Sources, tmp_path: Path) -> None:
    second, third = tmp_path / "second", tmp_path / "third"
    for folder in (second, third):
        folder.mkdir()
    (second / ".ombud.toml").write_text(
        'maxServers = 2\ntiers = ["read", "write"]\n[diagnostics]\nwaitMs = 7\n'
        "[servers.ruff]\ndisabled = true\nsettings = {lint = 1}\n[servers.gopls]\npriority = 3\n"
        'command = ["./evil"]\n'
    )
    (sources.root / ".ombud.toml").write_text(
        "maxServers = 3\nidleMinutes = 4\n[diagnostics]\nwaitMs = 8\n[servers.ruff]\npriority = 1\n"
    )
    client = {"servers": {"ruff": {"priority": 2}}}
    found = load_configuration(sources.root, client, user_folder=sources.user, more=[second, third])
    assert found.server_rows(True) == {"ruff": {"priority": 2}}
    assert found.server_rows(True, third) == {"ruff": {"priority": 2}}
    assert found.server_rows(False, second) == {"ruff": {"priority": 2, "disabled": True}, "gopls": {"priority": 3}}
    assert found.server_rows(True, second)["ruff"] == {"priority": 2, "disabled": True, "settings": {"lint": 1}}
    # Of the rest the lowest limit, the narrowest tiers, and else the first folder's word.
    assert (found.max_servers, found.idle_minutes, found.diagnostics.wait_ms) == (2, 4, 8)
    assert sorted(found.tiers.granted) == ["read", "write"]
    (problem,) = found.problems
    assert problem.startswith(f"{second / '.ombud.toml'}: A workspace cannot set servers.gopls.command")


def test_a_users_file_in_any_folder_of_the_workspace_is_the_workspaces(sources: Sources, tmp_path: Path) -> None:
    config = tmp_path / "second" / "config"
    config.mkdir(parents=True)
    (config / "ombud.toml").write_text("trusted = true\n")
    found = load_configuration(sources.root, user_folder=config, more=[tmp_path / "second"])
    assert found.trusted is None and any("lies in the workspace" in problem for problem in found.problems)


def test_the_clients_settings_lie_over_its_options_and_cannot_widen_its_tiers(sources: Sources) -> None:
    options = {"idleMinutes": 5, "maxServers": 4, "tiers": ["read"], "servers": {"a": {"settings": {"x": 1, "y": 1}}}}
    settings = {"idleMinutes": 6, "tiers": ["read", "write"], "servers": {"a": {"settings": {"x": 2}}}, "trusted": True}
    found = load_configuration(sources.root, options, user_folder=sources.user, settings=settings)
    assert (found.idle_minutes, found.max_servers, found.trusted, found.problems) == (6, 4, True, ())
    assert sorted(found.tiers.granted) == ["read"]
    assert found.people == found.rows == {"a": {"settings": {"x": 2, "y": 1}}}


def test_of_new_settings_each_wrong_key_keeps_its_former_value() -> None:
    first, problems = settled({"idleMinutes": 5, "diagnostics": {"waitMs": 9, "notify": None}}, {})
    assert (first, problems) == ({"idleMinutes": 5, "diagnostics.waitMs": 9}, ())
    said = {"idleMinutes": "soon", "diagnostics": {"waitMs": -1, "dependents": 3}, "maxServers": "x", "servers": 5}
    second, problems = settled(said, first)
    assert second == {"idleMinutes": 5, "diagnostics.waitMs": 9, "diagnostics.dependents": 3}
    assert [problem.partition(" must be")[0] for problem in problems] == [
        f"settings.ombud: {name}" for name in ("idleMinutes", "diagnostics.waitMs", "maxServers", "servers")
    ]
    third, problems = settled({"maxServers": 2}, second)
    assert (third, problems) == ({"maxServers": 2}, ())
    for odd in (5, "x", [1]):
        assert settled(odd, third)[0] == third and settled(odd, third)[1]


def test_a_file_that_cannot_be_read_for_a_moment_says_what_it_said_before(sources: Sources) -> None:
    memory: dict[Path, Any] = {}

    def load(workspace: str, user: str) -> Configuration:
        (sources.root / ".ombud.toml").write_text(workspace)
        (sources.user / "ombud.toml").write_text(user)
        return load_configuration(sources.root, user_folder=sources.user, memory=memory)

    good = load("idleMinutes = 3\n", "maxServers = 2\n[servers.a]\ncommand = ['x']\n")
    broken = load("idleMinutes = ", "maxServers = [")
    assert (broken.idle_minutes, broken.max_servers, broken.rows) == (3, 2, good.rows)
    assert len(broken.problems) == 2 and all("what it said before still counts" in one for one in broken.problems)
    mended = load("idleMinutes = 4\n", "")
    assert (mended.idle_minutes, mended.max_servers, mended.rows, mended.problems) == (4, 8, {}, ())
    (sources.root / ".ombud.toml").unlink()
    (sources.user / "ombud.toml").unlink()
    assert load_configuration(sources.root, user_folder=sources.user, memory=memory) == Configuration()
    assert load("idleMinutes = ", "").idle_minutes == 10
