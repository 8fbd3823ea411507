#!/usr/bin/env bash
# The crate, all features, with the oldest versions of its dependencies that
# Cargo.toml allows, and the crate's tests on them. Cargo.lock is put back.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

need_cargo
need_nightly

kept=$(mktemp)
cp Cargo.lock "$kept"
trap 'mv "$kept" Cargo.lock' EXIT

# Without the dependencies' own minima, which are not ours to mend.
cargo +nightly update --quiet -Zdirect-minimal-versions
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/minimal-versions
run cargo test --locked -p opkernels --all-features --lib --test family --test semantics
verdict "minimal versions"
