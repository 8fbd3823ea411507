"""How each library does the work: the ways its users would write it."""

from dataclasses import dataclass
from typing import Callable

import numpy as np


@dataclass
class Way:
    form: str
    idiom: str
    call: Callable  # What is timed.
    read: Callable = np.asarray  # The call's result as an array.

    def answer(self):
        return self.read(self.call())


class NumPy:
    def __init__(self, threads):
        pass

    def gather(self, work):
        data, idx, axis = work.data, work.indices, work.axis
        if work.batch_dims:
            batch = np.arange(len(data))[:, None]
            return [Way("alloc", "indexing", lambda: data[batch, idx])]
        out = np.zeros_like(work.expected)
        ways = [
            Way("alloc", "take", lambda: np.take(data, idx, axis=axis)),
            # Its default mode fills a buffer of its own first.
            Way("into", "take", lambda: np.take(data, idx, axis=axis, out=out, mode="clip")),
        ]
        if axis == 0:
            ways.append(Way("alloc", "indexing", lambda: data[idx]))
        return ways

    def roll(self, work):
        return [Way("alloc", "roll", lambda: np.roll(work.data, work.shifts, work.axes))]

    def scatter(self, work):
        places, updates = work.places, work.updates
        places = places[0] if isinstance(places, tuple) and len(places) == 1 else places

        def put(target):
            if work.add:
                np.add.at(target, places, updates)
            else:
                target[places] = updates
            return target

        target = work.data.copy()
        idiom = "add.at" if work.add else "indexing"
        return [
            Way("into", idiom, lambda: put(target)),
            Way("alloc", idiom, lambda: put(work.data.copy())),
        ]

    scatter_nd = scatter

    def gather_elements(self, work):
        data, idx, axis = work.data, work.indices, work.axis
        return [Way("alloc", "take_along_axis", lambda: np.take_along_axis(data, idx, axis))]

    def gather_nd(self, work):
        ways = [Way("alloc", "indexing", lambda: work.data[work.places])]
        if not work.batch_dims:
            numbers = work.indices.shape[-1]
            lens, out = work.data.shape[:numbers], np.zeros_like(work.expected)
            table = work.data.reshape(-1, *work.data.shape[numbers:])

            def take():
                flat = np.ravel_multi_index(work.places, lens)
                return np.take(table, flat, axis=0, out=out, mode="clip")

            ways.append(Way("into", "take", take))
        return ways


class Torch:
    def __init__(self, threads):
        import torch

        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        self.torch = torch

    def gather(self, work):
        torch, axis = self.torch, work.axis
        data, idx = torch.from_numpy(work.data), torch.from_numpy(work.indices)
        if work.batch_dims:
            table = data.reshape(-1, data.shape[2])
            offsets = torch.arange(data.shape[0])[:, None] * data.shape[1]
            batch = torch.arange(data.shape[0])[:, None]
            shape = (*idx.shape, data.shape[2])

            def select():
                return table.index_select(0, (idx + offsets).reshape(-1)).reshape(shape)

            return [
                Way("alloc", "index_select", select),
                Way("alloc", "indexing", lambda: data[batch, idx]),
            ]
        flat, shape = idx.reshape(-1), work.expected.shape
        out = torch.zeros_like(data.index_select(axis, flat))
        before = (slice(None),) * axis

        def into():
            return torch.index_select(data, axis, flat, out=out).reshape(shape)

        return [
            Way("alloc", "index_select", lambda: data.index_select(axis, flat).reshape(shape)),
            Way("alloc", "indexing", lambda: data[(*before, idx)]),
            Way("into", "index_select", into),
        ]

    def roll(self, work):
        torch, data = self.torch, self.torch.from_numpy(work.data)

        def concatenated():
            out = data
            for shift, axis in zip(work.shifts, work.axes):
                cut = -shift % out.shape[axis]
                front, back = out.split((cut, out.shape[axis] - cut), axis)
                out = torch.cat((back, front), axis)
            return out

        return [
            Way("alloc", "roll", lambda: torch.roll(data, work.shifts, work.axes)),
            Way("alloc", "cat", concatenated),
        ]

    def scatter(self, work):
        torch, axis = self.torch, work.axis
        data, updates = torch.from_numpy(work.data), torch.from_numpy(work.updates)
        idx = torch.from_numpy(work.indices)
        if work.rows is not None:
            rows = torch.from_numpy(work.rows)
            puts = {"index_add_": lambda target: target.index_add_(axis, rows, updates)}
        elif work.add:
            puts = {"scatter_add_": lambda target: target.scatter_add_(axis, idx, updates)}
        else:
            puts = {"scatter_": lambda target: target.scatter_(axis, idx, updates)}
        if data.ndim == 1:
            puts["index_put_"] = lambda target: target.index_put_((idx,), updates, work.add)
        ways = []
        for idiom, put in puts.items():
            target = data.clone()
            ways.append(Way("into", idiom, lambda put=put, target=target: put(target)))
            ways.append(Way("alloc", idiom, lambda put=put: put(data.clone())))
        return ways

    def gather_elements(self, work):
        torch, axis = self.torch, work.axis
        data, idx = torch.from_numpy(work.data), torch.from_numpy(work.indices)
        out = torch.zeros(idx.shape, dtype=data.dtype)
        return [
            Way("alloc", "gather", lambda: torch.gather(data, axis, idx)),
            Way("into", "gather", lambda: torch.gather(data, axis, idx, out=out)),
        ]

    def gather_nd(self, work):
        torch = self.torch
        data, idx = torch.from_numpy(work.data), torch.from_numpy(work.indices)
        batches = (torch.arange(len(data))[:, None],) if work.batch_dims else ()
        ways = [Way("alloc", "indexing", lambda: data[(*batches, *idx.unbind(-1))])]
        if not batches:
            numbers = idx.shape[-1]
            steps = torch.tensor(
                [int(np.prod(data.shape[k + 1 : numbers])) for k in range(numbers)]
            )
            table = data.reshape(-1, *data.shape[numbers:])
            out = torch.zeros(work.expected.shape, dtype=data.dtype)

            def flat():
                return (idx * steps).sum(-1)

            ways.append(Way("alloc", "index_select", lambda: table.index_select(0, flat())))
            into = lambda: torch.index_select(table, 0, flat(), out=out)  # noqa: E731
            ways.append(Way("into", "index_select", into))
        return ways

    def scatter_nd(self, work):
        torch = self.torch
        data, updates = torch.from_numpy(work.data), torch.from_numpy(work.updates)
        places = tuple(map(torch.from_numpy, work.places))
        puts = {"index_put_": lambda target: target.index_put_(places, updates, work.add)}
        if len(places) == 1:
            name = "index_add_" if work.add else "index_copy_"
            puts[name] = lambda target: getattr(target, name)(0, places[0], updates)
        ways = []
        for idiom, put in puts.items():
            target = data.clone()
            ways.append(Way("into", idiom, lambda put=put, target=target: put(target)))
            ways.append(Way("alloc", idiom, lambda put=put: put(data.clone())))
        return ways


class Jax:
    def __init__(self, threads):
        import os

        os.environ["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={str(threads > 1).lower()}"
        import jax

        jax.config.update("jax_enable_x64", True)  # Indices of 64 bits, like everyone's.
        self.jax = jax

    def gather(self, work):
        jax, jnp = self.jax, self.jax.numpy
        data, idx = jnp.asarray(work.data), jnp.asarray(work.indices)

        def way(mode):
            def take(data, idx):
                return jnp.take(data, idx, axis=work.axis - work.batch_dims, mode=mode)

            function = jax.jit(jax.vmap(take) if work.batch_dims else take)
            return Way("alloc", f"take, {mode}", lambda: function(data, idx).block_until_ready())

        return [way("fill"), way("clip")]

    def roll(self, work):
        jnp = self.jax.numpy
        data = jnp.asarray(work.data)
        function = self.jax.jit(lambda data: jnp.roll(data, work.shifts, work.axes))
        return [Way("alloc", "roll", lambda: function(data).block_until_ready())]

    def scatter(self, work):
        jnp = self.jax.numpy
        places = self.jax.tree.map(jnp.asarray, work.places)
        data, updates = jnp.asarray(work.data), jnp.asarray(work.updates)

        def put(data, places, updates):
            at = data.at[places]
            return at.add(updates) if work.add else at.set(updates)

        function = self.jax.jit(put)
        donating = self.jax.jit(put, donate_argnums=0)
        # The first array is donated, so it is not the one that the other form reads.
        target = [jnp.array(work.data)]

        def into():
            target[0] = donating(target[0], places, updates).block_until_ready()
            return target[0]

        return [
            Way("alloc", "at", lambda: function(data, places, updates).block_until_ready()),
            Way("into", "at, donated", into),
        ]

    scatter_nd = scatter

    def gather_elements(self, work):
        jax, jnp = self.jax, self.jax.numpy
        data, idx = jnp.asarray(work.data), jnp.asarray(work.indices)

        def way(mode):
            def take(data, idx):
                return jnp.take_along_axis(data, idx, work.axis, mode=mode)

            function = jax.jit(take)
            idiom = f"take_along, {mode}"
            return Way("alloc", idiom, lambda: function(data, idx).block_until_ready())

        return [way("fill"), way("clip")]

    def gather_nd(self, work):
        jax, jnp = self.jax, self.jax.numpy
        data, idx = jnp.asarray(work.data), jnp.asarray(work.indices)
        batches = (jnp.arange(len(data))[:, None],) if work.batch_dims else ()

        def way(mode):
            def get(data, idx):
                columns = tuple(jnp.moveaxis(idx, -1, 0))
                return data.at[(*batches, *columns)].get(mode=mode)

            function = jax.jit(get)
            return Way("alloc", f"at, {mode}", lambda: function(data, idx).block_until_ready())

        return [way("fill"), way("clip")]


class OnnxRuntime:
    def __init__(self, threads):
        import onnxruntime
        from onnx import helper, numpy_helper

        self.ort, self.helper, self.numpy_helper = onnxruntime, helper, numpy_helper
        self.options = onnxruntime.SessionOptions()
        self.options.intra_op_num_threads = threads
        self.options.inter_op_num_threads = 1
        self.options.log_severity_level = 3

    def ways(self, nodes, inputs, constants, expected):
        helper = self.helper

        def info(name, array):
            dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
            return helper.make_tensor_value_info(name, dtype, array.shape)

        result = nodes[-1].output[0]
        graph = helper.make_graph(
            nodes,
            "workload",
            [info(name, array) for name, array in inputs.items()],
            [info(result, expected)],
            [self.numpy_helper.from_array(np.array(v), name) for name, v in constants.items()],
        )
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9
        ).SerializeToString()
        session = self.ort.InferenceSession(
            model, self.options, providers=["CPUExecutionProvider"]
        )
        value = self.ort.OrtValue.ortvalue_from_numpy
        values = {name: value(array) for name, array in inputs.items()}

        def way(form):
            binding = session.io_binding()
            for name, array in values.items():
                binding.bind_ortvalue_input(name, array)
            if form == "into":
                binding.bind_ortvalue_output(result, value(np.zeros_like(expected)))
            else:
                binding.bind_output(result)
            return Way(
                form,
                nodes[0].op_type,
                lambda: session.run_with_iobinding(binding),
                lambda _: binding.copy_outputs_to_cpu()[0],
            )

        return [way("alloc"), way("into")]

    def gather(self, work):
        node = self.helper.make_node
        inputs = {"data": work.data, "indices": work.indices}
        if work.batch_dims:
            nodes = [
                node("Unsqueeze", ["indices", "last"], ["places"]),
                node("GatherND", ["data", "places"], ["out"], batch_dims=1),
            ]
            return self.ways(nodes, inputs, {"last": [2]}, work.expected)
        nodes = [node("Gather", ["data", "indices"], ["out"], axis=work.axis)]
        return self.ways(nodes, inputs, {}, work.expected)

    def roll(self, work):
        """ONNX has no Roll: two slices and a concatenation for each axis."""
        node, nodes, current = self.helper.make_node, [], "data"
        constants = {"start": [0]}
        for k, (shift, axis) in enumerate(zip(work.shifts, work.axes)):
            length = work.data.shape[axis]
            constants |= {f"cut{k}": [-shift % length], f"end{k}": [length], f"axis{k}": [axis]}
            front = [current, "start", f"cut{k}", f"axis{k}"]
            back = [current, f"cut{k}", f"end{k}", f"axis{k}"]
            nodes.append(node("Slice", back, [f"back{k}"]))
            nodes.append(node("Slice", front, [f"front{k}"]))
            nodes.append(node("Concat", [f"back{k}", f"front{k}"], [f"out{k}"], axis=axis))
            current = f"out{k}"
        return self.ways(nodes, {"data": work.data}, constants, work.expected)

    def scatter(self, work):
        """A bound output is not the data: the data are copied into it."""
        reduction = "add" if work.add else "none"
        names = ["data", "indices", "updates"]
        node = self.helper.make_node(
            "ScatterElements", names, ["out"], axis=work.axis, reduction=reduction
        )
        inputs = dict(zip(names, (work.data, work.indices, work.updates)))
        return self.ways([node], inputs, {}, work.expected)

    def gather_elements(self, work):
        names = ["data", "indices"]
        node = self.helper.make_node("GatherElements", names, ["out"], axis=work.axis)
        return self.ways([node], dict(zip(names, (work.data, work.indices))), {}, work.expected)

    def gather_nd(self, work):
        names, batch = ["data", "indices"], work.batch_dims
        node = self.helper.make_node("GatherND", names, ["out"], batch_dims=batch)
        return self.ways([node], dict(zip(names, (work.data, work.indices))), {}, work.expected)

    def scatter_nd(self, work):
        reduction, names = "add" if work.add else "none", ["data", "indices", "updates"]
        inputs = dict(zip(names, (work.data, work.indices, work.updates)))
        node = self.helper.make_node("ScatterND", names, ["out"], reduction=reduction)
        ways = self.ways([node], inputs, {}, work.expected)
        if len(work.places) == 1:
            node = self.helper.make_node(
                "ScatterElements", names, ["out"], axis=0, reduction=reduction
            )
            inputs["indices"] = np.repeat(work.indices, work.updates.shape[1], axis=1)
            ways += self.ways([node], inputs, {}, work.expected)
        return ways


class OpenVino:
    """Its result stays in a tensor of the request, written anew by every call."""

    def __init__(self, threads):
        import openvino

        self.openvino, self.core = openvino, openvino.Core()
        self.config = {
            "INFERENCE_NUM_THREADS": threads,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32",
        }

    def ways(self, build, *arrays):
        import openvino.opset15 as ops

        parameters = [ops.parameter(list(array.shape), array.dtype) for array in arrays]
        model = self.openvino.Model([build(ops, *parameters)], parameters, "workload")
        request = self.core.compile_model(model, "CPU", self.config).create_infer_request()
        for k, array in enumerate(arrays):
            request.set_input_tensor(k, self.openvino.Tensor(array, shared_memory=True))
        # The arrays are borrowed, so the call keeps them.
        call = lambda keep=arrays: request.infer()  # noqa: E731
        return [Way("into", "infer", call, lambda _: request.get_output_tensor(0).data.copy())]

    def gather(self, work):
        def build(ops, data, indices):
            axis = ops.constant(np.int64(work.axis))
            return ops.gather(data, indices, axis, batch_dims=work.batch_dims)

        # i32 is the type that its kernels read.
        return self.ways(build, work.data, work.indices.astype(np.int32))

    def roll(self, work):
        def build(ops, data):
            shifts, axes = ops.constant(np.array(work.shifts)), ops.constant(np.array(work.axes))
            return ops.roll(data, shifts, axes)

        return self.ways(build, work.data)

    def scatter(self, work):
        def build(ops, data, indices, updates):
            axis = ops.constant(np.int64(work.axis))
            reduction = "sum" if work.add else "none"
            return ops.scatter_elements_update(data, indices, updates, axis, reduction, True)

        return self.ways(build, work.data, work.indices.astype(np.int32), work.updates)

    def gather_elements(self, work):
        def build(ops, data, indices):
            return ops.gather_elements(data, indices, work.axis)

        return self.ways(build, work.data, work.indices.astype(np.int32))

    def gather_nd(self, work):
        def build(ops, data, indices):
            return ops.gather_nd(data, indices, work.batch_dims)

        return self.ways(build, work.data, work.indices.astype(np.int32))

    def scatter_nd(self, work):
        def build(ops, data, indices, updates):
            reduction = "sum" if work.add else "none"
            return ops.scatter_nd_update(data, indices, updates, reduction)

        ways = self.ways(build, work.data, work.indices.astype(np.int32), work.updates)
        if len(work.places) == 1 and not work.add:

            def slices(ops, data, indices, updates):
                return ops.scatter_update(data, indices, updates, ops.constant(np.int64(0)))

            rows = work.places[0].astype(np.int32)
            ways += self.ways(slices, work.data, rows, work.updates)
        return ways


LIBRARIES = {
    "numpy": NumPy,
    "torch": Torch,
    "onnxruntime": OnnxRuntime,
    "openvino": OpenVino,
    "jax": Jax,
}
