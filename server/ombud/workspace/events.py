"""What can happen to a file: LSP's ``FileChangeType``, by the same numbers as in what the system reports."""

CREATED, CHANGED, DELETED = 1, 2, 3
