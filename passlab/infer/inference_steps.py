"""`watch_inference`: type inference step by step: nodes visited, unknowns bound, relations that wait and resume.

Subclasses of the constraint generator and of the solver report each step, so that inference itself is not slower. Views
show the steps. Nothing is written to the nodes of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from passlab.errors import Diagnostic
from passlab.infer.constraints import ConstraintGenerator
from passlab.infer.inference import inference_groups
from passlab.infer.inference_state import InferenceState
from passlab.infer.schedule import BindLet, EnterClause, EnterFunction, Step, schedule
from passlab.infer.solution import Solution
from passlab.infer.solver import Pending, Solver, WeakenedError
from passlab.infer.type_env import TypeEnv
from passlab.ir.adt import pattern_vars
from passlab.ir.expr import Expr, Let
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.type_text import type_text
from passlab.ir.types import IncompleteType, Type


class InferenceStep(NamedTuple):
    """An event at `node`, and the types that it changed, as text: `?1` is an unknown type."""

    phase: str
    node: Expr
    sentence: str
    changed: Mapping[Expr, str]


StepListener = Callable[[InferenceStep], None]


def watch_inference(mod: IRModule, on_step: StepListener) -> list[Diagnostic]:
    """Infer the types of an untyped module and report each step; return the errors of the first functions with any."""
    env = TypeEnv(mod)
    for names in inference_groups(env, [name for name, _ in mod.items()]):
        try:
            generator = _run(env, names, on_step, exact=False)
        except WeakenedError:
            generator = _run(env, names, on_step, exact=True)
        solution = Solution(generator.state, generator.order)
        errors = [*generator.state.errors, *solution.undetermined_types()]
        if errors or generator.state.depends_on_error:
            return errors
        for name, signature in generator.state.signatures.items():
            env.set_signature(name, solution.final(signature))
    return []


def _run(env: TypeEnv, names: list[str], on_step: StepListener, exact: bool) -> WatchedConstraintGenerator:
    """Infer a group of functions in the order of `inference`, and report the steps."""
    solver = WatchedSolver(exact)
    generator = WatchedConstraintGenerator(InferenceState(env, exact, solver), solver, on_step)
    for name in names:
        if env.signature(name) is None:
            generator.declare(name, env.functions[name])
    for name in names:
        generator.phase = f"@{name}" + (", again: a known size met `?`" if exact else "")
        generator.run(env.functions[name])
    generator.phase = "waiting relations"
    solver.solve()
    return generator


class WatchedSolver(Solver):
    """A solver that reports each binding. Unknowns are called `?1`, `?2`, ... in the order of the reports."""

    def __init__(self, exact: bool) -> None:
        super().__init__(exact)
        self.on_event: Callable[[Expr | None, str], None] = lambda node, sentence: None
        self._names: dict[Type, str] = {}

    def text(self, ty: Type) -> str:
        """Return a type as text, as far as it is known."""
        return type_text(self.resolve(ty), self._name)

    def _name(self, ty: Type) -> str | None:
        if type(ty) is not IncompleteType:
            return None
        return self._names.setdefault(self.root(ty), f"?{len(self._names) + 1}")

    def bind(self, root: Type, ty: Type) -> None:
        name = self._name(root)
        super().bind(root, ty)
        self.on_event(None, f"unify: {name} is {self.text(ty)}")

    def join(self, a: Type, b: Type) -> None:
        first, other = self._name(a), self._name(b)
        super().join(a, b)
        self.on_event(None, f"unify: {first} and {other} are equal")

    def weaken(self, root: Type, ty: Type) -> None:
        name = self._name(root)
        super().weaken(root, ty)
        self.on_event(None, f"unify: {name} is weakened to {self.text(ty)}")

    def _try(self, pending: Pending) -> bool:
        finished = super()._try(pending)
        node = getattr(pending, "call", None) or getattr(pending, "node", None)
        waits = dict.fromkeys(str(self._name(ty)) for ty in self.free_unknowns(pending.mentions))
        if not finished and waits:
            self.on_event(node, f"the relation waits for {' and '.join(waits)}")
        return finished


class WatchedConstraintGenerator(ConstraintGenerator):
    """A constraint generator that reports each node visited, and changes in the types of earlier nodes."""

    def __init__(self, state: InferenceState, solver: WatchedSolver, on_step: StepListener) -> None:
        super().__init__(state)
        self.on_step = on_step
        self.phase = ""
        self._watched = solver
        self._node: Expr | None = None  # the node being visited
        self._shown: dict[Expr, str] = {}
        self._open: dict[Expr, None] = {}  # nodes whose type may still change
        self._errors = 0
        solver.on_event = self._report

    def run(self, root: Expr) -> None:
        order = schedule(root, self.state.has_type, self._seen)
        self.order += order
        for step in order:
            nodes = _nodes(step)
            self._node = nodes[0]
            self._steps[type(step)](step)
            for finding in self.state.errors[self._errors :]:
                self._report(None, f"conflict: {finding.message}")
            self._errors = len(self.state.errors)
            self._open.update(dict.fromkeys(n for n in nodes if n in self.types and type(n) not in (Op, Let)))
            self._report(None, "")

    def _report(self, node: Expr | None, sentence: str) -> None:
        """Report an event at a node, by default the one being visited; without a sentence, report its type."""
        node = node or self._node
        changed = self._changes()
        if node is None or not (sentence or changed):
            return
        text = sentence or self._shown.get(node, "nothing new")
        self.on_step(InferenceStep(self.phase, node, text, changed))

    def _changes(self) -> dict[Expr, str]:
        """Return the types whose text has changed since the last report."""
        changed = {}
        for node in list(self._open):
            text = self._watched.text(self.types[node])
            if self._shown.get(node) != text:
                self._shown[node] = changed[node] = text
            if not self._watched.exact and not self._watched.is_open(self._watched.resolve(self.types[node])):
                del self._open[node]
        return changed


def _nodes(step: Step) -> list[Expr]:
    """Return the nodes that get their types in a step."""
    if isinstance(step, (BindLet, EnterFunction)):
        return [step.let.var]
    return [step.match, *pattern_vars(step.clause.lhs)] if isinstance(step, EnterClause) else [step]
