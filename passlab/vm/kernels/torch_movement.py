"""Relay's operators that move, select, order or resample elements, as functions of PyTorch.

A rule returns a call's function of tensors, or None if it does not support the call's layout, dtypes or attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
import torch
import torch.nn.functional as fn

from passlab.ir.expr import Call, Constant
from passlab.ir.op import Op, op_name
from passlab.ir.types import TensorType
from passlab.op.image import scheme_of
from passlab.op.layout_names import layout_axes
from passlab.op.nn.resample import positions, taps
from passlab.op.nn.sampling import check_batch
from passlab.op.nn.upsampling import upsampling_plan
from passlab.op.reshape import infer_newshape
from passlab.op.slice import slices_of

Operation = Callable[..., Any]
Rule = Callable[[Call], "Operation | None"]
DTYPES: dict[str, torch.dtype] = {
    "bool": torch.bool,
    "uint8": torch.uint8,
    "int8": torch.int8,
    "int16": torch.int16,
    "int32": torch.int32,
    "int64": torch.int64,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float32": torch.float32,
    "float64": torch.float64,
    "uint16": torch.uint16,
    "uint32": torch.uint32,
    "uint64": torch.uint64,
}
RARE = frozenset(("uint16", "uint32", "uint64"))  # PyTorch stores these, but supports few operators on them
COMMON = frozenset(DTYPES) - RARE
FLOATS = frozenset(("float16", "bfloat16", "float32", "float64"))
WIDE = frozenset(("float32", "float64"))  # what PyTorch computes in any operator on any device
NUMBERS = COMMON - {"bool"}
SIGNED = NUMBERS - {"uint8"}
INTEGERS = NUMBERS - FLOATS
BITS = INTEGERS | {"bool"}


def dtypes(call: Call) -> set[str]:
    """Return the dtypes of a call's arguments and of their fields; "?" for other types."""
    types = [field for a in call.args for field in getattr(a.checked_type_, "fields", (a.checked_type_,))]
    return {t.dtype if isinstance(t, TensorType) else "?" for t in types}


def rank_of(call: Call, argument: int = 0) -> int:
    """Return the number of dimensions of an argument."""
    ty = call.args[argument].checked_type_
    return len(ty.shape) if isinstance(ty, TensorType) else 0


def _reshape_to(call: Call) -> Operation | None:
    ty = call.checked_type_
    shape = ty.concrete_shape if isinstance(ty, TensorType) and not ty.dynamic else None
    if shape is not None:
        return lambda x, *_: x.reshape(shape)
    attrs: Any = call.attrs
    if op_name(call) == "reshape":
        return lambda x: x.reshape(infer_newshape(tuple(x.shape), attrs.newshape, attrs.allowzero))
    if op_name(call) == "expand_dims":
        at, count = int(attrs.axis) % (rank_of(call) + 1), int(attrs.num_newaxis)
        return lambda x: x.reshape((*x.shape[:at], *(1,) * count, *x.shape[at:]))
    return (lambda x: x.flatten(1)) if op_name(call) == "nn.batch_flatten" else None


def _transpose(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    axes = tuple(int(a) for a in attrs.axes or range(rank_of(call))[::-1])
    return lambda x: x.permute(axes)


def _concatenate(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    axis = int(attrs.axis)
    return lambda parts: torch.cat(parts, axis)


def _cast(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    dtype, source = DTYPES.get(attrs.dtype), dtypes(call)
    if dtype is None or attrs.dtype in RARE:
        return None
    if not source & FLOATS or dtype.is_floating_point or dtype is torch.bool:
        return lambda x: x.to(dtype)

    def cast(x: Any) -> Any:
        # Floats wrap around where the dtype is too narrow, and become 0 where 64 bits are: PyTorch leaves that open.
        wide = x.double()
        return torch.where((wide >= -(2.0**63)) & (wide < 2.0**63), wide, 0.0).to(torch.int64).to(dtype)

    return cast


def _full(call: Call) -> Operation | None:
    result: Any = call.checked_type_
    dtype = DTYPES.get(result.dtype)
    if result.dynamic or dtype is None or (dtypes(call) & FLOATS and not dtype.is_floating_point):
        return None
    return lambda *values: values[-1].to(dtype).expand(result.concrete_shape).clone()


def _where(call: Call) -> Operation | None:
    ty = call.args[0].checked_type_
    return torch.where if isinstance(ty, TensorType) and ty.dtype == "bool" else None


# ---------------------------------------------------------------- elements that only move
class _Moved:
    """An array of the host as a tensor on the device of another, copied there once."""

    def __init__(self, array: Any) -> None:
        self.host = torch.from_numpy(np.array(array, order="C"))
        self.copies: dict[torch.device, torch.Tensor] = {}

    def beside(self, x: torch.Tensor) -> torch.Tensor:
        if x.device not in self.copies:
            self.copies[x.device] = self.host.to(x.device)
        return self.copies[x.device]


MOST_POSITIONS = 1 << 24  # elements: positions take eight bytes each


def _gathered(call: Call) -> Operation | None:
    """Compute what only moves elements: the operator on their numbers says where each element comes from."""
    assert isinstance(call.op, Op)
    ty, result = call.args[0].checked_type_, call.checked_type_
    kernel = call.op.spec.raw or call.op.spec.kernel
    if not isinstance(ty, TensorType) or not isinstance(result, TensorType) or ty.dynamic or result.dynamic:
        return None
    count = prod(ty.concrete_shape)
    if kernel is None or max(count, prod(result.concrete_shape)) > MOST_POSITIONS:
        return None
    numbers = np.arange(count, dtype=np.int64).reshape(ty.concrete_shape)
    # Other tensors only lend their shape here.
    others = [
        np.zeros(t.concrete_shape, np.int64) for a in call.args[1:] if isinstance(t := a.checked_type_, TensorType)
    ]
    places = _Moved(kernel(call.attrs, numbers, *others))
    return lambda x, *_: x.reshape(-1)[places.beside(x)]


def _broadcast(call: Call) -> Operation | None:
    ty = call.checked_type_
    shape = ty.concrete_shape if isinstance(ty, TensorType) and not ty.dynamic else None
    return None if shape is None else lambda x, *_: x.expand(shape)


def _strided_slice(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    if attrs.begin is None or attrs.end is None:
        return None
    parts = slices_of(rank_of(call), attrs.begin, attrs.end, attrs.strides or (), attrs.slice_mode, attrs.axes)
    if all(part.step is None or part.step > 0 for part in parts):
        return lambda x: x[tuple(parts)]
    return _gathered(call)


def _split(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    cuts, axis = attrs.indices_or_sections, int(attrs.axis)
    places = cuts if isinstance(cuts, int) else [int(cut) for cut in cuts]
    return lambda x: tuple(torch.tensor_split(x, places, axis))


def _stack(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    return lambda parts: torch.stack(parts, int(attrs.axis))


def _pad(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    if attrs.pad_mode != "constant":
        return _gathered(call)
    flat = [int(width) for pair in reversed(attrs.pad_width) for width in pair]
    value = call.args[1]
    if isinstance(value, Constant):
        number = value.data.item()
        return lambda x, _: fn.pad(x, flat, value=number)
    places = [(max(int(a), 0), max(int(b), 0)) for a, b in attrs.pad_width]

    def padded(x: Any, v: Any) -> Any:
        inside = fn.pad(torch.ones_like(x, dtype=torch.bool), flat)
        return torch.where(inside, fn.pad(x, flat), v.to(x.dtype)) if any(map(any, places)) else fn.pad(x, flat)

    return padded


def _trilu(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    is_upper = bool(attrs.upper)

    def trilu(x: Any, diagonal: Any) -> Any:
        rows, columns = (torch.arange(n, device=x.device) for n in x.shape[-2:])
        across = columns - rows[:, None]
        return torch.where(across >= diagonal if is_upper else across <= diagonal, x, x.new_zeros(()))

    return trilu


# ---------------------------------------------------------------- elements by their indices
def _take(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    if attrs.batch_dims:
        return None
    axis, mode = attrs.axis, attrs.mode

    def take(x: Any, indices: Any) -> Any:
        source = x.reshape(-1) if axis is None else x
        at = 0 if axis is None else int(axis) % x.dim()
        extent = source.shape[at]
        if not extent and indices.numel():
            raise IndexError("there is no element to select from")
        places = indices.long()
        if mode == "clip":
            places = places.clamp(0, max(extent - 1, 0))
        elif mode == "wrap":
            places = torch.remainder(places, max(extent, 1))
        else:
            places = torch.where(places < 0, places + extent, places)
        found = source.index_select(at, places.reshape(-1))
        return found.reshape((*source.shape[:at], *indices.shape, *source.shape[at + 1 :]))

    return take


def _from_start(indices: Any, extent: int) -> Any:
    places = indices.long()
    return torch.where(places < 0, places + extent, places)


def _gather(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    axis = int(attrs.axis)
    return lambda x, indices: torch.gather(x, axis, _from_start(indices, x.shape[axis]))


def _gather_nd(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    if attrs.batch_dims:
        return None

    def gather(x: Any, indices: Any) -> Any:
        parts = tuple(_from_start(part, x.shape[dim]) for dim, part in enumerate(indices))
        return x[parts] if parts else x.expand((*indices.shape[1:], *x.shape)).clone()

    return gather


def _one_hot(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    axis, depth = int(attrs.axis), int(attrs.depth)
    dtype = DTYPES.get(attrs.dtype) if attrs.dtype else None
    if attrs.dtype and dtype is None:
        return None

    def one_hot(indices: Any, on: Any, off: Any) -> Any:
        at = axis % (indices.dim() + 1)
        rows = torch.arange(depth, device=indices.device).reshape(
            [-1 if d == at else 1 for d in range(indices.dim() + 1)]
        )
        return torch.where(indices.unsqueeze(at) == rows, on, off).to(dtype or on.dtype)

    return one_hot


def _scatter(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    axis, reduction = int(attrs.axis), getattr(attrs, "reduction", "update")
    kinds = {"add": "sum", "mul": "prod", "min": "amin", "max": "amax"}
    if reduction == "update":  # the last of equal indices wins in NumPy, on a GPU any may
        return None
    if reduction not in kinds or not dtypes(call) <= FLOATS | INTEGERS:
        return None
    how = kinds[reduction]
    return lambda x, i, v: x.scatter_reduce(axis, _from_start(i, x.shape[axis]), v, how)


def _scan(function: Callable[..., Any], start: int) -> Rule:
    def rule(call: Call) -> Operation | None:
        attrs: Any = call.attrs
        result: Any = call.checked_type_
        dtype = DTYPES[result.dtype] if result.dtype in COMMON - {"bool"} else None
        if dtype is None or not dtypes(call) <= FLOATS | BITS or not dtypes(call) & FLOATS <= {result.dtype}:
            return None
        axis, exclusive = attrs.axis, bool(attrs.exclusive)

        def scan(x: Any) -> Any:
            source, at = (x.reshape(-1), 0) if axis is None else (x, int(axis) % x.dim())
            if exclusive:
                pads = [0] * (2 * (source.dim() - at))
                pads[-2] = 1
                source = fn.pad(source.to(dtype), pads, value=start).narrow(at, 0, source.shape[at])
            return function(source, at, dtype=dtype)

        return scan

    return rule


def _sorted(call: Call, x: Any) -> tuple[Any, Any]:
    attrs: Any = call.attrs
    result: tuple[Any, Any] = torch.sort(x, dim=int(attrs.axis), descending=not attrs.is_ascend, stable=True)
    return result


def _sort(call: Call) -> Operation | None:
    return (lambda x: _sorted(call, x)[0]) if dtypes(call) <= NUMBERS else None


def _argsort(call: Call) -> Operation | None:
    result: Any = call.checked_type_
    dtype = DTYPES.get(result.dtype)
    return None if dtype is None or not dtypes(call) <= NUMBERS else lambda x: _sorted(call, x)[1].to(dtype)


def _topk(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    dtype = DTYPES.get(attrs.dtype or "int32")
    if attrs.k is None or dtype is None or not dtypes(call) <= NUMBERS:
        return None
    axis, k, kind = int(attrs.axis), int(attrs.k), attrs.ret_type

    def topk(x: Any) -> Any:
        values, places = (part.narrow(axis, 0, k if k >= 1 else x.shape[axis]) for part in _sorted(call, x))
        return {"both": (values, places.to(dtype)), "values": values, "indices": places.to(dtype)}[kind]

    return topk


# ---------------------------------------------------------------- images
def _resize(call: Call) -> Operation | None:
    """Interpolation along one axis at a time, with the taps of the operator's own scheme."""
    attrs: Any = call.attrs
    ty: Any = call.args[0].checked_type_
    result: Any = call.checked_type_
    if not isinstance(ty, TensorType) or ty.dynamic or result.dynamic or not dtypes(call) <= FLOATS:
        return None
    name = op_name(call)
    if name.startswith("nn.upsampling"):
        axes, _, scheme, _ = upsampling_plan(attrs, ty.shape)
    else:
        axes, scheme = layout_axes(attrs.layout, ty.shape, len(attrs.size), name), scheme_of(attrs)
    if scheme.coordinates == "tf_crop_and_resize" or result.dtype != ty.dtype:
        return None
    steps = []
    for axis in reversed(axes):
        shape = [-1 if a == axis else 1 for a in range(len(ty.shape))]
        length = int(ty.concrete_shape[axis])
        sources = [
            (_Moved(index), None if weight is None else _Moved(weight.astype(np.float32).reshape(shape)))
            for index, weight in taps(scheme, length, positions(scheme, length, result.concrete_shape[axis]))
        ]
        steps.append((axis, sources))
    return partial(_resampled, steps)


def _resampled(steps: Sequence[tuple[int, Sequence[tuple[_Moved, _Moved | None]]]], x: Any) -> Any:
    for axis, sources in steps:
        terms = [
            x.index_select(axis, index.beside(x)) * (1 if weight is None else weight.beside(x).to(x.dtype))
            for index, weight in sources
        ]
        x = sum(terms[1:], terms[0])
    return x


def _grid_sample(call: Call) -> Operation | None:
    attrs: Any = call.attrs
    if attrs.layout not in ("NCHW", "NCDHW") or not dtypes(call) <= FLOATS or attrs.method == "bicubic":
        return None
    mode, padding, corners = attrs.method, attrs.padding_mode, bool(attrs.align_corners)
    last = (0, *range(2, rank_of(call)), 1)
    return lambda x, grid: fn.grid_sample(x, grid.permute(last), mode, padding, corners)


def _roi_align(call: Call) -> Operation | None:
    """The steps of the NumPy kernel; regions with the same number of samples in each bin are computed together."""
    attrs: Any = call.attrs
    is_exact = op_name(call) == "contrib.roi_align"
    if not dtypes(call) <= WIDE:
        return None

    def compute(data: Any, rois: Any) -> Any:
        images = data.permute(0, 2, 3, 1) if attrs.layout == "NCHW" else data
        batch = rois[:, 0].long()
        check_batch(op_name(call), batch.cpu().numpy(), len(images))
        pooled = torch.tensor(attrs.pooled_size, dtype=torch.float64, device=data.device)
        scaled = (rois[:, 1:] * attrs.spatial_scale).double()
        starts, sizes = scaled[:, [1, 0]], scaled[:, [3, 2]] - scaled[:, [1, 0]]
        bins = (sizes if is_exact else sizes.clamp(min=1.0)) / pooled
        grids = bins.ceil().clamp(min=0 if is_exact else 1).long()
        if attrs.sample_ratio > 0:
            grids = torch.full_like(grids, attrs.sample_ratio)
        result = images.new_zeros(len(rois), *attrs.pooled_size, images.shape[3])
        for grid in torch.unique(grids, dim=0).tolist() if len(rois) else []:
            if all(grid):  # a region without area has no samples
                own = torch.nonzero((grids == grids.new_tensor(grid)).all(1))[:, 0]
                result[own] = _aligned(attrs, images, batch[own], starts[own] - 0.5 * is_exact, bins[own], grid)
        return result.permute(0, 3, 1, 2) if attrs.layout == "NCHW" else result

    return compute


def _aligned(attrs: Any, images: Any, batch: Any, starts: Any, bins: Any, grid: list[int]) -> Any:
    corners, inside = [], []
    for axis, (in_bin, count) in enumerate(zip(grid, attrs.pooled_size, strict=True)):
        steps = (np.arange(count)[:, None] + (np.arange(in_bin) + 0.5) / in_bin).reshape(-1)
        place = (bins.new_tensor(steps) * bins[:, axis, None] + starts[:, axis, None]).to(images.dtype)
        length = images.shape[1 + axis]
        clipped = place.clamp(0, length - 1)
        low, fraction = clipped.floor().long(), clipped - clipped.floor()
        corners.append([(low, 1 - fraction), ((low + 1).clamp(max=length - 1), fraction)])
        inside.append((place >= -1) & (place <= length))
    samples = None
    for row, row_weight in corners[0]:
        for column, column_weight in corners[1]:
            pixels = images[batch[:, None, None], row[:, :, None], column[:, None, :]]
            part = pixels * (row_weight[:, :, None] * column_weight[:, None, :])[..., None]
            if samples is None:
                samples = part
            else:
                samples = torch.maximum(samples, part) if attrs.mode == "max_weighted" else samples + part
    kept = torch.where((inside[0][:, :, None] & inside[1][:, None, :])[..., None], samples, 0)
    values = kept.reshape(len(batch), attrs.pooled_size[0], grid[0], attrs.pooled_size[1], grid[1], images.shape[3])
    return values.mean((2, 4)) if attrs.mode == "avg" else values.amax((2, 4))


GATHERED = (
    "reverse", "tile", "repeat", "slice_like", "nn.mirror_pad", "nn.depth_to_space", "nn.space_to_depth",
    "layout_transform", "sliding_window", "nn.batch_to_space_nd", "vision.yolo_reorg",
)  # fmt: skip
MOVEMENT: dict[str, Rule] = {
    **dict.fromkeys(GATHERED, _gathered),
    "reshape": _reshape_to, "expand_dims": _reshape_to, "squeeze": _reshape_to, "nn.batch_flatten": _reshape_to,
    "contrib_reverse_reshape": _reshape_to, "reshape_like": _reshape_to, "broadcast_to": _broadcast,
    "broadcast_to_like": _broadcast, "transpose": _transpose, "concatenate": _concatenate, "stack": _stack,
    "split": _split, "strided_slice": _strided_slice, "nn.pad": _pad, "trilu": _trilu, "cast": _cast, "where": _where,
    "full": _full, "full_like": _full, "take": _take, "gather": _gather, "gather_nd": _gather_nd, "one_hot": _one_hot,
    "scatter_elements": _scatter, "cumsum": _scan(torch.cumsum, 0), "cumprod": _scan(torch.cumprod, 1),
    "sort": _sort, "argsort": _argsort, "topk": _topk, "image.resize1d": _resize, "image.resize2d": _resize,
    "image.resize3d": _resize, "nn.upsampling": _resize, "nn.upsampling3d": _resize, "image.grid_sample": _grid_sample,
    "vision.roi_align": _roi_align, "contrib.roi_align": _roi_align,
}  # fmt: skip
