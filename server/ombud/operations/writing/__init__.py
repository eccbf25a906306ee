"""Writing: every way of changing files goes through one plan, one commit and one report of what it introduced."""
