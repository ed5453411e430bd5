"""The pass that marks a function falsely as a reshape is the guilty one."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab import instrument, lab, relay, transform
from passlab.analysis.reshape_marks import false_marks
from passlab.errors import VerifyError
from passlab.ir.expr import Function
from passlab.ir.op import Op, Trait
from passlab.ir.walk import post_order, rewrite

MARK = "relay.reshape_only"
LOWER = ["ToANormalForm", "InferType", "LambdaLift", "InferType", "LowerTE", "InferType", "ManifestAlloc"]
NET = "def @main(%x: Tensor[(3, 4), float32]) { tanh(reshape(%x, newshape=[12])) }"


@transform.function_pass(opt_level=0, required=["InferType"])
def marks_all(func, mod, ctx):
    def rule(old, new):
        marked = new.attrs.get("Primitive")
        return new.with_fields(attrs={**new.attrs, MARK: 1}) if marked else new

    return rewrite(func, rule, only=(Function,))


def test_the_pass_that_marks_is_named_and_not_the_one_that_believes_it():
    for search in (lab.bisect, lab.culprit):
        answer = search(passlab.parse(NET), ["InferType", "FuseOps", marks_all, *LOWER])
        assert answer.event.name == "marks_all", answer.summary()
        assert (
            "is not well-formed: a function in @main is marked `relay.reshape_only`, and calls `tanh`"
            in answer.summary()
        )


def test_the_check_after_each_pass_names_it():
    verify = instrument.VerifyInstrument()
    with transform.PassContext(opt_level=3, instruments=[verify]), pytest.raises(VerifyError, match="calls `tanh`"):
        transform.Sequential([transform.InferType(), transform.FuseOps(), marks_all])(passlab.parse(NET))


def test_a_mark_that_was_there_is_not_the_fault_of_a_later_pass():
    marked = passlab.record(passlab.parse(NET), ["InferType", "FuseOps", marks_all]).last
    assert false_marks(marked)
    assert not lab.bisect(marked, ["InferType", "SimplifyExpr"]).found


CALLS = {
    "reshape": lambda x: relay.reshape(x, [4, 3]),
    "expand_dims": lambda x: relay.expand_dims(x, 0),
    "squeeze": lambda x: relay.squeeze(relay.expand_dims(x, 0), [0]),
    "nn.batch_flatten": relay.nn.batch_flatten,
    "contrib_reverse_reshape": lambda x: relay.reverse_reshape(x, [4, 3]),
    "dyn.reshape": lambda x: relay.reshape(x, relay.const(np.array([4, 3], "int64"))),
}


@pytest.mark.parametrize("name", sorted(CALLS))
def test_what_only_reshapes_is_marked_rightly(name):
    x = relay.var("x", shape=(3, 4), dtype="float32")
    mod = passlab.IRModule.from_expr(relay.Function([x], CALLS[name](x)))
    fused = passlab.record(mod, ["InferType", "FuseOps"]).last
    assert any(MARK in n.attrs for f in fused.functions.values() for n in post_order(f) if isinstance(n, Function))
    assert not false_marks(fused)


def test_every_operator_that_reshapes_is_asked_about():
    names = [row["operator"] for row in relay.op.list()]
    reshapes = {name for name in names if Trait.RESHAPES in Op.get(name).spec.traits}
    assert reshapes == set(CALLS)
