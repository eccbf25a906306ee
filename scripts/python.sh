#!/bin/sh
# Prints the first Python on PATH that is 3.11 or newer and can make a virtual environment; exits 1 when there is none.
# A name alone proves nothing: version switchers put a python3.13 on PATH that only says it is not selected.
for name in python3 python3.14 python3.13 python3.12 python3.11 python; do
  if "$name" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
    command -v "$name"
    exit 0
  fi
done
exit 1
