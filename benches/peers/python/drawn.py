"""Draws work at random and times PyTorch and opkernels on it, to find what falls behind:

    python drawn.py [--seed N] [--seconds S] [--again drawn.txt] [--powers] [part of a description]...

All operations, element types, layouts, sorted and random indices, and reductions that both
have. Each line is a ratio (PyTorch's time divided by ours) on one thread and on two, the
times in microseconds, the seed, and the work as benches/asked.rs describes it; "<<" marks
what is behind by more than noise. `--again` draws what such lines mark once more. With
`--powers`, lengths are powers of two, as those of many programs, and lines in the same sets of
a cache are common. Gathers are written into an array that exists, scatters in place; rolls and
tuples gathered are returned. Where the answer does not depend on rounding or on an order that
PyTorch leaves open, the two are compared first.
"""

import argparse
import math
import pathlib
import random
import re
import subprocess
import time
import warnings

import numpy as np
import torch

from timing import minimum
from workloads import numbers as stream

BENCHES = pathlib.Path(__file__).resolve().parents[2]
TYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16,
         "i64": torch.int64, "i32": torch.int32, "u8": torch.uint8}
OPERATIONS = ("gather", "gather_elements", "gather_nd", "roll", "scatter", "scatter_elements", "scatter_nd")
# PyTorch's names of reductions, of index_reduce_ and of scatter_reduce_.
REDUCTIONS = {"prod": ("prod", "prod"), "min": ("amin", "amin"), "max": ("amax", "amax"),
              "mean": ("mean", "mean"), "sum": ("sum", "sum")}
BEHIND = 0.97
SECONDS = 0.04
MOST = 30_000_000


class Work:
    """One piece of work, drawn by a seed."""

    def __init__(self, seed):
        r = random.Random(seed)
        log_uniform = lambda low, high: int(math.exp(r.uniform(math.log(low), math.log(high + 1))))
        self.operation = r.choice(OPERATIONS)
        self.element = r.choice(("f32", "f32", "f32", "f64", "f16", "bf16", "i64", "i32", "u8"))
        self.layout = r.choice("cccccts")
        total, rank = log_uniform(20_000, 20_000_000), r.choice((1, 2, 2, 2, 3, 3, 4))
        weights = [r.random() ** 2 + 0.02 for _ in range(rank)]
        self.shape = [max(1, round(total ** (weight / sum(weights)))) for weight in weights]
        while math.prod(self.shape) > MOST:
            self.shape[self.shape.index(max(self.shape))] //= 2
        self.order = r.choice(("random", "random", "random", "sorted"))
        self.reduction = "-"
        if self.operation.startswith("scatter"):
            self.reduction = r.choice(("none", "none", "sum", "sum", "sum", "max", "min", "mean", "prod"))
            if self.operation == "scatter_nd":
                self.reduction = r.choice(("none", "sum"))
        axis = r.randrange(rank) if r.random() < 0.6 else r.choice((0, rank - 1))
        if self.operation == "roll":
            self.axis = r.sample(range(rank), r.randint(1, rank))
            lens = [self.shape[axis] for axis in self.axis]
            self.indices = [r.choice((1, n // 2, r.randrange(n))) for n in lens]
            return
        others = math.prod(self.shape) // self.shape[axis]
        count = lambda most: log_uniform(1, max(2, min(MOST // 3 // others, most)))
        if self.operation.endswith("nd"):
            axis = r.randint(1, rank)
            others = math.prod(self.shape[axis:])
            self.indices = [count(2 * math.prod(self.shape[:axis]))]
        elif self.operation.endswith("elements"):
            self.indices = list(self.shape)
            self.indices[axis] = count(4 * self.shape[axis])
            other = r.randrange(rank)
            if r.random() < 0.2 and other != axis:
                self.indices[other] = max(1, self.indices[other] // 2)
        else:
            self.indices = [count(4 * self.shape[axis])]
        self.axis = [axis]
        # Of indices and updates that are no lists, too.
        if rank > 1 and not self.operation.endswith("nd") and r.random() < 0.3:
            self.layout += r.choice(("ct", "tc", "tt"))
        # PyTorch's sums along an axis always have the value that a target holds.
        if self.reduction in REDUCTIONS and (self.operation, self.reduction) != ("scatter", "sum"):
            if self.operation != "scatter_nd" and r.random() < 0.2:
                self.reduction += "_only"

    def round_to_powers(self):
        """Rounds all lengths to powers of two."""
        power = lambda n: 1 << round(math.log2(n))
        self.shape = [power(n) for n in self.shape]
        if self.operation == "roll":
            self.indices = [shift % self.shape[axis] for shift, axis in zip(self.indices, self.axis)]
            return
        self.indices = [power(n) for n in self.indices]
        if self.operation.endswith("elements"):
            limits = [n if k in self.axis else self.shape[k] for k, n in enumerate(self.indices)]
            self.indices = [min(n, limit) for n, limit in zip(self.indices, limits)]

    def __str__(self):
        lists = (",".join(map(str, numbers)) for numbers in (self.shape, self.axis, self.indices))
        return " ".join((self.operation, self.element, self.layout, *lists, self.reduction, self.order))

    def data(self):
        memory = list(self.shape)
        layout = self.layout[0]
        if layout == "t":
            memory.reverse()
        if layout == "s":
            memory[-1] *= 2
        data = tensor(numbers(0, math.prod(memory), 100), TYPES[self.element]).reshape(memory)
        return {"c": data, "t": data.permute(*reversed(range(data.ndim))), "s": data[..., ::2]}[layout]

    def laid(self, number, array):
        """The array in the layout with this number, of indices or of updates."""
        if self.layout[number:number + 1] != "t":
            return array
        reverse = list(reversed(range(array.ndim)))
        return array.permute(reverse).contiguous().permute(reverse)

    def index_array(self, seed, shape, length):
        indices = numbers(seed, math.prod(shape), length)
        if self.order == "sorted":
            indices.sort()
        return self.laid(1, tensor(indices, torch.int64).reshape(shape))

    def call(self):
        """PyTorch's call, and the tensor that holds the result after it, if it returns none."""
        data, axis = self.data(), self.axis[0]
        ones = lambda shape: self.laid(2, torch.ones(shape, dtype=data.dtype))
        if self.operation == "roll":
            return lambda: torch.roll(data, self.indices, self.axis), None
        if self.operation.endswith("nd"):
            columns = tuple(self.index_array(1 + k, self.indices, self.shape[k]) for k in range(axis))
            if self.operation == "gather_nd":
                return lambda: data[columns], None
            updates, adds = ones(self.indices + self.shape[axis:]), self.reduction == "sum"
            return lambda: data.index_put_(columns, updates, accumulate=adds), data
        indices = self.index_array(1, self.indices, self.shape[axis])
        if self.operation == "gather":
            output = torch.index_select(data, axis, indices)
            return lambda: torch.index_select(data, axis, indices, out=output), output
        if self.operation == "gather_elements":
            output = torch.gather(data, axis, indices)
            return lambda: torch.gather(data, axis, indices, out=output), output
        name, only = self.reduction.removesuffix("_only"), self.reduction.endswith("_only")
        of_index, of_scatter = REDUCTIONS.get(name, (None, None))
        if self.operation == "scatter_elements":
            updates = ones(self.indices)
            if self.reduction == "none":
                return lambda: data.scatter_(axis, indices, updates), data
            if self.reduction == "sum":
                return lambda: data.scatter_add_(axis, indices, updates), data
            return lambda: data.scatter_reduce_(axis, indices, updates, of_scatter, include_self=not only), data
        updates = ones(self.shape[:axis] + self.indices + self.shape[axis + 1:])
        if self.reduction == "none":
            return lambda: data.index_copy_(axis, indices, updates), data
        if self.reduction == "sum":
            return lambda: data.index_add_(axis, indices, updates), data
        return lambda: data.index_reduce_(axis, indices, updates, of_index, include_self=not only), data

    def is_exact(self):
        """Whether both must have the same answer: no rounding but of small integers."""
        small = self.element in ("f32", "f64", "i64", "i32", "u8")
        name = self.reduction.removesuffix("_only")
        return name in ("-", "none", "min", "max") or (small and name == "sum")


def numbers(seed, count, end):
    """Pseudorandom numbers below `end`, the same as benches/asked.rs makes."""
    return ((stream(count, seed) >> np.uint64(33)) % np.uint64(end)).astype(np.int64)


def tensor(array, element):
    """The numbers in memory of PyTorch's: NumPy asks Linux for huge pages for its own, which
    neither PyTorch's allocator nor Rust's does."""
    return torch.empty(len(array), dtype=element).copy_(torch.from_numpy(array))


def checksum(answer):
    values = answer.reshape(-1).to(torch.int64)
    return int((values * (torch.arange(values.numel()) % 97 + 1)).sum())


class Ours:
    def __init__(self):
        command = ["cargo", "bench", "--quiet", "--bench", "asked", "--features", "asked"]
        subprocess.run([*command, "--no-run"], cwd=BENCHES, check=True)
        self.process = subprocess.Popen(
            command, cwd=BENCHES, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def measure(self, work):
        self.process.stdin.write(f"{work}\n")
        self.process.stdin.flush()
        one, two, total = self.process.stdout.readline().split()
        return [float(one), float(two)], int(total)


def measure(work, ours):
    """The times of PyTorch and of ours on one thread and on two, or a reason why there are none."""
    try:
        call, result = work.call()
        answer = call()
        total = checksum(answer if result is None else result)
        times = []
        for threads in (1, 2):
            torch.set_num_threads(threads)
            call()  # Starts the threads; a first call this long would decide how many are timed at once.
            times.append(minimum(call, SECONDS, fewest_rounds=3))
    except (RuntimeError, NotImplementedError) as error:
        return f"PyTorch refuses: {' '.join(str(error).split())[:80]}"
    del call, result, answer
    our_times, our_total = ours.measure(work)
    if work.is_exact() and total != our_total:
        return "answers differ"
    return times, our_times


def summary(found):
    for operation in OPERATIONS:
        ratios = [pair for name, pair in found if name == operation]
        if not ratios:
            continue
        means = [math.exp(sum(math.log(pair[k]) for pair in ratios) / len(ratios)) for k in (0, 1)]
        behind = [sum(pair[k] < BEHIND for pair in ratios) for k in (0, 1)]
        print(f"{operation:17}{len(ratios):6} drawn, means {means[0]:.2f} and {means[1]:.2f}, "
              f"below {BEHIND}: {behind[0]} and {behind[1]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--again", help="lines that were printed before")
    parser.add_argument("--powers", action="store_true", help="lengths that are powers of two")
    parser.add_argument("parts", nargs="*")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    seeds = iter(range(arguments.seed, 1 << 62))
    if arguments.again:
        lines = pathlib.Path(arguments.again).read_text().splitlines()
        marked = (re.search(r"seed (\d+)", line) for line in lines if line.endswith("<<"))
        seeds = iter([int(match[1]) for match in marked if match])
    ours, found, end = Ours(), [], time.time() + arguments.seconds
    for seed in seeds:
        if time.time() >= end:
            break
        work = Work(seed)
        if arguments.powers:
            work.round_to_powers()
        if math.prod(work.shape) > MOST or not all(part in str(work).split() for part in arguments.parts):
            continue
        times = measure(work, ours)
        if isinstance(times, str):
            print(f"{times}: seed {seed}  {work}", flush=True)
            continue
        (peer, our) = times
        ratios = [peer[k] / our[k] for k in (0, 1)]
        found.append((work.operation, ratios))
        mark = " <<" if min(ratios) < BEHIND else ""
        microseconds = "".join(f"{time / 1e3:11.1f}" for time in our + peer)
        print(f"{ratios[0]:8.2f} {ratios[1]:8.2f}{microseconds}  seed {seed}  {work}{mark}", flush=True)
    summary(found)


if __name__ == "__main__":
    main()
