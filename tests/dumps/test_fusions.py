"""Which operators are in `fusion_33`: what an instruction of HLO calls, after each step."""

import re

import pytest

from passlab.dumps import read
from passlab.dumps.fusions import operations_inside
from passlab.errors import DumpError
from tests.dumps import corpus

PROGRAM = """HloModule jit_f

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %add.1 = f32[] add(%a, %b), metadata={op_name="reduce_sum"}
}

%fused_reduce (p.1: f32[8,4]) -> f32[8] {
  %p.1 = f32[8,4]{1,0} parameter(0)
  %tanh.2 = f32[8,4]{1,0} tanh(%p.1), metadata={op_name="jit(f)/tanh"}
  ROOT %reduce.3 = f32[8]{0} reduce(%tanh.2, %p.1), dimensions={1}, to_apply=%add
}

ENTRY %main.9 (x: f32[8,4]) -> f32[8] {
  %x = f32[8,4]{1,0} parameter(0)
  ROOT %fusion.33 = f32[8]{0} fusion(%x), kind=kLoop, calls=%fused_reduce
}
"""
ROWS = [
    ("fused_reduce", "tanh", "tanh.2", "jit(f)/tanh"),
    ("fused_reduce", "reduce", "reduce.3", ""),
    ("add", "add", "add.1", "reduce_sum"),
]


@pytest.mark.parametrize("name", ["fusion_33", "%fusion.33", "fusion.33", "fused_reduce"])
def test_a_fusion_has_the_operations_that_it_calls_by_any_spelling_of_its_name(name):
    table = operations_inside(PROGRAM, name)
    assert [tuple(row) for row in table.rows] == ROWS


def test_an_instruction_that_calls_nothing_has_nothing_inside():
    assert not operations_inside(PROGRAM, "tanh.2").rows
    with pytest.raises(DumpError, match="no instruction `fusion_34`"):
        operations_inside(PROGRAM, "fusion_34")


def test_each_operation_is_inside_the_entry_or_in_a_computation_that_nothing_calls(tmp_path):
    recording = read(corpus.folder("xla-mlp-grad", tmp_path))
    for step in recording.steps:
        program = recording.program(step)
        names = re.findall(r"(?m)^(?:ENTRY )?%([\w.-]+) \(.*\{$", program)
        roots = [name for name in names if len(re.findall(rf"%{re.escape(name)}(?![\w.-])", program)) == 1]
        lines = re.findall(r"(?m)^  (?:ROOT )?%?([\w.-]+) = (?!.* parameter\()", program)
        inside = {row[2] for root in roots for row in recording.inside(root, step).rows}
        assert inside == set(lines), step
