"""The ways in: LSP and the command line. A face translates, calls an operation, and translates back; nothing more."""
