#!/usr/bin/env bash
# Random calls with inaccessible pages around every array, around results and
# around work memory (tests/guard_pages), optimised as for users:
# scripts/guard_pages.sh [native|small|i686|aarch64]...
#
#   native   on this machine
#   small    the same with small thresholds, so that every way is reached with
#            little work, built in a folder of its own
#   i686     with addresses of 32 bits, run on this machine
#   aarch64  another processor, under qemu's user mode
#
# Without a name, all four. GUARD_CALLS is how many calls there are of each
# operation, twice each, with one end and with the other next to a page; GUARD_FIRST
# is the first seed. Both stand in the last lines: other seeds are other calls.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

need_cargo
need_target_linux

export GUARD_CALLS=${GUARD_CALLS:-3000} GUARD_FIRST=${GUARD_FIRST:-0}

guarded() {
  run cargo test -p opkernels --all-features --release --test guard_pages "$@"
}

# The standard library of another target.
need_standard_library() {
  need_program rustup "see https://rustup.rs"
  rustup target list --installed | grep -qx "$1" || rustup target add "$1"
}

native() { guarded; }

small() {
  CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/small \
    RUSTFLAGS="--cfg small_thresholds ${RUSTFLAGS:-}" guarded
}

i686() {
  echo 'int main(void) { return 0; }' | "${CC:-cc}" -m32 -xc -o /dev/null - 2>/dev/null ||
    fail "the C compiler has no 32 bits: apt-get install gcc-multilib (beside a gcc for aarch64 Debian only takes gcc-12-multilib)"
  need_standard_library i686-unknown-linux-gnu
  guarded --target i686-unknown-linux-gnu
}

aarch64() {
  need_program qemu-aarch64 "apt-get install qemu-user, or your system's package of that name"
  # Debian's packages have the version in the name where they stand beside
  # gcc-multilib.
  local linker
  linker=$(compgen -c aarch64-linux-gnu-gcc | grep -E -- '-gcc(-[0-9]+)?$' | sort | head -n 1) ||
    fail "aarch64-linux-gnu-gcc is missing: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross (beside gcc-multilib: gcc-12-aarch64-linux-gnu)"
  need_standard_library aarch64-unknown-linux-gnu
  export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=$linker
  export GUARD_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"
  export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=$GUARD_RUNNER
  # An emulated call takes ten times as long.
  GUARD_CALLS=$((GUARD_CALLS / 10 + 1)) guarded --target aarch64-unknown-linux-gnu
}

for part in "${@:-native small i686 aarch64}"; do
  for name in $part; do
    case $name in
      native | small | i686 | aarch64) "$name" ;;
      *) fail "no such part: $name (expected native, small, i686 or aarch64)" ;;
    esac
  done
done
verdict "guard pages, $GUARD_CALLS calls of each operation from seed $GUARD_FIRST on"
