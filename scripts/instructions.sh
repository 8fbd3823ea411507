#!/usr/bin/env bash
# Instructions a tiny call takes, counted by valgrind's callgrind: the same on a
# busy machine as on an idle one. The calls are the ways of the benchmarks'
# tiny workloads: scripts/instructions.sh [part of a name]
#
# scripts/instructions.sh check
# counts those that have a bound in benches/instructions.txt and fails where one takes
# more; scripts/instructions.sh bound writes that file anew: what is counted now, and a
# twentieth. Compilers differ by more than that, so only the version that the
# bounds are of is held to them; without valgrind nothing is checked.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

need_cargo
bounds=benches/instructions.txt
compiler="$(rustc --version), $(uname -m)"
if [[ ${1:-} == check ]]; then
  if ! command -v valgrind >/dev/null; then
    echo "not checked: there is no valgrind here"
    exit 0
  elif [[ $(head -1 "$bounds") != "$compiler" ]]; then
    echo "not checked: $bounds is of $(head -1 "$bounds"), this is $compiler"
    exit 0
  fi
fi
need_program valgrind "apt-get install valgrind, or your system's package of that name"

bench=$(cargo bench --bench tiny --no-run --message-format=json 2>/dev/null |
  sed -n 's/.*"executable":"\([^"]*tiny-[^"]*\)".*/\1/p' | tail -1)

count() { # name, calls
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$bench" "$1" "$2" 2>&1 |
    sed -n 's/,//g; s/.*Collected : \([0-9]*\).*/\1/p'
}

# The difference of two counts, which are made at the same time, leaves out what happens once.
instructions() { # name
  local many few
  exec 3< <(count "$1" 5000)
  few=$(count "$1" 1000)
  read -r many <&3
  echo $(((many - few) / 4000))
}

case ${1:-} in
check)
  while read -r name most; do
    counted=$(instructions "$name")
    printf '%-36s %6d instructions, at most %6d\n' "$name" "$counted" "$most"
    ((counted <= most)) || failed=1
  done < <(tail -n +2 "$bounds")
  [[ -z ${failed:-} ]] || fail "a tiny call takes more instructions than it did"
  ;;
bound)
  names=$("$bench" --list | grep -E '/(into|alloc|inplace)$')
  {
    echo "$compiler"
    for name in $names; do
      echo "$name $(($(instructions "$name") * 21 / 20))"
    done
  } >"$bounds.new"
  mv "$bounds.new" "$bounds"
  ;;
*)
  names=$("$bench" --list | grep -- "${1:-}")
  for name in $names; do
    printf '%-36s %6d instructions\n' "$name" "$(instructions "$name")"
  done
  ;;
esac
