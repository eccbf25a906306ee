"""Workspace folders as clients name them (LSP 3.17, ``WorkspaceFolder``)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ombud.errors import OmbudError

UNSAVED = "untitled:"
"""How the URI of a buffer begins that was never saved."""
LOG = logging.getLogger("ombud.session")


class Folder(msgspec.Struct):
    """A ``WorkspaceFolder``."""

    uri: str
    name: str = ""


def paths_of(folders: Sequence[Folder]) -> list[Path]:
    """The folders on this disk. One that is none is left out, which the log says."""
    from ombud.guard.uris import uri_to_path

    out = []
    for folder in folders:
        try:
            out.append(uri_to_path(folder.uri))
        except (OmbudError, ValueError):
            LOG.warning("the workspace folder %s is not on this disk and is left out", folder.uri)
    return out
