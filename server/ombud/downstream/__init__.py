"""The language servers behind Ombud: the catalogue, detection, one process each, the supervisor and routing.

The room never structures a payload that it only forwards (architecture.md, decision 1).
"""
