"""`watch_solver`: the decisions of an analysis, to step through forward and back.

    run = lab.watch_solver(net, "fusion")
    run.steps[3].said, run.state(3)[node], run.table()

An analysis reports its decisions only when it is watched, so compiling a program does not pay for it. A step has the
states that it changed; the state at any step follows from the steps before it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from passlab.diffing.diff import node_name
from passlab.errors import Diagnostic, PassError, counted, did_you_mean
from passlab.executor.building import graph_code
from passlab.executor.graph import row_pointers
from passlab.executor.graph_codegen import IDLE, Placement
from passlab.infer.inference_steps import InferenceStep, watch_inference
from passlab.ir.adt import Constructor
from passlab.ir.expr import Call, Expr, Function, GlobalVar, Let, Tuple, TupleGetItem, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op, OpPattern
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

    def _within_limit(self, node: int, sink: int) -> bool:
        within = super()._within_limit(node, sink)
        if not within:
            self._record(node, sink, f"the group would hold more than {self._max} nodes")
        return within

    def _try_fuse(self, node: int, sink: int, phase: int) -> None:
        reason = self._reason(node, sink)
        super()._try_fuse(node, sink, phase)
        self._record(node, sink, reason)

    def _fuse_into_tuple(self, node: int, sink: int) -> None:
        reason = self._reason(node, sink)
        super()._fuse_into_tuple(node, sink)
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
        return f"its pattern is {own}, that of the edges {path}, that of the group there {group}"

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


@dataclass(frozen=True, eq=False)
class Solving(Tabular):
    """An analysis of a program, step by step. `start` is the state of each node before the first step.

    Where an analysis works on a transformed program, `originals` maps its nodes to those of the given program.
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
        """Return the state of each node after so many steps; 0 is the start."""
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


def watch_solver(program: Any, algorithm: str = "fusion") -> Solving:
    """Return an analysis of a program with all its decisions. `algorithm` is one of `ALGORITHMS`.

    A recording counts as its last program. Raises `PassError` for an analysis that is not there.
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
    limit = int(PassContext.current().get_config("relay.FuseOps.max_depth") or 256)
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
            grown.discard(child)  # a merged group is no group of its own any more
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
    return f"; it would lie idle for {counted(decision.gap, 'node')} beside it, the least of all"


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
