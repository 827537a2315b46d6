#!/usr/bin/env bash
# Makes the environment that the Python package is developed and tested in, builds the package's native part into it
# (dev profile), and prints the folder of its python3. What is there already is kept: a second run needs no network.
#
#   scripts/python.sh            target/python: NumPy, pytest and what else python/requirements-test.txt lists
#   scripts/python.sh torch      target/python-torch: an environment with torch as well; prints nothing if there is none
#   scripts/python.sh --no-build [torch]      leaves the native part as it is
#   scripts/python.sh --release               builds the native part for speed, to measure with
set -euo pipefail
cd "$(dirname "$0")/.."

requirements=python/requirements-test.txt

say() { printf 'python: %s\n' "$*" >&2; }

# Whether a Python can import a module, without importing it.
has() { "$1" -c 'import importlib.util as u, sys; sys.exit(u.find_spec(sys.argv[1]) is None)' "$2" 2>/dev/null; }

# The file that tells an environment where the package is.
package_path() { printf '%s/shoal.pth' "$("$1/bin/python3" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"; }

# environment FOLDER PYTHON REQUIREMENTS [OPTION...]: makes FOLDER anew unless it has exactly these requirements and
# was made here: an environment that was copied along with its checkout would use the package of the other one.
environment() {
    local folder=$1 python=$2 wanted=$3
    shift 3
    if [ -x "$folder/bin/python3" ] && cmp -s <(printf '%s\n' "$wanted") "$folder/requirements.txt" \
        && cmp -s <(printf '%s\n' "$PWD/python") "$(package_path "$folder")"; then
        return
    fi
    say "making $folder with $("$python" --version) (once)"
    rm -rf "$folder"
    "$python" -m venv "$@" "$folder" >&2
    # shellcheck disable=SC2086 # one word for each package
    "$folder/bin/pip" install --quiet --disable-pip-version-check $wanted >&2
    # The package is used from where it is written.
    printf '%s\n' "$PWD/python" >"$(package_path "$folder")"
    printf '%s\n' "$wanted" >"$folder/requirements.txt"
}

# The same profile, features and flags as the Rust tests (shoal-cli asks for features of its own): nothing is compiled
# twice. The package finds the library through
# a link, so `cargo build -p shoal-python` alone is enough after a change.
build() {
    cargo build --profile "$profile" -p shoal-python -p shoal-cli -p shoal-runtime >&2
    local target=${CARGO_TARGET_DIR:-$PWD/target}
    ln -sfn "$(realpath "$target")/${profile/dev/debug}/libshoal_python.so" python/shoal/_native.abi3.so
}

# A Python that has torch: the user's own, or Debian's.
torch_python() {
    local python
    for python in python3 /usr/bin/python3; do
        if has "$python" torch; then
            printf '%s\n' "$python"
            return
        fi
    done
    return 1
}

profile=dev
case ${1:-} in
    --no-build)
        profile=none
        shift
        ;;
    --release)
        profile=release
        shift
        ;;
esac
if [ "${1:-}" = torch ]; then
    scripts/setup.sh python torch
    if ! python=$(torch_python); then
        say "there is no torch here: what needs it is left out"
        exit
    fi
    folder=target/python-torch
    environment $folder "$python" "$(grep -E '^(pytest|ml_dtypes)=' $requirements)" --system-site-packages
else
    scripts/setup.sh python
    folder=target/python
    environment $folder python3 "$(grep -v '^#' $requirements)"
fi
if [ $profile != none ]; then
    build
fi
printf '%s\n' "$PWD/$folder/bin"
