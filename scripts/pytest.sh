#!/usr/bin/env bash
# Runs the tests of the Python package: all in target/python, and those that need torch where there is one.
# Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'test: %s\n' "$*" >&2; }

bin=$(scripts/python.sh)
say "Python package"
"$bin/python3" -m pytest -m "not torch" "$@"

bin=$(scripts/python.sh --no-build torch)
if [ -n "$bin" ]; then
    say "Python package with torch"
    # 5: among the tests that the arguments choose, none needs torch.
    "$bin/python3" -m pytest -m torch "$@" || [ $? -eq 5 ]
else
    say "tests with torch were left out"
fi
