"""Times one Python peer at one number of threads on the workloads of the benchmarks.

    python peers.py torch --threads 2 --csv torch-2.csv [--only gather_columns,roll]

Inputs are those of benches/workloads, number for number. Every answer is compared with
NumPy's before it is timed, and what differs or fails is printed and left out. A form is
"alloc" where the call returns a new array and "into" where it writes an array that
exists; of several idioms of one form the fastest is kept.
"""

import argparse
import csv
import os

PEERS = ("numpy", "torch", "onnxruntime", "openvino", "jax")


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help="workloads, by the beginnings of their names")
    parser.add_argument("--seconds", type=float, default=0.4, help="for each form")
    parser.add_argument("--csv", default="")
    return parser.parse_args()


def limit_threads(peer, threads):
    """Before any library is loaded: most read the environment only then."""
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = str(threads)
    if peer == "jax":  # It counts the cores that it may use, and has no other setting.
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


ARGUMENTS = arguments()
limit_threads(ARGUMENTS.peer, ARGUMENTS.threads)

import numpy as np  # noqa: E402

from libraries import LIBRARIES  # noqa: E402
from timing import minimum  # noqa: E402
from workloads import WORKLOADS  # noqa: E402


def agrees(answer, work):
    if work.kind == "scatter_nd" and not work.add:
        settled = work.settled
        right = answer.shape == work.expected.shape
        return right and np.array_equal(answer[settled], work.expected[settled])
    if work.exact:
        return answer.shape == work.expected.shape and np.array_equal(answer, work.expected)
    return np.allclose(answer, work.expected, rtol=1e-4, atol=1e-4)


def measure(name, make, library):
    """The nanoseconds of each form whose answer is right."""
    work = make()
    best = {}
    for way in getattr(library, work.kind)(work):
        try:
            answer = way.answer()
            if not agrees(answer, work):
                print(f"{name:25s} {way.form:6s} {way.idiom:16s} answers wrongly", flush=True)
                continue
            nanoseconds = minimum(way.call, ARGUMENTS.seconds)
        except Exception as error:  # A peer that refuses says so, and the run goes on.
            text = " ".join(str(error).split())[:120]
            print(f"{name:25s} {way.form:6s} {way.idiom:16s} refuses: {text}", flush=True)
            continue
        print(f"{name:25s} {way.form:6s} {way.idiom:16s} {nanoseconds / 1e3:12.2f} us", flush=True)
        best[way.form] = min(nanoseconds, best.get(way.form, nanoseconds))
    return best.items()


def main():
    library = LIBRARIES[ARGUMENTS.peer](ARGUMENTS.threads)
    wanted = tuple(part for part in ARGUMENTS.only.split(",") if part) or ("",)
    rows = []
    for name, make in WORKLOADS.items():
        if name.startswith(wanted):
            for form, nanoseconds in measure(name, make, library):
                rows.append((name, ARGUMENTS.peer, form, ARGUMENTS.threads, round(nanoseconds)))
    if ARGUMENTS.csv:
        with open(ARGUMENTS.csv, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("workload", "peer", "form", "threads", "nanoseconds"))
            writer.writerows(rows)


if __name__ == "__main__":
    main()
