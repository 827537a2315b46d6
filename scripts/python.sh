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

# environment FOLDER REQUIREMENTS PATH...: makes FOLDER anew unless it has exactly these requirements and was made here: an
# environment that was copied along with its checkout would use the package of the other one. Its Python also imports from
# the PATHs.
environment() {
    local folder=$1 wanted=$2
    shift 2
    if [ -x "$folder/bin/python3" ] && cmp -s <(printf '%s\n' "$wanted") "$folder/requirements.txt" \
        && cmp -s <(printf '%s\n' "$@") "$(package_path "$folder")"; then
        return
    fi
    say "making $folder with $(python3 --version) (once)"
    rm -rf "$folder"
    python3 -m venv "$folder" >&2
    # shellcheck disable=SC2086 # one word for each package
    "$folder/bin/pip" install --quiet --disable-pip-version-check $wanted >&2
    printf '%s\n' "$@" >"$(package_path "$folder")"
    printf '%s\n' "$wanted" >"$folder/requirements.txt"
}

# The same profile, features and flags as the Rust tests (shoal-cli asks for features of its own): nothing is compiled
# twice. The package finds the library through
# a link, so `cargo build -p shoal-python` alone is enough after a change.
build() {
    cargo build --profile "$profile" -p shoal-python -p shoal-cli -p shoal-runtime >&2
    local target=${CARGO_TARGET_DIR:-$PWD/target}
    ln -sfn "$(realpath "$target")/${profile/dev/debug}/libshoal_python.so" python/shoal/_native.abi3.so
    # The command, as a wheel installs it.
    printf '#!%s/%s/bin/python3\nimport sys\nfrom shoal.__main__ import main\nsys.exit(main())\n' "$PWD" "$folder" >"$folder/bin/shoal"
    chmod +x "$folder/bin/shoal"
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
scripts/setup.sh python
# The package is used from where it is written.
if [ "${1:-}" = torch ]; then
    torch=$(scripts/torch.sh)
    if [ -z "$torch" ]; then
        say "there is no torch here: what needs it is left out ('scripts/setup.sh torch' installs one)"
        exit
    fi
    folder=target/python-torch
    environment $folder "$(grep -E '^(numpy|pytest|ml_dtypes)=' $requirements)" "$PWD/python" "$torch"
else
    folder=target/python
    environment $folder "$(grep -v '^#' $requirements)" "$PWD/python"
fi
if [ $profile != none ]; then
    build
fi
printf '%s\n' "$PWD/$folder/bin"
