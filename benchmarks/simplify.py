"""How small models become: `lab.simplify` beside onnxsim and onnxslim, on models that are made here.

    python -m benchmarks.simplify [--json FILE]                                  # nodes, values, seconds and megabytes
    python -m benchmarks.simplify --counts --json benchmarks/records/simplify.json    # nodes and values alone

Prints for each model the nodes before, those that each tool leaves, its seconds, the megabytes by which a process of
its own grows, and the largest difference of the values before and after, as onnxruntime computes both. The other tools
are skipped where they are not installed.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pandas as pd
from onnx import TensorProto

from benchmarks.calibrate import argument_parser
from benchmarks.model_writer import RNG, Model
from benchmarks.simplify_models import MORE
from passlab.lab.simplification import nodes_of, simplify


def convolutional() -> Any:
    """Convolutions with batch norms, pads and a shape that is computed for the last reshape."""
    m = Model(x=(1, 3, 16, 16))
    y, channels = "x", 3
    for width in (8, 8, 16):
        padded = m("Pad", y, m.ints(0, 0, 1, 1, 0, 0, 1, 1))
        y = m("Conv", padded, m.weight(width, channels, 3, 3), kernel_shape=[3, 3])
        scale, shift = m.weight(value=np.ones(width, "float32")), m.weight(width)
        y = m("BatchNormalization", y, scale, shift, m.weight(width), m.weight(value=np.full(width, 2, "float32")))
        y, channels = m("Relu", m("Identity", y)), width
    batch = m("Gather", m("Shape", y), m.weight(value=np.array(0, "int64")))
    shape = m("Concat", m("Unsqueeze", batch, m.ints(0)), m.ints(-1), axis=0)
    flat = m("Reshape", m("GlobalAveragePool", y), shape)
    return m.done(m("Add", m("MatMul", flat, m.weight(16, 10)), m.weight(10)))


def transformer() -> Any:
    """One layer of attention, its layer norms written out, its shapes computed."""
    m = Model(x=(1, 6, 16))

    def norm(y: str) -> str:
        mean = m("ReduceMean", y, axes=[-1])
        centred = m("Sub", y, mean)
        spread = m("ReduceMean", m("Pow", centred, m.weight(value=np.float32(2))), axes=[-1])
        scaled = m("Div", centred, m("Sqrt", m("Add", spread, m.weight(value=np.float32(1e-5)))))
        return m("Add", m("Mul", scaled, m.weight(16)), m.weight(16))

    def heads(y: str) -> str:
        shape = m("Shape", y)
        parts = [m("Gather", shape, m.weight(value=np.array([i]))) for i in (0, 1)]
        return m("Transpose", m("Reshape", y, m("Concat", *parts, m.ints(4, 4), axis=0)), perm=[0, 2, 1, 3])

    y = norm("x")
    q, k, v = (heads(m("Add", m("MatMul", y, m.weight(16, 16)), m.weight(16))) for _ in range(3))
    scores = m("Div", m("MatMul", q, m("Transpose", k, perm=[0, 1, 3, 2])), m.weight(value=np.float32(2)))
    mixed = m("Transpose", m("MatMul", m("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
    joined = m("Reshape", mixed, m("Shape", "x"))
    return m.done(norm(m("Add", "x", m("MatMul", joined, m.weight(16, 16)))))


def duplicates() -> Any:
    """The same subexpressions twice, casts and transposes that undo each other."""
    m = Model(x=(2, 3, 4))
    branches = []
    for _ in range(2):
        y = m("Transpose", m("Transpose", "x", perm=[0, 2, 1]), perm=[0, 2, 1])
        y = m("Cast", m("Cast", y, to=TensorProto.FLOAT), to=TensorProto.FLOAT)
        branches.append(m("Exp", m("Reshape", m("Reshape", y, m.ints(6, 4)), m.ints(2, 3, 4))))
    return m.done(m("Add", *branches))


def constant_shapes() -> Any:
    """Ranges, masks and slices that depend on shapes only."""
    m = Model(x=(1, 5, 8))
    length = m("Gather", m("Shape", "x"), m.weight(value=np.array(1, "int64")))
    steps = m("Range", m.weight(value=np.array(0, "int64")), length, m.weight(value=np.array(1, "int64")))
    rows, columns = m("Unsqueeze", steps, m.ints(1)), m("Unsqueeze", steps, m.ints(0))
    mask = m("Where", m("Less", rows, columns), m.weight(value=np.float32(-1e4)), m.weight(value=np.float32(0)))
    scores = m("Add", m("MatMul", "x", m("Transpose", "x", perm=[0, 2, 1])), mask)
    return m.done(m("MatMul", m("Softmax", scores, axis=-1), "x"))


def detection() -> Any:
    """A head with sizes that are computed, and a branch that a constant decides."""
    m = Model(x=(1, 8, 4, 4))
    size = m("Slice", m("Shape", "x"), m.ints(2), m.ints(4))
    doubled = m("Concat", m.ints(1, 8), m("Mul", size, m.ints(2, 2)), axis=0)
    nearest = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    up = m("Resize", "x", "", "", doubled, **nearest)
    boxes = m("Conv", up, m.weight(4, 8, 1, 1), m.weight(4), kernel_shape=[1, 1])
    scores = m("Sigmoid", m("Conv", up, m.weight(2, 8, 1, 1), m.weight(2), kernel_shape=[1, 1]))
    flat = [m("Reshape", m("Transpose", y, perm=[0, 2, 3, 1]), m.ints(1, -1, n)) for y, n in ((boxes, 4), (scores, 2))]
    return m.done(m("Concat", *flat, axis=2))


def recurrent() -> Any:
    """Three steps of a cell, written out, with weights that are transposed anew at each."""
    m = Model(x=(1, 3, 4))
    state = m("Expand", m.weight(value=np.zeros((1, 1), "float32")), m.ints(1, 4))
    w, u, b = m.weight(4, 4), m.weight(4, 4), m.weight(4)
    for t in range(3):
        step = m("Squeeze", m("Slice", "x", m.ints(t), m.ints(t + 1), m.ints(1)), m.ints(1))
        sums = m(
            "Add", m("MatMul", step, m("Transpose", w, perm=[1, 0])), m("MatMul", state, m("Transpose", u, perm=[1, 0]))
        )
        state = m("Tanh", m("Add", sums, b))
    return m.done(state)


MODELS: dict[str, Callable[[], Any]] = {
    f.__name__: f for f in (convolutional, transformer, duplicates, constant_shapes, detection, recurrent, *MORE)
}


def tools() -> dict[str, Callable[[Any], Any]]:
    """The tools that are installed, by name."""
    table: dict[str, Callable[[Any], Any]] = {"passlab": lambda model: simplify(model).model()}
    if importlib.util.find_spec("onnxsim"):
        import onnxsim

        table["onnxsim"] = lambda model: onnxsim.simplify(model)[0]
    if importlib.util.find_spec("onnxslim"):
        import onnxslim

        table["onnxslim"] = onnxslim.slim
    return table


# The peak of a process is reset before the tool runs, for imports may have taken more. Linux only.
GROWTH = """
import sys
from pathlib import Path
from benchmarks.simplify import MODELS, tools
def kilobytes(name):
    return int(next(line.split()[1] for line in Path("/proc/self/status").open() if line.startswith(name)))
tool, model = tools()[sys.argv[1]], MODELS[sys.argv[2]]()
Path("/proc/self/clear_refs").write_text("5")
before = kilobytes("VmRSS")
tool(model)
print(kilobytes("VmHWM") - before)
"""


def memory_of(tool: str, name: str) -> float:
    """Return the megabytes by which a process grows while a tool makes a model smaller, imports not counted."""
    output = subprocess.run(
        [sys.executable, "-c", GROWTH, tool, name], capture_output=True, text=True, check=True
    ).stdout
    return round(int(output.split()[-1]) / 1024, 1)


def run(model: Any, inputs: dict[str, Any]) -> list[Any]:
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def measure(name: str, *, timed: bool = True) -> dict[str, Any]:
    """Return the row of one model; all nodes counted are ONNX's, before and after."""
    model = MODELS[name]()
    inputs = {
        v.name: RNG.standard_normal([d.dim_value or 2 for d in v.type.tensor_type.shape.dim]).astype("float32")
        for v in model.graph.input
    }
    expected = run(model, inputs)
    row: dict[str, Any] = {"model": name, "nodes": nodes_of(model.graph)}
    for tool, simplified in tools().items():
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        start = time.perf_counter()
        try:
            small = simplified(copy)
        except RuntimeError as error:  # another tool gives up
            row |= {tool: None, f"{tool} diff": str(error)[:20]}
            continue
        seconds = time.perf_counter() - start
        results = run(small, inputs)
        worst = max(float(np.abs(a - b).max()) for a, b in zip(expected, results, strict=True))
        row |= {tool: nodes_of(small.graph), f"{tool} diff": f"{worst:.0e}"}
        if timed:
            row |= {f"{tool} s": round(seconds, 3), f"{tool} MB": memory_of(tool, name)}
    return row


def main(argv: list[str] | None = None) -> int:
    """Measure, print a table and write the record."""
    parser = argument_parser(__doc__, "simplify")
    parser.add_argument("--counts", action="store_true", help="neither seconds nor megabytes")
    options = parser.parse_args(argv)
    if importlib.util.find_spec("onnxruntime") is None:
        print('onnxruntime is not installed: pip install "passlab[bench]"')
        return 0
    rows = [measure(name, timed=not options.counts) for name in MODELS]
    print(pd.DataFrame(rows).to_string(index=False))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
