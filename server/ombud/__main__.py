"""The ``ombud`` command. ``serve`` takes the short way, so that an editor's first answer waits for nothing else."""

from __future__ import annotations

import sys


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    if arguments == ["serve"]:
        import asyncio

        from ombud.app import configure_logging, serve_stdio

        configure_logging(None)
        return asyncio.run(serve_stdio())
    from ombud.faces.cli.main import run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
