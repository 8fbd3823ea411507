#!/usr/bin/env bash
# The test suite as WebAssembly (wasm32-wasip1): addresses of 32 bits, no threads,
# no vectors, allocation by another allocator. Run by wasmtime, from PyPI.
#
# Left out: tests of threads and of the memory of processes, which do not exist
# there, and of panics, which end the program.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/common.sh

target=wasm32-wasip1
need_cargo
need_program rustup "see https://rustup.rs"
need_program python3 "see https://www.python.org"
rustup target list --installed | grep -qx "$target" || rustup target add "$target"

mkdir -p "${CARGO_TARGET_DIR:=target}"
python=$(cd "$CARGO_TARGET_DIR" && pwd)/wasmtime/bin/python
"$python" -c 'import wasmtime' 2>/dev/null || {
  python3 -m venv "${python%/bin/python}"
  "$python" -m pip install --quiet wasmtime
}
export CARGO_TARGET_WASM32_WASIP1_RUNNER="$python $PWD/scripts/wasm_runner.py"

suite() {
  run cargo test -p opkernels --target "$target" --no-default-features --features half,num-complex "$@"
}

suite --lib --test gather --test roll --test scatter_elements --test family --test properties -- --skip panics
suite --test semantics -- --skip family::folds --skip shared_cheaply
verdict WebAssembly
