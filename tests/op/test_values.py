"""What operators compute: known results, in every dtype and at its edges, against NumPy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from passlab.definitions.elements import round_half_away
from passlab.errors import PasslabError, RunError
from passlab.ir.op import Op
from passlab.ir.types import ANY, IncompleteType, TensorType, TupleType, Type
from passlab.op.dtypes import array_dtype
from tests.each import each
from tests.op import cases_index, cases_shape
from tests.op.cases import CASES, Case
from tests.op_nn.running import run, same, types_of

assert CASES, "the tables are filled by importing them"
TABLES = (cases_shape, cases_index)


def compare(got: Any, want: Any, exact: bool) -> None:
    if isinstance(want, tuple):
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            compare(g, w, exact)
    elif exact:
        assert got.shape == np.shape(want)
        np.testing.assert_array_equal(got, want)
    else:
        np.testing.assert_allclose(got, np.asarray(want, got.dtype), rtol=2e-5, atol=1e-5)


@each("case", CASES, ids=str)
def test_an_operator_computes_what_it_says(case: Case) -> None:
    got = run(case.name, *case.inputs, **case.attrs)
    if case.want is not None:
        compare(got, case.want, case.exact)


@each("case", CASES, ids=str)
def test_arrays_need_not_be_contiguous(case: Case) -> None:
    def strided(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(strided(v) for v in value)
        wide = np.zeros([2 * n for n in value.shape], value.dtype)
        wide[tuple(slice(0, None, 2) for _ in value.shape)] = value
        return wide[tuple(slice(0, None, 2) for _ in value.shape)] if value.ndim else value

    spec = Op.get(case.name).spec
    record = spec.attrs(**case.attrs) if spec.attrs else None
    assert spec.kernel is not None
    compare(spec.kernel(record, *map(strided, case.inputs)), spec.kernel(record, *case.inputs), exact=False)


class NoReport:
    def assign(self, index: int, ty: Type) -> None: ...


def less_known(ty: Any, which: int) -> Any:
    """`ty` with dimension number `which` unknown (all of them for -1)."""
    if isinstance(ty, TupleType):
        return TupleType([less_known(f, which) for f in ty.fields])
    return TensorType([ANY if which in (-1, i) else dim for i, dim in enumerate(ty.shape)], ty.dtype)


def agrees(full: Any, less: Any) -> bool:
    """Whether `less` says of a type what `full` says, or less."""
    if isinstance(full, TupleType):
        return len(full.fields) == len(less.fields) and all(map(agrees, full.fields, less.fields))
    pairs = zip(full.shape, less.shape, strict=True)
    return full.dtype == less.dtype and all(b is ANY or a is ANY or a == b for a, b in pairs)


RANK_FROM_DATA = {"dyn.reshape", "dyn.squeeze", "dyn.zeros", "dyn.ones", "dyn.full", "dyn.broadcast_to", "dyn.tile",
                  "dyn.sparse_to_dense", "collapse_sum_to", "gather_nd", "squeeze"}  # fmt: skip


@each("case", CASES, ids=str)
def test_a_relation_says_nothing_wrong_of_unknown_dimensions(case: Case) -> None:
    from passlab.errors import RelationError

    spec = Op.get(case.name).spec
    record = spec.attrs(**case.attrs) if spec.attrs else None
    types = [types_of(x) for x in case.inputs]
    assert spec.kernel is not None
    value = spec.kernel(record, *case.inputs)
    result = types_of(value)
    for position, ty in enumerate(types):
        for which in range(-1, 4):
            guess = [less_known(ty, which) if i == position else t for i, t in enumerate(types)]
            try:
                type_ = spec.relation(guess, record, NoReport())
            except RelationError:
                assert case.name in RANK_FROM_DATA, "only where the rank of the result is a dimension of an input"
                continue
            assert type_ is None or agrees(result, type_), f"{case.name}: {guess} -> {type_}, and it is {result}"


@each("case", CASES, ids=str)
def test_a_relation_waits_for_unknown_types(case: Case) -> None:
    spec = Op.get(case.name).spec
    record = spec.attrs(**case.attrs) if spec.attrs else None
    types = [types_of(x) for x in case.inputs]
    assert spec.kernel is not None
    result = types_of(spec.kernel(record, *case.inputs))
    for position in range(len(types)):
        guess = [IncompleteType() if i == position else t for i, t in enumerate(types)]
        type_ = spec.relation(guess, record, NoReport())
        assert type_ is None or agrees(result, type_)


@each("case", [c for c in CASES if Op.get(c.name).spec.shape_function], ids=str)
def test_a_shape_function_knows_the_shape_before_the_kernel_runs(case: Case) -> None:
    spec = Op.get(case.name).spec
    record = spec.attrs(**case.attrs) if spec.attrs else None
    assert spec.shape_function is not None
    assert spec.kernel is not None
    assert spec.shape_function(record, *case.inputs) is types_of(spec.kernel(record, *case.inputs))


@each("case", [c for c in CASES if Op.get(c.name).spec.shape_function], ids=str)
def test_a_kernel_refuses_what_its_shape_function_refuses(case: Case) -> None:
    spec = Op.get(case.name).spec
    record = spec.attrs(**case.attrs) if spec.attrs else None

    def outcome(function: Any, inputs: Sequence[np.ndarray]) -> Any:
        try:
            result = function(record, *inputs)
        except PasslabError:
            return "refused"
        return result if isinstance(result, Type) else types_of(result)

    for position, given in enumerate(case.inputs):
        if given.dtype.kind != "i":
            continue
        for shift in (-9, -2, 1, 9):  # of the numbers that give the shape, and of others
            inputs = [x + x.dtype.type(shift) if i == position else x for i, x in enumerate(case.inputs)]
            known, found = outcome(spec.shape_function, inputs), outcome(spec.kernel, inputs)
            assert found in (known, "refused"), f"input {position} + {shift}: {known} and {found}"


# ---------------------------------------------------------------- elementwise operators at the edges of every dtype
FLOATS = ("float16", "float32", "float64", "bfloat16")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def edges(dtype: str) -> np.ndarray:
    """The values where a dtype ends, and some between."""
    kind = array_dtype(dtype)
    if dtype == "bool":
        return np.array([False, True])
    if dtype in FLOATS:
        finfo = np.finfo("float16" if dtype == "float16" else "float32")
        values = [0.0, -0.0, 1, -1, 0.5, -2.5, 3, float(finfo.max) / 2, float(finfo.tiny), np.inf, -np.inf, np.nan]
        with np.errstate(over="ignore"):
            return np.array(values).astype(kind)
    info = np.iinfo(kind)
    return np.array(
        sorted({info.min, info.max, 0, 1, 2, 3, 7, max(info.min, -1), max(info.min, -7), info.max // 2}), dtype=kind
    )


UNARY: dict[str, Any] = {
    "exp": np.exp, "log": np.log, "log2": np.log2, "log10": np.log10, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "fast_exp": np.exp, "fast_tanh": np.tanh,
}  # fmt: skip


def round_floats(x: np.ndarray) -> np.ndarray:
    return x if x.dtype.kind in "iu" else round_half_away(x)


@pytest.mark.parametrize("dtype", FLOATS)
def test_halves_are_rounded_away_from_zero(dtype: str) -> None:
    kind = array_dtype(dtype)
    below = np.nextafter(np.array(0.5, kind), np.array(0, kind))  # adding a half to it gives 1
    x = np.array([0.5, 1.5, 2.5, -0.5, -2.5, below, -below, 0.0, np.inf, -np.inf], kind)
    want = np.array([1, 2, 3, -1, -3, 0, -0.0, 0, np.inf, -np.inf], kind)
    same(run("round", x), want)


EXACT: dict[str, Any] = {
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": round_floats, "negative": np.negative,
    "abs": np.abs,
    "sign": np.sign, "copy": lambda x: x,
}  # fmt: skip


@each("dtype", FLOATS)
@each("name", UNARY)
def test_functions_of_calculus_at_the_edges(name: str, dtype: str) -> None:
    x = edges(dtype)
    got = run(name, x)
    with np.errstate(all="ignore"):
        want = UNARY[name](x.astype("float64")).astype(x.dtype)
    tolerance = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5, "float64": 1e-12}[dtype]
    np.testing.assert_allclose(got.astype("float64"), want.astype("float64"), rtol=tolerance, atol=1e-30)


@each("dtype", [*FLOATS, *INTEGERS])
@each("name", EXACT)
def test_exact_functions_at_the_edges(name: str, dtype: str) -> None:
    x = edges(dtype)
    with np.errstate(all="ignore"):
        same(run(name, x), EXACT[name](x).astype(x.dtype))


@each("name", [*UNARY, *EXACT, "erf", "fast_erf", "logical_not"])
@each("dtype", ["bool", *INTEGERS, *FLOATS])
def test_elementwise_operators_take_every_dtype_and_shape(name: str, dtype: str) -> None:
    values = edges(dtype)
    for x in (values, np.array(values[0]), values[:0].reshape(0, 3), np.array([values, values]).T):
        assert run(name, x).dtype == x.dtype


def test_erf_is_odd_and_ends_at_one() -> None:
    got = run("erf", np.array([-np.inf, -1, 0, 1, np.inf], "float64"))
    np.testing.assert_allclose(got, [-1, -0.8427007929497149, 0, 0.8427007929497149, 1])


@pytest.mark.parametrize("block", [7, 1 << 15])
def test_erf_of_single_precision_is_within_four_units_in_the_last_place(block: int, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr("passlab.op.elementwise._ERF_BLOCK", block)
    x = np.arange(0, 0x41200000, 40009, dtype=np.uint32).view("float32")  # all magnitudes up to 10, evenly by bits
    x = np.concatenate([x, -x, np.float32([np.inf, -np.inf])])
    expected = np.array([math.erf(v) for v in x.tolist()])
    got = run("erf", x)
    assert np.all(np.abs(got - expected) <= 4 * np.spacing(np.abs(expected).astype("float32")))
    assert np.all(np.abs(got) <= 1)
    assert np.all(np.signbit(got) == np.signbit(x))
    assert np.isnan(run("erf", np.float32([np.nan])))[0]
    np.testing.assert_array_equal(run("erf", x[::-3]), got[::-3])  # an element's result is its own affair


@pytest.mark.parametrize("dtype", FLOATS)
def test_questions_about_numbers(dtype: str) -> None:
    x = edges(dtype)
    wide = x.astype("float64")
    for name, ask in (("isnan", np.isnan), ("isinf", np.isinf), ("isfinite", np.isfinite)):
        same(run(name, x), ask(wide))
    for name, answer in (("isnan", False), ("isinf", False), ("isfinite", True)):
        assert (run(name, edges("int8")) == answer).all()


BINARY: dict[str, Any] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
    "equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal, "greater": np.greater,
    "greater_equal": np.greater_equal,
}  # fmt: skip
BITS = {"bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
        "left_shift": np.left_shift, "right_shift": np.right_shift}  # fmt: skip


@each("dtype", [*FLOATS, *INTEGERS])
@each("name", BINARY)
def test_binary_operators_on_all_pairs_of_edges(name: str, dtype: str) -> None:
    x, y = edges(dtype)[:, None], edges(dtype)[None]
    with np.errstate(all="ignore"):
        same(run(name, x, y), BINARY[name](x, y))


@each("dtype", [*INTEGERS, "bool"])
@each("name", BITS)
def test_bits_of_all_pairs_of_edges(name: str, dtype: str) -> None:
    x, y = edges(dtype)[:, None], edges(dtype)[None]
    got = run(name, x, y)
    if dtype != "bool":
        np.testing.assert_array_equal(got, BITS[name](x, y))


@each("name", [*BINARY, *BITS, "logical_and", "logical_or", "logical_xor", "power"])
@each("dtype", ["bool", *INTEGERS, *FLOATS])
def test_binary_operators_take_every_dtype_and_shape(name: str, dtype: str) -> None:
    if name in BITS and dtype in FLOATS:
        return
    x = edges(dtype)
    safe = np.abs(x) if name == "power" and dtype != "bool" and dtype not in FLOATS else x
    safe = np.maximum(safe, 0) if name == "power" and dtype != "bool" else safe
    for a, b in ((x, safe), (np.array(x[0]), safe), (np.array(x[0]), np.array(safe[1])), (x[:0], safe[:1])):
        run(name, a, b)


def python_divide(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


DIVISIONS: dict[str, Any] = {
    "divide": python_divide, "trunc_divide": python_divide, "floor_divide": lambda a, b: a // b,
    "mod": lambda a, b: a - python_divide(a, b) * b, "trunc_mod": lambda a, b: a - python_divide(a, b) * b,
    "floor_mod": lambda a, b: a % b,
}  # fmt: skip


@each("dtype", INTEGERS)
@each("name", DIVISIONS)
def test_integer_divisions_of_all_pairs_of_edges(name: str, dtype: str) -> None:
    x = edges(dtype)
    y = x[x != 0]
    want = np.array([[DIVISIONS[name](int(a), int(b)) for b in y] for a in x], dtype=object)
    bits = x.dtype.itemsize * 8
    wrapped = np.vectorize(lambda v: v % 2**bits, otypes=[object])(want).astype(f"uint{bits}").astype(x.dtype)
    np.testing.assert_array_equal(run(name, x[:, None], y[None]), wrapped)


@pytest.mark.parametrize("name", DIVISIONS)
def test_an_integer_divided_by_zero_is_an_error(name: str) -> None:
    kernel = Op.get(name).spec.kernel
    assert kernel is not None
    with pytest.raises(RunError, match="division by zero") as caught:
        kernel(None, np.array([1, 2]), np.array([1, 0]))
    assert "[1]" in str(caught.value)
    assert run(name, np.zeros(0, "int32"), np.zeros(1, "int32")).shape == (0,)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_float_divisions_at_the_edges(dtype: str) -> None:
    x, y = edges(dtype)[:, None], edges(dtype)[None]
    definitions = {"divide": np.divide, "floor_divide": np.floor_divide, "floor_mod": np.mod, "mod": np.fmod,
                   "trunc_mod": np.fmod, "trunc_divide": lambda a, b: np.trunc(a / b), "power": np.power}  # fmt: skip
    with np.errstate(all="ignore"):
        for name, define in definitions.items():
            np.testing.assert_array_equal(run(name, x, y), define(x, y))


def test_integer_powers() -> None:
    x, y = np.array([-2, -1, 1, 2, 3], "int32")[:, None], np.array([-3, -2, 0, 1, 5], "int32")[None]
    want = [[0, 0, 1, -2, -32], [-1, 1, 1, -1, -1], [1, 1, 1, 1, 1], [0, 0, 1, 2, 32], [0, 0, 1, 3, 243]]
    np.testing.assert_array_equal(run("power", x, y), want)
    with pytest.raises(RunError, match="division by zero"):
        run("power", np.array([0], "int32"), np.array([-1], "int32"))


def test_logic_keeps_the_dtype() -> None:
    x = np.array([0, 2, 0, 5], "int32")
    y = np.array([0, 0, 3, 7], "int32")
    np.testing.assert_array_equal(run("logical_and", x, y), np.array([0, 0, 0, 1], "int32"))
    np.testing.assert_array_equal(run("logical_or", x, y), np.array([0, 1, 1, 1], "int32"))
    np.testing.assert_array_equal(run("logical_xor", x, y), np.array([0, 1, 1, 0], "int32"))
    np.testing.assert_array_equal(run("logical_not", x), np.array([1, 0, 1, 0], "int32"))


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize(("shape", "axis"), [((5, 200), 0), ((2, 4, 90), 1), ((3, 90, 2), 0), ((200, 3), 1)])
def test_running_results_of_long_rows_are_those_of_each_element(
    name: str, exclusive: bool, shape: tuple[int, ...], axis: int
) -> None:
    for dtype in ("float32", "int8"):
        x = np.random.default_rng(0).integers(-3, 4, shape).astype(dtype)
        function = np.cumsum if name == "cumsum" else np.cumprod
        expected = function(x.astype("int64"), axis=axis)
        if exclusive:
            first = np.full_like(expected.take([0], axis), name == "cumprod")
            expected = np.concatenate([first, expected.take(range(shape[axis] - 1), axis)], axis)
        same(run(name, x, axis=axis, exclusive=exclusive), expected.astype(dtype))


def test_equal_elements_that_look_different_keep_their_order() -> None:
    x = np.float32([0.0, -0.0, 1.0, -0.0, 0.0, -1.0, np.nan, -np.nan, 2.0] * 40)
    expected = np.array(sorted(x.tolist(), key=lambda v: (v != v, v)), "float32")  # Python's sort is stable
    got = run("sort", x)
    np.testing.assert_array_equal(got.view("int32"), expected.view("int32"))
