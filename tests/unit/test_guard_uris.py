"""``file:`` URIs: what clients and servers write, read the same way."""

from __future__ import annotations

import os
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ombud.errors import UserError
from ombud.guard.fence import Fence
from ombud.guard.sensitive import SensitivePaths
from ombud.guard.uris import path_to_uri, same_uri_key, uri_to_path, uri_to_text


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        (PurePosixPath("/a/b.py"), "file:///a/b.py"),
        (PurePosixPath("/a b/c#d?e%f+g"), "file:///a%20b/c%23d%3Fe%25f%2Bg"),
        (PurePosixPath("/ä/€"), "file:///%C3%A4/%E2%82%AC"),
        (PurePosixPath("/x/[id]/(g)/@v~1"), "file:///x/%5Bid%5D/%28g%29/%40v~1"),
        (PurePosixPath("/"), "file:///"),
        (PureWindowsPath("c:\\x\\a b.py"), "file:///c:/x/a%20b.py"),
        (PureWindowsPath("C:/x"), "file:///C:/x"),
        (PureWindowsPath("\\\\host\\share\\x"), "file://host/share/x"),
    ],
)
def test_path_to_uri(path: PurePath, uri: str) -> None:
    assert path_to_uri(path) == uri
    assert path.as_uri() == uri


def test_path_to_uri_takes_text() -> None:
    assert path_to_uri("/a/b c") == "file:///a/b%20c"


@pytest.mark.parametrize("path", ["a.py", "", "./x", "/a/\ud83d"])
def test_path_to_uri_refuses(path: str) -> None:
    with pytest.raises(UserError):
        path_to_uri(path)


@given(st.binary(max_size=60).filter(lambda raw: b"\0" not in raw))
def test_any_posix_name_goes_round(raw: bytes) -> None:
    path = "/" + os.fsdecode(raw).strip("/")
    uri = path_to_uri(PurePosixPath(path))
    assert uri.isascii()
    assert uri_to_text(uri, windows=False) == str(PurePosixPath(path))


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a/b.py", "/a/b.py"),
        ("file:/a/b.py", "/a/b.py"),
        ("file://localhost/a", "/a"),
        ("FILE:///a", "/a"),
        ("file:///a%20b", "/a b"),
        ("file:///a b", "/a b"),
        ("file:///100%.txt", "/100%.txt"),
        ("file:///a%zz", "/a%zz"),
        ("file:///a%252F", "/a%2F"),
        ("file:///ä", "/ä"),
        ("file:///a%ff", "/a\udcff"),
        ("file:///a#L10", "/a"),
        ("file:///a%23b%3Fc", "/a#b?c"),
        ("file:///c%3A/x", "/c:/x"),
        ("file:///a/../b", "/a/../b"),
    ],
)
def test_uri_to_text_on_posix(uri: str, path: str) -> None:
    assert uri_to_text(uri, windows=False) == path


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///c%3A/x/a.py", "c:\\x\\a.py"),
        ("file:///C:/x/a.py", "c:\\x\\a.py"),
        ("file:///c|/x", "c:\\x"),
        ("file:/c:/x", "c:\\x"),
        ("file:////c:/x", "c:\\x"),
        ("file:///c:", "c:\\"),
        ("file://host/share/a%20b", "\\\\host\\share\\a b"),
        ("file://localhost/c:/x", "c:\\x"),
    ],
)
def test_uri_to_text_on_windows(uri: str, path: str) -> None:
    assert uri_to_text(uri, windows=True) == path


@pytest.mark.parametrize(
    "uri",
    [
        "http://x/y",
        "/a",
        "",
        "untitled:1",
        "file:///a?b",
        "file://host/a",
        "file:a",
        "file:",
        "file:///a%00b",
        "file://",
    ],
)
def test_uri_to_text_refuses(uri: str) -> None:
    with pytest.raises(UserError) as caught:
        uri_to_text(uri, windows=False)
    assert caught.value.kind == "invalid_params"


def test_uri_to_text_refuses_invalid_unicode() -> None:
    with pytest.raises(UserError):
        uri_to_text("file:///a%ff", windows=True)
    with pytest.raises(UserError):
        uri_to_text("file:///\ud83d", windows=True)
    with pytest.raises(UserError):
        uri_to_text("file:///\ud83d", windows=False)


def test_uri_to_path() -> None:
    assert uri_to_path("file:///a/b%20c") == Path("/a/b c")


@pytest.mark.parametrize(
    "spellings",
    [
        [
            "file:///c%3A/x/a.py",
            "file:///C:/x/a.py",
            "file:///c:/X/A.py",
            "file:/c|/x/a.py",
            "file://localhost/c%3a/x/a.py",
        ],
        ["file:///a/b%2Bc.py", "file:///a/b+c.py", "FILE:///a//b+c.py", "file:/a/./b+c.py", "file:///a/x/../b%2bc.py"],
        ["file:///a/%C3%A4", "file:///a/ä", "file:///a/%c3%a4/"],
        ["file://Host/share/x", "file://host/share/x"],
        ["untitled:Untitled-1", "UNTITLED:Untitled-1"],
    ],
)
def test_same_uri_key_joins(spellings: list[str]) -> None:
    assert len({same_uri_key(uri) for uri in spellings}) == 1


def test_same_uri_key_keeps_apart() -> None:
    uris = [
        "file:///a/b",
        "file:///A/b",
        "file:///a%2520",
        "file:///a%20",
        "file://host/a/b",
        "untitled:a",
        "untitled:A",
        "jdt://contents/x%3Dy",
        "jdt://contents/x=y",
        "no scheme",
        "",
    ]
    assert len({same_uri_key(uri) for uri in uris}) == len(uris)


@given(st.text(max_size=40))
def test_same_uri_key_never_fails(text: str) -> None:
    assert same_uri_key(text) == same_uri_key(text)
    key = same_uri_key("file:///" + text)
    assert key.startswith("file://")


def test_same_uri_key_takes_lone_surrogates() -> None:
    assert same_uri_key("file:///\ud83d") != same_uri_key("file:///x")


def test_uris_of_a_linked_folder(tmp_path: Path) -> None:
    """macOS: the editor says /tmp, the real folder is /private/tmp; both URIs are known."""
    real = Path(os.path.realpath(tmp_path)) / "real"
    real.mkdir()
    (real / "a b.py").write_text("")
    link = real.parent / "link"
    link.symlink_to(real)
    fence = Fence([link], SensitivePaths())
    assert fence.folders == (real,)
    for spelling in ("a b.py", str(link / "a b.py"), (link / "a b.py").as_uri(), (real / "a b.py").as_uri()):
        inside = fence.resolve(spelling, intent="read")
        assert inside.path == real / "a b.py"
        assert inside.uri == (real / "a b.py").as_uri()
        assert inside.spelled_uri == (link / "a b.py").as_uri()
