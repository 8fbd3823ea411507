#!/usr/bin/env bash
# Tests under Miri, which finds undefined behaviour that runs without a trace:
# scripts/miri.sh [native|trees|threads|i686|s390x]...
#
#   native   strict provenance, stacked borrows, one thread, which does several
#            parts one after the other
#   trees    tree borrows instead, the random inputs
#   threads  tree borrows, rayon; four processors for Miri, since with fewer
#            it misses races
#   i686     usize of 32 bits
#   s390x    big-endian
#
# Without a name, all five. Thresholds are small under Miri (src/threshold.rs), so
# that tens of elements reach every way to do work, and the random inputs are few that
# reach much (tests/corpus/seeds.txt): 12 of each operation, an hour or two.
# CORPUS_SHARD=1/4 takes every fourth of these, from the second on; CORPUS_INPUTS makes
# them so many others of each operation, from number CORPUS_FIRST on. Needs rustup;
# installs a nightly toolchain with Miri where there is none.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

need_cargo
need_nightly miri rust-src

# A few cases of each property; Miri is a thousand times slower than a
# processor.
PROPTEST_CASES="${PROPTEST_CASES:-2}"
# The corpus is read from files.
common="-Zmiri-disable-isolation"
# By flags, since what a test finds in its environment is what that held when it was built.
for name in PROPTEST_CASES CORPUS_SHARD CORPUS_INPUTS CORPUS_FIRST; do
  [[ -z ${!name:-} ]] || common+=" -Zmiri-env-set=$name=${!name}"
  export -n "${name?}"
done

miri() {
  run cargo +nightly miri test -p opkernels "$@"
}

# The examples of the specifications and the decided corners. Forms and layouts
# are left to the corpus, whose inputs are smaller than the tests that list them.
operations=(--test gather --test roll --test scatter_elements --test family examples)

native() {
  export MIRIFLAGS="$common -Zmiri-strict-provenance -Zmiri-symbolic-alignment-check"
  miri --no-default-features --features half,num-complex "${operations[@]}"
  miri --no-default-features --lib --test semantics
  miri --no-default-features --features half,num-complex --test corpus numbers
  # Miri alone sees what a clone that panics would leave uninitialised.
  miri --no-default-features --test safety panics -- --skip as_long_as --skip in_part
}

trees() {
  export MIRIFLAGS="$common -Zmiri-tree-borrows -Zmiri-strict-provenance"
  miri --no-default-features --features half,num-complex --test corpus numbers
}

threads() {
  # Crossbeam, which rayon builds on, needs the looser rules.
  export MIRIFLAGS="$common -Zmiri-tree-borrows -Zmiri-num-cpus=4 -Zmiri-ignore-leaks"
  miri --test races
  [[ -n ${CORPUS_SHARD:-} ]] || MIRIFLAGS+=" -Zmiri-env-set=CORPUS_SHARD=0/4"
  miri --features half,num-complex --test corpus numbers
}

other() {
  export MIRIFLAGS="$common"
  miri --target "$1" --no-default-features "${operations[@]}"
  miri --target "$1" --no-default-features --test corpus numbers
}

i686() { other i686-unknown-linux-gnu; }
s390x() { other s390x-unknown-linux-gnu; }

for part in "${@:-native trees threads i686 s390x}"; do
  for name in $part; do
    case $name in
      native | trees | threads | i686 | s390x) "$name" ;;
      *) fail "no such part: $name (expected native, trees, threads, i686 or s390x)" ;;
    esac
  done
done
verdict Miri
