"""The files of the workspace: its configuration, open documents, reading, and writing all or nothing.

The room knows no language server. What differs between systems in files and locks stays in here and in guard/.
"""
