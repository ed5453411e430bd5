"""Recordings as files: loading restores what was saved, and invalid files are refused."""

from __future__ import annotations

import json
import pickle
import shutil
import tracemalloc
from contextlib import suppress
from copy import copy, deepcopy
from functools import partial

import numpy as np
import pytest

import passlab
from passlab import lab, relay, transform
from passlab.errors import PassError, PasslabError, PassTypeError
from passlab.instrument.events import contract_of
from passlab.ir import Constant, Function, If, IRModule, TensorType, Var
from passlab.ir.walk import post_order, rewrite
from passlab.lab.recordings.recording import Recording, record
from passlab.passes import PASSES
from passlab.testing.programs import generate
from tests.call_counts import calls_of
from tests.each import each
from tests.lab.user.programs import PROGRAMS
from tests.passes.docstring_programs import cases_of
from tests.passes.test_docstrings import typed
from tests.transform.programs import chain, idle, make, operators, raising, replacing

TO_LOG = replacing("exp", "log", name="ToLog")
X = Var("x", TensorType((2, 3), "float32"))
WEIGHT = Constant(np.arange(6, dtype="float32").reshape(2, 3))
NET = IRModule.from_expr(Function([X], make("exp", make("add", X, WEIGHT))))

SIMPLE = """
def @main(%x: Tensor[(2, 3), float32]) {
  %0 = nn.dropout(%x);
  %1 = add(%0.0, 0f);
  %2 = reshape(reshape(%1, newshape=[6]), newshape=[3, 2]);
  multiply(exp(%2), tanh(%2))
}
"""


@pytest.fixture(params=["saved", "pickled"])
def again(request):
    def read(rec, tmp_path):
        rec.save(tmp_path / "rec")
        return Recording.load(tmp_path / "rec") if request.param == "saved" else pickle.loads(pickle.dumps(rec))

    return read


def test_everything_but_live_objects_comes_back(again, tmp_path):
    rec = record(NET, [idle("A"), TO_LOG, idle("Off", opt_level=9), [raising("Boom")]], name="net", opt_level=2)
    back = again(rec, tmp_path)
    assert back.text() == rec.text()
    assert back.name == "net"
    assert [e.id for e in back.events] == [e.id for e in rec.events]
    assert [e.seconds for e in back.events] == [e.seconds for e in rec.events]
    assert [e.context for e in back.events] == [e.context for e in rec.events]
    assert (back.error.kind, str(back.error)) == ("ZeroDivisionError", "error: boom")


def test_programs_come_back_typed_and_equal_with_what_was_shared(again, tmp_path):
    back = again(record(NET, [idle("A"), TO_LOG, idle("B")]), tmp_path)
    rec = record(NET, [idle("A"), TO_LOG, idle("B")])
    for ours, theirs in zip(back.events, rec.events, strict=True):
        assert passlab.structural_equal(ours.after, theirs.after)
        assert ours.changed == theirs.changed
    assert back[1].before is back[1].after
    assert back.last["main"].checked_type == rec.last["main"].checked_type


def test_constants_are_written_once_and_come_back_bit_for_bit(again, tmp_path):
    rec = record(NET, [TO_LOG, replacing("log", "sqrt")])
    back = again(rec, tmp_path)
    assert (tmp_path / "rec" / "metadata.json").read_text().count('"relay.Constant"') == 2  # the key, and one object
    weights = [e.after["main"].body.args[0].args[1].data for e in back]
    assert all(w.tobytes() == WEIGHT.data.tobytes() and w.dtype == "float32" for w in weights)


def test_functions_that_did_not_change_are_shared_again(again, tmp_path):
    mod = passlab.parse(NET.astext())
    mod["other"] = chain("tanh")["main"]
    back = again(record(passlab.transform.InferType()(mod), [TO_LOG]), tmp_path)
    assert back[0].after["other"] is back[1].after["other"]


def test_what_was_rewritten_into_what_comes_back_with_its_rules(again, tmp_path):
    rec = record(
        passlab.parse(SIMPLE), "InferType, SimplifyExpr, SimplifyInference, ToANormalForm, FuseOps", opt_level=3
    )
    back = again(rec, tmp_path)
    assert back.frame()["rewrites"].tolist() == rec.frame()["rewrites"].tolist()
    assert sum(back.frame()["rewrites"]) > 4
    assert [e.rewrites.rules for e in back.events] == [e.rewrites.rules for e in rec.events]
    for ours, theirs in zip(back.events, rec.events, strict=True):
        inside = [places(e) for e in (ours, theirs)]
        assert inside[0] == inside[1]


BRANCHES = """
def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32], %k: bool) {
  let %d = nn.dense(%x, %w);
  let %h = if (True) { nn.relu(%d * 2f) } else { negative(%d) };
  let %g = if (%k) { %h + 0f } else { %h / 4f };
  sum(exp(%g - 1f) * (2f + 3f), axis=[1])
}
"""


@passlab.transform.function_pass(opt_level=0)
def dead_branch(func, mod, ctx):
    def rule(old, new):
        return new.true_branch if isinstance(new.cond, Constant) else new

    return rewrite(func, rule, only=(If,), name="dead branch")


@pytest.mark.parametrize(
    "pipeline",
    [
        ["FoldConstant", dead_branch, "ToANormalForm", "FuseOps"],
        ["ToANormalForm", "DeadCodeElimination", "SimplifyExpr", "ToGraphNormalForm"],
        ["PartialEvaluate", "DeadCodeElimination"],
        ["FastMath", "ToBasicBlockNormalForm", "EliminateCommonSubexpr", "FuseOps", "DefuseOps", "FuseOps"],
    ],
    ids=str,
)
@pytest.mark.parametrize("text", [BRANCHES, SIMPLE])
def test_a_recording_says_the_same_of_its_nodes_when_it_is_read_again(again, tmp_path, pipeline, text):
    """What stayed, what is new and what it came from does not depend on whether the recording was a file."""
    rec = record(passlab.parse(text), pipeline, opt_level=4)
    back = again(rec, tmp_path)
    assert str(back.blame()) == str(rec.blame())
    assert [e.diff().text() for e in back.events[1:]] == [e.diff().text() for e in rec.events[1:]]
    for ours, theirs in zip(back.events, rec.events, strict=True):
        kept = [len(set(post_order(e.before["main"])) & set(post_order(e.after["main"]))) for e in (ours, theirs)]
        assert kept[0] == kept[1], ours.name


def with_a_shared_scalar():
    """Two functions with one constant, which text writes at each of its four uses; `main` was added first."""
    two, ones = passlab.relay.const(2.0), passlab.relay.const(np.ones(3, "float32"))
    x, y = (passlab.relay.var(name, shape=(3,), dtype="float32") for name in "xy")
    main = Function([x], passlab.relay.tanh(x * two) + two + ones * ones)
    return IRModule({"main": main, "also": Function([y], passlab.relay.exp(y * two + two + ones))})


BLAMED = PROGRAMS | {"a shared scalar": with_a_shared_scalar, "branches": lambda: passlab.parse(BRANCHES)}
BLAMED |= {f"generated {seed}": partial(generate, seed, effects=seed % 2 > 0) for seed in (34, 38, 47, 60, 95, 132)}
PIPELINES = [
    "SimplifyExpr, FoldConstant, EliminateCommonSubexpr, ToANormalForm, InferType, FuseOps",
    "ToANormalForm, ToGraphNormalForm, PartialEvaluate, DeadCodeElimination",
    "LambdaLift, Inline, InferType, EtaExpand, FuseOps",
    "FastMath, ToMixedPrecision, FoldConstant, ToBasicBlockNormalForm",
    "AnnotateSpans, ToBasicBlockNormalForm, FuseOps, PartialEvaluate",
    "LazyGradientInit, Defunctionalization, EliminateCommonSubexpr, LambdaLift",
    "ToCPS, FuseOps, ToANormalForm, SplitArgs(max_function_args=3)",
]


@pytest.mark.rotating
@pytest.mark.parametrize("pipeline", PIPELINES)
@each("name", BLAMED)
def test_each_program_of_a_recording_is_blamed_as_before_it_was_a_file(name, pipeline, tmp_path):
    """Nodes of other programs and functions, types, scalars, spans, and what passes replaced twice, come back."""
    rec = record(BLAMED[name](), pipeline, opt_level=4)
    folder = tmp_path / str(len(list(tmp_path.iterdir())))
    rec.save(folder)
    back = Recording.load(folder)
    for ours, theirs in zip(back.events, rec.events, strict=True):
        assert str(back.blame(ours.after)) == str(rec.blame(theirs.after)), theirs.id


@pytest.mark.parametrize("key", ["origins", "successors", "guesses"])
@pytest.mark.parametrize("rows", ["999:0:0:0:0:1", "-99:0:0:0:0:1", "0:0:0:0:0:99", "0:0", "0:0:x:0:0:1"])
def test_origins_that_do_not_fit_are_refused(tmp_path, key, rows):
    record(passlab.parse(SIMPLE), "ToANormalForm").save(tmp_path / "rec")
    path = tmp_path / "rec" / "recording.json"
    index = json.loads(path.read_text())
    index["provenance"][key] = rows
    path.write_text(json.dumps(index))
    with pytest.raises(PassError, match="is not a recording"):
        Recording.load(tmp_path / "rec")


@pytest.mark.parametrize("runs", ["0:0:0:999", "0:1:0:1", "-1:0:0:2", "0:0", "x"])
def test_shared_nodes_that_do_not_fit_are_refused(tmp_path, runs):
    record(passlab.parse(SIMPLE), "ToANormalForm").save(tmp_path / "rec")
    path = tmp_path / "rec" / "recording.json"
    index = json.loads(path.read_text())
    index["shared"]["1"]["runs"] = runs
    path.write_text(json.dumps(index))
    with pytest.raises(PassError, match="is not a recording"):
        Recording.load(tmp_path / "rec")


@pytest.mark.parametrize("runs", ["0:0:0:5000000", "9:0:1:5000000", "-5000000:0:0:5000000"])
@pytest.mark.parametrize("key", ["joined", "runs", "own_spans", "type_params"])
def test_runs_of_a_hostile_file_cost_no_more_than_its_programs(tmp_path, key, runs):
    record(passlab.parse(BRANCHES), "ToANormalForm").save(tmp_path / "rec")
    path = tmp_path / "rec" / "recording.json"
    index = json.loads(path.read_text())
    if key == "joined":
        index[key] = {"0": runs, "1": runs}
    else:
        index["shared"]["1"][key] = runs
    path.write_text(json.dumps(index))
    tracemalloc.start()
    try:
        with suppress(PassError):  # they may be refused, or left out
            Recording.load(tmp_path / "rec")
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


def test_shared_nodes_that_would_change_a_program_are_left_out(tmp_path):
    """A file whose numbers name other nodes is read as its text has it."""
    record(passlab.parse(SIMPLE), "ToANormalForm").save(tmp_path / "rec")
    path = tmp_path / "rec" / "recording.json"
    index = json.loads(path.read_text())
    index["shared"]["1"]["runs"] = "4:0:0:3"
    path.write_text(json.dumps(index))
    back = Recording.load(tmp_path / "rec")
    assert passlab.structural_equal(back.last, passlab.transform.ToANormalForm()(passlab.parse(SIMPLE)))


def test_the_work_of_reading_grows_with_the_functions_and_no_faster(tmp_path):
    """Each function gives back the nodes that it shares, whatever the others share."""

    def work(count):
        functions = (f"def @f{at}(%x: Tensor[(4), float32]) {{ exp(add(%x, 0f)) }}" for at in range(count))
        record(passlab.parse("\n".join(functions)), ["InferType", "SimplifyExpr"]).save(tmp_path / f"{count}")
        return calls_of(lambda: Recording.load(tmp_path / f"{count}"))

    assert work(400) < 5 * work(100)


def places(event):
    """Where the two ends of each rewrite stand in the programs before and after, -1 for nowhere."""
    ends = [[n for _, f in sorted(mod.items()) for n in post_order(f)] for mod in (event.before, event.after)]
    at = [{id(node): place for place, node in reversed(list(enumerate(nodes)))} for nodes in ends]
    return [(at[0].get(id(old), -1), at[1].get(id(new), -1)) for old, new in event.rewrites]


@pytest.mark.parametrize("wrong", [{"old": "99 1"}, {"old": "1"}, {"new": "x 1"}, {"rules": []}, {"old_nodes": "9"}])
def test_rewrites_that_do_not_fit_are_refused(tmp_path, wrong):
    rec = record(passlab.parse(SIMPLE), "InferType, ToANormalForm")
    rec.save(tmp_path / "rec")
    path = tmp_path / "rec" / "recording.json"
    index = json.loads(path.read_text())
    event = next(e for e in index["events"] if "rewrites" in e)
    event["rewrites"].update(wrong)
    path.write_text(json.dumps(index))
    with pytest.raises(PassError, match="is not a recording"):
        Recording.load(tmp_path / "rec")


def test_a_step_of_a_standard_pass_can_be_run_again(again, tmp_path):
    back = again(record(NET, "InferType, PrintIR(header='x'), FuseOps"), tmp_path)
    rerun = back[3].rerun()
    assert passlab.structural_equal(rerun.output, back[3].after)


def test_a_step_of_an_unknown_pass_says_so(again, tmp_path):
    back = again(record(NET, [TO_LOG]), tmp_path)
    with pytest.raises(PassError, match="no pass `ToLog`"):
        back[1].rerun()


@each("factory", sorted(PASSES))
def test_each_standard_pass_keeps_its_contract(factory, again, tmp_path):
    for case in cases_of(factory):
        rec = record(typed(case.before), transform.get_pass(factory, **case.options), opt_level=4)
        assert list(map(contract_of, again(rec, tmp_path).events)) == list(map(contract_of, rec.events))


def test_a_pass_whose_change_is_intended_is_not_blamed_in_a_file(again, tmp_path):
    net = "def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(4, 8), float32]) { tanh(nn.dense(sigmoid(%x), exp(%w))) }"
    back = again(record(passlab.parse(net), "ToMixedPrecision", opt_level=4), tmp_path)
    assert not back.bisect().found
    twice = again(back, tmp_path)
    assert not twice.bisect().found


def test_an_empty_recording(again, tmp_path):
    back = again(Recording([], NET), tmp_path)
    assert len(back) == 1
    assert passlab.structural_equal(back.input, NET)


def test_saving_again_replaces_a_recording_but_nothing_else(tmp_path):
    record(NET, [TO_LOG]).save(tmp_path / "rec")
    record(NET, [idle("A")]).save(tmp_path / "rec")
    assert [e.name for e in Recording.load(tmp_path / "rec")] == ["input", "A"]
    (tmp_path / "mine").mkdir()
    record(NET, [idle("B")]).save(tmp_path / "mine")
    assert [e.name for e in Recording.load(tmp_path / "mine")] == ["input", "B"], "an empty folder is taken"
    shutil.rmtree(tmp_path / "mine")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("...")
    with pytest.raises(PassError, match="holds other files"):
        record(NET, [TO_LOG]).save(tmp_path / "mine")
    with pytest.raises(PassError, match="is a file"):
        record(NET, [TO_LOG]).save(tmp_path / "mine" / "thesis.txt")


def test_the_files_are_text_that_a_person_can_read(tmp_path):
    rec = record(passlab.transform.InferType()(chain("exp")), [TO_LOG])
    rec.save(tmp_path / "rec")
    names = sorted(str(p.relative_to(tmp_path / "rec")) for p in (tmp_path / "rec").rglob("*") if p.is_file())
    assert names == ["metadata.json", "modules/0000.relay", "modules/0001.relay", "recording.json"]
    text = (tmp_path / "rec" / "modules" / "0001.relay").read_text()
    assert operators(passlab.parse(text)) == ["log"]


def test_a_directory_that_is_no_recording_is_an_os_error(tmp_path):
    with pytest.raises(OSError, match=r"recording\.json"):
        Recording.load(tmp_path)


@pytest.fixture
def saved(tmp_path):
    record(NET, [idle("A"), TO_LOG]).save(tmp_path / "rec")
    return tmp_path / "rec"


def damage(path, change):
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(format="other"),
        lambda d: d.update(version=99),
        lambda d: d.pop("events"),
        lambda d: d.update(events=3),
        lambda d: d["events"][1].pop("before"),
        lambda d: d["events"][1].update(before=99),
        lambda d: d["events"][1].update(before=-1),
        lambda d: d["events"][1].update(parent=99),
        lambda d: d["events"][1].update(parent=-1),
        lambda d: d["events"][1].update(status="great"),
        lambda d: d["events"][1].update(role="king"),
        lambda d: d["events"][1].update(seconds="long"),
        lambda d: d["events"][1].update(context=None),
        lambda d: d["events"][1].update(log=3),
        lambda d: d["events"][1].update(error=[]),
        lambda d: d["events"][1].update(contract=3),
        lambda d: d["events"][1].update(contract={"ulps": -1, "finite_only": False, "approximates": False}),
        lambda d: d["events"][1].update(contract={"ulps": 1}),
        lambda d: d.update(input="../../etc"),
        lambda d: d.update(input=99),
        lambda d: d.update(typed=3),
    ],
)
def test_a_damaged_index_is_a_passlab_error(saved, change):
    damage(saved / "recording.json", change)
    with pytest.raises(PassError, match="is not a recording"):
        Recording.load(saved)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "null", "3", '"x"', "\x00"])
def test_an_index_that_is_no_index_is_a_passlab_error(saved, text):
    (saved / "recording.json").write_text(text)
    with pytest.raises(PassError, match="is not a recording"):
        Recording.load(saved)


V, FREE = Var("v", TensorType((2, 3), "float32")), Var("y", TensorType((2, 3), "float32"))
# Bodies of functions of X that are no programs, of which a text would make others, or nothing.
ILL_FORMED = {
    "a let twice": relay.Let(V, make("exp", X), relay.Let(V, make("tanh", V), V)),
    "a let of a parameter": relay.Let(X, make("exp", X), make("tanh", X)),
    "a parameter of two functions": relay.Let(V, make("exp", X), relay.Call(Function([V], make("tanh", V)), [V])),
    "a variable outside its scope": make("add", relay.Let(V, make("exp", X), V), V),
    "a variable that nothing binds": make("add", X, FREE),
}


@pytest.mark.parametrize("kind", ILL_FORMED)
def test_a_program_that_no_text_holds_is_the_same_again(kind, again, tmp_path):
    @transform.module_pass(opt_level=0)
    def wrong(mod, ctx):
        return IRModule({"main": Function([X], ILL_FORMED[kind])})

    rec = record(IRModule.from_expr(Function([X], make("exp", X))), ["InferType", wrong, "FoldConstant"])
    back = again(rec, tmp_path)
    assert [event.error is None for event in back.events] == [event.error is None for event in rec.events]
    assert [str(event.after) for event in back.events] == [str(event.after) for event in rec.events]
    assert passlab.structural_equal(back.last, rec.last, map_free_vars=True)
    assert str(lab.bisect(back).table()) == str(lab.bisect(rec).table())


@pytest.mark.parametrize("name", ["metadata.json", "modules/0000.relay", "modules/0001.relay"])
@pytest.mark.parametrize("text", ["{", "def", "[" * 1000, "\x00"])
def test_damaged_programs_are_passlab_errors(saved, name, text):
    (saved / name).write_text(text)
    with pytest.raises(PasslabError):
        Recording.load(saved)


def test_a_text_that_is_no_utf8_is_a_passlab_error(saved):
    (saved / "recording.json").write_bytes(b"\xff\xfe")
    with pytest.raises(PassError, match="is not a recording"):
        Recording.load(saved)


def test_a_step_alone_is_not_pickled_but_copied():
    rec = record(NET, [TO_LOG])
    with pytest.raises(PassTypeError, match="pickled with its recording"):
        pickle.dumps(rec[1])
    assert copy(rec[1]).after is rec[1].after
    assert deepcopy(rec)[1].after is rec[1].after


def test_a_pickle_that_is_no_recording_is_refused():
    make, (archive,) = record(NET, [TO_LOG]).__reduce__()
    with pytest.raises(PassError, match="not a recording"):
        make(archive[:-30])
