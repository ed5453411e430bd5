"""AnnotateTarget: what is marked for whom, where references and functions are involved."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from passlab import relay, transform
from passlab.analysis.regions import is_begin
from passlab.infer import infer_module
from passlab.ir import Call, Function, Var
from passlab.ir.equal import assert_structural_equal
from passlab.ir.walk import post_order
from passlab.text.parser import parse
from passlab.transform.registering import register_op_attr, unregister_op_attr

CELL = "def @main(%x: float32) { let %r = ref(%x); let %u = ref_write(%r, nn.relu(ref_read(%r))); ref_read(%r) }"
LOOP = """def @main(%x: float32, %n: int32) {
  let %f = fn (%i: int32, %y: float32) -> float32 { if (less(%i, 1)) { %y } else { %f(subtract(%i, 1), nn.relu(%y)) } };
  %f(%n, %x) }"""


@pytest.fixture(scope="module", autouse=True)
def toy_compiler() -> Iterator[None]:
    register_op_attr("nn.relu", "target.toy", lambda call: True)
    yield
    unregister_op_attr("nn.relu", "target.toy")


def marked(text: str, non_calls: bool) -> Function:
    return transform.AnnotateTarget("toy", non_calls)(infer_module(parse(text)))["main"]


def test_references_are_marked_and_stay_here():
    expected = """def @main(%x: float32) {
      let %r = annotation.compiler_end(ref(BEGIN(%x, DEFAULT)), DEFAULT);
      %0 = annotation.compiler_end(ref_read(BEGIN(%r, DEFAULT)), DEFAULT);
      %1 = annotation.compiler_end(nn.relu(BEGIN(%0, compiler="toy")), compiler="toy");
      let %u = annotation.compiler_end(ref_write(BEGIN(%r, DEFAULT), BEGIN(%1, DEFAULT)), DEFAULT);
      annotation.compiler_end(ref_read(BEGIN(%r, DEFAULT)), DEFAULT) }"""
    expected = expected.replace("BEGIN", "annotation.compiler_begin").replace("DEFAULT", 'compiler="default"')
    assert_structural_equal(marked(CELL, True), infer_module(parse(expected))["main"])


def test_without_non_call_operators_references_and_calls_of_variables_are_not_marked():
    expected = """def @main(%x: float32) {
      let %r = ref(%x);
      %0 = annotation.compiler_end(nn.relu(BEGIN(ref_read(%r), compiler="toy")), compiler="toy");
      let %u = ref_write(%r, %0);
      ref_read(%r) }"""
    expected = expected.replace("BEGIN", "annotation.compiler_begin")
    assert_structural_equal(marked(CELL, False), infer_module(parse(expected))["main"])
    calls = [n for n in post_order(marked(LOOP, False)) if isinstance(n, Call) and isinstance(n.op, Var)]
    assert len(calls) == 2
    assert not any(is_begin(arg) for call in calls for arg in call.args)


@pytest.mark.parametrize("non_calls", [True, False])
@pytest.mark.parametrize(("text", "args"), [(CELL, [-1.0]), (LOOP, [2.0, np.int32(3)])])
def test_what_is_cut_out_means_the_same(text: str, args: list[object], non_calls: bool):
    mod = infer_module(parse(text))
    parts = [transform.AnnotateTarget("toy", non_calls), transform.MergeCompilerRegions(), transform.PartitionGraph()]
    result = transform.Sequential(parts)(mod)
    assert any(f.attrs.get("Compiler") == "toy" for _, f in result.items())
    arrays = [np.float32(a) if isinstance(a, float) else a for a in args]
    for kind in ("debug", "aot"):
        assert relay.create_executor(kind, result).evaluate()(*arrays) == max(arrays[0], np.float32(0))
