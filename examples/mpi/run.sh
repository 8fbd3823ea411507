#!/usr/bin/env bash
# Runs the programs on 1, 2 and 4 ranks and compares their answers.
# Arguments go to all programs: examples/mpi/run.sh --rounds 20
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

if ! command -v mpirun >/dev/null || ! command -v mpicc >/dev/null; then
  echo "Open MPI is missing: sudo apt install libopenmpi-dev openmpi-bin libclang-dev" >&2
  exit 1
fi

cargo build --release --locked
programs=$(cargo metadata --format-version 1 --no-deps --locked |
  sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/release

# More ranks than cores are wanted here, and ranks that are not tied to a core.
options=(--oversubscribe --bind-to none -x RAYON_NUM_THREADS)
# Open MPI refuses to run as root unless told; containers often are.
[ "$(id -u)" -ne 0 ] || options+=(--allow-run-as-root)

cores=$(nproc)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for program in histogram embedding messages; do
  answer=
  for ranks in 1 2 4; do
    # Ranks on one machine share its cores.
    export RAYON_NUM_THREADS=$((cores > ranks ? cores / ranks : 1))
    mpirun "${options[@]}" -n "$ranks" "$programs/$program" "$@" | tee "$log"
    new=$(grep '^answer ' "$log")
    if [ "${answer:=$new}" != "$new" ]; then
      echo "$program: the answer on $ranks ranks differs from that on 1: $answer" >&2
      exit 1
    fi
  done
done
# MPI counts in 31 bits; short pieces show that longer data goes as well.
mpirun "${options[@]}" -n 4 "$programs/messages" --piece 1000 "$@" | grep -xF "$answer" ||
  { echo "messages: the answer in pieces differs" >&2; exit 1; }
echo "the same answers on 1, 2 and 4 ranks"
