"""One worker's part of the files, and what it does with them: list, read, parse, match. Knows no process.

Every generator here yields between two files, so that whoever runs it can listen to others meanwhile, or leave it. A
file belongs to one shard by its path, so that each keeps the trees of its own files and of no others.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import msgspec

from ombud.errors import UserError
from ombud.structural.globs import Globs
from ombud.structural.memory import Held, Memory
from ombud.structural.messages import PARSING, READING, Find, Rewrite, Root
from ombud.syntax import source as sources
from ombud.syntax.grammars import GRAMMARS, parser
from ombud.syntax.languages import load_languages
from ombud.workspace.listing import NONE, Entry, Listing, stamp_of

if TYPE_CHECKING:
    from tree_sitter import Tree

    from ombud.structural.compiled import Compiled
    from ombud.structural.query import Query

_LISTINGS = 16
_QUERIES = 8
"""Questions whose answers are remembered."""
_PATTERNS = 64
MOST_ERRORS = 200
"""Errors of a file that are looked at."""
ANSWERS = 0.15
"""The share of the memory that remembered answers may take."""

Key = tuple[int, tuple[str, ...]]
"""The order of files: the number of the root, and the names of the path."""


class Candidate(NamedTuple):
    """A file to be looked at. ``reason`` says why it is not; ``text`` is a client's in place of the disk's."""

    root: int
    path: str
    language: str
    reason: str
    named: bool = False
    text: bytes | None = None


def key_of(root: int, path: str) -> Key:
    return root, tuple(path.split("/"))


class Shard:
    """``number`` of ``count``. ``memory`` is in bytes, ``largest`` the bytes of a file that is parsed.

    ``at`` is told what is being done, before anything that could be the last.
    """

    def __init__(
        self,
        number: int,
        count: int,
        memory: int,
        *,
        largest: int = sources.LARGEST,
        at: Callable[[bytes, str], None] = lambda _what, _path: None,
    ) -> None:
        self.number = number
        self._count = count
        self._largest = largest
        self.at = at
        self.memory = Memory(memory - int(memory * ANSWERS))
        self._listings: OrderedDict[tuple[str, tuple[str, ...], tuple[str, ...]], Listing] = OrderedDict()
        self._compiled: OrderedDict[tuple[bytes, str], Compiled | UserError] = OrderedDict()
        self._answers: OrderedDict[bytes, Answers] = OrderedDict()
        self._answers_limit = int(memory * ANSWERS)

    # -- files --------------------------------------------------------------------------------------------------

    def candidates(
        self, ask: Find | Rewrite, languages: frozenset[str], notes: list[str], *, look: bool = True
    ) -> Iterator[Candidate]:
        """The files of this shard in their order; those that are left out are told by the first shard.

        Texts that clients have open and that are no files yet come first, in an order of their own.
        """
        globs = Globs(ask.globs)
        opened = {(one.root, one.path): one for one in ask.opened}
        for (number, path), one in sorted(opened.items(), key=lambda item: key_of(*item[0])):
            root = ask.roots[number]
            if stamp_of(f"{root.path}/{path}") == NONE and (root.file or globs.let_in(path)) and self._owns(path):
                yield Candidate(number, path, root.language or one.language, "", named=True, text=one.text)
        for number, root in enumerate(ask.roots):
            listing = self._listing(root)
            for path, by_name, reason in self._entries(root, listing, look):
                buffer = opened.get((number, path)) if opened else None
                language = buffer.language if buffer is not None and not root.language else by_name
                if language and language not in languages:
                    continue
                if globs and not root.file and not globs.let_in(path):
                    continue
                if reason:
                    if not self.number:
                        yield Candidate(number, path, language, reason)
                elif not root.file or self._owns(path):
                    yield Candidate(number, path, language, "", root.file, buffer.text if buffer is not None else None)
            if listing.note and listing.note not in notes:
                notes.append(listing.note)

    def _entries(self, root: Root, listing: Listing, look: bool) -> Iterator[Entry]:
        if not root.file:
            return listing.walk(root.start, look=look)
        folder, _, name = root.start.rpartition("/")
        language = root.language or _language_of(name, folder.rpartition("/")[2]) or ""
        return iter([Entry(root.start, language, "")])

    def _owns(self, path: str) -> bool:
        return crc32(path.encode()) % self._count == self.number

    def _listing(self, root: Root) -> Listing:
        key = root.path, tuple(root.add), tuple(root.allow)
        found = self._listings.get(key)
        if found is None:
            found = self._listings[key] = Listing(root.path, _language_of, root.add, root.allow, self._owns)
            if len(self._listings) > _LISTINGS:
                self._listings.popitem(last=False)
        self._listings.move_to_end(key)
        return found

    # -- one file -----------------------------------------------------------------------------------------------

    def held(self, root: Root, candidate: Candidate) -> Held:
        other = "\0" + candidate.language if root.language else ""
        mark = "\0opened" if candidate.text is not None else ""
        return self.memory.of(root.path, candidate.path + other + mark)

    def text(self, held: Held, root: Root, candidate: Candidate, *, look: bool = True) -> bytes | None:
        """The source of a file as it is now; None with the ``reason`` in ``held``. Its language is there as well.

        Without ``look`` what is known of it is believed.
        """
        if candidate.text is not None:
            return self._take(held, candidate, candidate.text, "")
        if not look and held.content is not None and (held.reason or held.source is not None):
            return held.source
        whole = root.path.rstrip("/") + "/" + candidate.path
        if held.sure and held.stamp == stamp_of(whole):
            if held.reason:
                return None
            if held.source is not None:
                return held.source
        read = sources.read(root.path, candidate.path, self._largest)
        held.stamp, held.sure = read.stamp, read.sure
        if read.reason == sources.HUGE and self._largest != sources.LARGEST:
            return self._take(held, candidate, b"", f"larger than {self._largest // 1000} KB")
        if read.reason:
            return self._take(held, candidate, b"", read.reason)
        found = sources.source(read.data)
        if found is None:
            return self._take(held, candidate, b"", sources.BINARY)
        return self._take(held, candidate, found, "")

    def _take(self, held: Held, candidate: Candidate, text: bytes, reason: str) -> bytes | None:
        content = len(text), hash(text), reason, candidate.named
        if content != held.content:
            self.memory.new_content(held)
            held.content = content
            held.language = candidate.language or load_languages().of_first_line(text[:512]) or ""
            if not reason and not candidate.named and sources.is_minified(text, held.language):
                reason = sources.MINIFIED
            held.reason = reason
        if held.reason:
            return None
        if held.source is None:
            self.memory.keep_source(held, text)
        return text

    def tree(self, held: Held, path: str, text: bytes) -> Tree:
        """The tree of a file's source, or of one that the grammar knows better (`parsed`)."""
        self.memory.used(held)
        if held.tree is not None:
            return held.tree
        self.at(PARSING, path)
        tree, held.softened = parsed(held.language, text)
        held.flawed = tree.root_node.has_error
        self.memory.keep_tree(held, tree)
        return tree

    def plain_tree(self, held: Held, path: str, text: bytes) -> Tree:
        """The tree of the very source, errors and all."""
        tree = self.tree(held, path, text)
        return parser(GRAMMARS[held.language]).parse(text) if held.softened else tree

    # -- patterns -----------------------------------------------------------------------------------------------

    def compiled(self, query: Query, language: str) -> Compiled | UserError:
        from ombud.structural.compiled import compile_query

        key = msgspec.msgpack.encode(query), language
        found = self._compiled.get(key)
        if found is None:
            self.at(READING, language)
            try:
                found = compile_query(query, language)
            except UserError as error:
                found = error
            self._compiled[key] = found
            if len(self._compiled) > _PATTERNS:
                self._compiled.popitem(last=False)
        self._compiled.move_to_end(key)
        return found

    def answers(self, query: Query) -> Answers:
        """What is known of the files for a query."""
        key = msgspec.msgpack.encode(query)
        found = self._answers.setdefault(key, Answers(self._room_for))
        self._answers.move_to_end(key)
        if len(self._answers) > _QUERIES:
            self._answers.popitem(last=False)
        return found

    def _room_for(self, answers: Answers, more: int) -> bool:
        """Whether pages of ``more`` bytes fit in, once those of queries that were asked longer ago are forgotten."""
        used = sum(one.size for one in self._answers.values())
        for key, one in list(self._answers.items()):
            if used + more <= self._answers_limit or one is answers:
                break
            used -= one.size
            del self._answers[key]
        return used + more <= self._answers_limit


class Answer(NamedTuple):
    """What came of a query in one file. ``version`` is that of the content, ``rung`` the number of the reading.

    ``page`` are its hits as they are sent, with ``context`` lines, for the root of number ``root``; None where they
    are not kept. ``parsed`` says that the file had to be parsed for it.
    """

    version: int
    rung: int
    matches: int
    parsed: bool
    page: bytes | None = None
    root: int = 0
    context: int = 0


class Answers(dict[Held, Answer]):
    """By file, for one query. ``size`` is in bytes, of the pages; ``room`` is asked whether there is as much more."""

    def __init__(self, room: Callable[[Answers, int], bool]) -> None:
        super().__init__()
        self._has_room = room
        self.size = 0

    def put(self, held: Held, answer: Answer) -> None:
        former = self.get(held)
        self.size -= len(former.page or b"") if former is not None else 0
        kept = answer if self._has_room(self, len(answer.page or b"")) else answer._replace(page=None)
        self.size += len(kept.page or b"")
        self[held] = kept


def parsed(language: str, text: bytes) -> tuple[Tree, bool]:
    """The tree of a source. What its grammar does not know is put in words that it does, of the same length, where
    that is known; whether it was so."""
    reader = parser(GRAMMARS[language])
    tree = reader.parse(text)
    if not tree.root_node.has_error:
        return tree, False
    from ombud.syntax.parse import soften

    try:
        softened = soften(language, text.decode()).encode()
    except UnicodeError:
        return tree, False
    if len(softened) != len(text) or not _helps(tree, text, softened):
        return tree, False
    other = reader.parse(softened)
    return (tree, False) if other.root_node.has_error else (other, True)


def _helps(tree: Tree, text: bytes, softened: bytes) -> bool:
    """Whether anything was changed near an error: to parse a text with errors once more is slow."""
    lines = zip(text.split(b"\n"), softened.split(b"\n"), strict=False)
    changed = [number for number, (old, new) in enumerate(lines) if old != new]
    if not changed:
        return False
    errors: list[tuple[int, int]] = []
    stack = [tree.root_node]
    while stack and len(errors) < MOST_ERRORS:
        node = stack.pop()
        if node.is_error or node.is_missing:
            errors.append((node.start_point.row - 1, node.end_point.row + 1))
        else:
            stack += [child for child in node.children if child.has_error or child.is_missing]
    return any(first <= number <= last for first, last in errors for number in changed)


@lru_cache(maxsize=32_768)
def _language_of(name: str, parent: str) -> str | None:
    found = load_languages().of_name(name, parent)
    if found is None:
        return None if "." in name else ""
    return found if found in GRAMMARS else None
