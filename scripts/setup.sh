#!/usr/bin/env bash
# Installs what the given work needs and this machine lacks, and says so. When all is there it does nothing, needs no
# network, and takes a few milliseconds.
#
#   scripts/setup.sh [build] [test] [lint] [python] [torch] [mpi]      (all but torch and mpi if none is named)
#
# Torch and Open MPI are only tested with: where they cannot be installed, that is said and no error.
set -euo pipefail

# The toolchain that kernels are compiled with, and what LLVM's static libraries name when they are linked.
packages=(llvm-22-dev libpolly-22-dev libzstd-dev zlib1g-dev libxml2-dev libffi-dev gcc g++ libc6-dev)
nextest_version=0.9.143
llvm_prefix=${LLVM_SYS_221_PREFIX:-/usr/lib/llvm-22}

say() { printf 'setup: %s\n' "$*" >&2; }
die() {
    say "$@"
    exit 1
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "needs root for: $*" $'\n       run that line as root, then try again'
    fi
}

missing_packages() {
    local installed
    installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null || true)
    local package
    for package in "${packages[@]}"; do
        grep -qx "installed $package" <<<"$installed" || printf '%s\n' "$package"
    done
}

install_packages() {
    say "installing with apt-get: $*"
    local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
    as_root "${apt[@]}" update || say "some package lists could not be read; trying with those that could"
    if ! as_root "${apt[@]}" install -y --no-install-recommends "$@"; then
        say "apt-get could not install: $*"
        return 1
    fi
}

need_rust() {
    command -v cargo >/dev/null || die "cargo was not found: install Rust with rustup, then try again"
}

need_build() {
    if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
        # LLVM that the user built, or took from elsewhere, is used as it is.
        if [ "$llvm_prefix" != /usr/lib/llvm-22 ] && [ -x "$llvm_prefix/bin/llvm-config" ]; then
            say "using LLVM in $llvm_prefix"
            packages=(gcc g++ libc6-dev)
        fi
        local missing
        mapfile -t missing < <(missing_packages)
        if [ "${#missing[@]}" -gt 0 ]; then
            install_packages "${missing[@]}" ||
                die "LLVM 22 is in bookworm-security for Debian 12, and in the LLVM project's own package archive for other releases"
        fi
        return
    fi
    # Not Debian or Ubuntu: look for the things themselves, and leave the installing to the user.
    if [ ! -x "$llvm_prefix/bin/llvm-config" ]; then
        say "there is no apt-get here, and LLVM 22 is not in $llvm_prefix"
        die "install LLVM 22 with its headers, and set LLVM_SYS_221_PREFIX to what 'llvm-config --prefix' prints"
    fi
    command -v cc >/dev/null || die "there is no apt-get here, and no C compiler: install gcc or clang as 'cc'"
}

need_test() {
    if cargo nextest --version >/dev/null 2>&1; then
        return
    fi
    say "installing the test runner cargo-nextest (once, about five minutes)"
    # It only starts processes and prints: a quick build is worth more than a fast program, and without the part that
    # updates itself it needs neither OpenSSL nor cmake.
    CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
        cargo install cargo-nextest --version "$nextest_version" --locked \
        --no-default-features --features default-no-update ||
        die "cargo-nextest could not be installed; is there a network?"
}

need_lint() {
    local component
    for component in fmt clippy; do
        if ! cargo "$component" --version >/dev/null 2>&1; then
            command -v rustup >/dev/null || die "cargo $component was not found: install it with your Rust"
            say "adding the Rust component ${component/fmt/rustfmt}"
            rustup component add "${component/fmt/rustfmt}"
        fi
    done
}

need_python() {
    if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
        command -v apt-get >/dev/null || die "python3 with venv was not found: install Python 3.10 or later, then try again"
        install_packages python3 python3-venv || die "install Python 3.10 or later with venv, then try again"
    fi
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
        die "$(python3 --version) is too old: the package needs Python 3.10 or later as python3"
}

# A torch of the project's own, shared by all checkouts of a user; one that python3 has already is used as it is.
need_torch() {
    local find_torch folder
    find_torch=$(dirname "$0")/torch.sh
    if [ -n "$("$BASH" "$find_torch")" ]; then
        return
    fi
    folder=$("$BASH" "$find_torch" --folder)
    say "python3 has no torch: installing it into $folder for the tests that use it (once, about two minutes)"
    # Made under another name first: an installation that was cut off does not count.
    if rm -rf "$folder.part" && mkdir -p "$(dirname "$folder")" && python3 -m venv "$folder.part" >&2 &&
        "$folder.part/bin/pip" install --quiet --disable-pip-version-check "torch==${folder##*-}" >&2; then
        rm -rf "$folder"
        mv "$folder.part" "$folder"
    else
        say "torch could not be installed: the tests that need it are left out"
    fi
}

# Open MPI with its OpenSHMEM library: the engine `openshmem`, and a peer of benchmarks.
need_mpi() {
    if command -v oshrun >/dev/null && command -v mpicc >/dev/null; then
        return
    fi
    # In a shell of its own: who cannot become root goes on without.
    if ! command -v apt-get >/dev/null || ! (install_packages openmpi-bin libopenmpi-dev); then
        say "Open MPI could not be installed: the tests that need it are left out"
    fi
}

if [ "$#" -eq 0 ]; then
    set -- build test lint python
fi
need_rust
for need in "$@"; do
    case $need in
        build | test | lint | python | torch | mpi) "need_$need" ;;
        *) die "unknown need '$need': use build, test, lint, python, torch or mpi" ;;
    esac
done
