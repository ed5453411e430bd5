"""How an entry of the instruction table is written: operands, semantics, control flow.

An operand is declared as `name:kind`, where kind is one of

    reg     a register that is read           reg!    a register that is written
    int     a plain number                    index   a number into a table (its name says which)
    offset  a jump, relative to the instruction itself
    dtype   a dtype, serialized as code, bits, lanes
    reg*    registers that are read           int*    numbers;
            lists are counted by an operand of kind `count(name)` that stands earlier

The semantics is a sentence for people and `code` for the engines: Python with operands in braces, which each engine
fills in with what its registers are (see `semantics`). In it

    {x}         the object in a register; a list of registers is its objects with commas: `({args})` is a tuple
    {x:array}   the same, any number made an array: for what other objects keep
    {x:tensor}  the same, a scalar of NumPy made an array: for what NumPy takes
    {x:shape}   the numbers in a register's tensor, as a tuple
    {dst}       the register that is written: exactly one, unless `flow` or a kernel says otherwise
    {shape}     numbers and lists of numbers as they are, a dtype as NumPy's
    {name}      what the entry's function of that name makes of the machine and the instruction

and nothing else but Python and the names of `semantics.NAMES`.
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
    """Where control goes after an instruction, and what its code is."""

    NEXT = 0  # to the next instruction; the code is statements
    JUMP = 1  # by its offset; no code
    TEST = 2  # by its first offset when the code is true, else by its second
    CALL = 3  # to the function whose number and arguments the code gives; its result is written into `dst`
    RETURN = 4  # out of the frame; the code is the result
    STOP = 5  # nowhere; the code raises an error


class Effect(Enum):
    """What an instruction makes or changes."""

    NONE = "it makes nothing: its result is an object that was there"
    NUMBER = "it makes a plain number"
    OBJECT = "it makes a data value or a closure"
    STORAGE = "it makes a storage of the bytes in its register `size`"
    TENSOR = "it makes a tensor"
    KERNEL = "it writes into the tensors of its results"


Code = str | Callable[[Any], str]  # if it depends on the instruction, a function of it
Registers = Callable[[tuple[Any, ...]], tuple[int, ...]]
Constant = Callable[
    [Any, Any], Any
]  # what a name in a code stands for: a function of the `Environment` and the instruction


@dataclass(frozen=True)
class Operand:
    """One operand: `kind` as in the module's text; `many` for lists; `counts` names the list this number counts."""

    name: str
    kind: str
    many: bool = False
    writes: bool = False
    counts: str = ""


@dataclass(frozen=True)
class InstructionSpec:
    """One instruction: its mnemonic, operands, listing template, and semantics: a sentence, Python, flow and effect.

    `code` may depend on the instruction; `constants` are the names in it that are no operands.
    """

    opcode: Any  # an `Opcode`
    mnemonic: str
    operands: tuple[Operand, ...]
    text: str
    semantics: str
    code: Code
    flow: Flow
    effect: Effect
    constants: Mapping[str, Constant]

    @cached_property
    def stored(self) -> tuple[Operand, ...]:
        """The operands an `Instruction` holds: all but the counts, which follow from the lists."""
        return tuple(o for o in self.operands if not o.counts)

    @cached_property
    def lists(self) -> tuple[int, ...]:
        """Where lists stand among the stored operands."""
        return tuple(at for at, o in enumerate(self.stored) if o.many)

    @cached_property
    def reads(self) -> Registers:
        """What returns the registers that an instruction with some operands reads, in their order."""
        return _registers([(at, o.many) for at, o in enumerate(self.stored) if o.kind == "reg" and not o.writes])

    @cached_property
    def writes(self) -> Registers:
        """What returns the registers that an instruction with some operands writes."""
        return _registers([(at, o.many) for at, o in enumerate(self.stored) if o.kind == "reg" and o.writes])

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where the offsets of jumps stand among the stored operands."""
        return tuple(at for at, o in enumerate(self.stored) if o.kind == "offset")

    @cached_property
    def parts_ways(self) -> bool:
        """Whether something else may follow inside the function than the next instruction."""
        return bool(self.offsets) or self.flow in (Flow.RETURN, Flow.STOP)

    @property
    def leaves(self) -> bool:
        """Whether control goes somewhere else than to the next instruction, if only for the time of a call."""
        return self.flow is not Flow.NEXT

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The names in the code of which `dst` may become the very object: of a move its operand, else mostly none."""
        return _sources(self.code) if isinstance(self.code, str) else ()

    @cached_property
    def copied(self) -> str:
        """The name in the code whose object `dst` always becomes; the empty string when something is computed."""
        return self.sources[0] if self.code == f"{{dst}} = {{{''.join(self.sources)}}}" else ""

    @cached_property
    def by_name(self) -> Mapping[str, Operand]:
        """The stored operands by name."""
        return {o.name: o for o in self.stored}

    @cached_property
    def makers(self) -> dict[Any, Any]:
        """What `steps` has written for instructions of this entry, by their form."""
        return {}

    @cached_property
    def is_pair(self) -> bool:
        """Whether the code of a call writes the function and its arguments side by side."""
        first = _syntax_of(str(self.code)).body[:1]
        return any(isinstance(s, ast.Expr) and isinstance(s.value, ast.Tuple) for s in first)

    def kind(self, name: str) -> str:
        """The kind of a stored operand; the empty string for a name that is none."""
        operand = self.by_name.get(name)
        return operand.kind if operand else ""

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Where the operands of each name stand among those stored."""
        return {o.name: at for at, o in enumerate(self.stored)}


def _registers(places: Sequence[tuple[int, bool]]) -> Registers:
    """Return what takes the registers at some places, each of one or of a list, out of operands."""
    if not any(many for _, many in places):
        ats = [at for at, _ in places]
        return lambda operands: tuple([operands[at] for at in ats])
    if len(places) == 1:
        return itemgetter(places[0][0])

    def flat(operands: tuple[Any, ...]) -> tuple[int, ...]:
        parts = [operands[at] if many else (operands[at],) for at, many in places]
        return tuple(chain.from_iterable(parts))

    return flat


@cache
def parts_of(code: str) -> tuple[tuple[str, str, str], ...]:
    """Return the parts of a code: some text, the name in the braces behind it, and how it is read there."""
    return tuple((text, name or "", mode or "") for text, name, mode, _ in Formatter().parse(code))


def _syntax_of(code: str) -> ast.Module:
    """Return the Python of a code, with a name for each operand in braces: its own with `_` before it."""
    return ast.parse("".join(f"{text}_{name}" if name else text for text, name, _ in parts_of(code)))


def _sources(code: str) -> tuple[str, ...]:
    """Return the operands that an assignment to `{dst}` passes on as they are: itself one, or a choice among them."""
    assigned = [n.value for n in ast.walk(_syntax_of(code)) if isinstance(n, ast.Assign)]
    names: list[str] = []
    while assigned:
        value = assigned.pop()
        if isinstance(value, ast.IfExp):
            assigned += (value.orelse, value.body)
        elif isinstance(value, ast.Name):
            names.append(value.id[1:])
    return tuple(names)


_OPERAND = re.compile(r"(\w+):(?:count\((\w+)\)|(\w+)([!*]?))\Z")


def declare(
    opcode: int,
    mnemonic: str,
    operands: str,
    text: str,
    semantics: str,
    code: Code = "",
    flow: Flow = Flow.NEXT,
    effect: Effect = Effect.NONE,
    **constants: Constant,
) -> InstructionSpec:
    """Return the declaration of an instruction. Raises `VerifyError` for an operand that is none."""
    parsed = []
    for part in operands.split():
        match = _OPERAND.match(part)
        if match is None:
            raise VerifyError(f"bad operand `{part}` in the declaration of {mnemonic}")
        name, counts, kind, mark = match.groups()
        parsed.append(Operand(name, kind or "count", mark == "*", mark == "!", counts or ""))
    return InstructionSpec(opcode, mnemonic, tuple(parsed), text, semantics, code, flow, effect, constants)
