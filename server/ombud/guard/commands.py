"""From a command as somebody wrote it to one absolute executable, or to the sentence that says why there is none.

No shell, no current folder, no relative entry of PATH (T8). What lies in the workspace, by its own name, by what it
leads to or by a link on the way, is the repository's code and needs trust (T1, T2, T5, T7). Nothing is started
here: a found executable is a candidate until its server has answered ``initialize`` (P10).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ombud.errors import Refused
from ombud.guard.trust import Trust

__all__ = ["GIT_ENVIRONMENT", "CommandCache", "Resolved", "Unresolved", "git_command", "resolve_command"]

_WINDOWS = os.name == "nt"
# Where projects keep the tools that they pin, nearest first; of Python's folder Windows spells the name differently.
_LOCAL_FOLDERS = (
    (".venv/Scripts", "venv/Scripts", "node_modules/.bin")
    if _WINDOWS
    else (".venv/bin", "venv/bin", "node_modules/.bin")
)
_WINDOWS_SUFFIXES = (".exe", ".com", ".cmd", ".bat")
# What cmd.exe gives a meaning even within quotes; CreateProcess starts it for a batch file (CVE-2024-27980).
_BATCH_META = frozenset('"%^&|<>()!\r\n')
_MOST_LINKS = 40


@dataclass(frozen=True, slots=True)
class Resolved:
    """A command that can be started as it stands.

    ``argv``: the absolute executable, then the arguments as given. ``executable`` keeps the name under which it was
    found (a virtual environment's ``python`` is told apart by it), ``real`` has all links resolved. ``local``: it
    belongs to the workspace. ``note``: a sentence when a better candidate was passed over, for want of trust or because
    it cannot run, else empty.
    """

    argv: tuple[str, ...]
    executable: Path
    real: Path
    local: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class Unresolved:
    """Why a command cannot be started. ``not_trusted``: it is there, and trust is what it wants."""

    reason: str
    not_trusted: bool = False


def resolve_command(
    command: Sequence[str],
    *,
    root: Path,
    folders: Sequence[Path],
    trust: Trust,
    path: str | None = None,
    from_user_configuration: bool = False,
) -> Resolved | Unresolved:
    """Find the executable of a command for a server with this root in these (real) workspace folders.

    The first word is a bare name, looked up in ``.venv/bin``, ``venv/bin`` and ``node_modules/.bin`` from the root
    up to its workspace folder and then in ``path`` (default: the environment's PATH); or a path with a slash,
    looked up from the root upward and always local; or an absolute path; ``~`` is the user's home. The first
    candidate that can run and may run wins. Never raises for a bad command: that is an ``Unresolved``, too.

    ``from_user_configuration`` only changes the words: also a path that the user wrote needs trust when it leads
    into the workspace, since the file there is the repository's.
    """
    trouble = _malformed(command)
    if trouble:
        return Unresolved(trouble)
    word = command[0]
    named = f"{word}, the command in your configuration," if from_user_configuration else word
    if not trust.allows_children:
        return Unresolved(f"{named} is not started. {trust.explanation}", not_trusted=True)
    search_path = os.environ.get("PATH", os.defpath) if path is None else path
    candidates = _candidates(word, root, folders, search_path)
    # The root counts as a folder of its own: also where it is in none, what lies in it is the repository's.
    found = _first(candidates, tuple(command[1:]), (*folders, Path(os.path.realpath(root))), trust)
    return found if found is not None else Unresolved(f"{named} {_absence(word, root)}")


def _first(
    candidates: Iterable[Path], arguments: tuple[str, ...], folders: Sequence[Path], trust: Trust
) -> Resolved | Unresolved | None:
    """The first candidate that can and may run; else why the best one cannot; None when there is none at all."""
    refused = broken = ""
    for candidate in candidates:
        problem = _examine(candidate)
        if problem == _ABSENT:
            continue
        if not problem and _WINDOWS and candidate.suffix.lower() in (".cmd", ".bat"):
            problem = batch_trouble(arguments)
        if problem:
            broken = broken or f"{candidate} {problem}."
            continue
        real = Path(os.path.realpath(candidate))
        local = _is_local(candidate, real, folders)
        if local:
            verdict = trust.allows_local(candidate)
            if not verdict:
                refused = refused or verdict.reason
                continue
        return Resolved((str(candidate), *arguments), candidate, real, local, refused or broken)
    if refused:
        return Unresolved(refused, not_trusted=True)
    return Unresolved(broken) if broken else None


class CommandCache:
    """Remembers what was found, so that a candidate is looked up once and not at every file (P9).

    An executable that was found is looked at again each time (one ``stat``), and with stored trust compared again;
    what was not found stays so until ``clear``.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Resolved | Unresolved] = {}

    def clear(self) -> None:
        """Forget everything: something was installed, or trust was given."""
        self._known.clear()

    def resolve(
        self,
        command: Sequence[str],
        *,
        root: Path,
        folders: Sequence[Path],
        trust: Trust,
        path: str | None = None,
        from_user_configuration: bool = False,
    ) -> Resolved | Unresolved:
        """As ``resolve_command``, from memory where possible."""
        search_path = os.environ.get("PATH", os.defpath) if path is None else path
        # On Windows the arguments decide whether a batch file may run at all, so they are a part of the question there.
        words = tuple(command) if _WINDOWS else tuple(command[:1])
        key = (words, root, tuple(folders), trust, search_path, from_user_configuration)
        known = self._known.get(key)
        if isinstance(known, Unresolved):
            return _malformed_or(command, known)
        if known is not None and not _malformed(command) and _still_holds(known, trust):
            return replace(known, argv=(known.argv[0], *command[1:]))
        answer = resolve_command(
            command,
            root=root,
            folders=folders,
            trust=trust,
            path=search_path,
            from_user_configuration=from_user_configuration,
        )
        if not _malformed(command):
            self._known[key] = answer
        return answer


def _malformed_or(command: Sequence[str], known: Unresolved) -> Unresolved:
    trouble = _malformed(command)
    return Unresolved(trouble) if trouble else known


def _still_holds(known: Resolved, trust: Trust) -> bool:
    return (
        not _examine(known.executable)
        and Path(os.path.realpath(known.executable)) == known.real
        and (not known.local or bool(trust.allows_local(known.executable)))
    )


def _malformed(command: Sequence[str]) -> str:
    """What makes a command none at all, as a sentence, or the empty text."""
    if isinstance(command, str) or not command or not all(isinstance(word, str) for word in command):
        return "A command is a list of words, the executable first."
    if any("\0" in word for word in command):
        return "A command cannot hold a NUL byte."
    word = command[0]
    if not word.strip() or word.startswith("-"):
        return f"{word!r} is not the name of an executable."
    if ".." in word.replace("\\", "/").split("/"):
        return f"{word} leads upward with “..”; write an absolute path."
    return ""


def _candidates(word: str, root: Path, folders: Sequence[Path], search_path: str) -> Iterator[Path]:
    """Every place where the executable may be, best first; each is looked at once."""
    home = os.path.expanduser(word) if word.startswith("~") else word  # noqa: PTH111 - Path.expanduser raises
    if word.startswith("~") or Path(home).is_absolute():
        if Path(home).is_absolute():
            yield from _spellings(Path(home))
        return
    upward = tuple(_upward(root, folders))
    if "/" in word or (_WINDOWS and ("\\" in word or ":" in word)):
        for folder in upward:
            yield from _spellings(folder / word)
        return
    for folder in upward:
        for local in _LOCAL_FOLDERS:
            yield from _spellings(folder / local / word)
    seen: set[str] = set()
    for entry in search_path.split(os.pathsep):
        # An empty or relative entry means the current folder, which is the workspace as likely as not (T8).
        if Path(entry).is_absolute() and entry not in seen:
            seen.add(entry)
            yield from _spellings(Path(entry) / word)


def _spellings(path: Path, *, windows: bool = _WINDOWS) -> Iterator[Path]:
    if windows and path.suffix.lower() not in _WINDOWS_SUFFIXES:
        for suffix in _WINDOWS_SUFFIXES:
            yield path.with_name(path.name + suffix)
    else:
        yield path


def _upward(root: Path, folders: Sequence[Path]) -> Iterator[Path]:
    """The root and its parents up to the innermost workspace folder around it; only the root when it is in none."""
    real = Path(os.path.realpath(root))
    around = [folder for folder in folders if real.is_relative_to(folder)]
    top = max(around, key=lambda folder: len(folder.parts), default=real)
    yield real
    if real != top:
        for parent in real.parents:
            yield parent
            if parent == top:
                return


_ABSENT = "is not there"


def _examine(path: Path) -> str:
    """What keeps a path from being started, as a clause; empty when nothing does, ``_ABSENT`` when nothing is there."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError | NotADirectoryError | ValueError):
            return "is a link to nothing" if _is_link(path) else _ABSENT
        return f"cannot be looked at: {error.strerror}"
    if stat.S_ISDIR(mode):
        return "is a folder, not an executable"
    if not stat.S_ISREG(mode):
        return "is not an ordinary file"
    if not os.access(path, os.X_OK):
        return "is not executable"
    return ""


def _is_link(path: Path) -> bool:
    try:
        return path.is_symlink()
    except (OSError, ValueError):
        return False


def _is_local(path: Path, real: Path, folders: Sequence[Path]) -> bool:
    """Whether the workspace has a say in what runs: the name, the file, or any link between the two lies in it."""
    at = path
    for _hop in range(_MOST_LINKS):
        for spelled in (at, Path(os.path.realpath(at.parent)) / at.name):
            if any(spelled.is_relative_to(folder) for folder in folders):
                return True
        if not _is_link(at):
            break
        at = Path(os.path.normpath(Path(os.path.realpath(at.parent)) / at.readlink()))
    return any(real.is_relative_to(folder) for folder in folders)


def _absence(word: str, root: Path) -> str:
    if Path(word).is_absolute() or word.startswith("~"):
        return "does not exist."
    if "/" in word:
        return f"is not there in {root} or above it."
    return "is not on PATH."


def batch_trouble(arguments: Sequence[str]) -> str:
    """Why a Windows batch file cannot take these arguments, as a clause, or the empty text (T8).

    ``cmd.exe`` reads a batch file's command line and gives characters a meaning that no quoting takes away for sure.
    """
    bad = sorted({char for argument in arguments for char in argument} & _BATCH_META)
    return f"is a batch file, which cannot be given {' '.join(map(repr, bad))} safely" if bad else ""


# No prompt may wait for a terminal, no lock of the index be taken for a look, no pager or editor start.
GIT_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",
    "GIT_ASKPASS": "true",
}


def git_command(git: Resolved, arguments: Sequence[str], trust: Trust) -> tuple[str, ...]:
    """The argument vector of a git command in the workspace; start it with ``GIT_ENVIRONMENT`` as well.

    git runs programs that the repository's own configuration names, even for ``git status`` (T6). So an untrusted
    workspace has no git at all, ``Refused(kind="not_trusted")``, and in a trusted one the file-system monitor, hooks,
    external diff and other transports are off. Filters stay: they are how git reads a file; ask with commands that
    read none (``ls-files``, ``rev-parse``).
    """
    if not trust.allows_workspace_code:
        raise Refused(f"git runs what the repository's configuration names. {trust.explanation}", kind="not_trusted")
    return (
        git.argv[0],
        "--no-pager",
        "--no-optional-locks",
        "-c",
        "core.fsmonitor=false",
        "-c",
        f"core.hooksPath={os.devnull}",
        "-c",
        "core.sshCommand=false",
        "-c",
        "protocol.ext.allow=never",
        "-c",
        "diff.external=",
        *arguments,
    )
