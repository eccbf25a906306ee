"""C and C++ before the grammar reads them: macros that hide a declaration are blanked out, byte for byte.

A macro may stand where no name can (``class API Thing {``, ``API int CALL f(void);``), and the branches of an ``#if``
may each open a brace that only one of them closes. Blanks keep all places as they are. What is a macro is told by its
place alone, or by the errors of a first reading.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence

_CLASS = re.compile(
    rb"\b(?:class|struct|union)\s+((?:alignas\s*\([^()]*\)|[A-Z][A-Z0-9_]{2,}(?:\s*\([^()\n]*\))?)\s+)[A-Za-z_]\w*(?:\s+final)?\s*[:{](?!:)"
)
_LINKAGE = re.compile(
    rb"^[ \t]*#[ \t]*if(?:def[ \t]+__cplusplus|[ \t]+defined[ \t]*\(?[ \t]*__cplusplus[ \t]*\)?)[^\n]*\n"
    rb'(?:\s*extern\s+"C(?:\+\+)?"\s*\{|\s*\}(?:\s*/\*[^*\n]*\*/|\s*//[^\n]*)?;?)\s*(?:/\*[^*\n]*\*/\s*|//[^\n]*\n\s*)?'
    rb"^[ \t]*#[ \t]*endif[^\n]*",
    re.M,
)
_DIRECTIVE = re.compile(
    rb"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b((?:\\\r?\n|[^\n])*)", re.M
)
_MACRO = re.compile(rb"\b(?:[A-Z][A-Z0-9_]{2,}|_+[A-Z][A-Z0-9_]+)\b(?:[ \t]*\([^()\n]*\))?")
_KEYWORD = (
    rb"(?:alignas|auto|bool|break|case|char|class|const|constexpr|continue|default|define|delete|do|double|else|enum|explicit|extern|"
    rb"float|for|friend|goto|if|inline|int|long|mutable|namespace|new|operator|private|protected|public|register|return|short|signed|"
    rb"sizeof|static|struct|switch|template|throw|typedef|typename|union|unsigned|using|virtual|void|volatile|while)\b"
)
_WORD = rb"(?!" + _KEYWORD + rb")[A-Za-z_]\w*"
_FIRST = re.compile(
    rb"^[ \t]*(?:(?:static|extern|inline|typedef)[ \t]+)*("
    + _WORD
    + rb"(?:[ \t]*\((?:[^()\n]|\([^()\n]*\))*\))?)[ \t\n]+"
    rb"(?=(?:(?:const|volatile|static|inline|extern|struct|union|enum|virtual)\b[ \t\n]*)*+"
    rb"(?:(?:unsigned|signed|long|short)(?:[ \t]+(?:int|long|char|short|double))*+|"
    + _WORD
    + rb"(?:::\w+)*|void|int|char|float|double|bool)"
    rb"(?:<[^<>;{}]*>)?[ \t\n*&]+(?:const[ \t]+)?(?:[A-Z_]+[ \t]+\**)?~?[A-Za-z_]\w*(?:::~?\w+)*[ \t]*(?:[(\[;=,]|$))",
    re.M,
)
"""A word before a type and a name: ``API int f(``."""
_CAST = re.compile(rb"\([ \t]*(" + _WORD + rb")[ \t]+(?=(?:const[ \t]+|unsigned[ \t]+)*\w+[ \t]*\*+[ \t]*\))")
_BETWEEN = re.compile(rb"(\w+)[ \t*&]+\b([A-Z_][A-Z0-9_]{2,}|_[A-Z]\w+)(?=[ \t]+\**[ \t]*[A-Za-z_]\w*[ \t]*[(\[;=,)])")
_TRAILING = re.compile(
    rb"\)(?:[ \t]*const)?[ \t\n]*\b((?:[A-Z][A-Z0-9_]{2,}\b[ \t]*(?:\((?:[^()\n]|\([^()\n]*\))*\))?[ \t\n]*)+)"
    rb"(?=\s*(?:[;{:]|= *(?:0|default|delete)))"
)
_CALL = re.compile(rb"^[ \t]*([A-Z][A-Z0-9_]*[ \t]*\((?:[^()\n;{}]|\([^()\n]*\))*\)[ \t]*;?)[ \t]*$", re.M)
_PACKED = re.compile(rb"^[ \t]*([A-Z]\w*[ \t]*\()(?=typedef\b)[^\n;]*\{[^{}]*\}[^\n;]*?(\))", re.M)
_UNIT = re.compile(rb"\b\d+\w*[ \t]+\*?([A-Z][A-Z0-9_]*)\b")
_PATTERNS = (_PACKED, _BETWEEN, _CAST, _TRAILING, _UNIT, _CALL, _FIRST)
_LONGEST = 1000
_WHOLE = 20_000
_SMALL = 400
"""Bytes of an error beyond which its lines say nothing of where it comes from."""
_ELSEWHERE = re.compile(
    rb"_WIN32|_WIN64|\bWIN32|_MSC_VER|__APPLE__|__MINGW|__CYGWIN__|__BORLANDC__|__OS2__|\b0\b|__sun\b|_AIX"
)
_ASKED = re.compile(rb"(?:ifdef|defined)[ \t]*\(?[ \t]*(\w+)")
_DEFINE = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]*(\d{0,18})", re.M)
_COMPARED = re.compile(rb"\b([A-Za-z_]\w*)[ \t]*\)?[ \t]*(>=|==|>|<)[ \t]*\(?(\d{1,18})\b")
_DEFINED = re.compile(
    rb"__(?:linux|unix|GNUC|clang|cplusplus|x86_64|SSE2|STDC|LP64|ELF)\w*|_POSIX\w*|linux|unix|__linux|HAVE_\w+|OS_LINUX"
)

Branch = tuple[int, int, int]
"""Start of its directive, end of its text, start of its text."""
Group = list[Branch]


def blank(text: bytearray, start: int, end: int) -> None:
    """Spaces from one offset to another; line breaks stay."""
    text[start:end] = re.sub(rb"[^\r\n]", b" ", text[start:end])


def linked(source: bytes) -> bytes:
    """Without what would be wrong in any reading: ``extern "C" {`` by condition, a macro before a class's name."""
    if b"__cplusplus" not in source and b"class" not in source and b"struct" not in source:
        return source
    spans = [found.span() for found in _LINKAGE.finditer(source)] if b"__cplusplus" in source else []
    spans += [found.span(1) for found in _CLASS.finditer(source)]
    return _without(source, spans)


def _without(source: bytes, spans: Sequence[tuple[int, int]]) -> bytes:
    if not spans:
        return source
    text = bytearray(source)
    for start, end in spans:
        blank(text, start, end)
    return bytes(text)


def repaired(source: bytes, errors: Iterable[tuple[int, int]]) -> bytes:
    """Without macros beside the places that could not be read, and with one branch of each ``#if`` around them."""
    broken = sorted(errors)
    if not broken:
        return source
    lines = [_lines(source, start, end) for start, end in broken if end - start < _SMALL]
    text = bytearray(source)
    for start, end in _joined(lines):
        _unmask(text, start, end)
    for start, end in broken if text == source else ():
        if end - start < _SMALL and _MACRO.fullmatch(text, start, end):
            blank(text, start, end)
    for start, end in _dropped(source, broken):
        blank(text, start, end)
    return bytes(text)


def _lines(source: bytes, start: int, end: int) -> tuple[int, int]:
    """The lines of an error, the one before and the one behind: what is missing is often missed too late."""
    first = source.rfind(b"\n", 0, max(0, source.rfind(b"\n", 0, start))) + 1
    last = source.find(b"\n", source.find(b"\n", end) + 1)
    return first, len(source) if last < 0 else last + 1


def _joined(lines: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, end in sorted(lines):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _unmask(text: bytearray, start: int, end: int) -> None:
    """Blank out what is a macro by its place, in lines that could not be read; nothing in text that nobody wrote."""
    if max(map(len, text[start:end].split(b"\n"))) > _LONGEST:
        return
    for pattern in _PATTERNS:
        for match in list(pattern.finditer(text, start, end)):
            if pattern is _BETWEEN and re.fullmatch(_KEYWORD, match[1]) and match[1] not in _TYPES:
                continue
            blank(text, *match.span(2 if pattern is _BETWEEN else 1))
            if pattern is _PACKED:
                blank(text, *match.span(2))


_TYPES = (b"void", b"int", b"char", b"long", b"short", b"float", b"double", b"bool", b"unsigned", b"signed")


def _dropped(source: bytes, broken: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """What is outside of the branches that are kept, of all groups that errors lie in or that lie in errors."""
    found: list[tuple[int, int]] = []
    spans = _joined(broken)
    starts = [start for start, _ in spans]
    conditions = Conditions(source)
    for group in conditions.groups:
        start, end = group[0][0], group[-1][1]
        last = bisect_left(starts, end) - 1
        if last < 0 or spans[last][1] < start or not _uneven(source, group):
            continue
        kept = conditions.chosen(group)
        found += [(branch[0], branch[2]) for branch in group]
        found += [(branch[0], branch[1]) for branch in group if branch is not kept]
    return found


def _uneven(source: bytes, group: Group) -> bool:
    """Whether a branch opens more brackets than it closes, or holds a part of a statement."""
    for _, end, begin in group:
        if end - begin > _WHOLE:
            continue
        text = source[begin:end]
        if text.count(b"{") != text.count(b"}") or text.count(b"(") != text.count(b")"):
            return True
        last = text.rstrip()[-1:]
        if last and last not in b';}/:>"' and not text.rstrip().rpartition(b"\n")[2].lstrip().startswith(b"#"):
            return True
    return False


class Conditions:
    """The ``#if`` of a text: ``groups`` of branches, and which of them a compiler on Linux takes most likely.

    Names of other systems are not defined there; others are where the file defines them, or where nothing else is.
    """

    def __init__(self, source: bytes) -> None:
        self._source = source
        self.groups = _groups(source) if b"#" in source else []
        self._defined: dict[bytes, bytes] = {}
        for found in _DEFINE.finditer(source) if self.groups else ():
            self._defined.setdefault(found[1], found[2])

    def chosen(self, group: Group) -> Branch | None:
        """The branch that is taken; None where it is none of them."""
        likely: Branch | None = None
        for branch in group[:-1]:
            line = self._source[branch[0] : min(branch[2], branch[0] + _LONGEST)]
            if b"ifndef" in line or b"!" in line or b"else" in line:
                return branch
            if _ELSEWHERE.search(line) is not None or not self._holds(line):
                continue
            names = _ASKED.findall(line)
            if not names or any(_DEFINED.fullmatch(name) or name in self._defined for name in names):
                return branch
            likely = likely or branch
        return likely

    def _holds(self, line: bytes) -> bool:
        """Whether a comparison in a condition may hold, by what the file defines."""
        for found in _COMPARED.finditer(line):
            given = self._defined.get(found[1], b"")
            if given.isdigit() and b"||" not in line:
                value, bound = int(given), int(found[3])
                if not {b">=": value >= bound, b">": value > bound, b"==": value == bound, b"<": value < bound}[
                    found[2]
                ]:
                    return False
        return True

    def unlikely(self) -> list[tuple[int, int]]:
        """The branches that are not taken, from directive to directive."""
        found = []
        for group in self.groups:
            kept = self.chosen(group)
            found += [(branch[2], branch[1]) for branch in group[:-1] if branch is not kept]
        return found


def _groups(source: bytes) -> list[Group]:
    """The branches of all conditions, ``#endif`` last."""
    done: list[Group] = []
    around: list[Group] = []
    for found in _DIRECTIVE.finditer(source):
        word = found[1]
        if word.startswith(b"if"):
            around.append([(found.start(), 0, found.end())])
        elif around:
            group = around[-1]
            group[-1] = (group[-1][0], found.start(), group[-1][2])
            group.append((found.start(), found.end(), found.end()))
            if word == b"endif":
                done.append(around.pop())
    return done
