"""Provenance: which pass made which node, from which one."""

from __future__ import annotations

import gc

import pytest

import passlab
from passlab.diffing.matching import Matching
from passlab.instrument import Event
from passlab.ir import Call, Function, IRModule
from passlab.ir.op import Op
from passlab.ir.walk import post_order, rewrite
from passlab.lab.recordings import provenance
from passlab.lab.recordings.provenance import Provenance, makers
from passlab.lab.recordings.recording import record
from passlab.testing.programs import generate
from passlab.transform import function_pass, module_pass, register_pass, unregister_pass
from tests.transform.programs import chain, idle, make, replacing, sum_with_constant

TO_LOG = replacing("exp", "log", name="ToLog")
TO_SQRT = replacing("log", "sqrt", name="ToSqrt")


def rewriting(rule, name):
    def run(func, mod, ctx):
        return rewrite(func, lambda pre, post: rule(post) if isinstance(post, Call) else post)

    return function_pass(run, opt_level=0, name=name)


def calls(mod):
    """The calls of main by operator."""
    return {n.op.name: n for n in post_order(mod["main"]) if isinstance(n, Call)}


def made_by(rec, node):
    event = rec.provenance.maker(node)
    return "input" if event is None else event.name


def test_nodes_nobody_touched_stem_from_the_input():
    rec = record(chain("exp", "tanh"), [idle("A")])
    assert {made_by(rec, node) for node in post_order(rec.last["main"])} == {"input"}


def test_a_replaced_node_is_the_work_of_the_pass_and_a_rebuilt_one_is_not():
    rec = record(chain("exp", "tanh"), [TO_LOG])
    call_of = calls(rec.last)
    assert made_by(rec, call_of["log"]) == "ToLog"
    assert made_by(rec, call_of["tanh"]) == "input"
    assert made_by(rec, rec.last["main"]) == "input"


def test_the_last_pass_that_really_changed_a_node_made_it():
    rec = record(chain("exp", "tanh"), [TO_LOG, TO_SQRT, TO_LOG])
    call_of = calls(rec.last)
    assert made_by(rec, call_of["sqrt"]) == "ToSqrt"
    assert made_by(rec, call_of["tanh"]) == "input"


def test_a_node_that_moved_into_a_fused_function_is_still_the_work_of_who_made_it():
    rec = record(chain("exp", "tanh"), ["InferType", TO_LOG, "FuseOps"], opt_level=1)
    fused = calls(IRModule.from_expr(rec.last["main"].body.op))
    assert made_by(rec, fused["log"]) == "ToLog"
    assert made_by(rec, fused["tanh"]) == "input"
    assert made_by(rec, rec.last["main"].body) == "FuseOps"


def test_nodes_made_along_with_a_replacement_are_of_the_same_pass():
    split = rewriting(lambda n: make("exp", make("abs", *n.args)) if n.op is Op.get("tanh") else n, "Split")
    rec = record(chain("tanh"), [split, TO_LOG])
    call_of = calls(rec.last)
    assert made_by(rec, call_of["abs"]) == "Split"
    assert made_by(rec, call_of["log"]) == "ToLog"


def test_an_existing_node_that_takes_the_place_of_another_was_not_made_there():
    drop = rewriting(lambda n: n.args[0] if n.op is Op.get("tanh") else n, "Drop")
    mod = chain("exp", "tanh", "abs")
    rec = record(mod, [drop])
    call_of = calls(rec.last)
    assert call_of["exp"] is calls(mod)["exp"]
    assert made_by(rec, call_of["exp"]) == "input"
    assert made_by(rec, call_of["abs"]) == "input"


def test_swapped_operands_are_a_change_not_a_rebuilding():
    swap = rewriting(lambda n: make("add", *reversed(n.args)) if n.op is Op.get("add") else n, "Swap")
    rec = record(sum_with_constant(), [swap])
    assert made_by(rec, calls(rec.last)["add"]) == "Swap"


def test_nodes_built_without_a_rewrite_are_found_in_what_the_pass_left():
    rec = record(chain("exp"), [module_pass(lambda m, ctx: chain("cos", "sin"), opt_level=0, name="New"), TO_LOG])
    assert {made_by(rec, node) for node in calls(rec.last).values()} == {"New"}


def test_passes_inside_passes_have_their_own_share():
    outer = module_pass(lambda m, ctx: TO_SQRT(TO_LOG(m)), opt_level=0, name="Outer")
    rec = record(chain("exp", "tanh"), outer)
    assert made_by(rec, calls(rec.last)["sqrt"]) == "ToSqrt"


def test_biography_from_the_input_to_the_last_program():
    mod = passlab.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { tanh(exp(%x)) }', "net.relay")
    rec = record(mod, [TO_LOG, idle("A"), TO_SQRT])
    life = rec.biography(calls(rec.last)["sqrt"])
    assert str(life) == ("  input: exp at net.relay:2:44\n  1 ToLog: log\n> 3 ToSqrt: sqrt\n  in the last program")
    same = rec.biography(calls(mod)["exp"])
    assert [c.node for c in same.chapters] == [c.node for c in life.chapters]
    assert (same.at, life.at) == (0, 2)


def test_biography_of_a_rebuilt_node():
    rec = record(chain("exp", "tanh"), [TO_LOG])
    life = rec.biography(calls(rec.last)["tanh"])
    assert [str(chapter) for chapter in life.chapters] == ["input: tanh", "1 ToLog: tanh (rebuilt)"]


def test_biography_of_a_node_that_went():
    rec = record(chain("exp"), [module_pass(lambda m, ctx: chain("cos"), opt_level=0, name="New")])
    life = rec.biography(calls(rec.input)["exp"])
    assert len(life) == 1
    assert not life.alive
    assert str(life).endswith("not in the last program")


def test_blame_is_a_table_over_the_last_program():
    rec = record(chain("exp", "tanh"), [idle("A"), TO_LOG])
    assert str(rec.blame()) == (
        "function  node      made by  came from\n"
        "--------  --------  -------  ---------\n"
        "@main     log       2 ToLog  exp\n"
        "@main     tanh      input\n"
        "@main     function  input"
    )
    assert rec.blame(rec.input).column("made_by") == ["input"] * 3


def test_makers_of_many_nodes():
    rec = record(chain("exp"), [TO_LOG])
    node = calls(rec.last)["log"]
    result = makers(rec.provenance, [node, *node.args])
    assert isinstance(result[node], Event)
    assert result[node.args[0]] is None


def test_a_long_chain_is_linear():
    mod = chain(*["exp", "tanh"] * 5000)
    rec = record(mod, [TO_LOG, TO_SQRT])
    results = [made_by(rec, n) for n in post_order(rec.last["main"]) if isinstance(n, Call)]
    assert results.count("ToSqrt") == results.count("input") == 5000


def test_a_pass_that_replaces_a_function_wholly():
    new = function_pass(lambda f, m, ctx: Function(f.params, make("cos", *f.params)), opt_level=0, name="Whole")
    rec = record(chain("exp"), [new])
    assert made_by(rec, calls(rec.last)["cos"]) == "Whole"


NET = """#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32]) { let %y = exp(%x); tanh(add(%y, %y)) }
"""


def test_passes_that_build_by_themselves_are_followed_by_the_places_of_nodes_in_the_source():
    rec = record(passlab.parse(NET), "ToANormalForm, DeadCodeElimination")
    assert {name: made_by(rec, node) for name, node in calls(rec.last).items()} == dict.fromkeys(
        ["exp", "add", "tanh"], "input"
    )
    assert "ToANormalForm" in rec.blame().column("made_by")[-2]


def test_an_operator_moved_into_a_fused_function_is_still_that_of_the_input():
    rec = record(passlab.parse(NET), "ToGraphNormalForm, FuseOps(fuse_opt_level=2)")
    nodes = list(post_order(rec.last["main"]))
    operators_of = {n.op.name: made_by(rec, n) for n in nodes if isinstance(n, Call) and isinstance(n.op, Op)}
    assert operators_of == dict.fromkeys(["exp", "add", "tanh"], "input")
    fused = [n for n in nodes if isinstance(n, Function) and n.is_primitive]
    assert {made_by(rec, n) for n in fused} == {"FuseOps"}


def test_what_a_required_pass_made_is_its_own_work():
    need = register_pass(replacing("abs", "exp", name="Need"))
    try:
        rec = record(chain("abs", "tanh"), [idle("A"), replacing("tanh", "log", name="B", required=["Need"])])
    finally:
        unregister_pass(need.info.name)
    call_of = calls(rec.last)
    assert (made_by(rec, call_of["exp"]), made_by(rec, call_of["log"])) == ("Need", "B")


def test_rules_with_names_are_told():
    source = """#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32]) { exp(cast(%x, dtype="float32")) }
"""
    rec = record(passlab.parse(source), "SimplifyExpr")
    (rule,) = rec["SimplifyExpr"].rewrites.rules
    assert rec["SimplifyExpr"].rewrites.rules == {rule: 1}
    assert f"{rule} x1" in list(rec.frame()["rules"])


# ---------------------------------------------------------------- matches of programs
PIPELINES = (
    "SimplifyExpr, FoldConstant",
    "FuseOps, DefuseOps",
    "ToANormalForm, EliminateCommonSubexpr",
    "FoldConstant",
)


def origins_of(recording):
    found = Provenance(recording.events)
    numbers = {node: number for number, node in enumerate(found.origins)}
    return [
        (numbers[node], numbers.get(origin.old, origin.old), origin.rebuilt, origin.part, origin.sure)
        for node, origin in found.origins.items()
    ], list(found.guesses.items())


@pytest.mark.parametrize("seed", range(12))
def test_new_operations_have_the_origins_that_a_match_of_all_nodes_gives(seed, monkeypatch):
    mod = generate(seed, effects=seed % 2 == 0, size=8)
    recording = passlab.record(mod, f"InferType, {PIPELINES[seed % 4]}", opt_level=4)
    quick = origins_of(recording)
    monkeypatch.setattr(provenance, "_operation", lambda node: None)  # every node asks for the match
    assert origins_of(recording) == quick


def test_a_rewrite_to_an_operator_that_the_program_lacks_matches_no_programs(monkeypatch):
    monkeypatch.setattr(provenance, "diff", None)
    recording = passlab.record(passlab.parse("def @main(%x: float32) { exp(%x + %x) }"), "SimplifyExpr")
    made = recording.provenance.maker(recording.last["main"].body.args[0])
    assert made is recording["SimplifyExpr"]


@pytest.mark.parametrize("seed", range(4))
def test_the_tables_of_a_match_are_freed_as_soon_as_it_is_read(seed):
    """Two hundred megabytes for 300,000 operators, which a circle of references would keep until the next collection."""
    recording = passlab.record(generate(seed, size=8), f"InferType, {PIPELINES[seed % 4]}, ToANormalForm", opt_level=4)
    gc.collect()
    gc.disable()
    try:
        before = {id(found) for found in gc.get_objects() if isinstance(found, Matching)}
        assert recording.provenance.origins
        assert not [found for found in gc.get_objects() if isinstance(found, Matching) and id(found) not in before]
    finally:
        gc.enable()
