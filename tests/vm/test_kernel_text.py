"""Primitive functions as text: straight lines of NumPy, whatever names and however many operators a program has."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.errors import TypeInferenceError
from passlab.ir.expr import Function
from passlab.ir.op import Op
from passlab.vm.kernels.kernel_text import EMITTERS, KernelText, Names
from passlab.vm.kernels.primitive import LONGEST, compiled_kernel, make_kernel
from passlab.vm.kernels.scalars import NATIVE


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


ELEMENTWISE = [name for name in EMITTERS if name not in ("where", "cast", "nn.dense", "nn.bias_add", "split")]


@pytest.mark.parametrize("dtype", sorted(NATIVE))
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_every_text_may_follow_a_result_that_it_can_overwrite(name: str, dtype: str) -> None:
    """An operator may write into the new array of `maximum`, or of `logical_and`, where its own result has that type."""
    first = "logical_and" if dtype == "bool" else "maximum"
    second = ", %y" if Op.get(name).num_inputs == 2 else ""
    options = {"reshape": ", newshape=[-1]", "expand_dims": ", axis=0"}.get(name, "")
    body = f"%0 = {first}(%x, %y); %1 = {name}(%0{second}{options}); (%1, )"
    try:
        mod = passlab.parse(f"def @main(%x: Tensor[(2, 3), {dtype}], %y: Tensor[(2, 3), {dtype}]) {{ {body} }}")
    except TypeInferenceError:  # of `power` of whole numbers, say
        pytest.skip("the operator does not take this dtype")
    arguments = [np.array(rows, dtype) for rows in ([[0, 3, 1], [1, 0, 3]], [[1, 2, 1], [2, 1, 2]])]
    before = [each.copy() for each in arguments]
    value = make_kernel(mod["main"]).value
    assert value is not None
    with np.errstate(all="ignore"):
        result = value(*arguments)[0]
        expected = relay.create_executor("debug", mod).evaluate()(*before)[0]
    np.testing.assert_array_equal(result, expected, strict=True)
    np.testing.assert_array_equal(arguments, before)
