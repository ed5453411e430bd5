"""Answers of searches are true: the guilty pass, the inputs, and the omissions."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest

import passlab
from passlab import lab, relay
from passlab.errors import PasslabError, PassTypeError, RunError
from passlab.instrument import Validate
from passlab.instrument.events import contract_of
from passlab.ir import IRModule
from passlab.ir.expr import Call
from passlab.ir.op import Op
from passlab.ir.walk import post_order, rewrite
from passlab.op.dtypes import array_dtype
from passlab.transform import EXACT, FINITE, PassContext, Rounds, function_pass, module_pass

pytestmark = pytest.mark.rotating

NET = """
def @main(%x: Tensor[(3, 5), float32], %w: Tensor[(4, 5), float32]) {
  let %a = tanh(%x);
  let %b = nn.relu(nn.dense(%a, %w));
  (exp(%b), nn.softmax(%a))
}
"""


def is_call(node, name):
    return isinstance(node, Call) and isinstance(node.op, Op) and node.op.name == name


def replacing(operator, make, name="Mistake", level=0):
    """A user's pass: `make(call)` takes the place of each call of an operator."""

    def transform_function(func, mod, ctx):
        return rewrite(func, lambda old, new: make(new) if is_call(new, operator) else new, only=(Call,))

    return function_pass(transform_function, opt_level=level, name=name)


def operators(mod):
    nodes = [n for f in mod.functions.values() for n in post_order(f)]
    return [n.op.name for n in nodes if isinstance(n, Call) and isinstance(n.op, Op)]


# ---------------------------------------------------------------- who is blamed
@pytest.mark.parametrize("kind", ["function", "module"])
def test_a_pass_that_leaves_a_program_without_types_is_named_and_not_the_inference(kind):
    def broken(func):
        return rewrite(func, lambda a, b: relay.reshape(b.args[0], [4, 4]) if is_call(b, "tanh") else b, only=(Call,))

    if kind == "function":
        bad = function_pass(lambda func, mod, ctx: broken(func), opt_level=0, name="Bad")
    else:
        bad = module_pass(lambda mod, ctx: mod.with_functions({"main": broken(mod["main"])}), opt_level=0, name="Bad")
    bisection = lab.bisect(passlab.parse(NET), ["InferType, FoldConstant", bad, "InferType, FuseOps"])
    assert bisection.event.name == "Bad"
    assert "reshape" in bisection.why
    small = bisection.reduce()
    assert operators(small.module) == ["tanh"]
    assert [event.name for event in bisection.needed] == ["Bad"]


def test_steps_in_a_form_that_the_evaluator_does_not_run_are_not_blamed_but_listed():
    net = relay.transform.InferType()(passlab.parse(NET))
    bisection = lab.bisect(net, "InferType, FuseOps, ToANormalForm, LowerTE, ManifestAlloc, ManifestLifetimes")
    assert not bisection.found or "no longer runs" not in bisection.why


@pytest.mark.parametrize("build", [relay.vm.compile, relay.build])
def test_compiling_under_validate_raises_nothing(build):
    with PassContext(opt_level=3, instruments=[Validate()]):
        build(passlab.parse(NET))


def test_the_first_wrong_node_is_an_operator_and_no_let():
    bisection = lab.bisect(passlab.parse(NET), [replacing("nn.relu", lambda call: call.args[0])])
    assert bisection.why.startswith("`nn.relu` is gone")


def test_reduction_keeps_the_message_of_the_error():
    def refusing(func, mod, ctx):
        for node in post_order(func):
            if is_call(node, "nn.softmax"):
                raise ValueError("softmax is not supported")
        raise ValueError("something else entirely")

    bisection = lab.bisect(passlab.parse(NET), [function_pass(refusing, opt_level=0, name="Refusing")])
    assert operators(bisection.reduce().module) == ["nn.softmax"]


# ---------------------------------------------------------------- what was examined
def test_where_nothing_was_compared_the_answer_says_so():
    net = passlab.parse(NET)
    assert lab.bisect(net, "InferType").summary() == "no pass broke the program: none changed it"
    plain = passlab.parse("def @main(%x: Tensor[(3), float32]) { exp(%x) }")
    text = lab.bisect(plain, "InferType, FirstOrderGradient").summary()
    assert "not examined: step 2, FirstOrderGradient, was not compared (the pass has no contract" in text


def test_disabled_steps_and_branches_that_never_ran_are_named():
    text = "def @main(%x: Tensor[(2), float32], %n: int32) { if (%n == 123457) { %x + (1f + 2f) } else { %x } }"
    mod = passlab.parse(text)
    inputs = [np.zeros(2, "float32"), np.int32(1)]
    with PassContext(opt_level=3, disabled_pass=["FuseOps"]):
        message = lab.bisect(mod, "InferType, FoldConstant, FuseOps", inputs=inputs).summary()
    assert "on the inputs given" in message
    assert "FuseOps, did not run (skipped: disabled)" in message
    assert "1 branch of the program never ran" in message


@pytest.mark.parametrize("options", [{"entry": "zz"}, {"inputs": [np.ones((3, 5), "float32")]}])
def test_inputs_are_looked_at_even_if_no_pass_changes_anything(options):
    with pytest.raises(RunError):
        lab.bisect(relay.transform.InferType()(passlab.parse(NET)), "InferType", **options)


# ---------------------------------------------------------------- inputs that find faults

MISTAKES = {
    "relu6 as relu": ("clip(%x, a_min=0f, a_max=6f)", "float32", "clip", lambda c: relay.nn.relu(c.args[0])),
    "relu of integers left out": ("nn.relu(%x)", "int32", "nn.relu", lambda c: c.args[0]),
    "division as a shift": (
        "divide(%x, 2)",
        "int32",
        "divide",
        lambda c: relay.right_shift(c.args[0], relay.const(np.int32(1))),
    ),
    "widened after the sum": (
        'cast(%x, dtype="int32") + cast(%x, dtype="int32")',
        "uint8",
        "add",
        lambda c: relay.cast(relay.add(c.args[0].args[0], c.args[1].args[0]), "int32"),
    ),
    "softmax without its maximum": (
        "nn.softmax(%x)",
        "float32",
        "nn.softmax",
        lambda c: relay.divide(relay.exp(c.args[0]), relay.sum(relay.exp(c.args[0]), axis=-1, keepdims=True)),
    ),
    "the last of equal maxima": (
        "argmax(%x, axis=[1])",
        "float32",
        "argmax",
        lambda c: relay.argmax(c.args[0], axis=[1], select_last_index=True),
    ),
    "x is x": ("not_equal(%x, %x)", "float32", "not_equal", lambda c: relay.zeros((4, 6), "bool")),
    "less or equal": ("less(%x, %y)", "float32", "less", lambda c: relay.less_equal(*c.args)),
    "times zero": ("%x * 0f", "float32", "multiply", lambda c: relay.zeros((4, 6), "float32")),
    "floor as trunc": ("floor(%x)", "float32", "floor", lambda c: relay.trunc(c.args[0])),
    "greater for greater or equal": (
        "greater_equal(%x, %y)",
        "int64",
        "greater_equal",
        lambda c: relay.greater(*c.args),
    ),
    "abs of the least integer": ("abs(%x)", "int8", "abs", lambda c: relay.nn.relu(c.args[0])),
    "sqrt of a square": ("sqrt(%x * %x)", "float32", "sqrt", lambda c: c.args[0].args[0]),
    "round half away from zero": (
        "round(%x * 0.5f)",
        "float32",
        "round",
        lambda c: relay.floor(c.args[0] + relay.const(0.5)),
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_textbook_mistake_is_found_on_inputs_that_nobody_gave(mistake):
    body, dtype, operator, make = MISTAKES[mistake]
    mod = passlab.parse(f"def @main(%x: Tensor[(4, 6), {dtype}], %y: Tensor[(4, 6), {dtype}]) {{ {body} }}")
    bisection = lab.bisect(mod, ["InferType", replacing(operator, make)])
    assert bisection.found, bisection.summary()
    assert bisection.event.name == "Mistake"
    assert bisection.rewrite is not None


def test_the_epsilon_of_a_normalisation_is_missed():
    ty = "Tensor[(4), float32]"
    mod = passlab.parse(
        f"def @main(%x: Tensor[(2, 4), float32], %gamma: {ty}, %beta: {ty}, %mean: {ty}, %var: {ty}) {{"
        " nn.batch_norm(%x, %gamma, %beta, %mean, %var).0 }"
    )
    wrong = replacing("nn.batch_norm", lambda c: relay.nn.batch_norm(*c.args, epsilon=0.0).tuple_value)
    assert lab.bisect(mod, ["InferType", wrong]).found


RIGHT = {
    "sums in another order": ("sum(%x, axis=[1])", "sum", lambda c: relay.sum(relay.reverse(c.args[0], 1), axis=[1])),
    "a product spread over a sum": (
        "%x * (%x + %y)",
        "multiply",
        lambda c: c.args[0] * c.args[1].args[0] + c.args[0] * c.args[1].args[1],
    ),
    "tanh by exponentials of small numbers": (
        "sigmoid(%x)",
        "sigmoid",
        lambda c: relay.const(1.0) / (relay.const(1.0) + relay.exp(relay.negative(c.args[0]))),
    ),
}


@pytest.mark.parametrize("change", RIGHT)
def test_a_pass_that_only_rounds_otherwise_is_not_blamed(change):
    body, operator, make = RIGHT[change]
    mod = passlab.parse(f"def @main(%x: Tensor[(4, 600), float32], %y: Tensor[(4, 600), float32]) {{ {body} }}")
    done = []

    def once(call):
        done.append(call)
        return make(call) if len(done) == 1 else call

    bisection = lab.bisect(mod, ["InferType", replacing(operator, once)], default_contract=Rounds(4))
    assert not bisection.found, bisection.summary()


# ---------------------------------------------------------------- time
def test_a_pass_that_never_ends_is_an_answer():
    def endless(mod, ctx):
        while True:
            time.sleep(0.001)

    bisection = lab.bisect(
        passlab.parse(NET), ["InferType", module_pass(endless, opt_level=0, name="Endless")], seconds=1.0
    )
    assert bisection.event.name == "Endless"
    assert "did not end within 1 s" in bisection.why


def test_a_pass_that_makes_a_program_endless_is_an_answer():
    text = "def @main(%n: int32) -> int32 { if (%n < 1) { 0 } else { @main(%n - 1) + 1 } }"
    wrong = replacing("subtract", lambda c: c.args[0], name="Endless")
    with passlab.limits.override(frames=10**9):
        bisection = lab.bisect(passlab.parse(text), ["InferType", wrong], inputs=[3])  # comes back at all
    assert bisection.event.name == "Endless"


# ---------------------------------------------------------------- misuse
@pytest.mark.parametrize(
    "misuse",
    [
        lambda net: lab.validate(net),
        lambda net: lab.bisect(net, "InferType", inputs=7),
        lambda net: lab.bisect(net, "InferType", seed="a"),
        lambda net: lab.bisect(net, "InferType", default_contract="EXACT"),
        lambda net: lab.bisect("x", "InferType"),
        lambda net: lab.reduce("x", lambda mod: True),
        lambda net: lab.reduce(net, lambda mod: True, tries="a"),
        lambda net: lab.reduce(net, lambda mod: True, seconds="a"),
        lambda net: lab.reduce(net, 7),
        lambda net: passlab.record(net, "InferType").blame(99),
        lambda net: passlab.vm.Debugger(net, *_inputs()).goto("end"),
        lambda net: passlab.vm.Debugger(net, *_inputs()).step("a"),
        lambda net: passlab.vm.Debugger(net, *_inputs()).next_back(None),
        lambda net: lab.bisect(net, [replacing("tanh", lambda c: c.args[0])]).notebook("/nope/a.ipynb"),
        lambda net: lab.Recording.load(__file__),
        lambda net: passlab.record("x", "InferType"),
        lambda net: passlab.record(net, "InferType", seconds="a"),
    ],
)
def test_misuse_is_a_diagnostic(misuse):
    with pytest.raises(PasslabError):
        misuse(passlab.parse(NET))


def _inputs():
    return np.ones((3, 5), "float32"), np.ones((4, 5), "float32")


def test_inputs_of_a_wrong_kind_say_what_was_expected():
    with pytest.raises(PassTypeError, match="a list, or a table by name"):
        lab.bisect(IRModule(), "InferType", inputs=7)


# ---------------------------------------------------------------- to what passes are held
@pytest.mark.parametrize(
    ("body", "contract"),
    [
        ('cast(cast(%x, dtype="float64"), dtype="float32")', EXACT),
        ('add(%x, zeros(shape=[3], dtype="float32"))', FINITE),
    ],
)
def test_a_pass_of_rules_is_held_to_those_that_it_applied(body, contract):
    net = passlab.parse(f"def @main(%x: Tensor[(3), float32]) {{ {body} }}")
    event = passlab.record(net, "InferType, SimplifyExpr").steps[2]
    assert event.rewrites.rules
    assert contract_of(event) == contract


def test_a_pass_that_gives_functions_a_continuation_is_compared_and_not_blamed():
    bisection = lab.bisect(passlab.parse(NET), "InferType, ToCPS", without_contract=True)
    assert not bisection.found
    assert bisection.coverage.comparisons


def test_a_pass_without_contract_that_takes_other_parameters_is_left_out_and_said_so():
    bisection = lab.bisect(
        passlab.parse(NET), 'InferType, ChangeBatch(data={"x": 0}, batch_size=7)', without_contract=True
    )
    assert not bisection.found
    assert "takes other ones" in bisection.summary()


@pytest.mark.parametrize(
    "body",
    [
        'add(cast(nn.dense(%x, %w), dtype="float16"), cast(nn.dense(tanh(%x), %w), dtype="float16"))',
        'nn.dense(qnn.dequantize(cast(%x, dtype="uint8"), 0.1f, 3, out_dtype="float32"), %w)',
    ],
)
def test_shorter_floats_are_not_blamed_where_some_were_short_or_looked_exact(body):
    params = "%x: Tensor[(3, 4), float32], %w: Tensor[(5, 4), float32]"
    culprit = lab.culprit(
        passlab.parse(f"def @main({params}) {{ {body} }}"), "InferType, ToMixedPrecision", executors=()
    )
    assert not culprit.found, culprit.summary()


def test_a_number_that_a_machine_returns_is_an_array_step_by_step_too():
    net = passlab.parse("def @main(%x: float32, %y: float32) { less(%x, %y) }")
    assert not lab.culprit(net, "InferType", executors=("vm",)).found


@pytest.mark.parametrize(
    "norm", ["nn.layer_norm(%x, %g, %b)", "nn.instance_norm(%x, %g, %b)", "nn.l2_normalize(%x, eps=1e-5f, axis=[1])"]
)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_normalising_short_floats_squares_them_in_longer_ones(norm, dtype):
    shapes = {"%x": "(2, 2, 3)", "%g": "(3)" if "layer" in norm else "(2)", "%b": "(3)" if "layer" in norm else "(2)"}
    params = ", ".join(f"{name}: Tensor[{shape}, {dtype}]" for name, shape in shapes.items())
    net = passlab.parse(f"def @main({params}) {{ {norm} }}")
    x = np.array([-400, 500, 3, 700, 650, -2, 1, 300, 40, 5, 60000 / 64, 7]).reshape(2, 2, 3)
    inputs = [x, *(np.ones(int(shapes[name][1]) if len(shapes[name]) == 3 else 3) for name in ("%g", "%b"))]
    typed = [np.asarray(value).astype(array_dtype(dtype)) for value in inputs]
    assert not lab.bisect(net, "InferType, SimplifyInference", inputs=typed).found


def test_units_of_short_floats_are_no_excuse_for_another_number():
    def doubled(func, mod, ctx):
        return rewrite(
            func,
            lambda old, new: relay.multiply(new, relay.const(np.float16(2))) if is_call(new, "tanh") else new,
            only=(Call,),
        )

    net = passlab.parse("def @main(%x: Tensor[(3, 5), float16]) { tanh(%x) }")
    wrong = function_pass(doubled, opt_level=0, name="Doubled")
    assert lab.bisect(net, [wrong], default_contract=Rounds(4096)).found


@pytest.mark.parametrize("scale", [29.5, 37.4, 951.3])
@pytest.mark.parametrize("seed", range(4))
def test_a_scale_that_is_moved_into_weights_is_not_blamed_for_what_a_difference_cancels(scale, seed):
    params = "%x: Tensor[(4, 90), float32], %y: Tensor[(4, 90), float32], %w: Tensor[(4, 90), float32]"
    body = f"sin(multiply(subtract(nn.dense(%x, %w), nn.dense(%y, %w)), {scale}f))"
    bisection = lab.bisect(passlab.parse(f"def @main({params}) {{ {body} }}"), "InferType, FoldScaleAxis", seed=seed)
    assert bisection.coverage.comparisons
    assert not bisection.found, bisection.summary()


def test_what_a_normalisation_cancels_inside_is_no_fault_of_an_executor():
    params = "%x: Tensor[(2, 2), float16], %g: Tensor[(2), float16], %b: Tensor[(2), float16]"
    net = passlab.parse(f"def @main({params}) {{ nn.layer_norm(%x, %g, %b) }}")
    culprit = lab.culprit(net, "InferType", executors=("aot", "vm"))
    assert not culprit.found, culprit.summary()


def test_inputs_are_drawn_again_to_reach_a_branch_that_none_did():
    net = passlab.parse("""
        def @main(%x: float32) {
          if (logical_and(greater(%x, 41.25f), less(%x, 41.75f))) { exp(%x) } else { tanh(%x) }
        }
    """)
    rare = replacing("exp", lambda call: relay.sqrt(call.args[0]), name="Rare")
    assert lab.bisect(net, [rare]).event.name == "Rare"


def test_sides_of_comparisons_that_no_input_met_are_told():
    net = passlab.parse("def @main(%x: Tensor[(3), float32]) { (nn.relu(exp(%x)), greater(%x, 1e30f)) }")
    bisection = lab.bisect(net, "InferType, FuseOps", inputs=[np.ones(3, "float32")])
    assert "2 sides of comparisons and clips were never met" in bisection.summary()


def test_an_interrupted_search_says_that_it_is_not_done():
    """At each instant: it finds no fault only where it looked at everything."""
    net = passlab.parse("def @main(%x: Tensor[(2, 3), float32]) { let %h = nn.relu(%x); tanh(%h) + exp(%h) }")
    complete = 0
    for instant in range(1, 9):
        calls = itertools.count(1)

        def progress(*told, calls=calls, instant=instant):
            if next(calls) == instant:
                raise KeyboardInterrupt

        culprit = lab.culprit(net, ["InferType", "ToANormalForm", "FuseOps"], executors=["vm"], progress=progress)
        stopped = culprit.stopped or (culprit.bisection.stopped if culprit.bisection else "")
        assert ("No fault was found" in culprit.summary()) == (not stopped)
        assert ("Every step" in culprit.summary()) == (not stopped)
        complete += not stopped
    assert 0 < complete < 8


@pytest.mark.parametrize("before", [[], ["InferType"], ["InferType", "ToANormalForm"]])
def test_a_pass_that_fails_did_run(before):
    @function_pass(opt_level=0)
    def fails(func, mod, ctx):
        raise KeyError("relu")

    net = passlab.parse("def @main(%x: Tensor[(2, 3), float32]) { tanh(nn.relu(%x)) }")
    for answer in (lab.culprit(net, [*before, fails], executors=[]), lab.bisect(net, [*before, fails])):
        text = str(answer)
        assert "fails, failed: KeyError" in text
        assert "did not run" not in text
        assert "none changed it" not in text
        assert "0 of 0" not in text
