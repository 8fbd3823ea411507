#!/usr/bin/env bash
# Mutation testing of the plans, kernels, geometry and index checks:
# scripts/mutants.sh [threads] [arguments of cargo mutants, such as --shard 0/8]
#
# Each mutant is built and tested in a copy of the repository. All of them take
# an hour or two; a shard is a part of them. mutants.out holds the report: what
# is in missed.txt survived every test. With `threads`, those that survived the
# run before, which was without rayon, are tried by the tests that need it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

need_cargo
command -v cargo-mutants >/dev/null || cargo install cargo-mutants --locked

# Fewer cases of each property: a mutant that few of them catch still falls to
# the others.
export PROPTEST_CASES="${PROPTEST_CASES:-32}"
if [[ ${1:-} == threads ]]; then
  tests=(--lib --test=gather --test=roll --test=scatter_elements --test=parallel --test=safety)
  set -- --iterate "${@:2}"
else
  tests=(--no-default-features --features=half,num-complex --lib --test=semantics --test=properties)
fi
exec cargo mutants --no-shuffle --timeout 120 \
  --file 'src/*/plan.rs' --file 'src/*/kernel.rs' --file src/indices.rs --file src/geometry.rs \
  "${tests[@]/#/--cargo-arg=}" "$@"
