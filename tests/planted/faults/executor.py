"""Faults in `executor`."""

from __future__ import annotations

from tests.mutants.mutation import Mutation
from tests.planted.fault import Fault
from tests.planted.programs import BRANCHES, LISTS, LOOP, TWO_LISTS, dataflow

_READ_FIRST = """
#[version = "0.0.5"]
def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32]) {
  let %r = ref(tanh(%x));
  let %a = ref_read(%r);
  let %w = ref_write(%r, %y);
  subtract(exp(%a), ref_read(%r))
}
"""
_PAIR_OF_DATA = """
#[version = "0.0.5"]
type S { Full(Tensor[(2), float32]), Empty, }
def @both(%a: S, %b: S) -> Tensor[(2), float32] {
  match ((%a, %b)) {
    (Full(%l), Full(%r)) => subtract(%l, %r),
    (Full(%l), _) => tanh(%l),
    (_, Full(%r)) => exp(%r),
    (_, _) => zeros(shape=[2], dtype="float32"),
  }
}
def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) {
  let %s = Full(tanh(%x));
  (@both(%s, Full(%y)), @both(Empty, %s), @both(%s, Empty), @both(Empty, Empty))
}
"""
_TWO_STATES = (
    LOOP.replace("@loop(%n, %start)", "@loop(%n, %start, %x)")
    .replace("%a: Tensor[(3), float32]) ->", "%a: Tensor[(3), float32], %b: Tensor[(3), float32]) ->")
    .replace("@loop(subtract(%i, 1), add(multiply(%a, 0.5f), 1f))", "@loop(subtract(%i, 1), %b, add(%a, %b))")
)

FAULTS = (
    Fault("results share memory with what is still read", "buffers",
          Mutation("_by_time", "replace subscript", 11, "it + 2"),
          dataflow("%0 = nn.dense(%x, %w);\n%1 = nn.dense(%0, %w);\n%2 = nn.dense(%1, %w);\n%3 = nn.dense(add(%2, %0), %w);\n(tanh(%3), %1)",
                   "%x: Tensor[(3, 16), float32], %w: Tensor[(16, 16), float32]"),
          "InferType", "graph", "memory"),
    Fault("a field of another place in the graph", "executor",
          Mutation("GraphCode._projection", "replace subscript", 0, "it.value[:it.slice.lower.value[1]]"),
          dataflow("%0 = split(exp(%x), indices_or_sections=2, axis=1);\n%1 = nn.dense(%0.1, %w);\n(tanh(%1), %0.0)",
                   "%x: Tensor[(3, 4), float32], %w: Tensor[(4, 2), float32]"),
          "InferType", "graph", "projection"),
    Fault("reshaped in the graph, but not", "executor",
          Mutation("GraphModule._step.view", "replace call", 0, "it.func(it.args[0][::-1]).T"),
          dataflow("%0 = nn.dense(%x, %v);\n%1 = reshape(%0, newshape=[2, 6]);\nnn.dense(%1, %w)",
          "%x: Tensor[(3, 4), float32], %v: Tensor[(4, 4), float32], %w: Tensor[(5, 6), float32]"),
          "InferType", "graph", "reshape"),
    Fault("branches swapped ahead of time", "executor",
          Mutation("FunctionText._branches", "other text", 0, "'if not '"), BRANCHES, "InferType", "aot", "if"),
    Fault("loop arguments in another order", "executor",
          Mutation("FunctionText._tail", "replace name", 27, "it[::-1]"),
          LOOP.replace("%n: int32)", "%y: Tensor[(3), float32], %n: int32)").replace("@loop(%n, %start)", "@loop(%n, %start, %y)")
          .replace("%a: Tensor[(3), float32]) ->", "%a: Tensor[(3), float32], %b: Tensor[(3), float32]) ->")
          .replace("{ %a } else { @loop(subtract(%i, 1), add(multiply(%a, 0.5f), 1f)) }", "{ subtract(%a, %b) } else { @loop(subtract(%i, 1), add(%a, %b), multiply(%a, 0.5f)) }"),
          "InferType", "aot", "loop|call"),
    Fault("the arms of a match in the other order", "match order",
          Mutation("FunctionText._branches", "replace attribute", 16, "(*it[1::-1], *it[2:])"), LISTS, "InferType",
          "aot", "match"),
    Fault("an output does not live to the end", "buffers",
          Mutation("Graph.lives", "replace sequence", 5, "it.elts[0].value"),
          dataflow("%0 = nn.dense(%x, %w);\n%1 = nn.dense(%0, %w);\n%2 = nn.dense(%1, %w);\n(%0, nn.dense(nn.dense(%2, %w), %w))",
                   "%x: Tensor[(3, 16), float32], %w: Tensor[(16, 16), float32]"),
          "InferType", "graph", "memory"),
    Fault("tables of one shape are one ahead of time", "executor",
          Mutation("Constants.array", "replace choice", 0, "it.test.left"),
          dataflow("add(multiply(%x, 2f), multiply(tanh(%x), 3f))", "%x: Tensor[(3), float32]"), "InferType", "aot",
          "add|multiply"),
    Fault("a read may wait until after a write", "effects",
          Mutation("FunctionText._expression", "other constant", 4, "True"), _READ_FIRST, "InferType", "aot", "ref"),
    Fault("fields of a pattern in reverse", "match order",
          Mutation("FunctionText._pattern", "replace attribute", 15, "it[::-1]"),
          TWO_LISTS.replace("Cons(Tensor[(2), float32], L), Nil, }", "Cons(Tensor[(2), float32], Tensor[(2), float32]), Nil, }").replace("(Cons(%h, _), Cons(%k, _))", "(Cons(%h, %i), Cons(%k, _))")
          .replace("subtract(%h, %k)", "subtract(%i, %k)").replace("Cons(tanh(%x), Nil)", "Cons(tanh(%x), %y)").replace("Cons(%y, %one)", "Cons(%y, %x)"),
          "InferType", "aot", "match"),
    Fault("a field of a tuple next to the one that is asked for", "executor",
          Mutation("FunctionText._expression", "replace name", 16, "max(0, it - 1)"),
          dataflow("%0 = split(exp(%x), indices_or_sections=2, axis=1);\n%1 = nn.dense(%0.1, %w);\n(tanh(%1), %0.0)", "%x: Tensor[(3, 4), float32], %w: Tensor[(4, 2), float32]"),
          "InferType", "aot", "projection|split"),
    Fault("a view does not keep what it views", "lifetimes", Mutation("storage_roots", "drop statement", 4),
          dataflow("%0 = reshape(nn.dense(%x, %w), newshape=[6, 8]);\n%1 = nn.dense(nn.dense(nn.dense(%0, %v), %v), %v);\n(nn.dense(%1, %v), nn.dense(%0, %v))",
                   "%x: Tensor[(3, 16), float32], %w: Tensor[(16, 16), float32], %v: Tensor[(8, 8), float32]"),
          "InferType", "graph", ""),
    Fault("an arm is taken wherever no constructor stands", "match order",
          Mutation("FunctionText._branches", "replace name", 49, "it and len(local[1].clauses) < 0"),
          LISTS.replace("Nil => zeros(shape=[2], dtype=\"float32\"),", "_ => zeros(shape=[2], dtype=\"float32\"),\n    Nil => ones(shape=[2], dtype=\"float32\"),"),
          "InferType, FuseOps", "aot", ""),
    Fault("sizes are rounded down", "buffers",
          Mutation("position", "replace operation", 1, "it.operand.left.operand // ALIGNMENT"),
          dataflow("%0 = nn.dense(%x, %w);\n%1 = nn.dense(%0, %v);\n(tanh(%1), nn.dense(%1, %w))", "%x: Tensor[(3, 7), float32], %w: Tensor[(7, 7), float32], %v: Tensor[(7, 7), float32]"),
          "InferType", "graph", "memory"),
    Fault("a tuple of patterns always fits", "match order",
          Mutation("FunctionText._branches", "replace sequence", 0, "PatternConstructor"), _PAIR_OF_DATA,
          "InferType, FuseOps", "aot", "match"),
    Fault("variables of a loop change one after the other", "executor",
          Mutation("FunctionText._tail", "replace f-string", 0, 'f"{\'; \'.join((f\'{it.values[0].value.args[0].elt} = {it.values[2].value.args[0].elt}\' for it.values[0].value.args[0].elt, it.values[2].value.args[0].elt in it.values[0].value.args[0].generators[0].iter))}"'),
          _TWO_STATES, "InferType", "aot", "loop|call|if"),
)  # fmt: skip
