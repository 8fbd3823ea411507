#!/usr/bin/env bash
# The tests that use threads under ThreadSanitizer: scripts/tsan.sh
#
# With small thresholds, so that little work is split, too; the random inputs run on
# pools of 1 to 16 threads. CORPUS_INPUTS sets how many each operation has (100).
# The standard library is built with it too, since without that it reports
# races which are none. Needs rustup; installs a nightly toolchain with the
# sources of the standard library where there is none.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

need_cargo
need_target_linux
need_nightly rust-src

export RUSTFLAGS="-Zsanitizer=thread --cfg small_thresholds ${RUSTFLAGS:-}"
export CORPUS_INPUTS=${CORPUS_INPUTS:-100}
export TSAN_OPTIONS="allocator_may_return_null=1:halt_on_error=1:${TSAN_OPTIONS:-}"

run cargo +nightly test -p opkernels -Zbuild-std --target "$linux" --all-features \
  --test races --test parallel --test corpus "$@"
verdict ThreadSanitizer
