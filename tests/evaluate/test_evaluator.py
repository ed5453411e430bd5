"""The meaning of Relay, construct by construct: values against NumPy or by hand, faults told where they happen."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab import limits
from passlab.errors import InterruptedRunError, LimitError, RunError
from passlab.evaluate import ADTValue, Closure, Evaluator, RefValue, evaluate_expr
from passlab.infer import infer_expr
from passlab.ir.expr import Call
from passlab.text.parser import parse_expr


def run(text: str, *args):
    return Evaluator(passlab.parse(text)).run("main", args)


def value(text: str):
    return evaluate_expr(infer_expr(parse_expr(text)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", 7),
        ("let %x = 2; let %x = %x + 1; %x * %x", 9),
        ("if (1 < 2) { 10 } else { 20 }", 10),
        ("((1, (2, 3)).1).0", 2),
        ("let %f = fn (%x: int32) { %x + 1 }; %f(%f(1))", 3),
        ("let %r = ref(1); let %a = ref_write(%r, 5); ref_read(%r)", 5),
        ("match ((1, 2)) { (%a, %b) => %a - %b }", -1),
    ],
)
def test_small_expressions(text, expected):
    assert int(value(text)) == expected


def test_a_shared_node_is_evaluated_once():
    assert int(value("%0 = ref(0); let %a = ref_write(%0, ref_read(%0) + 1); ref_read(%0)")) == 1


def test_a_node_shared_by_a_closure_and_its_surroundings_is_one():
    text = """
        %0 = ref(1);
        let %bump = fn (%k: int32) { ref_write(%0, ref_read(%0) + %k) };
        let %a = %bump(4); let %b = %bump(5);
        ref_read(%0)
    """
    assert int(value(text)) == 10


def test_only_the_taken_branch_is_evaluated():
    assert int(run("def @main(%x: int32) { if (%x == 0) { 7 } else { divide(1, %x) } }", np.int32(0))) == 7


def test_closures_keep_what_they_saw():
    text = """
        let %make = fn (%n: int32) { fn (%x: int32) { %x + %n } };
        let %one = %make(1); let %ten = %make(10);
        (%one(100), %ten(100))
    """
    assert [int(v) for v in value(text)] == [101, 110]


def test_recursion_through_globals_and_lets():
    even = """
        def @even(%n: int32) -> bool { if (%n == 0) { True } else { @odd(%n - 1) } }
        def @odd(%n: int32) -> bool { if (%n == 0) { False } else { @even(%n - 1) } }
        def @main(%n: int32) { @even(%n) }
    """
    assert bool(run(even, np.int32(10)))
    assert not bool(run(even, np.int32(7)))


TREE = """
    type Tree { Leaf(int32), Node(Tree[], Tree[]) }
    def @sum(%t: Tree[]) -> int32 { match (%t) { Leaf(%v) => %v, Node(%l, %r) => @sum(%l) + @sum(%r) } }
    def @build(%n: int32) -> Tree[] { if (%n == 0) { Leaf(1) } else { Node(@build(%n - 1), @build(%n - 1)) } }
"""


def test_data_types_are_built_and_taken_apart():
    assert int(run(TREE + "def @main() { @sum(@build(6)) }")) == 64
    tree = run(TREE + "def @main() { @build(1) }")
    assert isinstance(tree, ADTValue)
    assert tree.constructor.name_hint == "Node"
    assert repr(tree) == "Node(Leaf(1), Leaf(1))"


def test_values_can_be_given_back_as_arguments():
    mod = passlab.parse(TREE + "def @main(%t: Tree[]) { @sum(%t) }")
    evaluator = Evaluator(mod)
    assert int(evaluator.run("main", [evaluator.run("build", [np.int32(3)])])) == 8


def test_functions_and_cells_leave_as_values():
    assert isinstance(value("fn (%x: int32) { %x }"), Closure)
    cell = value("ref(3)")
    assert isinstance(cell, RefValue)
    assert int(cell.value) == 3


@pytest.mark.parametrize(
    ("text", "args", "why"),
    [
        ("def @main(%x: int32) { divide(1, %x) }", [np.int32(0)], "zero"),
        ("def @main(%x: (int32, int32)) { match? (%x) { (%a, %b) => %a } }", [(1,)], "wrong number of fields"),
        ("def @main(%x: Tensor[(2), float32]) { %x }", [np.zeros(3, "float32")], "%x does not fit"),
        ("def @main(%x: Tensor[(2), float32]) { %x }", [np.zeros(2)], "float64"),
        ("def @main(%x: Tensor[(2), float32]) { %x }", [], "takes 1 argument"),
    ],
)
def test_faults_are_told(text, args, why):
    with pytest.raises(RunError, match=why):
        run(text, *args)


def test_a_fault_stands_where_it_happened():
    with pytest.raises(RunError) as caught:
        run("def @main(%x: int32) {\n  1 + floor_mod(7, %x)\n}", np.int32(0))
    assert "2:7" in str(caught.value)


def test_a_match_without_a_fitting_arm_is_told():
    with pytest.raises(RunError, match="no arm"):
        run(TREE + "def @main() { match? (Leaf(1)) { Node(%l, %r) => 1 } }")


def test_endless_recursion_ends_at_the_limit():
    with limits.override(frames=1000), pytest.raises(LimitError, match="frames"):
        run("def @main(%n: int32) -> int32 { 1 + @main(%n) }", np.int32(0))


@pytest.mark.parametrize("frames", [1, 2, 3, 4])
def test_calls_nest_as_deep_where_all_values_are_asked_for(frames):
    mod = passlab.parse("def @main(%n: int32) -> int32 { if (%n == 0) { 0 } else { @main(%n - 1) } }")
    with limits.override(frames=frames):
        for calls in range(1, 6):
            for ask in (Evaluator.run, Evaluator.values):
                try:
                    ask(Evaluator(mod), "main", [np.int32(calls - 1)])
                    fits = True
                except LimitError:
                    fits = False
                assert fits == (calls <= frames), (ask, calls)


def test_programs_may_be_deep():
    lets = "".join(f"let %v{i} = %v{i - 1} + 1;\n" if i else "let %v0 = %x;\n" for i in range(20_000))
    assert int(run(f"def @main(%x: int32) {{ {lets} %v19999 }}", np.int32(1))) == 20_000
    calls = "".join(f"%{i} = %{i - 1} + 1;\n" if i else "%0 = %x + 1;\n" for i in range(20_000))
    assert int(run(f"def @main(%x: int32) {{ {calls} %19999 }}", np.int32(0))) == 20_000


def test_inputs_are_not_changed():
    x = np.arange(4, dtype="float32")
    run("def @main(%x: Tensor[(4), float32]) { nn.relu(negative(%x)) }", x)
    np.testing.assert_array_equal(x, np.arange(4, dtype="float32"))


def test_an_interrupted_run_says_so_and_where():
    mod = passlab.parse("def @main(%x: int32) {\n  add(%x, 1)\n}")

    def interrupted(*_):
        raise KeyboardInterrupt

    evaluator = Evaluator(passlab.transform.InferType()(mod))
    evaluator._steps = {**evaluator._steps, Call: interrupted}
    with pytest.raises(InterruptedRunError, match="the program was interrupted") as caught:
        evaluator.run("main", [np.int32(1)])
    assert caught.value.diagnostics[0].place.line == 2
