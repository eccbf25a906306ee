"""The operations on the code graph (protocol.md, "Code graph"): one module each, and what they share."""
