"""Calls of any registered operator, from the edge cases of its declaration.

An edge case is a legal call with typed variables. A variable with a value becomes a constant; for one without, the
generated program supplies an expression of exactly its type.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from passlab.errors import PasslabError
from passlab.infer import infer_module
from passlab.ir.expr import Constant, Expr, Var
from passlab.ir.op import Op
from passlab.ir.types import TensorType
from passlab.ir.walk import substitute
from passlab.op.dtypes import array_dtype
from passlab.op.edge_cases import program, varies_dtype
from passlab.text.parser import parse

# Operators that generated programs do not call, and why.
EXCLUDED: dict[str, str] = {
    **dict.fromkeys(
        (
            *("memory.alloc_storage", "memory.alloc_tensor", "memory.kill", "call_lowered"),
            *("vm.invoke_tvm_op", "vm.reshape_tensor", "vm.shape_of"),
        ),
        "instructions, which the passes of a compiler introduce",
    ),
    **dict.fromkeys(
        ("annotation.compiler_begin", "annotation.compiler_end", "on_device", "device_copy"),
        "marks from one pass to another: alone they mean nothing, or contradict other marks",
    ),
    "annotation.with_funcid": "names a function that is registered in Python",
    "relay.op.annotation.simulated_quantize": "internal to quantization, for numbers that it measures",
    "parser.MetaRef": "the parser's placeholder for a constant of the metadata",
    "debug": "calls Python",
    "nn.dropout": "random in the evaluator, the identity when compiled; a rule of `normalization` draws it",
}
# Operators that jump or have poles, so that a rounding error in their operands may become an error of any size.
STEPS = frozenset(
    (
        *("floor", "ceil", "round", "trunc", "sign", "mod", "floor_mod", "trunc_mod", "floor_divide"),
        *("trunc_divide", "cast", "cast_like", "reinterpret", "sort", "topk", "argsort", "unique", "tan"),
        *("power", "rsqrt", "log", "log2", "log10", "divide", "take", "gather", "where", "one_hot"),
        *("sparse_to_dense", "isfinite", "isnan", "isinf"),
    )
)
LARGEST = 2000  # elements of one operand, so that generated programs stay small


@dataclass(frozen=True)
class Template:
    """A typed call of an operator, and its parameters; `constants` are those with a value."""

    call: Expr
    params: tuple[Var, ...]
    constants: dict[Expr, Expr]

    def fill(self, operand: Callable[[TensorType], Expr]) -> Expr:
        """Return the call with its parameters replaced by constants and by `operand(type)`."""
        mapping = dict(self.constants)
        for param in self.params:
            if param not in mapping:
                mapping[param] = operand(param.type_annotation)  # type: ignore[arg-type]
        return substitute(self.call, mapping)


@cache
def templates(name: str, dtype: str) -> tuple[Template, ...]:
    """Return the edge cases of an operator that are legal for a dtype, as templates."""
    result: list[Template] = []
    for edge in Op.get(name).spec.edge_cases:
        if dtype != "float32" and not varies_dtype(edge):
            continue  # a case that does not depend on the dtype counts once, for float32
        case = program(edge, dtype)
        try:
            main = infer_module(parse(case.source))["main"]
        except PasslabError:
            continue  # the dtype is illegal in this case
        if any(np.prod(variable.shape) > LARGEST for variable in case.variables):
            continue
        constants = _constants(main.params, case.variables)
        if constants is None:
            continue  # a value that this dtype cannot hold
        result.append(Template(main.body, tuple(main.params), constants))
    return tuple(result)


def _constants(params: Sequence[Var], variables: Sequence[Any]) -> dict[Expr, Expr] | None:
    """Return the parameters that have a value as constants; None where a dtype cannot hold one."""
    try:
        return {
            param: Constant(np.asarray(variable.value, array_dtype(variable.dtype)).reshape(variable.shape))
            for param, variable in zip(params, variables, strict=True)
            if variable.value is not None
        }
    except OverflowError:
        return None


@cache
def operator_names(smooth: bool) -> tuple[str, ...]:
    """Return the operators to draw from; with `smooth`, those with a gradient whose results do not jump."""
    names = [name for name in Op.list_op_names() if name not in EXCLUDED and Op.get(name).spec.edge_cases]
    if smooth:
        names = [name for name in names if name not in STEPS and Op.get(name).spec.gradient is not None]
    return tuple(names)


def draw(choice: random.Random, names: Collection[str], dtypes: tuple[str, ...]) -> Template | None:
    """Return a random template of one of the operators at one of the dtypes it takes, or None where it takes none."""
    name = choice.choice(list(names))
    for dtype in dict.fromkeys(choice.sample(dtypes, len(dtypes))):
        cases = templates(name, dtype)
        if cases:
            return choice.choice(cases)
    return None
