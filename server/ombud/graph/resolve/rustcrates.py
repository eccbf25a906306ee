"""Crates and modules of Rust: which file is a crate's root, which file a ``mod`` means, which crate a name means.

See the Cargo book, "Package layout", and the reference, "Module source filenames".
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any

from ombud.graph.facts import DECLARES, MODULE_SCOPE, Import
from ombud.graph.resolve.view import View, key

if TYPE_CHECKING:
    from ombud.graph.resolve.rust import Rust

_ROOTS = re.compile(r"(?:build\.rs|src/(?:lib|main)\.rs|(src/bin|tests|examples|benches)/(?:[^/]+\.rs|[^/]+/main\.rs))")
_AUTO = {"src/bin": "autobins", "tests": "autotests", "examples": "autoexamples", "benches": "autobenches"}


class Package:
    """What one ``Cargo.toml`` says of a package. Paths are below the root."""

    def __init__(self, folder: str, told: dict[str, Any], shared: dict[str, Any], shared_folder: str) -> None:
        package = told.get("package") or {}
        self.folder = folder
        self.edition = str(package.get("edition", "2015")) if not isinstance(package.get("edition"), dict) else "2021"
        library = told.get("lib") if isinstance(told.get("lib"), dict) else {}
        assert isinstance(library, dict)
        self.name = str(library.get("name") or package.get("name") or "").replace("-", "_")
        self.library = _joined(folder, str(library.get("path") or "src/lib.rs"))
        self.targets = {self.library}
        for kind in ("bin", "test", "example", "bench"):
            for one in told.get(kind) or ():
                if isinstance(one, dict) and isinstance(one.get("path"), str):
                    self.targets.add(_joined(folder, one["path"]))
        self.found = {where for where, key in _AUTO.items() if package.get(key) is not False}
        """Folders whose files are crates of their own."""
        self.needed: dict[str, str | None] = {}
        """Crate's name → the folder of its package, None for one of a registry."""
        tables = [told, *(told.get("target") or {}).values()]
        for table in tables:
            for kind in ("dependencies", "dev-dependencies", "build-dependencies"):
                for name, how in (table.get(kind) or {}).items() if isinstance(table, dict) else ():
                    self._need(name, how, shared, shared_folder)

    def _need(self, name: str, how: Any, shared: dict[str, Any], shared_folder: str) -> None:
        base = self.folder
        if isinstance(how, dict) and how.get("workspace"):
            how, base = shared.get(name), shared_folder
        path = how.get("path") if isinstance(how, dict) else None
        self.needed[name.replace("-", "_")] = _joined(base, path) if isinstance(path, str) else None

    def is_root(self, path: str) -> bool:
        """Whether a file is the root of one of the package's crates."""
        below = path[len(self.folder) + 1 :] if self.folder else path
        found = _ROOTS.fullmatch(below)
        return path in self.targets or (found is not None and (found[1] is None or found[1] in self.found))


def _joined(folder: str, path: str) -> str:
    found = posixpath.normpath(posixpath.join(folder, path))
    return "" if found == "." else found


class Crates:
    """The crates of a root."""

    def __init__(self, engine: Rust) -> None:
        self._engine = engine
        self._tables: dict[str, dict[str, Any] | None] = {}
        self._packages: dict[str, Package | None] = {}
        self._above: dict[int, tuple[tuple[int, int] | None, frozenset[int]]] = {}

    # -- packages -------------------------------------------------------------------------------------------------

    def _table(self, folder: str) -> dict[str, Any] | None:
        path = posixpath.join(folder, "Cargo.toml")
        text = self._engine.config(path)
        if folder not in self._tables:
            self._tables[folder] = _parsed(text) if text is not None else None
        return self._tables[folder]

    def package(self, folder: str) -> Package | None:
        """The package that a folder belongs to."""
        while True:
            told = self._table(folder)
            if told is not None and "package" in told:
                if folder not in self._packages:
                    shared, where = self._shared(folder)
                    self._packages[folder] = Package(folder, told, shared, where)
                return self._packages[folder]
            if not folder:
                return None
            folder = posixpath.dirname(folder)

    def _shared(self, folder: str) -> tuple[dict[str, Any], str]:
        """The dependencies that the workspace around a package lists."""
        while True:
            told = self._table(folder)
            if told is not None and isinstance(told.get("workspace"), dict):
                found = told["workspace"].get("dependencies")
                return (found if isinstance(found, dict) else {}), folder
            if not folder:
                return {}, ""
            folder = posixpath.dirname(folder)

    def around(self, view: View) -> Package | None:
        return self.package(posixpath.dirname(view.path))

    def named(self, view: View, name: str) -> tuple[int | None, bool]:
        """The root file of the crate that a file knows by that name, and whether there is such a crate at all."""
        package = self.around(view)
        if package is None:
            return None, False
        if name in package.needed:
            folder = package.needed[name]
            other = self.package(folder) if folder is not None else None
            return (self._engine.file_at(other.library) if other is not None and other.folder == folder else None), True
        if name == package.name:
            found = self._engine.file_at(package.library)
            if found is not None:
                return found, True
        return None, False

    # -- modules --------------------------------------------------------------------------------------------------

    def root(self, file: int) -> int:
        """The root file of the crate that a file belongs to."""
        for _ in range(100):
            above = self.above(file)
            if above is None:
                return file
            file = above[0]
        return file

    def above(self, file: int) -> tuple[int, int] | None:
        """The module that declares a file: (file, scope); None for the root of a crate."""
        found = self._above.get(file)
        if found is None:
            asked, self._engine.asked = self._engine.asked, set()
            answer = self._declaring(file)
            found = self._above[file] = (answer, frozenset(self._engine.asked))
            self._engine.asked = asked
        self._engine.asked |= found[1]
        return found[0]

    def _declaring(self, file: int) -> tuple[int, int] | None:
        view = self._engine.view(file)
        package = self.around(view)
        if package is not None and package.is_root(view.path):
            return None
        folder, name = posixpath.split(view.path)
        if package is None and name in ("lib.rs", "main.rs"):
            return None
        stem = name.removesuffix(".rs")
        if stem == "mod":
            folder, stem = posixpath.split(folder)
        inner: list[str] = []
        # The module around it is a file beside its folder or in it; inline modules have folders but no files.
        for _ in range(4):
            for path in self._holders(folder, package):
                found = self._declares(path, stem, inner, file)
                if found is not None:
                    return found
            folder, last = posixpath.split(folder)
            if not last:
                break
            inner.insert(0, last)
        return self._by_path(view, package)

    def _holders(self, folder: str, package: Package | None) -> list[str]:
        """Files whose modules may lie in a folder."""
        found = [posixpath.join(folder, name) for name in ("mod.rs", "lib.rs", "main.rs")]
        if folder:
            found.append(f"{folder}.rs")
        if package is not None:
            found += sorted(path for path in package.targets if posixpath.dirname(path) == folder)
            if folder.startswith(_joined(package.folder, "tests")) or folder.endswith(("/bin", "examples", "benches")):
                paths = self._engine.sources.paths()
                self._engine.asked.add(key("rust folder", folder))
                found += sorted(path for path in paths if posixpath.dirname(path) == folder and path.endswith(".rs"))
        return found

    def _declares(self, path: str, stem: str, inner: list[str], child: int) -> tuple[int, int] | None:
        file = self._engine.file_at(path)
        if file is None or file == child:
            return None
        view = self._engine.view(file)
        self._engine.ask(view, stem)
        for item in view.facts.imports:
            if item.flags & DECLARES and item.module == stem and not item.name and names(view, item.scope) == inner:
                return file, item.scope
        return None

    def _by_path(self, view: View, package: Package | None) -> tuple[int, int] | None:
        """The module that names a file in an attribute. Only asked for files that no rule finds."""
        folder = package.folder if package is not None else posixpath.dirname(view.path)
        self._engine.asked.add(key("rust paths"))
        sources = self._engine.sources
        for path, file in sorted(sources.paths().items()):
            if path.endswith(".rs") and (not folder or path.startswith(f"{folder}/")) and file != view.file:
                there = self._engine.view(file)
                for item in there.facts.imports:
                    if item.flags & DECLARES and item.name and self.file(there, item) == view.file:
                        return file, item.scope
        return None

    def file(self, view: View, item: Import) -> int | None:
        """The file of ``mod name;``."""
        if item.name:
            base = posixpath.dirname(view.path)
            if names(view, item.scope):
                base = self.folder(view, item.scope)
            return self._engine.file_at(_joined(base, item.name))
        base = self.folder(view, item.scope)
        for name in (f"{item.module}.rs", f"{item.module}/mod.rs"):
            found = self._engine.file_at(posixpath.join(base, name))
            if found is not None:
                return found
        return None

    def folder(self, view: View, scope: int) -> str:
        """Where the files of a module's own modules lie."""
        folder, name = posixpath.split(view.path)
        package = self.around(view)
        root = name in ("mod.rs", "lib.rs", "main.rs") or (package is not None and package.is_root(view.path))
        return posixpath.join(folder, *([] if root else [name.removesuffix(".rs")]), *names(view, scope))


def names(view: View, scope: int) -> list[str]:
    """The names of the inline modules around a scope, from the outside in."""
    found: list[str] = []
    while scope > 0:
        if view.kind(scope) == MODULE_SCOPE:
            found.insert(0, view.symbols[view.owner(scope)].name)
        scope = view.parent(scope)
    return found


def _parsed(text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}
