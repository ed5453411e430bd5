"""ToMixedPrecision leaves programs well-typed, whatever stands around what it converts."""

from __future__ import annotations

import pytest

from passlab import transform
from passlab.infer import infer_module
from passlab.ir import TensorType
from passlab.text.parser import parse

MAIN = """
type Option[A] { Some(A), None, }
def @id[A](%a: A) -> A { %a }
def @main(%x: Tensor[(2, 3), float32]) { %BODY }
"""


@pytest.mark.parametrize(
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
@pytest.mark.parametrize(
    "body",
    [
        "let %v = (fn (%y: Tensor[(2, 3), float32]) { (HELD, nn.relu(%y)) })(%x); %v.1",
        "let %f = fn (%y: Tensor[(2, 3), float32]) { (HELD, nn.relu(%y)) }; let %v = %f(nn.relu(%x)); %v.1",
        "let %y = nn.relu(%x); let %v = (HELD, nn.relu(%y)); let %w = %v; %w.1",
    ],
)
def test_what_is_converted_beside_data_and_functions_stays_well_typed(held: str, body: str):
    mod = infer_module(parse(MAIN.replace("%BODY", body.replace("HELD", held))))
    made = infer_module(transform.ToMixedPrecision(missing_op_mode=2)(mod))
    ty = made["main"].checked_type.ret_type
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
