#!/usr/bin/env bash
# Test binaries under valgrind's memcheck, as they are compiled for users, with
# nothing built in: scripts/valgrind.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

need_cargo
need_target_linux
need_program valgrind "apt-get install valgrind, or your system's package of that name"

# Definite leaks count as errors; what a thread pool keeps does not.
export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="valgrind --quiet --error-exitcode=9 \
  --leak-check=full --errors-for-leak-kinds=definite --show-leak-kinds=definite"

run cargo test -p opkernels "${watched[@]}" "$@" -- "${too_long[@]}"
verdict memcheck
