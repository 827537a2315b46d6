#!/usr/bin/env bash
# Builds the book into target/book: the generated pages, the tutorials' plots (with --plots), and all pages as HTML.
#
#   scripts/book.sh [--plots]
set -euo pipefail
cd "$(dirname "$0")/.."

bin=$(scripts/python.sh)
"$bin/python3" scripts/reference.py
if [ "${1:-}" = --plots ]; then
    rm -rf target/book/plots
    mkdir -p target/book/plots
    for tutorial in examples/tutorials/kernels/*.py; do
        number=$(basename "$tutorial")
        number=${number%%_*}
        made=$(mktemp -d)
        printf 'book: running %s\n' "$tutorial" >&2
        "$bin/python3" "$tutorial" "$made"
        # Plots are PNG where matplotlib is installed, else SVG.
        for plot in "$made"/*.png "$made"/*.svg; do
            [ -e "$plot" ] && cp "$plot" "target/book/plots/$number-$(basename "$plot")"
        done
        rm -r "$made"
    done
fi
if ! "$bin/python3" -c 'import markdown' 2>/dev/null; then
    "$bin/pip" install --quiet --disable-pip-version-check 'markdown==3.*' >&2
fi
"$bin/python3" scripts/book.py
