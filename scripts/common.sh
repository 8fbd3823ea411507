# What the scripts of this folder share; they source it from the root of the
# repository.

linux=x86_64-unknown-linux-gnu
# What tools that watch every access get to see. Layouts are left to the corpus,
# whose inputs are smaller than the tests that list them; so are elements beside each
# other, and means. The test of determinism does 18 million updates, and what lib goes
# through for all small values reads no memory.
watched=(--lib --test gather --test roll --test scatter_elements --test semantics
  --test races --test corpus)
too_long=(--skip layouts --skip corpus --skip determinism --skip beside --skip means
  --skip all_bytes --skip all_words --skip walks_reach --skip merged_loops
  --skip equal_work --skip shares_make_up)
started=$SECONDS
tests=0

fail() {
  echo "$*" >&2
  exit 1
}

need_cargo() {
  command -v cargo >/dev/null || fail "cargo is missing: see https://rustup.rs"
}

# The sanitizers and valgrind are asked for this one target.
need_target_linux() {
  [[ $(rustc -vV) == *"host: $linux"* ]] || fail "this script runs on a host of $linux only"
}

# The nightly toolchain, not one of a date, with these components.
need_nightly() {
  command -v rustup >/dev/null || fail "rustup is missing: see https://rustup.rs"
  local component
  rustup toolchain list | grep -q '^nightly-[^0-9]' || rustup toolchain install nightly --profile minimal
  for component in "$@"; do
    rustup component list --toolchain nightly --installed | grep -q "^$component" ||
      rustup component add --toolchain nightly "$component"
  done
}

# A program, and how to get it where it is missing.
need_program() {
  command -v "$1" >/dev/null || fail "$1 is missing: $2"
}

# Runs a command of cargo test, shows what it says and counts the tests.
run() {
  local log passed
  log=$(mktemp)
  printf '\n== %s\n' "$*"
  if ! "$@" 2>&1 | tee "$log"; then
    rm -f "$log"
    fail "failed: $*"
  fi
  passed=$(sed -n 's/^test result: ok\. \([0-9]*\) passed.*/\1/p' "$log" | paste -sd+ -)
  rm -f "$log"
  tests=$((tests + ${passed:-0}))
}

# The last line of a script that went through: the figures. A run in which no
# test took part proves nothing.
verdict() {
  [[ $tests -gt 0 ]] || fail "$1: no test ran"
  printf '\n%s: %d tests passed in %d s\n' "$1" "$tests" "$((SECONDS - started))"
}
