"""What the sources are written in: the table of languages, and whether a text still parses.

The room reads no workspace file of its own accord and knows no feature.
"""
