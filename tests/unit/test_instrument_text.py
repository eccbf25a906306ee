"""The text arithmetic of the instruments: positions, changes, edits, markers, framing. Everything else rests on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.answering import Progress, response_fault, settings_of, undeclared
from tests.edits import NotApplicable, apply_operation, operations, uri_to_path
from tests.framing import Frames, frame, frame_body
from tests.markers import Position, parse
from tests.positions import Lines, apply_changes, apply_edits, index_in_line, utf16_length
from tests.profiles import AGENT, NEOVIM, VSCODE

TEXTS = st.text(alphabet=st.sampled_from("ab\r\n\u2028é𝒳\ud83d"), max_size=40)


def span(start: tuple[int, int], end: tuple[int, int]) -> dict[str, Any]:
    return {
        "start": {"line": start[0], "character": start[1]},
        "end": {"line": end[0], "character": end[1]},
    }


def edit(start: tuple[int, int], end: tuple[int, int], text: str) -> dict[str, Any]:
    return {"range": span(start, end), "newText": text}


def test_lines_end_at_the_three_line_ends_of_the_protocol_only() -> None:
    lines = Lines("a\rb\r\nc\n\u2028d\x0be\n")
    assert [lines[number] for number in range(len(lines))] == ["a", "b", "c", "\u2028d\x0be", ""]


@pytest.mark.parametrize(("character", "index"), [(0, 0), (1, 1), (2, 1), (3, 2), (4, 3), (5, 4), (99, 4)], ids=str)
def test_utf16_offsets_never_fall_inside_a_pair(character: int, index: int) -> None:
    assert index_in_line("x𝒳é!", character) == index


def test_positions_past_the_end_are_clamped() -> None:
    lines = Lines("ab\r\ncd")
    assert lines.offset({"line": 0, "character": 99}) == 2
    assert lines.offset({"line": 7, "character": 0}) == 6
    assert lines.position(3) == {"line": 0, "character": 2}, "between \\r and \\n is the end of the line"
    with pytest.raises(IndexError):
        lines[2]


@given(TEXTS, st.data())
def test_offset_and_position_are_inverse_outside_line_ends(text: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(text)))
    lines = Lines(text)
    inside_crlf = offset and text[offset - 1 : offset + 1] == "\r\n"
    assert lines.offset(lines.position(offset)) == (offset - 1 if inside_crlf else offset)


@given(TEXTS)
def test_utf16_length_agrees_with_the_codec(text: str) -> None:
    assert utf16_length(text) == len(text.encode("utf-16-le", "surrogatepass")) // 2


def test_changes_apply_one_after_another() -> None:
    text = apply_changes(
        "😀 one\r\ntwo\r\n",
        [
            {"range": span((0, 3), (0, 6)), "text": "1"},
            {"range": span((0, 3), (1, 0)), "text": "1\n"},
            {"range": span((1, 0), (1, 3)), "text": "2"},
        ],
    )
    assert text == "😀 1\n2\r\n"
    assert apply_changes(text, [{"text": "whole"}, {"range": span((0, 5), (0, 5)), "text": "!"}]) == "whole!"


def test_edits_refer_to_the_original_and_insertions_keep_their_order() -> None:
    edits = [edit((0, 2), (0, 3), "Z"), edit((0, 0), (0, 0), "1"), edit((0, 0), (0, 0), "2"), edit((0, 1), (0, 2), "")]
    assert apply_edits("abc", edits) == "12aZ"


def test_overlapping_edits_are_refused() -> None:
    with pytest.raises(ValueError, match="overlapping"):
        apply_edits("abcd", [edit((0, 0), (0, 2), "x"), edit((0, 1), (0, 3), "y")])


# -- workspace edits


def test_a_workspace_edit_reaches_open_documents_and_files(tmp_path: Path) -> None:
    on_disk = tmp_path / "b ä.txt"
    on_disk.write_bytes(b"\xef\xbb\xbfone\r\n")
    opened = {"file:///a.txt": ("old", 4)}
    changed: dict[str, str] = {}
    wanted = {
        "changes": {"file:///a.txt": [edit((0, 0), (0, 3), "new")], on_disk.as_uri(): [edit((1, 0), (1, 0), "2")]}
    }
    touched = [apply_operation(one, opened.get, changed.__setitem__) for one in operations(wanted)]
    assert touched == ["file:///a.txt", on_disk.as_uri()]
    assert changed == {"file:///a.txt": "new"}
    assert on_disk.read_bytes() == b"\xef\xbb\xbfone\r\n2"


def test_an_edit_for_another_version_is_not_applied() -> None:
    stale = {"textDocument": {"uri": "file:///a", "version": 3}, "edits": [edit((0, 0), (0, 0), "x")]}
    with pytest.raises(NotApplicable, match="version 4"):
        apply_operation(stale, lambda uri: ("text", 4), lambda uri, text: pytest.fail("applied"))


def test_resource_operations_keep_to_their_options(tmp_path: Path) -> None:
    first, second = tmp_path / "sub" / "first", tmp_path / "second"

    def do(**operation: Any) -> str:
        return apply_operation(operation, lambda uri: None, lambda uri, text: None)

    do(kind="create", uri=first.as_uri())
    first.write_text("kept")
    with pytest.raises(NotApplicable, match="exists"):
        do(kind="create", uri=first.as_uri())
    do(kind="create", uri=first.as_uri(), options={"ignoreIfExists": True})
    assert do(kind="rename", oldUri=first.as_uri(), newUri=second.as_uri()) == second.as_uri()
    assert second.read_text() == "kept"
    assert not first.exists()
    do(kind="delete", uri=second.as_uri())
    with pytest.raises(NotApplicable, match="does not exist"):
        do(kind="delete", uri=second.as_uri())
    do(kind="delete", uri=second.as_uri(), options={"ignoreIfNotExists": True})
    do(kind="delete", uri=first.parent.as_uri())
    assert not first.parent.exists()


def test_only_file_uris_are_paths() -> None:
    assert uri_to_path("file:///a%20b/%C3%A4") == Path("/a b/ä")
    with pytest.raises(ValueError, match="not a file URI"):
        uri_to_path("untitled:Untitled-1")


# -- markers


def test_cursors_and_carets_are_taken_out_of_the_text() -> None:
    marked = parse('𝒳: int = "a"<|>\n#        ^^^ error reportAssignmentType\nnext()\n')
    assert marked.text == '𝒳: int = "a"\nnext()\n'
    assert marked.cursor == Position(0, 13)
    (expectation,) = marked.expectations
    assert (expectation.text, expectation.words) == ('"a"', "error reportAssignmentType")
    assert expectation.range == {"start": {"line": 0, "character": 10}, "end": {"line": 0, "character": 13}}


def test_carets_align_with_the_line_as_it_stands_cursor_included() -> None:
    marked = parse("ab<|>cd\n//   ^^ here\n// ^^^^ across\n")
    here, across = marked.expectations
    assert (here.text, here.start) == ("cd", Position(0, 2))
    assert (across.text, across.words) == ("cd", "across"), "a cursor under the carets has no width"


def test_several_groups_several_lines_and_the_arrow() -> None:
    marked = parse("one two\n# <- first\n#   ^^^ second\nthree - and four\r\n  ; ^ third ^ fourth\nend")
    assert marked.text == "one two\nthree - and four\r\nend"
    assert [(one.line, one.text, one.words) for one in marked.expectations] == [
        (0, "o", "first"),
        (0, "two", "second"),
        (1, "e", "third"),
        (1, "f", "fourth"),
    ]


def test_an_expectation_in_a_block_comment_ends_before_its_sign() -> None:
    (expectation,) = parse("a = bcd\n/*  ^^^ note */\n").expectations
    assert (expectation.text, expectation.words) == ("bcd", "note")


def test_bare_carets_only_where_asked_for() -> None:
    source = "[1, 2]\n ^ one\n"
    assert parse(source).text == source, "an exclusive-or is code"
    assert parse(source, bare=True).text == "[1, 2]\n"
    assert parse(source, bare=True).expectations[0].text == "1"


@pytest.mark.parametrize(
    ("source", "message"), [("# ^ x\n", "no source line above"), ("ab\n# ^ x\n", "beyond the end")]
)
def test_carets_that_point_at_nothing_are_errors(source: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse(source)


def test_the_cursor_must_be_the_only_one() -> None:
    assert parse("a<|>\n<|>b").cursors == (Position(0, 1), Position(1, 0))
    with pytest.raises(ValueError, match="2 cursors"):
        _ = parse("a<|>\n<|>b").cursor


@given(st.text(alphabet="ab \r\n", max_size=30))
def test_a_source_without_markers_is_left_as_it_is(source: str) -> None:
    assert parse(source).text == source


# -- framing


@given(st.lists(st.binary(max_size=30), max_size=5), st.integers(1, 7))
def test_frames_survive_any_split(bodies: list[bytes], step: int) -> None:
    stream = b"".join(frame_body(body) for body in bodies)
    frames = Frames()
    found = [body for start in range(0, len(stream), step) for body in frames.feed(stream[start : start + step])]
    frames.end()
    assert found == bodies
    assert frames.faults == []


@pytest.mark.parametrize(
    ("stream", "fault"),
    [
        (b"hello\n" + frame_body(b"{}"), "belong to no frame"),
        (b"content-length: 2\r\n\r\n{}", "unusual header"),
        (b"Content-Length:2\r\n\r\n{}", "unusual header"),
        (b"Content-Length: 2\n\n{}", "unusual header"),
        (b"X-Other: 1\r\n\r\n" + frame_body(b"{}"), "belong to no frame"),
        (frame_body(b"{}") + b"Content-Length: 9\r\n\r\n{", "ended inside a frame"),
        (frame_body(b"{}") + b"bye", "ended inside a frame"),
    ],
)
def test_what_is_no_frame_is_noted_and_the_frame_is_read(stream: bytes, fault: str) -> None:
    frames = Frames()
    assert frames.feed(stream) == [b"{}"]
    frames.end()
    assert len(frames.faults) == 1
    assert fault in frames.faults[0]


def test_a_lone_surrogate_goes_out_as_an_escape_and_the_rest_as_utf8() -> None:
    assert b"\\ud83d" in frame({"text": "\ud83d"})
    assert "ä😀".encode() in frame({"text": "ä😀"})


# -- what a server may ask


@pytest.mark.parametrize(
    ("method", "params", "agent", "neovim", "vscode"),
    [
        ("workspace/configuration", {"items": []}, False, True, True),
        ("workspace/applyEdit", {"edit": {}}, False, True, True),
        ("workspace/diagnostic/refresh", None, False, False, True),
        ("window/showMessageRequest", {"message": "?"}, True, True, True),
        ("client/registerCapability", "textDocument/diagnostic", False, False, True),
        ("client/registerCapability", "textDocument/formatting", False, True, True),
        ("client/registerCapability", "textDocument/didSave", False, False, True),
        ("client/registerCapability", "workspace/didChangeWorkspaceFolders", False, True, True),
    ],
)
def test_a_request_needs_the_capability_that_permits_it(
    method: str, params: Any, agent: bool, neovim: bool, vscode: bool
) -> None:
    if isinstance(params, str):
        params = {"registrations": [{"id": "1", "method": params}]}
    for capabilities, allowed in ((AGENT, agent), (NEOVIM, neovim), (VSCODE, vscode)):
        assert (undeclared(capabilities, method, params) is None) == allowed


def test_progress_tokens_are_used_between_creation_and_end() -> None:
    progress = Progress()
    assert "nobody created" in str(progress.used({"token": 1, "value": {"kind": "begin"}}))
    assert progress.created(1) is None
    assert "in use" in str(progress.created(1))
    assert progress.used({"token": 1, "value": {"kind": "end"}}) is None
    assert "nobody created" in str(progress.used({"token": 1, "value": {"kind": "report"}}))
    progress.offered({"partialResultToken": "p"})
    assert progress.used({"token": "p", "value": []}) is None


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ({"jsonrpc": "2.0", "result": None}, None),
        ({"jsonrpc": "2.0", "error": {"code": 1, "message": ""}}, None),
        ({"result": None}, "jsonrpc"),
        ({"jsonrpc": "2.0"}, "either"),
        ({"jsonrpc": "2.0", "result": 1, "error": {"code": 1, "message": ""}}, "either"),
        ({"jsonrpc": "2.0", "error": {"code": "1", "message": ""}}, "without code"),
        ({"jsonrpc": "2.0", "error": None}, "without code"),
    ],
)
def test_the_shape_of_a_response(message: dict[str, Any], fault: str | None) -> None:
    found = response_fault(message)
    assert found is None if fault is None else fault in str(found)


def test_settings_are_found_by_dotted_section() -> None:
    settings = {"a": {"b": {"c": 1}}}
    assert settings_of(settings, "a.b") == {"c": 1}
    assert settings_of(settings, "a.x") is None
    assert settings_of(settings, "a.b.c.d") is None
    assert settings_of(settings, None) == settings
