"""TVM's direct interface to type inference: a solver for relations by name and types to unify."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from passlab.compat.functions import get_global_func
from passlab.errors import Diagnostic, TypeInferenceError, UnknownNameError, did_you_mean
from passlab.infer.relations import OperatorRelation, OperatorReporter
from passlab.infer.solver import MismatchError, Solver, brief
from passlab.infer.unify import unify
from passlab.ir.expr import Call, Expr, Var
from passlab.ir.op import Op
from passlab.ir.types import FuncType, Type, TypeRelation, map_type

PREFIX = "tvm.relay.type_relation."
# Relations by TVM's names, and an operator that has each.
OPERATORS = {
    "Broadcast": "add",
    "BroadcastComp": "less",
    "Concatenate": "concatenate",
    "Conv2D": "nn.conv2d",
    "LayoutTransform": "layout_transform",
    "Dense": "nn.dense",
}


class EnvFunc(str):
    """A function of TVM by its name, as relations are named: `EnvFunc.get("tvm.relay.type_relation.Broadcast")`."""

    __slots__ = ()
    type_key = "EnvFunc"  # in JSON

    @property
    def name(self) -> str:
        """The name as a plain string."""
        return str(self)

    @property
    def func(self) -> Callable[..., Any]:
        """The function that is registered under the name. Raises `UnknownNameError` for an unknown name."""
        function = get_global_func(self.name)
        assert function is not None
        return function

    def __call__(self, *args: Any) -> Any:
        """Return the result of the registered function."""
        return self.func(*args)

    @classmethod
    def get(cls, name: str) -> EnvFunc:
        """Return the function of a name."""
        return cls(name)


class _Solving:
    """The solver behind `_test_type_solver`; its functions are looked up by name."""

    def __init__(self) -> None:
        self._solver = Solver(exact=True)
        self._errors: list[Diagnostic] = []
        self._reporter = OperatorReporter(self._solver, self)

    def error(self, finding: Diagnostic) -> None:
        """Record a finding of a relation."""
        self._errors.append(finding)

    def origin_notes(self, expr: Expr) -> Sequence[Any]:
        """Return nothing: there is no program to locate types in."""
        return ()

    def __call__(self, name: str) -> Callable[..., Any]:
        offered: dict[str, Callable[..., Any]] = {
            "Solve": self._solve,
            "Unify": self._unify,
            "Resolve": self._solver.resolve,
            "AddConstraint": self._add,
        }
        if name not in offered:
            hint = did_you_mean(name, offered) or f"it has {', '.join(offered)}"
            raise UnknownNameError(Diagnostic(f"the solver has no `{name}`", hint=hint))
        return offered[name]

    def _unify(self, left: Type, right: Type) -> Type:
        try:
            return self._solver.resolve(unify(self._solver, left, right, instantiate=self._instance))
        except MismatchError as problem:
            what = problem.detail or "the types do not match"
            raise TypeInferenceError(
                Diagnostic(what, expected=brief(problem.left), found=brief(problem.right))
            ) from None

    def _instance(self, generic: FuncType, kept: int) -> FuncType:
        """Return a generic function with unknowns for its type parameters after the first `kept`."""
        fresh: dict[Type, Type] = {variable: self._solver.fresh() for variable in generic.type_params[kept:]}
        plain = FuncType(generic.arg_types, generic.ret_type, generic.type_params[:kept], generic.type_constraints)
        result = map_type(plain, fresh.get)
        assert isinstance(result, FuncType)
        return result

    def _add(self, relation: TypeRelation) -> None:
        name = str(relation.name).removeprefix(PREFIX)
        if name == "Identity":
            for other in relation.args[1:]:
                self._unify(relation.args[0], other)
            return
        if name not in OPERATORS:
            raise UnknownNameError(Diagnostic(f"no operator has the relation `{name}`", hint=f"known: {[*OPERATORS]}"))
        op = Op.get(OPERATORS[name])
        inputs = relation.args[: relation.num_inputs]
        call = Call(op, [Var(f"x{at}") for at in range(len(inputs))])
        self._solver.used = True
        self._solver.add(OperatorRelation(op, inputs, relation.attrs, relation.args[-1], call, self._reporter))

    def _solve(self) -> bool:
        """Solve; return whether no relation is pending. Raises `TypeInferenceError` for conflicts."""
        self._solver.solve()
        if self._errors:
            raise TypeInferenceError(*self._errors)
        return not any(self._solver.unknowns_in(p.mentions) for p in self._solver.waiting_relations())


def type_solver() -> _Solving:
    """Return a solver without relations."""
    return _Solving()


__all__ = ["EnvFunc", "type_solver"]
