"""Facts of C. See `ombud.graph.extract.cfamily`."""

from __future__ import annotations

from ombud.graph.extract.cfamily import CFamily

EXTRACTION = CFamily
