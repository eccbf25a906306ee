"""A language server whose behaviour is a script: ``python tests/peers/server.py '<json>'`` or ``--script FILE``.

Arguments after the script are those that a real server of its kind takes: ``--version`` answers, others mean nothing.

It speaks LSP on stdin and stdout, needs nothing but the standard library and starts fast. What a script may say is
listed in ``tests/peers/scripted/keys.py``; ``tests/peers/script.py`` builds scripts in Python.
"""

from __future__ import annotations

import os
import sys

# The interpreter may have been started with -I, which leaves the script's own folder out of the path.
sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from tests.peers.scripted.keys import ScriptError, load
from tests.peers.scripted.session import serve


def main(argv: list[str]) -> int:
    try:
        script = load(argv)
    except ScriptError as problem:
        # Loud and with an exit code of its own: a misspelt script must never look like a well-behaved server.
        print(f"bad script: {problem}", file=sys.stderr)
        return 64
    if "--version" in argv[1:]:
        print(script["name"], script["version"])
        return 0
    return serve(script)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
