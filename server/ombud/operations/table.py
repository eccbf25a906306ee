"""Every operation by name: its tier and the module that has its handler. Importing this imports none of them."""

from __future__ import annotations

from typing import Literal, NamedTuple

Tier = Literal["read", "write", "exec"]


class Place(NamedTuple):
    """Where an operation lives: ``module`` under ``ombud.operations`` has ``Params``, ``Result`` and ``run``."""

    tier: Tier
    module: str


OPERATIONS: dict[str, Place] = {
    "status": Place("read", "status"),
    "reload": Place("read", "reload"),
    "lsp": Place("read", "lsp"),
    "diagnostics": Place("read", "diagnostics"),
    "write": Place("write", "write"),
    "edit": Place("write", "edit"),
    "apply_patch": Place("write", "apply_patch"),
    "rename": Place("write", "rename"),
    "checkpoints": Place("read", "checkpoints"),
    "rollback": Place("write", "rollback"),
    "transaction": Place("write", "transaction"),
    "graph_index": Place("read", "graph.index"),
    "graph_search": Place("read", "graph.search"),
    "graph_symbol": Place("read", "graph.symbol"),
    "graph_callers": Place("read", "graph.callers"),
    "graph_callees": Place("read", "graph.callees"),
    "graph_dependencies": Place("read", "graph.dependencies"),
    "graph_impact": Place("read", "graph.impact"),
    "graph_path": Place("read", "graph.path"),
    "graph_outline": Place("read", "graph.outline"),
    "graph_stats": Place("read", "graph.stats"),
    "graph_export": Place("read", "graph.export"),
    "debug": Place("exec", "debug"),
    "debug_adapter": Place("exec", "debug_adapter"),
    "ast_grep": Place("read", "structural.grep"),
    "scan": Place("read", "structural.scan"),
    "ast_edit": Place("read", "structural.edit"),
    "staged": Place("read", "structural.staged"),
    "resolve": Place("write", "structural.resolve"),
    "restage": Place("read", "structural.restage"),
}


def camel(name: str) -> str:
    """The wire's spelling of a snake_case name: ``ast_grep`` → ``astGrep``."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)
