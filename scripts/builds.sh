#!/usr/bin/env bash
# The test suite in builds other than the usual one:
# scripts/builds.sh [debug|release|overflow|randomized|i686]...
#
#   debug       as `cargo test` does it
#   release     optimised
#   overflow    optimised, but overflow panics: what debug builds find in small
#               arrays, in large ones
#   randomized  optimised, with the fields of structs in random order
#   i686        with addresses of 32 bits, run on this machine; then its tests
#               of hundreds of MiB, one at a time
#
# Without a name, all five. CARGO_TEST_ARGS is handed to each cargo test, such
# as "--test safety" for one test binary. Every part but debug and release is
# built in a folder of its own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

need_cargo
read -ra arguments <<<"${CARGO_TEST_ARGS:-}"
target=${CARGO_TARGET_DIR:-target}

# --tests leaves doctests and examples out: they say the same in every build.
suite() {
  run cargo test -p opkernels --all-features "$@" "${arguments[@]:---tests}"
}

debug() { suite; }

release() { suite --release; }

overflow() {
  CARGO_TARGET_DIR="$target/overflow" \
    RUSTFLAGS="-C overflow-checks=on -C debug-assertions=off ${RUSTFLAGS:-}" suite --release
}

randomized() {
  # RUSTC_BOOTSTRAP lets a stable compiler take -Z options. A seed of its own for
  # each type follows from the seed here, which is printed to repeat a run.
  local seed=${LAYOUT_SEED:-$RANDOM}
  printf '\nLAYOUT_SEED=%s\n' "$seed"
  CARGO_TARGET_DIR="$target/randomized" RUSTC_BOOTSTRAP=1 \
    RUSTFLAGS="-Zrandomize-layout -Zlayout-seed=$seed ${RUSTFLAGS:-}" suite --release
}

i686() {
  local target=i686-unknown-linux-gnu
  need_target_linux
  need_program rustup "see https://rustup.rs"
  echo 'int main(void) { return 0; }' | "${CC:-cc}" -m32 -xc -o /dev/null - 2>/dev/null ||
    fail "the C compiler has no 32 bits: apt-get install gcc-multilib, or your system's package of that name"
  rustup target list --installed | grep -qx "$target" || rustup target add "$target"
  suite --target "$target"
  run cargo test -p opkernels --all-features --target "$target" --release --test safety large_on_32_bits -- \
    --ignored --test-threads 1
}

for part in "${@:-debug release overflow randomized i686}"; do
  for name in $part; do
    case $name in
      debug | release | overflow | randomized | i686) "$name" ;;
      *) fail "no such part: $name (expected debug, release, overflow, randomized or i686)" ;;
    esac
  done
done
verdict builds
