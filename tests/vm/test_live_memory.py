"""The limits on memory: what a run holds at once, and each tensor however small; with both engines."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab import limits, relay
from passlab.errors import LimitError
from passlab.vm import Machine, VirtualMachine, compile
from passlab.vm.engines.run_state import live_bytes
from passlab.vm.objects import Allocator, PooledAllocator, Storage, VMClosure
from tests.vm.test_engines import outcome

HOARD = """
type Chain[A] { Link(A, Chain[A]), End }
def @hoard(%n: int32, %x: Tensor[({size}), float32], %kept: Chain[Tensor[({size}), float32]])
    -> Chain[Tensor[({size}), float32]] {{
  if (%n == 0) {{ %kept }} else {{
    let %y = %x + 1f;
    @hoard(%n - 1, %y, Link(%y, %kept))
  }}
}}
def @main(%n: int32, %x: Tensor[({size}), float32]) {{ @hoard(%n, %x, End) }}
"""
COUNT = """
type Chain[A] { Link(A, Chain[A]), End }
def @count(%n: int32, %kept: Chain[int32]) -> Chain[int32] { if (%n == 0) { %kept } else { @count(%n - 1, Link(%n, %kept)) } }
def @main(%n: int32) { @count(%n, End) }
"""
SPEND = """
def @spend(%n: int32, %x: Tensor[(20000), float32]) -> Tensor[(20000), float32] {
  if (%n == 0) { %x } else { @spend(%n - 1, sort(%x + 1f)) }
}
def @main(%n: int32, %x: Tensor[(20000), float32]) { @spend(%n, %x) }
"""
FUNCTIONS = """
def @wrapped(%n: int32, %f: fn(int32) -> int32) -> fn(int32) -> int32 {
  if (%n == 0) { %f } else { @wrapped(%n - 1, fn (%k: int32) -> int32 { %f(%k) + %n }) }
}
def @main(%n: int32) -> int32 { @wrapped(%n, fn (%k: int32) -> int32 { %k })(0) }
"""


def hoard(size: int) -> str:
    return HOARD.replace("{size}", str(size)).replace("{{", "{").replace("}}", "}")


def ends(exe, args: list[object]) -> set[str]:
    """How a run ends with each engine and allocator."""
    outcomes = set()
    for allocator in (None, Allocator(), PooledAllocator()):
        for stepping in (True, False):
            end = outcome(Machine(exe, allocator), args, stepping)
            outcomes.add(
                "limit"
                if end[0] is LimitError and "live_bytes" in end[1]
                else "error"
                if isinstance(end[0], type)
                else "value"
            )
    return outcomes


@pytest.mark.parametrize("size", [30, 5_000, 20_000])
def test_a_program_that_keeps_too_much_is_stopped(size):
    exe = compile(passlab.parse(hoard(size)))
    x = np.zeros(size, "float32")
    with limits.override(live_bytes=200 * x.nbytes):
        assert ends(exe, [np.int32(20), x]) == {"value"}
        assert ends(exe, [np.int32(600), x]) == {"limit"}


def test_what_was_forgotten_does_not_count():
    exe = compile(passlab.parse(SPEND))
    x = np.arange(20000, dtype="float32")[::-1].copy()
    with limits.override(live_bytes=8 * x.nbytes):
        assert ends(exe, [np.int32(40), x]) == {"value"}
        assert np.array_equal(VirtualMachine(exe).run(np.int32(40), x), np.sort(x) + 40)


@pytest.mark.nightly
@pytest.mark.parametrize("text", [COUNT, FUNCTIONS])
def test_numbers_in_data_and_captured_by_functions_count_too(text):
    exe = compile(passlab.parse(text))
    with limits.override(live_bytes=1_000_000, instructions=10**6):
        assert ends(exe, [np.int32(100)]) == {"value"}
        assert ends(exe, [np.int32(20_000)]) == {"limit"}


def test_a_stopped_run_says_where_and_the_machine_runs_again():
    vm = VirtualMachine(compile(passlab.parse(hoard(20_000))))
    x = np.zeros(20_000, "float32")
    with limits.override(live_bytes=10 * x.nbytes), pytest.raises(LimitError, match="live_bytes") as caught:
        vm.run(np.int32(50), x)
    text = str(caught.value)
    assert "%x + 1f" in text
    assert "in @hoard, instruction" in text
    assert vm.run(np.int32(3), x).fields[0].tolist() == [3] * 20_000


@pytest.mark.parametrize("name", ["vm", "graph"])
def test_one_tensor_that_is_more_than_a_run_may_hold(name):
    mod = passlab.parse("def @main(%x: Tensor[(1000, 1000), float32]) { exp(sort(%x)) }")
    x = np.ones((1000, 1000), "float32")
    run = relay.create_executor(name, mod).evaluate()
    with limits.override(live_bytes=10**6), pytest.raises(LimitError, match="live_bytes"):
        run(x)
    assert np.allclose(run(x), np.exp(x))


@pytest.mark.parametrize("most", [0, 3, 4, 40, 100, 1000])
def test_a_limit_for_small_tensors_is_as_exact_as_one_for_large(most):
    """Both engines stop at the same instruction, or neither does; afterwards the usual functions run again."""
    texts = {
        "def @main(%x: float32, %n: int32) { let %y = %x * 2f; if (%n > 2) { exp(%y) } else { %y + 1f } }": [np.float32(1), np.int32(3)],
        "def @main(%x: Tensor[(10), float32], %n: int32) { (sort(%x), concatenate((%x, exp(%x)), axis=0)) }": [
            np.ones(10, "f"), np.int32(0)],
        "def @main(%x: Tensor[(?), float32], %n: int32) { sort(concatenate((%x, exp(%x)), axis=0)) }": [np.ones(10, "f"), np.int32(0)],
    }  # fmt: skip
    for text, args in texts.items():
        exe = compile(passlab.parse(text))
        usual = outcome(Machine(exe), args, stepping=False)
        with limits.override(tensor_bytes=most):
            stepped = outcome(Machine(exe), args, stepping=True)
            assert outcome(Machine(exe), args, stepping=False) == stepped
            assert (stepped[0] is LimitError) == (
                most < 4 or ("10" in text and most < 40) or ("concatenate" in text and most < 80)
            )
        assert outcome(Machine(exe), args, stepping=False) == usual


def test_memory_is_counted_once_however_often_it_is_held():
    array = np.zeros(1000)
    storage = Storage(500)
    tensor = storage.tensor(0, (10,), np.dtype("float32"))
    assert live_bytes([array, array[5:], array.reshape(10, 100)]) == 8000
    assert live_bytes([storage, tensor, tensor[2:]]) == 500
    deep: object = array
    for _ in range(100_000):
        deep = VMClosure(0, (deep,))
    assert 8000 < live_bytes([deep, deep]) < 8000 + 100_000 * 200
    assert repr(VMClosure(3, (array, array))) == "<closure of VMFunc[3] over 2>"
