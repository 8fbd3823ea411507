"""Prints the tables of other libraries in BENCHMARKS.md, from joined results.

    python table.py joined.csv

How many times as long as ours the fastest library takes in the same form, with at most as many
threads. Where ours writes an output that is not initialised (`uninit`), as libraries do, that
counts as the form that writes an array of the caller's.
"""

import csv
import sys

from chart import PEERS

WORK = {
    "gather_elements_last_axis_x10": "gather_elements, 1100 x 1100 along axis 1",
    "gather_elements_last_axis_x100": "the same, 3464 x 3464",
    "gather_elements_first_axis_x10": "gather_elements, 1100 x 1100 along axis 0",
    "gather_elements_first_axis_x100": "the same, 3464 x 3464",
    "gather_elements_middle_axis_x10": "gather_elements, 106 cubed along axis 1",
    "gather_elements_middle_axis_x100": "the same, 229 cubed",
    "gather_nd_rows_x100": "gather_nd, 20,000 rows of 256 B by pairs",
    "gather_nd_elements_x100": "gather_nd, 1M elements of 3162 x 3162",
    "gather_nd_batched_rows": "gather_nd in batches, 32 x 1024 rows of 256 B",
    "scatter_slices_16_sum_x100": "scatter, 500,000 rows of 64 B summed into 50,000",
    "scatter_slices_64_sum_x100": "scatter, 200,000 rows of 256 B summed into 20,000",
    "scatter_slices_128_sum_x100": "scatter, 100,000 rows of 512 B summed into 10,000",
    "scatter_slices_768_write": "scatter, 4096 rows of 3 KB written over 32,000",
    "scatter_slices_few": "scatter, 1000 rows of 512 B summed into 200,000",
    "scatter_nd_rows_x100": "scatter_nd, 20,000 rows of 256 B written over 200,000",
    "scatter_nd_rows_sum_x10": "scatter_nd, 200,000 rows of 256 B summed into 20,000",
    "scatter_nd_rows_few": "scatter_nd, 64 rows of 256 B written over 1M",
    "scatter_nd_elements_x100": "scatter_nd, 1M elements written over 3162 x 3162",
    "scatter_nd_elements_sum_x100": "the same, sum",
}


def read(path):
    with open(path, newline="") as file:
        return [
            (row["workload"], row["peer"], row["form"], int(row["threads"]), int(row["nanoseconds"]))
            for row in csv.DictReader(file)
        ]


def cell(rows, workload, form, threads):
    forms = ("into", "uninit") if form == "into" else (form,)
    ours, theirs = [], []
    for work, peer, way, count, nanoseconds in rows:
        if work == workload and count <= threads:
            if peer == "opkernels" and way in forms:
                ours.append(nanoseconds)
            elif peer in PEERS and way == form:
                theirs.append((nanoseconds, PEERS[peer][0]))
    if not ours or not theirs:
        return ""
    nanoseconds, peer = min(theirs)
    return f"{nanoseconds / min(ours):.2f} ({peer})"


def main():
    rows = read(sys.argv[1])
    print("| work | returned, 1 thread | returned, 2 threads | into or in place, 1 thread "
          "| the same, 2 threads |")
    print("|---|---|---|---|---|")
    for workload, words in WORK.items():
        cells = [cell(rows, workload, form, n) for form in ("alloc", "into") for n in (1, 2)]
        print(f"| {words} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
