#!/usr/bin/env bash
# Builds a wheel of the Python package (release profile) with LLVM and everything LLVM needs inside, into target/wheels,
# then installs it into an environment of its own and checks it: python/tests/test_wheel.py.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'wheel: %s\n' "$*" >&2; }

bin=$(scripts/python.sh --no-build)

# What LLVM and the C++ run-time library are linked with is found here first, and here are only static libraries: a wheel
# must not ask for shared ones that another machine may lack. `cc` knows where they are.
libs=$PWD/target/wheel-libs
mkdir -p "$libs"
for name in libstdc++.a libzstd.a libz.a libffi.a; do
    found=$(cc -print-file-name=$name)
    if [ "$found" = $name ]; then
        say "there is no static $name: the shared one becomes part of the wheel"
    else
        ln -sfn "$found" "$libs/$name"
    fi
done

say "building (release; some minutes)"
# What libraries are made with that `shoal compile --emit so` writes; its debug information is larger than its code.
cargo build --release -p shoal-runtime >&2
runtime=python/shoal/lib/libshoal_runtime.a
mkdir -p "$(dirname $runtime)"
trap 'rm -rf "$(dirname $runtime)"' EXIT
strip --strip-debug -o $runtime "${CARGO_TARGET_DIR:-target}/release/libshoal_runtime.a"
rm -rf target/wheels
PATH="$bin:$PATH" "$bin/maturin" build --release --out target/wheels -- -L native="$libs" >&2

wheel=$(echo target/wheels/*.whl)
say "checking $wheel"
SHOAL_WHEEL=$PWD/$wheel "$bin/python3" -m pytest -rA python/tests/test_wheel.py >&2
say "$(du -h "$wheel" | cut -f1) to download"
printf '%s\n' "$wheel"
