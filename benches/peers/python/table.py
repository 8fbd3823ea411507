"""Prints the table of other libraries in BENCHMARKS.md, from joined results.

    python table.py joined.csv [kept.csv]

How many times as long as ours the fastest library takes in the same form, with at most as many
threads. Where ours writes an output that is not initialised (`uninit`), as libraries do, that
counts as the form that writes an array of the caller's. `kept.csv` is of the Rust program with
`--features mimalloc`: what is returned lies in memory that the allocator has kept.
"""

import csv
import math
import sys

from named import PEERS, WORK

COLUMNS = [(form, threads) for form in ("alloc", "into") for threads in (1, 2)]


def read(path):
    with open(path, newline="") as file:
        return [
            (row["workload"], row["peer"], row["form"], int(row["threads"]), int(row["nanoseconds"]))
            for row in csv.DictReader(file)
        ]


def ratio(rows, kept, workload, form, threads):
    """The fastest library's time over ours, and its name; ours is of the rows `kept`."""
    def times(rows, form):
        return ((peer, nanoseconds) for work, peer, way, count, nanoseconds in rows
                if (work, way) == (workload, form) and count <= threads)

    forms = ("into", "uninit") if form == "into" else (form,)
    ours = [time for way in forms for peer, time in times(kept, way) if peer == "opkernels"]
    theirs = [(time, PEERS[peer][0])
              for some in (rows, kept) for peer, time in times(some, form) if peer in PEERS]
    if not ours or not theirs:
        return None
    nanoseconds, peer = min(theirs)
    return nanoseconds / min(ours), peer


def main():
    paths = sys.argv[1:]
    rows = read(paths[0])
    sets = [(rows, form, threads) for form, threads in COLUMNS]
    heads = ["returned, 1 thread", "returned, 2 threads", "into or in place, 1 thread",
             "the same, 2 threads"]
    if len(paths) > 1:
        kept = read(paths[1])
        sets[2:2] = [(kept, "alloc", threads) for threads in (1, 2)]
        heads[2:2] = ["returned in kept memory, 1 thread", "the same, 2 threads"]
    print("| work | " + " | ".join(heads) + " |")
    print("|---" * (len(heads) + 1) + "|")
    columns = [[] for _ in sets]
    for workload, (operation, words) in WORK.items():
        cells = []
        for column, (ours, form, threads) in zip(columns, sets):
            found = ratio(rows, ours, workload, form, threads)
            cells.append(f"{found[0]:.2f} ({found[1]})" if found else "")
            column.extend(found[:1] if found else ())
        print(f"| {operation}: {words} | " + " | ".join(cells) + " |")
    means = [f"{math.exp(sum(map(math.log, column)) / len(column)):.2f}" if column else ""
             for column in columns]
    print("| geometric mean | " + " | ".join(means) + " |")
    behind = [f"{sum(one < 0.97 for one in column)} of {len(column)}" for column in columns]
    print("| below 0.97 | " + " | ".join(behind) + " |")


if __name__ == "__main__":
    main()
