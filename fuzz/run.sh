#!/usr/bin/env bash
# Fuzzes every target under AddressSanitizer, one after the other:
# fuzz/run.sh [minutes for each target, 10 by default]
#
# Half of the time thresholds are small (src/threshold.rs), so that small inputs
# reach every way to do work.
#
# Starts from the kept inputs in tests/corpus/inputs and what earlier runs left
# in fuzz/corpus. Ends with the first input that fails, which then lies in
# fuzz/artifacts. Needs a C++ compiler; installs cargo-fuzz where it is missing; takes
# the nightly toolchain where there is one, else lets the stable one behave like it.
#
# fuzz/run.sh keep
# instead replaces the kept inputs, which cargo test replays, by the 45 of each
# target that reach most of the code.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. ../scripts/common.sh

need_cargo
need_program "${CXX:-c++}" "apt-get install g++, or your system's package of a C++ compiler"

targets=(faults gather gather_elements gather_nd roll scatter scatter_elements scatter_nd)
kept=../tests/corpus/inputs
toolchain=()
if rustup toolchain list 2>/dev/null | grep -q '^nightly-[^0-9]'; then
  toolchain=(+nightly)
else
  export RUSTC_BOOTSTRAP=1
fi
command -v cargo-fuzz >/dev/null || cargo install cargo-fuzz --locked

fuzz() {
  local command=$1 target=$2
  shift 2
  # Memory that is refused is part of the inputs.
  ASAN_OPTIONS="allocator_may_return_null=1:${ASAN_OPTIONS:-}" cargo "${toolchain[@]}" fuzz "$command" --sanitizer address "$target" "$@"
}

keep() {
  local target=$1 chosen
  chosen=$(mktemp -d)
  # Chooses one after the other the input that reaches most of what is not yet
  # reached; the times of the files keep that order.
  fuzz run "$target" "$chosen" "corpus/$target" "$kept/$target" -- -set_cover_merge=1
  rm -rf "${kept:?}/$target"
  mkdir -p "$kept/$target"
  ls -tr "$chosen" | head -n 45 | while read -r input; do
    cp "$chosen/$input" "$kept/$target/${input:0:12}"
  done
  rm -rf "$chosen"
}

for target in "${targets[@]}"; do
  mkdir -p "corpus/$target" "$kept/$target"
  if [[ ${1:-} == keep ]]; then
    keep "$target"
  else
    # Short inputs stand for large arrays too, so length needs no slow start.
    for thresholds in usual small; do
      flags=${RUSTFLAGS:-}
      [[ $thresholds == usual ]] || flags+=" --cfg small_thresholds"
      RUSTFLAGS=$flags CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/$thresholds \
        fuzz run "$target" "corpus/$target" "$kept/$target" -- \
        -max_total_time=$((30 * ${1:-10})) -max_len=256 -len_control=0 -timeout=60 \
        -rss_limit_mb=4096 -print_final_stats=1
    done
  fi
done
