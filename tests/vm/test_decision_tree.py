"""The laws of decision trees: they decide as arms tried in order do, read no tag twice on a way, and stay small."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.errors import RunError
from passlab.evaluate.evaluator import match_pattern
from passlab.ir.expr import Match
from passlab.ir.walk import post_order
from passlab.vm import VirtualMachine, compile
from passlab.vm.compiling import match_code as module
from passlab.vm.compiling.match_code import GROWTH, SPARE, DecisionTree, Leaf, Switch, decision_tree
from passlab.vm.isa import Opcode
from tests.vm.matrices import Matrix, values
from tests.vm.test_engines import assert_agree


def match_of(mod: passlab.IRModule, name: str = "main") -> Match:
    return next(n for n in post_order(mod[name].body) if isinstance(n, Match))


def tree_of(mod: passlab.IRModule, name: str = "main") -> DecisionTree:
    def siblings(constructor) -> int:
        return len(mod.type_data(constructor.belong_to.name_hint).constructors)

    return decision_tree(match_of(mod, name).clauses, siblings)


def part_of(tree: DecisionTree, value, occurrence: int):
    way = []
    while occurrence:
        occurrence, field = tree.occurrences[occurrence]
        way.append(field)
    for field in reversed(way):
        value = value[field] if isinstance(value, tuple) else value.fields[field]
    return value


def decided(tree: DecisionTree, value) -> int | None:
    """The arm that a tree leads to. No occurrence is read twice."""
    node = tree.root
    seen = set()
    while isinstance(node, Switch):
        assert node.occurrence not in seen
        seen.add(node.occurrence)
        tag = part_of(tree, value, node.occurrence).tag
        node = next((inner for c, inner in node.cases if c.tag == tag), node.otherwise)
    return node.arm


def first_fitting(match: Match, value):
    for number, clause in enumerate(match.clauses):
        bound = match_pattern(clause.lhs, value)
        if bound is not None:
            return number, bound
    return None, {}


def size_of(tree: DecisionTree) -> int:
    return sum(len(node.cases) for node in tree.nodes if isinstance(node, Switch))


def assert_decides(seed: int) -> None:
    matrix = Matrix(seed)
    mod = passlab.parse(matrix.text)
    match, tree = match_of(mod), tree_of(mod)
    for value in values(mod, matrix.type):
        arm, bound = first_fitting(match, value)
        assert decided(tree, value) == arm, matrix.text
        if arm is not None:
            assert {var: part_of(tree, value, occurrence) for var, occurrence in tree.bound[arm]} == bound
    leaves = Counter(node.arm for node in tree.nodes if isinstance(node, Leaf))
    assert max(leaves.values()) == 1
    numbers = {id(node): i for i, node in enumerate(tree.nodes)}
    for i, node in enumerate(tree.nodes):
        if isinstance(node, Switch):
            inner = [n for _, n in node.cases] + [node.otherwise] * (node.otherwise is not None)
            assert all(numbers[id(n)] < i for n in inner)


def assert_runs(seed: int) -> None:
    """The machine, with both engines, and the reference evaluator agree, those errors included that say no arm fits."""
    matrix = Matrix(seed)
    mod = passlab.parse(matrix.text)
    exe = compile(mod)
    meaning = relay.create_executor("debug", mod).evaluate()
    for value in values(mod, matrix.type)[:: 1 + seed % 5]:
        if first_fitting(match_of(mod), value)[0] is None:
            for run in (meaning, VirtualMachine(exe).run):
                with pytest.raises(RunError, match="no arm of the match fits"):
                    run(value)
        else:
            assert int(VirtualMachine(exe).run(value)) == int(meaning(value)), matrix.text
        assert_agree(exe, [value])


@pytest.mark.parametrize("start", range(0, 300, 50))
def test_a_tree_decides_as_arms_in_order_do(start):
    for seed in range(start, start + 50):
        assert_decides(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("start", range(0, 10_000, 500))
def test_10_000_trees_decide_as_arms_in_order_do(start):
    for seed in range(start, start + 500):
        assert_decides(seed)


@pytest.mark.parametrize("seed", range(12))
def test_a_machine_decides_as_the_evaluator_does(seed):
    assert_runs(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("start", range(0, 400, 50))
def test_a_machine_decides_as_the_evaluator_does_400_times(start):
    for seed in range(start, start + 50):
        assert_runs(seed)


@pytest.mark.parametrize("seed", range(20))
def test_arms_in_order_when_a_tree_would_be_too_large(seed, monkeypatch):
    """Then, too, the results are the same; a tag may be asked for again, not read again where it is known."""
    monkeypatch.setattr(module, "WORK", -1)
    monkeypatch.setattr(module, "ROWS", 0)
    mod = passlab.parse(Matrix(seed).text)
    match, tree = match_of(mod), tree_of(mod)
    for value in values(mod, Matrix(seed).type):
        node = tree.root
        while isinstance(node, Switch):
            tag = part_of(tree, value, node.occurrence).tag
            node = next((inner for c, inner in node.cases if c.tag == tag), node.otherwise)
        assert node.arm == first_fitting(match, value)[0]
    assert_runs(seed)


def opcodes(text: str, name: str = "main") -> Counter[str]:
    return Counter(i.spec.mnemonic for i in compile(passlab.parse(text)).function(name).instructions)


def test_a_tag_is_read_once_and_the_last_constructor_is_not_tested():
    codes = opcodes("""
        type Color { Red, Green, Blue }
        def @main(%c: Color[]) -> int32 { match (%c) { Red => 1, Green => 2, Blue => 3 } }
    """)
    assert (codes["get_tag"], codes["if"], codes["fatal"]) == (1, 2, 0)


def test_the_listing_of_a_match_with_shared_arms():
    """`Node(Leaf, _)` and `_` share no code with the arm that two ways lead to; `%r` is taken from the whole once."""
    exe = compile(passlab.parse("""
        type Tree { Leaf, Node(Tree, Tree) }
        def @main(%t: Tree[]) -> Tree[] { match (%t) { Node(Leaf, Leaf) => %t, Node(_, %r) => %r, Leaf => %t } }
    """))  # fmt: skip
    listed = [str(i) for i in exe.function("main").instructions]
    leaf, node = (c.tag for c in exe.type_definitions[-1].constructors)
    assert listed == [
        "get_tag $2 $0",
        f"load_consti $3 {node}",
        "if $2 $3 1 14",
        "get_field $4 $0[0]",
        "get_tag $5 $4",
        f"load_consti $6 {leaf}",
        "if $5 $6 1 7",
        "get_field $7 $0[1]",
        "get_tag $8 $7",
        f"load_consti $9 {leaf}",
        "if $8 $9 1 3",
        "move $1 $0",
        "goto 6",
        "get_field $7 $0[1]",
        "move $1 $7",
        "goto 3",
        "move $1 $0",
        "goto 1",
        "ret $1",
    ]


def test_a_missing_case_is_one_fatal_and_says_where():
    text = """
        type Color { Red, Green, Blue }
        def @main(%p: (Color[], Color[])) -> int32 {
          match? (%p) { (Red, Red) => 1, (Green, Green) => 2, (Blue, Blue) => 3 }
        }
    """
    assert opcodes(text)["fatal"] == 1
    mod = passlab.parse(text)
    red, green = values(mod, "Color")[:2]
    machine = VirtualMachine(compile(mod))
    with pytest.raises(RunError, match="no arm of the match fits") as caught:
        machine.run((red, green))
    assert caught.value.diagnostics[0].place.line == 4
    assert int(machine.run((green, green))) == 2


def test_the_whole_value_outlives_the_variable_that_an_arm_binds_it_to():
    text = """
        type Color { Red, Green, Blue }
        def @number(%c: Color[]) -> int32 { match (%c) { Red => 1, Green => 2, Blue => 3 } }
        def @main() -> int32 {
          let %c = Green;
          let %n = match (%c) { Red => 7, %other => let %k = @number(%other); %k * 10 };
          %n + @number(%c)
        }
    """
    assert int(VirtualMachine(compile(passlab.parse(text))).run()) == 22


CHAIN = "type Chain { End, Link(Chain) }\n"
BIT = "type Bit { O, I }\n"


def wide(count: int) -> str:
    return f"type Wide {{ {', '.join(f'C{i}' for i in range(count))} }}\n"


def interlocked(row: int, width: int = 40) -> str:
    """A pattern that asks for three of its columns."""
    asked = (row, (row * 7 + 3) % width, (row * 11 + 5) % width)
    return f"({', '.join('OI'[i % 2] if i in asked else '_' for i in range(width))})"


# name -> the data types, the type of the value, and the patterns
SHAPES = {
    "each constructor": (wide(1000), "Wide[]", [f"C{i}" for i in range(1000)]),
    "two columns": (wide(1000), "(Wide[], Wide[])", [
        p for i in range(500) for p in (f"(C{i}, _)", f"(_, C{999 - i})")] + ["_"]),
    "diagonal": (wide(1000), "(Wide[], Wide[])", [f"(C{i}, C{i})" for i in range(1000)] + ["_"]),
    "lengths": (CHAIN, "Chain[]", ["Link(" * i + "End" + ")" * i for i in range(150)] + ["_"]),
    "deep": (CHAIN, "Chain[]", ["Link(" * 5000 + "%x" + ")" * 5000, "_"]),
    "interlocked": (BIT, f"({', '.join(['Bit[]'] * 40)})", [interlocked(i) for i in range(40)] + ["_"]),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_trees_of_large_matches_are_in_proportion(shape):
    """A thousand arms, thousands of constructors inside each other, columns in each other's way."""
    types, ty, patterns = SHAPES[shape]
    arms = ", ".join(f"{pattern} => {number}" for number, pattern in enumerate(patterns))
    mod = passlab.parse(f"{types}def @main(%v: {ty}) -> int32 {{ match (%v) {{ {arms} }} }}")
    match, tree = match_of(mod), tree_of(mod)
    count = sum(constructors_in(clause.lhs) for clause in match.clauses)
    assert size_of(tree) <= GROWTH * count + SPARE
    code = compile(mod).function("main").instructions
    assert len(code) <= 4 * (size_of(tree) + 2 * len(match.clauses)) + 8
    assert sum(i.opcode is Opcode.FATAL for i in code) <= 1


def constructors_in(pattern) -> int:
    from passlab.ir.adt import PatternConstructor, pattern_nodes

    return sum(isinstance(p, PatternConstructor) for p in pattern_nodes(pattern))


def test_an_arm_of_much_code_stands_once_however_many_ways_lead_to_it():
    body = "%c" + " + 1" * 30
    text = f"""
        type Bit {{ O, I }}
        def @main(%a: Bit[], %b: Bit[], %n: int32) -> int32 {{
          match ((%a, %b)) {{ (O, I) => 0, (I, O) => 1, _ => @long(%n) }}
        }}
        def @long(%c: int32) -> int32 {{ {body} }}
    """
    exe = compile(passlab.parse(text))
    calls = [i for i in exe.function("main").instructions if i.opcode is Opcode.INVOKE]
    assert len(calls) == 1
    zero, one = (lambda c: (c("O"), c("I")))(lambda name: value(exe, name))
    results = [int(VirtualMachine(exe).run(a, b, np.int32(5))) for a in (zero, one) for b in (zero, one)]
    assert results == [35, 0, 1, 35]


def value(exe, name: str):
    from passlab.evaluate.values import ADTValue

    return ADTValue(next(c for c in exe.constructors.values() if c.name_hint == name), ())


def test_what_an_arm_never_reads_is_not_taken_out():
    codes = opcodes("""
        type Shape { Circle(float32), Box(float32, float32), Point }
        def @main(%s: Shape[]) -> float32 { match (%s) { Circle(%r) => 1f, Box(%w, %h) => %h, Point => 0f } }
    """)
    assert (codes["get_field"], codes["get_tag"]) == (1, 1)
