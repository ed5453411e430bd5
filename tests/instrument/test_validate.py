"""Validation names the first pass that changes the values of a program, and the first wrong node."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab import relay, transform
from passlab.errors import RunError, ValidationError
from passlab.evaluate import Evaluator
from passlab.instrument import Validate
from passlab.ir.walk import let_chain
from passlab.lab.recordings.validation import validate
from passlab.transform import EXACT, PassContext, Rounds, Sequential, function_pass, module_pass
from tests.transform.programs import idle, raising, replacing

NET = """
def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32], %b: Tensor[(4), float32]) {
  %0 = nn.dense(%x, %w);
  %1 = nn.bias_add(%0, %b);
  add(nn.relu(multiply(%1, multiply(2f, 3f))), exp(%1))
}
"""
WRONG = replacing("nn.relu", "tanh", name="Wrong")


@pytest.fixture
def net():
    return passlab.parse(NET)


def under(validate, mod, *passes):
    with PassContext(opt_level=4, instruments=[validate]):
        return Sequential(list(passes))(mod)


def outcomes(result, *names):
    return [(c.name, c.outcome) for c in result.checks if c.name in names]


def test_passes_that_keep_their_contract_are_let_through(net):
    validation = Validate()
    under(validation, net, transform.FoldConstant(), transform.CanonicalizeOps(), transform.FuseOps())
    assert outcomes(validation, "FoldConstant", "FuseOps") == [("FoldConstant", "kept"), ("FuseOps", "kept")]
    assert validation.failures == []


def test_a_planted_wrong_pass_is_named_with_the_node_and_its_place_in_the_source(net):
    with pytest.raises(ValidationError) as caught:
        under(Validate(), net, transform.FoldConstant(), WRONG, transform.FuseOps())
    shown = str(caught.value)
    assert "the pass `Wrong` changed the result" in shown
    assert "the first node that went wrong is `tanh`, which was `nn.relu`" in shown
    assert "5:7" in shown


def test_a_wrong_pass_that_tells_nothing_of_its_rewrites_is_found_out_too(net):
    @function_pass(opt_level=0, name="Quiet")
    def quiet(func, mod, ctx):
        left, right = func.body.args
        return relay.Function(func.params, relay.add(relay.add(left, relay.const(1.0)), right))

    with pytest.raises(ValidationError, match="the first node that went wrong is `add`"):
        under(Validate(), net, quiet)


def test_the_rule_that_made_the_wrong_node_is_named():
    from passlab.ir.walk import note_rewrite

    @function_pass(opt_level=0, name="Rules")
    def rules(func, mod, ctx):
        log_ = relay.log(func.body.args[0])
        note_rewrite(func.body, log_, "exp is log")
        return relay.Function(func.params, log_)

    with pytest.raises(ValidationError, match="by the rule `exp is log`"):
        under(Validate(), passlab.parse("def @main(%x: Tensor[(2), float32]) { exp(%x) }"), rules)


def test_a_pass_is_held_to_its_own_contract(net):
    def nudged(contract):
        @function_pass(opt_level=0, name="Nudge", contract=contract)
        def nudge(func, mod, ctx):
            return relay.Function(func.params, relay.multiply(func.body, relay.const(np.float32(1 + 2**-22))))

        return nudge

    under(Validate(), net, nudged(Rounds(8)))
    under(Validate(), net, nudged(None))
    with pytest.raises(ValidationError, match="expected: EXACT"):
        under(Validate(), net, nudged(EXACT))
    with pytest.raises(ValidationError, match=r"Rounds\(1\)"):
        under(Validate(), net, nudged(Rounds(1)))


def test_a_loose_contract_does_not_excuse_errors_that_operators_enlarge():
    def nudged(contract):
        @function_pass(opt_level=0, name="Nudge", contract=contract)
        def nudge(func, mod, ctx):
            x = func.params[0]
            return relay.Function(
                [x], relay.bind(func.body, {x: relay.multiply(x, relay.const(np.float32(1 + 2**-14)))})
            )

        return nudge

    net = passlab.parse("def @main(%x: Tensor[(4), float32]) { sin(multiply(%x, 1000f)) }")
    with pytest.raises(ValidationError, match="Nudge"):
        under(Validate(), net, nudged(Rounds(4096)))
    inputs = [np.array([0.1, -0.7, 1.3, 2.9], "float32")]
    under(Validate(inputs=inputs), net, nudged(Rounds(4096, approximates=True)))


ROUNDED = {
    "batch_norm": "(nn.batch_norm(nn.conv2d(%x, %w), %g, %b, %m, %v)).0",
    "group_norm": "nn.group_norm(nn.conv2d(%x, %w), %g, %b, num_groups=2)",
    "parallel": "add(nn.relu(nn.conv2d(%x, %w)), nn.conv2d(%x, %w2))",
    "mean": "mean(nn.conv2d(%x, %w), axis=[2, 3])",
}


@pytest.mark.rotating
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ROUNDED)
def test_no_pass_is_blamed_for_rounding_that_later_operators_enlarge(name, dtype):
    four = f"Tensor[(4), {dtype}]"
    kernels = f"Tensor[(4, 8, 3, 3), {dtype}]"
    params = f"%x: Tensor[(1, 8, 5, 5), {dtype}], %w: {kernels}, %w2: {kernels}, %g: {four}, %b: {four}, %m: {four}, %v: {four}"
    number = {"float16": "100f16", "float32": "100f", "float64": "100f64"}[dtype]
    net = passlab.parse(f"def @main({params}) {{ sin(multiply({ROUNDED[name]}, {number})) }}")
    passes = (
        "InferType, SimplifyInference, FoldConstant, CombineParallelConv2d, BackwardFoldScaleAxis, ForwardFoldScaleAxis"
    )
    layout = transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]})
    with PassContext(opt_level=4, instruments=[Validate()]):
        transform.parse_pipeline(passes)(net)
        transform.Sequential([transform.InferType(), layout])(net)


def test_a_pass_without_a_contract_may_be_left_alone(net):
    validation = Validate(default_contract=None)
    under(validation, net, WRONG)
    assert outcomes(validation, "Wrong") == [("Wrong", "no contract")]


def test_a_standard_pass_without_contract_is_not_checked(net):
    validation = Validate()
    under(validation, net, transform.FirstOrderGradient())
    assert ("FirstOrderGradient", "no contract") in [(c.name, c.outcome) for c in validation.checks]


def test_without_stopping_every_failure_is_listed_and_each_pass_answers_for_itself(net):
    validation = Validate(stop=False)
    under(validation, net, WRONG, transform.FoldConstant(), replacing("exp", "log", name="Again"))
    expected = [("Wrong", "broken"), ("FoldConstant", "kept"), ("Again", "broken")]
    assert outcomes(validation, "Wrong", "FoldConstant", "Again") == expected
    assert len(validation.failures) == 2
    assert "tanh" in validation.text()


def test_a_program_that_runs_no_more_breaks_every_contract(net):
    @module_pass(opt_level=0, name="Drops")
    def drops(mod, ctx):
        main = mod["main"]
        return mod.with_functions({"main": relay.Function(main.params[:1], main.params[0])})

    with pytest.raises(ValidationError, match="after the pass `Drops` the program no longer runs"):
        under(Validate(), net, drops)


@pytest.mark.parametrize("as_table", [True, False])
def test_inputs_are_a_list_or_a_table(net, as_table):
    values = {"x": np.zeros((1, 8), np.float32), "w": np.ones((4, 8), np.float32), "b": np.zeros(4, np.float32)}
    validation = Validate(values if as_table else list(values.values()))
    under(validation, net, WRONG)  # relu(0) is tanh(0)
    assert outcomes(validation, "Wrong") == [("Wrong", "kept")]


@pytest.mark.parametrize(("inputs", "message"), [
    ({"x": 1, "weight": 2}, "no parameter `weight`"), ({"x": 1, "w": 2}, "no input for %b"), ([1], "takes 3 arguments"),
    ([np.zeros(3)] * 3, "does not fit"),
])  # fmt: skip
def test_inputs_that_do_not_fit_are_refused_before_any_pass_is_blamed(net, inputs, message):
    with pytest.raises(RunError, match=message):
        under(Validate(inputs), net, transform.FoldConstant())


def test_other_functions_and_loops_are_run_too():
    mod = passlab.parse("""
    def @power(%x: float32, %n: int32) -> float32 {
      if (%n == 0) { 1f } else { multiply(%x, @power(%x, %n - 1)) }
    }
    def @main(%x: float32) { @power(%x, 5) }
    """)
    with pytest.raises(ValidationError, match="the pass `Sum`"):
        under(Validate([2.0]), mod, replacing("multiply", "add", name="Sum"))


def test_a_raising_pass_leaves_the_instrument_usable(net):
    validation = Validate()
    with pytest.raises(ZeroDivisionError):
        under(validation, net, raising())
    under(validation, net, transform.FoldConstant(), idle())
    assert outcomes(validation, "FoldConstant", "Idle") == [("FoldConstant", "kept"), ("Idle", "unchanged")]


def test_deep_programs_are_validated():
    mod = passlab.parse("def @main(%x: Tensor[(2), float32]) { %x }")
    x = mod["main"].params[0]
    body = x
    for _ in range(5_000):
        body = relay.add(body, relay.const(np.float32(0)))
    deep = passlab.infer.infer_module(mod.with_functions({"main": relay.Function([x], body)}))
    validation = Validate()
    under(validation, deep, transform.ToANormalForm())
    assert outcomes(validation, "ToANormalForm") == [("ToANormalForm", "kept")]
    assert len(let_chain(transform.ToANormalForm()(deep)["main"].body)[0]) > 5_000


# ---------------------------------------------------------------- recordings
def test_a_recording_is_validated_afterwards(net):
    rec = passlab.record(net, [transform.FoldConstant(), WRONG, transform.FuseOps()])
    validation = validate(rec)
    assert not validation
    event, check = validation.first
    assert (event.id, check.name, check.node.node.op.name) == ("2", "Wrong", "tanh")
    assert [row["outcome"] for row in validation.table() if row["pass"] in ("FoldConstant", "FuseOps")] == [
        "kept",
        "kept",
    ]
    assert validate(passlab.record(net, "FoldConstant, FuseOps"))


def test_the_values_of_nodes_are_those_of_the_run(net):
    arguments = [np.ones((1, 8), np.float32), np.ones((4, 8), np.float32), np.ones(4, np.float32)]
    main = net["main"]
    values = Evaluator(net).values("main", arguments)
    assert np.array_equal(values[main.body], Evaluator(net).run("main", arguments))
    assert np.array_equal(values[main.body.args[1].args[0]], np.full((1, 4), 9, np.float32))
