"""Joins results, the minimum of each.

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


if __name__ == "__main__":
    main()
