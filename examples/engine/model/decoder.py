"""Writes decoder.onnx, a small language model's step, and decoder.txt, what goes into it and what comes out of it
by ONNX's own reference evaluator.

    python -m venv venv && venv/bin/pip install onnx numpy
    venv/bin/python examples/engine/model/decoder.py

All five operators stand where models have them: the embedding is looked up by Gather; ScatterND writes -inf where
the texts of a batch have ended, and attention adds it; GatherND takes each text's last position; the penalty for
words that have occurred gathers their logits by GatherElements and puts them back by ScatterElements; and
GatherElements picks the logarithms of the probabilities of the top k. The weights are random, with a seed.
"""

import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

WORDS, WIDTH, K = 320, 64, 5
BATCH, LENGTH = 6, 24


def model(numbers):
    def weights(*shape):
        return numbers.standard_normal(shape).astype(np.float32)

    constants = {
        "table": weights(WORDS, WIDTH) * np.float32(0.35),
        "to_queries": weights(WIDTH, WIDTH) / WIDTH**0.5,
        "to_keys": weights(WIDTH, WIDTH) / WIDTH**0.5,
        "to_values": weights(WIDTH, WIDTH) / WIDTH**0.5,
        "scale": np.float32(WIDTH**-0.5),
        "penalty": np.float32(1.3),
        "zero": np.float32(0),
        "after_batch": np.array([1], np.int64),
        "k": np.array([K], np.int64),
    }
    nodes = [
        helper.make_node("Gather", ["table", "words"], ["embedded"], axis=0),
        helper.make_node("MatMul", ["embedded", "to_queries"], ["queries"]),
        helper.make_node("MatMul", ["embedded", "to_keys"], ["keys"]),
        helper.make_node("MatMul", ["embedded", "to_values"], ["values"]),
        helper.make_node("Transpose", ["keys"], ["columns"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["queries", "columns"], ["products"]),
        helper.make_node("Mul", ["products", "scale"], ["scaled"]),
        # Where a text has ended, nothing is attended to.
        helper.make_node("ScatterND", ["open", "ended", "blocked"], ["mask"]),
        helper.make_node("Unsqueeze", ["mask", "after_batch"], ["mask_of_rows"]),
        helper.make_node("Add", ["scaled", "mask_of_rows"], ["masked"]),
        helper.make_node("Softmax", ["masked"], ["attention"], axis=-1),
        helper.make_node("MatMul", ["attention", "values"], ["attended"]),
        helper.make_node("Add", ["embedded", "attended"], ["state"]),
        helper.make_node("GatherND", ["state", "last"], ["last_state"], batch_dims=1),
        helper.make_node("Gemm", ["last_state", "table"], ["logits"], transB=1),
        # What has occurred becomes less likely.
        helper.make_node("GatherElements", ["logits", "words"], ["occurred"], axis=1),
        helper.make_node("Greater", ["occurred", "zero"], ["likely"]),
        helper.make_node("Div", ["occurred", "penalty"], ["less"]),
        helper.make_node("Mul", ["occurred", "penalty"], ["more"]),
        helper.make_node("Where", ["likely", "less", "more"], ["penalised"]),
        helper.make_node("ScatterElements", ["logits", "words", "penalised"], ["fair"], axis=1),
        helper.make_node("LogSoftmax", ["fair"], ["logarithms"], axis=1),
        helper.make_node("TopK", ["fair", "k"], ["best", "next"], axis=1),
        helper.make_node("GatherElements", ["logarithms", "next"], ["scores"], axis=1),
    ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "decoder",
        [
            value("words", TensorProto.INT64, ["batch", "length"]),
            value("open", TensorProto.FLOAT, ["batch", "length"]),
            value("ended", TensorProto.INT64, ["places", 2]),
            value("blocked", TensorProto.FLOAT, ["places"]),
            value("last", TensorProto.INT64, ["batch", 1]),
        ],
        [
            value("next", TensorProto.INT64, ["batch", K]),
            value("scores", TensorProto.FLOAT, ["batch", K]),
        ],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    return model


def batch(numbers):
    """Texts of several lengths, padded by word 0."""
    lengths = numbers.integers(LENGTH // 3, LENGTH + 1, BATCH)
    words = numbers.integers(1, WORDS, (BATCH, LENGTH))
    past = np.arange(LENGTH) >= lengths[:, None]
    words[past] = 0
    ended = np.argwhere(past)
    return {
        "words": words.astype(np.int64),
        "open": np.zeros((BATCH, LENGTH), np.float32),
        "ended": ended.astype(np.int64),
        "blocked": np.full(len(ended), -np.inf, np.float32),
        "last": (lengths - 1)[:, None].astype(np.int64),
    }


class GatherElements(OpRun):
    """The evaluator's own fails where the axis is longer than 64."""

    op_domain = ""

    def _run(self, data, indices, axis=0):
        return (np.take_along_axis(data, indices, axis),)


def line(kind, array):
    """A line as in tests/data/onnx_node_tests.txt."""
    values = ",".join(str(value) if array.dtype.kind == "f" else repr(value.item()) for value in array.flat)
    return f"{kind} {array.dtype} {','.join(map(str, array.shape))} {values}"


def main():
    numbers = np.random.default_rng(0)
    decoder = model(numbers)
    inputs = batch(numbers)
    outputs = ReferenceEvaluator(decoder, new_ops=[GatherElements]).run(None, inputs)
    lines = [f"# Made by decoder.py: the reference evaluator of onnx {onnx.__version__}.", "test decoder Decoder"]
    lines += [line("input", array) for array in inputs.values()]
    lines += [line("output", array) for array in outputs]
    folder = pathlib.Path(__file__).parent
    onnx.save(decoder, folder / "decoder.onnx")
    (folder / "decoder.txt").write_text("\n".join(lines) + "\n")


main()
