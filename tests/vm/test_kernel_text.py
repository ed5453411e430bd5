"""Primitive functions as text: straight lines of NumPy, whatever names and however many operators a program has."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab.ir.expr import Function
from passlab.vm.kernels.kernel_text import KernelText, Names
from passlab.vm.kernels.primitive import LONGEST, compiled_kernel, make_kernel


class Named:
    """A binder that shows what it is asked for."""

    def scalar(self, dtype, value):
        return f"{dtype}_{value}"

    def array(self, value):
        return f"array_{'x'.join(map(str, value.shape))}"

    def replaces(self, call):
        return False

    def kernel(self, call, args):
        return f"{call.op.name.replace('.', '_')}(attrs, {', '.join(args)})"


def kernel(text: str) -> Function:
    return passlab.parse(text)["main"]


def written(text: str) -> str:
    return KernelText(kernel(text), Names(), Named()).text("kernel")


@pytest.mark.parametrize(
    ("program", "text"),
    [
        pytest.param(
            "def @main(%x: Tensor[(1, 4), float32], %w: Tensor[(3, 4), float32], %b: Tensor[(3), float32]) {"
            "  nn.relu(nn.bias_add(nn.dense(%x, %w, units=None), %b)) }",
            "def kernel(x, w, b):\n    dense = x @ w.T\n    dense += b\n    np.maximum(dense, float32_0, out=dense)\n"
            "    return dense\n",
            id="each result is overwritten by the next operator",
        ),
        pytest.param(
            "def @main(%x: Tensor[(2, 2), float32]) { %0 = exp(%x); add(nn.relu(%0), %0) }",
            "def kernel(x):\n    exp = np.exp(x)\n    relu = np.maximum(exp, float32_0)\n    relu += exp\n"
            "    return relu\n",
            id="what is still needed is not overwritten",
        ),
        pytest.param(
            "def @main(%x: Tensor[(2, 2), float32]) { nn.relu(%x) }",
            "def kernel(x):\n    return np.maximum(x, float32_0)\n",
            id="a parameter is not overwritten",
        ),
        pytest.param(
            "def @main(%x: Tensor[(2, 6), float32]) { split(%x, indices_or_sections=[1, 4], axis=-1) }",
            "def kernel(x):\n    return (x[:, 0:1], x[:, 1:4], x[:, 4:6],)\n",
            id="parts are slices",
        ),
        pytest.param(
            "def @main(%x: Tensor[(2, 0), float32]) { exp(%x) }",
            'def kernel(x):\n    return np.empty((2, 0,), "float32")\n',
            id="there is nothing to compute",
        ),
        pytest.param(
            "def @main(%x: Tensor[(2, 3), float32]) { nn.softmax(%x, axis=1) }",
            "def kernel(x):\n    return nn_softmax(attrs, x)\n",
            id="what no expression says is the operator's function",
        ),
    ],
)
def test_text(program: str, text: str) -> None:
    assert written(program) == text


@pytest.mark.parametrize("name", ["np", "kernel", "import", "attrs", "x = 1\\n", "__class__", "float32", "é"])
def test_names_of_programs_stay_names(name: str) -> None:
    run = compiled_kernel(kernel(f'def @main(%"{name}": Tensor[(2), float32]) {{ nn.relu(%"{name}") }}'))
    assert run(np.array([-1, 2], "float32")).tolist() == [0, 2]


def test_a_split_into_many_parts_is_not_written_part_by_part() -> None:
    text = written("def @main(%x: Tensor[(100), float32]) { split(%x, indices_or_sections=100) }")
    assert text == "def kernel(x):\n    return split(attrs, x)\n"


@pytest.mark.parametrize("count", [400, LONGEST + 1])
def test_long_chains_of_views_and_sums_run(count: int) -> None:
    steps = [f"%{i + 1} = reshape(%{i}, newshape=[{2 + i % 2 * 2}, {4 - i % 2 * 2}]);" for i in range(count)]
    body = f"%0 = add(%x, 1f);{''.join(steps)} add(%{count}, 1f)"
    value = make_kernel(kernel(f"def @main(%x: Tensor[(4, 2), float32]) {{ {body} }}")).value
    assert value is not None
    result = value(np.zeros((4, 2), "float32"))
    assert result.reshape(-1).tolist() == [2] * 8
