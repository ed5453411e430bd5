"""ToMixedPrecision leaves programs well-typed, whatever stands around what it converts."""

from __future__ import annotations

from math import prod

import pytest

from passlab import IRModule, relay, transform
from passlab.errors import PasslabError
from passlab.infer import infer_module
from passlab.ir import Expr, TensorType, Var
from passlab.ir.op import Op
from passlab.op.edge_cases import program
from passlab.text.parser import parse
from tests.each import each

MAIN = """
type Option[A] { Some(A), None, }
def @id[A](%a: A) -> A { %a }
def @main(%x: Tensor[(2, 3), float32]) { %BODY }
"""


@each(
    "held",
    [
        "Some(nn.relu(%y))",
        "@id(nn.relu(%y))",
        "(fn [A](%z: A) -> A { %z })(nn.relu(%y))",
        "Some((nn.relu(%y), 1))",
        "if (True) { Some(nn.relu(%y)) } else { None }",
        "match (Some(nn.relu(%y))) { Some(%v) => { exp(%v) }, None => { %y } }",
        "ref(nn.relu(%y))",
        "Some(fn (%u: Tensor[(2, 3), float32]) { nn.relu(%u) })",
    ],
)
@each(
    "body",
    [
        "let %v = (fn (%y: Tensor[(2, 3), float32]) { (HELD, nn.relu(%y)) })(%x); %v.1",
        "let %f = fn (%y: Tensor[(2, 3), float32]) { (HELD, nn.relu(%y)) }; let %v = %f(nn.relu(%x)); %v.1",
        "let %y = nn.relu(%x); let %v = (HELD, nn.relu(%y)); let %w = %v; %w.1",
    ],
)
def test_what_is_converted_beside_data_and_functions_stays_well_typed(held: str, body: str):
    mod = infer_module(parse(MAIN.replace("%BODY", body.replace("HELD", held))))
    module = infer_module(transform.ToMixedPrecision(missing_op_mode=2)(mod))
    ty = module["main"].checked_type.ret_type
    assert ty in (TensorType((2, 3), "float16"), TensorType((2, 3), "float32"))


@pytest.mark.parametrize("dtype", ["uint8", "int32"])
@pytest.mark.parametrize(
    "call",
    [
        "nn.dense(%x, %x)",
        "nn.batch_matmul(reshape(%x, newshape=[1, 4, 4]), reshape(%x, newshape=[1, 4, 4]))",
        "nn.conv1d(reshape(%x, newshape=[1, 2, 8]), reshape(%x, newshape=[2, 2, 4]), kernel_size=[4])",
        "nn.conv2d(reshape(%x, newshape=[1, 1, 4, 4]), reshape(%x, newshape=[4, 1, 2, 2]), kernel_size=[2, 2])",
        """nn.deformable_conv2d(reshape(%x, newshape=[1, 1, 4, 4]), zeros(shape=[1, 8, 3, 3], dtype="DTYPE"),
           reshape(%x, newshape=[4, 1, 2, 2]), kernel_size=[2, 2], channels=4)""",
    ],
)
def test_operators_on_integers_stay_as_they_are(call: str, dtype: str):
    call = call.replace("DTYPE", dtype)
    mod = infer_module(parse(f"def @main(%x: Tensor[(4, 4), {dtype}]) {{ {call} }}"))
    assert transform.ToMixedPrecision(missing_op_mode=2)(mod)["main"] is mod["main"]


def shortened(param: Var) -> Expr:
    """The numbers of a parameter after a product that is computed in the short dtype."""
    ty = param.type_annotation
    if not isinstance(ty, TensorType) or ty.dtype != "float32" or ty.dynamic or not prod(ty.concrete_shape):
        return param
    column = relay.reshape(param, (1, prod(ty.concrete_shape), 1))
    return relay.reshape(relay.nn.batch_matmul(column, relay.ones((1, 1, 1), "float32")), ty.concrete_shape)


def test_every_operator_is_well_typed_behind_what_is_shortened():
    wrong = {}
    for name in Op.list_op_names():
        for edge in Op.get(name).spec.edge_cases:
            main = parse(program(edge).source)["main"]
            body = relay.bind(main.body, {param: shortened(param) for param in main.params})
            mod = IRModule.from_expr(relay.Function(main.params, body))
            try:
                infer_module(mod)
            except PasslabError:
                continue  # it wants what is known when it is compiled
            try:
                infer_module(transform.ToMixedPrecision(missing_op_mode=2)(infer_module(mod)))
            except PasslabError as error:
                wrong[name] = str(error)
    assert not wrong
