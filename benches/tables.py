"""Prints the tables of BENCHMARKS.md.

    cargo bench --bench ratios -- --csv results.csv
    python3 benches/tables.py results.csv
"""

import csv
import sys

WORK = {
    "Gather": {
        "gather_embedding": "4096 rows of 3 KB, table of 98 MB",
        "gather_rows_256b_x100": "20,000 random rows of 256 B",
        "gather_rows_64b": "200,000 random rows of 64 B, table of 256 MB",
        "gather_rows_3kb": "5000 random rows of 3 KB, table of 245 MB",
        "gather_rows_4kb": "16,384 random rows of 4 KB, table of 256 MB",
        "gather_words_of_40mb": "1M random words of 40 MB",
        "gather_words_of_400kb": "1M random words of 400 KB",
        "gather_columns": "512 columns of 4096 x 4096",
        "gather_rows_4b": "1M random rows of 4 B",
        "gather_rows_12b": "1M random rows of 12 B",
        "gather_rows_16b": "1M random rows of 16 B",
        "gather_rows_28b": "500,000 random rows of 28 B",
        "gather_rows_36b": "500,000 random rows of 36 B",
        "gather_rows_60b": "300,000 random rows of 60 B",
        "gather_batched_rows": "batch_dims 1, 32 x 1024 rows of 256 B",
        "gather_batched_words": "batch_dims 1 along the last axis, 4096 x 256 of 1024",
        "gather_batched_words_3_of_16": "the same, 500,000 x 3 of 16",
        "gather_ten_rows": "10 rows of 64 B",
        "gather_ten_rows_dynamic": "the same of dynamic rank",
        "gather_transposed_x100": "rows of a transposed matrix",
        "gather_permuted_cube": "rows of a permuted cube",
        "gather_reversed": "rows of a reversed view",
        "gather_stepped": "rows of a stepped view",
        "gather_picture_rows": "540 rows of a full-HD u8 picture",
        "gather_channel_swap": "channel swap of a full-HD u8 picture",
        "gather_columns_3_of_8": "3 of 8 columns, 1M rows",
        "gather_triples": "500,000 random `[f32; 3]`",
        "gather_rows_256b_x1": "200 rows of 256 B of 500",
        "gather_rows_256b_x10": "10 times as many",
        "gather_rows_256b_x100": "100 times as many",
        "gather_words_into_64kb": "16,384 random words of 4 MB",
        "gather_words_into_256kb": "65,536 random words of 4 MB",
        "gather_words_into_1mb": "262,144 random words of 4 MB",
        "gather_batched_words_into_64kb": "batch_dims 1 along the last axis, 256 x 64 of 1000",
        "gather_batched_words_into_256kb": "the same, 1024 x 64",
        "gather_batched_words_into_1mb": "the same, 4096 x 64",
        "gather_transposed_x1": "102 rows of a transposed 205 x 205",
        "gather_transposed_x10": "324 rows of a transposed 648 x 648",
        "gather_transposed_column_major_x1": "102 rows of a transposed 205 x 205 into column-major",
        "gather_transposed_column_major_x10": "324 rows of a transposed 648 x 648, the same",
        "gather_transposed_column_major_x100": "1024 rows of a transposed 2048 x 2048, the same",
    },
    "Roll": {
        "roll_line": "10M by 12345",
        "roll_line_by_half": "10M by half",
        "roll_rows": "4096 x 4096 along axis 0",
        "roll_columns": "4096 x 4096 along axis 1",
        "roll_cube_256": "256 cubed along all axes",
        "roll_fftshift": "256 cubed by half along all axes",
        "roll_windows": "8 x 56 x 56 x 96 along axes 1, 2",
        "roll_4_by_3": "4 x 3 along both axes",
        "roll_columns_of_3": "2M x 3 along axis 1",
        "roll_columns_of_7": "1M x 7 along axis 1",
        "roll_columns_of_16": "500,000 x 16 along axis 1",
        "roll_cube_20": "20 cubed",
        "roll_cube_43": "43 cubed",
        "roll_cube_93": "93 cubed",
        "roll_column_major": "2048 x 2048, column-major",
        "roll_picture": "2160 x 3840 x 3 u8 along axes 0, 1",
        "roll_permuted_201_x1": "55 cubed, axes permuted to 2, 0, 1, into standard layout",
        "roll_permuted_201_x10": "119 cubed, axes permuted to 2, 0, 1, into standard layout",
        "roll_permuted_201_x100": "256 cubed, axes permuted to 2, 0, 1, into standard layout",
        "roll_permuted_120_x1": "55 cubed, axes permuted to 1, 2, 0, into standard layout",
        "roll_permuted_120_x10": "119 cubed, axes permuted to 1, 2, 0, into standard layout",
        "roll_permuted_120_x100": "256 cubed, axes permuted to 1, 2, 0, into standard layout",
    },
    "Scatter": {
        "scatter_write": "1M overwritten of 1M",
        "scatter_sum_x1000": "10M summed into 1M",
        "scatter_mean_x1000": "10M averaged into 1M",
        "scatter_max_x1000": "maxima of 10M in 1M",
        "scatter_rows_128_sum_x100": "100,000 rows of 512 B summed into 10,000",
        "scatter_rows_128_mean_x100": "the same, mean",
        "scatter_rows_128_max_x100": "the same, maxima",
        "scatter_rows_matrix": "the same sum, indices as a matrix",
        "scatter_last_axis_write": "4096 x 1024 overwritten along the last axis",
        "scatter_last_axis_sum": "the same, sum",
        "scatter_last_axis_short": "500,000 lanes of 3 updates",
        "scatter_first_axis_sum": "4096 x 1024 summed along axis 0, an index each",
        "scatter_first_axis_mean": "the same, mean",
        "scatter_few_mean": "1000 averaged into 50M",
        "scatter_rank_4": "ScatterElementsUpdate-12 example 6",
        "scatter_six": "6 summed into 4",
        "scatter_sum_into_64": "10M summed into 64",
        "scatter_mean_into_64": "10M averaged into 64",
        "scatter_sum_x1": "10,000 summed into 1000",
        "scatter_sum_x10": "10 times as many",
        "scatter_sum_x100": "100 times as many",
        "scatter_histogram_x1": "100,000 counted in 10,000 by one broadcast value",
        "scatter_histogram_x10": "10 times as many",
        "scatter_histogram_x100": "100 times as many",
        "scatter_rows_16_sum_x1": "5,000 rows of 64 B summed into 500",
        "scatter_rows_16_sum_x10": "50,000 rows of 64 B summed into 5,000",
        "scatter_rows_16_sum_x100": "500,000 rows of 64 B summed into 50,000",
        "scatter_rows_16_max_x100": "500,000 rows of 64 B maxima in 50,000",
        "scatter_rows_16_mean_x100": "500,000 rows of 64 B averaged into 50,000",
        "scatter_rows_32_sum_x1": "500 rows of 128 B summed into 50",
        "scatter_rows_32_sum_x10": "5,000 rows of 128 B summed into 500",
        "scatter_rows_32_sum_x100": "50,000 rows of 128 B summed into 5,000",
        "scatter_rows_32_max_x100": "50,000 rows of 128 B maxima in 5,000",
        "scatter_rows_32_mean_x100": "50,000 rows of 128 B averaged into 5,000",
        "scatter_rows_64_sum_x1": "2,000 rows of 256 B summed into 200",
        "scatter_rows_64_sum_x10": "20,000 rows of 256 B summed into 2,000",
        "scatter_rows_64_sum_x100": "200,000 rows of 256 B summed into 20,000",
        "scatter_rows_64_max_x100": "200,000 rows of 256 B maxima in 20,000",
        "scatter_rows_64_mean_x100": "200,000 rows of 256 B averaged into 20,000",
        "scatter_rows_128_sum_x1": "1,000 rows of 512 B summed into 100",
        "scatter_rows_128_sum_x10": "10,000 rows of 512 B summed into 1,000",
    },
}
OURS = ("into", "inplace", "alloc")
HANDS = ("by hand", "copy first", "select", "prefetched loop", "untransposed", "spelled out",
         "assign")
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
