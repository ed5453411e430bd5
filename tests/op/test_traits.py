"""The law of traits: what a declaration says an operator is, its kernel is, at every edge and on every dtype.

And none is left out: an operator that is commutative, homogeneous or in place says so, where its inputs are plain
tensors. That is what keeps passes from having lists of names of their own, which disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import passlab
from passlab.errors import PasslabError
from passlab.ir.expr import Call
from passlab.ir.op import Op, OpPattern, Trait
from passlab.op.dtypes import array_dtype
from passlab.op.edge_cases import program
from passlab.transform import InferType
from tests.op_nn.running import same

DTYPES = ("float32", "float64", "float16", "int8", "int32", "int64", "uint8", "bool")
FLOATS = ("float32", "float64")
Case = tuple[Call, list[Any]]


def cases(name: str, dtype: str) -> Iterator[Case]:
    """The calls at the edges of an operator that are legal on a dtype, with arrays of small values of it."""
    rng = np.random.default_rng(11)
    for edge in Op.get(name).spec.edge_cases:
        parts = program(edge, dtype)
        try:
            body = InferType()(passlab.parse(parts.source))["main"].body
        except PasslabError:
            continue
        if not isinstance(body, Call) or any(type(arg).__name__ != "Var" for arg in body.args):
            continue
        arrays = {}
        for v in parts.variables:
            kind = array_dtype(v.dtype)
            drawn = (
                rng.integers(0, 2, v.shape) if kind.kind == "b" else rng.integers(-40 * (kind.kind != "u"), 40, v.shape)
            )
            drawn = drawn / 8 if kind.kind == "f" else drawn
            arrays[v.name] = np.asarray(drawn if v.value is None else v.value).astype(kind)
        yield body, [arrays[arg.name_hint] for arg in body.args]


def value(call: Call, arrays: list[Any]) -> Any:
    """The result, with NumPy's warnings off."""
    with np.errstate(all="ignore"):
        return call.op.spec.kernel(call.attrs, *arrays)


def is_commutative(call: Call, arrays: list[Any]) -> bool:
    try:
        forwards, backwards = value(call, arrays), value(call, arrays[::-1])
    except (ValueError, PasslabError):  # the inputs cannot stand in each other's place
        return False
    return forwards.dtype == backwards.dtype and np.array_equal(
        forwards, backwards, equal_nan=forwards.dtype.kind == "f"
    )


def is_homogeneous(call: Call, arrays: list[Any]) -> bool:
    plain = value(call, arrays)
    if plain.dtype != arrays[0].dtype or not plain.any():  # what is zero everywhere tells nothing
        return plain.size == 0
    return all(np.array_equal(value(call, [arrays[0] * s]), plain * s) for s in (np.float32(4), np.float32(0.5)))


def is_reshape(call: Call, arrays: list[Any]) -> bool:
    return np.array_equal(value(call, arrays).reshape(-1), arrays[0].reshape(-1))


def is_move(call: Call, arrays: list[Any]) -> bool:
    return set(value(call, arrays).reshape(-1).tolist()) <= set(arrays[0].reshape(-1).tolist())


def keeps_whole(call: Call, arrays: list[Any]) -> bool:
    whole = value(call, [np.trunc(a) if a.dtype.kind == "f" else a for a in arrays])
    bounds = [getattr(call.attrs, k, 0.0) for k in ("a_min", "a_max")]
    return whole.dtype.kind != "f" or not all(map(float.is_integer, bounds)) or np.array_equal(np.trunc(whole), whole)


def makes_whole(call: Call, arrays: list[Any]) -> bool:
    result = value(call, arrays)
    return np.array_equal(np.trunc(result), result)


def clamps(call: Call, arrays: list[Any]) -> bool:
    low, high = (0, np.inf) if call.attrs is None else (call.attrs["a_min"], call.attrs["a_max"])
    wide = np.minimum(np.maximum(arrays[0].astype("float64"), low), high)
    return np.array_equal(value(call, arrays).astype("float64"), wide)


def compares(call: Call, arrays: list[Any]) -> bool:
    alike = value(call, [arrays[0], arrays[0]])
    return alike.dtype == bool and len(set(alike.reshape(-1).tolist())) <= 1


LAWS: dict[Trait, tuple[Callable[[Call, list[Any]], bool], tuple[str, ...]]] = {
    Trait.COMMUTATIVE: (is_commutative, DTYPES),
    Trait.HOMOGENEOUS: (is_homogeneous, FLOATS),
    Trait.RESHAPES: (is_reshape, DTYPES),
    Trait.MOVES: (is_move, DTYPES),
    Trait.KEEPS_WHOLE: (keeps_whole, FLOATS),
    Trait.MAKES_WHOLE: (makes_whole, FLOATS),
    Trait.CLAMPS: (clamps, FLOATS),
    Trait.COMPARES: (compares, FLOATS),
}
DECLARED = [(trait, name) for trait in LAWS for name in Op.list_op_names() if trait in Op.get(name).spec.traits]


@pytest.mark.parametrize(("trait", "name"), DECLARED, ids=lambda x: x if isinstance(x, str) else x.name)
def test_an_operator_is_what_its_declaration_says(trait, name):
    law, dtypes = LAWS[trait]
    checked = 0
    for dtype in dtypes:
        for call, arrays in cases(name, dtype):
            assert law(call, arrays), f"{call} on {dtype}"
            checked += 1
    assert checked, "no edge of the operator tells anything about it"


def _pointwise(inputs: int) -> list[str]:
    """The operators that compute element by element from so many tensors, without attributes."""
    patterns = (OpPattern.ELEMWISE, OpPattern.BROADCAST)
    specs = [Op.get(name).spec for name in Op.list_op_names()]
    return [
        s.name for s in specs
        if len(s.inputs) == inputs and s.pattern in patterns and s.attrs is None and s.computes and s.kernel and s.edge_cases
        and not s.variadic and not s.stateful
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("trait", "inputs"),
    [(Trait.COMMUTATIVE, 2), (Trait.HOMOGENEOUS, 1), (Trait.CLAMPS, 1), (Trait.COMPARES, 2)],
    ids=lambda x: getattr(x, "name", str(x)),
)
def test_no_operator_leaves_a_trait_out(trait, inputs):
    law, dtypes = LAWS[trait]
    silent = []
    for name in _pointwise(inputs):
        if trait not in Op.get(name).spec.traits | Trait.MOVES:
            results = [
                law(call, arrays) for dtype in dtypes for call, arrays in cases(name, dtype) if arrays[0].size > 1
            ]
            silent += [name] * (bool(results) and all(results))
    assert silent == []


def test_reshapes_are_moves():
    reshapes = [spec for spec in (Op.get(n).spec for n in Op.list_op_names()) if Trait.RESHAPES in spec.traits]
    assert all(Trait.MOVES in spec.traits for spec in reshapes)


def test_the_laws_tell_operators_apart():
    (subtract, arrays), *_ = cases("subtract", "float32")
    assert not is_commutative(subtract, arrays)
    (exp, arrays), *_ = cases("exp", "float32")
    assert not is_homogeneous(exp, arrays)
    assert not keeps_whole(exp, arrays)
    assert not makes_whole(exp, arrays)
    assert not is_move(exp, arrays)
    (flip, arrays), *_ = cases("transpose", "float32")
    assert not is_reshape(flip, arrays)
    same(value(flip, arrays), np.transpose(arrays[0], flip.attrs.axes or None))
