"""C6: encodings, byte order marks and line ends survive."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ombud.errors import Refused
from ombud.text.buffer import Buffer, decode, dominant_eol

MARKS = [codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, b""]


@pytest.mark.parametrize(
    ("data", "encoding", "bom", "text", "eol"),
    [
        (b"", "utf-8", b"", "", "\n"),
        (b"a\r\n", "utf-8", b"", "a\r\n", "\r\n"),
        (codecs.BOM_UTF8 + b"a\r\nb\n\r\n", "utf-8", codecs.BOM_UTF8, "a\r\nb\n\r\n", "\r\n"),
        (codecs.BOM_UTF8, "utf-8", codecs.BOM_UTF8, "", "\n"),
        ("\ufeff\ufeffx".encode(), "utf-8", codecs.BOM_UTF8, "\ufeffx", "\n"),
        ("😀é".encode(), "utf-8", b"", "😀é", "\n"),
        (codecs.BOM_UTF16_LE + "😀\r".encode("utf-16-le"), "utf-16-le", codecs.BOM_UTF16_LE, "😀\r", "\r"),
        (codecs.BOM_UTF16_BE + "é\n".encode("utf-16-be"), "utf-16-be", codecs.BOM_UTF16_BE, "é\n", "\n"),
        (codecs.BOM_UTF32_LE + "x😀".encode("utf-32-le"), "utf-32-le", codecs.BOM_UTF32_LE, "x😀", "\n"),
        (codecs.BOM_UTF32_BE + "x".encode("utf-32-be"), "utf-32-be", codecs.BOM_UTF32_BE, "x", "\n"),
        (b"caf\xe9\r\n", "latin-1", b"", "caf\xe9\r\n", "\r\n"),
        (codecs.BOM_UTF8 + b"\xff", "latin-1", codecs.BOM_UTF8, "\xff", "\n"),
    ],
)
def test_C6_what_a_file_is_made_of_is_kept(data: bytes, encoding: str, bom: bytes, text: str, eol: str) -> None:
    buffer = decode(data)
    assert (buffer.encoding, buffer.bom, buffer.text, buffer.eol) == (encoding, bom, text, eol)
    assert buffer.encode(buffer.text) == data


@given(
    st.builds(lambda mark, rest: mark + rest, st.sampled_from(MARKS), st.binary(max_size=40))
    | st.builds(
        lambda mark, text, encoding: mark + text.encode(encoding),
        st.sampled_from(MARKS),
        st.text(max_size=20),
        st.sampled_from(["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]),
    )
)
def test_C6_all_that_is_accepted_comes_back_byte_for_byte(data: bytes) -> None:
    try:
        buffer = decode(data)
    except Refused as refused:
        assert refused.kind == "not_text"
        assert b"\0" in data or data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        return
    assert buffer.encode(buffer.text) == data
    buffer.text.encode()  # no half pairs: the text can go over any wire


@pytest.mark.parametrize(
    "data",
    [
        b"\x7fELF\0\0",
        "no mark".encode("utf-16-le"),
        codecs.BOM_UTF16_LE + b"odd",
        codecs.BOM_UTF16_LE + b"\x3d\xd8",  # half a pair
        codecs.BOM_UTF16_BE + b"\0\0",
        codecs.BOM_UTF32_LE + b"\xff\xff\xff\xff",
        codecs.BOM_UTF8 + b"a\0",
    ],
)
def test_binary_data_is_no_text(data: bytes) -> None:
    with pytest.raises(Refused, match=r"^logo\.png ") as caught:
        decode(data, "logo.png")
    assert caught.value.kind == "not_text"


def test_C6_text_that_the_encoding_cannot_hold_is_refused_with_the_character() -> None:
    buffer = decode(b"caf\xe9\n", "menu.txt")
    assert buffer.encode("th\xe9\n") == b"th\xe9\n"
    with pytest.raises(Refused) as caught:
        buffer.encode("a\nb €\n")
    assert caught.value.kind == "not_text"
    assert caught.value.data == {"character": "U+20AC", "line": 2, "encoding": "latin-1"}
    assert caught.value.message == (
        "'€' (U+20AC) on line 2 cannot be written in latin-1, so menu.txt was not changed: "
        "convert menu.txt to UTF-8 first, or write an escape instead."
    )


@pytest.mark.parametrize("text", ["a\0b", "half \ud83d"])
@pytest.mark.parametrize("data", [b"", b"\xff", codecs.BOM_UTF16_LE])
def test_no_file_is_made_that_could_not_be_read_again(data: bytes, text: str) -> None:
    with pytest.raises(Refused, match="was not changed") as caught:
        decode(data).encode(text)
    assert caught.value.kind == "not_text"


def test_a_file_read_as_latin_1_says_so() -> None:
    assert decode(b"caf\xc3\xa9").note is None
    assert "not valid UTF-8" in str(decode(b"caf\xe9", "a.c").note)


@pytest.mark.parametrize(
    ("text", "eol"),
    [
        ("", "\n"),
        ("a", "\n"),
        ("a\r", "\r"),
        ("\r\n\n", "\n"),
        ("\r\n\r\n\n", "\r\n"),
        ("\r\r\n", "\r\n"),
        ("\r\r\n\r", "\r"),
    ],
)
def test_the_dominant_line_end(text: str, eol: str) -> None:
    assert dominant_eol(text) == eol


def test_buffers_of_the_same_bytes_are_equal_whatever_they_are_called() -> None:
    assert decode(b"a\n", "a.py") == decode(b"a\n", "b.py") == Buffer("a\n")
