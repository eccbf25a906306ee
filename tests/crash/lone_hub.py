"""A hub as small as can be, to be killed: one family of children, one guardian, nothing that ends them.

Run as ``python lone_hub.py FAMILY_SCRIPT HOW [WORD …]``. Prints one JSON line: its own id, the guardian's and the
family's. HOW: ``wait`` (until killed), ``return`` (leave the loop without ending anybody), ``exit`` (``os._exit``),
``busy`` (block the event loop, as a hub that hangs does), or ``ending`` (leave the loop in the middle of ending the
family with all patience, then wait, beside a guardian that has not been let go, until a line says to leave).
"""

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path

from ombud.process.child import Child
from ombud.process.guardian import Guardian
from ombud.process.ladder import Grace, end


async def main(script: str, how: str, words: list[str], guardian: Guardian) -> None:
    output = bytearray()
    complete = asyncio.Event()

    def on_stdout(data: bytes) -> None:
        output.extend(data)
        if output.endswith(b"}\n"):
            complete.set()

    child = await Child.start(
        [sys.executable, "-I", "-S", script, *words],
        cwd=Path("/"),
        env=os.environ,
        on_stdout=on_stdout,
        on_exit=lambda end: None,
        guardian=guardian,
    )
    await complete.wait()
    told = {"hub": os.getpid(), "guardian": guardian.pid, "family": json.loads(output)}
    print(json.dumps(told), flush=True)
    if how == "exit":
        os._exit(0)
    if how == "busy":
        time.sleep(600)
    if how == "wait":
        await child.wait()
    if how == "ending":
        climb = asyncio.create_task(end(child, grace=Grace(goodbye=60, stdin=60, term=60, kill=60)))
        # The first thing the climb does is to look the family up, in a thread; then its first rung waits.
        while len(child.group._known) < (3 if sys.platform == "linux" else 2):
            await asyncio.sleep(0.01)
        assert not climb.done()


if __name__ == "__main__":
    # A shell that starts the tests in the background makes them, and all they start, deaf to these two.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    kept = Guardian()
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3:], kept))
    if sys.argv[2] == "ending":
        print("left the loop", flush=True)
        sys.stdin.readline()
