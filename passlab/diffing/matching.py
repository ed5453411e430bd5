"""`Matching`: which node of one program corresponds to which node of another.

Equal programs are paired node by node. In others, nodes are paired in four steps, each linear in nodes and edges. First
come nodes that are the same object, then nodes that have the same value. Values are numbered through lets and through
parameters of directly called functions, so renaming, binding and fusing move a node but do not change it. The third
step pairs the same operator on operands that are already paired, and the fourth pairs the rest by operator, in order.
The first two steps pair unchanged nodes, the others changed ones.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

from passlab.ir.adt import Constructor, pattern_vars
from passlab.ir.equal import structural_equal
from passlab.ir.expr import Call, Constant, Expr, Function, GlobalVar, Let, Match, Tuple, TupleGetItem, Var
from passlab.ir.op import Op
from passlab.ir.walk import CHILDREN, LEAVES, post_order

# Names and bindings, which only pass a value on.
CARRIERS = frozenset((Var, Op, GlobalVar, Constructor, Let))
# Kinds of values that depend on what was done before.
_EFFECTS = frozenset(("function", "RefCreate", "RefRead", "RefWrite"))


def is_carrier(node: Expr) -> bool:
    """Whether a node computes nothing itself: a name, a let, or a direct call of a function literal."""
    kind = type(node)
    return kind in CARRIERS or (type(node) is Call and type(node.op) is Function)


def nodes_of(*roots: Expr) -> list[Expr]:
    """Return the nodes that a diff compares, children before parents: all but the carriers."""
    return [n for n in post_order(*roots) if not is_carrier(n)]


class Pairs(NamedTuple):
    """New nodes with their old ones, the closest pairs first, and the new nodes of which that is only likely."""

    of: dict[Expr, Expr]
    unsure: set[Expr]


class Window(NamedTuple):
    """Nodes of an old and a new program that are compared without the others."""

    old: list[Expr]
    new: list[Expr]


class Correspondence(Protocol):
    """Says which node of one program is which of another: the lineage of a recording.

    It is complete where one recording has both programs: what it does not pair has no partner.
    """

    complete: bool

    def first_changes(self, old: Expr, new: Expr) -> list[Expr]:
        """Return the first node of a new function without an old form, and the first old node without a new form."""

    def pairs(self, old: Iterable[Expr], new: Iterable[Expr]) -> Pairs:
        """Return the pairs of nodes of an old and a new program."""


class Matching:
    """The pairs between two lists of root expressions: `forward[old]` is the new node, `backward[new]` the old one.

    `same` has the new nodes whose partner computes the same value; other pairs differ in some field. `orders` are all
    nodes of both sides in post-order, `sources` map each carrier to the node whose value it passes on. With a `lineage`
    the pairs are those that it knows; the rest is matched by structure where the lineage is not complete. `known` has
    the new nodes of which the lineage is sure.
    """

    def __init__(
        self,
        before: Iterable[Expr],
        after: Iterable[Expr],
        lineage: Correspondence | None = None,
        window: Window | None = None,
    ) -> None:
        self.before, self.after = list(before), list(after)
        self.window = window
        if window is None:
            self.orders = post_order(*self.before), post_order(*self.after)
            self.sources = _sources(self.orders[0]), _sources(self.orders[1])
        else:
            self.sources = _sources_of(self.before), _sources_of(self.after)
            self.orders = _order_within(window.old, self.sources[0]), _order_within(window.new, self.sources[1])
        self.old, self.new = ([n for n in order if not is_carrier(n)] for order in self.orders)
        self.forward: dict[Expr, Expr] = {}
        self.backward: dict[Expr, Expr] = {}
        self.same: set[Expr] = set()
        self.known: set[Expr] = set()
        shared = set(self.old).intersection(self.new)
        for node in self.new:
            if node in shared:
                self._pair(node, node)
                self.same.add(node)
        self.equal = window is None and self._pair_equal_programs()
        if self.equal:
            return
        if lineage is not None:
            self._pair_by_lineage(lineage)
        matches = lineage is None or not lineage.complete
        if matches:
            self._pair_same_values()
        # Pair the root functions, which correspond by definition.
        for old, new in zip(self.before, self.after, strict=False):
            if type(old) is type(new) is Function and old not in self.forward and new not in self.backward:
                self._pair(old, new)
        if matches and self._has_unpaired():
            self._pair_by_operands()
        if matches and self._has_unpaired():
            self._pair_by_label()

    @cached_property
    def numbers(self) -> ValueNumbers:
        """The values of the nodes of both sides."""
        numbers = ValueNumbers()
        if self.window is not None:
            for own, order, source, partner_of in zip(
                self.window, self.orders, self.sources, ({}, self.backward), strict=True
            ):
                inside = set(own)
                for node in order:
                    value = resolve(node, source)
                    if value not in inside and type(value) not in LEAVES:
                        numbers.outside(node, partner_of.get(value, value))
        numbers.read(self.before if self.window is None else (), self.orders[0], self.sources[0])
        numbers.read(self.after if self.window is None else (), self.orders[1], self.sources[1])
        numbers.forget_keys()
        return numbers

    @cached_property
    def certain(self) -> set[Expr]:
        """The new nodes that surely compute what their partner does.

        Nodes that are the same but for what they depend on (the state of a reference, the call of a function) are told
        apart by their order alone, so they are left out.
        """
        if self.equal or not self.numbers.effects:
            return set(self.same)
        number_of, effects = self.numbers.of, self.numbers.effects
        counts = [Counter(number_of[n] for n in side if number_of.get(n) in effects) for side in (self.old, self.new)]
        return {
            node
            for node in self.same
            if self.backward[node] is node or all(many[number_of[node]] <= 1 for many in counts)
        }

    @cached_property
    def replaced(self) -> set[Expr]:
        """The nodes of both sides whose partner is another operation: a call that was folded, and its constant."""
        pairs = [(old, new) for new, old in self.backward.items() if new not in self.same]
        return {node for pair in pairs if _operation(pair[0]) is not _operation(pair[1]) for node in pair}

    @cached_property
    def owners(self) -> tuple[dict[Expr, Expr], dict[Expr, Expr]]:
        """For each node of both sides the innermost function literal that contains it, or the let whose value it is."""
        return _owners(self.orders[0]), _owners(self.orders[1])

    def _has_unpaired(self) -> bool:
        return len(self.forward) < len(self.old) and len(self.backward) < len(self.new)

    def _pair(self, old: Expr, new: Expr) -> None:
        self.forward[old] = new
        self.backward[new] = old

    def _pair_equal_programs(self) -> bool:
        """Pair the nodes of structurally equal programs in their order. Return whether they are equal."""
        if len(self.before) != len(self.after) or len(self.old) != len(self.new):
            return False
        roots = zip(self.before, self.after, strict=True)
        if not all(structural_equal(old, new, exact=True, by_name=True) for old, new in roots):
            return False
        pairs = list(zip(self.old, self.new, strict=True))
        # Programs are equal, too, where one shares what the other computes twice: then the orders differ.
        if any(_operation(old) is not _operation(new) for old, new in pairs):
            return False
        for old, new in pairs:
            self._pair(old, new)
        self.same.update(self.new)
        self.known.update(self.new)
        return True

    def _pair_by_lineage(self, lineage: Correspondence) -> None:
        old_nodes, new_nodes = set(self.old), set(self.new)
        pairs = lineage.pairs(self.old, self.new)
        paired = []
        for new, old in pairs.of.items():
            if new in new_nodes and old in old_nodes and new not in self.backward and old not in self.forward:
                self._pair(old, new)
                paired.append((old, new))
                if new not in pairs.unsure:
                    self.known.add(new)
        number_of = self.numbers.of
        self.same.update(new for old, new in paired if number_of[old] == number_of[new])

    def _pair_same_values(self) -> None:
        numbers = self.numbers
        # Several nodes may compute one value. They are paired in program order: each stack has its first node on top.
        # (An empty deque takes 760 bytes, and most values are computed once.)
        waiting: defaultdict[int, list[Expr]] = defaultdict(list)
        for node in reversed(self.old):
            if node not in self.forward:
                waiting[numbers.of[node]].append(node)
        for node in self.new:
            if node not in self.backward and (stack := waiting.get(numbers.of[node])):
                self._pair(stack.pop(), node)
                self.same.add(node)

    def _pair_by_operands(self) -> None:
        """Pair nodes of one label where an operand, in the same position, is paired already."""
        source_old, source_new = self.sources
        # An old node waits on one stack for each operand, so that one unchanged operand suffices to find it.
        waiting: defaultdict[tuple[Any, ...], list[Expr]] = defaultdict(list)
        number_of, partner_of = self.numbers.of.get, self.backward.get
        for node in reversed(self.old):
            if node not in self.forward:
                label = _label(node)
                for position, operand in enumerate(_operands(node, source_old)):
                    key = number_of(operand) if type(operand) is Var else operand
                    waiting[label, position, key].append(node)
        for node in self.new:
            if node in self.backward:
                continue
            label = _label(node)
            for position, operand in enumerate(_operands(node, source_new)):
                # A free variable has the same number on both sides, any other operand an old partner or none.
                key = number_of(operand) if type(operand) is Var else partner_of(operand, operand)
                stack = waiting.get((label, position, key))
                while stack and stack[-1] in self.forward:  # paired since, through another operand
                    stack.pop()
                if stack:
                    self._pair(stack.pop(), node)
                    break

    def _pair_by_label(self) -> None:
        waiting: defaultdict[tuple[Any, ...], list[Expr]] = defaultdict(list)
        for node in reversed(self.old):
            # Any two constants of one shape would match here, which explains nothing.
            if node not in self.forward and not isinstance(node, (Constant, Tuple)):
                waiting[(_label(node), node.checked_type_)].append(node)
        for node in self.new:
            if node not in self.backward and (stack := waiting.get((_label(node), node.checked_type_))):
                self._pair(stack.pop(), node)


def _operation(node: Expr) -> object:
    """Return what a node does: its operator, or the kind of expression that it is."""
    return node.op if type(node) is Call and type(node.op) is Op else type(node)


def _label(node: Expr) -> Any:
    """Return what two changed nodes must share to be paired: the class, and the operator or global of a call."""
    kind = type(node)
    if type(node) is Call:
        return node.op if type(node.op) is Op else (Call, getattr(node.op, "name_hint", None))
    if type(node) is TupleGetItem:
        return (kind, node.index)
    if type(node) is Constant:
        return (kind, node.data.shape, node.data.dtype)
    return kind


def _sources(order: Iterable[Expr]) -> dict[Expr, Expr]:
    """Return for each carrier the node whose value it passes on: for a let and a direct call, their body."""
    source: dict[Expr, Expr] = {}
    for node in order:
        if type(node) is Let:
            assert isinstance(node, Let)
            source[node.var] = node.value
            source[node] = node.body
        elif type(node) is Call and type(node.op) is Function and len(node.op.params) == len(node.args):
            assert isinstance(node, Call)
            assert isinstance(node.op, Function)
            source.update(zip(node.op.params, node.args, strict=True))
            source[node] = node.op.body
    return source


_KEPT_SOURCES: WeakKeyDictionary[Expr, dict[Expr, Expr]] = WeakKeyDictionary()  # of long functions


def _sources_of(roots: Iterable[Expr]) -> dict[Expr, Expr]:
    """Return the sources of the carriers of whole programs, which are read once."""
    source: dict[Expr, Expr] = {}
    for root in roots:
        if root not in _KEPT_SOURCES:
            _KEPT_SOURCES[root] = _sources(post_order(root))
        source.update(_KEPT_SOURCES[root])
    return source


def _order_within(nodes: list[Expr], source: dict[Expr, Expr]) -> list[Expr]:
    """Return nodes and their operands in post-order, with the values that carriers among them pass on."""
    inside = set(nodes)
    order = post_order(*nodes, enter=inside.__contains__)
    met = set(order)
    return [
        *{resolve(node, source): None for node in order if node in source and resolve(node, source) not in met},
        *order,
    ]


def _owners(order: list[Expr]) -> dict[Expr, Expr]:
    owner_of: dict[Expr, Expr] = {}
    setdefault = owner_of.setdefault
    for node in reversed(order):
        kind = type(node)
        if type(node) is Let:
            setdefault(node.value, node)
        owner = node if type(node) is Function else owner_of.get(node)
        if owner is not None:
            for kid in CHILDREN[kind](node):
                setdefault(kid, owner)
    return owner_of


def resolve(node: Expr, source: dict[Expr, Expr]) -> Expr:
    """Return the node whose value a carrier passes on."""
    if node not in source:
        return node
    seen = set()
    while node in source and node not in seen:  # a recursive function is bound to itself
        seen.add(node)
        node = source[node]
    return node


def _operands(node: Expr, source: dict[Expr, Expr]) -> list[Expr]:
    parts = node.args if type(node) is Call and type(node.op) is Op else CHILDREN[type(node)](node)
    return [resolve(part, source) if part in source else part for part in parts if type(part) is not Op]


class ValueNumbers:
    """A number for each node, equal for nodes that compute the same value from the same inputs.

    Parameters count by name and annotation, constants by their bytes when small and by identity when large.
    """

    SMALL = 4096  # bytes up to which constants are compared by content

    def __init__(self) -> None:
        self.of: dict[Expr, int] = {}
        self.effects: set[int] = set()  # the numbers of what a state or the call of a function decides
        self._table: dict[tuple[Any, ...], int] = {}

    def _number(self, *key: Any) -> int:
        return self._table.setdefault(key, len(self._table))

    def _computed(self, inputs: tuple[int | None, ...], *key: Any) -> int:
        """Return the number of a value that depends on others."""
        number = self._number(*key)
        if key[0] in _EFFECTS or (self.effects and not self.effects.isdisjoint(inputs)):
            self.effects.add(number)
        return number

    def outside(self, node: Expr, partner: Expr) -> None:
        """Number a node whose operands are not compared, as its partner."""
        self.of[node] = self._number("outside", partner)

    def forget_keys(self) -> None:
        """Free what reading more programs would need: most of the memory."""
        self._table = {}

    def read(self, roots: Iterable[Expr], order: Iterable[Expr], source: dict[Expr, Expr]) -> None:
        """Number the nodes of some programs, given in post-order, with the sources of their carriers."""
        # Renaming a parameter changes no value: parameters of root functions count by position.
        for position, root in enumerate(roots):
            if isinstance(root, Function):
                for index, param in enumerate(root.params):
                    self.of.setdefault(param, self._number("param", position, index, param.type_annotation))
        of = self.of
        number_of, source_of = of.get, source.get
        waiting: defaultdict[Expr, list[Expr]] = defaultdict(list)  # variables that are bound to a node
        for node in order:
            if node in of:
                continue
            source_node = source_of(node)
            # Post-order has the inputs first, but a variable before its value, which does not use it.
            if source_node is not None:
                number = number_of(source_node)
                if number is None and type(node) is Var and type(source_node) is not Function:
                    waiting[source_node].append(node)
                    continue
            elif type(node) is Call and type(node.op) is Op:
                numbers = tuple(map(number_of, node.args))
                number = None if None in numbers else self._computed(numbers, "call", node.op, numbers, node.attrs)
            else:
                number = None if None in map(number_of, _number_inputs(node)) else self._new_number(node)
            if number is None:
                self._visit(node, source)
            else:
                of[node] = number
            if node in waiting:
                of.update(dict.fromkeys(waiting[node], of[node]))

    def _visit(self, first: Expr, source: dict[Expr, Expr]) -> None:
        """Number a node. A variable has the number of its value, which may come later: hence the stack."""
        stack = [first]
        opened: set[Expr] = set()
        while stack:
            node = stack[-1]
            if node in self.of:
                stack.pop()
                continue
            source_node = source.get(node)
            inputs = (source_node,) if source_node is not None else _number_inputs(node)
            missing = [n for n in inputs if n not in self.of and n not in opened]
            if missing and node not in opened:
                opened.add(node)
                stack.extend(missing)
                continue
            if source_node is not None:
                self.of[node] = self.of.get(source_node, -1)  # -1: a recursive function
            else:
                self.of[node] = self._new_number(node)
            stack.pop()

    def _new_number(self, node: Expr) -> int:
        of = self.of.get
        kind = type(node)
        if kind is Call:
            assert isinstance(node, Call)
            callee: Any = node.op if isinstance(node.op, Op) else of(node.op, -1)
            inputs = tuple([of(a, -1) for a in node.args])
            return self._computed(inputs, "call" if isinstance(node.op, Op) else "function", callee, inputs, node.attrs)
        if isinstance(node, Var):
            return self._number("var", node.name_hint, node.type_annotation)
        if isinstance(node, Constant):
            data = node.data
            content = data.tobytes() if data.nbytes <= self.SMALL else id(data)
            return self._number("const", data.shape, data.dtype.str, content)
        if isinstance(node, GlobalVar):
            return self._number("global", node.name_hint)
        if isinstance(node, Op):
            return self._number("op", node.name)
        extra: tuple[Any, ...] = ()
        if isinstance(node, TupleGetItem):
            extra = (node.index,)
        elif isinstance(node, Function):
            extra = (node.attrs, len(node.params))
        elif isinstance(node, Constructor):
            extra = (node.name_hint,)
        inputs = tuple([of(k, -1) for k in _number_inputs(node)])
        return self._computed(inputs, kind.__name__, extra, inputs)


def _number_inputs(node: Expr) -> tuple[Expr, ...]:
    """Return the nodes that determine the number of a node: its children without the names that it binds."""
    if isinstance(node, Function):
        return (node.body,)
    if isinstance(node, Let):
        return (node.body,)
    if isinstance(node, Match):
        bound = {v for c in node.clauses for v in pattern_vars(c.lhs)}
        return tuple(k for k in CHILDREN[Match](node) if k not in bound)
    return CHILDREN[type(node)](node)
