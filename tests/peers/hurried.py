"""``ombud`` with other clocks: ``python tests/peers/hurried.py '{"downstream.server.BACKOFF": [0.05]}' serve``.

What users cannot configure, such as the seconds between two restarts, a test changes here: each key is a module under
``ombud`` and one of its constants, which is set before anything has run. A constant that does not exist is an error.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module

from ombud.__main__ import main


def hurry(clocks: dict[str, object]) -> None:
    """Set each constant; lists become tuples. Raises ``AttributeError`` for one that is not there."""
    for name, value in clocks.items():
        module_name, _, constant = name.rpartition(".")
        module = import_module(f"ombud.{module_name}")
        getattr(module, constant)
        setattr(module, constant, tuple(value) if isinstance(value, list) else value)


if __name__ == "__main__":
    hurry(json.loads(sys.argv[1]))
    sys.exit(main(sys.argv[2:]))
