"""A server whose diagnostics the user took away (``exceptFeatures``, ``onlyFeatures``) is neither asked nor heard."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import OmbudFactory, Workspace
from tests.peers.road import codes, edit, entry, freshness, hover, introduced, serving, well_behaved
from tests.peers.script import PeerLog, Script


@pytest.mark.parametrize("channel", ["push", "pull"])
@pytest.mark.parametrize("taken", [{"exceptFeatures": ["diagnostics"]}, {"onlyFeatures": ["hover"]}])
async def test_diagnostics_that_were_taken_away(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path, channel: str, taken: dict[str, list[str]]
) -> None:
    root = workspace({"x.toml": "", "a.x": "ERROR(e1): bad\n"})
    loud, still = (PeerLog(tmp_path / f"{name}.jsonl") for name in ("loud", "still"))
    servers = {
        "loud": entry(Script("loud", diagnostics=channel, log=loud), priority=2),
        "still": entry(Script("still", diagnostics=channel, log=still), priority=1, **taken),
    }
    async with serving(ombud, root, servers) as client:
        client.open("a.x")
        assert await hover(client, "a.x") == "still: line 0: ERROR(e1): bad"
        await client.wait_diagnostics("a.x", lambda found: codes(found) == ["e1"])
        written = await edit(client, "a.x", "bad", "bad\nERROR(e2): worse")
        assert (introduced(written), freshness(written)) == (["e2"], {"loud": "fresh"})
        found = await client.request("ombud/diagnostics", {"path": "a.x"})
        assert (codes(found["diagnostics"]), freshness(found)) == (["e1", "e2"], {"loud": "fresh"})
        assert await hover(client, "a.x") == "still: line 0: ERROR(e1): bad"
    assert still.received("textDocument/diagnostic") == []
    well_behaved(loud, still)
