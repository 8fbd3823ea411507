"""The workloads' arrays, and what NumPy says the answers are."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np


def numbers(shape):
    """The stream that the Rust benchmarks draw from (splitmix64, seed 7)."""
    count = int(np.prod(shape))
    z = np.uint64(7) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))).reshape(shape)


def floats(*shape):
    return (numbers(shape) >> np.uint64(40)).astype(np.float32) / np.float32(1 << 24)


def bytes_(*shape):
    return numbers(shape).astype(np.uint8)


def indices(below, *shape):
    return (numbers(shape) % np.uint64(below)).astype(np.int64)


def places(idx, axis):
    """Where every element of `idx` points, as NumPy's indexing wants it."""
    grids = list(np.meshgrid(*map(np.arange, idx.shape), indexing="ij", sparse=True))
    grids[axis] = idx
    return tuple(grids)


@dataclass
class Gather:
    data: np.ndarray
    indices: np.ndarray
    axis: int
    batch_dims: int = 0  # 0 or 1
    kind = "gather"
    exact = True

    @cached_property
    def expected(self):
        if self.batch_dims:
            return self.data[np.arange(len(self.data))[:, None], self.indices]
        return np.take(self.data, self.indices, axis=self.axis)


@dataclass
class Roll:
    data: np.ndarray
    shifts: tuple
    axes: tuple
    kind = "roll"
    exact = True

    @cached_property
    def expected(self):
        return np.roll(self.data, self.shifts, self.axes)


@dataclass
class Scatter:
    data: np.ndarray
    indices: np.ndarray
    updates: np.ndarray
    axis: int
    add: bool
    rows: np.ndarray | None = None  # One index for each row of `indices`.
    kind = "scatter"

    @property
    def exact(self):
        return not self.add

    @cached_property
    def places(self):
        return self.rows if self.rows is not None else places(self.indices, self.axis)

    @cached_property
    def expected(self):
        out = self.data.copy()
        if self.add:
            np.add.at(out, self.places, self.updates)
        else:
            out[self.places] = self.updates
        return out


def nodes():
    ids = indices(10_000, 100_000)
    matrix = np.repeat(ids[:, None], 128, axis=1)
    return Scatter(floats(10_000, 128), matrix, floats(100_000, 128), 0, True, rows=ids)


def line(targets, count, add):
    return Scatter(floats(targets), indices(targets, count), floats(count), 0, add)


WORKLOADS = {
    "gather_embedding": lambda: Gather(floats(32_000, 768), indices(32_000, 8, 512), 0),
    "gather_words_of_40mb": lambda: Gather(floats(10_000_000), indices(10_000_000, 1_000_000), 0),
    "gather_columns": lambda: Gather(floats(4096, 4096), indices(4096, 512), 1),
    "gather_batched_rows": lambda: Gather(floats(32, 4096, 64), indices(4096, 32, 1024), 1, 1),
    "gather_ten_rows": lambda: Gather(floats(100, 16), indices(100, 10), 0),
    "gather_picture_rows": lambda: Gather(bytes_(1080, 1920, 3), indices(1080, 540), 0),
    "roll_line": lambda: Roll(floats(10_000_000), (12345,), (0,)),
    "roll_rows": lambda: Roll(floats(4096, 4096), (7,), (0,)),
    "roll_columns": lambda: Roll(floats(4096, 4096), (7,), (1,)),
    "roll_cube_256": lambda: Roll(floats(256, 256, 256), (1, 2, 3), (0, 1, 2)),
    "roll_windows": lambda: Roll(floats(8, 56, 56, 96), (-3, -3), (1, 2)),
    "roll_4_by_3": lambda: Roll(floats(4, 3), (1, 2), (0, 1)),
    "scatter_write": lambda: line(1_000_000, 1_000_000, False),
    "scatter_sum_x1000": lambda: line(1_000_000, 10_000_000, True),
    "scatter_rows_128_sum_x100": nodes,
    "scatter_last_axis_write": lambda: Scatter(
        floats(4096, 4096), indices(4096, 4096, 1024), floats(4096, 1024), 1, False
    ),
    "scatter_rank_4": lambda: Scatter(
        floats(1000, 256, 7, 7), indices(1000, 125, 20, 7, 6), floats(125, 20, 7, 6), 0, False
    ),
    "scatter_six": lambda: line(4, 6, True),
}
