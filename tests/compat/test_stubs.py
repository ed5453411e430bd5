"""Names of TVM's source tree that mean little here: each does what its docstring says."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
import passlab.compat


def test_the_cache_of_kernels_can_be_cleared() -> None:
    from tvm.relay.backend import te_compiler

    te_compiler.get().clear()
    assert te_compiler.get() is te_compiler.get()


def test_names_of_generated_code() -> None:
    from tvm.relay.backend import name_transforms as names
    from tvm.relay.backend.utils import mangle_module_name

    assert (mangle_module_name("x"), mangle_module_name(None)) == ("tvmgen_x", "tvmgen")
    assert names.to_c_function_style(names.prefix_name("my_func")) == "TVMMyFunc"
    assert names.to_c_variable_style("TVM_Woof:ra") == "tvm_woof_ra"
    assert names.to_c_constant_style("TVM_woof") == "TVM_WOOF"


def test_importers_helpers_know_types() -> None:
    from tvm import relay
    from tvm.relay.frontend.common import ExprTable, StrAttrsDict, infer_shape, infer_type

    x = relay.var("x", shape=(2, 3))
    assert infer_shape(relay.exp(x)) == (2, 3)
    assert infer_type(relay.sum(x)).checked_type.shape == ()
    table = ExprTable()
    table.set_expr("x", x)
    assert table.has_expr("x")
    assert table.get_expr("x") is x
    assert StrAttrsDict({"a": "3", "b": "True"}).get_int("a") == 3
    assert StrAttrsDict({"b": "True"}).get_bool("b")


def test_results_are_kept_while_the_program_runs() -> None:
    from tvm.contrib.pickle_memoize import memoize

    calls = []

    @memoize("key")
    def counted(n: int) -> int:
        calls.append(n)
        return n

    assert (counted(1), counted(1), calls) == (1, 1, [1])


def test_rounding_in_force_is_told() -> None:
    from tvm.relay.qnn.op.qnn import current_requantize_config

    with passlab.relay.qnn.op.requantize_config(rounding="TONEAREST"):
        assert current_requantize_config().rounding == "TONEAREST"
    assert current_requantize_config().rounding == "None"


def test_passes_are_printed_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    import tvm
    from tvm import relay

    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.exp(x)))
    shown = tvm.instrument.PassPrintingInstrument(["InferType"], ["DeadCodeElimination"])
    with tvm.transform.PassContext(opt_level=3, instruments=[shown]):
        relay.transform.DeadCodeElimination()(relay.transform.InferType()(mod))
    text = capsys.readouterr().out
    assert "Before Running Pass: InferType" in text
    assert "After Running Pass: DeadCodeElimination" in text
    assert "After Running Pass: InferType" not in text


def test_files_of_the_source_tree_have_the_names_of_their_packages() -> None:
    import tvm.relay.analysis.call_graph
    import tvm.relay.op.nn.nn
    import tvm.relay.transform.flexible_shape
    from tvm import relay

    assert tvm.relay.transform.flexible_shape.FlexibleShapeDispatch is relay.transform.FlexibleShapeDispatch
    assert relay.analysis.call_graph.CallGraph is relay.analysis.CallGraph
    x = tvm.relay.op.nn.nn.relu(relay.const(np.float32(-1)))
    assert relay.create_executor("debug").evaluate(x).numpy() == 0


def test_a_range_and_a_part_of_values() -> None:
    from tvm.ir import Range
    from tvm.runtime.container import getitem_helper

    assert (Range(1, 5).min, Range(1, 5).extent, Range(4).extent) == (1, 4, 4)
    assert getitem_helper([1, 2, 3], lambda values, at: values[at], 3, slice(1, None)) == [2, 3]
    with pytest.raises(IndexError):
        getitem_helper([1], lambda values, at: values[at], 1, 2)


def test_options_of_targets_are_properties() -> None:
    import tvm

    target = tvm.target.Target("llvm -mcpu=core-avx2 -mattr=+a,+b -device=arm_cpu -max-num-threads=4")
    assert (target.mcpu, target.mattr, target.device_name, target.max_num_threads) == (
        "core-avx2", ["+a", "+b"], "arm_cpu", 4,
    )  # fmt: skip
    assert (target.model, target.libs, target.arch) == ("unknown", [], "")
    with pytest.raises(AttributeError, match="no `speed`"):
        print(target.speed)


def test_programs_are_printed_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    import tvm
    from tvm import relay

    mod = tvm.IRModule.from_expr(relay.exp(relay.var("x", shape=(2,))))
    tvm.transform.PrintIR("here")(mod)
    assert "PrintIR(here)" in capfd.readouterr().err
    passlab.compat.uninstall()
    passlab.transform.PrintIR("there")(mod)
    assert "there" not in capfd.readouterr().err


def test_updates_are_added_under_the_older_name() -> None:
    import tvm
    from tvm import relay

    call = relay.scatter_add(relay.const([1.0, 2.0]), relay.const(np.array([1, 1])), relay.const([3.0, 4.0]), 0)
    run = relay.create_executor("debug", tvm.IRModule.from_expr(call)).evaluate()
    assert run().numpy().tolist() == [1.0, 9.0]


def test_padding_has_a_size_for_each_side() -> None:
    import tvm
    from tvm.relay.op.nn.utils import get_pad_tuple1d, get_pad_tuple2d

    assert get_pad_tuple1d(2) == (2, 2)
    assert get_pad_tuple2d((1, 2)) == (1, 2, 1, 2)
    assert get_pad_tuple2d([1, 2, 3, 4]) == (1, 2, 3, 4)
    with pytest.raises(ValueError, match="size of padding"):
        get_pad_tuple2d((1, 2, 3))
    assert tvm.topi.random.threefry_test_wrapping("llvm", tvm.cpu())
