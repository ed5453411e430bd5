"""Unification of two types: the structural half of inference.

`unify(solver, a, b)` binds unknowns so that both sides agree, and returns the common type. The rules for dimensions are
Relay's: a known size and `?` give `?` (so a size can be lost), two different sizes conflict, a symbolic size takes the
number it meets. If a size is lost below an unknown, the unknown is weakened; if it is lost below a type annotation,
only the returned type is weaker, because types are values here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from passlab.infer.solver import MismatchError, Solver, brief
from passlab.ir.types import (
    ANY,
    Dim,
    FuncType,
    IncompleteType,
    RefType,
    SizeVar,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeRelation,
    is_computed,
    map_type,
    rebuild_type,
)

# The result of unification: the common type, and whether it is weaker than the left and the right type.
Outcome = tuple[Type, bool, bool]
Instantiate = Callable[[FuncType, int], FuncType]


def unify(
    solver: Solver, a: Type, b: Type, *, keep_right: bool = False, instantiate: Instantiate | None = None
) -> Type:
    """Return the common type of `a` and `b`. With `keep_right`, bound unknowns of `b` are not weakened.

    `instantiate(fn, num_kept)` replaces the type parameters of a generic function after the first `num_kept` by
    unknowns; it is needed if one function is more generic than the other. Raises `MismatchError`.
    """
    if a is b:
        return a
    if type(a) is TensorType and type(b) is TensorType:
        return _unify_tensors(solver, a, b)
    return _Unification(solver, keep_right, instantiate).run(a, b)


def _unify_tensors(solver: Solver, a: TensorType, b: TensorType) -> TensorType:
    if a.dtype != b.dtype:
        raise MismatchError(a, b, f"dtype `{a.dtype}` does not match `{b.dtype}`")
    if len(a.shape) != len(b.shape):
        raise MismatchError(
            a, b, f"tensor type `{a}` has {len(a.shape)} dimensions, while `{b}` has {len(b.shape)} dimensions"
        )
    dims: list[Dim] = []
    conflicts: list[str] = []
    for i, (x, y) in enumerate(zip(a.shape, b.shape, strict=True)):
        dim = _unify_dims(solver, x, y)
        if dim is None:
            conflicts.append(f"dimension {i} conflicts: {x} does not match {y}.")
        else:
            dims.append(dim)
    if conflicts:
        raise MismatchError(a, b, " ".join(conflicts))
    return TensorType(tuple(dims), a.dtype)


def _unify_dims(solver: Solver, x: Dim, y: Dim) -> Dim | None:
    """Return the common dimension, or None. A symbolic size that met a number has that value from then on."""
    if x is y:
        return x
    if x is ANY or y is ANY:
        return ANY
    if is_computed(x) or is_computed(y):
        return x if x == y else ANY
    a = solver.sizes.get(x, x) if isinstance(x, SizeVar) else x
    b = solver.sizes.get(y, y) if isinstance(y, SizeVar) else y
    if isinstance(a, SizeVar) and isinstance(b, int):
        solver.sizes[a] = b
        return b
    if isinstance(b, SizeVar) and isinstance(a, int):
        solver.sizes[b] = a
        return a
    return a if a == b else None


@dataclass
class _TypePair:
    """A pair of structured types whose parts are being unified."""

    a: Type
    b: Type
    root_a: Type | None
    root_b: Type | None
    pairs: list[tuple[Type, Type]]
    results: list[Outcome] = field(default_factory=list)


class _Unification:
    """One run: an explicit stack of frames, and a memo of the pairs already unified (types are graphs)."""

    def __init__(self, solver: Solver, keep_right: bool, instantiate: Instantiate | None) -> None:
        self.solver = solver
        self.keep_right = keep_right
        self.instantiate = instantiate
        self.memo: dict[tuple[Type, Type], Outcome] = {}
        self.stack: list[_TypePair] = []

    def run(self, a: Type, b: Type) -> Type:
        outcome = self.visit(a, b)
        while self.stack:
            frame = self.stack[-1]
            if outcome is not None:
                frame.results.append(outcome)
            if len(frame.results) < len(frame.pairs):
                outcome = self.visit(*frame.pairs[len(frame.results)])
                continue
            self.stack.pop()
            outcome = self.assemble(frame)
        assert outcome is not None
        return outcome[0]

    def visit(self, a: Type, b: Type) -> Outcome | None:
        """Unify two types if that needs no descent; otherwise push a frame and return None."""
        if a is b:
            return a, False, False
        solver = self.solver
        root_a = solver.root(a) if type(a) is IncompleteType else None
        root_b = solver.root(b) if type(b) is IncompleteType else None
        if root_a is not None and root_a is root_b:
            return a, False, False
        type_a = solver.links.get(root_a) if root_a is not None else a
        type_b = solver.links.get(root_b) if root_b is not None else b
        if root_a is not None and root_b is not None and type_a is None and type_b is None:
            solver.join(root_a, root_b)
            return a, False, False
        # with `keep_right`, `a` is bound to the type of `b`, not linked to it: weakening it must leave `b` as it is
        if root_a is not None and type_a is None:
            solver.bind(root_a, b if root_b is None else type_b if self.keep_right and type_b is not None else root_b)
            return a, False, False
        if root_b is not None and type_b is None:
            solver.bind(root_b, a if root_a is None else root_a)
            return a, False, False
        assert type_a is not None
        assert type_b is not None
        return self.structures(type_a, type_b, root_a, root_b)

    def structures(self, a: Type, b: Type, root_a: Type | None, root_b: Type | None) -> Outcome | None:
        if a is b:
            return self.bind_result((a, False, False), root_a, root_b)
        memoized = self.memo.get((a, b))
        if memoized is not None:
            return self.bind_result(memoized, root_a, root_b)
        if type(a) is TensorType and type(b) is TensorType:
            merged = _unify_tensors(self.solver, a, b)
            outcome = (merged, merged is not a, merged is not b)
            self.memo[a, b] = outcome
            return self.bind_result(outcome, root_a, root_b)
        frame = _TypePair(a, b, root_a, root_b, [])
        if type(a) is FuncType and type(b) is FuncType:
            frame.pairs = self.functions(frame, a, b)
        else:
            frame.pairs = _part_pairs(a, b)
        self.memo[a, b] = (a, False, False)  # a pair that occurs again inside itself adds nothing
        self.stack.append(frame)
        return None

    def functions(self, frame: _TypePair, a: FuncType, b: FuncType) -> list[tuple[Type, Type]]:
        """Return the pairs of parts of two function types; the one with more type parameters is instantiated first."""
        if len(a.arg_types) != len(b.arg_types):
            raise MismatchError(a, b, f"one function takes {len(a.arg_types)} arguments, the other {len(b.arg_types)}")
        count = min(len(a.type_params), len(b.type_params))
        if len(a.type_params) > count:
            a = self._instantiate(a, b, count)
        if len(b.type_params) > count:
            b = self._instantiate(b, a, count)
        if count and a.type_params != b.type_params:
            names = dict(zip(b.type_params, a.type_params, strict=True))
            b = map_type(self.solver.resolve(b), names.get)  # type: ignore[arg-type,assignment]
        if len(a.type_constraints) != len(b.type_constraints):
            raise MismatchError(
                a, b, "one of the functions is an operator with constraints that the other does not have"
            )
        frame.a, frame.b = a, b
        return [
            *zip(a.arg_types, b.arg_types, strict=True),
            (a.ret_type, b.ret_type),
            *zip(a.type_constraints, b.type_constraints, strict=True),
        ]

    def _instantiate(self, fn: FuncType, other: FuncType, count: int) -> FuncType:
        if self.instantiate is None:
            raise MismatchError(fn, other, f"one function has {len(fn.type_params)} type parameters, the other {count}")
        return self.instantiate(fn, count)

    def assemble(self, frame: _TypePair) -> Outcome:
        """Finish a frame whose parts are unified."""
        a, b, results = frame.a, frame.b, frame.results
        weak_a, weak_b = any(r[1] for r in results), any(r[2] for r in results)
        if not weak_a:
            outcome = (a, False, weak_b)
        elif not weak_b:
            outcome = (b, True, False)
        else:
            # the parts of `a` in order: type parameters, and the function of a type call, were not unified
            parts = iter([*getattr(a, "type_params", ()), *(r[0] for r in results)])
            if isinstance(a, TypeCall):
                parts = iter([a.func, *parts])
            outcome = (rebuild_type(a, lambda part: next(parts)), True, True)
        self.memo[a, b] = outcome
        return self.bind_result(outcome, frame.root_a, frame.root_b)

    def bind_result(self, outcome: Outcome, root_a: Type | None, root_b: Type | None) -> Outcome:
        """Weaken and link the unknowns that were unified by the result, and return it."""
        ty, weak_a, weak_b = outcome
        if root_a is not None and weak_a:
            self.solver.weaken(root_a, ty)
        if root_b is not None and weak_b and not self.keep_right:
            self.solver.weaken(root_b, ty)
        if root_a is not None and root_b is not None and not self.keep_right:
            if self.solver.root(root_a) is not self.solver.root(root_b):
                self.solver.join(self.solver.root(root_a), self.solver.root(root_b))
        if root_a is not None:
            return root_a, False, weak_b and (root_b is None or self.keep_right)
        if root_b is not None and not self.keep_right:
            return root_b, weak_a, False
        return outcome


def _part_pairs(a: Type, b: Type) -> list[tuple[Type, Type]]:
    """Return the pairs of parts of two structured types. Raises `MismatchError` if their forms differ."""
    if type(a) is not type(b):
        raise MismatchError(a, b)
    if isinstance(a, TupleType) and isinstance(b, TupleType):
        if len(a.fields) != len(b.fields):
            raise MismatchError(a, b, f"one tuple has {len(a.fields)} fields, the other {len(b.fields)}")
        return list(zip(a.fields, b.fields, strict=True))
    if isinstance(a, TypeCall) and isinstance(b, TypeCall):
        if a.func is not b.func or len(a.args) != len(b.args):
            raise MismatchError(a, b, f"`{brief(a)}` and `{brief(b)}` are different data types")
        return list(zip(a.args, b.args, strict=True))
    if isinstance(a, RefType) and isinstance(b, RefType):
        return [(a.value, b.value)]
    if isinstance(a, TypeRelation) and isinstance(b, TypeRelation) and a.name == b.name and len(a.args) == len(b.args):
        return list(zip(a.args, b.args, strict=True))
    raise MismatchError(a, b)
