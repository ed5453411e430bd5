"""The example of every operator of networks, images and vision is a program that runs, with the type that it says."""

from __future__ import annotations

import re

import numpy as np
import pytest

import passlab
from passlab.evaluate import Evaluator
from passlab.ir.op import Op
from passlab.ir.types import FuncType
from passlab.op.dtypes import array_dtype
from tests.op.test_declarations import MINE, check

NAMES = [n for n in Op.list_op_names() if n not in MINE]
IMAGE = "1, 4, 8, 8"
# What the free variables of examples stand for: a shape, and for what is no float32 data, a dtype and values.
EVERYWHERE = {"gamma": "4", "beta": "4", "mean": "4", "var": "4", "b": "4", "a": "4", "data": "3", "loc": "1, 8"}
VALUES: dict[str, tuple[str, str, object]] = {
    "indices": ("3", "int32", [0, 2, 1]), "indptr": ("4", "int32", [0, 1, 2, 3]), "h": ("", "float32", 2),
    "d": ("", "float32", 2), "size": ("2", "int64", [6, 7]),
    "widths": ("2, 2", "int64", [[1, 0], [0, 2]]), "count": ("1", "int32", [3]),
    "levels": ("2, 32", "uint8", [[0, 1] * 16, [1, 1] * 16]), "pixels": ("1, 1, 3, 3", "uint8", [[[[0, 1, 1]] * 3]]),
}  # fmt: skip
SHAPES: dict[str, dict[str, str]] = {
    "dyn.image.resize2d": {"roi": "4"},
    "dyn.nn.pad": {"x": "2, 3"},
    "dyn.nn.upsampling3d": {"x": "1, 1, 2, 2, 2"},
    "image.affine_grid": {"theta": "1, 2, 3"},
    "image.crop_and_resize": {"boxes": "3, 4"},
    "image.dilation2d": {"w": "4, 3, 3"},
    "image.grid_sample": {"grid": "1, 2, 5, 6"},
    "nn.avg_pool2d_grad": {"grad": "1, 4, 4, 4"},
    "nn.max_pool2d_grad": {"grad": "1, 4, 4, 4"},
    "nn.batch_matmul": {"x": "2, 2, 3", "y": "2, 4, 3"},
    "nn.batch_to_space_nd": {"x": "4, 2, 2, 3"},
    "nn.conv1d": {"x": "1, 4, 8", "w": "8, 4, 3"},
    "nn.conv1d_transpose": {"x": "1, 4, 8", "w": "4, 8, 3"},
    "nn.conv2d": {"w": "8, 4, 3, 3"},
    "nn.conv2d_backward_weight": {"grad": "1, 8, 6, 6"},
    "nn.conv2d_transpose": {"w": "4, 8, 4, 4"},
    "nn.contrib_conv2d_NCHWc": {"x": "1, 1, 8, 8, 8", "w": "2, 1, 3, 3, 8, 8"},
    "nn.contrib_dense_pack": {"x": "2, 3", "w": "2, 3, 8"},
    "nn.contrib_depthwise_conv2d_NCHWc": {"x": "1, 2, 8, 8, 8", "w": "2, 1, 3, 3, 1, 8"},
    "nn.conv3d": {"x": "1, 4, 5, 5, 5", "w": "8, 4, 3, 3, 3"},
    "nn.conv3d_transpose": {"x": "1, 4, 3, 3, 3", "w": "4, 8, 2, 2, 2"},
    "nn.correlation": {"y": IMAGE},
    "nn.cross_entropy": {"p": "2, 3", "y": "2, 3"},
    "nn.cross_entropy_with_logits": {"logp": "2, 3", "y": "2, 3"},
    "nn.deformable_conv2d": {"offset": "1, 18, 6, 6", "w": "8, 4, 3, 3"},
    "nn.dense": {"x": "2, 3", "w": "16, 3"},
    "nn.dilate": {"x": "2, 3"},
    "nn.fifo_buffer": {"x": "2, 3", "buffer": "4, 3"},
    "nn.internal.sparse_dense_padded": {"x": "2, 3"},
    "nn.layer_norm": {"x": "2, 4"},
    "nn.matmul": {"x": "2, 3", "w": "3, 16"},
    "nn.mirror_pad": {"x": "2, 3"},
    "nn.nll_loss": {"logp": "3, 4", "w": "4"},
    "nn.pad": {"x": "2, 3"},
    "nn.softmax": {"x": "2, 3"},
    "nn.sparse_add": {"x": "3, 3"},
    "nn.sparse_conv2d": {"x": "1, 2, 2, 3", "data": "3, 1, 1"},
    "nn.sparse_dense": {"x": "2, 3"},
    "nn.space_to_batch_nd": {"x": "1, 4, 4, 2"},
    "nn.upsampling3d": {"x": "1, 1, 2, 2, 2"},
    "vision.all_class_non_max_suppression": {"boxes": "1, 3, 4", "scores": "1, 2, 3"},
    "vision.get_valid_counts": {"x": "1, 3, 6"},
    "vision.multibox_transform_loc": {"p": "1, 2, 2", "anchor": "1, 2, 4"},
    "vision.non_max_suppression": {"x": "1, 3, 6"},
    "vision.proposal": {"p": "1, 2, 2, 2", "moves": "1, 4, 2, 2", "info": "1, 3"},
    "vision.regular_non_max_suppression": {"boxes": "1, 3, 4", "scores": "1, 3, 3"},
    "vision.roi_align": {"rois": "1, 5"},
    "vision.roi_pool": {"rois": "1, 5"},
}  # fmt: skip
GIVEN: dict[tuple[str, str], tuple[str, str, object]] = {
    **{(f"dyn.nn.{name}", "w"): ("", "float32", 2) for name in ("upsampling", "upsampling3d")},
    ("nn.nll_loss", "t"): ("3", "int32", [0, 1, 3]),
    ("image.crop_and_resize", "indices"): ("3", "int32", [0, 0, 0]),
    ("vision.non_max_suppression", "indices"): ("1, 3", "int32", [[0, 1, 2]]),
}


def parameter(name: str, label: str, default: str) -> tuple[str, str, object]:
    own = GIVEN.get((name, label)) or (None if label in SHAPES.get(name, {}) else VALUES.get(label))
    return own or (SHAPES.get(name, {}).get(label, EVERYWHERE.get(label, default)), "float32", None)


@pytest.mark.parametrize("name", NAMES)
def test_every_example_runs(name: str) -> None:
    text = Op.get(name).spec.example
    rank = re.search(r"\.\w+?([13])d", name)
    image = {"1": "1, 4, 8", "3": "1, 4, 4, 4, 4"}[rank[1]] if rank else IMAGE
    table = {v: parameter(name, v, image) for v in dict.fromkeys(re.findall(r"%(\w+)", text))}
    params = ", ".join(f"%{v}: Tensor[({shape}), {dtype}]" for v, (shape, dtype, _) in table.items())
    mod = passlab.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{ {text} }}')
    ty = mod["main"].checked_type
    assert isinstance(ty, FuncType)
    rng = np.random.default_rng(2)
    inputs = [
        np.asarray(rng.random(t.shape) if value is None else value, array_dtype(t.dtype))  # type: ignore[attr-defined]
        for t, (_, _, value) in zip(ty.arg_types, table.values(), strict=True)
    ]
    check(Evaluator(mod).run("main", inputs), ty.ret_type)
