#!/usr/bin/env bash
# Instructions a tiny call takes, counted by valgrind's callgrind: the same on a
# busy machine as on an idle one. The calls are the ways of the benchmarks'
# tiny workloads: scripts/instructions.sh [part of a name]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

need_program valgrind "apt-get install valgrind, or your system's package of that name"

bench=$(cargo bench --bench tiny --no-run --message-format=json 2>/dev/null |
  sed -n 's/.*"executable":"\([^"]*tiny-[^"]*\)".*/\1/p' | tail -1)

count() { # name, calls
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$bench" "$1" "$2" 2>&1 |
    sed -n 's/,//g; s/.*Collected : \([0-9]*\).*/\1/p'
}

# The difference of two counts leaves out what happens once.
names=$("$bench" --list | grep -- "${1:-}")
for name in $names; do
  few=$(count "$name" 1000)
  many=$(count "$name" 3000)
  printf '%-36s %6d instructions\n' "$name" $(((many - few) / 2000))
done
