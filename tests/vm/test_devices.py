"""Programs on several devices: where kernels, storages and constants go, what is copied, who computes there."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.devices import Device, VirtualDevice, cpu, cuda
from passlab.errors import RunError
from passlab.vm import Executable, VirtualMachine, compile
from passlab.vm.isa import Opcode
from passlab.vm.kernels.providers import move_arrays, provider_for
from tests.vm.programs import PROGRAMS, same


def on(device: Device, expr):
    return passlab.op.make("on_device", expr, virtual_device=VirtualDevice(device))


def two_devices(device: Device | None = None):
    """exp(x) * [1, 2] on one device, the rest on the host; and the same in NumPy."""
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    there = on(device or cpu(1), relay.multiply(relay.exp(x), relay.const(np.array([1, 2], "float32"))))
    main = relay.Function([x, y], relay.add(there, relay.multiply(y, relay.const(np.float32(3)))))
    return passlab.IRModule.from_expr(main), lambda x, y: np.exp(x) * np.array([1, 2], "float32") + y * 3


def test_each_part_goes_where_it_belongs():
    exe = compile(two_devices()[0])
    assert exe.virtual_devices == (VirtualDevice(cpu(0)), VirtualDevice(cpu(1)))
    assert dict(zip(exe.kernel_names, exe.kernel_devices, strict=True)) == {
        "fused_exp_multiply": 1,
        "fused_multiply_add": 0,
    }
    assert exe.functions[0].param_device_indexes == (1, 0)
    assert [c.tolist() for c, d in zip(exe.constants, exe.const_device_indexes, strict=True) if d == 1] == [[1, 2]]
    code = exe.functions[0].instructions
    copies = [str(i).split()[-2:] for i in code if i.opcode is Opcode.DEVICE_COPY]
    assert copies == [["0", "1"]]
    assert sorted(i.device for i in code if i.opcode is Opcode.ALLOC_STORAGE) == [0, 1]


@pytest.mark.parametrize("memory", [None, "naive", "pooled"])
def test_a_program_on_two_devices_computes_what_it_says(memory, rng):
    mod, expected = two_devices()
    x, y = rng.random(2, "float32"), rng.random(2, "float32")
    vm = VirtualMachine(compile(mod), [cpu(0), cpu(1)], memory)
    np.testing.assert_allclose(vm.run(x, y), expected(x, y), rtol=1e-6)


def test_kernels_that_are_alike_run_each_on_its_own_device():
    x = relay.var("x", shape=(2,))
    there = on(cpu(1), relay.exp(relay.negative(on(cpu(0), relay.exp(relay.negative(x))))))
    exe = compile(passlab.IRModule.from_expr(relay.Function([x], relay.exp(relay.negative(there)))))
    assert sorted(exe.kernel_devices) == [0, 1]
    code = exe.functions[0].instructions
    assert [exe.kernel_devices[i.packed] for i in code if i.opcode is Opcode.INVOKE_PACKED] == [0, 1, 0]


def test_devices_go_through_a_file(rng):
    mod, expected = two_devices(cuda(1))
    exe = compile(mod)
    loaded = Executable.load_exec(*exe.save())
    assert loaded.bytecode == exe.bytecode
    assert loaded.virtual_devices == exe.virtual_devices
    assert loaded.const_device_indexes == exe.const_device_indexes
    assert loaded.kernel_devices == exe.kernel_devices
    x, y = rng.random(2, "float32"), rng.random(2, "float32")
    np.testing.assert_allclose(VirtualMachine(loaded).run(x, y), expected(x, y), rtol=1e-6)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_target_is_where_all_is_computed_and_changes_nothing(name, rng):
    text, make = PROGRAMS[name]
    args = make(rng)
    exe = compile(passlab.parse(text), target="cuda")
    assert {
        i for i, f in zip(exe.kernel_devices, exe.kernel_functions, strict=True) if "ShapeFunction" not in f.attrs
    } <= {1}
    assert same(VirtualMachine(exe).run(*args), VirtualMachine(compile(passlab.parse(text))).run(*args))


def test_a_program_that_names_no_device_is_all_on_the_host():
    exe = compile(passlab.parse(PROGRAMS["dense"][0]), target="llvm -mcpu=native")
    assert exe.virtual_devices == (VirtualDevice(),)
    assert not any(exe.kernel_devices)


def test_a_provider_is_chosen_by_device_then_kind_then_numpy():
    choice = {"cpu": "onnxruntime", "cuda:1": "numpy", "cuda": "torch"}
    assert provider_for(cuda(1), choice).name == "numpy"
    assert provider_for(Device("vulkan"), choice).name == "numpy"
    with pytest.raises(RunError, match="no provider of kernels `trch`") as caught:
        provider_for(cpu(), "trch")
    assert "torch" in str(caught.value)
    with pytest.raises(TypeError, match="`providers` is a name or a dict"):
        provider_for(cpu(), 3)


MISSING_PACKAGE = """
import sys
import passlab
from passlab.errors import MissingPackageError
from passlab.vm import VirtualMachine, compile

sys.modules["{package}"] = None
try:
    VirtualMachine(compile(passlab.parse("def @main(%x: Tensor[(2), float32]) {{ exp(%x) }}")), providers="{package}")
except MissingPackageError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("package", "fix"), [("torch", "pip install torch"), ("onnxruntime", "pip install onnxruntime")]
)
def test_a_missing_package_is_told_with_the_cure(package, fix):
    """In a process of its own: modules of a provider that other tests imported would hide that its package is missing."""
    program = MISSING_PACKAGE.format(package=package)
    text = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert fix in text
    assert "numpy" in text


def test_arrays_move_inside_values_and_what_is_shared_stays_shared():
    a, b = np.zeros(1), np.ones(1)
    shared = (a, "name")
    value = (shared, (shared, b))
    result = move_arrays(value, lambda v: v + 1, np.ndarray)
    assert result[0] is result[1][0]
    assert result[0][0][0] == 1
    assert result[1][1][0] == 2
    assert move_arrays(value, lambda v: v, np.ndarray) is value
    deep = ()
    for _ in range(100_000):
        deep = (deep, a)
    assert move_arrays(deep, lambda v: v, np.ndarray) is deep


def test_an_executable_says_where_its_kernels_run():
    exe = compile(passlab.parse("def @main(%x: Tensor[(4), float32]) { sigmoid(%x) }"), "cuda")
    (row,) = exe.placement().rows
    assert row == (0, "fused_sigmoid", "cuda(0)", "numpy", "")
    assert VirtualMachine(exe).machine.exe.placement().rows == [row]
