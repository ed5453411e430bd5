"""Programs for TVM that are partitioned by the library DNNL: its patterns, its operators, and what a program says."""

from __future__ import annotations

from typing import Any

import numpy as np

SHAPES = {"x": (1, 3, 8, 8), "w": (4, 3, 3, 3), "b": (4, 1, 1), "s": (1, 4, 6, 6)}


def _parts(table: list[tuple[str, Any]], *steps: str, dtype: str = "float32") -> list[str]:
    """Return the composite, or else the operator, of each part of a convolution and the steps after it."""
    import tvm
    from tvm import relay

    v = {name: relay.var(name, shape=shape, dtype=dtype) for name, shape in SHAPES.items()}
    value = relay.nn.conv2d(v["x"], v["w"])
    for step in steps:
        value = value + v[step] if step in v else getattr(relay.nn if step == "relu" else relay, step)(value)
    mod = tvm.IRModule.from_expr(relay.Function(list(v.values()), value))
    passes = relay.transform.MergeComposite(table), relay.transform.AnnotateTarget("dnnl")
    mod = tvm.transform.Sequential([relay.transform.InferType(), *passes, relay.transform.PartitionGraph()])(mod)
    data = [np.ones(shape, dtype) for shape in SHAPES.values()]
    assert relay.create_executor("vm", mod).evaluate()(*data).shape == (1, 4, 6, 6)
    calls = [function.body.op for var, function in mod.functions.items() if var.name_hint != "main"]
    return [op.name if isinstance(op, tvm.ir.Op) else op.attrs["Composite"] for op in calls]


def test_the_longest_pattern_is_one_part() -> None:
    from tvm.relay.op.contrib.dnnl import pattern_table
    from tvm.relay.op.contrib.register import get_pattern_table

    table = get_pattern_table("dnnl")
    assert table is not None
    assert [name for name, _ in table] == [name for name, _ in pattern_table()]
    assert _parts([*table], "b", "s", "relu") == ["dnnl.conv2d_bias_sum_relu"]
    assert sorted(_parts([*table], "b", "sigmoid", "tanh")) == ["dnnl.conv2d_bias_sigmoid", "tanh"]
    assert _parts([*table], "sigmoid") == ["dnnl.conv2d_sigmoid"]


def test_operators_without_a_pattern_are_parts_of_their_own_unless_the_program_says_otherwise() -> None:
    import tvm

    assert sorted(_parts([], "b", "relu")) == ["add", "nn.conv2d", "nn.relu"]
    assert _parts([], "b", "relu", dtype="int64") == []
    tvm.ir.register_op_attr("nn.relu", "target.dnnl")(lambda expr: False)
    try:
        assert sorted(_parts([], "b", "relu")) == ["add", "nn.conv2d"]
    finally:
        tvm.ir.Op.get("nn.relu").reset_attr("target.dnnl")


def test_a_pool_that_rounds_its_size_up_is_no_part() -> None:
    import tvm
    from tvm import relay

    x = relay.var("x", shape=(1, 1, 5, 5))
    for ceil_mode, parts in ((False, 1), (True, 0)):
        mod = tvm.IRModule.from_expr(relay.nn.max_pool2d(x, (2, 2), (2, 2), ceil_mode=ceil_mode))
        mod = relay.transform.AnnotateTarget("dnnl")(relay.transform.InferType()(mod))
        assert len(relay.transform.PartitionGraph()(mod).functions) - 1 == parts


def test_no_pipeline_executor_is_built() -> None:
    from tvm.contrib import pipeline_executor, pipeline_executor_build

    assert not pipeline_executor.pipeline_executor_enabled()
    assert not pipeline_executor_build.pipeline_executor_build_enabled()
