"""What names say: the parts they are made of, the languages that share them, and which files hold tests."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ombud.graph import facts, resolve

CALLABLE = frozenset({facts.CLASS_KIND, facts.STRUCT, facts.FUNCTION, facts.METHOD, facts.CONSTRUCTOR, facts.MACRO})
"""Kinds that a call may mean when its name is all that is known."""
TYPES = frozenset({facts.CLASS_KIND, facts.INTERFACE, facts.ENUM, facts.STRUCT, facts.TRAIT})

_CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__", "constructor", "__construct", "initialize", "init"})
"""Names that construct where they stand in a type, `initialize` (Ruby) and `init` (Swift) among them."""

TRIGRAM = 3
"""Characters from which on a part of a name can be looked up."""
HUMPS = 24
"""Initials of a name that are kept."""

_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z]*|[a-z]+|\d+")
_WORD = re.compile(r"[^\W_]+")
_TEST_FOLDERS = frozenset({"test", "tests", "__tests__", "testing", "spec", "specs", "__test__", "testdata", "e2e"})
_TEST_NAME = re.compile(
    r"test_.*|.*_tests?\.\w+|tests\.\w+|test\.(?!py\b)\w+|.*[._](?:test|spec|e2e)\.\w+|.*_spec\.\w+|conftest\.py|"
    r"(?:[A-Z]\w*)?(?:Tests?|TestCase|IT|Spec)\.(?:java|kt|kts|cs|php|scala|swift)"
)


def family(language: str) -> frozenset[str]:
    """The languages whose symbols a name in ``language`` may mean."""
    mine = resolve.family(language)
    return frozenset({language, *(other for other, name in resolve.FAMILIES.items() if name == mine)})


def humps(name: str) -> list[str]:
    """``getUserByName`` and ``get_user_by_name`` → four parts each; ``HTTPServer`` → ``HTTP``, ``Server``."""
    if name.isascii():
        return _HUMP.findall(name)
    # No expression knows the capitals of all scripts: those of the name become the nearest thing in ASCII.
    found = []
    for word in _WORD.finditer(name):
        plain = "".join(map(_plain, word[0]))
        found += [word[0][part.start() : part.end()] for part in _HUMP.finditer(plain)]
    return found


def _plain(letter: str) -> str:
    return letter if letter.isascii() else "A" if letter.isupper() else "1" if letter.isdigit() else "a"


def initials(parts: Iterable[str]) -> str:
    """The first letters of parts, in lower case."""
    return "".join(part[0] for part in parts)[:HUMPS].lower()


def constructs(name: str, kind: int, container: int) -> bool:
    """Whether a symbol is run by a call of its ``container`` (a kind)."""
    return kind == facts.CONSTRUCTOR or (
        kind in (facts.METHOD, facts.FUNCTION) and container in TYPES and name in _CONSTRUCTORS
    )


def is_test(path: str) -> bool:
    """Whether a file holds tests, by the usual folders and names of the test runners."""
    *folders, name = path.split("/")
    return not _TEST_FOLDERS.isdisjoint(folders) or _TEST_NAME.fullmatch(name) is not None
