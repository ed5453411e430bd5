"""The law of unknown dimensions: what a relation says of types with `?` in them holds for every type they may become.

Each use that a declaration lists is taken with each dimension of each input unknown, one at a time, with all those of
one input, and with all of all. The relation must say what it says of the known types, or less; or refuse, where the
table says why it has to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from passlab.errors import RelationError
from passlab.ir.expr import Call
from passlab.ir.op import Op
from passlab.ir.types import ANY, IncompleteType, TensorType, TupleType, Type
from tests.each import each
from tests.op.cases_gradient import MORE
from tests.op.gradient_law import typed_program

NAMES = Op.list_op_names()
_RANK = "the rank of the result is a dimension of an input"
# What has to be refused while a dimension is not known: a part of the message, and the reason.
REFUSED: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("collapse_sum_to", "dyn.broadcast_to", "dyn.full", "dyn.ones", "dyn.reshape", "dyn.sparse_to_dense", "dyn.squeeze", "dyn.tile", "dyn.zeros"), ("must be known", _RANK)),
    "gather_nd": ("the number of dimensions of an index is not known", f"{_RANK}, unless `index_rank` says it"),
    "squeeze": ("which dimensions are 1 is not known", "the rank of the result is the number of dimensions that are not 1"),
}  # fmt: skip
# What is refused while the type of an input is not known, and why.
UNTYPED: dict[str, str] = {
    f"nn.{name}": "a weight in groups has two forms (grouped, and one channel each), and nothing tells which"
    for name in ("conv1d", "conv2d", "conv3d", "contrib_conv2d_NCHWc", "contrib_depthwise_conv2d_NCHWc")
}


class Stated:
    """A reporter that holds what it is told of inputs against what they are."""

    def __init__(self, types: list[Type]) -> None:
        self.types = types

    def assign(self, index: int, ty: Type) -> None:
        assert is_less(self.types[index], ty), f"input {index} is {self.types[index]} and is said to be {ty}"


def is_less(full: Any, guess: Any) -> bool:
    """Whether `guess` says of a type what `full` says, or less."""
    if isinstance(full, TupleType):
        pairs = zip(full.fields, guess.fields, strict=False)
        return len(full.fields) == len(guess.fields) and all(is_less(a, b) for a, b in pairs)
    if not isinstance(full, TensorType):
        return full is guess
    if not isinstance(guess, TensorType) or full.dtype != guess.dtype or len(full.shape) != len(guess.shape):
        return False
    return all(b is ANY or a is ANY or a == b for a, b in zip(full.shape, guess.shape, strict=True))


def tensors(ty: Type) -> list[TensorType]:
    if isinstance(ty, TupleType):
        return [leaf for field in ty.fields for leaf in tensors(field)]
    return [ty] if isinstance(ty, TensorType) else []


def rebuilt(ty: Type, leaves: Iterator[TensorType]) -> Type:
    if isinstance(ty, TupleType):
        return TupleType([rebuilt(field, leaves) for field in ty.fields])
    return next(leaves) if isinstance(ty, TensorType) else ty


def unknown(leaf: TensorType, at: int | None) -> TensorType:
    """A tensor type with one dimension unknown, all of them for None."""
    return TensorType([ANY if at in (None, i) else dim for i, dim in enumerate(leaf.shape)], leaf.dtype)


def less_known(types: list[Type]) -> Iterator[list[Type]]:
    """The types with fewer and fewer dimensions."""
    flat = [leaf for ty in types for leaf in tensors(ty)]
    guesses = [
        [*flat[:i], unknown(leaf, at), *flat[i + 1 :]] for i, leaf in enumerate(flat) for at in range(len(leaf.shape))
    ]
    guesses += [[*flat[:i], unknown(leaf, None), *flat[i + 1 :]] for i, leaf in enumerate(flat)]
    for guess in [*guesses, [unknown(leaf, None) for leaf in flat]]:
        leaves = iter(guess)
        yield [rebuilt(ty, leaves) for ty in types]


def uses(name: str) -> Iterator[tuple[str, Call]]:
    spec = Op.get(name).spec
    for text in (*spec.edge_cases, *(more for more in MORE if more.startswith(f"{name}("))):
        mod = typed_program(text)
        assert mod is not None
        body = mod[1].body
        assert isinstance(body, Call)
        yield text, body


@each("name", [name for name in NAMES if Op.get(name).spec.edge_cases])
def test_a_relation_says_nothing_wrong_of_unknown_dimensions(name: str) -> None:
    refused = 0
    for text, call in uses(name):
        arg_types = [arg.checked_type for arg in call.args]
        for types in less_known(arg_types):
            reply = answer(name, types, call, arg_types)
            if isinstance(reply, RelationError):
                assert name in REFUSED, f"{text}: {types}\n{reply}"
                assert REFUSED[name][0] in str(reply)
                refused += 1
            else:
                assert reply is not None, f"{text}: nothing is said of {types}"
                assert is_less(call.checked_type, reply), f"{text}: {types} -> {reply}, and it is {call.checked_type}"
    assert bool(refused) == (name in REFUSED), "what is refused stands in the table, and nothing else"


def answer(name: str, types: list[Type], call: Call, arg_types: list[Type]) -> Type | RelationError | None:
    """What a relation says of types, or how it refuses them."""
    try:
        return Op.get(name).spec.relation(types, call.attrs, Stated(arg_types))
    except RelationError as error:
        return error


@each("name", [name for name in NAMES if Op.get(name).spec.edge_cases])
def test_a_relation_waits_for_unknown_inputs(name: str) -> None:
    """With one input of unknown type, a relation gives no wrong result, and asks for nothing wrong."""
    for text, call in uses(name):
        arg_types = [arg.checked_type for arg in call.args]
        for at in range(len(arg_types)):
            types = [IncompleteType() if i == at else ty for i, ty in enumerate(arg_types)]
            reply = answer(name, types, call, arg_types)
            if isinstance(reply, RelationError):
                assert name in UNTYPED, f"{text}: {types}\n{reply}"
            elif reply is not None:
                assert is_less(call.checked_type, reply), f"{text}: {types} -> {reply}, and it is {call.checked_type}"


def test_the_tables_name_operators() -> None:
    assert {*REFUSED, *UNTYPED} <= set(NAMES)
