"""`lab.reduce`: the result is small, every candidate has types, and the predicate still holds."""

from __future__ import annotations

import tracemalloc

import pytest

import passlab
from passlab import lab, relay, transform
from passlab.diffing.diff import count_operators
from passlab.errors import DiagnosticError, PassError
from passlab.infer import infer_module
from passlab.instrument.statistics import count_module
from passlab.ir.expr import (
    Call,
    Constant,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    Var,
)
from passlab.ir.walk import post_order, rewrite
from passlab.lab.reducer.search import effects_in_several_scopes, size_of
from passlab.testing import lstm, programs, resnet
from tests.lab.test_bisect import NET
from tests.vm.traced import TREE

PARTS = """
type Shape { Round(float32), Square(float32, float32), Nothing }
def @area(%s: Shape[]) -> float32 { match (%s) { Round(%r) => %r * 3f, Square(%a, %b) => %a * %b, Nothing => 0f } }
def @twice(%f: fn(float32) -> float32, %x: float32) -> float32 { %f(%f(%x)) }
def @main(%x: float32, %t: Tensor[(5, 4), float32]) {
  let %c = ref(%x);
  let %_ = ref_write(%c, sqrt(ref_read(%c)));
  let %y = if (%x > 1f) { @area(Square(%x, 2f)) } else { @twice(fn (%v: float32) -> float32 { exp(%v) }, %x) };
  let %s = split(%t, indices_or_sections=2, axis=1);
  (ref_read(%c) + %y, nn.softmax(%s.0), log(%s.1), @area(Round(floor(%x))))
}
"""


def calls(*operators):
    return lambda mod: all(count_module(mod)[1][name] for name in operators)


def nodes(mod, kind):
    return [n for function in mod.functions.values() for n in post_order(function) if isinstance(n, kind)]


def assert_typed(mod):
    passlab.parse(mod.astext())
    transform.InferType()(mod)
    for function in mod.functions.values():
        assert all(node.checked_type_ is not None for node in post_order(function) if isinstance(node, (Call, Var)))


# ---------------------------------------------------------------- one operator
@pytest.mark.parametrize(
    "operator", ["sqrt", "greater", "multiply", "exp", "split", "nn.softmax", "log", "floor", "add"]
)
def test_one_operator_is_all_that_is_left(operator):
    small = lab.reduce(passlab.parse(PARTS), calls(operator))
    assert [node.op.name for node in nodes(small.module, Call)] == [operator]
    assert len(small.module) == 1
    assert_typed(small.module)


@pytest.mark.parametrize(
    "network", [lambda: resnet.get_workload(num_layers=18)[0], lambda: lstm.get_workload(iterations=3, num_hidden=4)[0]]
)
@pytest.mark.parametrize("anf", [False, True])
def test_one_operator_of_a_network_is_found_in_few_tries(network, anf):
    mod = network()
    if anf:
        mod = transform.Sequential([transform.InferType(), transform.ToANormalForm()])(mod)
    operator = "nn.max_pool2d" if count_module(mod)[1]["nn.max_pool2d"] else "tanh"
    small = lab.reduce(mod, calls(operator))
    assert [node.op.name for node in nodes(small.module, Call)] == [operator]
    assert not nodes(small.module, Let)
    assert small.tries < 120
    assert_typed(small.module)


def test_two_operators_keep_what_is_between_them():
    def chain(mod):
        tops = [node for node in nodes(mod, Call) if node.op.name == "nn.softmax"]
        return any(node.op.name == "log" for top in tops for node in post_order(top) if isinstance(node, Call))

    small = lab.reduce(passlab.parse("""
        def @main(%x: Tensor[(2, 3), float32]) {
          %0 = reshape(log(tanh(%x)), newshape=[3, 2]);
          exp(nn.softmax(abs(%0 + %0)))
        }
    """), chain)  # fmt: skip
    assert [node.op.name for node in nodes(small.module, Call)] == ["log", "nn.softmax"]


@pytest.mark.parametrize("kind", [Match, If, Let])
def test_other_constructs_are_left_with_the_least_around_them(kind):
    small = lab.reduce(passlab.parse(PARTS), lambda mod: nodes(mod, kind))
    assert len(nodes(small.module, kind)) == 1
    assert sum(count_module(small.module)[1].values()) == 0
    assert_typed(small.module)


def test_recursive_functions_stay_when_they_matter():
    small = lab.reduce(passlab.parse(TREE), lambda mod: "build" in mod and "@build(" in mod["build"].body.__str__())
    assert [name for name, _ in small.module.items()] == ["build"]
    assert_typed(small.module)


# ---------------------------------------------------------------- laws
@pytest.mark.parametrize("text", [PARTS, NET, TREE])
def test_every_program_that_is_asked_about_is_typed_smaller_and_closed(text):
    seen = []

    def watch(mod):
        assert_typed(mod)
        seen.append(size_of(mod))
        return len(seen) % 3 != 2

    small = lab.reduce(passlab.parse(text), watch)
    assert len(seen) == small.tries + 1
    assert size_of(small.module) == min(seen)
    sizes = [step.nodes for step in small.steps]
    assert small.steps
    assert sizes[-1] == count_module(small.module)[0]


def test_no_single_cut_makes_the_result_smaller():
    small = lab.reduce(passlab.parse(PARTS), calls("split", "log"))
    again = lab.reduce(small.module, calls("split", "log"))
    assert passlab.structural_equal(again.module, small.module)
    assert not again.steps


def test_the_original_stays_as_it_is():
    mod = passlab.parse(PARTS)
    before = mod.astext()
    small = lab.reduce(mod, calls("log"))
    assert mod.astext() == before
    assert small.original is mod


def test_large_constants_and_calls_of_functions_are_cut():
    mod = passlab.parse("""
        def @f(%a: Tensor[(3), float32]) -> Tensor[(3), float32] { tanh(exp(%a)) }
        def @main(%x: Tensor[(3), float32]) { @f(@f(%x)) + ones(shape=[3], dtype="float32") }
    """)
    small = lab.reduce(mod, lambda m: "f" in m and "main" in m and any(
        isinstance(n, Call) and getattr(n.op, "name_hint", "") == "f" for n in post_order(m["main"].body)))  # fmt: skip
    assert sum(count_module(small.module)[1].values()) == 0
    assert not nodes(small.module, Constant)


# ---------------------------------------------------------------- bounds
def test_tries_are_bounded_and_the_best_so_far_is_returned():
    small = lab.reduce(passlab.parse(PARTS), calls("log"), tries=5)
    assert (small.tries, small.stopped) == (5, "after 5 tries")
    assert calls("log")(small.module)
    assert lab.reduce(passlab.parse(PARTS), calls("log"), seconds=0).stopped == "after 0 seconds"


def test_an_interrupt_returns_the_best_so_far():
    asked = []

    def predicate(mod):
        asked.append(mod)
        if len(asked) == 8:
            raise KeyboardInterrupt
        return calls("log")(mod)

    small = lab.reduce(passlab.parse(PARTS), predicate)
    assert small.stopped == "interrupted"
    assert small.steps
    assert calls("log")(small.module)
    assert "stopped: interrupted" in str(small)


def test_a_predicate_that_raises_does_not_hold():
    def touchy(mod):
        if not calls("nn.softmax")(mod):
            raise RuntimeError("where is it?")
        return True

    small = lab.reduce(passlab.parse(PARTS), touchy)
    assert [node.op.name for node in nodes(small.module, Call)] == ["nn.softmax"]


def test_what_does_not_hold_at_the_start_is_told():
    with pytest.raises(PassError, match="does not hold for the whole program"):
        lab.reduce(passlab.parse(PARTS), calls("nn.conv2d"))
    with pytest.raises(PassError, match="raised ZeroDivisionError"):
        lab.reduce(passlab.parse(PARTS), lambda mod: 1 / 0)
    with pytest.raises(DiagnosticError):
        lab.reduce(
            passlab.parse("def @main(%x: Tensor[(2), float32], %y: Tensor[(3), float32]) { %x + %y }"), calls("add")
        )


@pytest.mark.parametrize("form", ["lets", "calls"])
def test_long_programs_are_reduced_without_recursion(form):
    count = 3_000
    if form == "lets":
        lines = "".join(f"let %v{i} = negative(%v{i - 1});\n" for i in range(1, count))
        text = f"def @main(%v0: float32) {{ {lines} tanh(%v{count - 1}) }}"
    else:
        lines = "".join(f"%{i} = negative({f'%{i - 1}' if i else '%x'});\n" for i in range(count))
        text = f"def @main(%x: float32) {{ {lines} tanh(%{count - 1}) }}"
    small = lab.reduce(passlab.parse(text), calls("tanh"))
    assert [node.op.name for node in nodes(small.module, Call)] == ["tanh"]
    assert small.tries < 60


def test_shapes_shrink_together_as_far_as_it_still_holds():
    mod = passlab.parse("""
        def @main(%x: Tensor[(64, 37), float32], %w: Tensor[(16, 37), float32]) { nn.softmax(nn.dense(%x, %w)) }
    """)
    small = lab.reduce(mod, calls("nn.dense"))
    assert {param.checked_type.concrete_shape for param in small.module["main"].params} == {(1, 1)}

    def wide(mod):
        return calls("nn.dense")(mod) and mod["main"].params[0].checked_type.concrete_shape[1] > 5

    small = lab.reduce(mod, wide)
    assert {param.checked_type.concrete_shape for param in small.module["main"].params} == {(1, 9)}
    assert_typed(small.module)


EFFECTS = """
def @main(%c: bool, %q: Tensor[(2), float32], %p: Tensor[(2), float32]) {
  let %r = ref(exp(%q));
  let %f = fn (%v: Tensor[(2), float32]) { let %u = ref_write(%r, tanh(%v)); ref_read(%r) };
  let %a = if (%c) { let %w = ref_write(%r, %p); ref_read(%r) } else { %f(%p) };
  let %b = negative(%a);
  (%b, ref_read(%r), %f(%q))
}
"""


@pytest.mark.parametrize(
    "kept",
    [
        lambda mod: len(nodes(mod, RefWrite)) >= 1 and nodes(mod, If),
        lambda mod: nodes(mod, RefRead) and nodes(mod, If) and nodes(mod, RefCreate),
        lambda mod: nodes(mod, RefWrite) and count_module(mod)[1]["negative"],
        lambda mod: len(nodes(mod, RefWrite)) >= 2 and nodes(mod, RefRead),
        lambda mod: any(f.params for f in nodes(mod, Function) if f is not mod["main"]) and nodes(mod, RefCreate),
    ],
)
def test_no_effect_stands_in_two_scopes_of_a_reduced_program(kept):
    tried = []

    def asked(mod):
        tried.append(mod)
        return kept(mod)

    small = lab.reduce(passlab.parse(EFFECTS), asked)
    for mod in (*tried, small.module):
        assert not effects_in_several_scopes(mod, mod.functions)


@pytest.mark.rotating
def test_no_generated_program_is_reduced_to_effects_in_two_scopes():
    drawn = [programs.generate(seed, effects=True) for seed in range(30)]
    clear = [mod for mod in drawn if not effects_in_several_scopes(mod, mod.functions)]
    assert len(clear) > 4
    for mod in clear:
        kinds = [kind for kind in (RefWrite, If, Match) if nodes(mod, kind)]
        small = lab.reduce(mod, lambda mod, kinds=kinds: all(nodes(mod, kind) for kind in kinds), tries=200).module
        assert not effects_in_several_scopes(small, small.functions)


def test_an_effect_in_a_branch_and_after_it_is_in_two_scopes():
    mod = passlab.parse(EFFECTS)
    main = mod["main"]
    create = RefCreate(main.params[1])
    branch = If(main.params[0], RefWrite(create, main.params[2]), RefWrite(RefCreate(main.params[1]), main.params[1]))
    one = relay.Function(main.params, relay.Tuple([branch, RefRead(create)]))
    typed = infer_module(mod.with_functions({"main": one}))
    assert len(effects_in_several_scopes(typed, ["main"])) == 1


LOOP = """
def @main(%x: Tensor[(3), float32], %n: int32) { let %start = tanh(%x); (@loop(%n, %start), %start) }
def @loop(%i: int32, %a: Tensor[(3), float32]) -> Tensor[(3), float32] {
  if (less(%i, 1)) { %a } else { @loop(subtract(%i, 1), add(multiply(%a, 0.5f), 1f)) }
}
"""


def test_a_loop_shrinks_to_a_function_that_calls_itself_under_a_condition():
    def loops(mod):
        return any(isinstance(m, GlobalVar) for n in nodes(mod, If) for m in post_order(n))

    small = lab.reduce(passlab.parse(LOOP), loops)
    assert len(small.module) == 1
    assert count_module(small.module)[0] < 12
    assert_typed(small.module)


def test_operators_that_have_to_stay_alike_go_together():
    branches = ", ".join(f"nn.relu(nn.dense(%x, %w{n}))" for n in range(3))
    params = ", ".join(f"%w{n}: Tensor[(5, 4), float32]" for n in range(3))
    mod = passlab.parse(f"def @main(%x: Tensor[(3, 4), float32], {params}) {{ ({branches}) }}")

    def alike(mod):
        body = mod["main"].body
        if not isinstance(body, Tuple) or len(body.fields) != 3:
            return False
        return len({getattr(getattr(field, "op", None), "name", "") for field in body.fields}) == 1

    small = lab.reduce(mod, lambda mod: alike(mod) and calls("nn.dense")(mod))
    assert not calls("nn.relu")(small.module)


def test_what_a_called_function_returns_may_become_another_type():
    mod = passlab.parse("""
        def @main(%x: Tensor[(2, 6), float32], %w: Tensor[(8, 6), float32]) {
          let %a: Tensor[(2, 8), float32] = @kernel(%x, %w);
          %a
        }
        def @kernel(%p: Tensor[(2, 6), float32], %q: Tensor[(8, 6), float32], Primitive=1) -> Tensor[(2, 8), float32] {
          nn.relu(nn.dense(%p, %q))
        }
    """)

    def has_calls(mod):
        kernels = [name for name, f in mod.items() if f.is_primitive]
        return bool(kernels) and any(isinstance(n, GlobalVar) for n in post_order(mod["main"]))

    small = lab.reduce(mod, has_calls)
    assert count_module(small.module)[0] < 10


FORMS = {
    "a let that nobody reads": (
        "def @main(%x: float32, %y: float32) { let %r = ref(%x); let %a = ref_read(%r); let %w = ref_write(%r, %y); %a }",
        lambda mod: len(nodes(mod, RefRead)) == len(nodes(mod, RefWrite)) == 1,
        11,
    ),
    "branches that write": (
        """def @main(%c: bool, %x: float32, %y: float32) {
             let %r = ref(%x);
             let %u = if (%c) { let %w = ref_write(%r, %y); tanh(%y) } else { exp(%x) };
             ref_read(%r)
           }""",
        lambda mod: len(nodes(mod, RefRead)) == len(nodes(mod, RefWrite)) == len(nodes(mod, If)) == 1,
        11,
    ),
    "closures in branches": (
        """def @main(%c: bool, %x: float32, %y: float32) {
             let %f = if (%c) { fn (%a: float32, %b: float32) { subtract(%a, %x) } } else { fn (%a: float32, %b: float32) { exp(%b) } };
             %f(%x, %y)
           }""",
        lambda mod: len(nodes(mod, If)) == 1 and calls("subtract")(mod) and len(nodes(mod, Function)) > 1,
        9,
    ),
    "an argument of another type": (
        """def @main(%x: float32, %y: float32) { let %r = ref(%x); @part((let %u = ref_write(%r, %y); %y), ref_read(%r)) }
           def @part(%a: float32, %b: float32) { %b }""",
        lambda mod: len(nodes(mod, RefRead)) == len(nodes(mod, RefWrite)) == 1 and "part" in mod,
        12,
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_smaller_forms_are_found(form):
    text, holds, most = FORMS[form]
    small = lab.reduce(passlab.parse(text), holds).module
    assert count_module(small)[0] <= most, small.astext()
    assert_typed(small)


@pytest.mark.rotating
def test_a_candidate_whose_loop_does_not_end_is_given_up_before_it_fills_the_memory():
    steps = "".join(f"let %a{n} = tanh(%a{n - 1} * {n}f);" for n in range(1, 18))
    mod = passlab.parse(f"""
def @loop(%i: int32, %x: Tensor[(1, 8), float32], %all: Tensor[(?, 8), float32])
    -> (Tensor[(1, 8), float32], Tensor[(?, 8), float32]) {{
  if (less(%i, 2)) {{
    let %a0 = sigmoid(%x + 0.5f);
    {steps}
    let %y = %a17 + %x;
    @loop(%i + 1, %y, concatenate((%all, %y)))
  }} else {{ (%x, %all) }}
}}
def @main(%x: Tensor[(1, 8), float32]) {{ @loop(0, %x, %x) }}
""")

    def is_sigmoid(node):
        return isinstance(node, Call) and node.op is relay.op.get("sigmoid")

    @transform.function_pass(opt_level=0)
    def swapped(func, mod, ctx):
        return rewrite(func, lambda old, new: relay.tanh(new.args[0]) if is_sigmoid(old) else new, only=(Call,))

    tracemalloc.start()
    try:
        found = lab.culprit(mod, ["InferType", swapped], executors=())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (found.name, count_operators(found.module)) == ("swapped", {"sigmoid": 1})
    assert peak < 200e6


def test_types_that_the_smallest_program_does_not_mention_are_dropped():
    mod = passlab.parse("""
        type Other { One(float32) }
        type List[A] { Cons(A, List[A]), Nil }
        type Tree { Leaf(List[float32]), Fork(Tree, Tree) }
        def @main(%x: float32) { (exp(%x), Leaf(Cons(%x, Nil)), One(%x)) }
    """)
    small = lab.reduce(mod, lambda candidate: "exp" in candidate.astext()).module
    assert not small.type_definitions
    kept = lab.reduce(mod, lambda candidate: "Leaf(" in candidate["main"].astext()).module
    assert sorted(header.name_hint for header in kept.type_definitions) == ["List", "Tree"]
