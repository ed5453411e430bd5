"""Random typed programs, for testing passes, executors and everything else that must preserve semantics.

    mod = generate(seed=3)                       # a typed IRModule; the same for the same seed and options
    args = arguments(mod, seed=0)                # arrays for its `main`
    case = program(seed=3, effects=False)        # the module, arguments, and the value of the evaluator

    @given(strategy(size=4))                     # Hypothesis draws programs, and shrinks to small seeds
    def test_my_pass(case): ...

Every program runs in the reference evaluator. Programs use every construct of the language: branches, closures, loops,
tuples, references, data types and matches, gradients, dynamic shapes, and calls of registered operators on operands of
fitting types. With `effects`, references are read and written in every operand position, also by closures. With
`smooth`, small changes of the inputs change the results by little, so that a bound on rounding errors can be checked.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from passlab.errors import Diagnostic, PasslabError, RunError
from passlab.evaluate import Evaluator
from passlab.infer import infer_module
from passlab.ir.expr import Function, Let, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.walk import post_order, rewrite
from passlab.testing.programs.constructs import main_function, statement
from passlab.testing.programs.effects import disturb
from passlab.testing.programs.library import BOOL, DYNAMIC_PARAMETERS, INT, STATIC_PARAMETERS, VECTOR, library
from passlab.testing.programs.writer import Options, ProgramWriter

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


import numpy as np

from passlab.ir.types import IncompleteType, TensorType, Type, fold_tuple
from passlab.op.dtypes import array_dtype

ATTEMPTS = 100  # programs tried for one seed: a few fail at run time, by their shapes or attributes


@dataclass(frozen=True)
class Program:
    """A typed module, arguments for its `main`, and the value of the reference evaluator for them.

    `effects` says whether the program reads or writes references.
    """

    mod: IRModule
    args: list[Any]
    value: Any
    effects: bool


def generate(
    seed: int,
    *,
    effects: bool = True,
    size: int | None = None,
    operators: Iterable[str] | None = None,
    smooth: bool = False,
    dynamic: bool = True,
    data_types: bool = True,
    gradients: bool = True,
) -> IRModule:
    """Return the typed program of a seed; the same for the same seed and options.

    `size` is the number of statements of `main`, by default 2 to 9. `operators` are the names to draw operators from,
    by default all of the registry. Raises `RunError` where no program with these options runs, and `OpNotFoundError`
    for an operator that does not exist.
    """
    return program(
        seed,
        effects=effects,
        size=size,
        operators=operators,
        smooth=smooth,
        dynamic=dynamic,
        data_types=data_types,
        gradients=gradients,
    ).mod


def program(
    seed: int,
    *,
    effects: bool = True,
    size: int | None = None,
    operators: Iterable[str] | None = None,
    smooth: bool = False,
    dynamic: bool = True,
    data_types: bool = True,
    gradients: bool = True,
) -> Program:
    """Return the program that `generate` returns, with arguments and the value of `main` for them."""
    names = None if operators is None else tuple(Op.get(name).name for name in operators)
    options = Options(effects, smooth, dynamic, data_types, gradients, names)
    for attempt in range(ATTEMPTS):
        result = _attempt(seed * ATTEMPTS + attempt, options, size)
        if result is not None:
            return result
    raise RunError(Diagnostic(f"no program of seed {seed} with these options runs", hint="allow more operators"))


def strategy(*, max_seed: int = 1_000_000, **options: Any) -> SearchStrategy[Program]:
    """Return a Hypothesis strategy for programs; `options` are as for `generate`. Needs the package `hypothesis`."""
    from hypothesis import strategies

    return strategies.integers(0, max_seed).map(lambda seed: program(seed, **options))


def _attempt(seed: int, options: Options, size: int | None) -> Program | None:
    """Return the program of one seed, or None where it does not run."""
    writer = ProgramWriter(seed, options, (statement,), disturb if options.effects else None)
    choices = (*STATIC_PARAMETERS, *DYNAMIC_PARAMETERS) if options.dynamic else STATIC_PARAMETERS
    types = [VECTOR, BOOL, INT, *writer.random.sample(choices, writer.random.randrange(1, 4))]
    params = [writer.new_var(ty, f"x{i}") for i, ty in enumerate(types)]
    try:
        main = main_function(writer, params, writer.random.choice((2, 4, 6, 9)) if size is None else size)
        mod = infer_module(
            library(options.effects).mod.with_functions({"main": _without_annotations(main, writer.random)})
        )
        args = arguments(mod, seed)
        return Program(mod, args, Evaluator(mod).run("main", args), options.effects)
    except PasslabError:
        return None


def _without_annotations(main: Function, choice: random.Random) -> Function:
    """Return a function where only some of the lets have a type annotation."""
    bound = [n.var for n in post_order(main) if type(n) is Let and not isinstance(n.value, Function)]
    return rewrite(main, replace={v: Var(v.name_hint) for v in bound if choice.random() < 0.5})


__all__ = ["Program", "arguments", "generate", "program", "strategy"]


# ---------------------------------------------------------------- arguments
UNKNOWN_SIZE = 2  # of dynamic dimensions


def arguments(program: IRModule | Function, seed: int = 0) -> list[Any]:
    """Return arguments for `main` of a typed module, or for a function: arrays, and tuples of arrays.

    Floats are normal, integers 0 to 5, a dynamic dimension is 2. Raises `RunError` for a parameter that is neither a
    tensor nor a tuple.
    """
    function = program["main"] if isinstance(program, IRModule) else program
    numbers = np.random.default_rng(seed)
    types = [param.checked_type_ or param.type_annotation or IncompleteType() for param in function.params]
    return [fold_tuple(ty, lambda part: array_of(part, numbers), tuple) for ty in types]


def array_of(ty: Type, numbers: np.random.Generator) -> np.ndarray[Any, Any]:
    """Return an array of a tensor type."""
    if not isinstance(ty, TensorType):
        raise RunError(Diagnostic("there is no random argument of this type", expected="a tensor", found=str(ty)))
    shape = [d if type(d) is int else UNKNOWN_SIZE for d in ty.shape]
    if ty.dtype == "bool":
        return np.asarray(numbers.random(shape) < 0.5)
    if "int" in ty.dtype:
        return np.asarray(numbers.integers(0, 6, shape)).astype(array_dtype(ty.dtype))
    return np.asarray(numbers.standard_normal(shape)).astype(array_dtype(ty.dtype))
