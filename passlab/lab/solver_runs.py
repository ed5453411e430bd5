"""`watch_solver`: the decisions of an analysis, to step through forward and back.

    run = lab.watch_solver(net, "fusion")
    run.steps[3].said, run.state(3)[node], run.table()

An analysis reports its decisions only when it is watched, so compiling a program does not pay for it. A step has the
states that it changed; the state at any step follows from the steps before it. Type inference is watched by subclasses
of its generator of constraints and of its solver (`watch_inference`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from passlab.arguments import checked
from passlab.diffing.diff import node_name
from passlab.errors import Diagnostic, PassError, counted, did_you_mean
from passlab.executor.building import graph_code
from passlab.executor.graph import row_pointers
from passlab.executor.graph_codegen import IDLE, Placement
from passlab.infer.constraints import ConstraintGenerator
from passlab.infer.inference import inference_groups
from passlab.infer.inference_state import InferenceState
from passlab.infer.schedule import BindLet, EnterClause, EnterFunction, Step, schedule
from passlab.infer.solution import Solution
from passlab.infer.solver import Pending, Solver, WeakenedError
from passlab.infer.type_env import TypeEnv
from passlab.ir.adt import Constructor, pattern_vars
from passlab.ir.expr import Call, Expr, Function, GlobalVar, Let, Tuple, TupleGetItem, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op, OpPattern
from passlab.ir.type_text import type_text
from passlab.ir.types import IncompleteType, Type
from passlab.ir.walk import post_order, rebuild, result_of
from passlab.lab.recordings.recording import Recorder, checked_module
from passlab.passes.fuse.fuse_ops import FusionGraph, FusionGroups
from passlab.passes.program.infer_type import InferType
from passlab.table import Table, Tabular
from passlab.transform.context import PassContext

PHASES = ("groups that end in element-wise operators", "injective operators and tuples", "producers of fused tuples")
_KINDS = {
    OpPattern.ELEMWISE: "element-wise",
    OpPattern.BROADCAST: "broadcast",
    OpPattern.INJECTIVE: "injective",
    OpPattern.COMM_REDUCE: "reduction",
    OpPattern.OUT_ELEMWISE_FUSABLE: "anchor",
    OpPattern.TUPLE: "tuple",
    OpPattern.OPAQUE: "opaque",
}


class FusionStep(NamedTuple):
    """The decision whether `node` joins `sink`, its immediate post-dominator.

    `merges` are the groups that merged, as (last node of a group, last node of the group it joins); empty if none did.
    """

    phase: int
    node: int
    sink: int
    merges: tuple[tuple[int, int], ...]
    reason: str


class RecordedFusion(FusionGroups):
    """Groups that call `observe` with each decision."""

    def __init__(self, graph: FusionGraph, max_nodes: int, observe: Callable[[FusionStep], None]) -> None:
        self._observe = observe
        self._phase = 0
        self._merges: list[tuple[int, int]] = []
        super().__init__(graph, max_nodes)

    def _run(self, phase: int) -> None:
        self._phase = phase
        super()._run(phase)

    def _between(self, node: int, sink: int) -> list[int] | None:
        between = super()._between(node, sink)
        if between is None:
            self._record(node, sink, f"the group would hold more than {self._max} nodes")
        return between

    def _try_fuse(self, node: int, sink: int, phase: int, between: list[int]) -> None:
        reason = self._reason(node, sink)
        super()._try_fuse(node, sink, phase, between)
        self._record(node, sink, reason)

    def _fuse_into_tuple(self, node: int, sink: int, between: list[int]) -> None:
        reason = self._reason(node, sink)
        super()._fuse_into_tuple(node, sink, between)
        if self._merges:
            self._record(node, sink, reason)

    def _join(self, child: int, parent: int) -> None:
        if child != parent:
            self._merges.append((child, parent))
        super()._join(child, parent)

    def _reason(self, node: int, sink: int) -> str:
        """Return the patterns that the decision depends on, as text."""
        kinds = self._kind[node], self._tree.relation[node], self._kind[self.root(sink)]
        own, path, group = map(kind_name, kinds)
        return f"its pattern is {own}, the pattern of the edges {path}, the pattern of the group there {group}"

    def _record(self, node: int, sink: int, reason: str) -> None:
        self._observe(FusionStep(self._phase, node, sink, tuple(self._merges), reason))
        self._merges.clear()


def kind_name(kind: int) -> str:
    """Return the name of a fusion pattern as used in sentences."""
    return _KINDS[OpPattern(kind)]


@dataclass(frozen=True, eq=False)
class SolvingStep:
    """One decision about `node`: its `phase`, the sentence `said` of it, and the states that it `changed`."""

    number: int
    phase: str
    node: Expr
    said: str
    changed: dict[Expr, str]


@checked
@dataclass(frozen=True, eq=False)
class Solving(Tabular):
    """An analysis of a program, step by step. `start` is the state of each node before the first step.

    Where an analysis works on a transformed program, `originals` maps its nodes to nodes of the given program.
    """

    algorithm: str
    mod: IRModule
    start: dict[Expr, str]
    steps: tuple[SolvingStep, ...]
    originals: Mapping[Expr, Expr] = field(default_factory=dict)

    def original(self, node: Expr) -> Expr:
        """Return the node of the given program that a node stems from, the node itself where it was there or is new."""
        return self.originals.get(node, node)

    def state(self, number: int) -> dict[Expr, str]:
        """Return the state of each node after a number of steps; 0 is the start."""
        states = dict(self.start)
        for step in self.steps[:number]:
            states.update(step.changed)
        return states

    def summary(self) -> str:
        """Return how many decisions there were, and how many changed something."""
        effective = sum(bool(step.changed) for step in self.steps)
        return f"{self.algorithm}: {counted(len(self.steps), 'step')}, {effective} with an effect"

    def table(self) -> Table:
        """Return one row per step."""
        rows = [
            (step.number, step.phase, node_name(step.node), "yes" if step.changed else "", step.said)
            for step in self.steps
        ]
        return Table(("step", "phase", "node", "effect", "decision"), rows)

    def __repr__(self) -> str:
        return f"{self.summary()}\n{self.table()}"


@checked
def watch_solver(program: Any, algorithm: str = "fusion") -> Solving:
    """Return an analysis of a program with all its decisions. `algorithm` is one of `ALGORITHMS`.

    A recording counts as its last program. Raises `PassError` for an analysis that is not there.

    >>> mod = passlab.parse("def @main(%x: float32) { tanh(exp(%x)) }")
    >>> len(lab.watch_solver(mod, "fusion").steps)
    1
    """
    watch = ALGORITHMS.get(algorithm)
    if watch is None:
        hint = did_you_mean(algorithm, ALGORITHMS) or f"there are {', '.join(ALGORITHMS)}"
        raise PassError(Diagnostic(f"there is no analysis `{algorithm}` to watch", hint=hint))
    return watch(checked_module(program))


# ---------------------------------------------------------------- fusion
def _watch_fusion(mod: IRModule) -> Solving:
    """Fusion groups growing over the post-dominator tree, as in `FuseOps` under the pass context in force."""
    recorder = Recorder()
    with PassContext.current().derived(instruments=[recorder]):
        typed = InferType()(mod)
    limit = PassContext.current().get_config("relay.FuseOps.max_depth")
    start: dict[Expr, str] = {}
    steps: list[SolvingStep] = []
    for function in [function for _, function in typed.items() if not function.is_primitive]:
        _GroupWatcher(function, limit, start, steps)
    return Solving("fusion", typed, start, tuple(steps), _originals(mod, typed, recorder))


def _originals(program: IRModule, watched: IRModule, recorder: Recorder) -> dict[Expr, Expr]:
    """Return for the nodes of a transformed program the nodes of the given one that they stem from."""
    there = {node for _, function in program.items() for node in post_order(function)}
    provenance = recorder.recording.provenance
    originals = {}
    for node in post_order(*[function for _, function in watched.items()]):
        older = next((one for one in provenance.ancestors(node) if one in there), node)
        if older is not node:
            originals[node] = older
    return originals


class _GroupWatcher:
    """The groups of one function, as text for each node, kept up to date while fusion decides."""

    def __init__(self, function: Function, limit: int, start: dict[Expr, str], steps: list[SolvingStep]) -> None:
        graph = FusionGraph(function)
        self.nodes, self.steps = graph.nodes, steps
        self.members = {number: [number] for number in range(len(self.nodes))}
        shown = [n for n, node in enumerate(self.nodes) if type(node) in (Call, Tuple, TupleGetItem)]
        self.names = {number: f"group {place}" for place, number in enumerate(shown, len(start) + 1)}
        start.update({self.nodes[n]: f"alone, {kind_name(graph.pattern[n])}" for n in shown})
        RecordedFusion(graph, limit, self.add_step)

    def add_step(self, step: FusionStep) -> None:
        """Add a decision and the groups after it. Scalar constants always join their users, so they get no step."""
        grown: set[int] = set()
        for child, parent in step.merges:
            self.members[parent] += self.members.pop(child)
            grown.discard(child)  # a merged group is not a group of its own any more
            grown.add(parent)
        if step.node not in self.names:
            return
        node, sink = self.nodes[step.node], self.nodes[step.sink]
        verb = "joins" if step.merges else "stays apart from"
        sentence = f"{node_name(node)} {verb} {node_name(sink)}, its post-dominator: {step.reason}"
        phase = f"{step.phase + 1}: {PHASES[step.phase]}"
        changed = {
            self.nodes[member]: self.names[root]
            for root in grown
            for member in self.members[root]
            if member in self.names
        }
        self.steps.append(SolvingStep(len(self.steps) + 1, phase, node, sentence, changed))


# ---------------------------------------------------------------- memory
def _watch_memory(mod: IRModule) -> Solving:
    """Results assigned to storages, as in building a graph, for the program that the graph is made of."""
    recorder = Recorder()
    with PassContext.current().derived(instruments=[recorder]):
        code = graph_code(mod)
    rows = row_pointers(code.nodes)
    computed_by: dict[int, Expr] = {}
    # The node that computes a result comes before the tuples and lets that contain it.
    for expr, entries in code.entries.items():
        for number, index in entries:
            computed_by.setdefault(rows[number] + index, expr)
    names = [node.name for node in code.nodes for _ in range(node.num_outputs)]
    owned = {rows[number] + index for number, index in code.heads}
    placements = code.placements()
    later = {decision.result for decision in placements}
    start: dict[Expr, str] = {}
    for result, expr in sorted(computed_by.items()):
        kind = "the output's own" if result in owned else "shared with what it reshapes"
        # The node of a result is the last one whose first result has no larger number.
        if not code.nodes[bisect_right(rows, result) - 1].func_name:
            kind = "an input's own"
        start[expr] = f"{kind} memory" if result not in later else "not placed"
    steps = []
    for number, decision in enumerate(placements, 1):
        how = "gets a new" if decision.is_new else "shares"
        sentence = (
            f"{names[decision.result]} {how} storage {decision.storage}: {decision.size:,} bytes, in use from node"
            f" {decision.first} to node {decision.last}{_gap_text(decision)}"
        )
        value = computed_by[decision.result]
        state = f"storage {decision.storage}, {decision.size:,} bytes"
        steps.append(SolvingStep(number, "largest first", value, sentence, {value: state}))
    return Solving("memory", code.mod, start, tuple(steps), _originals(mod, code.mod, recorder))


def _gap_text(decision: Placement) -> str:
    if decision.is_new:
        return "; no storage so far is free for so long"
    if decision.gap >= IDLE:
        return "; no other use of it comes near"
    return f"; it would lie idle for {counted(decision.gap, 'node')} next to it, the least of all"


# ---------------------------------------------------------------- types
def _watch_types(mod: IRModule) -> Solving:
    """Type inference from the annotations of parameters alone, as if nothing had been inferred before.

    Where they do not suffice, the other annotations are kept. A program with errors is watched up to them.
    """
    untyped, copies = _without_types(mod, annotated=False)
    steps, errors = _inference(untyped)
    if errors:
        untyped, copies = _without_types(mod, annotated=True)
        steps, errors = _inference(untyped)
    last = steps[-1].node if steps else None
    for error in errors:
        if last is not None:
            steps.append(SolvingStep(len(steps) + 1, "ends with an error", last, error.message, {}))
    start = {node: "" for step in steps for node in step.changed}
    return Solving(
        "types", untyped, start, tuple(steps), {copy: node for node, copy in copies.items() if copy is not node}
    )


def _inference(mod: IRModule) -> tuple[list[SolvingStep], list[Diagnostic]]:
    """Return the steps that infer the types of a program, and its errors. The value of a `let` shares the state of its
    variable.
    """
    lets = [node for _, function in mod.items() for node in post_order(function) if type(node) is Let]
    bound: dict[Expr, Expr] = {let.var: let.value for let in lets if type(let.value) is not Var}
    steps: list[SolvingStep] = []

    def add_step(step: InferenceStep) -> None:
        changed = {bound.get(node, node): text for node, text in step.changed.items()}
        node = bound.get(step.node, step.node)
        steps.append(
            SolvingStep(len(steps) + 1, step.phase, node, f"{_sentence_name(step.node)}: {step.sentence}", changed)
        )

    return steps, watch_inference(mod, add_step)


def _sentence_name(node: Expr) -> str:
    """Return the name of a node in a sentence; variables as in Relay text."""
    if isinstance(node, Var):
        return f"%{node.name_hint}"
    return f"@{node.name_hint}" if isinstance(node, GlobalVar) else node_name(node)


def _without_types(mod: IRModule, annotated: bool) -> tuple[IRModule, dict[Expr, Expr]]:
    """Return a copy of a program whose nodes have no types, and the copy of each of its nodes.

    Unless `annotated`, the copy also lacks what inference writes into a program: annotations of bound variables and of
    parameters of inner functions, result types, and type arguments of calls.
    """
    roots = [function for _, function in mod.items()]
    order = post_order(*roots)
    inner = [node for node in order if type(node) is Function and node not in roots]
    bound = {node.var for node in order if type(node) is Let} | {param for node in inner for param in node.params}
    copies: dict[Expr, Expr] = {}
    for node in order:
        if isinstance(node, (Op, Constructor)):  # all programs share these
            copies[node] = node
            continue
        copy = rebuild(node, lambda part: copies.get(part, part))
        fields = {name: getattr(copy, name) for name in copy.field_names}
        if node in bound and not annotated:
            fields["type_annotation"] = None
        elif type(node) is Function and not annotated:
            fields["ret_type"] = None
        elif type(node) is Call and not annotated:
            fields["type_args"] = ()
        fields["span"] = node.span
        copies[node] = type(node)(**fields)
    return mod.with_functions({name: result_of(function, copies) for name, function in mod.items()}), copies


ALGORITHMS: dict[str, Callable[[IRModule], Solving]] = {
    "fusion": _watch_fusion,
    "memory": _watch_memory,
    "types": _watch_types,
}


# ---------------------------------------------------------------- type inference, step by step
# `watch_inference`: type inference step by step: nodes visited, unknowns bound, relations that wait and resume.
# Subclasses of the constraint generator and of the solver report each step, so that inference itself is not slower.
# Views show the steps. Nothing is written to the nodes of the program.
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
        waits = dict.fromkeys(str(self._name(ty)) for ty in self.unknowns_in(pending.mentions))
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
            if not self._watched.exact and not self._watched.meets_unknown(self._watched.resolve(self.types[node])):
                del self._open[node]
        return changed


def _nodes(step: Step) -> list[Expr]:
    """Return the nodes that get their types in a step."""
    if isinstance(step, (BindLet, EnterFunction)):
        return [step.let.var]
    return [step.match, *pattern_vars(step.clause.lhs)] if isinstance(step, EnterClause) else [step]
