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
        "gather_into_column_major_x1": "102 rows of 205 x 205 into column-major",
        "gather_into_column_major_x10": "324 rows of 648 x 648, the same",
        "gather_into_column_major_x100": "1024 rows of 2048 x 2048, the same",
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
        "roll_planes_of_3": "200,000 x 3 x 3 along axes 1, 2",
        "roll_both_axes_of_3": "2M x 3 along both axes",
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
    "Gather of elements": {
        "gather_elements_last_axis_x1": "350 x 350 along axis 1",
        "gather_elements_last_axis_x10": "1100 x 1100 along axis 1",
        "gather_elements_last_axis_x100": "3464 x 3464 along axis 1",
        "gather_elements_first_axis_x1": "350 x 350 along axis 0",
        "gather_elements_first_axis_x10": "1100 x 1100 along axis 0",
        "gather_elements_first_axis_x100": "3464 x 3464 along axis 0",
        "gather_elements_middle_axis_x1": "49 cubed along axis 1",
        "gather_elements_middle_axis_x10": "106 cubed along axis 1",
        "gather_elements_middle_axis_x100": "229 cubed along axis 1",
        "gather_elements_top_8": "8 of each of 150,000 rows of 64",
        "gather_elements_line": "1M of 10M",
        "gather_elements_transposed_x1": "350 x 350 transposed, along its last axis",
        "gather_elements_transposed_x10": "1100 x 1100, the same",
        "gather_elements_transposed_x100": "3464 x 3464, the same",
        "gather_elements_column_major": "1100 x 1100, all column-major, along axis 0",
        "gather_elements_eight": "2 of each of 4 rows of 3",
    },
    "Gather by tuples": {
        "gather_nd_rows_x1": "200 rows of 256 B by pairs",
        "gather_nd_rows_x10": "2000 rows",
        "gather_nd_rows_x100": "20,000 rows, table of 51 MB",
        "gather_nd_elements_x1": "10,000 elements of 3162 x 3162 by pairs",
        "gather_nd_elements_x10": "100,000 elements",
        "gather_nd_elements_x100": "1M elements",
        "gather_nd_elements_of_400kb": "1M elements of 316 x 316",
        "gather_nd_batched_rows": "batch_dims 1, 32 x 1024 rows of 256 B",
        "gather_nd_batched_elements": "batch_dims 1, 256 x 1000 elements of 64 x 64",
        "gather_nd_transposed": "1024 rows of a transposed 2048 x 2048",
        "gather_nd_six_pairs": "6 elements of 4 x 3 by pairs",
    },
    "Scatter of slices": {
        "scatter_slices_16_sum_x1": "5,000 rows of 64 B summed into 500",
        "scatter_slices_16_sum_x10": "50,000 rows into 5,000",
        "scatter_slices_16_sum_x100": "500,000 rows into 50,000",
        "scatter_slices_64_sum_x1": "2,000 rows of 256 B summed into 200",
        "scatter_slices_64_sum_x10": "20,000 rows into 2,000",
        "scatter_slices_64_sum_x100": "200,000 rows into 20,000",
        "scatter_slices_64_max_x100": "the same, maxima",
        "scatter_slices_64_mean_x100": "the same, mean",
        "scatter_slices_64_write_x100": "20,000 rows of 256 B written over 20,000",
        "scatter_slices_128_sum_x1": "1,000 rows of 512 B summed into 100",
        "scatter_slices_128_sum_x10": "10,000 rows into 1,000",
        "scatter_slices_128_sum_x100": "100,000 rows into 10,000",
        "scatter_slices_768_write": "4096 rows of 3 KB written over 32,000",
        "scatter_slices_few": "1000 rows of 512 B summed into 200,000",
        "scatter_slices_columns": "1024 columns of 4096 summed into 1024",
        "scatter_slices_batched": "batch_dims 1, 32 x 1024 rows of 256 B summed",
        "scatter_slices_transposed": "1024 rows summed into a column-major 2048 x 2048",
        "scatter_six_rows": "6 rows of 4 summed into 4",
    },
    "Scatter by tuples": {
        "scatter_nd_rows_x1": "200 rows of 256 B written over 2,000 by pairs",
        "scatter_nd_rows_x10": "2,000 rows over 20,000",
        "scatter_nd_rows_x100": "20,000 rows over 200,000",
        "scatter_nd_rows_sum_x1": "20,000 rows summed into 2,000",
        "scatter_nd_rows_sum_x10": "200,000 rows summed into 20,000",
        "scatter_nd_rows_max_x10": "the same, maxima",
        "scatter_nd_rows_few": "64 rows of 256 B written over 1M",
        "scatter_nd_elements_x1": "10,000 elements written over 316 x 316 by pairs",
        "scatter_nd_elements_x10": "100,000 over 1000 x 1000",
        "scatter_nd_elements_x100": "1M over 3162 x 3162",
        "scatter_nd_elements_sum_x1": "10,000 summed into 316 x 316",
        "scatter_nd_elements_sum_x10": "100,000 into 1000 x 1000",
        "scatter_nd_elements_sum_x100": "1M into 3162 x 3162",
        "scatter_nd_elements_max_x100": "the same, maxima",
        "scatter_nd_elements_triples": "1M summed into 128 cubed by triples",
        "scatter_nd_six_pairs": "6 elements written over 4 x 3 by pairs",
    },
    "Folds that add, beside the sum that is built in": {
        "scatter_fold_line_x1": "10,000 into 1000",
        "scatter_fold_line_x10": "100,000 into 10,000",
        "scatter_fold_line_x100": "1M into 100,000",
        "scatter_fold_line_x1000": "10M into 1M",
        "scatter_fold_slices_x1": "2,000 rows of 256 B into 200",
        "scatter_fold_slices_x10": "20,000 rows into 2,000",
        "scatter_fold_slices_x100": "200,000 rows into 20,000",
        "scatter_fold_first_axis": "4096 x 1024 along axis 0, an index each",
        "scatter_fold_last_axis": "the same along axis 1",
        "scatter_fold_pairs_x1": "10,000 into 316 x 316 by pairs",
        "scatter_fold_pairs_x10": "100,000 into 1000 x 1000",
        "scatter_fold_pairs_x100": "1M into 3162 x 3162",
        "scatter_fold_in_f64": "1M `f32` into 100,000 `f64`",
    },
    "One value for all, beside as many spelled out": {
        "scatter_one_value_line_x1": "10,000 counted in 1000",
        "scatter_one_value_line_x10": "100,000 in 10,000",
        "scatter_one_value_line_x100": "1M in 100,000",
        "scatter_one_value_line_x1000": "10M in 1M",
        "scatter_one_value_slices": "4096 rows of 3 KB zeroed of 32,000",
        "scatter_one_value_pairs": "1M counted in 1000 x 1000 by pairs",
        "scatter_one_value_last_axis": "4096 x 1024 of 4096 x 4096 written",
    },
}
# Sums in place, by a plan of the indices and without one.
PLANS = {
    "plan_rows_4": "1M rows of 4 floats into 100,000",
    "plan_rows_16_near": "20,000 rows of 16 floats into 2,000",
    "plan_rows_16_far": "1M rows of 16 into 1M",
    "plan_rows_16_power": "500,000 rows of 16 into 50,000, power law",
    "plan_rows_16_sorted": "the same, sorted",
    "plan_rows_64_near": "5,000 rows of 64 into 1,000",
    "plan_rows_64_far": "200,000 rows of 64 into 50,000",
    "plan_rows_64_power": "the same, power law",
    "plan_rows_80": "481,385 rows of 80 into 556,416",
    "plan_rows_128": "100,000 rows of 128 into 10,000",
    "plan_rows_768": "20,000 rows of 768 into 5,000",
    "plan_elements_100k": "100,000 elements into 100,000",
    "plan_elements_1m": "1M elements into 1M",
    "plan_elements_10m": "10M elements into 1M",
    "plan_elements_far": "1M elements into 10M",
    "plan_elements_power": "1M elements into 1M, power law",
    "plan_elements_sorted": "1M sorted elements into 100,000",
    "plan_counts_256": "10M `u32` into 256",
    "plan_counts_10k": "1M `u32` into 10,000",
}
OLDEST = ("Gather", "Roll", "Scatter")
OURS = ("into", "inplace", "alloc")
# Forms that stand in the place of those by hand.
BESIDE = {
    "Folds that add, beside the sum that is built in": ("built in",),
    "One value for all, beside as many spelled out": ("spelled out",),
}
HANDS = ("by hand", "copy first", "select", "prefetched loop", "untransposed", "spelled out",
         "assign")
COPIES = ("copy", "stream", "known places")


def quotient(numerator, denominator):
    return f"{numerator / denominator:.2f}" if numerator and denominator else ""


def least(forms, names, threads):
    times = [forms[name, threads] for name in names if (name, threads) in forms]
    return min(times, default=None)


def row(words, forms, hands):
    form = next(name for name in OURS if (name, 1) in forms)
    one, two = forms[form, 1], forms.get((form, 2))
    returned = "alloc" if ("alloc", 1) in forms else form
    cells = (
        words,
        f"{one / 1000:.4g}",
        quotient(least(forms, hands, 1), one),
        quotient(least(forms, COPIES, 1), one),
        quotient(least(forms, COPIES, 2), two),
        quotient(one, two),
        quotient(forms.get((returned, 1)), one) if returned != form else "",
    )
    return "| " + " | ".join(cells) + " |"


def extremes(results):
    """The worst and the best row of each operation, by the best of the ways by hand over ours; a
    second thread counts where it has half a millisecond to win."""
    print("| operation | worst, by hand / ours | best | least of 1 thread / 2 threads |")
    print("|---|---|---|---|")
    for operation, work in WORK.items():
        hand, threads = [], []
        base = None
        for name, words in work.items():
            # Some go on from the row before.
            goes_on = words.startswith(("the same", "10 times", "100 times"))
            base = base if goes_on else words
            full = f"{base}, {words}" if goes_on else words
            forms = results.get(name, {})
            ours = next((forms[form, 1] for form in OURS if (form, 1) in forms), None)
            other = least(forms, BESIDE.get(operation, HANDS), 1)
            if ours and other:
                hand.append((other / ours, full))
            two = next((forms[form, 2] for form in OURS if (form, 2) in forms), None)
            if ours and two and ours > 5e5:
                threads.append((ours / two, full))
        if hand:
            cells = [min(hand), max(hand), min(threads, default=(0, ""))]
            print(f"| {operation} | " + " | ".join(f"{r:.2f}: {w}" for r, w in cells) + " |")


def plan_row(words, forms):
    plan, two = forms["with a plan", 1], forms["with a plan", 2]
    cells = (
        words,
        f"{plan / 1000:.4g}",
        quotient(forms["without", 1], plan),
        quotient(forms["by hand", 1], plan),
        f"{two / 1000:.4g}",
        quotient(forms["without", 2], two),
        quotient(plan, two),
        quotient(forms["without", 1], forms["without", 2]),
    )
    return "| " + " | ".join(cells) + " |"


def plans(results):
    print("\n#### Plans: the same indices many times\n")
    print("| sums in place | plan, µs, 1 thread | without / with, 1 thread | by hand / with, 1 thread "
          "| plan, µs, 2 threads | without / with, 2 threads | 1 / 2 threads, with "
          "| 1 / 2 threads, without |")
    print("|---|---|---|---|---|---|---|---|")
    for name, words in PLANS.items():
        if name in results:
            print(plan_row(words, results[name]))


def main():
    results = {}
    with open(sys.argv[1], newline="") as file:
        for line in csv.DictReader(file):
            forms = results.setdefault(line["workload"], {})
            forms[line["form"], int(line["threads"])] = float(line["nanoseconds"])
    extremes(results)
    for operation, work in WORK.items():
        if not results.keys() & work.keys():
            continue
        print(f"\n{'###' if operation in OLDEST else '####'} {operation}\n")
        print("| work | µs, 1 thread | by hand / ours | copy / ours | the same, 2 threads "
              "| 1 thread / 2 threads | returned / into |")
        print("|---|---|---|---|---|---|---|")
        for name, words in work.items():
            if name in results:
                print(row(words, results[name], BESIDE.get(operation, HANDS)))
    if results.keys() & PLANS.keys():
        plans(results)
    missing = set(results) - {name for work in [*WORK.values(), PLANS] for name in work}
    if missing:
        print(f"no words for {sorted(missing)}", file=sys.stderr)


if __name__ == "__main__":
    main()
