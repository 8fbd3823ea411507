"""Joins results, the minimum of each, and prints ours beside the best peer's.

    python join.py joined.csv part.csv...

A part without a column "peer" comes from the bench ratios: its forms are ours, the limits
of the machine, and what ndarray users write.
"""

import csv
import sys

NAMED = {
    "copy": ("limit", "memcpy"),
    "stream": ("limit", "stream"),
    "prefetched loop": ("limit", "loop"),
}
BY_HAND = {
    "select": ("ndarray", "alloc"),
    "concatenate": ("ndarray", "alloc"),
    "by hand": ("ndarray", "into"),
}
COLUMNS = ("workload", "peer", "form", "threads", "nanoseconds")


def rows(path):
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            form = row["form"]
            peer = row.get("peer")
            if peer is None:
                peer, form = (NAMED | BY_HAND).get(form, ("opkernels", form))
            key = (row["workload"], peer, form, int(row["threads"]))
            yield key, int(row["nanoseconds"])


def table(best):
    """Ours over the fastest peer's, for each workload, form and number of threads.

    A peer may use fewer threads than it has: with two, its time on one counts too."""
    print("| workload | form | threads | ours, us | best peer, us | ours / peer |")
    print("|---|---|---|---|---|---|")
    for key in sorted(best):
        workload, peer, form, threads = key
        if peer != "opkernels" or form not in ("alloc", "into"):
            continue
        others = [
            (nanoseconds, other)
            for (name, other, way, count), nanoseconds in best.items()
            if (name, way) == (workload, form)
            and other not in ("opkernels", "limit")
            and count <= threads
        ]
        ours = min(best[workload, peer, form, count] for count in range(1, threads + 1)
                   if (workload, peer, form, count) in best)
        if others:
            theirs, other = min(others)
            print(
                f"| {workload} | {form} | {threads} | {ours / 1e3:.2f} "
                f"| {other} {theirs / 1e3:.2f} | {ours / theirs:.2f} |"
            )


def main():
    joined, *parts = sys.argv[1:]
    best = {}
    for part in parts:
        for key, nanoseconds in rows(part):
            best[key] = min(nanoseconds, best.get(key, nanoseconds))
    with open(joined, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows((*key, best[key]) for key in sorted(best))
    table(best)


if __name__ == "__main__":
    main()
