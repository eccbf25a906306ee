"""What is known of all files: their facts, where they lie, and the keys of what was asked of them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ombud.graph.resolve.fingerprint import fingerprints
from ombud.graph.resolve.values import Values
from ombud.graph.resolve.view import View, key

if TYPE_CHECKING:
    from ombud.graph.resolve import Sources

VIEWS = 400
"""Files whose facts are kept laid out."""


class World:
    """The files of one family of languages, seen by its engine."""

    def __init__(self, sources: Sources, family: str) -> None:
        from ombud.graph.resolve import FAMILIES

        self.sources = sources
        self.family = family
        self.languages = [language for language, name in FAMILIES.items() if name == family] or [family]
        self.asked: set[int] = set()
        self.cut = 1 << 60
        self.current = 0
        """The file whose sites are being resolved."""
        self.moving = False
        """Whether what was last looked up would be something else at another place of its scope."""
        self.memo: dict[Any, tuple[Values, frozenset[int]]] = {}
        self.provisional: dict[Any, tuple[Values, frozenset[int], int]] = {}
        self.running: dict[Any, int] = {}
        self._views: OrderedDict[int, View] = OrderedDict()

    def view(self, file: int) -> View:
        """The facts of a file. Raises KeyError for one without."""
        found = self._views.get(file)
        if found is None:
            found = View(file, self.sources.path(file), self.sources.facts(file))
            self._views[file] = found
            if len(self._views) > VIEWS:
                self._views.popitem(last=False)
        return found

    def forget(self, files: Iterable[int]) -> None:
        """These files came, changed or went."""
        for file in files:
            self._views.pop(file, None)
        self.memo.clear()
        self.provisional.clear()

    # -- questions that leave a trace -------------------------------------------------------------------------------

    def ask(self, view: View, name: str) -> None:
        """The answer depends on what ``name`` is in that file."""
        self.asked.add(view.key(name))

    def file_at(self, path: str) -> int | None:
        """The file of this family at a path; that there is none is an answer, too."""
        self.asked.add(key("file", path))
        found = self.sources.paths().get(path)
        return found if found is not None and self.sources.language(found) in self.languages else None

    def config(self, path: str) -> str | None:
        """The text of a configuration file."""
        self.asked.add(key("config", path))
        return self.sources.config(path)

    def named(self, name: str) -> Sequence[tuple[int, int]]:
        """All symbols of the family with a bare name: (file, symbol)."""
        self.asked.add(key("named", self.family, name))
        return self.sources.named(name, self.languages)

    # -- what is provided -------------------------------------------------------------------------------------------

    def provided(self, file: int) -> dict[int, int]:
        """See `ombud.graph.resolve.Resolver.provided`."""
        view = self.view(file)
        found = {view.key(name): number for name, number in fingerprints(view).items()}
        found[key("file", view.path)] = 1
        for name in {symbol.name for symbol in view.symbols}:
            found[key("named", self.family, name)] = file
        found.update(self.also_provided(view))
        return found

    def also_provided(self, view: View) -> dict[int, int]:
        """What a language's rules ask beyond names in files and files at paths."""
        del view
        return {}
