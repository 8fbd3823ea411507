#!/usr/bin/env bash
# Mutation testing of the plans, kernels, geometry and index checks:
# scripts/mutants.sh [arguments of cargo mutants, such as --shard 0/8]
#
# Each mutant is built and tested in a copy of the repository. All of them take
# hours; a shard is a part of them. mutants.out holds the report: what is in
# missed.txt survived every test.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

need_cargo
command -v cargo-mutants >/dev/null || cargo install cargo-mutants --locked

# Without rayon, whose thresholds are a matter of speed; who changes what is
# split tries those mutants on the tests parallel and safety too. Fewer cases of
# each property: a mutant that few of them catch still falls to the others.
export PROPTEST_CASES="${PROPTEST_CASES:-32}"
tests=(--no-default-features --test=gather --test=roll --test=scatter_elements
  --test=semantics --test=properties)
exec cargo mutants --no-shuffle --timeout 120 \
  --file 'src/*/plan.rs' --file 'src/*/kernel.rs' --file src/indices.rs --file src/geometry.rs \
  "${tests[@]/#/--cargo-arg=}" "$@"
