"""A client that stages rewrites, and the short way to what they answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.client import Client, LspError
from tests.commits import Portrait, portrait
from tests.conftest import OmbudFactory
from tests.peers.road import failure, serving

Json = dict[str, Any]
OLD, NEW = "old($X)", "new($X)"


class Stager:
    """A client, and what it stages and decides on. What holds of every answer is checked here."""

    def __init__(self, client: Client, root: Path) -> None:
        self.client = client
        self.root = root

    async def ask(self, name: str, **params: Any) -> Json:
        found: Json = await self.client.request(f"ombud/{name}", params, 120)
        return found

    async def stage(self, pattern: str = OLD, rewrite: str = NEW, **more: Any) -> Json:
        """Stage a rewrite; it must have changed nothing."""
        before = self.state()
        found = await self.ask("astEdit", pattern=pattern, rewrite=rewrite, **more)
        assert self.state() == before, "nothing is written by staging"
        assert (found["editId"] is None) is (found["files"] == [])
        return found

    async def staged_id(self, **more: Any) -> str:
        made = (await self.stage(**more))["editId"]
        assert isinstance(made, str)
        return made

    async def commit(self, edit: str, **more: Any) -> Json:
        found = await self.ask("resolve", editId=edit, action="commit", **{"waitMs": 0, **more})
        assert next(iter(found)) == "applied"
        assert found["applied"] is not more.get("preview", False)
        assert ("checkpoint" in found) is found["applied"]
        return found

    async def discard(self, edit: str, **more: Any) -> Json:
        found = await self.ask("resolve", editId=edit, action="discard", **more)
        assert found["applied"] is False
        return found

    async def refused(self, name: str, **params: Any) -> LspError:
        """The error of a request that must have changed nothing, neither files nor what is staged."""
        before, staged = self.state(), await self.ids()
        error = await failure(self.client.start_request(f"ombud/{name}", params), self.client, 120)
        assert self.state() == before
        assert await self.ids() == staged
        return error

    async def not_committed(self, edit: str, **more: Any) -> LspError:
        return await self.refused("resolve", editId=edit, action="commit", **more)

    async def listed(self, **more: Any) -> list[Json]:
        found: list[Json] = (await self.ask("staged", **more))["staged"]
        return found

    async def ids(self) -> list[str]:
        found = [one["editId"] for one in await self.listed()]
        assert (await self.ask("status"))["staged"] == found[::-1]
        return found

    def state(self) -> Portrait:
        return portrait(self.root)

    def text(self, name: str) -> str:
        return (self.root / name).read_bytes().decode()


@asynccontextmanager
async def staging(ombud: OmbudFactory, root: Path, **more: Any) -> AsyncIterator[Stager]:
    """A session without language servers, unless ``servers`` has some."""
    async with serving(ombud, root, more.pop("servers", {}), **more) as client:
        yield Stager(client, root)


def names(files: list[Json]) -> list[str]:
    return [one["path"] for one in files]
