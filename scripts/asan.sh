#!/usr/bin/env bash
# The whole test suite under AddressSanitizer and LeakSanitizer:
# scripts/asan.sh [arguments of cargo test]
#
# Needs the toolchain that the crate is built with and nothing else:
# RUSTC_BOOTSTRAP lets a stable compiler take -Zsanitizer.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

need_cargo
need_target_linux

export RUSTC_BOOTSTRAP=1
export RUSTFLAGS="-Zsanitizer=address ${RUSTFLAGS:-}"
# Refused allocations are part of the tests.
export ASAN_OPTIONS="allocator_may_return_null=1:detect_leaks=1:detect_stack_use_after_return=1:${ASAN_OPTIONS:-}"
# Properties draw fewer cases: the fuzz targets draw millions.
export PROPTEST_CASES="${PROPTEST_CASES:-64}"

# --tests leaves the doctests out, which the sanitizer does not reach. With a
# --target, build scripts and macros stay free of the sanitizer.
run cargo test -p opkernels --target "$linux" --all-features --lib --tests "$@"
verdict AddressSanitizer
