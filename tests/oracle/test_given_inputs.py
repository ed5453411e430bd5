"""What a search found on inputs that it drew is found when these inputs are given, as a script gives them."""

from __future__ import annotations

import pytest

import passlab
from passlab import lab, relay, transform
from passlab.ir.expr import Call
from passlab.ir.walk import rewrite

F32 = "Tensor[(4, 6), float32]"
WRONG = {
    "nan": ("maximum(%x, 0f)", lambda call: relay.where(relay.greater(*call.args), *call.args)),
    "infinity": ("multiply(%x, 0f)", lambda call: relay.zeros_like(call.args[0])),
    "infinite padding": (
        "nn.max_pool2d(reshape(tile(%x, reps=[4, 4]), newshape=[1, 384, 1, 1]), pool_size=[3, 3], padding=[1, 1, 1, 1])",
        lambda call: relay.nn.avg_pool2d(call.args[0], pool_size=(3, 3), padding=(1, 1, 1, 1)),
    ),
    "overflow": ("multiply(divide(%x, 4f), 4f)", lambda call: relay.divide(*call.args)),
    "sign": ("abs(%x)", lambda call: call.args[0]),
    "ties": ("round(%x)", lambda call: relay.floor(relay.add(call.args[0], relay.const(0.5)))),
    "negative zero": ("negative(%x)", lambda call: relay.subtract(relay.const(0.0), call.args[0])),
}


def wrong_pass(name, change):
    operator = name.split("(")[0]

    @transform.function_pass(opt_level=0, name="Wrong")
    def run(func, mod, ctx):
        return rewrite(func, lambda old, new: change(new) if new.op.name == operator else new, only=(Call,))

    return run


@pytest.mark.parametrize("fault", WRONG)
def test_inputs_that_broke_a_program_break_it_again_when_given(fault):
    text, change = WRONG[fault]
    mod = passlab.parse(f"def @main(%x: {F32}) {{ {text} }}")
    pass_ = wrong_pass(text, change)
    found = lab.bisect(mod, [pass_])
    if fault == "negative zero":  # no contract of a user's pass speaks of the sign of zero
        assert not found.found
        return
    assert found.found
    inputs = list(found.check.arguments)
    again = lab.bisect(mod, [pass_], inputs=inputs)
    assert again.found, found
