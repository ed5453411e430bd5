"""Single instructions as Python functions of the registers of a frame (`Step`).

Operands are variables of a function around the step, not part of its text. So instructions of the same form share one
text, which is compiled once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from passlab.op.dtypes import array_dtype
from passlab.vm.generated_code import function_of
from passlab.vm.instruction_spec import Flow
from passlab.vm.isa import Instruction
from passlab.vm.semantics import NAMES, Emitter, Environment

Step = Callable[[list[Any]], Any]
UNROLLED = 8  # registers: longer lists are read in a loop


def step_of(environment: Environment, instruction: Instruction, index: int = 0) -> Step:
    """Return the step of an instruction, the one at `index` of its function.

    It returns what control flow needs: for `TEST` the next instruction, for `CALL` the number of a function and its
    arguments, for `RETURN` the result.
    """
    spec = instruction.spec
    form = spec.form(instruction)
    maker = spec.step_makers.get(form)
    if maker is None:
        maker = spec.step_makers[form] = _compile_step_maker(environment, instruction)
    step: Step = maker(environment, instruction, index)
    return step


def _compile_step_maker(
    environment: Environment, instruction: Instruction
) -> Callable[[Environment, Instruction, int], Step]:
    """Compile the function that makes the steps of all instructions of one form."""
    emitter = _StepEmitter(environment, instruction)
    spec, body = instruction.spec, emitter.text
    head = [f"{''.join(f'{name}, ' for name in emitter.parameters)} = i.operands"] if emitter.parameters else []
    head += [f"{o.name}_ = array_dtype({o.name}_)" for o in spec.stored if o.kind == "dtype"]
    head += [f"{name}_ = {name}(machine, i)" for name in emitter.constants]
    if spec.flow is Flow.TEST:
        body = f"return yes if {body} else no"
        head.append("yes, no = i.successors(index)")
    elif spec.flow in (Flow.CALL, Flow.RETURN):
        body = f"return {body}"
    lines = [*head, "def step(r):", *(f"    {line}" for line in body.split("\n")), "return step"]
    names = {**NAMES, **spec.constants, "array_dtype": array_dtype}
    text = "def make(machine, i, index):\n" + "".join(f"    {line}\n" for line in lines)
    return function_of(text, "make", names, f"<{spec.mnemonic}>")


class _StepEmitter(Emitter):
    """Emits the code of one form of instructions over the list `r` of registers, with variables for operands.

    `parameters` are these variables in the order of the operands, lists in brackets; `registers` those of registers.
    """

    def __init__(self, environment: Environment, instruction: Instruction) -> None:
        super().__init__(environment)
        self.parameters: list[str] = []
        self.constants: list[str] = []
        self.registers: list[str] = []
        operands: list[Any] = []
        for operand, value in zip(instruction.spec.stored, instruction.operands, strict=True):
            name, first = operand.name, len(self.registers)
            if operand.kind != "reg":
                self.parameters.append(f"{name}_")
                operands.append(value)
            elif not operand.many:
                self.parameters.append(f"{name}_")
                self.registers.append(f"{name}_")
                operands.append(first)
            else:
                unrolled = len(value) <= UNROLLED
                items = [f"{name}_{n}" if unrolled else f"{name}_[{n}]" for n in range(len(value))]
                self.parameters.append(f"[{', '.join(items)}]" if unrolled else f"{name}_")
                self.registers += items
                operands.append(tuple(range(first, len(self.registers))))
        self.text = self.code(Instruction(instruction.opcode, *operands, node=instruction.node))

    def constant(self, value: Any, name: str) -> str:
        """Return the variable of an object that differs between instructions."""
        if name not in self.constants:
            self.constants.append(name)
        return f"{name}_"

    def number(self, name: str, value: Any, kind: str) -> str:
        """Return the variable of an operand."""
        return f"{name}_"

    def read(self, register: int) -> str:
        """Return an element of the list of registers."""
        return f"r[{self.registers[register]}]"

    target = read  # an element of a list is written as it is read

    def tensor(self, register: int) -> str:
        """Return an element of the list: steps keep no NumPy scalars there."""
        return self.read(register)

    def items(self, registers: Sequence[int], read: Callable[[int], str]) -> str:
        """Return elements of the list, a comma behind each; a long list is a comprehension."""
        # An element of an unrolled list is a variable `args_0`, one of a long list `args_[0]`.
        if not registers or not self.registers[registers[0]].endswith("]"):
            return super().items(registers, read)
        name, first = self.registers[registers[0]].removesuffix("]").split("[")
        item = "array(r[i])" if read == self.array else "r[i]"
        return f"*[{item} for i in {name}[{first}:{int(first) + len(registers)}]], "
