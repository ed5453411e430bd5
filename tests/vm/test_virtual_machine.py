"""`VirtualMachine` with the interface that is documented for Relay: inputs one by one, outputs of one's own, timing."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab.errors import RunError, RunTypeError
from passlab.ir.expr import Function
from passlab.vm import VirtualMachine, compile
from passlab.vm.benchmarking import benchmark
from passlab.vm.executable import Executable, VMFunction
from passlab.vm.isa import Instruction, Opcode
from passlab.vm.kernels.primitive import Kernel
from passlab.vm.kernels.scalars import OPERATIONS, scalar_function
from passlab.vm.verifier import verify

TEXT = "def @main(%x: Tensor[(2), float32], %w: Tensor[(2), float32]) { (%x + %w, %x) }"
X, W = np.float32([1, 2]), np.float32([10, 20])


@pytest.fixture
def vm():
    return VirtualMachine(compile(passlab.parse(TEXT)))


def test_inputs_are_set_one_by_one_by_name_number_or_keyword(vm):
    vm.set_one_input("main", "x", X)
    with pytest.raises(RunError, match="not set: w"):
        vm.invoke("main")
    vm.set_one_input("main", 1, W)
    np.testing.assert_array_equal(vm.invoke("main")[0], X + W)
    vm.set_one_input("main", w=X)
    np.testing.assert_array_equal(vm.invoke("main")[0], X + X)


@pytest.mark.parametrize(
    ("args", "kwargs", "why"),
    [
        (("y", X), {}, "no input 'y'"),
        ((2, X), {}, "no input 2"),
        (("x",), {}, "by its name"),
        ((), {"x": X, "w": W}, "by its name"),
        (("x", np.float64([1, 2])), {}, "%x"),
    ],
)
def test_one_input_that_is_none_is_told(vm, args, kwargs, why):
    with pytest.raises(RunError, match=why):
        vm.set_one_input("main", *args, **kwargs)


def test_the_outputs_of_a_stateful_run_are_kept(vm):
    assert vm.invoke_stateful("main", X, W) is None
    first, second = vm.get_outputs()
    np.testing.assert_array_equal(first, X + W)
    np.testing.assert_array_equal(second, X)


@pytest.mark.parametrize("inputs", [{"x": X, "w": W}, [X, W], None])
def test_results_are_written_into_arrays_of_the_caller(vm, inputs):
    vm.set_input("main", X, W)
    outputs = [np.zeros(2, "float32"), np.zeros(2, "float32")]
    vm.invoke_with_outputs("main", inputs, outputs)
    np.testing.assert_array_equal(outputs[0], X + W)
    assert vm.get_outputs()[1] is outputs[1]


def test_outputs_set_beforehand_are_those_of_the_next_run(vm):
    outputs = [np.zeros(2, "float32"), np.zeros(2, "float32")]
    vm.set_outputs("main", *outputs)
    vm.run(X, W)
    np.testing.assert_array_equal(outputs[0], X + W)
    vm.run(W, W)
    np.testing.assert_array_equal(outputs[0], X + W)
    with pytest.raises(RunError, match="no function"):
        vm.set_outputs("mian", *outputs)


@pytest.mark.parametrize("outputs", [[np.zeros(2, "float32")], [np.zeros(2, "float32"), np.zeros(2)], [None, None]])
def test_arrays_that_do_not_fit_stay_as_they_are(vm, outputs):
    with pytest.raises(RunError, match=r"results, not 1|does not fit"):
        vm.invoke_with_outputs("main", [X, W], outputs)
    assert not np.any(outputs[0])


def test_a_benchmark_counts_its_runs(vm):
    calls = []
    result = benchmark(lambda: calls.append(1), repeat=3, number=4)
    assert len(calls) == 1 + 3 * 4
    assert len(result.results) == 3
    assert result.min <= result.median <= result.max
    assert "mean (ms)" in str(vm.benchmark(passlab.cpu(), X, W, repeat=2, number=1, end_to_end=True))
    assert len(benchmark(lambda: None, repeat=2, number=1, min_repeat_ms=1).results) == 2
    with pytest.raises(RunError, match="at least 1"):
        benchmark(lambda: None, repeat=0)


VALUES = {
    "int": [0, 1, -7, 100, 127, -128],
    "uint": [0, 1, 5, 255],
    "float": [0.0, -0.0, 1.5, -3, np.inf, np.nan],
    "bool": [0, 1],
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_scalars_compute_what_arrays_do(name):
    for dtype in sorted(OPERATIONS[name][1]):
        unary = name in ("negative", "logical_not")
        params = "%x: DTYPE" if unary else "%x: DTYPE, %y: DTYPE"
        body = f"{name}(%x)" if unary else f"{name}(%x, %y)"
        function = passlab.parse(f"def @main({params}) {{ {body} }}".replace("DTYPE", dtype))["main"]
        assert isinstance(function, Function)
        compute, kernel = scalar_function(function), Kernel(function).value
        assert compute is not None
        values = np.array(VALUES[dtype.rstrip("0123456789")]).astype(dtype)
        with np.errstate(all="ignore"):
            for x in values:
                for y in values[:1] if unary else values:
                    args = [x] if unary else [x, y]
                    got, want = compute(*args), kernel(*map(np.asarray, args))
                    assert np.asarray(got).dtype == want.dtype
                    np.testing.assert_array_equal(got, want)
                    assert (
                        np.signbit(got) == np.signbit(want)
                        if dtype.startswith("float") and want.dtype != bool
                        else True
                    )


def test_scalars_leave_the_machine_as_arrays():
    text = """
    def @twice(%f: fn(int32) -> int32, %x: int32) -> int32 { %f(%f(%x)) }
    def @main(%n: int32) { let %g = fn (%k: int32) { %k + %n }; (@twice(%g, %n), (%n * 2, concatenate((expand_dims(%n + 1, axis=0), expand_dims(%n, axis=0))))) }
    """
    first, (second, joined) = VirtualMachine(compile(passlab.parse(text))).run(np.int32(5))
    assert type(first) is np.ndarray
    assert type(second) is np.ndarray
    assert (int(first), int(second), joined.tolist()) == (15, 10, [6, 5])


def test_outputs_are_there_after_a_run(vm):
    with pytest.raises(RunError, match="nothing has been run"):
        vm.get_outputs()


def test_outputs_are_given_as_a_list_of_arrays_that_can_be_written(vm):
    fixed = np.zeros(2, "float32")
    fixed.flags.writeable = False
    with pytest.raises(RunError, match="read-only"):
        vm.invoke_with_outputs("main", [X, W], [np.zeros(2, "float32"), fixed])
    for bad in (None, np.zeros((2, 2), "float32"), 3):
        with pytest.raises(RunTypeError, match="a list of arrays"):
            vm.invoke_with_outputs("main", [X, W], bad)


@pytest.mark.parametrize("end_to_end", [False, True])
def test_a_benchmark_without_inputs_is_told(vm, end_to_end):
    with pytest.raises(RunError, match="Input has not been set"):
        vm.benchmark(passlab.cpu(), end_to_end=end_to_end)


def test_what_names_no_function_and_no_memory_is_told():
    exe = compile(passlab.parse(TEXT))
    machine = VirtualMachine(exe)
    for name in (3, None):
        with pytest.raises(RunError, match=f"no function `{name}`"):
            machine.invoke(name, X, W)
    for memory in (3, {passlab.cpu(): 3}, {passlab.cpu(): ["pooled"]}):
        with pytest.raises(RunTypeError, match="memory_cfg"):
            VirtualMachine(exe, memory_cfg=memory)
    for program in (3, passlab.parse(TEXT), None):
        with pytest.raises(RunTypeError, match="runs an Executable"):
            VirtualMachine(program)


def test_an_executable_lists_its_kernels():
    exe = compile(passlab.parse(TEXT))
    assert exe.primitives == f"VM PackedFunc[0]: {exe.kernel_names[0]}\n"
    assert exe.lib.text == exe.save()[1].text
    assert exe.get_function_arity("main") == 2
    assert "Executable(1 functions" in repr(VirtualMachine(exe))


def _executable(*code, registers):
    exe = Executable((VMFunction("main", (), code, registers, ()),), (), (), ())
    verify(exe)
    return exe


@pytest.mark.parametrize("memory", [None, "naive"])
def test_a_loaded_number_is_an_array_without_dimensions(memory):
    load = Instruction(Opcode.LOAD_CONSTI, 5, 1)
    alone = _executable(load, Instruction(Opcode.RET, 1), registers=2)
    result = VirtualMachine(alone, memory_cfg=memory).run()
    assert (result.dtype, result.shape, int(result)) == (np.int64, (), 5)
    pair = _executable(load, Instruction(Opcode.ALLOC_ADT, 0, 0, (1, 1)), Instruction(Opcode.RET, 0), registers=2)
    for field in VirtualMachine(pair, memory_cfg=memory).run():
        assert (field.dtype, field.shape, int(field)) == (np.int64, (), 5)


def test_data_of_any_tag_can_be_made():
    code = [Instruction(Opcode.ALLOC_ADT, 7, 0, ()), Instruction(Opcode.RET, 0)]
    assert VirtualMachine(_executable(*code, registers=2)).run().tag == 7
    tag = [code[0], Instruction(Opcode.GET_TAG, 0, 1), Instruction(Opcode.RET, 1)]
    assert int(VirtualMachine(_executable(*tag, registers=2)).run()) == 7
