"""Facts about programs, each on a small Relay text."""

from __future__ import annotations

import pytest

import passlab
from passlab import relay
from passlab.analysis import (
    CallGraph,
    Feature,
    all_dtypes,
    all_type_vars,
    all_vars,
    analyze_operations_distribution,
    bound_type_vars,
    bound_vars,
    check_basic_block_normal_form,
    check_constant,
    check_kind,
    costs,
    count_layers,
    detect_feature,
    extract_fused_functions,
    extract_intermdeiate_expr,
    extract_intermediate_expr,
    free_type_vars,
    free_vars,
    get_total_mac_number,
    list_fake_quantized_op_freqs,
    list_op_freqs,
    post_order_visit,
    search_fc_transpose,
    unmatched_cases,
    users,
)  # fmt: skip
from passlab.errors import DiagnosticError
from passlab.infer import infer_module
from passlab.ir import (
    Call,
    Expr,
    Function,
    FuncType,
    GlobalVar,
    IRModule,
    Kind,
    Let,
    Op,
    TensorType,
    Tuple,
    TypeVar,
    Var,
    structural_equal,
)  # fmt: skip
from passlab.ir.walk import make_lets
from tests.ir.random_programs import Generator


def parse(text: str) -> IRModule:
    return passlab.parse(f'#[version = "0.0.5"]\n{text}')


def main(text: str) -> Function:
    return parse(text)["main"]


NETWORK = """
def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(4, 8), float32]) {
  %0 = nn.dense(%x, %w);
  %1 = nn.relu(%0);
  %2 = (%1, %0);
  add(%2.0, %2.1)
}
"""


# ---------------------------------------------------------------- going through
def test_post_order_visit_meets_callees_before_arguments() -> None:
    f = main("def @main(%x: float32) { add(exp(%x), %x) }")
    met: list[Expr] = []
    post_order_visit(f, met.append)
    assert [str(e.op) if isinstance(e, Call) else type(e).__name__ for e in met] == [
        "Var",
        "Op",
        "Op",
        "exp",
        "add",
        "Function",
    ]


def test_users_counts_every_use() -> None:
    f = main("def @main(%x: float32) { %0 = exp(%x); add(%0, %0) }")
    users_of = users(f)
    assert users_of[f] == []
    assert users_of[f.body.args[0]] == [f.body, f.body]


# ---------------------------------------------------------------- variables
def test_variables_in_order_of_encounter() -> None:
    a, b, c = (Var(n) for n in "abc")
    f = Function((a,), Let(b, relay.add(c, a), b))
    assert free_vars(f) == [c]
    assert bound_vars(f) == [a, b]
    assert all_vars(f) == [a, b, c]


def test_type_variables() -> None:
    a, b, c = TypeVar("A"), TypeVar("B"), TypeVar("C")
    generic = FuncType((a, b), a, (a,))
    assert (free_type_vars(generic), bound_type_vars(generic), all_type_vars(generic)) == ([b], [a], [a, b])
    x = Var("x", a)
    f = Function((x,), Call(Var("g", c), (x,), None, (b,)), a, (a,))
    assert set(free_type_vars(f)) == {b, c}
    assert bound_type_vars(f) == [a]
    mod = IRModule()
    mod.import_from_std("prelude.rly")
    cons = mod.find_constructor("Cons")
    assert cons is not None
    assert free_type_vars(cons, mod) == free_type_vars(cons) == [], "the definition of the data type binds it"
    assert bound_type_vars(cons) == all_type_vars(cons) == bound_type_vars(cons, mod)


def test_dtypes() -> None:
    f = main('def @main(%x: Tensor[(3), float16]) { (cast(%x, dtype="int8"), less(%x, %x)) }')
    assert all_dtypes(f) == {"float16", "int8", "bool"}
    assert all_dtypes(relay.const(1)) == {"int32"}


# ---------------------------------------------------------------- form
def test_constants(depth: int) -> None:
    one = relay.const(1)
    assert check_constant(Tuple((one, Tuple((one, one)))))
    assert not check_constant(Tuple((one, Var("x"))))
    deep: Expr = one
    for _ in range(depth):
        deep = Tuple((deep, deep))
    assert check_constant(deep)


@pytest.mark.parametrize(
    ("body", "normal"),
    [
        ("%0 = exp(%x); if (%c) { add(%0, %x) } else { %0 }", False),
        ("let %v = exp(%x); if (%c) { add(%v, %x) } else { %v }", True),
        ("%0 = exp(%x); let %v = add(%0, %x); multiply(%0, %v)", True),
        ("%0 = exp(%x); %1 = fn () { %0 }; %1()", True),
        ("%0 = exp(%x); %1 = fn () { %0 }; add(%1(), %0)", False),
    ],
)
def test_basic_block_normal_form(body: str, normal: bool) -> None:
    assert check_basic_block_normal_form(main(f"def @main(%c: bool, %x: float32) {{ {body} }}")) == normal


def test_the_pass_agrees_with_the_check() -> None:
    for seed in range(60):
        program = Function((), Generator(seed).program(25))
        mod = IRModule()
        mod = mod.with_functions({"main": program})
        after = relay.transform.ToBasicBlockNormalForm().transform_module(mod, relay.transform.PassContext())["main"]
        assert check_basic_block_normal_form(after), seed
        assert check_basic_block_normal_form(program) or after is not program, seed


def test_kinds() -> None:
    assert check_kind(TensorType((3,))) is Kind.Type


def test_unmatched_cases() -> None:
    mod = parse("""
    type Option[A] { Some(A), None, }
    def @main(%o: Option[float32]) -> float32 { match? (%o) { Some(%x) => %x, } }
    """)
    assert [p.constructor.name_hint for p in unmatched_cases(mod["main"].body, mod)] == ["None"]


# ---------------------------------------------------------------- features
def test_features_of_a_network() -> None:
    F = Feature
    assert detect_feature(main(NETWORK)) == {F.fVar, F.fOp, F.fCall, F.fTuple, F.fTupleGetItem, F.fFunction, F.fGraph}


def test_local_recursion_is_a_feature() -> None:
    loop = main("def @main(%n: int32) { let %f = fn (%i: int32) -> int32 { %f(%i) }; %f(%n) }")
    assert Feature.fLetRec in detect_feature(loop)
    plain = main("def @main(%n: int32) { let %f = fn (%i: int32) { %i }; %f(%n) }")
    assert {Feature.fLet, Feature.fFunction} <= detect_feature(plain)
    assert Feature.fLetRec not in detect_feature(plain)


def test_features_of_modules_and_kernels() -> None:
    mod = parse("def @f(%x: float32) { %x } def @main(%x: float32) { if (True) { @f(%x) } else { ref_read(ref(%x)) } }")
    assert {Feature.fGlobalVar, Feature.fIf, Feature.fRefCreate, Feature.fRefRead} <= detect_feature(mod)
    assert (
        detect_feature(relay.const(1), mod)
        == detect_feature(mod, relay.const(1))
        == detect_feature(mod) | {Feature.fConstant}
    )
    x = Var("x")
    assert detect_feature(Function((x,), relay.exp(x), attrs={"Primitive": 1})) == {Feature.fFunction}


# ---------------------------------------------------------------- counts
def test_operator_frequencies() -> None:
    assert list_op_freqs(parse(NETWORK)) == {"add": 1, "nn.dense": 1, "nn.relu": 1}


def test_fake_quantized_frequencies() -> None:
    mod = parse("""
    def @main(%q: Tensor[(2, 8), int8], %x: Tensor[(2, 8), float32]) {
      %0 = qnn.dequantize(%q, 0.5f, 0, out_dtype="float32");
      %1 = nn.relu(%0);
      %2 = add(%1, %x);
      (qnn.quantize(nn.relu(%1), 1f, 0, out_dtype="int8"), qnn.quantize(%2, 1f, 0, out_dtype="int8"))
    }
    """)
    assert list_fake_quantized_op_freqs(mod) == {"nn.relu": 2}


def test_layers_are_counted_along_the_longest_path() -> None:
    f = main("""
    def @main(%x: Tensor[(4, 4), float32], %w: Tensor[(4, 4), float32]) {
      %0 = nn.dense(%x, %w);
      %1 = nn.dense(%0, %w);
      %2 = nn.relu(nn.dense(%1, %w));
      add(%2, nn.dense(%0, %w))
    }
    """)
    assert count_layers(f, ["nn.dense"]) == 3
    assert count_layers(f, [Op.get("nn.dense"), "nn.relu"]) == 4
    assert count_layers(f, ["exp"]) == 0


def test_operations_by_compiler() -> None:
    x = Var("x", TensorType((2,)))
    y = Var("y", TensorType((2,)))
    outside = Function((y,), relay.exp(y), attrs={"Compiler": "dnnl"})
    mod = IRModule.from_expr(Function((x,), relay.log(Call(outside, (x,)))))
    assert sorted(analyze_operations_distribution(mod).values()) == [("dnnl", "exp", 0), ("generic", "log", 0)]


# ---------------------------------------------------------------- costs
@pytest.mark.parametrize(
    ("call", "count"),
    [
        ("nn.dense(%x, %w, units=4)", 2 * 4 * 8),
        ("nn.relu(%x)", 0),
        ("nn.matmul(%x, %w, transpose_b=True)", 2 * 4 * 8),
        ("nn.conv2d(%i, %k, padding=[1, 1, 1, 1], channels=6, kernel_size=[3, 3])", 1 * 6 * 5 * 5 * 4 * 9),
        ("nn.conv2d(%i, %g, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3], groups=4)", 1 * 4 * 5 * 5 * 9),
        ("nn.batch_matmul(%b, %b, transpose_b=True)", 3 * 2 * 2 * 7),
        ("nn.conv2d_transpose(%i, %t, channels=6, kernel_size=[3, 3])", 6 * 7 * 7 * 9 * 4),
    ],
)
def test_multiply_accumulates(call: str, count: int) -> None:
    f = main(f"""
    def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(4, 8), float32], %i: Tensor[(1, 4, 5, 5), float32],
              %k: Tensor[(6, 4, 3, 3), float32], %g: Tensor[(4, 1, 3, 3), float32], %b: Tensor[(3, 2, 7), float32],
              %t: Tensor[(4, 6, 3, 3), float32]) {{ {call} }}
    """)
    assert get_total_mac_number(f) == count


def test_costs() -> None:
    dense, relu, add = costs(main(NETWORK))
    assert (dense.operator, dense.macs, dense.bytes_read, dense.bytes_written) == ("nn.dense", 64, 4 * (16 + 32), 32)
    assert (relu.macs, relu.bytes_written) == (0, 32)
    assert add.bytes_read == 64


def test_costs_of_untyped_programs_are_unknown() -> None:
    x = Var("x")
    with pytest.warns(UserWarning, match="1 calls have no known sizes"):
        assert get_total_mac_number(relay.nn.dense(x, x)) == 0


# ---------------------------------------------------------------- parts
def test_fused_functions() -> None:
    mod = relay.transform.FuseOps(2)(parse(NETWORK))
    kernels = extract_fused_functions(mod)
    assert all(f.is_primitive for f in kernels.values())
    assert list_op_freqs(mod) == list_op_freqs(IRModule({f"k{i}": f for i, f in enumerate(kernels.values())}))


def test_intermediate_expressions() -> None:
    mod = parse(NETWORK)
    want = parse("""
    def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(4, 8), float32]) { %0 = nn.dense(%x, %w); nn.relu(%0) }
    """)
    assert structural_equal(infer_module(extract_intermediate_expr(mod, 1)), want)
    assert structural_equal(infer_module(extract_intermediate_expr(mod, 5)), mod)
    assert extract_intermdeiate_expr is extract_intermediate_expr
    with pytest.raises(DiagnosticError, match="from 0 to 5"):
        extract_intermediate_expr(mod, 9)


def test_transposed_weights() -> None:
    f = main("""
    def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(8, 4), float32], %v: Tensor[(4, 4), float32]) {
      %0 = transpose(%w, axes=[1, 0]);
      nn.dense(nn.dense(%x, %0), %v)
    }
    """)
    assert search_fc_transpose(f) == ["w"]


# ---------------------------------------------------------------- call graph
def test_call_graph() -> None:
    graph = CallGraph(
        parse("""
    def @main(%x: int32) -> int32 { @even(@id(@id(%x))) }
    def @id(%x: int32) -> int32 { %x }
    def @even(%x: int32) -> int32 { @odd(%x) }
    def @odd(%x: int32) -> int32 { @even(%x) }
    def @self(%x: int32) -> int32 { @self(%x) }
    """)
    )
    assert graph.callees("main") == {"even": 1, "id": 2}
    assert graph.callers(GlobalVar("even")) == {"main": 1, "odd": 1}
    assert [graph.is_recursive(n) for n in ("main", "id", "even", "odd", "self")] == [False, False, True, True, True]
    assert (graph.global_call_count("main"), graph.ref_count("id")) == (3, 2)
    order = graph.topological_order()
    assert order.index("id") < order.index("main")
    assert order.index("odd") < order.index("main")
    assert graph.reachable("even") == {"even", "odd"}
    assert "  @id x 2" in str(graph)
    with pytest.raises(DiagnosticError, match="did you mean `even`"):
        graph.ref_count("evn")


# ---------------------------------------------------------------- depth
def test_all_facts_about_deep_programs(depth: int) -> None:
    x = Var("x", TensorType(()))
    bound, at = [], x
    for _ in range(depth):
        var = Var("v")
        bound.append((var, relay.add(at, x)))
        at = var
    f = Function((x,), make_lets(bound, at))
    assert len(bound_vars(f)) == depth + 1
    assert Feature.fLet in detect_feature(f)
    assert check_basic_block_normal_form(f)
    assert count_layers(f, ["add"]) == 1
    assert all_type_vars(f) == []
    assert len(users(f)[x]) == depth + 2
