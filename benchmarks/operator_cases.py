"""Operators that loop over more than elements, each on three sizes: a Relay expression and the shapes of its inputs.

`s` is the size. An input is `(shape, kind)`: `f` random numbers, `i` indices below `s`, `b` boxes with x1 < x2, `k` the
number of an image, `r` regions (number of an image, then a box in pixels), `o` sorted rows, `u` numbers that differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Shape = tuple[int, ...]
Case = tuple[str, dict[str, tuple[Any, str]]]
IMAGE: Any = lambda s: (1, 8, s, s)  # noqa: E731 - a shape of size s
ROWS: Any = lambda s: (s, s)  # noqa: E731

CASES: dict[str, Case] = {
    "image.crop_and_resize": (
        "image.crop_and_resize(%x, %b, %k, crop_size=[14, 14])",
        {"x": (IMAGE, "f"), "b": (lambda s: (s, 4), "b"), "k": (lambda s: (s,), "k")},
    ),
    "image.resize2d": ("image.resize2d(%x, size=[{2s}, {2s}])", {"x": (IMAGE, "f")}),
    "image.resize2d cubic": ('image.resize2d(%x, size=[{2s}, {2s}], method="cubic")', {"x": (IMAGE, "f")}),
    "image.resize2d nearest": (
        'image.resize2d(%x, size=[{2s}, {2s}], method="nearest_neighbor")', {"x": (IMAGE, "f")}
    ),
    "image.dilation2d": (
        "image.dilation2d(%x, %w, padding=[1, 1, 1, 1])", {"x": (IMAGE, "f"), "w": (lambda s: (8, 3, 3), "f")}
    ),
    "image.grid_sample": (
        "image.grid_sample(%x, %g)", {"x": (IMAGE, "f"), "g": (lambda s: (1, 2, s, s), "f")}
    ),
    "image.affine_grid": ("image.affine_grid(%x, target_shape=[{s}, {s}])", {"x": (lambda s: (4, 2, 3), "f")}),
    "nn.upsampling": ("nn.upsampling(%x, scale_h=2f, scale_w=2f)", {"x": (IMAGE, "f")}),
    "nn.deformable_conv2d": (
        "nn.deformable_conv2d(%x, %o, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3])",
        {"x": (IMAGE, "f"), "o": (lambda s: (1, 18, s, s), "f"), "w": (lambda s: (8, 8, 3, 3), "f")},
    ),
    "nn.correlation": (
        "nn.correlation(%x, %y, kernel_size=1, max_displacement=2, stride1=1, stride2=1, padding=[2, 2, 2, 2])",
        {"x": (IMAGE, "f"), "y": (IMAGE, "f")},
    ),
    "nn.lrn": ("nn.lrn(%x)", {"x": (IMAGE, "f")}),
    "nn.avg_pool2d": ("nn.avg_pool2d(%x, pool_size=[3, 3], padding=[1, 1, 1, 1])", {"x": (IMAGE, "f")}),
    "nn.max_pool2d": ("nn.max_pool2d(%x, pool_size=[3, 3], padding=[1, 1, 1, 1])", {"x": (IMAGE, "f")}),
    "nn.adaptive_avg_pool2d": ("nn.adaptive_avg_pool2d(%x, output_size=[7, 7])", {"x": (IMAGE, "f")}),
    "nn.conv2d_transpose": (
        "nn.conv2d_transpose(%x, %w, channels=8, kernel_size=[3, 3], strides=[2, 2])",
        {"x": (IMAGE, "f"), "w": (lambda s: (8, 8, 3, 3), "f")},
    ),
    "nn.conv2d groups": (
        "nn.conv2d(%x, %w, groups=4, channels=8, kernel_size=[3, 3], padding=[1, 1, 1, 1])",
        {"x": (IMAGE, "f"), "w": (lambda s: (8, 2, 3, 3), "f")},
    ),
    "nn.softmax": ("nn.softmax(%x)", {"x": (ROWS, "f")}),
    "nn.log_softmax": ("nn.log_softmax(%x)", {"x": (ROWS, "f")}),
    "nn.layer_norm": (
        "nn.layer_norm(%x, %g, %h)", {"x": (ROWS, "f"), "g": (lambda s: (s,), "f"), "h": (lambda s: (s,), "f")}
    ),
    "nn.instance_norm": (
        "nn.instance_norm(%x, %g, %h)", {"x": (IMAGE, "f"), "g": (lambda s: (8,), "f"), "h": (lambda s: (8,), "f")}
    ),
    "nn.pad": ("nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [2, 2], [2, 2]])", {"x": (IMAGE, "f")}),
    "nn.mirror_pad": ("nn.mirror_pad(%x, pad_width=[[0, 0], [0, 0], [2, 2], [2, 2]])", {"x": (IMAGE, "f")}),
    "nn.depth_to_space": ("nn.depth_to_space(%x, block_size=2)", {"x": (IMAGE, "f")}),
    "nn.space_to_batch_nd": (
        "nn.space_to_batch_nd(%x, block_shape=[2, 2], paddings=[[0, 0], [0, 0]])",
        {"x": (lambda s: (1, s, s, 8), "f")},
    ),
    "vision.roi_align": (
        'vision.roi_align(%x, %r, pooled_size=[7, 7], spatial_scale=1f, sample_ratio=2, layout="NCHW")',
        {"x": (IMAGE, "f"), "r": (lambda s: (s, 5), "r")},
    ),
    "vision.roi_pool": (
        "vision.roi_pool(%x, %r, pooled_size=[7, 7], spatial_scale=1f)",
        {"x": (IMAGE, "f"), "r": (lambda s: (s, 5), "r")},
    ),
    "vision.get_valid_counts": (
        "vision.get_valid_counts(%x, 0f, score_index=1, id_index=0)",
        {"x": (lambda s: (1, 8 * s, 6), "f")},
    ),
    "vision.all_class_non_max_suppression": (
        "vision.all_class_non_max_suppression(%b, %x, 20i64, 0.5f, 0.1f)",
        {"b": (lambda s: (1, 4 * s, 4), "b"), "x": (lambda s: (1, 4, 4 * s), "f")},
    ),
    "vision.multibox_prior": ("vision.multibox_prior(%x, sizes=[0.5f, 1f], ratios=[1f, 2f])", {"x": (IMAGE, "f")}),
    "sort": ("sort(%x)", {"x": (ROWS, "f")}),
    "argsort": ("argsort(%x)", {"x": (ROWS, "f")}),
    "topk": ("topk(%x, k=5).0", {"x": (ROWS, "f")}),
    "searchsorted": ("searchsorted(%o, %x)", {"o": (ROWS, "o"), "x": (ROWS, "f")}),
    "unique": ("unique(%j).0", {"j": (lambda s: (s * s,), "i")}),
    "argwhere": ("argwhere(%x)", {"x": (ROWS, "f")}),
    "cumsum": ("cumsum(%x, axis=0)", {"x": (ROWS, "f")}),
    "cumprod": ("cumprod(%x, axis=1)", {"x": (ROWS, "f")}),
    "one_hot": ("one_hot(%j, 1f, 0f, depth={s}, axis=-1)", {"j": (lambda s: (s,), "i")}),
    "take": ("take(%x, %j, axis=0)", {"x": (ROWS, "f"), "j": (lambda s: (s,), "i")}),
    "gather": ("gather(%x, %j, axis=0)", {"x": (ROWS, "f"), "j": (ROWS, "i")}),
    "gather_nd": ("gather_nd(%x, %j)", {"x": (ROWS, "f"), "j": (lambda s: (2, s * s), "i")}),
    "scatter_elements": (
        "scatter_elements(%x, %j, %y, axis=0)", {"x": (ROWS, "f"), "j": (ROWS, "i"), "y": (ROWS, "f")}
    ),
    "scatter_elements add": (
        'scatter_elements(%x, %j, %y, axis=0, reduction="add")', {"x": (ROWS, "f"), "j": (ROWS, "i"), "y": (ROWS, "f")}
    ),
    "scatter_elements max": (
        'scatter_elements(%x, %j, %y, axis=1, reduction="max")', {"x": (ROWS, "f"), "j": (ROWS, "i"), "y": (ROWS, "f")}
    ),
    "scatter_nd": (
        "scatter_nd(%x, %j, %y)", {"x": (ROWS, "f"), "j": (lambda s: (2, s * s), "i"), "y": (lambda s: (s * s,), "f")}
    ),
    "scatter_nd add": (
        'scatter_nd(%x, %j, %y, mode="add")',
        {"x": (ROWS, "f"), "j": (lambda s: (2, s * s), "i"), "y": (lambda s: (s * s,), "f")},
    ),
    "sequence_mask": (
        "sequence_mask(%x, %j)", {"x": (ROWS, "f"), "j": (lambda s: (s,), "i")}
    ),
    "reverse_sequence": (
        "reverse_sequence(%x, %j, seq_axis=1, batch_axis=0)", {"x": (ROWS, "f"), "j": (lambda s: (s,), "i")}
    ),
    "matrix_set_diag": ("matrix_set_diag(%x, %y)", {"x": (ROWS, "f"), "y": (lambda s: (s,), "f")}),
    "sparse_to_dense": (
        "sparse_to_dense(%u, %y, 0f, output_shape=[{s}])", {"u": (lambda s: (s,), "u"), "y": (lambda s: (s,), "f")}
    ),
    "strided_slice": ("strided_slice(%x, begin=[0, 0], end=[{s}, {s}], strides=[2, 3])", {"x": (ROWS, "f")}),
    "tile": ("tile(%x, reps=[2, 2])", {"x": (ROWS, "f")}),
    "repeat": ("repeat(%x, repeats=2, axis=1)", {"x": (ROWS, "f")}),
    "stft": (
        "stft(%x, %w, n_fft=64, hop_length=16, win_length=64, normalized=False, onesided=True)",
        {"x": (lambda s: (4, 16 * s), "f"), "w": (lambda s: (64,), "f")},
    ),
    "einsum": ('einsum((%x, %y), equation="ij,jk->ik")', {"x": (ROWS, "f"), "y": (ROWS, "f")}),
    "dyn.broadcast_to": ("dyn.broadcast_to(%x, shape_of(%y))", {"x": (lambda s: (1, s), "f"), "y": (ROWS, "f")}),
    "erf": ("erf(%x)", {"x": (ROWS, "f")}),
    "power": ("power(abs(%x), %y)", {"x": (ROWS, "f"), "y": (ROWS, "f")}),
    "argmax": ("argmax(%x, axis=[0])", {"x": (ROWS, "f")}),
    "variance": ("variance(%x, mean(%x, axis=[0], keepdims=True), axis=[0])", {"x": (ROWS, "f")}),
    "nn.batch_matmul": (
        "nn.batch_matmul(%x, %x)", {"x": (lambda s: (4, s, s), "f")}
    ),
    "qnn.quantize": ("qnn.quantize(%x, 0.1f, 3, out_dtype=\"int8\")", {"x": (ROWS, "f")}),
}  # fmt: skip


def _crops(x: Any, boxes: Any, numbers: Any) -> Any:
    size, steps = x.shape[-1] - 1, np.arange(14, dtype="float32") / 13
    y, across = ((boxes[:, [a]] + (boxes[:, [a + 2]] - boxes[:, [a]]) * steps) * size for a in (0, 1))
    top, left = np.floor(y).astype(int), np.floor(across).astype(int)
    low, part = (y - top)[:, :, None, None], (across - left)[:, None, :, None]
    pixels = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    result: Any = 0
    for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
        rows, columns = np.minimum(top + i, size)[:, :, None], np.minimum(left + j, size)[:, None, :]
        corner = pixels[numbers[:, None, None], rows, columns]
        result = result + corner * ((low if i else 1 - low) * (part if j else 1 - part))
    return result.transpose(0, 3, 1, 2)


def _scattered(x: Any, at: Any, y: Any) -> Any:
    result = x.copy()
    np.add.at(result, tuple(at), y)
    return result


def _counts(x: Any, at: Any, y: Any) -> Any:
    result = x.copy()
    np.put_along_axis(result, at, y, 0)
    return result


# The same by hand, for what ONNX has not, or onnxruntime is slow in.
BY_HAND: dict[str, Callable[..., Any]] = {
    "image.crop_and_resize": _crops,
    "sort": lambda x: np.sort(x, axis=-1),
    "argsort": lambda x: np.argsort(x, axis=-1, kind="stable"),
    "searchsorted": lambda o, x: np.stack([np.searchsorted(a, b) for a, b in zip(o, x, strict=True)]),
    "argwhere": lambda x: np.argwhere(x),
    "cumsum": lambda x: np.cumsum(x, axis=0),
    "cumprod": lambda x: np.cumprod(x, axis=1),
    "take": lambda x, j: np.take(x, j, axis=0),
    "gather": lambda x, j: np.take_along_axis(x, j, axis=0),
    "gather_nd": lambda x, j: x[tuple(j)],
    "scatter_elements": _counts,
    "scatter_nd add": _scattered,
    "strided_slice": lambda x: x[::2, ::3].copy(),
    "tile": lambda x: np.tile(x, (2, 2)),
    "repeat": lambda x: np.repeat(x, 2, axis=1),
    "einsum": lambda x, y: x @ y,
    "dyn.broadcast_to": lambda x, y: np.broadcast_to(x, y.shape).copy(),
    "argmax": lambda x: np.argmax(x, axis=0),
    "power": lambda x, y: np.power(np.abs(x), y),
}
