#!/usr/bin/env bash
# Runs the tests of the Python package: all in target/python, and those that need torch where there is one.
# Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'test: %s\n' "$*" >&2; }

ran=no
# Runs pytest, which ends with 5 where the arguments choose none of the tests of that environment.
tests() { "$@" && ran=yes || [ $? -eq 5 ]; }

bin=$(scripts/python.sh)
say "Python package"
tests "$bin/python3" -m pytest -m "not torch" "$@"

bin=$(scripts/python.sh --no-build torch)
if [ -n "$bin" ]; then
    say "Python package with torch"
    tests "$bin/python3" -m pytest -m torch "$@"
else
    say "tests with torch were left out"
fi
if [ "$ran" = no ]; then
    say "the arguments choose no test"
    exit 5
fi
