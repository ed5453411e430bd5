"""Losses, sparse products, correlation and deformable windows, by plain definitions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from passlab.definitions.sampling import bilinear
from passlab.errors import RunError
from passlab.ir.types import ANY
from tests.op_nn.definitions import conv
from tests.op_nn.running import T, close, refused, relate, relate_reporting, run, unknown

RNG = np.random.default_rng(4)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


# ---------------------------------------------------------------- losses
def test_cross_entropy():
    p, y = np.abs(normal(3, 4)) + 0.1, np.abs(normal(3, 4))
    close(run("nn.cross_entropy", p, y), -(np.log(p) * y).sum() / 3)
    close(run("nn.cross_entropy_with_logits", p, y), -(p * y).sum() / 3)
    assert "two dimensions" in str(refused("nn.cross_entropy", T(3), T(3)))
    assert "one shape" in str(refused("nn.cross_entropy", T(3, 4), T(3, 5)))
    assert "do not match" in str(refused("nn.cross_entropy", T(3, 4), T(3, 4, dtype="float64")))


@pytest.mark.parametrize("rest", [(), (2, 3)])
def test_nll_loss(rest):
    logp, weights = normal(4, 5, *rest), np.abs(normal(5))
    targets = RNG.integers(0, 5, (4, *rest)).astype(np.int32)
    targets.flat[0] = -100
    each, total = np.zeros((4, *rest)), 0.0
    for place in np.ndindex(4, *rest):
        t = targets[place]
        if t != -100:
            each[place] = -weights[t] * logp[(place[0], t, *place[1:])]
            total += weights[t]
    options = {"ignore_index": -100}
    close(run("nn.nll_loss", logp, targets, weights, reduction="none", **options), each)
    close(run("nn.nll_loss", logp, targets, weights, reduction="sum", **options), each.sum())
    close(run("nn.nll_loss", logp, targets, weights, reduction="mean", **options), each.sum() / total)


def test_nll_loss_refuses():
    ints = T(4, dtype="int32")
    assert "one dimension less" in str(refused("nn.nll_loss", T(4, 5, 2), ints, T(5), ignore_index=0))
    assert "class numbers" in str(refused("nn.nll_loss", T(4, 5), T(4), T(5), ignore_index=0))
    assert "one number for each class" in str(refused("nn.nll_loss", T(4, 5), ints, T(4), ignore_index=0))
    assert "without classes" in str(refused("nn.nll_loss", T(3, 5), ints, T(5), ignore_index=0))


# ---------------------------------------------------------------- sparse matrices
def sparse(rows: int, columns: int, block: tuple[int, int] | None = None):
    matrix = scipy.sparse.random(rows, columns, 0.3, "csr", np.float32, random_state=0)
    return matrix if block is None else matrix.tobsr(block)


@pytest.mark.parametrize("block", [None, (2, 3)])
def test_sparse_dense(block):
    w, x = sparse(8, 6, block), normal(5, 6)
    parts = (w.data, w.indices, w.indptr)
    close(run("nn.sparse_dense", x, *parts), x @ w.toarray().T)
    close(run("nn.sparse_dense", x, *parts, sparse_lhs=True), w.toarray() @ x.T)
    close(run("nn.internal.sparse_dense_padded", x, *parts), x @ w.toarray().T)


def test_sparse_transpose_and_add():
    m = sparse(6, 6)
    data, indices, pointers = run("nn.sparse_transpose", m.data, m.indices, m.indptr)
    np.testing.assert_array_equal(scipy.sparse.csr_matrix((data, indices, pointers)).toarray(), m.toarray().T)
    x = normal(6, 6)
    close(run("nn.sparse_add", x, m.data, m.indices, m.indptr), x + m.toarray())


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("size", [1, 3])
def test_sparse_conv2d(layout, size):
    x, w = normal(2, 4, 5, 6), sparse(6, 4 * size * size)
    weight = w.toarray().reshape(6, size, size, 4).transpose(0, 3, 1, 2)
    want = conv(x, weight, 1, size // 2)
    order = (0, 2, 3, 1) if layout == "NHWC" else (0, 1, 2, 3)
    array = np.ascontiguousarray(x.transpose(order))
    got = run("nn.sparse_conv2d", array, w.data, w.indices, w.indptr, layout=layout, kernel_size=(size, size))
    close(got, want.transpose(order))


@pytest.mark.parametrize(
    ("indices", "pointers", "says"),
    [
        ([0, 9], [0, 1, 2], "column index is outside"),
        ([0, -1], [0, 1, 2], "column index is outside"),
        ([0, 1], [0, 2, 1], "row pointers rise"),
        ([0, 1], [0, 1, 9], "row pointers rise"),
        ([0, 1], [1, 1, 2], "row pointers rise"),
        ([0, 1, 2], [0, 1, 2], "different lengths"),
    ],
)
def test_parts_that_are_no_sparse_matrix_are_refused_before_they_are_read(indices, pointers, says):
    parts = (normal(2), np.array(indices, np.int32), np.array(pointers, np.int32))
    for name in ("nn.sparse_dense", "nn.sparse_add"):
        with pytest.raises(RunError, match=says):
            run(name, normal(2, 4), *parts)


def test_sparse_relations_refuse():
    ints = T(3, dtype="int32")
    assert relate("nn.sparse_dense", T(5, 6), T(ANY), T(ANY, dtype="int32"), T(9, dtype="int32")) == T(5, 8)
    assert relate(
        "nn.sparse_dense", T(5, 6), T(7, 2, 3), T(7, dtype="int32"), T(5, dtype="int32"), sparse_lhs=True
    ) == T(8, 5)
    assert "one dimension (CSR) or three" in str(refused("nn.sparse_dense", T(5, 6), T(2, 2), ints, ints))
    assert "vectors of integers" in str(refused("nn.sparse_dense", T(5, 6), T(2), T(2), ints))
    assert "must be a matrix" in str(refused("nn.sparse_dense", T(5), T(2), ints, ints))
    assert "different numbers of rows" in str(refused("nn.sparse_add", T(5, 6), T(2), ints, ints))


# ---------------------------------------------------------------- correlation
@pytest.mark.parametrize(
    ("kernel", "far", "stride1", "stride2", "padding", "multiply"),
    [(1, 1, 1, 1, 1, True), (3, 2, 2, 1, 3, True), (1, 4, 1, 2, 4, False), (3, 1, 3, 1, 1, False)],
)
def test_correlation(kernel, far, stride1, stride2, padding, multiply):
    a, b = normal(2, 3, 8, 9), normal(2, 3, 8, 9)
    got = run(
        "nn.correlation", a, b, kernel_size=kernel, max_displacement=far, stride1=stride1, stride2=stride2,
        padding=(padding,) * 2, is_multiply=multiply,
    )  # fmt: skip
    wide = [np.pad(x, [(0, 0), (0, 0), (padding,) * 2, (padding,) * 2]) for x in (a, b)]
    radius = far // stride2
    for q, i, j in np.ndindex(*got.shape[1:]):
        y, x = i * stride1 + far, j * stride1 + far
        dy, dx = ((n - radius) * stride2 for n in divmod(q, 2 * radius + 1))
        first = wide[0][:, :, y : y + kernel, x : x + kernel]
        second = wide[1][:, :, y + dy : y + dy + kernel, x + dx : x + dx + kernel]
        want = (first * second if multiply else abs(first - second)).mean(axis=(1, 2, 3))
        close(got[:, q, i, j], want)


def test_correlation_refuses():
    assert "must be odd" in str(refused("nn.correlation", T(1, 2, 8, 8), T(1, 2, 8, 8), kernel_size=2))
    assert "one shape" in str(refused("nn.correlation", T(1, 2, 8, 8), T(1, 3, 8, 8)))
    assert "larger than the image" in str(refused("nn.correlation", T(1, 2, 4, 4), T(1, 2, 4, 4), max_displacement=4))


# ---------------------------------------------------------------- deformable windows
@pytest.mark.parametrize("groups", [1, 2])
def test_without_offsets_a_deformable_convolution_is_a_convolution(groups):
    x, w = normal(2, 4, 6, 5), normal(6, 4 // groups, 3, 3)
    options = {"strides": (2, 1), "padding": (1, 1), "groups": groups}
    # Taps on the border row or column H..H+1 are outside: they are zero, as padding is.
    close(
        run("nn.deformable_conv2d", x, np.zeros((2, 18, 3, 5), np.float32), w, **options),
        conv(x, w, (2, 1), 1, 1, groups),
    )


def test_deformable_conv2d_reads_at_moved_places():
    x, w, offset = normal(1, 4, 5, 6), normal(3, 4, 2, 2), normal(1, 2 * 8, 4, 5) * 1.5
    want = np.zeros((1, 3, 4, 5))
    for o, i, j, c, ky, kx in np.ndindex(3, 4, 5, 4, 2, 2):
        base = (c // 2) * 8 + 2 * (ky * 2 + kx)
        y, z = i + ky + offset[0, base, i, j], j + kx + offset[0, base + 1, i, j]
        want[0, o, i, j] += w[o, c, ky, kx] * bilinear(x[0, c], y, z)
    close(run("nn.deformable_conv2d", x, offset, w, deformable_groups=2), want, 1e-3)


def test_deformable_conv2d_infers_and_refuses():
    result = relate_reporting(
        "nn.deformable_conv2d", T(1, 4, 8, 8), unknown(), unknown(), channels=2, kernel_size=(3, 3)
    )
    assert result == (T(1, 2, 6, 6), {1: T(1, 18, 6, 6), 2: T(2, 4, 3, 3)})
    error = refused("nn.deformable_conv2d", T(1, 4, 8, 8), T(1, 4, 6, 6), T(2, 4, 3, 3))
    assert "the offsets do not fit the windows" in str(error)
    assert "deformable groups" in str(
        refused("nn.deformable_conv2d", T(1, 4, 8, 8), unknown(), T(2, 4, 3, 3), deformable_groups=3)
    )
