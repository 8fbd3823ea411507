"""Draws how many times as long as opkernels each peer takes: an SVG from joined results.

    python chart.py joined.csv speed.svg

Each library counts with its fastest form on at most two threads. Rolls, gathers and scatters
of a few elements, which mostly measure what a call costs, are left out.
"""

import csv
import math
import sys
from collections import defaultdict

from named import PEERS, TINY, WORK

LEFT, RIGHT, TOP, ROW = 330, 40, 112, 25
WIDTH = 940
LOW, HIGH = 0.5, 200.0


def best(path):
    """The least time of each workload and library."""
    times = defaultdict(lambda: math.inf)
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            key = row["workload"], row["peer"]
            times[key] = min(times[key], float(row["nanoseconds"]))
    return times


def across(ratio):
    ratio = min(max(ratio, LOW), HIGH)
    share = math.log(ratio / LOW) / math.log(HIGH / LOW)
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def text(x, y, words, size=13, anchor="start", colour="#333", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="{colour}" font-weight="{weight}">{words}</text>')


def draw(times):
    drawn = {name: work for name, work in WORK.items() if name not in TINY}
    height = TOP + ROW * (len(drawn) + len({operation for operation, _ in drawn.values()})) + 30
    bottom = height - 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="Helvetica, Arial, sans-serif">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        text(20, 32, "How many times as long as opkernels", 20, weight="bold"),
        text(20, 52, "each library takes for the same work, in its fastest form on at most two "
             "threads. Right of the line: slower than opkernels.", 12.5, colour="#666"),
    ]
    x = 20
    for name, colour in PEERS.values():
        parts.append(f'<circle cx="{x + 5}" cy="72" r="5" fill="{colour}"/>')
        parts.append(text(x + 14, 76.5, name, 12))
        x += 24 + 7.1 * len(name)
    for ratio in (0.5, 1, 2, 5, 10, 20, 50, 100, 200):
        at = across(ratio)
        line = 'stroke="#333" stroke-width="1.6"' if ratio == 1 else 'stroke="#ddd"'
        parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP - 10}" y2="{bottom}" {line}/>')
        parts.append(text(at, TOP - 15, f"{ratio:g}×", 11.5, "middle", "#666"))
        parts.append(text(at, bottom + 16, f"{ratio:g}×", 11.5, "middle", "#666"))
    y, group = TOP, None
    for workload, (operation, words) in drawn.items():
        if operation != group:
            group = operation
            parts.append(text(20, y + 17, group, 13.5, weight="bold"))
            y += ROW
        parts.append(text(LEFT - 14, y + 16, words, 12.5, "end"))
        middle = y + 12
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{middle}" y2="{middle}" '
                     'stroke="#f0f0f0"/>')
        ours = times[workload, "opkernels"]
        for peer, (name, colour) in PEERS.items():
            theirs = times.get((workload, peer))
            if theirs is None or not math.isfinite(theirs):
                continue
            ratio = theirs / ours
            parts.append(
                f'<circle cx="{across(ratio):.1f}" cy="{middle}" r="5" fill="{colour}" '
                f'fill-opacity="0.85"><title>{name}: {ratio:.2f} times</title></circle>')
        y += ROW
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def main():
    joined, picture = sys.argv[1:]
    with open(picture, "w") as file:
        file.write(draw(best(joined)))


if __name__ == "__main__":
    main()
