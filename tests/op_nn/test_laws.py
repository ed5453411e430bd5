"""Laws over all operators of these rooms: declarations are complete, and no use of one ends in a crash."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from passlab.errors import AttrsError, PasslabError, RelationError
from passlab.infer import infer_module
from passlab.ir.attrs import REQUIRED, Field
from passlab.ir.op import Op
from passlab.ir.types import ANY, IncompleteType, SizeVar, TensorType, TupleType, Type
from passlab.op.nn.blas import multiply
from passlab.text.parser import parse
from tests.each import each
from tests.op_nn.running import Refusal, check_type

MODULES = ("nn.", "image.", "vision.", "dyn.nn.", "dyn.image.")
NAMES = [name for name in Op.list_op_names() if name.startswith(MODULES)]


@each("name", NAMES)
def test_a_declaration_says_everything(name):
    spec = Op.get(name).spec
    assert spec.kernel is not None
    assert spec.builder is not None
    assert len(spec.doc) > 20
    assert spec.example.startswith(f"{name}(")
    for field in spec.attrs.schema if spec.attrs else ():
        assert field.kind, field.name


@each("name", NAMES)
def test_the_example_is_a_call_of_the_operator(name):
    example = Op.get(name).spec.example
    variables = sorted(
        {word.strip("(),") for word in example.replace("(", " ").replace(",", " ").split() if word.startswith("%")}
    )
    mod = parse(f"def @main({', '.join(variables)}) {{ {example} }}")
    assert mod["main"].body.op is Op.get(name)


# Values of every kind, legal and not.
def value(field: Field, rng: random.Random) -> Any:
    kind = field.kind
    if kind.startswith("list of lists"):
        return [[rng.randint(-1, 3), rng.randint(0, 3)] for _ in range(rng.randint(0, 4))]
    if kind.startswith(("list of int", "shape")):
        return [rng.randint(-1, 4) for _ in range(rng.randint(0, 4))]
    if kind.startswith("list of float"):
        return [rng.choice([0.0, 1.0, -1.0, 2.5]) for _ in range(rng.randint(0, 4))]
    if kind.startswith("int"):
        return rng.randint(-2, 5)
    if kind.startswith("float"):
        return rng.choice([0.0, 1.0, -1.0, 0.5, float("nan"), float("inf")])
    if kind.startswith("bool"):
        return rng.random() < 0.5
    if kind.startswith("dtype"):
        return rng.choice(["", "float32", "int32"])
    return rng.choice(
        ["NCHW", "NHWC", "NCW", "OIHW", "HWIO", "", "NCHW4c", "NCDHW", "?", *kind.replace("'", "").split(" | ")]
    )


def attributes(spec: Any, rng: random.Random, share: float) -> Any:
    """Return a record of attributes, some of them random; None when the operator has none."""
    if spec.attrs is None:
        return None
    needed = {f.name for f in spec.attrs.schema if f.default is REQUIRED and f.fallback is REQUIRED}
    return spec.attrs(**{f.name: value(f, rng) for f in spec.attrs.schema if f.name in needed or rng.random() < share})


def some_type(rng: random.Random) -> Type:
    if rng.random() < 0.1:
        return rng.choice([IncompleteType(), TupleType([])])
    dims = [0, 1, 2, 3, 4, 8, ANY, SizeVar("n")] if rng.random() < 0.5 else [3, 4, 4, 8]
    return TensorType(
        [rng.choice(dims) for _ in range(rng.choice([0, 1, 2, 3, 4, 4, 4, 5]))], rng.choice(["float32", "int32"])
    )


@each("name", NAMES)
def test_a_relation_answers_or_refuses(name):
    rng, spec = random.Random(name), Op.get(name).spec
    for _ in range(150):
        try:
            record = attributes(spec, rng, 0.25)
        except AttrsError:
            continue
        types = [some_type(rng) for _ in spec.inputs]
        try:
            type_ = spec.relation(types, record, Refusal())
        except RelationError:
            continue
        assert type_ is None or isinstance(type_, Type)
        for ty in type_.fields if isinstance(type_, TupleType) else [type_]:
            assert not isinstance(ty, TensorType) or all(d >= 0 for d in ty.shape if isinstance(d, int)), (
                types,
                record,
            )


def arrays_of(types: list[TensorType], numbers: np.random.Generator) -> list[np.ndarray]:
    return [
        np.asarray(
            numbers.integers(-3, 4, t.shape) if "int" in t.dtype else numbers.standard_normal(t.shape) * 2
        ).astype(t.dtype)
        for t in types
    ]


@each("name", NAMES)
def test_a_kernel_computes_what_the_relation_allows(name):
    rng, numbers, spec = random.Random(name), np.random.default_rng(0), Op.get(name).spec
    ran = 0
    for _ in range(400):
        if ran == 12:
            break
        base = [rng.choice([1, 2, 3, 4, 6]) for _ in range(rng.choice([2, 3, 4, 4, 5]))]
        types: list[Any] = [TensorType(base, rng.choice(["float32", "float64", "float16", "int8"]))]
        for _ in spec.inputs[1:]:
            shape = (
                base if rng.random() < 0.5 else [rng.choice(base) for _ in range(rng.choice([0, 1, 1, 2, len(base)]))]
            )
            types.append(TensorType(shape, rng.choice([types[0].dtype, "int32", "float32"])))
        reporter = Refusal()
        try:
            record = attributes(spec, rng, 0.1)
            spec.relation(types, record, reporter)
            for index, ty in reporter.assigned.items():
                types[index] = ty
            type_ = spec.relation(types, record, Refusal())
        except PasslabError:
            continue
        if type_ is None or any(ty.dynamic for ty in types):
            continue
        try:
            result = spec.kernel(record, *arrays_of(types, numbers))
        except PasslabError:
            continue
        check_type(result, type_, name)
        ran += 1


def test_untyped_weights_are_inferred_in_a_program():
    mod = infer_module(
        parse(
            """
            def @main(%x: Tensor[(1, 3, 8, 8), float32], %w, %b, %gamma, %beta, %mean, %var, %d) {
              %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]);
              %1 = nn.bias_add(%0, %b);
              %2 = nn.batch_norm(%1, %gamma, %beta, %mean, %var);
              %3 = nn.batch_flatten(nn.relu(%2.0));
              nn.dense(%3, %d, units=10)
            }
            """
        )
    )
    results = [str(p.checked_type) for p in mod["main"].params[1:]]
    vector = "Tensor[(4), float32]"
    assert results == ["Tensor[(4, 3, 3, 3), float32]", *[vector] * 5, "Tensor[(10, 256), float32]"]


@each("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_products_of_whole_numbers_are_exact_and_wrap(dtype):
    rng, limits = np.random.default_rng(0), np.iinfo(dtype)
    ranges = [(0, 2), (-128, 127), (-(2**12), 2**12), (-(2**25), 2**25), (limits.min, limits.max)]
    shapes = [((40, 50), (50, 60)), ((3, 40, 50), (50, 60)), ((2, 1, 40, 50), (5, 50, 30)), ((1, 300), (300, 100))]
    for low, high in ranges:
        for left, right in [*shapes, ((40, 0), (0, 60)), ((2, 3), (3, 2))]:
            low, high = max(low, limits.min), min(high, limits.max)
            a, b = (rng.integers(low, high, shape, dtype=dtype, endpoint=True) for shape in (left, right))
            expected = np.matmul(a, b)
            result, out = multiply(a, b), np.empty_like(expected)
            assert multiply(a, b, out=out) is out
            for one in (result, out):
                assert one.dtype == expected.dtype
                assert np.array_equal(one, expected)
