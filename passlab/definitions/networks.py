"""Definitions of the operators of neural networks; see `elements`."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

import numpy as np

from passlab.definitions.elements import KEEPS_WIDTH, MEANING, Meaning, as_float64, definition_of, is_int, quotient
from passlab.definitions.sampling import bilinear
from passlab.op.dtypes import Array


def _per_axis(values: Any, rank: int) -> tuple[int, ...]:
    """Return an attribute such as `strides` with one number for each spatial axis."""
    numbers: tuple[int, ...] = (values,) if isinstance(values, int) else tuple(values)
    return numbers * (rank // len(numbers)) if len(numbers) < rank else numbers


def pad_widths(padding: Any, rank: int) -> list[tuple[int, int]]:
    """Return the attribute `padding` as (before, after) for each spatial axis."""
    values = tuple(padding)
    values = values * (2 * rank // len(values))
    return list(zip(values[:rank], values[rank:], strict=True))


def to_layout(x: Any, layout: str, other: str) -> Any:
    """Return a tensor of one layout in another; split axes, such as 4c, are joined first and split afterwards."""
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


def _wide_integers(x: Any) -> Any:
    """Return a tensor of integers in int64, where sums are exact before they wrap; floats unchanged."""
    return x.astype(np.int64) if is_int(x) else x


# ---------------------------------------------------------------- convolutions
def conv(x: Any, w: Any, attrs: Any) -> Array:
    """Convolve x (N, C, *S) with w (O, C / groups, *K), padded with zeros. Return (N, O, *S')."""
    rank = x.ndim - 2
    strides, dilation = _per_axis(attrs.strides, rank), _per_axis(attrs.dilation, rank)
    x, w = np.pad(_wide_integers(x), [(0, 0), (0, 0), *pad_widths(attrs.padding, rank)]), _wide_integers(w)
    extents = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilation, strict=True)]  # of the dilated kernel
    out = [(n - e) // s + 1 for n, e, s in zip(x.shape[2:], extents, strides, strict=True)]
    result = np.zeros((x.shape[0], w.shape[0], *out), np.result_type(x, w))
    outputs, weights = np.split(result, attrs.groups, 1), np.split(w, attrs.groups, 0)
    for tap in np.ndindex(*w.shape[2:]):
        firsts = [at * d for at, d in zip(tap, dilation, strict=True)]
        taps = [slice(f, f + n * s, s) for f, n, s in zip(firsts, out, strides, strict=True)]
        inside = x[(slice(None), slice(None), *taps)][(..., *map(slice, out))]
        for output, part, weight in zip(outputs, np.split(inside, attrs.groups, 1), weights, strict=True):
            output += np.einsum("nc...,oc->no...", part, weight[(..., *tap)])  # into its part of `result`
    return result


PLAIN_LAYOUTS = {1: ("NCW", "OIW"), 2: ("NCHW", "OIHW"), 3: ("NCDHW", "OIDHW")}


def _conv(attrs: Any, x: Any, w: Any) -> Any:
    data, kernel = PLAIN_LAYOUTS[len(attrs.strides)]
    x, w = to_layout(x, attrs.data_layout, data), to_layout(w, attrs.kernel_layout, kernel)
    if w.shape[1] * attrs.groups != x.shape[1]:  # a depthwise weight (C, multiplier, *K)
        w = w.reshape(-1, 1, *w.shape[2:])
    return to_layout(conv(x, w, attrs), data, attrs.out_layout or attrs.data_layout)


def _conv_transpose(attrs: Any, x: Any, w: Any) -> Any:
    rank = x.ndim - 2
    data, kernel = PLAIN_LAYOUTS[rank]
    x, w = to_layout(x, attrs.data_layout, data), to_layout(w, attrs.kernel_layout, f"IO{kernel[2:]}")
    strides, dilation = _per_axis(attrs.strides, rank), _per_axis(attrs.dilation, rank)
    output_padding = _per_axis(attrs.output_padding, rank)
    x, w = _wide_integers(x), _wide_integers(w)
    extents = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilation, strict=True)]
    full = [(n - 1) * s + e + p for n, s, e, p in zip(x.shape[2:], strides, extents, output_padding, strict=True)]
    group_in, group_out = x.shape[1] // attrs.groups, w.shape[1]
    result = np.zeros((len(x), group_out * attrs.groups, *full), np.result_type(x, w))
    for c, *at in np.ndindex(*x.shape[1:]):
        window = tuple(slice(a * s, a * s + e, d) for a, s, e, d in zip(at, strides, extents, dilation, strict=True))
        first = c // group_in * group_out
        products = x[(slice(None), c, *at)].reshape(-1, *[1] * (rank + 1)) * w[c]
        result[(slice(None), slice(first, first + group_out), *window)] += products
    inner = tuple(slice(a, n - b) for (a, b), n in zip(pad_widths(attrs.padding, rank), full, strict=True))
    return to_layout(result[(slice(None), slice(None), *inner)], data, attrs.out_layout or attrs.data_layout)


MEANING["nn.contrib_conv2d_NCHWc"] = MEANING["nn.contrib_depthwise_conv2d_NCHWc"] = _conv
for _rank in (1, 2, 3):
    MEANING[f"nn.conv{_rank}d"] = _conv
    MEANING[f"nn.conv{_rank}d_transpose"] = _conv_transpose


@definition_of("nn.conv2d_backward_weight")
def conv2d_backward_weight(attrs: Any, g: Any, x: Any) -> Any:
    """Define `nn.conv2d_backward_weight`."""
    kh, kw = attrs.kernel_size
    (sh, sw), (dh, dw) = attrs.strides, attrs.dilation
    g, x = to_layout(g, attrs.data_layout, "NCHW"), to_layout(x, attrs.kernel_layout, "NCHW")
    x = np.pad(x, [(0, 0), (0, 0), *pad_widths(attrs.padding, 2)])
    group_in = x.shape[1] // attrs.groups
    result = np.zeros((g.shape[1], group_in, kh, kw), _wide_integers(g).dtype)
    for o, k, i, j in np.ndindex(*result.shape):
        c = o // (g.shape[1] // attrs.groups) * group_in + k
        taps = x[:, c, i * dh : i * dh + g.shape[2] * sh : sh, j * dw : j * dw + g.shape[3] * sw : sw]
        result[o, k, i, j] = (_wide_integers(g[:, o]) * _wide_integers(taps)[:, : g.shape[2], : g.shape[3]]).sum()
    return to_layout(result, "OIHW", attrs.out_layout or "OIHW")


@definition_of("nn.deformable_conv2d")
def deformable_conv2d(attrs: Any, x: Any, offset: Any, w: Any) -> Any:
    """Define `nn.deformable_conv2d`."""
    x, offset = to_layout(x, attrs.data_layout, "NCHW"), to_layout(offset, attrs.data_layout, "NCHW")
    w = to_layout(w, attrs.kernel_layout, "OIHW")
    (kh, kw), group_in = w.shape[2:], w.shape[1]
    result = np.zeros((x.shape[0], w.shape[0], *offset.shape[2:]))
    offset_group_size = x.shape[1] // attrs.deformable_groups
    for n, o, i, j in np.ndindex(*result.shape):
        for c, a, b in np.ndindex(*w.shape[1:]):
            channel = o // (w.shape[0] // attrs.groups) * group_in + c
            tap = 2 * (channel // offset_group_size * kh * kw + a * kw + b)
            y = i * attrs.strides[0] - attrs.padding[0] + a * attrs.dilation[0] + as_float64(offset[n, tap, i, j])
            z = j * attrs.strides[1] - attrs.padding[1] + b * attrs.dilation[1] + as_float64(offset[n, tap + 1, i, j])
            result[n, o, i, j] += bilinear(as_float64(x[n, channel]), y, z) * w[o, c, a, b]
    return to_layout(result, "NCHW", attrs.out_layout or attrs.data_layout)


@definition_of("nn.correlation")
def correlation(attrs: Any, x: Any, y: Any) -> Array:
    """FlowNet's correlation: for each position and displacement the mean over a window and the channels."""
    pad = attrs.padding[0]
    x, y = (np.pad(as_float64(v), [(0, 0), (0, 0), (pad, pad), (pad, pad)]) for v in (x, y))
    half, most, step = (attrs.kernel_size - 1) // 2, attrs.max_displacement, attrs.stride2
    border, shifts = half + most, range(-(most // step) * step, most + 1, step)
    positions = [range(border, n - border, attrs.stride1) for n in x.shape[2:]]
    result = np.zeros((len(x), len(shifts) ** 2, len(positions[0]), len(positions[1])))
    for number, (dy, dx) in enumerate(itertools.product(shifts, shifts)):
        for (a, i), (b, j) in itertools.product(enumerate(positions[0]), enumerate(positions[1])):
            one = x[:, :, i - half : i + half + 1, j - half : j + half + 1]
            two = y[:, :, i + dy - half : i + dy + half + 1, j + dx - half : j + dx + half + 1]
            terms = one * two if attrs.is_multiply else np.abs(one - two)
            result[:, number, a, b] = terms.sum((1, 2, 3)) / (attrs.kernel_size**2 * x.shape[1])
    return result


# ---------------------------------------------------------------- products
@definition_of("nn.dense")
def dense(attrs: Any, x: Any, w: Any) -> Any:
    """Define `nn.dense`."""
    return np.einsum("...k,uk->...u", _wide_integers(x), _wide_integers(w))


@definition_of("nn.contrib_dense_pack")
def contrib_dense_pack(attrs: Any, x: Any, w: Any) -> Any:
    """Define `nn.contrib_dense_pack`."""
    return np.einsum("mk,uk->mu", _wide_integers(x), _wide_integers(to_layout(w, attrs.weight_layout, "NC")))


@definition_of("nn.matmul", "nn.batch_matmul")
def matmul(attrs: Any, a: Any, b: Any) -> Any:
    """Define `nn.matmul` and `nn.batch_matmul`."""
    a, b = _wide_integers(a), _wide_integers(b)
    a, b = (a.swapaxes(-1, -2) if attrs.transpose_a else a), (b.swapaxes(-1, -2) if attrs.transpose_b else b)
    return np.einsum("...mk,...kn->...mn", a, b)


def _csr(data: Any, indices: Any, indptr: Any, columns: int) -> Any:
    """Return a CSR matrix of elements, or a BSR matrix of blocks, as a dense one."""
    block = data.shape[1:] if data.ndim == 3 else (1, 1)
    result = np.zeros(((len(indptr) - 1) * block[0], columns), data.dtype)
    for row in range(len(indptr) - 1):
        for at in range(int(indptr[row]), int(indptr[row + 1])):
            column = int(indices[at])
            result[row * block[0] : (row + 1) * block[0], column * block[1] : (column + 1) * block[1]] += data[at]
    return _wide_integers(result)


def _sparse_product(data: Any, indices: Any, indptr: Any, x: Any) -> Array:
    """Multiply a CSR or BSR matrix by a dense one. Elements that are not stored are skipped, also against a NaN."""
    block = data.shape[1:] if data.ndim == 3 else (1, 1)
    data, x = _wide_integers(data.reshape(-1, *block)), _wide_integers(x)
    result = np.zeros(((len(indptr) - 1) * block[0], x.shape[1]), np.result_type(x))
    for row in range(len(indptr) - 1):
        for at in range(int(indptr[row]), int(indptr[row + 1])):
            first = int(indices[at]) * block[1]
            for i, j in np.ndindex(*block):
                result[row * block[0] + i] += data[at, i, j] * x[first + j]
    return result


@definition_of("nn.sparse_dense", "nn.internal.sparse_dense_padded")
def sparse_dense(attrs: Any, x: Any, data: Any, indices: Any, indptr: Any) -> Array:
    """Define `nn.sparse_dense` and `nn.internal.sparse_dense_padded`."""
    product = _sparse_product(data, indices, indptr, x.T)
    return product if attrs.sparse_lhs else product.T


@definition_of("nn.sparse_add")
def sparse_add(attrs: Any, x: Any, data: Any, indices: Any, indptr: Any) -> Any:
    """Define `nn.sparse_add`."""
    return _wide_integers(x) + _csr(data, indices, indptr, x.shape[1])


@definition_of("nn.sparse_transpose")
def sparse_transpose(attrs: Any, data: Any, indices: Any, indptr: Any) -> Any:
    """Define `nn.sparse_transpose`: CSR in, CSR of the transpose out."""
    rows = [row for row in range(len(indptr) - 1) for _ in range(int(indptr[row]), int(indptr[row + 1]))]
    entries = sorted((int(c), r, n) for n, (r, c) in enumerate(zip(rows, indices, strict=True)))
    starts = [sum(c < row for c, _, _ in entries) for row in range(len(indptr))]
    return np.array([data[n] for _, _, n in entries]), np.array([r for _, r, _ in entries]), np.array(starts)


@definition_of("nn.sparse_conv2d")
def sparse_conv2d(attrs: Any, x: Any, data: Any, indices: Any, indptr: Any) -> Any:
    """Define `nn.sparse_conv2d`."""
    x = to_layout(x, attrs.layout, "NHWC")
    n, h, w, _ = x.shape
    if attrs.kernel_size == (3, 3):
        larger = np.pad(x, [(0, 0), (1, 1), (1, 1), (0, 0)])
        x = np.concatenate([larger[:, i : i + h, j : j + w] for i in range(3) for j in range(3)], 3)
    product = _sparse_product(data, indices, indptr, x.reshape(-1, x.shape[-1]).T)
    return to_layout(product.T.reshape(n, h, w, len(product)), "NHWC", attrs.layout)


# ---------------------------------------------------------------- pooling
def pool(attrs: Any, x: Any, mean: bool) -> Any:
    """Return the mean or the maximum of each window. The mean of integers is truncated."""
    rank = len(attrs.pool_size)
    plain = PLAIN_LAYOUTS[rank][0]
    x = to_layout(x, attrs.layout, plain)
    size, strides, dilation = (_per_axis(v, rank) for v in (attrs.pool_size, attrs.strides, attrs.dilation))
    sides, counts = pad_widths(attrs.padding, rank), []
    for d in range(rank):
        last = x.shape[2 + d] + sum(sides[d]) - (size[d] - 1) * dilation[d] - 1  # the last start of a window
        counts.append(-(-last // strides[d]) + 1 if attrs.ceil_mode else last // strides[d] + 1)
    result = np.zeros((*x.shape[:2], *counts), object if is_int(x) else np.float64)
    for n, c, *at in np.ndindex(*result.shape):
        inside, area = [], 0
        for tap in itertools.product(*map(range, size)):
            point = [a * s - p[0] + t * f for a, s, p, t, f in zip(at, strides, sides, tap, dilation, strict=True)]
            area += all(v < x.shape[2 + d] + sides[d][1] for d, v in enumerate(point))
            if all(0 <= v < x.shape[2 + d] for d, v in enumerate(point)):
                inside.append(x[(n, c, *point)])
        if not mean:
            padding = [_lowest_value(x.dtype)] if len(inside) < math.prod(size) else []
            greatest = np.max(np.array([*inside, *padding], x.dtype))
            result[(n, c, *at)] = int(greatest) if is_int(x) else greatest
            continue
        count = area if attrs.count_include_pad else max(len(inside), 1)
        total: Any = sum((int(v) if is_int(x) else v for v in inside), 0 if is_int(x) else 0.0)
        result[(n, c, *at)] = quotient(total, count) if is_int(x) else total / count
    return to_layout(result, plain, attrs.layout)


def _lowest_value(dtype: Any) -> Any:
    """Return the least finite number of a dtype: Relay's padding of maximum pooling."""
    import ml_dtypes

    if dtype.kind == "b":
        return False
    limits: Any = np.iinfo if dtype.kind in "iu" else ml_dtypes.finfo
    return limits(dtype).min


def _adaptive_pool(attrs: Any, x: Any, mean: bool) -> Any:
    rank = x.ndim - 2
    plain = PLAIN_LAYOUTS[rank][0]
    x = to_layout(x, attrs.layout, plain)
    counts = attrs.output_size or x.shape[2:]
    result = np.zeros((*x.shape[:2], *counts), object if is_int(x) else np.float64)
    for n, c, *at in np.ndindex(*result.shape):
        window = tuple(
            slice(a * length // count, -(-(a + 1) * length // count))
            for a, length, count in zip(at, x.shape[2:], counts, strict=True)
        )
        patch = x[(n, c, *window)]
        if mean and is_int(x):
            result[(n, c, *at)] = quotient(sum(int(v) for v in patch.ravel()), patch.size)
        else:
            result[(n, c, *at)] = patch.mean() if mean else int(patch.max()) if is_int(x) else patch.max()
    return to_layout(result, plain, attrs.layout)


for _rank in (1, 2, 3):
    for _mean, _name in ((True, "avg"), (False, "max")):
        MEANING[f"nn.{_name}_pool{_rank}d"] = lambda attrs, x, m=_mean: pool(attrs, x, m)
        KEEPS_WIDTH |= set() if _mean else {f"nn.{_name}_pool{_rank}d"}
        MEANING[f"nn.adaptive_{_name}_pool{_rank}d"] = lambda attrs, x, m=_mean: _adaptive_pool(attrs, x, m)


def _global_pool(mean: bool) -> Meaning:
    def meaning(attrs: Any, x: Any) -> Any:
        axes = (2, 3) if attrs.layout == "NCHW" else (1, 2)
        if not mean:
            return np.max(x, axes, keepdims=True)
        if not is_int(x):
            return np.mean(x, axes, keepdims=True)
        total, count = _wide_integers(x).sum(axes, keepdims=True), x.shape[axes[0]] * x.shape[axes[1]]
        return np.vectorize(lambda v: quotient(int(v), count), otypes=[np.int64])(total)

    return meaning


MEANING["nn.global_avg_pool2d"], MEANING["nn.global_max_pool2d"] = _global_pool(True), _global_pool(False)


def _pool_gradient(mean: bool) -> Meaning:
    def meaning(attrs: Any, g: Any, x: Any) -> Any:
        g, x = to_layout(g, attrs.layout, "NCHW"), to_layout(x, attrs.layout, "NCHW")
        result = np.zeros(x.shape, np.float64 if mean or not is_int(x) else x.dtype)
        (sh, sw), (dh, dw), sides = attrs.strides, attrs.dilation, pad_widths(attrs.padding, 2)
        taps = [range(0, k * d, d) for k, d in zip(attrs.pool_size, (dh, dw), strict=True)]
        for n, c, i, j in np.ndindex(*g.shape):
            rows = [r for t in taps[0] if 0 <= (r := i * sh - sides[0][0] + t) < x.shape[2]]
            columns = [r for t in taps[1] if 0 <= (r := j * sw - sides[1][0] + t) < x.shape[3]]
            window = list(itertools.product(rows, columns))
            if mean:
                count = len(taps[0]) * len(taps[1]) if attrs.count_include_pad else len(window)
                for r, k in window:
                    result[n, c, r, k] += _wide_integers(g)[n, c, i, j] / count
            else:
                values = np.array([x[n, c, r, k] for r, k in window])
                result[(n, c, *window[int(np.argmax(values))])] += g[n, c, i, j]
        return to_layout(result, "NCHW", attrs.layout)

    return meaning


MEANING["nn.avg_pool2d_grad"], MEANING["nn.max_pool2d_grad"] = _pool_gradient(True), _pool_gradient(False)


# ---------------------------------------------------------------- activations and normalisations
def along_axis(v: Any, axis: int, rank: int) -> Any:
    """Return a vector reshaped to broadcast along one axis of a tensor."""
    return v.reshape([-1 if d == axis % rank else 1 for d in range(rank)])


MEANING["nn.relu"] = lambda attrs, x: np.maximum(x, np.zeros((), x.dtype))
MEANING["nn.bias_add"] = lambda attrs, x, b: x + along_axis(b, attrs.axis, x.ndim)
MEANING["nn.dropout"] = lambda attrs, x: (x, np.ones(x.shape))


@definition_of("nn.leaky_relu")
def leaky_relu(attrs: Any, x: Any) -> Any:
    """Define `nn.leaky_relu`."""
    return np.where(x > 0, x, x * np.asarray(attrs.alpha).astype(x.dtype))


@definition_of("nn.prelu")
def prelu(attrs: Any, x: Any, alpha: Any) -> Any:
    """Define `nn.prelu`."""
    return np.where(x > 0, x, x * along_axis(alpha, attrs.axis, x.ndim))


@definition_of("nn.softmax", "nn.fast_softmax")
def softmax(attrs: Any, x: Any) -> Any:
    """Define `nn.softmax` and `nn.fast_softmax`."""
    x = as_float64(x)
    e = np.exp(x - x.max(attrs.axis, keepdims=True)) if x.size else x
    return e / e.sum(attrs.axis, keepdims=True)


@definition_of("nn.log_softmax")
def log_softmax(attrs: Any, x: Any) -> Any:
    """Define `nn.log_softmax`."""
    x = as_float64(x)
    moved = x - x.max(attrs.axis, keepdims=True) if x.size else x
    return moved - np.log(np.exp(moved).sum(attrs.axis, keepdims=True))


@definition_of("nn.batch_norm")
def batch_norm(attrs: Any, x: Any, gamma: Any, beta: Any, mean: Any, var: Any) -> Any:
    """Define `nn.batch_norm`."""
    g, b, m, v = (along_axis(as_float64(t), attrs.axis, x.ndim) for t in (gamma, beta, mean, var))
    result = (as_float64(x) - m) / np.sqrt(v + attrs.epsilon)
    return (result * g if attrs.scale else result) + (b if attrs.center else 0), mean, var


def _normalize(attrs: Any, x: Any, gamma: Any, beta: Any, axes: tuple[int, ...]) -> Any:
    x = as_float64(x)
    mean = x.mean(axes, keepdims=True)
    result = (x - mean) / np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + attrs.epsilon)
    result = result * along_axis(as_float64(gamma), attrs.axis, x.ndim) if attrs.scale else result
    return result + along_axis(as_float64(beta), attrs.axis, x.ndim) if attrs.center else result


MEANING["nn.layer_norm"] = lambda attrs, x, g, b: _normalize(attrs, x, g, b, (attrs.axis % x.ndim,))
MEANING["nn.instance_norm"] = lambda attrs, x, g, b: _normalize(
    attrs, x, g, b, tuple(d for d in range(1, x.ndim) if d != attrs.axis % x.ndim)
)


@definition_of("nn.group_norm")
def group_norm(attrs: Any, x: Any, gamma: Any, beta: Any) -> Any:
    """Define `nn.group_norm`."""
    x, axis = as_float64(x), attrs.axis % x.ndim
    lead = math.prod(x.shape[:axis])
    groups = x.reshape(lead, attrs.num_groups, math.prod(x.shape[axis:]) // attrs.num_groups)
    groups = groups - groups.mean(2, keepdims=True)
    result = (groups / np.sqrt((groups**2).mean(2, keepdims=True) + attrs.epsilon)).reshape(x.shape)
    result = result * along_axis(as_float64(gamma), axis, x.ndim) if attrs.scale else result
    return result + along_axis(as_float64(beta), axis, x.ndim) if attrs.center else result


@definition_of("nn.l2_normalize")
def l2_normalize(attrs: Any, x: Any) -> Any:
    """Define `nn.l2_normalize`."""
    return as_float64(x) / np.sqrt(np.maximum((as_float64(x) ** 2).sum(attrs.axis, keepdims=True), attrs.eps))


@definition_of("nn.lrn")
def lrn(attrs: Any, x: Any) -> Array:
    """Define `nn.lrn`."""
    x = as_float64(x)
    result, half = np.zeros(x.shape), attrs.size // 2
    for at in np.ndindex(*x.shape):
        window = list(at)
        window[attrs.axis] = slice(max(at[attrs.axis] - half, 0), at[attrs.axis] + attrs.size - half)
        result[at] = x[at] / (attrs.bias + attrs.alpha / attrs.size * (x[tuple(window)] ** 2).sum()) ** attrs.beta
    return result


@definition_of("nn.cross_entropy")
def cross_entropy(attrs: Any, x: Any, y: Any) -> Any:
    """Define `nn.cross_entropy`."""
    return -np.sum(as_float64(y) * np.log(as_float64(x))) / len(x)


@definition_of("nn.cross_entropy_with_logits")
def cross_entropy_with_logits(attrs: Any, x: Any, y: Any) -> Any:
    """Define `nn.cross_entropy_with_logits`."""
    return -np.sum(as_float64(y) * as_float64(x)) / len(x)


@definition_of("nn.nll_loss")
def nll_loss(attrs: Any, x: Any, targets: Any, weights: Any) -> Any:
    """Define `nn.nll_loss`."""
    losses, loss_weights = np.zeros(targets.shape), np.zeros(targets.shape)
    for n, *at in np.ndindex(*targets.shape):
        target = int(targets[(n, *at)])
        if target != attrs.ignore_index:
            loss_weights[(n, *at)] = weights[target]
            losses[(n, *at)] = -as_float64(x)[(n, target, *at)] * as_float64(weights)[target]
    return {"none": losses, "sum": losses.sum(), "mean": losses.sum() / loss_weights.sum()}[attrs.reduction]


# ---------------------------------------------------------------- recurrent layers
def _logistic(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _recurrent_step(attrs: Any, x: Any, r: Any, bias: Any, state: Any, cell: Any) -> tuple[Any, Any]:
    """Return the states of one sequence after a step, by the formulas of ONNX; x has the product with the data."""
    past, size = r @ state, len(state)
    if attrs.mode == "lstm":
        i, o, f, c = np.split(x + past + bias, 4)
        cell = _logistic(f) * cell + _logistic(i) * np.tanh(c)
        return _logistic(o) * np.tanh(cell), cell
    if attrs.mode == "gru":
        z, h = _logistic(x[:size] + past[:size] + bias[:size]), slice(2 * size, None)
        gate = _logistic((x + past + bias)[size : 2 * size])
        reset = gate * (past[h] + bias[h]) if attrs.linear_before_reset else r[h] @ (gate * state) + bias[h]
        return (1 - z) * np.tanh(x[h] + reset) + z * state, cell
    sums = x + past + bias
    return np.tanh(sums) if attrs.mode == "rnn_tanh" else np.maximum(sums, 0), cell


@definition_of("contrib.recurrent")
def recurrent(attrs: Any, data: Any, weight: Any, recurrent_weight: Any, optional: Any) -> Any:
    """Define `contrib.recurrent`: one sequence and one direction at a time."""
    values = list(optional)
    (time, batch, _), (count, rows, size) = data.shape, recurrent_weight.shape
    bias = values.pop(0) if attrs.has_bias else np.zeros((count, 2 * rows))
    firsts = [values.pop(0) for _ in range(1 + (attrs.mode == "lstm"))] if attrs.has_state else []
    states = [*firsts, *[np.zeros((count, batch, size))] * (2 - len(firsts))]
    lengths = values.pop(0) if attrs.has_lengths else np.full(batch, time)
    output, lasts = np.zeros((time, count, batch, size)), np.zeros((2, count, batch, size))
    for d, n in np.ndindex(count, batch):
        state, cell = states[0][d, n], states[1][d, n]
        steps = range(min(int(lengths[n]), time))
        for at in reversed(steps) if attrs.direction == "reverse" or d == 1 else steps:
            x = weight[d] @ data[at, n] + bias[d, :rows]
            state, cell = _recurrent_step(attrs, x, recurrent_weight[d], bias[d, rows:], state, cell)
            output[at, d, n] = state
        lasts[:, d, n] = state, cell
    return (output, *lasts[: 1 + (attrs.mode == "lstm")])
