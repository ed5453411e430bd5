"""Operators on the dtypes that NumPy does not have itself: every executor gives what inference says, or the same refusal."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.errors import PasslabError
from passlab.executor import create_executor
from passlab.infer import infer_module
from passlab.ir import Function, IRModule, TensorType, TupleType
from passlab.op.dtypes import array_dtype
from passlab.testing import programs
from passlab.testing.programs.registry import operator_names, templates
from tests.each import each

DTYPES = ("float8_e4m3fn", "float8_e5m2", "bfloat16", "int4", "uint4")


def fits(value, ty) -> bool:
    if isinstance(ty, TupleType):
        return len(value) == len(ty.fields) and all(map(fits, value, ty.fields))
    return isinstance(ty, TensorType) and value.dtype == array_dtype(ty.dtype) and value.ndim == len(ty.shape)


def result(executor, mod, args):
    try:
        return create_executor(executor, mod).evaluate()(*args)
    except PasslabError as error:
        return error


@pytest.mark.rotating
@pytest.mark.parametrize("dtype", DTYPES)
def test_results_have_the_dtype_that_inference_says(dtype):
    wrong = []
    for name in operator_names(smooth=False):
        for template in templates(name, dtype)[:1]:
            mod = infer_module(IRModule.from_expr(Function(list(template.params), template.call)))
            args = list(programs.arguments(mod, 0))
            for at, param in enumerate(template.params):
                if param in template.constants:
                    args[at] = template.constants[param].data
            for executor in ("debug", "aot"):
                value = result(executor, mod, args)
                if not isinstance(value, PasslabError) and not fits(value, mod["main"].ret_type):
                    wrong.append(f"{name} on {executor}: {getattr(value, 'dtype', value)}")
                elif "failed: " in str(value):  # a kernel that raised an error of Python's
                    wrong.append(f"{name} on {executor}: {value}")
    assert wrong == []


@each("dtype", [*DTYPES, "float32", "float32=", "int32="])  # as NumPy has them, and as files do
@each("shape", [(), (2,), (0, 2), (3, 7)])
@each("executor", ["debug", "vm", "graph", "aot"])
def test_constants_of_any_dtype_are_compiled(executor, shape, dtype):
    data = np.ones(shape, np.dtype(dtype[:-1]).newbyteorder("=") if dtype.endswith("=") else array_dtype(dtype))
    value = create_executor(executor, IRModule.from_expr(relay.copy(relay.Constant(data)))).evaluate()()
    assert value.dtype == data.dtype
    assert value.shape == shape
    assert value.tobytes() == data.tobytes()


SUMS = {
    "nn.conv2d(%x, %w, kernel_size=[3, 3])": ((1, 2, 5, 5), (3, 2, 3, 3)),
    "nn.dense(%x, %w)": ((4, 6), (3, 6)),
    "nn.batch_matmul(%x, %w)": ((2, 4, 6), (2, 6, 3)),
    'einsum((%x, %w), equation="ij,jk->ik")': ((4, 6), (6, 3)),
    "maximum(nn.max_pool2d(%x, pool_size=[2, 2]), %w)": ((1, 2, 4, 4), ()),
    "add(clip(%x, a_min=-3f, a_max=5f), %w)": ((4, 6), (6,)),
}


@each("executor", ["debug", "vm", "graph", "aot"])
@each("body", SUMS)
@each("dtype", ["int4", "uint4"])
def test_sums_of_half_bytes_are_those_of_whole_numbers_wrapped(dtype, body, executor):
    rng = np.random.default_rng(3)
    x, w = (rng.integers(0, 8, shape) for shape in SUMS[body])

    def value(kind):
        params = ", ".join(
            f"%{n}: Tensor[{s}, {kind}]".replace(",)", ")") for n, s in zip("xw", SUMS[body], strict=True)
        )
        mod = passlab.parse(f"def @main({params}) {{ {body} }}")
        return create_executor(executor, mod).evaluate()(x.astype(array_dtype(kind)), w.astype(array_dtype(kind)))

    whole = value("int32") % 16
    np.testing.assert_array_equal(value(dtype).astype(int), (whole + 8) % 16 - 8 if dtype == "int4" else whole)
