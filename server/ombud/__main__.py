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


def serve(address: str | None, linger: float | None = None) -> int:
    """Serve on standard input and output, or on ``HOST:PORT`` or ``unix:PATH``.

    With ``linger`` a hub that listens ends after so many seconds without a client. Raises `UserError` for a bad
    address, `Refused` for one where a hub lives already.
    """
    import asyncio

    from ombud.app import configure_logging, serve_listening, serve_stdio

    configure_logging(None)
    return asyncio.run(serve_stdio() if address is None else serve_listening(address, linger))


if __name__ == "__main__":
    sys.exit(main())
