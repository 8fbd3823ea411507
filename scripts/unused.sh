#!/usr/bin/env bash
# Dependencies that no source file of their package names. What `cargo machete`
# looks for, in a second and without it; this one also finds what is used in files
# that packages share.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

names() { # Cargo.toml
  awk '/^\[/ { dependencies = /dependencies\]$/ }
    dependencies && /^[A-Za-z]/ { sub(/[ =.].*/, ""); gsub("-", "_"); print }' "$1" | sort -u
}

unused=0
while read -r manifest; do
  folder=$(dirname "$manifest")
  # The root's own; other packages lie in folders below it. Fuzz targets share
  # files with the tests, benchmarks with each other.
  case $folder in
    .) sources=(src tests) ;;
    ./fuzz) sources=(fuzz tests/corpus tests/common) ;;
    ./benches/peers) sources=(benches/peers benches/workloads) ;;
    *) sources=("$folder") ;;
  esac
  for name in $(names "$manifest"); do
    grep -rqw --include='*.rs' --exclude-dir=target "$name" "${sources[@]}" || {
      echo "$manifest: $name is unused" >&2
      unused=$((unused + 1))
    }
  done
done < <(find . -name target -prune -o -name Cargo.toml -print | sort)
[[ $unused -eq 0 ]] || fail "$unused unused dependencies"
echo "every dependency is used"
