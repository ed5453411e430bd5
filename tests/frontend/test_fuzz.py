"""Whatever is in a model file, reading it ends in a module or in a `PasslabError`."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import onnx
import pytest

from passlab import limits
from passlab.errors import PasslabError
from passlab.frontend import from_onnx
from passlab.frontend.onnx.contrib import DEFINITIONS, DOMAIN
from passlab.frontend.onnx.entries import entries
from passlab.ir.module import IRModule
from tests.frontend import contrib_cases
from tests.frontend.onnx_text import model
from tests.frontend.remade import remade
from tests.frontend.test_networks import DYNAMIC, LOOPS, STATIC
from tests.frontend.test_recurrent import KINDS, layer

MODELS = [
    *(network[0] for network in (*STATIC.values(), *DYNAMIC.values())),
    *map(model, LOOPS.values()),
    model("""g (float[1, 2, 4, 4] x) => (float y) { s = Constant<value_floats=[1.0, 1.0, 2.0, 1.5]>()
        a = Resize<mode="linear">(x, , s) p = Constant<value_ints=[0, 0, 1, 0, 0, 0, 0, -1]>() b = Pad(a, p)
        k = Constant<value_ints=[2]>() v, i = TopK(b, k) c = Cast<to=6>(i) d = OneHot<axis=1>(c, k, s)
        e = Einsum<equation="abcde->a">(d) y = Flatten(e) }"""),
    *(layer(kind, "bidirectional", True, True, True, is_open)[0] for kind in KINDS for is_open in (True, False)),
    *(contrib_cases.model(name, is_open)[0] for name in contrib_cases.CASES for is_open in (True, False)),
]  # fmt: skip


def read(data: Any) -> None:
    """Import a model with little to spend; anything but a module or an error of passlab fails the test."""
    small = {"elements": 10**5, "tensor_bytes": 10**6, "model_nodes": 500, "model_nesting": 10}
    with limits.override(**small):
        try:
            value: Any = from_onnx(data)[0]
        except PasslabError as error:
            value = error
        assert isinstance(value, IRModule) or str(value)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Return bytes with a few of them flipped, cut out, repeated or cut off."""
    result = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at, length = rng.randrange(len(result)), rng.randint(1, 16)
        match rng.randrange(5):
            case 0:
                result[at] ^= 1 << rng.randrange(8)
            case 1:
                del result[at : at + length]
            case 2:
                result[at:at] = result[at : at + length]
            case 3:
                result[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
            case _:
                del result[at + length * 50 :]
        if not result:
            break
    return bytes(result)


def _anything(rng: random.Random) -> int:
    return rng.choice((0, 1, 2, 3, 7, -1, -2, 100, 2**31, -(2**63), 2**63 - 1))


def edited(proto: onnx.ModelProto, rng: random.Random) -> onnx.ModelProto:
    """Return a model that protobuf is content with and nobody else: other operators, attributes, inputs and shapes."""
    result = onnx.ModelProto()
    result.CopyFrom(proto)
    names = {"": list(entries()), DOMAIN: list(DEFINITIONS)}
    values = [name for node in result.graph.node for name in (*node.input, *node.output)]
    for _ in range(rng.randint(1, 3)):
        node = rng.choice(result.graph.node)
        match rng.randrange(6):
            case 0:
                node.op_type = rng.choice(names[node.domain])
            case 1 if node.input:
                node.input[rng.randrange(len(node.input))] = rng.choice(values)
            case 2 if node.attribute:
                attribute = rng.choice(node.attribute)
                attribute.i = _anything(rng)
                if attribute.ints:
                    attribute.ints[rng.randrange(len(attribute.ints))] = _anything(rng)
                attribute.f = rng.choice((0.0, float("nan"), float("inf"), -1e30))
            case 3:
                dims = rng.choice(result.graph.input).type.tensor_type.shape.dim
                if dims:
                    rng.choice(dims).dim_value = rng.choice((0, 1, 2, 5, 1000, 2**40))
            case 4 if result.graph.initializer:
                tensor = rng.choice(result.graph.initializer)
                tensor.data_type = rng.choice((1, 2, 6, 7, 9, 10, 11, 16, 22, 30))
            case _:
                node.input.append(rng.choice(values))
    return result


MANY = (pytest.mark.nightly, pytest.mark.in_parts)
PARTS = [range(250), *(pytest.param(range(i, i + 4_000), marks=MANY) for i in range(0, 20_000, 4_000))]


def _rounds(change: Callable[[int, random.Random], Any], seed: int, numbers: range) -> None:
    for number in numbers:
        rng = random.Random(f"{seed}/{number}")
        read(change(number, rng))


@pytest.mark.parametrize("numbers", PARTS, ids=str)
def test_damaged_bytes(numbers: range) -> None:
    data = [proto.SerializeToString() for proto in MODELS]
    _rounds(lambda number, rng: damaged(data[number % len(data)], rng), 1, numbers)


@pytest.mark.parametrize("numbers", PARTS, ids=str)
def test_edited_models(numbers: range) -> None:
    _rounds(lambda number, rng: edited(MODELS[number % len(MODELS)], rng), 2, numbers)


@pytest.mark.parametrize("numbers", PARTS, ids=str)
def test_models_that_contradict_themselves(numbers: range) -> None:
    _rounds(lambda number, rng: remade(MODELS[number % len(MODELS)], rng), 3, numbers)
