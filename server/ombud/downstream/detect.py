"""Which servers are for a file: those that claim it, have a root above it, and have an executable that may run.

The order of the questions is that of their cost: the language, then markers (a folder listing each), then one
command lookup for each candidate; all are remembered until `Detector.invalidate` (P9). Nothing is ever started to
find out (P10), and each absence has its reason in a sentence.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ombud.downstream import shims
from ombud.downstream.catalogue import ANY_LANGUAGE, Catalogue, ServerEntry
from ombud.downstream.fill import Values, filled
from ombud.downstream.project import APPEARING
from ombud.downstream.roots import Found, Lost, Roots
from ombud.guard.commands import CommandCache, Resolved, Unresolved
from ombud.guard.trust import Trust
from ombud.syntax.languages import canonical, is_known, language_of

if TYPE_CHECKING:
    from ombud.downstream.survey import Survey, SurveyLimits

DetectedState = Literal["available", "missing_marker", "missing_binary", "not_trusted", "disabled"]

PLAIN = "plaintext"
"""What clients call a file that they know nothing about."""
_FIRST_LINE = 256
_MOST_SHIMS = 8


@dataclass(frozen=True, slots=True)
class Detected:
    """A server that claims a file, and whether it could serve it.

    ``entry`` has its ``${…}`` filled in for ``root``. ``root`` is the workspace folder where no root was found.
    ``marker`` is the name found in the root, None when nothing but the folder marks it. ``reason`` is a sentence.
    """

    entry: ServerEntry
    root: Path
    marker: str | None
    resolved: Resolved | None
    state: DetectedState
    reason: str


class Detector:
    """See the module. ``folders`` are real paths; ``path`` is the search path for commands (default: PATH).

    ``trusts`` says for each folder what may run for the files in it (T4, T5); one that is missing there has ``trust``.
    ``catalogues`` are those of folders with rows of their own. ``environment`` is the session's, and ``interpreter``
    the Python that its client has named.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        folders: Sequence[Path],
        trust: Trust,
        cache: CommandCache | None = None,
        *,
        path: str | None = None,
        trusts: Mapping[Path, Trust] | None = None,
        catalogues: Mapping[Path, Catalogue] | None = None,
        environment: Mapping[str, str] | None = None,
        interpreter: str | None = None,
    ) -> None:
        self.catalogue = catalogue
        self.trust = trust
        self._trusts = dict(trusts or {})
        self._catalogues = dict(catalogues or {})
        self._environment = dict(environment or {})
        self._interpreter = interpreter
        self.roots = Roots(folders)
        self._commands = cache if cache is not None else CommandCache()
        self._search_path = os.environ.get("PATH", os.defpath) if path is None else path
        self._real: dict[Path, Path] = {}
        self._entries: dict[tuple[str, Path], ServerEntry] = {}
        self._known: dict[tuple[Path, str, tuple[str, ...]], tuple[Detected, ...]] = {}
        self._markers = _names_of_markers(entry for one in (catalogue, *self._catalogues.values()) for entry in one)

    @property
    def folders(self) -> tuple[Path, ...]:
        return self.roots.folders

    def invalidate(self) -> None:
        """Forget everything: markers have come or gone, something was installed, or trust was given."""
        self.roots.clear()
        self._commands.clear()
        self._real.clear()
        self._entries.clear()
        self._known.clear()

    def notice(self, path: Path) -> bool:
        """A file was created, deleted or changed. Invalidates, and says so, when it is a marker of any server."""
        name = path.name
        if name in self._markers[0] or any(fnmatchcase(name, glob) for glob in self._markers[1]):
            self.invalidate()
            return True
        return False

    def for_path(self, path: Path, language: str | None = None) -> tuple[Detected, ...]:
        """The servers that claim ``path``, by priority, each with its state. Empty for a file outside the workspace.

        ``path`` is absolute and need not exist. ``language`` is what the client calls it; without it the name decides,
        and where the name says nothing the file's first line.
        """
        directory = self._real_parent(path)
        folder = self.roots.folder_of(directory)
        if folder is None:
            return ()
        return self.in_folder(directory, folder, path.name, self.language(path, language))

    def language(self, path: Path, said: str | None = None) -> str | None:
        """The language id of a file: the client's word (any spelling), its name, or its first line on disk.

        A word that nobody knows says less than the name: Emacs calls HTML ``mhtml``, after its own mode for it.
        """
        if said is not None and said != PLAIN:
            word = canonical(said)
            return word if self._is_known(word) else language_of(path) or word
        named = language_of(path)
        if named is not None:
            return said or named
        if self.roots.folder_of(self._real_parent(path)) is None:
            return said
        line = first_line(path)
        return (language_of(path, line) if line else None) or said

    def _is_known(self, language: str) -> bool:
        return is_known(language) or any(one.speaks(language) for one in (self.catalogue, *self._catalogues.values()))

    def in_folder(self, directory: Path, folder: Path, name: str, language: str | None) -> tuple[Detected, ...]:
        """As `for_path`, for a file called ``name`` in ``directory`` (real) of the workspace folder ``folder``."""
        claiming = self.catalogue_of(folder).claiming(language, name)
        key = (directory, language or name, tuple(entry.name for entry in claiming))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._detect(claiming, directory, folder, language or name)
        return known

    def again(self, name: str, root: Path) -> Detected | None:
        """As `for_path`, for a server by its name and a root that was found for it; None where there is no such one.

        Markers and alternatives are not asked: this is about a server that works already.
        """
        folder = self.roots.folder_of(root)
        entry = self.catalogue_of(folder).get(name) if folder is not None else None
        if entry is None or folder is None:
            return None
        if entry.disabled:
            return Detected(entry, root, None, None, "disabled", _switched_off(entry))
        return self._with_command(self._filled(entry, root), Found(root, None), root, folder)

    def catalogue_of(self, folder: Path) -> Catalogue:
        """The catalogue for the files of a workspace folder."""
        return self._catalogues.get(folder, self.catalogue)

    def values(self, name: str, root: Path) -> Values:
        """What ``${…}`` stand for in the row of a server at one root."""
        folder = self.roots.folder_of(root) or root
        return Values(
            name,
            root,
            folder,
            self.roots,
            self._trust_of(folder),
            environment=self._environment,
            said=self._interpreter,
            path=self._search_path,
        )

    def survey(self, limits: SurveyLimits | None = None) -> Survey:
        """Which languages this checkout has, and every server that claims one of them; see `survey`."""
        from ombud.downstream.survey import survey

        return survey(self, limits)

    def _detect(
        self, claiming: Sequence[ServerEntry], directory: Path, folder: Path, language: str
    ) -> tuple[Detected, ...]:
        """All candidates of one file, the best first: of each group of alternatives one may be the default."""
        chosen: dict[str, str] = {}
        out = []
        for entry in claiming:
            winner = chosen.get(entry.alternatives or "") if entry.disabled is None else None
            detected = self._examine(entry, directory, folder, language, winner)
            if detected.state == "missing_marker" and ANY_LANGUAGE in entry.languages:
                # A server for every language is only about the projects that have its configuration.
                continue
            if detected.state == "available" and entry.alternatives:
                chosen.setdefault(entry.alternatives, entry.name)
            out.append(detected)
        return tuple(out)

    def _examine(
        self, entry: ServerEntry, directory: Path, folder: Path, language: str, winner: str | None
    ) -> Detected:
        if entry.disabled:
            return Detected(entry, folder, None, None, "disabled", _switched_off(entry))
        found = self.roots.find(entry, directory, folder)
        if isinstance(found, Lost):
            return Detected(entry, folder, None, None, "missing_marker", found.reason)
        if winner is not None:
            reason = f"{winner} is used for {language}; enable with servers.{entry.name}.disabled = false."
            return Detected(entry, found.root, found.marker, None, "disabled", reason)
        return self._with_command(self._filled(entry, found.root), found, directory, folder)

    def _with_command(self, entry: ServerEntry, found: Found, directory: Path, folder: Path) -> Detected:
        """The verdict on an entry whose root is known. Trust comes last: nobody is asked about what cannot start."""
        trust = self._trust_of(folder)
        answer = self._resolve(entry, found.root, trust)
        if isinstance(answer, Unresolved):
            state: DetectedState = "not_trusted" if answer.not_trusted else "missing_binary"
            reason = answer.reason if answer.not_trusted else f"{_bare(answer.reason)}: {_end(entry.install)}"
            return Detected(entry, found.root, found.marker, None, state, reason)
        if entry.requires and self.roots.above(directory, folder, entry.requires) is None:
            reason = (
                f"{entry.name} drives the project's own {Path(entry.requires[0]).name}, and there is no "
                f"{entry.requires[0]} above the file: install it in the project."
            )
            return Detected(entry, found.root, found.marker, answer, "missing_binary", reason)
        if any(self.values(entry.name, found.root)(name) is None for name in entry.must_fill):
            reason = f"{entry.name} lacks what it is there for: {_end(entry.install)}"
            return Detected(entry, found.root, found.marker, answer, "missing_binary", reason)
        if entry.runs_workspace_code and not trust.allows_workspace_code:
            reason = f"{entry.name} can run code of the workspace. {trust.explanation}"
            return Detected(entry, found.root, found.marker, answer, "not_trusted", reason)
        marked = f"{found.marker} marks its root" if found.marker else "It needs no marker"
        reason = f"{marked}, and its command is {answer.executable}. {answer.note}".strip()
        return Detected(entry, found.root, found.marker, answer, "available", reason)

    def _trust_of(self, folder: Path) -> Trust:
        return self._trusts.get(folder, self.trust)

    def _resolve(self, entry: ServerEntry, root: Path, trust: Trust) -> Resolved | Unresolved:
        """The first of the entry's commands that can start; else the most telling absence."""
        absent: Unresolved | None = None
        for command in entry.commands:
            answer = self._lookup(entry, command, root, trust)
            if isinstance(answer, Resolved):
                return answer
            if absent is None or (answer.not_trusted and not absent.not_trusted):
                absent = answer
        return absent or Unresolved(f"{entry.name} has no command.")

    def _lookup(self, entry: ServerEntry, command: Sequence[str], root: Path, trust: Trust) -> Resolved | Unresolved:
        """One candidate. A stand-in that cannot be the server is passed over for the next of its name on PATH."""
        search_path = self._search_path
        passed_over: Unresolved | None = None
        for _ in range(_MOST_SHIMS):
            answer = self._commands.resolve(
                command,
                root=root,
                folders=self.folders,
                trust=trust,
                path=search_path,
                from_user_configuration=entry.from_user,
            )
            if isinstance(answer, Unresolved):
                return passed_over or answer
            sentence = shims.trouble(entry, answer)
            if sentence is None:
                return answer
            passed_over = passed_over or Unresolved(sentence)
            shorter = _without(search_path, answer.executable.parent)
            if shorter == search_path:
                break
            search_path = shorter
        return passed_over or Unresolved(f"{command[0]} is not on PATH.")

    def _filled(self, entry: ServerEntry, root: Path) -> ServerEntry:
        key = (entry.name, root)
        known = self._entries.get(key)
        if known is None:
            known = self._entries[key] = filled(entry, self.values(entry.name, root))
        return known

    def _real_parent(self, path: Path) -> Path:
        """The real folder of a file, which need not exist. Links are resolved, so that none leads outside (F2)."""
        parent = path.parent
        real = self._real.get(parent)
        if real is None:
            real = self._real[parent] = Path(os.path.realpath(parent))
        return real


def first_line(path: Path) -> bytes | None:
    """The beginning of an ordinary file, at most 256 bytes; None for anything else. Links are not followed."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        handle = os.open(path, flags)
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        return os.read(handle, _FIRST_LINE)
    except OSError:
        return None
    finally:
        os.close(handle)


def _switched_off(entry: ServerEntry) -> str:
    return f"It is switched off in the configuration (servers.{entry.name}.disabled)."


def _names_of_markers(catalogue: Iterable[ServerEntry]) -> tuple[frozenset[str], frozenset[str]]:
    """The last components of everything that decides about roots: whole names, and globs."""
    names: set[str] = set(APPEARING)
    for entry in catalogue:
        climbs = tuple(marker for climb in entry.root_climbs for marker in climb.to)
        all_of_it = (entry.markers, entry.weak_markers, entry.exclude_markers, entry.exclude_nearer, entry.requires)
        for marker in (*climbs, *(marker for group in all_of_it for marker in group)):
            names.add(marker.partition("#")[0].rpartition("/")[2])
    globs = {name for name in names if any(char in name for char in "*?[")}
    return frozenset(names - globs), frozenset(globs)


def _without(search_path: str, directory: Path) -> str:
    return os.pathsep.join(entry for entry in search_path.split(os.pathsep) if Path(entry) != directory)


def _bare(sentence: str) -> str:
    return sentence.removesuffix(".")


def _end(sentence: str) -> str:
    return sentence if sentence.endswith(".") else f"{sentence}."
