"""Programs as Python modules: readable text that needs only NumPy, and the same results as the virtual machine."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.errors import PasslabError, RunError, VerifyError
from passlab.executor.aot import PythonSource, python_source
from passlab.executor.aot.kernel_source import VendoredDefinitions
from passlab.executor.aot.program_source import DEEPEST, DeepBlocks
from passlab.ir.expr import Function, Var
from passlab.ir.op import Op
from passlab.ir.types import TensorType, TupleType
from passlab.ir.variables import free_vars
from passlab.op import make
from passlab.op.edge_cases import program as edge_program
from passlab.vm.kernels.kernel_text import Names
from tests.op import cases_index, cases_shape
from tests.op.cases import CASES
from tests.op.test_edges import DRAWN, NO_VALUE, filled
from tests.vm.programs import LOOP, PROGRAMS, same

LIST = """
type Chain[A] { Link(A, Chain[A]), End }
def @build(%n: int32, %l: Chain[int32]) -> Chain[int32] { if (%n == 0) { %l } else { @build(%n - 1, Link(%n, %l)) } }
def @total(%l: Chain[int32]) -> int32 { match (%l) { Link(%h, %t) => %h + @total(%t), End => 0 } }
"""


def run(text, *args):
    return relay.create_executor("aot", passlab.parse(text)).evaluate()(*args)


def program(text):
    """The part of a compiled module that is the program itself."""
    source = python_source(passlab.parse(text)).text
    return source.split("the program\n")[1].split("\n# -----")[0].strip()


@pytest.mark.parametrize("size", [4, 40])
def test_a_caller_cannot_change_constants_of_a_module(size, tmp_path):
    table = relay.const(np.arange(size, dtype="float32"))
    mod = passlab.IRModule.from_expr(relay.Function([], relay.Tuple([table, relay.split(table, 2)[0]])))
    run = relay.create_executor("aot", mod).evaluate()
    for result in run():
        assert not result.flags.writeable
    module = relay.build(mod, executor="aot").module()
    for _ in range(2):
        module.run()
        first = module.get_output(0)
        np.testing.assert_array_equal(first, np.arange(size, dtype="float32"))
        first[:] = 9  # an output is a copy, as a graph's is


def test_a_network_is_written_as_numpy():
    text = "def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(4, 8), float32]) { nn.dense(%x, %w) }"
    assert program(text) == "def main(x, w):\n    return x @ w.T"


def test_a_call_of_itself_at_the_end_is_a_loop():
    assert program(LOOP).startswith(
        "def loop(i, acc):\n"
        "    while True:\n"
        "        if i == int32_0:\n"
        "            return acc\n"
        "        else:\n"
        "            i, acc = i - int32_1, acc + i\n"
    )


def test_a_match_is_a_match_and_a_recursion_is_yielded_to_the_driver():
    assert (
        "def total(l):\n"
        "    match l:\n"
        "        case Link(h, t):\n"
        "            x_0 = yield total(t)\n"
        "            return h + x_0\n"
        "        case End():\n"
        "            return int32_0\n"
    ) in program(LIST + "def @main(%n: int32) { @total(@build(%n, End)) }")


def test_a_fused_kernel_overwrites_what_nobody_else_reads():
    source = python_source(
        passlab.parse("def @main(%x: Tensor[(4), float32]) { %0 = exp(%x); nn.relu(%0 * 2f + %x) }")
    ).text
    assert (
        "    exp = np.exp(p0)\n    exp *= float32_2\n    exp += p0\n    np.maximum(exp, float32_0, out=exp)\n" in source
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_results_are_those_of_the_virtual_machine(name):
    text, make = PROGRAMS[name]
    args = make(np.random.default_rng(0))
    got = run(text, *args)
    want = relay.create_executor("vm", passlab.parse(text)).evaluate()(*args)
    assert same(got, want)


def copied_operators():
    for name in Op.list_op_names():
        spec = Op.get(name).spec
        if spec.computes and spec.kernel and not spec.stateful and not name.startswith(("vm.", "memory.")):
            yield name


def test_every_kernel_can_be_copied_together_with_what_it_needs(tmp_path):
    library = VendoredDefinitions(Names())
    for name in copied_operators():
        library.kernel(Op.get(name).spec.raw, name.replace(".", "_"))
    text = "\n".join(library.imports) + "\n\n\n" + "\n\n".join(library.blocks)
    assert "from passlab" not in text
    assert "import passlab" not in text
    PythonSource(text, {}, {}).save(tmp_path / "kernels.py")
    code = "import sys, kernels; print('passlab' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


TABLES = (cases_shape, cases_index)  # importing them fills the table of cases


@pytest.mark.rotating
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_operator_computes_what_its_kernel_does(case):
    params = [Var(f"a{i}", type_of(value)) for i, value in enumerate(case.inputs)]
    function = Function(params, make(case.name, *params, **case.attrs))
    mod = passlab.IRModule.from_expr(function)
    want = relay.create_executor("debug", mod).evaluate()(*case.inputs)
    assert same(relay.create_executor("aot", mod).evaluate()(*case.inputs), want)


@pytest.mark.rotating
@pytest.mark.parametrize("name", [name for name in Op.list_op_names() if name not in NO_VALUE])
def test_every_operator_runs_at_its_edges_as_a_module(name):
    rng = np.random.default_rng(0)
    ran = 0
    for edge in Op.get(name).spec.edge_cases:
        for dtype in ("float32", "int32", "bool", "uint64", "int8", "uint8"):
            try:
                result = edge_program(edge, dtype)
                mod = passlab.parse(result.source)
                args = [
                    filled(v.shape, v.dtype, "ordinary", rng) if v.value is None else v.value for v in result.variables
                ]
                want = relay.create_executor("debug", mod).evaluate()(*args)
            except PasslabError:
                continue
            got = relay.create_executor("aot", mod).evaluate()(*args)
            assert name in DRAWN or same(got, want), edge
            ran += 1
            break
    assert ran


def type_of(value):
    if isinstance(value, tuple):
        return TupleType([type_of(v) for v in value])
    return TensorType(value.shape, value.dtype.name)


def test_the_module_needs_only_numpy(tmp_path):
    text = "def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(4, 8), float32]) { nn.softmax(nn.dense(%x, %w)) }"
    weight = np.random.default_rng(0).random((4, 8), "float32")
    path = relay.build(passlab.parse(text), executor="aot", params={"w": weight}).save(tmp_path / "net.py")
    assert path.with_suffix(".npz").exists()
    code = "import sys, numpy as np, net; print(net.main(np.ones((2, 8), 'float32')).shape, 'passlab' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(2, 4) False"


def test_the_text_is_the_same_each_time():
    text, _ = PROGRAMS["adt"]
    assert python_source(passlab.parse(text)).text == python_source(passlab.parse(text)).text


def test_depth_costs_no_stack_of_python():
    assert run(LIST + "def @main(%n: int32) { @total(@build(%n, End)) }", np.int32(50_000)) == 50_000 * 50_001 // 2
    assert run(LOOP, np.int32(200_000)) == np.int64(200_000 * 200_001 // 2).astype("int32")
    mutual = """
    def @even(%n: int32) -> bool { if (%n == 0) { True } else { @odd(%n - 1) } }
    def @odd(%n: int32) -> bool { if (%n == 0) { False } else { @even(%n - 1) } }
    def @main(%n: int32) { @even(%n) }
    """
    assert run(mutual, np.int32(20_000))


def test_branches_may_nest_deeper_than_python_can_indent():
    depth = 300
    text = "".join(f"if (%x == {i}) {{ {i * i} }} else {{ " for i in range(depth)) + "-1" + " }" * depth
    main = f"def @main(%x: int32) {{ {text} }}"
    assert run(main, np.int32(7)) == 49
    assert run(main, np.int32(depth - 1)) == (depth - 1) ** 2
    assert run(main, np.int32(-5)) == -1


def test_functions_data_and_cells_go_out_and_come_in():
    adder = run("def @main(%x: float32) { fn (%y: float32) { %x + %y } }", np.float32(2))
    assert adder(np.float32(3)) == 5
    chain = run(LIST + "def @main(%n: int32) { @build(%n, End) }", np.int32(3))
    assert chain.constructor.name_hint == "Link"
    assert chain.fields[0] == 1
    assert run(LIST + "def @main(%l: Chain[int32]) { @total(%l) }", chain) == 6
    cell = run(
        "def @main(%x: float32) { let %r = ref(%x); let %u = ref_write(%r, %x + 1f); ref_read(%r) }", np.float32(1)
    )
    assert cell == 2


def test_names_that_python_needs_are_left_alone():
    text = "def @main(%class: float32, %np: float32, %print: float32) { let %list = %class + %np; (%list * %print, %list) }"
    got = run(text, np.float32(1), np.float32(2), np.float32(4))
    assert got[0] == 12
    assert got[1] == 3


def test_an_error_is_told_with_the_lines_of_the_module():
    text = "def @main(%x: int32, %y: int32) { %x / %y }"
    with pytest.raises(RunError, match="division by zero") as caught:
        run(text, np.int32(1), np.int32(0))
    assert any("in main, line" in note for note, _ in caught.value.diagnostics[0].notes)


def test_no_arm_that_fits_is_told():
    with pytest.raises(RunError, match="no arm of the match fits"):
        run(LIST + "def @main(%n: int32) { match? (@build(%n, End)) { End => 1 } }", np.int32(1))


def test_what_cannot_be_written_is_told():
    with pytest.raises(VerifyError, match="does not exist"):
        python_source(passlab.IRModule())


def test_the_module_of_build_has_the_interface_of_executors():
    module = relay.build(
        passlab.parse("def @main(%x: float32, %y: float32) { (%x + %y, %x) }"), executor="aot"
    ).module()
    module.set_input("x", np.float32(1))
    module.run(y=np.float32(2))
    assert module.get_num_outputs() == 2
    assert module.get_output(0) == 3
    with pytest.raises(RunError, match="no input `z`"):
        module.set_input("z", 1)
    with pytest.raises(RunError, match="does not compile for"):
        relay.build(passlab.parse("def @main() { 1 }"), executor="jit")


def test_blocks_that_stand_too_deep_know_the_variables_they_need():
    """One pass finds them all; asked one by one, nested branches would be quadratic."""
    n = 120
    lets = "".join(f"if (%n == {i}) {{ %v{i} }} else {{ let %v{i + 1} = add(%v{i}, %x); " for i in range(n))
    text = f"def @main(%x: float32, %n: int32) -> float32 {{ let %v0 = add(%x, %x); {lets} %v{n} {'}' * n} }}"
    mod = passlab.parse(text)
    value = DeepBlocks(mod["main"], 1, DEEPEST).free_vars
    assert len(value) == n // DEEPEST
    assert all(set(variables) == set(free_vars(block)) for block, variables in value.items())
    run = relay.create_executor("aot", mod).evaluate()
    for i in (0, 5, 77, -1):
        expected = (i if i >= 0 else n) + 2
        assert float(run(np.float32(1), np.int32(i))) == expected


@pytest.mark.parametrize("operator", ["all", "any", "sum", "max"])
def test_a_kernel_may_be_a_reduction_of_numpy(operator):
    data = np.array([[True, False], [True, True]])
    dtype = "bool" if operator in ("all", "any") else "float32"
    net = passlab.parse(f"def @main(%x: Tensor[(2, 2), {dtype}]) {{ {operator}(%x, axis=[1]) }}")
    run = relay.create_executor("aot", net).evaluate()
    assert np.array_equal(run(data.astype(dtype)), getattr(np, operator)(data.astype(dtype), axis=1))
