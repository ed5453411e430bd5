"""Compilers run under the user's pass context: its level, its lists of passes and its instruments, entered only once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import passlab
from passlab import IRModule, instrument, relay
from passlab.ir.expr import Call
from passlab.ir.walk import post_order
from passlab.transform import PassContext
from tests.each import each

NET = """
def @main(%x: Tensor[(1, 4), float32], %w: Tensor[(4, 4), float32]) {
  let %y = nn.dense(%x, %w);
  let %z = tanh(exp(%y) + 1f);
  (%z, nn.softmax(tanh(%y)))
}
"""
ATROUS = """
def @main(%x: Tensor[(1, 5, 5, 4), float32], %w: Tensor[(3, 3, 4, 1), float32]) {
  %0 = nn.space_to_batch_nd(%x, block_shape=[2, 2], paddings=[[2, 3], [2, 3]]);
  %1 = nn.conv2d(%0, %w, padding=[0, 0, 0, 0], groups=4, channels=4, kernel_size=[3, 3], data_layout="NHWC",
                 kernel_layout="HWOI");
  nn.batch_to_space_nd(%1, block_shape=[2, 2], crops=[[0, 1], [0, 1]])
}
"""
COMPILERS: dict[str, Callable[[IRModule], object]] = {
    "vm": relay.vm.compile,
    "graph": relay.build,
    "aot": lambda mod: relay.build(mod, executor="aot"),
    "optimize": relay.optimize,
    "lower": lambda mod: relay.vm.VMCompiler().optimize(mod),
}


@each("compiler", COMPILERS)
@each("level", range(5))
def test_instruments_are_entered_and_left_by_the_with_statement_alone(compiler, level):
    log: list[str] = []

    @instrument.pass_instrument
    class Log:
        def enter_pass_ctx(self) -> None:
            log.append("enter")

        def exit_pass_ctx(self) -> None:
            log.append("exit")

        def run_after_pass(self, mod: IRModule, info: object) -> None:
            log.append("pass")

    with PassContext(opt_level=level, instruments=[Log()]):
        passlab.transform.FoldConstant()(passlab.parse(NET))
        COMPILERS[compiler](passlab.parse(NET))
        assert log.count("pass") > 5
        assert (log[0], log.count("enter"), log.count("exit")) == ("enter", 1, 0)
    assert (log[-1], log.count("enter"), log.count("exit")) == ("exit", 1, 1)


def kernels_of(program):
    """The primitive functions of a compiled program."""
    return program.kernel_functions if isinstance(program, relay.vm.Executable) else program.kernels.values()


def operators_of(program) -> list[str]:
    """The operators of all kernels of a compiled program."""
    return [n.op.name for kernel in kernels_of(program) for n in post_order(kernel.body) if isinstance(n, Call)]


@pytest.mark.parametrize("compiler", ["vm", "graph"])
def test_each_operator_is_a_kernel_at_level_0(compiler):
    with PassContext(opt_level=0):
        program = COMPILERS[compiler](passlab.parse(NET))
    assert len(kernels_of(program)) == len(operators_of(program))
    with PassContext(opt_level=1):
        assert len(operators_of(COMPILERS[compiler](passlab.parse(NET)))) > 4


@pytest.mark.parametrize("level", range(5))
@pytest.mark.parametrize("compiler", ["vm", "graph"])
def test_every_level_computes_the_same(compiler, level):
    x, w = np.linspace(-1, 1, 4, dtype="float32").reshape(1, 4), np.eye(4, dtype="float32")
    y = x @ w.T
    e = np.exp(np.tanh(y))
    with PassContext(opt_level=level):
        results = relay.create_executor(compiler, passlab.parse(NET)).evaluate()(x, w)
    np.testing.assert_allclose(results[0], np.tanh(np.exp(y) + 1), rtol=2e-5)
    np.testing.assert_allclose(results[1], e / e.sum(), rtol=2e-5)


@pytest.mark.parametrize("compiler", ["vm", "graph"])
@pytest.mark.parametrize("context", [{"opt_level": 4}, {"required_pass": ["FastMath"]}])
def test_fast_mathematics_is_used_where_it_is_asked_for(compiler, context):
    with PassContext(**context):
        fast = operators_of(COMPILERS[compiler](passlab.parse(NET)))
    assert "fast_tanh" in fast
    assert "tanh" not in fast
    assert "fast_tanh" not in operators_of(COMPILERS[compiler](passlab.parse(NET)))


@pytest.mark.parametrize("compiler", ["vm", "graph"])
def test_atrous_convolutions_and_parallel_branches_are_found(compiler):
    assert "nn.space_to_batch_nd" not in operators_of(COMPILERS[compiler](passlab.parse(ATROUS)))
    branches = passlab.parse("""def @main(%x: Tensor[(2, 4), float32], %a: Tensor[(3, 4), float32],
        %b: Tensor[(3, 4), float32], %c: Tensor[(3, 4), float32]) {
        (nn.dense(%x, %a), nn.dense(%x, %b), nn.dense(%x, %c)) }""")
    assert operators_of(COMPILERS[compiler](branches)).count("nn.dense") >= 1
    with PassContext(opt_level=4):
        assert "nn.dense" not in operators_of(COMPILERS[compiler](branches))


@pytest.mark.parametrize("compiler", ["vm", "graph"])
def test_a_disabled_pass_does_not_run(compiler):
    with PassContext(opt_level=4, disabled_pass=["FastMath"]):
        assert "fast_exp" not in operators_of(COMPILERS[compiler](passlab.parse(NET)))
