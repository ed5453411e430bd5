"""The notation of the instruction table: operands, semantics, control flow.

An operand is declared as `name:kind`, where kind is one of

    reg     a register that is read           reg!    a register that is written
    int     a plain number                    index   a number into a table (its name says which)
    offset  a jump, relative to the instruction itself
    dtype   a dtype, serialized as code, bits, lanes
    reg*    registers that are read           int*    numbers;
            lists are counted by an operand of kind `count(name)` that stands earlier

The semantics is a sentence for people and `code` for the engines: a Python template with operands in braces, which each
engine replaces by its texts for registers (see `engines.templates`). In it

    {x}         the object in a register; a list of registers is its objects with commas: `({args})` is a tuple
    {x:array}   the same, with any number turned into an array: for fields of other objects
    {x:tensor}  the same, with a NumPy scalar turned into an array: for arguments of NumPy
    {x:shape}   the numbers in a register's tensor, as a tuple
    {dst}       the register that is written: exactly one, except for control flow and kernels
    {shape}     numbers and lists of numbers as they are, a dtype as NumPy's
    {name}      the result of the entry's function of that name, on the `Environment` and the instruction
    {inputs}    the arguments of a kernel call without its last `outputs`, which are {results}

and nothing else but Python and the names of `engines.templates.NAMES`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import cache, cached_property
from itertools import chain
from operator import itemgetter
from string import Formatter
from typing import Any

from passlab.errors import VerifyError


class Flow(IntEnum):
    """The control flow after an instruction, and the kind of its code."""

    NEXT = 0  # to the next instruction; the code is statements
    JUMP = 1  # by its offset; no code
    TEST = 2  # by its first offset where the code is true, else by its second
    CALL = 3  # to a function; the code is its number and arguments; `dst` becomes its result
    RETURN = 4  # to the caller; the code is the result
    STOP = 5  # the code raises an error


class Effect(Enum):
    """What an instruction makes or changes."""

    NONE = "it makes nothing: its result is an object that was there"
    NUMBER = "it makes a plain number"
    OBJECT = "it makes a data value or a closure"
    STORAGE = "it makes a storage of the bytes in its register `size`"
    TENSOR = "it makes a tensor"
    KERNEL = "it writes into the tensors of its results"


Code = str | Callable[[Any], str]  # a template, or a function of the instruction that returns one
Registers = Callable[[tuple[Any, ...]], tuple[int, ...]]
Constant = Callable[[Any, Any], Any]  # the object of a name in the code, of the `Environment` and the instruction


@dataclass(frozen=True)
class Operand:
    """One operand: its `kind`, `many` for lists; `counts` names the list whose length it is."""

    name: str
    kind: str
    many: bool = False
    writes: bool = False
    counts: str = ""


@dataclass(frozen=True)
class InstructionSpec:
    """One entry of the table: mnemonic, operands, template of the listing, sentence, code, flow and effect.

    `constants` are the names in the code that are not operands.
    """

    opcode: Any  # an `Opcode`
    mnemonic: str
    operands: tuple[Operand, ...]
    listing: str
    sentence: str
    code: Code
    flow: Flow
    effect: Effect
    constants: Mapping[str, Constant]

    @cached_property
    def stored(self) -> tuple[Operand, ...]:
        """The operands that an `Instruction` has: all but the counts, which follow from the lists."""
        return tuple(o for o in self.operands if not o.counts)

    @cached_property
    def count(self) -> int:
        """The number of stored operands."""
        return len(self.stored)

    @cached_property
    def lists(self) -> tuple[int, ...]:
        """The indices of lists among the stored operands."""
        return tuple(index for index, o in enumerate(self.stored) if o.many)

    @cached_property
    def reads(self) -> Registers:
        """A function from operands to the registers that the instruction reads, in order."""
        return _getter([(index, o.many) for index, o in enumerate(self.stored) if o.kind == "reg" and not o.writes])

    @cached_property
    def writes(self) -> Registers:
        """A function from operands to the registers that the instruction writes."""
        return _getter([(index, o.many) for index, o in enumerate(self.stored) if o.kind == "reg" and o.writes])

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """The indices of jump offsets among the stored operands."""
        return tuple(index for index, o in enumerate(self.stored) if o.kind == "offset")

    @cached_property
    def ends_block(self) -> bool:
        """Whether another instruction of the function than the next, or none, may follow."""
        return bool(self.offsets) or self.flow in (Flow.RETURN, Flow.STOP)

    @cached_property
    def allocates(self) -> bool:
        """Whether an instruction takes memory besides the memory of tensors, which are inside storages."""
        return self.effect in (Effect.STORAGE, Effect.OBJECT)

    @property
    def transfers_control(self) -> bool:
        """Whether control may go elsewhere than to the next instruction, also for the time of a call."""
        return self.flow is not Flow.NEXT

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The names in the code whose object `dst` may become unchanged: of a move its operand, of most others none."""
        return _sources(self.code) if isinstance(self.code, str) else ()

    @cached_property
    def copied_name(self) -> str:
        """The name in the code whose object `dst` always becomes; "" where something is computed."""
        # The whole code must be `{dst} = {name}`.
        return self.sources[0] if self.code == f"{{dst}} = {{{''.join(self.sources)}}}" else ""

    @cached_property
    def by_name(self) -> Mapping[str, Operand]:
        """The stored operands by name."""
        return {o.name: o for o in self.stored}

    @cached_property
    def form(self) -> Callable[[Any], Any]:
        """A function from an instruction to all that the text of its step depends on.

        These are the lengths of its lists, the number of results of a kernel and, where it varies, the template.
        """
        lists, code = self.lists, self.code
        if self.effect is Effect.KERNEL:
            outputs = self.operand_index["outputs"]
            return lambda i: (i.operands[outputs], *[len(i.operands[index]) for index in lists])
        if not isinstance(code, str):
            return lambda i: (code(i), *[len(i.operands[index]) for index in lists])
        if not lists:
            return lambda i: ()
        if len(lists) == 1:
            return lambda i: len(i.operands[lists[0]])
        return lambda i: tuple([len(i.operands[index]) for index in lists])

    @cached_property
    def has_one_form(self) -> bool:
        """Whether the text of the step is the same for all instructions with this opcode."""
        return not self.lists and self.effect is not Effect.KERNEL and isinstance(self.code, str)

    @cached_property
    def step_forms(self) -> dict[Any, Any]:
        """A cache of `engines.single_steps`: the compiled steps, by form of the instruction."""
        return {}

    @cached_property
    def is_pair(self) -> bool:
        """Whether the code of a call is a literal pair of function and arguments."""
        first = _syntax_of(str(self.code)).body[:1]
        return any(isinstance(s, ast.Expr) and isinstance(s.value, ast.Tuple) for s in first)

    def kind(self, name: str) -> str:
        """Return the kind of a stored operand, "" for any other name."""
        operand = self.by_name.get(name)
        return operand.kind if operand else ""

    @cached_property
    def operand_index(self) -> Mapping[str, int]:
        """The index of each name among the stored operands."""
        return {o.name: index for index, o in enumerate(self.stored)}


def _getter(indices: Sequence[tuple[int, bool]]) -> Registers:
    """Return a function that gets registers from operands; an index with True belongs to a list of registers."""
    if not any(many for _, many in indices):
        single = [index for index, _ in indices]
        if len(single) > 1:
            return itemgetter(*single)
        # A slice, since the getter of one index would return no tuple; it is faster than a function in Python.
        return itemgetter(slice(single[0], single[0] + 1) if single else slice(0))
    if len(indices) == 1:
        return itemgetter(indices[0][0])  # the operand is a tuple of registers already

    def flat(operands: tuple[Any, ...]) -> tuple[int, ...]:
        parts = [operands[index] if many else (operands[index],) for index, many in indices]
        return tuple(chain.from_iterable(parts))

    return flat


@cache
def parts_of(code: str) -> tuple[tuple[str, str, str], ...]:
    """Return the parts of a template: a text, the name in the braces behind it, and its mode after the colon."""
    return tuple((text, name or "", mode or "") for text, name, mode, _ in Formatter().parse(code))


def _syntax_of(code: str) -> ast.Module:
    """Return the syntax tree of a template, with the variable `_name` for `{name}`."""
    return ast.parse("".join(f"{text}_{name}" if name else text for text, name, _ in parts_of(code)))


def _sources(code: str) -> tuple[str, ...]:
    """Return the names that an assignment to `{dst}` copies: a bare name, or a conditional choice of names."""
    assigned = [n.value for n in ast.walk(_syntax_of(code)) if isinstance(n, ast.Assign)]
    names: list[str] = []
    while assigned:
        value = assigned.pop()
        if isinstance(value, ast.IfExp):
            # The body is popped first, as in the text.
            assigned += (value.orelse, value.body)
        elif isinstance(value, ast.Name):
            names.append(value.id[1:])  # without the `_` of `_syntax_of`
    return tuple(names)


# `name:count(list)`, or `name:kind` with `!` for a written register or `*` for a list.
_OPERAND = re.compile(r"(\w+):(?:count\((\w+)\)|(\w+)([!*]?))\Z")


def declare(
    opcode: int,
    mnemonic: str,
    operands: str,
    listing: str,
    sentence: str,
    code: Code = "",
    flow: Flow = Flow.NEXT,
    effect: Effect = Effect.NONE,
    **constants: Constant,
) -> InstructionSpec:
    """Return the declaration of an instruction. Raises `VerifyError` for a malformed operand."""
    parsed = []
    for part in operands.split():
        match = _OPERAND.match(part)
        if match is None:
            raise VerifyError(f"bad operand `{part}` in the declaration of {mnemonic}")
        name, counts, kind, mark = match.groups()
        parsed.append(Operand(name, kind or "count", mark == "*", mark == "!", counts or ""))
    return InstructionSpec(opcode, mnemonic, tuple(parsed), listing, sentence, code, flow, effect, constants)
