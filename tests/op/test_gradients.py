"""The gradient of every operator that has one, against differences of its values."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import passlab
from passlab.evaluate import Evaluator
from passlab.infer import infer_expr
from passlab.ir.expr import Call, Function, Tuple, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import FuncType, TupleType
from tests.op.test_declarations import MEANING, MINE, SPECIAL, VALUES, sample
from tests.op_nn.running import types_of

STEP = 1e-6
DISCRETE = {"zeros", "ones", "dyn.zeros", "dyn.ones", "arange", "shape_of", "ndarray_size"}  # no value to move
BEYOND_ONE = {"acosh"}
# Calls whose gradient takes another way than that of the example.
MORE = [
    ("sum", "sum(%x)"), ("sum", "sum(%x, axis=[0], keepdims=True)"), ("sum", "sum(%x, axis=[0], exclude=True)"),
    ("mean", "mean(%x)"), ("max", "max(%x)"), ("min", "min(%x, axis=[0], keepdims=True)"),
    ("prod", "prod(%x, axis=[0])"),
    ("add", "add(%x, %b)"), ("multiply", "multiply(%x, %v)"), ("divide", "divide(%b, %x)"), ("power", "power(%x, %b)"),
    ("where", "where(%c, %x, %b)"), ("maximum", "maximum(%x, %v)"), ("minimum", "minimum(%v, %b)"),
    ("reshape", "reshape(%x, newshape=[-1])"), ("transpose", "transpose(%im, axes=[2, 0, 3, 1])"),
    ("transpose", "transpose(%im, axes=None)"),
    ("tile", "tile(%x, reps=[2])"), ("tile", "tile(%v1, reps=[2, 3])"), ("repeat", "repeat(%x, repeats=3, axis=0)"),
    ("repeat", "repeat(%x, repeats=2, axis=-1)"), ("take", "take(%x, %ii, axis=1)"),
    ("take", "take(%x, %ii, axis=None)"),
    ("strided_slice", "strided_slice(%x, begin=[0, -1], end=[2, -9], strides=[1, -2], axes=None)"),
    ("cumsum", "cumsum(%x, axis=0, exclusive=True)"), ("cumsum", "cumsum(%x)"), ("gather", "gather(%x, %ii, axis=1)"),
    ("scatter_elements", 'scatter_elements(%x, %ii, %y, axis=1, reduction="add")'),
    ("stack", "stack((%x, %y), axis=2)"),
    ("split", "split(%x, indices_or_sections=[1, 2], axis=1)"), ("concatenate", "concatenate((%x, %b), axis=0)"),
    ("collapse_sum_like", "collapse_sum_like(%x, %v)"), ("broadcast_to", "broadcast_to(%v, shape=[2, 2])"),
    ("squeeze", "squeeze(%b)"), ("expand_dims", "expand_dims(%x, axis=-1, num_newaxis=2)"),
    ("variance", "variance(%x, %b, axis=[0])"),
    ("gather_nd", "gather_nd(%x, %ii)"),
    ("einsum", 'einsum((%x, %t), equation="ij,jk")'), ("einsum", 'einsum((%x, %y, %w), equation="ij,kj,j->ik")'),
    ("einsum", 'einsum((%x,), equation="ij->i")'), ("cumprod", "cumprod(%x, axis=0, exclusive=True)"),
    ("cumprod", "cumprod(%x)"), ("sort", "sort(%x, axis=0, is_ascend=False)"),
    ("topk", 'topk(%x, k=1, axis=0, ret_type="values", is_ascend=True)'), ("dft", "dft(%x, %y, inverse=True)"),
    ("meshgrid", 'meshgrid((%w, %d), indexing="xy")'),
    ("layout_transform", 'layout_transform(%im, src_layout="NCHW", dst_layout="NCHW2c")'),
]  # fmt: skip
EXAMPLES = [
    (n, Op.get(n).spec.example)
    for n in MINE
    if Op.get(n).spec.gradient and n not in DISCRETE and not n.startswith("annotation.with")
]


def program(name: str, text: str) -> tuple[IRModule, list[str]]:
    meaning = {**MEANING, **(SPECIAL.get(name, {}) if (name, text) in EXAMPLES else {})}
    used = list(dict.fromkeys(re.findall(r"%(\w+)", text)))
    params = ", ".join(f"%{v}: {meaning[v]}" for v in used)
    source = f'#[version = "0.0.5"]\ndef @main({params}) {{ {text} }}'.replace("float32", "float64")
    return passlab.parse(source), used


def inputs_of(name: str, names: list[str], types: Any) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    values = []
    for label, ty in zip(names, types, strict=True):
        value = sample(label, ty)
        if name == "scatter_elements":
            value = np.resize(np.array([[0, 1, 0], [1, 0, 1]], value.dtype), ty.shape) if label == "ii" else value
        if ty.dtype == "float64":
            spread = rng.permutation(np.linspace(0.2, 0.8, max(value.size, 1))) + 0.013 * len(values)
            value = np.array(spread + (1 if name in BEYOND_ONE else 0)).reshape(value.shape)
        values.append(value)
    return values


def flat(value: Any) -> list[np.ndarray]:
    return [part for v in value for part in flat(v)] if isinstance(value, tuple) else [value]


def weights_like(ty: Any, rng: np.random.Generator) -> Any:
    if isinstance(ty, TupleType):
        return tuple(weights_like(f, rng) for f in ty.fields)
    return np.asarray(rng.standard_normal(ty.shape)).astype(ty.dtype)


@pytest.mark.parametrize(("name", "text"), EXAMPLES + MORE, ids=[t for _, t in EXAMPLES + MORE])
def test_a_gradient_is_the_slope(name: str, text: str) -> None:
    mod, names = program(name, text)
    main = mod["main"]
    ty, call, gradient = main.checked_type, main.body, Op.get(name).spec.gradient
    assert isinstance(ty, FuncType)
    assert isinstance(call, Call)
    assert gradient is not None
    values = inputs_of(name, names, ty.arg_types)
    evaluator = Evaluator(mod)
    result = types_of(evaluator.run("main", values))
    weights = weights_like(result, np.random.default_rng(5))
    seed = Var("seed", result)
    parts = gradient(call, seed)
    assert len(parts) == len(call.args)
    back = infer_expr(Function([*main.params, seed], Tuple(parts)))
    for part, arg in zip(back.checked_type.ret_type.fields, call.args, strict=True):  # type: ignore[attr-defined]
        assert part is arg.checked_type or "?" in str(part), "a gradient has the type of its input"
    if not all(weight.dtype == np.float64 for weight in flat(weights)):
        return  # a result that is no float moves in jumps
    got = flat(Evaluator(IRModule.from_expr(back)).run("main", [*values, weights]))
    leaves = [
        main.params.index(v)
        for arg in call.args
        for v in (arg.fields if isinstance(arg, Tuple) else (arg,))
        if isinstance(v, Var)
    ]

    def loss(at: list[np.ndarray]) -> float:
        return sum(float((r * w).sum()) for r, w in zip(flat(evaluator.run("main", at)), flat(weights), strict=True))

    slopes: dict[int, np.ndarray] = {}
    for position, part in zip(leaves, got, strict=False):
        slopes[position] = slopes.get(position, 0) + part
    for position, slope in slopes.items():
        if values[position].dtype != np.float64:
            assert not slope.any(), "what is no float has no slope"
            continue
        for at in np.ndindex(values[position].shape):
            moved = [value.copy() for value in values]
            moved[position][at] += STEP
            up = loss(moved)
            moved[position][at] -= 2 * STEP
            difference = (up - loss(moved)) / (2 * STEP)
            np.testing.assert_allclose(
                slope[at], difference, rtol=1e-4, atol=1e-6, err_msg=f"{names[position]}{list(at)}"
            )


def test_ranges_and_shapes_have_no_slope() -> None:
    assert VALUES
    for name in sorted(DISCRETE):
        assert Op.get(name).spec.gradient is not None
