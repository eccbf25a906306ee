"""The code graph: what is here, and what depends on it. See ARCHITECTURE.md, "The code graph"."""
