"""Memory: values are dropped after their last use, pooled buffers are given again only when nobody can see them."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab.errors import RunError
from passlab.vm import Machine, VirtualMachine, compile
from passlab.vm.isa import Opcode
from passlab.vm.objects import Allocator, PooledAllocator, size_class
from tests.each import each
from tests.vm.programs import PROGRAMS, same

CHAIN = """
def @main(%x: Tensor[(1000), float32], %w: Tensor[(1000), float32]) {
  let %a = sort(%x); let %b = sort(%w); let %c = sort(%a); let %d = sort(%b); let %e = sort(%c); let %f = sort(%d);
  (%e, %f)
}
"""


@each("memory", ["naive", "pooled", {"cpu": "pooled"}, None])
@each("name", PROGRAMS)
def test_results_do_not_depend_on_the_allocator(name, memory, rng):
    text, make = PROGRAMS[name]
    exe = compile(passlab.parse(text))
    args = make(rng)
    vm = VirtualMachine(exe, passlab.relay.cpu(), memory)
    first = vm.run(*args)
    assert same(first, VirtualMachine(exe).run(*args))
    again = vm.run(*make(rng))
    assert same(first, VirtualMachine(exe).run(*args))  # a second run does not write into the results of the first
    del again


def test_wrong_memory_settings_are_told():
    exe = compile(passlab.parse(CHAIN))
    with pytest.raises(RunError, match="did you mean `pooled`"):
        VirtualMachine(exe, None, "pool")
    with pytest.raises(TypeError, match="memory_cfg"):
        VirtualMachine(exe, None, 3)


def test_values_die_after_their_last_use(rng):
    exe = compile(passlab.parse(CHAIN))
    kills = [i for i in exe.functions[0].instructions if i.opcode is Opcode.KILL_REGISTER]
    assert len(kills) >= 8
    machine = Machine(exe)
    machine.start(0, [rng.random(1000, "float32"), rng.random(1000, "float32")])
    most = 0
    while machine.frames:
        registers = machine.frames[-1].registers
        most = max(most, sum(isinstance(r, np.ndarray) and r.shape == (1000,) for r in registers))
        machine.step()
    assert most <= 4


def test_the_pool_gives_memory_again():
    pool = PooledAllocator()
    exe = compile(passlab.parse(CHAIN))
    machine = Machine(exe, pool)
    x = np.arange(1000, dtype="float32")[::-1].copy()
    results = [machine.invoke(0, [x, x]) for _ in range(5)]
    assert pool.reused > 0
    assert pool.bytes < 20 * size_class(4000)
    for result in results:
        for part in result:
            np.testing.assert_array_equal(part, np.sort(x))


def test_a_buffer_is_not_given_while_any_view_lives():
    pool = PooledAllocator()
    storage = pool.storage(400, 0)
    view = storage.tensor(0, (100,), np.dtype("float32"))[10:20]
    del storage
    assert pool.storage(400, 0).buffer is not view.base
    address = view.__array_interface__["data"][0] - 40
    del view
    held = [pool.storage(400, 0) for _ in range(2)]
    assert address in [s.buffer.__array_interface__["data"][0] for s in held]
    assert pool.reused >= 1


def test_released_memory_is_forgotten():
    pool = PooledAllocator()
    kept = pool.storage(4096, 0)
    pool.storage(4096, 0)
    pool.release()
    assert sum(map(len, pool.classes.values())) == 1
    assert kept.buffer.size == 4096


@pytest.mark.parametrize("allocator", [Allocator(), PooledAllocator()])
def test_negative_sizes_are_refused(allocator):
    with pytest.raises(RunError, match="-8 bytes"):
        allocator.storage(-8, 0)


def test_size_classes_waste_at_most_a_quarter():
    for size in (0, 1, 64, 65, 100, 4097, 10**6, 2**30 + 1):
        assert size <= size_class(size) <= max(64, size * 1.25 + 1)
        assert size_class(size_class(size)) == size_class(size)
