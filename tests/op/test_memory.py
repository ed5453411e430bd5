"""The law of scratch memory: a kernel takes no more than 64 MiB, or twice its result where that is larger."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from passlab.ir.op import Op

F = (1, 1)
# What would need most with the plain method: patches of large windows, many channels, wide images.
HEAVY = [
    ("nn.conv1d", [(8, 64, 4096), (64, 64, 9)], {"padding": (4, 4)}),
    ("nn.conv2d", [(1, 64, 224, 224), (64, 64, 7, 7)], {"padding": (3, 3)}),
    ("nn.conv2d", [(1, 224, 224, 64), (3, 3, 64, 64)], {"data_layout": "NHWC", "kernel_layout": "HWIO", "padding": F}),
    ("nn.conv2d", [(1, 256, 112, 112), (256, 1, 3, 3)], {"groups": 256, "padding": F}),
    ("nn.conv2d", [(1, 128, 112, 112), (128, 32, 3, 3)], {"groups": 4, "padding": F}),
    ("nn.conv3d", [(1, 16, 32, 64, 64), (16, 16, 3, 3, 3)], {"padding": (1, 1, 1)}),
    ("nn.conv2d_transpose", [(1, 128, 64, 64), (128, 64, 4, 4)], {"strides": (2, 2), "padding": F}),
    ("nn.conv3d_transpose", [(1, 16, 16, 32, 32), (16, 16, 4, 4, 4)], {"strides": (2, 2, 2), "padding": (1, 1, 1)}),
    ("nn.max_pool2d", [(4, 64, 224, 224)], {"pool_size": (7, 7), "strides": (2, 2), "padding": (3, 3)}),
    ("nn.avg_pool2d", [(4, 64, 224, 224)], {"pool_size": (3, 3), "padding": F}),
    ("nn.max_pool3d", [(2, 16, 32, 64, 64)], {"pool_size": (3, 3, 3)}),
    ("nn.adaptive_avg_pool2d", [(4, 64, 224, 224)], {"output_size": (7, 7)}),
    ("image.resize2d", [(1, 32, 256, 256)], {"size": (512, 512)}),
    ("image.resize2d", [(1, 32, 256, 256)], {"size": (300, 300), "method": "cubic"}),
    ("nn.upsampling", [(1, 64, 128, 128)], {"scale_h": 2.0, "scale_w": 2.0}),
    ("nn.dense", [(512, 2048), (2048, 2048)], {"units": None}),
    ("nn.batch_matmul", [(16, 256, 256), (16, 256, 256)], {}),
]
FLOOR = 64 << 20


@pytest.mark.rotating
@pytest.mark.parametrize(("name", "shapes", "attrs"), HEAVY, ids=[f"{h[0]}{h[1][0]}" for h in HEAVY])
def test_scratch_memory_is_bounded(name: str, shapes: list[tuple[int, ...]], attrs: dict[str, object]) -> None:
    spec = Op.get(name).spec
    assert spec.attrs is not None
    assert spec.kernel is not None
    arrays = [np.ones(shape, "float32") for shape in shapes]
    record = spec.attrs(**attrs)
    tracemalloc.start()
    try:
        result = spec.kernel(record, *arrays)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak - result.nbytes <= max(FLOOR, 2 * result.nbytes), f"{(peak - result.nbytes) >> 20} MiB"
