"""What holds for every standard pass on every program: types, form, meaning, identity, an untouched input, any depth."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np
import pytest

from passlab import transform
from passlab.analysis.well_formed import well_formed
from passlab.errors import PasslabError
from passlab.evaluate import ADTValue, Evaluator, RefValue
from passlab.infer import infer_module
from passlab.ir import Constant, Function, If, IRModule, Let, TensorType, Var
from passlab.ir.equal import structural_equal, structural_hash
from passlab.op import make
from passlab.passes import PASSES
from passlab.text.parser import parse
from tests.each import Failures, each
from tests.passes.law_programs import PROGRAMS, arguments, module

OPTIONS: dict[str, dict[str, Any]] = {
    "AnnotateTarget": {"targets": ["toy"]},
    "ConvertLayout": {"desired_layouts": {"nn.conv2d": ["NHWC", "default"]}},
    "EtaExpand": {"expand_constructor": True},
    "ToMixedPrecision": {"missing_op_mode": 2},
    "CombineParallelConv2D": {"min_num_branches": 2},
    "CombineParallelDense": {"min_num_branches": 2},
    "SplitArgs": {"max_function_args": 3},
    "DeadCodeElimination": {"inline_once": True},
}
CHANGES_TYPES = {
    "ToMixedPrecision",
    "FirstOrderGradient",
    "ToCPS",
    "ExtractFusedFunctions",
}  # what they return is another kind of result
NEEDS_DATAFLOW = {"FirstOrderGradient"}
REORDERS_EFFECTS: set[str] = set()
GROWS = {"EtaExpand", "FirstOrderGradient", "ToCPS", "ToMixedPrecision"}  # there is more to do in what they make
WRITES_SPANS = {"AnnotateSpans", "CapturePostDfsIndexInSpans"}  # they change nothing else
FINDS_SOMETHING = {*GROWS, *WRITES_SPANS, "ExtractFusedFunctions"}  # in any program, once
UNROLLS = {("PartialEvaluate", "recursion")}  # each run takes one more step of a loop without a known end
LOWERS = {
    "ManifestAlloc",
    "ManifestLifetimes",
    "MemoryPlan",
    "LowerTE",
}  # text does not say the attributes of their calls
EVERY_PASS = sorted(PASSES)


def make_pass(name: str) -> transform.Pass:
    return transform.get_pass(name, **OPTIONS.get(name, {}))


def run(name: str, mod: IRModule) -> IRModule:
    """Run one pass with what it requires."""
    with transform.PassContext(opt_level=4):
        return transform.Sequential([make_pass(name)])(mod)


@cache
def module_of(program: str) -> IRModule:
    return module(program)


@cache
def made_by(name: str, program: str) -> IRModule | None:
    """What a pass makes of a program, or None where it refuses it, kindly."""
    try:
        return infer_module(run(name, module_of(program)))
    except PasslabError:
        if name not in NEEDS_DATAFLOW:
            raise
        return None


@cache
def value_of_program(program: str) -> Any:
    mod = module_of(program)
    return Evaluator(mod).run("main", arguments(mod))


def flat(value: Any) -> list[np.ndarray]:
    if isinstance(value, (tuple, list)):
        return [a for v in value for a in flat(v)]
    if isinstance(value, ADTValue):
        return [a for v in value.fields for a in flat(v)]
    return flat(value.value) if isinstance(value, RefValue) else [np.asarray(value)]


def same_numbers(name: str, got: Any, want: Any) -> None:
    contract = make_pass(name).contract
    got, want = flat(got), flat(want)
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        if contract is not None and contract.exact:
            np.testing.assert_array_equal(a, b)
        else:
            np.testing.assert_allclose(
                a.astype("float64"), b.astype("float64"), rtol=1e-2 if name == "FastMath" else 1e-4, atol=1e-5
            )


@pytest.fixture
def subtests(subtests: pytest.Subtests) -> Failures:
    return Failures(subtests)


# The programs are subtests: each that fails is reported, and `continue`, never `return`, leaves one out.
@pytest.mark.parametrize("name", EVERY_PASS)
class TestEveryPassOnEveryProgram:
    def test_the_result_is_typed_and_well_formed(self, name: str, subtests: Failures):
        for program in PROGRAMS:
            with subtests.test(program=program):
                if (result := made_by(name, program)) is not None:
                    assert well_formed(result)

    def test_the_text_of_the_result_is_the_result(self, name: str, subtests: Failures):
        for program in PROGRAMS if name not in LOWERS else ():
            with subtests.test(program=program):
                if (result := made_by(name, program)) is not None:
                    assert structural_equal(infer_module(parse(result.astext(show_meta_data=True))), result)

    def test_the_program_means_the_same(self, name: str, subtests: Failures):
        for program in PROGRAMS:
            if name in CHANGES_TYPES or (name in REORDERS_EFFECTS and program == "references"):
                continue
            with subtests.test(program=program):
                if (mod := made_by(name, program)) is not None:
                    value = Evaluator(mod).run("main", arguments(module_of(program)))
                    same_numbers(name, value, value_of_program(program))

    def test_the_input_is_untouched(self, name: str, subtests: Failures):
        for program in PROGRAMS:
            with subtests.test(program=program):
                mod = module(program)
                functions, before = dict(mod.items()), structural_hash(mod)
                if made_by(name, program) is not None:
                    run(name, mod)
                assert all(dict(mod.items())[n] is f for n, f in functions.items())
                assert structural_hash(mod) == before

    def test_a_second_run_has_nothing_to_do(self, name: str, subtests: Failures):
        for program in PROGRAMS:
            if name in GROWS or (name, program) in UNROLLS:
                continue  # there is always more to do
            with subtests.test(program=program):
                if (once := made_by(name, program)) is not None:
                    assert run(name, once) is once

    def test_where_nothing_changes_the_module_stays_the_same_object(self, name: str, subtests: Failures):
        for program in PROGRAMS if name not in WRITES_SPANS else ():
            with subtests.test(program=program):
                mod = module_of(program)
                if (result := made_by(name, program)) is not None and structural_equal(result, mod):
                    assert run(name, mod) is mod

    def test_alone_on_an_untyped_program_it_is_right_or_says_what_it_needs(self, name: str, subtests: Failures):
        for program in PROGRAMS:
            with subtests.test(program=program):
                check_alone(name, program)


def test_every_law_holds_for_some_program_of_every_pass():
    assert all(any(made_by(name, program) is not None for program in PROGRAMS) for name in EVERY_PASS)


def check_alone(name: str, program: str) -> None:
    untyped = parse(PROGRAMS[program])
    refusal = ""
    with transform.PassContext(opt_level=4):
        try:
            mod = make_pass(name)(untyped)
        except PasslabError as error:
            refusal = str(error)
    if refusal:
        if name not in NEEDS_DATAFLOW:
            assert "InferType" in refusal
            assert "InferType" not in make_pass(name).info.required
        return
    mod = infer_module(mod)
    assert well_formed(mod)
    if name not in CHANGES_TYPES and not (name in REORDERS_EFFECTS and program == "references"):
        same_numbers(name, Evaluator(mod).run("main", arguments(module_of(program))), value_of_program(program))


@each("name", sorted(set(EVERY_PASS) - FINDS_SOMETHING))
def test_where_there_is_nothing_to_do_the_module_stays_the_same_object(name: str):
    mod = module("nothing to do")
    assert run(name, mod) is mod


def nest(name: str, mod: IRModule) -> None:
    try:
        infer_module(run(name, mod))
    except PasslabError:
        assert name in NEEDS_DATAFLOW


def one(value: float) -> Constant:
    return Constant(np.float32(value))


@lru_cache(maxsize=1)
def deep(kind: str, depth: int) -> IRModule:
    """A program nested `depth` deep, of calls, lets or branches."""
    x, c = Var("x", TensorType((2,), "float32")), Var("c", TensorType((), "bool"))
    body: Any = x
    if kind == "calls":
        for i in range(depth):
            body = make("add" if i % 2 else "multiply", body, one(i % 7))
    elif kind == "branches":
        for i in range(depth):
            body = If(c, make("add", x, one(i % 7)), body)
    else:
        names = [Var(f"v{i}") for i in range(depth)]
        body = names[-1]
        for i in reversed(range(depth)):
            body = Let(names[i], make("add", names[i - 1] if i else x, one(i % 7)), body)
    return infer_module(IRModule.from_expr(Function([x, c], body)))


@pytest.mark.rotating
@pytest.mark.parametrize("name", EVERY_PASS)
@pytest.mark.parametrize("kind", ["calls", "lets", "branches"])
def test_programs_may_nest_deep(name: str, kind: str):
    nest(name, deep(kind, 2000))


@pytest.mark.nightly
@pytest.mark.in_parts
@pytest.mark.parametrize("name", EVERY_PASS)
@pytest.mark.parametrize("kind", ["calls", "lets", "branches"])
def test_programs_may_nest_a_hundred_thousand_deep(name: str, kind: str):
    nest(name, deep(kind, 100_000))


@each("name", EVERY_PASS)
def test_a_program_with_more_paths_than_atoms_is_no_larger_than_its_nodes(name: str):
    x = Var("x", TensorType((2,), "float32"))
    body: Any = x
    for _ in range(200):
        body = make("multiply", make("add", body, body), body)
    run(name, infer_module(IRModule.from_expr(Function([x], make("exp", body)))))


def test_the_laws_catch_a_pass_that_breaks_them():
    mod = infer_module(parse("def @main(%x: Tensor[(3), float32]) { exp(%x) }"))
    wrong = infer_module(parse("def @main(%x: Tensor[(3), float32]) { add(exp(%x), 1e-3f) }"))
    args = arguments(mod)
    values = [Evaluator(m).run("main", args) for m in (mod, wrong)]
    with pytest.raises(AssertionError):
        same_numbers("ToANormalForm", *values)
