"""The workloads' arrays, and what NumPy says the answers are."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np


def numbers(shape, seed=7):
    """The stream that the Rust benchmarks draw from (splitmix64)."""
    count = int(np.prod(shape))
    z = np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
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


@dataclass
class GatherElements:
    data: np.ndarray
    indices: np.ndarray
    axis: int
    kind = "gather_elements"
    exact = True

    @cached_property
    def expected(self):
        return np.take_along_axis(self.data, self.indices, self.axis)


@dataclass
class GatherNd:
    data: np.ndarray
    indices: np.ndarray
    batch_dims: int = 0  # 0 or 1
    kind = "gather_nd"
    exact = True

    @cached_property
    def places(self):
        columns = tuple(np.moveaxis(self.indices, -1, 0))
        return (np.arange(len(self.data))[:, None], *columns) if self.batch_dims else columns

    @cached_property
    def expected(self):
        return self.data[self.places]


@dataclass
class ScatterNd:
    """Slices too: by tuples of one number."""

    data: np.ndarray
    indices: np.ndarray
    updates: np.ndarray
    add: bool
    kind = "scatter_nd"

    @property
    def exact(self):
        return not self.add

    @cached_property
    def places(self):
        return tuple(np.ascontiguousarray(column) for column in self.indices.T)

    @cached_property
    def settled(self):
        """Targets of at most one update: in which order several apply is open in ONNX."""
        updates = np.zeros(self.data.shape[: len(self.places)], np.uint32)
        np.add.at(updates, self.places, 1)
        return updates <= 1

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


def along(axis, *shape):
    return GatherElements(floats(*shape), indices(shape[axis], *shape), axis)


def tuples(count, *below):
    numbers = indices((1 << 63) - 1, count, len(below))
    return numbers % np.array(below)


def taken(count, *shape, numbers=2):
    return GatherNd(floats(*shape), tuples(count, *shape[:numbers]))


def put(count, *shape, add, numbers=2):
    updates = floats(count, *shape[numbers:])
    return ScatterNd(floats(*shape), tuples(count, *shape[:numbers]), updates, add)


def slices(count, *shape, add):
    """What the Rust benchmarks do by `scatter`."""
    return ScatterNd(
        floats(*shape), indices(shape[0], count, 1), floats(count, *shape[1:]), add
    )


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
    "gather_elements_last_axis_x10": lambda: along(1, 1100, 1100),
    "gather_elements_last_axis_x100": lambda: along(1, 3464, 3464),
    "gather_elements_first_axis_x10": lambda: along(0, 1100, 1100),
    "gather_elements_first_axis_x100": lambda: along(0, 3464, 3464),
    "gather_elements_middle_axis_x10": lambda: along(1, 106, 106, 106),
    "gather_elements_middle_axis_x100": lambda: along(1, 229, 229, 229),
    "gather_nd_rows_x100": lambda: taken(20_000, 4_000, 50, 64),
    "gather_nd_elements_x100": lambda: taken(1_000_000, 3162, 3162),
    "gather_nd_batched_rows": lambda: GatherNd(
        floats(32, 4096, 64), indices(4096, 32, 1024, 1), 1
    ),
    "scatter_slices_16_sum_x100": lambda: slices(500_000, 50_000, 16, add=True),
    "scatter_slices_64_sum_x100": lambda: slices(200_000, 20_000, 64, add=True),
    "scatter_slices_128_sum_x100": lambda: slices(100_000, 10_000, 128, add=True),
    "scatter_slices_768_write": lambda: slices(4_096, 32_000, 768, add=False),
    "scatter_slices_few": lambda: slices(1_000, 200_000, 128, add=True),
    "scatter_nd_rows_x100": lambda: put(20_000, 4_000, 50, 64, add=False),
    "scatter_nd_rows_sum_x10": lambda: put(200_000, 400, 50, 64, add=True),
    "scatter_nd_rows_few": lambda: put(64, 20_000, 50, 64, add=False),
    "scatter_nd_elements_x100": lambda: put(1_000_000, 3162, 3162, add=False),
    "scatter_nd_elements_sum_x100": lambda: put(1_000_000, 3162, 3162, add=True),
}
