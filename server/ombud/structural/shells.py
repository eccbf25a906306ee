"""The contexts in which a fragment of each language is read, in the order they are tried, and how metavariables are
spelled there.

A shell is text around the fragment that makes a file of it. Its name is what answers call ``parsedAs``. A shell may
close the fragment with ``;``, which then is no part of the pattern.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shell:
    """``before`` + fragment + ``tail`` + ``after`` is a file. ``tail`` becomes part of the pattern (the body of a
    bare header).
    """

    name: str
    before: str = ""
    after: str = ""
    tail: str = ""
    closed: bool = False
    """True where only a fragment that ends in ``}`` or ``;`` is read so: without either it is no declaration."""


def _shells(*rows: tuple[str, str, str]) -> tuple[Shell, ...]:
    return tuple(Shell(name, before, after) for name, before, after in rows)


def _headers(*rows: tuple[str, str, str]) -> tuple[Shell, ...]:
    """Shells of a header without its body: what stands before, the body, what stands behind."""
    return tuple(Shell("header", before, after, tail) for before, tail, after in rows)


BODY = " { $$$ }"

_C_LIKE = (
    *_shells(
        ("statement", "void q() {\n", "\n}\n"),
        ("statement", "void q() {\n", ";\n}\n"),
        ("expression", "void q() { return (\n", "\n); }\n"),
    ),
    Shell("top_level", "", "\n", closed=True),
    *_shells(
        ("member", "struct q {\n", "\n};\n"),
        ("member", "struct q {\n", ";\n};\n"),
        ("argument", "void q() { q(", "); }\n"),
        ("parameter", "void q(", ");\n"),
        ("clause", "void q() { switch (q) {\n", "\n} }\n"),
        ("property", "int q[] = {\n", "\n};\n"),
        ("type", "void q() { q = (", ")q; }\n"),
        ("enumerator", "enum q {\n", "\n};\n"),
    ),
    *_headers(("void q() {\n", BODY, "\n}\n"), ("", BODY, "\n"), ("", "\n$$$\n#endif", "\n")),
)

_CPP = (
    *_C_LIKE[:4],
    *_shells(
        ("member", "class q {\n", "\n};\n"),
        ("member", "class q {\n", ";\n};\n"),
        ("argument", "void q() { q(", "); }\n"),
        ("parameter", "void q(", ");\n"),
        ("clause", "void q() { switch (q) {\n", "\n} }\n"),
        ("clause", "void q() { try {}\n", "\n}\n"),
        ("property", "q q = {\n", "\n};\n"),
        ("type", "void q() { q = (", ")q; }\n"),
        ("type", "void q() { q<", "> q; }\n"),
        ("enumerator", "enum q {\n", "\n};\n"),
    ),
    *_headers(("void q() {\n", BODY, "\n}\n"), ("", BODY, "\n"), ("", BODY, ";\n")),
)

_JAVASCRIPT = (
    *_shells(
        ("statement", "", "\n"),
        ("statement", "async function* q() {\n", "\n}\n"),
        ("expression", "q = (\n", "\n)\n"),
        ("expression", "async function* q() { q = (\n", "\n) }\n"),
        ("member", "class q extends q {\n", "\n}\n"),
        ("argument", "q(", ")\n"),
        ("parameter", "function q(", ") {}\n"),
        ("clause", "switch (q) {\n", "\n}\n"),
        ("clause", "try {} ", "\n"),
        ("property", "q = {\n", "\n}\n"),
    ),
)
_JSX = _shells(("attribute", "q = <q ", " />\n"), ("child", "q = <q>", "</q>\n"))
_TYPESCRIPT = _shells(
    ("member", "abstract class q extends q {\n", "\n}\n"),
    ("member", "interface q {\n", "\n}\n"),
    ("type", "type q = ", "\n"),
    ("annotation", "let q", "\n"),
    ("type", "function q(q: q): ", " {}\n"),
    ("enumerator", "enum q {\n", "\n}\n"),
    ("decorator", "", "\nclass q {}\n"),
)
_JAVASCRIPT_HEADERS = _headers(("", BODY, "\n"), ("class q {\n", BODY, "\n}\n"))

SHELLS: Mapping[str, tuple[Shell, ...]] = {
    "python": (
        *_shells(
            ("statement", "", "\n"),
            ("expression", "(\n", "\n)\n"),
            ("argument", "q(", ")\n"),
            ("parameter", "def q(", "): pass\n"),
            ("clause", "try:\n pass\n", "\n"),
            ("clause", "if q:\n pass\n", "\n"),
            ("clause", "try:\n pass\nexcept q:\n pass\n", "\n"),
            ("arm", "match q:\n ", "\n"),
            ("property", "q = {", "}\n"),
            ("decorator", "", "\ndef q(): pass\n"),
            ("type", "q: ", "\n"),
        ),
        *_headers(
            ("", "\n $$$", "\n"),
            ("", ":\n $$$", "\n"),
            ("try:\n pass\n", "\n $$$", "\n"),
            ("try:\n pass\n", ":\n $$$", "\n"),
            ("match q:\n ", "\n  $$$", "\n"),
        ),
    ),
    "javascript": (*_JAVASCRIPT, *_JSX, *_JAVASCRIPT_HEADERS),
    "typescript": (*_JAVASCRIPT, *_TYPESCRIPT, *_JAVASCRIPT_HEADERS),
    "tsx": (*_JAVASCRIPT, *_TYPESCRIPT, *_JSX, *_JAVASCRIPT_HEADERS),
    "go": (
        *_shells(
            ("statement", "package q\nfunc q() {\n", "\n}\n"),
            ("expression", "package q\nvar q = (", ")\n"),
            ("top_level", "package q\n", "\n"),
            ("top_level", "", "\n"),
            ("member", "package q\ntype q struct {\n", "\n}\n"),
            ("member", "package q\ntype q interface {\n", "\n}\n"),
            ("argument", "package q\nvar q = q(", ")\n"),
            ("parameter", "package q\nfunc q(", ") {}\n"),
            ("clause", "package q\nfunc q() { switch q {\n", "\n} }\n"),
            ("clause", "package q\nfunc q() { select {\n", "\n} }\n"),
            ("property", "package q\nvar q = q{\n", ",\n}\n"),
            ("property", "package q\nvar q = q{", "}\n"),
            ("type", "package q\nvar q ", "\n"),
        ),
        *_headers(("package q\nfunc q() {\n", BODY, "\n}\n"), ("package q\n", BODY, "\n")),
    ),
    "java": (
        *_shells(
            ("statement", "class q { void q() {\n", "\n} }\n"),
            ("statement", "class q { void q() {\n", ";\n} }\n"),
            ("expression", "class q { Object q = (\n", "\n); }\n"),
            ("member", "class q {\n", "\n}\n"),
            ("member", "class q {\n", ";\n}\n"),
            ("member", "interface q {\n", "\n}\n"),
        ),
        Shell("top_level", "", "\n", closed=True),
        *_shells(
            ("top_level", "", ";\n"),
            ("argument", "class q { Object q = q(", "); }\n"),
            ("parameter", "class q { void q(", ") {} }\n"),
            ("clause", "class q { void q() { try {}\n", "\n} }\n"),
            ("clause", "class q { void q() { switch (q) {\n", "\n} } }\n"),
            ("annotation", "class q {\n", "\nint q; }\n"),
            ("type", "class q { ", " q; }\n"),
            ("enumerator", "enum q {\n", "\n}\n"),
        ),
        *_headers(
            ("class q { void q() {\n", BODY, "\n} }\n"),
            ("class q {\n", BODY, "\n}\n"),
            ("class q { void q() { try {}\n", BODY, "\n} }\n"),
        ),
    ),
    "rust": (
        *_shells(
            ("statement", "fn q() {\n", "\n}\n"),
            ("statement", "fn q() {\n", ";\n}\n"),
            ("expression", "const Q: q = (\n", "\n);\n"),
            ("member", "impl q {\n", "\n}\n"),
            ("member", "trait q {\n", "\n}\n"),
            ("member", "struct q {\n", "\n}\n"),
            ("top_level", "", "\n"),
            ("argument", "fn q() { q(", "); }\n"),
            ("parameter", "fn q(", ") {}\n"),
            ("arm", "fn q() { match q {\n", "\n} }\n"),
            ("property", "fn q() { q { ", " }; }\n"),
            ("clause", "fn q()\n", "\n{}\n"),
            ("pattern", "fn q() { let ", " = q; }\n"),
            ("type", "type q = ", ";\n"),
            ("enumerator", "enum q {\n", "\n}\n"),
        ),
        *_headers(("fn q() {\n", BODY, "\n}\n"), ("impl q {\n", BODY, "\n}\n")),
    ),
    "c": _C_LIKE,
    "cpp": _CPP,
    "csharp": (
        *_shells(
            ("statement", "class q { void q() {\n", "\n} }\n"),
            ("statement", "class q { void q() {\n", ";\n} }\n"),
            ("expression", "class q { object q = (\n", "\n); }\n"),
            ("member", "class q {\n", "\n}\n"),
            ("member", "class q {\n", ";\n}\n"),
        ),
        Shell("top_level", "", "\n", closed=True),
        *_shells(
            ("top_level", "", ";\n"),
            ("member", "interface q {\n", "\n}\n"),
            ("argument", "class q { object q = q(", "); }\n"),
            ("parameter", "class q { void q(", ") {} }\n"),
            ("clause", "class q { void q() { try {}\n", "\n} }\n"),
            ("clause", "class q { void q() { switch (q) {\n", "\n} } }\n"),
            ("arm", "class q { object q = q switch {\n", "\n}; }\n"),
            ("property", "class q { object q = new q {\n", "\n}; }\n"),
            ("annotation", "class q {\n", "\nint q; }\n"),
            ("type", "class q { ", " q; }\n"),
            ("enumerator", "enum q {\n", "\n}\n"),
        ),
        *_headers(
            ("class q { void q() {\n", BODY, "\n} }\n"),
            ("class q {\n", BODY, "\n}\n"),
            ("class q { void q() { try {}\n", BODY, "\n} }\n"),
        ),
    ),
    "kotlin": (
        *_shells(
            ("statement", "fun q() {\n", "\n}\n"),
            ("expression", "val q = (", ")\n"),
            ("member", "class q {\n", "\n}\n"),
            ("top_level", "", "\n"),
            ("argument", "val q = q(", ")\n"),
            ("parameter", "fun q(", ") {}\n"),
            ("parameter", "class q(", ")\n"),
            ("arm", "fun q() { when (q) {\n", "\n} }\n"),
            ("clause", "fun q() { try {}\n", "\n}\n"),
            ("type", "val q: ", " = q\n"),
            ("annotation", "", "\nclass q\n"),
            ("enumerator", "enum class q {\n", "\n}\n"),
        ),
        *_headers(("fun q() {\n", BODY, "\n}\n"), ("fun q() { try {}\n", BODY, "\n}\n")),
    ),
    "swift": (
        *_shells(
            ("statement", "func q() {\n", "\n}\n"),
            ("expression", "let q = (", ")\n"),
            ("member", "class q {\n", "\n}\n"),
            ("member", "protocol q {\n", "\n}\n"),
            ("top_level", "", "\n"),
            ("argument", "let q = q(", ")\n"),
            ("parameter", "func q(", ") {}\n"),
            ("arm", "func q() { switch q {\n", "\n} }\n"),
            ("clause", "func q() { do {}\n", "\n}\n"),
            ("property", "let q = [", "]\n"),
            ("type", "let q: ", "\n"),
            ("annotation", "", "\nclass q {}\n"),
            ("enumerator", "enum q {\n", "\n}\n"),
        ),
        *_headers(("func q() {\n", BODY, "\n}\n"), ("", BODY, "\n")),
    ),
    "php": (
        *_shells(
            ("statement", "<?php\n", "\n"),
            ("statement", "<?php\n", ";\n"),
            ("expression", "<?php\n$q = (\n", "\n);\n"),
            ("member", "<?php\nclass q {\n", "\n}\n"),
            ("member", "<?php\nclass q {\n", ";\n}\n"),
            ("top_level", "", "\n"),
            ("argument", "<?php\nq(", ");\n"),
            ("parameter", "<?php\nfunction q(", ") {}\n"),
            ("clause", "<?php\ntry {}\n", "\n"),
            ("clause", "<?php\nif ($q) {}\n", "\n"),
            ("clause", "<?php\nswitch ($q) {\n", "\n}\n"),
            ("arm", "<?php\n$q = match ($q) {\n", "\n};\n"),
            ("property", "<?php\n$q = [", "];\n"),
            ("type", "<?php\nfunction q(): ", " {}\n"),
            ("annotation", "<?php\n", "\nfunction q() {}\n"),
        ),
        *_headers(("<?php\n", BODY, "\n"), ("<?php\nclass q {\n", BODY, "\n}\n"), ("<?php\ntry {}\n", BODY, "\n")),
    ),
    "ruby": (
        *_shells(
            ("statement", "", "\n"),
            ("expression", "q = (\n", "\n)\n"),
            ("argument", "q(", ")\n"),
            ("parameter", "def q(", ")\nend\n"),
            ("clause", "begin\n", "\nend\n"),
            ("clause", "case q\n", "\nend\n"),
            ("property", "q = {", "}\n"),
            ("block", "q ", "\n"),
        ),
        *_headers(("", "\n$$$\nend", "\n"), ("begin\n", "\n$$$", "\nend\n"), ("case q\n", "\n$$$", "\nend\n")),
    ),
    "dart": (
        *_shells(
            ("statement", "void q() {\n", "\n}\n"),
            ("statement", "void q() {\n", ";\n}\n"),
            ("statement", "q() async {\n", ";\n}\n"),
            ("expression", "var q = (\n", "\n);\n"),
            ("member", "class q {\n", "\n}\n"),
            ("member", "class q {\n", ";\n}\n"),
        ),
        Shell("top_level", "", "\n", closed=True),
        *_shells(
            ("argument", "var q = q(", ");\n"),
            ("parameter", "void q(", ") {}\n"),
            ("clause", "void q() { try {}\n", "\n}\n"),
            ("clause", "void q() { switch (q) {\n", "\n} }\n"),
            ("property", "var q = {", "};\n"),
            ("type", "", " q;\n"),
            ("annotation", "", "\nclass q {}\n"),
            ("enumerator", "enum q {\n", "\n}\n"),
        ),
        *_headers(("void q() {\n", BODY, "\n}\n"), ("class q {\n", BODY, "\n}\n"), ("", BODY, "\n")),
    ),
    "scala": (
        *_shells(
            ("statement", "object Q { def q = {\n", "\n} }\n"),
            ("expression", "object Q { val q = (", ") }\n"),
            ("member", "class Q {\n", "\n}\n"),
            ("top_level", "", "\n"),
            ("argument", "object Q { val q = q(", ") }\n"),
            ("parameter", "object Q { def q(", ") = q }\n"),
            ("arm", "object Q { val q = q match {\n", "\n} }\n"),
            ("type", "object Q { val q: ", " = q }\n"),
            ("annotation", "", "\nclass Q\n"),
        ),
        *_headers(("object Q { def q = {\n", BODY, "\n} }\n"), ("", BODY, "\n")),
    ),
    "bash": (
        *_shells(
            ("statement", "", "\n"),
            ("expression", "q=", "\n"),
            ("expression", "q=$((", "))\n"),
            ("argument", "q ", "\n"),
            ("arm", "case q in\n", "\nesac\n"),
        ),
        *_headers(("", "; do\n$$$\ndone", "\n"), ("", "; then\n$$$\nfi", "\n"), ("", " {\n$$$\n}", "\n")),
    ),
    "lua": (
        *_shells(
            ("statement", "", "\n"),
            ("expression", "local q = (", ")\n"),
            ("argument", "q(", ")\n"),
            ("parameter", "function q(", ") end\n"),
            ("property", "local q = {", "}\n"),
        ),
        *_headers(("", "\n$$$\nend", "\n")),
    ),
    "elixir": (
        *_shells(("statement", "", "\n"), ("expression", "q = (\n", "\n)\n"), ("argument", "q(", ")\n")),
        *_shells(("arm", "case q do\n", "\nend\n"), ("property", "%{", "}\n")),
        *_headers(("", " do\n$$$\nend", "\n")),
    ),
    "haskell": _shells(
        ("expression", "q = ", "\n"),
        ("top_level", "", "\n"),
        ("statement", "q = do\n  ", "\n"),
        ("arm", "q = case q of\n  ", "\n"),
        ("type", "q :: ", "\n"),
    ),
    "sql": _shells(("statement", "", "\n"), ("statement", "", ";\n"), ("expression", "SELECT ", "\n")),
    "zig": (
        *_shells(
            ("statement", "fn q() void {\n", "\n}\n"),
            ("statement", "fn q() void {\n", ";\n}\n"),
            ("expression", "const q = (", ");\n"),
            ("member", "const q = struct {\n", "\n};\n"),
            ("top_level", "", "\n"),
            ("argument", "const q = q(", ");\n"),
            ("parameter", "fn q(", ") void {}\n"),
            ("arm", "fn q() void { switch (q) {\n", "\n} }\n"),
            ("type", "const q: ", " = q;\n"),
        ),
        *_headers(("fn q() void {\n", BODY, "\n}\n"), ("", BODY, "\n")),
    ),
}
"""Grammar → its shells."""

SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "python": ("{}", "{}=q", "case {}: pass", "{}: q", "except {}: pass", "elif {}: pass", "'{}'"),
    "javascript": ("{}", "{};", "{}: q", "case {}:", "catch {}", "{}() { }", '"{}"'),
    "typescript": ("{}", "{};", "{}: q", "case {}:", "{}() { }", "{} = q", '"{}"'),
    "tsx": ("{}", "{};", "{}: q", "case {}:", "{}() { }", "{} = q", '"{}"'),
    "go": ("{}", "{} q", "{}: q", "case {}:", "case <-{}:", "{}()", '"{}"'),
    "java": ("{}", "{};", "{} q", "int {};", "case {}:", "case {} -> q;", "@{}", "catch (q {}) { }"),
    "rust": ("{}", "{};", "{}: q", "{} => q,", "{Q}", "fn {}() { }", "'{}", "({}) => { }"),
    "c": ("{}", "{};", "int {};", "int {}", "case {}:", ".{} = q"),
    "cpp": ("{}", "{};", "int {};", "int {}", "case {}:", ".{} = q", "typename {}", "catch ({}) { }"),
    "csharp": ("{}", "{};", "int {};", "{} q", "case {}:", "{} => q", "[{}]"),
    "kotlin": ("{}", "{}: Q", "{} -> q", "fun {}() { }", "@{}"),
    "swift": ("{}", "{}: Q", "case {}: q", "func {}() { }", "@{}"),
    "php": ("${}", "{}", "${};", "public ${};", "{};", "{}: q", "case ${}:", "${} => 1", '"{}"'),
    "ruby": ("{}", "{Q}", "when {}\n", "rescue {Q}\n", "{}: 1"),
    "dart": ("{}", "{};", "int {};", "case {}:", "{}: q", "int {}", "@{}", '"{}"'),
    "scala": ("{}", "{Q}", "case {} => q", "{}: Q", "val {} = 1", "def {} = 1"),
    "bash": ("{}", "{};", "${}", "{}) ;;"),
    "lua": ("{}", "{}()", "{}={}"),
    "elixir": ("{}", "{Q}", "{} -> q"),
    "haskell": ("{}", "{Q}", "{} -> q", "{} = q"),
    "sql": ("{}", "{} INT"),
    "zig": ("{}", "{};", "{}: q", "{} => q", "{}: q,"),
}
"""Grammar → how a metavariable may be spelled, the plain one first; a ``$$$`` that stands for members or arms needs
the others.
"""
