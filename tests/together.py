"""How tests are dealt out to several workers: one by one, but for some modules that are dealt out whole.

Those are the modules whose tests share a session, and the pure ones, whose tests are shorter than the dealing. The
planted edits are dealt out by server, since those of one server share a session.
"""

from __future__ import annotations

import re

from xdist.scheduler import LoadScopeScheduling

_WHOLE = re.compile(
    r"tests/(?:unit/\w+|real/test_(?:pairs_\w+|profiles|emacs))\.py|tests/real/test_planted\.py::\w+\[[\w-]+/"
)


class Together(LoadScopeScheduling):
    """See the module. Modules are known by their names, since the one who deals does not see the tests."""

    def _split_scope(self, nodeid: str) -> str:
        module = _WHOLE.search(nodeid)
        return nodeid if module is None else module.group()
