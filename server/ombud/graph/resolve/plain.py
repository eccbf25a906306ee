"""The rules of languages without rules of their own: what a file itself defines, and nothing beyond it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ombud.graph.resolve.engine import Engine
from ombud.graph.resolve.values import UNKNOWN, Values

if TYPE_CHECKING:
    from ombud.graph.resolve.view import View


class Plain(Engine):
    """See the module. A bare name may be a member of the class around it in the languages that have classes."""

    CLASS_NAMES = True

    def imported(self, view: View, number: int) -> Values:
        """Imports are not followed."""
        del view, number
        return UNKNOWN

    def export(self, view: View, name: str) -> Values:
        """Nothing is asked of another file."""
        del view, name
        return UNKNOWN


ENGINE = Plain
