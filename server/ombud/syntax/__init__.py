"""What the sources are written in: the table of languages. Parsing comes to live here as well.

The room reads no workspace file of its own accord and knows no feature.
"""
