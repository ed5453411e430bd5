"""Definitions of the operators of neural networks, for small arrays; see `elements`."""

from __future__ import annotations

import itertools
import math
import re
from types import SimpleNamespace
from typing import Any

import numpy as np

from passlab.definitions.elements import KEEPS_WIDTH, MEANING, Meaning, _quotient, is_int, means, wide
from passlab.definitions.places import bilinear
from passlab.op.dtypes import Array


def _spread(values: Any, rank: int) -> tuple[int, ...]:
    size_list: tuple[int, ...] = (values,) if isinstance(values, int) else tuple(values)
    return size_list * (rank // len(size_list)) if len(size_list) < rank else size_list


def _sides(padding: Any, rank: int) -> list[tuple[int, int]]:
    values = tuple(padding)
    values = values * (2 * rank // len(values))
    return list(zip(values[:rank], values[rank:], strict=True))


def _to(x: Any, layout: str, other: str) -> Any:
    """Return x in another layout; split axes, such as 4c, are joined first and split afterwards."""
    names = re.findall("[A-Za-z]", layout)
    for letter in [name for name in names if name.islower()]:
        source, target = names.index(letter), names.index(letter.upper()) + 1
        x = np.moveaxis(x, source, target - (source < target))
        names.remove(letter)
        at = names.index(letter.upper())
        x = x.reshape(*x.shape[:at], -1, *x.shape[at + 2 :])
    parts = re.findall(r"(\d*)([A-Za-z])", other)
    x = x.transpose([names.index(name) for _, name in parts if name.isupper()])
    names = [name for _, name in parts if name.isupper()]
    for size, letter in [part for part in parts if part[0]]:
        at = names.index(letter.upper())
        x = x.reshape(*x.shape[:at], -1, int(size), *x.shape[at + 1 :])
        names.insert(at + 1, letter)
    return x.transpose([names.index(name) for _, name in parts])


def _number(x: Any) -> Any:
    return x.astype(np.int64) if is_int(x) else x


# ---------------------------------------------------------------- convolutions
def conv(x: Any, w: Any, attrs: Any) -> Array:
    """Convolve x (N, C, *S) with w (O, C / groups, *K), padded with zeros."""
    rank = x.ndim - 2
    strides, dilation = _spread(attrs.strides, rank), _spread(attrs.dilation, rank)
    x, w = np.pad(_number(x), [(0, 0), (0, 0), *_sides(attrs.padding, rank)]), _number(w)
    reach = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilation, strict=True)]
    out = [(n - r) // s + 1 for n, r, s in zip(x.shape[2:], reach, strides, strict=True)]
    each_in, each_out = w.shape[1], w.shape[0] // attrs.groups
    result = np.zeros((x.shape[0], w.shape[0], *out), np.result_type(x, w))
    for o, *at in np.ndindex(w.shape[0], *out):
        first = o // each_out * each_in
        spots = tuple(slice(a * s, a * s + r, d) for a, s, r, d in zip(at, strides, reach, dilation, strict=True))
        patch = x[(slice(None), slice(first, first + each_in), *spots)]
        result[(slice(None), o, *at)] = (patch * w[o]).sum(tuple(range(1, patch.ndim)))
    return result


_PLAIN = {1: ("NCW", "OIW"), 2: ("NCHW", "OIHW"), 3: ("NCDHW", "OIDHW")}


def _conv(attrs: Any, x: Any, w: Any) -> Any:
    data, kernel = _PLAIN[len(attrs.strides)]
    x, w = _to(x, attrs.data_layout, data), _to(w, attrs.kernel_layout, kernel)
    if w.shape[1] * attrs.groups != x.shape[1]:  # a multiplier for each channel
        w = w.reshape(-1, 1, *w.shape[2:])
    return _to(conv(x, w, attrs), data, attrs.out_layout or attrs.data_layout)


def _conv_transpose(attrs: Any, x: Any, w: Any) -> Any:
    rank = x.ndim - 2
    data, kernel = _PLAIN[rank]
    x, w = _to(x, attrs.data_layout, data), _to(w, attrs.kernel_layout, f"IO{kernel[2:]}")
    strides, dilation = _spread(attrs.strides, rank), _spread(attrs.dilation, rank)
    extra, sides = _spread(attrs.output_padding, rank), _sides(attrs.padding, rank)
    x, w = _number(x), _number(w)
    reach = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilation, strict=True)]
    full = [(n - 1) * s + r + e for n, s, r, e in zip(x.shape[2:], strides, reach, extra, strict=True)]
    each_in, each_out = x.shape[1] // attrs.groups, w.shape[1]
    result = np.zeros((len(x), each_out * attrs.groups, *full), np.result_type(x, w))
    for c, *at in np.ndindex(*x.shape[1:]):
        spots = tuple(slice(a * s, a * s + r, d) for a, s, r, d in zip(at, strides, reach, dilation, strict=True))
        first = c // each_in * each_out
        part = x[(slice(None), c, *at)].reshape(-1, *[1] * (rank + 1)) * w[c]
        result[(slice(None), slice(first, first + each_out), *spots)] += part
    cut = tuple(slice(a, n - b) for (a, b), n in zip(sides, full, strict=True))
    return _to(result[(slice(None), slice(None), *cut)], data, attrs.out_layout or attrs.data_layout)


MEANING["nn.contrib_conv2d_NCHWc"] = MEANING["nn.contrib_depthwise_conv2d_NCHWc"] = _conv
for _rank in (1, 2, 3):
    MEANING[f"nn.conv{_rank}d"] = _conv
    MEANING[f"nn.conv{_rank}d_transpose"] = _conv_transpose


@means("nn.conv2d_backward_weight")
def conv2d_backward_weight(attrs: Any, g: Any, x: Any) -> Any:
    """Define `nn.conv2d_backward_weight`."""
    kh, kw = attrs.kernel_size
    (sh, sw), (dh, dw) = attrs.strides, attrs.dilation
    g, x = _to(g, attrs.data_layout, "NCHW"), _to(x, attrs.kernel_layout, "NCHW")
    x = np.pad(x, [(0, 0), (0, 0), *_sides(attrs.padding, 2)])
    each = x.shape[1] // attrs.groups
    result = np.zeros((g.shape[1], each, kh, kw), _number(g).dtype)
    for o, k, i, j in np.ndindex(*result.shape):
        c = o // (g.shape[1] // attrs.groups) * each + k
        taps = x[:, c, i * dh : i * dh + g.shape[2] * sh : sh, j * dw : j * dw + g.shape[3] * sw : sw]
        result[o, k, i, j] = (_number(g[:, o]) * _number(taps)[:, : g.shape[2], : g.shape[3]]).sum()
    return _to(result, "OIHW", attrs.out_layout or "OIHW")


@means("nn.deformable_conv2d")
def deformable_conv2d(attrs: Any, x: Any, offset: Any, w: Any) -> Any:
    """Define `nn.deformable_conv2d`."""
    x, offset = _to(x, attrs.data_layout, "NCHW"), _to(offset, attrs.data_layout, "NCHW")
    w = _to(w, attrs.kernel_layout, "OIHW")
    (kh, kw), each_in = w.shape[2:], w.shape[1]
    result = np.zeros((x.shape[0], w.shape[0], *offset.shape[2:]))
    deep = x.shape[1] // attrs.deformable_groups
    for n, o, i, j in np.ndindex(*result.shape):
        for c, a, b in np.ndindex(*w.shape[1:]):
            channel = o // (w.shape[0] // attrs.groups) * each_in + c
            tap = 2 * (channel // deep * kh * kw + a * kw + b)
            y = i * attrs.strides[0] - attrs.padding[0] + a * attrs.dilation[0] + wide(offset[n, tap, i, j])
            z = j * attrs.strides[1] - attrs.padding[1] + b * attrs.dilation[1] + wide(offset[n, tap + 1, i, j])
            result[n, o, i, j] += bilinear(wide(x[n, channel]), y, z) * w[o, c, a, b]
    return _to(result, "NCHW", attrs.out_layout or attrs.data_layout)


@means("nn.correlation")
def correlation(attrs: Any, x: Any, y: Any) -> Array:
    """FlowNet's correlation: for each position and displacement the mean over a window and the channels."""
    pad = attrs.padding[0]
    x, y = (np.pad(wide(v), [(0, 0), (0, 0), (pad, pad), (pad, pad)]) for v in (x, y))
    half, far, step = (attrs.kernel_size - 1) // 2, attrs.max_displacement, attrs.stride2
    border, span = half + far, range(-(far // step) * step, far + 1, step)
    positions = [range(border, n - border, attrs.stride1) for n in x.shape[2:]]
    result = np.zeros((len(x), len(span) ** 2, len(positions[0]), len(positions[1])))
    for number, (dy, dx) in enumerate(itertools.product(span, span)):
        for (a, i), (b, j) in itertools.product(enumerate(positions[0]), enumerate(positions[1])):
            one = x[:, :, i - half : i + half + 1, j - half : j + half + 1]
            two = y[:, :, i + dy - half : i + dy + half + 1, j + dx - half : j + dx + half + 1]
            terms = one * two if attrs.is_multiply else np.abs(one - two)
            result[:, number, a, b] = terms.sum((1, 2, 3)) / (attrs.kernel_size**2 * x.shape[1])
    return result


# ---------------------------------------------------------------- products
@means("nn.dense")
def dense(attrs: Any, x: Any, w: Any) -> Any:
    """Define `nn.dense`."""
    return np.einsum("...k,uk->...u", _number(x), _number(w))


@means("nn.contrib_dense_pack")
def contrib_dense_pack(attrs: Any, x: Any, w: Any) -> Any:
    """Define `nn.contrib_dense_pack`."""
    return np.einsum("mk,uk->mu", _number(x), _number(_to(w, attrs.weight_layout, "NC")))


def _digits(x: Any, count: int, ones: int = 1, zeros: int = 0) -> Any:
    """Return the low binary digits of numbers, each weighted with `ones` or `zeros` times its power of two."""
    plane_list = [np.where(np.mod(_number(x) // 2**at, 2) == 1, ones, zeros) * 2**at for at in range(count)]
    return np.sum(plane_list, 0)


def _weight(attrs: Any, w: Any) -> Any:
    return _digits(w, attrs.weight_bits, 1, -1 if attrs.unipolar else 0)


@means("nn.bitserial_dense")
def bitserial_dense(attrs: Any, x: Any, w: Any) -> Any:
    """Define `nn.bitserial_dense`."""
    return np.einsum("...k,uk->...u", _digits(x, attrs.data_bits), _weight(attrs, w))


@means("nn.bitserial_conv2d")
def bitserial_conv2d(attrs: Any, x: Any, w: Any) -> Any:
    """Define `nn.bitserial_conv2d`."""
    x, w = _to(x, attrs.data_layout, "NCHW"), _to(w, attrs.kernel_layout, "OIHW")
    plain = SimpleNamespace(strides=attrs.strides, padding=attrs.padding, dilation=(1, 1), groups=1)
    result = conv(_digits(x, attrs.activation_bits), _weight(attrs, w), plain)
    return _to(result, "NCHW", attrs.data_layout)


@means("nn.bitpack")
def bitpack(attrs: Any, x: Any) -> Array:
    """Define `nn.bitpack`."""
    width = np.dtype(attrs.pack_type).itemsize * 8
    planes = []
    for bit in range(attrs.bits):
        ones = np.mod(_number(x) // 2**bit, 2)
        words = [np.take(ones, range(at, ones.shape[attrs.pack_axis], width), attrs.pack_axis) for at in range(width)]
        planes.append(sum((word.astype(object) * 2 ** (width - 1 - at) for at, word in enumerate(words)), start=0))
    return np.stack(planes, attrs.bit_axis).astype(np.uint64)


@means("nn.matmul", "nn.batch_matmul")
def matmul(attrs: Any, a: Any, b: Any) -> Any:
    """Define `nn.matmul` and `nn.batch_matmul`."""
    a, b = _number(a), _number(b)
    a, b = (a.swapaxes(-1, -2) if attrs.transpose_a else a), (b.swapaxes(-1, -2) if attrs.transpose_b else b)
    return np.einsum("...mk,...kn->...mn", a, b)


def _csr(data: Any, indices: Any, indptr: Any, columns: int) -> Any:
    """Return a matrix in compressed sparse rows, of elements or blocks, as a dense one."""
    block = data.shape[1:] if data.ndim == 3 else (1, 1)
    result = np.zeros(((len(indptr) - 1) * block[0], columns), data.dtype)
    for row in range(len(indptr) - 1):
        for at in range(int(indptr[row]), int(indptr[row + 1])):
            column = int(indices[at])
            result[row * block[0] : (row + 1) * block[0], column * block[1] : (column + 1) * block[1]] += data[at]
    return _number(result)


def _sparse_product(data: Any, indices: Any, indptr: Any, x: Any) -> Array:
    """Multiply a matrix in compressed sparse rows by a dense one: elements that are not stored never meet a NaN."""
    block = data.shape[1:] if data.ndim == 3 else (1, 1)
    data, x = _number(data.reshape(-1, *block)), _number(x)
    result = np.zeros(((len(indptr) - 1) * block[0], x.shape[1]), np.result_type(x))
    for row in range(len(indptr) - 1):
        for at in range(int(indptr[row]), int(indptr[row + 1])):
            first = int(indices[at]) * block[1]
            for i, j in np.ndindex(*block):
                result[row * block[0] + i] += data[at, i, j] * x[first + j]
    return result


@means("nn.sparse_dense", "nn.internal.sparse_dense_padded")
def sparse_dense(attrs: Any, x: Any, data: Any, indices: Any, indptr: Any) -> Array:
    """Define `nn.sparse_dense` and `nn.internal.sparse_dense_padded`."""
    product = _sparse_product(data, indices, indptr, x.T)
    return product if attrs.sparse_lhs else product.T


@means("nn.sparse_add")
def sparse_add(attrs: Any, x: Any, data: Any, indices: Any, indptr: Any) -> Any:
    """Define `nn.sparse_add`."""
    return _number(x) + _csr(data, indices, indptr, x.shape[1])


@means("nn.sparse_transpose")
def sparse_transpose(attrs: Any, data: Any, indices: Any, indptr: Any) -> Any:
    """Define `nn.sparse_transpose`."""
    rows = [row for row in range(len(indptr) - 1) for _ in range(int(indptr[row]), int(indptr[row + 1]))]
    entries = sorted((int(c), r, n) for n, (r, c) in enumerate(zip(rows, indices, strict=True)))
    starts = [sum(c < row for c, _, _ in entries) for row in range(len(indptr))]
    return np.array([data[n] for _, _, n in entries]), np.array([r for _, r, _ in entries]), np.array(starts)


@means("nn.sparse_conv2d")
def sparse_conv2d(attrs: Any, x: Any, data: Any, indices: Any, indptr: Any) -> Any:
    """Define `nn.sparse_conv2d`."""
    x = _to(x, attrs.layout, "NHWC")
    n, h, w, _ = x.shape
    if attrs.kernel_size == (3, 3):
        wider = np.pad(x, [(0, 0), (1, 1), (1, 1), (0, 0)])
        x = np.concatenate([wider[:, i : i + h, j : j + w] for i in range(3) for j in range(3)], 3)
    product = _sparse_product(data, indices, indptr, x.reshape(-1, x.shape[-1]).T)
    return _to(product.T.reshape(n, h, w, len(product)), "NHWC", attrs.layout)


# ---------------------------------------------------------------- pooling
def _pool(attrs: Any, x: Any, mean: bool) -> Any:
    rank = len(attrs.pool_size)
    plain = _PLAIN[rank][0]
    x = _to(x, attrs.layout, plain)
    size, strides, dilation = (_spread(v, rank) for v in (attrs.pool_size, attrs.strides, attrs.dilation))
    sides, counts = _sides(attrs.padding, rank), []
    for d in range(rank):
        room = x.shape[2 + d] + sum(sides[d]) - (size[d] - 1) * dilation[d] - 1
        counts.append(-(-room // strides[d]) + 1 if attrs.ceil_mode else room // strides[d] + 1)
    result = np.zeros((*x.shape[:2], *counts), object if is_int(x) else np.float64)
    for n, c, *at in np.ndindex(*result.shape):
        inside, area = [], 0
        for tap in itertools.product(*map(range, size)):
            spot = [a * s - p[0] + t * f for a, s, p, t, f in zip(at, strides, sides, tap, dilation, strict=True)]
            area += all(v < x.shape[2 + d] + sides[d][1] for d, v in enumerate(spot))
            if all(0 <= v < x.shape[2 + d] for d, v in enumerate(spot)):
                inside.append(x[(n, c, *spot)])
        if not mean:
            least = [_least(x.dtype)] if len(inside) < math.prod(size) else []  # the value of the padding
            most = np.max(np.array([*inside, *least], x.dtype))
            result[(n, c, *at)] = int(most) if is_int(x) else most
            continue
        count = area if attrs.count_include_pad else max(len(inside), 1)
        total: Any = sum((int(v) if is_int(x) else v for v in inside), 0 if is_int(x) else 0.0)
        result[(n, c, *at)] = _quotient(total, count) if is_int(x) else total / count
    return _to(result, plain, attrs.layout)


def _least(dtype: Any) -> Any:
    """Return the least finite number, which Relay pads with before it takes a maximum."""
    import ml_dtypes

    if dtype.kind == "b":
        return False
    limits: Any = np.iinfo if dtype.kind in "iu" else ml_dtypes.finfo
    return limits(dtype).min


def _adaptive(attrs: Any, x: Any, mean: bool) -> Any:
    rank = x.ndim - 2
    plain = _PLAIN[rank][0]
    x = _to(x, attrs.layout, plain)
    counts = attrs.output_size or x.shape[2:]
    result = np.zeros((*x.shape[:2], *counts), object if is_int(x) else np.float64)
    for n, c, *at in np.ndindex(*result.shape):
        spots = tuple(
            slice(a * length // count, -(-(a + 1) * length // count))
            for a, length, count in zip(at, x.shape[2:], counts, strict=True)
        )
        part = x[(n, c, *spots)]
        if mean and is_int(x):
            result[(n, c, *at)] = _quotient(sum(int(v) for v in part.ravel()), part.size)
        else:
            result[(n, c, *at)] = part.mean() if mean else int(part.max()) if is_int(x) else part.max()
    return _to(result, plain, attrs.layout)


for _rank in (1, 2, 3):
    for _mean, _name in ((True, "avg"), (False, "max")):
        MEANING[f"nn.{_name}_pool{_rank}d"] = lambda attrs, x, m=_mean: _pool(attrs, x, m)
        KEEPS_WIDTH |= set() if _mean else {f"nn.{_name}_pool{_rank}d"}
        MEANING[f"nn.adaptive_{_name}_pool{_rank}d"] = lambda attrs, x, m=_mean: _adaptive(attrs, x, m)


def _global(mean: bool) -> Meaning:
    def meaning(attrs: Any, x: Any) -> Any:
        axes = (2, 3) if attrs.layout == "NCHW" else (1, 2)
        if not mean:
            return np.max(x, axes, keepdims=True)
        if not is_int(x):
            return np.mean(x, axes, keepdims=True)
        total, count = _number(x).sum(axes, keepdims=True), x.shape[axes[0]] * x.shape[axes[1]]
        return np.vectorize(lambda v: _quotient(int(v), count), otypes=[np.int64])(total)

    return meaning


MEANING["nn.global_avg_pool2d"], MEANING["nn.global_max_pool2d"] = _global(True), _global(False)


def _pool_grad(mean: bool) -> Meaning:
    def meaning(attrs: Any, g: Any, x: Any) -> Any:
        g, x = _to(g, attrs.layout, "NCHW"), _to(x, attrs.layout, "NCHW")
        result = np.zeros(x.shape, np.float64 if mean or not is_int(x) else x.dtype)
        (sh, sw), (dh, dw), sides = attrs.strides, attrs.dilation, _sides(attrs.padding, 2)
        taps = [range(0, k * d, d) for k, d in zip(attrs.pool_size, (dh, dw), strict=True)]
        for n, c, i, j in np.ndindex(*g.shape):
            rows = [r for t in taps[0] if 0 <= (r := i * sh - sides[0][0] + t) < x.shape[2]]
            columns = [r for t in taps[1] if 0 <= (r := j * sw - sides[1][0] + t) < x.shape[3]]
            spots = list(itertools.product(rows, columns))
            if mean:
                count = len(taps[0]) * len(taps[1]) if attrs.count_include_pad else len(spots)
                for r, k in spots:
                    result[n, c, r, k] += _number(g)[n, c, i, j] / count
            else:
                values = np.array([x[n, c, r, k] for r, k in spots])
                result[(n, c, *spots[int(np.argmax(values))])] += g[n, c, i, j]
        return _to(result, "NCHW", attrs.layout)

    return meaning


MEANING["nn.avg_pool2d_grad"], MEANING["nn.max_pool2d_grad"] = _pool_grad(True), _pool_grad(False)


# ---------------------------------------------------------------- activations and normalisations
def _along(v: Any, axis: int, rank: int) -> Any:
    return v.reshape([-1 if d == axis % rank else 1 for d in range(rank)])


MEANING["nn.relu"] = lambda attrs, x: np.maximum(x, np.zeros((), x.dtype))
MEANING["nn.bias_add"] = lambda attrs, x, b: x + _along(b, attrs.axis, x.ndim)
MEANING["nn.dropout"] = lambda attrs, x: (x, np.ones(x.shape))


@means("nn.leaky_relu")
def leaky_relu(attrs: Any, x: Any) -> Any:
    """Define `nn.leaky_relu`."""
    return np.where(x > 0, x, x * np.asarray(attrs.alpha).astype(x.dtype))


@means("nn.prelu")
def prelu(attrs: Any, x: Any, alpha: Any) -> Any:
    """Define `nn.prelu`."""
    return np.where(x > 0, x, x * _along(alpha, attrs.axis, x.ndim))


@means("nn.softmax", "nn.fast_softmax")
def softmax(attrs: Any, x: Any) -> Any:
    """Define `nn.softmax` and `nn.fast_softmax`."""
    x = wide(x)
    e = np.exp(x - x.max(attrs.axis, keepdims=True)) if x.size else x
    return e / e.sum(attrs.axis, keepdims=True)


@means("nn.log_softmax")
def log_softmax(attrs: Any, x: Any) -> Any:
    """Define `nn.log_softmax`."""
    x = wide(x)
    moved = x - x.max(attrs.axis, keepdims=True) if x.size else x
    return moved - np.log(np.exp(moved).sum(attrs.axis, keepdims=True))


@means("nn.batch_norm")
def batch_norm(attrs: Any, x: Any, gamma: Any, beta: Any, mean: Any, var: Any) -> Any:
    """Define `nn.batch_norm`."""
    g, b, m, v = (_along(wide(t), attrs.axis, x.ndim) for t in (gamma, beta, mean, var))
    result = (wide(x) - m) / np.sqrt(v + attrs.epsilon)
    return (result * g if attrs.scale else result) + (b if attrs.center else 0), mean, var


def _normal(attrs: Any, x: Any, gamma: Any, beta: Any, axes: tuple[int, ...]) -> Any:
    x = wide(x)
    mean = x.mean(axes, keepdims=True)
    result = (x - mean) / np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + attrs.epsilon)
    result = result * _along(wide(gamma), attrs.axis, x.ndim) if attrs.scale else result
    return result + _along(wide(beta), attrs.axis, x.ndim) if attrs.center else result


MEANING["nn.layer_norm"] = lambda attrs, x, g, b: _normal(attrs, x, g, b, (attrs.axis % x.ndim,))
MEANING["nn.instance_norm"] = lambda attrs, x, g, b: _normal(
    attrs, x, g, b, tuple(d for d in range(1, x.ndim) if d != attrs.axis % x.ndim)
)


@means("nn.group_norm")
def group_norm(attrs: Any, x: Any, gamma: Any, beta: Any) -> Any:
    """Define `nn.group_norm`."""
    x, axis = wide(x), attrs.axis % x.ndim
    lead = math.prod(x.shape[:axis])
    parts = x.reshape(lead, attrs.num_groups, math.prod(x.shape[axis:]) // attrs.num_groups)
    mean = parts.mean(2, keepdims=True)
    result = ((parts - mean) / np.sqrt(((parts - mean) ** 2).mean(2, keepdims=True) + attrs.epsilon)).reshape(x.shape)
    result = result * _along(wide(gamma), axis, x.ndim) if attrs.scale else result
    return result + _along(wide(beta), axis, x.ndim) if attrs.center else result


@means("nn.l2_normalize")
def l2_normalize(attrs: Any, x: Any) -> Any:
    """Define `nn.l2_normalize`."""
    return wide(x) / np.sqrt(np.maximum((wide(x) ** 2).sum(attrs.axis, keepdims=True), attrs.eps))


@means("nn.lrn")
def lrn(attrs: Any, x: Any) -> Array:
    """Define `nn.lrn`."""
    x = wide(x)
    result, half = np.zeros(x.shape), attrs.size // 2
    for at in np.ndindex(*x.shape):
        near = list(at)
        near[attrs.axis] = slice(max(at[attrs.axis] - half, 0), at[attrs.axis] + attrs.size - half)
        result[at] = x[at] / (attrs.bias + attrs.alpha / attrs.size * (x[tuple(near)] ** 2).sum()) ** attrs.beta
    return result


@means("nn.cross_entropy")
def cross_entropy(attrs: Any, x: Any, y: Any) -> Any:
    """Define `nn.cross_entropy`."""
    return -np.sum(wide(y) * np.log(wide(x))) / len(x)


@means("nn.cross_entropy_with_logits")
def cross_entropy_with_logits(attrs: Any, x: Any, y: Any) -> Any:
    """Define `nn.cross_entropy_with_logits`."""
    return -np.sum(wide(y) * wide(x)) / len(x)


@means("nn.nll_loss")
def nll_loss(attrs: Any, x: Any, targets: Any, weights: Any) -> Any:
    """Define `nn.nll_loss`."""
    losses, counted = np.zeros(targets.shape), np.zeros(targets.shape)
    for n, *at in np.ndindex(*targets.shape):
        target = int(targets[(n, *at)])
        if target != attrs.ignore_index:
            counted[(n, *at)] = weights[target]
            losses[(n, *at)] = -wide(x)[(n, target, *at)] * wide(weights)[target]
    return {
        "none": losses,
        "sum": losses.sum(),
        "mean": losses.sum() / counted.sum(),
    }[attrs.reduction]
