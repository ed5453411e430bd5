"""Products of small integers that kernels compute bit by bit, and the packing of bits that these kernels read.

Data of `n` bits are the numbers from 0 to `2^n - 1`. Unipolar weights are signed: each bit counts 1 or -1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from passlab.ir.attrs import Attrs
from passlab.ir.op import OpPattern, Reporter
from passlab.ir.types import ANY, Dim, TensorType, Type
from passlab.op.autodiff import zero_gradient
from passlab.op.declare import Python, operator
from passlab.op.dtypes import Array, array_dtype, as_array
from passlab.op.fields import attrs, boolean, dtype, integer, integers, text
from passlab.op.layout_names import conversion, forward_shape
from passlab.op.nn.convolve import convolve
from passlab.op.nn.matmul import check_units
from passlab.op.nn.sliding import Window
from passlab.op.nn.windows import check_lengths, check_positive, on_axes, split_padding, window_size
from passlab.op.relations import refuse, tensor

_CONV, _DENSE, _PACK = "nn.bitserial_conv2d", "nn.bitserial_dense", "nn.bitpack"
_BITS = 32  # the most bits of an element, so that sums of products fit int64


def _integer_tensor(types: Sequence[Type], index: int, name: str, operator_name: str) -> TensorType | None:
    ty = tensor(types, index, name)
    if ty is not None and "int" not in ty.dtype:
        refuse(f"{operator_name}: {name} must be whole numbers", index, expected="an integer dtype", found=ty)
    return ty


def _check_bits(name: str, **counts: int) -> None:
    for attribute, count in counts.items():
        if not 1 <= count <= _BITS:
            refuse(f"{name}: {attribute} must be from 1 to {_BITS}", found=count)


def _weight_values(weight: Array, bits: int, unipolar: bool) -> Array:
    """Return the numbers that weights represent, as int64."""
    numbers: Array = weight.astype(np.int64) & (2**bits - 1)
    return 2 * numbers - (2**bits - 1) if unipolar else numbers


def _low_bits(data: Array, bits: int) -> Array:
    """Return the lowest `bits` bits of the data, as int64."""
    return as_array(data.astype(np.int64) & (2**bits - 1))


# ---------------------------------------------------------------- bitpack
def _packed_shape(shape: Sequence[Dim], attrs: Attrs) -> tuple[Any, ...]:
    """Return the shape of packed data, in which `attrs.bit_axis` is the index of the new axis."""
    width = np.dtype(attrs.pack_type).itemsize * 8
    result: list[Any] = list(shape)
    length = result[attrs.pack_axis]
    if isinstance(length, int) and length % width:
        refuse(f"{_PACK}: {length} elements do not fill words of {width} bits", 0)
    result[attrs.pack_axis] = length // width if isinstance(length, int) else ANY
    result.insert(attrs.bit_axis, attrs.bits)
    return tuple(result)


def _pack_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data = _integer_tensor(types, 0, "data", _PACK)
    if data is None:
        return None
    _check_bits(_PACK, bits=attrs.bits)
    rank = len(data.shape)
    if not 0 <= attrs.pack_axis < rank or not 0 <= attrs.bit_axis <= rank:
        refuse(f"{_PACK}: an axis is outside the rank {rank}", 0, found=f"{attrs.pack_axis}, {attrs.bit_axis}")
    if not attrs.pack_type.startswith("uint"):
        refuse(f"{_PACK}: bits are packed into unsigned numbers", expected='pack_type="uint32"', found=attrs.pack_type)
    return TensorType(_packed_shape(data.shape, attrs), attrs.pack_type)


@operator(
    _PACK,
    ("data",),
    attrs=attrs(
        "BitPackAttrs",
        integer("bits", 1, "the number of low bits of each element to keep"),
        integer("pack_axis", 1, "the axis whose elements share words"),
        integer("bit_axis", -1, "the index of the new axis of bits"),
        dtype("pack_type", "", "dtype of the words"),
        text("name", "BitPack", "the name of the result in kernels"),
    ),
    relation=_pack_type,
    pattern=OpPattern.INJECTIVE,
    level=2,
    out=False,
    python=Python("data, bits=1, pack_axis=1, bit_axis=2, pack_type='uint32', name='BitPack'"),
    gradient=zero_gradient,
    shapes="data (..., k, ...) -> (..., k / word, ..., bits, ...)",
    source="np.packbits, the first element in the highest bit",
    edge_cases=(
        'nn.bitpack(%x: (2, 8) uint8, bits=2, pack_axis=1, bit_axis=2, pack_type="uint8")',
        'nn.bitpack(%x: (16, 3) int8, bits=3, pack_axis=0, bit_axis=0, pack_type="uint16", name="words")',
        'nn.bitpack(%x: (0, 8) uint8, bit_axis=1, pack_type="uint8")',
    ),
    example='nn.bitpack(%levels, bits=1, pack_axis=1, bit_axis=2, pack_type="uint32")',
)
def bitpack(attrs: Attrs, data: Array) -> Array:
    """Collect bit 0 of the elements along one axis into words, then bit 1, and so on, along a new axis."""
    word = array_dtype(attrs.pack_type)
    width = word.itemsize * 8
    rows = np.moveaxis(data.astype(np.int64), attrs.pack_axis, -1)
    rows = rows.reshape(*rows.shape[:-1], rows.shape[-1] // width, width)
    positions = np.arange(width - 1, -1, -1, dtype=np.uint64)
    planes = []
    for bit in range(attrs.bits):
        ones = ((rows >> bit) & 1).astype(np.uint64)
        planes.append(np.moveaxis((ones << positions).sum(-1, dtype=np.uint64).astype(word), -1, attrs.pack_axis))
    return np.stack(planes, attrs.bit_axis)


# ---------------------------------------------------------------- bitserial_dense
def _dense_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data, weight = _integer_tensor(types, 0, "data", _DENSE), _integer_tensor(types, 1, "weight", _DENSE)
    if data is None:
        return None
    _check_bits(_DENSE, data_bits=attrs.data_bits, weight_bits=attrs.weight_bits)
    check_units(_DENSE, attrs.units)
    if not data.shape or attrs.units is None:
        refuse(f"{_DENSE}: data of at least one dimension and units are needed", 0, found=data)
    if weight is not None:
        needed = TensorType((attrs.units, data.shape[-1]), weight.dtype)
        fits = len(weight.shape) == 2 and all(
            a == b or not isinstance(a, int) or not isinstance(b, int)
            for a, b in zip(weight.shape, needed.shape, strict=True)
        )
        if not fits:
            refuse(f"{_DENSE}: the weight does not fit (packed weights are not read)", 1, expected=needed, found=weight)
    return TensorType((*data.shape[:-1], attrs.units), attrs.out_dtype or data.dtype)


@operator(
    _DENSE,
    ("data", "weight"),
    attrs=attrs(
        "BinaryDenseAttrs",
        integer("units", optional=True, doc="rows of the weight"),
        integer("data_bits", 1, "bits of an element of the data"),
        integer("weight_bits", 1, "bits of an element of the weight"),
        dtype("pack_dtype", "", "dtype of the words that kernels pack bits into"),
        dtype("out_dtype", "", "dtype of sums and result"),
        boolean("unipolar", True, "whether bits of the weight count 1 and -1, not 1 and 0"),
    ),
    relation=_dense_type,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    level=1,
    out=False,
    python=Python(
        "data, weight, units=None, data_bits=1, weight_bits=1, pack_dtype='uint32', out_dtype='int16', unipolar=True"
    ),
    gradient=zero_gradient,
    shapes="data (..., k), weight (units, k) -> (..., units)",
    source="a matrix product of whole numbers",
    edge_cases=(
        (
            "nn.bitserial_dense(%x: (2, 3) uint8 = [[0, 1, 1], [1, 0, 1]], %w: (2, 3) uint8 = [[1, 0, 1], [0, 0, 1]], "
            'units=2, pack_dtype="uint8", out_dtype="int16")'
        ),
        (
            "nn.bitserial_dense(%x: (1, 2) int8 = [[3, 1]], %w: (1, 2) int8 = [[2, 5]], units=1, data_bits=2, "
            'weight_bits=3, pack_dtype="uint8", out_dtype="int32", unipolar=False)'
        ),
        "nn.bitserial_dense(%x: (0, 3) int16, %w: (2, 3) int16, units=2)",
    ),
    example='nn.bitserial_dense(%levels, %levels, units=2, data_bits=2, pack_dtype="uint8", out_dtype="int16")',
)
def bitserial_dense(attrs: Attrs, data: Array, weight: Array) -> Array:
    """Multiply `data` (..., k) by the transpose of `weight` (units, k), both of few bits."""
    signed = _weight_values(weight, attrs.weight_bits, attrs.unipolar)
    result = _low_bits(data, attrs.data_bits) @ signed.T
    return result.astype(array_dtype(attrs.out_dtype) if attrs.out_dtype else data.dtype)


# ---------------------------------------------------------------- bitserial_conv2d
def _conv_window(attrs: Attrs) -> Window:
    check_lengths(2, strides=attrs.strides, kernel_size=attrs.kernel_size)
    check_positive(strides=attrs.strides, kernel_size=attrs.kernel_size)
    before, after = split_padding(attrs.padding, 2)
    return Window(attrs.strides, before, after, (1, 1))


def _conv_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data, weight = _integer_tensor(types, 0, "data", _CONV), _integer_tensor(types, 1, "weight", _CONV)
    if data is None:
        return None
    _check_bits(_CONV, activation_bits=attrs.activation_bits, weight_bits=attrs.weight_bits)
    if attrs.channels is None or not attrs.out_dtype:
        refuse(f"{_CONV}: channels and out_dtype are needed", found=f"{attrs.channels}, {attrs.out_dtype!r}")
    nchw, window = conversion(attrs.data_layout, "NCHW", "data_layout"), _conv_window(attrs)
    batch, inputs, *size = forward_shape(nchw, data.shape, "data", 0)
    if weight is not None:
        oihw = conversion(attrs.kernel_layout, "OIHW", "kernel_layout")
        kernel = forward_shape(oihw, weight.shape, "weight", 1)
        expected = (attrs.channels, inputs, *attrs.kernel_size)
        if any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(kernel, expected, strict=True)):
            refuse(f"{_CONV}: the weight does not fit", 1, expected=list(expected), found=list(kernel))
    result = [
        window_size(size[i], attrs.kernel_size[i], attrs.strides[i], window.before[i], window.after[i], 1, axis=i)
        for i in range(2)
    ]
    return TensorType(nchw.backward_shape((batch, attrs.channels, *result)), attrs.out_dtype)


@operator(
    _CONV,
    ("data", "weight"),
    attrs=attrs(
        "BinaryConv2DAttrs",
        integers("strides", (1, 1), "steps of the window"),
        integers("padding", (0, 0), "zeros around the data: both sides alike, or all befores then all afters"),
        integers("kernel_size", (3, 3), "size of the window"),
        integer("channels", None, "number of output channels"),
        integer("activation_bits", 1, "bits of an element of the data"),
        integer("weight_bits", 1, "bits of an element of the weight"),
        text("data_layout", "NCHW", "layout of the data and of the result"),
        text("kernel_layout", "OIHW", "layout of the weight: O output channels, I input channels"),
        dtype("pack_dtype", "", "dtype of the words that kernels pack bits into"),
        dtype("out_dtype", "", "dtype of sums and result"),
        boolean("unipolar", True, "whether bits of the weight count 1 and -1, not 1 and 0"),
    ),
    relation=_conv_type,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    level=2,
    out=False,
    python=Python(
        "data, weight, strides=(1, 1), padding=(0, 0), channels=None, kernel_size=(3, 3), "
        "activation_bits=1, weight_bits=1, data_layout='NCHW', kernel_layout='OIHW', "
        "pack_dtype='uint32', out_dtype='int16', unipolar=True",
        strides=on_axes(2),
        kernel_size=on_axes(2),
    ),
    gradient=zero_gradient,
    shapes="data (N, C, H, W), weight (O, C, KH, KW) -> (N, O, OH, OW)",
    source="a convolution of whole numbers",
    edge_cases=(
        (
            "nn.bitserial_conv2d(%x: (1, 2, 3, 3) uint8, %w: (2, 2, 2, 2) uint8, kernel_size=[2, 2], "
            'padding=[1, 0, 1, 1], channels=2, activation_bits=2, weight_bits=3, pack_dtype="uint8", out_dtype="int32")'
        ),
        (
            "nn.bitserial_conv2d(%x: (1, 3, 4, 2) int8, %w: (2, 2, 2, 1) int8, kernel_size=[2, 2], strides=[1, 2], "
            'channels=1, data_layout="NHWC", kernel_layout="HWIO", pack_dtype="uint8", out_dtype="int16", '
            "unipolar=False)"
        ),
        'nn.bitserial_conv2d(%x: (0, 1, 3, 3) uint8, %w: (2, 1, 3, 3) uint8, channels=2, out_dtype="int16")',
    ),
    example=(
        "nn.bitserial_conv2d(%pixels, %pixels, padding=[1, 1], kernel_size=[3, 3], channels=1, activation_bits=2, "
        'pack_dtype="uint8", out_dtype="int16")'
    ),
)
def bitserial_conv2d(attrs: Attrs, data: Array, weight: Array) -> Array:
    """Slide windows over two axes and sum the products of elements and weight, both of few bits."""
    nchw = conversion(attrs.data_layout, "NCHW", "data_layout")
    kernel = conversion(attrs.kernel_layout, "OIHW", "kernel_layout").forward(weight)
    image = nchw.forward(_low_bits(data, attrs.activation_bits))
    signed = _weight_values(kernel, attrs.weight_bits, attrs.unipolar)
    result = convolve(image, signed, _conv_window(attrs), 1, np.dtype(np.int64))
    return np.ascontiguousarray(nchw.backward(result)).astype(array_dtype(attrs.out_dtype))
