#!/usr/bin/env bash
# What compiling costs users: CPU-seconds for the crate itself and for the program
# of benches/compile, which calls five forms for twelve types of elements and two
# of indices, without their dependencies; and the program's size.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../benches/compile"
. ../../scripts/common.sh

need_cargo

export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}/compile
program=$CARGO_TARGET_DIR/release/opkernels-compile

# User and system time of a build, of which only the last crate is left to compile.
seconds() { # command
  local TIMEFORMAT='%U %S'
  { time "$@" >/dev/null 2>&1; } 2>&1 | awk '{ printf "%.1f CPU-s\n", $1 + $2 }'
}

build() { cargo build --quiet --release "$@"; }

build -p opkernels -p half -p ndarray
cargo clean --quiet --release -p opkernels
printf 'the crate itself   %s\n' "$(seconds build -p opkernels -p half -p ndarray)"

cargo clean --quiet --release -p opkernels-compile
printf 'the program        %s\n' "$(seconds build)"
"$program" >/dev/null

size() { stat -c %s "$1" 2>/dev/null || stat -f %z "$1"; }
megabytes() { awk -v bytes="$(size "$1")" 'BEGIN { printf "%.2f MB", bytes / 1e6 }'; }
printf 'its size           %s' "$(megabytes "$program")"
if command -v strip >/dev/null; then
  strip -o "$program-stripped" "$program"
  printf ', stripped %s' "$(megabytes "$program-stripped")"
fi
echo
