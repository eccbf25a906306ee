"""The debugger: adapters, their catalogue, and one bounded session at a time."""
