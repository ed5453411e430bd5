"""A new instruction is one entry of the table: all three engines, the verifier, the files and the listing carry it out."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from passlab.debugger.trace import Trace
from passlab.errors import RunError, VerifyError
from passlab.vm import Executable, Machine
from passlab.vm.executable import VMFunction
from passlab.vm.isa import ISA, Instruction, Opcode, decode, encode
from passlab.vm.isa_notation import Effect, Flow, declare
from passlab.vm.verifier import verify

SELECT, LENGTH, IF_EMPTY, BOTH = (cast(Opcode, number) for number in range(100, 104))


@pytest.fixture(autouse=True)
def _entries(monkeypatch):
    """Add four instructions to the table, each by its entry alone."""
    entries = (
        declare(SELECT, "select", "condition:reg yes:reg no:reg dst:reg!", "{dst} {condition} ? {yes} : {no}",
                "Let dst be the object in yes when condition is not zero, else that in no.",
                "{dst} = {yes} if {condition} else {no}"),
        declare(LENGTH, "length", "object:reg dst:reg!", "{dst} {object}",
                "Let dst be the number of fields of a tuple.",
                "try: {dst} = {count}({object})\nexcept TypeError: raise no_field({object}, 0) from None",
                effect=Effect.NUMBER, count=lambda machine, i: len),
        declare(IF_EMPTY, "if_empty", "object:reg yes:offset no:offset", "{object} {yes} {no}",
                "Jump by yes when a tuple has no fields, else by no.",
                "not {object}", Flow.TEST),
        declare(BOTH, "both", "func:index first:reg second:reg dst:reg!", "{dst} VMFunc[{func}]({first},{second})",
                "Call a function on a tuple of two objects.",
                "{func}, (({first:array}, {second:array}), )", Flow.CALL),
    )  # fmt: skip
    for entry in entries:
        monkeypatch.setitem(ISA, entry.opcode, entry)


def _executable(*code: Instruction, params: int = 1, others: tuple[VMFunction, ...] = ()) -> Executable:
    main = VMFunction("main", tuple("xyz"[:params]), code, 12)
    exe = Executable((main, *others), (), (), ())
    verify(exe)
    return exe


def _results(exe: Executable, *args: Any) -> list[Any]:
    """Return the results of the running, the stepping and the tracing engine."""
    stepping = Machine(exe)
    stepping.start(0, args)
    while stepping.step():
        pass
    return [Machine(exe).invoke(0, args), stepping.result, Trace.record(exe, list(args)).result]


def _numbers(value: Any) -> Any:
    return tuple(map(_numbers, value)) if isinstance(value, tuple) else int(value)


def _agreed(exe: Executable, *args: Any) -> Any:
    first, *rest = map(_numbers, _results(exe, *args))
    assert rest == [first] * len(rest)
    return first


@pytest.mark.parametrize("condition", [0, 1, 7])
def test_an_instruction_that_passes_an_object_on(condition):
    code = (Instruction(SELECT, 0, 1, 2, 3), Instruction(Opcode.ALLOC_ADT, 0, 4, (3, 3)), Instruction(Opcode.RET, 4))
    args = [np.array(n, "int32") for n in (condition, 5, 6)]
    expected = 5 if condition else 6
    for result in _results(_executable(*code, params=3), *args):
        assert result == (expected, expected)
        assert [type(field) for field in result] == [np.ndarray] * 2  # what other objects keep is an array


@pytest.mark.parametrize("count", [0, 1, 3])
def test_an_instruction_that_computes_a_number(count):
    code = (Instruction(LENGTH, 0, 1), Instruction(Opcode.ALLOC_ADT, 0, 2, (1, 1)), Instruction(Opcode.RET, 2))
    for result in _results(_executable(*code), (np.array(0),) * count):
        assert result == (count, count)
        assert [(type(field), field.dtype) for field in result] == [(np.ndarray, np.dtype("int64"))] * 2


@pytest.mark.parametrize("count", [0, 2])
def test_an_instruction_that_branches(count):
    code = (
        Instruction(IF_EMPTY, 0, 1, 3), Instruction(Opcode.LOAD_CONSTI, 10, 1), Instruction(Opcode.RET, 1),
        Instruction(LENGTH, 0, 1), Instruction(Opcode.RET, 1),
    )  # fmt: skip
    assert _agreed(_executable(*code), (np.array(1),) * count) == (count or 10)


@pytest.mark.parametrize("tail", [False, True])
def test_an_instruction_that_calls(tail):
    swap = VMFunction("swap", ("pair",), (
        Instruction(Opcode.GET_FIELD, 0, 0, 1), Instruction(Opcode.GET_FIELD, 0, 1, 2),
        Instruction(Opcode.ALLOC_ADT, 0, 3, (2, 1)), Instruction(Opcode.RET, 3),
    ), 4)  # fmt: skip
    end = (Instruction(Opcode.RET, 2),)
    if not tail:
        end = (Instruction(Opcode.GET_FIELD, 2, 0, 3), Instruction(Opcode.RET, 3))
    exe = _executable(Instruction(BOTH, 1, 0, 1, 2), *end, params=2, others=(swap,))
    assert _agreed(exe, np.array(5), np.array(6)) == ((6, 5) if tail else 6)


def test_its_error_comes_from_all_engines():
    code = (Instruction(LENGTH, 0, 1), Instruction(Opcode.RET, 1))
    exe, args = _executable(*code), [np.array(3.0)]
    stepping = Machine(exe)
    stepping.start(0, args)
    error = Trace.record(exe, args).error
    assert isinstance(error, RunError)
    for run in (lambda: Machine(exe).invoke(0, args), stepping.step):
        with pytest.raises(RunError, match="has no field 0") as raised:
            run()
        assert str(raised.value) == str(error)


def test_the_rest_of_the_table_follows():
    select = Instruction(SELECT, 0, 1, 2, 3)
    assert decode(encode(select)) == select
    assert str(select) == "select $3 $0 ? $1 : $2"
    assert (select.reads(), select.writes()) == ((0, 1, 2), (3,))
    with pytest.raises(VerifyError, match="read before it is written"):
        _executable(select, Instruction(Opcode.RET, 3))
    with pytest.raises(VerifyError, match="leaves the function"):
        _executable(Instruction(IF_EMPTY, 0, 1, 9), Instruction(Opcode.RET, 0))


@pytest.mark.parametrize("read", [Instruction(Opcode.GET_FIELD, 1, 0, 2), Instruction(Opcode.GET_TAG, 1, 2)])
def test_a_number_has_no_parts_on_any_engine(read):
    exe = _executable(Instruction(Opcode.LOAD_CONSTI, 5, 1), read, Instruction(Opcode.RET, 2))
    stepping = Machine(exe)
    stepping.start(0, [np.array(0)])
    stepping.step()
    message = "has no tag" if read.opcode is Opcode.GET_TAG else "has no field 0"
    assert message in str(Trace.record(exe, [np.array(0)]).error)
    for run in (lambda: Machine(exe).invoke(0, [np.array(0)]), stepping.step):
        with pytest.raises(RunError, match=message):
            run()


def test_a_tag_that_a_tuple_keeps_is_an_array_on_every_engine():
    code = (
        Instruction(Opcode.ALLOC_ADT, 7, 1, ()), Instruction(Opcode.GET_TAG, 1, 2),
        Instruction(Opcode.ALLOC_ADT, 0, 3, (2,)), Instruction(Opcode.RET, 3),
    )  # fmt: skip
    for (field,) in _results(_executable(*code), np.array(0)):
        assert type(field) is np.ndarray
        assert field == 7
