"""A client that writes, with the short way to its writes and what is in its workspace."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.client import Client, LspError
from tests.commits import snapshot
from tests.conftest import OmbudFactory
from tests.peers.road import failure, serving

Json = dict[str, Any]

FILES = {"x.toml": "", "a.x": "first\n", "b.x": "second\r\n", "sub/c.x": "third\n"}
MOVES = """diff --git a/a.x b/sub/moved.x
similarity index 50%
rename from a.x
rename to sub/moved.x
--- a/a.x
+++ b/sub/moved.x
@@ -1 +1 @@
-first
+moved
diff --git a/b.x b/b.x
deleted file mode 100644
--- a/b.x
+++ /dev/null
@@ -1 +0,0 @@
-second
diff --git a/new/d.x b/new/d.x
new file mode 100755
--- /dev/null
+++ b/new/d.x
@@ -0,0 +1 @@
+fourth
diff --git a/sub/c.x b/sub/c.x
old mode 100644
new mode 100755
--- a/sub/c.x
+++ b/sub/c.x
@@ -1 +1 @@
-third
+THIRD
"""


class Writer:
    """A client, and the short way to its writes. What they answer is checked for what holds of each."""

    def __init__(self, client: Client, root: Path) -> None:
        self.client = client
        self.root = root

    async def ask(self, name: str, **params: Any) -> Json:
        found: Json = await self.client.request(f"ombud/{name}", params)
        if name in ("write", "edit", "applyPatch", "rollback"):
            assert next(iter(found)) == "applied"
            assert found["applied"] is not params.get("preview", False)
            assert re.fullmatch(r"w\d+", found["writeId"])
            assert ("checkpoint" in found) is (found["applied"] and found["files"] != [])
        return found

    async def save(self, path: str, text: str, **more: Any) -> str:
        """Write a file; the checkpoint."""
        made = (await self.ask("write", path=path, content=text, **{"waitMs": 0, **more}))["checkpoint"]
        assert isinstance(made, str)
        return made

    async def back(self, checkpoint: str, **more: Any) -> Json:
        return await self.ask("rollback", checkpoint=checkpoint, **more)

    async def refused(self, name: str, **params: Any) -> LspError:
        return await failure(self.client.start_request(f"ombud/{name}", params), self.client)

    async def listed(self, **params: Any) -> list[Json]:
        found: list[Json] = (await self.ask("checkpoints", **params))["checkpoints"]
        return found

    async def ids(self, **params: Any) -> list[str]:
        return [one["checkpoint"] for one in await self.listed(**params)]

    def texts(self) -> dict[str, str]:
        return {name: value[0].decode() for name, value in self.state().items() if name != "x.toml"}

    def state(self) -> dict[str, tuple[Any, ...]]:
        """Bytes and permissions of every file."""
        seen = snapshot(self.root)
        return {name: value[:2] for name, value in seen.items() if value[0] != "folder"}


TEXTS = {name: text for name, text in FILES.items() if name != "x.toml"}


@asynccontextmanager
async def writing(ombud: OmbudFactory, root: Path, **servers: Any) -> AsyncIterator[Writer]:
    async with serving(ombud, root, servers) as client:
        yield Writer(client, root)
