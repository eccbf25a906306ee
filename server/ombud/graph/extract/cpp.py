"""Facts of C++, and of all headers. See `ombud.graph.extract.cfamily`."""

from __future__ import annotations

from ombud.graph.extract.cfamily import CFamily


class Cpp(CFamily):
    """C++: C's query, and one of its own."""

    QUERY = "c+cpp"


EXTRACTION = Cpp
