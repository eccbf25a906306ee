"""Which file a module specifier means: Node's resolution (nodejs.org, "Modules: ECMAScript modules", "Resolution
Algorithm Specification"), TypeScript's (``paths``, ``baseUrl``, ``extends``, extensions), a repository's packages."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from ombud.graph.resolve.view import key

if TYPE_CHECKING:
    from ombud.graph.resolve.world import World

SUFFIXES = (".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs")
_SWAPPED = {
    ".js": (".ts", ".tsx", ".d.ts", ".js", ".jsx"),
    ".jsx": (".tsx", ".d.ts", ".jsx"),
    ".mjs": (".mts", ".d.mts", ".mjs"),
    ".cjs": (".cts", ".d.cts", ".cjs"),
}
"""What a suffix in an import may be in the sources."""
_CONDITIONS = ("source", "development", "types", "import", "module", "node", "default", "require", "browser")
_BUILT = re.compile(r"^(?:\./)?(?:dist|lib|build|out|es|esm|cjs|types|typings|umd)(?:[-_/.]?(?:src|esm?|cjs|types))?/")
_NOT_OURS = frozenset(("node_modules", "fixtures", "__fixtures__", "testdata", "templates", "template", "examples"))
_TEXT = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|,(?=\s*(?:/[/*][^\n]*\s*)*[}\]])', re.DOTALL)


def loads(text: str | None) -> dict[str, Any]:
    """A JSON object that may have comments and commas behind the last item; an empty one for anything else."""
    if not text:
        return {}
    try:
        found = json.loads(_TEXT.sub(lambda one: one[0] if one[0].startswith('"') else "", text.removeprefix("\ufeff")))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def package_key(name: str) -> int:
    """The key of the question which folder of this root is the package of a name."""
    return key("npm", name)


def package_name(text: str) -> str:
    name = loads(text).get("name")
    return name if isinstance(name, str) else ""


def relative(specifier: str) -> bool:
    return specifier.startswith(("./", "../")) or specifier in (".", "..")


class Modules:
    """The modules of a root. ``world`` answers for files and configurations and notes what was asked."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._packages: dict[str, list[str]] | None = None
        self._parsed: dict[str, dict[str, Any]] = {}

    def find(self, path: str, specifier: str) -> int | None:
        """The file that ``specifier`` means in the file at ``path``, None for none of this root."""
        specifier = specifier.split("?", maxsplit=1)[0].rsplit("!", maxsplit=1)[-1]
        folder = posixpath.dirname(path)
        if relative(specifier):
            return self.at(_joined(folder, specifier))
        if specifier.startswith("#"):
            return self._own_import(folder, specifier)
        if specifier.startswith(("node:", "http:", "https:", "data:")) or not specifier:
            return None
        if specifier.startswith("/"):
            return self.at(specifier.lstrip("/"))
        found = self._mapped(folder, specifier)
        return found if found is not None else self._package(folder, specifier)

    # -- files ----------------------------------------------------------------------------------------------------

    def at(self, path: str | None) -> int | None:
        """The module at a path as an import writes it: a file, one without its suffix, or a folder."""
        if path is None:
            return None
        found = self.file(path)
        if found is not None or not path:
            return found if path else self._index("")
        manifest = self._config(posixpath.join(path, "package.json"))
        if manifest:
            inner = self._entry(path, manifest, ".")
            if inner is not None:
                return inner
        return self._index(path)

    def _index(self, folder: str) -> int | None:
        return self._first(posixpath.join(folder, "index" + suffix) for suffix in SUFFIXES)

    def file(self, path: str) -> int | None:
        """The source of a file that is imported by that path."""
        if not path:
            return None
        stem, suffix = posixpath.splitext(path)
        if suffix in _SWAPPED:
            found = self._first(stem + other for other in _SWAPPED[suffix])
            if found is not None:
                return found
        elif suffix in SUFFIXES and (found := self._world.file_at(path)) is not None:
            return found
        return self._first(path + other for other in SUFFIXES)

    def _first(self, paths: Iterator[str]) -> int | None:
        for path in paths:
            found = self._world.file_at(path)
            if found is not None:
                return found
        return None

    def _config(self, path: str) -> dict[str, Any]:
        text = self._world.config(path)
        found = self._parsed.get(path)
        if found is None:
            found = self._parsed[path] = loads(text)
        return found

    # -- tsconfig -------------------------------------------------------------------------------------------------

    def _mapped(self, folder: str, specifier: str) -> int | None:
        """What ``paths`` and ``baseUrl`` of the nearest configuration make of a specifier."""
        for above in _above(folder):
            for name in ("tsconfig.json", "jsconfig.json"):
                path = posixpath.join(above, name)
                if self._config(path):
                    return self._by_options(path, specifier)
        return None

    def _by_options(self, path: str, specifier: str) -> int | None:
        paths, of, base = self._options(path, 0)
        best = ""
        for pattern in paths:
            head, star, tail = pattern.partition("*")
            fits = specifier == pattern if not star else specifier.startswith(head) and specifier.endswith(tail)
            if fits and (not best or len(head) >= len(best.partition("*")[0])):
                best = pattern
        if best:
            head, star, tail = best.partition("*")
            middle = specifier[len(head) : len(specifier) - len(tail)] if star else ""
            for target in paths[best] if isinstance(paths[best], list) else ():
                found = self.at(_joined(of, str(target).replace("*", middle, 1)))
                if found is not None:
                    return found
        return self.at(_joined(base, specifier)) if base is not None else None

    def _options(self, path: str, depth: int) -> tuple[dict[str, Any], str, str | None]:
        """``paths``, the folder they are relative to, and ``baseUrl``, with what is extended."""
        config = self._config(path)
        folder = posixpath.dirname(path)
        paths: dict[str, Any] = {}
        of = folder
        base: str | None = None
        extended = config.get("extends", [])
        for one in extended if isinstance(extended, list) else [extended]:
            other = self._extended(folder, str(one)) if depth < 8 else None
            if other is not None:
                paths, of, base = self._options(other, depth + 1)
        options = config.get("compilerOptions")
        if not isinstance(options, dict):
            options = {}
        if isinstance(options.get("baseUrl"), str):
            base = _joined(folder, options["baseUrl"]) or ""
            of = base if not paths else of
        if isinstance(options.get("paths"), dict):
            paths = options["paths"]
            of = base if base is not None else folder
        if not paths and not options and isinstance(config.get("references"), list) and depth < 2:
            for one in config["references"]:
                target = _joined(folder, str(one.get("path", ""))) if isinstance(one, dict) else None
                if target is not None:
                    target = target if target.endswith(".json") else posixpath.join(target, "tsconfig.json")
                    found = self._options(target, depth + 1)
                    if found[0] and posixpath.dirname(target) == folder:
                        return found
        return paths, of, base

    def _extended(self, folder: str, name: str) -> str | None:
        if relative(name):
            path = _joined(folder, name)
            return path if path is None or path.endswith(".json") else path + ".json"
        package, rest = _split(name)
        for found in self.packages().get(package, ()):
            path = posixpath.join(found, rest or "tsconfig.json")
            return path if path.endswith(".json") else path + ".json"
        return None

    # -- packages -------------------------------------------------------------------------------------------------

    def packages(self) -> dict[str, list[str]]:
        """Name of a package → folders of this root that are it."""
        if self._packages is None:
            found: dict[str, list[str]] = {}
            sources = self._world.sources
            manifests = [path for path in sources.paths() if posixpath.basename(path) == "package.json"]
            members = self._members()
            for path in sorted(manifests, key=lambda one: (one.count("/"), one)):
                folder = posixpath.dirname(path)
                name = package_name(sources.config(path) or "")
                stray = not _NOT_OURS.isdisjoint(folder.split("/"))
                if name and (not stray or any(fnmatchcase(folder, member) for member in members)):
                    found.setdefault(name, []).append(folder)
            self._packages = found
        return self._packages

    def _members(self) -> list[str]:
        """The patterns of the root's workspaces."""
        sources = self._world.sources
        listed = loads(sources.config("package.json")).get("workspaces", [])
        if isinstance(listed, dict):
            listed = listed.get("packages", [])
        found = [str(one).removeprefix("./").rstrip("/") for one in listed] if isinstance(listed, list) else []
        text = sources.config("pnpm-workspace.yaml") or ""
        found += re.findall(r"^\s*-\s*['\"]?([^'\"\n!]+?)/?['\"]?\s*$", text, re.MULTILINE)
        return [one for one in found if one]

    def _package(self, folder: str, specifier: str) -> int | None:
        name, rest = _split(specifier)
        self._world.asked.add(package_key(name))
        folders = self.packages().get(name, ())
        nearest = sorted(folders, key=lambda one: -len(posixpath.commonpath(("/" + one, "/" + folder))))
        for found in nearest[:1]:
            manifest = self._config(posixpath.join(found, "package.json"))
            return self._entry(found, manifest, f"./{rest}" if rest else ".")
        return None

    def _own_import(self, folder: str, specifier: str) -> int | None:
        """``imports`` of the package that a file is in."""
        for above in _above(folder):
            manifest = self._config(posixpath.join(above, "package.json"))
            if manifest:
                imports = manifest.get("imports")
                for target in _targets(imports, specifier) if isinstance(imports, dict) else ():
                    found = self._source(above, target) if relative(target) else self._package(folder, target)
                    if found is not None:
                        return found
                break
        return self._mapped(folder, specifier)

    def _entry(self, folder: str, manifest: dict[str, Any], subpath: str) -> int | None:
        """The source of a package's entry: as its manifest says, else where sources usually are."""
        exports = manifest.get("exports")
        if exports is not None:
            table = (
                exports if isinstance(exports, dict) and any(one.startswith(".") for one in exports) else {".": exports}
            )
            for target in _targets(table, subpath):
                found = self._source(folder, target)
                if found is not None:
                    return found
        if subpath == ".":
            for field in ("source", "types", "typings", "module", "main"):
                named = manifest.get(field)
                if isinstance(named, str) and (found := self._source(folder, named)) is not None:
                    return found
            for name in ("src/index", "index", "src/main", "lib/index"):
                if (found := self.file(posixpath.join(folder, name))) is not None:
                    return found
            return None
        for base in ("src", "", "lib"):
            inner = _joined(posixpath.join(folder, base), subpath)
            found = (self.file(inner) or self._index(inner)) if inner else None
            if found is not None:
                return found
        return None

    def _source(self, folder: str, target: str) -> int | None:
        """The source of what a manifest names, which may be what is built of it."""
        path = _joined(folder, target)
        if path is None:
            return None
        found = self.file(path)
        if found is None and path != folder:
            found = self._index(path)
        if found is not None:
            return found
        short = _BUILT.sub("", target.removeprefix("./"))
        if short == target.removeprefix("./"):
            return None
        short = re.sub(r"\.d\.([mc]?)ts$", r".\1js", short)
        for base in ("src", "", "lib", "source"):
            if (found := self.file(posixpath.join(folder, base, short))) is not None:
                return found
            plain = posixpath.splitext(short)[0]
            plain = re.sub(r"\.(?:esm?|cjs|umd|min|prod|production|development)$", "", plain)
            if (found := self.file(posixpath.join(folder, base, plain))) is not None:
                return found
        return None


def _split(specifier: str) -> tuple[str, str]:
    """The package and the path in it."""
    parts = specifier.split("/")
    count = 2 if specifier.startswith("@") else 1
    return "/".join(parts[:count]), "/".join(parts[count:])


def _joined(folder: str, path: str) -> str | None:
    """A path below the root, None for one that leaves it."""
    found = posixpath.normpath(posixpath.join(folder, path))
    return None if found.startswith("..") else "" if found == "." else found.lstrip("/")


def _above(folder: str) -> Iterator[str]:
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
    yield ""


def _targets(table: dict[str, Any], subpath: str) -> Iterator[str]:
    """What ``exports`` or ``imports`` say of a path, the likeliest first."""
    if subpath in table:
        yield from _leaves(table[subpath], 0)
        return
    best = ""
    for pattern in table:
        head, star, tail = pattern.partition("*")
        if star and subpath.startswith(head) and subpath.endswith(tail) and len(subpath) >= len(head) + len(tail):
            best = pattern if len(head) >= len(best.partition("*")[0]) else best
    if best:
        head, _, tail = best.partition("*")
        middle = subpath[len(head) : len(subpath) - len(tail)]
        for target in _leaves(table[best], 0):
            yield target.replace("*", middle)


def _leaves(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and depth < 8:
        for one in value:
            yield from _leaves(one, depth + 1)
    elif isinstance(value, dict) and depth < 8:
        for name in sorted(value, key=lambda one: _CONDITIONS.index(one) if one in _CONDITIONS else len(_CONDITIONS)):
            yield from _leaves(value[name], depth + 1)
