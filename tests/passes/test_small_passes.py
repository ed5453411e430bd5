"""Passes and functions that do one small thing: constants lifted, arguments split, places given, dtypes recast."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from passlab import relay, transform
from passlab.analysis.well_formed import well_formed
from passlab.errors import PassError, PasslabError, PassTypeError, PassValueError, TypeInferenceError, WellFormedError
from passlab.evaluate import Evaluator
from passlab.infer import infer_module
from passlab.ir import Call, Constant, Function, IRModule, Let, TensorType, Tuple, Var
from passlab.ir.equal import structural_equal
from passlab.ir.op import Op, OpPattern
from passlab.ir.variables import bound_vars
from passlab.ir.walk import children, post_order
from passlab.op import make
from passlab.op.edge_cases import program
from passlab.text.parser import parse
from tests.each import each
from tests.passes.law_programs import PROGRAMS, module


def typed(text: str) -> IRModule:
    return infer_module(parse(text))


def called(mod: IRModule, name: str) -> list[Call]:
    nodes = post_order(mod["main"])
    return [n for n in nodes if isinstance(n, Call) and isinstance(n.op, Op) and n.op.name == name]


# ---------------------------------------------------------------- LiftConstants
@pytest.mark.parametrize("name", PROGRAMS)
def test_constants_stand_nowhere_but_at_the_top(name: str):
    value = transform.LiftConstants()(module(name))["main"]
    body = value.body
    while isinstance(body, Let) and isinstance(body.value, Constant):
        body = body.body
    outside = post_order(body, enter=lambda n: not (isinstance(n, Function) and n.is_primitive))
    assert not any(isinstance(n, Constant) for n in outside)


def test_a_constant_that_stands_twice_is_bound_once_and_names_go_on():
    one, x = Constant(np.float32(1)), Var("x", TensorType((), "float32"))
    own = Var("const3", TensorType((), "float32"))
    body = Let(own, make("exp", x), make("add", make("multiply", x, one), make("add", own, one)))
    value = transform.LiftConstants()(infer_module(IRModule.from_expr(Function([x], body))))["main"]
    assert value.body.var.name_hint == "const4"
    assert not isinstance(value.body.body.value, Constant)


# ---------------------------------------------------------------- SplitArgs
@each("limit", [3, 4, 10, 99, 100, 101])
@each("count", [1, 2, 3, 9, 10, 100])
def test_no_concatenation_takes_more_than_the_limit(count: int, limit: int):
    params = [Var(f"p{i}", TensorType((1 + i % 3, 2), "float32")) for i in range(count)]
    whole = make("concatenate", relay.Tuple(params), axis=0)
    mod = infer_module(IRModule.from_expr(Function(params, whole)))
    result = transform.SplitArgs(limit)(mod)
    assert (result is mod) == (count <= limit - 1)
    steps = [c.args[0].fields for c in called(result, "concatenate" if result is mod else "annotation.stop_fusion")]
    assert all(len(fields) < limit for fields in steps)
    assert len(steps) == max(1, -(-(count - 1) // (limit - 2)))
    args = [np.random.default_rng(i).random(p.type_annotation.shape).astype("float32") for i, p in enumerate(params)]
    np.testing.assert_array_equal(Evaluator(result).run("main", args), np.concatenate(args))


def test_with_the_smallest_limit_each_step_joins_two_tensors():
    params = [Var(f"p{i}", TensorType((2,), "float32")) for i in range(3)]
    whole = Function(params, make("concatenate", relay.Tuple(params), axis=0))
    result = transform.SplitArgs(2)(infer_module(IRModule.from_expr(whole)))
    assert [len(c.args[0].fields) for c in called(result, "annotation.stop_fusion")] == [1, 2, 2]


def test_sizes_and_strides_of_dynamic_tensors_count_as_arguments():
    params = [Var(f"p{i}", TensorType((relay.Any(), 3), "float32")) for i in range(5)]
    whole = Function(params, make("concatenate", relay.Tuple(params), axis=1))
    mod = infer_module(IRModule.from_expr(whole))
    assert transform.SplitArgs(23)(mod) is mod  # five tensors of 1 + 1 + 2 arguments, and a result of 1 + 2
    steps = called(transform.SplitArgs(22)(mod), "annotation.stop_fusion")
    assert [len(c.args[0].fields) for c in steps] == [4, 2]


@pytest.mark.parametrize("limit", [-1, 1])
def test_a_limit_with_which_nothing_can_be_joined_is_refused(limit: int):
    with pytest.raises(PassValueError, match="one and its result"):
        transform.SplitArgs(limit)


def test_attributes_of_the_module_stay_with_the_module():
    mod = typed("def @main(%a: Tensor[(2), int8]) { concatenate((%a, %a, %a), axis=0) }").with_attr("executor", "graph")
    result = transform.SplitArgs(3)(mod)
    assert result.attrs == mod.attrs
    assert "executor" not in result["main"].attrs


# ---------------------------------------------------------------- AnnotateSpans
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_node_is_placed_in_the_text_of_the_program(name: str):
    mod = module(name).with_attr("key", 3)
    result = transform.AnnotateSpans()(mod)
    assert structural_equal(result, mod)
    assert result.attrs == mod.attrs
    assert result.source is not None
    assert result.source.text == mod.astext()
    for function in dict(result.items()).values():
        assert all(n.span.source_name == "GeneratedSource" for n in post_order(function) if not isinstance(n, Op))
    assert transform.AnnotateSpans()(result) is result


def test_a_program_that_was_built_gets_lines():
    x = Var("x", TensorType((2,), "float32"))
    result = transform.AnnotateSpans()(IRModule.from_expr(Function([x], make("exp", make("log", x)))))
    assert result["main"].checked_type_ is None
    lines = [n.span.source_line(n.span.line) for n in post_order(result["main"].body) if isinstance(n, Call)]
    assert [text.strip() for text in lines] == ["%0 = log(%x);", "exp(%0)"]


# ---------------------------------------------------------------- ExtractFusedFunctions
def test_kernels_are_listed_once_each():
    mod = typed("def @main(%x: Tensor[(2), float32]) { let %a = exp(add(%x, 1f)); exp(add(%a, 1f)) }")
    output = transform.ExtractFusedFunctions()(mod)
    assert len(output) == 1
    result = relay.analysis.extract_fused_functions(mod)
    assert [str(k & (1 << 64) - 1) for k in result] == [name for name, _ in output.items()]
    assert structural_equal(infer_module(parse(output.astext())), output)


# ---------------------------------------------------------------- recast
CONV = 'nn.conv2d({}, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3], out_dtype="float32")'
NET = f"def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 3, 3), float32]) {{ %0 = {CONV.format('%x')}; {CONV.format('nn.relu(%0)')} }}"


@pytest.mark.parametrize(("skip", "recast"), [((), [0, 1]), ((0,), [1]), ((-1,), [0]), ((0, 1), [])])
def test_convolutions_are_recast_but_for_some(skip: tuple[int, ...], recast: list[int]):
    mod = typed(NET)
    result = transform.recast(mod, "int8", "int32", skip_layers=skip)
    convolutions = called(result, "nn.conv2d")
    assert [i for i, c in enumerate(convolutions) if c.attrs["out_dtype"] == "int32"] == recast
    assert infer_module(result)["main"].checked_type is mod["main"].checked_type
    assert (result is mod) == (not recast)


def test_a_function_without_types_is_recast_to_the_dtypes_it_has():
    result = transform.recast(parse(NET)["main"], "float16", "float16")
    casts = [n.attrs["dtype"] for n in post_order(result) if isinstance(n, Call) and n.op is Op.get("cast")]
    assert sorted(set(casts)) == ["float16", "float32"]


def test_tuples_are_recast_field_by_field():
    mod = typed("""def @main(%x: Tensor[(2, 4), float32], %y: Tensor[(2, 4), float16]) {
      split(concatenate((%x, cast(%y, dtype="float32")), axis=0), indices_or_sections=2)
    }""")
    result = infer_module(transform.recast(mod, "float16", "float16", ops=["concatenate", "split"]))
    assert result["main"].checked_type is mod["main"].checked_type
    assert [str(f.checked_type.dtype) for f in called(result, "concatenate")[0].args[0].fields] == ["float16"] * 2


def test_what_cannot_be_recast_is_said():
    with pytest.raises(PassError, match="no layer 2"):
        transform.recast(typed(NET), "int8", "int32", skip_layers=[2])
    with pytest.raises(PassTypeError, match="programs"):
        transform.recast(3, "int8", "int32")


# ---------------------------------------------------------------- dedup
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_copy_has_binders_of_its_own(name: str):
    function = module(name)["main"]
    result = transform.dedup(function)
    assert structural_equal(result, function)
    assert well_formed(result)
    assert not {n for n in post_order(result) if isinstance(n, Var)} & set(post_order(function))


def test_free_variables_stay_and_what_is_bound_twice_is_refused():
    x = Var("x", TensorType((), "float32"))
    assert x in children(transform.dedup(make("exp", x)))
    twice = Let(x, make("exp", x), Let(x, x, x))
    with pytest.raises(WellFormedError):
        transform.dedup(twice)


# ---------------------------------------------------------------- InferTypeLocal
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_node_of_typed_parts_has_the_type_that_inference_finds(name: str):
    mod = module(name)
    for node in post_order(mod["main"].body):
        if isinstance(node, (Var, Op, Constant)) or not hasattr(node, "with_fields") or not node.field_names:
            continue
        if type(node).__name__ in ("Constructor", "GlobalVar"):
            continue
        values: Any = {f: getattr(node, f) for f in node.field_names}
        again = type(node)(**values)
        assert structural_equal(transform.InferTypeLocal(again, mod), node.checked_type)


def test_the_type_is_kept_where_all_parts_are_typed():
    x = module("dataflow")["main"].params[0]
    inner = make("exp", x)
    outer = make("log", inner)
    assert transform.InferTypeLocal(outer) is x.checked_type
    assert (inner.checked_type_, outer.checked_type_) == (None, None)
    transform.InferTypeLocal(inner)
    assert inner.checked_type_ is x.checked_type
    with pytest.raises(TypeInferenceError):
        transform.InferTypeLocal(make("add", x, Constant(np.zeros((5, 5, 5), "int8"))))


# ---------------------------------------------------------------- faces
def test_expressions_are_folded_and_brought_into_normal_form():
    x = Var("x", TensorType((), "float32"))
    two = make("add", Constant(np.float32(1)), Constant(np.float32(1)))
    folded = transform.FoldConstantExpr(make("multiply", x, two), IRModule())
    assert float(folded.args[1].data) == 2
    normal = transform.ToANormalFormExpr(make("multiply", x, two))
    assert isinstance(normal, Let)
    assert transform.ToANormalFormExpr(x) is x


def test_a_lifted_function_is_not_generic_in_what_its_constructors_are():
    mod = typed("""type Option[A] { Some(A), None, }
    def @main(%x: float32) { let %f = fn (%y: float32) { Some(add(%x, %y)) }; %f(1f) }""")
    result = infer_module(transform.LambdaLift()(mod))
    assert [f.type_params for name, f in result.items() if "lifted" in name] == [()]


def test_a_lifted_function_binds_no_variable_of_the_one_around():
    x, z = Var("x", TensorType((), "float32")), Var("z")
    shared = Let(z, Constant(np.float32(2)), make("exp", z))
    f = Function([], make("add", x, shared))
    mod = infer_module(IRModule.from_expr(Function([x], make("multiply", Call(f, []), shared))))
    result = infer_module(transform.LambdaLift()(mod))
    bound = [v for _, g in result.items() for v in bound_vars(g)]
    assert len(result) == 2
    assert len(bound) == len(set(bound))
    assert structural_equal(infer_module(parse(result.astext())), result)


def test_a_match_may_become_short():
    mod = typed("""type Option[A] { Some(A), None, }
    def @main(%o: Option[Tensor[(2), float32]], %x: Tensor[(2), float32]) {
      let %y: Tensor[(2), float32] = match (%o) { Some(%v) => { divide(%x, 2f) }, None => { divide(%x, 3f) } };
      %y
    }""")
    result = transform.ToMixedPrecision()(mod)
    assert str(result["main"].ret_type) == "Tensor[(2), float16]"


@pytest.mark.parametrize(("axis", "batched"), [(-1, True), (1, True), (0, False)])
def test_biases_of_parallel_dense_layers_are_added_to_the_batch(axis: int, batched: bool):
    mod = typed(f"""def @main(%x: Tensor[(3, 3), float32], %w: Tensor[(3, 3), float32], %b: Tensor[(3), float32]) {{
      %0 = nn.bias_add(nn.dense(%x, %w), %b, axis={axis});
      (%0, nn.bias_add(nn.dense(%x, multiply(%w, 2f)), exp(%b), axis={axis}))
    }}""")
    with transform.PassContext(opt_level=4):
        result = infer_module(transform.Sequential([transform.CombineParallelDense(2)])(mod))
    text = result.astext()
    assert ("bias_add" not in text) == batched
    args = [np.random.default_rng(i).standard_normal((3, 3)[: 2 - i // 2]).astype("float32") for i in range(3)]
    for a, b in zip(*(Evaluator(m).run("main", args) for m in (mod, result)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


@each(
    "call",
    [
        'dyn.reshape(%x, full(3, shape=[2], dtype="int32"), newshape=[])',
        'dyn.squeeze(%x, full(0, shape=[1], dtype="int32"), axis=[])',
        'dyn.topk(%x, 9, k=None, ret_type="values")',
        'dyn.full(1f, full(-1, shape=[2], dtype="int32"), shape=None, dtype="float32")',
        'dyn.one_hot(zeros(shape=[2], dtype="int32"), 1f, 0f, 0, depth=0, dtype="float32")',
        'dyn.broadcast_to(%x, full(3, shape=[2], dtype="int32"), shape=None)',
        'dyn.nn.pad(%x, full(-9, shape=[2, 2], dtype="int32"), 0f, pad_width=[])',
    ],
)
def test_a_dynamic_call_that_would_fail_may_stay_unused(call: str) -> None:
    text = f"def @main(%c: bool, %x: Tensor[(2, 4), float32]) {{ if (%c) {{ sum({call}) }} else {{ sum(%x) }} }}"
    result = infer_module(transform.DynamicToStatic()(typed(text)))
    x = np.ones((2, 4), "float32")
    assert Evaluator(result).run("main", [np.bool_(False), x]) == 8
    with pytest.raises(PasslabError):
        Evaluator(result).run("main", [np.bool_(True), x])


_FOLLOWERS = [
    n for n in Op.list_op_names() if Op.get(n).spec.pattern <= OpPattern.BROADCAST and not n.startswith("dyn.")
]


@each("name", _FOLLOWERS)
def test_any_operator_may_follow_parallel_dense_layers(name: str) -> None:
    for edge in Op.get(name).spec.edge_cases:
        calls: list[Any] = []
        for dtype in ("float32", "int32"):
            with suppress(TypeInferenceError):  # of bitwise operators on floats
                calls.append(typed(program(edge, dtype).source)["main"].body)
        for call in [body for body in calls if isinstance(body, Call)]:
            ty = call.args[0].checked_type if call.args else None
            if type(ty) is not TensorType or len(ty.shape) != 2 or ty.dtype not in ("float32", "int32"):
                continue
            rows, units = ty.shape
            x = Var("x", TensorType((rows, 3), ty.dtype))
            weights = [Var(f"w{i}", TensorType((units, 3), ty.dtype)) for i in range(3)]
            others = [Var(f"a{i}", a.checked_type) if isinstance(a, Var) else a for i, a in enumerate(call.args) if i]
            branches = [call.with_fields(args=(make("nn.dense", x, w, units=units), *others)) for w in weights]
            params = [x, *weights, *(a for a in others if isinstance(a, Var))]
            mod = infer_module(IRModule.from_expr(Function(params, Tuple(branches))))
            values = [np.ones(p.checked_type.concrete_shape, p.checked_type.dtype) for p in mod["main"].params]
            for i, value in enumerate(values[:4]):
                value[...] = np.random.default_rng(i).integers(-9, 9, value.shape)
            expected = Evaluator(mod).run("main", values)
            for to_batch in (True, False):
                result = infer_module(transform.CombineParallelDense(2, to_batch)(mod))
                for a, b in zip(expected, Evaluator(result).run("main", values), strict=True):
                    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("text", "writes"),
    [
        ("let %r = ref(%x); let %s = ref(%r); let %u = ref_write(%r, 2); let %v = ref_write(%s, %r); %x", 0),
        ("let %r = ref(%x); let %f = fn () { let %u = ref_write(%r, 1); 2 }; %f() + %x", 0),
        ("let %r = ref(%x); let %u = ref_write(%r, 1); let %v = ref_write(%r, 2); (%u, %x)", 2),
        ("let %r = ref(%x); let %s = ref(%r); let %u = ref_write(%r, 1); ref_read(ref_read(%s))", 1),
        ("let %r = ref(%x); let %s = ref(0); let %u = ref_write(%s, ref_read(%r)); let %v = ref_write(%r, 3); %x", 2),
    ],
)
def test_only_writes_to_references_that_nothing_reads_are_dead(text: str, writes: int) -> None:
    mod = infer_module(parse(f"def @main(%x: int32) {{ {text} }}"))
    result = infer_module(transform.get_pass("DeadCodeElimination")(mod))
    assert str(result["main"]).count("ref_write(") == writes
    values = [relay.create_executor("debug", m).evaluate()(np.int32(7)) for m in (mod, result)]
    assert str(values[0]) == str(values[1])
