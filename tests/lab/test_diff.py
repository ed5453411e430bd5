"""Differences: renaming, renumbering, binding and fusing move nodes without changing them."""

from __future__ import annotations

import re

import pytest

import passlab
from passlab import relay, text, transform
from passlab.diffing.diff import Change, count_operators, diff, same_programs
from passlab.diffing.matching import Matching
from passlab.errors import PasslabError
from passlab.ir.expr import Call, Function
from passlab.ir.walk import post_order
from tests.each import each
from tests.passes.docstring_programs import Case, all_cases
from tests.passes.law_programs import PROGRAMS

NET = """def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32], %b: Tensor[(4), float32]) {
  %0 = nn.dense(%x, %w);
  %1 = nn.bias_add(%0, %b);
  nn.relu(%1)
}"""


def changes(before: str, after: str) -> list[str]:
    return [str(n) for n in diff(passlab.parse(before), passlab.parse(after)).nodes()]


def test_a_program_does_not_differ_from_itself():
    mod = passlab.parse(NET)
    assert not diff(mod, mod)
    assert not diff(mod, passlab.parse(NET))
    assert str(diff(mod, mod)) == "nothing changed"


def test_renaming_and_renumbering_are_no_changes():
    other = NET.replace("%0", "%7").replace("%1", "%4")
    assert changes(NET, other) == []


def test_binding_moves_values_and_changes_none():
    before = passlab.parse(NET)
    with transform.PassContext(opt_level=3):
        after = transform.ToANormalForm()(before)
    kinds = {n.change for n in diff(before, after).nodes()}
    assert kinds <= {Change.MOVED}


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ("let %a = ref_write(%r, 2f); let %b = ref_write(%r, 1f); ref_read(%r)", True),
        ("let %b = ref_write(%r, 1f); let %c = ref_read(%r); let %a = ref_write(%r, 2f); %c", True),
        ("let %b = ref_write(%r, 1f); let %d = ref_write(%r, 2f); let %c = ref_read(%r); %c", False),
    ],
)
def test_effects_in_another_order_are_said(after, said):
    """The nodes are the same ones, and the value is another: "every value is the same" would be wrong."""
    text = "def @main(%x: float32) {{ let %r = ref(%x); {} }}"
    before = "let %a = ref_write(%r, 1f); let %b = ref_write(%r, 2f); ref_read(%r)"
    difference = diff(*(passlab.parse(text.format(body)) for body in (before, after)))
    assert ("effects come in another order" in str(difference)) is said, str(difference)
    assert not (said and "every value is the same" in str(difference)), str(difference)


def test_fusing_moves_the_operators_into_a_new_function():
    before = passlab.parse(NET)
    with transform.PassContext(opt_level=3):
        after = transform.FuseOps()(before)
    difference = diff(before, after)
    assert {n.what for n in difference.nodes(Change.MOVED)} == {"nn.dense", "nn.bias_add", "nn.relu"}
    added = list(difference.nodes(Change.ADDED))
    assert [isinstance(n.after, Function) for n in added] == [True]
    assert not list(difference.nodes(Change.REMOVED, Change.CHANGED))


def test_a_changed_attribute_is_that_one_field():
    difference = diff(
        passlab.parse("def @main(%x: Tensor[(2, 3), float32]) { nn.softmax(exp(%x), axis=0) }"),
        passlab.parse("def @main(%x: Tensor[(2, 3), float32]) { nn.softmax(exp(%x), axis=1) }"),
    )
    (node,) = list(difference.nodes())
    assert node.change is Change.CHANGED
    assert [str(f) for f in node.fields] == ["axis: 0 -> 1"]


def test_added_and_removed_operators_are_counted():
    difference = diff(
        passlab.parse("def @main(%x: float32) { exp(%x) }"), passlab.parse("def @main(%x: float32) { exp(tanh(%x)) }")
    )
    assert difference.op_counts == {"exp": (1, 1), "tanh": (0, 1)}
    assert {(n.change, n.what) for n in difference.nodes()} >= {(Change.ADDED, "tanh")}


def test_functions_that_come_and_go_are_told():
    one = passlab.parse("def @main(%x: float32) { %x }")
    two = passlab.parse("def @main(%x: float32) { %x } def @f(%x: float32) { exp(%x) }")
    assert "@f" in diff(one, two).summary
    assert [f.change for f in diff(one, two).functions] == [Change.SAME, Change.ADDED]
    assert [f.change for f in diff(two, one).functions] == [Change.SAME, Change.REMOVED]


def test_swapped_operands_are_a_change_of_those_operands():
    difference = diff(
        passlab.parse("def @main(%x: float32, %y: float32) { subtract(%x, %y) }"),
        passlab.parse("def @main(%x: float32, %y: float32) { subtract(%y, %x) }"),
    )
    (node,) = list(difference.nodes())
    assert {f.name for f in node.fields} == {"lhs", "rhs"}


def test_a_module_is_not_compared_with_an_expression():
    mod = passlab.parse(NET)
    with pytest.raises(TypeError, match="module"):
        diff(mod, mod["main"])


@pytest.mark.parametrize(
    "name", ["SimplifyInference", "FoldConstant", "CanonicalizeOps", "FuseOps", "ToANormalForm", "ToGraphNormalForm"]
)
def test_every_node_has_one_fate(name):
    before = passlab.parse(NET)
    with transform.PassContext(opt_level=4):
        after = getattr(transform, name)()(before)
    m = Matching([before["main"]], [after["main"]])
    assert len(set(m.forward.values())) == len(m.forward)
    assert {m.backward[n] for n in m.backward} == set(m.forward)
    for old, new in m.forward.items():
        assert m.backward[new] is old
    assert m.same <= set(m.backward)


@each("name", ["LambdaLift", "Inline", "Defunctionalization", "ExtractFusedFunctions", "PartitionGraph"])
@each("program", PROGRAMS)
def test_a_node_that_is_in_both_programs_neither_comes_nor_goes(program: str, name: str) -> None:
    passes = [transform.InferType(), transform.FuseOps(), getattr(transform, name)()]
    try:
        rec = passlab.record(passlab.parse(PROGRAMS[program]), passes, opt_level=4)
    except PasslabError:  # Defunctionalization refuses what it cannot do
        return
    both = set(post_order(*rec.steps[-1].before.functions.values()))
    both &= set(post_order(*rec.steps[-1].after.functions.values()))
    difference = rec.steps[-1].diff()
    assert not both.intersection(n.after for n in difference.nodes(Change.ADDED))
    assert not both.intersection(n.before for n in difference.nodes(Change.REMOVED))


def test_a_lifted_function_is_moved_and_its_lines_say_so() -> None:
    mod = passlab.parse("def @main(%x: float32) { let %f = fn (%y: float32) { multiply(%y, %y) }; %f(%x) }")
    rec = passlab.record(mod, "InferType, LambdaLift")
    difference = rec["LambdaLift"].diff()
    assert difference.summary.partition("; ")[2] == "moved 1 node"
    assert [line[0] for line in difference.text().splitlines() if "multiply(%y, %y)" in line] == [">", "<"]


def test_counting_operators_agrees_with_a_walk():
    mod = passlab.parse(NET)
    calls = [n for n in post_order(mod["main"]) if isinstance(n, Call)]
    assert sum(count_operators(mod).values()) == len(calls)


def test_long_programs_are_compared_in_linear_steps():
    def chain(changed: int) -> str:
        lines = [f"%{i} = {'exp' if i == changed else 'tanh'}({f'%{i - 1}' if i else '%x'});" for i in range(5_000)]
        return f"def @main(%x: float32) {{ {' '.join(lines)} %4999 }}"

    difference = diff(passlab.parse(chain(-1)), passlab.parse(chain(2_500)))
    assert sorted(str(n.change.value) for n in difference.nodes() if n.change is not Change.SAME)[:1]
    assert sum(n.change is not Change.SAME for n in difference.nodes()) <= 4


def test_types_that_were_inferred_are_said() -> None:
    x = relay.var("x", shape=(2,))
    untyped = passlab.IRModule.from_expr(relay.Function([x], relay.exp(x)))
    assert str(diff(untyped, transform.InferType()(untyped))) == "only types were inferred"


def test_a_diff_inside_other_values_is_told_in_a_line():
    before = passlab.parse("def @main(%x: float32) { exp(%x) + 1f }")
    after = passlab.parse("def @main(%x: float32) { abs(%x) + 1f }")
    difference = diff(before, after)
    assert repr([difference]) == "[<Diff: @main 1 added, 1 changed, 1 removed>]"
    assert repr(difference.functions) == "(<@main 1 added, 1 changed, 1 removed>,)"
    assert repr(next(difference.nodes())) == "<added abs>"
    assert repr(diff(before, before)) == "<Diff: nothing changed>"


def test_functions_named_by_a_hash_are_counted_and_others_listed() -> None:
    f = relay.Function([x := relay.var("x", "int32")], x)
    before = passlab.IRModule({"main": f})
    after = passlab.IRModule({"main": f, "123": f, "456": f, "named": f})
    assert str(diff(before, after).summary).startswith("added @named and 2 functions")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("exp(%x) + %x", "tanh(%x) + %x", "changed an operand of 1 add"),
        ("exp(%x) + exp(%x)", "tanh(%x) + tanh(%x)", "changed both operands of 1 add"),
        ("(exp(%x) + 1f) + 1f", "(tanh(%x) + 1f) + 1f", "changed an operand of 1 add"),
        ("nn.relu(exp(%x))", "nn.relu(tanh(%x))", "changed the input of 1 nn.relu"),
        ("nn.softmax(exp(%x), axis=0)", "nn.softmax(tanh(%x), axis=1)", "changed the input and axis of 1 nn.softmax"),
        ("nn.dense(%x, exp(%x))", "nn.dense(%x, tanh(%x))", "changed the weight of 1 nn.dense"),
        ("(exp(%x) + 1f, exp(%x) + 2f)", "(tanh(%x) + 1f, tanh(%x) + 2f)", "changed operands of 2 add"),
        ("(nn.softmax(exp(%x), axis=0), nn.softmax(%x, axis=1))", "(nn.softmax(tanh(%x), axis=0), nn.softmax(%x, axis=0))",
         "changed the input or axis of 2 nn.softmax"),
        ("if (True) { exp(%x) } else { %x }", "if (True) { tanh(%x) } else { %x }", "changed a branch of 1 if"),
        ("ref_read(ref(exp(%x)))", "ref_read(ref(tanh(%x)))", "changed the value of 1 ref"),
        ("@f(exp(%x))", "@f(tanh(%x))", "changed an argument of 1 call"),
    ],
)  # fmt: skip
def test_a_sentence_names_fields_in_words(before, after, said):
    whole = """
    def @f(%y: Tensor[(3, 3), float32]) {{ %y }}
    def @main(%x: Tensor[(3, 3), float32]) {{ {} }}"""
    assert said in diff(*(passlab.parse(whole.format(body)) for body in (before, after))).summary.split("; ")


@pytest.mark.parametrize("case", [case for case in all_cases() if case.after], ids=str)
def test_no_sentence_about_a_standard_pass_names_a_field_of_a_class(case: Case):
    after = passlab.parse(case.after or "")
    difference = diff(passlab.parse(case.before), after)
    attributes = {name for node in difference.nodes(Change.CHANGED) if isinstance(node.after, Call)
                  for attrs in (node.before.attrs, node.after.attrs) if attrs is not None for name, _ in attrs.items()}  # fmt: skip
    for fields, _ in re.findall(r"changed (.*?) of (\d+)", difference.summary):
        for field in re.split(", | and | or ", fields):
            words = field.split(" ", 1)
            if words[0] in ("the", "a", "an", "both") or words[0].isdecimal():
                assert re.fullmatch("[a-z ]+", words[1]), field
                assert not {"lhs", "rhs", "data"} & set(words[1].split()), field
            else:
                assert field in attributes or field in ("operands", "arguments", "branches", "clauses"), field


def test_a_program_that_loses_a_function_without_a_type_is_another_one():
    both = text.parse("def @main(%x: int32) { %x } def @square(%x: int32) { %x * %x }")
    one = text.parse("def @main(%x: int32) { %x }")
    assert both["square"].checked_type_ is None
    assert not same_programs(both, one)
    assert not same_programs(one, both)
