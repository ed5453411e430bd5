"""Laws over all declarations: documentation, examples, Python builders, attributes."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest

import passlab
from passlab.errors import AttrsError, OpNotFoundError
from passlab.evaluate import Evaluator
from passlab.ir.attrs import REQUIRED
from passlab.ir.expr import Call, Expr, Function, Var
from passlab.ir.op import Op, OpPattern
from passlab.ir.tuple_wrapper import TupleWrapper
from passlab.ir.types import FuncType, TensorType, TupleType
from passlab.op import make
from passlab.op.declare import OpBuilder
from passlab.op.dtypes import array_dtype
from passlab.text.parser import parse_expr

NAMES = Op.list_op_names()

# What the free variables of examples stand for.
MEANING = {
    "x": "Tensor[(2, 3), float32]", "y": "Tensor[(2, 3), float32]", "t": "Tensor[(3, 2), float32]",
    "c": "Tensor[(2, 3), bool]", "v": "float32", "i": "Tensor[(2), int32]", "ii": "Tensor[(2, 2), int32]",
    "v1": "Tensor[(1), float32]", "v3": "Tensor[(2), float32]", "r": "Tensor[(2), float32]", "p": "Tensor[(2), int32]",
    "m": "Tensor[(2), int32]", "s": "Tensor[(2), int32]", "b": "Tensor[(1, 3), float32]", "axes": "Tensor[(1), int64]",
    "axis": "int64", "shape": "Tensor[(2), int64]", "shape3": "Tensor[(3), int64]", "n1": "Tensor[(1), int64]",
    "reps": "Tensor[(2), int64]", "k": "int32", "begin": "Tensor[(2), int64]", "end": "Tensor[(2), int64]",
    "strides": "Tensor[(2), int64]", "lengths": "Tensor[(2), int32]", "d": "Tensor[(2), float32]",
    "w": "Tensor[(3), float32]",
    "key": "Tensor[(10), uint64]", "size": "int64", "alignment": "int64", "offset": "int64",
    "n": "Tensor[(2, 1), int32]",
    "im": "Tensor[(1, 2, 3, 4), float32]", "im1": "Tensor[(1, 2, 3), float32]", "im2": "Tensor[(1, 2, 3, 4), float32]",
    "im3": "Tensor[(1, 2, 3, 4, 5), float32]", "boxes": "Tensor[(1, 4), float32]", "k1": "Tensor[(1), int32]",
    "roi": "Tensor[(4), float32]", "affine": "Tensor[(1, 2, 3), float32]", "grid": "Tensor[(1, 2, 2, 2), float32]",
    "mask": "Tensor[(2, 2, 2), float32]", "row": "Tensor[(2), int64]", "q": "Tensor[(2, 3), int8]",
    "q3": "Tensor[(1, 2, 3), int8]", "q4": "Tensor[(1, 2, 3, 3), uint8]", "qw": "Tensor[(2, 2, 2, 2), int8]",
}  # fmt: skip
SPECIAL: dict[str, dict[str, str]] = {
    "contrib.recurrent": {"x": "Tensor[(4, 2, 3), float32]", "w": "Tensor[(1, 6, 3), float32]",
                          "r": "Tensor[(1, 6, 2), float32]", "b": "Tensor[(1, 12), float32]"},
    "contrib.roi_align": {"x": "Tensor[(1, 2, 4, 4), float32]", "rois": "Tensor[(1, 5), float32]"},
    "take": {"i": "Tensor[(2), int32]"},
    "gather": {"i": "Tensor[(1, 3), int32]"},
    "adv_index": {"i": "Tensor[(2), int32]"},
    "scatter_elements": {"ii": "Tensor[(2, 3), int32]"},
    "scatter_nd": {"v": "Tensor[(3), float32]", "ii": "Tensor[(1, 2), int32]"},
    "searchsorted": {"x": "Tensor[(3), float32]"},
    "meshgrid": {"v": "Tensor[(3), float32]"},
    "image.dilation2d": {"mask": "Tensor[(2, 2, 2), float32]"},
    "fixed_point_multiply": {"i": "Tensor[(2), int32]"},
    "variance": {"m": "Tensor[(2, 1), float32]"},
    "matrix_set_diag": {"d": "Tensor[(2), float32]"},
    "slice_like": {"y": "Tensor[(1, 2), float32]"},
    "collapse_sum_like": {"x": "Tensor[(1, 3), float32]"},
    "sparse_to_dense": {"v": "float32"},
    "image.resize1d": {"im1": "Tensor[(1, 2, 3), float32]"},
    "vm.reshape_tensor": {"shape": "Tensor[(2), int64]"},
    "dyn.image.resize2d": {"size": "Tensor[(2), int64]"},

    "bitwise_not": {"x": "Tensor[(2, 3), int32]"},
    "trilu": {"x": "Tensor[(2, 3), float32]"},
    **{name: {"x": "Tensor[(2, 3), int32]", "y": "Tensor[(2, 3), int32]"}
       for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift")},
}  # fmt: skip
VALUES: dict[str, Any] = {
    "shape": [3, 2], "shape3": [4, 2, 3], "n1": [5], "axes": [0], "axis": 0, "reps": [1, 2], "k": 2, "begin": [0, 0],
    "end": [1, 2], "strides": [1, 1], "lengths": [1, 2], "i": [0, 1], "ii": [[0, 1], [1, 0]], "p": [1, 0], "k1": [0],
    "size": [2, 2], "n": [[1], [2]], "s": [0, 1], "m": [1 << 30, 1 << 29], "row": [1, 3],
}  # fmt: skip
MACHINE_ONLY = {
    "parser.MetaRef",
    "memory.alloc_storage",
    "memory.alloc_tensor",
    "memory.kill",
    "vm.invoke_tvm_op",
    "call_lowered",
    "annotation.with_funcid",
}
MINE = [name for name in NAMES if not name.startswith(("nn.", "image.", "vision.", "dyn.nn.", "dyn.image."))]


def test_the_vocabulary_is_there() -> None:
    assert len(NAMES) >= 220
    assert NAMES == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_operator_is_documented(name: str) -> None:
    spec = Op.get(name).spec
    assert spec.doc.split("\n\n")[0].endswith("."), "a sentence says what it computes"
    assert spec.shapes, "from which shapes to which"
    assert spec.source, "by which algorithm"
    assert spec.builder is not None
    help_text = spec.builder.__doc__ or ""
    assert spec.shapes in help_text
    for field in spec.attrs.schema if spec.attrs is not None else ():
        assert not field.doc or f"  {field.name}: {field.doc}" in help_text
    assert spec.example.startswith(name + "(")
    assert 1 <= spec.level <= 11
    assert isinstance(spec.pattern, OpPattern)
    assert spec.relation is not None
    for field in spec.attrs.schema if spec.attrs else ():
        assert field.kind, field.name


@pytest.mark.parametrize("name", NAMES)
def test_every_example_is_relay(name: str) -> None:
    call = parse_example(name).body
    assert isinstance(call, Call)
    assert call.op is Op.get(name)


def parse_example(name: str) -> Function:
    text = Op.get(name).spec.example
    used = list(dict.fromkeys(re.findall(r"%(\w+)", text)))
    expr = parse_expr('#[version = "0.0.5"]\nfn (' + ", ".join(f"%{v}" for v in used) + ") { " + text + " }")
    assert isinstance(expr, Function)
    return expr


@pytest.mark.parametrize("name", [n for n in MINE if n not in MACHINE_ONLY])
def test_every_example_runs(name: str) -> None:
    text = Op.get(name).spec.example
    meaning = {**MEANING, **SPECIAL.get(name, {})}
    used = list(dict.fromkeys(re.findall(r"%(\w+)", text)))
    params = ", ".join(f"%{v}: {meaning[v]}" for v in used)
    mod = passlab.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{ {text} }}')
    main = mod["main"]
    ty = main.checked_type
    assert isinstance(ty, FuncType)
    inputs = [sample(v, t) for v, t in zip(used, ty.arg_types, strict=True)]
    check(Evaluator(mod).run("main", inputs), ty.ret_type)


def sample(name: str, ty: Any) -> np.ndarray:
    dtype = array_dtype(ty.dtype)
    if dtype.kind in "iu":
        value = np.asarray(VALUES.get(name, 1), dtype)
        return np.resize(value, ty.shape) if value.shape != ty.shape else value
    if ty.dtype == "bool":
        return np.arange(np.prod(ty.shape)).reshape(ty.shape) % 2 == 0
    return (np.arange(int(np.prod(ty.shape))).reshape(ty.shape) / 16 + 0.25).astype(dtype)


def check(value: Any, ty: Any) -> None:
    if isinstance(ty, TupleType):
        for part, field in zip(value, ty.fields, strict=True):
            check(part, field)
        return
    assert isinstance(ty, TensorType)
    assert value.dtype == array_dtype(ty.dtype)
    assert len(value.shape) == len(ty.shape)
    assert all(size == dim for size, dim in zip(value.shape, ty.shape, strict=True) if isinstance(dim, int))


@pytest.mark.parametrize("name", NAMES)
def test_the_python_face_takes_what_the_operator_takes(name: str) -> None:
    """Each input and attribute can be given, and every other parameter has a default."""
    spec = Op.get(name).spec
    assert spec.builder is not None
    signature = inspect.signature(spec.builder)
    assert spec.builder.__doc__
    needed = [p for p in signature.parameters.values() if p.default is inspect.Parameter.empty]
    assert all(p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for p in needed)


def test_no_signature_is_written_that_inputs_and_attributes_give() -> None:
    repeated = []
    for name in NAMES:
        spec = Op.get(name).spec
        python = getattr(spec.builder, "_python", None)
        only_a_signature = python is not None and not any(
            value for part, value in vars(python).items() if part not in ("_text", "signature")
        )
        if only_a_signature and str(python.signature) == str(inspect.signature(OpBuilder(spec, 1))):
            repeated.append(name)
    assert not repeated


@pytest.mark.parametrize("name", NAMES)
def test_attributes_keep_their_own_defaults(name: str) -> None:
    """A default is a value that the attribute accepts, in the form in which it is stored."""
    record = Op.get(name).spec.attrs
    for field in record.schema if record else ():
        for value in (field.default, field.fallback):
            if value is not REQUIRED and value is not None:
                assert field.convert(value) == value
                assert type(field.convert(value)) is type(value)


def test_a_wrong_name_suggests_the_right_one() -> None:
    with pytest.raises(OpNotFoundError, match=r"did you mean .*`nn.conv2d`"):
        Op.get("nn.conv2")


def test_wrong_attributes_are_refused() -> None:
    x = Var("x")
    with pytest.raises(AttrsError, match="has no attribute `axs`"):
        make("sum", x, axs=[1])
    with pytest.raises(AttrsError, match="takes no attributes"):
        make("exp", x, axis=1)
    with pytest.raises(AttrsError, match="a whole number is needed"):
        make("sum", x, axis=[1.5])
    with pytest.raises(AttrsError, match="`newshape` is required"):
        make("reshape", x)
    with pytest.raises(AttrsError, match="not one of"):
        make("take", x, x, mode="raise")


def test_relays_python_signatures() -> None:
    from passlab import relay

    x, i = relay.var("x", shape=(2, 3)), relay.var("i", shape=(2, 3), dtype="int32")
    assert relay.sum(x, 1, True).attrs.axis == (1,)
    assert relay.reshape(x, (3, 2)).attrs.newshape == (3, 2)
    assert relay.gather(x, 1, i).args == (x, i)
    assert relay.take(x, i, axis=0, mode="wrap").attrs.mode == "wrap"
    assert relay.strided_slice(x, [0, None], [None, 2]).attrs.begin == (0, 0)
    parts = relay.split(x, 3, axis=1)
    assert isinstance(parts, TupleWrapper)
    assert len(parts) == 3
    assert len(relay.split(x, (1,), axis=1)) == 2
    assert isinstance(relay.topk(x, 2), TupleWrapper)
    assert isinstance(relay.topk(x, 2, ret_type="values"), Call)
    assert relay.concatenate([x, x], axis=0).args[0].fields == (x, x)
    assert relay.arange(relay.const(4)).attrs.start.data == 0
    assert relay.variance(x, axis=1).args[1].op is Op.get("mean")
    assert relay.transpose(x).attrs.axes is None
    assert relay.clip(x, 0, 6).attrs.a_max == 6.0
    assert relay.reshape(x, relay.shape_of(x)).op is Op.get("dyn.reshape")


def test_a_face_refuses_what_is_no_expression() -> None:
    with pytest.raises(TypeError, match="an expression is needed"):
        Op.get("exp").spec.builder(3)  # type: ignore[misc]
    with pytest.raises(TypeError):
        Op.get("exp").spec.builder()  # type: ignore[misc]


def test_expressions_build_calls() -> None:
    x = Var("x")
    for result, name in (
        (x + x, "add"),
        (x - x, "subtract"),
        (x * x, "multiply"),
        (x / x, "divide"),
        (-x, "negative"),
        (x < x, "less"),
    ):
        assert isinstance(result, Expr)
        assert result.op is Op.get(name)  # type: ignore[attr-defined]
