"""What is known of all files: their facts, where they lie, and the keys of what was asked of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ombud.graph.resolve.fingerprint import fingerprints
from ombud.graph.resolve.values import Values
from ombud.graph.resolve.view import View, key

if TYPE_CHECKING:
    from ombud.graph.facts import Facts
    from ombud.graph.resolve import Sources

VIEWS_BYTES = 24 << 20
"""Of facts that are kept laid out, by estimate."""
MOST_ANSWERS = 15_000
"""Remembered answers from which on all are forgotten: neighbouring files ask alike, others seldom do."""
FEW_ANSWERS = 6_000
"""Remembered answers that are looked through after an edit; more of them cost more than to find them anew."""
KEPT = frozenset({"python"})
"""Families whose answers say by their keys alone what they depend on, and whose questions name files as they are: what
an edit leaves of them is kept. In the others' rules something is remembered beside the answers."""
OFFERED = 64
"""Files of which it is remembered what they provide."""


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
        self._views: dict[int, View] = {}
        self._weights: dict[int, int] = {}
        """Of the views, in the order in which they were made."""
        self._weight = 0
        self._offered: dict[int, dict[int, int]] = {}
        """What files provide, as far as it was asked lately."""
        self._aside: dict[Any, tuple[Values, frozenset[int]]]
        """What was remembered before files changed (`forget`)."""
        self._changed: set[int]
        self._awaited: set[int]
        """The changed files that have not said yet what they provide now."""
        self._spoiled: set[int]
        """Keys that a changed file provides, or did."""
        self._start_anew()

    def view(self, file: int) -> View:
        """The facts of a file. Raises KeyError for one without."""
        found = self._views.get(file)
        if found is not None:
            return found
        if len(self.memo) > MOST_ANSWERS and not self.running:
            self.memo.clear()
        found = View(file, self.sources.path(file), self.sources.facts(file))
        self._views[file] = found
        self._weights[file] = weight = _weight(found.facts)
        self._weight += weight
        while self._weight > VIEWS_BYTES and len(self._views) > 1:
            self._drop(next(iter(self._views)))
        return found

    def _drop(self, file: int) -> None:
        if self._views.pop(file, None) is not None:
            self._weight -= self._weights.pop(file)

    # -- what an edit leaves of what is remembered ------------------------------------------------------------------

    def forget(self, files: Iterable[int]) -> None:
        """These files came, changed or went.

        What is remembered is set aside until `provided` was asked of each of them. Then what neither is about one of
        them nor has asked for a key that one of them provides, or did, holds still: by that key alone it could have
        learned anything of them.
        """
        self.provisional.clear()
        self._aside.update(self.memo)
        self.memo = {}
        sure = self.family in KEPT and len(self._aside) <= FEW_ANSWERS
        for file in files:
            self._drop(file)
            before = self._offered.pop(file, None)
            # Of one that is new, or was never asked, nobody knows what has been learned of it.
            sure = sure and before is not None
            self._spoiled.update(before or ())
            self._changed.add(file)
            if self._is_there(file):
                self._awaited.add(file)
        if not sure:
            self._start_anew()
        self._recall()

    def _is_there(self, file: int) -> bool:
        try:
            return self.sources.facts(file).language in self.languages
        except KeyError:
            return False

    def _start_anew(self) -> None:
        self._aside, self._changed, self._awaited, self._spoiled = {}, set(), set(), set()

    def _recall(self) -> None:
        """Remember again what still holds, once all is known that no longer does."""
        if self._awaited:
            return
        changed, spoiled = self._changed, self._spoiled
        for question, held in self._aside.items():
            if changed.isdisjoint(question) and spoiled.isdisjoint(held[1]):
                self.memo[question] = held
        self._start_anew()

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
        found = self._offered.get(file)
        if found is not None:
            return found
        view = self.view(file)
        found = {view.key(name): number for name, number in fingerprints(view).items()}
        found[key("file", view.path)] = 1
        for name in {symbol.name for symbol in view.symbols}:
            found[key("named", self.family, name)] = file
        found.update(self.also_provided(view))
        if len(self._offered) >= OFFERED:
            self._offered.clear()
        self._offered[file] = found
        if file in self._awaited:
            self._awaited.discard(file)
            self._spoiled.update(found)
            self._recall()
        return found

    def also_provided(self, view: View) -> dict[int, int]:
        """What a language's rules ask beyond names in files and files at paths."""
        del view
        return {}


def _weight(facts: Facts) -> int:
    """About how many bytes of memory a view takes with its facts."""
    columns = len(facts.scopes) + len(facts.exprs) + len(facts.sites) + 15 * len(facts.bindings)
    return columns + 800 * len(facts.symbols) + 80 * len(facts.names) + 300 * len(facts.imports)
