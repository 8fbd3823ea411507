"""Writes onnx_node_tests.txt: ONNX's own node tests of the operators of this crate, as its package
generates them, in lines that a test reads without a parser for protobuf or JSON.

    python -m venv venv && venv/bin/pip install onnx numpy
    venv/bin/python tests/data/onnx_node_tests.py

Each test is a line `test <name> <operator>`, a line `attribute <name> <value>` for each attribute, and a line
`input <type> <shape> <values>` or `output ...` for each array; lengths and values are separated by commas, and
a shape without lengths is `-`. Floating-point values are the shortest decimals that read back to the same bits.
"""

import pathlib
import warnings

import numpy as np
import onnx
from onnx.backend.test.loader import load_model_tests

OPERATORS = {"Gather", "GatherElements", "GatherND", "Scatter", "ScatterElements", "ScatterND"}


def text(value):
    return repr(value.item()) if value.dtype.kind != "f" else str(value)


def line(kind, array):
    shape = ",".join(map(str, array.shape)) or "-"
    return f"{kind} {array.dtype} {shape} {','.join(text(value) for value in array.flat)}"


def attribute(attribute):
    value = onnx.helper.get_attribute_value(attribute)
    return f"attribute {attribute.name} {value.decode() if isinstance(value, bytes) else value}"


def main():
    # Some inputs are drawn at random when the package makes its tests.
    np.random.seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = load_model_tests(kind="node")
    lines = [f"# Made by onnx_node_tests.py from onnx {onnx.__version__}, which is licensed under Apache-2.0."]
    for test in tests:
        if test.model is None or len(test.model.graph.node) != 1:
            continue
        (node,) = test.model.graph.node
        if node.op_type not in OPERATORS or node.domain not in ("", "ai.onnx"):
            continue
        lines.append(f"test {test.name} {node.op_type}")
        lines.extend(map(attribute, node.attribute))
        for inputs, outputs in test.data_sets:
            lines.extend(line("input", np.asarray(array)) for array in inputs)
            lines.extend(line("output", np.asarray(array)) for array in outputs)
    path = pathlib.Path(__file__).with_name("onnx_node_tests.txt")
    path.write_text("\n".join(lines) + "\n")


main()
