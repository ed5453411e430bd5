"""Laws of recordings: provenance is true, and recording changes nothing."""

from __future__ import annotations

from contextlib import redirect_stdout
from functools import cache
from io import StringIO

import numpy as np
import pytest

import passlab
from passlab import instrument, relay, transform
from passlab.diffing.diff import Change, diff
from passlab.errors import PasslabError
from passlab.ir import IRModule, structural_equal
from passlab.ir.expr import Call, Constant, If
from passlab.ir.op import Op
from passlab.ir.walk import post_order, rewrite
from passlab.lab.recordings.provenance import Origin
from passlab.testing import densenet, lstm, mlp, programs, resnet, squeezenet
from passlab.transform import PassContext
from passlab.transform.pipeline_text import as_pass
from passlab.transform.registry import get_pass, pass_names
from tests.each import each

# They compute numbers, which may equal one that was there.
COMPUTING = {
    "FoldConstant",
    "PartialEval",
    "DynamicToStatic",
    "SimplifyExpr",
    "DivToMul",
    "QnnCanonicalizeOps",
    "SimplifyInference",
    "UnrollRecurrent",
}
PRINTERS = {"AnnotateSpans", "PrintIR"}  # they read their own text again, so that all nodes get new places


def built():
    """A program made by `relay.*`: no node of it has a place in a source."""
    x, c = relay.var("x", shape=(1, 8)), relay.var("c", shape=(), dtype="bool")
    w = relay.const(np.ones((8, 8), "float32"))
    y = relay.nn.dense(x, w)
    t = relay.split(relay.tanh(y) + relay.const(3.0) * relay.const(2.0), 2, axis=1)
    z = relay.If(c, relay.nn.relu(t[0]), relay.exp(t[1]))
    f = relay.Function([a := relay.var("a", shape=(1, 4))], relay.sqrt(a))
    g = relay.var("g")
    return IRModule.from_expr(relay.Function([x, c], relay.Let(g, f, relay.Tuple([z, relay.Call(g, [z]), y]))))


PROGRAMS = {
    "built": built,
    "parsed": lambda: passlab.parse(built().astext()),
    "mlp": lambda: mlp.get_workload(1)[0],
    "resnet": lambda: resnet.get_workload(1, 10)[0],
    "lstm": lambda: lstm.get_workload(2, 4)[0],
    "squeezenet": lambda: squeezenet.get_workload(1)[0],
}


def standard_passes():
    for name in pass_names():
        if name not in PRINTERS:
            try:
                yield name, get_pass(name)
            except PasslabError:
                continue  # it needs options


def assert_true(rec, kinds=(Call, Constant, If)):
    """Each node that a pass is said to have made is, by the differences of the pass alone, neither kept nor moved."""
    kept: dict[object, set] = {}
    for name, function in rec.last.items():
        for node in post_order(function):
            if not isinstance(node, kinds):
                continue
            origin = rec.provenance.origin(node)
            if origin is None:
                continue
            event = origin.event
            if event not in kept:
                changes = diff(event.before, event.after).nodes(Change.SAME, Change.MOVED)
                kept[event] = {change.after for change in changes}
            first = node
            while (before := rec.provenance.origins.get(first)) is not None and before.rebuilt:
                first = before.old
            assert first not in kept[event], f"@{name}: {node} is said to be made by {event}"


def assert_constants_true(rec):
    """Each constant that a pass is said to have made was not there before; one of the input is one of its numbers.

    Only a pass that computes may make a constant equal to one that was there.
    """

    def number(constant):
        return constant.data.dtype.str, constant.data.shape, constant.data.tobytes()

    @cache
    def constants(mod):
        return {n: number(n) for f in mod.functions.values() for n in post_order(f) if isinstance(n, Constant)}

    for node in constants(rec.last):
        maker = rec.provenance.maker(node)
        before = constants(rec.input if maker is None else maker.before)
        if maker is None:
            assert number(node) in before.values(), f"{node} is said to be of the input"
        else:
            assert node not in before, f"{node} is said to be made by {maker}"
            assert maker.name in COMPUTING or number(node) not in before.values(), f"{maker} only moved {node}"


def assert_true_of(mod):
    """What every pass alone leaves of a program, as it is and as its text is read again, has true makers."""
    for start in (mod, transform.InferType()(passlab.parse(mod.astext()))):
        for _, tried in standard_passes():
            with redirect_stdout(StringIO()):
                rec = passlab.record(start, [tried], opt_level=4)
            if rec.error is None and rec.last is not start:
                assert_true(rec, (Call, If))  # a constant that a pass computes may equal one that was there
                assert_constants_true(rec)


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_pass_is_said_to_have_made_what_it_left_alone(program):
    mod = transform.InferType()(PROGRAMS[program]())
    for name, tried in standard_passes():
        rec = passlab.record(mod, [tried], opt_level=4)
        if rec.error is None and rec.last is not mod:
            assert_true(rec)
            del name


def test_nodes_from_one_place_keep_their_makers():
    x, place = relay.var("x", shape=(2,)), passlab.parse("def @main(%x: float32) { exp(%x) }")["main"].body.span
    node = x
    for name in ("exp", "negative", "tanh"):
        node = Call(Op.get(name), [node], span=place)
    rec = passlab.record(transform.InferType()(IRModule.from_expr(relay.Function([x], node))), "FuseOps", 4)
    nodes = [node for node in post_order(rec.last["main"]) if isinstance(node, Call) and isinstance(node.op, Op)]
    assert {rec.provenance.maker(node) for node in nodes} == {None}


@pytest.mark.parametrize("name", ["FoldConstant", "DeadCodeElimination", "DynamicToStatic", "ToGraphNormalForm"])
def test_a_pass_gives_no_place_to_a_node_of_its_input(name):
    for seed in (0, 3, 4, 8):
        mod = transform.InferType()(programs.program(seed).mod)
        places = {node: node.span for f in mod.functions.values() for node in post_order(f)}
        get_pass(name)(mod)
        assert all(node.span is place for node, place in places.items())


@pytest.mark.rotating
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("effects", [True, False])
def test_makers_are_true_for_a_small_generated_program(seed, effects):
    assert_true_of(transform.InferType()(programs.program(seed, effects=effects, size=1 + seed % 2).mod))


@pytest.mark.nightly
@pytest.mark.in_parts
@pytest.mark.parametrize("block", range(10))
@pytest.mark.parametrize("effects", [True, False])
def test_makers_are_true_for_many_generated_programs(block, effects):
    for seed in range(10 * block, 10 * block + 10):
        assert_true_of(transform.InferType()(programs.program(seed, effects=effects).mod))


@transform.function_pass(opt_level=0, name="Copies")
def copies(func, mod, ctx):
    return rewrite(func, lambda old, new: Constant(new.data.copy()) if isinstance(new, Constant) else new)


LIES = {
    "a kept call is new": ("FoldConstant", Call),
    "a kept constant is new": ("FoldConstant", Constant),
    "a copied constant is new": (copies, Constant),
    "a new constant is old": ("FoldConstant", Constant),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_about_a_maker_is_seen(lie):
    tried, kind = LIES[lie]
    rec = passlab.record(passlab.parse("def @main(%x: float32) { exp(%x + 2f) * (2f + 3f) }"), ["InferType", tried], 4)
    assert_true(rec, (Call, If))
    assert_constants_true(rec)
    nodes = [n for n in post_order(rec.last["main"]) if isinstance(n, kind)]
    liar = next(n for n in nodes if (rec.provenance.maker(n) is None) == lie.endswith("new"))
    if lie.endswith("new"):
        rec.provenance.origins[liar] = Origin(rec.steps[2], None)
    else:
        del rec.provenance.origins[liar]
    with pytest.raises(AssertionError, match=r"is said to be|only moved"):
        assert_constants_true(rec) if kind is Constant else assert_true(rec, (Call, If))


@pytest.mark.parametrize("program", PROGRAMS)
def test_normal_forms_make_no_operator(program):
    rec = passlab.record(PROGRAMS[program](), "InferType, ToANormalForm, ToGraphNormalForm, ToANormalForm", 4)
    nodes = [node for function in rec.last.functions.values() for node in post_order(function)]
    operators = [node for node in nodes if isinstance(node, Call) and isinstance(node.op, Op)]
    assert {rec.provenance.maker(node) for node in operators} == {None}


def test_makers_survive_a_pass_that_builds_everything_anew():
    mod = densenet.get_workload()[0]
    passes = "InferType, SimplifyInference, FoldConstant, FoldScaleAxis"
    rec, longer = passlab.record(mod, passes), passlab.record(mod, f"{passes}, ToANormalForm, ToGraphNormalForm")

    def counts(recording):
        names = [row["made_by"].split()[-1] for row in recording.blame() if row["node"] not in ("let", "function")]
        return {name: names.count(name) for name in names}

    assert counts(rec) == counts(longer)


# ---------------------------------------------------------------- recording changes nothing
class Hooks:
    """An instrument that notes every hook, refuses one pass, and may raise."""

    def __init__(self, refuse="", boom=""):
        self.calls = []
        note = self.calls.append

        @instrument.pass_instrument
        class Noting:
            def enter_pass_ctx(self):
                note("enter")

            def exit_pass_ctx(self):
                note("exit")

            def should_run(self, mod, info):
                note(f"should {info.name}")
                return info.name != refuse

            def run_before_pass(self, mod, info):
                note(f"before {info.name}")
                if info.name == boom:
                    raise ZeroDivisionError(boom)

            def run_after_pass(self, mod, info):
                note(f"after {info.name}")

            def pass_failed(self, mod, info, error):
                note(f"failed {info.name}: {type(error).__name__}")

        self.instrument = Noting()


CONTEXTS = [
    {"opt_level": 0},
    {"opt_level": 1},
    {"opt_level": 2, "disabled_pass": ["FoldConstant"]},
    {"opt_level": 1, "required_pass": ["EliminateCommonSubexpr"]},
    {"opt_level": 4, "config": {"relay.FuseOps.max_depth": 1}},
]
PIPELINE = "InferType, FoldConstant, EliminateCommonSubexpr, CanonicalizeOps, FuseOps"


@each("context", CONTEXTS)
@each("hooks", [{}, {"refuse": "FuseOps"}, {"boom": "FuseOps"}, {"boom": "InferType"}])
def test_recording_changes_nothing(context, hooks):
    plain, recorded = Hooks(**hooks), Hooks(**hooks)
    mod = built()

    def run(noting, call):
        with PassContext(instruments=[noting.instrument], **context):
            try:
                return call()
            except ZeroDivisionError as error:
                return str(error)

    expected = run(plain, lambda: as_pass(PIPELINE)(mod))
    result = run(recorded, lambda: passlab.record(mod, PIPELINE).output)
    assert recorded.calls == plain.calls
    assert result == expected if isinstance(expected, str) else structural_equal(result, expected)


def test_arguments_add_to_the_context_and_the_level_replaces_that_of_the_context():
    mod = built()
    with PassContext(opt_level=0, disabled_pass=["FuseOps"]):
        low = passlab.record(mod, PIPELINE)
        high = passlab.record(mod, PIPELINE, 4, disabled_pass=["FoldConstant"])
    assert [e.status for e in low.steps[1:]] == ["ran", "skipped", "skipped", "skipped", "skipped"]
    assert [e.status for e in high.steps[1:]] == ["ran", "skipped", "ran", "ran", "skipped"]
    assert passlab.record(mod, "EliminateCommonSubexpr").steps[1].status == "ran", "level 3 outside of any context"
