"""Random numbers from Relay's counter-based generator (Threefry): the same model always generates the same ones.

A node without a seed derives one from its name, so that no two nodes generate the same numbers.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from passlab.frontend.onnx.entries import onnx_operator
from passlab.frontend.onnx.node import OnnxNode
from passlab.frontend.onnx.tensors import dtype_of
from passlab.ir.expr import Expr


def _key(n: OnnxNode) -> Expr:
    """Return the initial state of a generator."""
    # The bits of the float, since as integers 0.5 and 0.7 would be equal.
    seed = int(np.float32(n.number("seed")).view(np.uint32)) if n.has("seed") else zlib.crc32(n.name.encode())
    return n.constant([seed, 0, 0, 0, 0, 0, 0, 0, 1 << 63, 0], "uint64")


def _dtype(n: OnnxNode, like: Expr | None) -> str:
    if n.has("dtype") or like is None:
        return dtype_of(n.integer("dtype", 1))
    return n.dtype(like)


def _sample(n: OnnxNode, distribution: str, shape: Sequence[int], dtype: str, **defaults: float) -> Expr:
    """Return random numbers; `defaults` belong to the attributes with the parameters of the distribution."""
    wide = dtype if dtype in ("float32", "float64") else "float32"
    parameters = {name: n.constant(n.number(name, default), wide) for name, default in defaults.items()}
    sample = n(f"random.{distribution}", _key(n), shape=shape, dtype=wide, **parameters)
    return n.cast(n.fields(sample, 2)[1], dtype)


def _normal(n: OnnxNode, shape: Sequence[int], dtype: str) -> Expr:
    return _sample(n, "normal", shape, dtype, mean=0.0, scale=1.0)


def _uniform(n: OnnxNode, shape: Sequence[int], dtype: str) -> Expr:
    return _sample(n, "uniform", shape, dtype, low=0.0, high=1.0)


@onnx_operator("RandomNormal", 1, 22)
def random_normal(n: OnnxNode) -> Expr:
    """`random.normal`."""
    return _normal(n, n.integers("shape"), _dtype(n, None))


@onnx_operator("RandomNormalLike", 1, 22)
def random_normal_like(n: OnnxNode, x: Expr) -> Expr:
    """`random.normal`, in the shape of its input."""
    return _normal(n, n.static_shape(x), _dtype(n, x))


@onnx_operator("RandomUniform", 1, 22)
def random_uniform(n: OnnxNode) -> Expr:
    """`random.uniform`."""
    return _uniform(n, n.integers("shape"), _dtype(n, None))


@onnx_operator("RandomUniformLike", 1, 22)
def random_uniform_like(n: OnnxNode, x: Expr) -> Expr:
    """`random.uniform`, in the shape of its input."""
    return _uniform(n, n.static_shape(x), _dtype(n, x))


@onnx_operator("Multinomial", 7, 22)
def multinomial(n: OnnxNode, x: Expr) -> Expr:
    """`random.multinomial`, of the exponentials of its input."""
    weights = n("nn.softmax", x, axis=-1)
    sample = n("random.multinomial", _key(n), weights, num_samples=n.integer("sample_size", 1))
    return n.cast(n.fields(sample, 2)[1], dtype_of(n.integer("dtype", 6)))
