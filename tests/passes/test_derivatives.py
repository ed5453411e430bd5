"""`gradient`: derivatives through every construct, checked against differences of values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from passlab import transform
from passlab.errors import DiagnosticError, PassTypeError, PassValueError
from passlab.evaluate import Evaluator
from passlab.infer import infer_module
from passlab.ir import IRModule
from passlab.ir.walk import post_order
from passlab.text.parser import parse
from tests.each import each
from tests.passes.law_programs import arguments

T23 = "Tensor[(2, 3), float64]"
LISTS = """
    type List[A] { Cons(A, List[A]), Nil, }
    def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] {
      match (%l) { Cons(%h, %t) => { Cons(%f(%h), @map(%f, %t)) }, Nil => { Nil } }
    }
    def @sum(%l: List[float64]) -> float64 {
      match (%l) { Cons(%h, %t) => { add(%h, @sum(%t)) }, Nil => { 0f64 } }
    }
"""
PROGRAMS = {
    "a product": "def @main(%x: float64, %y: float64) { multiply(%x, multiply(%x, %y)) }",
    "the argument itself": "def @main(%x: float64) { %x }",
    "an argument that is not used": "def @main(%x: float64, %y: float64) { exp(%y) }",
    "a constant": "def @main(%x: float64) { 3f64 }",
    "broadcasting": f"def @main(%x: {T23}, %y: Tensor[(3), float64]) {{ multiply(add(%x, %y), %y) }}",
    "tuples in and out of operators": f"""
        def @main(%x: {T23}, %y: {T23}) {{
          %0 = split(concatenate((%x, exp(%y)), axis=1), indices_or_sections=2, axis=1);
          (multiply(%0.0, %0.1), %x)
        }}""",
    "a nested tuple": f"def @main(%x: {T23}) {{ (((multiply(%x, %x), %x), %x), %x) }}",
    "branches": f"""
        def @main(%x: {T23}, %y: {T23}) {{
          %0 = multiply(%x, %y);
          if (less(sum(%x), 0f64)) {{ exp(%0) }} else {{ multiply(%0, %0) }}
        }}""",
    "closures": """
        def @main(%x: float64, %y: float64) {
          let %f = fn (%a: float64) { multiply(%a, %y) };
          let %twice = fn (%g: fn (float64) -> float64, %a: float64) { %g(%g(%a)) };
          add(%twice(%f, %x), %f(%y))
        }""",
    "checkpoints of operators, of a tuple, inside each other, of branches": """
        def @main(%x: float64, %y: float64) {
          let %a = annotation.checkpoint(multiply(exp(%x), annotation.checkpoint(multiply(%x, %y))));
          let %b = annotation.checkpoint((multiply(%a, %y), sin(%a)));
          let %c = annotation.checkpoint(if (less(%x, 0f64)) { %a } else { multiply(%a, %a) });
          multiply(add(%b.0, %b.1), multiply(%c, annotation.checkpoint(%a)))
        }""",
    "references": """
        def @main(%x: float64) {
          let %r = ref(%x);
          let %u = ref_write(%r, exp(ref_read(%r)));
          multiply(ref_read(%r), %x)
        }""",
    "recursion": """
        def @main(%x: float64) {
          let %power = fn (%n: int32, %y: float64) -> float64 {
            if (equal(%n, 0)) { 1f64 } else { multiply(%y, %power(subtract(%n, 1), %y)) }
          };
          %power(4, %x)
        }""",
    "global functions": """
        def @main(%x: float64) { add(@square(%x), @square(multiply(%x, 2f64))) }
        def @square(%x: float64) -> float64 { multiply(%x, %x) }""",
    "data": "def @main(%x: float64) -> float64 {"
    "@sum(@map(fn (%y: float64) -> float64 { multiply(%y, %y) }, Cons(%x, Cons(2f64, Cons(%x, Nil)))))"
    "}" + LISTS,
}


def with_gradient(text: str) -> IRModule:
    mod = infer_module(parse(text))
    derivative = transform.gradient(mod.get_global_var("main"), mod)
    return infer_module(mod.with_functions({"main": derivative}))


def first(value: Any) -> np.ndarray:
    while isinstance(value, tuple):
        value = value[0]
    return np.asarray(value)


def differences(mod: IRModule, args: list[Any]) -> list[np.ndarray]:
    """The derivative of the sum of the first tensor, by central differences."""
    run = Evaluator(mod).run
    result = []
    for at, arg in enumerate(args):
        slope = np.zeros_like(arg)
        for index in np.ndindex(arg.shape):
            sums = []
            for step in (1e-5, -1e-5):
                moved = [a.copy() for a in args]
                moved[at][index] += step
                sums.append(first(run("main", moved)).sum())
            slope[index] = (sums[0] - sums[1]) / 2e-5
        result.append(slope)
    return result


@each("shortened", [False, True], ids=["as made", "evaluated in part"])
@each("name", PROGRAMS)
def test_derivatives_are_what_differences_tell(name: str, shortened: bool):
    mod = infer_module(parse(PROGRAMS[name]))
    module = with_gradient(PROGRAMS[name])
    if shortened:
        with transform.PassContext(opt_level=4):
            module = infer_module(transform.Sequential.from_text("PartialEvaluate, DeadCodeElimination")(module))
    args = arguments(mod)
    value, slopes = Evaluator(module).run("main", args)
    np.testing.assert_allclose(first(value), first(Evaluator(mod).run("main", args)))
    for got, want in zip(slopes, differences(mod, args), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", ["a product", "closures", "recursion", "global functions", "data"])
def test_partial_evaluation_leaves_plain_code(name: str):
    with transform.PassContext(opt_level=4):
        passes = "PartialEvaluate, DeadCodeElimination(ignore_impurity=True)"
        result = transform.Sequential.from_text(passes)(with_gradient(PROGRAMS[name]))
    kinds = {type(n).__name__ for n in post_order(result["main"].body)}
    assert kinds <= {"Var", "Constant", "Call", "Op", "Tuple", "Let"}


def test_a_gradient_has_a_gradient():
    slope = with_gradient("def @main(%x: float64) { multiply(%x, multiply(%x, %x)) }")["main"]
    mod = parse("""
        def @main(%x: float64) -> float64 { @slope(%x).1.0 }
        def @slope(%x: float64) -> (float64, (float64,)) { (%x, (%x,)) }""")
    mod = infer_module(mod.with_functions({"slope": slope}))
    second = transform.gradient(mod.get_global_var("main"), mod)
    value, slopes = Evaluator(infer_module(mod.with_functions({"main": second}))).run("main", [np.float64(2)])
    assert (float(value), float(slopes[0])) == (12.0, 12.0)


def test_functions_of_the_module_get_a_twin():
    mod = infer_module(parse(PROGRAMS["global functions"]))
    square = mod["square"]
    transform.gradient(mod.get_global_var("main"), mod)
    assert mod["square"] is square
    assert "square_grad" in mod


def test_first_order_is_the_pass_and_deprecated():
    function = infer_module(parse(PROGRAMS["a product"]))["main"]
    with pytest.warns(DeprecationWarning, match="FirstOrderGradient"):
        derivative = transform.gradient(function, mode="first_order")
    value, slopes = Evaluator(infer_module(IRModule.from_expr(derivative))).run("main", [np.float64(3), np.float64(2)])
    assert (float(value), float(slopes[0]), float(slopes[1])) == (18.0, 12.0, 9.0)


@pytest.mark.parametrize("width", [3, 40])
def test_each_part_of_a_split_has_its_own_derivative_however_many_there_are(width: int):
    parts = [f"%{i + 1} = multiply(%0.{i}, {i}f64);\n" for i in range(width)]
    sums = [f"%{width + i} = add(%{width + i - 1 if i > 1 else 1}, %{i + 1});\n" for i in range(1, width)]
    split = f"%0 = split(%x, indices_or_sections={width});\n"
    text = f"def @main(%x: Tensor[({width}), float64]) {{ {split}{''.join(parts + sums)} %{2 * width - 1} }}"
    mod = transform.FirstOrderGradient()(infer_module(parse(text)))
    _, (slopes,) = Evaluator(infer_module(mod)).run("main", [np.ones(width)])
    np.testing.assert_array_equal(slopes, np.arange(width))


def test_all_that_has_no_derivative_is_told_at_once():
    function = infer_module(
        parse("""
        def @main(%x: Tensor[(2), float32], %p: (Tensor[(2), float32],)) { argsort(%x, dtype="int32") }
    """)
    )["main"]
    with pytest.raises(DiagnosticError) as caught:
        transform.gradient(function)
    assert "%p" in str(caught.value)
    assert "argsort" in str(caught.value)


@pytest.mark.parametrize("result", ["((), %x)", "(((), ()), (%x, multiply(%x, %x)))", "((), ((), (), %x), 1f)"])
def test_the_derivative_is_that_of_the_first_tensor(result: str):
    mod = infer_module(parse(f"def @main(%x: float32) {{ {result} }}"))
    derived = infer_module(IRModule({"main": transform.gradient(mod["main"])}))
    assert Evaluator(derived).run("main", [np.float32(3)])[1][0] == 1


@pytest.mark.parametrize("result", ["()", "((), ((),))", "ref(%x)", "(%x, ref(%x))", "fn () { %x }"])
def test_a_result_without_a_derivative_is_named(result: str):
    mod = infer_module(parse(f"def @main(%x: float32) {{ {result} }}"))
    with pytest.raises(DiagnosticError, match="the result has no derivative") as info:
        transform.gradient(mod["main"])
    assert info.value.diagnostics[0].place is not None


def test_misuse_is_explained():
    function = infer_module(parse(PROGRAMS["a product"]))["main"]
    with pytest.raises(PassValueError, match="higher_order"):
        transform.gradient(function, mode="second_order")
    with pytest.raises(PassTypeError, match="only functions"):
        transform.gradient(function.body)
