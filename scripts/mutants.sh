#!/usr/bin/env bash
# Mutation testing of plans, index checks, kernels and the arithmetic between them:
# scripts/mutants.sh [shard, such as 0/16] [threads] [arguments of cargo mutants]
#
# Each mutant is built and tested in a copy of the repository, with time limits for
# both. All of them take many hours; a shard is a part of them, with a report of its
# own in mutants.out-0-16: what is in missed.txt survived every test. Thresholds are
# small (src/threshold.rs), so that tests reach every way to do work, and one thread
# does several parts one after the other. With `threads`, those that survived the
# run of the same shard before are tried by the tests that need rayon.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

need_cargo
command -v cargo-mutants >/dev/null || cargo install cargo-mutants --locked

shard=()
output=.
if [[ ${1:-} == */* ]]; then
  shard=(--shard "$1")
  output=mutants.out-${1/\//-}
  mkdir -p "$output"
  shift
fi

# Fewer cases of each property: a mutant that few of them catch still falls to
# the others.
export PROPTEST_CASES="${PROPTEST_CASES:-32}" CORPUS_INPUTS="${CORPUS_INPUTS:-100}"
export GUARD_CALLS="${GUARD_CALLS:-20}"
export RUSTFLAGS="--cfg small_thresholds ${RUSTFLAGS:-}"
if [[ ${1:-} == threads ]]; then
  tests=(--features=half,num-complex --lib --test=family --test=parallel --test=safety --test=corpus)
  set -- --iterate "${@:2}"
else
  tests=(--no-default-features --features=half,num-complex
    --lib --test=semantics --test=properties --test=corpus --test=guard_pages)
fi
exec cargo mutants --no-shuffle --timeout 180 --build-timeout 600 --output "$output" "${shard[@]}" \
  --file 'src/*/plan.rs' --file 'src/family/*.rs' --file 'src/memory/**/*.rs' \
  --file 'src/index/*.rs' --file src/roll/run.rs --file src/parallel.rs \
  --exclude '**/tests.rs' "${tests[@]/#/--cargo-arg=}" "$@"
