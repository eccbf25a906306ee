"""Expressions nested deeper than Python calls: what depends on them is resolved again, and no chain takes for ever."""

from __future__ import annotations

import pytest
from ombud.graph.facts import CALL_SITE
from ombud.graph.resolve import Resolver
from ombud.graph.resolve.engine import Engine
from ombud.graph.resolve.values import Values
from ombud.graph.resolve.view import View

from tests.unit.graph.test_resolve_go import Memory, follow

DEEP = {
    "values": ("{0: " * 200, "}" * 200),
    "lambdas": ("lambda: " * 300, ""),
    "calls": ("f(" * 250, ")" * 250),
    "sums": ("1 + (" * 150, ")" * 150),
    "members": ("", ".x" * 300),
}
USES = "from a import first\n\n\ndef use():\n    first.go()\n    first().go()\n"


def _text(left: str, right: str, name: str) -> str:
    classes = "".join(f"class {one}:\n    def go(self): pass\n\n\n" for one in "AB")
    return f"{classes}def f(x): return x\n\n\nfirst = {name}()\nlast = {left}{name}{right}\n"


@pytest.mark.parametrize("shape", DEEP)
def test_incremental_equals_rebuild_however_deep(shape: str) -> None:
    one, other = (_text(*DEEP[shape], name) for name in "AB")
    follow({"a.py": one, "b.py": USES}, [{"a.py": other}, {"b.py": USES + "first\n"}, {"a.py": None}, {"a.py": one}])


# The other languages' values are cut as deep as this already where they are extracted.
CHAINS = {
    "a.py": "class A:\n    def go(self): return self\nx = A(){}\n",
    "a.rb": "class A\n def go; self; end\nend\nx = A.new{}\n",
}


@pytest.mark.parametrize("path", CHAINS)
def test_a_chain_is_followed_as_far_as_its_links_stay_cheap(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each link's site follows all before it: without a bound, ten times the links take a hundred times the steps."""
    steps = 0
    step = Engine.eval

    def counted(self: Engine, view: View, expr: int, scope: int, pos: int) -> Values:
        nonlocal steps
        steps += 1
        return step(self, view, expr, scope, pos)

    monkeypatch.setattr(Engine, "eval", counted)
    taken = []
    link = ".go" if path.endswith(".rb") else ".go()"
    for links in (1000, 2000):
        steps = 0
        memory = Memory({path: CHAINS[path].format(link * links)})
        (file,) = memory.files()
        answer = Resolver(memory).resolve(file)
        assert sum(edge[3] == CALL_SITE for edge in answer.edges) >= 20
        taken.append(steps)
    assert taken[1] <= 1.1 * taken[0]
