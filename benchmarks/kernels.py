"""Speed of the convolution and pooling kernels on the layers of real networks, beside NumPy's own matrix product.

    python -m benchmarks.kernels [--repeat N] [--json FILE]

GFLOP/s of each layer, as a share of a 1024 x 1024 x 1024 float32 product measured in turns with it, so that a busy
machine slows both. Depthwise convolution and pooling are bound by memory: their figure is elements of the result.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.calibrate import calibrate
from passlab.ir.op import Op

GOAL = 0.5  # share of the speed of the matrix product, for convolutions that are one

# (input channels, output channels, image side, window side, stride, groups)
LAYERS = {
    "stem 7x7/2": (3, 64, 224, 7, 2, 1),
    "3x3, 64 channels at 56": (64, 64, 56, 3, 1, 1),
    "3x3, 128 channels at 28": (128, 128, 28, 3, 1, 1),
    "3x3, 256 channels at 14": (256, 256, 14, 3, 1, 1),
    "3x3, 512 channels at 7": (512, 512, 7, 3, 1, 1),
    "1x1, 64 to 256 at 56": (64, 256, 56, 1, 1, 1),
    "1x1, 1024 to 256 at 14": (1024, 256, 14, 1, 1, 1),
    "1x1/2, 256 to 512 at 56": (256, 512, 56, 1, 2, 1),
    "depthwise 3x3, 32 at 112": (32, 32, 112, 3, 1, 32),
    "depthwise 3x3, 512 at 14": (512, 512, 14, 3, 1, 512),
}


def best(run: Any, other: Any, repeat: int) -> tuple[float, float]:
    """Return the least seconds of two functions run in turns."""
    times: list[tuple[float, float]] = []
    for _ in range(repeat + 1):
        start = perf_counter()
        run()
        middle = perf_counter()
        other()
        times.append((middle - start, perf_counter() - middle))
    return min(t for t, _ in times[1:]), min(t for _, t in times[1:])


def measure(layer: tuple[int, ...], layout: str, repeat: int) -> dict[str, float]:
    """Return GFLOP/s of one layer and its share of the matrix product's."""
    inputs, outputs, side, kernel, stride, groups = layer
    rng = np.random.default_rng(0)
    x = rng.random((1, inputs, side, side), np.float32)
    w = rng.random((outputs, inputs // groups, kernel, kernel), np.float32)
    options: dict[str, Any] = {"strides": (stride, stride), "padding": (kernel // 2,) * 2, "groups": groups}
    if layout == "NHWC":
        x, w = np.ascontiguousarray(x.transpose(0, 2, 3, 1)), np.ascontiguousarray(w.transpose(2, 3, 1, 0))
        options |= {"data_layout": "NHWC", "kernel_layout": "HWIO"}
    spec = Op.get("nn.conv2d").spec
    assert spec.raw is not None
    assert spec.attrs is not None
    attrs, run = spec.attrs(**options), spec.raw
    out = run(attrs, x, w)
    a, b = rng.random((2, 1024, 1024), np.float32)
    product = np.empty_like(a)
    seconds, unit = best(lambda: run(attrs, x, w, out=out), lambda: np.matmul(a, b, out=product), repeat)
    speed = 2 * w.size * out.size / outputs / seconds / 1e9
    return {"ms": seconds * 1e3, "gflops": speed, "share": speed / (2 * 1024**3 / unit / 1e9)}


def main(argv: list[str] | None = None) -> int:
    """Measure, print the table, write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/out/kernels.json"))
    options = parser.parse_args(argv)
    machine = calibrate()
    results: dict[str, dict[str, float]] = {}
    print(f"{'layer':28}{'layout':8}{'ms':>9}{'GFLOP/s':>10}{'of matmul':>11}")
    for layout in ("NCHW", "NHWC"):
        for name, layer in LAYERS.items():
            found = results[f"{name}, {layout}"] = measure(layer, layout, options.repeat)
            goal = "" if layer[5] > 1 else "held" if found["share"] >= GOAL else "MISSED"
            print(f"{name:28}{layout:8}{found['ms']:9.2f}{found['gflops']:10.1f}{found['share']:10.0%} {goal}")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps({"machine": machine.record(), "results": results}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
