#!/usr/bin/env bash
# Packs what a bare Linux machine with an NVIDIA GPU needs to test and measure this checkout: the Python package with its
# native part, the libraries that it is linked with, the tests and the scripts, as target/gpu. Nothing else is needed there
# but Python 3.10 or later (torch, Triton and CuPy are used where they are installed).
#
#   scripts/gpu-pack.sh [--release]     packs; prints the folder
#   target/gpu/run.sh OUT WHAT...       there: unpacks next to itself and does each WHAT, files go to OUT
#                                       machine   what the machine is
#                                       kernels   every kernel of the library against its reference
#                                       arrays    python/tests/gpu
#                                       language  the tests of the language, of checks and of assertions on the GPU
#                                       random    random kernels, GPU against interpreter (SHOAL_RANDOM_KERNELS, 3000)
#                                       aot       a C program with a kernel compiled ahead of time
#                                       bench     side by side with torch and Triton
#                                       ranks     every kernel of several ranks on 2, 4 and 8 ranks that share the GPU,
#                                                 against the interpreter; the tests of SHMEM; collectives, measured
#                                       processes the same on 2 and 4 processes; their tests from Python
#                                       nvshmem   the same on 2 and 4 processes whose memory is NVSHMEM's
#                                       stress    10,000 launches of each of them on 8 ranks, without a pause
#                                       timeline  a picture of all-gather matmul on 4 ranks
set -euo pipefail
cd "$(dirname "$0")/.."

profile=dev
[ "${1:-}" = --release ] && profile=release
cargo build --profile "$profile" -p shoal-python -p shoal-cli -p shoal-runtime >&2
tests=$(cargo test --profile "$profile" -p shoal --test it --no-run 2>&1 | tee /dev/stderr | sed -n 's/.*(\(.*\)).*/\1/p' | tail -1)
built=${CARGO_TARGET_DIR:-target}/${profile/dev/debug}
out=target/gpu
libraries=target/gpu-libraries
mkdir -p $out $libraries

# The libraries seldom change, and compressing them takes longest: they are packed once.
needed=$(ldd "$built/libshoal_python.so" | awk '$2 == "=>" && $3 ~ /^\// && $3 !~ /\/lib(c|m|gcc_s|dl|pthread|rt)\.so/ { print $3 }')
if [ ! -f $out/libraries.tar.xz ] || ! cmp -s <(printf '%s\n' $needed) $libraries/list; then
    rm -rf $libraries
    mkdir -p $libraries/lib
    # shellcheck disable=SC2086 # one word for each library
    cp -L $needed $libraries/lib/
    # Tables of languages that no kernel's text needs: one symbol of them is enough to load what asks for them.
    for data in $libraries/lib/libicudata.so.*; do
        [ -e "$data" ] || continue
        version=${data##*.}
        printf 'const char icudt%s_dat[4096] = {0};\n' "$version" \
            | cc -shared -fPIC -Wl,-soname,"libicudata.so.$version" -o "$data" -x c -
    done
    tar c -C $libraries/lib . | xz -T0 --x86 --lzma2=preset=6 >$out/libraries.tar.xz
    printf '%s\n' $needed >$libraries/list
fi

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir -p "$stage/python" "$stage/scripts"
cp -r python/shoal python/tests "$stage/python/"
rm -f "$stage"/python/shoal/_native*.so
find "$stage" -name __pycache__ -prune -exec rm -rf {} +
strip -o "$stage/python/shoal/_native.abi3.so" "$built/libshoal_python.so"
mkdir -p "$stage/bin"
strip -o "$stage/bin/shoal" "$built/shoal"
strip -o "$stage/bin/tests" "$tests"
mkdir -p "$stage/aot"
"$built/shoal" compile examples/add.py:add --signature "*kfp32, *kfp32, *fp32, i32, 1024" --target sm_80,sm_90a --emit c \
    --output "$stage/aot" >&2
cc examples/ahead-of-time/gpu.c "$stage/aot/add.c" "-I$stage/aot" "$built/libshoal_runtime.a" -D_GNU_SOURCE -O1 -s \
    -Wl,--gc-sections -lpthread -ldl -lm -o "$stage/aot/main" >&2
tar c -C "$stage" . | xz -T0 -2 >$out/package.tar.xz
cp scripts/gpu-run.sh $out/run.sh
chmod +x $out/run.sh
du -h $out/*.xz >&2
printf '%s\n' "$PWD/$out"
