"""Single instructions as Python functions of the registers of a frame and of the operands (`Step`).

Operands are variables of a step, not part of its text. So instructions of the same form share one function, and what an
instruction has of its own is a tuple of operands: in most cases the one that it has already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from passlab.op.dtypes import array_dtype
from passlab.vm.engines.templates import NAMES, Emitter, Environment
from passlab.vm.generated_code import function_of
from passlab.vm.isa import Instruction
from passlab.vm.isa_notation import Flow

Operands = tuple[Any, ...]
Step = Callable[[list[Any], Operands], Any]
UNROLLED = 8  # registers: longer lists are read in a loop


class StepForm:
    """What all instructions of one form share: the step, and the function that returns the operands for it.

    The step returns what control flow needs: for `TEST` the next instruction, for `CALL` the number of a function and
    its arguments, for `RETURN` the result. `prepare` is None where the step takes the operands of the instruction. Else
    it takes the environment, the instruction and its index in the function, and returns the operands with NumPy's
    dtypes, followed by the objects that the template names and, for `TEST`, by both successors.
    """

    __slots__ = ("prepare", "step")

    def __init__(self, step: Step, prepare: Callable[[Environment, Instruction, int], Operands] | None) -> None:
        self.step = step
        self.prepare = prepare


def step_form(environment: Environment, instruction: Instruction) -> StepForm:
    """Return the form of an instruction, compiled once for all executables."""
    spec = instruction.spec
    key = spec.form(instruction)
    form: StepForm | None = spec.step_forms.get(key)
    if form is None:
        form = spec.step_forms[key] = _compile_form(environment, instruction)
    return form


def step_of(environment: Environment, instruction: Instruction, index: int = 0) -> tuple[Step, Operands]:
    """Return the step of an instruction, the one at `index` of its function, and the operands that it takes."""
    form = step_form(environment, instruction)
    operands = instruction.operands if form.prepare is None else form.prepare(environment, instruction, index)
    return form.step, operands


def _compile_form(environment: Environment, instruction: Instruction) -> StepForm:
    """Compile the step of all instructions of one form."""
    emitter = _StepEmitter(environment, instruction)
    spec, body = instruction.spec, emitter.text
    values = [
        f"array_dtype(i.operands[{n}])" if o.kind == "dtype" else f"i.operands[{n}]" for n, o in enumerate(spec.stored)
    ]
    values += [f"{name}(machine, i)" for name in emitter.constants]
    variables = emitter.parameters + [f"{name}_" for name in emitter.constants]
    if spec.flow is Flow.TEST:
        body = f"return yes if {body} else no"
        values.append("*i.successors(index)")
        variables += ["yes", "no"]
    elif spec.flow in (Flow.CALL, Flow.RETURN):
        body = f"return {body}"
    unpack = [f"{''.join(f'{name}, ' for name in variables)} = o"] if variables else []
    text = "def step(r, o):\n" + "".join(f"    {line}\n" for line in [*unpack, *body.split("\n")])
    names = {**NAMES, **spec.constants, "array_dtype": array_dtype}
    step = function_of(text, "step", names, f"<{spec.mnemonic}>")
    if len(values) == spec.count and not any(o.kind == "dtype" for o in spec.stored):
        return StepForm(step, None)
    text = f"def prepare(machine, i, index):\n    return ({''.join(f'{value}, ' for value in values)})"
    return StepForm(step, function_of(text, "prepare", names, f"<{spec.mnemonic}>"))


class _StepEmitter(Emitter):
    """Emits the code of one form of instructions over the list `r` of registers, with variables for operands.

    `parameters` are these variables in the order of the operands, lists in brackets; `registers` the variables of
    registers.
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
