"""Parts of programs for other compilers: marked, merged where nothing stands between, moved into functions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from passlab import relay, transform
from passlab.analysis.well_formed import well_formed
from passlab.errors import PassError, PassTypeError
from passlab.evaluate import Evaluator
from passlab.infer import infer_module
from passlab.ir import Function, IRModule, TensorType, Var
from passlab.ir.equal import assert_structural_equal
from passlab.op import make
from passlab.passes.external.merge_compiler_regions import Contraction
from passlab.text.parser import parse
from passlab.transform.registering import register_op_attr, unregister_op_attr
from tests.passes.law_programs import PROGRAMS, arguments, module
from tests.passes.test_laws import flat

TOY = ("add", "multiply", "nn.relu", "nn.dense", "nn.conv2d", "exp", "concatenate", "split")


@pytest.fixture(autouse=True)
def toy_compiler() -> Iterator[None]:
    """A compiler that takes a few operators."""
    for name in TOY:
        register_op_attr(name, "target.toy", lambda call: True)
    yield
    for name in TOY:
        unregister_op_attr(name, "target.toy")


def typed(text: str) -> IRModule:
    return infer_module(parse(text))


def main(body: str) -> IRModule:
    return typed(f"def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32], %c: bool) {{ {body} }}")


def run(mod: IRModule, *passes: transform.Pass) -> IRModule:
    return transform.Sequential(list(passes))(mod)


def partitioned(mod: IRModule, *targets: str, **options: object) -> IRModule:
    steps = (transform.AnnotateTarget(list(targets)), transform.MergeCompilerRegions())
    return run(mod, *steps, transform.PartitionGraph(**options))


def parts(mod: IRModule) -> list[Function]:
    return [f for _, f in mod.items() if "Compiler" in f.attrs]


class TestAnnotateTarget:
    def test_every_use_is_marked(self):
        marked = run(main("%0 = nn.relu(%x); subtract(%0, %0)"), transform.AnnotateTarget("toy"))
        expected = main("""
            %0 = nn.relu(annotation.compiler_begin(%x, compiler="toy"));
            %1 = annotation.compiler_begin(annotation.compiler_end(%0, compiler="toy"), compiler="default");
            %2 = annotation.compiler_begin(annotation.compiler_end(%0, compiler="toy"), compiler="default");
            annotation.compiler_end(subtract(%1, %2), compiler="default")""")
        assert_structural_equal(marked, expected)

    def test_a_tuple_goes_with_its_fields(self):
        marked = run(main("concatenate((exp(%x), exp(%y)))"), transform.AnnotateTarget("toy"))
        assert "default" not in marked.astext()

    def test_tuples_can_be_left_to_this_compiler(self):
        marked = run(main("(exp(%x), exp(%y)).0"), transform.AnnotateTarget("toy", include_non_call_ops=False))
        assert marked.astext().count("compiler_begin") == 2

    def test_the_first_compiler_that_can_wins(self):
        register_op_attr("exp", "target.other", lambda call: call.args[0].checked_type.shape == (2,))
        try:
            marked = run(main("exp(%x)"), transform.AnnotateTarget(["other", "toy"]))
            assert 'compiler="other"' in marked.astext()
            marked = run(typed("def @main(%x: float32) { exp(%x) }"), transform.AnnotateTarget(["other", "toy"]))
            assert 'compiler="toy"' in marked.astext()
        finally:
            unregister_op_attr("exp", "target.other")

    def test_a_later_run_may_only_take_what_is_left(self):
        register_op_attr("tanh", "target.other", lambda call: True)
        try:
            once = run(main("tanh(exp(%x))"), transform.AnnotateTarget("toy"))
            twice = run(once, transform.AnnotateTarget(["other", "toy"]))
        finally:
            unregister_op_attr("tanh", "target.other")
        assert_structural_equal(
            twice,
            main("""
            %0 = exp(annotation.compiler_begin(%x, compiler="toy"));
            %1 = annotation.compiler_begin(annotation.compiler_end(%0, compiler="toy"), compiler="other");
            annotation.compiler_end(tanh(%1), compiler="other")"""),
        )

    def test_other_targets_are_refused(self):
        with pytest.raises(PassTypeError, match="names of compilers"):
            transform.AnnotateTarget(3)(main("%x"))


class TestMergeCompilerRegions:
    @pytest.mark.parametrize(
        ("body", "count"),
        [
            ("exp(exp(exp(%x)))", 1),
            ("%0 = exp(%x); add(%0, exp(%0))", 1),
            ("%0 = exp(%x); add(%0, tanh(%0))", 2),
            ("add(exp(%x), tanh(exp(%y)))", 2),
            ("%0 = exp(%x); (tanh(%0), add(%0, tanh(%y)))", 1),
            ("%0 = exp(%x); %1 = exp(%0); %2 = exp(tanh(%0)); add(%1, %2)", 2),
            ("concatenate((exp(%x), multiply(%y, 2f)))", 1),
            ("%0 = exp(%x); if (%c) { add(%0, %0) } else { %0 }", 2),
            ("let %a = exp(%x); exp(%a)", 2),
            ("add(tanh(exp(%x)), tanh(exp(%y)))", 3),
        ],
    )
    def test_neighbours_become_one_where_nothing_stands_between(self, body: str, count: int):
        mod = main(body)
        result = partitioned(mod, "toy")
        assert len(parts(result)) == count
        args = arguments(mod)
        for a, b in zip(flat(Evaluator(result).run("main", args)), flat(Evaluator(mod).run("main", args)), strict=True):
            np.testing.assert_array_equal(a, b)

    @pytest.mark.rotating
    def test_a_region_grows_to_a_thousand_users_and_no_further(self):
        x = Var("x", TensorType((2,), "float32"))
        chain, uses = x, []
        for _ in range(2000):
            chain = make("exp", chain)
            uses.append(make("tanh", chain))
        mod = infer_module(IRModule.from_expr(Function([x], relay.Tuple(uses))))
        assert 2 <= len(parts(partitioned(mod, "toy"))) <= 5


class TestPartitionGraph:
    def test_several_results_are_a_tuple(self):
        result = partitioned(main("%0 = exp(%x); (subtract(%0, %y), subtract(exp(%0), %y))"), "toy")
        (part,) = parts(result)
        assert str(part.checked_type.ret_type) == "(Tensor[(2), float32], Tensor[(2), float32])"

    def test_the_fields_of_a_tuple_leave_one_by_one(self):
        result = partitioned(main("split(concatenate((exp(%x), exp(%y))), indices_or_sections=2)"), "toy")
        (part,) = parts(result)
        assert str(part.checked_type.ret_type) == "(Tensor[(2), float32], Tensor[(2), float32])"

    def test_a_value_enters_once(self):
        (part,) = parts(partitioned(main("add(exp(%x), exp(%x))"), "toy"))
        assert [p.name_hint for p in part.params] == ["toy_0_i0"]

    @pytest.mark.parametrize(("bind", "params"), [(True, 1), (False, 2)])
    def test_constants_may_go_inside(self, bind: bool, params: int):
        (part,) = parts(partitioned(main("add(%x, 2f)"), "toy", bind_constants=bind))
        assert len(part.params) == params

    def test_names_say_where_a_part_comes_from(self):
        result = partitioned(main("tanh(exp(tanh(exp(%x))))"), "toy", mod_name="my.net")
        assert [str(f.attrs["global_symbol"]) for f in parts(result)] == [
            "tvmgen_my_net_toy_main_0",
            "tvmgen_my_net_toy_main_1",
        ]
        assert all(f.attrs["Compiler"] == "toy" and f.attrs["Primitive"] and f.attrs["Inline"] for f in parts(result))

    def test_composites_stay_whole_inside(self):
        pattern = relay.dataflow_pattern
        table = [("toy.fused", pattern.is_op("nn.relu")(pattern.is_op("tanh")(pattern.wildcard())))]
        mod = main("exp(nn.relu(tanh(%x)))")
        result = partitioned(run(mod, transform.MergeComposite(table)), "toy")
        assert 'Composite="toy.fused"' in str(parts(result)[0])
        np.testing.assert_array_equal(
            Evaluator(result).run("main", arguments(mod)), Evaluator(mod).run("main", arguments(mod))
        )

    @pytest.mark.parametrize("kind", ["debug", "vm", "graph", "aot"])
    def test_every_executor_runs_the_parts(self, kind: str):
        pattern = relay.dataflow_pattern
        table = [("toy.fused", pattern.is_op("nn.relu")(pattern.is_op("tanh")(pattern.wildcard())))]
        mod = main("subtract(exp(nn.relu(tanh(%x))), %y)")
        result = partitioned(run(mod, transform.MergeComposite(table)), "toy")
        args = arguments(mod)
        got, want = (relay.create_executor(kind, m).evaluate()(*args) for m in (result, mod))
        np.testing.assert_array_equal(got, want)

    def test_a_part_of_a_generic_function_is_generic(self):
        result = partitioned(
            typed("""
            def @main(%x: Tensor[(2), float32]) { @pair(%x, exp(%x)) }
            def @pair[A](%a: A, %x: Tensor[(2), float32]) -> (A, Tensor[(2), float32]) {
              %0 = (annotation.compiler_begin(%a, compiler="toy"), exp(annotation.compiler_begin(%x, compiler="toy")));
              annotation.compiler_end(%0, compiler="toy") }"""),
            "toy",
        )
        assert well_formed(result)

    @pytest.mark.parametrize(
        ("body", "says"),
        [
            ('annotation.compiler_end(%x, compiler="toy")', "in no region"),
            ('exp(annotation.compiler_begin(%x, compiler="toy"))', "without a mark"),
            (
                'add(annotation.compiler_begin(%x, compiler="toy"), annotation.compiler_begin(%y, compiler="other"))',
                "meet",
            ),
            (
                """%0 = exp(annotation.compiler_begin(%x, compiler="toy"));
                %1 = tanh(annotation.compiler_end(%0, compiler="toy"));
                annotation.compiler_end(add(%0, annotation.compiler_begin(%1, compiler="toy")), compiler="toy")""",
                "its own result",
            ),
        ],
    )
    def test_marks_that_make_no_regions_are_refused(self, body: str, says: str):
        with pytest.raises(PassError, match=says):
            transform.PartitionGraph()(main(body))


def test_a_compiler_states_its_patterns_by_name():
    @relay.op.contrib.register_pattern_table("test.patterns")
    def table():
        return [("toy.exp", relay.dataflow_pattern.is_op("exp")(relay.dataflow_pattern.wildcard()))]

    (entry,) = relay.op.contrib.get_pattern_table("test.patterns")
    assert entry[0] == "toy.exp"
    assert relay.op.contrib.get_pattern_table("test.nothing") is None


@pytest.mark.parametrize("program", PROGRAMS)
class TestOnEveryProgram:
    def test_the_parts_together_mean_the_same(self, program: str):
        mod = module(program)
        result = partitioned(mod, "toy")
        assert well_formed(result)
        args = arguments(mod)
        for a, b in zip(flat(Evaluator(result).run("main", args)), flat(Evaluator(mod).run("main", args)), strict=True):
            np.testing.assert_array_equal(a, b)

    def test_merging_again_changes_nothing(self, program: str):
        merged = run(module(program), transform.AnnotateTarget("toy"), transform.MergeCompilerRegions())
        assert run(merged, transform.MergeCompilerRegions()) is merged


class TestContraction:
    def test_no_contraction_makes_a_circle(self):
        rng = np.random.default_rng(3)
        for _ in range(60):
            size = int(rng.integers(2, 14))
            inputs = [[int(j) for j in range(i) if rng.random() < 0.3] for i in range(size)]
            graph = Contraction(inputs)
            edges = [(j, i) for i in range(size) for j in inputs[i]]
            for a, b in (edges[int(k)] for k in rng.permutation(len(edges))):
                alone = graph.find(a) == graph.find(b) or not reaches_around(inputs, graph, a, b)
                assert graph.contract(a, b) == alone
                assert all(
                    graph.position(j) < graph.position(i) or graph.find(i) == graph.find(j) for j, i in edges
                )  # still in order, so without circles


def reaches_around(inputs: list[list[int]], graph: Contraction, a: int, b: int) -> bool:
    """Whether the group of b needs that of a through some other group, found without cleverness."""
    first, last = graph.find(a), graph.find(b)
    needs: dict[int, set[int]] = {}
    for node, row in enumerate(inputs):
        needs.setdefault(graph.find(node), set()).update(map(graph.find, row))
    seen: set[int] = set()
    stack = [g for g in needs[last] if g not in (first, last)]
    while stack:
        at = stack.pop()
        if at == first:
            return True
        if at not in seen:
            seen.add(at)
            stack += [g for g in needs[at] if g != at]
    return False


def test_tuples_among_several_results_are_flattened_and_constant_tuples_move_inside():
    text = """
    def @main(%x: Tensor[(4, 2), float32]) {
      %0 = annotation.compiler_begin(%x, compiler="a");
      %1 = split(%0, indices_or_sections=2);
      %2 = annotation.compiler_begin((1f, 2f), compiler="a");
      %3 = add(%1.0, %2.1);
      %4 = annotation.compiler_end(%1, compiler="a");
      (concatenate(%4), annotation.compiler_end(%3, compiler="a"))
    }
    """
    mod = infer_module(transform.PartitionGraph()(parse(text)))
    taken = mod["tvmgen_default_a_main_0"]
    assert len(taken.params) == 1
    assert [str(t) for t in taken.ret_type.fields] == ["Tensor[(2, 2), float32]"] * 3
    x = np.arange(8, dtype="float32").reshape(4, 2)
    whole, first = Evaluator(mod).run("main", [x])
    np.testing.assert_array_equal(whole, x)
    np.testing.assert_array_equal(first, x[:2] + 2)


def test_a_region_has_the_number_of_the_mark_that_opens_it_among_all_marks():
    mod = partitioned(main("nn.relu(subtract(add(%x, %y), exp(%y)))"), "toy")
    assert [name for name, _ in mod.items() if name != "main"] == [
        "tvmgen_default_toy_main_0", "tvmgen_default_toy_main_2", "tvmgen_default_toy_main_3",
    ]  # fmt: skip
    assert [p.name_hint for p in mod["tvmgen_default_toy_main_2"].params] == ["toy_2_i0"]
