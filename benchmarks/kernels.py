"""Speed of the twenty heaviest kernels, beside NumPy's own matrix product and beside onnxruntime on the same shapes.

    python -m benchmarks.kernels [--repeat N] [--json FILE] [--only WORD]

GFLOP/s of each, as a share of a 1024 x 1024 x 1024 float32 product measured in turns with it, so that a busy machine
slows both. Depthwise convolution, pooling, resizing and normalisation are bound by memory: their share is small by
nature. The last column is onnxruntime's time as a share of ours (over 100%: ours is faster), with as many threads; it
stays empty without the `bench` extra. With OPENBLAS_NUM_THREADS=1 the processor's clock is read, not the wall's.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.calibrate import argument_parser, calibrate, in_turns, matrix_product, threads, write_record
from passlab.ir.op import Op

GOAL = 0.5  # share of the speed of the matrix product, for 3x3 and 1x1 convolutions


@dataclass(frozen=True)
class Kernel:
    """One use of an operator; `onnx` is the same in ONNX, `work` the operations of one run."""

    name: str
    shapes: tuple[tuple[int, ...], ...]
    attrs: dict[str, Any]
    onnx: tuple[str, dict[str, Any]] | None
    work: float
    held: bool = False


def conv(
    inputs: int, outputs: int, side: int, kernel: int, stride: int = 1, groups: int = 1, layout: str = "NCHW"
) -> Kernel:
    """A convolution with padding that keeps the size (but for the stride)."""
    pad, out = kernel // 2, -(-side // stride)
    data, weight = (1, inputs, side, side), (outputs, inputs // groups, kernel, kernel)
    attrs: dict[str, Any] = {"strides": (stride, stride), "padding": (pad, pad), "groups": groups}
    onnx = ("Conv", {"strides": [stride] * 2, "pads": [pad] * 4, "group": groups})
    if layout == "NHWC":
        data, weight = (1, side, side, inputs), (kernel, kernel, inputs // groups, outputs)
        attrs |= {"data_layout": "NHWC", "kernel_layout": "HWIO"}
    work = 2 * outputs * inputs / groups * kernel**2 * out**2
    return Kernel(
        "nn.conv2d", (data, weight), attrs, onnx if layout == "NCHW" else None, work, groups == 1 and kernel in (1, 3)
    )


def pool(name: str, onnx: str, kernel: int, stride: int) -> Kernel:
    """A pooling of a large image."""
    pad, out = kernel // 2, 112 // stride
    attrs = {"pool_size": (kernel,) * 2, "strides": (stride,) * 2, "padding": (pad,) * 2}
    table = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [pad] * 4}
    return Kernel(name, ((1, 64, 112, 112),), attrs, (onnx, table), 64 * out * out * kernel**2)


KERNELS: dict[str, Kernel] = {
    "conv2d 7x7/2, 3 to 64 at 224": conv(3, 64, 224, 7, 2),
    "conv2d 3x3, 64 at 56": conv(64, 64, 56, 3),
    "conv2d 3x3, 128 at 28": conv(128, 128, 28, 3),
    "conv2d 3x3, 256 at 14": conv(256, 256, 14, 3),
    "conv2d 3x3, 512 at 7": conv(512, 512, 7, 3),
    "conv2d 3x3, 64 at 56, NHWC": conv(64, 64, 56, 3, layout="NHWC"),
    "conv2d 3x3, 256 at 14, NHWC": conv(256, 256, 14, 3, layout="NHWC"),
    "conv2d 1x1, 64 to 256 at 56": conv(64, 256, 56, 1),
    "conv2d 1x1, 1024 to 256 at 14": conv(1024, 256, 14, 1),
    "conv2d 1x1/2, 256 to 512 at 56": conv(256, 512, 56, 1, 2),
    "conv2d 1x1, 64 to 256 at 56, NHWC": conv(64, 256, 56, 1, layout="NHWC"),
    "conv2d depthwise 3x3, 32 at 112": conv(32, 32, 112, 3, 1, 32),
    "conv2d grouped 3x3, 128/32 at 56": conv(128, 128, 56, 3, 1, 32),
    "conv1d 9, 64 at 4096": Kernel(
        "nn.conv1d", ((1, 64, 4096), (64, 64, 9)), {"padding": (4, 4)}, ("Conv", {"pads": [4, 4]}),
        2 * 64 * 64 * 9 * 4096,
    ),
    "conv3d 3x3x3, 16 at 32": Kernel(
        "nn.conv3d", ((1, 16, 32, 32, 32), (32, 16, 3, 3, 3)), {"padding": (1, 1, 1)}, ("Conv", {"pads": [1] * 6}),
        2 * 16 * 32 * 27 * 32**3,
    ),
    "conv2d_transpose 4x4/2, 128 to 64 at 28": Kernel(
        "nn.conv2d_transpose", ((1, 128, 28, 28), (128, 64, 4, 4)), {"strides": (2, 2), "padding": (1, 1)},
        ("ConvTranspose", {"strides": [2, 2], "pads": [1] * 4}), 2 * 128 * 64 * 16 * 28**2,
    ),
    "dense 256x1024 by 1024x4096": Kernel(
        "nn.dense", ((256, 1024), (4096, 1024)), {"units": None}, ("Gemm", {"transB": 1}), 2 * 256 * 1024 * 4096
    ),
    "batch_matmul 16 x 256^3": Kernel(
        "nn.batch_matmul", ((16, 256, 256), (16, 256, 256)), {"transpose_b": False}, ("MatMul", {}), 2 * 16 * 256**3
    ),
    "max_pool2d 3x3/2, 64 at 112": pool("nn.max_pool2d", "MaxPool", 3, 2),
    "avg_pool2d 3x3, 64 at 112": pool("nn.avg_pool2d", "AveragePool", 3, 1),
    "softmax 512 x 4096": Kernel("nn.softmax", ((512, 4096),), {"axis": -1}, ("Softmax", {"axis": -1}), 4 * 512 * 4096),
}  # fmt: skip


def onnx_session(kernel: Kernel, arrays: list[Any]) -> Callable[[], Any] | None:
    """Return a run of the same computation in onnxruntime, None without it. Weights are constants, as in a model."""
    if (
        kernel.onnx is None
        or importlib.util.find_spec("onnxruntime") is None
        or importlib.util.find_spec("onnx") is None
    ):
        return None
    import onnx
    import onnxruntime

    kind, attrs = kernel.onnx
    names = ["x", "w"][: len(arrays)]
    constant = kind != "MatMul"
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node(kind, names, ["y"], **attrs)],
        "kernel",
        [
            onnx.helper.make_tensor_value_info(n, 1, a.shape)
            for n, a in zip(names, arrays, strict=True)
            if n == "x" or not constant
        ],
        [onnx.helper.make_tensor_value_info("y", 1, None)],
        [onnx.numpy_helper.from_array(arrays[1], "w")] if constant and len(arrays) > 1 else [],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # its idle threads would slow the others
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feed = {i.name: arrays[names.index(i.name)] for i in session.get_inputs()}
    return lambda: session.run(None, feed)


def measure(kernel: Kernel, repeat: int) -> dict[str, float]:
    """Return milliseconds, GFLOP/s, the share of the matrix product's, and onnxruntime's milliseconds."""
    rng = np.random.default_rng(0)
    arrays = [rng.random(shape, np.float32) for shape in kernel.shapes]
    spec = Op.get(kernel.name).spec
    assert spec.raw is not None
    assert spec.attrs is not None
    attrs, run = spec.attrs(**kernel.attrs), spec.raw
    out = run(attrs, *arrays)
    other = onnx_session(kernel, arrays)
    if other is not None:
        np.testing.assert_allclose(other()[0], out, rtol=2e-3, atol=1e-3)
    np.ones(4 << 20)  # memory once used and freed is kept by the allocator, as in a program at work
    jobs = [lambda: run(attrs, *arrays, out=out), matrix_product(), *([other] if other else [])]
    ours, unit, *rest = in_turns(jobs, repeat)
    seconds = ours / 1e3
    speed = kernel.work / seconds / 1e9
    table = {"ms": seconds * 1e3, "gflops": speed, "share": speed / (2 * 1024**3 / unit / 1e6)}
    return table | ({"onnxruntime_ms": rest[0]} if rest else {})


def main(argv: list[str] | None = None) -> int:
    """Measure, print the table, write the record."""
    parser = argument_parser(__doc__, "kernels")
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--only", default="", help="measure the kernels with this word in their name")
    options = parser.parse_args(argv)
    machine = calibrate()
    results: dict[str, dict[str, float]] = {}
    print(f"{'kernel':42}{'ms':>8}{'GFLOP/s':>10}{'of matmul':>11}{'':8}{'onnxruntime':>12}")
    for name, kernel in KERNELS.items():
        if options.only not in name:
            continue
        result = results[name] = measure(kernel, options.repeat)
        goal = "" if not kernel.held else "held" if result["share"] >= GOAL else "MISSED"
        theirs = result.get("onnxruntime_ms", math.nan) / result["ms"]
        shown = "" if math.isnan(theirs) else f"{theirs:.0%}"
        print(f"{name:42}{result['ms']:8.2f}{result['gflops']:10.1f}{result['share']:10.0%} {goal:8}{shown:>12}")
    write_record(options.json, results, machine)
    return 0


if __name__ == "__main__":
    sys.exit(main())
