"""Pure tests: no server, no socket; a child process only where process/ is the subject."""
