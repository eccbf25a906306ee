"""Which folder a command works on, and what a path on the command line means."""

from __future__ import annotations

import os
from pathlib import Path

OWN_MARKS = frozenset({".ombud.toml", ".ombud", ".git"})


def root_for(cwd: Path, named: Path | None) -> Path:
    """The project of a command: that of the current folder, or that of the file or folder it names elsewhere.

    A folder that nothing marks as a project, such as the one above several projects, gives way to the named one's.
    """
    here = marked_root(cwd)
    if named is None:
        return here or Path(os.path.realpath(cwd))
    place = Path(os.path.realpath(named))
    if here is not None and place.is_relative_to(here):
        return here
    folder = place if place.is_dir() else place.parent
    real = Path(os.path.realpath(cwd))
    return marked_root(folder) or (real if place.is_relative_to(real) else folder)


def find_root(start: Path) -> Path:
    """As `marked_root`, and ``start`` itself where there is none."""
    return marked_root(start) or Path(os.path.realpath(start))


def marked_root(start: Path) -> Path | None:
    """The nearest folder at or above ``start`` with one of `OWN_MARKS` or a strong root marker of the catalogue.

    The user's own entries count, the workspace's do not: they are read once the
    root is known. The whole disk is never found this way, and the home folder only by what was put there on purpose:
    a stray ``package.json`` beside everything that the user owns marks no project.
    """
    from ombud.downstream.catalogue import load_catalogue
    from ombud.downstream.roots import Roots
    from ombud.workspace.configuration import load_configuration

    start = Path(os.path.realpath(start))
    catalogue, _ = load_catalogue().adjusted(load_configuration(None).server_rows(False))
    markers = tuple(dict.fromkeys(marker for entry in catalogue if not entry.disabled for marker in entry.markers))
    home = _home()
    for folder in (start, *start.parents):
        if folder.parent == folder:
            break
        roots = Roots((folder,))
        if OWN_MARKS & roots.names(folder):
            return folder
        if folder != home and roots.match(folder, markers) is not None:
            return folder
    return None


def _home() -> Path | None:
    try:
        return Path(os.path.realpath(Path.home()))
    except RuntimeError:
        # No home folder can be found out for this user, so none has to be left alone.
        return None


def absolute(path: str, cwd: Path, root: Path) -> str:
    """What an operation is given for ``path``, which the user wrote in the folder ``cwd``.

    Absolute paths, ``file:`` URIs and ``*`` (every open file) stay as they are, and so does a relative path where the
    user stands in the root. The fence judges whatever comes out. ``..`` is resolved as the system would, link by link,
    while the last name is kept: also a link's own name may be one that is not to be touched (F5).
    """
    if not path or path == "*" or Path(path).is_absolute() or path.lower().startswith("file:"):
        return path
    parts = Path(path).parts
    if ".." not in parts and _same(cwd, root):
        return path
    if "\0" in path:
        return path
    if parts and parts[-1] == "..":
        return os.path.realpath(cwd / path)
    return str(Path(os.path.realpath((cwd / path).parent)) / Path(path).name) if parts else str(cwd)


def _same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def shown(path: Path, root: Path) -> str:
    """A path for a person: relative to the root inside of it, below ``~`` in the home folder, else absolute."""
    if path == root:
        return "."
    if path.is_relative_to(root):
        return path.relative_to(root).as_posix()
    home = _home()
    if home is not None and path.is_relative_to(home) and home not in (path, home.parent):
        return f"~/{path.relative_to(home).as_posix()}"
    return str(path)
