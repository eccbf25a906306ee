"""The one hook that ``pip download`` asks of a build backend (PEP 517).

pip wants the metadata of whatever it downloads, and setuptools would import the package to tell its version. The
archive holds the answer already, in its ``PKG-INFO``.
"""

from __future__ import annotations

import shutil
from pathlib import Path

FOLDER = "source.dist-info"


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: object = None) -> str:
    """Copy the archive's own metadata; the name of the folder that holds it. pip calls this in the archive's root."""
    del config_settings
    folder = Path(metadata_directory, FOLDER)
    folder.mkdir()
    shutil.copyfile("PKG-INFO", folder / "METADATA")
    return FOLDER
