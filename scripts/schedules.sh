#!/usr/bin/env bash
# The parallel paths under schedules that a seed decides: scripts/schedules.sh
#
# Parts run on threads of shuttle, which stops at each use of a flag or lock
# (src/sync.rs) and goes on with the thread that it draws: random calls, each under
# SCHEDULES (4) of them, and tasks that share a plan, under 100 times as many.
# CORPUS_INPUTS sets how many calls each operation has (50), CORPUS_FIRST which is
# the first. A schedule in which nothing goes on for 3 minutes ends the run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

need_cargo

export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/schedules
export RUSTFLAGS="--cfg shuttle --cfg small_thresholds ${RUSTFLAGS:-}"

run cargo test -p opkernels --release --no-default-features --features half,num-complex --lib sync::tests "$@"
verdict schedules
