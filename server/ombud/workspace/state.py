"""Where Ombud keeps what outlives a process: the user's state folder, never the workspace (T3)."""

from __future__ import annotations

from pathlib import Path


def state_folder() -> Path:
    """The user's state folder for Ombud. A relative one from the environment is ignored, as the XDG rules say."""
    import platformdirs

    folder = Path(platformdirs.user_state_dir("ombud", appauthor=False))
    return folder if folder.is_absolute() else Path.home() / ".local" / "state" / "ombud"


def journal_folder() -> Path:
    """Where commits keep their journals until they are done."""
    return state_folder() / "journals"


def checkpoint_folder() -> Path:
    """Where each workspace has a folder with what was there before its writes."""
    return state_folder() / "checkpoints"


def staging_folder() -> Path:
    """Where each workspace has a folder with the rewrites that wait for a decision."""
    return state_folder() / "staged"
