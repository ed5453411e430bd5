"""The law of values: every operator, on every dtype it accepts, at every edge it declares, is what it is said to mean.

The edge cases are those of the declarations; each runs on ordinary values, on NaN, infinities, -0, on the ends of the
dtype and on arrays that are not contiguous, and is held against the definition in `meaning`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import passlab
from passlab.definitions import KEEPS_WIDTH, MEANING, InvalidInput
from passlab.errors import LimitError, PasslabError, RunError
from passlab.infer import infer_module
from passlab.ir import IRModule
from passlab.ir.expr import Call, Constant, Function, Tuple, Var
from passlab.ir.op import Op, OpPattern
from passlab.ir.types import TensorType
from passlab.ir.walk import post_order, rewrite
from passlab.op.dtypes import array_dtype, is_float
from passlab.op.edge_cases import program, varies_dtype
from tests.op import cases_gradient, cases_value
from tests.op_nn.running import run_call

DTYPES = (
    "float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
    "uint64", "bool",
)  # fmt: skip
NAMES = Op.list_op_names()
# Operators without a NumPy meaning, and why.
NO_VALUE = {
    "annotation.with_funcid": "its argument is a function",
    "call_lowered": "its argument is a function",
    "vm.invoke_tvm_op": "its argument is a function",
    "memory.alloc_storage": "a storage is no tensor: an instruction of the virtual machine",
    "memory.alloc_tensor": "what is in new memory is not said: an instruction of the virtual machine",
    "memory.kill": "has no result: an instruction of the virtual machine",
    "parser.MetaRef": "is a placeholder for another expression until the metadata is read",
    "debug": "calls a Python function: held by its own test",
}
# Which probability a number falls to is decided by the rounding of their sums; test_random counts what is drawn.
DRAWN = {"random.multinomial"}
FILLS = ("ordinary", "not contiguous", "extreme")
FLOAT_FILLS = (*FILLS, "nan", "infinite", "negative zero", "mixed")
MIXED = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 1.5, 7.0, -0.25)
TOLERANCE = {"float16": 4e-3, "bfloat16": 4e-2, "float32": 2e-5, "float64": 1e-9}


def filled(shape: tuple[int, ...], dtype: str, fill: str, rng: np.random.Generator) -> np.ndarray:
    """An array of one kind of values."""
    kind = array_dtype(dtype)
    count = int(np.prod(shape))
    if kind.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if not is_float(kind):
        info = np.iinfo(kind)
        low, high = max(info.min, -4), min(info.max, 5)
        values = rng.integers(low, high, count)
        if fill == "extreme":
            ends = [info.min, info.max, 0, 1, info.max // 2, max(info.min, -1), 7]
            return np.resize(np.array(ends, kind), count).reshape(shape)
        return values.astype(kind).reshape(shape)
    special = {"nan": [np.nan], "infinite": [np.inf, -np.inf], "negative zero": [-0.0]}.get(fill, [])
    flat = (rng.integers(-12, 13, count) / 8).astype("float64")
    flat[: len(special)] = special[:count]
    if fill == "extreme":
        info = __import__("ml_dtypes").finfo(kind)
        ends = [float(info.max), -float(info.max), float(info.tiny), 0.0, 1.0, float(info.eps), -1.0]
        flat = np.resize(np.array(ends), count)
    if fill == "mixed":
        flat = rng.choice(MIXED, count)
    return np.array(flat, "float64").astype(kind).reshape(shape)


def spaced(array: np.ndarray) -> np.ndarray:
    """The same array with gaps between its elements."""
    if not array.ndim:
        return array
    wide = np.zeros([2 * n for n in array.shape], array.dtype)
    view = wide[tuple(slice(0, None, 2) for _ in array.shape)]
    view[...] = array
    return view


def value_of(arg: Any, env: dict[str, Any]) -> Any:
    if isinstance(arg, Tuple):
        return tuple(value_of(field, env) for field in arg.fields)
    if isinstance(arg, Constant):
        return np.asarray(arg.data)
    assert isinstance(arg, Var)
    return env[arg.name_hint]


def parsed(edge: str, dtype: str) -> tuple[Call, tuple[Any, ...]] | None:
    """The typed call of an edge case and its variables; None when the dtype is not legal there."""
    mod = program(edge, dtype)
    try:
        body = passlab.parse(mod.source)["main"].body
    except PasslabError:
        return None
    assert isinstance(body, Call)
    return body, mod.variables


def as_wide(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(as_wide(v) for v in value)
    return value.astype("float64") if is_float(value.dtype) else value


def rounded(value: Any, like: np.ndarray) -> np.ndarray:
    array = np.asarray(value)
    if like.dtype.kind in "iu" and array.dtype.kind in "iu":
        return array.astype(like.dtype)
    return array.astype(like.dtype)


def _starts(name: str, *heads: str) -> bool:
    return name.startswith(heads)


def is_real(name: str) -> bool:
    """Whether the operator means real numbers, which on integers are cut to whole ones: off by one, at the ends by all."""
    return _starts(
        name, "nn.softmax", "nn.fast_softmax", "nn.log_softmax", "nn.batch_norm", "nn.layer_norm", "nn.group_norm",
        "nn.instance_norm", "nn.l2_norm", "nn.lrn", "nn.cross", "nn.nll", "nn.correlation", "nn.deformable", "nn.avg",
        "nn.adaptive_avg", "nn.global_avg", "nn.upsampling", "dyn.nn.upsampling", "image.", "dyn.image", "vision.",
        "stft", "contrib.roi_align",
    )  # fmt: skip


def hold(got: Any, want: Any, name: str, exact: bool) -> None:
    if isinstance(got, tuple):
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            hold(g, w, name, exact)
        return
    expected = rounded(want, got)
    assert got.shape == expected.shape
    if name.startswith("qnn.") and got.dtype.kind in "iu":
        assert np.abs(got.astype("float64") - expected.astype("float64")).max(initial=0) <= 1, (got, expected)
    elif is_real(name) and not is_float(got.dtype):
        if got.dtype != bool:
            assert np.abs(got.astype("float64") - expected.astype("float64")).max(initial=0) <= 1
    elif not is_float(got.dtype):
        np.testing.assert_array_equal(got, expected)
    else:
        tolerance = TOLERANCE[got.dtype.name]
        if _starts(name, "image.", "dyn.", "nn.upsampling", "vision.", "contrib.roi_align"):
            tolerance = max(tolerance, 2e-5)  # places between pixels are computed in float32, as Relay does
        np.testing.assert_allclose(as_wide(got), as_wide(expected), rtol=tolerance, atol=tolerance)


def overflows(name: str, fill: str, arrays: list[Any]) -> bool:
    """Whether values run out of range on the way, so that only the type of the result is determined."""
    pattern = Op.get(name).spec.pattern
    floats = any(is_float(a.dtype) for v in arrays for a in (v if isinstance(v, tuple) else (v,)))
    if fill in ("infinite", "mixed") and name in ("dft", "stft", "nn.batch_norm", "nn.correlation"):
        return True  # sums of infinities are infinite or NaN by the order of the sum
    if fill in ("nan", "infinite", "mixed") and name == "nn.deformable_conv2d":
        return True  # an offset that is no number points nowhere
    if fill != "extreme":
        return False
    if is_real(name):
        return True
    return floats and pattern not in (OpPattern.ELEMWISE, OpPattern.BROADCAST, OpPattern.INJECTIVE)


@pytest.mark.rotating
@pytest.mark.parametrize("name", NAMES)
def test_every_operator_has_edges_and_a_meaning(name: str) -> None:
    if name in NO_VALUE:
        assert name not in MEANING
        return
    spec = Op.get(name).spec
    assert spec.edge_cases
    assert name in MEANING or name in DRAWN
    assert all(edge.startswith(f"{name}(") for edge in spec.edge_cases)
    legal = [dtype for dtype in DTYPES for edge in spec.edge_cases if varies_dtype(edge) and parsed(edge, dtype)]
    assert legal or not any(map(varies_dtype, spec.edge_cases))
    assert all(parsed(edge, "float32") or any(parsed(edge, d) for d in DTYPES) for edge in spec.edge_cases)


def test_all_meanings_are_of_operators() -> None:
    assert set(MEANING) <= set(NAMES)


@pytest.mark.rotating
@pytest.mark.parametrize("name", [n for n in NAMES if n in MEANING])
def test_every_operator_on_every_dtype_at_every_edge_is_what_it_means(name: str) -> None:
    for edge in Op.get(name).spec.edge_cases:
        for dtype in DTYPES if varies_dtype(edge) else DTYPES[:1]:
            case = parsed(edge, dtype)
            fills = FLOAT_FILLS if case and any("float" in v.dtype for v in case[1]) else FILLS
            for fill in fills if case else ():
                check_case(name, case[0], case[1], fill, f"{edge} on {dtype}, {fill}")


# Operators that a changed size makes meaningless where no type tells, and how.
MEANINGLESS = {
    "dyn.topk": "k is more than there are elements",
    "nn.pad": "a negative width takes away more than there is",
    "sparse_fill_empty_rows": "coordinates have another rank than the shape",
}


def resized(call: Call, variables: Any, size: int) -> Iterator[tuple[Call, tuple[Any, ...]]]:
    """Yield an edge case with each of its sizes replaced by another one, where that is legal."""
    for old in {size for v in variables if v.value is None for size in v.shape} - {size}:
        others = tuple(
            v if v.value is not None else replace(v, shape=tuple(size if n == old else n for n in v.shape))
            for v in variables
        )
        types = {v.name: TensorType(v.shape, v.dtype) for v in others}
        renamed: dict[Any, Any] = {
            n: Var(n.name_hint, types[n.name_hint]) for n in post_order(call) if isinstance(n, Var)
        }
        params = list(renamed.values())
        try:
            body = infer_module(IRModule.from_expr(Function(params, rewrite(call, replace=renamed))))["main"].body
        except PasslabError:
            continue
        assert isinstance(body, Call)
        yield body, others


@pytest.mark.rotating
@pytest.mark.parametrize("name", [n for n in NAMES if n in MEANING and n not in MEANINGLESS])
def test_every_operator_on_sides_without_elements_and_with_one(name: str) -> None:
    """Where both the definition and the kernel give a value, it is the same one; a kernel may refuse."""
    for edge in Op.get(name).spec.edge_cases:
        for dtype in ("float32", "int32") if varies_dtype(edge) else ("float32",):
            case = parsed(edge, dtype)
            for size in (0, 1) if case else ():
                for call, variables in resized(*case, size):  # type: ignore[misc]
                    check_resized(name, call, variables, f"{edge} on {dtype}, a side of {size}")


def check_resized(name: str, call: Call, variables: Any, where: str) -> None:
    arrays = arguments(call, variables, "ordinary")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of means of nothing
        try:
            want = MEANING[name](call.attrs, *(arrays if name in KEEPS_WIDTH else map(as_wide, arrays)))
        except (InvalidInput, ValueError, IndexError, ZeroDivisionError):
            return  # the definition says nothing there
        try:
            got = run_call(call, arrays)
        except (PasslabError, ValueError, IndexError):  # the executors tell all of them as a `RunError`
            return
        try:
            hold(got, want, name, exact=False)
        except AssertionError as error:
            raise AssertionError(f"{where}\n{error}") from error


MORE = (*cases_gradient.MORE, *cases_value.VALUES)


@pytest.mark.rotating
@pytest.mark.parametrize("text", [text for text in MORE if text.partition("(")[0] in MEANING])
def test_every_attribute_has_the_say_that_it_means(text: str) -> None:
    """The uses beyond the edges, on floats and on integers where these are legal."""
    ran = 0
    for dtype in ("float32", "float64", "int32") if varies_dtype(text) else ("float32",):
        case = parsed(text, dtype)
        for fill in FILLS[:2] if case else ():
            check_case(text.partition("(")[0], case[0], case[1], fill, f"{text} on {dtype}, {fill}")  # type: ignore[index]
            ran += 1
    assert ran


@pytest.mark.rotating
@pytest.mark.parametrize("name", [n for n in NAMES if n in MEANING])
def test_every_attribute_is_given_some_other_value(name: str) -> None:
    spec = Op.get(name).spec
    uses = [*spec.edge_cases, *(text for text in MORE if text.startswith(f"{name}("))]
    results = [
        case[0].attrs for text in uses for d in DTYPES if (case := parsed(text, d if varies_dtype(text) else "float32"))
    ]
    for field in spec.attrs.schema if spec.attrs else ():
        names = {repr(attrs[field.name]) for attrs in results if attrs is not None}
        value = (name, field.name) in cases_value.IDLE or (name, field.name) in cases_value.ELSEWHERE
        assert value or names - {repr(field.default)}, f"no use gives `{field.name}` another value than its default"


def test_what_is_said_of_attributes_is_said_of_some() -> None:
    for name, field in (*cases_value.IDLE, *cases_value.ELSEWHERE):
        record = Op.get(name).spec.attrs
        assert record is not None
        assert field in [f.name for f in record.schema]


def values_of(variables: Any, fill: str = "ordinary") -> dict[str, np.ndarray]:
    """The values of the variables of an edge case by name: those that are stated, others filled with one kind of values."""
    rng = np.random.default_rng(3)
    return {
        v.name: filled(v.shape, v.dtype, fill, rng)
        if v.value is None
        else np.array(v.value).astype(array_dtype(v.dtype)).reshape(v.shape)
        for v in variables
    }


def arguments(call: Call, variables: Any, fill: str) -> list[Any]:
    """Return the arguments of a call, filled with one kind of values."""
    env = values_of(variables, fill)
    env = {key: spaced(value) for key, value in env.items()} if fill == "not contiguous" else env
    return [value_of(arg, env) for arg in call.args]


def check_case(name: str, call: Call, variables: Any, fill: str, where: str) -> None:
    arrays = arguments(call, variables, fill)
    try:
        with np.errstate(all="ignore"):
            want = MEANING[name](call.attrs, *(arrays if name in KEEPS_WIDTH else map(as_wide, arrays)))
    except InvalidInput:
        with pytest.raises(RunError):
            run_call(call, arrays)
        return
    try:
        got = run_call(call, arrays)
        if not overflows(name, fill, arrays):
            with np.errstate(all="ignore"):
                hold(got, want, name, exact=False)
    except (AssertionError, LimitError, PasslabError, ValueError, TypeError, FloatingPointError) as error:
        raise AssertionError(f"{where}\n{error}") from error
