"""What two places say about one step, one node or one count of a recording is the same."""

from __future__ import annotations

import re
from functools import cache

import pytest

import passlab
from passlab import lab, relay, transform
from passlab.diffing.diff import Change, count_operators
from passlab.display.pages.page_answers import stored_rewrites
from passlab.display.text.listing import LineTable, listing
from passlab.display.views.comparisons import comparison_view
from passlab.display.views.diffs import diff_view
from passlab.display.views.graph import graph_view
from passlab.display.views.recording import recording_view
from passlab.ir import IRModule
from passlab.ir.expr import Call, Function
from passlab.ir.op import is_op_call
from passlab.ir.walk import post_order, rewrite
from passlab.lab.recordings.comparison import compare
from passlab.testing import programs, resnet
from tests.lab.user.programs import PROGRAMS

pytestmark = pytest.mark.rotating

PIPELINES = (
    "InferType, SimplifyInference, FoldConstant, SimplifyExpr, FastMath, FuseOps(fuse_opt_level=2)",
    "InferType, ToANormalForm, EliminateCommonSubexpr, DeadCodeElimination, ToGraphNormalForm, FuseOps, DefuseOps",
    "InferType, Inline, PartialEval, LambdaLift, FoldScaleAxis, FuseOps",
)


@cache
def recordings(seed):
    mod = programs.program(seed).mod if seed else resnet.get_workload(1, 10)[0]
    recs = [passlab.record(mod, pipeline, opt_level=4) for pipeline in PIPELINES]
    return [rec for rec in recs if rec.error is None]


@pytest.mark.parametrize("seed", range(3))
def test_counts_of_a_step_agree_in_all_places(seed):
    for rec in recordings(seed):
        table, rows = rec.table(), recording_view(rec).data()["steps"]
        stored = stored_rewrites(rec.events, 1 << 40)
        for event, told, row in zip(rec.events, table, rows, strict=True):
            rewrites = len(lab.rewrites_of(event))
            page = stored.get(event.id, {"steps": [], "left": 0})
            assert told["rewrites"] == row["rewrites"] == len(page["steps"]) + page["left"] == rewrites
            assert told["nodes"] == row["nodes"]
            assert told["status"] == {"changed": "ran", "unchanged": "ran"}.get(row["outcome"], row["outcome"])
            assert told["changed"] == (row["outcome"] == "changed") == event.changed
            assert row["calls"] == sum(count_operators(event.after).values())


@transform.function_pass(opt_level=0)
def built_again(func, mod, ctx):
    return relay.Function(func.params, func.body, func.ret_type, func.type_params, func.attrs)


@transform.module_pass(opt_level=0)
def read_again(mod, ctx):
    return passlab.parse(mod.astext())


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_step_is_unchanged_where_its_sentence_says_so(name):
    passes = [built_again, "InferType", read_again, built_again, "ToANormalForm", read_again, "DeadCodeElimination"]
    pipeline = [transform.get_pass(item) if isinstance(item, str) else item for item in passes]
    rec = passlab.record(PROGRAMS[name](), pipeline, opt_level=4)
    view = recording_view(rec)
    changed = 0
    for event, row in zip(rec.events, view.data()["steps"], strict=True):
        if event.status == "ran":
            assert (row["sentence"] == "Nothing changed.") == (row["outcome"] == "unchanged"), (event, row["sentence"])
            assert (row["sentence"] == "Nothing changed.") == (event.diff().summary == "nothing changed")
            changed += event.depth == 0 and event.changed
    assert f"{changed or 'none'} changed the program" in rec.summary()
    assert not any(event.changed for event in rec.events if event.name == "built_again" and not event.children)


@pytest.mark.parametrize("seed", range(3))
def test_operators_counted_agree_in_table_and_difference(seed):
    for rec in recordings(seed):
        for event, told in zip(rec.events, rec.table(), strict=True):
            counts = event.diff().op_counts
            shown = {name: int(number) for number, name in re.findall(r"([+-]\d+) (\S+)", told["operators"])}
            changed = {name: new - old for name, (old, new) in counts.items() if new != old}
            assert all(changed[name] == number for name, number in shown.items())
            assert bool(shown) == bool(changed)


@pytest.mark.parametrize("seed", range(3))
def test_a_node_has_one_fate_in_difference_graph_and_blame(seed):
    for rec in recordings(seed):
        for event in rec.steps[1:]:
            if not event.changed:
                continue
            difference = event.diff()
            fates = {c.after: c.change for c in difference.nodes(*Change) if c.after is not None}
            view = graph_view(event.after, difference)
            marked = {box.expr: caption.change for box, caption in zip(view.graph.boxes, view.captions, strict=True)}
            for node, mark in marked.items():
                if isinstance(node, Call) and is_op_call(node):
                    fate = fates.get(node, Change.SAME)
                    assert mark == ("" if fate is Change.SAME else fate.value), (event, node)
            inside = set(event.walk())
            for function in difference.functions:
                older = set() if function.before is None else set(post_order(function.before))
                for change in function.nodes:
                    node = change.after
                    if node is None or not is_op_call(node):
                        continue
                    assert change.change is not Change.SAME or rec.provenance.maker(node) not in inside, (event, node)
                    assert change.change is not Change.ADDED or node not in older, (event, node)


@pytest.mark.parametrize("seed", range(3))
def test_a_node_that_stays_tells_of_an_operand_that_came_or_went(seed):
    told = 0
    for rec in recordings(seed):
        for event in rec.steps[1:]:
            difference = event.diff()
            came = {c.after for c in difference.nodes(Change.ADDED)}
            went = {c.before for c in difference.nodes(Change.REMOVED)}
            for change in difference.nodes(Change.SAME, Change.CHANGED):
                if type(change.before) is type(change.after) is Call and change.before is not change.after:
                    replaced = [
                        i
                        for i, (old, new) in enumerate(zip(change.before.args, change.after.args, strict=False))
                        if old in went and new in came and type(new) is not type(old)
                    ]
                    assert len(change.fields) >= len(replaced), (event, change)
                    told += len(replaced)
    assert seed or told > 5


def test_what_fused_functions_lost_is_said():
    mod = passlab.transform.InferType()(resnet.get_workload(1, 10)[0])
    one, other = (passlab.record(mod, f"FuseOps(fuse_opt_level={level})", opt_level=4) for level in (2, 0))

    def members(rec):
        groups = [n for n in post_order(rec.last["main"]) if isinstance(n, Function) and n.is_primitive]
        return sum(sum(count_operators(group).values()) for group in groups)

    summary = lab.diff(one.last, other.last).summary
    (put,), (took,) = re.findall(r"put (\d+) operators", summary), re.findall(r"took (\d+) operators", summary)
    assert members(other) - members(one) == int(put) - int(took)
    assert "nothing else changed" not in lab.diff(IRModule.from_expr(one.last["main"]), other.last).summary


@pytest.mark.parametrize("seed", range(3))
def test_two_steps_are_compared_alike_in_all_places(seed):
    for rec in recordings(seed):
        page = comparison_view(compare(rec, rec))
        last = len(rec.steps) - 1
        for a, b in {(0, last), (last, 0), *((step - 1, step) for step in range(1, last + 1))}:
            old, new = rec.steps[a].after, rec.steps[b].after
            told, difference, shown = page.pair(a, b), lab.diff(old, new), rec.diff(a, b) if a < b else None
            assert told["title"] == page.sentence(a, b) == diff_view(difference).title
            counts = {row.name: (row.before, row.after) for row in told["operators"]}
            before, after = count_operators(old), count_operators(new)
            assert counts == {
                name: (before[name], after[name]) for name in before | after if before[name] != after[name]
            }
            if shown is not None:
                assert shown.summary == difference.summary
            if b == a + 1 and rec.steps[b].replaced and not rec.steps[b].children:
                assert rec.steps[b].diff().summary == difference.summary


@pytest.mark.parametrize("seed", range(3))
def test_what_if_says_what_the_comparison_says(seed):
    for rec in recordings(seed):
        for step in (2, 3):
            variant = rec.what_if.without(step)
            if variant.recording.error is None:
                difference = lab.diff(rec.last, variant.recording.last)
                same = lab.compare(rec, variant.recording).summary()
                assert difference.summary in same or not difference.changed


def _words(lines, texts):
    return [(line.text, [x if x < 0 else texts[x] for x in [*line.marks[3::4], line.type]]) for line in lines]


def _without_types() -> IRModule:
    x = relay.var("x", shape=(2, 3))
    return IRModule.from_expr(relay.Function([x], relay.exp(relay.add(x, x)), relay.TensorType((2, 3))))


@pytest.mark.parametrize("seed", range(-1, 3))
def test_a_difference_that_a_pass_makes_again_is_told_as_it_would_be_alone(seed):
    mod = programs.program(seed).mod if seed > 0 else resnet.get_workload(1, 10)[0] if seed else _without_types()
    rec = passlab.record(
        mod, ", ".join(["InferType, FuseOps, DefuseOps, ToANormalForm, ToGraphNormalForm"] * 2), opt_level=4
    )
    view = recording_view(rec)
    data, shared = view.data(), 0
    for step, event in zip(data["steps"], rec.events, strict=True):
        if event.replaced:
            told, alone = view.diff(event), diff_view(event.diff())
            assert (told.title, told.rows) == (alone.title, alone.rows)
            assert alone.changes_data().items() <= data["diffs"][step["diff"]].items()
            shared += told._equal is not None
        table = LineTable()
        fresh = [table.lines[table.add(line)] for line in listing(event.after)]
        shown = [data["lines"][number] for number in data["modules"][step["after"]]]
        assert _words(shown, data["texts"]) == _words(fresh, table.texts)
    assert seed >= 0 or shared


def test_a_pass_that_makes_the_same_text_in_another_way_is_told_in_its_own_words():
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    relu = relay.op.get("nn.relu")
    mod = transform.InferType()(IRModule.from_expr(relay.Function([x, y], relay.nn.relu(x) - relay.nn.relu(y))))
    (x, y), runs = mod["main"].params, []

    def exchange_results(pre, post):
        return post if post.op is relu else post.with_fields(args=post.args[::-1])

    def exchange_inputs(pre, post):
        return post.with_fields(args=[y if post.args[0] is x else x]) if post.op is relu else post

    @transform.module_pass(opt_level=0)
    def turn(mod, ctx):
        runs.append(mod)
        rule = exchange_results if len(runs) == 1 else exchange_inputs
        return transform.InferType()(IRModule.from_expr(rewrite(mod["main"], rule, only=(Call,))))

    @transform.module_pass(opt_level=0)
    def undo(mod, ctx):
        return runs[0]

    rec = passlab.record(mod, [turn, undo, turn], opt_level=4)
    view = recording_view(rec)
    view.data()
    first, second = (event for event in rec.events if event.name == "turn")
    assert first.after.astext() == second.after.astext()
    for event in (first, second):
        alone = diff_view(event.diff())
        assert (view.diff(event).title, view.diff(event).rows) == (alone.title, alone.rows)
    assert view.diff(first).title != view.diff(second).title
