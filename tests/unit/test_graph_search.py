"""Searching and finding symbols by what people type: ranks, filters, dotted names, and texts that mean harm."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ombud.graph.facts import CLASS_KIND, FUNCTION
from ombud.graph.store import Reader
from ombud.graph.store.naming import humps, is_test

from tests.graphstore import Source, Sources, opened, stored, write

SHOP: Sources = {
    "shop/users.py": Source(
        [
            *("class User", "method User.save", "method User.get_name", "def get_user_by_name", "-def _get_user"),
            *("class HttpRequest", "class HTTPServer", "def load", "def straße", "class Größe"),
        ],
        docs={"load": "Reads the customers' baskets from disk.", "User.save": "Write the account to the database."},
    ),
    "shop/models/__init__.py": Source(["class Basket", "method Basket.save", "def user"]),
    "web/api.ts": Source(
        ["def getUserByName", "class HttpResponse", "def get", "def xX", "class HttpRequestUtil"], language="typescript"
    ),
    "tests/test_users.py": Source(["def test_get_user", "def get_user_by_name", "def load"]),
    "main.py": Source(
        ["def main", "def user"],
        [("call", "main", "shop/users.py#User.save", 1), ("call", "main", "shop/models/__init__.py#user", 2)],
    ),
}


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    with closing(stored(tmp_path_factory.mktemp("store"), SHOP)) as made:
        yield made


QUERIES = [
    # A name itself before all others, then by letters, then what begins so.
    ("User", ["shop/users.py#User", "shop/models/__init__.py#user", "main.py#user"]),
    ("user", ["shop/models/__init__.py#user", "main.py#user", "shop/users.py#User"]),
    ("Http", ["shop/users.py#HTTPServer", "shop/users.py#HttpRequest", "web/api.ts#HttpResponse"]),
    # Humps.
    ("gUBN", ["web/api.ts#getUserByName", "shop/users.py#get_user_by_name", "tests/test_users.py#get_user_by_name"]),
    ("gubn", ["web/api.ts#getUserByName", "shop/users.py#get_user_by_name", "tests/test_users.py#get_user_by_name"]),
    ("get_user_by", ["shop/users.py#get_user_by_name", "tests/test_users.py#get_user_by_name"]),
    ("getUserBy", ["web/api.ts#getUserByName", "shop/users.py#get_user_by_name"]),
    ("get user name", []),
    ("get user by", ["web/api.ts#getUserByName", "shop/users.py#get_user_by_name"]),
    ("HttpReq", ["shop/users.py#HttpRequest", "web/api.ts#HttpRequestUtil"]),
    ("HtRe", ["shop/users.py#HttpRequest"]),
    ("HTTPS", ["shop/users.py#HTTPServer"]),
    ("ByN", ["web/api.ts#getUserByName"]),
    # A part.
    ("quest", ["shop/users.py#HttpRequest", "web/api.ts#HttpRequestUtil"]),
    ("er_by_na", ["shop/users.py#get_user_by_name", "tests/test_users.py#get_user_by_name"]),
    ("STRAß", ["shop/users.py#straße"]),
    ("GRÖ", ["shop/users.py#Größe"]),
    ("größe", ["shop/users.py#Größe"]),
    ("rö", ["shop/users.py#Größe"]),
    # Words of docstrings.
    ("baskets from disk", ["shop/users.py#load"]),
    ("where is the thing that reads a basket?", ["shop/users.py#load"]),
    ("write account", ["shop/users.py#User.save"]),
    # What it is defined in.
    ("User.save", ["shop/users.py#User.save"]),
    ("Basket::save", ["shop/models/__init__.py#Basket.save"]),
    ("users.load", ["shop/users.py#load"]),
    ("shop.users.User.sa", ["shop/users.py#User.save"]),
    ("models.user", ["shop/models/__init__.py#user"]),
    ("Nothing.save", []),
    # Used by many before used by none; no tests before tests.
    ("save", ["shop/users.py#User.save", "shop/models/__init__.py#Basket.save"]),
    ("load", ["shop/users.py#load", "tests/test_users.py#load"]),
    ("_get_user", ["shop/users.py#_get_user"]),
    ("", []),
    (".", []),
    ("no such thing", []),
]


@pytest.mark.parametrize(("query", "expected"), QUERIES)
def test_the_best_comes_first(reader: Reader, query: str, expected: list[str]) -> None:
    found = [one.key for one in reader.search(query).symbols]
    assert found[: len(expected)] == expected
    assert expected or not found


def test_filters(reader: Reader) -> None:
    def search(query: str, *args: object) -> list[str]:
        return [one.key for one in reader.search(query, *args).symbols]  # type: ignore[arg-type]

    assert search("user", [CLASS_KIND]) == ["shop/users.py#User"]
    assert search("get", [FUNCTION], ["typescript"]) == ["web/api.ts#get", "web/api.ts#getUserByName"]
    assert search("user", (), (), "shop/models") == ["shop/models/__init__.py#user"]
    assert search("user", (), (), "shop/mod") == []
    assert search("load", (), (), "shop/users.py") == ["shop/users.py#load"]
    assert search("load", (), (), "test_*.py") == ["tests/test_users.py#load"]
    assert search("user", (), (), "shop/*.py")[0] == "shop/users.py#User"
    assert search("user", (), (), "*/*.py")[0] == "shop/users.py#User"
    assert "shop/models/__init__.py#user" not in search("user", (), (), "*/*.py")
    assert "shop/models/__init__.py#user" in search("user", (), (), "shop/**/*.py")
    assert "shop/users.py#User" in search("user", (), (), "shop/**/*.py")
    assert search("user", (), (), "[!m]*.ts") == ["web/api.ts#getUserByName"]
    assert search("user", (), (), "[z-a]*.ts") == []


def test_more_than_is_wanted_is_said(reader: Reader) -> None:
    whole = reader.search("user")
    assert not whole.truncated
    for limit in range(1, len(whole.symbols)):
        some = reader.search("user", limit=limit)
        assert (some.symbols, some.truncated) == (whole.symbols[:limit], True)
    assert not reader.search("user", limit=len(whole.symbols)).truncated


HOSTILE = [
    *('"', "'", '"a" OR "b', "a* NOT b", "NEAR(a b)", "name:x", "^a", "{a b}: c", "(((", "a AND", "--", "/*", "*"),
    *(
        "\0",
        "a\0b",
        "\ud800",
        "a\ud800b",
        "%",
        "_%_",
        "a_",
        "[",
        "[a-",
        "🙂",
        "👩‍👩‍👧",
        "שלום",
        "\u202eevil",
        "\U0010ffff",
        "ﬁ",
    ),
    *("x" * 10_000, '"' * 10_000, "a." * 5_000, "A" * 5_000, "é" * 3_000, "a b " * 3_000, " " * 10_000, "\n\t\r"),
]


@pytest.mark.parametrize("query", HOSTILE)
def test_no_text_is_wrong(reader: Reader, query: str) -> None:
    """Nor does it go through more than a bounded part of the store."""
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    with reader.reading() as connection:
        connection.set_progress_handler(step, 1000)
        try:
            reader.search(query)
            reader.search("user", (), (), query)
            reader.find(query)
            reader.find("user", query)
            reader.file(query.encode("utf-8", "replace").decode())
        finally:
            connection.set_progress_handler(None, 0)
    assert steps < 2000


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(max_size=60))
def test_any_text_will_do(reader: Reader, query: str) -> None:
    reader.search(query)
    reader.find(query)


def test_names_that_are_hard_to_write_are_found(tmp_path: Path) -> None:
    names = ['"', "'quoted'", "a-b", "operator==", "weird%", "x_y", "naïve", "日本語", "ab", "O'Neil?"]
    with closing(stored(tmp_path, {"a.py": Source([f"def {name}" for name in names])})) as reader:
        for name in names:
            assert [one.name for one in reader.search(name).symbols][:1] == [name]
            assert [one.name for one in reader.find(name)] == [name]
        assert [one.name for one in reader.search("本語").symbols] == ["日本語"]
        assert [one.name for one in reader.search("%").symbols] == ["weird%"]


def test_the_parts_of_a_name_have_to_be_in_order(tmp_path: Path) -> None:
    with closing(stored(tmp_path, {"a.py": Source(["def xbcdxabcx", "def xabcdx"])})) as reader:
        assert [one.name for one in reader.search("abcd").symbols] == ["xabcdx"]


def test_a_name_that_is_new_is_searched_at_once(tmp_path: Path) -> None:
    with closing(stored(tmp_path, SHOP)) as reader, closing(opened(tmp_path)) as writer:
        assert reader.search("brandNew").symbols == []
        write(writer, {"new.py": Source(["def brandNewThing"], docs={"brandNewThing": "Sparkles."})}, ["new.py"])
        for query in ("brandNewThing", "bNT", "ewThi", "sparkle"):
            assert [one.name for one in reader.search(query).symbols] == ["brandNewThing"]


FINDS = [
    ("shop/users.py#User.save", None, ["shop/users.py#User.save"]),
    ("shop/users.py#", None, ["shop/users.py#"]),
    ("shop/users.py", None, ["shop/users.py#"]),
    ("User.save", None, ["shop/users.py#User.save"]),
    ("save", None, ["shop/users.py#User.save", "shop/models/__init__.py#Basket.save"]),
    ("save", "shop/models", ["shop/models/__init__.py#Basket.save"]),
    ("user", None, ["shop/models/__init__.py#user", "main.py#user"]),
    ("user", "main.py", ["main.py#user"]),
    ("shop.models.user", None, ["shop/models/__init__.py#user"]),
    ("users.User.save", None, ["shop/users.py#User.save"]),
    ("User::save", None, ["shop/users.py#User.save"]),
    ("load", None, ["shop/users.py#load", "tests/test_users.py#load"]),
    ("USER", None, []),
    ("us", None, []),
    ("ser.save", None, []),
    ("User.load", None, []),
    ("shop/users.py#save", None, []),
    ("nowhere.py#User", None, []),
    ("", None, []),
]


@pytest.mark.parametrize(("name", "path", "expected"), FINDS)
def test_a_name_says_which(reader: Reader, name: str, path: str | None, expected: list[str]) -> None:
    assert [one.key for one in reader.find(name, path)] == expected


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("getUserByName", ["get", "User", "By", "Name"]),
        ("get_user_by_name", ["get", "user", "by", "name"]),
        ("HTTPServer", ["HTTP", "Server"]),
        ("parseURL2Path", ["parse", "URL", "2", "Path"]),
        ("__init__", ["init"]),
        ("MAX_SIZE", ["MAX", "SIZE"]),
        ("größteZahl", ["größte", "Zahl"]),
        ("", []),
    ],
)
def test_the_humps_of_names(name: str, parts: list[str]) -> None:
    assert humps(name) == parts


@pytest.mark.parametrize(
    ("path", "test"),
    [
        *[
            (path, True)
            for path in ("tests/a.py", "a/test_b.py", "b_test.go", "x.test.ts", "y.spec.tsx", "conftest.py")
        ],
        *[(path, True) for path in ("src/FooTest.java", "FooTests.cs", "a_spec.rb", "__tests__/a.js", "tests.py")],
        *[
            (path, False)
            for path in ("a.py", "contest.py", "latest.py", "src/Contest.java", "testament.py", "a/attest.go")
        ],
    ],
)
def test_files_of_tests(path: str, test: bool) -> None:
    assert is_test(path) is test
