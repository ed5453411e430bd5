"""The state of inference for one group of functions: the types so far, the unknowns, the errors.

Nothing is written to the nodes of the program, so a failure leaves them unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from passlab.errors import Diagnostic, SourceLocation
from passlab.infer import diagnose
from passlab.infer.kinds import kind_error, undefined_type
from passlab.infer.relations import OperatorReporter
from passlab.infer.solver import MismatchError, Solver, brief
from passlab.infer.type_env import TypeDependency, TypeEnv, type_dependency_of
from passlab.infer.unify import Instantiate, unify
from passlab.ir.adt import Constructor
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Call, Expr, Function, GlobalVar, Var
from passlab.ir.types import FuncType, GlobalTypeVar, Kind, TensorType, Type

Notes = Callable[[], Sequence[diagnose.Note]]


class InferenceState:
    """Types for the nodes of one group of functions. `types` may hold unknowns of `solver`."""

    def __init__(self, env: TypeEnv, exact: bool = False, solver: Solver | None = None) -> None:
        self.env = env
        self.solver = solver or Solver(exact)
        self.types: dict[Expr, Type] = {}
        self.errors: list[Diagnostic] = []
        self.depends_on_error = False  # whether something is unknown because of an error reported elsewhere
        self.type_args: dict[Call, tuple[Type, ...]] = {}
        self.attrs: dict[Call, Attrs] = {}  # of calls with missing operator attributes: the defaults
        self.values: dict[Var, Expr] = {}  # the values of variables
        self.declared: dict[Function, FuncType] = {}  # functions that may be used before their body is typed
        self.signatures: dict[str, FuncType] = {}  # of the global functions in this group
        self.globals: set[str] = set()  # the functions mentioned
        self.data: set[str] = set()  # the data types mentioned
        self.dependent_nodes: set[Expr] = set()  # the nodes that are typed already and rely on the module
        self.reporter = OperatorReporter(self.solver, self)
        self.instantiate: Instantiate | None = None  # instantiates type parameters that only one of two functions has
        self._kinds_checked: set[Type] = set()
        self._dependencies: set[TypeDependency] = set()  # those of typed nodes whose names are recorded

    def has_type(self, node: Expr) -> bool:
        """Whether the type of a node is valid here; if so, record its dependencies."""
        if isinstance(node, GlobalVar):
            return False
        if isinstance(node, Constructor):
            data = self.env.data(node.belong_to.name_hint)
            self.data.add(node.belong_to.name_hint)
            self.dependent_nodes.add(node)
            mod = self.env.mod
            return data is not None and mod is not None and mod.find_constructor(node.name_hint) is node
        dependency = type_dependency_of(node)
        if dependency is not None:
            if not self.env.satisfies(dependency):
                return False
            if dependency not in self._dependencies:  # many nodes share one, with all kernels of a program
                self._dependencies.add(dependency)
                self.globals.update(dependency.signatures)
                self.data.update(dependency.data)
            self.dependent_nodes.add(node)
        return True

    def type_of(self, node: Expr) -> Type:
        """Return the type of a node, which may hold unknowns."""
        return self.types.get(node) or node._checked_type  # type: ignore[return-value]

    def var(self, node: Var) -> Type:
        """Return the type of a variable: its annotation, or an unknown."""
        ty = self.types.get(node)
        if ty is None:
            ty = node.type_annotation
            if ty is None:
                ty = self.solver.fresh()
            else:
                self.annotation(ty, node.span)
            self.types[node] = ty
        return ty

    def close(self) -> None:
        """Break the cycles of references through the objects that type calls."""
        self.instantiate = None
        del self.reporter

    def mentioned_names(self) -> tuple[set[str], set[str]]:
        """Return the names of the functions and of the data types that these types depend on."""
        written = {part.name_hint for part in self._kinds_checked if isinstance(part, GlobalTypeVar)}
        return self.globals, self.data | written

    # ------------------------------------------------------------ errors
    def error(self, finding: Diagnostic) -> None:
        """Record an error; types that depend on it stay unknown and are not reported again."""
        self.errors.append(finding)

    def unknown_after_error(self) -> Type:
        """Return the type of an expression that has none because of an error reported here or elsewhere."""
        self.depends_on_error = True
        return self.solver.fresh()

    def origin_notes(self, expr: Expr) -> list[diagnose.Note]:
        """Return notes on the origin of an expression's type."""
        ty = brief(self.solver.resolve(self.type_of(expr)))
        if isinstance(expr, Var):
            value = self.values.get(expr)
            how = "is annotated" if expr.type_annotation is not None else "has type"
            notes: list[diagnose.Note] = [(f"{diagnose.name_of(expr)} {how} `{ty}`", expr.span)]
            if value is not None and value.span is not None:
                notes.append((f"{diagnose.name_of(expr)} is bound to this value", value.span))
            return notes
        return [(f"{diagnose.name_of(expr)} has type `{ty}`", expr.span)] if expr.span is not None else []

    def report_mismatch(
        self,
        mismatch: MismatchError,
        expected: Type,
        actual: Type,
        place: SourceLocation | None,
        notes: Sequence[diagnose.Note],
    ) -> None:
        """Report two types that cannot be unified, with their unknowns resolved as far as possible."""
        resolve = self.solver.resolve
        mismatch = MismatchError(resolve(mismatch.left), resolve(mismatch.right), mismatch.detail)
        self.error(diagnose.mismatch(mismatch, resolve(expected), resolve(actual), place, notes))

    def unify(
        self, expected: Type, actual: Type, place: SourceLocation | None, notes: Notes, *, keep_right: bool = False
    ) -> Type:
        """Unify two types and return the result; a conflict is reported at `place`."""
        if expected is actual:
            return expected
        try:
            return unify(self.solver, expected, actual, keep_right=keep_right, instantiate=self.instantiate)
        except MismatchError as mismatch:
            self.report_mismatch(mismatch, expected, actual, place, notes())
            return expected

    def annotation(self, ty: Type, place: SourceLocation | None) -> None:
        """Check the kinds in an annotation."""
        if type(ty) is TensorType or ty in self._kinds_checked:
            return
        self.solver.meets_unknown(ty)  # an annotation may contain unknowns; this registers them with the solver
        mod = self.env.mod
        mismatch = kind_error(ty, mod, place, self._kinds_checked)
        if mismatch is None and isinstance(ty, GlobalTypeVar):
            if mod is not None and mod.find_type(ty.name_hint) is None:
                mismatch = undefined_type(ty, mod, place)
            elif ty.kind is not Kind.Type:
                hint = f"write `{ty.name_hint}[...]`"
                mismatch = Diagnostic(f"`{ty.name_hint}` is a data type without its arguments", place, hint=hint)
        if mismatch is not None:
            self.error(mismatch)
