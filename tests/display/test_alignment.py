"""Lines stand side by side because their nodes match: renaming and renumbering are no change, moving shows as moving."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import passlab
from passlab.diffing.diff import diff
from passlab.display.text.alignment import align, longest_increasing
from passlab.display.text.listing import listing
from passlab.ir.walk import rewrite
from tests.display.programs import network


def rows(before: str, after: str) -> list[str]:
    """What stands side by side, one string a row: kinds, left line, right line."""
    old, new = passlab.parse(before), passlab.parse(after)
    left, right = listing(old), listing(new)
    results = []
    for row in align(diff(old, new), left, right):
        a = "" if row.left is None else left[row.left].text.strip()
        b = "" if row.right is None else right[row.right].text.strip()
        results.append(f"{row.kinds} {a} | {b}")
    return results


HEAD = "def @main(%x: Tensor[(2, 2), float32]) {"


def body(*lines: str) -> str:
    return f"{HEAD} {' '.join(lines)} }}"


def test_the_same_program_twice_has_no_changes():
    text = body("%0 = abs(%x);", "sqrt(%0)")
    assert {row[:2] for row in rows(text, text)} == {"=="}


def test_renumbering_and_renaming_are_no_change():
    before = body("let %a = abs(%x);", "%0 = sqrt(%a);", "exp(%0)")
    after = body("let %other = abs(%x);", "%7 = sqrt(%other);", "exp(%7)")
    assert {row[:2] for row in rows(before, after)} == {"=="}


def test_a_new_operator_is_one_added_line_and_a_changed_word_where_it_is_used():
    before = body("%0 = abs(%x);", "exp(%0)")
    after = body("%0 = abs(%x);", "%1 = sqrt(%0);", "exp(%1)")
    assert rows(before, after)[1:-1] == [
        "== %0 = abs(%x); | %0 = abs(%x);",
        " +  | %1 = sqrt(%0);",
        "** exp(%0) | exp(%1)",
    ]


def test_a_call_of_a_function_literal_stands_beside_itself_when_its_argument_is_another():
    before, after = (
        body(f"%0 = {name}(%x);", "%1 = fn (%a: Tensor[(2, 2), float32]) { exp(%a) };", "%2 = %1(%0);", "sqrt(%2)")
        for name in ("abs", "tanh")
    )
    assert "** %2 = %1(%0); | %2 = %1(%0);" in rows(before, after)


def test_a_line_that_uses_a_variable_stays_when_another_value_is_bound_to_it():
    """The text is the same on both sides, and the line that binds the variable shows what changed."""
    old = passlab.parse(body("let %a = abs(%x);", "let %b = exp(%a);", "sqrt(%b)"))

    def rule(pre, post):
        return passlab.relay.tanh(*post.args) if post.op.name == "abs" else post

    new = passlab.infer.infer_module(
        old.with_functions({"main": rewrite(old["main"], rule, only=(passlab.relay.Call,))})
    )
    left, right = listing(old), listing(new)
    changed = [row for row in align(diff(old, new), left, right) if row.kinds != "=="]
    assert [(left[row.left].text.strip(), right[row.right].text.strip()) for row in changed] == [
        ("let %a: Tensor[(2, 2), float32] = abs(%x);", "let %a: Tensor[(2, 2), float32] = tanh(%x);")
    ]


def test_only_the_changed_words_of_a_changed_line_are_marked():
    before, after = body("sum(%x, axis=[0])"), body("sum(%x, axis=[1])")
    old, new = passlab.parse(before), passlab.parse(after)
    left, right = listing(old), listing(new)
    (row,) = [r for r in align(diff(old, new), left, right) if r.kinds == "**"]
    spans = [left[row.left].text[a:b] for a, b in row.words[0]] + [right[row.right].text[a:b] for a, b in row.words[1]]
    assert spans == ["0", "1"]
    assert not row.retyped


def test_a_changed_type_is_told():
    before, after = body('cast(%x, dtype="float16")'), body('cast(%x, dtype="int32")')
    old, new = passlab.parse(before), passlab.parse(after)
    (row,) = [r for r in align(diff(old, new), listing(old), listing(new)) if r.kinds == "**" and r.left == 1]
    assert row.retyped


def test_code_that_goes_into_a_function_is_moved_and_not_removed():
    rec = passlab.record(network(), "FuseOps(fuse_opt_level=2)", opt_level=2)
    old, new = rec.input, rec.last
    kinds = {}
    left = listing(old)
    for row in align(diff(old, new), left, listing(new)):
        if row.left is not None:
            kinds[left[row.left].text.strip().split("(")[0]] = row.kinds
    assert kinds["%0 = nn.dense"] == kinds["%1 = nn.bias_add"] == kinds["%2 = nn.relu"] == "~~"


def test_lines_that_change_places_are_told_apart_from_lines_that_come_and_go():
    before = body("let %a = abs(%x);", "let %b = sqrt(%x);", "let %c = exp(%x);", "(%a, %b, %c)")
    after = body("let %b = sqrt(%x);", "let %c = exp(%x);", "let %a = abs(%x);", "(%a, %b, %c)")
    kinds = [row[:2] for row in rows(before, after)]
    assert kinds.count("< ") == kinds.count(" >") == 1
    assert not [kind for kind in kinds if "+" in kind or "-" in kind]


def test_a_function_that_came_is_all_added_and_one_that_went_all_removed():
    before = "def @a(%x: int32) { %x } def @b(%x: int32) { %x }"
    after = "def @b(%x: int32) { %x } def @c(%x: int32) { %x }"
    kinds = "".join(row[:2] for row in rows(before, after)).replace(" ", "")
    assert set(kinds) == {"-", "=", "+"}
    assert kinds.index("-") < kinds.index("=") < kinds.index("+")


MODULES = {"mlp": {"batch_size": 1}, "resnet": {"num_layers": 18}, "lstm": {"iterations": 2, "num_hidden": 4}}


@pytest.mark.parametrize("name", MODULES)
def test_every_line_of_either_side_stands_in_exactly_one_row_in_order(name):
    mod = getattr(passlab.testing, name).get_workload(**MODULES[name])[0]
    rec = passlab.record(mod, "SimplifyInference, FoldConstant, FoldScaleAxis, ToANormalForm, FuseOps", opt_level=4)
    programs = list({id(step.after): step.after for step in rec}.values())
    for old, new in combinations(programs, 2):
        left, right = listing(old), listing(new)
        alignment = align(diff(old, new), left, right)
        assert [row.left for row in alignment if row.left is not None] == list(range(len(left)))
        assert [row.right for row in alignment if row.right is not None] == list(range(len(right)))
        assert all((row.left is None) == (row.left_kind == " ") for row in alignment)
        assert all(row.left_kind == row.right_kind for row in alignment if row.left_kind in "=~*")


@given(st.lists(st.integers(-20, 20)))
def test_the_longest_increasing_subsequence_increases_and_none_is_longer(values):
    places = longest_increasing(values)
    chosen = [values[i] for i in places]
    assert places == sorted(set(places))
    assert chosen == sorted(set(chosen))
    lengths = []
    for i, value in enumerate(values):
        lengths.append(1 + max([lengths[j] for j in range(i) if values[j] < value], default=0))
    assert len(places) == max(lengths, default=0)
