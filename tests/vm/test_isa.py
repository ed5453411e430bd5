"""Laws of the instruction table, for every instruction in it."""

from __future__ import annotations

import pytest

from passlab.errors import VerifyError
from passlab.vm.isa import ISA, Instruction, Opcode, decode, disassemble, dtype_numbers, dtype_of_numbers, encode
from tests.each import each


def sample(opcode: Opcode) -> Instruction:
    """An instruction with telling operands: numbers counted up, lists of two."""
    values = []
    for i, operand in enumerate(ISA[opcode].stored):
        if operand.kind == "dtype":
            values.append("float32")
        else:
            values.append((i + 1, i + 2) if operand.many else i + 1)
    return Instruction(opcode, *values)


@each("opcode", Opcode)
def test_every_instruction_is_encoded_and_decoded(opcode):
    instruction = sample(opcode)
    assert decode(encode(instruction)) == instruction
    assert encode(instruction)[0] == opcode


@each("opcode", Opcode)
def test_every_instruction_cut_off_or_too_long_is_refused(opcode):
    numbers = encode(sample(opcode))
    for bad in (numbers[:-1] if len(numbers) > 1 else [], [*numbers, 7]):
        with pytest.raises(VerifyError):
            decode(bad)


@each("opcode", Opcode)
def test_what_an_instruction_reads_and_writes_follows_from_its_declaration(opcode):
    instruction = sample(opcode)
    registers = [o for o in ISA[opcode].stored if o.kind == "reg"]
    assert len(instruction.writes()) == sum(o.writes for o in registers)
    assert len(instruction.reads()) == sum(2 if o.many else 1 for o in registers if not o.writes)


@each("opcode", Opcode)
def test_every_instruction_lists_itself_under_its_mnemonic(opcode):
    assert disassemble(sample(opcode)).split()[0] == ISA[opcode].mnemonic


@pytest.mark.parametrize(
    ("instruction", "text"),
    [
        (Instruction(Opcode.INVOKE, 0, 1, ()), "invoke $1 VMFunc[0]($)"),
        (Instruction(Opcode.ALLOC_ADT, 0, 3, ()), "alloc_data $3 tag(0) [$]"),
        (Instruction(Opcode.INVOKE_PACKED, 2, 1, (4, 5, 6)), "invoke_packed PackedFunc[2] (in: $4, $5, out: $6)"),
        (Instruction(Opcode.ALLOC_TENSOR, 1, 2, "bool", 3, (4, 5)), "alloc_tensor $3 $1 $2 [4, 5] uint1"),
        (Instruction(Opcode.ALLOC_STORAGE, 1, 64, "bool", 0, 2, ()), "alloc_storage $2 $1 64 bool 0"),
        (Instruction(Opcode.IF, 1, 2, 1, 5), "if $1 $2 1 5"),
        (Instruction(Opcode.DEVICE_COPY, 1, 0, 1, 2), "device_copy $2 $1 1 0"),
    ],
)
def test_listings_are_those_of_relay(instruction, text):
    assert str(instruction) == text


def test_dtypes_are_three_numbers():
    assert dtype_numbers("bool") == (1, 1, 1)
    assert dtype_numbers("bfloat16") == (4, 16, 1)
    assert dtype_of_numbers(2, 64, 1) == "float64"
    with pytest.raises(VerifyError):
        dtype_of_numbers(9, 32, 1)


def test_unknown_opcodes_are_refused():
    with pytest.raises(VerifyError, match="99"):
        decode([99, 1, 2])
