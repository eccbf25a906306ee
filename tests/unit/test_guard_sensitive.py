"""The protected names of the wire contract, and the user's additions and exceptions."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ombud.errors import UserError
from ombud.guard.names import folded, windows_trouble
from ombud.guard.sensitive import SensitivePaths

PROTECTED = [
    ".env",
    ".env.local",
    ".env.production",
    ".env.example.local",
    "id_rsa",
    "id_ed25519",
    "id_rsa.old",
    "server.pem",
    "tls.key",
    ".key",
    "store.p12",
    ".ssh/config",
    ".ssh",
    ".aws/credentials",
    ".gnupg/x",
    ".npmrc",
    ".netrc",
    ".pypirc",
    "credentials.json",
    "kubeconfig",
    ".kube/config",
    ".git/config",
    ".git/hooks/pre-commit",
    ".git",
]
FREE = [
    ".env.example",
    ".env.sample",
    ".env.template",
    ".envrc",
    "env",
    ".environment",
    ".env/lib/python/x.py",
    "id_rsa.pub",
    "identity.py",
    "my_id_rsa",
    "a.pem.txt",
    "key",
    "keys.py",
    "a.keys",
    ".gitignore",
    ".gitattributes",
    ".github/workflows/ci.yml",
    ".sshd/x",
    "ssh/config",
    "credentials.py",
    "kubeconfig.md",
    "npmrc",
    "certs.pem/readme",
    "id_map/x.py",
    "git/x",
    "a.git/config",
]


@pytest.mark.parametrize("prefix", ["", "a/", "/ws/deep/er/"])
@pytest.mark.parametrize("name", PROTECTED)
def test_protected(prefix: str, name: str) -> None:
    for spelled in (name, name.upper(), name.title()):
        assert SensitivePaths().reason(PurePosixPath(prefix + spelled)), spelled


@pytest.mark.parametrize("prefix", ["", "a/", "/ws/deep/er/"])
@pytest.mark.parametrize("name", FREE)
def test_free(prefix: str, name: str) -> None:
    assert SensitivePaths().reason(PurePosixPath(prefix + name)) is None


def test_root_and_empty_are_free() -> None:
    assert SensitivePaths().reason(PurePosixPath("/")) is None
    assert SensitivePaths().reason(PurePosixPath()) is None


@pytest.mark.parametrize(
    "name",
    [
        ".git\u200c/config",  # HFS+ skips the zero-width non-joiner
        ".g\u200dit/config",
        "\ufeff.git/config",
        ".gi\u202et/config",
        ".git./config",
        ".git /config",
        ".git . ./config",
        ".git::$INDEX_ALLOCATION/config",
        ".git:x/config",
        "git~1/config",
        "GIT~1/config",
        "sub\\.git\\config",
        ".git\\config",
        "．ｇｉｔ/config",  # full width
        ".ＧＩＴ/config",
        ".env.",
        ".env ",
        ".env::$DATA",
        "a\\.env",
        "id_rsa.",
        ".ſsh/x",  # long s folds to s
        ".\u212aube/config",  # the Kelvin sign folds to k
        "server.ＰＥＭ",
    ],
)
def test_F7_names_that_some_disk_takes_for_protected_ones(name: str) -> None:
    assert SensitivePaths().reason(PurePosixPath(name))


@given(st.sampled_from(PROTECTED), st.data())
def test_F7_any_fold_of_a_protected_name_is_protected(name: str, data: st.DataObject) -> None:
    ignored = data.draw(st.lists(st.sampled_from("\u200b\u200c\u200d\u2060\ufeff\u00ad"), max_size=4))
    spelled = "".join(data.draw(st.sampled_from((char, char.upper()))) for char in name)
    for char in ignored:
        at = data.draw(st.integers(0, len(spelled)))
        spelled = spelled[:at] + char + spelled[at:]
    assert SensitivePaths().reason(PurePosixPath(spelled + data.draw(st.sampled_from(["", ".", " ", ".. "]))))


@given(st.text(max_size=30))
def test_fold_is_stable(name: str) -> None:
    assert folded(folded(name)) == folded(name)


# --- the user's patterns ----------------------------------------------------------------------------------------------

ROOT = PurePosixPath("/ws")


def protects(patterns: list[str], path: str) -> bool:
    return SensitivePaths(add=patterns).reason(ROOT / path, ROOT) is not None


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.secret", ["a.secret", "d/a.secret", "d.secret/x", "A.SECRET"], ["secret", "a.secrets"]),
        ("secrets/", ["secrets/a", "d/secrets/a/b", "secrets"], ["secrets.py", "my-secrets/a"]),
        ("/top.txt", ["top.txt"], ["d/top.txt"]),
        ("config/prod.*", ["config/prod.yml", "config/prod.d/x"], ["d/config/prod.yml", "config/x/prod.yml"]),
        ("**/keys/*.txt", ["keys/a.txt", "d/e/keys/a.txt"], ["keys/a/b", "keys.txt"]),
        ("a/**/z", ["a/z", "a/b/z", "a/b/c/z", "a/z/y"], ["z", "b/z", "a/y"]),
        ("vault/**", ["vault/a", "vault/a/b"], ["vault", "d/vault/a"]),
        ("?.dat", ["a.dat"], ["ab.dat"]),
        ("[ab].dat", ["a.dat", "B.dat"], ["c.dat"]),
    ],
)
def test_added_patterns(pattern: str, yes: list[str], no: list[str]) -> None:
    for path in yes:
        assert protects([pattern], path), path
    for path in no:
        assert not protects([pattern], path), path


def test_added_patterns_begin_at_the_folder() -> None:
    """A workspace below a folder of that name is not protected as a whole; the contract's own folders are."""
    paths = SensitivePaths(add=["secrets"])
    assert paths.reason(PurePosixPath("/srv/secrets/ws/a.py"), PurePosixPath("/srv/secrets/ws")) is None
    assert paths.reason(PurePosixPath("/srv/.ssh/ws/a.py"), PurePosixPath("/srv/.ssh/ws"))
    assert "secrets" in str(paths.reason(PurePosixPath("/srv/ws/secrets/a"), PurePosixPath("/srv/ws")))


def allowed(patterns: list[str], path: str, add: list[str] | None = None) -> bool:
    return SensitivePaths(add=add or [], allow=patterns).reason(ROOT / path, ROOT) is None


def test_exceptions() -> None:
    assert allowed([".env.test"], ".env.test")
    assert allowed([".ENV.TEST"], "d/.env.test")
    assert not allowed([".env.test"], ".env.prod")
    assert allowed(["tests/certs/*.pem"], "tests/certs/a.pem")
    assert not allowed(["tests/certs/*.pem"], "certs/a.pem")
    assert allowed(["fixtures/"], "fixtures/deep/id_rsa")
    assert allowed(["id_*.py"], "src/id_map.py")
    assert not allowed(["id_*.py"], "src/id_map")


def test_exception_for_a_name_does_not_open_a_protected_folder() -> None:
    assert not allowed(["*.pem", "config"], ".ssh/a.pem")
    assert not allowed(["config"], ".git/config")
    assert allowed([".ssh/"], ".ssh/a")
    assert allowed([".ssh/"], ".ssh/a.pem")
    assert allowed([".git/info/exclude"], ".git/info/exclude")
    assert not allowed([".git/info/exclude"], ".git/config")


def test_exception_from_an_addition() -> None:
    assert allowed(["private/readme.md"], "private/readme.md", add=["private"])
    assert not allowed(["private/readme.md"], "private/x", add=["private"])
    assert not allowed(["readme.md"], "private/readme.md", add=["private"])


@pytest.mark.parametrize("pattern", ["", "/", "  ", "!x", "a\0b", "//"])
def test_patterns_that_mean_nothing(pattern: str) -> None:
    with pytest.raises(UserError):
        SensitivePaths(add=[pattern])
    with pytest.raises(UserError):
        SensitivePaths(allow=[pattern])


@given(st.text(alphabet="ab*?[]/.!-", max_size=12), st.text(alphabet="ab/.", max_size=20))
def test_any_pattern_is_refused_or_answers(pattern: str, path: str) -> None:
    try:
        paths = SensitivePaths(add=[pattern])
    except UserError:
        return
    reason = paths.reason(ROOT / path.strip("/"), ROOT)
    assert reason is None or pattern in reason


def test_hostile_pattern_takes_no_time() -> None:
    paths = SensitivePaths(add=["*a" * 60 + "b", "/".join(["**", "*a*"] * 30) + "/b"])
    assert paths.reason(ROOT / "/".join(["a" * 250] * 12), ROOT) is None


# --- names on Windows -------------------------------------------------------------------------------------------------

MEANINGFUL = "NUL|nul.txt|CON|aux.c|COM1|lpt9.x.y|com¹|CONIN$|a:b|a.|a |a?|a*|a\nb|prn ."
PLAIN = "a.py|.env|console|com|com10|lpt|nullable.ts|.|..|auxiliary.c|a b"


@pytest.mark.parametrize("name", [*MEANINGFUL.split("|"), "a|b"])
def test_names_with_another_meaning_on_windows(name: str) -> None:
    assert windows_trouble(name)


@pytest.mark.parametrize("name", PLAIN.split("|"))
def test_plain_names_on_windows(name: str) -> None:
    assert windows_trouble(name) is None
