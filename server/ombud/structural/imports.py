"""Import lines that a rewrite brings along: where they belong in a file, and whether they are there already.

A line comes once, behind the last import at the head of the file. Where there is none, it comes behind what must stay
first: an interpreter line, a licence, a docstring, a package, ``'use strict'``, ``<?php``, include guards.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ombud.errors import UserError
from ombud.structural.indentation import line_end

if TYPE_CHECKING:
    from tree_sitter import Node, Tree


@dataclass(frozen=True, slots=True)
class Ways:
    """How a language imports: patterns of the kinds of nodes that are imports, and of what stands before imports.

    ``texts`` tells imports that are ordinary statements by their text.
    """

    imports: str
    head: str = r"$^"
    texts: bytes = rb"$^"


_ECMA = Ways(
    r"^import_statement$",
    r"^hash_bang_line$",
    rb"(?:const|let|var)\s[^=;]*=\s*require\s*\(|require\s*\(|['\"]use \w+['\"]",
)
_C = Ways(r"^preproc_include$|^import_declaration$", r"^$", rb"#\s*pragma once")
WAYS: Mapping[str, Ways] = {
    "python": Ways(r"import(_from)?_statement$"),
    "javascript": _ECMA,
    "javascriptreact": _ECMA,
    "typescript": _ECMA,
    "typescriptreact": _ECMA,
    "go": Ways(r"^import_declaration$", r"^package_clause$"),
    "java": Ways(r"^import_declaration$", r"^package_declaration$"),
    "kotlin": Ways(r"^import", r"^package_header$|^file_annotation$|shebang"),
    "scala": Ways(r"^import_declaration$", r"^package_clause$"),
    "rust": Ways(r"^use_declaration$|^extern_crate_declaration$", r"^inner_attribute_item$|shebang"),
    "c": _C,
    "cpp": _C,
    "csharp": Ways(r"^using_directive$", r"^extern_alias_directive$|^preproc"),
    "php": Ways(r"^namespace_use_declaration$", r"^php_tag$|^namespace_definition$|^declare_statement$"),
    "swift": Ways(r"^import_declaration$", r"^shebang_line$"),
    "dart": Ways(r"^import_or_export$|^import_specification$|^library_import$", r"^library_name$|^script_tag$"),
    "ruby": Ways(r"$^", r"$^", rb"(?:require|require_relative|load)\b"),
    "lua": Ways(r"$^", r"^hash_bang_line$", rb"(?:local\s+[\w, ]+=\s*)?require\b"),
    "shellscript": Ways(r"$^", r"$^", rb"(?:source|\.)\s|set\s+-"),
    "haskell": Ways(r"^imports?$", r"^header$|^module$|pragma"),
    "zig": Ways(r"$^", r"$^", rb"(?:pub\s+)?const\s+\w+\s*=\s*@import\b"),
}
_SAID = re.compile(rb"licen[cs]e|copyright|spdx|coding[:=]|@ts-|eslint|@flow|^#!|go:build|\+build|jshint|vim:", re.I)
_DEFINITION = re.compile(r"function|class|method|struct|enum|trait|impl|interface|decorated|object")
_DIRECTIVE = re.compile(rb"['\"]use \w+['\"]|#\s*pragma once|set\s+-")
_GUARD = re.compile(rb"#\s*ifndef\s+(\w+)[^\n]*\n\s*#\s*define\s+(\w+)[^\n]*\n?")


def add_imports(source: bytes, tree: Tree, language: str, lines: list[str]) -> tuple[int, bytes]:
    """Where these lines are to be put in, and the text to put there: empty where all of them are there already.

    Raises UserError for a language whose imports are not known here.
    """
    ways = WAYS.get(language)
    if ways is None:
        raise UserError(f"Where imports belong in {language} is not known here; leave addImports out.")
    head = _Head(source, tree.root_node, ways, language)
    there = [source[node.start_byte : node.end_byte] for node in head.all]
    news = []
    for line in lines:
        text = " ".join(line.split()) if language != "shellscript" else line.strip()
        if text and not _is_there(text, there, language):
            news.append(text)
    if not news:
        return 0, b""
    end = line_end(source)
    if language == "go":
        return _into_go(source, head, news, end)
    return head.place(news, end)


class _Head:
    """The beginning of a file: its imports, and what stands before them."""

    def __init__(self, source: bytes, root: Node, ways: Ways, language: str) -> None:
        self.source, self.language = source, language
        self.all: list[Node] = []
        self.last: Node | None = None
        self.start = 3 if source.startswith(b"\xef\xbb\xbf") else 0
        """Where code may begin: behind everything that must stay first."""
        leading, defined = True, False
        nodes = _top(root, source)
        for at, node in enumerate(nodes):
            text = source[node.start_byte : node.end_byte]
            if re.search(ways.imports, node.type) or (re.match(ways.texts, text) and not _DIRECTIVE.match(text)):
                self.all.append(node)
                # One behind a definition comes too late for what stands before it.
                self.last = node if self.last is None or not defined else self.last
                leading = False
            elif leading and self._leads(node, text, ways, at, nodes):
                self.start = max(self.start, _line_after(source, node.end_byte))
            elif "comment" not in node.type:
                leading = False
                defined = defined or _DEFINITION.search(node.type) is not None
        if language in ("c", "cpp") and self.last is None:
            guard = _GUARD.search(source)
            before = source[: guard.start()].strip() if guard else b""
            if guard and guard[1] == guard[2] and (not before or before.startswith((b"/", b"#"))):
                self.start = max(self.start, guard.end())

    def _leads(self, node: Node, text: bytes, ways: Ways, at: int, nodes: list[Node]) -> bool:
        if re.search(ways.head, node.type) or _DIRECTIVE.match(text):
            return True
        if self.language == "python" and node.type in ("string", "expression_statement", "concatenated_string"):
            return text.lstrip(b"rRuU")[:1] in (b"'", b'"') and not any("comment" not in n.type for n in nodes[:at])
        if "comment" not in node.type and "shebang" not in node.type:
            return False
        if _SAID.search(text) or text.startswith(b"//!"):
            return True
        # A comment with a blank line behind it speaks of the file; one without, of what follows.
        follows = nodes[at + 1] if at + 1 < len(nodes) else None
        while follows is not None and "comment" in follows.type and follows.start_point.row <= node.end_point.row + 1:
            node, at = follows, at + 1
            follows = nodes[at + 1] if at + 1 < len(nodes) else None
        return follows is None or follows.start_point.row > node.end_point.row + 1

    def place(self, news: list[str], end: bytes) -> tuple[int, bytes]:
        """Where lines go, and the text."""
        source = self.source
        lines = [line.encode() for line in news]
        if self.last is not None:
            stop = self.last.end_byte
            while stop > self.last.start_byte and source[stop - 1 : stop] in b"\r\n":
                stop -= 1
            at = _line_after(source, stop)
            margin = re.match(rb"[ \t]*", source[source.rfind(b"\n", 0, self.last.start_byte) + 1 :])
            text = b"".join((margin[0] if margin else b"") + line + end for line in lines)
            if source[at - 1 : at] != b"\n":
                return at, end + text[: -len(end)]
            return at, text
        at = self.start
        text = b"".join(line + end for line in lines)
        headed = bool(source[:at].strip(b"\xef\xbb\xbf \r\n\t"))
        if headed and source[at - 1 : at] != b"\n":
            return at, end + end + text
        if headed:
            text = end + text
        rest = source[at:]
        if rest.strip() and not re.match(rb"[ \t]*\r?\n", rest):
            text += end
        return at, text


def _top(root: Node, source: bytes) -> list[Node]:
    """The nodes of the outermost level, those within include guards and import lists among them."""
    found: list[Node] = []
    for node in root.children:
        text = source[node.start_byte : node.end_byte]
        guard = _GUARD.match(text) if node.type == "preproc_ifdef" else None
        if node.type in ("import_list", "imports", "header_imports") or (guard and guard[1] == guard[2]):
            found += [child for child in node.children if child.is_named]
        else:
            found.append(node)
    return found


def _line_after(source: bytes, offset: int) -> int:
    """Where the next line begins, or the end of the text."""
    at = source.find(b"\n", max(0, offset - 1) if source[offset - 1 : offset] == b"\n" else offset)
    return len(source) if at < 0 else at + 1


def _into_go(source: bytes, head: _Head, news: list[str], end: bytes) -> tuple[int, bytes]:
    specs = [re.sub(r"^import\s+", "", line) for line in news]
    lists = [child for node in head.all for child in node.children if child.type == "import_spec_list"]
    if not lists:
        return head.place([f"import {spec}" for spec in specs], end)
    inside = [child for child in lists[0].children if child.type == "import_spec"]
    if inside:
        at = _line_after(source, inside[-1].end_byte)
        if source.count(b"\n", lists[0].start_byte, lists[0].end_byte):
            return at, b"".join(b"\t" + spec.encode() + end for spec in specs)
        return inside[-1].end_byte, b"".join(b"; " + spec.encode() for spec in specs)
    return lists[0].start_byte + 1, b"".join(end + b"\t" + spec.encode() for spec in specs) + end


# -- is it there already ---------------------------------------------------------------------------------------------


def _is_there(line: str, there: list[bytes], language: str) -> bool:
    wanted = _plain(line)
    texts = [_plain(text.decode("utf-8", "replace")) for text in there]
    if wanted in texts:
        return True
    if language == "python":
        return _python(wanted, texts)
    if language in ("javascript", "javascriptreact", "typescript", "typescriptreact"):
        return _ecma(wanted, texts)
    if language == "go":
        spec = re.sub(r"^import ", "", wanted)
        return any(spec in re.split(r"[;\n(),]\s*", _lined(text)) for text in there)
    if language == "java" and not wanted.startswith("import static"):
        return f"{wanted.rpartition('.')[0]}.*" in texts
    if language == "rust" and (found := re.fullmatch(r"use ([\w:]+)::(\w+)", wanted)):
        groups = (re.fullmatch(r"(?:pub )?use ([\w:]+)::\{([^{}]*)\}", text) for text in texts)
        return any(one[1] == found[1] and found[2] in _names(one[2]) for one in groups if one)
    return False


def _lined(text: bytes) -> str:
    lines = re.sub(rb"^import\s*", b"", text).decode("utf-8", "replace").replace("`", '"').split("\n")
    return "\n".join(" ".join(line.partition("//")[0].split()) for line in lines)


def _plain(text: str) -> str:
    """An import with its white space, quotes and semicolon made alike."""
    spaced = " ".join(text.replace("'", '"').rstrip("; \r\n").split())
    return re.sub(r" ?([{},]) ?", r"\1", spaced)


def _names(listed: str) -> set[str]:
    return {one.strip() for one in listed.strip("() ").split(",") if one.strip()}


def _python(wanted: str, texts: list[str]) -> bool:
    one = re.fullmatch(r"from (\S+) import (.+)", wanted)
    for text in texts:
        found = re.fullmatch(r"from (\S+) import (.+)", text)
        if one and found and one[1] == found[1] and _names(one[2]) <= _names(found[2]):
            return True
        if (
            not one
            and wanted.startswith("import ")
            and text.startswith("import ")
            and _names(wanted[7:]) <= _names(text[7:])
        ):
            return True
    return False


def _ecma(wanted: str, texts: list[str]) -> bool:
    shape = re.compile(r"import(?: (type))?\{([^{}]*)\}from (\".*\")")
    one = shape.fullmatch(wanted)
    if one is None:
        return False
    for text in texts:
        found = re.fullmatch(r"import(?: (type))?(?: ?[\w$]+,)?\{([^{}]*)\}from (\".*\")", text)
        if found and found[3] == one[3] and (one[1] or not found[1]) and _names(one[2]) <= _names(found[2]):
            return True
    return False
