"""The ``ombud`` command. ``serve`` takes the short way, so that an editor's first answer waits for nothing else."""

from __future__ import annotations

import sys


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    if arguments == ["serve"]:
        return serve(None)
    from ombud.faces.cli.main import run

    return run(arguments, serve)


def serve(address: str | None) -> int:
    """Serve on standard input and output, or on ``HOST:PORT``. Raises `UserError` for a bad address."""
    import asyncio

    from ombud.app import configure_logging, serve_stdio, serve_tcp

    configure_logging(None)
    return asyncio.run(serve_stdio() if address is None else serve_tcp(address))


if __name__ == "__main__":
    sys.exit(main())
