"""Kernels of Triton, which needs the source of a kernel in a file."""

import triton
import triton.language as tl


@triton.jit
def softmax_rows(out, x, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    v = tl.load(x + row * stride + cols, mask=mask, other=-float("inf"))
    v = v - tl.max(v, axis=0)
    e = tl.exp(v)
    tl.store(out + row * stride + cols, e / tl.sum(e, axis=0), mask=mask)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        x = tl.load(a + i[:, None] * K + k[None, :], mask=(i[:, None] < M) & (k[None, :] < K), other=0.0)
        y = tl.load(b + k[:, None] * N + j[None, :], mask=(k[:, None] < K) & (j[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c + i[:, None] * N + j[None, :], acc.to(tl.float16), mask=(i[:, None] < M) & (j[None, :] < N))


@triton.autotune(configs=[triton.Config({}, num_warps=4)], key=["n"])
@triton.jit
def tuned(x, n):
    tl.store(x + n, 1.0)


@triton.jit
def twice(x):
    return x * 2


@triton.jit
def add_rows(x, out, n, N: tl.constexpr = 64):
    at = tl.program_id(0) * N + tl.arange(0, N)
    if n > 3:
        v = twice(tl.load(x + at))
        tl.store(out + at, v, mask=at < n)


def plain(x):
    return x


@triton.jit
def bad_name(x):
    tl.store(x, unknown_name)  # noqa: F821  # wrong


@triton.jit
def bad_shapes(x):
    a = tl.arange(0, 64)
    b = a + tl.arange(0, 32)  # wrong
    tl.store(x + b, 1.0)


@triton.jit
def bad_callee(x):
    return x.no_such_method()  # wrong too


@triton.jit
def bad_call(x):
    tl.store(x, bad_callee(1))  # wrong


@triton.jit
def too_large(x):
    at = tl.arange(0, 128)
    tl.store(x + at, 1.0)
