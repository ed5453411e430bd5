"""The executor "onnxruntime": the results of the reference evaluator, whole where ONNX can say it, in parts elsewhere."""

from __future__ import annotations

import gc
import sys
import weakref
from typing import Any

import numpy as np
import pytest

import passlab
from passlab import IRModule, limits, relay
from passlab.errors import LimitError, MissingPackageError, PasslabError, RunError
from passlab.evaluate.agreement import disagreement
from passlab.executor import Executor, create_executor
from passlab.ir.op import Op
from passlab.lazy import late
from passlab.op.edge_cases import program, varies_dtype
from passlab.testing import programs
from passlab.testing.programs.registry import operator_names
from tests.op.test_edges import hold, overflows, values_of

pytest.importorskip("onnx", reason="the executor writes ONNX models: pip install onnx")
pytest.importorskip("onnxruntime", reason="the executor needs onnxruntime: pip install onnxruntime")

from passlab.executor import create
from passlab.executor.onnx_executor import partition
from passlab.frontend.onnx.export.exporting import write_model
from passlab.frontend.onnx.export.table import writers
from passlab.vm.kernels.onnx_provider import OnnxKernel

pytestmark = pytest.mark.rotating

X = np.linspace(-2, 2, 12, dtype="float32").reshape(3, 4)
DTYPES = ("float32", "float16", "float64", "int64", "int32", "int8", "uint8", "bool")
NETWORKS: dict[str, dict[str, int]] = {"mlp": {"batch_size": 1}, "lstm": {"iterations": 3, "num_hidden": 8}, "dcgan": {"batch_size": 1}, "dqn": {"batch_size": 1}, "squeezenet": {"batch_size": 1},
         "mobilenet": {"batch_size": 1}, "resnet": {"num_layers": 18, "batch_size": 1}}  # fmt: skip
# The edge cases on which onnxruntime differs, by operator, with the kinds of values.
DIFFERENT = {
    **dict.fromkeys(("cast", "cast_like", "full", "full_like"), "floats beyond the range of an integer dtype"),
    "floor_divide": "quotients that overflow",
    "qnn.requantize": "numbers within a zero point of the ends of int32",
}


def run(source: str, *args: Any, kind: str = "onnxruntime") -> Any:
    return create_executor(kind, passlab.parse(source)).evaluate()(*args)


def plan(source: str, *args: Any) -> Any:
    return create_executor("onnxruntime", passlab.parse(source)).plan(*args)  # type: ignore[attr-defined]


def attempt(executor: Executor, args: Any) -> Any:
    try:
        return executor.evaluate()(*args)
    except PasslabError as error:
        return type(error)


# ---------------------------------------------------------------- laws
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_run_whole_and_agree_with_the_evaluator(name: str) -> None:
    mod, params = getattr(relay.testing, name).get_workload(**NETWORKS[name])
    args = [
        np.random.default_rng(0).standard_normal(p.type_annotation.concrete_shape).astype("float32")
        for p in mod["main"].params
        if p.name_hint not in params
    ]
    executor = create_executor("onnxruntime", mod, params=params)
    expected = create_executor("debug", mod, params=params).evaluate()(*args)
    for _ in range(2):
        value = executor.evaluate()(*args)
        np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-5 * float(np.abs(expected).max()))
    assert executor.plan().kind == "whole"  # type: ignore[attr-defined]


@pytest.mark.parametrize("effects", [False, True])
def test_generated_programs_agree_with_the_evaluator(effects: bool) -> None:
    operators = [name for name in operator_names(smooth=False) if not name.startswith("qnn.")]  # a quantum may differ
    wrong, kinds = [], set()
    for seed in range(40):
        case = programs.program(seed, effects=effects, operators=operators)
        executor = create_executor("onnxruntime", case.mod)
        try:
            value = executor.evaluate()(*case.args)
        except PasslabError as error:
            if "the virtual machine cannot run a reference" not in str(error):
                wrong.append(f"{seed}: {error}")
            continue
        kinds.add(executor.plan(*case.args).kind)  # type: ignore[attr-defined]
        leaves = [part for part in _leaves(case.value) if isinstance(part, np.ndarray)]
        theirs = [part for part in _leaves(value) if isinstance(part, np.ndarray)]
        for a, b in zip(leaves, theirs, strict=True):
            a, b = (part.astype("float32") if part.dtype == "float64" else part for part in (a, b))
            if (difference := disagreement(a, b, ulps=500, finite_only=True)) is not None:
                wrong.append(f"{seed}: {difference}")
    assert wrong == []
    assert kinds == (set() if effects else {"parts"})  # all programs with effects have references, which are refused


def _leaves(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in _leaves(part)] if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("name", [*writers()])
def test_every_edge_case_that_runs_whole_is_what_the_evaluator_computes(name: str) -> None:
    """On ordinary values, on arrays with gaps, -0 and the ends of the dtype. NaN and infinities: see the manual."""
    wrong = []
    for edge in Op.get(name).spec.edge_cases:
        for dtype in DTYPES if varies_dtype(edge) else DTYPES[:1]:
            small = program(edge, dtype)
            try:
                mod = passlab.parse(small.source)
            except PasslabError:
                continue
            executor, reference = create_executor("onnxruntime", mod), create_executor("debug", mod)
            if executor.plan().kind != "whole":  # type: ignore[attr-defined]
                continue
            for fill in ("ordinary", "not contiguous", "negative zero", "extreme"):
                args = list(values_of(small.variables, fill).values())
                expected, value = attempt(reference, args), attempt(executor, args)
                if isinstance(expected, type) or isinstance(value, type):
                    if expected is not value:
                        wrong.append(f"{edge} on {dtype}, {fill}: {expected} and {value}")
                    continue
                for a, b in zip(_leaves(expected), _leaves(value), strict=True):
                    if (a.shape, a.dtype) != (b.shape, b.dtype):
                        wrong.append(f"{edge} on {dtype}, {fill}: {a.dtype}{a.shape} and {b.dtype}{b.shape}")
                    elif not overflows(name, fill, args) and not (fill == "extreme" and name in DIFFERENT):
                        try:
                            with np.errstate(all="ignore"):
                                hold(b, a, name, exact=False)
                        except AssertionError:
                            wrong.append(f"{edge} on {dtype}, {fill}: {a} and {b}")
    assert wrong == []


# ---------------------------------------------------------------- values and conventions
@pytest.mark.parametrize(
    ("source", "args"),
    [
        ("def @main(%x: float32) { %x * %x }", [3.0]),
        ("def @main(%x: Tensor[(0, 4), float32]) { (nn.relu(%x), %x) }", [np.zeros((0, 4), "float32")]),
        ("def @main(%x: Tensor[(3), bool]) { logical_not(%x) }", [np.array([True, False, True])]),
        ("def @main(%x: Tensor[(3), float64]) { sqrt(%x) }", [np.arange(3.0)]),
        ("def @main(%p: (Tensor[(2), int32], (float32, bool))) { %p }",
         [(np.int32([1, 2]), (np.float32(3), np.bool_(True)))]),
        ("def @main() { ones(shape=[2, 2], dtype=\"int64\") }", []),
        ("def @main(%x: int64) { let %f = fn (%y: int64) { %y + 1i64 }; (%f(%x), %f(%f(%x))) }", [np.int64(5)]),
        ("def @g(%x: int64) { %x + %x } def @main(%x: int64) { @g(@g(%x)) }", [np.int64(5)]),
        ("def @main(%x: Tensor[(2), float32]) { () }", [np.float32([1, 2])]),
        ("def @main(%x: Tensor[(2), float32]) { %x }", [np.float32([1, 2])]),
    ],
)  # fmt: skip
def test_values_have_the_dtype_shape_and_nesting_of_the_evaluator(source: str, args: list[Any]) -> None:
    expected, value = run(source, *args, kind="debug"), run(source, *args)
    assert disagreement(expected, value) is None
    assert [type(part) for part in _leaves(value)] == [type(part) for part in _leaves(expected)]


def test_results_are_no_views_of_arguments() -> None:
    x = np.float32([1, 2])
    value = run("def @main(%x: Tensor[(2), float32]) { (%x, reshape(%x, newshape=[2, 1])) }", x)
    assert not any(np.shares_memory(part, x) for part in value)


def test_unknown_sizes_need_one_session() -> None:
    executor = create_executor("onnxruntime", passlab.parse("def @main(%x: Tensor[(?, 4), float32]) { nn.relu(%x) }"))
    for rows in (1, 3, 0):
        np.testing.assert_array_equal(executor.evaluate()(X[:rows]), np.maximum(X[:rows], 0))
    assert executor.plan(X).kind == "whole"  # type: ignore[attr-defined]


def test_operators_that_need_known_shapes_get_a_session_for_each_shape() -> None:
    source = "def @main(%x: Tensor[(?, 4), float32]) { cumprod(%x, axis=0) }"
    executor = create_executor("onnxruntime", passlab.parse(source))
    for rows in (2, 3):
        np.testing.assert_allclose(executor.evaluate()(X[::-1][:rows]), np.cumprod(X[::-1][:rows], axis=0), rtol=1e-6)
    assert executor.plan(X).kind == "specialised"  # type: ignore[attr-defined]
    assert "shape must be known" in executor.plan(X).reasons[0].message  # type: ignore[attr-defined]


def test_sessions_of_shapes_that_were_used_long_ago_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(create, "MOST_COMPILED", 3)  # that of any shape, and those of two shapes
    source = "def @main(%x: Tensor[(?, 4), float32]) { cumprod(%x, axis=0) }"
    executor = create_executor("onnxruntime", passlab.parse(source))
    sessions = [weakref.ref(executor.plan(X[:rows]).run) for rows in (1, 2)]  # type: ignore[attr-defined]
    for rows in (1, 3, 1):  # the first is in use all the time
        np.testing.assert_allclose(executor.evaluate()(X[::-1][:rows]), np.cumprod(X[::-1][:rows], axis=0), rtol=1e-6)
    gc.collect()
    assert [session() is not None for session in sessions] == [True, False]


# ---------------------------------------------------------------- parts
MIXED = """
def @main(%x: Tensor[(1, 8, 64, 64), float32], %w: Tensor[(8, 8, 3, 3), float32], %deep: bool) {
  %0 = nn.relu(nn.conv2d(%x, %w, padding=[1, 1]));
  %1 = nn.dilate(%0, strides=[1, 1, 2, 2]);
  let %y = if (%deep) { nn.relu(nn.conv2d(%1, %w)) } else { %1 };
  nn.max_pool2d(%y, pool_size=[2, 2])
}
"""


def test_regions_run_on_onnxruntime_and_the_rest_on_numpy() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((1, 8, 64, 64)).astype("float32"), rng.standard_normal((8, 8, 3, 3)).astype("float32")
    source = MIXED.replace("} else { %1 }", "} else { strided_slice(%1, begin=[0], end=[125], axes=[2]) }")
    source = source.replace("axes=[2]", "axes=[2, 3]").replace("begin=[0], end=[125]", "begin=[0, 0], end=[125, 125]")
    for deep in (True, False):
        expected = run(source, x, w, deep, kind="debug")
        np.testing.assert_allclose(run(source, x, w, deep), expected, rtol=1e-4, atol=1e-4)
    parts = plan(source)
    assert parts.kind == "parts"
    assert [d.message for d in parts.reasons] == ["`nn.dilate`: ONNX has no operator for it"]
    exe = relay.vm.compile(partition(passlab.parse(source)))
    machine = passlab.vm.VirtualMachine(exe, providers="onnxruntime")
    kinds = [type(kernel) for kernel in machine.machine.exe.kernels]
    assert kinds.count(OnnxKernel) == 4  # before the branch, in both of its arms, and after it
    assert len(kinds) > 4


def test_a_loop_of_let_bound_cells_is_one_region() -> None:
    """A cell's split, its tuple and its lets do not break the region, though `nn.dilate` keeps the whole from ONNX."""
    mod, params = relay.testing.lstm.get_workload(iterations=4, num_hidden=64)
    body = mod["main"].body
    dilated = relay.Function(mod["main"].params, relay.nn.dilate(body, [1, 2]))
    mod = passlab.transform.InferType()(mod.with_functions({"main": dilated}))
    regions = [f for _, f in partition(mod).items() if f.attrs.get("Compiler") == "onnxruntime"]
    assert len(regions) == 1
    args = [np.ones(p.type_annotation.concrete_shape, "float32") for p in dilated.params if p.name_hint not in params]
    expected, value = (create_executor(k, mod, params=params).evaluate()(*args) for k in ("debug", "onnxruntime"))
    np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-6)


def test_operators_are_registered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    mod = passlab.parse("def @main(%x: Tensor[(4, 4), float32]) { nn.relu(%x) }")
    partition(mod)
    monkeypatch.setattr(Op, "set_attr", lambda *_: pytest.fail("registered again"))
    partition(mod)


def test_regions_of_small_tensors_stay_on_numpy() -> None:
    small = partition(passlab.parse("def @main(%x: Tensor[(4, 4), float32]) { nn.relu(%x) }"))
    assert [name for name, _ in small.items()] == ["main"]


def test_data_types_and_functions_run_on_the_machine() -> None:
    source = """
    def @main(%x: float32) {
      let %some = Some(%x);
      (match (%some) { Some(%v) => { %v * 2f }, None => { 0f } }, fn (%y: float32) { %x + %y })
    }
    """
    mod = IRModule()
    mod.import_from_std("prelude.rly")
    mod.update(passlab.parse("type Option[A] { Some(A), None }" + source))
    value, plus = create_executor("onnxruntime", mod).evaluate()(np.float32(3))
    assert (float(value), float(plus(np.float32(4)))) == (6, 7)


# ---------------------------------------------------------------- what onnxruntime refuses
def test_an_operator_of_which_onnxruntime_has_no_kernel_is_named() -> None:
    """The model is valid, but onnxruntime cannot make a session of it."""
    source = "def @main(%x: Tensor[(3), float64]) { nn.prelu(reshape(%x, newshape=[1, 3]), %x) }"
    parts = plan(source)
    if parts.kind == "parts":
        assert "PRelu" in str(parts.reasons[0])
    x = np.arange(3.0)
    np.testing.assert_array_equal(run(source, x), run(source, x, kind="debug"))


def test_integers_are_divided_as_relay_does_and_never_crash() -> None:
    least = np.iinfo("int32").min
    source = "def @main(%x: Tensor[(1), int32], %y: Tensor[(1), int32]) { (%x / %y, floor_mod(%x, %y)) }"
    args = np.int32([least]), np.int32([-1])
    assert disagreement(run(source, *args, kind="debug"), run(source, *args)) is None
    with pytest.raises(RunError, match="division by zero") as caught:
        run(source, np.int32([1]), np.int32([0]))
    assert "%x / %y" in str(caught.value)


def test_integer_sums_wrap_around() -> None:
    source = "def @main(%x: Tensor[(2), int64]) { sum(%x) }"
    x = np.int64([2**62 + 1, 2**62 + 1])
    assert run(source, x) == run(source, x, kind="debug")


def test_an_error_at_run_time_names_the_operator_and_its_place() -> None:
    source = "def @main(%x: Tensor[(?), float32], %y: Tensor[(?), float32]) { add(%x, %y) }"
    with pytest.raises(RunError) as caught:
        run(source, np.ones(2, "float32"), np.ones(3, "float32"))
    assert "add(%x, %y)" in str(caught.value)


def test_a_tensor_above_the_limit_is_refused() -> None:
    with limits.override(tensor_bytes=1000), pytest.raises(LimitError):
        run('def @main() { zeros(shape=[1000], dtype="float32") }')


def test_a_very_long_program_runs_on_the_machine() -> None:
    x = relay.var("x", shape=(2,), dtype="float32")
    y: Any = x
    for _ in range(30_000):
        y = relay.negative(y)
    executor = create_executor("onnxruntime", IRModule.from_expr(relay.Function([x], y)))
    np.testing.assert_array_equal(executor.evaluate()(np.float32([1, 2])), np.float32([1, 2]))
    assert "30" not in executor.plan().reasons[0].message  # type: ignore[attr-defined]


# ---------------------------------------------------------------- options and weights
def test_execution_providers_are_named() -> None:
    mod = passlab.parse("def @main(%x: float32) { %x }")
    executor = create_executor("onnxruntime", mod, providers="CPUExecutionProvider")
    assert float(executor.evaluate()(2.0)) == 2
    with pytest.raises(RunError, match="no execution provider `CPUExecutionProvide`") as caught:
        create_executor("onnxruntime", mod, providers=["CPUExecutionProvide"])
    assert "did you mean `CPUExecutionProvider`" in str(caught.value)


@pytest.mark.parametrize(("name", "fix"), [("onnxruntime", "pip install onnxruntime"), ("onnx", "pip install onnx")])
def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, name: str, fix: str) -> None:
    for module in ("passlab.executor.onnx_executor", "passlab.vm.kernels.onnx_provider"):
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, name, None)
    late.cache_clear()  # it remembers what it has imported
    with pytest.raises(MissingPackageError, match=fix):
        create_executor("onnxruntime", passlab.parse("def @main(%x: float32) { %x }"))


def test_large_weights_are_handed_over_without_a_copy() -> None:
    weight = relay.const(np.ones((64, 64), "float32"))
    x = relay.var("x", shape=(2, 64), dtype="float32")
    apart: dict[str, Any] = {}
    model, _ = write_model(IRModule.from_expr(relay.Function([x], relay.nn.dense(x, weight))), apart=apart)
    assert any(array is weight.data or array.base is weight.data for array in apart.values())
    assert model.ByteSize() < weight.data.nbytes / 8
