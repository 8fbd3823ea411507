"""Prints the tables of BENCHMARKS.md.

    cargo bench --bench ratios -- --csv results.csv
    python3 benches/tables.py results.csv
"""

import csv
import sys

WORK = {
    "Gather": {
        "g1_embed": "4096 rows of 3 KB, table of 98 MB",
        "g2_rows256": "20,000 random rows of 256 B",
        "g2_rows64": "200,000 random rows of 64 B, table of 256 MB",
        "g2_rows3k": "5000 random rows of 3 KB, table of 245 MB",
        "g2_rows4k": "16,384 random rows of 4 KB, table of 256 MB",
        "g3_take1d": "1M random words of 40 MB",
        "g3_take1d_1M": "1M random words of 400 KB",
        "g4_lastaxis": "512 columns of 4096 x 4096",
        "g5_thin4": "1M random rows of 4 B",
        "g5_thin12": "1M random rows of 12 B",
        "g5_thin16": "1M random rows of 16 B",
        "g5_thin28": "500,000 random rows of 28 B",
        "g5_thin36": "500,000 random rows of 36 B",
        "g5_thin60": "300,000 random rows of 60 B",
        "g6_batched": "batch_dims 1, 32 x 1024 rows of 256 B",
        "g7_batchlast": "batch_dims 1 along the last axis, 4096 x 256 of 1024",
        "g7_batchshort": "the same, 500,000 x 3 of 16",
        "g8_small": "10 rows of 64 B",
        "g8_small_dyn": "the same of dynamic rank",
        "g9_transposed": "rows of a transposed matrix",
        "g9_lanes": "rows of a permuted cube",
        "g9_reversed": "rows of a reversed view",
        "g9_stepped": "rows of a stepped view",
        "g10_u8": "540 rows of a full-HD u8 picture",
        "g11_swap": "channel swap of a full-HD u8 picture",
        "g11_cols3of8": "3 of 8 columns, 1M rows",
        "g12_f32x3": "500,000 random `[f32; 3]`",
        "g13_1x": "200 rows of 256 B of 500",
        "g13_10x": "10 times as many",
        "g13_100x": "100 times as many",
    },
    "Roll": {
        "r1_1d": "10M by 12345",
        "r1_half": "10M by half",
        "r2_rows": "4096 x 4096 along axis 0",
        "r3_cols": "4096 x 4096 along axis 1",
        "r4_cube": "256 cubed along all axes",
        "r4_fftshift": "256 cubed by half along all axes",
        "r5_swin": "8 x 56 x 56 x 96 along axes 1, 2",
        "r6_small": "4 x 3 along both axes",
        "r7_short3": "2M x 3 along axis 1",
        "r7_short7": "1M x 7 along axis 1",
        "r7_short16": "500,000 x 16 along axis 1",
        "r8_cube1x": "20 cubed",
        "r8_cube10x": "43 cubed",
        "r8_cube100x": "93 cubed",
        "r9_fortran": "2048 x 2048, column-major",
        "r10_u8": "2160 x 3840 x 3 u8 along axes 0, 1",
    },
    "Scatter": {
        "s1_put1d": "1M overwritten of 1M",
        "s2_hist": "10M summed into 1M",
        "s2_mean": "10M averaged into 1M",
        "s2_max": "maxima of 10M in 1M",
        "s3_gnn_sum": "100,000 rows of 512 B summed into 10,000",
        "s3_gnn_mean": "the same, mean",
        "s3_gnn_max": "the same, maxima",
        "s3_gnn_matrix": "the same sum, indices as a matrix",
        "s4_rows_none": "4096 x 1024 overwritten along the last axis",
        "s4_rows_sum": "the same, sum",
        "s4_short": "500,000 lanes of 3 updates",
        "s5_axis0_sum": "4096 x 1024 summed along axis 0, an index each",
        "s5_axis0_mean": "the same, mean",
        "s6_few": "1000 averaged into 50M",
        "s7_seed6": "ScatterElementsUpdate-12 example 6",
        "s8_small": "6 summed into 4",
        "s10_hot64": "10M summed into 64",
        "s10_hot64_mean": "10M averaged into 64",
        "s11_1x": "10,000 summed into 1000",
        "s11_10x": "10 times as many",
        "s11_100x": "100 times as many",
    },
}
OURS = ("into", "inplace", "alloc")
HANDS = ("by hand", "copy first", "select")
COPIES = ("copy", "stream")


def quotient(numerator, denominator):
    return f"{numerator / denominator:.2f}" if numerator and denominator else ""


def least(forms, names, threads):
    times = [forms[name, threads] for name in names if (name, threads) in forms]
    return min(times, default=None)


def row(words, forms):
    form = next(name for name in OURS if (name, 1) in forms)
    one, two = forms[form, 1], forms.get((form, 2))
    returned = "alloc" if ("alloc", 1) in forms else form
    cells = (
        words,
        f"{one / 1000:.4g}",
        quotient(least(forms, HANDS, 1), one),
        quotient(least(forms, COPIES, 1), one),
        quotient(least(forms, COPIES, 2), two),
        quotient(one, two),
        quotient(forms.get((returned, 1)), one) if returned != form else "",
    )
    return "| " + " | ".join(cells) + " |"


def main():
    results = {}
    with open(sys.argv[1], newline="") as file:
        for line in csv.DictReader(file):
            forms = results.setdefault(line["workload"], {})
            forms[line["form"], int(line["threads"])] = float(line["nanoseconds"])
    for operation, work in WORK.items():
        print(f"\n## {operation}\n")
        print("| work | µs, 1 thread | by hand / ours | copy / ours | the same, 2 threads "
              "| 1 thread / 2 threads | returned / into |")
        print("|---|---|---|---|---|---|---|")
        for name, words in work.items():
            if name in results:
                print(row(words, results[name]))
    missing = set(results) - {name for work in WORK.values() for name in work}
    if missing:
        print(f"no words for {sorted(missing)}", file=sys.stderr)


if __name__ == "__main__":
    main()
