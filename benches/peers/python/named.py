"""What the tables and the chart call workloads and libraries."""

# The operation, and what is done.
WORK = {
    "gather_embedding": ("gather", "4096 rows of 3 KB from a table"),
    "gather_words_of_40mb": ("gather", "1M random words of 10M"),
    "gather_columns": ("gather", "512 columns of 4096 × 4096"),
    "gather_batched_rows": ("gather", "32 batches of 1024 rows of 256 B"),
    "gather_picture_rows": ("gather", "540 rows of a full-HD u8 picture"),
    "gather_ten_rows": ("gather", "10 rows of 64 B"),
    "gather_elements_last_axis_x10": ("gather_elements", "1100 × 1100 along axis 1"),
    "gather_elements_last_axis_x100": ("gather_elements", "3464 × 3464 along axis 1"),
    "gather_elements_first_axis_x10": ("gather_elements", "1100 × 1100 along axis 0"),
    "gather_elements_first_axis_x100": ("gather_elements", "3464 × 3464 along axis 0"),
    "gather_elements_middle_axis_x10": ("gather_elements", "106³ along axis 1"),
    "gather_elements_middle_axis_x100": ("gather_elements", "229³ along axis 1"),
    "gather_nd_rows_x100": ("gather_nd", "20,000 rows of 256 B by pairs"),
    "gather_nd_elements_x100": ("gather_nd", "1M elements of 3162 × 3162"),
    "gather_nd_batched_rows": ("gather_nd", "32 batches of 1024 rows of 256 B"),
    "scatter_slices_16_sum_x100": ("scatter", "500,000 rows of 64 B summed into 50,000"),
    "scatter_slices_64_sum_x100": ("scatter", "200,000 rows of 256 B summed into 20,000"),
    "scatter_slices_128_sum_x100": ("scatter", "100,000 rows of 512 B summed into 10,000"),
    "scatter_slices_768_write": ("scatter", "4096 rows of 3 KB written over 32,000"),
    "scatter_slices_few": ("scatter", "1000 rows of 512 B summed into 200,000"),
    "scatter_write": ("scatter_elements", "1M written over 1M"),
    "scatter_sum_x1000": ("scatter_elements", "10M summed into 1M"),
    "scatter_last_axis_write": ("scatter_elements", "4096 × 1024 written along the last axis"),
    "scatter_rank_4": ("scatter_elements", "105,000 written into 12.5M, rank 4"),
    "scatter_six": ("scatter_elements", "6 summed into 4"),
    "scatter_nd_rows_x100": ("scatter_nd", "20,000 rows of 256 B written over 200,000"),
    "scatter_nd_rows_sum_x10": ("scatter_nd", "200,000 rows of 256 B summed into 20,000"),
    "scatter_nd_rows_few": ("scatter_nd", "64 rows of 256 B written over 1M"),
    "scatter_nd_elements_x100": ("scatter_nd", "1M elements written over 3162 × 3162"),
    "scatter_nd_elements_sum_x100": ("scatter_nd", "1M elements summed into 3162 × 3162"),
    "roll_line": ("roll", "10M in a line"),
    "roll_rows": ("roll", "4096 × 4096 along axis 0"),
    "roll_columns": ("roll", "4096 × 4096 along axis 1"),
    "roll_cube_256": ("roll", "256³ along all axes"),
    "roll_windows": ("roll", "8 × 56 × 56 × 96 along axes 1, 2"),
    "roll_4_by_3": ("roll", "4 × 3 along both axes"),
}

# These mostly measure what a call costs.
TINY = ("gather_ten_rows", "scatter_six", "roll_4_by_3")

# How each library is called, and its colour in the chart.
PEERS = {
    "numpy": ("NumPy", "#7f7f7f"),
    "torch": ("PyTorch", "#d9541e"),
    "jax": ("JAX", "#7b4fb5"),
    "onnxruntime": ("ONNX Runtime", "#1f77b4"),
    "openvino": ("OpenVINO", "#17a2b8"),
    "candle": ("candle", "#c7a008"),
    "burn": ("burn", "#8c564b"),
    "tract": ("tract", "#e377c2"),
    "rten": ("rten", "#2ca02c"),
    "arrow": ("arrow", "#111111"),
}
