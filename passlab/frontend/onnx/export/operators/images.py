"""Image operators: blocks, resizing, sampling, regions."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab.frontend.onnx.export.emitter import GraphEmitter, op_name
from passlab.frontend.onnx.export.operators.neural import cast_to_result, channels_first, onnx_padding, per_axis
from passlab.frontend.onnx.export.operators.shapes import in_layout
from passlab.frontend.onnx.export.table import exports
from passlab.ir.expr import Constant
from passlab.ir.op import OpCall
from passlab.op.nn.resample import rounding_rule


@exports("nn.depth_to_space", "nn.space_to_depth")
def blocks(e: GraphEmitter, call: OpCall, data: str) -> str:
    """DepthToSpace, SpaceToDepth."""
    attrs = call.attrs
    result = in_layout(e, data, attrs.layout, "NCHW")
    if op_name(call) == "nn.depth_to_space":
        mode = "DCR" if attrs.mode == "DCR" else "CRD"
        result = e.node("DepthToSpace", [result], blocksize=attrs.block_size, mode=mode)
    else:  # positions precede channels, whatever the mode
        result = e.node("SpaceToDepth", [result], blocksize=attrs.block_size)
    return in_layout(e, result, "NCHW", attrs.layout)


@exports("image.resize1d", "image.resize2d", "image.resize3d")
def resize(e: GraphEmitter, call: OpCall, data: str) -> str:
    """Resize to a size."""
    layout = channels_first(e, call)
    return _resize(e, call, data, per_axis(call.attrs.size, len(layout) - 2), layout)


@exports("dyn.image.resize2d")
def dyn_resize(e: GraphEmitter, call: OpCall, data: str, size: str, roi: str) -> str:
    """Resize to a size that is a tensor."""
    return _resize(e, call, data, e.cast(size, "int64"), "NCHW")


def _nearest_mode(rule: str) -> str:
    """Return ONNX's name of a rule of Relay: halves are away from zero, and positions not below it."""
    return "round_prefer_ceil" if rule == "round" else rule


def _rounding(e: GraphEmitter, call: OpCall, size: str | list[int]) -> str:
    """Return ONNX's rounding mode for a call; Relay repeats elements where sizes are whole multiples."""
    attrs = call.attrs
    rule = rounding_rule(attrs.coordinate_transformation_mode, attrs.rounding_method)
    if attrs.coordinate_transformation_mode == "asymmetric" and rule != "floor" and isinstance(size, list):
        shape = e.type(call.args[0]).shape
        lengths = [dim for axis, dim in zip(attrs.layout, shape, strict=True) if axis not in "NC"]
        repeated = {
            isinstance(length, int) and length > 0 and count % length == 0
            for length, count in zip(lengths, size, strict=True)
        }
        if repeated == {True, False}:
            e.refuse("sizes that repeat elements along some axes only are not written with this rounding")
        rule = "floor" if repeated == {True} else rule
    return _nearest_mode(rule)


def _resize(e: GraphEmitter, call: OpCall, data: str, size: str | list[int], layout: str) -> str:
    attrs = call.attrs
    result = in_layout(e, data, attrs.layout, layout)
    shape = e.type(call.args[0]).shape
    leading = [dim for axis, dim in zip(attrs.layout, shape, strict=True) if axis in "NC" and isinstance(dim, int)]
    if isinstance(size, list) and len(leading) == 2 and attrs.layout.index("N") < attrs.layout.index("C"):
        sizes = e.ints(*leading, *size)
    else:
        spatial = e.ints(*size) if isinstance(size, list) else size
        sizes = e.node("Concat", [e.node("Shape", [result], start=0, end=2), spatial], axis=0)
    mode = {"nearest_neighbor": "nearest", "linear": "linear", "cubic": "cubic"}[attrs.method]
    coordinates = attrs.coordinate_transformation_mode
    if coordinates not in ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"):
        e.refuse(f"the coordinates {coordinates} are not written")
    more: dict[str, Any] = {"nearest_mode": _rounding(e, call, size)} if mode == "nearest" else {}
    if mode == "cubic":
        more = {"cubic_coeff_a": attrs.cubic_alpha, "exclude_outside": int(bool(attrs.cubic_exclude))}
    result = e.node("Resize", [result, "", "", sizes], mode=mode, coordinate_transformation_mode=coordinates, **more)
    return cast_to_result(e, call, in_layout(e, result, layout, attrs.layout))


@exports("nn.upsampling")
def upsampling(e: GraphEmitter, call: OpCall, data: str) -> str:
    """Resize by factors; the first position stays the first, whatever the method."""
    attrs = call.attrs
    result = in_layout(e, data, attrs.layout, "NCHW")
    mode = {"nearest_neighbor": "nearest", "bilinear": "linear", "bicubic": "cubic"}[attrs.method]
    coordinates = "align_corners" if attrs.align_corners else "asymmetric"
    scales = e.constant([1, 1, attrs.scale_h, attrs.scale_w], "float32")
    more: dict[str, Any] = {"nearest_mode": _nearest_mode(rounding_rule(coordinates))} if mode == "nearest" else {}
    if mode == "cubic":
        more = {"cubic_coeff_a": -0.5}
    result = e.node("Resize", [result, "", scales], mode=mode, coordinate_transformation_mode=coordinates, **more)
    return in_layout(e, result, "NCHW", attrs.layout)


@exports("image.grid_sample")
def grid_sample(e: GraphEmitter, call: OpCall, data: str, grid: str) -> str:
    """GridSample, with the coordinates of the grid along the last axis."""
    attrs = call.attrs
    rank = e.rank(call.args[0])
    if attrs.layout not in ("NCHW", "NCDHW") or (rank == 5 and e.opset < 20):
        e.refuse("images are written, of the layout NCHW, and volumes of NCDHW from opset 20 on")
    mode = attrs.method if e.opset < 20 else {"bilinear": "linear", "bicubic": "cubic"}.get(attrs.method, attrs.method)
    grid = e.transpose(grid, [0, *range(2, rank), 1])
    corners = int(bool(attrs.align_corners))
    return e.node("GridSample", [data, grid], mode=mode, padding_mode=attrs.padding_mode, align_corners=corners)


@exports("vision.roi_align", "contrib.roi_align")
def roi_align(e: GraphEmitter, call: OpCall, data: str, rois: str) -> str:
    """RoiAlign; Relay stores the index of the image in the first column of the regions."""
    attrs = call.attrs
    if attrs.layout != "NCHW":
        e.refuse("regions are taken from the layout NCHW")
    if attrs.mode == "max":
        e.refuse("ONNX takes the largest of the weighted neighbours of a sample, Relay the largest of their sums")
    boxes = e.cast(e.node("Slice", [rois, e.ints(1), e.ints(5), e.ints(1)]), e.type(call).dtype)
    images = e.cast(e.node("Squeeze", [e.node("Slice", [rois, e.ints(0), e.ints(1), e.ints(1)]), e.ints(1)]), "int64")
    return e.node(
        "RoiAlign",
        [data, boxes, images],
        mode="avg" if attrs.mode == "avg" else "max",
        output_height=per_axis(attrs.pooled_size, 2)[0],
        output_width=per_axis(attrs.pooled_size, 2)[1],
        sampling_ratio=max(attrs.sample_ratio, 0),
        spatial_scale=attrs.spatial_scale,
        coordinate_transformation_mode="half_pixel" if op_name(call) == "contrib.roi_align" else "output_half_pixel",
    )


@exports("nn.deformable_conv2d")
def deformable_conv2d(e: GraphEmitter, call: OpCall, data: str, offset: str, weight: str) -> str:
    """DeformConv (from opset 19 on), of images in the layout NCHW."""
    attrs = call.attrs
    if e.opset < 19:
        e.refuse("ONNX has no DeformConv before opset 19")
    if (attrs.data_layout, attrs.kernel_layout) != ("NCHW", "OIHW") or attrs.out_layout not in ("", "NCHW"):
        e.refuse("images are written, of the layout NCHW")
    return e.node(
        "DeformConv",
        [data, weight, offset],
        kernel_shape=list(e.shape(call.args[2])[2:]),
        pads=onnx_padding(attrs.padding, 2),
        strides=per_axis(attrs.strides, 2),
        dilations=per_axis(attrs.dilation, 2),
        group=attrs.groups,
        offset_group=attrs.deformable_groups,
    )


@exports("vision.all_class_non_max_suppression")
def non_max_suppression(e: GraphEmitter, call: OpCall, boxes: str, scores: str, *limits: str) -> list[str]:
    """NonMaxSuppression, with its rows padded to the maximum number, and their count."""
    if call.attrs.output_format != "onnx":
        e.refuse('selected boxes are written in ONNX\'s form: `output_format="onnx"`')
    max_boxes, _, threshold = limits
    overlap = call.args[3]
    if not isinstance(overlap, Constant) or not 0 < float(overlap.data) <= 1:
        e.refuse("the overlap must be a constant above 0: ONNX suppresses what exceeds it, Relay what reaches it")
    # ONNX suppresses what exceeds the threshold, Relay what reaches it
    below = e.constant([np.nextafter(np.float32(overlap.data), np.float32(0))], "float32")
    one = e.ints(1)
    bounds = [e.node("Reshape", [e.cast(max_boxes, "int64"), one]), below, e.node("Reshape", [threshold, one])]
    selected = e.node("NonMaxSuppression", [boxes, scores, *bounds])
    count = e.node("Shape", [selected], start=0, end=1)
    capacity = e.node("ReduceProd", [e.node("Shape", [scores])], keepdims=1)
    pads = e.node("Concat", [e.ints(0, 0), e.node("Sub", [capacity, count]), e.ints(0)], axis=0)
    return [e.node("Pad", [selected, pads]), count]
