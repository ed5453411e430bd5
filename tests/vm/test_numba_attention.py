"""What Numba compiles for attention computes what NumPy does; skipped where Numba is not installed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import passlab
from tests.vm.provider_programs import run_on


@pytest.fixture(autouse=True)
def needs_numba():
    pytest.importorskip("numba")


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_any_product_of_changing_matrices_is_the_definition(data):
    """Exact: whole numbers, whose sums are exact in any order. Views of other arrays are read as they lie in memory."""
    from passlab.vm.kernels import numba_convolution, numba_products

    def draw(low, high, name):
        return data.draw(st.integers(low, high), name)

    batch, rows, columns = draw(1, 3, "batch"), draw(4, 40, "rows"), draw(1, 70, "columns")
    depth = data.draw(st.sampled_from((1, 3, 64, 1024)), "depth")
    turned, single = ([draw(0, 1, name) == 1 for _ in range(2)] for name in ("transposed", "single"))
    shapes = [(1 if one else batch, n, depth) for one, n in zip(single, (rows, columns), strict=True)]
    x, w = (np.random.default_rng(i).integers(-9, 10, shape).astype("float32") for i, shape in enumerate(shapes))
    args = [a.transpose(0, 2, 1) if turn else a for a, turn in zip((x, w), (turned[0], not turned[1]), strict=True)]
    if draw(0, 1, "copied"):
        args = [np.ascontiguousarray(a) for a in args]
    types = ", ".join(f"%{name}: Tensor[{a.shape}, float32]" for name, a in zip("xw", args, strict=True))
    attrs = f"transpose_a={turned[0]}, transpose_b={turned[1]}"
    mod = passlab.parse(f"def @main({types}) {{ nn.batch_matmul(%x, %w, {attrs}) }}")
    dense = passlab.parse(f"""def @main(%x: Tensor[{x.shape[1:]}, float32], %w: Tensor[{w.shape[1:]}, float32]) {{
        nn.dense(%x, %w) }}""")
    expected, threads = x @ w.transpose(0, 2, 1), draw(1, 3, "threads")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba_convolution, "loop_threads", lambda: threads)
        patch.setattr(numba_convolution, "PARALLEL_OPERATIONS", 0)
        patch.setattr(numba_products, "FEWEST_PRODUCTS", 0)
        patch.setattr(np, "matmul", lambda *_, **__: pytest.fail("NumPy computed a product"))
        for memory in (None, "naive"):
            np.testing.assert_array_equal(run_on("numba", mod, {}, *args, memory_cfg=memory), expected)
            np.testing.assert_array_equal(run_on("numba", dense, {}, x[0], w[0], memory_cfg=memory), x[0] @ w[0].T)


REDUCTIONS = {
    "softmax": "nn.softmax(%x)",
    "mean": "mean(%x, axis=[2])",
    "variance": "variance(%x, %m, axis=[-1], keepdims=True, unbiased=True)",
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("length", [2, 16, 47, 768, 8192])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_rows_are_reduced_as_exactly_as_by_numpy(name, length, threads, rng, monkeypatch):
    """Beside float64: a few roundings, and what is not a number."""
    from passlab.vm.kernels import numba_convolution, numba_reductions

    monkeypatch.setattr(numba_convolution, "loop_threads", lambda: threads)
    monkeypatch.setattr(numba_convolution, "PARALLEL_OPERATIONS", 0)
    monkeypatch.setattr(numba_reductions, "SMALLEST", 0)
    used = []
    for loop in ("softmax_rows", "sum_rows"):
        run = getattr(numba_reductions, loop)
        monkeypatch.setattr(numba_reductions, loop, lambda *a, run=run: (used.append(1), run(*a)))
    x = (20 * rng.standard_normal((3, 5, length)) + 7).astype("float32")
    x[0, 1, 0], x[0, 2, 1], x[0, 3, 0], x[1, 0] = np.nan, np.inf, -np.inf, -np.inf
    arrays = {"x": x, "m": x.mean(-1, keepdims=True)}
    types = ", ".join(f"%{n}: Tensor[{a.shape}, float32]" for n, a in arrays.items())
    mod = passlab.parse(f"def @main({types}) {{ {REDUCTIONS[name]} }}")
    with np.errstate(all="ignore"):
        exact = x.astype("float64")
        shifted = np.exp((x - x.max(-1, keepdims=True)).astype("float64"))
        expected = {
            "softmax": shifted / shifted.sum(-1, keepdims=True),
            "mean": exact.mean(-1),
            "variance": ((exact - arrays["m"]) ** 2).sum(-1, keepdims=True) / (length - 1),
        }[name]
    tolerance = {"rtol": 1e-6, "atol": 1e-44 if name == "softmax" else 1e-5}
    for memory in (None, "naive"):
        result = run_on("numba", mod, {}, *arrays.values(), memory_cfg=memory)
        assert result.dtype == np.float32
        np.testing.assert_allclose(result, expected, **tolerance)
    assert used
