#!/usr/bin/env bash
# Tests under MemorySanitizer, which reports what is read before it is
# written: scripts/msan.sh
#
# The standard library is built with it too, since without that it takes what
# the library has written for uninitialised. Needs rustup; installs a nightly
# toolchain with the sources of the standard library where there is none.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

need_cargo
need_target_linux
need_nightly rust-src

export RUSTFLAGS="-Zsanitizer=memory -Zsanitizer-memory-track-origins ${RUSTFLAGS:-}"
# Refused allocations are part of the tests.
export MSAN_OPTIONS="allocator_may_return_null=1:${MSAN_OPTIONS:-}"

run cargo +nightly test -p opkernels -Zbuild-std --target "$linux" "${watched[@]}" "$@" -- "${too_long[@]}"
verdict MemorySanitizer
