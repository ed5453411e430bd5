"""The edge cases of operators as data: calls in Relay text whose variables state their types and values.

    "take(%x: (2, 3), %i: (2) int32 = [0, 7], axis=-1)"

is a legal use of `take`. The first use of a variable states its shape. Without a dtype it is tried with each dtype that
the operator accepts, and a `T` in the call (`dtype="T"`) is replaced by that dtype as well. A variable with a value
always has that value; the test that runs the case fills the others, also with NaN, infinities, -0 and the extreme
values of the dtype.

Every declaration lists its edge cases (empty, scalar, negative axis, broadcasting, every layout, each effect of its
attributes on the algorithm). Operators on single elements, and those on two tensors that broadcast, share a list that
is defined here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from passlab.ir.op import Relation
from passlab.op.relations import broadcast, broadcast_compare, identity

# The variable, its shape, its dtype, its value.
_VARIABLE = re.compile(r"%(\w+): \(([\d, ]*)\)(?: (\w+))?(?: = (\[[\[\]\d,. -]*\]|-?[\d.]+))?")


@dataclass(frozen=True)
class Variable:
    """A free variable of an edge case; `value` is None if it may have any value of its type."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    value: Any


@dataclass(frozen=True)
class EdgeProgram:
    """An edge case for one dtype: a whole Relay program, and the variables of its parameters."""

    source: str
    variables: tuple[Variable, ...]


def varies_dtype(edge: str) -> bool:
    """Whether an edge case leaves a dtype open, so that it is tried with every dtype."""
    return '"T"' in edge or any(dtype in ("", "T") for _, _, dtype, _ in _VARIABLE.findall(edge))


def example(edge: str) -> str:
    """Return an edge case as a plain call in Relay text: what a reader sees, and what inference parses.

    >>> example('take(%x: (2, 3), %i: (2) int32 = [0, 7], axis=-1)')
    'take(%x, %i, axis=-1)'
    """
    return _VARIABLE.sub(r"%\1", edge).replace('"T"', '"float32"')


def program(edge: str, dtype: str = "float32") -> EdgeProgram:
    """Return an edge case as a program in which `dtype` stands for each dtype that is left open."""
    variables: list[Variable] = []

    def remove_type(match: re.Match[str]) -> str:
        name, dims, kind, value = match.groups()
        shape = tuple(int(d) for d in dims.split(",") if d.strip())
        var_dtype = dtype if kind in (None, "T") else kind
        variables.append(Variable(name, shape, var_dtype, None if value is None else json.loads(value)))
        return f"%{name}"

    call = _VARIABLE.sub(remove_type, edge).replace('"T"', f'"{dtype}"')
    params = ", ".join(f"%{v.name}: Tensor[({', '.join(map(str, v.shape))}), {v.dtype}]" for v in variables)
    return EdgeProgram(f'#[version = "0.0.5"]\ndef @main({params}) {{\n  {call}\n}}', tuple(variables))


def on_one(name: str, attributes: str = "") -> tuple[str, ...]:
    """The edge cases of an operator on single elements of one tensor, with these attributes."""
    end = f", {attributes})" if attributes else ")"
    return tuple(f"{name}(%x: {shape}{end}" for shape in ("(2, 3)", "()", "(0, 3)", "(7)"))


def on_two(name: str) -> tuple[str, ...]:
    """The edge cases of an operator on two tensors that broadcast."""
    return (
        f"{name}(%x: (7), %y: (7))",
        f"{name}(%x: (7, 1), %y: (1, 7))",
        f"{name}(%x: (), %y: ())",
        f"{name}(%x: (2, 3), %y: ())",
        f"{name}(%x: (0, 3), %y: (3))",
    )


# Shapes and edge cases that follow from the relation of a declaration alone.
_RELATION_DEFAULTS: dict[Relation, tuple[str, Callable[[str], tuple[str, ...]]]] = {
    identity: ("S -> S", on_one),
    broadcast: ("two tensors, which broadcast to S -> S", on_two),
    broadcast_compare: ("two tensors, which broadcast to S -> S of bool", on_two),
}


def relation_defaults(name: str, inputs: Sequence[str], relation: Relation) -> tuple[str, tuple[str, ...]]:
    """Return the shapes and edge cases of an operator that follow from its relation, empty if none do."""
    shapes, cases = _RELATION_DEFAULTS.get(relation, ("", None))
    if cases is None or len(inputs) != (1 if relation is identity else 2):
        return "", ()
    return shapes, cases(name)
