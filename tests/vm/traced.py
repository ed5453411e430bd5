"""What the tests of traces and of the debugger run: programs with calls, data, loops, and bytecode that reuses memory."""

from __future__ import annotations

import numpy as np

from passlab.debugger.instant import same_values
from passlab.debugger.values import Unwritten
from passlab.vm.executable import Executable
from passlab.vm.isa import Instruction, Opcode

TREE = """
type Tree[A] { Leaf(A), Node(Tree[A], Tree[A]) }
def @build(%n: int32, %v: float32) -> Tree[float32] {
  if (%n == 0) { Leaf(%v) } else { Node(@build(%n - 1, %v * 2f), @build(%n - 1, %v + 1f)) }
}
def @total(%t: Tree[float32]) -> float32 {
  match (%t) { Leaf(%v) => %v, Node(%l, %r) => @total(%l) + @total(%r) }
}
def @main(%n: int32) -> float32 { @total(@build(%n, 1f)) }
"""
LOGARITHM = """
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) {
  let %h = nn.dense(%x, %w);
  let %l = log(%h - 1f);
  nn.softmax(%l)
}
"""


def reusing_memory(exe: Executable, kernel: int) -> Executable:
    """A program of its own whose kernel writes twice into the same storage: $1 + $1 into $3, then $3 + $3 over it."""
    function = exe.functions[0]
    code = (
        Instruction(Opcode.LOAD_CONSTI, 0, 1),
        Instruction(Opcode.LOAD_CONSTI, 64, 2),
        Instruction(Opcode.ALLOC_STORAGE, 2, 64, "float32", 0, 3, ()),
        Instruction(Opcode.ALLOC_TENSOR, 3, 1, "float32", 4, (4,)),
        Instruction(Opcode.INVOKE_PACKED, kernel, 1, (0, 4)),
        Instruction(Opcode.ALLOC_ADT, 0, 5, (4,)),
        Instruction(Opcode.INVOKE_PACKED, kernel, 1, (4, 4)),
        Instruction(Opcode.INVOKE_PACKED, kernel, 1, (4, 4)),
        Instruction(Opcode.RET, 5),
    )
    result = type(function)("main", ("x",), code, 6, (0,))
    return Executable((result,), exe.constants, exe.kernel_names, exe.kernel_functions)


def same_registers(machine_value: object, traced: object) -> bool:
    """Whether a register of a stepping machine holds what the trace says; unwritten memory may hold anything."""
    if isinstance(traced, Unwritten):
        return isinstance(machine_value, np.ndarray) and machine_value.shape == traced.shape
    return same_values(machine_value, traced)
