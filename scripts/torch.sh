#!/usr/bin/env bash
# Prints the folder that torch can be imported from: the one of python3, or of the project's own torch, which
# `scripts/setup.sh torch` installs once for all checkouts of a user. Prints nothing if there is none.
#
#   scripts/torch.sh [--folder]      with --folder: where the project's own one belongs
set -euo pipefail

version=2.15.0
folder=${XDG_CACHE_HOME:-${HOME:-}/.cache}/shoal-dev/torch-$version
if [ "${1:-}" = --folder ]; then
    printf '%s\n' "$folder"
    exit
fi
find_torch='
import importlib.util, pathlib
spec = importlib.util.find_spec("torch")
if spec is not None and spec.origin:
    print(pathlib.Path(spec.origin).parent.parent)'
for python in python3 "$folder/bin/python3"; do
    where=$("$python" -c "$find_torch" 2>/dev/null || true)
    if [ -n "$where" ]; then
        printf '%s\n' "$where"
        break
    fi
done
