"""The values that TVM's documentation states: ties, halves, limits and special values, on every executor."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.ir.op import Op, OpSpec
from tests.each import each
from tests.op.vectors import VECTORS, Vector

EXECUTORS = ("debug", "vm", "graph", "aot", "definition")
CHOOSES = {
    "rounding", "rounding_method", "coordinate_transformation_mode", "count_include_pad", "ceil_mode",
    "select_last_index", "multiplier", "is_ascend", "align_corners",
}  # fmt: skip
CHOICES = ("rounding", "rounding_method", "coordinate_transformation_mode", "compute_dtype")
UNTOLD = ("None", "stochastic_round")
SPEAKS = re.compile(
    r"\b(round\w*|half|halves|saturat\w*|truncat\w*|clip\w*|ties?|stable|nearest|wraps?|out of range)\b"
)
PROMISED = {
    "argmax", "argmin", "argsort", "ceil", "cast_like", "divide", "erf", "floor", "floor_mod", "left_shift", "mod",
    "power", "right_shift", "searchsorted", "sign", "sort", "take", "topk", "trunc_mod",
}  # fmt: skip


def chooses(spec: OpSpec) -> bool:
    """Whether an operator rounds, saturates, wraps or breaks ties, by its attributes or its description."""
    fields = {field.name for field in spec.attrs.schema} if spec.attrs else set()
    return bool(fields & CHOOSES or SPEAKS.search(spec.doc.lower()))


def program(vector: Vector) -> str:
    kinds = [f"Tensor[({', '.join(map(str, x.shape))}), {x.dtype.name}]" for x in vector.inputs]
    params = ", ".join(f"%{name}: {kind}" for name, kind in zip("abcdefgh", kinds, strict=False))
    return f"def @main({params}) {{ {vector.call} }}"


def same(got: Any, want: Any, exact: bool) -> None:
    if isinstance(want, tuple):
        for g, w in zip(got, want, strict=True):
            same(g, w, exact)
        return
    got = np.asarray(got)
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    if exact:
        np.testing.assert_array_equal(got.astype("float64"), want.astype("float64"))
        signs = [np.signbit(np.nan_to_num(x.astype("float64"))) for x in (got, want)]  # a NaN has no sign
        np.testing.assert_array_equal(*signs)
    else:
        np.testing.assert_allclose(got, want, rtol=2e-7)


@pytest.mark.rotating
@pytest.mark.parametrize("vector", VECTORS, ids=str)
def test_an_operator_has_the_values_of_its_formula(vector: Vector) -> None:
    mod = passlab.parse(program(vector))
    for kind in EXECUTORS:
        if kind == "graph" and vector.name.startswith("dyn."):
            continue  # the graph executor refuses dynamic shapes
        got = relay.create_executor(kind, mod).evaluate()(*vector.inputs)
        try:
            same(got, vector.want, exact=vector.name != "erf")
        except AssertionError as error:
            raise AssertionError(f"{kind}: {error}") from None


@each("vector", [v for v in VECTORS if v.name.startswith("qnn.")], ids=str)
def test_the_canonical_form_has_the_values_of_the_formula(vector: Vector) -> None:
    mod = relay.qnn.transform.CanonicalizeOps()(relay.transform.InferType()(passlab.parse(program(vector))))
    same(relay.create_executor("vm", mod).evaluate()(*vector.inputs), vector.want, exact=True)


@each("name", [n for n in Op.list_op_names() if n in PROMISED or chooses(Op.get(n).spec)])
def test_an_operator_that_rounds_saturates_or_breaks_ties_has_a_vector(name: str) -> None:
    assert any(vector.name == name for vector in VECTORS)


@each("name", [n for n in Op.list_op_names() if n.startswith("qnn.")])
def test_a_quantized_operator_has_a_vector(name: str) -> None:
    assert any(vector.name == name for vector in VECTORS)


def options() -> list[tuple[str, str]]:
    """The values of the attributes that choose a rule, of every operator, except other names and random ones."""
    fields = [
        (n, f) for n in Op.list_op_names() for f in getattr(Op.get(n).spec.attrs, "schema", ()) if f.name in CHOICES
    ]
    return [
        (name, f'{f.name}="{option}"')
        for name, f in fields
        for option in re.findall(r"'(\w+)'", f.kind)
        if option not in UNTOLD
    ]


@each(("name", "option"), options())
def test_every_rule_that_an_attribute_chooses_has_a_vector(name: str, option: str) -> None:
    assert any(vector.name == name and option in vector.call for vector in VECTORS)
