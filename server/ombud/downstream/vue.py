"""Where TypeScript finds what makes it read Vue's files.

From version 3 on Vue's language server knows nothing of types. A TypeScript server with ``@vue/typescript-plugin``
stands beside it and answers it (`ombud.operations.tsserver`). The plugin is part of the language server's own package,
and the two must be of one version, so it is taken from there and from nowhere else.
"""

from __future__ import annotations

from pathlib import Path

from ombud.downstream.shims import package_of
from ombud.guard.commands import Resolved, resolve_command
from ombud.guard.trust import Trust

COMMAND = "vue-language-server"
PACKAGE = "@vue/language-server"
LEAST = 3


def plugin(root: Path, folder: Path, trust: Trust, path: str | None = None) -> str | None:
    """The folder from which TypeScript is to look for the plugin; None where there is no Vue server that needs one.

    ``path`` is the search path for commands (default: PATH). Without trust a server in the workspace does not count.
    """
    answer = resolve_command((COMMAND,), root=root, folders=(folder,), trust=trust, path=path)
    if not isinstance(answer, Resolved):
        return None
    # npm's commands are links into the package. Those of pnpm and on Windows are scripts beside it.
    beside = answer.executable.parent
    places = (answer.real, beside.parent / PACKAGE / "bin", beside / "node_modules" / PACKAGE / "bin")
    found = (package for place in places if (package := package_of(place)) is not None and package.name == PACKAGE)
    package = next(found, None)
    return str(package.folder) if package is not None and (package.major or 0) >= LEAST else None
