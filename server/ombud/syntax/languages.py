"""Which language a file is written in, from its name and, where that does not say, from its first line.

The table itself is ``languages.toml`` beside this file. Language ids are those of LSP's ``TextDocumentItem``
(LSP 3.17, "Text Document Language Identifiers") and, for languages without a registered one, what the language's own
servers expect. Nothing here reads the file: a caller that wants a script without an extension recognised passes its
first line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path, PurePath

import msgspec

_TABLE = "languages.toml"
_SHEBANG_LIMIT = 512
"""Bytes of a first line that are looked at; the kernel itself reads fewer."""


class Language(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the table; every list may be empty. See the head of ``languages.toml`` for what each one means."""

    extensions: tuple[str, ...] = ()
    filenames: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()
    shebangs: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


class _Globs:
    """All shell patterns of the table as one expression, so that a file costs one match and not one for each."""

    def __init__(self, rows: list[tuple[str, str]]) -> None:
        import fnmatch

        self._languages = [language for _, language in rows]
        parts = (f"({fnmatch.translate(pattern)})" for pattern, _ in rows)
        self._match = re.compile("|".join(parts)).match if rows else None

    def find(self, text: str) -> str | None:
        found = self._match(text) if self._match is not None else None
        return self._languages[found.lastindex - 1] if found is not None and found.lastindex else None


class LanguageTable:
    """The table, indexed. ``languages`` maps an id to its `Language`, in the table's order."""

    def __init__(self, languages: Mapping[str, Language]) -> None:
        self.languages = languages
        self._extensions: dict[str, str] = {}
        self._filenames: dict[str, str] = {}
        self._shebangs: dict[str, str] = {}
        self._prefixes: list[tuple[str, str]] = []
        self._aliases: dict[str, str] = {}
        names: list[tuple[str, str]] = []
        tails: list[tuple[str, str]] = []
        for name, row in languages.items():
            self._extensions.update(dict.fromkeys(row.extensions, name))
            self._filenames.update(dict.fromkeys(row.filenames, name))
            self._shebangs.update(dict.fromkeys(row.shebangs, name))
            self._prefixes.extend((prefix, name) for prefix in row.prefixes)
            self._aliases.update(dict.fromkeys(row.aliases, name))
            for pattern in row.globs:
                (tails if "/" in pattern else names).append((pattern, name))
        # The folded spelling answers only where no row has written that very case.
        self._folded_names = {name.casefold(): language for name, language in self._filenames.items()}
        self._folded_ids = {name.casefold(): name for name in languages}
        self._name_globs = _Globs(names)
        self._tail_globs = _Globs(tails)
        self._tail_parents = {pattern.split("/")[-2] for pattern, _ in tails}

    def canonical(self, language: str) -> str:
        """The table's id for another spelling of it (``sh`` → ``shellscript``); an unknown one is given back as is.

        Compound file types, as Neovim sends them (``yaml.ansible``, ``jinja.html``), fall back on a known part.
        """
        if language in self.languages:
            return language
        folded = language.casefold()
        found = self._aliases.get(folded) or self._folded_ids.get(folded)
        if found is None and "." in folded:
            parts = folded.split(".")
            found = next(filter(None, map(self._known, (parts[0], *reversed(parts)))), None)
        return found or language

    def _known(self, word: str) -> str | None:
        return self._folded_ids.get(word) or self._aliases.get(word)

    def of_name(self, name: str, parent: str = "") -> str | None:
        """The language of a file's name; ``parent`` is its folder's name. Exact name, glob, longest extension."""
        if parent in self._tail_parents and (found := self._tail_globs.find(f"{parent}/{name}")):
            return found
        found = self._filenames.get(name) or self._name_globs.find(name) or self._folded_names.get(name.casefold())
        if found:
            return found
        # A leading dot hides a file and starts no extension, unless nothing else is there to tell (`.env`).
        start = name.find(".", 1)
        while start != -1:
            extension = name[start:]
            found = self._extensions.get(extension) or self._extensions.get(extension.lower())
            if found:
                return found
            start = name.find(".", start + 1)
        return self._extensions.get(name) if name.startswith(".") else None

    def of_first_line(self, line: bytes) -> str | None:
        """The language that a first line names: a ``#!`` interpreter, or a telling beginning such as ``<?xml``."""
        text = line[:_SHEBANG_LIMIT].removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").partition("\n")[0].strip()
        if text.startswith("#!"):
            return self._of_interpreter(text[2:].split())
        folded = text.casefold()
        return next((language for prefix, language in self._prefixes if folded.startswith(prefix)), None)

    def _of_interpreter(self, words: list[str]) -> str | None:
        """``words`` follow ``#!``. ``env`` is looked through: its options and assignments are skipped."""
        if words and _program(words[0]) == "env":
            words = words[1:]
            while words and (words[0].startswith("-") or "=" in words[0]):
                option = words.pop(0)
                if option.startswith("-S") and len(option) > 2:
                    words.insert(0, option[2:])
                elif option in ("-u", "--unset", "-C", "--chdir") and words:
                    words.pop(0)
        if not words:
            return None
        program = _program(words[0])
        return self._shebangs.get(program) or self._shebangs.get(re.sub(r"-?[0-9][0-9.]*$", "", program))


def _program(word: str) -> str:
    return word.replace("\\", "/").rpartition("/")[2].removesuffix(".exe")


@lru_cache(maxsize=1)
def load_languages() -> LanguageTable:
    """The package's table. Read and indexed at the first call (about 10 ms), then kept."""
    import tomllib

    rows = tomllib.loads(Path(__file__).with_name(_TABLE).read_text("utf-8"))
    return LanguageTable(msgspec.convert(rows, dict[str, Language]))


@lru_cache(maxsize=8192)
def _of_name(name: str, parent: str) -> str | None:
    return load_languages().of_name(name, parent)


def language_of(path: PurePath, first_line: bytes | None = None) -> str | None:
    """The LSP language id of ``path`` (only its name and its folder's name are looked at), or None if unknown.

    ``first_line``, as bytes, settles files whose name says nothing (``#!/usr/bin/env python3``); it never overrules
    a name that says something.
    """
    found = _of_name(path.name, path.parent.name)
    if found is None and first_line:
        return load_languages().of_first_line(first_line)
    return found


def canonical(language: str) -> str:
    """See `LanguageTable.canonical`."""
    return load_languages().canonical(language)


def is_known(language: str) -> bool:
    """Whether ``language`` is an id of the table (no alias)."""
    return language in load_languages().languages
