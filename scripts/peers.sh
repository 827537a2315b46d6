#!/usr/bin/env bash
# Prints the folder of a Python that has NumPy, the peer that every benchmark is measured against. The user's own
# python3 is taken if it has NumPy; otherwise a private environment is made under target/, once.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'peers: %s\n' "$*" >&2; }

if python3 -c 'import numpy' 2>/dev/null; then
    dirname "$(command -v python3)"
    exit
fi
venv=$PWD/target/peers
if ! "$venv/bin/python3" -c 'import numpy' 2>/dev/null; then
    say "python3 has no NumPy: installing it into target/peers"
    if ! { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet numpy; } >&2; then
        say "NumPy could not be installed; the columns that compare with it will be missing"
        dirname "$(command -v python3)"
        exit
    fi
fi
printf '%s\n' "$venv/bin"
