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
from passlab.op.edge_cases import example
from passlab.text.parser import parse_expr
from tests.each import each

NAMES = Op.list_op_names()

# The free variables of the examples that are not the first edge case of their operator.
PARAMETERS = {
    "debug": "%x: Tensor[(2, 3), float32]",
    "nn.conv1d": "%x: Tensor[(1, 4, 8), float32], %w: Tensor[(8, 4, 3), float32]",
    "nn.conv1d_transpose": "%x: Tensor[(1, 4, 8), float32], %w: Tensor[(4, 8, 3), float32]",
    "nn.conv2d": "%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(8, 4, 3, 3), float32]",
    "nn.conv2d_transpose": "%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 8, 4, 4), float32]",
    "nn.conv3d": "%x: Tensor[(1, 4, 5, 5, 5), float32], %w: Tensor[(8, 4, 3, 3, 3), float32]",
    "nn.conv3d_transpose": "%x: Tensor[(1, 4, 3, 3, 3), float32], %w: Tensor[(4, 8, 2, 2, 2), float32]",
    "nn.deformable_conv2d": (
        "%x: Tensor[(1, 4, 8, 8), float32], %offset: Tensor[(1, 18, 6, 6), float32], %w: Tensor[(8, 4, 3, 3), float32]"
    ),
    "nn.dense": "%x: Tensor[(2, 3), float32], %w: Tensor[(16, 3), float32]",
    "nn.matmul": "%x: Tensor[(2, 3), float32], %w: Tensor[(3, 16), float32]",
    "strided_slice": "%x: Tensor[(2, 3), float32]",
}
MACHINE_ONLY = {
    "parser.MetaRef",
    "memory.alloc_storage",
    "memory.alloc_tensor",
    "memory.kill",
    "vm.invoke_tvm_op",
    "call_lowered",
    "annotation.with_funcid",
}


def test_the_vocabulary_is_there() -> None:
    assert len(NAMES) >= 220
    assert NAMES == sorted(NAMES)


@each("name", NAMES)
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


@each("name", NAMES)
def test_every_example_is_relay(name: str) -> None:
    call = parse_example(name).body
    assert isinstance(call, Call)
    assert call.op is Op.get(name)


def example_of(name: str) -> str:
    return Op.get(name).spec.example


def parse_example(name: str) -> Function:
    text = example_of(name)
    used = list(dict.fromkeys(re.findall(r"%(\w+)", text)))
    expr = parse_expr('#[version = "0.0.5"]\nfn (' + ", ".join(f"%{v}" for v in used) + ") { " + text + " }")
    assert isinstance(expr, Function)
    return expr


def test_every_other_example_is_an_edge_case() -> None:
    """`tests/op/test_edges.py` runs the edge cases."""
    own = {
        name for name in NAMES if not (cases := Op.get(name).spec.edge_cases) or example(cases[0]) != example_of(name)
    }
    assert own == PARAMETERS.keys() | MACHINE_ONLY


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_example_runs(name: str) -> None:
    mod = passlab.parse(f'#[version = "0.0.5"]\ndef @main({PARAMETERS[name]}) {{ {example_of(name)} }}')
    ty = mod["main"].checked_type
    assert isinstance(ty, FuncType)
    rng = np.random.default_rng(2)
    inputs = [rng.random(arg.concrete_shape, np.float32) for arg in ty.arg_types]  # type: ignore[attr-defined]
    check(Evaluator(mod).run("main", inputs), ty.ret_type)


def check(value: Any, ty: Any) -> None:
    if isinstance(ty, TupleType):
        for part, field in zip(value, ty.fields, strict=True):
            check(part, field)
        return
    assert isinstance(ty, TensorType)
    assert value.dtype == array_dtype(ty.dtype)
    assert len(value.shape) == len(ty.shape)
    assert all(size == dim for size, dim in zip(value.shape, ty.shape, strict=True) if isinstance(dim, int))


@each("name", NAMES)
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


@each("name", NAMES)
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
    with pytest.raises(TypeError, match="an expression as `data` of `exp` is needed"):
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
