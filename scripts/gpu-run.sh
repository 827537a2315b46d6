#!/usr/bin/env bash
# Runs what scripts/gpu-pack.sh packed, on the machine with the GPU: see there.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
results=$1
shift
unpacked=${SHOAL_GPU_UNPACKED:-/tmp/shoal-gpu}
if [ ! -e "$unpacked/python" ]; then
    mkdir -p "$unpacked/lib"
    tar xJf "$here/libraries.tar.xz" -C "$unpacked/lib" &
    tar xJf "$here/package.tar.xz" -C "$unpacked"
    wait
    # What the machine has is newer, and other packages need that.
    for library in "$unpacked"/lib/*; do
        ldconfig -p | grep -q "^[[:space:]]${library##*/} " && rm "$library"
    done
fi
mkdir -p "$results"
export LD_LIBRARY_PATH=$unpacked/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PYTHONPATH=$unpacked/python PYTHONUNBUFFERED=1
status=0
for what in "$@"; do
    printf '== %s\n' "$what"
    case $what in
        machine)
            nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.mem --format=csv
            python3 -m shoal doctor
            ;;
        kernels) python3 "$unpacked/python/tests/gpu/library.py" "$results" ;;
        arrays) timeout 400 python3 -m pytest -q --maxfail=20 -p no:cacheprovider "$unpacked/python/tests/gpu" ;;
        language)
            # Each test in a process of its own: a fault on the GPU ends the context for all that follows. Snapshots stayed at
            # home.
            "$unpacked/bin/tests" --list 2>/dev/null | sed -n 's/^\(\(language\|checks\)::.*\): test$/\1/p' \
                | INSTA_FORCE_PASS=1 INSTA_UPDATE=no RUST_BACKTRACE=0 xargs -P 8 -I '{}' sh -c \
                    'timeout 60 "$0" --exact "$1" >"$2/$(echo "$1" | tr : _).language" 2>&1 || echo "FAILED $1"' \
                    "$unpacked/bin/tests" '{}' "$unpacked" >"$results/language-failed.txt"
            while read -r _ test; do
                grep -A6 panicked "$unpacked/$(echo "$test" | tr : _).language"
            done <"$results/language-failed.txt" >"$results/language-why.txt"
            sort "$results/language-failed.txt"
            [ ! -s "$results/language-failed.txt" ]
            ;;
        random)
            # A part for each of a few processes: most of the time is compilation.
            all=${SHOAL_RANDOM_KERNELS:-3000} parts=12 failed=0 jobs=()
            for ((part = 0; part < parts; part++)); do
                SHOAL_RANDOM_KERNELS=$((all / parts)) \
                    SHOAL_RANDOM_KERNELS_FROM=$((${SHOAL_RANDOM_KERNELS_FROM:-0} + part * (all / parts))) \
                    timeout 200 "$unpacked/bin/tests" --test-threads 1 --nocapture \
                    random_kernels::a_gpu >"$results/random-$part.log" 2>&1 &
                jobs+=($!)
            done
            for job in "${jobs[@]}"; do wait "$job" || failed=1; done
            grep -h "wrong$\|^seed\|test result\|skipped" "$results"/random-*.log | sort | uniq -c
            [ $failed = 0 ]
            ;;
        aot) timeout 60 "$unpacked/aot/main" ;;
        bench) timeout 500 python3 -m shoal bench gpu --json "$results/bench-gpu.json" ;;
        ranks)
            failed=0
            export SHOAL_WAIT_TIMEOUT=5 SHOAL_TIMEOUT=30 SHOAL_HEAP_BYTES=67108864 CUDA_DEVICE_MAX_CONNECTIONS=32
            for ranks in 2 4 8; do
                timeout 200 "$unpacked/bin/shoal" run all --ranks $ranks --device cuda --check interp || failed=1
            done
            SHOAL_TEST_DEVICE=cuda timeout 200 "$unpacked/bin/tests" --test-threads 1 --skip openshmem --skip processes shmem || failed=1
            timeout 100 "$unpacked/bin/shoal" bench comm --device cuda --ranks 4,8 \
                --json "$results/bench-comm.json" --plot "$results/bench-comm.svg" || failed=1
            [ $failed = 0 ]
            ;;
        processes | nvshmem)
            failed=0
            export SHOAL_WAIT_TIMEOUT=10 SHOAL_TIMEOUT=30 SHOAL_HEAP_BYTES=67108864
            for ranks in 2 4; do
                timeout 300 "$unpacked/bin/shoal" run all --ranks $ranks --engine "$what" --device cuda --check interp || failed=1
                SHOAL_TEST_PROCESSES=1 SHOAL_TEST_DEVICE=cuda timeout 100 "$unpacked/bin/shoal" launch -n $ranks --engine "$what" \
                    --device cuda -- "$unpacked/bin/tests" --test-threads 1 shmem::names || failed=1
            done
            tests=through_nvshmem
            [ "$what" = processes ] && tests="not through_nvshmem"
            timeout 150 python3 -m pytest -q -p no:cacheprovider -k "$tests" "$unpacked/python/tests/gpu/test_processes.py" || failed=1
            [ $failed = 0 ]
            ;;
        stress)
            # Every kernel of several ranks, launched again and again: nothing is left in a pad.
            export SHOAL_WAIT_TIMEOUT=5 SHOAL_TIMEOUT=30 SHOAL_HEAP_BYTES=67108864 CUDA_DEVICE_MAX_CONNECTIONS=32
            timeout 300 "$unpacked/bin/shoal" run all --ranks 8 --device cuda --repeat 10000
            ;;
        timeline)
            export SHOAL_WAIT_TIMEOUT=5 SHOAL_TIMEOUT=60 SHOAL_HEAP_BYTES=1073741824 CUDA_DEVICE_MAX_CONNECTIONS=32
            timeout 100 "$unpacked/bin/shoal" run all_gather_matmul --ranks 4 --device cuda --dtype bf16 \
                --size 4096,128,8192 --timeline "$results/all-gather-matmul"
            ;;
        *) printf 'there is no %s\n' "$what" && false ;;
    esac 2>&1 | tee "$results/$what.log"
    [ "${PIPESTATUS[0]}" = 0 ] || status=1
done
exit $status
