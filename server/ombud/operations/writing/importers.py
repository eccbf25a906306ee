"""The files that import a file, as far as their text tells.

For what no reference leads to: a deleted module, ``export * from``, a header of a project that its server has not
indexed. It reads the project's own files of the language and resolves what they name by the file's place; what it
cannot resolve (aliases, search paths) it takes by its last component.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path, PurePosixPath

from ombud.downstream.catalogue import ServerEntry
from ombud.downstream.survey import SKIPPED
from ombud.errors import OmbudError
from ombud.guard import handles
from ombud.guard.fence import Fence
from ombud.syntax.languages import language_of
from ombud.workspace.walk import Walk

FILES = 20_000
"""How many files are looked at."""
BYTES = 1024 * 1024
"""How large a file may be to be looked at."""
KEPT = 128 * 1024 * 1024
"""How many bytes of files are looked at."""
FAR = 8
"""How often names may be handed on."""
_PYTHON = re.compile(
    r"^[ \t]*from[ \t]+(?P<base>\.*[\w.]*)[ \t]+import[ \t]+(?P<names>\([^)]*\)|[^\n#]+)"
    r"|^[ \t]*import[ \t]+(?P<modules>[^\n#]+)",
    re.MULTILINE,
)
_QUOTED = re.compile(
    r"(?P<star>\bexport\s+(?:type\s+)?\*[^\"'\n]*)?(?:\bfrom|\bimport|\brequire|\binclude|@import|@use|@forward|\bsource"
    r"|\bload|\bextends)\s*\(?\s*[\"'](?P<path>[^\"'\n]+)[\"']"
)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*(?:include|import)[ \t]*[\"<](?P<path>[^\">\n]+)[\">]", re.MULTILINE)
_WORDS = re.compile(
    r"^[^\n]*\b(?:import|include|require|require_relative|use|mod|using|open|extern|from|load|source)\b[^\n]*$",
    re.MULTILINE,
)
INCLUDING = frozenset({"c", "cpp", "objective-c", "objective-cpp", "cuda-cpp"})
_WEB = frozenset(
    {"javascript", "javascriptreact", "typescript", "typescriptreact", "vue", "svelte", "css", "scss", "less"}
)
EXACT = frozenset({*INCLUDING, *_WEB, "python"})
"""The languages whose imports are resolved; of the others only the words are looked at."""
_FOLDERS = frozenset({"__init__", "index", "mod"})
"""Names of files that stand for their folder."""
_ENDINGS = (".d.ts", ".d.mts", ".d.cts", ".tsx", ".mts", ".cts", ".jsx", ".mjs", ".cjs", ".ts", ".js", ".pyi", ".py")

Stop = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Importers:
    """Each file with its distance: 1 imports the file itself, 2 one that hands on all of its names, and so on.

    ``complete`` is false where not every file was looked at, or where the language's imports are only guessed.
    """

    files: dict[Path, int]
    complete: bool


def importers(fence: Fence, entry: ServerEntry, root: Path, targets: Iterable[Path], stop: Stop) -> Importers:
    """Who imports one of ``targets`` (real paths) among the files of ``entry`` below ``root``.

    Reads the disk: call it in a thread. ``stop`` is asked before each file whether it has taken too long.
    """
    texts: dict[Path, tuple[bytes, str]] = {}
    walk = Walk(fence, SKIPPED, files=FILES * 10)
    exact, cut, size = True, False, 0
    claimed = (path for path in walk.files(root) if entry.claims(language_of(path), path.name))
    for path, data in _read(fence, claimed):
        size += len(data)
        if stop() or len(texts) >= FILES or size > KEPT:
            cut = True
            break
        language = language_of(path) or ""
        texts[path] = data, language
        exact = exact and language in EXACT
    found = _spread(texts, list(targets), stop)
    return Importers(found, exact and not cut and walk.note is None and not stop())


def _read(fence: Fence, paths: Iterable[Path]) -> Iterator[tuple[Path, bytes]]:
    """The files' bytes. The folder is opened once for all of its files, without following links (F4)."""
    for _, group in groupby(paths, lambda path: path.parent):
        files = list(group)
        with suppress(OmbudError):
            inside = fence.resolve(str(files[0]), intent="read")
            if not handles.SUPPORTED:
                yield from ((path, fence.read(fence.resolve(str(path), intent="read"), BYTES).data) for path in files)
                continue
            with fence.directory(inside) as folder:
                yield from _of_folder(folder, files)


def _of_folder(folder: int, files: Iterable[Path]) -> Iterator[tuple[Path, bytes]]:
    for path in files:
        with suppress(OmbudError, OSError):
            fd, status = handles.open_file(folder, path.name, path.name)
            try:
                data = handles.read_all(fd, BYTES, path.name, status.st_size)
            finally:
                os.close(fd)
            yield path, data


def _spread(texts: dict[Path, tuple[bytes, str]], targets: list[Path], stop: Stop) -> dict[Path, int]:
    found: dict[Path, int] = {}
    goals = list(targets)
    for step in range(1, FAR + 1):
        words = {os.fsencode(word) for goal in goals for word in names_of(goal)}
        handing = []
        for path, (data, language) in texts.items():
            if stop():
                return found
            if path in found or path in targets or not any(word in data for word in words):
                continue
            hands_on = imports(path, data.decode("utf-8", "replace"), language, goals)
            if hands_on is not None:
                found[path] = step
                if hands_on:
                    handing.append(path)
        if not handing:
            break
        goals = handing
    return found


def names_of(path: Path) -> tuple[str, ...]:
    """The words of which one must stand in whatever imports a file."""
    stem = bare(path).name
    if stem in _FOLDERS:
        # Also ``from . import x`` and ``from ".."``.
        return stem, path.parent.name, "."
    return (stem,)


def bare(path: Path) -> Path:
    """The path without what imports leave out."""
    for ending in _ENDINGS:
        if path.name.endswith(ending):
            return path.with_name(path.name[: -len(ending)])
    return path.with_suffix("")


def imports(path: Path, text: str, language: str, targets: Iterable[Path]) -> bool | None:
    """Whether ``path`` hands on all names of one of ``targets``; None where it imports none of them."""
    found: bool | None = None
    for target in targets:
        for hands_on in _imports(path, text, language, target):
            found = bool(found) or hands_on
    return found


def _imports(path: Path, text: str, language: str, target: Path) -> Iterator[bool]:
    if language == "python":
        yield from _python(path, text, target)
    elif language in INCLUDING:
        for match in _INCLUDE.finditer(text):
            if _ends(target, match["path"]):
                # What a header includes, those have who include it.
                yield path.suffix.lower().startswith((".h", ".i", ".t"))
    elif language in _WEB:
        for match in _QUOTED.finditer(text):
            if _leads(path.parent, match["path"], target):
                yield match["star"] is not None or "@forward" in match.group()
    else:
        word = re.compile(rf"(?<!\w){re.escape(_module(target))}(?!\w)")
        if any(word.search(match.group()) for match in _WORDS.finditer(text)):
            yield False


def _module(target: Path) -> str:
    stem = bare(target).name
    return target.parent.name if stem in _FOLDERS else stem


def _ends(target: Path, spelled: str) -> bool:
    """Whether a path that is found on some search path can be the target."""
    parts = [part for part in PurePosixPath(spelled).parts if part not in (".", "..")]
    return bool(parts) and list(target.parts[-len(parts) :]) == parts


def _leads(folder: Path, spelled: str, target: Path) -> bool:
    """Whether an import in a file of ``folder`` leads to the target: by its place, or else by its last component."""
    wanted = {target, bare(target)}
    if whole := bare(target).name in _FOLDERS:
        wanted.add(target.parent)
    if spelled.startswith("."):
        place = Path(os.path.normpath(folder / spelled))
        return place in wanted or bare(place) in wanted
    last = PurePosixPath(spelled).name
    if whole and (spelled[0] in "#~" or spelled.startswith("@/") or last in target.parts):
        # An alias, or the name of a package: which file that is, its settings know.
        return True
    return last in {one.name for one in wanted} or bare(Path(last)).name in {one.name for one in wanted}


def _python(path: Path, text: str, target: Path) -> Iterator[bool]:
    whole = bare(target)
    if whole.name == "__init__":
        whole = whole.parent
    for match in _PYTHON.finditer(text):
        if match["modules"] is not None:
            modules = [one.split(" as ")[0].strip() for one in match["modules"].split(",")]
            # ``import a.b`` takes in ``a`` as well.
            if any(_is_tail(whole, parts[:count]) for parts in (one.split(".") for one in modules)
                   for count in range(1, len(parts) + 1)):  # fmt: skip
                yield False
            continue
        names = re.findall(r"(?<![\w.])(\w+|\*)(?:\s+as\s+\w+)?", match["names"])
        if _is_base(path, match["base"], whole):
            yield "*" in names
        elif any(_is_base(path, match["base"], whole, name) for name in names):
            yield False


def _is_base(path: Path, base: str, whole: Path, name: str = "") -> bool:
    dots = len(base) - len(base.lstrip("."))
    parts = [part for part in (*base[dots:].split("."), name) if part]
    if dots == 0:
        return _is_tail(whole, parts)
    folder = path.parent
    for _ in range(dots - 1):
        folder = folder.parent
    return folder.joinpath(*parts) == whole


def _is_tail(whole: Path, parts: list[str]) -> bool:
    return bool(parts) and list(whole.parts[-len(parts) :]) == parts
