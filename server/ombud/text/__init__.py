"""Text as it is in files and on the wire: lines, positions, edits, encodings, differences.

Pure: nothing here opens a file. Positions on every wire are UTF-16 (architecture.md, decision 5); this room is the
only one that converts them. A ``str`` with lone surrogates, which JSON can carry (W7), never raises here except
where bytes are to be made of it.
"""
