"""A program as a graph of boxes and arrows: an arrow leads from the operator that computes a value to its user.

Names, lets, projections and immediately called function literals have no boxes. Weights (parameters and constants that
only one operator uses, not as its first operand) are written into its box. Function literals and branches are groups.
The time is linear in the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any
from weakref import WeakKeyDictionary

from passlab.analysis.scopes import Scope, Scopes
from passlab.errors import visible
from passlab.ir.adt import Constructor, Pattern, PatternConstructor, PatternTuple, PatternVar
from passlab.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.walk import LEAVES, children, make_lets, post_order, use_counts
from passlab.text.printer import pretty


@dataclass(eq=False)
class Box:
    """A node of the graph. `kind` is input, op, call, constant, tuple, function, branch, ref or output."""

    number: int
    kind: str
    name: str
    expr: Expr | None
    group: int | None = None
    weights: list[Expr] = field(default_factory=list)
    count: int = 1  # how many boxes were folded into this one
    bound: str = ""  # the name that a `let` gives to its value
    operands: list[Arrow | Expr] = field(default_factory=list)  # in order: an arrow into it, or a weight
    place: int = 0  # in the order of evaluation


@dataclass
class Arrow:
    """A value that flows from box `source` into box `target`; `label` says which part of it, or into which operand."""

    source: int
    target: int
    label: str = ""


@dataclass(eq=False)
class BoxGroup:
    """The boxes of a function of a module, a function literal, or a branch; `parent` is the enclosing group.

    `part` is the number of a branch: 0 for `then`, 1 for `else`, or the number of the clause.
    """

    number: int
    kind: str
    name: str
    expr: Expr | None
    parent: int | None = None
    part: int = 0


@dataclass
class Dataflow:
    """Boxes, arrows between them by number, and groups. `left_out` boxes are not shown."""

    boxes: list[Box] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    groups: list[BoxGroup] = field(default_factory=list)
    left_out: int = 0

    def box(self, kind: str, name: str, expr: Expr | None, group: int | None) -> Box:
        """Add a box."""
        box = Box(len(self.boxes), kind, name, expr, group, place=len(self.boxes))
        self.boxes.append(box)
        return box

    def members(self) -> dict[int, list[Box]]:
        """The boxes of each group, without the boxes of inner groups."""
        boxes: dict[int, list[Box]] = {group.number: [] for group in self.groups}
        for box in self.boxes:
            if box.group is not None:
                boxes[box.group].append(box)
        return boxes


def dataflow(program: Any, most: int | None = None) -> Dataflow:
    """Return the graph of a module, function or expression; of a longer program than `most` nodes only the first ones.

    The other nodes that would be boxes are counted as left out.
    """
    graph = Dataflow()
    if isinstance(program, IRModule):
        functions = sorted(program.items(), key=lambda item: item[0])
        room = most
        for name, function in functions:
            home = None
            if len(functions) > 1 and room != 0:
                home = len(graph.groups)
                graph.groups.append(BoxGroup(home, "definition", f"@{visible(name)}", function))
            room = _read(graph, function, home, room)
    else:
        _read(graph, program, None, most)
    _name_fused(graph)
    return _in_order(graph)


def _read(graph: Dataflow, root: Expr, home: int | None, room: int | None) -> int | None:
    """Read one function, or as much of it as there is room for. Return the room that is left."""
    if room is None:
        _DataflowReader(graph, root, home).read()
        return None
    first, size, boxes = first_nodes(root, room)
    if size <= room:
        _DataflowReader(graph, root, home).read()
        return room - size
    graph.left_out += boxes - sum(type(node) in _BOXES for node in first) - (type(root) is Function)
    if room:
        _DataflowReader(graph, _beginning(root, first), home, cut=True).read()
    return 0


_FIRST: WeakKeyDictionary[Expr, tuple[int, list[Expr], int, int]] = WeakKeyDictionary()  # of long functions


def first_nodes(root: Expr, most: int) -> tuple[list[Expr], int, int]:
    """Return the first nodes of a program in post-order, the number of all, and of those that would be boxes."""
    kept = _FIRST.get(root)
    if kept is None or (kept[0] < most and kept[0] < kept[2]):
        order = post_order(root)
        kept = (most, order[:most], len(order), sum(type(node) in _BOXES for node in order))
        if len(order) > most:  # the root, which comes last, is not among the nodes that are kept
            _FIRST[root] = kept
    return kept[1][:most], kept[2], kept[3]


def _beginning(root: Expr, first: list[Expr]) -> Expr:
    """Return a program that computes the first nodes of another one: those that no other of them uses, as a tuple."""
    params = root.params if isinstance(root, Function) else ()
    body = root.body if isinstance(root, Function) else root
    known = set(first)
    lets = []
    while isinstance(body, Let) and body.value in known:
        lets.append((body.var, body.value))
        body = body.body
    used = {kid for node in first for kid in children(node)} | {value for _, value in lets}
    tops = [node for node in first if node not in used and type(node) not in LEAVES]
    return Function(params, make_lets(lets, Tuple(tops)))


def _name_fused(graph: Dataflow) -> None:
    """Name fused functions after their operators."""
    for number, boxes in graph.members().items():
        group = graph.groups[number]
        if group.kind == "fused" and group.name == "fused" and boxes:
            group.name = _joined_names([box.name for box in boxes])


def _in_order(graph: Dataflow) -> Dataflow:
    """Return the graph with its boxes renumbered: values before their uses, as far as there are no cycles."""
    waiting = [0] * len(graph.boxes)
    after: list[list[int]] = [[] for _ in graph.boxes]
    for arrow in graph.arrows:
        waiting[arrow.target] += 1
        after[arrow.source].append(arrow.target)
    order: list[int] = []
    heap = [number for number, count in enumerate(waiting) if not count]
    while heap:
        number = heappop(heap)
        order.append(number)
        for target in after[number]:
            waiting[target] -= 1
            if not waiting[target]:
                heappush(heap, target)
    order += [number for number, count in enumerate(waiting) if count]  # on or after a cycle: recursive functions
    new = {number: place for place, number in enumerate(order)}
    graph.boxes = [graph.boxes[number] for number in order]
    for place, box in enumerate(graph.boxes):
        box.number = place
    for arrow in graph.arrows:
        arrow.source, arrow.target = new[arrow.source], new[arrow.target]
    return graph


class _DataflowReader:
    """Adds one function or expression to a graph."""

    def __init__(self, graph: Dataflow, root: Expr, home: int | None, cut: bool = False) -> None:
        self.graph, self.root, self.home = graph, root, home
        self.cut = self._result() if cut else None  # what stands for the rest of a program
        self.scopes = Scopes(root)
        self.uses = use_counts(root)
        self.box_of: dict[Expr, Box] = {}
        self.carried: dict[Expr, Expr] = {}
        self.bound: dict[Expr, Var] = {}  # the variable of a `let` by its value
        self.inlined: set[Expr] = set()
        self.opened: dict[Scope, tuple[Expr, int]] = {scope: key for key, scope in self.scopes.inner.items()}
        self.group_of: dict[Scope, int | None] = {self.scopes.top: home}

    def read(self) -> None:
        """Make the boxes, children first, then the arrows."""
        for node in self.scopes.order:
            if isinstance(node, Let):
                self.carried[node.var] = node.value
                self.carried[node] = node.body
                self.bound.setdefault(node.value, node.var)
        for node in self.scopes.order:
            callee = self._inlined_callee(node) if isinstance(node, Call) else None
            if callee is not None:
                assert isinstance(node, Call)
                self.carried.update(zip(callee.params, node.args, strict=True))
                self.carried[node] = callee.body
                self.inlined.add(callee)
        for node in self.scopes.order:
            make = _BOXES.get(type(node))
            shown = node not in self.carried and node not in self.inlined and node is not self.root
            if make is not None and shown and node is not self.cut:
                kind, name = make(node)
                if kind:
                    self.box_of[node] = self.graph.box(kind, name, node, self._group(self.scopes.of[node]))
        if not isinstance(self.root, Function) and type(self.root) in _BOXES and self.root not in self.carried:
            kind, name = _BOXES[type(self.root)](self.root)
            self.box_of[self.root] = self.graph.box(kind or "op", name, self.root, self.home)
        for value, var in self.bound.items():
            node, part = self._follow(value)
            if not part and node in self.box_of and not self.box_of[node].bound:
                self.box_of[node].bound = f"%{visible(var.name_hint)}"
        for node, box in list(self.box_of.items()):
            self._arrows_into(node, box)
        self._output()

    def _inlined_callee(self, node: Call) -> Function | None:
        """The function literal that is called here and nowhere else, directly or through a let-bound name."""
        op = node.op
        if type(op) is Var and self.uses[op] == 2:  # if it is bound and here
            op = self.carried.get(op, op)
        if isinstance(op, Function) and len(op.params) == len(node.args) and self.uses[op] == 1:
            return op
        return None

    def _group(self, scope: Scope) -> int | None:
        """The group of a scope: the nearest function literal or branch around it."""
        path = []
        at = scope
        while at not in self.group_of:
            path.append(at)
            at = at.parent  # type: ignore[assignment]
        for inner in reversed(path):
            outer = self.group_of[inner.parent]  # type: ignore[index]
            owner, part = self.opened[inner]
            self.group_of[inner] = self._new_group(owner, part, outer)
        return self.group_of[scope]

    def _new_group(self, owner: Expr, part: int, outer: int | None) -> int | None:
        if owner is self.root or isinstance(owner, Let):
            return outer
        if isinstance(owner, Function):
            composite = owner.attrs.get("Composite")
            # A composite function is one operator of what it stands for, as a fused one is one kernel.
            kind, name = ("fused", "fused") if owner.is_primitive or composite else ("function", "fn")
            name = visible(str(composite)) if composite else name
        elif isinstance(owner, If):
            kind, name = "branch", "else" if part else "then"
        else:
            assert isinstance(owner, Match)
            kind, name = "branch", pattern_text(owner.clauses[part].lhs)
        number = len(self.graph.groups)
        self.graph.groups.append(BoxGroup(number, kind, name, owner, outer, part))
        return number

    # ------------------------------------------------------------ arrows
    def _arrows_into(self, node: Expr, box: Box) -> None:
        for label, operand in _operands(node):
            source, part = self._follow(operand)
            if isinstance(node, Call) and self._is_weight(source, node, operand):
                box.weights.append(source)
                box.operands.append(source)
            else:
                self._arrow(source, box, f"{part}{' ' if part and label else ''}{label}")

    def _is_weight(self, source: Expr, node: Call, operand: Expr) -> bool:
        if operand is node.op:
            return False
        if isinstance(source, Constant):
            return not source.data.ndim or (self.uses.get(source, 0) <= 1 and operand is not node.args[0])
        return (
            isinstance(source, Var)
            and self.uses.get(source, 0) <= 2
            and operand is not node.args[0]
            and self._is_parameter(source)
            and isinstance(node.op, Op)
        )

    def _is_parameter(self, var: Var) -> bool:
        return isinstance(self.root, Function) and self.scopes.of[var].owner is self.root and self.uses[var] == 2

    def _arrow(self, source: Expr, box: Box, label: str) -> None:
        start = self.box_of.get(source)
        if start is None and isinstance(source, (Var, Constant, GlobalVar, Op, Constructor, Function)):
            kind = "constant" if isinstance(source, Constant) else "input" if isinstance(source, Var) else "function"
            scope = self.scopes.of.get(source)
            group = self.home if scope is None else self._group(scope)
            start = self.box_of[source] = self.graph.box(kind, atom_name(source), source, group)
            start.place = -1  # before all that is computed
        if start is not None:
            arrow = Arrow(start.number, box.number, label)
            self.graph.arrows.append(arrow)
            box.operands.append(arrow)

    def _follow(self, expr: Expr) -> tuple[Expr, str]:
        """Return the node that computes a value, and the projection of its result (`.0`)."""
        part = ""
        seen: set[Expr] = set()
        while expr not in seen:
            seen.add(expr)
            if isinstance(expr, TupleGetItem):
                part = f".{expr.index}{part}"
                expr = expr.tuple_value
            else:
                expr = self.carried.get(expr, expr)
        return expr, part

    def _result(self) -> Expr:
        """The node that the program returns, behind its lets."""
        body = self.root.body if isinstance(self.root, Function) else self.root
        while isinstance(body, Let):
            body = body.body
        return body

    def _output(self) -> None:
        body = self.root.body if isinstance(self.root, Function) else None
        if body is not None and self.cut is None:
            source, part = self._follow(body)
            self._arrow(source, self.graph.box("output", "output", body, self.home), part)


def _operands(node: Expr) -> Iterator[tuple[str, Expr]]:
    """Yield the operands of a node, each with a label."""
    if isinstance(node, Call):
        if not isinstance(node.op, (Op, GlobalVar, Constructor)):
            yield "callee", node.op
        yield from (("", arg) for arg in node.args)
    elif isinstance(node, If):
        yield from (("if", node.cond), ("then", node.true_branch), ("else", node.false_branch))
    elif isinstance(node, Match):
        yield "match", node.data
        yield from ((pattern_name(clause.lhs), clause.rhs) for clause in node.clauses)
    elif isinstance(node, Function):
        yield "body", node.body
    elif not isinstance(node, (Var, Constant)):
        yield from (("", kid) for kid in children(node))


def pattern_name(pattern: Pattern) -> str:
    """Return the constructor of a pattern, of a variable its name: what an arrow into a `match` says."""
    if isinstance(pattern, PatternConstructor):
        return visible(pattern.constructor.name_hint)
    if isinstance(pattern, PatternVar):
        return f"%{visible(pattern.var.name_hint)}"
    return "(...)" if isinstance(pattern, PatternTuple) else "_"


def pattern_text(pattern: Pattern) -> str:
    """Return a pattern without types, with nested patterns cut: `Node(%left, Leaf(...))`."""
    if not isinstance(pattern, (PatternConstructor, PatternTuple)):
        return pattern_name(pattern)
    parts = []
    for part in pattern.patterns:
        inside = isinstance(part, PatternConstructor) and part.patterns
        parts.append(f"{pattern_name(part)}(...)" if inside else pattern_name(part))
    head = pattern_name(pattern) if isinstance(pattern, PatternConstructor) else ""
    return f"{head}({', '.join(parts)})" if parts or not head else head


def _call_box(node: Call) -> tuple[str, str]:
    if isinstance(node.op, Op):
        return "op", node.op.name
    return "call", atom_name(node.op)


_BOXES: dict[type, Any] = {
    Call: _call_box,
    Tuple: lambda node: ("tuple", "tuple"),
    If: lambda node: ("branch", "if"),
    Match: lambda node: ("branch", "match"),
    Function: lambda node: ("function", "fn"),
    RefCreate: lambda node: ("ref", "ref"),
    RefRead: lambda node: ("ref", "ref_read"),
    RefWrite: lambda node: ("ref", "ref_write"),
}


def atom_name(node: Expr) -> str:
    """Return the name of a leaf, as in a program's text."""
    if isinstance(node, Var):
        return f"%{visible(node.name_hint)}"
    if isinstance(node, GlobalVar):
        return f"@{visible(node.name_hint)}"
    if isinstance(node, Constant):
        return visible(pretty(node).partition(" /*")[0]) if not node.data.ndim else "constant"
    return visible(str(getattr(node, "name_hint", getattr(node, "name", "call"))))


# ---------------------------------------------------------------- folding
def fold_groups(graph: Dataflow, kinds: Iterable[str] = ("fused",)) -> Dataflow:
    """Return the graph with every group of these kinds as one box."""
    kinds = set(kinds)
    outermost: dict[int, int] = {}
    for group in graph.groups:  # a group comes after the one around it
        if group.parent is not None and group.parent in outermost:
            outermost[group.number] = outermost[group.parent]
        elif group.kind in kinds:
            outermost[group.number] = group.number
    first: dict[int, int] = {}
    into = []
    for box in graph.boxes:
        folded = None if box.group is None else outermost.get(box.group)
        into.append(box.number if folded is None else first.setdefault(folded, box.number))
    return _contract(graph, into, {number: graph.groups[g] for g, number in first.items()})


def fold_chains(graph: Dataflow) -> Dataflow:
    """Return the graph with every chain of boxes, each feeding only the next, as one box."""
    ins, outs = [0] * len(graph.boxes), [0] * len(graph.boxes)
    for arrow in graph.arrows:
        ins[arrow.target] += 1
        outs[arrow.source] += 1
    into = list(range(len(graph.boxes)))
    for arrow in sorted(graph.arrows, key=lambda a: (a.target, a.source)):
        a, b = graph.boxes[arrow.source], graph.boxes[arrow.target]
        if outs[a.number] == 1 and ins[b.number] == 1 and a.group == b.group and a.kind == b.kind == "op":
            into[b.number] = into[a.number]
    return _contract(graph, into, {})


def truncate(graph: Dataflow, most: int) -> Dataflow:
    """Return the first `most` boxes of the graph and the arrows between them."""
    if len(graph.boxes) <= most:
        return graph
    arrows = [a for a in graph.arrows if a.source < most and a.target < most]
    return Dataflow(graph.boxes[:most], arrows, graph.groups, graph.left_out + len(graph.boxes) - most)


def _contract(graph: Dataflow, into: list[int], names: dict[int, BoxGroup]) -> Dataflow:
    """Return the graph with box `i` folded into box `into[i]`; `names` gives the group that a box stands for."""
    contracted = Dataflow(groups=graph.groups, left_out=graph.left_out)
    new: dict[int, Box] = {}
    parts: dict[int, list[str]] = {}
    for box in graph.boxes:
        head = into[box.number]
        if head == box.number:
            whole = names.get(head)
            group = box.group if whole is None else whole.parent
            new[head] = contracted.box(box.kind if whole is None else whole.kind, box.name, box.expr, group)
            new[head].weights = box.weights if whole is None else []
            new[head].expr = box.expr if whole is None else whole.expr
            new[head].count = 0
        new[head].count += box.count
        parts.setdefault(head, []).append(box.name)
    for head, box in new.items():
        whole = names.get(head)
        if whole is not None and isinstance(whole.expr, Function) and whole.expr.attrs.get("Composite"):
            box.name = whole.name
        elif box.count > 1:
            box.name = _joined_names(parts[head])
    seen = set()
    for arrow in graph.arrows:
        source, target = new[into[arrow.source]].number, new[into[arrow.target]].number
        if source != target and (source, target, arrow.label) not in seen:
            seen.add((source, target, arrow.label))
            contracted.arrows.append(Arrow(source, target, arrow.label))
    return contracted


def _joined_names(names: list[str]) -> str:
    """Return names in order, each once, the first three of more than four."""
    unique = list(dict.fromkeys(names))
    return " · ".join(unique) if len(unique) <= 4 else f"{' · '.join(unique[:3])} · {len(names) - 3} more"
