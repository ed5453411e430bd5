"""What constants compute is stored once, however many programs and runs compute it, and only while one has it."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any
from weakref import ref

import numpy as np
import pytest

import passlab
from passlab import IRModule, lab, relay, transform
from passlab.evaluate import Evaluator, shared_results
from passlab.ir.expr import Call, Constant, Expr, is_frozen
from passlab.ir.walk import post_order, rewrite

SIDE = 1024  # of the weights: 4 MB
NET = f"""
def @main(%x: Tensor[(4, {SIDE}), float32]) {{
  %0 = nn.dense(%x, multiply(full(0.5f, shape=[{SIDE}, {SIDE}], dtype="float32"), 2f), units={SIDE});
  %1 = nn.dense(nn.relu(%0), full(0.25f, shape=[{SIDE}, {SIDE}], dtype="float32"), units={SIDE});
  %2 = nn.relu(subtract(%1, 3f));
  nn.dense(%2, full(0.125f, shape=[{SIDE}, {SIDE}], dtype="float32"), units={SIDE})
}}
"""
WEIGHTS = 3 * SIDE * SIDE * 4


def weights(mod: IRModule) -> list[Any]:
    """The arrays of the large constants of a program."""
    return [n.data for n in post_order(mod["main"]) if isinstance(n, Constant) and n.data.size > SIDE]


def folded(mod: IRModule) -> IRModule:
    with transform.PassContext(opt_level=4):
        return transform.Sequential([transform.InferType(), transform.FoldConstant()])(mod)


def test_two_runs_of_a_pass_fold_to_the_same_arrays():
    mod = passlab.parse(NET)
    first, second = folded(mod), folded(mod)
    assert len(weights(first)) == 3
    assert all(a is b for a, b in zip(weights(first), weights(second), strict=True))


def test_runs_of_a_program_have_the_arrays_of_its_constants():
    mod = passlab.parse(NET)
    kept = weights(folded(mod))
    x = np.ones((4, SIDE), "float32")
    values = [Evaluator(mod).values("main", [x]) for _ in range(2)]
    made = [{id(a) for a in found.values() if isinstance(a, np.ndarray)} for found in values]
    assert all({id(a) for a in kept} <= ids for ids in made)


@pytest.mark.rotating
def test_nothing_is_kept_that_no_program_has():
    mod = passlab.parse(NET)
    gc.collect()
    before = len(shared_results._OF_ARRAYS), len(shared_results._ORIGINS)
    arrays = [ref(a) for a in weights(folded(mod))]
    gc.collect()
    assert [a() for a in arrays] == [None] * 3
    assert (len(shared_results._OF_ARRAYS), len(shared_results._ORIGINS)) == before


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("full(2f, shape=[32768], dtype=\"float32\")", "full(3f, shape=[32768], dtype=\"float32\")"),
        ("full(0f, shape=[32768], dtype=\"float32\")", "full(-0f, shape=[32768], dtype=\"float32\")"),
        ("full(2f, shape=[32768], dtype=\"float32\")", "full(2, shape=[32768], dtype=\"float32\")"),
        ("full(2f, shape=[32768], dtype=\"float32\")", "full(2f, shape=[2, 16384], dtype=\"float32\")"),
        ("full(2f, shape=[32768], dtype=\"float32\")", "full(2f, shape=[32768], dtype=\"int32\")"),
        ("tile(2f, reps=[32768])", "repeat(expand_dims(2f, axis=0), repeats=32768, axis=0)"),
        ("concatenate((full(1f, shape=[32768], dtype=\"float32\"), full(2f, shape=[32768], dtype=\"float32\")))",
         "concatenate((full(2f, shape=[32768], dtype=\"float32\"), full(1f, shape=[32768], dtype=\"float32\")))"),
    ],
)  # fmt: skip
def test_other_calls_have_other_arrays(a: str, b: str):
    mods = [folded(passlab.parse(f"def @main() {{ {text} }}")) for text in (a, b)]
    plain = [passlab.parse(f"def @main() {{ {text} }}") for text in (a, b)]
    for found, mod in zip(mods, plain, strict=True):
        (array,) = weights(found)
        expected = Evaluator(mod).run("main")
        assert array.dtype == expected.dtype
        assert array.tobytes() == expected.tobytes()
    assert weights(mods[0])[0] is not weights(mods[1])[0]


def test_an_array_that_its_owner_changes_is_copied():
    own = np.ones((64, 64), "float32")
    for view in (own, own[:], own.reshape(-1), own.T, np.broadcast_to(own, (2, 64, 64))):
        shown = view.view()
        shown.flags.writeable = False
        assert not is_frozen(shown)
        constant = relay.Constant(shown)
        before = constant.data.tobytes()
        own += 1
        assert constant.data.tobytes() == before
        assert is_frozen(constant.data)


def test_a_view_of_all_of_a_constant_is_not_copied():
    constant = relay.Constant(np.arange(12.0).reshape(3, 4))
    assert np.shares_memory(relay.Constant(constant.data.reshape(-1)).data, constant.data)
    assert not np.shares_memory(relay.Constant(constant.data[1]).data, constant.data)  # it would keep the whole
    assert relay.Constant(constant.data.T).data.flags.c_contiguous


def test_a_kernel_that_is_exchanged_computes_anew():
    mod = passlab.parse('def @main() { multiply(full(2f, shape=[32768], dtype="float32"), 3f) }')
    right = folded(mod)
    spec = relay.op.get("multiply").spec
    kernels = spec.kernel, spec.raw
    try:
        for name in ("kernel", "raw"):
            object.__setattr__(spec, name, lambda attrs, a, b: np.subtract(a, b))
        (wrong,) = weights(folded(mod))
    finally:
        for name, kernel in zip(("kernel", "raw"), kernels, strict=True):
            object.__setattr__(spec, name, kernel)
    assert wrong[0] == -1
    assert weights(right)[0][0] == 6


@pytest.mark.rotating
def test_a_long_chain_is_forgotten_without_recursion():
    value = relay.Constant(np.zeros(1 << 14, "float32")).data
    for _ in range(20_000):
        value = shared_results.shared_result(relay.op.get("negative"), None, [value])
    assert len(shared_results._ORIGINS) >= 20_000
    del value
    gc.collect()
    assert len(shared_results._ORIGINS) < 10_000


def swapping(mod: IRModule) -> Any:
    """A pass that makes `abs` of the last `nn.relu`."""
    place = [n for n in post_order(mod["main"]) if isinstance(n, Call) and n.op is relay.op.get("nn.relu")][-1]

    @transform.function_pass(opt_level=0)
    def swapped(func: Any, mod: Any, ctx: Any) -> Any:
        rule = lambda pre, post: relay.abs(post.args[0]) if pre.span == place.span else post  # noqa: E731
        return rewrite(func, rule, only=(Call,)) if isinstance(func, Expr) else func

    return swapped


def test_a_search_keeps_the_weights_of_a_program_once():
    mod = transform.InferType()(passlab.parse(NET))
    passes = "InferType, FoldConstant, FoldScaleAxis, EliminateCommonSubexpr, CanonicalizeOps, FoldConstant, FuseOps"
    small = passlab.parse("def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }")
    # The rooms of the search are imported first: code is memory, too.
    lab.culprit(small, [passes, swapping(small), passes], opt_level=4, executors=("vm",))
    tracemalloc.start()
    try:
        found = lab.culprit(mod, [passes, swapping(mod), passes], opt_level=4, executors=("vm",))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.name == "swapped"
    assert peak < 8 * WEIGHTS, f"{peak / WEIGHTS:.1f} times the weights"
