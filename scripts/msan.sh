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

# Layouts are left to the corpus, whose inputs are smaller than the tests that list them;
# the test of determinism does 18 million updates.
run cargo +nightly test -Zbuild-std --target "$linux" --lib --test gather --test roll \
  --test scatter_elements --test semantics --test races --test corpus "$@" \
  -- --skip layouts --skip corpus --skip determinism
verdict MemorySanitizer
