"""Every option of every standard pass changes what the pass does, and refuses what it cannot be."""

from __future__ import annotations

import inspect
import logging
from typing import Any

import numpy as np
import pytest

import passlab
from passlab import relay, transform
from passlab.errors import PasslabError
from passlab.infer import infer_module
from passlab.ir.op import is_call_of
from passlab.pattern import is_op, wildcard
from passlab.text.parser import parse
from passlab.transform.registry import pass_names
from tests.each import each
from tests.passes.docstring_programs import all_cases

CALLED = "def @main(%x: float32) -> float32 { @f(exp(%x)) }  def @f(%y: float32) -> float32 { tanh(%y) }"
PARTS = """
def @main(%x: Tensor[(2), float32]) { @toy_0(%x) }
def @toy_0(%x: Tensor[(2), float32], Primitive=1, Compiler="toy", global_symbol="toy_0") -> Tensor[(2), float32] {
  add(%x, 1f)
}"""
OURS = """def @main(%x: Tensor[(2), float32]) {
  fn (%a: Tensor[(2), float32], Primitive=1, Compiler="toy", global_symbol="toy_0") { exp(%a) }(%x)
}"""
QUANTIZED = 'def @main() { qnn.quantize(1.5f, 0.5f, 0, out_dtype="int8") }'
COMPOSITE = """def @main(%x: Tensor[(2), float32]) {
  %0 = fn (%p: Tensor[(2), float32], Composite="toy.exp") -> Tensor[(2), float32] { exp(%p) };
  (%0(%x), 1f).0
}"""
COMPILED = """def @main(%x: Tensor[(2), float32]) {
  annotation.compiler_end(add(annotation.compiler_begin(%x, compiler="toy"), 2f), compiler="toy")
}"""
UNKNOWN = "def @main(%x: Tensor[(2), float32]) { sinh(%x) }"
FAKE = """def @main(%x: Tensor[(2, 2), int8]) {
  qnn.quantize(nn.softmax(qnn.dequantize(%x, 0.5f, 0, out_dtype="float32")), 0.00390625f, -128, out_dtype="int8")
}"""
ALONE = 'def @main(%x: Tensor[(2), int8]) { nn.relu(qnn.dequantize(%x, 0.5f, 0, out_dtype="float32")) }'
CONSTANT = relay.Function([], relay.exp(relay.const(np.ones(2, "float32"))))
STORED = passlab.IRModule.from_expr(CONSTANT).astext()
DENSES = """def @main(%x: Tensor[(3, 4), float32], %a: Tensor[(5, 4), float32], %b: Tensor[(5, 4), float32]) {
  (nn.dense(%x, %a), nn.dense(%x, %b))
}"""
SPARSE = {"weight_name": ["w"], "weight_shape": [[2, 1, 4, 2, 5]]}


def no_exp(call: Any) -> bool:
    return is_call_of(call, "exp")


# Other options that are needed, values of which one at least makes a difference, and programs for those that the
# examples of the pass do not have.
OPTIONS: dict[tuple[str, str], tuple[dict[str, Any], list[Any], list[str]]] = {
    ("AnnotateTarget", "targets"): ({}, [["toy"], ["other"]], [PARTS.replace('"toy"', '"x"')]),
    ("AnnotateTarget", "include_non_call_ops"): ({"targets": ["toy"]}, [True, False], [COMPOSITE]),
    ("ChangeBatch", "data"): ({}, [{"x": 0}, {"x": 1}], []),
    ("ChangeBatch", "batch_size"): ({"data": {"x": 0}}, [2, 3], []),
    ("CombineParallelBatchMatmul", "min_num_branches"): ({}, [2, 9], []),
    ("CombineParallelConv2D", "min_num_branches"): ({}, [2, 9], []),
    ("CombineParallelDense", "min_num_branches"): ({}, [2, 9], []),
    ("CombineParallelDense", "to_batch"): ({"min_num_branches": 2}, [True, False], [DENSES]),
    ("Conv2dToSparse", "weight_name"): ({"weight_shape": [[2, 1, 4, 2, 5]]}, [["w"], ["v"]], []),
    ("Conv2dToSparse", "weight_shape"): ({"weight_name": ["w"]}, [[[2, 1, 4, 2, 5]], [[3, 1, 4, 2, 5]]], []),
    ("Conv2dToSparse", "layout"): (SPARSE, ["NHWC", "NCHW"], []),
    ("Conv2dToSparse", "kernel_size"): (SPARSE, [1, 3], []),
    ("ConvertLayout", "desired_layouts"): ({}, [{"nn.conv2d": [x, "default"]} for x in ("NHWC", "NCHW")], []),
    ("DeadCodeElimination", "inline_once"): ({}, [True, False], []),
    ("DeadCodeElimination", "ignore_impurity"): (
        {},
        [True, False],
        ["def @main() { let %r = ref(1); let %u = ref_write(%r, 2); 3 }"],
    ),
    ("Defunctionalization", "entry"): ({}, ["main", "f"], [CALLED]),
    ("DenseToSparse", "weight_name"): ({"weight_shape": [[2, 1, 4, 2, 5]]}, [["w"], ["v"]], []),
    ("DenseToSparse", "weight_shape"): ({"weight_name": ["w"]}, [[[2, 1, 4, 2, 5]], [[3, 1, 4, 2, 5]]], []),
    ("EliminateCommonSubexpr", "fskip"): ({}, [None, no_exp], ["def @main(%x: float32) { exp(%x) + exp(%x) }"]),
    ("EtaExpand", "expand_constructor"): ({}, [True, False], []),
    ("EtaExpand", "expand_global_var"): (
        {},
        [True, False],
        ["def @main() -> fn (float32) -> float32 { @f }  def @f(%y: float32) -> float32 { tanh(%y) }"],
    ),
    ("FakeQuantizationToInteger", "hard_fail"): ({}, [True, False], []),
    ("FakeQuantizationToInteger", "use_qat"): ({}, [True, False], [ALONE]),
    ("FakeQuantizationToInteger", "optional_qnn_ops"): ({}, [None, ["nn.softmax"]], [FAKE]),
    ("FoldConstant", "fold_qnn"): ({}, [True, False], [QUANTIZED]),
    ("FuseOps", "fuse_opt_level"): ({}, [0, 2], [CALLED.replace("@f(exp(%x))", "exp(tanh(%x))")]),
    ("InlineCompilerFunctionsBoundTo", "global_vars"): ({}, [["toy_0"], ()], [PARTS]),
    ("InlineComposites", "prefix"): ({}, ["toy.", "other."], [COMPOSITE]),
    ("Legalize", "legalize_map_attr_name"): ({}, ["FTVMLegalize", "FTVMOfNoOperator"], []),
    ("MarkCompilerFunctionsAsExtern", "compiler_filter"): ({}, ["toy", "other"], []),
    ("MergeComposite", "pattern_table"): ({}, [(), [("toy.exp", is_op("exp")(wildcard()))]], [CALLED]),
    ("OutlineCompilerFunctionsWithExistingGlobalSymbols", "compiler_filter"): ({}, ["toy", "other"], []),
    ("PartitionGraph", "mod_name"): ({}, ["default", "mine"], []),
    ("PartitionGraph", "bind_constants"): ({}, [True, False], [COMPILED]),
    ("PlanDevices", "config"): ({}, ["cuda", "cpu"], []),
    ("PrintIR", "header"): ({}, ["", "mine"], [CALLED]),
    ("PrintIR", "show_meta_data"): ({}, [True, False], [STORED]),
    ("RemoveUnusedFunctions", "entry_functions"): ({}, [["main"], ["f"]], [CALLED]),
    ("SimplifyFCTranspose", "target_weight_name"): ({}, [["w"], ["v"]], []),
    ("SplitArgs", "max_function_args"): ({}, [3, 4], []),
    ("ToANormalForm", "annotate"): ({}, [True, False], [CALLED]),
    ("ToMixedPrecision", "mixed_precision_type"): ({}, ["float16", "bfloat16"], []),
    ("ToMixedPrecision", "missing_op_mode"): ({}, [0, 1, 2], [UNKNOWN]),
}


def options_of(name: str) -> list[str]:
    factory = getattr(transform, name)
    parameters = inspect.signature(factory).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return ["entry"]  # of Defunctionalization, which is also called with a function
    return [p.name for p in parameters]


def examples(name: str) -> list[str]:
    return [case.before for case in all_cases() if case.factory == name]


def outcome(name: str, options: dict[str, Any], text: str, caplog: Any) -> str:
    caplog.clear()
    try:
        with transform.PassContext(opt_level=4):
            result = getattr(transform, name)(**options)(infer_module(parse(text)))
    except PasslabError as error:
        return str(error)
    return f"{result.astext()}{caplog.text}"


def test_every_option_is_here() -> None:
    named = [name for name in pass_names() if hasattr(transform, name) and options_of(name)]
    assert {(name, option) for name in named for option in options_of(name)} == set(OPTIONS)


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_an_option_changes_what_the_pass_does(name: str, option: str, caplog: Any) -> None:
    caplog.set_level(logging.INFO, "passlab.PrintIR")
    others, values, programs = OPTIONS[name, option]
    programs = [*programs, *examples(name)]
    assert programs
    outcomes = [{outcome(name, {**others, option: value}, text, caplog) for value in values} for text in programs]
    assert max(map(len, outcomes)) > 1


class Nothing:
    """What no option can be."""


@each(("name", "option"), OPTIONS)
def test_an_option_refuses_what_it_cannot_be(name: str, option: str) -> None:
    others = OPTIONS[name, option][0]
    with pytest.raises(PasslabError):
        getattr(transform, name)(**{**others, option: Nothing()})(infer_module(parse(CALLED)))
