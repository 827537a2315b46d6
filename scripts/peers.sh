#!/usr/bin/env bash
# Prints the Pythons that benchmarks run in, with colons between them: one with NumPy, the peer that everything is measured
# against (the user's own python3 if it has NumPy, else a private environment under target/, made once); one with the
# Python package, built for speed; and before them one with torch, if the tests have made it.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'peers: %s\n' "$*" >&2; }

peers=$(command -v python3)
if ! python3 -c 'import numpy' 2>/dev/null; then
    venv=$PWD/target/peers
    if "$venv/bin/python3" -c 'import numpy' 2>/dev/null; then
        peers=$venv/bin/python3
    else
        say "python3 has no NumPy: installing it into target/peers"
        if { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet numpy; } >&2; then
            peers=$venv/bin/python3
        else
            say "NumPy could not be installed; the columns that compare with it will be missing"
        fi
    fi
fi
peers+=:$(scripts/python.sh --release)/python3
# PyPI's torch, before what the system may have: that is too old to be measured against.
if [ -x target/python-torch/bin/python3 ]; then
    peers=$PWD/target/python-torch/bin/python3:$peers
fi
printf '%s\n' "$peers"
