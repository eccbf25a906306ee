"""Rows F1 to F9 of the fence, at every way of writing: what must not be touched is not, whoever asks in which words."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.commits import portrait
from tests.conftest import ClientFactory, OmbudFactory, Workspace
from tests.peers.road import failure, meddled, serving
from tests.peers.ways import TRIGGER, WAYS, WRITING, Wish, mode_of, offering
from tests.profiles import AGENT

FILES = {"x.toml": "", TRIGGER: "trigger\n", "inner.x": "inner\n", "a.x": "old\n", "sub/b.x": "old\n"}


def place(workspace: Workspace) -> Path:
    """A workspace, and beside it what is outside: a folder, and one whose name begins like the workspace's."""
    root = workspace(FILES)
    workspace({"a.x": "old\n"}, name="ws-evil")
    workspace({"a.x": "old\n", "dir/b.x": "old\n"}, name="outside")
    (root.parent / "outside").chmod(0o755)
    return root


def seen(root: Path) -> dict[str, object]:
    """Everything that could be changed, in the workspace and beside it."""
    return {name: portrait(root.parent / name) for name in ("ws", "ws-evil", "outside")}


async def nothing_happens(
    ombud: OmbudFactory, root: Path, wishes: list[Wish], kinds: set[str], *, previews: bool = True
) -> None:
    """Every wish is refused in every way that can say it, with one of ``kinds``, and no byte of anything changes."""
    before = seen(root)
    wrong = []
    asked = 0
    async with serving(ombud, root, {"one": offering(root, wishes)}, capabilities=AGENT) as client:
        for wish in wishes:
            for way in WAYS:
                if not way.fits(wish):
                    continue
                for more in [{}, {"preview": True}] if previews and way.previews else [{}]:
                    answer = await way.ask(client, root, wish, **more)
                    asked += 1
                    # A server is not told the kind of a refusal.
                    if answer.kind not in (*kinds, *(["refused"] if way.name == "applyEdit" else [])):
                        wrong.append((way.name, wish.path[:60], more, answer.kind, answer.said[:200]))
                    after = seen(root)
                    if after != before:
                        wrong.append((way.name, wish.path[:60], more, "CHANGED", answer.said[:200]))
                        before = after
    assert wrong == []
    assert asked > 5


# -- fence


async def test_F1_a_neighbour_whose_name_begins_alike_is_outside(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = place(workspace)
    evil = root.with_name("ws-evil")
    wishes = [
        Wish(f"{evil}/a.x", "old\n"),
        Wish(f"{evil}/new.x"),
        Wish("../ws-evil/a.x", "old\n"),
        Wish("../ws-evil/fresh/new.x"),
    ]
    await nothing_happens(ombud, root, wishes, {"outside_workspace"})


async def test_F2_a_link_that_leads_out_is_not_followed(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = place(workspace)
    outside = root.with_name("outside")
    (root / "link.x").symlink_to(outside / "a.x")
    (root / "relative.x").symlink_to("../outside/a.x")
    (root / "linked").symlink_to(outside)
    (root / "sub/up").symlink_to("../..")
    (root / "dangling.x").symlink_to(outside / "new.x")
    wishes = [
        *(Wish(path, "old\n") for path in ("link.x", "relative.x", "linked/a.x", "linked/dir/b.x")),
        Wish("sub/up/outside/a.x", "old\n"),
        *(Wish(path) for path in ("linked/new.x", "linked/fresh/new.x", "sub/up/outside/new.x", "dangling.x")),
    ]
    await nothing_happens(ombud, root, wishes, {"outside_workspace"})


async def test_F3_what_cannot_be_resolved_is_not_touched(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = place(workspace)
    (root / "loop").symlink_to("loop")
    for number in range(60):
        (root / f"chain{number}").symlink_to(f"chain{number + 1}" if number < 59 else "sub")
    wishes = [
        Wish("loop/b.x", "old\n"),
        Wish("chain0/b.x", "old\n"),
        Wish("chain0/new.x"),
        Wish("sub/" * 1300 + "b.x", "old\n"),
        Wish("../ws/" * 900 + "a.x", "old\n"),
        Wish("n" * 300 + ".x"),
        Wish("d/" * 3000 + "new.x"),
    ]
    # A patch that only sets a mode does not find its file's name in so long a line.
    kinds = {"outside_workspace", "not_found", "invalid_params"}
    await nothing_happens(ombud, root, wishes, kinds, previews=False)


async def test_F5_a_link_to_a_protected_file_is_protected(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = place(workspace)
    workspace({".env": "old\n", ".ssh/id_rsa": "old\n", ".git/config": "old\n", "key.pem": "old\n"})
    (root / "harmless.x").symlink_to(".env")
    (root / "notes").symlink_to(".ssh")
    (root / "again.x").symlink_to("harmless.x")
    (root / "config.x").symlink_to(".git/config")
    (root / ".env.local").symlink_to("a.x")
    paths = ["harmless.x", "again.x", "notes/id_rsa", "config.x", ".env.local", ".env", "key.pem", "sub/../.git/config"]
    wishes = [*(Wish(path, "old\n") for path in paths), Wish("notes/authorized_keys")]
    await nothing_happens(ombud, root, wishes, {"sensitive_path"})


async def test_F6_protected_files_are_not_made_and_nothing_is_moved_there(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = place(workspace)
    inside = [".env", ".env.local", ".git/hooks/pre-commit", "sub/.git/config", ".ssh/authorized_keys", "new.pem"]
    wishes = [Wish(path) for path in [*inside, ".npmrc", f"{root}/.env"]]
    await nothing_happens(ombud, root, wishes, {"sensitive_path"})


async def test_F7_the_case_of_letters_protects_no_less(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = place(workspace)
    workspace({".Git/config": "old\n", "sub/.ENV": "old\n"})
    paths = [".GIT/config", ".giT/hooks/post-checkout", ".Env", ".SSH/config", "sub/ID_RSA", "KubeConfig"]
    wishes = [Wish(".Git/config", "old\n"), Wish("sub/.ENV", "old\n"), *(Wish(path) for path in paths)]
    await nothing_happens(ombud, root, wishes, {"sensitive_path"})


async def test_F8_dots_lead_nowhere(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = place(workspace)
    wishes = [
        *(Wish(path, "old\n") for path in ("../outside/a.x", "sub/../../outside/a.x", "sub/.././../ws-evil/a.x")),
        Wish(f"{root}/../outside/a.x", "old\n"),
        Wish(f"{root}/sub/../../outside/dir/b.x", "old\n"),
        *(Wish(path) for path in ("../new.x", "../../../../../../../../tmp/never-there.x", "sub/../../outside/new.x")),
        Wish("/etc/never-there.x"),
    ]
    await nothing_happens(ombud, root, wishes, {"outside_workspace"})


async def test_F8_a_leading_dash_is_a_name(ombud: OmbudFactory, workspace: Workspace) -> None:
    wishes = [Wish("-rf.x"), Wish("--output=/etc/x"), Wish("sub/-.x")]
    for way in WRITING:
        if not way.fits(wishes[0]):
            continue
        root = workspace(FILES, name=f"ws for {way.name}")
        async with serving(ombud, root, {"one": offering(root, wishes)}, capabilities=AGENT) as client:
            for wish in wishes:
                answer = await way.ask(client, root, wish)
                assert answer.done, (way.name, wish, answer)
                assert (root / wish.path).read_text() == "new\n"


SWAPPED = {
    "before the files are read": "guard.fence.Fence.read",
    "before the commit looks again": "workspace.commit.verify",
    "before the journal is written": "workspace.journal.Journal.write",
    "before the temporaries are written": "workspace.landing.Landing.prepare",
    "before the change": "workspace.landing.Landing.swap",
}


@pytest.mark.parametrize("moment", SWAPPED)
async def test_F4_a_folder_swapped_for_a_link_at_any_moment_leads_nowhere(
    client_factory: ClientFactory, workspace: Workspace, tmp_path: Path, moment: str
) -> None:
    """Somebody puts a link in the place of the folder that is written in. Outside stands a file of the same text."""
    wishes = {
        way: Wish(f"sub{number}/b.x", "old\n") if way.fits(Wish("", "old\n")) else Wish(f"sub{number}/new.x")
        for number, way in enumerate(WAYS)
    }
    root = workspace({**FILES, **{f"sub{number}/b.x": "old\n" for number in range(len(WAYS))}})
    orders = tmp_path / "orders"
    made = meddled(client_factory, at=SWAPPED[moment], orders=str(orders))
    async with serving(made, root, {"one": offering(root, list(wishes.values()))}, capabilities=AGENT) as client:
        for number, (way, wish) in enumerate(wishes.items()):
            (root / "inner.x").write_text("inner\n")
            (root / "elsewhere.x").unlink(missing_ok=True)
            outside = workspace({"b.x": "old\n"}, name=f"outside{number}")
            sub, was = root / f"sub{number}", root / f"was{number}"
            orders.write_text(json.dumps([["rename", str(sub), str(was)], ["symlink", str(outside), str(sub)]]))
            answer = await way.ask(client, root, wish)
            assert sub.is_symlink() and not orders.exists(), f"{way.name} never came to that moment: {answer}"
            assert portrait(outside).keys() == {"b.x"}, (way.name, answer)
            status = (outside / "b.x").stat()
            assert (outside / "b.x").read_text() == "old\n" and status.st_mode & 0o111 == 0, (way.name, answer)
            # What was open before the swap may still be written: in the folder, wherever it is by then.
            assert answer.kind in (None, "outside_workspace", "file_changed", "refused", "conflict"), (way.name, answer)
            assert answer.done or (portrait(was).keys() == {"b.x"} and (was / "b.x").read_text() == "old\n")


async def test_F4_a_rollback_does_not_follow_a_link_that_was_put_there_since(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = place(workspace)
    async with serving(ombud, root, {}, capabilities=AGENT) as client:
        first = await client.request("ombud/write", {"path": "sub/b.x", "content": "new\n"})
        second = await client.request("ombud/write", {"path": "a.x", "content": "new\n"})
        (root / "sub").rename(root / "was-sub")
        (root / "sub").symlink_to(root.with_name("outside") / "dir")
        (root / "a.x").unlink()
        (root / "a.x").symlink_to(root.with_name("outside") / "a.x")
        (root.with_name("outside") / "dir/b.x").write_text("new\n")
        (root.with_name("outside") / "a.x").write_text("new\n")
        before = seen(root)
        for checkpoint in (second["checkpoint"], first["checkpoint"]):
            error = await failure(client.start_request("ombud/rollback", {"checkpoint": checkpoint}), client)
            assert error.kind in ("outside_workspace", "file_changed"), error
            assert seen(root) == before


async def test_F9_a_mode_is_never_set_through_a_link(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = place(workspace)
    outside = root.with_name("outside")
    (root / "out.x").symlink_to(outside / "a.x")
    (root / "linked").symlink_to(outside)
    (root / "secret.x").symlink_to(".env")
    (root / "in.x").symlink_to("a.x")
    workspace({".env": "old\n"})
    async with serving(ombud, root, {}, capabilities=AGENT) as client:
        before = seen(root)
        outsiders = [("out.x", "outside_workspace"), ("linked/a.x", "outside_workspace")]
        for path, kind in [*outsiders, ("secret.x", "sensitive_path")]:
            for patch in (mode_of(path), mode_of(path) + f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-old\n+new\n"):
                error = await failure(client.start_request("ombud/applyPatch", {"patch": patch}), client)
                assert error.kind == kind, error
                assert seen(root) == before
        # A folder and a link have modes of their own, which no patch sets.
        error = await failure(client.start_request("ombud/applyPatch", {"patch": mode_of("sub")}), client)
        assert seen(root) == before, error
        # Through a link that stays inside it is the file that becomes executable, and the link is what it was.
        await client.request("ombud/applyPatch", {"patch": mode_of("in.x")})
        assert (root / "in.x").is_symlink() and os.readlink(root / "in.x") == "a.x"
        assert (root / "a.x").stat().st_mode & 0o777 == 0o755


async def test_F9_a_link_that_takes_the_files_place_at_the_last_moment_keeps_its_targets_mode(
    client_factory: ClientFactory, workspace: Workspace
) -> None:
    root = place(workspace)
    outside = root.with_name("outside")
    (outside / "a.x").chmod(0o600)
    steps = [["rename", f"{root}/a.x", f"{root}/was.x"], ["symlink", str(outside / "a.x"), f"{root}/a.x"]]
    made = meddled(client_factory, at="workspace.landing.Landing.swap", do=steps)
    async with serving(made, root, {}, capabilities=AGENT) as client:
        error = await failure(client.start_request("ombud/applyPatch", {"patch": mode_of("a.x")}), client)
        assert error.kind in ("file_changed", "outside_workspace")
    assert (outside / "a.x").stat().st_mode & 0o777 == 0o600
    assert (root / "was.x").stat().st_mode & 0o777 == 0o644
