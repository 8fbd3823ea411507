#!/usr/bin/env bash
# Times every peer at 1 and 2 threads in turn with our own benchmark, and joins the
# results: bash benches/peers/python/run.sh [result.csv]
#
# VENV: where the virtual environment is, or shall be made (about 6 GB, PyTorch's GPU
# libraries most of it). ROUNDS: how often all are run; of each the minimum is kept.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../../.." && pwd)"
result="${1:-$root/benches/results/$(date +%F).csv}"
venv="${VENV:-$here/.venv}"
rounds="${ROUNDS:-2}"

if [ ! -x "$venv/bin/python" ]; then
  python3 -m venv "$venv"
  # One by one: a peer that cannot be had here is left out.
  while read -r package; do
    "$venv/bin/pip" install --quiet "$package" || echo "left out: $package" >&2
  done <"$here/requirements.txt"
fi

parts="$(mktemp -d)"
trap 'rm -rf "$parts"' EXIT
workloads=(gather_embedding gather_words_of_40mb gather_columns gather_batched_rows gather_ten_rows gather_picture_rows
  roll_line roll_rows roll_columns roll_cube_256 roll_windows roll_4_by_3
  scatter_write scatter_sum_x1000 scatter_rows_128_sum_x100 scatter_last_axis_write scatter_rank_4 scatter_six
  gather_elements_{last,first,middle}_axis_x10{,0} gather_nd_{rows,elements}_x100 gather_nd_batched_rows
  scatter_slices_{16,64,128}_sum_x100 scatter_slices_768_write scatter_slices_few
  scatter_nd_rows_{x100,sum_x10,few} scatter_nd_elements_{x100,sum_x100})
count=0

ours() {
  count=$((count + 1))
  (cd "$root" && cargo bench --quiet --bench ratios -- "${workloads[@]}" --csv "$parts/$count-ours.csv") >/dev/null
}

# Built before anything is timed.
(cd "$root" && cargo bench --quiet --no-run --bench ratios)
(cd "$here/.." && cargo build --quiet --release)

for round in $(seq "$rounds"); do
  for peer in numpy torch onnxruntime openvino jax; do
    "$venv/bin/python" -c "import $peer" 2>/dev/null || continue
    for threads in 1 2; do
      # NumPy has one thread only.
      [ "$peer $threads" = "numpy 2" ] && continue
      echo "== round $round: $peer, threads: $threads" >&2
      "$venv/bin/python" -B "$here/peers.py" "$peer" --threads "$threads" \
        --csv "$parts/$round-$peer-$threads.csv" >&2
      ours
    done
  done
  echo "== round $round: Rust peers" >&2
  (cd "$here/.." && cargo run --quiet --release -- --csv "$parts/$round-rust.csv") >&2
done

# What is returned, where the allocator keeps memory as engines do.
(cd "$here/.." && cargo run --quiet --release --features mimalloc -- --alone --csv "$parts/kept") >&2

mkdir -p "$(dirname "$result")"
cp "$parts/kept" "${result%.csv}-kept.csv"
"$venv/bin/python" -B "$here/join.py" "$result" "$parts"/*.csv
"$venv/bin/python" -B "$here/table.py" "$result" "${result%.csv}-kept.csv"
